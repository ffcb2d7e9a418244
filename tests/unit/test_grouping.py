from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui import demo
from powertui.data import wire
from powertui.data.formats import registry
from powertui.data.model import Trace
from powertui.data.run import grouping, stat_carriers
from powertui.data.run.grouping import Groups, find_groups
from tests.synthetic.read_traces import trace_of
from tests.synthetic.xplane import Event, Line, Plane

MS = 10**9


def host(*lines: list[Event]) -> Plane:
    return Plane(
        "/host:CPU", [Line(f"line/{i}", events, key=i + 1) for i, events in enumerate(lines)]
    )


def by_name(trace: Trace, groups: Groups) -> dict[str, list[int]]:
    """The groups of the events of each name, by start."""
    found: dict[str, list[tuple[int, int]]] = {}
    for line, (_, track) in enumerate(trace.tracks()):
        for row, group in enumerate(groups.groups_on_line(line).tolist()):
            name = trace.names.full(int(track.events.name[row]))
            found.setdefault(name, []).append((int(track.events.start[row]), group))
    return {name: [group for _, group in sorted(rows)] for name, rows in found.items()}


def roots(count: int, name: str = "train") -> list[Event]:
    return [Event(name, i * 100 * MS, 90 * MS, {"step_num": i, "_r": 1}) for i in range(count)]


# ── nesting ──────────────────────────────────────────────────────────────────────────────────────


def test_what_lies_inside_a_root_is_its(tmp_path: Path) -> None:
    inside = [Event("op", i * 100 * MS + MS, 10 * MS) for i in range(3)]
    deeper = [Event("kernel", i * 100 * MS + 2 * MS, MS) for i in range(3)]
    between = [Event("idle", 95 * MS, MS)]
    trace = trace_of(tmp_path, host([*roots(3), *inside, *deeper, *between]))
    groups = find_groups(trace)
    assert [group.name for group in groups.groups] == ["train 0", "train 1", "train 2"]
    assert by_name(trace, groups) == {
        "train": [0, 1, 2],
        "op": [0, 1, 2],
        "kernel": [0, 1, 2],
        "idle": [-1],
    }


def test_containment_is_inclusive(tmp_path: Path) -> None:
    edge = [Event("first", 0, MS), Event("last", 80 * MS, 10 * MS)]
    trace = trace_of(tmp_path, host([*roots(1), *edge]))
    assert by_name(trace, find_groups(trace)) == {"train": [0], "first": [0], "last": [0]}


def test_an_event_that_sticks_out_is_no_child(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, host([*roots(1), Event("late", 80 * MS, 30 * MS)]))
    assert by_name(trace, find_groups(trace))["late"] == [-1]


def test_asynchronous_events_hold_nothing(tmp_path: Path) -> None:
    events = [*roots(1), Event("async", MS, 50 * MS, {"_a": 1}), Event("op", 2 * MS, MS)]
    trace = trace_of(tmp_path, host(events))
    assert by_name(trace, find_groups(trace)) == {"train": [0], "async": [-1], "op": [0]}


# ── hand-overs ───────────────────────────────────────────────────────────────────────────────────


def test_work_follows_its_context_to_other_lines(tmp_path: Path) -> None:
    launches = [
        Event("launch", i * 100 * MS + MS, MS, {"_pt": 2, "_p": 1000 + i}) for i in range(3)
    ]
    # Each consumer runs late, during the next root: time says one step, the context the right one.
    work = [
        Event("work", i * 100 * MS + 105 * MS, 20 * MS, {"_ct": 2, "_c": 1000 + i})
        for i in range(3)
    ]
    inside = [Event("op", w.start + MS, MS) for w in work]
    trace = trace_of(tmp_path, host([*roots(3), *launches], [*work, *inside]))
    assert by_name(trace, find_groups(trace)) == {
        "train": [0, 1, 2],
        "launch": [0, 1, 2],
        "work": [0, 1, 2],
        "op": [0, 1, 2],
    }


def test_contexts_of_other_kinds_do_not_meet(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        host(
            [*roots(1), Event("launch", MS, MS, {"_pt": 2, "_p": 7})],
            [Event("work", MS, MS, {"_ct": 3, "_c": 7})],
        ),
    )
    assert by_name(trace, find_groups(trace))["work"] == [-1]


def test_work_is_handed_on_and_on(tmp_path: Path) -> None:
    lines = [
        [
            *roots(2),
            *(Event("a", i * 100 * MS + MS, MS, {"_pt": 1, "_p": i * 10}) for i in range(2)),
        ]
    ]
    for hop in range(5):
        lines.append(
            [
                Event(
                    f"hop{hop}",
                    i * 100 * MS + 2 * MS,
                    5 * MS,
                    {"_ct": 1, "_c": i * 10 + hop, "_pt": 1, "_p": i * 10 + hop + 1},
                )
                for i in range(2)
            ]
        )
    trace = trace_of(tmp_path, host(*lines))
    found = by_name(trace, find_groups(trace))
    assert all(found[f"hop{hop}"] == [0, 1] for hop in range(5))


def test_a_crowded_context_connects_nothing(tmp_path: Path) -> None:
    def crowd(count: int) -> list[int]:
        makers = [Event("make", MS + i * 1000, 1000, {"_pt": 1, "_p": 5}) for i in range(count)]
        users = [Event("use", MS + i * 1000, 1000, {"_ct": 1, "_c": 5}) for i in range(count)]
        trace = trace_of(tmp_path, host([*roots(1), *makers], users))
        return by_name(trace, find_groups(trace))["use"]

    assert crowd(63) == [0] * 63
    assert crowd(64) == [-1] * 64


def test_an_iteration_finds_its_input(tmp_path: Path) -> None:
    executors = [
        Event("ExecutorState::Process", i * 100 * MS + MS, MS, {"id": 40 + i, "iter_num": 0})
        for i in range(2)
    ]
    inputs = [
        Event(
            "IteratorGetNextOp::DoCompute", i * 100 * MS + 5 * MS, MS, {"id": 40 + i, "iter_num": 0}
        )
        for i in range(2)
    ]
    trace = trace_of(tmp_path, host([*roots(2), *executors], inputs))
    assert by_name(trace, find_groups(trace))["IteratorGetNextOp::DoCompute"] == [0, 1]


def test_kernels_belong_to_the_last_launch_with_their_id(tmp_path: Path) -> None:
    launches = [
        Event("cudaLaunchKernel", i * 100 * MS + MS, MS, {"correlation_id": 7}) for i in range(2)
    ]
    gpus = [
        Plane(
            f"/device:GPU:{n}",
            [
                Line(
                    "Stream #1(Compute)",
                    [Event(f"kernel{n}", 120 * MS, MS, {"correlation_id": 7})],
                    key=1,
                )
            ],
        )
        for n in range(2)
    ]
    trace = trace_of(tmp_path, host([*roots(2), *launches]), *gpus)
    found = by_name(trace, find_groups(trace))
    assert (found["kernel0"], found["kernel1"]) == ([1], [1])


# ── roots ────────────────────────────────────────────────────────────────────────────────────────


def test_roots_inside_roots_start_no_group(tmp_path: Path) -> None:
    inner = [Event("FunctionRun", i * 100 * MS + MS, MS, {"_r": 1}) for i in range(2)]
    alone = [Event("FunctionRun", 500 * MS, MS, {"_r": 1})]
    trace = trace_of(tmp_path, host([*roots(2), *inner, *alone]))
    groups = find_groups(trace)
    assert [(group.name, group.marked) for group in groups.groups] == [
        ("train 0", True),
        ("train 1", True),
        ("2", False),
    ]


def test_a_higher_root_level_goes_first(tmp_path: Path) -> None:
    batch = Event("ProcessBatch", 10 * MS, 200 * MS)
    inside = Event("train", 20 * MS, 50 * MS, {"step_num": 0, "_r": 1})
    trace = trace_of(tmp_path, host([batch, inside]))
    assert by_name(trace, find_groups(trace)) == {"ProcessBatch": [0], "train": [0]}


def test_keras_markers_without_a_level_are_roots_too(tmp_path: Path) -> None:
    events = [Event("Profiled batch", i * 100 * MS, 90 * MS, {"step_num": i}) for i in range(3)]
    trace = trace_of(tmp_path, host([*events, Event("op", 101 * MS, MS)]))
    assert by_name(trace, find_groups(trace))["op"] == [1]


def test_loops_in_the_graph_are_steps_only_when_nothing_else_is(tmp_path: Path) -> None:
    loop = [
        Event("ExecutorState::Process", i * 10 * MS, 9 * MS, {"id": 3, "iter_num": i})
        for i in range(6)
    ]
    trace = trace_of(tmp_path, host(loop))
    groups = find_groups(trace)
    assert len(groups.groups) == 6
    assert "loop" in groups.source
    marked = trace_of(tmp_path, host(roots(1), loop))
    assert [group.name for group in find_groups(marked).groups] == ["train 0"]


def test_without_roots_there_are_no_groups(tmp_path: Path) -> None:
    groups = find_groups(trace_of(tmp_path, host([Event("op", 0, MS)])))
    assert groups.groups == ()
    assert "nothing marks a group" in groups.source


def test_ids_in_the_file_are_taken(tmp_path: Path) -> None:
    root = Event("train", 0, 50 * MS, {"group_id": 4, "step_name": "train 12"})
    trace = trace_of(
        tmp_path,
        host(
            [root, Event("op", MS, MS, {"group_id": 4})],
            [Event("far", 400 * MS, MS, {"group_id": 9})],
        ),
    )
    groups = find_groups(trace)
    assert groups.source == "group_id in the file"
    assert [(group.name, group.marked) for group in groups.groups] == [
        ("train 12", True),
        ("9", False),
    ]
    assert by_name(trace, groups) == {"train": [0], "op": [0], "far": [1]}


# ── recordings ───────────────────────────────────────────────────────────────────────────────────


def get_next_by_step(trace: Trace) -> tuple[list[str], list[float]]:
    """Milliseconds of IteratorGetNextOp::DoCompute in each marked group, by time."""
    groups = find_groups(trace)
    total = np.zeros(len(groups.groups))
    wanted = np.array(
        [trace.names.full(i) == "IteratorGetNextOp::DoCompute" for i in range(len(trace.names))]
    )
    for line, (_, track) in enumerate(trace.tracks()):
        if len(track.events):
            of = groups.groups_on_line(line)
            rows = wanted[track.events.name] & (of >= 0)
            np.add.at(total, of[rows], track.events.duration[rows])
    marked = sorted(
        (i for i, group in enumerate(groups.groups) if group.marked),
        key=lambda i: groups.groups[i].start,
    )
    return [groups.groups[i].name for i in marked], [float(total[i]) / MS for i in marked]


def test_every_step_of_the_demo_waits_for_its_own_input() -> None:
    (profile,) = demo.folder().rglob("*.xplane.pb.gz")
    names, waits = get_next_by_step(registry.read(profile))
    assert names == [f"Profiled batch {i}" for _ in range(2) for i in range(100)]
    assert min(waits) > 0


@pytest.mark.parametrize(
    ("run", "golden"), [("custom_loop", "custom_loop"), ("keras_cifar", "keras_cifar_relabelled")]
)
def test_input_times_are_those_of_the_oracle(shared_data: Path, run: str, golden: str) -> None:
    """TensorBoard's converter, by its own grouping, gives the same input time of every step, to the
    picosecond.
    """
    oracle = json.loads(
        (shared_data / "golden" / golden / "input_pipeline_analyzer.json").read_text()
    )[1]["rows"]
    (profile,) = (shared_data / "own" / run).rglob("*.xplane.pb")
    _, waits = get_next_by_step(registry.read(profile))
    assert [row["c"][6]["v"] for row in oracle] == pytest.approx(waits[1:-1], abs=1e-9)


@pytest.mark.parametrize(
    "run",
    [
        "e4040_hd2551",
        "e4040_yg2820/logs/fit/20221031-233351",
        "e4040_yg2820/logs/fit/20221104-212610",
    ],
)
def test_computed_groups_are_those_that_tensorflow_stored(
    shared_data: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given the stored roots, nesting, contexts and correlation ids lead to the same events on
    every line but the root's own.

    (TF 2.4 to 2.10 also put every EagerKernelExecute of the main thread into the step's group;
    newer versions do not.)
    """
    (profile,) = (shared_data / "public" / run).rglob("*.xplane.pb")
    trace = registry.read(profile)
    stored = find_groups(trace)
    own, root = next(
        (line, int(row))
        for line, (process, track) in enumerate(trace.tracks())
        if process.name == "/host:CPU" and len(track.events)
        for row in np.flatnonzero(
            process.source.columns(track.events.position, ("step_name",))["step_name"].present
        )
    )
    really = grouping.carried

    def without_ids(*args: Any) -> dict[str, Any]:
        """As if the file held no group ids, and the stored root a root level."""
        said = really(*args)
        said["group_id"][:] = False
        return {**said, "_r": said["_r"] | said["step_name"]}

    monkeypatch.setattr(grouping, "carried", without_ids)

    def stored_root(forest: Any, *, by_number: bool) -> tuple[Any, str]:
        part = next(part for part in forest.parts if part.line.number == own)
        return np.flatnonzero(part.row == root) + part.first, "the stored root"

    monkeypatch.setattr(grouping, "_roots", stored_root)
    computed = find_groups(trace)
    wrong = total = 0
    for line, (_, track) in enumerate(trace.tracks()):
        if len(track.events) and not track.derived and line != own:
            wrong += int(
                ((stored.groups_on_line(line) == 0) != (computed.groups_on_line(line) == 0)).sum()
            )
            total += len(track.events)
    assert total > 100
    assert wrong <= 1  # one kernel was launched by another EagerKernelExecute of that thread


# ── what it costs ────────────────────────────────────────────────────────────────────────────────


def _handed_over(count: int) -> Plane:
    """Steps that hand work over to another thread, 100 pieces each."""
    steps, work = [], []
    for i in range(count):
        at = i * 100 * MS
        steps.append(Event("train", at, 90 * MS, {"step_num": i, "_r": 1}))
        steps.append(Event("hand over", at + MS, MS, {"_pt": 1, "_p": i}))
        work += [
            Event(
                "ExecutorState::Process",
                at + 10 * MS + k * MS // 2,
                MS // 4,
                {"_ct": 1, "_c": i, "id": i, "iter_num": 0},
            )
            for k in range(100)
        ]
    return host(steps, work)


@pytest.mark.skipif(
    not wire.COMPILED, reason="decoding in Python makes objects, which let go of their memory late"
)
def test_a_node_costs_few_bytes(tmp_path: Path) -> None:
    """Of 60,000 pieces of work less than 64 bytes each at the peak: no column of stats is held for
    all of them.
    """
    trace = trace_of(tmp_path, _handed_over(600))
    groups = find_groups(trace)  # what is made once for all is there
    tracemalloc.start()
    try:
        groups = find_groups(trace)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert groups.groups_on_line(1).tolist() == np.repeat(np.arange(600), 100).tolist()
    assert peak < 64 * 61_200 + (12 << 20)  # and what one portion of events takes to decode


def test_a_line_is_sampled_once_whoever_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = trace_of(tmp_path, _handed_over(3))
    asked: list[int] = []
    really = stat_carriers._carried
    monkeypatch.setattr(stat_carriers, "_carried", lambda *args: asked.append(1) or really(*args))
    for _ in range(2):
        for process in trace.processes:
            for stat in ("_p", "_c", "tf_op", "correlation_id", "unheard of"):
                stat_carriers.carried(trace, process, process.tracks, (stat,))
    assert (
        len(asked) == 2 * 2
    )  # each of two lines: once for all that tools ask, once for what none of them does
