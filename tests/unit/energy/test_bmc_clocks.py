"""Logs that a BMC stamped by its own clock, which is minutes off as often as not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import powertui
from benchmarks.power_world import SENSORS, make, make_whole, plan, record, write, write_log
from benchmarks.power_world.whole import write_whole
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account, log_zone
from powertui.data.energy.alignment_places import Where
from powertui.data.energy.clock_words import clock_words
from powertui.data.energy.log_alignment import CLOCKS, Alignment
from powertui.data.model import Clock, PowerSeries, Sensor
from powertui.data.power import times
from powertui.data.training.training import Training

NS = 1_000_000_000
HOUR = 3600 * NS
SEED = 25_009  # a profile of 33 s
# A stamp is a whole second, and a mean of 0.5 s that is asked every 0.25 s lags as much.
LATE_S = 2.0


@pytest.fixture(scope="module")
def profiled(tmp_path_factory: pytest.TempPathFactory):
    """A logdir with a profile, and what a BMC's sensor said meanwhile."""
    world = make(plan(SEED))
    folder = tmp_path_factory.mktemp("profiled")
    return write(world, folder), record(world, SENSORS["mean 0.5 s, 1 W"], SEED)


def _beside_truth(logs: Path, taken, off_s: float, folder: Path) -> tuple[Alignment, float, float]:
    """The alignment of a log whose clock is off, and its interval around the truth (s)."""
    stamped = replace(taken, unix=taken.unix + off_s)
    log = write_log(stamped, folder / f"power {off_s}.txt", "ipmitool")
    profile = powertui.open(logs, power=log, tz="UTC")[0].opened.profiles[0]
    alignment = account.energy_account(profile, Aligning()).alignment
    assert alignment is not None
    assert alignment.lo_s is not None
    assert alignment.hi_s is not None
    first_s = int(stamped.unix[0]) - off_s
    zero_s = profile.clock.mid_ns / NS - first_s
    return alignment, zero_s + alignment.lo_s, zero_s + alignment.hi_s


@pytest.mark.parametrize("off_s", [5.0, -40.0, 70.0])
def test_a_bmc_clock_is_corrected_by_what_ran(profiled, off_s: float, tmp_path: Path) -> None:
    """Its stamps of whole seconds leave a second open, and no other place."""
    alignment, lo_s, hi_s = _beside_truth(*profiled, off_s, tmp_path)
    assert alignment.status == "clock corrected"
    assert alignment.correction_s == pytest.approx(-off_s, abs=LATE_S)
    assert lo_s <= 1.0
    assert hi_s >= -LATE_S
    assert hi_s - lo_s < 2 * LATE_S


def test_a_clock_that_is_minutes_wide_says_no_less_than_none(tmp_path: Path) -> None:
    """Where the readings fit several places, these come into question, and not four minutes."""
    world = make(plan(25_003))
    logs = write(world, tmp_path)
    taken = record(world, SENSORS["mean 1 s, 1 W"], 25_003)
    alignment, lo_s, hi_s = _beside_truth(logs, taken, 30.0, tmp_path)
    assert alignment.status in ("ambiguous", "clock corrected")
    assert lo_s <= 1.0
    assert hi_s >= -LATE_S
    assert hi_s - lo_s < 10.0


def test_beside_a_training_that_nobody_profiled_a_bmc_is_believed_to_minutes(
    tmp_path: Path,
) -> None:
    """A clock 70 s off was believed to 2 s where its meter of 10 s says nothing of its place."""
    course = make_whole(25_007, batches=False, burst=False)
    logs = write_whole(course, tmp_path)
    taken = record(course.world, SENSORS["mean 10 s (PDU)"], 25_007)
    stamped = replace(taken, unix=taken.unix + 70.0)
    log = write_log(stamped, tmp_path / "power.txt", "ipmitool")
    (entry,) = [one for one in logdir.scan(logs).trainings if one.tfevents]
    training = Training(entry, ReadOptions(power=(str(log),), find_power=False))
    (channel,) = training.power
    alignment = channel.alignment
    assert alignment.lo_s is not None
    assert alignment.hi_s is not None
    zero_s = channel.base_ns / NS - float(taken.unix[0])
    assert zero_s + alignment.lo_s <= 1.0
    assert zero_s + alignment.hi_s >= -12.0, "a mean of 10 s, and a second of the stamp"


def test_the_zone_of_a_bmc_is_known_and_its_minutes_are_not() -> None:
    run = (1_795_000_000 * NS, 1_795_000_060 * NS)
    # A local time of an unknown zone may be any within 26 hours.
    naive = Clock(run[0] - 14 * HOUR, run[0] + 12 * HOUR, times.LOCAL)
    series = PowerSeries(
        Sensor("DCMI power", source="ipmi DCMI"),
        np.array([0, 30 * NS, 60 * NS]),
        np.array([200.0, 210.0, 200.0]),
        clock=times.bmc(naive),
    )
    clock = log_zone.log_clock(series, run, 0)
    assert clock is not None
    assert clock.half_ns == times.BMC_SLACK
    assert "time zone is UTC+00:00" in clock.detail
    assert clock.utc_offset_s == 0
    by_script = replace(series, clock=naive)
    clock = log_zone.log_clock(by_script, run, 0)
    assert clock is not None
    assert clock.half_ns == 0


def _alignment(owner: str, status: str, places: tuple[Where, ...]) -> Alignment:
    return Alignment(
        offset_s=1.0,
        lo_s=0.0,
        hi_s=2.4,
        status=status,
        source=CLOCKS,
        evidence=(),
        places=places,
        clock_owner=owner,
    )


def test_one_place_is_not_told_as_several() -> None:
    one = (Where(1.0, 1.0, 1.2),)
    two = (Where(1.0, 0.6, 0.3), Where(5.0, 0.4, 0.3))
    assert clock_words(_alignment("the BMC", "ambiguous", one)).clause == (
        "the clock of the BMC is known by the readings alone, ± 1.2 s"
    )
    assert clock_words(_alignment("", "ambiguous", one)).clause == (
        "the log is placed by nothing but its readings, ± 1.2 s"
    )
    assert (
        "does not decide between 2 places, up to 4 s apart,"
        in clock_words(_alignment("the BMC", "ambiguous", two)).clause
    )


def test_a_clock_in_doubt_says_what_its_readings_prefer() -> None:
    """Nobody may then read that the clock is assumed to be right."""
    preferred = (Where(1.0, 0.05, 0.2), Where(0.2, 0.95, 0.2))
    said = clock_words(_alignment("the BMC", "cannot tell", preferred)).clause
    assert "is not known to better than ± 1.4 s" in said
    assert "its readings fit best with times 800 ms earlier (95 %)" in said
