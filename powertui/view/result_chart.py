"""A chart of an answer as lines of text: a line over numbers as an area, points on two logarithmic
axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from powertui import units
from powertui.data.model import Floats
from powertui.data.table import Chart, Series
from powertui.named_tuples import NamedTuple
from powertui.terminal.glyphs import Glyphs
from powertui.view import host_bars, power_area
from powertui.view.curve import spread

_LABEL_CELLS = 13  # left of the area: "100 GFLOP/s"
_MIN_CELLS = 20  # a narrower chart shows nothing
_MARKS = "●○◆◇▲△"  # of the series of points, in their order
_ASCII_MARKS = "ox+*#@"

ChartLine = tuple[tuple[str, str], ...]  # (text, role)


def chart_lines(
    chart: Chart,
    cells: int,
    rows: int,
    glyphs: Glyphs,
) -> list[ChartLine]:
    """The chart with its title above and its axis below; nothing where it has no room."""
    if cells < _LABEL_CELLS + _MIN_CELLS or rows < 3:
        return []
    if chart.kind == "line":
        return _area(chart, cells, rows - 1, glyphs)
    if chart.kind == "points":
        return _points(chart, cells, rows - 2, glyphs)
    if chart.kind == "members":
        return host_bars.member_lines(
            chart,
            cells,
            rows,
            glyphs,
        )
    return []


# ── a line ───────────────────────────────────────────────────────────────────────────────────────


def _area(
    chart: Chart,
    cells: int,
    rows: int,
    glyphs: Glyphs,
) -> list[ChartLine]:
    """The first series, with where its highest value is; the others are in the table."""
    series = chart.series[0]
    shape = spread(series.y, cells - _LABEL_CELLS)
    if not shape.known.any():
        return []
    highest = float(np.nanmax(shape.high))
    scale = power_area.power_scale(0.0, highest or 1.0, rows)
    top_label = units.quantity(scale.axis.hi, chart.y_unit, 3)
    bottom_label = units.quantity(scale.axis.lo, chart.y_unit, 3)
    drawn = power_area.draw_area(shape, scale, rows, glyphs)
    roles = power_area.row_roles(scale, rows)
    lines: list[ChartLine] = [_peak_line(chart, series, cells, glyphs)]
    for row, (words, role) in enumerate(zip(drawn, roles, strict=True)):
        label = _end_label(
            row,
            rows,
            top_label,
            bottom_label,
        )
        lines.append((label, (words, role)))
    return lines


def _peak_line(
    chart: Chart,
    series: Series,
    cells: int,
    glyphs: Glyphs,
) -> ChartLine:
    """The title, with a mark above the highest value."""
    peak = int(np.nanargmax(series.y))
    plot_cells = cells - _LABEL_CELLS
    peak_cell = peak * plot_cells // max(1, len(series.y))
    column = _LABEL_CELLS + peak_cell
    title = f" {chart.title}"
    highest = float(series.y[peak])
    value = units.quantity(highest, chart.y_unit)
    words = f" {value}"
    # Left of the mark where the title leaves room, else right of it.
    left_column = column - len(words) - 1
    if left_column > len(title):
        column = left_column
        mark = f"{words} {glyphs.cursor}"
    else:
        column = max(column, len(title) + 1)
        mark = f"{glyphs.cursor}{words}"
    gap = " " * max(1, column - len(title))
    return (
        (title, "dim"),
        (gap, "dim"),
        (mark, "text"),
    )


# ── points ───────────────────────────────────────────────────────────────────────────────────────


class _LogAxis(NamedTuple):
    lo: float  # powers of ten
    hi: float

    def cell(self, value: float, cells: int) -> int:
        """Which of so many cells a value is in."""
        share = (math.log10(value) - self.lo) / (self.hi - self.lo)
        cell = max(0, int(share * cells))
        return min(cells - 1, cell)


def _log_axis(values: list[float]) -> _LogAxis | None:
    """Whole powers of ten around the values; None where none is above zero."""
    positive = []
    for value in values:
        if value > 0 and math.isfinite(value):
            positive.append(value)
    if not positive:
        return None
    lo = math.floor(math.log10(min(positive)))
    hi = math.ceil(math.log10(max(positive)) + 1e-9)
    return _LogAxis(lo, max(hi, lo + 1))


def _points(
    chart: Chart,
    cells: int,
    rows: int,
    glyphs: Glyphs,
) -> list[ChartLine]:
    """Series without a name at their points are drawn as lines of dots, the others as marks."""
    if not chart.series:
        return []
    x_axis = _log_axis_of_all(series.x for series in chart.series)
    y_axis = _log_axis_of_all(series.y for series in chart.series)
    if x_axis is None or y_axis is None or rows < 2:
        return []
    width = cells - _LABEL_CELLS
    grid = [[" "] * width for _ in range(rows)]
    title_parts = [f" {chart.title}"]
    for number, series in enumerate(chart.series):
        is_line = series.label.startswith("roof")
        mark = _mark(number, is_line, glyphs)
        title_parts.append(f"{mark} {series.label}")
        points = _drawn(series, is_line, width)
        _mark_points(grid, points, mark, x_axis, y_axis)
    title = "   ".join(title_parts)
    lines: list[ChartLine] = [((title, "dim"),)]
    highest = units.quantity(10.0**y_axis.hi, chart.y_unit, 3)
    lowest = units.quantity(10.0**y_axis.lo, chart.y_unit, 3)
    for row, chars in enumerate(grid):
        label = _end_label(row, rows, highest, lowest)
        line = "".join(chars)
        lines.append((label, (line, "text")))
    below = _x_labels(x_axis, chart.x_label, width)
    lines.append(((below, "dim"),))
    return lines


def _log_axis_of_all(columns: Iterable[Sequence[float] | Floats]) -> _LogAxis | None:
    arrays = [np.asarray(column) for column in columns]
    values = np.concatenate(arrays).astype(np.float64)
    return _log_axis(values.tolist())


def _x_labels(axis: _LogAxis, unit: str, width: int) -> str:
    """The line below the points: where the axis begins, and where it ends with its unit."""
    first = units.number(10.0**axis.lo)
    highest = units.number(10.0**axis.hi)
    last = f"{highest} {unit}"
    free_cells = width - len(first) - len(last)
    indent = " " * _LABEL_CELLS
    gap = " " * max(1, free_cells)
    return indent + first + gap + last


def _mark_points(
    grid: list[list[str]],
    points: list[tuple[float, float]],
    mark: str,
    x_axis: _LogAxis,
    y_axis: _LogAxis,
) -> None:
    """Put a mark at each point. A logarithmic axis has no place for what is not above zero."""
    rows = len(grid)
    for x, y in points:
        if x > 0 and y > 0:
            row = rows - 1 - y_axis.cell(y, rows)
            grid[row][x_axis.cell(x, len(grid[row]))] = mark


def _mark(number: int, is_line: bool, glyphs: Glyphs) -> str:
    """What a series is drawn with."""
    if is_line:
        return glyphs.horizontal
    marks = _MARKS if glyphs.braille else _ASCII_MARKS
    return marks[number % len(marks)]


def _end_label(
    row: int,
    rows: int,
    highest: str,
    lowest: str,
) -> tuple[str, str]:
    """The label left of a row: the ends of the axis at the top and the bottom."""
    label = ""
    if row == 0:
        label = highest
    elif row == rows - 1:
        label = lowest
    return (f"{label:>{_LABEL_CELLS - 1}} ", "dim")


def _drawn(series: Series, is_line: bool, width: int) -> list[tuple[float, float]]:
    """The points of a series; of a line, one for each cell between its ends too."""
    points = []
    for x, y in zip(series.x, series.y, strict=True):
        points.append((float(x), float(y)))
    if not is_line:
        return points
    line = []
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if min(x0, y0, x1, y1) <= 0:
            continue
        for part in np.linspace(0.0, 1.0, width):
            x = x0 * (x1 / x0) ** part
            y = y0 * (y1 / y0) ** part
            line.append((x, y))
    return line
