from __future__ import annotations

import contextlib
import functools
import gzip
import itertools
import json
import os
import re
import shutil
import socket
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.logdir import Logdir, scan, stream, tree
from powertui.errors import UnreadableFile

JAX = "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50"


def make(folder: Path, *names: str, content: bytes = b"\x0a\x01x") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def power(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "time_unix_s,watts\n" + "".join(f"{1_700_000_000 + i},{200 + i % 7}\n" for i in range(20))
    )


# ── runs ─────────────────────────────────────────────────────────────────────────────────────────


def test_runs_are_named_as_tensorboard_names_them(tmp_path: Path) -> None:
    make(
        tmp_path,
        "a/train/plugins/profile/2026_01_02_03_04_05/vm.xplane.pb",
        "plugins/profile/now/vm.xplane.pb",
    )
    assert {run.name for run in scan(tmp_path).runs} == {"a/train/2026_01_02_03_04_05", "now"}


def test_the_runs_that_are_told_on_the_way_are_few_times_those_that_there_are(
    tmp_path: Path,
) -> None:
    """However long it takes: a list that grows by one run and is drawn anew each time costs the
    square of its runs.
    """
    make(tmp_path, *(f"run_{number:03}/plugins/profile/r/vm.xplane.pb" for number in range(200)))
    *parts, whole = (len(found.runs) for found in stream(tmp_path, 0.0))
    assert whole == 200
    told = [count for count in parts if count > 1]
    assert len(told) > 3
    assert all(after >= before + before // 2 for before, after in itertools.pairwise(told))
    assert sum(told) < 3 * whole


@pytest.mark.parametrize(
    "level", ["", "train", "train/plugins", "train/plugins/profile", "train/plugins/profile/r1"]
)
def test_the_wrong_level_works_too(tmp_path: Path, level: str) -> None:
    make(tmp_path, "train/plugins/profile/r1/vm.xplane.pb", "train/events.out.tfevents.1.vm.7.0.v2")
    make(tmp_path, "validation/events.out.tfevents.2.vm.7.1.v2")
    (run,) = scan(tmp_path / level).runs
    assert [profile.host for profile in run.profiles] == ["vm"]
    assert run.name.endswith("r1")
    assert {(event.group, event.kind) for event in run.tfevents} == {
        ("train", "scalars"),
        ("validation", "scalars"),
    }


def test_a_bare_file_knows_its_surroundings(tmp_path: Path) -> None:
    make(tmp_path / "train/plugins/profile/r1", "vm.xplane.pb", "vm.trace.json.gz")
    make(tmp_path, "train/events.out.tfevents.1.vm.7.0.v2")
    (run,) = scan(tmp_path / "train/plugins/profile/r1/vm.xplane.pb").runs
    assert run.name == "r1"
    assert [p.tool for p in run.profiles] == ["xplane.pb"]
    assert [p.tool for p in run.alternates] == ["trace.json.gz"]
    assert len(run.tfevents) == 1


def test_standard_input_is_a_run() -> None:
    (run,) = scan("-").runs
    assert run.profiles[0].path == "-"


def test_profiles_outside_plugins_are_runs_of_their_folder(tmp_path: Path) -> None:
    make(tmp_path, "deep/down/host.with.dots_6003.xplane.pb", "xplane.pb")
    names = {run.name: [p.host for p in run.profiles] for run in scan(tmp_path).runs}
    assert names == {"deep/down": ["host.with.dots_6003"], tmp_path.name: [""]}


def test_one_profile_a_host_and_the_second_form_kept_apart(tmp_path: Path) -> None:
    folder = "plugins/profile/r1/"
    make(tmp_path, folder + "a.xplane.pb", folder + "a.trace.json.gz")
    make(tmp_path, folder + "b.trace.json.gz", content=b"\x1f\x8b\x08")
    make(tmp_path, folder + "c.xplane.pb", content=b"")  # empty: the second form is the better one
    make(tmp_path, folder + "c.trace.json.gz", content=b"\x1f\x8b")
    (run,) = scan(tmp_path).runs
    assert [(p.host, p.tool) for p in run.profiles] == [
        ("a", "xplane.pb"),
        ("b", "trace.json.gz"),
        ("c", "trace.json.gz"),
    ]
    assert [(p.host, p.tool) for p in run.alternates] == [
        ("a", "trace.json.gz"),
        ("c", "xplane.pb"),
    ]


def test_results_caches_and_unread_files_are_told_apart(tmp_path: Path) -> None:
    folder = tmp_path / "plugins/profile/r1"
    make(folder, "h.overview_page.pb", "h.kernel_stats.pb", "h.op_stats_v2.pb", "cache_version.txt")
    make(folder, "neuron_trace.json", "h.xplane.riegeli")
    (run,) = scan(tmp_path).runs
    assert not run.profiles
    assert {f.tool for f in run.results} == {"overview_page.pb", "kernel_stats.pb"}
    assert {f.tool for f in run.unread} == {"neuron_trace.json", "xplane.riegeli"}
    assert {f.tool for f in run.ignored} == {"op_stats_v2.pb", "cache_version.txt"}
    assert run.hosts == ("", "h")


def test_an_empty_run_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "plugins/profile/r1").mkdir(parents=True)
    (run,) = scan(tmp_path).runs
    assert "empty" in run.problems[0].cause


def test_the_same_bytes_under_two_hosts_are_noticed(tmp_path: Path) -> None:
    make(
        tmp_path,
        "plugins/profile/r/a.xplane.pb",
        "plugins/profile/r/b.xplane.pb",
        content=b"\x0a" * 70_000,
    )
    make(tmp_path, "plugins/profile/r/c.xplane.pb", content=b"\x0b" * 70_000)
    (run,) = scan(tmp_path).runs
    assert len(run.problems) == 1
    assert "b.xplane.pb" in run.problems[0].file
    assert "a.xplane.pb" in run.problems[0].cause


PYTORCH = b'{"schemaVersion": 1, "deviceProperties": [], %s"traceEvents": [' + b" " * 64 + b"]}"


def test_pytorch_s_traces_are_found_by_name_and_by_head(tmp_path: Path) -> None:
    make(tmp_path, "a/worker0_77.1700000000000000000.pt.trace.json", content=PYTORCH % b"")
    make(tmp_path, "b/model.json", content=PYTORCH % b"")
    make(tmp_path, "c/settings.json", content=b'{"schemaVersion": 1, "name": "' + b"x" * 64 + b'"}')
    assert {run.name: run.hosts for run in scan(tmp_path).runs} == {
        "a": ("worker0_77",),
        "b": ("model",),
    }


def test_ranks_of_one_cycle_are_hosts_of_one_run(tmp_path: Path) -> None:
    for cycle in (1, 2):
        for rank in (0, 1):
            head = PYTORCH % (
                b'"distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 2}, ' % rank
            )
            make(
                tmp_path,
                f"node_{rank + 10}.{cycle}70000000000000000{rank}.pt.trace.json",
                content=head,
            )
    runs = scan(tmp_path).runs
    assert [[profile.host.split(".")[0] for profile in run.profiles] for run in runs] == [
        ["node_10", "node_11"]
    ] * 2
    assert len({run.path for run in runs}) == 2


def test_the_cycles_of_one_process_are_sessions_of_one_training(tmp_path: Path) -> None:
    for pid, cycle in ((4711, 1), (4711, 2), (4711, 3), (815, 4)):
        make(
            tmp_path,
            f"vm_{pid}.{cycle}700000000000000000.pt.trace.json.gz",
            content=gzip.compress(PYTORCH % b""),
        )
    make(tmp_path, "before.json", content=PYTORCH % b"")
    found = scan(tmp_path)
    assert len(found.runs) == 5
    assert sorted((len(one.sessions), one.hosts) for one in found.trainings) == [
        (1, ("before",)),
        (1, ("vm_815",)),
        (3, ("vm_4711",)),
    ]
    (most,) = (one for one in found.trainings if len(one.sessions) > 1)
    assert most.reasons == ("process vm_4711 wrote all of its sessions",)


def test_two_traces_that_are_not_of_one_run_stay_apart(tmp_path: Path) -> None:
    for name, rank in (("before", 3), ("after", 1)):
        make(
            tmp_path,
            f"{name}.json",
            content=PYTORCH % (b'"distributedInfo": {"rank": %d}, ' % rank),
        )
    assert sorted(len(run.profiles) for run in scan(tmp_path).runs) == [1, 1]


# ── tfevents ─────────────────────────────────────────────────────────────────────────────────────


def test_markers_belong_to_the_process_that_wrote_the_scalars(tmp_path: Path) -> None:
    make(
        tmp_path,
        "logs/train/plugins/profile/r/h.xplane.pb",
        "logs/train/events.out.tfevents.1.h.19202.0.v2",
    )
    make(
        tmp_path,
        "demo_logs/events.out.tfevents.9.h.19202.5.v2",
        "demo_logs/events.out.tfevents.9.h.4400.5.v2",
    )
    (run,) = scan(tmp_path / "logs").runs
    assert [Path(e.path).name for e in run.tfevents if e.group == "demo_logs"] == [
        "events.out.tfevents.9.h.19202.5.v2"
    ]


def test_profile_empty_is_not_scalars(tmp_path: Path) -> None:
    make(
        tmp_path, "plugins/profile/r/h.xplane.pb", "events.out.tfevents.1616280775.h.profile-empty"
    )
    (run,) = scan(tmp_path).runs
    assert [event.kind for event in run.tfevents] == ["profile-empty"]


# ── power ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "place",
    [
        "power.csv",
        "data/watts.csv",
        "logs/power.csv",
        "logs/fit/train/power.csv",
        "measurements/power.csv",
    ],
)
def test_power_in_or_beside_the_logs_is_found(tmp_path: Path, place: str) -> None:
    make(tmp_path, "project/logs/fit/train/plugins/profile/r/h.xplane.pb")
    power(tmp_path / "project" / place)
    (run,) = scan(tmp_path / "project").runs
    assert [Path(log.path).name for log in run.power] == [Path(place).name]


@pytest.mark.parametrize(
    "level", ["logs", "logs/fit", "logs/fit/train", "logs/fit/train/plugins/profile/r/h.xplane.pb"]
)
def test_power_above_what_was_asked_for_is_told_of_and_not_taken(
    tmp_path: Path, level: str
) -> None:
    make(tmp_path, "project/logs/fit/train/plugins/profile/r/h.xplane.pb")
    power(tmp_path / "project/power.csv")
    found = scan(tmp_path / "project" / level)
    (run,) = found.runs
    assert run.power == ()
    assert found.power == ()
    assert [Path(log.path).name for log in run.above] == ["power.csv"]


@pytest.mark.parametrize(
    "level", ["logs/fit/train", "logs/fit/train/plugins/profile/r/h.xplane.pb"]
)
def test_power_in_a_runs_own_folder_is_found_from_its_profile(tmp_path: Path, level: str) -> None:
    make(tmp_path, "project/logs/fit/train/plugins/profile/r/h.xplane.pb")
    power(tmp_path / "project/logs/fit/train/power.csv")
    (run,) = scan(tmp_path / "project" / level).runs
    assert [Path(log.path).name for log in run.power] == ["power.csv"]


def test_power_of_one_project_is_not_given_to_another(tmp_path: Path) -> None:
    make(tmp_path, "a/logs/plugins/profile/r/h.xplane.pb", "b/logs/plugins/profile/r/h.xplane.pb")
    power(tmp_path / "a/power.csv")
    power(tmp_path / "elsewhere/power.csv")
    found = scan(tmp_path)
    assert {run.name: len(run.power) for run in found.runs} == {"a/logs/r": 1, "b/logs/r": 0}
    assert len(found.power) == 2  # the other is known, and belongs to nobody


def test_tables_that_are_no_power_are_left_alone(tmp_path: Path) -> None:
    make(tmp_path, "plugins/profile/r/h.xplane.pb")
    make(tmp_path, "manifest.tsv", "notes.txt", "results.csv", content=b"name\tsize\nalpha\tbeta\n")
    assert scan(tmp_path).power == ()


ANSWER = (
    '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"node_power_watts"},'
    '"values":[[1714557600,"230"],[1714557601,"231"]]}]}}'
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("loop.txt", "".join(f"{1_714_557_600 + t} {230 + t}.5\n" for t in range(8))),
        ("answer.json", ANSWER),
    ],
)
def test_a_log_that_is_named_is_one_whatever_its_name(tmp_path: Path, name: str, text: str) -> None:
    power(tmp_path / "power.csv")
    (tmp_path / name).write_text(text, "utf-8")
    (run,) = scan(tmp_path / name).runs
    assert [Path(log.path).name for log in run.power] == [name]
    assert not run.profiles
    assert [Path(log.path).name for log in scan(tmp_path).power] == [
        "power.csv"
    ]  # unasked it is not taken


@pytest.mark.parametrize("name", ["notes.txt", "table.csv", "settings.json", "odd.bin"])
def test_what_lies_beside_a_file_that_nobody_reads_is_not_its_answer(
    tmp_path: Path, name: str
) -> None:
    power(tmp_path / "power.csv")
    make(tmp_path, "events.out.tfevents.9.h.19202.5.v2")
    (tmp_path / name).write_bytes(
        b'{"a": 1}'
        if name.endswith("json")
        else b"hello\n"
        if "bin" not in name
        else bytes(range(256))
    )
    found = scan(tmp_path / name)
    (run,) = found.runs
    assert [Path(profile.path).name for profile in run.profiles] == [name]
    assert run.power == found.power == ()
    assert run.tfevents == found.tfevents == ()


def test_a_power_log_alone_is_a_run(tmp_path: Path) -> None:
    power(tmp_path / "power.csv")
    (run,) = scan(tmp_path / "power.csv").runs
    assert not run.profiles
    assert len(run.power) == 1


# ── hostile and large folders ────────────────────────────────────────────────────────────────────


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile) as caught:
        scan(tmp_path / "nowhere")
    assert caught.value.exit_code == 3
    assert "nowhere" in str(caught.value)


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    make(tmp_path, "logs/plugins/profile/r/h.xplane.pb")
    (tmp_path / "logs/again").symlink_to(tmp_path / "logs", target_is_directory=True)
    (tmp_path / "logs/up").symlink_to(tmp_path, target_is_directory=True)
    assert len(scan(tmp_path).runs) == 1


def test_a_linked_logdir_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "real/plugins/profile/r/h.xplane.pb")
    (tmp_path / "view").mkdir()
    (tmp_path / "view/linked").symlink_to(tmp_path / "real", target_is_directory=True)
    assert [run.name for run in scan(tmp_path / "view").runs] == ["linked/r"]


def test_broken_links_and_special_files_are_problems_not_crashes(tmp_path: Path) -> None:
    folder = tmp_path / "plugins/profile/r"
    make(tmp_path, "plugins/profile/r/ok.xplane.pb")
    (folder / "gone.xplane.pb").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe.xplane.pb")
    found = scan(tmp_path)
    assert [p.host for p in found.runs[0].profiles] == ["ok"]
    assert {Path(problem.file).name for problem in found.problems} == {
        "gone.xplane.pb",
        "pipe.xplane.pb",
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    make(tmp_path, "open/plugins/profile/r/h.xplane.pb", "closed/x")
    (tmp_path / "closed").chmod(0)
    try:
        found = scan(tmp_path)
    finally:
        (tmp_path / "closed").chmod(0o755)
    assert len(found.runs) == 1
    assert "closed" in found.problems[0].file


def test_odd_names_are_only_names(tmp_path: Path) -> None:
    strange = ["\x1b[31mred", "new\nline", "tab\tname", "-rf", "ünïcode", "a" * 200, "‮reversed"]
    for name in strange:
        make(tmp_path, f"{name}/plugins/profile/r/{name[:50]}.xplane.pb")
    os.makedirs(os.fsencode(tmp_path) + b"/caf\xe9/plugins/profile/r")
    Path(
        os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9/plugins/profile/r/h\xff.xplane.pb")
    ).write_bytes(b"\x0a")
    assert len(scan(tmp_path).runs) == len(strange) + 1


def test_a_huge_tree_is_bounded_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MAX_ENTRIES", 50)
    for number in range(30):
        make(tmp_path, f"d{number:02d}/a", f"d{number:02d}/b", f"d{number:02d}/c")
    found = scan(tmp_path)
    assert found.truncated
    assert found.entries < 80
    assert "too large to scan" in found.problems[-1].cause


def test_depth_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MAX_DEPTH", 5)
    make(tmp_path, "a/b/c/d/e/f/g/plugins/profile/r/h.xplane.pb", "a/plugins/profile/r/h.xplane.pb")
    found = scan(tmp_path)
    assert [run.name for run in found.runs] == ["a/r"]
    assert found.truncated


def test_nothing_is_opened_but_doubtful_files(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "plugins/profile/r"
    run.mkdir(parents=True)
    shutil.copy(data / JAX / "vm.xplane.pb", run / "vm.xplane.pb")
    (run / "vm.xplane.pb").chmod(0)  # a scan that read it would fail for everyone but root
    try:
        (found,) = scan(tmp_path).runs
    finally:
        (run / "vm.xplane.pb").chmod(0o644)
    assert found.size == 352_297


# ── real logdirs ─────────────────────────────────────────────────────────────────────────────────


def test_powerboards_own_runs(shared_data: Path) -> None:
    (run,) = scan(shared_data / "public/powerboard_tf22_run195247").runs
    assert run.name == "logs/20210320-195247/train/2021_03_20_19_52_54"
    assert [(p.host, p.tool) for p in run.profiles] == [("madrid", "trace.json.gz")]
    assert len(run.results) == 4
    assert [e.group for e in run.tfevents if e.kind == "scalars"] == [
        "train",
        "validation",
        "demo_logs",
    ]


def test_every_recording_is_found(shared_data: Path) -> None:
    found = scan(shared_data / "own")
    profiles = {
        path.relative_to(shared_data / "own").parts[0]
        for path in (shared_data / "own").rglob("*.xplane.pb")
    }
    assert {"custom_loop", "jax_cpu", "keras_cifar", "two_epochs_with_burst"} <= profiles
    assert profiles <= {run.name.split("/")[0] for run in found.runs}
    assert "two_epochs_with_burst" in {run.name.split("/")[0] for run in found.runs if run.power}
    assert not found.problems


def test_stages_grow_and_the_last_is_the_scan(data: Path) -> None:
    stages = list(stream(data / "logdirs", 0.0))
    assert len(stages) > 2
    assert stages[-1] == scan(data / "logdirs")
    assert [stage.complete for stage in stages] == [False] * (len(stages) - 1) + [True]
    names = [run.name for run in stages[-1].runs]
    for stage in stages:
        assert [run.name for run in stage.runs] == names[: len(stage.runs)]


def test_a_training_that_was_captured_thousands_of_times_is_looked_at_once(tmp_path: Path) -> None:
    """All captures share the scalars beside them: to list those anew for each is quadratic."""
    for second in range(60):
        write(tmp_path / "plugins" / "profile" / f"2026_01_02_03_04_{second:02}" / "vm.xplane.pb")
        write(tmp_path / f"events.out.tfevents.{1_700_000_000 + second}.vm.1.0.v2")
    runs = scan(tmp_path).runs
    assert len(runs) == 60
    assert len({id(run.tfevents) for run in runs}) == 1
    assert len(runs[0].tfevents) == 60


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\n\x00")


# ── the same again ───────────────────────────────────────────────────────────────────────────────


def test_the_same_run_is_found_as_it_lies_there_now(tmp_path: Path) -> None:
    make(tmp_path, "a/plugins/profile/r/h.xplane.pb", "b/plugins/profile/r/h.xplane.pb")
    first, second = scan(tmp_path).runs
    (tmp_path / "b/plugins/profile/r/h.xplane.pb").write_bytes(b"x" * 77)
    now = logdir.again(str(tmp_path), second)
    assert (now.name, now.size) == (second.name, 77)
    assert logdir.again(str(tmp_path), first).path == first.path
    (tmp_path / "b/plugins/profile/r/h.xplane.pb").unlink()
    with pytest.raises(UnreadableFile, match="gone"):
        logdir.again(str(tmp_path), second)


def test_what_the_system_says_begins_with_a_small_letter() -> None:
    assert tree.reason(PermissionError(13, "Permission denied")) == "permission denied"
    assert tree.reason(ValueError("Odd")) == "odd"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("export.json", b'{"traceEvents": [' + b" " * 64 + b"]}", True),
        ("export.json", b'[\n{"ph": "X", "name": "a"' + b" " * 64 + b"}]", True),
        ("export.json", b'{"traceEvents": []}', False),  # nothing that small is a trace
        ("settings.json", b'{"epochs": 20, "batch": 128}' + b" " * 64, False),
    ],
)
def test_traces_of_other_tools_are_named_and_other_json_is_not(
    tmp_path: Path, name: str, content: bytes, told: bool
) -> None:
    make(tmp_path, name, content=content)
    found = scan(tmp_path)
    assert [file.what for file in found.unread] == (["Chrome trace"] if told else [])


def test_chrome_traces_of_any_name_are_runs_but_not_what_powertui_exported(tmp_path: Path) -> None:
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    (tmp_path / "loop.json").write_text(json.dumps({"traceEvents": [event]}))
    (tmp_path / "flex.json").write_text(json.dumps([event]))
    (tmp_path / "mine.json").write_text(
        json.dumps({"otherData": {"powertui": "1"}, "traceEvents": [event]})
    )
    (tmp_path / "config.json").write_text(
        json.dumps({"ph": "acid", "learning_rate": 0.1, "traceEvents": "none of these"})
    )
    (tmp_path / "rows.json").write_text(json.dumps([{"watts": 5}] * 20))
    found = scan(tmp_path)
    assert [[profile.host for profile in run.profiles] for run in found.runs] == [
        ["flex"],
        ["loop"],
    ]
    assert scan(tmp_path / "mine.json").runs[0].profiles


# ── mixed folders ────────────────────────────────────────────────────────────────────────────────

DOUBTFUL = (
    "vm.xplane.pb",
    "vm.trace.json.gz",
    "w.pt.trace.json",
    "any.json",
    "x.pftrace",
    "vm.trace",
    "1_kernel_trace.csv",
    "1_results.json",
    "power.csv",
    "power.log",
    "power.db",
    "events.out.tfevents.1700000000.vm.1.0.v2",
    "hlo_proto.pb",
)


def test_pipes_sockets_and_devices_are_refused_by_name_and_never_opened(tmp_path: Path) -> None:
    """A pipe that nobody writes to would hold whoever opens it for ever."""
    folders = [tmp_path, tmp_path / "plugins" / "profile" / "r"]
    folders[1].mkdir(parents=True)
    before = Path.cwd()
    for folder in folders:
        os.chdir(folder)  # a socket's path is short
        for kind in ("pipe", "socket"):
            for name in DOUBTFUL:
                if kind == "pipe":
                    os.mkfifo(f"{kind}.{name}")
                else:
                    with socket.socket(socket.AF_UNIX) as made:
                        made.bind(f"{kind}.{name}")
        with contextlib.suppress(PermissionError):
            os.mknod("null.xplane.pb", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        (folder / "link.xplane.pb").symlink_to("/dev/zero")
    os.chdir(before)
    found: list[Logdir] = []
    looking = threading.Thread(target=lambda: found.append(scan(tmp_path)), daemon=True)
    looking.start()
    looking.join(60)
    assert not looking.is_alive()
    refused = {
        Path(problem.file).name
        for problem in found[0].problems
        if "not a plain file" in problem.cause
    }
    made = {f"{kind}.{name}" for kind in ("pipe", "socket") for name in DOUBTFUL}
    assert made | {"link.xplane.pb"} <= refused
    assert not [profile for run in found[0].runs for profile in run.profiles]


@pytest.mark.parametrize("kind", ["socket", "device", "link to a device"])
def test_what_is_no_file_is_refused_when_it_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "vm.xplane.pb"
    if kind == "socket":
        before = Path.cwd()
        os.chdir(tmp_path)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
        os.chdir(before)
    elif kind == "device":
        path = Path("/dev/null")
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(UnreadableFile, match="is neither a folder nor a plain file"):
        scan(path)


def test_loops_of_links_cost_nothing(tmp_path: Path) -> None:
    """Ten folders, each with links to all others and to itself: each is looked at once."""
    for number in range(10):
        make(tmp_path, f"d{number}/plugins/profile/r/vm.xplane.pb")
    for number in range(10):
        for other in range(10):
            (tmp_path / f"d{number}/to{other}").symlink_to(
                tmp_path / f"d{other}", target_is_directory=True
            )
    (tmp_path / "itself").symlink_to("itself")
    found = scan(tmp_path)
    assert len(found.runs) == 10
    assert found.entries < 10 * 14 + 20
    assert [Path(problem.file).name for problem in found.problems] == ["itself"]


def test_the_copy_that_jax_makes_for_perfetto_is_its_capture_again(tmp_path: Path) -> None:
    """`create_perfetto_trace=True` writes a third form of the capture, under a name without the
    host.
    """
    folder = tmp_path / "plugins/profile/r"
    folder.mkdir(parents=True)
    trace = gzip.compress(
        b'{"displayTimeUnit":"ns","traceEvents":[{"ph":"X","pid":1,"tid":1,"name":"a","ts":1,"dur":1}]}'
    )
    (folder / "vm.xplane.pb").write_bytes(b"\x0a\x01x")
    (folder / "perfetto_trace.json.gz").write_bytes(trace)
    (run,) = scan(tmp_path).runs
    assert [profile.host for profile in run.profiles] == ["vm"]
    assert [Path(other.path).name for other in run.alternates] == ["perfetto_trace.json.gz"]
    assert not run.unread
    (folder / "vm.xplane.pb").unlink()
    (alone,) = scan(tmp_path).runs
    assert [Path(profile.path).name for profile in alone.profiles] == ["perfetto_trace.json.gz"]


def test_one_host_in_many_files_is_counted_once(tmp_path: Path) -> None:
    """All forms of one capture, copies under another name, and what other tools left: two hosts."""
    folder = tmp_path / "plugins/profile/r"
    folder.mkdir(parents=True)
    for host, content in (("a", b"\x0a\x02ab"), ("b.c.d_6003", b"\x0a\x02cd")):
        (folder / f"{host}.xplane.pb").write_bytes(content)
        (folder / f"{host}.xplane.pb.gz").write_bytes(gzip.compress(content))
        (folder / f"{host}.trace.json.gz").write_bytes(gzip.compress(b'{"traceEvents":[{}]}'))
        for other in ("overview_page.pb", "op_stats_v2.pb", "hlo_proto.pb", "cached_tools.json"):
            (folder / f"{host}.{other}").write_bytes(b"x")
    (folder / "copy-of-a.xplane.pb").write_bytes(b"\x0a\x02ab")
    (folder / "empty.xplane.pb").write_bytes(b"")
    (run,) = scan(tmp_path).runs
    assert [profile.host for profile in run.profiles] == ["a", "b.c.d_6003", "empty"]
    assert len(run.alternates) == 4
    assert ["counted once" in problem.cause for problem in run.problems] == [True]


def opened_by(look: Callable[[], object]) -> tuple[int, int]:
    """(calls of the system that look at names, bytes that were read) while it goes on."""
    counted = {"names": 0}
    real = (os.scandir, os.stat)

    def counting(which: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **more: object) -> object:
            counted["names"] += 1
            return which(*args, **more)

        return call

    def read() -> int:
        return int(re.search(r"rchar: (\d+)", Path("/proc/self/io").read_text())[1])  # type: ignore[index]

    before = read()
    os.scandir, os.stat = (counting(one) for one in real)  # type: ignore[assignment]
    try:
        look()
    finally:
        os.scandir, os.stat = real
    return counted["names"], read() - before


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="this system does not count bytes")
def test_ten_thousand_runs_cost_four_times_as_much_as_a_quarter_of_them(tmp_path: Path) -> None:
    found: dict[int, tuple[int, int]] = {}
    for count in (2500, 10_000):
        root = tmp_path / str(count)
        for number in range(count):
            folder = (
                root
                / f"t{number // 100}"
                / "plugins"
                / "profile"
                / f"2026_01_01_{number % 100:02}_00_00"
            )
            folder.mkdir(parents=True)
            (folder / "vm.xplane.pb").write_bytes(b"\x0a\x02ab")
        found[count] = opened_by(functools.partial(_checked, root, count))
    names, read = found[10_000]
    assert names <= 4.2 * found[2500][0]
    assert names <= 4 * 10_000
    assert read < 100_000  # no profile was opened


def _checked(root: Path, count: int) -> None:
    looked = scan(root)
    assert len(looked.runs) == count
    assert not looked.problems


def test_a_profile_that_is_being_written_is_marked_and_what_is_whole_of_it_is_read(
    tmp_path: Path,
) -> None:
    from powertui.report import checks, runs

    make(tmp_path, "plugins/profile/r/vm.xplane.pb")
    (run,) = scan(tmp_path).runs
    assert runs.first(run).growing
    listed = runs.table([run], [runs.first(run)])
    assert (
        next(column for column in listed.columns if column.id == "device").values[0]
        == "being written"
    )
    assert any("just now" in check.what for check in checks.of_entry(run))
    then = time.time() - 3600
    os.utime(run.profiles[0].path, (then, then))
    assert not runs.first(run).growing
    assert not any("just now" in check.what for check in checks.of_entry(run))


def test_a_trace_before_pytorch_renames_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "w.pt.trace.json.tmp").write_bytes(
        b'{"schemaVersion": 1, "traceEvents": [' + b" " * 99
    )
    found = scan(tmp_path)
    assert not found.runs
    assert ["still being written" in file.what for file in found.unread] == [True]
