"""Epochs laid onto each other by step: one against the others, their difference, and the stretches
that stand out.

What is drawn is decided by `draw`, which knows no screen; the widget below only shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui.data.energy.findings.finding import Against, Finding
from powertui.data.energy.fold import Folded
from powertui.data.model import PS_PER_S, Floats, Int64s
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.view.curve import Axis, Envelope, axis, columns_per_cell, draw, envelope
from powertui.widgets.picture import Picture, SegmentRow
from powertui.widgets.time_lane import fit_text

_GUTTER = 9
_ROOM, _ROOM_S = 2.0, 2.0  # around a finding: so many times its length, and s at least
_STEP = 1000  # a step's width in the units of `envelope`


class FoldedView(NamedTuple):
    """What is looked at: one epoch (a line of `folded`), by watts or by seconds, and the finding
    under the cursor.
    """

    folded: Folded
    line: int
    findings: tuple[Finding, ...]
    selected: int = -1
    times: bool = False

    @property
    def values(self) -> Floats:
        """Watts, or milliseconds where times are asked for or no power is known."""
        return (
            self.folded.seconds * 1e3
            if self.times or not np.isfinite(self.folded.watts).any()
            else self.folded.watts
        )

    @property
    def unit(self) -> str:
        return "ms" if self.times or not np.isfinite(self.folded.watts).any() else "W"


class AgainstView(NamedTuple):
    """What a run without epochs to compare is looked at by: its readings, and what they were held
    against.
    """

    against: Against
    findings: tuple[Finding, ...]
    selected: int = -1

    @property
    def span(self) -> tuple[float, float]:
        """What is drawn, s: the finding under the cursor and as much again around it, or all that
        was held against anything.
        """
        known = np.flatnonzero(np.isfinite(self.against.expected))
        if not len(known):
            return 0.0, 1.0
        first, last = float(self.against.lo[known[0]]), float(self.against.hi[known[-1]])
        if not 0 <= self.selected < len(self.findings):
            return first, last
        one = self.findings[self.selected]
        start, end = one.start_ps / PS_PER_S, one.end_ps / PS_PER_S
        room = max(_ROOM * (end - start), _ROOM_S)
        return max(min(first, start), start - room), min(max(last, end), end + room)


def _held(
    view: AgainstView, width: int, height: int, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    """All rows of the chart: title, readings over what was expected of them, their difference,
    found stretches, seconds.
    """
    cells = max(1, width - _GUTTER)
    upper = max(2, (height - 4) * 3 // 5)
    lower = max(1, height - 4 - upper)
    lo, hi = view.span
    at = np.linspace(lo, hi, 2 * cells * columns_per_cell(glyphs))
    row = np.clip(np.searchsorted(view.against.hi, at), 0, len(view.against.hi) - 1)
    row = np.where(at < view.against.lo[row] - (hi - lo) / cells, np.maximum(row - 1, 0), row)
    mine, others = view.against.watts[row], view.against.expected[row][None]
    power, dim, title = theme.style("power"), theme.style("dim"), theme.style("title")
    rows = [
        _fitted(
            [
                Segment("Power: ", title),
                Segment("measured", power),
                Segment(" over what the trace explains", dim),
            ],
            width,
            glyphs,
        )
    ]
    rows += _overlay(mine, others, cells, upper, "W", theme, glyphs)
    rows.append(
        _fitted([Segment("Power that nothing in the trace explains", title)], width, glyphs)
    )
    rows += _difference(mine, others, cells, lower, "W", theme, glyphs)
    places = [
        (
            int((one.start_ps / PS_PER_S - lo) / (hi - lo) * cells),
            -int(-(one.end_ps / PS_PER_S - lo) / (hi - lo) * cells),
        )
        for one in view.findings
    ]
    rows.append(_bars(places, view.selected, cells, theme, glyphs))
    text = [" "] * cells
    for cell in range(0, cells, max(10, cells // 8)):
        label = f"{lo + (hi - lo) * cell / cells:.4g}"
        if cell + len(label) < cells:
            text[cell : cell + len(label)] = list(label)
    rows.append([Segment("s".rjust(_GUTTER - 1) + " " + "".join(text), theme.style("axis"))])
    return rows[:height]


def _picture(
    view: FoldedView, width: int, height: int, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    """All rows of the chart: title, overlay, difference, found stretches, step numbers."""
    cells = max(1, width - _GUTTER)
    upper = max(2, (height - 4) * 3 // 5)
    lower = max(1, height - 4 - upper)
    values = view.values
    mine = values[view.line]
    others = np.delete(values, view.line, axis=0)
    rows = [_title(view, width, theme, glyphs)]
    rows += _overlay(mine, others, cells, upper, view.unit, theme, glyphs)
    rows.append(_caption(view, width, theme, glyphs))
    rows += _difference(mine, others, cells, lower, view.unit, theme, glyphs)
    rows.append(_stretches(view, cells, theme, glyphs))
    rows.append(_ruler(view.folded.numbers[view.line], cells, theme))
    return rows[:height]


def _shape(values: Floats, cells: int, glyphs: Glyphs) -> Envelope:
    columns = cells * columns_per_cell(glyphs)
    count = len(values)
    edges = np.linspace(0, count * _STEP, columns + 1).astype(np.int64)
    known = np.flatnonzero(np.isfinite(values))
    return envelope(known * _STEP, values[known], edges, _STEP - 1)


def _all(values: Floats, cells: int, glyphs: Glyphs) -> Envelope:
    """Lowest and highest of several epochs in each column."""
    shapes = [_shape(row, cells, glyphs) for row in values]
    return Envelope(
        np.fmin.reduce([s.low for s in shapes]), np.fmax.reduce([s.high for s in shapes])
    )


def _scale(values: Floats, rows: int) -> Axis:
    good = values[np.isfinite(values)]
    if not len(good):
        return axis(0.0, 1.0, rows)
    # A tracing step of seconds among steps of milliseconds must not flatten the rest.
    low, high = np.percentile(good, [0, 99]) if len(good) > 50 else (good.min(), good.max())
    return axis(float(low), float(high), rows)


def _overlay(
    mine: Floats, others: Floats, cells: int, rows: int, unit: str, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    scale = _scale(np.concatenate([mine, others.ravel()]), rows)
    behind = draw(_all(others, cells, glyphs), scale, rows, glyphs)
    front = draw(_shape(mine, cells, glyphs), scale, rows, glyphs)
    power, dim = theme.style("power"), theme.style("dim")
    out = []
    for number, (back, line) in enumerate(zip(behind, front, strict=True)):
        label = _label(scale, number, rows, unit)
        out.append([Segment(label, theme.style("axis")), *_runs(line, back, power, dim)])
    return out


def _label(scale: Axis, number: int, rows: int, unit: str) -> str:
    if number == 0:
        return f"{scale.text(scale.hi)} {unit}"[: _GUTTER - 1].rjust(_GUTTER - 1) + " "
    if number == rows - 1:
        return f"{scale.text(scale.lo)} {unit}"[: _GUTTER - 1].rjust(_GUTTER - 1) + " "
    return " " * _GUTTER


def _runs(front: str, back: str, over: Style, under: Style) -> SegmentRow:
    """Two lines of one chart: the front covers the back, cell by cell."""
    segments: SegmentRow = []
    text, style = "", over
    for a, b in zip(front, back, strict=True):
        char, ink = (a, over) if a != " " else (b, under)
        if ink is not style and text:
            segments.append(Segment(text, style))
            text = ""
        text, style = text + char, ink
    if text:
        segments.append(Segment(text, style))
    return segments


def _difference(
    mine: Floats, others: Floats, cells: int, rows: int, unit: str, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    some = np.isfinite(others).any(axis=0)
    usual = np.full(len(mine), np.nan)
    usual[some] = np.nanmedian(others[:, some], axis=0)
    difference = mine - usual
    good = np.abs(difference[np.isfinite(difference)])
    top = float(np.percentile(good, 99)) if len(good) else 1.0
    scale = Axis(-max(top, 1e-9), max(top, 1e-9), max(top, 1e-9))
    lines = draw(_shape(difference, cells, glyphs), scale, rows, glyphs)
    zero = (rows - 1) // 2 if rows > 2 else rows - 1
    out = []
    for number, line in enumerate(lines):
        if number == 0:
            label = f"{top:+.{0 if top >= 10 else 1}f} {unit}"
        elif number == rows - 1 and rows > 1:
            label = f"{-top:+.{0 if top >= 10 else 1}f} {unit}"
        else:
            label = "0" if number == zero else ""
        rule = glyphs.horizontal * cells if number == zero else " " * cells
        text = label[: _GUTTER - 1].rjust(_GUTTER - 1) + " "
        out.append(
            [
                Segment(text, theme.style("axis")),
                *_runs(line, rule, theme.style("estimated"), theme.style("grid")),
            ]
        )
    return out


def _columns(view: FoldedView, finding: Finding) -> tuple[int, int] | None:
    """First and one past the last column of a finding's steps."""
    try:
        line = view.folded.epochs.index(finding.epoch)
    except ValueError:
        return None
    start = view.folded.start[line]
    inside = np.flatnonzero((start >= finding.start_ps) & (start < finding.end_ps))
    return (int(inside[0]), int(inside[-1]) + 1) if len(inside) else None


def _stretches(view: FoldedView, cells: int, theme: Theme, glyphs: Glyphs) -> SegmentRow:
    """The findings as bars below the chart; the one under the cursor stands out."""
    count = view.folded.steps
    places = [_columns(view, finding) for finding in view.findings]
    return _bars(
        [
            None if place is None else (place[0] * cells // count, -(-place[1] * cells // count))
            for place in places
        ],
        view.selected,
        cells,
        theme,
        glyphs,
    )


def _bars(
    places: Sequence[tuple[int, int] | None],
    selected: int,
    cells: int,
    theme: Theme,
    glyphs: Glyphs,
) -> SegmentRow:
    """Stretches, from a cell to one past another, as bars."""
    chars, styles = [" "] * cells, [theme.style("dim")] * cells
    for number, place in enumerate(places):
        if place is None or place[1] < 0 or place[0] >= cells:
            continue
        lo = max(place[0], 0)
        hi = max(lo + 1, min(place[1], cells))
        chosen = number == selected
        bar = (
            glyphs.range_left + glyphs.horizontal * (hi - lo - 2) + glyphs.range_right
            if hi - lo > 1
            else glyphs.vertical
        )
        for at, char in zip(range(lo, min(hi, cells)), bar, strict=False):
            chars[at], styles[at] = char, theme.style("marked" if chosen else "warn")
    segments: SegmentRow = [Segment(" " * _GUTTER, theme.style("axis"))]
    for char, style in zip(chars, styles, strict=True):
        if segments and segments[-1].style is style:
            segments[-1] = Segment(segments[-1].text + char, style)
        else:
            segments.append(Segment(char, style))
    return segments


def _ruler(numbers: Int64s, cells: int, theme: Theme) -> SegmentRow:
    """Step numbers, as many as stand apart."""
    count = len(numbers)
    text = [" "] * cells
    apart = max(8, cells // 8)
    for at in range(0, cells, apart):
        number = int(numbers[min(count - 1, at * count // cells)])
        label = "" if number < 0 else str(number)
        if at + len(label) < cells:
            text[at : at + len(label)] = list(label)
    return [Segment("step".rjust(_GUTTER - 1) + " " + "".join(text), theme.style("axis"))]


def _title(view: FoldedView, width: int, theme: Theme, glyphs: Glyphs) -> SegmentRow:
    epoch = view.folded.epochs[view.line]
    others = [str(e) for e in view.folded.epochs if e != epoch]
    what = "Mean power of each step" if view.unit == "W" else "Length of each step"
    rest = f"epoch {others[0]}" if len(others) == 1 else f"the other {len(others)}"
    power, dim = theme.style("power"), theme.style("dim")
    left = [
        Segment(f"{what}: ", theme.style("title")),
        Segment(f"epoch {epoch}", power),
        Segment(f" over {rest}", dim),
    ]
    return _fitted(left, width, glyphs)


def _caption(view: FoldedView, width: int, theme: Theme, glyphs: Glyphs) -> SegmentRow:
    epoch = view.folded.epochs[view.line]
    many = len(view.folded.epochs) > 2
    words = (
        f"Difference of epoch {epoch} from {'the median of the others' if many else 'the other'}"
    )
    return _fitted([Segment(words, theme.style("title"))], width, glyphs)


def _fitted(segments: Sequence[Segment], width: int, glyphs: Glyphs) -> SegmentRow:
    out: SegmentRow = []
    room = width
    for text, style, _ in segments:
        out.append(
            Segment(text if len(text) <= room else fit_text(text, room, glyphs.ellipsis), style)
        )
        room -= len(out[-1].text)
        if room <= 0:
            break
    return out


class FoldedChart(Picture[FoldedView | AgainstView]):
    """Shows epochs over each other, or readings over what was expected; without either, a
    sentence.
    """

    def picture(
        self, view: FoldedView | AgainstView, width: int, height: int, theme: Theme, glyphs: Glyphs
    ) -> list[SegmentRow]:
        if isinstance(view, AgainstView):
            return _held(view, width, height, theme, glyphs)
        return _picture(view, width, height, theme, glyphs)
