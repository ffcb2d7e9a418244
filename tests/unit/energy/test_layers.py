"""Long recordings: a short burst among tens of thousands of readings, a long load, and quiet that
stays quiet.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.long_training import LongCase, LongCell, judge
from powertui.data.energy.findings import layers, overlapping_loads
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import Expectation, SensorReadings
from powertui.data.energy.findings.residual_noise import ResidualNoise, residual_noise
from powertui.data.energy.samples import Samples

LEVEL = 250.0


def readings(count: int, loads: list[tuple[int, int, float]], seed: int = 1) -> Samples:
    """One a second around one level, with loads (from, to, watts)."""
    watts = LEVEL + np.random.default_rng(seed).normal(0, 4, count)
    for first, end, more in loads:
        watts[first:end] += more
    at = np.arange(count, dtype=np.float64)
    return Samples(at, at + 1, np.round(watts), 1.0, 0.0, 1.0, ())


def expect(data: Samples) -> Expectation:
    """The level, whatever was read."""
    level, nothing = np.full(len(data), LEVEL), np.zeros(len(data))
    all_of = np.ones(len(data), np.bool_)
    return Expectation(
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


def switching(hours: int, loads: list[tuple[int, int, float]]) -> Samples:
    """Power that switches by 100 W every hour, whatever the training does."""
    hour = 3600
    on = [(start, start + hour, 100.0) for start in range(hour, hours * hour, 2 * hour)]
    return readings(hours * hour, [*on, *loads])


@pytest.fixture
def close_looks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The readings of each piece that is looked at closely."""
    seen: list[int] = []

    def counted(piece: SensorReadings, looks: int = 1) -> tuple[list[Box], ResidualNoise]:
        seen.append(len(piece))
        return [], residual_noise(np.array([1.0, -1.0]), 1.0)

    monkeypatch.setattr(overlapping_loads, "find_loads", counted)
    return seen


def test_a_week_that_switches_every_hour_is_not_looked_at_piece_by_piece(
    close_looks: list[int],
) -> None:
    counts = []
    for hours in (84, 168, 336):
        close_looks.clear()
        layers.find_in_layers(switching(hours, []), expect)
        counts.append(sum(close_looks))
    assert counts[1] <= 2.3 * counts[0]
    assert counts[2] <= 2.3 * counts[1]
    assert max(counts) <= 3 * layers._MAX_CLOSE_PIECES * layers._PIECE_READINGS


def test_a_short_load_is_found_where_the_power_switches_all_day() -> None:
    hours, at = 72, 40 * 3600 + 900
    boxes = layers.find_in_layers(switching(hours, [(at, at + 40, 60.0)]), expect).boxes
    short = [box for box in boxes if box.end - box.start < 100]
    assert [round(box.start, -1) for box in short] == [at]


def test_what_is_too_much_to_look_at_is_said(
    close_looks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "_MAX_CLOSE_PIECES", 20)
    bursts = [(at, at + 40, 60.0 + at / 3600) for at in range(900, 48 * 3600, 1800)]
    found = layers.find_in_layers(switching(48, bursts), expect)
    assert len(close_looks) <= 3 * 20
    assert sum(end - start for start, end in found.skipped) > 24 * 3600
