"""Long recordings: a short burst among tens of thousands of readings, a long load, and quiet that
stays quiet.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.long_training import LongCase, LongCell, judge
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.samples import Samples
from powertui.data.training import layers
from powertui.data.training.expected_course import ExpectedOfTraining

LEVEL = 250.0


def readings(count: int, loads: list[tuple[int, int, float]], seed: int = 1) -> Samples:
    """One a second around one level, with loads (from, to, watts)."""
    watts = LEVEL + np.random.default_rng(seed).normal(0, 4, count)
    for first, end, more in loads:
        watts[first:end] += more
    at = np.arange(count, dtype=np.float64)
    return Samples(at, at + 1, np.round(watts), 1.0, 0.0, 1.0, ())


def expect(data: Samples) -> ExpectedOfTraining:
    """The level, whatever was read."""
    level, nothing = np.full(len(data), LEVEL), np.zeros(len(data))
    all_of = np.ones(len(data), np.bool_)
    return ExpectedOfTraining(
        SensorReadings(data.lo, data.hi, data.watts, level, level, nothing + 0.5, all_of, 1.0), ()
    )


@pytest.mark.parametrize(
    "load",
    [
        (20_111, 20_131, 60.0),
        (36, 60, 60.0),
        (35_960, 35_990, 60.0),
        (2_990, 3_012, 60.0),
        (9_000, 9_600, 15.0),
        (12_000, 19_000, 30.0),
    ],
    ids=["20 s", "at the beginning", "at the end", "where pieces meet", "10 min", "2 h"],
)
def test_one_load_is_found_once_however_long_it_is(load: tuple[int, int, float]) -> None:
    found = layers.find_in_layers(readings(36_000, [load]), expect)
    (box,) = found.boxes
    length = load[1] - load[0]
    assert (box.start, box.end) == (
        pytest.approx(load[0], abs=2 + 0.02 * length),
        pytest.approx(load[1], abs=2 + 0.02 * length),
    )
    assert box.watts == pytest.approx(load[2], rel=0.15)


def test_a_short_load_and_a_long_one() -> None:
    found = layers.find_in_layers(
        readings(36_000, [(5_000, 5_025, 70.0), (20_000, 25_000, 40.0)]), expect
    ).boxes
    assert [(round(one.start, -2), round(one.end, -2)) for one in found] == [
        (5_000, 5_000),
        (20_000, 25_000),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_quiet_hours_stay_quiet(seed: int) -> None:
    assert layers.find_in_layers(readings(36_000, [], seed), expect).boxes == []


def test_a_few_readings_are_one_layer() -> None:
    found = layers.find_in_layers(readings(900, [(300, 330, 60.0)]), expect).boxes
    assert [round(one.start, -1) for one in found] == [300]


@pytest.mark.parametrize("batches", [True, False])
def test_a_burst_of_twenty_seconds_in_a_training_of_hours(tmp_path: Path, batches: bool) -> None:
    cell = LongCell()
    judge(LongCase(0, 3.0, batches, "mean 1 s, 1 W", True, 80.0, 20.0), cell, tmp_path)
    assert (cell.found, cell.false, cell.inside) == (1, [], cell.windows)


def box(start: float, end: float, p: float) -> Box:
    return Box(
        start, end, (start, start), (end, end), 50.0, 40.0, 60.0, 50.0 * (end - start), 0.0, 0.0, p
    )


def test_what_two_pieces_show_both_counts_once_and_what_lies_before_it_stays() -> None:
    first, unsure, sure = box(0, 10, 1e-6), box(20, 30, 1e-4), box(25, 35, 1e-9)
    assert layers._once([sure, first, unsure]) == [first, sure]
    assert layers._once([box(20, 30, 1e-9), first, box(25, 35, 1e-4)]) == [first, box(20, 30, 1e-9)]
