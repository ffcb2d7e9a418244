from __future__ import annotations

import gzip
import itertools
import json
import os
import time
from pathlib import Path

import pytest

from powertui.data import logdir
from powertui.data.logdir import scan, stream, tree
from powertui.errors import UnreadableFile
from tests.logdirs import make

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
    make(folder, "model.neff", "h.xplane.riegeli")
    (run,) = scan(tmp_path).runs
    assert not run.profiles
    assert {f.tool for f in run.results} == {"overview_page.pb", "kernel_stats.pb"}
    assert {f.tool for f in run.unread} == {"neff", "xplane.riegeli"}
    assert {f.tool for f in run.ignored} == {"op_stats_v2.pb", "cache_version.txt"}
    assert run.hosts == ("h", "model")


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


def test_a_profile_that_is_being_written_is_marked_and_what_is_whole_of_it_is_read(
    tmp_path: Path,
) -> None:
    from powertui.report import checks, run_table, runs

    make(tmp_path, "plugins/profile/r/vm.xplane.pb")
    (run,) = scan(tmp_path).runs
    assert runs.first(run).growing
    listed = run_table.table([run], [runs.first(run)])
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
