"""Where a log may lie on a training of which only epochs are known: what its power does before and
after leaves that open.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pytest

from benchmarks import drawn_trainings
from powertui.data.energy.samples import Samples
from powertui.data.model import Floats
from powertui.data.training import epoch_folding, training_edges

IDLE, HIGH = 150.0, 120.0
SECONDS = 10.0


def epochs(count: int = 6, starting: float = 0.0) -> list[tuple[float, float]]:
    """So many of ten seconds, the first one longer by what starting took."""
    bounds = [0.0, *(starting + SECONDS * (number + 1) for number in range(count))]
    return list(itertools.pairwise(bounds))


def log(
    *,
    refresh: float = 0.1,
    before: float = 0.0,
    after: float = 0.0,
    count: int = 6,
    lead: float = 12.0,
    rest: float = 15.0,
    pause: float = 0.5,
    seed: int = 1,
    runs: int = 1,
    starting: float = 0.0,
) -> tuple[Samples, float]:
    """Means of `refresh` of a training whose program drew power so long before and after it; and
    where its zero truly lies.
    """
    fine = 0.01
    length = epochs(count, starting)[-1][1]
    one = before + length + after + rest
    at = np.arange(-before - lead, -before + runs * one, fine)
    watts = np.full(len(at), IDLE)
    for run in range(runs):
        own = at - run * one
        busy = (own >= -before) & (own < length + after)
        watts[busy] += HIGH
        for _, end in epochs(count, starting)[:-1]:
            watts[(own >= end) & (own < end + pause)] = IDLE + 0.4 * HIGH
    watts += np.random.default_rng(seed).normal(0, 2.0, len(at))
    size = round(refresh / fine)
    rows = len(at) // size
    means = np.round(watts[: rows * size].reshape(rows, size).mean(axis=1))
    hi = (np.arange(rows) + 1) * refresh
    return Samples(hi - refresh, hi, means, refresh, 0.0, 1.0, ()), float(at[0])


def holds(found: epoch_folding.Fold | str, true: float) -> bool:
    assert isinstance(found, epoch_folding.Fold)
    return found.lo_s <= true <= found.hi_s


@pytest.mark.parametrize("refresh", [0.1, 0.5, 1.0, 3.0])
@pytest.mark.parametrize(
    ("before", "after"), [(0.0, 0.0), (0.0, 0.4), (2.0, 0.0), (0.0, 3.0), (3.0, 2.0)]
)
def test_what_a_program_does_before_and_after_is_in_the_interval(
    refresh: float, before: float, after: float
) -> None:
    data, true = log(refresh=refresh, before=before, after=after)
    found = epoch_folding.search(data, epochs())
    assert holds(found, true)
    assert isinstance(found, epoch_folding.Fold)
    assert found.hi_s - found.lo_s < SECONDS + 2 * refresh
    if not found.ambiguous:
        assert found.hi_s - found.lo_s < 1.0


def test_a_program_that_saved_for_a_moment_is_not_told_surely_where_it_did_not_lie() -> None:
    data, true = log(after=0.5, before=0.6)
    found = epoch_folding.search(data, epochs())
    assert holds(found, true)


def test_starting_that_the_sensor_does_not_see_is_in_the_interval() -> None:
    data, true = log(starting=4.0, before=-4.0, count=5)
    assert holds(epoch_folding.search(data, epochs(5, 4.0)), true)


def test_an_end_that_is_not_in_the_log_is_said() -> None:
    data, true = log(after=0.0, rest=0.0)
    found = epoch_folding.search(data, epochs())
    assert isinstance(found, epoch_folding.Fold)
    assert found.ambiguous
    assert "not both ends" in found.words
    assert holds(found, true)


def test_a_log_of_two_trainings_is_not_placed_on_one() -> None:
    data, true = log(runs=2)
    found = epoch_folding.search(data, epochs())
    assert isinstance(found, str) or (found.ambiguous and holds(found, true))


def test_a_slow_sensor_places_a_short_training_by_its_ends() -> None:
    data, true = log(refresh=3.0, count=4)
    found = epoch_folding.search(data, epochs(4))
    assert holds(found, true)  # too few readings an epoch to hold epochs against each other


def test_a_single_epoch_lies_where_the_machine_was_busy_once() -> None:
    data, true = log(count=1)
    assert holds(epoch_folding.search(data, epochs(1)), true)


def test_power_that_tells_no_program_from_the_idle_machine_has_no_ends() -> None:
    flat: Floats = np.full(100, IDLE)
    hi = np.arange(1.0, 101.0)
    assert (
        training_edges.find_power_edges(Samples(hi - 1, hi, flat, 1.0, 0.0, 1.0, ()), epochs())
        is None
    )


def test_what_ran_once_for_as_long_as_the_training_is_the_training() -> None:
    data, true = log(refresh=3.0, count=8)
    found = epoch_folding.offset_range_of_only_run(data, epochs(8))
    assert found is not None
    half = training_edges.usual_epoch_s(epochs(8)) / 2
    assert (
        found[0] + half <= true <= found[1] - half
    )  # before its first step and after its last it did what is only guessed at


def test_of_two_runs_neither_is_known_to_be_the_training() -> None:
    assert epoch_folding.offset_range_of_only_run(log(runs=2)[0], epochs()) is None


def test_a_run_that_took_too_long_is_not_the_training() -> None:
    assert epoch_folding.offset_range_of_only_run(log(count=8)[0], epochs(6)) is None


def test_an_epoch_is_not_named_where_the_place_leaves_it_open() -> None:
    # A log that begins within the training, of epochs that are all alike: which of them the burst
    # was in nothing tells.
    case = drawn_trainings.drawn(306)._replace(
        hours=0.5, sensor="moment every 0.5 s", watts=90.0, seconds=30.0, sessions=0
    )
    with tempfile.TemporaryDirectory() as folder:
        tally = drawn_trainings.judge(case, Path(folder))
    assert not [line for line in tally.lines if line.startswith(("FALSE", "EPOCH", "PLACE"))]
