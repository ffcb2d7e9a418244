"""The steps' graph and the lines of the overview: what stands where, at any size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.table import Chart, Fact, MarkedBars, Result, Series
from powertui.plain import width
from powertui.view import overview_lines, stacked_bars, step_bars


def _chart(
    *parts: list[float], labels: tuple[str, ...] = ("Host compute", "Input", "All others")
) -> Chart:
    names = [str(i) for i in range(len(parts[0]))]
    series = tuple(
        Series(label, names, np.array(values)) for label, values in zip(labels, parts, strict=False)
    )
    return Chart("step_time", "Step time", series, "bar")


def _text(drawn: stacked_bars.StackedBars) -> list[str]:
    return ["".join(piece.text for piece in row) for row in drawn.rows]


def test_parts_stand_on_each_other() -> None:
    drawn = stacked_bars.draw(_chart([2, 1], [2, 1]), 2, 4, letters="HI")
    assert _text(drawn) == ["I ", "I ", "HI", "HH"]
    assert drawn.top == 4


def test_blocks_fill_eighths() -> None:
    drawn = stacked_bars.draw(_chart([1.0, 0.75, 0.5, 0.25]), 4, 1)
    assert _text(drawn) == ["█▆▄▂"]


def test_of_many_bars_a_cell_shows_the_longest() -> None:
    values = [1.0] * 100
    values[57] = 2.0
    drawn = stacked_bars.draw(_chart(values), 10, 2, letters="H")
    assert drawn.each == 10
    assert _text(drawn)[0].index("H") == 5
    assert _text(drawn) == ["     H    ", "HHHHHHHHHH"]


def test_a_bar_far_beyond_the_others_is_cut_and_counted() -> None:
    drawn = stacked_bars.draw(_chart([100.0, *[1.0] * 39]), 40, 3, letters="H")
    assert drawn.cut == (0,)
    assert _text(drawn)[0].startswith("^")
    assert drawn.longest == 100


def test_a_bar_that_is_cut_is_no_lower_than_the_longest_that_is_not() -> None:
    """Two readers took the shorter bar of the longest step for a short step."""
    values = [100.0, 1.4, *[1.0] * 38]
    drawn = stacked_bars.draw(_chart(values), 40, 3, letters="H", cut_at_top=False)
    assert _text(drawn)[0].startswith("HH ")
    assert drawn.cut == (0,)
    graph = step_bars.step_graph(_chart(values), 52, 7, "ascii")
    texts = ["".join(text for text, _ in line)[11:] for line in graph]
    assert texts[0].startswith("^")
    assert texts[1].startswith("HH ")


def test_the_graph_is_as_high_as_the_longest_step_that_is_not_cut() -> None:
    drawn = stacked_bars.draw(_chart([100.0, 1.4, *[1.0] * 38]), 40, 3, letters="H")
    assert (drawn.top, drawn.cut) == (1.4, (0,))


def test_the_legend_says_whose_shares_it_tells_and_how_long_a_cut_step_is() -> None:
    chart = _chart([1.5, 1.4, *[0.1] * 58], [0.1] * 60)
    (*_, legend) = step_bars.step_graph(chart, 120, 6, "unicode")
    text = "".join(text for text, _ in legend)
    assert text.strip().startswith("of a step  ")
    assert text.endswith("▲ up to 1.6 s")


def test_notes_that_have_no_room_beside_the_legend_are_left_out_whole() -> None:
    chart = _chart([1.5, *[0.1] * 399], [0.1] * 400)
    for cells in range(60, 130):
        (*_, legend) = step_bars.step_graph(chart, cells, 6, "unicode")
        text = "".join(text for text, _ in legend)
        assert text.rstrip().endswith((" %", " more", "▲ 1.6 s", "in a column"))


def test_the_legend_has_the_shares_of_the_table_below_it() -> None:
    """Of the steps that do not trace: one page has one share of a kind of work."""
    chart = replace(_chart([1.5, *[0.1] * 59], [0.1] * 60), usual_shares=(0.25, 0.75))
    (*_, legend) = step_bars.step_graph(chart, 120, 6, "unicode")
    text = "".join(text for text, _ in legend)
    assert "input 75.0 %" in text
    assert "host compute 25.0 %" in text


@pytest.mark.parametrize("steps", [30, 60, 400])
def test_the_steps_of_a_finding_are_marked_with_its_size(steps: int) -> None:
    """Above their bars, where the others have the page's ground; the flag points there."""
    third = steps // 3
    marked = MarkedBars(third, 2 * third, ("+59 W for 2.5 s", "+59 W"))
    values = [2.0, *[1.0] * (steps - 1)]
    chart = replace(_chart(values), marked=(marked,))
    (top, *rows) = step_bars.step_graph(chart, 72, 6, "unicode")
    text = "".join(text for text, _ in top)
    assert "+59 W" in text
    roles: list[str] = []
    for piece, role in top:
        roles += [role] * len(piece)
    band = [cell for cell, role in enumerate(roles) if role == "power_band"]
    assert band == list(range(31, 51))
    assert roles[30] == "power_flag"
    assert text[30] == "▶"
    assert all(role != "power_band" for row in rows[3:] for _, role in row)


def test_a_graph_without_a_finding_has_no_band() -> None:
    graph = step_bars.step_graph(_chart([2.0, *[1.0] * 59]), 72, 6, "unicode")
    assert not any("power" in role for line in graph for _, role in line)


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [float("nan"), 0.0]])
def test_nothing_is_drawn_of_nothing(values: list[float]) -> None:
    assert stacked_bars.draw(_chart(values), 10, 3).rows == []


def _result(**facts: str) -> Result:
    known = [
        Fact(
            "limit",
            "limit",
            "Input limits this run: 95.3 % of a step (112 ms of 117.5 ms); read ahead.",
        )
    ]
    known += [Fact(id, id, value) for id, value in facts.items()]
    known += [
        Fact("steps", "steps", 60, "integer"),
        Fact("step_time_s", "", 117_500_000_000, "duration"),
        Fact("step_time_usual_s", "", 116_000_000_000, "duration"),
        Fact("step_time_deviation_s", "", 15_620_000_000, "duration"),
        Fact("step_time_min_s", "", 9_000_000_000, "duration"),
        Fact("step_time_max_s", "", 141_300_000_000, "duration"),
        Fact("step_joules", "", 23.07, "number", "J", None, 22.9, 23.2),
        Fact("hosts", "", 2, "integer"),
        Fact("devices", "", "CPU only"),
    ]
    return Result(
        "overview_page",
        "Overview",
        (),
        tuple(known),
        (_chart([0.1] * 60, [0.2] * 60, [0.01] * 60),),
    )


@pytest.mark.parametrize("size", [(80, 12), (120, 24), (200, 40), (60, 6)])
@pytest.mark.parametrize("glyphs", ["unicode", "console", "ascii"])
def test_every_line_fits_and_the_sentence_comes_first(size: tuple[int, int], glyphs: str) -> None:
    made = overview_lines.lines(
        _result(finding_1="epoch 1, steps 46-72: +59 W, +150 J"), *size, glyphs=glyphs
    )
    texts = ["".join(text for text, _ in line) for line in made]
    assert len(texts) <= size[1]
    assert "Input limits this run" in texts[0]
    assert all(width(text) <= size[0] for text in texts if "each column" not in text)
    assert any("+150 J" in text for text in texts)


def test_figures_stand_below_the_graph() -> None:
    texts = ["".join(text for text, _ in line) for line in overview_lines.lines(_result(), 120, 30)]
    assert any(
        "60 steps · median 116 ms · mean 117.5 ms, deviation 15.62 ms · 9 ms to 141.3 ms" in text
        for text in texts
    )
    assert any("a step 23.07 J ± 0.17" in text for text in texts)
    assert any("input 64.5 %" in text for text in texts)
    assert any("2 hosts · CPU only" in text for text in texts)


def test_text_from_a_file_is_no_markup_and_no_escape() -> None:
    made = overview_lines.lines(_result(straggler_0="host \x1b[31m[red]evil"), 120, 30)
    texts = ["".join(text for text, _ in line) for line in made]
    assert not any("\x1b" in text for text in texts)


@pytest.mark.parametrize("cells", [1, 10, 73])
def test_the_only_step_is_a_bar_from_left_to_right(cells: int) -> None:
    drawn = stacked_bars.one_bar(_chart([3], [1], [0]), cells, letters="HIA")
    text = "".join(piece.text for piece in drawn)
    assert len(text) == cells
    assert text == "H" * round(0.75 * cells) + "I" * (cells - round(0.75 * cells))
    assert stacked_bars.one_bar(_chart([0], [0]), cells) == []


def test_few_steps_lie_below_each_other_with_their_times() -> None:
    chart = _chart([0.3, 0.6], [0.1, 0.2])
    names = ["ProfilerStep#7", "warm up"]
    chart = replace(chart, series=tuple(replace(part, x=names) for part in chart.series))
    lines = step_bars.step_graph(chart, 60, 8, "ascii")
    texts = ["".join(text for text, _ in line) for line in lines]
    first, gap, second, legend = texts
    assert first.split()[:2] == ["step", "7"]
    assert first.endswith(" 400 ms")
    assert second.strip().startswith("warm up")
    assert second.endswith(" 800 ms")
    assert not gap
    assert all(width(text) <= 60 for text in (first, second))
    bars = [text.count("H") + text.count("I") for text in (first, second)]
    assert bars[1] == pytest.approx(2 * bars[0], abs=1)
    assert "input" in legend.lower()


def test_few_steps_without_room_stand_as_all_others_do() -> None:
    chart = _chart([0.3] * 6, [0.1] * 6)
    lying = step_bars.step_graph(chart, 60, 6, "unicode")
    standing = step_bars.step_graph(chart, 60, 5, "unicode")
    assert len(lying) == 7  # without lines between them
    assert not any("step" in text for text, _ in standing[0])


def test_a_cell_of_two_parts_has_the_lower_one_as_block_and_the_upper_one_as_ground() -> None:
    drawn = stacked_bars.draw(_chart([1.0, 3.0], [3.0, 1.0]), 2, 1)
    assert drawn.rows == [[stacked_bars.BarPiece("▂▆", 0, 1)]]


def test_a_bar_that_is_cut_keeps_the_shares_of_its_parts() -> None:
    """Cut off, a step that compiled for most of its time would show its other ops alone."""
    rest = [1.0] * 39
    drawn = stacked_bars.draw(_chart([25.0, *rest], [75.0, *[0.0] * 39]), 40, 4, letters="HI")
    assert [row[0] for row in _text(drawn)] == ["^", "I", "I", "H"]


def test_slow_steps_have_a_mark_above_them_and_the_legend_says_so() -> None:
    values = [1.0] * 60
    values[20] = 1.4
    (top, *rows, legend) = step_bars.step_graph(_chart(values), 72, 6, "unicode")
    assert "".join(text for text, _ in top).index("▾") == 11 + 20
    assert "".join(text for text, _ in legend).endswith("▾ slow")
    assert not any("▾" in text for row in rows for text, _ in row)


def test_a_wide_bar_has_its_mark_once_in_its_middle() -> None:
    values = [1.0] * 20
    values[7] = 1.4
    (top, *_) = step_bars.step_graph(_chart(values), 72, 6, "unicode")
    assert "".join(text for text, _ in top).count("▾") == 1
    assert "".join(text for text, _ in top).index("▾") == 11 + 7 * 3 + 1


def test_slow_steps_that_share_a_column_have_one_mark() -> None:
    values = [1.0] * 240
    values[80] = values[81] = 1.4
    graph = step_bars.step_graph(_chart(values), 72, 6, "unicode")
    marks = [text.count("▾") for line in graph[:-1] for text, _ in line]
    assert sum(marks) == 1


def test_a_wide_bar_that_is_cut_has_its_mark_once() -> None:
    drawn = stacked_bars.draw(_chart([100.0, *[1.0] * 19]), 60, 3, letters="H")
    assert _text(drawn)[0].startswith("H^HH")
    assert _text(drawn)[0].count("^") == 1
    assert drawn.cut == (1,)


def test_the_length_of_a_bar_that_is_cut_is_written_beside_its_mark() -> None:
    values = [1.0] * 60
    values[5] = 100.0
    graph = step_bars.step_graph(_chart(values), 72, 6, "unicode")
    texts = ["".join(text for text, _ in line) for line in graph]
    assert texts[0][11 + 5 :].startswith("▲ 100 s ")
    assert texts[1][11 + 5] == "█"
    assert "100 s" not in texts[-1]


def test_the_legend_has_the_length_where_it_has_no_room_beside_its_mark() -> None:
    values = [1.0] * 60
    values[58] = 100.0
    graph = step_bars.step_graph(_chart(values), 72, 6, "unicode")
    texts = ["".join(text for text, _ in line) for line in graph]
    assert not any("100 s" in text for text in texts[:-1])
    assert "▲ 100 s" in texts[-1]


def test_a_cell_that_is_filled_in_part_shows_what_there_is_most_of() -> None:
    """Of the upper part of a low bar a small kind is not made the largest."""
    drawn = stacked_bars.draw(_chart([0.3], [0.05], [0.25]), 1, 1)
    assert drawn.rows[0][0].part == 0


def test_a_legend_without_room_for_shades_names_their_kinds() -> None:
    parts = {"Conv2D filter grad": 3.0, "Conv2D": 2.0, "Conv2D input grad": 1.5, "other ops": 1.0}
    series = []
    for shade, (label, value) in enumerate(parts.items()):
        kind = "convolution" if label.startswith("Conv") else "other"
        y = np.full(40, value)
        series.append(Series(label, [str(i) for i in range(40)], y, kind=kind, shade=shade % 3))
    chart = Chart("step_kinds", "Steps", tuple(series), "bar")
    (*_, legend) = step_bars.step_graph(chart, 70, 5, "unicode")
    assert "".join(text for text, _ in legend).strip() == (
        "of a step  ■■■ convolutions 86.7 %  ■ other ops 13.3 %"
    )
    (*_, legend) = step_bars.step_graph(chart, 140, 5, "unicode")
    assert "Conv2D input grad 20.0 %" in "".join(text for text, _ in legend)


def test_steps_that_only_scatter_have_no_mark() -> None:
    values = np.random.default_rng(5).normal(1.0, 0.05, 300).tolist()
    graph = step_bars.step_graph(_chart(values), 120, 9, "unicode")
    assert not any("▾" in text for row in graph for text, _ in row)


def test_of_high_bars_the_legend_goes_on_in_a_second_line() -> None:
    labels = tuple(f"a kind of some work {number}" for number in range(5))
    chart = _chart(*[[float(5 - number)] * 60 for number in range(5)], labels=labels)
    (*_, first, second) = step_bars.step_graph(chart, 100, 8, "unicode")
    texts = ["".join(text for text, _ in line) for line in (first, second)]
    assert [text.count("%") for text in texts] == [2, 2]
    assert texts[1].endswith("1 more")
    (*_, bar, only) = step_bars.step_graph(chart, 100, 7, "unicode")
    assert "%" not in "".join(text for text, _ in bar)
    assert "".join(text for text, _ in only).endswith("3 more")
