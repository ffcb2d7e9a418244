"""Traces in the forms that other programs write, small ones written by hand after documentation or
source (tests/data/foreign): each opens with the right times, names and lines, or is refused with
what it is and a way on.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from powertui.data.formats import json_events, registry
from powertui.data.formats.json_compiled import COMPILED
from powertui.data.tools import arrows
from powertui.errors import UnreadableFile

FOLDER = Path(__file__).parents[2] / "data" / "foreign"
US, NS = 1_000_000, 1_000


class Form(NamedTuple):
    """What a file must hold.

    `line`: process and line of one event; its name, start and duration in ps; the zero in Unix ns.
    """

    source: str
    events: int
    line: tuple[str, str]
    event: tuple[str, int, int]
    zero_ns: int | None = None
    arrows: int = 0
    counters: int = 0
    warnings: int = 0


READ = {
    "viztracer.json": Form(
        (
            "viztracer 1.0, src/viztracer/snaptrace.c and tracer.py: ts since the boot, "
            "baseTimeNanoseconds"
        ),
        3,
        ("MainProcess", "MainThread"),
        ("g (/a.py:4)", 191819236500 * NS, 2125 * NS),
        1730000000000000000,
        counters=1,
    ),
    "chromium.json": Form(
        (
            "Trace Event Format (Google), as chrome://tracing saves: M with ts 0, bind_id, id2, "
            "snapshots, memory dumps"
        ),
        5,
        ("Browser", "CrBrowserMain"),
        ("V8.GC", 129 * US, 100 * US),
        arrows=1,
        warnings=4,
    ),
    "bazel.profile.json": Form(
        (
            "bazel.build, JSON trace profile: negative ts, counters as texts, "
            "otherData.profile_start_ts in ms"
        ),
        2,
        ("process 1", "Main Thread"),
        ("Launch Blaze", -1306000 * US, 1306000 * US),
        1704200000123000000,
        counters=2,
    ),
    "catapult_bare.json": Form(
        "Trace Event Format, JSON array format: the closing bracket may be missing",
        1,
        ("process 22630", "line 22630"),
        ("Asub", 829 * US, 4 * US),
    ),
    "node_trace.1.log": Form(
        "nodejs.org, Trace events: node --trace-event-categories",
        2,
        ("node", "node,node.async_hooks (asynchronous)"),
        ("Timeout", 1153451134 * US, 100 * US),
    ),
    "pyspy_chrometrace.json": Form(
        "py-spy, src/chrometrace.rs",
        1,
        ("process 1", "line 1"),
        ("main", 100000 * US, 400000 * US),
    ),
    "ray-timeline.json": Form(
        "ray timeline (python/ray/_private/profiling.py): Unix µs, pids and tids as texts",
        2,
        ("Node 10.0.0.1", "worker:abcdef"),
        ("task:execute", 100800 * NS, 1000 * US),
        1700000000123456000,
    ),
    "horovod_timeline.json": Form(
        "Horovod, docs/timeline.rst and timeline.cc: a process for each tensor, no tids, no end",
        5,
        ("DistributedSGD_Allreduce/grad.1", "events"),
        ("NCCL_ALLREDUCE", 1210 * US, 90 * US),
    ),
    "onnxruntime_profile__2024.json": Form(
        "ONNX Runtime, onnxruntime/core/common/profiler.cc",
        4,
        ("process 99", "line 99"),
        ("void cudnn::conv", 1310 * US, 100 * US),
    ),
    "unitrace.123.json": Form(
        "intel/pti-gpu, tools/unitrace: devices by the name of their process, Unix µs with ns",
        2,
        ("/device:GPU:0", "L0"),
        ("gemm[SIMD16]", 10789 * NS, 50500 * NS),
        1700000000123456000,
        arrows=1,
    ),
    "clang-time-trace.json": Form(
        "LLVM, TimeProfiler.cpp: beginningOfTime in Unix µs",
        2,
        ("clang-17", "line 3"),
        ("Source", 103 * US, 5000 * US),
        1700000000123456000,
    ),
    "rocprof_results.json": Form(
        "rocprof (ROCm ≤ 6), bin/tblextr.py and sqlitedb.py: numbers as texts, whole µs beside ns",
        2,
        ("/device:GPU:0", "line 0"),
        ("vadd(float*)", 50 * US, 33123 * NS),
        arrows=1,
    ),
    "jax_perfetto_trace.json": Form(
        "jax.profiler, create_perfetto_trace",
        1,
        ("/host:CPU", "python"),
        ("PjitFunction(f)", 12000001, 5250 * NS),
    ),
    "nsys2json.json": Form(
        "chenyu-jiang/nsys2json",
        2,
        ("/device:GPU:0", "Stream 7"),
        ("gemm", 100500 * NS, 30250 * NS),
    ),
    "ascend_trace_view.json": Form(
        "Ascend PyTorch Profiler, trace_view.json: ts as text, kernels without a category",
        2,
        ("/device:NPU:0", "thread 3"),
        ("MatMul", 100789 * NS, 100500 * NS),
        1708000000123456000,
        arrows=1,
    ),
    "torch_1_6.json": Form(
        (
            "torch/autograd/profiler.py up to 1.8: a comma before the end, flows called by their "
            "events"
        ),
        2,
        ("/device:GPU:0", "line 0"),
        ("sgemm_128", 130500 * NS, 60 * US),
        arrows=1,
    ),
    "torch_1_8.pt.trace.json": Form(
        "Kineto of PyTorch 1.8: Operator, Runtime, Kernel, streams as texts, Unix µs",
        3,
        ("/device:GPU:0", "Stream #7"),
        ("gemm", 27 * US, 20 * US),
        1621234567890123000,
        arrows=1,
    ),
    "tvm.json": Form(
        "TVM, src/runtime/vm/profiler",
        1,
        ("process 1", "line 1"),
        ("fused_conv", 1500 * NS, 7750 * NS),
    ),
    "tf_timeline.json": Form(
        "tensorflow/python/client/timeline.py (TensorFlow 1)",
        2,
        ("/device:GPU:0/stream:all Compute", "line 0"),
        ("MatMul", 10 * US, 30 * US),
        1500000000000000000,
        arrows=1,
        warnings=1,
    ),
    "mxnet.json": Form(
        "MXNet, src/profiler/profiler.cc",
        1,
        ("cpu/0", "line 14"),
        ("Convolution", 0, 900 * US),
        1500000000000000000,
    ),
    "paddle.json": Form(
        "Paddle, paddle/fluid/platform/profiler/chrometracing_logger.cc",
        2,
        ("/device:GPU:0", "Stream #7"),
        ("kern[dur]", 20500 * NS, 10 * US),
        1700000000000100000,
    ),
    "zero_first.json": Form(
        (
            "a first event at 0 among events in Unix time, as writers leave that begin before "
            "their clock does"
        ),
        20,
        ("process 1", "line 1"),
        ("a", 100 * US, 50 * US),
        1700000000000000000,
        warnings=1,
    ),
}
REFUSED = {
    "pyspy.speedscope.json": ("speedscope", "chrometrace"),
    "node.cpuprofile": ("V8", "trace-events-enabled"),
    "firefox.json": ("Firefox", "profiler.firefox.com"),
    "torch_execution_trace.json": ("execution trace of PyTorch", "export_chrome_trace"),
    "torch_memory_timeline.json": ("memory timeline of PyTorch", "export_chrome_trace"),
    "torch_memory_timeline.raw.json": ("memory timeline of PyTorch", "export_chrome_trace"),
    "torch_memory_timeline.html": ("memory timeline of PyTorch", "export_chrome_trace"),
    "nsys.jsonl": ("Nsight", "torch.profiler"),
    "trtexec.json": ("TensorRT", "profiler"),
}
WAYS = [*(["compiled"] if COMPILED else []), "pure", "singly"]


def test_every_file_has_a_row() -> None:
    assert {file.name for file in FOLDER.iterdir()} == set(READ) | set(REFUSED)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", READ)
def test_it_opens_with_what_it_holds(name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_events, "COMPILED", way == "compiled")
    monkeypatch.setattr(json_events, "ONE_BY_ONE", way == "singly")
    form = READ[name]
    trace = registry.read(FOLDER / name)
    assert trace.event_count == form.events
    events = []
    for process, track in trace.tracks():
        if (process.name, track.name) == form.line:
            rows = zip(
                track.events.name.tolist(),
                track.events.start.tolist(),
                track.events.duration.tolist(),
                strict=True,
            )
            events += [
                (trace.names.full(index), start, duration) for index, start, duration in rows
            ]
    assert form.event in events
    assert (trace.clock.lo_ns is None) == (form.zero_ns is None)
    if form.zero_ns is not None and trace.clock.lo_ns is not None and trace.clock.hi_ns is not None:
        assert trace.clock.lo_ns <= form.zero_ns <= trace.clock.hi_ns
    assert len(arrows.find_tied_events(trace).line) == form.arrows
    assert len(trace.counters) == form.counters
    assert len(trace.warnings) == form.warnings


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_by_name_with_a_way_on(name: str) -> None:
    what, way = REFUSED[name]
    with pytest.raises(UnreadableFile) as caught:
        registry.read(FOLDER / name)
    assert what in caught.value.problem
    assert way in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("head", "name", "what"),
    [
        (
            b"SQLite format 3\0" + bytes(84) + b"CREATE TABLE rocpd_kernel_dispatch",
            "1_results.db",
            "rocprofv3",
        ),
        (
            b"SQLite format 3\0" + bytes(84) + b"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL",
            "a.sqlite",
            "damaged database",
        ),
        (b"SQLite format 3\0" + bytes(84) + b"CREATE TABLE readings", "a.db", "SQLite"),
        (b"\x10\x00\x04FxT\x16\x00" + bytes(8), "trace.fxt", "magic-trace"),
        (b"PERFILE2" + bytes(90), "perf.data", "perf"),
        (b"\x80\x04\x95\x05", "snapshot.pickle", "pickle"),
        (b"\x00\x13NVIDIA" + bytes(90), "report.nsys-rep", "Nsight"),
        (b"# tracer: nop\n#\n", "trace.txt", "ftrace"),
        (b"\x0a\x04\x08\x01\x10\x02\x32\x00\x32\x07samples\x32\x05count", "cpu.pb", "pprof"),
    ],
)
def test_what_is_no_json_is_refused_by_name(
    tmp_path: Path, head: bytes, name: str, what: str
) -> None:
    path = tmp_path / name
    path.write_bytes(head)
    with pytest.raises(UnreadableFile) as caught:
        registry.read(path)
    assert what in caught.value.problem
