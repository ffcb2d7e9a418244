"""Joules that hosts draw while they wait, by sensors that follow slowly: by worlds written from what
such sensors do, on seeds that nobody looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.rank_world import BASE_NS, Ranks, RankWorld, happened, write_traces
from powertui.data import logdir
from powertui.data.energy.late_ranks import Late, known_late
from powertui.data.energy.late_ranks_page import answer
from powertui.data.energy.wait_energy import wait_sum
from powertui.data.energy.wait_readings import TOO_FAR_APART
from powertui.data.model import Floats
from powertui.data.opened import Opened
from powertui.data.tools.registry import Question

_STEP_S = 0.005  # in which the power of a machine is simulated
_AROUND_S = 45  # of each log before the profile and after it
WORLD = RankWorld(seed=0, ranks=2, steps=240, step_s=0.25, late={1: 0.08}, slow_s=9, jitter_s=0.004)

Sensor = Callable[[Floats], Floats]


def capacitor(time_s: float) -> Sensor:
    """What comes of power behind a resistor and a capacitor."""

    def follow(watts: Floats) -> Floats:
        kept = np.exp(-_STEP_S / time_s)
        level = watts[0]
        followed = np.empty_like(watts)
        for row, value in enumerate(watts):
            level = kept * level + (1 - kept) * value
            followed[row] = level
        return followed

    return follow


def two_capacitors(time_s: float) -> Sensor:
    """Two of them in a row."""
    one = capacitor(time_s / 2)
    return lambda watts: one(one(watts))


def moving_mean(length_s: float) -> Sensor:
    """The mean over what was last, kept in firmware."""

    def follow(watts: Floats) -> Floats:
        count = round(length_s / _STEP_S)
        sums = np.cumsum(np.concatenate([np.full(count, watts[0]), watts]))
        return np.asarray((sums[count:] - sums[:-count]) / count)

    return follow


def moments(watts: Floats) -> Floats:
    """Power as it is."""
    return watts


def write_log(
    folder: Path,
    ranks: Ranks,
    rank: int,
    sensor: Sensor,
    every_s: float,
    chance: np.random.Generator,
    *,
    is_moment: bool = False,
) -> float:
    """A log of a host that draws 320 W at work and 170 W while it waits; the joules of its waits."""
    end = ranks.leaves[-1][rank]
    times = np.arange(-_AROUND_S, end + _AROUND_S, _STEP_S)
    watts = np.where((times >= 0) & (times < end), 320.0, 90.0)
    waited = 0.0
    for arrivals in ranks.arrivals:
        first, last = np.searchsorted(times, [arrivals[rank], max(arrivals)])
        watts[first:last] = 170.0
        waited += max(arrivals) - arrivals[rank]
    count = round(every_s / _STEP_S)
    followed = sensor(watts)
    in_rows = followed[: len(followed) // count * count].reshape(-1, count)
    readings = in_rows[:, -1] if is_moment else in_rows.mean(axis=1)
    readings = readings + chance.normal(0, 1.5, len(readings))
    ends = times[0] + every_s * np.arange(1, len(readings) + 1) + ranks.skews[rank]
    lines = ["unix_time,power_w"]
    for end_s, reading in zip(ends.tolist(), readings.tolist(), strict=True):
        lines.append(f"{BASE_NS / 1e9 + 0.001 + end_s:.3f},{reading:.0f}")
    (folder / f"power_node{rank}_{100 + rank}.csv").write_text("\n".join(lines) + "\n")
    return waited * 170.0


def found(
    folder: Path,
    seed: int,
    sensor: Sensor,
    every_s: float = 1.0,
    world: RankWorld = WORLD,
    *,
    is_moment: bool = False,
) -> tuple[Late, float]:
    """What is found, and the joules of all waits."""
    world = replace(world, seed=seed)
    ranks = happened(world)
    write_traces(world, ranks, folder)
    chance = np.random.default_rng(seed)
    joules = 0.0
    for rank in range(2):
        joules += write_log(folder, ranks, rank, sensor, every_s, chance, is_moment=is_moment)
    (run,) = (run for run in logdir.scan(str(folder)).runs if len(run.profiles) == 2)
    late = known_late(Question(Opened(run)))
    assert late is not None
    return late, joules


@pytest.mark.parametrize(
    ("sensor", "every_s"),
    [
        (capacitor(0.5), 1.0),
        (capacitor(1.0), 1.0),
        (capacitor(0.7), 0.2),
        (two_capacitors(2.0), 1.0),
        (moving_mean(2.0), 1.0),
    ],
)
def test_the_interval_holds_where_readings_follow_slowly(
    sensor: Sensor, every_s: float, tmp_path: Path
) -> None:
    misses = []
    for seed in (71_001, 71_002, 71_003):
        folder = tmp_path / str(seed)
        late, joules = found(folder, seed, sensor, every_s)
        total = wait_sum(late.energies)
        assert total is not None
        assert total.half < 0.3 * total.joules
        misses.append(abs(total.joules - joules) / total.half)
    # Of three 95 % intervals one may miss by a little.
    assert sorted(misses)[1] <= 1.0
    assert max(misses) <= 1.5


def test_readings_of_moments_that_come_often_show_what_waits_draw(tmp_path: Path) -> None:
    misses = []
    for seed in (71_011, 71_012, 71_013):
        late, joules = found(tmp_path / str(seed), seed, moments, 0.2, is_moment=True)
        total = wait_sum(late.energies)
        assert total is not None
        misses.append(abs(total.joules - joules) / total.half)
    assert sorted(misses)[1] <= 1.0
    assert max(misses) <= 1.5


@pytest.mark.parametrize("every_s", [0.5, 1.0, 2.0])
def test_readings_of_moments_that_come_seldom_show_it_by_chance_alone(
    every_s: float, tmp_path: Path
) -> None:
    late, _ = found(tmp_path, 71_014, moments, every_s, is_moment=True)
    assert wait_sum(late.energies) is None
    assert late.energies is not None
    assert TOO_FAR_APART in {energy.reason for energy in late.energies}


def test_where_readings_follow_more_slowly_than_a_run_shows_it_is_said_what_would(
    tmp_path: Path,
) -> None:
    late, _ = found(tmp_path, 71_004, capacitor(12.0))
    assert wait_sum(late.energies) is None


def test_the_page_shows_the_reason_of_the_host_that_waits_and_what_would_settle_it(
    tmp_path: Path,
) -> None:
    world = replace(WORLD, late={0: 0.08}, slow_s=3)  # the first host is late and hardly waits
    late, _ = found(tmp_path, 71_005, capacitor(3.0), world=world)
    (fact,) = (fact for fact in answer(late.question).facts if fact.id == "waited_j")
    assert fact.value is None
    assert fact.why.startswith("its readings follow what happens only over ")
    assert fact.why.endswith(
        "a sensor that follows sooner, or lateness that comes and goes more slowly, would show it"
    )
