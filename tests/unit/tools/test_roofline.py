"""FLOPs and bytes from the profile, the program, the shapes of inputs; what bounds an op."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.table import Result
from powertui.data.tools import registry, torch_costs
from powertui.data.tools.registry import Question
from powertui.terminal.glyphs import UNICODE
from powertui.view import result_chart
from tests import answers
from tests.synthetic import xplane
from tests.unit.tools.opened_runs import opened
from tests.unit.tools.test_op_profile import JAX, tpu

CPU_TRACE = Path(__file__).parents[2] / "data/torch/torch_cpu_shapes.json.gz"
BF16 = "['c10::BFloat16', 'c10::BFloat16', 'c10::BFloat16']"


def ask(path: Path) -> Result:
    return registry.get("roofline_model").answer(Question(opened(path)))


@pytest.mark.parametrize(
    ("name", "dims", "concrete", "flops", "size"),
    [
        ("aten::mm", "[[3, 5], [5, 7]]", "['', '']", 2 * 3 * 5 * 7, 2 * (15 + 35 + 21)),
        ("aten::bmm", "[[2, 3, 5], [2, 5, 7]]", "", 2 * 2 * 3 * 5 * 7, 4 * (15 + 35 + 21)),
        ("aten::addmm", "[[7], [3, 5], [5, 7]]", "", 2 * 3 * 5 * 7 + 21, 2 * (7 + 15 + 35 + 21)),
        (
            "aten::convolution",
            "[[2, 6, 9, 9], [8, 3, 3, 3], [8], [], [], [], [], [], []]",
            "['', '', '', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '2']",
            2 * 2 * 8 * 25 * 3 * 9 + 2 * 8 * 25,
            2 * (2 * 6 * 81 + 8 * 27 + 8 + 2 * 8 * 25),
        ),
        (
            "aten::cudnn_convolution",
            "[[128, 3, 224, 224], [768, 3, 16, 16], [], [], [], [], [], [], []]",
            "['', '', '[0, 0]', '[16, 16]', '[1, 1]', '1', 'False', 'False', 'True']",
            2 * 128 * 768 * 196 * 3 * 256,
            2 * (128 * 3 * 224 * 224 + 768 * 3 * 256 + 128 * 768 * 196),
        ),
        (
            "aten::_flash_attention_forward",
            "[[1, 141, 8, 64], [1, 141, 8, 64], [1, 141, 8, 64]]",
            "['', '', '', '', '', '141', '141', '0.', 'False']",
            2 * 8 * 141 * 141 * 128,
            2 * 4 * 141 * 8 * 64,
        ),
        (
            "aten::_scaled_dot_product_flash_attention",
            "[[1, 8, 141, 64], [1, 8, 141, 64], [1, 8, 141, 64]]",
            "['', '', '', '0.', 'True', 'False', '0.125']",
            8 * 141 * 141 * 128,
            2 * 4 * 141 * 8 * 64,
        ),
        (
            "aten::mkldnn_convolution",
            "[[2, 6, 9, 9], [8, 3, 3, 3], [8], [], [], [], []]",
            "['', '', '', '[1, 1]', '[2, 2]', '[1, 1]', '2']",
            2 * 2 * 8 * 25 * 3 * 9 + 2 * 8 * 25,
            2 * (2 * 6 * 81 + 8 * 27 + 8 + 2 * 8 * 25),
        ),
        (  # 5×5 values become 10×10
            "aten::convolution",
            "[[2, 6, 5, 5], [6, 4, 3, 3], [8], [], [], [], [], [], []]",
            "['', '', '', '[2, 2]', '[1, 1]', '[1, 1]', 'True', '[1, 1]', '2']",
            2 * 2 * 6 * 25 * 4 * 9 + 2 * 8 * 100,
            2 * (2 * 6 * 25 + 6 * 4 * 9 + 8 + 2 * 8 * 100),
        ),
        (  # of the grouped convolution above: weights and bias, not its input
            "aten::convolution_backward",
            "[[2, 8, 5, 5], [2, 6, 9, 9], [8, 3, 3, 3], [], [], [], [], [], [], [], []]",
            (
                "['', '', '', '[8]', '[2, 2]', '[1, 1]', '[1, 1]', 'False', '[0, 0]', '2', "
                "'[False, True, True]']"
            ),
            2 * 2 * 8 * 25 * 3 * 9 + 2 * 8 * 25,
            2 * (2 * 8 * 25 + 2 * 6 * 81 + 8 * 27 + 8 * 27 + 8),
        ),
        ("aten::addmv_", "[[3], [3, 5], [5]]", "", 2 * 3 * 5 + 3, 2 * (3 + 15 + 5 + 3)),
    ],
)
def test_an_operator_costs_what_its_shapes_say(
    name: str, dims: str, concrete: str, flops: float, size: float
) -> None:
    cost = torch_costs.operator_cost(name, dims, BF16, concrete)
    assert (cost.flops, cost.bytes, cost.why) == (flops, size, "")


@pytest.mark.parametrize(
    ("name", "dims", "why"),
    [
        ("aten::gelu", "[[3, 5]]", "no rule for this operator"),
        ("aten::mm", "", "its shapes were not recorded"),
        ("aten::mm", "[[3, 5], [6, 7]]", "its shapes do not fit the operator"),
        ("aten::mm", "[[3]]", "its shapes do not fit the operator"),
        ("aten::mm", "__import__('os').getcwd()", "its shapes do not fit the operator"),
        ("aten::convolution", "[[1, 1, 4], [1, 1, 2], []]", "its shapes do not fit the operator"),
    ],
)
def test_a_cost_that_is_not_known_says_why(name: str, dims: str, why: str) -> None:
    cost = torch_costs.operator_cost(name, dims, BF16, "")
    assert (cost.flops, cost.bytes, cost.why) == (None, None, why)


def test_costs_in_the_profile_come_first_and_peaks_say_what_bounds_an_op(tmp_path: Path) -> None:
    (tmp_path / "one.xplane.pb").write_bytes(xplane.encode([tpu(0)]))
    answer = ask(tmp_path)
    rows = {row["name"]: row for row in answers.rows(answer["roofline"])}
    dot = rows["dot.2"]
    assert (dot["flops"], dot["bytes"], dot["basis"]) == (4e9, 1e6, "profile")
    assert dot["flop_rate"] == pytest.approx(2e12)
    assert (dot["intensity"], dot["bound_by"]) == (4000, "compute")
    assert dot["efficiency"] == pytest.approx(0.2)
    assert rows["fusion.3"]["bound_by"] == "memory"  # 0.02 FLOP/B, and the ridge is at 100
    assert rows["fusion.3"]["efficiency"] == pytest.approx(0.5)
    assert rows["copy.5.remat"]["cost_from"] == "n/a: the profile holds no text of this op"
    assert rows["copy.5.remat"]["flops"] is None
    (chart,) = answer.charts
    lines = [
        "".join(words for words, _ in line)
        for line in result_chart.chart_lines(chart, 60, 8, UNICODE)
    ]
    assert "─ roof" in lines[0]
    assert lines[-1].split() == ["0.01", "10,000", "FLOP/B"]
    assert sum(line.count("○") for line in lines[1:]) == 2  # two fusions are one point


def test_a_program_of_jax_costs_what_its_text_says(shared_data: Path) -> None:
    rows = {row["name"]: row for row in answers.rows(ask(shared_data / JAX)["roofline"])}
    dot = rows["dot.1"]  # f32[512,512] of 64 rows, 20 times
    assert dot["flops"] == 20 * 2 * 512 * 512 * 64
    assert dot["bytes"] == 20 * 4 * (512 * 512 + 2 * 64 * 512)
    assert (dot["basis"], dot["bound_by"]) == ("program", None)


def test_operators_of_a_trace_have_costs(shared_data: Path) -> None:
    rows = answers.rows(ask(shared_data / "public/kineto_h100_timesformer")["roofline"])
    known = [row for row in rows if row["flops"] is not None]
    conv = next(row for row in known if row["name"].startswith("aten::cudnn_convolution"))
    assert conv["flops"] == 2 * 128 * 768 * 196 * 3 * 256
    assert conv["shapes"].startswith("128×3×224×224 · 768×3×16×16")
    assert {row["category"] for row in known} == {"GEMM", "CONV_fwd"}
    assert len(known) == sum(row["category"] in ("GEMM", "CONV_fwd") for row in rows)


# As `key_averages(group_by_input_shape=True)` of PyTorch 2.14 counted the recorded program, for both
# of its steps; it counts no sum of a bias.
COUNTED_BY_TORCH = {
    ("aten::mkldnn_convolution", "2×3×9×8 · 5×3×3×2 · 5"): 20_160,
    ("aten::addmm", "6 · 2×4 · 4×6"): 192,
    ("aten::bmm", "2×1×6 · 2×6×1"): 48,
    ("aten::bmm", "2×6×1 · 2×1×1"): 48,
    ("aten::bmm", "2×1×1 · 2×1×6"): 48,
    ("aten::mm", "2×6 · 6×4"): 192,
    ("aten::mm", "6×2 · 2×4"): 192,
}
BIAS_SUMS = {"aten::mkldnn_convolution": 2 * 2 * 5 * 4 * 7, "aten::addmm": 2 * 2 * 6}


def test_operators_on_the_cpu_cost_what_pytorch_counts_itself() -> None:
    rows = {(row["name"], row["shapes"]): row for row in answers.rows(ask(CPU_TRACE)["roofline"])}
    for (name, shapes), flops in COUNTED_BY_TORCH.items():
        row = rows[name, shapes]
        assert row["flops"] == flops + BIAS_SUMS.get(name, 0)
        assert row["flop_rate"] == pytest.approx(row["flops"] / row["time_s"])
    # Convolutions are counted once, at the operator that computes them.
    assert ("aten::convolution", "2×3×9×8 · 5×3×3×2 · 5") not in rows
    up = rows["aten::_convolution", "2×5×4×7 · 5×4×3×3 · 4"]
    assert up["flops"] == 2 * (2 * 2 * 5 * 4 * 7 * 4 * 9 + 2 * 4 * 8 * 14)
    assert up["category"] == "CONV_fwd"
    backward = rows["aten::convolution_backward", "2×4×8×14 · 2×5×4×7 · 5×4×3×3"]
    assert backward["flops"] == 2 * (2 * 2 * (2 * 5 * 4 * 7) * 4 * 9 + 2 * 4 * 8 * 14)
    assert rows["aten::mean", None]["why"] == "no rule for this operator"
    assert rows["aten::convolution", None]["why"] == "counted at the operator that it calls"


def test_times_of_operators_on_the_cpu_add_up_to_what_the_outermost_took() -> None:
    trace = opened(CPU_TRACE).profiles[0].trace
    total = 0
    for _, track in trace.tracks():
        until = 0
        for start, end, name in sorted(
            zip(track.events.start, track.events.end, track.events.name, strict=True)
        ):
            stats = {stat.name: stat.value for stat in trace.names.stats(int(name))}
            if stats.get("cat") == "cpu_op" and start >= until:
                total += int(end - start)
                until = end
    rows = answers.rows(ask(CPU_TRACE)["roofline"])
    assert sum(row["time_s"] for row in rows) == pytest.approx(total / 1e12)


def test_ops_of_one_name_in_several_programs_are_told_apart(shared_data: Path) -> None:
    rows = answers.rows(ask(shared_data / "public/jax_rocm_mi300_gemm")["roofline"])
    names = [row["name"] for row in rows]
    assert "custom-call.1 (jit_dot(49))" in names
    assert len(set(names)) == len(names)
