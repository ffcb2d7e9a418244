"""A kernel whose name says nothing has the kind of the operator that launched it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from powertui.data import logdir
from powertui.data.category import Category
from powertui.data.opened import Opened
from powertui.data.tools import op_stats, registry
from powertui.data.tools.launched_kinds import launched_kinds, operator_kind
from powertui.data.tools.registry import Question
from powertui.view import visible_content
from powertui.view.timeline_model import TimelineModel
from tests.synthetic.torch_json import event, write
from tests.synthetic.xplane import Event, Line, Plane, encode

SILENT = "void compute_cuda_kernel<long>(long*, long*, long*, long, long)"


def launch(operators: list[str], kernel: str, start: float, length: float) -> list[dict[str, Any]]:
    """Nested operators, the call inside of them and the kernel that it launched."""
    rows = [
        event(("cpu_op", name, start + depth, 20 - 2 * depth))
        for depth, name in enumerate(operators)
    ]
    call = ("cuda_runtime", "cudaLaunchKernel", start + 8, 2)
    rows.append(event(call, correlation=int(start)))
    args: dict[str, Any] = {"grid": [1, 1, 1], "block": [128, 1, 1], "registers per thread": 32}
    args["correlation"] = int(start)
    work = event(("kernel", kernel, start + 40, length), thread=3, **args)
    rows.append(work)
    return rows


def opened(folder: Path, *launches: list[dict[str, Any]]) -> Opened:
    return write(folder, [row for rows in launches for row in rows])


def kinds(run: Opened) -> dict[str, str]:
    trace = run.profiles[0].trace
    known = launched_kinds(trace)
    return {trace.names.full(name): kind.value for name, kind in known.items()}


def test_the_innermost_operator_that_says_something_decides(tmp_path: Path) -> None:
    run = opened(tmp_path, launch(["aten::repeat_interleave", "Unknown"], SILENT, 100, 5))
    assert kinds(run) == {SILENT: "memory"}


def test_a_kernel_that_says_what_it_does_keeps_its_kind(tmp_path: Path) -> None:
    run = opened(tmp_path, launch(["aten::mm"], "void softmax_warp_forward<float>(P)", 100, 5))
    assert kinds(run) == {}


def test_of_several_operators_that_with_most_time_decides(tmp_path: Path) -> None:
    run = opened(
        tmp_path,
        launch(["aten::cat"], SILENT, 100, 3),
        launch(["aten::mm"], SILENT, 200, 9),
        launch(["aten::cat"], SILENT, 300, 3),
    )
    assert kinds(run) == {SILENT: "matmul"}


def test_a_kernel_without_an_operator_stays_unknown(tmp_path: Path) -> None:
    run = opened(tmp_path, launch([], SILENT, 100, 5))
    assert kinds(run) == {}
    rows = {row.full: row for row in op_stats.op_stats(run.profiles[0].trace).ops}
    assert rows[SILENT].category is Category.OTHER


def test_table_legend_and_colors_agree(tmp_path: Path) -> None:
    run = opened(tmp_path, launch(["aten::repeat_interleave"], SILENT, 100, 5))
    trace = run.profiles[0].trace
    stats = op_stats.op_stats(trace)
    rows = {row.full: row for row in stats.ops}
    assert (rows[SILENT].type, rows[SILENT].category) == ("memory", Category.MEMORY)
    codes, types = stats.types()
    row = next(row for row in range(len(stats)) if stats[row].full == SILENT)
    assert types[codes[row]] == "memory"
    model = TimelineModel.from_run(run.run)
    content = visible_content.visible_summary(model, trace.span[0], trace.span[1] + 1)
    assert content.sides[0].kinds == ((Category.MEMORY, 1.0),)
    assert model.category(int(stats.name[row])) is Category.MEMORY


@pytest.mark.parametrize(
    ("stats", "kind"),
    [
        ({"tf_op": "jit(train)/jit(main)/dot_general"}, "matmul"),
        ({"tf_op": "dense/MatMul:MatMul"}, "matmul"),
        ({"hlo_category": "convolution fusion"}, "convolution"),
        ({"hlo_category": "custom-call", "name": "jit(f)/reduce_sum"}, "reduction"),
        ({"hlo_category": "custom-call"}, None),
    ],
)
def test_an_op_that_the_collector_wrote_beside_the_kernel_decides(
    tmp_path: Path, stats: dict[str, str], kind: str | None
) -> None:
    kernel = Event("knows_nothing", 1000, 5000, dict(stats))
    device = Plane("/device:GPU:0", [Line("Stream #7(Compute)", [kernel], 7)])
    session = tmp_path / "plugins" / "profile" / "2026_01_01_00_00_00"
    session.mkdir(parents=True)
    (session / "vm.xplane.pb").write_bytes(encode([device]))
    run = Opened(next(entry for entry in logdir.scan(str(tmp_path)).runs if entry.profiles))
    assert kinds(run) == ({"knows_nothing": kind} if kind else {})


@pytest.mark.parametrize(
    ("operator", "kind"),
    [
        ("flash_attn::_flash_attn_forward", Category.MATMUL),
        ("sgl_kernel::fp8_scaled_mm", Category.MATMUL),
        ("fbgemm::FloatToFP8RowwiseQuantized", Category.ELEMENTWISE),
        ("_C::rms_norm", Category.NORMALIZATION),
        ("All2All_Pooled_Req", Category.COMMUNICATION),
        ("symm_mem::two_shot_all_reduce_", Category.COMMUNICATION),
        ("CompiledFunctionBackward", None),
        ("execute", None),
        ("vllm::moe_forward_shared", None),
    ],
)
def test_kinds_of_operators(operator: str, kind: Category | None) -> None:
    assert operator_kind(operator) is kind


@pytest.mark.parametrize("tool", ["kernel_stats", "kernel_summary"])
def test_a_table_of_kernels_has_their_kinds(tmp_path: Path, tool: str) -> None:
    run = opened(
        tmp_path,
        launch(["aten::repeat_interleave"], SILENT, 100, 9),
        launch(["aten::mm"], "void softmax_warp_forward<float>(P)", 200, 5),
        launch([], "void nobody::knows<int>(int)", 300, 2),
    )
    (table, *_) = registry.get(tool).answer(Question(run)).tables
    assert table.kind_of_work is not None
    kinds_of_rows = [table.kind_of_work(row) for row in range(len(table))]
    assert kinds_of_rows == ["memory", "normalization", "other"]
