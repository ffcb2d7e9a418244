"""A training as one thing: what belongs to it, where it lies, what it drew and what stands out of
it.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import powertui
from benchmarks import make_big, make_training
from benchmarks.power_world import SENSORS, Course, make_whole, record, write_log, write_whole
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account, integrate
from powertui.data.energy.findings import placed_search, unexplained
from powertui.data.formats import tfevents, tfevents_ends
from powertui.data.logdir import joined_folders, programs, trainings
from powertui.data.model import PS_PER_S, PowerOnTrace, Steps, Trace
from powertui.data.opened import Opened
from powertui.data.training import named_windows
from powertui.data.training.training import Training
from powertui.data.training.training_energy import training_energy
from powertui.errors import UsageError
from powertui.report import energy as energy_report
from powertui.sampler.csv_format import COLUMNS, MAGIC, limit_row, mark_row, reading_row
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import Reading, Stamp
from tests.synthetic.tfevents import frame, write_scalars

UNIX = 1_795_000_000.0


def events(
    folder: Path,
    second: int,
    host: str = "vm",
    pid: int = 7,
    *,
    steps: range = range(10, 210, 10),
    every_s: float = 0.5,
    group: str = "train",
    end: bool = True,
) -> Path:
    """Scalars of one process: a record every few batches, and an epoch's."""
    rows = [
        (second + 0.5 + number * every_s, step, "batch_loss", 1.0)
        for number, step in enumerate(steps)
    ]
    if end:
        rows.append((rows[-1][0] + 0.01, 0, "epoch_loss", 1.0))
    path = folder / group / f"events.out.tfevents.{second}.{host}.{pid}.0.v2"
    write_scalars(path, rows, float(second))
    return path


def only(folder: Path, **options: object) -> Training:
    """The one training of a folder."""
    (entry,) = logdir.scan(folder).trainings
    return Training(entry, ReadOptions(**options))  # type: ignore[arg-type]


# ── what belongs together ────────────────────────────────────────────────────────────────────────


def test_train_and_validation_and_their_power_are_one_training(tmp_path: Path) -> None:
    events(tmp_path / "logs", 1_795_000_000)
    events(tmp_path / "logs", 1_795_000_008, group="validation", steps=range(1), end=True)
    (tmp_path / "power.csv").write_text(
        "time_unix_s,watts\n" + "".join(f"{UNIX + i},{200 + i % 7}\n" for i in range(40))
    )
    (entry,) = logdir.scan(tmp_path).trainings
    assert {Path(file.path).parent.name for file in entry.tfevents} == {"train", "validation"}
    assert [Path(log.path).name for log in entry.power] == ["power.csv"]
    assert any("power log" in reason for reason in entry.reasons)


def test_many_trainings_take_as_much_each_as_few(tmp_path: Path) -> None:
    def calls(count: int) -> int:
        for number in range(count):
            events(
                tmp_path / f"{count}" / f"run_{number}",
                1_795_000_000 + number,
                pid=7 + number,
                steps=range(10, 20, 10),
            )
        found = logdir.scan(tmp_path / f"{count}")
        seen: list[str] = []
        grouping = {module.__file__ for module in (trainings, programs, joined_folders)}
        sys.setprofile(
            lambda frame, kind, _: (
                seen.append(kind) if frame.f_code.co_filename in grouping else None
            )
        )
        try:
            assert len(found.trainings) == count
        finally:
            sys.setprofile(None)
        return len(seen)

    few, many = calls(20), calls(80)
    assert many < 4.4 * few


def test_programs_that_lie_side_by_side_are_two_trainings(tmp_path: Path) -> None:
    events(tmp_path / "lr_0.1", 1_795_000_000, pid=7)
    events(tmp_path / "lr_0.2", 1_795_000_001, pid=8)
    assert [entry.name for entry in logdir.scan(tmp_path).trainings] == ["lr_0.1", "lr_0.2"]


def test_workers_side_by_side_at_one_time_are_one_training(tmp_path: Path) -> None:
    events(tmp_path / "worker_0", 1_795_000_000, host="a", pid=7)
    events(tmp_path / "worker_1", 1_795_000_001, host="b", pid=9)
    (entry,) = logdir.scan(tmp_path).trainings
    assert entry.hosts == ("a", "b")
    assert any("side by side" in reason for reason in entry.reasons)


def test_a_folder_used_in_turn_holds_two_trainings_but_a_resumed_one_is_one(tmp_path: Path) -> None:
    events(tmp_path / "again", 1_795_000_000, pid=7)
    events(tmp_path / "again", 1_795_005_000, pid=8)
    events(tmp_path / "resumed", 1_795_000_000, pid=17)
    events(tmp_path / "resumed", 1_795_000_060, pid=18, steps=range(210, 400, 10))
    assert [entry.name for entry in logdir.scan(tmp_path).trainings] == [
        "again (1)",
        "again (2)",
        "resumed",
    ]


def test_one_process_writing_into_several_folders_is_one_training(tmp_path: Path) -> None:
    events(tmp_path / "run", 1_795_000_000, pid=7)
    events(tmp_path / "run_loss_aux", 1_795_000_002, pid=7)
    events(
        tmp_path / "other", 1_795_000_002, pid=7
    )  # in another container every program may have the same process id
    assert [entry.name for entry in logdir.scan(tmp_path).trainings] == ["other", tmp_path.name]


def test_a_power_log_alone_is_a_training_on_its_own_clock(tmp_path: Path) -> None:
    log = tmp_path / "power.csv"
    log.write_text("elapsed_s,watts\n" + "".join(f"{i},{200 + i % 7}\n" for i in range(60)))
    training = only(tmp_path)
    seen = training.seen_from()
    assert (seen.start, seen.end, seen.wall) == (0, 59 * PS_PER_S, False)
    assert training_energy(seen).whole().energy.joules == pytest.approx(59 * 203, rel=0.02)  # type: ignore[union-attr]


# ── first and last records ───────────────────────────────────────────────────────────────────────


def test_the_ends_of_a_file_are_read_without_its_middle(tmp_path: Path) -> None:
    path = events(tmp_path, 1_795_000_000, steps=range(1, 5001), every_s=0.01)
    log, ends = tfevents.read(str(path)), tfevents_ends.ends(str(path))
    assert (ends.first_ns, ends.last_ns) == (log.first_ns, log.last_ns)
    assert (ends.first_step, ends.last_step) == (1, 5000)  # the very last record counts epochs


def test_an_unfinished_last_record_is_left_aside(tmp_path: Path) -> None:
    path = events(tmp_path, 1_795_000_000, end=False)
    whole = tfevents_ends.ends(str(path))
    with path.open("ab") as stream:
        stream.write(frame(b"\x09" + struct.pack("<d", 1_795_000_999.0))[:-6])
    assert tfevents_ends.ends(str(path)).last_ns == whole.last_ns


def test_the_end_is_found_behind_a_damaged_record(tmp_path: Path) -> None:
    path = events(tmp_path, 1_795_000_000)
    whole = tfevents_ends.ends(str(path))
    content = bytearray(path.read_bytes())
    second = 16 + struct.unpack_from("<Q", content)[0]
    content[second] ^= 0x20  # its length
    damaged = path.with_name(f"{path.name}.damaged")
    damaged.write_bytes(content)
    assert tfevents_ends.ends(str(damaged)).last_ns == whole.last_ns
    assert tfevents_ends.ends(str(damaged)).last_step == whole.last_step


def test_a_length_of_records_is_checked_once_for_all_files(tmp_path: Path) -> None:
    first = events(tmp_path / "a", 1_795_000_000)
    second = events(tmp_path / "b", 1_795_000_600)
    tfevents_ends._checksum.cache_clear()
    tfevents_ends.ends(str(first))
    lengths = tfevents_ends._checksum.cache_info().misses
    tfevents_ends.ends(str(second))
    assert 0 < lengths == tfevents_ends._checksum.cache_info().misses


# ── sessions on the axis ─────────────────────────────────────────────────────────────────────────


@pytest.fixture
def long_training(shared_data: Path) -> Path:
    return shared_data / "own" / "long_training"


def test_sessions_are_islands_before_anything_of_them_is_read(long_training: Path) -> None:
    training = only(long_training, power=(str(long_training / "power.csv"),), find_power=False)
    seen = training.seen_from()
    starts = [one.start / PS_PER_S for one in seen.islands if one.start is not None]
    assert starts == pytest.approx([24.081, 57.177], abs=0.01)
    assert not training.read_sessions()
    assert all(one.island.trusted for one in seen.islands)


def test_all_lies_the_same_on_every_axis(long_training: Path) -> None:
    training = only(long_training, power=(str(long_training / "power.csv"),), find_power=False)
    alone = training.seen_from()
    for entry in training.entry.sessions:
        here = training.seen_from(training.opened(entry).profiles[0])
        shift = (here.zero_ns - alone.zero_ns) * 1000
        assert [one.start + shift for one in here.epochs if one.start is not None] == [
            one.start for one in alone.epochs
        ]
        assert here.end - here.start == pytest.approx(alone.end - alone.start, abs=PS_PER_S // 1000)
        assert (
            next(one for one in here.islands if one.here).start
            == training.opened(entry).profiles[0].trace.span[0]
        )


def test_a_session_whose_clock_is_an_hour_off_is_said_and_not_believed(
    tmp_path: Path, long_training: Path
) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(long_training / "logs", logs, copy_function=shutil.copyfile)
    for file in logs.rglob("events*"):
        moved = file.read_bytes()
        log = tfevents.read(str(file), file.parent.name)
        rows = sorted(
            (wall / 1e9 - 3600, int(step), one.tag, float(value))
            for one in log.scalars
            for wall, step, value in zip(one.wall_ns, one.steps, one.values, strict=True)
        )
        assert moved
        file.chmod(0o644)
        write_scalars(file, rows, (log.header_ns or 0) / 1e9 - 3600)
    training = only(tmp_path)
    assert [one.status for one in training.islands] == [
        "not believed: its clock is an hour ahead of the training's scalars"
    ] * 2
    assert all(one.start is None and one.said is not None for one in training.islands)


def test_a_session_that_was_read_is_believed_by_its_own_clock_and_looks_at_the_power_around_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name and the time of its file, which is now, are years from the scalars."""
    monkeypatch.setattr(make_training, "GENERATED", tmp_path)
    monkeypatch.setattr(make_big, "GENERATED", tmp_path)
    folder = make_training.make(
        sessions=1, events=2_000, records=20_000, channels=2, seconds=8 * 3600
    )
    training = only(folder)
    (entry,) = training.entry.sessions
    assert training.islands[0].said is not None
    opened = Opened(entry, training.options, around=training)
    (profile,) = opened.profiles
    seen = training.seen_from(profile)
    assert seen.wall
    assert seen.end - seen.start > 7 * 3600 * PS_PER_S
    assert training.looks_around(profile, Aligning())
    assert not training.looks_around(profile, Aligning("none")), (
        "what was seen with another alignment is not taken again"
    )
    looked: list[int] = []
    look = unexplained.unexplained_power

    def count(
        trace: Trace, steps: Steps, power: PowerOnTrace, *rest: Any
    ) -> placed_search.FoundLoads:
        looked.append(len(power.times))
        return look(trace, steps, power, *rest)

    monkeypatch.setattr(unexplained, "unexplained_power", count)
    account.findings(profile)
    assert 3_600 <= looked[0] <= 4_200
    assert len(seen.power[0].times) == 8 * 3600


def test_sessions_that_overlap_and_hosts_beside_each_other(
    tmp_path: Path, long_training: Path
) -> None:
    shutil.copytree(long_training / "logs", tmp_path / "logs", copy_function=shutil.copyfile)
    profiles = tmp_path / "logs" / "train" / "plugins" / "profile"
    (profile,) = (profiles / "2026_11_21_18_19_32").iterdir()
    (profiles / "2026_11_21_18_19_32").chmod(0o755)
    shutil.copyfile(
        next((profiles / "2026_11_21_18_20_05").iterdir()),
        profiles / "2026_11_21_18_19_32" / "other.xplane.pb",
    )
    (profiles / "copy").mkdir()
    shutil.copyfile(profile, profiles / "copy" / "vm.xplane.pb")
    seen = only(tmp_path).seen_from()
    assert len(seen.islands) == 4
    assert {one.island.host for one in seen.islands} == {"vm", "other"}
    (other,) = (one for one in seen.islands if one.island.host == "other")
    assert (
        sorted(one.start for one in seen.islands if one.island.host == "vm")[-1] == other.start
    )  # each host has its own times


# ── epochs and steps ─────────────────────────────────────────────────────────────────────────────


def test_steps_between_two_records_are_numbered_by_interpolation(tmp_path: Path) -> None:
    events(tmp_path, 1_795_000_000)
    rate = only(tmp_path).rate
    assert (len(rate), rate.every) == (20, 10)
    assert rate.step_at(int((UNIX + 0.75) * 1e9)) == (10, pytest.approx(15.0), 20)
    assert np.allclose(rate.per_s, 20.0)
    assert rate.step_at(int((UNIX - 5) * 1e9)) is None


def test_each_tag_may_count_in_its_own_unit(tmp_path: Path) -> None:
    rows = [(UNIX + 0.1 * step, step, "loss", 1.0) for step in range(1, 401)]
    rows += [(UNIX + 0.1 * step, 64 * step, "samples/throughput", 1.0) for step in range(1, 401, 4)]
    rows += [(UNIX + 10.0 * epoch, epoch, "epoch/accuracy", 1.0) for epoch in range(1, 5)]
    write_scalars(tmp_path / "events.out.tfevents.1795000000.vm", sorted(rows), UNIX)
    training = only(tmp_path)
    assert {one.tag: one.unit for one in training.strips} == {
        "loss": "steps",
        "samples/throughput": "",
        "epoch/accuracy": "epochs",
    }
    assert training.rate.source == "loss, every step"
    assert [one.number for one in training.epochs] == [1, 2, 3, 4]


def test_an_epoch_tag_that_holds_the_epochs_number(tmp_path: Path) -> None:
    rows = [(UNIX + 0.1 * step, step, "epoch", float(step // 100)) for step in range(0, 300, 10)]
    write_scalars(tmp_path / "events.out.tfevents.1795000000.vm", rows, UNIX)
    epochs = only(tmp_path).epochs
    assert [one.number for one in epochs] == [0, 1, 2]
    assert epochs[1].start is not None
    assert abs(epochs[1].start.ns / 1e9 - UNIX - 10.0) <= epochs[1].start.half_ns / 1e9 + 1e-6


# ── energy and findings ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("log", ["power.csv", "ipmi_data.csv"])
def test_a_log_alone_drew_the_same_whoever_tells(
    tmp_path: Path, long_training: Path, log: str
) -> None:
    shutil.copyfile(long_training / log, tmp_path / log)
    training = only(tmp_path)
    (channel,) = training.logs.power
    told, whole = integrate.of_series(channel), training_energy(training.seen_from()).whole().energy
    assert whole is not None
    assert (whole.joules, whole.badge) == (pytest.approx(told.joules), told.badge)
    assert (whole.lo, whole.hi) == (pytest.approx(told.lo), pytest.approx(told.hi))
    assert whole.coverage == pytest.approx(1.0)


def written(folder: Path, course: Course, sensor: str, form: str, seed: int) -> Training:
    taken = record(course.world, SENSORS[sensor], seed)
    logs = write_whole(course, folder)
    log = write_log(taken, folder / "power.csv", form)  # type: ignore[arg-type]
    (entry,) = (one for one in logdir.scan(logs).trainings if one.tfevents)
    return Training(entry, ReadOptions(power=(str(log),), find_power=False))


@pytest.mark.parametrize(
    ("log", "mode"), [("power.csv", "auto"), ("ipmi_data.csv", "auto"), ("ipmi_data.csv", "signal")]
)
def test_the_burst_of_the_long_training_is_found_with_its_batches(
    long_training: Path, log: str, mode: str
) -> None:
    (entry,) = logdir.scan(long_training).trainings
    training = Training(
        entry, ReadOptions(power=(str(long_training / log),), find_power=False), Aligning(mode=mode)
    )  # type: ignore[arg-type]
    truth = np.loadtxt(long_training / "truth_watts.csv", delimiter=",", skiprows=1)
    joules = np.concatenate([[0.0], np.cumsum(np.diff(truth[:, 0]) * truth[1:, 1])])
    seen = training.seen_from()
    zero = seen.zero_ns / 1e9
    for one in training_energy(seen).epochs():
        lo, hi = (
            np.interp(side / PS_PER_S + zero, truth[:, 0], joules) for side in (one.start, one.end)
        )
        assert one.energy is not None
        assert one.energy.lo <= hi - lo <= one.energy.hi  # type: ignore[operator]
    (found,) = training_energy(seen).findings.findings
    assert found.epochs == (3, 4)
    # The steps are those of the epoch that holds most of it.
    if found.epoch == 3:
        steps = (pytest.approx(120, abs=found.step_half), 299)
    else:
        steps = (0, pytest.approx(67, abs=found.step_half))
    assert (found.step_lo, found.step_hi) == steps
    (start,) = (
        event[3]
        for event in json.loads((long_training / "truth_events.json").read_text())
        if event[0] == "burst_start"
    )
    assert found.start_ps / PS_PER_S + zero == pytest.approx(start, abs=0.5)
    assert found.end_ps / PS_PER_S + zero == pytest.approx(start + 9, abs=0.5)
    assert found.text.startswith("from epoch 3, batch 1")
    assert "a capture here would show" in found.text


@pytest.mark.parametrize(("seed", "batches"), [(0, True), (0, False), (2, True), (2, False)])
def test_a_training_that_nobody_profiled(tmp_path: Path, seed: int, batches: bool) -> None:
    course = make_whole(seed, batches=batches, burst=seed == 0)
    whole = training_energy(written(tmp_path, course, "mean 1 s, 1 W", "wall", seed).seen_from())
    found = whole.findings.findings
    touched = {
        n
        for n, (lo, hi) in enumerate(course.world.epochs)
        for one in course.world.bursts
        if one.start < hi and one.end > lo
    }
    assert {one.epoch for one in found} == touched
    assert all(one.energy is not None and one.energy.joules for one in whole.epochs())


def test_a_relative_log_is_placed_by_the_edges_of_steps(tmp_path: Path) -> None:
    course = make_whole(1, burst=True)
    training = written(tmp_path, course, "mean 0.5 s, 1 W", "relative", 1)
    taken = record(course.world, SENSORS["mean 0.5 s, 1 W"], 1)
    (channel,) = training.power
    assert channel.status == "aligned"
    assert channel.zero is not None
    assert (
        abs(channel.zero.ns / 1e9 - float(taken.unix[0]) + taken.delay_s)
        <= channel.zero.half_ns / 1e9
    )


# ── windows, JSON, API ───────────────────────────────────────────────────────────────────────────


def test_windows_by_wall_time_epoch_batches_and_session(long_training: Path) -> None:
    seen = only(
        long_training, power=(str(long_training / "power.csv"),), find_power=False
    ).seen_from()
    by_time = named_windows.find_window(
        seen, named_windows.WindowRequest("18:19:32", "18:19:42", tz="UTC")
    )
    assert (by_time.hi - by_time.lo) == 10 * PS_PER_S
    assert seen.unix_ns(by_time.lo) == 1_795_285_172_000_000_000
    assert (
        named_windows.find_window(
            seen, named_windows.WindowRequest("2026-11-21 18:19:32Z", "18:19:42Z")
        ).lo
        == by_time.lo
    )
    assert named_windows.find_window(seen, named_windows.WindowRequest("1.5s", "2.5s")).lo == round(
        1.5 * PS_PER_S
    )
    epoch = named_windows.find_window(seen, named_windows.WindowRequest(epoch=3))
    batches = named_windows.find_window(
        seen, named_windows.WindowRequest(epoch=3, batches="120-299")
    )
    assert epoch.lo < batches.lo < batches.hi <= epoch.hi
    session = named_windows.find_window(
        seen, named_windows.WindowRequest(session="2026_11_21_18_20_05")
    )
    assert session.lo / PS_PER_S == pytest.approx(57.177, abs=0.01)
    with pytest.raises(UsageError, match="no epoch 9"):
        named_windows.find_window(seen, named_windows.WindowRequest(epoch=9))
    with pytest.raises(UsageError, match="twice"):
        named_windows.find_window(seen, named_windows.WindowRequest(epoch=3, session="x"))


def test_the_json_of_energy_has_the_training_and_its_runs(
    long_training: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    energy_report.tell(
        str(long_training),
        None,
        ReadOptions(power=(str(long_training / "power.csv"),), find_power=False),
        Aligning(),
        "json",
    )
    told = json.loads(capsys.readouterr().out)
    (training,) = told["trainings"]
    assert [one["number"] for one in training["epochs"]] == list(range(6))
    assert all(one["joules"] for one in training["epochs"])
    for run in told["runs"]:  # the same burst on the axis of each session
        offset = run["alignment"]["offset_s"]
        starts = sorted(one["start_s"] - offset for one in run["findings"])
        assert starts[0] == pytest.approx(
            sorted(one["start_s"] for one in training["findings"])[0], abs=0.05
        )


def test_a_training_in_a_notebook(long_training: Path) -> None:
    runs = powertui.open(long_training, power=long_training / "power.csv")
    training = runs[0].training
    assert training is not None
    assert training.epochs["joules"].notna().all()
    assert training.energy(epoch=3)["joules"].iloc[0] == pytest.approx(
        training.epochs["joules"].iloc[3], rel=1e-6
    )
    assert training.islands["status"].tolist() == ["trusted", "trusted"]
    assert len(training.findings) == 1
    assert len(runs.trainings) == 1
    assert training.rate["steps_per_s"].median() == pytest.approx(43, abs=3)


def test_scalars_and_power_without_any_profile(tmp_path: Path) -> None:
    course = make_whole(2, burst=False)
    written(tmp_path, course, "mean 1 s, 1 W", "wall", 2)
    runs = powertui.open(tmp_path)
    assert len(runs) == 0
    (training,) = runs.trainings
    assert training.epochs["joules"].notna().all()


def test_powerboards_own_run_is_placed_whole(shared_data: Path) -> None:
    log = shared_data / "public" / "powerboard_power_run195247" / "data" / "ipmi_data.csv"
    training = only(
        shared_data / "public" / "powerboard_tf22_run195247", power=(str(log),), find_power=False
    )
    seen = training.seen_from()
    assert [(one.number, one.start is not None, one.end is not None) for one in seen.epochs] == [
        (0, True, True),
        (1, True, True),
    ]
    (power,) = seen.power
    assert power.status == "aligned"
    assert (power.times[-1] - power.times[0]) / PS_PER_S == pytest.approx(8.93, abs=0.01)
    assert seen.start <= power.times[0] < power.times[-1] <= seen.end


def test_power_of_two_hosts_counts_both(tmp_path: Path) -> None:
    events(tmp_path / "worker_0", 1_795_000_000, host="a", pid=207)
    events(tmp_path / "worker_1", 1_795_000_000, host="b", pid=209)
    for host, watts in (("a", 200), ("b", 300)):
        (tmp_path / f"{host}.csv").write_text(
            "time_unix_s,host,watts\n"
            + "".join(f"{UNIX + i},{host},{watts + i % 5}\n" for i in range(-5, 30))
        )
    whole = training_energy(only(tmp_path).seen_from())
    training = whole.training()
    assert training is not None
    assert training.energy is not None
    assert training.energy.mean_w == pytest.approx(504, rel=0.02)


# ── held back ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("how", ["throttled", "at its limit"])
def test_where_a_limit_held_it_back_is_told_and_not_as_power_that_nothing_explains(
    tmp_path: Path, how: str
) -> None:
    """40 of 200 s at 230 W instead of 300: by a window of the recorder, or by the limit that it
    recorded.
    """
    events(tmp_path, 1_795_000_000, steps=range(10, 4010, 10))
    rows = []
    for second in range(-20, 221):
        at = UNIX + second
        watts = (
            90.0 if not 0 <= second <= 200 else 230.0 if 100 <= second < 140 else 300.0 + second % 3
        )
        stamp = Stamp(at - 0.01, second + 1000.0)
        if second in (100, 140) and how == "throttled":
            rows.append(
                mark_row("begin" if second == 100 else "end", stamp, "throttled: board (power cap)")
            )
        elif second in (100, 140):
            rows.append(
                limit_row(stamp, "bmc", PowerLimit("board", 230.0 if second == 100 else None))
            )
        rows.append(reading_row(Reading(at, second + 1000.0, watts, 0.01, "bmc", "board", "ok")))
    (tmp_path / "power.csv").write_text("".join([f"{MAGIC}\n{COLUMNS}\n", *rows]))
    training = only(tmp_path)
    told = training_energy(training.seen_from(None, Aligning()))
    assert told is not None
    found = told.findings
    (one,) = [one for one in found.findings if "limit" in one.witnesses]
    assert "held back for" in one.text
    assert one.epoch == 0
    zero = training.seen_from(None, Aligning())
    assert abs(one.start_ps - zero.at(int((UNIX + 100) * 1e9))) < 2 * PS_PER_S
    assert abs(one.end_ps - zero.at(int((UNIX + 140) * 1e9))) < 3 * PS_PER_S
    assert not [
        other for other in found.findings if other.kind == "power" and (other.delta_watts or 0) < 0
    ]
