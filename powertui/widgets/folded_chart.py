"""Epochs over each other by step: one against the others, their difference, and the findings.

What is drawn is worked out without a screen; the widget at the end only shows it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui.data.energy.findings.finding import Against, Finding
from powertui.data.energy.fold import Folded
from powertui.data.model import PS_PER_S, Floats
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.view.curve import Axis, Envelope, axis, columns_per_cell, draw, envelope
from powertui.widgets.picture import Picture, SegmentRow
from powertui.widgets.time_lane import fit_text

_GUTTER = 9  # cells for the labels of the axis
# Around a finding: so many times its length, and so many seconds at least.
_MARGIN_RATIO, _MIN_MARGIN_S = 2.0, 2.0
_STEP = 1000  # a step's width in the units of `envelope`
_FRAME_ROWS = 4  # the two titles, the bars of the findings, and the ruler


class FoldedView(NamedTuple):
    """One epoch (a line of `folded`) beside the others, and the finding under the cursor."""

    folded: Folded
    line: int
    findings: tuple[Finding, ...]
    selected: int = -1
    times: bool = False

    @property
    def epoch(self) -> int:
        """The number of the epoch."""
        return self.folded.epochs[self.line]

    @property
    def shows_times(self) -> bool:
        """Whether lengths are drawn: they were asked for, or no power is known."""
        return self.times or not np.isfinite(self.folded.watts).any()

    @property
    def values(self) -> Floats:
        """Watts or milliseconds."""
        if self.shows_times:
            return self.folded.seconds * 1e3
        return self.folded.watts

    @property
    def unit(self) -> str:
        return "ms" if self.shows_times else "W"


class AgainstView(NamedTuple):
    """A run without epochs to compare: its readings, and what was expected of them.

    Of a training that was never profiled that is its usual level.
    """

    against: Against
    findings: tuple[Finding, ...]
    selected: int = -1
    profiled: bool = True

    @property
    def span(self) -> tuple[float, float]:
        """What is drawn (s): the surroundings of the finding under the cursor, or all readings."""
        compared = np.flatnonzero(np.isfinite(self.against.expected))
        if not len(compared):
            return 0.0, 1.0
        first_s = float(self.against.lo[compared[0]])
        last_s = float(self.against.hi[compared[-1]])
        if not 0 <= self.selected < len(self.findings):
            return first_s, last_s
        start_s, end_s = _finding_s(self.findings[self.selected])
        margin_s = max(_MARGIN_RATIO * (end_s - start_s), _MIN_MARGIN_S)
        # No further than the readings, unless the finding itself is beyond them.
        lo_s = max(min(first_s, start_s), start_s - margin_s)
        hi_s = min(max(last_s, end_s), end_s + margin_s)
        return lo_s, hi_s


class _Chart:
    """Draws the rows of one picture, each with its label in the gutter."""

    def __init__(self, width: int, height: int, unit: str, theme: Theme, glyphs: Glyphs) -> None:
        self.width = width
        self.unit = unit
        self.theme = theme
        self.glyphs = glyphs
        self.cells = max(1, width - _GUTTER)
        self.upper_rows = max(2, (height - _FRAME_ROWS) * 3 // 5)
        self.lower_rows = max(1, height - _FRAME_ROWS - self.upper_rows)

    def line(self, *pieces: tuple[str, str]) -> SegmentRow:
        """A row of words, each with its role in the theme, cut where it has no room."""
        row: SegmentRow = []
        room = self.width
        for text, role in pieces:
            if room <= 0:
                break
            if len(text) > room:
                text = fit_text(text, room, self.glyphs.ellipsis)
            row.append(Segment(text, self.theme.style(role)))
            room -= len(text)
        return row

    def gutter(self, label: str) -> Segment:
        """The label of an axis, right of which the curve begins."""
        text = label[: _GUTTER - 1].rjust(_GUTTER - 1) + " "
        return Segment(text, self.theme.style("axis"))

    def overlay(self, epoch: Floats, others: Floats) -> list[SegmentRow]:
        """One epoch in front of the range of the others."""
        rows = self.upper_rows
        scale = _scale(np.concatenate([epoch, others.ravel()]), rows)
        back_lines = draw(self._range(others), scale, rows, self.glyphs)
        front_lines = draw(self._shape(epoch), scale, rows, self.glyphs)
        labels = [""] * rows
        labels[-1] = f"{scale.text(scale.lo)} {self.unit}"
        labels[0] = f"{scale.text(scale.hi)} {self.unit}"
        power = self.theme.style("power")
        dim = self.theme.style("dim")
        picture = []
        for label, front, back in zip(labels, front_lines, back_lines, strict=True):
            picture.append([self.gutter(label), *_runs(front, back, power, dim)])
        return picture

    def difference(self, epoch: Floats, others: Floats) -> list[SegmentRow]:
        """What one epoch differs by from the median of the others, around a line at zero."""
        rows = self.lower_rows
        difference = epoch - _median_of(others)
        top = _typical_size(difference)
        end = max(top, 1e-9)
        lines = draw(self._shape(difference), Axis(-end, end, end), rows, self.glyphs)
        zero_row = (rows - 1) // 2 if rows > 2 else rows - 1
        labels = self._difference_labels(top, zero_row)
        front = self.theme.style("estimated")
        grid = self.theme.style("grid")
        picture = []
        for row, line in enumerate(lines):
            rule = (self.glyphs.horizontal if row == zero_row else " ") * self.cells
            picture.append([self.gutter(labels[row]), *_runs(line, rule, front, grid)])
        return picture

    def _difference_labels(self, top: float, zero_row: int) -> list[str]:
        """The labels of the rows: the ends of the axis, and zero where it has a row."""
        decimals = 0 if top >= 10 else 1
        labels = [""] * self.lower_rows
        labels[zero_row] = "0"
        labels[-1] = ""
        if len(labels) > 1:
            labels[-1] = f"{-top:+.{decimals}f} {self.unit}"
        labels[0] = f"{top:+.{decimals}f} {self.unit}"
        return labels

    def bars(self, stretches: Sequence[tuple[int, int] | None], selected: int) -> SegmentRow:
        """Stretches, from a cell to one past another, as bars; the selected one is marked."""
        chars = [" "] * self.cells
        styles = [self.theme.style("dim")] * self.cells
        for number, stretch in enumerate(stretches):
            if stretch is None:
                continue
            first, stop = stretch
            if stop < 0 or first >= self.cells:
                continue
            lo = max(first, 0)
            hi = max(lo + 1, min(stop, self.cells))
            style = self.theme.style("marked" if number == selected else "warn")
            chars[lo:hi] = self._bar(hi - lo)
            styles[lo:hi] = [style] * (hi - lo)
        return [self.gutter(""), *_joined(zip(styles, chars, strict=True))]

    def _bar(self, length: int) -> str:
        if length == 1:
            return self.glyphs.vertical
        middle = self.glyphs.horizontal * (length - 2)
        return f"{self.glyphs.range_left}{middle}{self.glyphs.range_right}"

    def ruler(self, unit: str, min_distance: int, label_at: Callable[[int], str]) -> SegmentRow:
        """The labels of some cells, at least so many cells from each other."""
        chars = [" "] * self.cells
        for cell in range(0, self.cells, max(min_distance, self.cells // 8)):
            label = label_at(cell)
            if cell + len(label) < self.cells:
                chars[cell : cell + len(label)] = label
        return [self.gutter(unit), Segment("".join(chars), self.theme.style("axis"))]

    def _shape(self, values: Floats) -> Envelope:
        columns = self.cells * columns_per_cell(self.glyphs)
        edges = np.linspace(0, len(values) * _STEP, columns + 1).astype(np.int64)
        rows = np.flatnonzero(np.isfinite(values))
        return envelope(rows * _STEP, values[rows], edges, _STEP - 1)

    def _range(self, epochs: Floats) -> Envelope:
        """Lowest and highest of several epochs in each column."""
        shapes = [self._shape(values) for values in epochs]
        lowest = np.fmin.reduce([shape.low for shape in shapes])
        return Envelope(lowest, np.fmax.reduce([shape.high for shape in shapes]))


def _finding_s(finding: Finding) -> tuple[float, float]:
    """Start and end of a finding in seconds."""
    return finding.start_ps / PS_PER_S, finding.end_ps / PS_PER_S


def _median_of(epochs: Floats) -> Floats:
    """The median of several epochs, step by step; NaN where none has a value."""
    has_value = np.isfinite(epochs).any(axis=0)
    median = np.full(epochs.shape[1], np.nan)
    median[has_value] = np.nanmedian(epochs[:, has_value], axis=0)
    return median


def _typical_size(values: Floats) -> float:
    """The size that 99 of 100 values keep to.

    The largest hundredth is cut: a tracing step of seconds would flatten the rest.
    """
    sizes = np.abs(values[np.isfinite(values)])
    return float(np.percentile(sizes, 99)) if len(sizes) else 1.0


def _scale(values: Floats, rows: int) -> Axis:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return axis(0.0, 1.0, rows)
    if len(finite) <= 50:
        return axis(float(finite.min()), float(finite.max()), rows)
    # A tracing step of seconds among steps of milliseconds must not flatten the rest.
    low, high = np.percentile(finite, [0, 99])
    return axis(float(low), float(high), rows)


def _runs(front: str, back: str, over: Style, under: Style) -> Iterator[Segment]:
    """Two lines of one chart: the front covers the back, cell by cell."""
    cells = []
    for front_char, back_char in zip(front, back, strict=True):
        cells.append((over, front_char) if front_char != " " else (under, back_char))
    return _joined(cells)


def _joined(cells: Iterable[tuple[Style, str]]) -> Iterator[Segment]:
    """Neighboring cells of one style as one segment."""
    for style, group in itertools.groupby(cells, lambda cell: cell[0]):
        yield Segment("".join(char for _, char in group), style)


def _against_picture(
    view: AgainstView, width: int, height: int, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    """Readings over what was expected of them, their difference, the findings, and seconds."""
    chart = _Chart(width, height, "W", theme, glyphs)
    lo_s, hi_s = view.span
    length_s = hi_s - lo_s
    measured, expected = _compared_watts(view, chart)
    stretches = []
    for finding in view.findings:
        start_s, end_s = _finding_s(finding)
        first = int((start_s - lo_s) / length_s * chart.cells)
        stop = -int(-(end_s - lo_s) / length_s * chart.cells)
        stretches.append((first, stop))
    explained = "what the trace explains"
    rest = "Power that nothing in the trace explains"
    if not view.profiled:
        explained = "the usual level of training"
        rest = "Power beyond the usual level of training"

    def moment(cell: int) -> str:
        return f"{lo_s + length_s * cell / chart.cells:.4g}"

    rows = [
        chart.line(("Power: ", "title"), ("measured", "power"), (f" over {explained}", "dim")),
        *chart.overlay(measured, expected),
        chart.line((rest, "title")),
        *chart.difference(measured, expected),
        chart.bars(stretches, view.selected),
        chart.ruler("s", 10, moment),
    ]
    return rows[:height]


def _compared_watts(view: AgainstView, chart: _Chart) -> tuple[Floats, Floats]:
    """What was measured in each column, and in one row what was expected there."""
    against = view.against
    lo_s, hi_s = view.span
    cell_s = (hi_s - lo_s) / chart.cells
    # Two moments a column, so that no reading as long as a column is missed.
    at = np.linspace(lo_s, hi_s, 2 * chart.cells * columns_per_cell(chart.glyphs))
    row = np.searchsorted(against.hi, at)
    row = np.clip(row, 0, len(against.hi) - 1)
    # A moment more than a cell before its reading still belongs to the one before it.
    is_before = at < against.lo[row] - cell_s
    row = np.where(is_before, np.maximum(row - 1, 0), row)
    return against.watts[row], against.expected[row][None]


def _folded_picture(
    view: FoldedView, width: int, height: int, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    """An epoch over the others, its difference from them, the findings, and step numbers."""
    chart = _Chart(width, height, view.unit, theme, glyphs)
    values = view.values
    epoch = values[view.line]
    others = np.delete(values, view.line, axis=0)
    stretches = [_step_cells(view, finding, chart.cells) for finding in view.findings]
    numbers = view.folded.numbers[view.line]

    def step_number(cell: int) -> str:
        step = min(len(numbers) - 1, cell * len(numbers) // chart.cells)
        number = int(numbers[step])
        return "" if number < 0 else str(number)

    rows = [
        chart.line(*_title(view)),
        *chart.overlay(epoch, others),
        chart.line((_caption(view), "title")),
        *chart.difference(epoch, others),
        chart.bars(stretches, view.selected),
        chart.ruler("step", 8, step_number),
    ]
    return rows[:height]


def _step_cells(view: FoldedView, finding: Finding, cells: int) -> tuple[int, int] | None:
    """The first cell of a finding in its epoch, and one past the last; None where it has none."""
    folded = view.folded
    if finding.epoch not in folded.epochs:
        return None
    start = folded.start[folded.epochs.index(finding.epoch)]
    inside = np.flatnonzero((start >= finding.start_ps) & (start < finding.end_ps))
    if not len(inside):
        return None
    first_step = int(inside[0])
    end_step = int(inside[-1]) + 1
    return first_step * cells // folded.steps, -(-end_step * cells // folded.steps)


def _title(view: FoldedView) -> list[tuple[str, str]]:
    others = [number for number in view.folded.epochs if number != view.epoch]
    quantity = "Mean power of each step" if view.unit == "W" else "Length of each step"
    rest = f"the other {len(others)}"
    if len(others) == 1:
        rest = f"epoch {others[0]}"
    return [
        (f"{quantity}: ", "title"),
        (f"epoch {view.epoch}", "power"),
        (f" over {rest}", "dim"),
    ]


def _caption(view: FoldedView) -> str:
    others = "the median of the others" if len(view.folded.epochs) > 2 else "the other"
    return f"Difference of epoch {view.epoch} from {others}"


class FoldedChart(Picture[FoldedView | AgainstView]):
    """Shows epochs over each other, or readings over what was expected; else a sentence."""

    def picture(
        self, view: FoldedView | AgainstView, width: int, height: int, theme: Theme, glyphs: Glyphs
    ) -> list[SegmentRow]:
        if isinstance(view, AgainstView):
            return _against_picture(view, width, height, theme, glyphs)
        return _folded_picture(view, width, height, theme, glyphs)
