from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from powertui import demo
from powertui.data import loading, logdir
from powertui.data.asked import ReadOptions
from powertui.data.formats import registry, tfevents
from powertui.data.formats.tfevents import EventLog
from powertui.data.logdir import RunEntry
from powertui.data.model import Clock, Steps, Trace
from powertui.data.run import clocks, steps, zones
from powertui.data.run.clocks import best_clock
from powertui.data.run.zones import offsets_at
from powertui.errors import UsageError
from tests.synthetic.tfevents import frame, write_scalars
from tests.synthetic.xplane import Event, Line, Plane, blob, double, encode, number

S = 10**9
END = 1_616_280_774.6  # Unix time at which the capture below ended; 2021-03-20 19:52:54 at UTC-3
SPAN_S = 4


def write_profile(folder: Path, task_start_ns: int | None = None) -> Path:
    """Four seconds of events from 0 on."""
    folder.mkdir(parents=True, exist_ok=True)
    events = [Event("op", i * 10**12, 10**12) for i in range(SPAN_S)]
    planes = [Plane("/host:CPU", [Line("python", events)])]
    if task_start_ns is not None:
        stop = task_start_ns + SPAN_S * S
        planes.append(
            Plane(
                "Task Environment",
                stats={"profile_start_time": task_start_ns, "profile_stop_time": stop},
            )
        )
    path = folder / "vm.xplane.pb"
    path.write_bytes(encode(planes))
    return path


def batch_file(path: Path, wall: float, first: float | None = None) -> None:
    """A tfevents file whose record batch_2 has this wall time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    value = (
        blob(1, b"batch_2")
        + blob(9, blob(1, blob(1, b"graph_run_metadata_graph")))
        + blob(8, number(1, 7) + blob(8, b"x"))
    )
    start = frame(double(1, float(int(first or wall))) + blob(3, b"brain.Event:2"))
    path.write_bytes(start + frame(double(1, wall) + blob(5, blob(1, value))))


def clock_of(root: Path, *, tz: str | None = None) -> Clock:
    (run,) = logdir.scan(root).runs
    logs = [tfevents.read(event.path, event.group) for event in run.tfevents]
    return best_clock(registry.read(run.profiles[0].path), run, logs, tz=tz)


def holds(clock: Clock, zero_s: float) -> bool:
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    return clock.lo_ns <= zero_s * S <= clock.hi_ns


ZERO = END - SPAN_S


# ── the ladder ───────────────────────────────────────────────────────────────────────────────────


def test_the_sessions_own_record_comes_first(tmp_path: Path) -> None:
    write_profile(tmp_path / "train/plugins/profile/2021_03_20_19_52_54", round(ZERO * S))
    batch_file(tmp_path / "train/events.out.tfevents.1616280770.vm.7.0.v2", END + 100)
    clock = clock_of(tmp_path)
    assert clock.source == "task environment"
    assert holds(clock, ZERO)
    assert clock.half_ns <= 1_000_000
    assert clock.utc_offset_s == -10_800  # from the folder's name against the recorded end


def test_a_batch_record_is_next(tmp_path: Path) -> None:
    write_profile(tmp_path / "train/plugins/profile/2021_03_20_19_52_54")
    batch_file(tmp_path / "train/events.out.tfevents.1616280770.vm.7.0.v2", END - 0.002, first=ZERO)
    clock = clock_of(tmp_path)
    assert clock.source == "tfevents batch"
    assert holds(clock, ZERO)
    assert clock.half_ns <= S // 2
    assert clock.utc_offset_s == -10_800


def test_profile_empty_bounds_the_end(tmp_path: Path) -> None:
    write_profile(tmp_path / "train/plugins/profile/2021_03_20_19_52_54")
    empty = frame(double(1, 1616280774.0) + blob(3, b"brain.Event:2"))
    (tmp_path / "train/events.out.tfevents.1616280774.vm.profile-empty").write_bytes(empty)
    clock = clock_of(tmp_path)
    assert clock.source == "profile-empty"
    assert holds(clock, ZERO)
    assert clock.utc_offset_s == -10_800
    assert clock.hi_ns == (1_616_280_775 - SPAN_S) * S  # firm: a capture ends before it is exported


def test_the_folders_name_with_a_zone_that_someone_says(tmp_path: Path) -> None:
    write_profile(tmp_path / "plugins/profile/2021_03_20_19_52_54")
    for zone in ("-03:00", "America/Sao_Paulo"):
        clock = clock_of(tmp_path, tz=zone)
        assert clock.source == "run directory"
        assert holds(clock, ZERO)
        assert clock.half_ns < 4 * S
        assert clock.utc_offset_s == -10_800


def test_the_folders_name_without_a_zone_spans_all_zones(tmp_path: Path) -> None:
    path = write_profile(tmp_path / "plugins/profile/2021_03_20_19_52_54")
    os.utime(path, (1_616_290_123, 1_616_290_123))  # a copy: its time is no evidence for a zone
    clock = clock_of(tmp_path)
    assert clock.source == "run directory"
    assert holds(clock, ZERO)
    assert clock.half_ns > 12 * 3600 * S
    assert clock.utc_offset_s is None
    assert "--tz" in clock.detail


def test_the_files_own_time_can_tell_the_zone(tmp_path: Path) -> None:
    path = write_profile(tmp_path / "plugins/profile/2021_03_20_19_52_54")
    os.utime(path, (1_616_280_775, 1_616_280_775))  # written then and there, never copied
    clock = clock_of(tmp_path)
    assert clock.utc_offset_s == -10_800
    assert holds(clock, ZERO)
    assert clock.half_ns < 4 * S


def test_the_file_time_is_the_last_resort_and_says_so(tmp_path: Path) -> None:
    path = write_profile(tmp_path / "plugins/profile/my-run")
    os.utime(path, (1_616_280_775, 1_616_280_775))
    clock = clock_of(tmp_path)
    assert clock.source == "file time"
    assert holds(clock, ZERO)
    assert "never copied" in clock.detail


def test_the_training_around_it_when_nothing_else_is_there(tmp_path: Path) -> None:
    write_profile(tmp_path / "train/plugins/profile/my-run")
    path = tmp_path / "train/events.out.tfevents.1616280000.vm.7.0.v2"
    rows = [
        double(1, ZERO - 60.0) + blob(3, b"brain.Event:2"),
        double(1, ZERO + 60.5) + blob(5, b""),
    ]
    path.write_bytes(b"".join(frame(row) for row in rows))
    clock = clock_of(tmp_path)
    assert clock.source == "tfevents"
    assert holds(clock, ZERO)


def test_a_profile_from_a_pipe_has_no_clock(tmp_path: Path) -> None:
    trace = replace(registry.read(write_profile(tmp_path / "p")), path="-")
    clock = best_clock(trace, None)
    assert not clock.known
    assert clock.detail


def test_evidence_that_agrees_narrows(tmp_path: Path) -> None:
    write_profile(tmp_path / "train/plugins/profile/2021_03_20_19_52_54")
    batch_file(
        tmp_path / "train/events.out.tfevents.1616280770.vm.7.0.v2", 1_616_280_774.99, first=ZERO
    )
    clock = clock_of(tmp_path)
    # The folder was named before second 55 ended, so the capture had ended too.
    assert clock.hi_ns == (1_616_280_775 - SPAN_S) * S
    assert "narrowed by run directory" in clock.detail


def test_evidence_that_contradicts_is_named_and_left_out(tmp_path: Path) -> None:
    write_profile(tmp_path / "train/plugins/profile/2021_03_20_19_52_54")
    batch_file(
        tmp_path / "train/events.out.tfevents.1616280770.vm.7.0.v2",
        END + 3600 * 5 + 400,
        first=ZERO,
    )
    clock = clock_of(tmp_path, tz="-03:00")
    assert clock.source == "run directory"  # the record is of a capture that ended five hours later
    assert "of other runs" in clock.detail
    assert holds(clock, ZERO)


def empty_file(path: Path, second: int) -> None:
    """The file that says, by its name, when a capture was exported."""
    path.mkdir(parents=True, exist_ok=True)
    record = frame(double(1, float(second)) + blob(3, b"brain.Event:2"))
    (path / f"events.out.tfevents.{second}.vm.profile-empty").write_bytes(record)


def runs_of(root: Path, tz: str | None = None) -> list[Clock]:
    """The clock of each run, by its folder's name."""
    found = sorted(logdir.scan(root).runs, key=lambda run: run.name)
    return [best_clock(registry.read(run.profiles[0].path), run, [], tz=tz) for run in found]


@pytest.mark.parametrize("tz", [None, "UTC"])
def test_an_export_is_not_that_of_another_run(tmp_path: Path, tz: str | None) -> None:
    """Two captures 25 minutes apart; the file of the first one's export was cleared away."""
    for minute in (0, 25):
        write_profile(tmp_path / f"train/plugins/profile/2021_03_20_12_{minute:02}_00")
    first, second = 1_616_241_600, 1_616_241_600 + 25 * 60
    empty_file(tmp_path / "train", second)
    early, late = runs_of(tmp_path, tz)
    assert late.source == "profile-empty"
    assert holds(late, second - SPAN_S)
    assert early.source == "run directory"
    assert holds(early, first - SPAN_S)
    assert "of other runs" in early.detail


def test_an_export_that_two_runs_fit_is_nobodys(tmp_path: Path) -> None:
    """An hour apart, in a zone that nobody told: the one export is the first one's in UTC+1 or the
    second one's in UTC.
    """
    for hour in (12, 13):
        write_profile(tmp_path / f"train/plugins/profile/2021_03_20_{hour}_00_00")
    empty_file(tmp_path / "train", 1_616_241_600)
    assert [clock.source for clock in runs_of(tmp_path)] == ["run directory", "run directory"]
    early, late = runs_of(tmp_path, "UTC")
    assert (early.source, late.source) == ("profile-empty", "run directory")


@pytest.mark.parametrize("tz", [None, "UTC"])
def test_captures_a_minute_apart_keep_their_own_ends(tmp_path: Path, tz: str | None) -> None:
    for i in range(5):
        write_profile(tmp_path / f"train/plugins/profile/2021_03_20_12_{i:02}_00")
        empty_file(tmp_path / "train", 1_616_241_600 + i * 60)
    for i, clock in enumerate(runs_of(tmp_path, tz)):
        assert clock.source == "profile-empty"
        assert holds(clock, 1_616_241_600 + i * 60 - SPAN_S)
        assert clock.half_ns < 10 * S


def test_a_capture_of_another_name_gets_what_the_others_left(tmp_path: Path) -> None:
    for name in ("2021_03_20_12_00_00", "my-run"):
        write_profile(tmp_path / f"train/plugins/profile/{name}")
    for second in (1_616_241_600, 1_616_242_000):
        empty_file(tmp_path / "train", second)
    timed, named = runs_of(tmp_path)
    assert holds(timed, 1_616_241_600 - SPAN_S)
    assert named.source == "profile-empty"
    assert holds(named, 1_616_242_000 - SPAN_S)


def test_two_captures_whose_names_tell_no_time_share_no_export(tmp_path: Path) -> None:
    for name in ("run-a", "run-b"):
        write_profile(tmp_path / f"train/plugins/profile/{name}")
    empty_file(tmp_path / "train", 1_616_241_600)
    assert [clock.source for clock in runs_of(tmp_path)] == ["file time", "file time"]


@pytest.mark.parametrize("tz", [None, "Europe/Berlin"])
def test_summer_and_winter_in_one_folder(tmp_path: Path, tz: str | None) -> None:
    """Four captures of a summer and one of the winter before: each keeps its own export, an hour
    apart in local time.
    """
    ends = [1_626_000_000 + day * 86_431 for day in range(4)] + [1_611_000_000]
    for end in ends:
        local = datetime.fromtimestamp(end + (7200 if end > 1_620_000_000 else 3600), timezone.utc)
        write_profile(tmp_path / f"train/plugins/profile/{local:%Y_%m_%d_%H_%M_%S}")
        empty_file(tmp_path / "train", end)
    for clock, end in zip(runs_of(tmp_path, tz), sorted(ends), strict=True):
        assert clock.source == "profile-empty"
        assert holds(clock, end - SPAN_S)
        assert clock.utc_offset_s == (7200 if end > 1_620_000_000 else 3600)


def test_a_thousand_captures_of_one_training_cost_one_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    real = os.listdir
    monkeypatch.setattr(os, "listdir", lambda place: looks.append(place) or real(place))
    for i in range(40):
        (tmp_path / f"train/plugins/profile/2021_03_20_12_{i:02}_00").mkdir(parents=True)
        empty_file(tmp_path / "train", 1_616_241_600 + i * 60)
    profile = write_profile(tmp_path / "train/plugins/profile/2021_03_20_12_39_00")
    trace = registry.read(profile)
    run = next(run for run in logdir.scan(tmp_path).runs if run.profiles)
    for _ in range(20):
        clock = best_clock(trace, run, [])
    assert holds(clock, 1_616_241_600 + 39 * 60 - SPAN_S)
    assert len(looks) == 1


def test_an_export_of_a_run_that_is_gone(tmp_path: Path) -> None:
    """One folder, one export seven minutes off: in no zone is it this run's."""
    write_profile(tmp_path / "train/plugins/profile/2021_03_20_12_00_00")
    empty_file(tmp_path / "train", 1_616_241_600 + 7 * 60)
    (clock,) = runs_of(tmp_path)
    assert clock.source == "run directory"
    assert "of other runs" in clock.detail


def test_the_last_step_ended_before_the_batch_record(tmp_path: Path) -> None:
    path = write_profile(tmp_path / "train/plugins/profile/my-run")
    batch_file(tmp_path / "train/events.out.tfevents.1616280770.vm.7.0.v2", END - 0.002, first=ZERO)
    (run,) = logdir.scan(tmp_path).runs
    logs = [tfevents.read(event.path, event.group) for event in run.tfevents]
    trace = registry.read(path)
    marked = steps.find_steps(trace, marker="op")
    loose, tight = best_clock(trace, run, logs), best_clock(trace, run, logs, steps=marked)
    assert loose.hi_ns is not None
    assert tight.hi_ns is not None
    assert tight.hi_ns < loose.hi_ns
    assert holds(tight, ZERO - 0.003)
    assert isinstance(marked, Steps)


def test_steps_that_know_their_epoch_lie_inside_it(tmp_path: Path) -> None:
    events = [
        Event("TraceContext", i * 10**12, 9 * 10**11, {"step_num": 30 + i, "epoch_num": 1})
        for i in range(SPAN_S)
    ]
    folder = tmp_path / "train/plugins/profile/my-run"
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes(encode([Plane("/host:CPU", [Line("python", events)])]))
    rows = [(ZERO - 0.3, 0, "epoch_loss", 0.5), (ZERO + SPAN_S + 0.4, 1, "epoch_loss", 0.4)]
    write_scalars(tmp_path / "train/events.out.tfevents.1616280000.vm.7.0.v2", rows, ZERO - 100)
    clock = loading.load_run(logdir.scan(tmp_path).runs[0]).traces[0].clock
    assert clock.source == "epochs"
    assert holds(clock, ZERO)
    assert clock.lo_ns == pytest.approx((ZERO - 0.3) * S, abs=1000)
    assert clock.hi_ns == pytest.approx((ZERO + 0.5) * S, abs=1000)


def test_epochs_narrow_what_a_folder_in_a_known_zone_says(tmp_path: Path) -> None:
    events = [
        Event("TraceContext", i * 10**12, 9 * 10**11, {"step_num": 30 + i, "epoch_num": 1})
        for i in range(SPAN_S)
    ]
    folder = tmp_path / "train/plugins/profile/2021_03_20_19_52_54"
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes(encode([Plane("/host:CPU", [Line("python", events)])]))
    rows = [(ZERO - 0.3, 0, "epoch_loss", 0.5), (ZERO + SPAN_S + 60, 1, "epoch_loss", 0.4)]
    write_scalars(tmp_path / "train/events.out.tfevents.1616280000.vm.7.0.v2", rows, ZERO - 100)
    (run,) = logdir.scan(tmp_path).runs
    clock = loading.load_run(run, options=ReadOptions(tz="-03:00")).traces[0].clock
    assert (clock.source, "narrowed by epochs" in clock.detail) == ("run directory", True)
    assert holds(clock, ZERO)
    assert clock.lo_ns == pytest.approx((ZERO - 0.3) * S, abs=1000)


# ── zones and folder names ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("-03:00", -10_800),
        ("+5:30", 19_800),
        ("UTC+9", 32_400),
        ("utc", 0),
        ("Z", 0),
        ("-0330", -12_600),
        ("+14", 50_400),
    ],
)
def test_zones_as_people_write_them(text: str, seconds: int) -> None:
    assert offsets_at(text, datetime(2026, 3, 1, 12)) == (seconds,)


@pytest.mark.parametrize(
    "text", ["", "Mars/Olympus", "+15:00", "03:00x", "../../etc/passwd", "+01:75"]
)
def test_what_is_no_zone_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="not a time zone"):
        offsets_at(text, datetime(2026, 3, 1, 12))


BERLIN = "Europe/Berlin"


def test_the_hour_that_autumn_repeats_is_two_hours(tmp_path: Path) -> None:
    """02:30 in Berlin on 31 October 2021 was at 00:30 and at 01:30 UTC."""
    write_profile(tmp_path / "plugins/profile/2021_10_31_02_30_00")
    clock = clock_of(tmp_path, tz=BERLIN)
    for second in (1_635_640_200, 1_635_643_800):
        assert holds(clock, second - SPAN_S)
    assert clock.half_ns < 0.6 * 3600 * S
    assert clock.utc_offset_s is None  # which of them it was is not known
    assert "UTC+2 or UTC+1" in clock.detail
    assert "twice" in clock.detail


def test_an_export_tells_which_of_the_two_hours_it_was(tmp_path: Path) -> None:
    write_profile(tmp_path / "plugins/profile/2021_10_31_02_30_00")
    empty_file(tmp_path, 1_635_643_800)
    clock = clock_of(tmp_path, tz=BERLIN)
    assert holds(clock, 1_635_643_800 - SPAN_S)
    assert clock.half_ns < 10 * S
    assert clock.utc_offset_s == 3600


@pytest.mark.parametrize(("second", "offset"), [(1_635_640_200, 7200), (1_635_643_800, 3600)])
def test_a_session_that_knows_its_time_is_never_in_doubt(
    tmp_path: Path, second: int, offset: int
) -> None:
    write_profile(tmp_path / "plugins/profile/2021_10_31_02_30_04", second * S)
    clock = clock_of(tmp_path, tz=BERLIN)
    assert holds(clock, second)
    assert clock.utc_offset_s == offset


def test_an_hour_that_spring_leaves_out_is_refused(tmp_path: Path) -> None:
    """02:30 in Berlin on 28 March 2021 did not happen: the machine was in another zone."""
    write_profile(tmp_path / "plugins/profile/2021_03_28_02_30_00")
    clock = clock_of(tmp_path, tz=BERLIN)
    assert clock.utc_offset_s is None
    assert "no such time in Europe/Berlin" in clock.detail
    assert clock.half_ns > 12 * 3600 * S  # any zone


def test_a_zones_offset_is_that_of_the_profile_not_of_today(tmp_path: Path) -> None:
    """Winter and summer: by the file's own time, where no folder says more."""
    for second, offset in ((1_611_000_000, 3600), (1_626_000_000, 7200)):
        path = write_profile(tmp_path / str(second))
        os.utime(path, (second, second))
        (run,) = logdir.scan(path).runs
        assert best_clock(registry.read(path), run, [], tz=BERLIN).utc_offset_s == offset


@pytest.mark.parametrize(
    ("local", "found"),
    [
        ((2021, 7, 1, 12), (7200,)),
        ((2021, 10, 31, 2, 30), (7200, 3600)),
        ((2021, 3, 28, 2, 30), ()),
        ((2021, 3, 28, 3), (7200,)),
    ],
)
def test_offsets_of_a_local_time(local: tuple[int, ...], found: tuple[int, ...]) -> None:
    assert zones.offsets_at(BERLIN, datetime(*local)) == found  # type: ignore[arg-type,misc]


def test_no_place_is_a_quarter_of_an_hour_off() -> None:
    assert zones.fit_zone(15 * 60, 5, 60) is None
    assert zones.fit_zone(3600 * 5 + 45 * 60, 5, 60) == (True, 0, 20_700)  # Nepal


@pytest.mark.parametrize(
    ("folder", "known"),
    [
        ("2021_03_20_19_52_54", True),
        ("2019-10-07_10-20-31", True),
        ("2022_10_14_19_22_22_16", True),  # AWS' profiler: the minute twice
        ("Cloud-TPU", False),
        ("2021_13_20_19_52_54", False),
        ("2021_03_20", False),
    ],
)
def test_folder_names_that_are_times(tmp_path: Path, folder: str, known: bool) -> None:
    write_profile(tmp_path / f"plugins/profile/{folder}")
    assert (clock_of(tmp_path, tz="UTC").source == "run directory") == known


def test_aws_writes_the_minute_twice(tmp_path: Path) -> None:
    write_profile(tmp_path / "plugins/profile/2022_10_14_19_22_22_16")
    assert holds(clock_of(tmp_path, tz="UTC"), 1_665_775_336 + 0.5 - SPAN_S)


@pytest.mark.parametrize(
    ("seconds", "name"),
    [(0, "UTC"), (-10_800, "UTC−3"), (19_800, "UTC+5:30"), (-12_600, "UTC−3:30")],
)
def test_zones_as_we_write_them(seconds: int, name: str) -> None:
    assert zones.name(seconds) == name


# ── several runs in one folder ───────────────────────────────────────────────────────────────────


def log(pid: int, first: float, last: float) -> EventLog:
    path = f"/x/events.out.tfevents.{int(first)}.h.{pid}.0.v2"
    return EventLog(
        path, "train", first_ns=round(first * S), last_ns=round(last * S), pid=pid, host="h"
    )


def test_the_log_of_the_profiled_process_is_chosen() -> None:
    logs = [log(1, 1000, 1100), log(2, 2000, 2100), log(3, 3000, 3100)]
    clock = Clock(2050 * S, 2051 * S, "run directory")
    assert [one.pid for one in clocks.own_logs(logs, clock, (0, 10**12))] == [2]
    assert len(clocks.own_logs(logs, Clock(), (0, 10**12))) == 3  # without a clock nobody can tell


def test_eight_runs_in_one_folder_each_get_their_own_clock(tmp_path: Path) -> None:
    """Keras writes all runs of a logdir into one train/: every run's folder, record and
    profile-empty must meet.
    """
    ends = [1_695_112_394.44 + 3_723.7 * i for i in range(8)]
    for i, end in enumerate(ends):
        local = datetime.fromtimestamp(end + 0.3 + 9 * 3600, timezone.utc)  # Korea
        write_profile(tmp_path / f"train/plugins/profile/{local:%Y_%m_%d_%H_%M_%S}")
        batch_file(
            tmp_path / f"train/events.out.tfevents.{int(end) - 60}.vm.{100 + i}.0.v2",
            end - 0.002,
            first=end - 60,
        )
        empty = frame(double(1, float(int(end + 0.3))) + blob(3, b"brain.Event:2"))
        (tmp_path / f"train/events.out.tfevents.{int(end + 0.3)}.vm.profile-empty").write_bytes(
            empty
        )
    runs = logdir.scan(tmp_path).runs
    logs = [tfevents.read(event.path, event.group) for event in runs[0].tfevents]
    for run, end in zip(runs, ends, strict=True):
        clock = best_clock(registry.read(run.profiles[0].path), run, logs)
        assert clock.source == "tfevents batch"
        assert clock.utc_offset_s == 9 * 3600
        assert "contradicted" not in clock.detail
        assert holds(clock, end - SPAN_S)
        assert clock.half_ns < S


# ── recordings that know better ──────────────────────────────────────────────────────────────────


def without_session(trace: Trace) -> Trace:
    return replace(
        trace,
        processes=tuple(p for p in trace.processes if p.name != "Task Environment"),
        stop_ns=None,
    )


def real(root: Path) -> tuple[Trace, RunEntry, tuple[EventLog, ...]]:
    (run,) = logdir.scan(root).runs
    logs = [tfevents.read(event.path, event.group) for event in run.tfevents]
    return registry.read(run.profiles[0].path), run, logs


def test_lesser_evidence_holds_the_truth_of_the_demo() -> None:
    trace, run, logs = real(demo.folder())
    truth = best_clock(trace, run, logs)
    assert truth.source == "task environment"
    guess = best_clock(without_session(trace), run, logs)
    assert guess.source == "tfevents batch"
    assert holds(guess, truth.mid_ns / S)
    assert guess.utc_offset_s == 0
    named = best_clock(without_session(trace), run, (), tz="UTC")
    assert named.source == "run directory"
    assert holds(named, truth.mid_ns / S)


def test_lesser_evidence_holds_the_truth_of_keras(shared_data: Path) -> None:
    trace, run, logs = real(shared_data / "own/keras_cifar")
    truth = best_clock(trace, run, logs).mid_ns / S
    assert holds(best_clock(without_session(trace), run, logs), truth)
    assert holds(best_clock(without_session(trace), run, (), tz="UTC"), truth)


def test_powerboards_machine_is_three_hours_behind(shared_data: Path) -> None:
    for name in ("powerboard_tf22_run195247", "powerboard_tf22_run183023_5epochs"):
        trace, run, logs = real(shared_data / "public" / name)
        found = steps.find_steps_and_others(trace)
        clock = best_clock(trace, run, logs, steps=found.steps, epoch_num=found.epoch_num)
        assert clock.utc_offset_s == -10_800
        assert clock.source == "tfevents batch"
        assert clock.half_ns < 0.4 * S
