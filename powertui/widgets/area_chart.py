"""An area over what was expected of it, with the difference of both, bars and a ruler below.

Rows of styled text, without a screen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui.data.model import Floats
from powertui.data.quantiles import percentile_of_column
from powertui.named_tuples import NamedTuple
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.view import power_area
from powertui.view.curve import Axis, Envelope, spread
from powertui.view.power_area import PowerScale
from powertui.widgets.picture import SegmentRow
from powertui.widgets.power_drawing import draw_band
from powertui.widgets.ruler import Tick
from powertui.widgets.time_lane import fit_text

GUTTER_CELLS = 9  # cells for the labels of the axis
# Title, bars of the findings, and ruler. The difference needs a title of its own.
_FRAME_ROWS = 3
# From so many rows on the difference is drawn, too: with less, both would be too flat to read
# (looked at in 80×24, where the chart has twelve).
_MIN_ROWS_WITH_DIFFERENCE = 15
_DIFFERENCE_SHARE = 0.3  # of the rows of both charts
# Of many values the largest hundredth is cut: a tracing step of seconds would flatten the rest.
_SHOWN_PERCENTILE = 99.0
_MIN_CUT_VALUES = 50  # of fewer values each one counts
# Times a power of ten: what an axis may end at, and what its marks may be apart.
_FINE_FACTORS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
_STEP_FACTORS = (1, 2, 5)


class Band(NamedTuple):
    """Cells from one to one past another, and what they are, longest words first."""

    first: int
    stop: int
    words: tuple[str, ...] = ()


class AreaChart:
    """Draws the rows of one picture, each with its label in the gutter."""

    def __init__(
        self,
        width: int,
        height: int,
        unit: str,
        theme: Theme,
        glyphs: Glyphs,
    ) -> None:
        self.unit = unit
        self.theme = theme
        self.glyphs = glyphs
        self._width = width
        self.cells = max(1, width - GUTTER_CELLS)
        rows = max(2, height - _FRAME_ROWS)
        self._difference_rows = 0
        if height >= _MIN_ROWS_WITH_DIFFERENCE:
            # An even number of rows: zero is in the middle.
            self._difference_rows = 2 * max(1, round((rows - 1) * _DIFFERENCE_SHARE / 2))
            rows -= self._difference_rows + 1
        self._area_rows = rows

    def line(self, *pieces: tuple[str, str]) -> SegmentRow:
        """A row of words, each with its role in the theme, cut where it has no room."""
        row: SegmentRow = []
        room = self._width
        for text, role in pieces:
            if room <= 0:
                break
            if len(text) > room:
                text = fit_text(text, room, self.glyphs.ellipsis)
            row.append(Segment(text, self.theme.style(role)))
            room -= len(text)
        return row

    def area(
        self,
        values: Floats,
        expected: Floats,
        band: Band | None,
    ) -> list[SegmentRow]:
        """Values as an area, what was expected as a dashed line over it, and a band behind both."""
        rows = self._area_rows
        shape = spread(values, self.cells)
        line = _middle(spread(expected, self.cells))
        scale = self._scale(values, line, rows)
        area = power_area.draw_area(
            shape,
            scale,
            rows,
            self.glyphs,
        )
        chars = [list(text) for text in area]
        if self.unit == "W":
            roles = power_area.row_roles(scale, rows)
        else:
            roles = ["step_bars"] * rows
        styles = [[self.theme.style(role)] * self.cells for role in roles]
        if band is not None:
            # However short a band is, it has a cell.
            stop = max(band.stop, band.first + 1)
            cells = range(max(0, band.first), min(self.cells, stop))
            draw_band(
                chars,
                styles,
                cells,
                band.words,
                self.theme,
                self.glyphs,
            )
        self._draw_dashes(line, scale, roles, chars, styles)
        picture = []
        labels = self._labels(scale, rows, self.unit)
        for label, row, row_styles in zip(labels, chars, styles, strict=True):
            gutter = self._gutter(label, power_area.edge_tick(label, self.glyphs))
            picture.append([gutter, *_joined(row_styles, row)])
        return picture

    def filled(
        self,
        shape: Envelope,
        rows: int,
        unit: str,
        role: str = "",
    ) -> list[SegmentRow]:
        """A shape with a column for each cell as an area; without a role its color is height."""
        if unit == "%":  # of all: the axis ends there, whatever a row stands for then
            scale = PowerScale(Axis(0.0, 100.0, 100.0 / rows), False)
            labels = ["100 %", *[""] * (rows - 2), "0"][:rows]
            edges = self._edges(labels)
        else:
            scale = _scale_of_shape(shape, rows)
            labels = self._labels(scale, rows, unit)
            edges = [power_area.edge_tick(label, self.glyphs) for label in labels]
        roles = [role] * rows if role else power_area.row_roles(scale, rows)
        lines = power_area.draw_area(
            shape,
            scale,
            rows,
            self.glyphs,
        )
        picture = []
        for label, edge, line, row_role in zip(labels, edges, lines, roles, strict=True):
            gutter = self._gutter(label, edge)
            picture.append([gutter, Segment(line, self.theme.style(row_role))])
        return picture

    def _labels(
        self,
        scale: PowerScale,
        rows: int,
        unit: str,
    ) -> list[str]:
        """The labels of an axis, the first of them with the unit."""
        highest, *others = power_area.row_labels(scale, rows, self.glyphs)
        return [f"{highest} {unit}", *others]

    def difference(
        self,
        title: str,
        values: Floats,
        expected: Floats,
    ) -> list[SegmentRow]:
        """What the values differ by from what was expected, around zero, where that has room."""
        rows = self._difference_rows
        if not rows:
            return []
        shape = spread(values - expected, self.cells)
        top = _round_up(_typical_size(shape), _FINE_FACTORS)
        above = self._parts(np.fmax(shape.high, 0.0), top)
        below = self._parts(np.fmax(-shape.low, 0.0), top)
        labels = self._labels_around_zero(top)
        edges = self._edges(labels)
        picture = [self.line((title, "title"))]
        for row, (label, edge) in enumerate(zip(labels, edges, strict=True)):
            if row < rows // 2:
                text = self._upward(above, row)
                style = self.theme.style("power")
            else:
                text = self._downward(below, row)
                style = self.theme.style("dim")
            gutter = self._gutter(label, edge)
            picture.append([gutter, Segment(text, style)])
        return picture

    def _labels_around_zero(self, top: float) -> list[str]:
        rows = self._difference_rows
        decimals = 0
        if top < 10:
            decimals = 1
        labels = [""] * rows
        labels[rows // 2 - 1] = "0"
        labels[-1] = f"{-top:+.{decimals}f} {self.unit}"
        labels[0] = f"{top:+.{decimals}f} {self.unit}"
        return labels

    def bars(self, bands: Sequence[Band | None], selected: int) -> SegmentRow:
        """Stretches as bars; the selected one is marked."""
        chars = [" "] * self.cells
        styles = [self.theme.style("dim")] * self.cells
        for number, band in enumerate(bands):
            if band is None:
                continue
            is_in_sight = band.stop >= 0 and band.first < self.cells
            if not is_in_sight:
                continue
            first = max(band.first, 0)
            last_stop = min(band.stop, self.cells)
            stop = max(first + 1, last_stop)  # however short a stretch is, it has a cell
            length = stop - first
            role = "marked" if number == selected else "warn"
            style = self.theme.style(role)
            chars[first:stop] = self._bar(length)
            styles[first:stop] = [style] * length
        gutter = self._gutter("")
        return [gutter, *_joined(styles, chars)]

    def ruler(self, unit: str, ticks: Iterable[Tick]) -> SegmentRow:
        """Labels behind a mark at their columns, as many as have room."""
        chars = [" "] * self.cells
        free_from = 0
        for tick in ticks:
            label = self.glyphs.vertical + tick.text
            stop = tick.column + len(label)
            if tick.column >= free_from and stop <= self.cells:
                chars[tick.column : stop] = label
                free_from = stop + 1
        line = Segment("".join(chars), self.theme.style("axis"))
        return [self._gutter(unit), line]

    # ── the parts of the rows ────────────────────────────────────────────────────────────────────

    def _edges(self, labels: Sequence[str]) -> list[str]:
        """The ticks of an axis whose first label is that of the chart's upper edge."""
        upper_edge = " "
        if self.glyphs.upper_half:
            upper_edge = "▔"
        ticks = [upper_edge]
        for label in labels[1:]:
            ticks.append(power_area.edge_tick(label, self.glyphs))
        return ticks

    def _gutter(self, label: str, tick: str = " ") -> Segment:
        """The label of an axis, right of which the picture begins, and its tick."""
        cells = GUTTER_CELLS - 1
        text = label[:cells].rjust(cells) + tick
        return Segment(text, self.theme.style("axis"))

    def _scale(
        self,
        values: Floats,
        line: Floats,
        rows: int,
    ) -> PowerScale:
        shown = np.concatenate([values, line])
        shown = shown[np.isfinite(shown)]
        if not len(shown):
            return power_area.power_scale(0.0, 1.0, rows)
        lowest = float(shown.min())
        highest = float(shown.max())
        if len(shown) > _MIN_CUT_VALUES and self.unit != "W":
            highest = percentile_of_column(shown, _SHOWN_PERCENTILE)
        return power_area.power_scale(lowest, highest, rows)

    def _draw_dashes(
        self,
        line: Floats,
        scale: PowerScale,
        roles: Sequence[str],
        chars: list[list[str]],
        styles: list[list[Style]],
    ) -> None:
        """The line over the area, and over the page where it is above the area."""
        top_row = scale.linear_rows(self._area_rows) - 1
        height = (line - scale.lo) / (scale.hi - scale.lo) * (top_row + 1)
        is_drawn = np.isfinite(height) & (height >= 0)
        on_page = self.theme.style("text")
        for cell in np.flatnonzero(is_drawn).tolist():
            cell_height = float(height[cell])
            level = min(int(cell_height), top_row)  # the row from below
            dash = power_area.dash(cell_height - level, cell, self.glyphs)
            if not dash:
                continue
            row = top_row - level
            ground = styles[row][cell].bgcolor
            style = on_page
            if chars[row][cell] == self.glyphs.area:
                style = self._text_on(roles[row])
            elif ground is not None:
                style = on_page + Style(bgcolor=ground)
            chars[row][cell] = dash
            styles[row][cell] = style

    def _text_on(self, role: str) -> Style:
        """Text that is read on a full cell of this role."""
        if role.startswith("ember_"):
            return self.theme.style(power_area.role_of_text_on(role))
        paper = self.theme.style(role).color
        return self.theme.style("text") + Style(bgcolor=paper)

    def _parts(self, values: Floats, top: float) -> Floats:
        """How many rows each value fills; NaN where nothing is known."""
        return values / top * (self._difference_rows // 2)

    def _upward(self, filled: Floats, row: int) -> str:
        """A row above zero: what reaches into it from below."""
        bars = self.glyphs.bars
        rows_below = self._difference_rows // 2 - 1 - row
        steps = len(bars) if self.glyphs.braille else 1
        zero = " "
        if rows_below == 0 and steps > 1:
            zero = bars[0]  # zero itself is a line of the thinnest blocks
        parts = np.rint((filled - rows_below) * steps)
        chars = []
        for part in parts.tolist():
            if math.isnan(part):
                chars.append(" ")
            elif part <= 0:
                chars.append(zero)
            elif part >= steps:
                chars.append(self.glyphs.area)
            else:
                chars.append(bars[int(part) - 1])
        return "".join(chars)

    def _downward(self, filled: Floats, row: int) -> str:
        """A row below zero: what hangs into it from above, by halves of a row."""
        rows_above = row - self._difference_rows // 2
        steps = 2 if self.glyphs.upper_half else 1
        parts = np.rint((filled - rows_above) * steps)
        chars = []
        for part in parts.tolist():
            if math.isnan(part) or part <= 0:
                chars.append(" ")
            elif part >= steps:
                chars.append(self.glyphs.area)
            else:
                chars.append(self.glyphs.upper_half)
        return "".join(chars)

    def _bar(self, length: int) -> str:
        if length == 1:
            return self.glyphs.vertical
        middle = self.glyphs.horizontal * (length - 2)
        return f"{self.glyphs.range_left}{middle}{self.glyphs.range_right}"


def _scale_of_shape(shape: Envelope, rows: int) -> PowerScale:
    if not shape.known.any():
        return power_area.power_scale(0.0, 1.0, rows)
    lowest = float(np.nanmin(shape.low))
    highest = float(np.nanmax(shape.high))
    return power_area.power_scale(lowest, highest, rows)


def second_ticks(
    lo_s: float,
    hi_s: float,
    cells: int,
    cells_apart: int,
) -> Iterator[Tick]:
    """Round moments at their cells, with the decimals that tell them apart."""
    marks = round_ticks(lo_s, hi_s, cells, cells_apart)
    decimals = 0
    if len(marks) > 1:
        step_s = marks[1] - marks[0]
        exponent = np.floor(np.log10(step_s) + 1e-9)
        decimals = max(0, -int(exponent))
    for moment_s in marks:
        share = (moment_s - lo_s) / (hi_s - lo_s)
        rounded_s = round(moment_s, decimals) + 0.0  # adding 0 takes the sign off a zero
        yield Tick(int(share * cells), f"{rounded_s:.{decimals}f}s")


def round_ticks(
    lo: float,
    hi: float,
    cells: int,
    cells_apart: int,
) -> list[float]:
    """The multiples of a round step between two values, at least so many cells from each other."""
    if hi <= lo or not cells:
        return []
    min_step = (hi - lo) / cells * cells_apart
    step = _round_up(min_step, _STEP_FACTORS)
    first = int(np.ceil(lo / step - 1e-9))
    last = int(np.floor(hi / step + 1e-9))
    return [number * step for number in range(first, last + 1)]


def _round_up(value: float, factors: Sequence[float]) -> float:
    """The smallest of these times a power of ten that is no less."""
    exponent = np.floor(np.log10(max(value, 1e-12)))
    power = 10.0**exponent
    for factor in factors:
        rounded = factor * power
        if rounded >= value * (1 - 1e-9):
            return float(rounded)
    return float(10 * power)


def _middle(shape: Envelope) -> Floats:
    return (shape.low + shape.high) / 2


def _typical_size(shape: Envelope) -> float:
    """The size that 99 of 100 columns keep to."""
    sizes = np.fmax(np.abs(shape.low), np.abs(shape.high))
    sizes = sizes[np.isfinite(sizes)]
    if len(sizes):
        return percentile_of_column(sizes, _SHOWN_PERCENTILE)
    return 1.0


def _joined(styles: Iterable[Style], chars: Iterable[str]) -> Iterator[Segment]:
    """Neighboring cells of one style as one segment."""
    cells = zip(styles, chars, strict=True)
    for style, group in itertools.groupby(cells, lambda cell: cell[0]):
        text = "".join(char for _, char in group)
        yield Segment(text, style)
