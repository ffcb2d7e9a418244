"""PyTorch's traces: every event on its thread or stream, exact nanoseconds, the clock, what
releases write differently.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data import loading, logdir
from powertui.data.formats import kineto_names, registry
from powertui.data.model import ProcessKind, Trace, TrackKind
from powertui.data.run import steps
from powertui.errors import UnreadableFile

BASE = 1_751_410_836_000_000_000
HEAD: dict[str, Any] = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}]}


def x(
    cat: str, name: str, ts: float, dur: float, pid: Any = 77, tid: Any = 77, **args: Any
) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


EVENTS = [
    {"ph": "M", "name": "process_name", "pid": 77, "tid": 0, "ts": 5, "args": {"name": "python"}},
    {
        "ph": "M",
        "name": "thread_name",
        "pid": 77,
        "tid": 77,
        "ts": 5,
        "args": {"name": "thread 77 (python)"},
    },
    x("user_annotation", "ProfilerStep#3", 1_000.001, 100.0),
    x("cpu_op", "aten::mm", 1_010.25, 20.5, **{"External id": 9}),
    x(
        "python_function",
        "train.py(12): step",
        1_005,
        90.0,
        **{"Python id": 1, "Python parent id": None},
    ),
    x("python_function", "<built-in>", 1_006, 1.0, pid=0, tid=0),
    x("cuda_runtime", "cudaLaunchKernel", 1_012.5, 3.0, correlation=41),
    x("kernel", "sgemm", 1_050.125, 60.007, pid=0, tid=7, device=0, stream=7, correlation=41),
    x("gpu_memcpy", "Memcpy HtoD", 1_111, 2.0, pid=0, tid=0, device=0, stream=0, correlation=42),
    x("gpu_user_annotation", "ProfilerStep#3", 1_050.124, 60.009, pid=0, tid=7),
    x("Trace", "PyTorch Profiler (0)", 900, 400, pid="Spans", tid="PyTorch Profiler"),
    {"ph": "s", "id": 41, "pid": 77, "tid": 77, "ts": 1_012.5, "cat": "ac2g", "name": "ac2g"},
    {
        "ph": "f",
        "id": 41,
        "pid": 0,
        "tid": 7,
        "ts": 1_050.125,
        "cat": "ac2g",
        "name": "ac2g",
        "bp": "e",
    },
    {
        "ph": "i",
        "cat": "cpu_instant_event",
        "name": "[memory]",
        "pid": 77,
        "tid": 77,
        "ts": 1_013,
        "args": {"Bytes": 512},
    },
    {"ph": "i", "name": "Record Window End", "pid": "", "tid": "", "ts": 1_300, "s": "g"},
]


def written(
    folder: Path, content: Any, name: str = "host_77.1700000000000000000.pt.trace.json"
) -> Path:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def read(folder: Path, content: Any, **how: str) -> Trace:
    return registry.read(written(folder, content, **how))


def lines(trace: Trace) -> dict[tuple[str, str], list[str]]:
    return {
        (process.name, track.name): [trace.names.full(i) for i in track.events.name.tolist()]
        for process, track in trace.tracks()
    }


@pytest.mark.parametrize(
    "name", ["a.pt.trace.json", "a.pt.trace.json.gz", "exported.json", "exported.json.gz"]
)
def test_every_event_stands_on_its_thread_or_stream(tmp_path: Path, name: str) -> None:
    trace = read(tmp_path, {**HEAD, "traceEvents": EVENTS, "baseTimeNanoseconds": BASE}, name=name)
    assert trace.format == "kineto"
    assert lines(trace) == {
        ("/device:GPU:0", "Stream #0"): ["Memcpy HtoD"],
        ("/device:GPU:0", "Stream #7"): ["sgemm"],
        ("/device:GPU:0", "annotations - from #7"): ["ProfilerStep#3"],
        ("/host:CPU python 77", "thread 77 (python)"): [
            "ProfilerStep#3",
            "aten::mm",
            "cudaLaunchKernel",
        ],
        ("/host:CPU python 77", "thread 77 (python) Python"): ["train.py(12): step"],
        ("/host:CPU process 0", "thread 0 Python"): ["<built-in>"],
    }
    drawn = {
        track.name: track.derived
        for process, track in trace.tracks()
        if process.kind is ProcessKind.DEVICE
    }
    assert drawn == {"Stream #0": False, "Stream #7": False, "annotations - from #7": True}
    assert [
        process.stats[0].value for process in trace.processes if process.kind is ProcessKind.DEVICE
    ] == ["NVIDIA H100"]
    assert [warn.cause for warn in trace.warnings] == []


def test_times_are_exact_nanoseconds_on_a_far_clock(tmp_path: Path) -> None:
    far = 4_203_669_603_438.0
    events = [x("cpu_op", "a", far + 0.301, 60.204), x("cpu_op", "b", far + 99.007, 0.001)]
    trace = read(tmp_path, {**HEAD, "traceEvents": events, "baseTimeNanoseconds": BASE})
    track = next(track for _, track in trace.tracks())
    assert (track.events.start // 1000).tolist() == [301, 99_007]
    assert (track.events.start % 1000).tolist() == [0, 0]
    assert track.events.duration.tolist() == [60_204_000, 1_000]
    assert trace.clock.known
    assert trace.clock.mid_ns == BASE + int(far) * 1000


def test_older_files_count_in_unix_time(tmp_path: Path) -> None:
    events = [
        x("Operator", "aten::add", 1_606_910_596_288_085, 10, tid="4093687616"),
        x("Runtime", "cudaLaunchKernel", 1_606_910_596_288_086, 2, tid="4093687616", correlation=4),
        x("Kernel", "add", 1_606_910_596_288_100, 5, pid=0, tid="stream 7", correlation=4),
    ]
    trace = read(tmp_path, events)
    assert trace.clock.mid_ns == 1_606_910_596_288_085_000
    assert ("/device:GPU:0", "Stream #7") in lines(trace)
    process = next(process for process in trace.processes if process.kind is ProcessKind.DEVICE)
    places = process.tracks[0].events.positions(slice(None))
    found = process.source.columns(places, ["correlation_id", "correlation"])
    assert found["correlation_id"].ints.tolist() == [4], "the name that steps are linked by"


def test_the_zero_is_the_earliest_event_whatever_comes_first(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        {
            **HEAD,
            "traceEvents": [
                x("cpu_op", "late", 5_000_000.5, 1),
                x("cpu_op", "early", 2_000_000.25, 1),
            ],
        },
    )
    assert trace.span[0] == 250_000
    assert not trace.clock.known, "nothing says what these times count from"


@pytest.mark.parametrize("cut", range(40, 1200, 97))
def test_a_file_that_ends_early_keeps_what_is_whole(tmp_path: Path, cut: int) -> None:
    text = json.dumps(
        {**HEAD, "traceEvents": [x("cpu_op", f"op{i}", 10.0 * i, 5.0) for i in range(20)]}
    )[:cut]
    whole = text.count('"ph"') and text.count("}}")
    if not whole:
        with pytest.raises(UnreadableFile):
            read(tmp_path, text)
        return
    trace = read(tmp_path, text)
    assert trace.event_count == whole
    assert any("truncated" in warn.cause for warn in trace.warnings)


@pytest.mark.parametrize(
    "odd",
    [
        {"ph": "X", "cat": "cpu_op", "name": "no ts", "pid": 1, "tid": 1},
        {"ph": "X", "cat": "cpu_op", "name": "text", "pid": 1, "tid": 1, "ts": "soon", "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": "far", "pid": 1, "tid": 1, "ts": 1e300, "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": "negative", "pid": 1, "tid": 1, "ts": 5, "dur": -4},
        {"ph": "X", "cat": ["kernel"], "name": None, "pid": [1], "tid": {}, "ts": 5, "dur": 1},
        ["not", "an", "event"],
        7,
        None,
    ],
)
def test_odd_events_cost_themselves_alone(tmp_path: Path, odd: Any) -> None:
    trace = read(
        tmp_path,
        {**HEAD, "traceEvents": [x("cpu_op", "good", 10, 5), odd, x("cpu_op", "good", 20, 5)]},
    )
    assert [name for names in lines(trace).values() for name in names].count("good") == 2


def test_steps_are_the_annotations_and_their_device_time_is_by_launch(tmp_path: Path) -> None:
    """Kernels that run late belong to the step that launched them, and those that nobody launched
    to none.
    """
    events = [
        x("kernel", "before the window", 0, 5, pid=0, tid=7, device=0, stream=7, correlation=1)
    ]
    for step in range(6):
        begin = 1_000.0 * step + 100
        events += [
            x("user_annotation", f"ProfilerStep#{step + 9}", begin, 900),
            x("cpu_op", "aten::mm", begin + 10, 50),
            x("cuda_runtime", "cudaLaunchKernel", begin + 20, 5, correlation=100 + step),
            x(
                "kernel",
                "mm",
                begin + 850,
                300,
                pid=0,
                tid=7,
                device=0,
                stream=7,
                correlation=100 + step,
            ),
        ]
    written(tmp_path, {**HEAD, "traceEvents": events, "baseTimeNanoseconds": BASE})
    (entry,) = logdir.scan(tmp_path).runs
    run = loading.load_run(entry)
    steps = run.steps[0]
    assert steps.number.tolist() == list(range(9, 15))
    assert (steps.duration // 1_000_000).tolist() == [900] * 6
    assert (np.asarray(steps.device) // 1_000_000).tolist() == [300] * 6


def test_how_a_kernel_was_launched_is_told_as_other_collectors_tell_it(tmp_path: Path) -> None:
    details = {
        "grid": [4, 1, 1],
        "block": [64, 2, 1],
        "registers per thread": 32,
        "shared memory": 1024,
    }
    events = [
        x("kernel", "k", 10, 5, pid=0, tid=7, device=0, stream=7, correlation=1, **details),
        x("gpu_memset", "Memset", 20, 5, pid=0, tid=7, device=0, stream=7, correlation=2),
    ]
    trace = read(tmp_path, {**HEAD, "traceEvents": events})
    process = next(process for process in trace.processes if process.kind is ProcessKind.DEVICE)
    places = process.tracks[0].events.positions(slice(None))
    column = process.source.columns(places, ["kernel_details", "correlation_id"])
    assert column["kernel_details"].texts == [
        "grid:4,1,1 block:64,2,1 regs:32 static_shared:1024",
        None,
    ]
    assert column["correlation_id"].ints.tolist() == [1, 2]


def test_every_event_of_every_public_trace_is_where_its_category_says(shared_data: Path) -> None:
    paths = [path for path in (shared_data / "public").rglob("*.json.gz") if "kineto" in str(path)]
    if not paths:
        pytest.skip("no PyTorch traces here")
    for path in paths:
        content = json.loads(gzip.decompress(path.read_bytes()))
        events = content if isinstance(content, list) else content["traceEvents"]
        wanted: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for event in events:
            category = str(event.get("cat", "")).lower()
            if event.get("ph") == "X" and category != "trace":
                work, copies = kineto_names.DEVICE_WORK, kineto_names.DEVICE_COPIES
                place = "device" if category in work else "copy" if category in copies else "host"
                wanted[place] += 1
                total[place] += round(event.get("dur", 0) * 1000)
        trace = registry.read(path)
        found: Counter[str] = Counter()
        sums: Counter[str] = Counter()
        for process, track in trace.tracks():
            place = (
                "host"
                if process.kind is ProcessKind.HOST
                else "copy"
                if track.derived
                else "device"
            )
            found[place] += len(track.events)
            sums[place] += int(track.events.duration.sum()) // 1000
            assert track.kind in (TrackKind.THREAD, TrackKind.STREAM)
        assert found == wanted, path
        assert sums == total, path


def test_where_nothing_marks_steps_the_optimizer_does(tmp_path: Path) -> None:
    """As in a profile that was asked for from outside: from the end of one of its steps to the end
    of the next.
    """
    mark = {"ph": "X", "cat": "user_annotation", "pid": 77, "tid": 77, "dur": 10}
    ends = [1000, 2000, 3100, 4000, 5000]
    events = [{**mark, "name": "Optimizer.step#SGD.step", "ts": end - 10} for end in ends]
    events += [
        {**mark, "name": "Optimizer.zero_grad#SGD.zero_grad", "ts": end - 900} for end in ends
    ]
    found = steps.find_steps(read(tmp_path, {**HEAD, "traceEvents": events}))
    assert found.inferred
    assert (found.duration // 10**6).tolist() == [1000, 1100, 900, 1000]
    assert "Optimizer.step#SGD.step" in found.source
    numbered = [
        {**mark, "name": f"ProfilerStep#{n}", "ts": 100 + 1000 * n, "dur": 990} for n in range(4)
    ]
    assert (
        "ProfilerStep"
        in steps.find_steps(read(tmp_path, {**HEAD, "traceEvents": events + numbered})).source
    )
