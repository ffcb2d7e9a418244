"""An area over what was expected, as rows of cells."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.conclusions.conclusion import Cost
from powertui.terminal import glyphs as glyph_sets
from powertui.terminal.theme import Theme
from powertui.view import cost_column
from powertui.widgets.area_chart import AreaChart, Band, round_ticks
from powertui.widgets.picture import SegmentRow
from powertui.widgets.ruler import Tick

THEME = Theme()


def text_of(rows: list[SegmentRow]) -> list[str]:
    return ["".join(segment.text for segment in row) for row in rows]


def chart_of(width: int, height: int, glyphs: str = "unicode", unit: str = "W") -> AreaChart:
    return AreaChart(width, height, unit, THEME, glyph_sets.get(glyphs))


@pytest.mark.parametrize("glyphs", ["unicode", "console", "ascii"])
@pytest.mark.parametrize("size", [(12, 3), (33, 8), (80, 12), (120, 18), (200, 40)])
@pytest.mark.parametrize("count", [0, 1, 7, 5000])
def test_every_row_fills_its_width_whatever_the_values(
    glyphs: str, size: tuple[int, int], count: int
) -> None:
    width, height = size
    random = np.random.default_rng(count)
    values = 240 + 30 * random.standard_normal(count)
    values[::3] = np.nan
    chart = chart_of(width, height, glyphs)
    rows = chart.area(values, np.full(count, 235.0), Band(3, 9, ("+59 W",)))
    rows += chart.difference("Difference", values, np.full(count, 235.0))[1:]
    rows += [chart.bars([Band(3, 9), None], 0), chart.ruler("s", [Tick(2, "10s")])]
    assert {len(text) for text in text_of(rows)} == {width}


def height_of_line(rows: list[str]) -> float:
    """Of the dashed line, from below, in thirds of a row."""
    places = {}
    for number, text in enumerate(rows):
        for third, mark in enumerate("▁─▔"):
            if text[9:].count(mark) >= (len(text) - 9) // 2:
                places[mark] = 3 * (len(rows) - number) + third
    (height,) = places.values()
    return height


def test_what_was_expected_is_a_dashed_line_at_its_height() -> None:
    chart = chart_of(60, 12)
    heights = []
    for watts in range(190, 300, 2):
        drawn = chart.area(np.array([150.0, *[300.0] * 99]), np.full(100, float(watts)), None)
        heights.append(height_of_line(text_of(drawn)))
    assert heights == sorted(heights)
    assert len(set(heights)) >= 10, "it moves by thirds of a row"


def test_where_nothing_differs_the_line_lies_on_the_area() -> None:
    for watts in range(200, 290, 7):
        values = np.full(100, float(watts))
        values[:20] = 150.0
        values[-5:] = 300.0
        rows = text_of(chart_of(109, 14).area(values, np.full(100, float(watts)), None))
        top = next(number for number, text in enumerate(rows) if text[59] in "▁▂▃▄▅▆▇█─▔")
        line = next(n for n, text in enumerate(rows) if any(mark in text[49:69] for mark in "▁─▔"))
        assert abs(top - line) <= 1


def test_one_high_reading_among_thousands_is_seen() -> None:
    values = np.full(5000, 200.0)
    values[1234] = 300.0
    rows = text_of(chart_of(80, 12).area(values, np.full(5000, 200.0), None))
    assert all(row[9:].strip() for row in rows[2:])  # 300 W of an axis up to 320


def test_a_tracing_step_of_seconds_does_not_flatten_the_others() -> None:
    lengths = np.full(200, 90.0)
    lengths[0] = 1500.0
    rows = text_of(chart_of(80, 12, unit="ms").area(lengths, lengths, None))
    assert float(rows[0].split()[0]) < 200


def test_what_was_more_stands_on_zero_and_what_was_less_hangs_from_it() -> None:
    expected = np.full(71, 200.0)
    values = expected.copy()
    values[:20] += 60
    values[50:] -= 60
    chart = chart_of(80, 20)
    rows = text_of(chart.difference("Difference", values, expected))[1:]
    half = len(rows) // 2
    assert rows[0].startswith("   +60 W")
    assert rows[-1].startswith("   -60 W")
    assert all(row[9:25].strip() for row in rows[:half])
    assert not any(row[9:25].strip() for row in rows[half:])
    assert all(row[-10:].strip() for row in rows[half:])


@pytest.mark.parametrize("difference", [-59.0, 31.0, 59.0, 80.0])
@pytest.mark.parametrize("height", [15, 18, 20, 30, 44])
def test_by_the_ticks_of_its_axis_a_difference_reads_as_many_watts_as_it_has(
    difference: float, height: int
) -> None:
    """Labels in the middle of a row read as +70 W for +59 W."""
    expected = np.full(71, 200.0)
    rows = text_of(chart_of(80, height).difference("Difference", expected + difference, expected))[
        1:
    ]
    ticks = {}  # watts by eighths of a row from above
    for number, row in enumerate(rows):
        if row[8] in "▁▔":
            ticks[8 * number + (0 if row[8] == "▔" else 8)] = float(row[:8].split()[0])
    assert len(ticks) == 3
    assert ticks[8 * len(rows)] == -ticks[0]
    assert ticks[4 * len(rows)] == 0
    column = "".join(row[20] for row in rows)
    half = len(rows) // 2
    if difference > 0:
        eighths = sum(" ▁▂▃▄▅▆▇█".index(char) for char in column[:half])
    else:
        eighths = -sum({" ": 0, "▀": 4, "█": 8}[char] for char in column[half:])
    watts_an_eighth = ticks[0] / (8 * half)
    rounding = 1 if difference > 0 else 4
    assert abs(eighths * watts_an_eighth - difference) <= watts_an_eighth * rounding


def test_a_low_chart_has_no_difference() -> None:
    values = np.full(10, 200.0)
    assert chart_of(80, 12).difference("Difference", values, values) == []


def test_the_size_of_a_finding_is_beside_its_band_where_that_has_room() -> None:
    values = np.full(100, 200.0)
    values[50:60] = 290.0
    words = ("+59 W for 2.5 s", "+59 W")
    row = text_of(chart_of(80, 14).area(values, values, Band(35, 42, words)))[0]
    assert "+59 W for 2.5 s ▶" in row
    row = text_of(chart_of(30, 14).area(values, values, Band(10, 12, words)))[0]
    assert "for" not in row
    assert "+59 W" in row


@pytest.mark.parametrize(("lo", "hi"), [(0.0, 3e-5), (-16.66, 26.2), (12.3, 86_400.0), (5.0, 5.0)])
def test_marks_are_round_and_far_enough_apart(lo: float, hi: float) -> None:
    marks = round_ticks(lo, hi, 100, 9)
    steps = np.diff(marks)
    assert all(lo - 1e-9 <= mark <= hi + 1e-9 for mark in marks)
    if len(steps):
        assert steps.min() / (hi - lo) * 100 >= 9 - 1e-6
        digits = f"{steps[0]:.0e}"[0]
        assert digits in "125"


@pytest.mark.parametrize("cells", [60, 80, 100, 200])
@pytest.mark.parametrize(
    "cost",
    [
        Cost(),
        Cost(share=0.99),
        Cost(share=1e-9),
        Cost(share=0.02, joules_share=0.4),
        Cost(joules=825.0),
        Cost(seconds=12.5),
    ],
)
def test_a_cost_is_as_wide_as_its_column(cost: Cost, cells: int) -> None:
    lines = cost_column.cost_column(cost, cells, glyph_sets.get("unicode"))
    for line in lines:
        assert sum(len(words) for words, _ in line) == cost_column.column_cells(cells)


def test_what_is_not_known_is_blank_and_never_0() -> None:
    lines = cost_column.cost_column(Cost(), 120, glyph_sets.get("unicode"))
    assert not "".join(words for line in lines for words, _ in line).strip()


def test_the_larger_share_is_shown_and_joules_where_there_is_no_share() -> None:
    glyphs = glyph_sets.get("ascii")

    def words(cost: Cost) -> str:
        lines = cost_column.cost_column(cost, 80, glyphs)
        return " ".join("".join(text for text, _ in line).strip() for line in lines)

    assert words(Cost(share=0.02, joules_share=0.4)) == "40 % of energy"
    assert words(Cost(share=0.4, joules_share=0.02)) == "40 % of time"
    assert words(Cost(joules=825.0)) == "825 J energy"
    assert words(Cost(seconds=12.25)) == "12 s time"


def test_a_share_of_a_step_is_the_one_that_the_sentence_tells() -> None:
    cost = Cost(share=0.9035, step_share=0.906)
    lines = cost_column.cost_column(cost, 80, glyph_sets.get("ascii"))
    assert ["".join(text for text, _ in line).strip() for line in lines] == ["91 %", "of a step"]
