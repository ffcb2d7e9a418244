"""Logs with wrong clocks on trainings that nobody profiled: noticed, and the truth is inside."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from benchmarks.power_world import SENSORS, make_whole, record, write_log, write_whole
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy.log_alignment import clock_words
from powertui.data.training.training import Training


@lru_cache(maxsize=8)
def recorded(seed: int, sensor: str, batches: bool):
    course = make_whole(seed, batches=batches, burst=True)
    return course, record(course.world, SENSORS[sensor], seed)


def placed(folder: Path, seed: int, sensor: str, batches: bool, off_s: float | None):
    """(its alignment, the interval of the log's zero around the truth)"""
    course, taken = recorded(seed, sensor, batches)
    form = "relative" if off_s is None else "wall"
    shifted = replace(taken, unix=taken.unix + (off_s or 0.0))
    log = write_log(shifted, folder / "power.csv", form)
    (entry,) = [one for one in logdir.scan(write_whole(course, folder)).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    (channel,) = training.power
    found = channel.alignment
    true = float(taken.unix[0]) - channel.base_ns / 1e9
    return found, (found.lo_s - true, found.hi_s - true), taken.delay_s


PLAIN = [
    (1, "25 ms of 0.1 s", False),
    (4, "mean 1 s every 0.1 s", False),
    (11, "mean 1 s, 1 W", True),
    (10, "mean 0.5 s, 1 W", True),
]


@pytest.mark.parametrize(("seed", "sensor", "batches"), PLAIN)
@pytest.mark.parametrize("off_s", [2.0, -15.0, 30.0])
def test_a_wrong_clock_is_corrected(tmp_path, seed, sensor, batches, off_s) -> None:
    found, (lo, hi), delay = placed(tmp_path, seed, sensor, batches, off_s)
    assert found.status == "clock corrected"
    assert found.correction_s == pytest.approx(-off_s, abs=0.6)
    assert lo <= 0.0
    assert hi >= -delay


@pytest.mark.parametrize(("seed", "sensor", "batches"), PLAIN)
@pytest.mark.parametrize("off_s", [0.0, 0.1, -0.1])
def test_a_right_clock_is_confirmed_to_what_the_sensor_shows(
    tmp_path, seed, sensor, batches, off_s
) -> None:
    found, (lo, hi), delay = placed(tmp_path, seed, sensor, batches, off_s)
    assert found.status in ("aligned", "clock corrected")
    assert abs(found.correction_s) < 0.5
    assert lo <= 0.0
    assert hi >= -delay
    assert "agrees with the edges" in clock_words(found).clause or off_s


@pytest.mark.parametrize(("seed", "sensor", "batches"), PLAIN)
def test_a_log_without_a_clock_finds_its_place(tmp_path, seed, sensor, batches) -> None:
    found, (lo, hi), delay = placed(tmp_path, seed, sensor, batches, None)
    assert found.status == "aligned"
    assert lo <= 0.0
    assert hi >= -delay


def test_a_slow_sensor_that_shows_nothing_leaves_the_clock_to_two_seconds(tmp_path) -> None:
    found, _, _ = placed(tmp_path, 22, "mean 10 s (PDU)", False, 0.0)
    assert found.status == "cannot tell"
    assert (found.lo_s, found.hi_s) == (-2.0, 2.0)
    assert "assumed to be right, ± 2 s" in clock_words(found).clause


@pytest.mark.parametrize("off_s", [3600.0, -5400.0])
def test_a_log_that_is_whole_half_hours_off_says_so_and_is_not_used(tmp_path, off_s) -> None:
    course, taken = recorded(11, "mean 1 s, 1 W", True)
    shifted = replace(taken, unix=taken.unix + off_s)
    log = write_log(shifted, tmp_path / "power.csv", "wall")
    (entry,) = [one for one in logdir.scan(write_whole(course, tmp_path)).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    (channel,) = training.power
    assert channel.status == "none"
    way = "1 h ahead" if off_s > 0 else "1.5 h behind"
    assert any(f"if its clock is {way}" in one for one in channel.alignment.evidence)


LATE = [
    ("nvidia", "25 ms of 0.1 s", 1, False),
    ("counter", "counter 0.1 s", 4, False),
    ("counter", "counter 0.1 s", 10, True),
]


@pytest.mark.parametrize(("source", "sensor", "seed", "batches"), LATE)
@pytest.mark.parametrize("late_s", [-0.3, 0.1, 0.3, 0.5])
def test_a_log_of_the_same_machine_that_is_written_late_is_never_sure_and_wrong(
    tmp_path, source, sensor, seed, batches, late_s
) -> None:
    course, taken = recorded(seed, sensor, batches)
    late = replace(taken, unix=taken.unix + late_s)
    log = write_log(late, tmp_path / f"{source}.csv", "labelled")
    (entry,) = [one for one in logdir.scan(write_whole(course, tmp_path)).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False, tz="UTC"))
    (channel,) = training.power
    found = channel.alignment
    true = float(taken.unix[0]) - channel.base_ns / 1e9
    assert found.is_sure
    # Our recorder stamps what it reads as it reads it: what readings do not resolve is believed.
    slack_s = 0.05 if source == "counter" else 0.02
    assert found.lo_s - slack_s <= true <= found.hi_s + taken.delay_s + slack_s
    assert found.hi_s - found.lo_s < 1.1
    if source == "counter" and late_s == 0.5:
        assert found.status == "clock corrected"
