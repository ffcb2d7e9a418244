"""Which logs meet a run: one rule, asked by report, energy, doctor, export, the axis and the
screens. A log that does not is one sentence with its distance; nothing is placed, counted, moved or
removed by it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import powertui
from powertui import cli, demo
from powertui.data import logdir
from powertui.data.asked import Aligning, Pins
from powertui.data.energy import account, meeting
from powertui.data.opened import Profile
from powertui.data.training.training import Training, Trainings
from powertui.data.training.training_energy import training_energy
from powertui.screens import loader
from powertui.view.timeline_model import TimelineModel

DAY = 86_400
HALF_A_YEAR = 182 * DAY
TO_1970, TO_2099, TO_2106, TO_2500 = -1_795_000_000, 2_300_000_000, 2_500_000_000, 15_000_000_000
Rows = list[tuple[float, float]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The demo's training with its scalars, and no power."""
    shutil.copytree(demo.folder() / "logs", tmp_path / "run")
    return tmp_path / "run"


def rows() -> Rows:
    """What its own log holds."""
    lines = demo.power_file().read_text().splitlines()
    return [
        (float(line.split(",")[0]), float(line.split(",")[1]))
        for line in lines[1:]
        if line and line[0].isdigit()
    ]


def write(path: Path, readings: Rows, by_s: float = 0.0) -> Path:
    """A log; as dates with a zone, for seconds of 1970 would be taken for elapsed ones."""

    def date(t: float) -> str:
        return (datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=t)).strftime(
            "%Y-%m-%dT%H:%M:%S.%fZ"
        )

    path.write_text(
        "time,watts\n" + "".join(f"{date(t + by_s)},{watts}\n" for t, watts in readings)
    )
    return path


def training_of(folder: Path, aligning: Aligning | None = None) -> Training:
    (found,) = (
        one
        for one in Trainings(logdir.scan(str(folder)), aligning=aligning).all
        if one.entry.sessions
    )
    return found


def profile_of(training: Training) -> Profile:
    return training.opened(training.entry.sessions[0]).profiles[0]


def axis(folder: Path) -> tuple[int, int, int, list[int]]:
    """Zero, length and epochs of its axis, as report, energy and the screens take them."""
    training = training_of(folder)
    profile_of(training)
    seen = training.seen_from()
    return (
        seen.zero_ns,
        seen.start,
        seen.end,
        [epoch.number for epoch in seen.epochs if epoch.start is not None and epoch.end],
    )


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*argv: str) -> str:
        capsys.readouterr()
        cli.main([*argv])
        return capsys.readouterr().out

    return run


def statuses(shown: Any) -> Iterator[str]:
    if isinstance(shown, dict):
        if isinstance(shown.get("status"), str) and "offset_s" in shown:
            yield shown["status"]
        for part in shown.values():
            yield from statuses(part)
    elif isinstance(shown, list):
        for part in shown:
            yield from statuses(part)


# ── the rule ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("log", "gap"),
    [
        ((0, 5), -5),
        ((0, 10), 0),
        ((0, 11), None),
        ((12, 13), None),
        ((15, 15), None),
        ((19, 40), None),
        ((20, 40), 0),
        ((23, 40), 3),
    ],
)
def test_a_log_meets_a_run_where_some_reading_lies_within_it(
    log: tuple[int, int], gap: int | None
) -> None:
    assert meeting.gap(*log, (10, 20)) == gap


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.26, "0.26 seconds"),
        (31.0, "31 seconds"),
        (150, "2.5 minutes"),
        (3 * 3600, "3.0 hours"),
        (199 * DAY, "199 days"),
        (57 * 365.25 * DAY, "57 years"),
    ],
)
def test_a_distance_is_told_in_the_largest_unit_that_it_fills_twice(
    seconds: float, words: str
) -> None:
    assert meeting.length(seconds) == words
    assert (
        meeting.not_used("/a/power.csv", round(-seconds * 1e9))
        == f"power.csv ends {words} before this run. It is not used."
    )


# ── what a log of another time does ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "by_s", [-HALF_A_YEAR, HALF_A_YEAR, TO_1970, TO_2099, TO_2106, TO_2500, -3600.0]
)
def test_it_moves_no_axis_and_removes_no_epoch(folder: Path, by_s: float) -> None:
    """Half a year older or younger; of 1970 (a clock that was never set); years that no reader
    takes; of an hour before.
    """
    before = axis(folder)
    write(folder / "power.csv", rows(), by_s)
    assert axis(folder) == before
    assert before[3] == [0, 1]


@pytest.mark.parametrize("by_s", [-HALF_A_YEAR, HALF_A_YEAR, TO_1970, TO_2099])
def test_every_verb_says_it_in_one_sentence_and_calls_it_aligned_nowhere(
    folder: Path, said: Callable[..., str], by_s: float
) -> None:
    write(folder / "power.csv", rows(), by_s)
    sentence = "power.csv ends " if by_s < 0 else "power.csv begins "
    end = "before this run. It is not used." if by_s < 0 else "after this run. It is not used."
    for verb in ("report", "energy", "doctor"):
        lines = [line for line in said(verb, str(folder)).splitlines() if sentence in line]
        assert lines, verb
        assert all(end in line for line in lines)
    assert "aligned" not in said("energy", str(folder))
    shown = json.loads(said("energy", str(folder), "--json"))
    assert set(statuses(shown)) == {"none"}
    assert shown["runs"][0]["counted"]["channels"] == []
    assert shown["runs"][0]["profile"]["joules"] is None
    assert end in shown["runs"][0]["profile"]["reason"]


def test_the_screens_get_the_sentence_and_no_power(folder: Path) -> None:
    write(folder / "power.csv", rows(), -HALF_A_YEAR)
    training = training_of(folder)
    profile = profile_of(training)
    part = loader.training_model(
        profile.opened, 0, TimelineModel.from_run(profile.opened.run, 0), Aligning()
    )
    assert part.power == ()
    assert part.model is not None
    assert part.model.power_note == "power.csv ends 182 days before this run. It is not used."
    assert loader.further(part, profile.opened, Aligning()) is not None


def test_a_frame_has_the_reason(folder: Path) -> None:
    write(folder / "power.csv", rows(), -HALF_A_YEAR)
    frame = powertui.open(folder)[0].energy()
    assert frame.joules.isna().all()
    assert frame.reason.str.contains("power.csv ends 182 days before this run").all()


def test_of_two_logs_the_one_that_meets_is_told_as_if_it_were_alone(folder: Path) -> None:
    write(folder / "good.csv", rows())
    alone = account.energy_account(profile_of(training_of(folder)))
    before = axis(folder)
    joules = alone.energy(*alone.trace.span)
    write(
        folder / "apart.csv", [(t, 10 * watts) for t, watts in rows()], -HALF_A_YEAR
    )  # sorted before it, and draws more
    both = account.energy_account(profile_of(training_of(folder)))
    again = both.energy(*both.trace.span)
    assert axis(folder) == before
    assert again is not None
    assert joules is not None
    assert (again.joules, again.lo, again.hi) == (joules.joules, joules.lo, joules.hi)
    assert [Path(one.series.path).name for one in both.drawn] == ["good.csv"]
    assert both.text == alone.text
    assert both.apart == "apart.csv ends 182 days before this run. It is not used."


WAY_ON = "Its readings fit this run if its clock is"


@pytest.mark.parametrize(("off_s", "words"), [(3_600, "60 min 00 s ahead"), (-600, "behind")])
def test_a_log_whose_readings_fit_is_not_used_unasked_and_the_option_is_named(
    folder: Path, said: Callable[..., str], off_s: float, words: str
) -> None:
    write(folder / "power.csv", rows(), off_s)
    shown = " ".join(said("energy", str(folder)).split())
    assert "It is not used." in shown
    assert f"{WAY_ON}" in shown
    assert words in shown
    assert ": --align signal takes that." in shown
    assert "measured" not in shown
    taken = " ".join(said("energy", str(folder), "--align", "signal").split())
    assert WAY_ON not in taken
    assert "not used" not in taken


def test_another_days_log_and_one_beside_a_log_that_is_used_get_no_such_offer(
    folder: Path, said: Callable[..., str]
) -> None:
    write(folder / "power.csv", rows(), 3 * 86_400)
    assert WAY_ON not in " ".join(said("energy", str(folder)).split())
    write(folder / "power.csv", rows(), 3_600)
    write(folder / "good.csv", rows())
    assert WAY_ON not in " ".join(said("energy", str(folder)).split())


# ── at the edge ──────────────────────────────────────────────────────────────────────────────────


def test_a_log_that_overlaps_by_one_reading_meets_and_one_that_stops_short_does_not(
    folder: Path,
) -> None:
    training = training_of(folder)
    profile_of(training)
    first, last = training.extent_ns or (0, 0)
    readings = rows()
    to_start, to_end = first / 1e9 - readings[-1][0], last / 1e9 - readings[0][0]
    for by_s, meets in (
        (to_start + 0.5, True),
        (to_start - 0.5, False),
        (to_end - 0.5, True),
        (to_end + 0.5, False),
    ):
        write(folder / "power.csv", readings, by_s)
        training = training_of(folder)
        found = account.energy_account(profile_of(training))
        seen = training.seen_from()
        assert (found.placed[0].power.status != "none") is meets, by_s
        assert bool(seen.power) is meets, by_s
        assert bool(found.elsewhere) is not meets


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("by_s", [0.0, -HALF_A_YEAR])
def test_logs_of_hardly_any_reading(
    folder: Path, said: Callable[..., str], count: int, by_s: float
) -> None:
    middle = len(rows()) // 2
    write(folder / "power.csv", rows()[middle : middle + count], by_s)
    before = axis(folder)
    for verb in ("report", "energy", "doctor"):
        assert said(verb, str(folder))
    found = account.energy_account(profile_of(training_of(folder)))
    # One or two readings confirm no clock.
    assert [one.alignment.status for one in found.placed] == (
        [] if not count else ["none" if by_s else "cannot tell"]
    )
    assert axis(folder)[3] == before[3]


# ── who says so wins ─────────────────────────────────────────────────────────────────────────────


def test_a_person_may_place_it_all_the_same(folder: Path) -> None:
    write(folder / "power.csv", rows(), -HALF_A_YEAR)
    training = training_of(folder)
    for how in (
        Aligning(offset_s=-3.0),
        Aligning(pins=Pins().add(3.0, 0.0)),
        Aligning("signal"),
        Aligning("signal", 2.0),
    ):
        (placed,) = account.energy_account(profile_of(training), how).placed
        assert placed.power.status != "none"
        assert not placed.alignment.elsewhere


def test_a_place_by_hand_far_beside_the_run_stretches_no_axis(folder: Path) -> None:
    """A slip in --offset: the log lies where the person said, and the training keeps its length."""
    before = axis(folder)
    write(folder / "power.csv", rows())
    how = Aligning(offset_s=-15_000_000.0)
    training = training_of(folder, how)
    seen = training.seen_from(profile_of(training), how)
    (placed,) = seen.placements
    assert placed.power.status == "aligned"
    assert seen.end - seen.start == before[2] - before[1]
    assert training_energy(training.seen_from(None, how)).epochs()
    assert (
        "begins" in account.energy_account(profile_of(training), how).apart
        or "ends" in account.energy_account(profile_of(training), how).apart
    )


def test_a_nudge_that_brings_it_onto_the_run_places_it(folder: Path) -> None:
    write(folder / "power.csv", rows(), -3600.0)
    training = training_of(folder)
    assert account.energy_account(profile_of(training)).elsewhere
    nudged = account.energy_account(profile_of(training), Aligning(pins=Pins().nudged(3600.0)))
    assert nudged.placed[0].power.status != "none"
    assert nudged.counted


# ── zones ────────────────────────────────────────────────────────────────────────────────────────


def local(path: Path, readings: Rows, by_s: float) -> Path:
    stamps = [
        datetime.fromtimestamp(t + by_s, timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
        for t, _ in readings
    ]
    path.write_text(
        "time,watts\n"
        + "".join(f"{stamp},{watts}\n" for stamp, (_, watts) in zip(stamps, readings, strict=True))
    )
    return path


@pytest.mark.parametrize("zone_h", [-7, 1, 5.5])
def test_a_log_that_a_zone_places_is_placed(folder: Path, zone_h: float) -> None:
    local(folder / "power.csv", rows(), zone_h * 3600)
    found = account.energy_account(profile_of(training_of(folder)))
    assert not found.elsewhere
    assert [one.power.status for one in found.placed] == ["aligned"]
    assert training_of(folder).seen_from().power


def test_local_times_of_another_half_year_meet_in_no_zone(folder: Path) -> None:
    before = axis(folder)
    local(folder / "power.csv", rows(), -HALF_A_YEAR)
    found = account.energy_account(profile_of(training_of(folder)))
    assert found.elsewhere == (found.apart,)
    assert "power.csv ends 18" in found.apart
    assert axis(folder) == before


# ── relative logs, trainings of one kind of thing alone ──────────────────────────────────────────


def test_relative_times_meet_by_signal_as_ever(folder: Path) -> None:
    readings = rows()
    (folder / "power.csv").write_text(
        "time_s,watts\n" + "".join(f"{t - readings[0][0]:.6f},{watts}\n" for t, watts in readings)
    )
    (placed,) = account.energy_account(profile_of(training_of(folder))).placed
    assert placed.alignment.source == "by signal"
    assert not placed.alignment.elsewhere


@pytest.mark.parametrize("kept", ["scalars", "profile"])
def test_a_training_of_scalars_or_of_a_profile_alone(
    folder: Path, said: Callable[..., str], kept: str
) -> None:
    for file in [file for file in folder.rglob("*") if file.is_file()]:
        if ("tfevents" in file.name) is not (kept == "scalars"):
            file.unlink()
    write(folder / "power.csv", rows(), -HALF_A_YEAR)
    for verb in ("report", "energy", "doctor"):
        shown = said(verb, str(folder))
        assert "power.csv ends 182 days before this run. It is not used." in shown, verb
        assert ": aligned" not in shown
    (training,) = Trainings(logdir.scan(str(folder))).all
    assert training.seen_from().power == ()
    seen = training.seen_from()
    assert seen.end - seen.start < 7200 * 10**12, (
        "an hour at most, as far as a folder's name tells; not half a year"
    )


@pytest.mark.parametrize(("by_s", "epochs"), [(0.0, [0, 1]), (-HALF_A_YEAR, [])])
def test_windows_of_a_recording_are_epochs_of_its_own_training_alone(
    folder: Path, by_s: float, epochs: list[int]
) -> None:
    for file in folder.rglob("*tfevents*"):
        file.unlink()
    about = {
        "name": "node",
        "source": "toy",
        "url": "toy:",
        "host": "",
        "channels": [{"name": "power", "scope": "node"}],
    }
    lines = ["# powertui recording 1", "# interval_s: 0.25", f"# source: {json.dumps(about)}"]
    lines.append("time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark")
    for number, (t, watts) in enumerate(rows()):
        clocks = f"{t + by_s:.6f},{100 + t - rows()[0][0]:.6f}"
        if number % 80 in (5, 75):
            lines.append(
                f"{clocks},,,,,,{'begin' if number % 80 == 5 else 'end'},,epoch {number // 80}"
            )
        lines.append(f"{clocks},node,power,{watts},,0.001,ok,,")
    (folder / "power.csv").write_text("\n".join(lines) + "\n")
    training = training_of(folder)
    profile_of(training)
    assert [one.number for one in training.epochs] == epochs


def test_the_time_of_a_copied_file_makes_no_run_longer(tmp_path: Path, data: Path) -> None:
    """A session whose head tells when it ran beside one of which only the file's time is known,
    until somebody reads it.
    """
    shutil.copytree(data / "logdirs" / "jax_cpu", tmp_path, dirs_exist_ok=True)
    alone = training_of(tmp_path).extent_ns
    shutil.copy(data / "foreign" / "torch_1_8.pt.trace.json", tmp_path)
    assert alone is not None
    assert training_of(tmp_path).extent_ns == alone
