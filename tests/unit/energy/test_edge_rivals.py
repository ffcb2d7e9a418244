"""Places of a log on a training that its jumps fit as well as the best one: none of them is sure.

The courses are drawn by hand: what each part of an epoch draws, and when its end was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from powertui.data.energy import clock_check, edge_matching, edge_rivals, samples
from powertui.data.energy.edge_costs import BORDER, END, START, sorted_edges
from powertui.data.energy.window_shares import OUTSIDE, WindowShares
from powertui.data.model import Badge, Figure, PowerSeries, Sensor

IDLE_W = 80.0

Load = tuple[float, float, float]  # from, to (s), W


def readings(
    loads: Sequence[Load], lo_s: float, hi_s: float, mean_s: float = 0.1
) -> samples.Samples:
    """What a sensor that averages over so long reads of them, on a clock that begins at its
    first.
    """
    edges = np.arange(lo_s, hi_s, mean_s)
    watts = np.full(len(edges) - 1, IDLE_W)
    for begin, end, load_w in loads:
        inside = np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin)
        watts += load_w * np.clip(inside, 0.0, mean_s) / mean_s
    watts += 0.3 * np.random.default_rng(7).standard_normal(len(watts))
    return samples.Samples(
        lo=edges[:-1] - lo_s,
        hi=edges[1:] - lo_s,
        watts=watts,
        refresh=mean_s,
        late=0.0,
        quantum=0.0,
        windows=(),
    )


def judged(
    data: samples.Samples, moments: Sequence[tuple[float, float, float, int]]
) -> clock_check.Verdict:
    """Where the log's zero is on a training with these edges, by the readings alone."""
    edges = sorted_edges(moments)
    first, last = edges.span
    grid = np.linspace(0.0, last - first, 4097)
    shares = WindowShares(
        names=("base", "training", OUTSIDE),
        span=(first, last),
        training=(first, last),
        table=grid[:, None],
        mixture=np.ones(1),
        step=float(grid[1]),
        has_bounds=True,
    )
    least_s = 0.3 * (last - first)
    range_s = (first + least_s - float(data.hi[-1]), last - least_s - float(data.lo[0]))
    weights = edge_matching.offset_weights(
        data=data, edges=edges, shares=shares, range_s=range_s, longest_mean_s=5.0
    )
    assert not isinstance(weights, str)
    return clock_check.judge(None, weights, data)


def validated_epochs(late_s: Sequence[float]) -> tuple[list[Load], list[float]]:
    """Epochs of about 47 s that end with a validation, and when the end of each was recorded: so
    late, and 1.25 s after the validation began.
    """
    loads = [(-4.0, 9.0, 6.0)]  # loading and compiling draw a little
    recorded: list[float] = []
    begin = 9.0
    for number, late in enumerate(late_s):
        end = begin + 46.0 + 0.3 * (number % 3)
        validation = end + late - 1.25
        loads += [(begin, validation, 25.0), (validation, end, 12.0)]
        recorded.append(end + late)
        begin = end
    return loads, recorded


def test_the_start_of_each_validation_is_a_rival_of_its_end() -> None:
    # By chance the records fit the starts better than the ends.
    loads, recorded = validated_epochs([0.09, -0.08, 0.08, -0.09, 0.09, -0.08, 0.08, -0.09])
    moments = [(0.0, 0.02, 1.0, START), (recorded[-1], 0.02, -1.0, END)]
    moments += [(end, 0.02, 0.0, BORDER) for end in recorded[:-1]]
    begin_s = -1200.0
    verdict = judged(readings(loads, begin_s, 1500.0), moments)
    assert verdict.lo_s <= begin_s <= verdict.hi_s
    assert verdict.status == "ambiguous"


def program(
    begin: float, lengths: Sequence[float], pause_s: float = 2.0
) -> tuple[list[Load], list[float]]:
    """Epochs with a pause after each, and the moments at which pauses begin and end."""
    loads: list[Load] = []
    moments: list[float] = []
    for length in lengths:
        loads.append((begin, begin + length, 40.0))
        moments += [begin + length, begin + length + pause_s]
        begin += length + pause_s
    return loads, moments


OWN = (14.1, 13.8, 14.3, 13.9, 14.0, 14.2, 13.9, 14.1)
AGAIN = (14.0, 13.9, 14.1, 14.0, 13.9, 14.2, 14.0, 14.2)


def own_edges() -> tuple[list[Load], list[tuple[float, float, float, int]]]:
    loads, moments = program(0.0, OWN)
    edges = [(0.0, 0.02, 1.0, START), (moments[-2], 0.02, -1.0, END)]
    edges += [
        (at, 0.3, -1.0 if row % 2 == 0 else 1.0, BORDER) for row, at in enumerate(moments[:-2])
    ]
    return loads, edges


def test_a_later_run_of_the_same_program_does_not_beat_the_training_that_the_log_begins_in() -> (
    None
):
    own, edges = own_edges()
    again, _ = program(700.0, AGAIN)
    begin_s = 40.0
    verdict = judged(readings([*own, *again], begin_s, 1600.0), edges)
    assert verdict.lo_s <= begin_s <= verdict.hi_s
    assert verdict.status == "ambiguous"


def test_a_slow_sensor_shows_one_edge_of_the_training_that_the_log_begins_in() -> None:
    """Pauses of 0.3 s are nothing in a mean of 10 s, so that only the level and the end are seen."""
    lengths = [float(length) for length in 66.0 + np.random.default_rng(5).uniform(0, 3, 10)]
    own, moments = program(0.0, lengths, 0.3)
    edges = [(0.0, 0.02, 1.0, START), (moments[-2], 0.02, -1.0, END)]
    edges += [(at, 0.1, -1.0 if row % 2 == 0 else 1.0, BORDER) for row, at in enumerate(moments)]
    again, _ = program(1900.0, lengths[::-1], 0.3)
    begin_s = 250.0
    data = readings([*own, *again], begin_s, 9000.0, mean_s=10.0)
    verdict = judged(data, edges)
    assert verdict.lo_s <= begin_s <= verdict.hi_s
    assert verdict.status == "ambiguous"


def test_a_training_that_the_log_holds_whole_and_alone_is_sure() -> None:
    own, edges = own_edges()
    verdict = judged(readings(own, -300.0, 900.0), edges)
    assert verdict.status == "aligned"
    assert verdict.lo_s <= -300.0 <= verdict.hi_s


def test_offsets_meet_where_most_pairs_of_edge_and_jump_agree() -> None:
    class Places:
        length_s, turn_s, apart_s, temper = 30.0, 0.0, 1.0, 0.35

        def meetings(self):
            return np.array([3.0, 17.0, 5.05, 4.95, 5.0, 17.02]), 0.1

    found = edge_rivals.meeting_places(Places())
    assert found.tolist() == pytest.approx([5.0, 17.01, 3.0])


def polled(window_s: Figure | None = None) -> PowerSeries:
    """Readings of a meter that is asked once in the time in which it publishes once."""
    sensor = Sensor(
        name="outlet 1",
        source="meter",
        poll_s=Figure(10.0, Badge.MEASURED),
        refresh_s=Figure(10.0, Badge.ESTIMATED),
        window_s=window_s,
    )
    times = np.arange(60) * 10_000_000_000
    watts = np.random.default_rng(3).uniform(100.0, 200.0, len(times))
    return PowerSeries(sensor=sensor, times=times, watts=watts)


def test_a_reading_whose_window_nobody_knows_may_be_older_by_half_of_that_too() -> None:
    """It may be the mean of the 10 s before it was published, asked for just before the next."""
    unknown = samples.power_samples(polled())
    known = samples.power_samples(polled(Figure(10.0, Badge.ESTIMATED)))
    assert (known.older_s, unknown.older_s) == pytest.approx((10.0, 15.0))
    # Both reach back to the same moment: the middle of the oldest window.
    oldest_s = [(data.lo[30] + data.hi[30]) / 2 - data.older_s for data in (known, unknown)]
    assert oldest_s[0] == pytest.approx(oldest_s[1])
