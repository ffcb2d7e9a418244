"""Kernels against the profiler's own tables, and the rules that no recording at hand exercises."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.table import Result
from powertui.data.tools import device_facts, kernel_rows, kernel_stats, registry, tensor_cores
from powertui.data.tools.kernels import KernelFacts
from powertui.data.tools.registry import Question
from tests import answers, stored_ops

_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"
T4 = "e4040_hd2551", "20231107-182500"


def _ask(folder: Path, part: str) -> tuple[Opened, Result]:
    entry = next(entry for entry in logdir.scan(str(folder)).runs if part in entry.name)
    opened = Opened(entry)
    return opened, registry.get("kernel_stats").answer(Question(opened))


STORED = sorted(_SHARED.glob("public/e4040_*/**/*.kernel_stats.pb"))


def said(kernel: str, op: str = "", equation: str = "") -> KernelFacts:
    """What a collector says of a kernel."""
    empty = dict.fromkeys(KernelFacts._fields, "") | dict.fromkeys(
        ("flops", "bytes", "model_flops", "occupancy")
    )
    told = {
        "name": kernel,
        "short": kernel,
        "eager": False,
        "details": "regs:1",
        "tf_op": f"{op}:Op" if op else "",
    }
    return KernelFacts(**{**empty, **told, "equation": equation})  # type: ignore[arg-type]


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.name)
def test_every_row_is_that_which_tensorflow_stored(path: Path) -> None:
    """By kernel and op: the stored files hold no launch shapes."""
    theirs = _summed(
        (
            one.name,
            one.op,
            one.uses,
            one.eligible,
            one.occurrences,
            one.total_ns,
            one.min_ns,
            one.max_ns,
        )
        for one in stored_ops.kernels(path)
    )
    opened = Opened(next(entry for entry in logdir.scan(str(path.parent)).runs if entry.profiles))
    result = registry.get("kernel_stats").answer(Question(opened, compat="tf2"))
    times = ("total_duration_us", "min_duration_us", "max_duration_us")
    flags = ("is_kernel_using_tensor_core", "is_op_tensor_core_eligible")
    ours = _summed(
        (
            row["kernel_name"],
            row["op_name"] or "",
            *(row[id] for id in flags),
            row["occurrences"],
            *(round(row[id] * 1000) for id in times),
        )
        for row in answers.rows(result["kernels"])
    )
    assert ours == theirs


def _summed(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[int]]:
    out: dict[tuple[Any, ...], list[int]] = {}
    for *key, count, total, low, high in rows:
        found = out.setdefault(tuple(key), [0, 0, low, high])
        found[:] = [found[0] + count, found[1] + total, min(found[2], low), max(found[3], high)]
    return out


def test_every_row_is_that_of_todays_converter(shared_data: Path) -> None:
    """Row by row, in its order, every column."""
    golden: Any = json.loads(
        (shared_data / "golden" / "gpu_tf_t4" / "kernel_stats.json").read_text()
    )
    ids = [column["id"] for column in golden["cols"]]
    theirs = [[cell["v"] for cell in row["c"]] for row in golden["rows"]]
    opened, _ = _ask(shared_data / "public" / T4[0], T4[1])
    table = registry.get("kernel_stats").answer(Question(opened, compat="xprof"))["kernels"]
    ours = [["" if row[id] is None else row[id] for id in ids] for row in answers.rows(table)]
    assert len(ours) == len(theirs) > 100
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == [
            pytest.approx(value, abs=1e-6) if isinstance(value, float) else value for value in other
        ]


def test_a_row_leads_to_its_longest_launch(shared_data: Path) -> None:
    opened, result = _ask(shared_data / "public" / T4[0], T4[1])
    table = result["kernels"]
    trace = opened.profiles[0].trace
    tracks = [track for _, track in trace.tracks()]
    for row in range(0, len(table), 17):
        place = table.place(row)
        assert place is not None
        assert place.track is not None
        assert place.event is not None
        events = tracks[place.track].events
        assert trace.names.full(int(events.name[place.event])) == table["kernel_name"].value(row)
        assert int(events.duration[place.event]) // 1000 * 1000 == table["max_duration_us"].value(
            row
        )


def test_half_a_window_holds_half_the_kernel(shared_data: Path) -> None:
    opened, result = _ask(shared_data / "public" / T4[0], T4[1])
    place = result["kernels"].place(0)
    assert place is not None
    assert place.lo is not None
    assert place.hi is not None
    middle = (place.lo + place.hi) // 2
    half = kernel_stats.answer(Question(opened, 0, place.lo, middle))["kernels"]
    assert half["total_duration_us"].value(0) == (middle - place.lo) // 1000 * 1000


def test_a_profile_without_a_device_says_so(data: Path) -> None:
    opened = Opened(logdir.scan(str(data / "logdirs")).runs[0])
    result = registry.get("kernel_stats").answer(Question(opened))
    assert len(result["kernels"]) == 0
    assert any("no device" in note for note in result.notes)


@pytest.mark.parametrize(
    ("details", "launch"),
    [
        (
            "regs:32 static_shared:8 dynamic_shared:16 grid:4,1,1 block:64,2,1 occ_pct:50",
            (32, 24, "64,2,1", "4,1,1", 0.5),
        ),
        ("regs:16 shm:7 grid:1,1,1\nblock:1024,1,1", (16, 7, "1024,1,1", "1,1,1", None)),
        ("group_mem:512 private_mem:3 grid:9,9,9 occ_pct:0", (None, 512, "1,1,1", "9,9,9", None)),
        (
            "regs:x:y regs:-3 static_shared:99999999999999999999",
            (None, None, "1,1,1", "1,1,1", None),
        ),
        (
            "regs:2191500840 static_shared:32462 grid:12,1,1",
            (None, None, "1,1,1", "12,1,1", None),
        ),  # what lay in memory
        ("", (None, None, "1,1,1", "1,1,1", None)),
    ],
)
def test_how_it_was_launched(details: str, launch: tuple[Any, ...]) -> None:
    assert tuple(kernel_rows.launch(details)) == launch


@pytest.mark.parametrize(
    ("kernel", "op", "equation", "eligible", "uses"),
    [
        ("volta_h884gemm", "model/dense/MatMul", None, True, True),
        ("volta_sgemm", "model/dense/MatMul", None, True, False),
        ("volta_sgemm", "MatMul", None, False, False),
        ("ampere_s16816gemm", "model/odd", None, True, True),
        ("ampere_s16816gemm", "", None, False, True),
        ("k", "einsum/Einsum", "ab,bc->ac", True, False),
        ("k", "einsum/Einsum", "ab,bc,cd->ad", False, False),
        ("k", "x/BatchMatMulV2", None, True, False),
        ("k", "x/Conv2DBackpropFilter", None, True, False),
        ("k", "x/Conv2DBackpropFilterGrad", None, False, False),
    ],
)
def test_tensor_cores(
    kernel: str, op: str, equation: str | None, eligible: bool, uses: bool
) -> None:
    row = kernel_rows.row_of(said(kernel, op, equation or ""), "corrected")
    assert (row.eligible, row.tensor_core) == (eligible, uses)


def test_times_of_a_kernel_are_of_its_launches(tmp_path: Path) -> None:
    """Four launches of one kernel, written as PyTorch writes them: sum, mean, shortest and longest
    are theirs.
    """
    events = [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "k",
            "pid": 0,
            "tid": 7,
            "ts": 100.0 * i,
            "dur": dur,
            "args": {
                "device": 0,
                "stream": 7,
                "correlation": i,
                "grid": [1, 1, 1],
                "block": [64, 1, 1],
            },
        }
        for i, dur in enumerate((10.0, 20.0, 30.0, 60.0))
    ]
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    (entry,) = logdir.scan(path).runs
    table = registry.get("kernel_stats").answer(Question(Opened(entry))).tables[0]
    assert table["occurrences"].exported(0) == 4
    times = ("total_duration_us", "avg_duration_us", "min_duration_us", "max_duration_us")
    assert [table[id].exported(0) for id in times] == pytest.approx([120, 30, 10, 60])


def kineto(tmp_path: Path, events: list[dict[str, Any]]) -> Result:
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    (entry,) = logdir.scan(path).runs
    return registry.get("kernel_stats").answer(Question(Opened(entry)))


def kernel(
    ts: float, dur: float, correlation: int, stream: int = 7, name: str = "k"
) -> dict[str, Any]:
    args = {
        "device": 0,
        "stream": stream,
        "correlation": correlation,
        "grid": [1, 1, 1],
        "block": [64, 1, 1],
    }
    return {
        "ph": "X",
        "cat": "kernel",
        "name": name,
        "pid": 0,
        "tid": stream,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def on_host(name: str, ts: float, dur: float, correlation: int | None = None) -> dict[str, Any]:
    category = "cpu_op" if correlation is None else "cuda_runtime"
    args = {} if correlation is None else {"correlation": correlation}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 9,
        "tid": 1,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


FED = [
    on_host("cudaLaunchKernel", 0, 2, 1),
    on_host("cudaLaunchKernel", 2, 2, 2),
    on_host("cudaLaunchKernel", 4, 2, 3),
    kernel(10, 100, 1),
    kernel(111, 100, 2),
    kernel(300, 50, 3),  # the third was launched long before, and waited
    on_host("aten::slow", 310, 200),
    on_host("cudaLaunchKernel", 500, 4, 4),
    kernel(510, 10, 4, name="late"),
]


def test_streams_tell_what_waited_and_why_they_stood_still(tmp_path: Path) -> None:
    (row,) = answers.rows(kineto(tmp_path, FED)["streams"])
    us = 1e-6
    assert row["events"] == 4
    assert row["longest_queue"] == 3
    assert row["launch_delay_s"] == pytest.approx((8 + 107 + 294 + 6) / 4 * us)
    assert row["longest_delay_s"] == pytest.approx(294 * us)
    gaps = [row[id] for id in ("launched_late_s", "queued_s", "waiting_s", "not_known_s")]
    assert gaps == pytest.approx([160 * us, 1 * us, 89 * us, 0])


def test_gaps_tell_what_the_host_did_meanwhile(tmp_path: Path) -> None:
    result = kineto(tmp_path, FED)
    longest = answers.rows(result["gaps"])[0]
    assert (longest["why"], longest["host_did"], longest["after"]) == (
        "launched late",
        "aten::slow",
        "late",
    )
    assert longest["gap_s"] == pytest.approx(160e-6)
    assert longest["host_share"] == pytest.approx(156 / 160)
    place = result["gaps"].place(0)
    assert place is not None
    assert (place.hi or 0) - (place.lo or 0) == 160 * 10**6


def test_one_call_of_a_graph_launches_many(tmp_path: Path) -> None:
    events = [
        on_host("train_step", 0, 6),
        on_host("cudaGraphLaunch", 0, 5, 1),
        *(kernel(10 + 10 * i, 5, 1) for i in range(3)),
        kernel(90, 1, 8),
    ]
    result = kineto(tmp_path, events)
    (row,) = answers.rows(result["graphs"])
    assert (row["call"], row["inside"], row["kernels"], row["with_op"]) == (
        "cudaGraphLaunch",
        "train_step",
        3,
        3,
    )
    assert row["kernel_time_s"] == pytest.approx(15e-6)
    assert any("1 of 4 events of devices have no call" in note for note in result.notes)


def test_what_a_kernel_does_not_say_is_not_0(shared_data: Path) -> None:
    """AMD's collector tells no registers, and an occupancy of 0 where it knows none."""
    entry = next(
        entry
        for entry in logdir.scan(str(shared_data / "public/jax_rocm_mi300_conv_legacy")).runs
        if entry.profiles
    )
    rows = answers.rows(registry.get("kernel_stats").answer(Question(Opened(entry)))["kernels"])
    assert (
        {row["registers_per_thread"] for row in rows}
        == {row["occupancy_pct"] for row in rows}
        == {None}
    )
    assert {row["op_name"] for row in rows} == {
        "jit(forward_3d_conv)/jit(main)/conv_general_dilated",
        "input_transpose_fusion.1",
        "loop_transpose_fusion",
    }
    assert {row["is_kernel_using_tensor_core"] for row in rows} == {
        None
    }  # by NVIDIA's names of kernels alone


def test_operators_of_pytorch_could_use_tensor_cores() -> None:
    for operator, could in (
        ("aten::addmm", True),
        ("aten::cudnn_convolution", True),
        ("aten::add", False),
    ):
        row = kernel_rows.row_of(
            said("volta_sgemm_128x64_nn")._replace(operator=operator), "corrected"
        )
        assert (row.op, row.eligible, row.tensor_core) == (operator, could, False)


def test_amds_devices_are_known_by_their_properties_or_their_kernels(shared_data: Path) -> None:
    """One trace calls its device 0 where it tells of it and 2 where it works; another names no
    maker at all.
    """
    entry = next(
        entry
        for entry in logdir.scan(str(shared_data / "public/kineto_mi300_qwen")).runs
        if entry.profiles
    )
    opened = Opened(entry)
    (facts,) = device_facts.device_facts(opened.profiles[0].trace)
    assert (facts.model, facts.vendor) == ("AMD Instinct MI300X VF", "AMD")
    told = {fact.id: fact for fact in registry.get("kernel_stats").answer(Question(opened)).facts}
    assert told["tensor_cores"].value is None
    assert "NVIDIA" in told["tensor_cores"].why
    assert not tensor_cores.told([""], ["Cijk_Ailk_Bljk_BBS_BH_MT256x128x64"])
    assert tensor_cores.told([""], ["volta_sgemm_128x64_nn"])
    assert tensor_cores.told(["Nvidia"], ["Cijk_"])
