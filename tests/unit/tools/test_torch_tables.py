"""Tables of PyTorch traces: against those that TraceLens made of the same files, and against
courses whose answer is known.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from powertui.data.table import Result
from powertui.data.tools import collectives, registry, torch_categories
from powertui.data.tools.registry import Question
from tests import answers
from tests.unit.tools.opened_runs import opened

_SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "public"
STORED = sorted(
    path
    for path in _SHARED.glob("kineto_*/tracelens/*.csv")
    if any(path.parent.parent.glob("*.json.gz"))
)
KEYS = {
    "gpu_timeline": ("type",),
    "ops_summary": ("name",),
    "ops_summary_by_category": ("op category",),
    "kernel_summary": ("Parent op category", "Parent cpu_op", "Kernel name", "Kernel stream"),
}


def ask(path: Path, tool: str, lo: int | None = None, hi: int | None = None) -> Result:
    return registry.get(tool).answer(Question(opened(path), 0, lo, hi))


@pytest.mark.parametrize(
    "path",
    [path for path in STORED if path.stem in KEYS],
    ids=lambda path: f"{path.parts[-3]} {path.stem}",
)
def test_every_figure_is_that_of_tracelens(path: Path) -> None:
    tool = "ops_summary" if path.stem.startswith("ops_summary") else path.stem
    ours = answers.rows(ask(path.parent.parent, tool)[path.stem])
    with path.open() as file:
        theirs = list(csv.DictReader(file))
    assert len(ours) == len(theirs) > 0
    key = KEYS[path.stem]
    mine = {
        tuple(str(row[name] if row[name] is not None else "") for name in key): row for row in ours
    }
    for row in theirs:
        found = mine[tuple(row[name] for name in key)]
        for name, text in row.items():
            if name == "Categories":
                assert found[name] == ", ".join(sorted(eval(text, {})))
            elif name not in key:
                assert found[name] == pytest.approx(float(text), rel=1e-6, abs=1e-12), (
                    name,
                    row[key[0]],
                )
    if path.stem == "ops_summary":
        assert [row["name"] for row in ours] == [row["name"] for row in theirs]


def test_stored_tables_are_there(shared_data: Path) -> None:
    assert shared_data.is_dir()
    assert len([path for path in STORED if path.stem in KEYS]) >= 20


# ── courses that are known ───────────────────────────────────────────────────────────────────────


def event(
    category: str, name: str, ts: float, dur: float, tid: int = 1, **args: Any
) -> dict[str, Any]:
    pid = 0 if category in ("kernel", "gpu_memcpy") else 99
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def work(
    name: str,
    ts: float,
    dur: float,
    correlation: int,
    category: str = "kernel",
    stream: int = 7,
    **args: Any,
) -> dict[str, Any]:
    return event(
        category, name, ts, dur, stream, device=0, stream=stream, correlation=correlation, **args
    )


def call(ts: float, correlation: int, name: str = "cudaLaunchKernel") -> dict[str, Any]:
    return event("cuda_runtime", name, ts, 1.0, correlation=correlation)


COURSE = [
    event("cpu_op", "aten::conv2d", 0.0, 50.0),
    event("cpu_op", "aten::add", 10.0, 10.0),
    call(12.0, 1),
    call(30.0, 2),
    work("void at::native::vectorized_elementwise_kernel<4>(int)", 100.0, 10.0, 1),
    work("sm80_xmma_fprop", 110.0, 30.0, 2),
    call(60.0, 3, "cudaGraphLaunch"),
    work("graph_kernel", 150.0, 10.0, 3),
    work("graph_kernel", 155.0, 10.0, 3, stream=8),
    work("early", 20.0, 5.0, 77),
    call(70.0, 4, "cudaMemcpyAsync"),
    work("Memcpy HtoD (Pinned -> Device)", 158.0, 20.0, 4, "gpu_memcpy"),
    call(80.0, 5),
    work(
        "ncclDevKernel_AllReduce_Sum_f32",
        170.0,
        30.0,
        5,
        **{
            "Collective name": "allreduce",
            "In msg nelems": 1000,
            "Group size": 4,
            "dtype": "Float",
            "Process Group Name": "0",
        },
    ),
]


@pytest.fixture
def course(tmp_path: Path) -> Path:
    path = tmp_path / "w.pt.trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": COURSE}))
    return path


def test_a_timeline_counts_each_moment_once_and_only_what_is_linked(course: Path) -> None:
    rows = {
        row["type"]: row["time ms"] * 1000
        for row in answers.rows(ask(course, "gpu_timeline")["gpu_timeline"])
    }
    assert rows == pytest.approx(
        {
            "computation_time": 55,
            "exposed_comm_time": 30,
            "exposed_memcpy_time": 5,
            "busy_time": 90,
            "idle_time": 10,
            "total_time": 100,
            "total_comm_time": 30,
            "total_memcpy_time": 20,
        }
    )
    assert "1 events" in ask(course, "gpu_timeline").notes[0]


def test_an_operator_has_its_own_kernels_and_those_of_the_operators_inside(course: Path) -> None:
    rows = {row["name"]: row for row in answers.rows(ask(course, "ops_summary")["ops_summary"])}
    assert rows["aten::conv2d"]["total_direct_kernel_time_sum"] == pytest.approx(30)
    assert rows["aten::conv2d"]["total_subtree_kernel_time_sum"] == pytest.approx(40)
    assert rows["aten::add"]["total_direct_kernel_time_sum"] == pytest.approx(10)
    assert rows["cudaGraphLaunch"]["total_direct_kernel_time_sum"] == pytest.approx(
        15
    )  # two streams at once: each moment once
    assert rows["cudaGraphLaunch"]["Categories"] == "graph"
    assert "ncclDevKernel_AllReduce_Sum_f32" not in rows


def test_kernels_are_told_by_operator_whether_linked_or_not(course: Path) -> None:
    rows = {
        row["Kernel name"]: row
        for row in answers.rows(ask(course, "kernel_summary")["kernel_summary"])
    }
    assert rows["sm80_xmma_fprop"]["Parent cpu_op"] == "aten::conv2d"
    assert rows["early"]["Parent cpu_op"] is None
    assert rows["graph_kernel"]["Parent op category"] == "graph"
    assert not any(name.startswith("Memcpy") for name in rows)


def test_a_window_holds_what_touches_it(course: Path) -> None:
    us = 10**6
    rows = {
        row["Kernel name"]
        for row in answers.rows(ask(course, "kernel_summary", 105 * us, 120 * us)["kernel_summary"])
    }
    assert rows == {"void at::native::vectorized_elementwise_kernel<4>(int)", "sm80_xmma_fprop"}


def test_the_operators_of_the_device_stand_in_framework_op_stats(course: Path) -> None:
    rows = {
        row["operation"]: row
        for row in answers.rows(ask(course, "framework_op_stats")["without_idle"])
        if row["host_or_device"] == "Device"
    }
    assert rows["aten::conv2d"]["total_time"] == pytest.approx(30)
    assert rows["aten::conv2d"]["type"] == "convolution"


def test_collectives_tell_their_bandwidths(course: Path) -> None:
    (row,) = answers.rows(ask(course, "collectives")["collectives"])
    assert (row["collective"], row["group_size"], row["message_bytes"], row["count"]) == (
        "allreduce",
        4,
        4000,
        1,
    )
    assert row["algorithm_bandwidth"] == pytest.approx(4000 / 30e-6)
    assert row["bus_bandwidth"] == pytest.approx(4000 / 30e-6 * 1.5)


def test_a_collective_of_a_real_trace(shared_data: Path) -> None:
    rows = answers.rows(
        ask(shared_data / "public" / "kineto_hta_nccl", "collectives")["collectives"]
    )
    one = next(row for row in rows if row["message_bytes"] == 6_637_568 * 4)
    assert one["count"] == 3
    assert one["algorithm_bandwidth"] == pytest.approx(6_637_568 * 4 * 3 / one["total_s"])


@pytest.mark.parametrize(
    ("name", "members", "share"),
    [
        ("allreduce", 2, 1.0),
        ("_allgather_base", 4, 0.75),
        ("_reduce_scatter_base", 4, 0.75),
        ("all_to_allv", 2, 0.5),
        ("broadcast", 8, 1.0),
        ("wait", 2, None),
        ("allreduce", 0, None),
    ],
)
def test_what_each_link_carries(name: str, members: int, share: float | None) -> None:
    assert collectives.factor(name, members) == share


@pytest.mark.parametrize(
    ("name", "kernel", "category"),
    [
        ("aten::mm", "", "GEMM"),
        ("aten::native_layer_norm", "", "NORM_fwd"),
        ("aten::native_batch_norm_backward", "", "NORM_bwd"),
        ("aten::_fused_rms_norm", "", "NORM_fwd"),
        ("aten::_fused_rms_norm_backward", "", "NORM_bwd"),
        ("aten::rms_norm", "", "other"),
        ("flash_attn::_flash_attn_varlen_backward", "", "SDPA_bwd"),
        ("ConvBias_Backward", "", "CONV_bwd"),
        ("aten::where", "void at::native::elementwise_kernel<128>", "elementwise"),
        ("aten::any", "void at::native::reduce_kernel<512>", "reduce"),
        ("aten::_flash_attention_forward", "void pytorch_flash::flash_fwd_kernel", "other"),
        ("triton_poi_fused_0", "triton_poi_fused_0", "triton"),
    ],
)
def test_categories_of_operators(name: str, kernel: str, category: str) -> None:
    assert torch_categories.category_of(name, kernel) == category


@pytest.mark.parametrize("tool", ["gpu_timeline", "ops_summary", "kernel_summary"])
def test_what_is_no_trace_of_pytorch_says_so(tool: str, data: Path) -> None:
    result = ask(data / "logdirs", tool)
    assert "not a PyTorch trace" in result.tables[0].empty
    assert len(result.tables[0]) == 0
