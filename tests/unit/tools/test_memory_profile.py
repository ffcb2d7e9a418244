"""`memory_profile`: TensorFlow's stored answers, and PyTorch's marks against a plain recount."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import powertui
from powertui.data import loading
from powertui.data.formats import registry as formats
from powertui.data.formats import stat_columns, xplane_allocations
from powertui.data.formats.stat_columns import PooledTexts
from powertui.data.logdir import scan
from powertui.data.model import StatColumn
from powertui.data.model.allocations import AllocatorLog, TextPool
from powertui.data.run.grouping import find_groups
from powertui.data.tools import memory_peak, memory_profile, registry
from powertui.data.tools.allocation_views import AllocatorView
from powertui.data.tools.registry import Question
from powertui.errors import FileChanged
from powertui.view.timeline_model import TimelineModel
from tests import answers
from tests.unit.tools.opened_runs import opened

T4 = "public/e4040_hd2551/logs/fit/20231107-182500/train/plugins/profile/2023_11_07_18_25_02"
T4_LATER = "public/e4040_yg2820/logs/fit/20221104-212610/train/plugins/profile/2022_11_04_21_26_12"
# (profile, what is stored of it, by whose rules)
STORED = {
    "T4, TensorFlow 2.8": (
        f"{T4}/instance-2.xplane.pb",
        f"{T4}/instance-2.memory_profile.json.gz",
        "tf2",
    ),
    "T4, the converter of 2026": (
        f"{T4}/instance-2.xplane.pb",
        "golden/gpu_tf_t4/memory_profile.json",
        "xprof",
    ),
    "T4 of 2022": (
        f"{T4_LATER}/instance-ecbm.xplane.pb",
        f"{T4_LATER}/instance-ecbm.memory_profile.json.gz",
        "tf2",
    ),
}


class Snapshot(NamedTuple):
    """One event as it is stored."""

    at_ps: int
    allocated: int
    stack: int
    free: int
    fragmentation: float
    lifetime_peak: int
    taken: bool
    requested: float
    size: int
    address: int
    op: str
    step: int
    region: str
    dtype: str
    shape: str


def _stored_snapshot(snapshot: dict[str, Any]) -> Snapshot:
    stats, activity = snapshot["aggregationStats"], snapshot["activityMetadata"]
    return Snapshot(
        at_ps=int(snapshot["timeOffsetPs"]),
        allocated=int(stats["heapAllocatedBytes"]),
        stack=int(stats["stackReservedBytes"]),
        free=int(stats["freeMemoryBytes"]),
        fragmentation=stats["fragmentation"],
        lifetime_peak=int(stats["peakBytesInUse"]),
        taken=activity["memoryActivity"] == "ALLOCATION",
        requested=float(activity["requestedBytes"]),
        size=int(activity["allocationBytes"]),
        address=int(activity["address"]),
        op=activity["tfOpName"],
        step=int(activity["stepId"]),
        region=activity["regionType"],
        dtype=activity["dataType"],
        shape=activity["tensorShape"],
    )


def _our_snapshot(view: AllocatorView, event: int, step: int, line_ps: int) -> Snapshot:
    log = view.log
    allocation = memory_peak.allocation_row(log, view.source_event(event))
    return Snapshot(
        at_ps=int(log.times[event]) - line_ps,
        allocated=int(log.allocated[event]),
        stack=int(log.reserved[event]),
        free=int(log.free[event]),
        fragmentation=float(log.fragmentation[event]),
        lifetime_peak=int(log.lifetime_peak[event]),
        taken=bool(log.taken[event]),
        requested=float(log.requested[event]),
        size=int(log.size[event]),
        address=int(log.address[event]),
        op=allocation.op,
        step=step,
        region=allocation.region,
        dtype=allocation.dtype,
        shape=allocation.shape,
    )


def _stored(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    allocators: dict[str, Any] = json.loads(data)["memoryProfilePerAllocator"]
    return allocators


@pytest.mark.parametrize("name", STORED)
def test_every_snapshot_the_peak_and_its_table_are_those_of_tensorflow(
    shared_data: Path, name: str
) -> None:
    profile, answer, compat = STORED[name]
    stored = _stored(shared_data / answer)
    trace = formats.read(shared_data / profile)
    assert [log.allocator for log in trace.allocators] == sorted(stored)
    for log in trace.allocators:
        view = AllocatorView(trace, log)
        theirs = stored[log.allocator]
        summary = theirs["profileSummary"]
        peak = memory_peak.peak_event(log, np.ones(len(log), np.bool_))
        assert peak is not None
        assert peak.in_use == int(summary["peakStats"]["peakBytesInUse"])
        assert log.allocated[peak.event] == int(summary["peakStats"]["heapAllocatedBytes"])
        assert peak.in_use + log.free[peak.event] == int(summary["memoryCapacity"])
        lifetime = memory_peak.lifetime_peak(log, "xprof")
        assert lifetime == int(summary["peakBytesUsageLifetime"])
        # The converter counts from the line's own start: one number for all lines of a host.
        line_ps = int(log.times[peak.event]) - int(summary["peakStatsTimePs"])
        assert 0 <= line_ps < 10**9
        steps = memory_peak.step_ids(log.step).tolist()
        ours = [_our_snapshot(view, event, steps[event], line_ps) for event in range(len(log))]
        snapshots = theirs.get("sampledTimelineSnapshots") or theirs["memoryProfileSnapshots"]
        assert sorted(ours) == sorted(map(_stored_snapshot, snapshots))
        rows = memory_peak.peak_rows(log, peak, compat)
        assert [
            (row.op, row.size, row.requested, row.region, row.dtype, row.shape, row.occurrences)
            for row in rows
        ] == _stored_rows(theirs)


@pytest.mark.parametrize("name", ["custom_loop", "keras_cifar", "trace_export"])
def test_a_file_without_step_ids_has_the_converters_table_at_the_peak(
    shared_data: Path, name: str
) -> None:
    stored = _stored(shared_data / f"golden/{name}/memory_profile.json")
    run = powertui.open(shared_data / "own" / name)[0]
    result = registry.get("memory_profile").answer(Question(run.opened, compat="xprof"))
    (log,) = run.opened.profiles[0].trace.allocators
    assert not (log.step >= 0).any()
    table = result["peak"]
    columns = ("op", "bytes", "requested_bytes", "region", "dtype", "shape", "occurrences")
    ours = [tuple(table[id].value(row) or "" for id in columns) for row in range(len(table))]
    assert ours == _stored_rows(stored[log.allocator])


def test_events_of_lines_that_begin_apart_have_the_converters_order_where_it_is_asked(
    shared_data: Path,
) -> None:
    """The converter takes each event's distance from its own line's start for its time; xprof
    2.24.2 answers these rows for all eight devices.
    """
    run = opened(shared_data / "public/jax_rocm_mi300_conv_legacy")
    result = registry.get("memory_profile").answer(Question(run, compat="xprof"))
    rows = answers.rows(next(table for table in result.tables if table.id == "peak"))
    by_allocator: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        by_allocator.setdefault(row["allocator"], []).append((row["bytes"], row["occurrences"]))
    assert by_allocator == {
        f"GPU_{device}_bfc": [(572026880, 2), (579072256, 1)] for device in range(8)
    }


def test_what_the_input_pipeline_runs_starts_no_group_where_tensorboard_is_asked(
    shared_data: Path,
) -> None:
    trace = formats.read(next((shared_data / "own/custom_loop").rglob("*.xplane.pb")))
    assert len(find_groups(trace, by_number=False, input_roots=False).groups) == 60
    assert len(find_groups(trace, by_number=False).groups) == 1947


def _stored_rows(allocator: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = []
    for active in allocator["activeAllocations"]:
        snapshot, special = int(active["snapshotIndex"]), int(active["specialIndex"])
        if snapshot >= 0:
            what = allocator["memoryProfileSnapshots"][snapshot]["activityMetadata"]
        else:
            what = allocator["specialAllocations"][special]
        rows.append(
            (
                what["tfOpName"],
                int(what["allocationBytes"]),
                float(what["requestedBytes"]),
                what["regionType"],
                what["dataType"],
                what["tensorShape"],
                int(active["numOccurrences"]),
            )
        )
    return rows


def test_the_page_shows_that_peak(shared_data: Path) -> None:
    run = powertui.open(shared_data / f"{T4}/instance-2.xplane.pb")[0]
    result = registry.get("memory_profile").answer(Question(run.opened))
    facts = {fact.label: fact.text() for fact in result.facts}
    assert facts == {
        "GPU_0_bfc peak": "163.6 MB",
        "GPU_0_bfc peak at": "0.246s",
        "GPU_0_bfc lifetime peak": "402.4 MB",
        "gpu_host_bfc peak": "19.2 kB",
        "gpu_host_bfc peak at": "0.243s",
        "gpu_host_bfc lifetime peak": "19.46 kB",
    }
    table = result["peak"]
    assert (
        sum(table["total_bytes"].values) == 163_593_728 - 256 + 19_200
    )  # the converter's sum, too
    place = table.place(0)
    assert place is not None
    assert place.event is not None
    trace = run.opened.profiles[0].trace
    name = trace.track(place.track or 0).events.name[place.event]
    assert trace.names.full(int(name)) == "MemoryAllocation"
    assert len(result["events"]) == 298


def test_bytes_in_use_are_a_strip_above_the_timeline(shared_data: Path) -> None:
    path = "public/tf_gpu_multiworker/plugins/profile/GPU-multi-worker"
    trace = formats.read(shared_data / path / "34.83.195.180_6003.xplane.pb")
    most = {counter.name: int(counter.values.max()) for counter in trace.all_counters()}
    assert most == {
        "allocated GPU_1_bfc": 4_013_344_768,
        "allocated GPU_4_bfc": 6_208_853_760,
        "allocated GPU_6_bfc": 6_210_111_488,
        "allocated gpu_host_bfc": 605_952,
    }


def test_what_allocators_did_is_read_when_somebody_asks(shared_data: Path, tmp_path: Path) -> None:
    recorded = shared_data / "public/tf_gpu_multiworker/plugins/profile/GPU-multi-worker"
    folder = tmp_path / "plugins/profile/run"
    folder.mkdir(parents=True)
    path = folder / "vm.xplane.pb"
    path.write_bytes((recorded / "34.83.195.180_6003.xplane.pb").read_bytes())
    run = loading.load_run(scan(tmp_path).runs[0])
    (trace,) = run.traces
    path.write_bytes(b"")
    for look in (trace.all_counters, lambda: len(trace.allocators)):
        with pytest.raises(FileChanged):
            look()
    assert TimelineModel.from_run(run, 0).strips == ()  # the timeline goes on without them


# ── PyTorch's marks ──

KINETO = (
    "kineto_h100_timesformer/facebook_timesformer-base-finetuned-k400__1016002.json.gz",
    "kineto_h100_bert/gaunernst_bert-small-uncased__1016001.json.gz",
    "kineto_mi300_qwen/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "kineto_h100_qwen/Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "kineto_mi300_basetime/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "kineto_mi300_bert/gaunernst_bert-small-uncased__1016001.json.gz",
)


class Mark(NamedTuple):
    """One mark of an allocator, plainly read."""

    ns: int
    bytes: int
    address: int
    total: int


def _marks(path: Path) -> dict[str, list[Mark]]:
    """The marks of a file by device, by time."""
    marks: dict[str, list[Mark]] = {}
    for event in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]:
        if event.get("name") != "[memory]":
            continue
        args = event["args"]
        device = "CPU" if args["Device Type"] == 0 else f"GPU {args['Device Id']}"
        ns = round(event["ts"] * 1000)
        mark = Mark(ns, args["Bytes"], args["Addr"], args["Total Allocated"])
        marks.setdefault(device, []).append(mark)
    return {device: sorted(rows, key=lambda mark: mark.ns) for device, rows in marks.items()}


def _alive_bytes(marks: list[Mark]) -> int:
    """What of these marks is alive after all of them, counted one by one."""
    alive: dict[int, int] = {}
    for mark in marks:
        if mark.bytes >= 0:
            alive[mark.address] = mark.bytes
        else:
            alive.pop(mark.address, None)
    return sum(alive.values())


@pytest.mark.parametrize("name", KINETO)
def test_bytes_alive_at_random_moments_are_a_plain_recount(shared_data: Path, name: str) -> None:
    path = shared_data / "public" / name
    marks = _marks(path)
    trace = formats.read(path)
    assert [log.allocator for log in trace.allocators] == sorted(marks)
    chosen = random.Random(34)
    for log in trace.allocators:
        theirs = marks[log.allocator]
        assert len(log) == len(theirs)
        zero_ns = theirs[0].ns - int(log.times[0]) // 1000
        view = AllocatorView(trace, log)
        for _ in range(100):
            ns = chosen.randint(theirs[0].ns, theirs[-1].ns)
            until = [mark for mark in theirs if mark.ns <= ns]
            moment = (ns - zero_ns) * 1000
            alive = view.lives.alive(log, moment)
            assert int(log.size[alive].sum()) == _alive_bytes(until)
            # What the allocator itself says is in use is there, to the byte.
            rows = view.rows_alive(moment, float(until[-1].total))
            if until[-1].total >= _alive_bytes(until):
                assert sum(row.size * row.occurrences for row in rows) == until[-1].total


def test_who_allocated_and_when_it_was_freed(shared_data: Path) -> None:
    run = powertui.open(shared_data / "public/kineto_h100_qwen")[0]
    result = registry.get("memory_profile").answer(Question(run.opened))
    peak = result["peak"]
    first = {id: peak[id].value(1) for id in ("op", "occurrences", "shape", "region")}
    assert first == {
        "op": "aten::add",
        "occurrences": 24,
        "shape": "[16, 16, 559, 64], [16, 16, 559, 64], []",
        "region": None,
    }
    assert peak["op"].value(0) == "allocated before the profile"
    alive = result["alive"]
    assert alive["op"].value(0) in ("aten::silu", "aten::mm", "aten::mul")
    since, until = alive["since_s"].value(0), alive["until_s"].value(0)
    assert isinstance(since, int)
    assert isinstance(until, int)
    assert since < int(peak["peak_s"].values[0]) < until
    allocators = result["allocators"]
    assert allocators["peak_bytes"].value(0) == 2_088_508_416
    assert allocators["reserved_bytes"].value(0) == 2_629_828_608
    # What nobody said is missing, and not 0.
    for id in ("lifetime_peak_bytes", "fragmentation", "capacity_bytes"):
        assert allocators[id].value(0) is None
    assert allocators["reserved_bytes"].value(1) is None


def test_what_is_alive_at_the_cursor(shared_data: Path) -> None:
    run = powertui.open(shared_data / "public/kineto_h100_qwen")[0]
    tool = registry.get("memory_profile")
    log = run.opened.profiles[0].trace.allocators[1]
    moment = int(log.times[500])
    at_cursor = tool.answer(Question(run.opened, moment=moment))["alive"]
    window_end = tool.answer(Question(run.opened, lo=0, hi=moment))["alive"]
    of_gpu = [row for row in range(len(at_cursor)) if at_cursor["allocator"].value(row) == "GPU 0"]
    lives = AllocatorView(run.opened.profiles[0].trace, log).lives
    assert len(of_gpu) == len(lives.alive(log, moment))
    assert at_cursor["bytes"].values.tolist() == window_end["bytes"].values.tolist()
    assert at_cursor.title.startswith("Alive at 0.0")
    other = tool.answer(Question(run.opened, moment=moment * 2))["alive"]
    assert other["bytes"].values.tolist() != at_cursor["bytes"].values.tolist()


def test_a_profile_without_an_allocator_says_so(shared_data: Path) -> None:
    run = powertui.open(shared_data / "public/kineto_hta_cpu_only")[0]
    result = registry.get("memory_profile").answer(Question(run.opened))
    for table in result.tables:
        assert table.empty == f"{memory_profile.EMPTY} {memory_profile.HOW}"


def test_curves_keep_every_peak_of_many_points() -> None:
    values = np.zeros(5432)
    values[[7, 2500, 5431]] = (3.0, 9.0, 5.0)
    rows = memory_profile.largest_of_boxes(values)
    assert len(rows) == memory_profile.MAX_POINTS
    assert {7, 2500, 5431} <= set(rows.tolist())
    assert memory_profile.largest_of_boxes(np.zeros(10)).tolist() == list(range(10))


def test_an_address_that_is_taken_twice_is_counted_once(tmp_path: Path) -> None:
    marks = [(10, 512, 7), (20, 256, 7), (30, -256, 7), (40, -64, 9), (50, 32, 11)]
    log = _log_of(tmp_path, [{"Bytes": size, "Addr": address} for _, size, address in marks])
    lives = AllocatorView(formats.read(tmp_path / "t.pt.trace.json"), log).lives
    assert lives.counterpart.tolist() == [1, 2, 1, -1, -1]
    alive = [int(log.size[lives.alive(log, int(at))].sum()) for at in log.times]
    assert alive == [512, 256, 0, 0, 32]


def _log_of(folder: Path, args: list[dict[str, int]]) -> AllocatorLog:
    events = [
        {
            "ph": "i",
            "name": "[memory]",
            "pid": 1,
            "tid": 1,
            "ts": 10.0 * (number + 1),
            "args": {"Device Type": 1, "Device Id": 0, **values},
        }
        for number, values in enumerate(args)
    ]
    events.append({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 9})
    path = folder / "t.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    (log,) = formats.read(path).allocators
    assert log.allocator == "GPU 0 since the start"
    return log


def _words_column(texts: Sequence[str | None]) -> StatColumn:
    present = np.array([text is not None for text in texts], np.bool_)
    ints, floats = stat_columns.empty(len(texts))
    return StatColumn(present, ints, floats, texts)


def _pooled(words: list[str | None]) -> PooledTexts:
    """The words as places in a pool whose order is another one."""
    pool = stat_columns.RepeatedTexts()
    pool.add(["nobody says this", *sorted({word for word in words if word is not None})])
    slots = [-1 if word is None else pool.texts.tolist().index(word) for word in words]
    return PooledTexts(pool, np.array(slots, np.int32))


def test_texts_have_the_same_numbers_together_as_one_by_one() -> None:
    words: list[str | None] = ["b", None, "a", "", "b", "c", "", "a"]
    for texts in (words, _pooled(words)):
        one_by_one, together = TextPool(), TextPool()
        each = [one_by_one.number(word) for word in words]
        coded = xplane_allocations._coded(_words_column(texts))
        assert coded.renumbered(together.number).tolist() == each == [0, -1, 1, -1, 0, 2, -1, 1]
        assert together.texts == one_by_one.texts == ("b", "a", "c")


def test_texts_in_a_pool_are_the_same_column() -> None:
    words = ["b", None, "a", "", "b"]
    pooled = _pooled(words)
    assert list(pooled) == words
    assert [pooled[row] for row in range(-1, 5)] == ["b", *words]
    assert pooled[1:3] == words[1:3]
    assert [pooled.count(word) for word in (None, "b", "")] == [1, 2, 1]
    filler = stat_columns.Filler(5)
    zeros, unknown = stat_columns.empty(2)
    filler.put_pooled(np.array([0, 2]), pooled.pool, pooled.slots[[0, 2]], zeros, unknown)
    assert list(filler.column().texts or ()) == ["b", None, "a", None, None]
    filler.put_texts(np.array([1]), np.array(["other"], object), zeros[:1], unknown[:1])
    filler.put_pooled(np.array([3]), pooled.pool, pooled.slots[[0]], zeros[:1], unknown[:1])
    assert filler.column().texts == ["b", "other", "a", "b", None]
