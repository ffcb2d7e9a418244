"""The legend and the panel below the tracks tell of exactly what is visible."""

from __future__ import annotations

from dataclasses import replace

import pytest

from powertui.data.category import Category
from powertui.plain import width as cells
from powertui.terminal.glyphs import UNICODE
from powertui.view import visible_content
from powertui.view.content_lists import panel, stacked
from powertui.view.legend_lines import legend
from powertui.view.timeline_model import TimelineModel
from powertui.view.visible_content import LongStep, Side, TopOp, VisibleContent
from tests.synthetic import traces
from tests.synthetic.traces import MS

MAIN = ("/host:CPU", "main")


def model() -> TimelineModel:
    """Two steps of 10 and 30 ms: a convolution and a product in each, below a call that only holds
    them.
    """
    events = [
        (0, 10 * MS, "KernelAndDeviceFunc::Run"),
        (0, 6 * MS, "Conv2D:Conv2D"),
        (6 * MS, 4 * MS, "MatMul:MatMul"),
        (10 * MS, 30 * MS, "KernelAndDeviceFunc::Run"),
        (10 * MS, 10 * MS, "Conv2D:Conv2D"),
        (20 * MS, 20 * MS, "MatMul:MatMul"),
    ]
    marks = traces.steps((0, 10 * MS), (10 * MS, 30 * MS), first=7)
    return TimelineModel.from_run(traces.run(traces.trace({MAIN: events}), marks))


def test_shares_are_of_the_self_time_in_the_view_and_add_up_to_one() -> None:
    seen = visible_content.visible_summary(model(), 0, 40 * MS)
    (side,) = seen.sides
    assert side.name == "host"
    assert side.kinds == (
        (Category.MATMUL, pytest.approx(0.6)),
        (Category.CONVOLUTION, pytest.approx(0.4)),
    )


def test_what_straddles_an_end_counts_by_its_part_inside() -> None:
    (side,) = visible_content.visible_summary(model(), 3 * MS, 8 * MS).sides
    assert dict(side.kinds) == {
        Category.CONVOLUTION: pytest.approx(0.6),
        Category.MATMUL: pytest.approx(0.4),
    }


def test_the_top_ops_are_work_and_not_the_calls_that_hold_it() -> None:
    assert [
        (op.name, op.self_ps // MS)
        for op in visible_content.visible_summary(model(), 0, 40 * MS).ops
    ] == [
        ("MatMul:MatMul", 24),
        ("Conv2D:Conv2D", 16),
    ]


def test_a_call_that_only_waits_for_other_threads_is_no_work() -> None:
    lines = {
        MAIN: [(0, 40 * MS, "KernelAndDeviceFunc::Run")],
        ("/host:CPU", "pool"): [(0, 9 * MS, "MatMul:MatMul")],
    }
    seen = visible_content.visible_summary(
        TimelineModel.from_run(traces.run(traces.trace(lines))), 0, 40 * MS
    )
    assert [(op.name, op.share) for op in seen.ops] == [("MatMul:MatMul", 1.0)]
    assert seen.sides[0].kinds == ((Category.MATMUL, 1.0),)


def test_devices_and_host_are_two_sides() -> None:
    lines = {
        ("/device:GPU:0", "Stream #1"): [(0, 5 * MS, "MatMul:MatMul")],
        MAIN: [(0, 40 * MS, "Conv2D:Conv2D")],
    }
    seen = visible_content.visible_summary(
        TimelineModel.from_run(traces.run(traces.trace(lines))), 0, 40 * MS
    )
    assert [(side.name, side.kinds) for side in seen.sides] == [
        ("devices", ((Category.MATMUL, 1.0),)),
        ("host", ((Category.CONVOLUTION, 1.0),)),
    ]
    assert [op.name for op in seen.ops] == ["MatMul:MatMul"], (
        "where there are devices the top ops are theirs"
    )


def test_the_longest_steps_are_those_that_lie_in_the_view_whole() -> None:
    both = visible_content.visible_summary(model(), 0, 40 * MS)
    assert [(step.name, step.length // MS) for step in both.steps] == [
        ("step 8", 30),
        ("step 7", 10),
    ]
    assert [step.name for step in visible_content.visible_summary(model(), 0, 30 * MS).steps] == [
        "step 7"
    ]
    assert [
        step.name for step in visible_content.visible_summary(model(), 12 * MS, 30 * MS).steps
    ] == ["step 8"], "none is whole: the one that touches"


NAME = "void cutlass::Kernel<float, {}>(Params, Params, Params, Params)"
DEVICES = Side("devices", tuple((kind, 1 / 15) for kind in Category))
HOST = Side("host", ((Category.RUNTIME, 0.998), (Category.IDLE, 0.002)))
SEEN = VisibleContent(
    0,
    1,
    (DEVICES, HOST),
    tuple(
        TopOp(NAME.format(i), f"Kernel {i}", Category.MATMUL, 10**9 * i, 0.07) for i in range(1, 13)
    ),
    tuple(LongStep(f"epoch 1 step {i}", 2 * 10**10 - i, 10**10) for i in range(12)),
    40,
    (
        (
            "epoch 1, steps 46-71: +59 W, +149 J, +0.20 s against what the trace explains",
            "epoch 1, steps 46-71: +59 W",
            "+59 W",
        ),
    ),
)


@pytest.mark.parametrize("width", range(16, 170, 7))
@pytest.mark.parametrize("height", range(1, 20))
def test_no_line_is_wider_than_its_room_and_none_too_many(width: int, height: int) -> None:
    made = panel(SEEN, width, height, UNICODE)
    assert len(made) <= height
    for pieces in (*made, *legend(SEEN, width, height)):
        assert sum(cells(text) for text, _ in pieces) <= width


def test_a_legend_names_letter_and_share_of_every_kind_or_says_how_many_it_leaves_out() -> None:
    for width in range(48, 400, 11):
        devices, host = ("".join(text for text, _ in line) for line in legend(SEEN, width, 2))
        shown, more, rest = devices.partition(" more")
        hidden = int(shown.split()[-1]) if more else 0
        assert shown.count("%") + hidden == 15
        assert not more or rest.strip() in (", O 7 %", ", other 7 %")  # the last of the kinds
        assert "T" in host


def test_the_largest_kind_is_named_in_words_and_no_letter_is_lost_where_all_have_room() -> None:
    kinds = ((Category.COMMUNICATION, 0.65), (Category.MATMUL, 0.3), (Category.MEMORY, 0.05))
    seen = VisibleContent(0, 40 * MS, (Side("devices", kinds),))
    words = {
        width: "".join(text for text, _ in legend(seen, width)[0]).rstrip()
        for width in (30, 40, 60, 100)
    }
    assert words[40] == "X collectives 65 %  M 30 %  Y 5 %"
    assert words[100] == "X collectives 65 %  M matrix products 30 %  Y copies 5 %"
    assert words[30] == "X 65 %  M 30 %  Y 5 %" or words[30].startswith("X collectives 65 %")


@pytest.mark.parametrize("width", range(60, 170, 7))
def test_with_two_lines_a_side_no_letter_stands_without_its_name(width: int) -> None:
    seen = VisibleContent(0, 40 * MS, (DEVICES,))
    lines = ["".join(text for text, _ in line) for line in legend(seen, width, 2)]
    assert len(lines) == 2, "fifteen kinds have no room in words on one"
    told = "  ".join(line.rstrip() for line in lines)
    entries = [entry for entry in told.split("  ") if entry.endswith("%")]
    assert all(len(entry.split()) >= 4 for entry in entries), "letter, name, share and %"
    kinds, more, _ = told.partition(" more")
    hidden = int(kinds.split()[-1]) if more else 0
    assert kinds.count("%") + hidden == 15


@pytest.mark.parametrize("width", range(40, 170, 3))
def test_what_devices_and_host_spend_stays_apart_on_one_line(width: int) -> None:
    (line,) = legend(SEEN, width, 1)
    text = "".join(piece for piece, _ in line)
    assert "host:" not in text or "  host:" in text


def test_a_narrow_panel_keeps_what_stands_out_and_a_line_tells_it_too() -> None:
    text = "\n".join("".join(piece for piece, _ in line) for line in panel(SEEN, 84, 8, UNICODE))
    assert "steps 46-71" in text
    assert "Longest steps in view, median 10 ms" in text
    assert "Top ops in view" in text
    (line,) = panel(SEEN, 84, 1, UNICODE)
    assert "steps 46-71" in "".join(piece for piece, _ in line)


def test_steps_as_long_as_usual_are_not_listed_one_by_one() -> None:
    steps = (
        LongStep("step 4", 2 * 10**10, 10**10),
        *(LongStep(f"step {i}", 10**10 + 10**7, 10**10) for i in range(5, 12)),
    )
    text = "\n".join(
        "".join(piece for piece, _ in line)
        for line in panel(VisibleContent(0, 1, steps=steps, step_count=40), 100, 12, UNICODE)
    )
    assert "step 4" in text
    assert "+100 %" in text
    assert "step 5" not in text


def test_nothing_is_told_of_a_view_without_events() -> None:
    far = visible_content.visible_summary(model(), 500 * MS, 600 * MS)
    assert (far.sides, far.ops, far.steps) == ((), (), ())
    assert panel(far, 100, 8, UNICODE) == []
    assert legend(far, 100) == []


@pytest.mark.parametrize("height", range(30))
def test_lists_below_each_other_share_the_lines_there_are(height: int) -> None:
    seen = visible_content.visible_summary(model(), 0, 40 * MS)
    seen = replace(seen, findings=(("+60 W for 14 s", "+60 W"),))
    lines = stacked(seen, 50, height, UNICODE)
    assert len(lines) <= height
    assert all(cells("".join(text for text, _ in line)) <= 50 for line in lines)
    if height >= 12:
        text = "\n".join("".join(words for words, _ in line) for line in lines)
        for title in ("Findings in view", "Longest steps in view", "Top ops in view"):
            assert title in text


def test_a_finding_above_the_steps_is_told_in_the_words_that_have_room() -> None:
    content = VisibleContent(
        lo=0,
        hi=90 * MS,
        findings=(("epoch 1, steps 46-71: +59 W, +149 J, +0.20 s of time", "steps 46-71: +59 W"),),
        steps=(LongStep("step 74", 30 * MS, 10 * MS), LongStep("step 75", 20 * MS, 10 * MS)),
        step_count=9,
        ops=(TopOp("Conv2D", "Conv2D", Category.CONVOLUTION, 9 * MS, 0.9),),
    )
    lines = ["".join(text for text, _ in line) for line in panel(content, 84, 4, UNICODE)]
    assert any("steps 46-71: +59 W " in line for line in lines)
    assert not any(line.rstrip().endswith(",") for line in lines)


def test_kernels_that_the_op_table_does_not_name_are_called_kernels() -> None:
    kernels = VisibleContent(
        0,
        1,
        ops=(TopOp("gemm_bf16", "", Category.MATMUL, 9, 0.9, MS),),
        lists_kernels=True,
    )
    title = "".join(text for text, _ in stacked(kernels, 40, 4, UNICODE)[0])
    assert title == "Top kernels in view: share, mean"


@pytest.mark.parametrize("rows", [3, 4, 5, 12])
def test_the_largest_matrix_product_is_listed_however_few_lines_there_are(rows: int) -> None:
    ops = [TopOp(f"op {n}", "", Category.CONVOLUTION, 100 - n, 0.1, 5 * MS) for n in range(9)]
    ops.append(TopOp("dense/MatMul", "", Category.MATMUL, 1, 0.001, 2 * MS, is_pinned=True))
    lines = stacked(VisibleContent(0, 1, ops=tuple(ops)), 40, rows + 1, UNICODE)
    texts = ["".join(text for text, _ in line) for line in lines]
    assert texts[0] == "Top ops in view: share, mean"
    assert texts[-1].split() == ["dense/MatMul", "0.1", "%", "2.00", "ms"]
    assert len(texts) == min(rows, len(ops)) + 1


def test_the_view_lists_a_product_that_is_not_among_the_largest_ops() -> None:
    events = [(n * MS, MS, f"Conv{n}:Conv2D") for n in range(20)]
    events.append((20 * MS, MS // 2, "small:MatMul"))
    run = traces.run(traces.trace({MAIN: events}), traces.steps((0, 21 * MS)))
    seen = visible_content.visible_summary(TimelineModel.from_run(run), 0, 21 * MS)
    assert [op.is_pinned for op in seen.ops] == [False] * (len(seen.ops) - 1) + [True]
    assert seen.ops[-1].average_ps == MS // 2
