"""Logs whose clocks are wrong, right, or cannot be checked, on trainings whose truth is known."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.power_world import (
    SENSORS,
    make,
    make_whole,
    plan,
    record,
    write,
    write_log,
    write_whole,
)
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.conclusions.conclusion import Conclusion, Confidence, Kind
from powertui.data.conclusions.makers import clocks
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import account
from powertui.data.opened import Opened
from powertui.data.training.training import Trainings
from powertui.screens.trainings import only

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")


def _profiled(folder: Path, seed: int, sensor: str, off_s: float, form: str = "wall") -> Opened:
    """A profile with the log of a sensor whose clock is so much ahead."""
    world = make(plan(seed))
    write(world, folder)
    taken = record(world, SENSORS[sensor], seed)
    write_log(replace(taken, unix=taken.unix + off_s), folder / "power.csv", form)
    scan = logdir.scan(str(folder))
    return next(opened for opened in Trainings(scan).each(scan.runs) if opened.profiles)


def _clocks(opened: Opened, aligning: Aligning | None = None) -> list[Conclusion]:
    return [one for one in run_conclusions(opened, aligning) if one.kind is Kind.CLOCK]


@pytest.mark.parametrize(
    ("seed", "sensor", "off_s", "way"),
    [(11, "mean 0.5 s, 1 W", 3.0, "ahead"), (8, "moment 0.04 s", -12.0, "behind")],
)
def test_a_wrong_clock_is_told_with_what_it_does_to_joules(
    tmp_path: Path, seed: int, sensor: str, off_s: float, way: str
) -> None:
    opened = _profiled(tmp_path, seed, sensor, off_s)
    (clock,) = _clocks(opened)
    match = re.match(r"The clock of power\.csv is ([\d.]+) s (\w+) \(± ", clock.sentence)
    assert match is not None
    assert float(match[1]) == pytest.approx(abs(off_s), abs=0.4)
    assert match[2] == way
    assert "The energy of the profile is " in clock.sentence
    assert "by its own times" in clock.sentence
    assert clock.confidence is Confidence.LIKELY
    assert clock.cost.share is clock.cost.seconds is clock.cost.joules is None
    # A person who says that the clock is right is not contradicted.
    assert not _clocks(opened, Aligning("clock"))


def test_a_right_clock_is_not_mentioned(tmp_path: Path) -> None:
    assert not _clocks(_profiled(tmp_path, 8, "moment 0.04 s", 0.0))


def test_readings_that_fit_several_places_leave_joules_open(tmp_path: Path) -> None:
    (clock,) = _clocks(_profiled(tmp_path, 9, "counter 0.1 s", -4.0))
    assert re.match(
        r"The clock of power\.csv does not decide between \d+ places, up to .* apart, that its "
        r"readings fit\. The energy of the profile is between \d.* and \d",
        clock.sentence,
    )
    assert clock.confidence is Confidence.UNSURE
    assert "--align clock" in clock.next


def test_nobody_is_asked_to_do_what_the_log_already_does(tmp_path: Path) -> None:
    """A log that begins before the run and ends after it needs no longer one."""
    opened = _profiled(tmp_path, 9, "counter 0.1 s", -4.0)
    (clock,) = _clocks(opened)
    (profile,) = opened.profiles
    alignment = account.energy_account(profile).alignment
    assert alignment is not None
    times = account.energy_account(profile).placed[0].power.times
    lo, hi = profile.trace.span
    assert times[0] < lo
    assert times[-1] > hi
    assert clock.next == alignment.advice
    assert clock.next in alignment.evidence
    assert "--align clock" in clock.next
    assert "Log power from before" not in " ".join(alignment.evidence)


def test_a_profile_too_short_for_its_sensor_blames_no_clock(tmp_path: Path) -> None:
    opened = _profiled(tmp_path, 7, "mean 10 s (PDU)", 30.0)
    (profile,) = opened.profiles
    energy = account.energy_account(profile).energy(*profile.trace.span)
    assert energy is not None
    reason = "not resolved: 49.8 ms is too short, the sensor refreshes every 0.1 s"
    short = replace(energy, joules=None, lo=None, hi=None, resolved=False, reason=reason)
    placed = account.energy_account(profile).placed[0]
    log = clocks._Log(placed=placed, what="the profile", energy=short)
    assert not list(clocks._conclusions([log], has_findings=False))
    (said,) = clocks._conclusions([log], has_findings=True)
    assert said.sentence.endswith(
        "The energy of the profile is not known for another reason: 49.8 ms is too short, the "
        "sensor refreshes every 0.1 s."
    )


def test_a_log_without_a_clock_is_mentioned_only_where_joules_depend_on_its_place(
    tmp_path: Path,
) -> None:
    assert not _clocks(_profiled(tmp_path / "a", 36, "mean 1 s, 1 W", 0.0, "relative"))


def test_a_clock_that_cannot_be_checked_is_no_wrong_clock(tmp_path: Path) -> None:
    (clock,) = _clocks(_profiled(tmp_path, 7, "mean 10 s (PDU)", 30.0))
    assert re.match(
        r"The clock of power\.csv is assumed to be right, ± \d.*: nothing confirms it\.",
        clock.sentence,
    )
    assert clock.confidence is Confidence.UNSURE


def test_the_clock_of_a_training_that_nobody_profiled_is_told_too(tmp_path: Path) -> None:
    course = make_whole(10, batches=True, burst=False)
    taken = record(course.world, SENSORS["mean 0.5 s, 1 W"], 10)
    log = write_log(replace(taken, unix=taken.unix + 20.0), tmp_path / "power.csv", "wall")
    scan = logdir.scan(write_whole(course, tmp_path))
    options = ReadOptions(power=(str(log),), find_power=False)
    (training,) = Trainings(scan, options).all
    (clock,) = _clocks(Opened(only(scan) or scan.runs[0], options, around=training))
    assert re.match(r"The clock of power\.csv is (19\.\d|20(\.\d)?) s ahead", clock.sentence)


def test_a_run_without_power_has_no_clock_to_doubt(tmp_path: Path) -> None:
    write(make(plan(9)), tmp_path)
    scan = logdir.scan(str(tmp_path))
    for opened in Trainings(scan).each(scan.runs):
        assert not _clocks(opened)
