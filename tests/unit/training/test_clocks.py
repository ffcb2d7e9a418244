"""Logs with wrong clocks on trainings that nobody profiled: noticed, and the truth is inside."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.power_world import SENSORS, make_whole, record, write_log, write_whole
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy.clock_words import clock_words
from powertui.data.energy.log_alignment import Alignment
from powertui.data.training.training import Training
from tests.synthetic.tfevents import write_scalars


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


def loop_beside_log(folder: Path, off_s: float | None) -> tuple[Alignment, float]:
    """(where the log of a loop is that logs its loss every 10 steps, its true zero)"""
    rng = np.random.default_rng(5)
    begin, step_s, steps = 1.79e9, 0.2, 300
    at = begin + 1.0 + step_s * np.arange(10, steps + 1, 10)
    scalars = [(float(time), 10 * row, "loss", 1.0) for row, time in enumerate(at, start=1)]
    logs = folder / "logs"
    (logs / "train").mkdir(parents=True)
    write_scalars(logs / "train" / "events.out.tfevents.1790000000.box.1.0.v2", scalars, begin)
    times = np.arange(begin - 20.0, at[-1] + 25.0, 0.5)
    works = (times > begin + 1.0) & (times < at[-1])
    watts = np.where(works, 300.0, 150.0) + rng.normal(0, 2.0, len(times))
    written = times - times[0] if off_s is None else times + off_s
    lines = [f"{time:.3f},{power:.1f}" for time, power in zip(written, watts, strict=True)]
    name = "elapsed_s" if off_s is None else "time_unix_s"
    log = folder / "power.csv"
    log.write_text("\n".join([f"{name},watts", *lines]) + "\n")
    (entry,) = [one for one in logdir.scan(logs).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    (channel,) = training.power
    return channel.alignment, float(times[0]) - channel.base_ns / 1e9


@pytest.mark.parametrize("off_s", [15.0, -15.0, None])
def test_a_loop_that_only_logs_its_loss_doubts_a_wrong_clock_and_corrects_none(
    tmp_path, off_s
) -> None:
    """It may have compiled before its first record and evaluated after its last one."""
    found, true = loop_beside_log(tmp_path, off_s)
    assert found.status == "ambiguous"
    assert found.lo_s <= true <= found.hi_s


def test_a_loop_that_only_logs_its_loss_does_not_doubt_a_right_clock(tmp_path) -> None:
    found, true = loop_beside_log(tmp_path, 0.0)
    assert found.status == "aligned"  # to what its start and end are known to
    assert found.offset_s == pytest.approx(true, abs=0.01)
    assert found.hi_s - found.lo_s > 2.0


def test_a_log_whose_steps_rise_slowly_may_be_of_means_over_a_second(tmp_path) -> None:
    """Its third sharpest step takes 3.0 s, so nothing shows its window. Taken for readings of
    moments, the log was moved by half a second and sure, its right clock "corrected".
    """
    found, (lo, hi), delay = placed(tmp_path, 645, "mean 1 s every 0.1 s", True, 0.0)
    assert found.status == "aligned"
    assert lo <= 0.0
    assert hi >= -delay
