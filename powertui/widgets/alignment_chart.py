"""Power where an alignment puts it, above what ran by the trace.

Edges that belong together are in the same column.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from rich.segment import Segment
from rich.style import Style

from powertui.data.model import PS_PER_S, Floats, Int64s
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.view.curve import Envelope, axis, columns_per_cell, draw, envelope
from powertui.widgets.picture import Picture, SegmentRow
from powertui.widgets.time_lane import fit_text

_GUTTER = 9  # cells for the labels of the axis
_MIN_DECIMALS = 2  # of a time below the chart, s
_CELLS_AROUND_DECIMALS = 8  # sign, whole seconds, point, unit and a gap


class AlignmentView(NamedTuple):
    """Both curves on the trace's time (ps), and the stretch that is shown."""

    lo: int
    hi: int
    at: Int64s  # moments of the readings
    watts: Floats
    hold: int  # how long a reading holds
    ran_at: Int64s
    ran: Floats  # expected watts, or the share of time in which something ran
    ran_unit: str
    caption: str
    half_ps: int = 0  # half of the offset's 95 % interval


def _picture(
    view: AlignmentView, width: int, height: int, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    """All rows: caption, power, uncertainty, what ran, times."""
    cells = max(1, width - _GUTTER)
    columns = cells * columns_per_cell(glyphs)
    edges = np.linspace(view.lo, view.hi, columns + 1).astype(np.int64)
    power_rows = max(2, (height - 3) * 3 // 5)
    ran_rows = max(1, height - 3 - power_rows)
    has_value = np.isfinite(view.watts)
    power = envelope(view.at[has_value], view.watts[has_value], edges, view.hold)
    ran = envelope(view.ran_at, view.ran, edges, view.hold)
    power_lines = _labelled_lines(power, power_rows, "W", glyphs)
    ran_lines = _labelled_lines(ran, ran_rows, view.ran_unit, glyphs)
    caption = fit_text(view.caption, width, glyphs.ellipsis)
    rows: list[SegmentRow] = [
        [Segment(caption, theme.style("title"))],
        *_strip(power_lines, theme.style("power"), theme),
        [Segment(_bar(view, cells, glyphs), theme.style("estimated"))],
        *_strip(ran_lines, theme.style("text"), theme),
        _ruler(view, cells, theme),
    ]
    return rows[:height]


def _labelled_lines(shape: Envelope, rows: int, unit: str, glyphs: Glyphs) -> list[tuple[str, str]]:
    """The rows of a curve, each with its label: the ends of the axis."""
    lowest = 0.0
    highest = 1.0
    if shape.known.any():
        lowest = float(np.nanmin(shape.low))
        highest = float(np.nanmax(shape.high))
    scale = axis(lowest, highest, rows)
    labels = [""] * rows
    labels[-1] = f"{scale.text(scale.lo)} {unit}"
    labels[0] = f"{scale.text(scale.hi)} {unit}"
    return list(zip(labels, draw(shape, scale, rows, glyphs), strict=True))


def _strip(rows: list[tuple[str, str]], ink: Style, theme: Theme) -> list[SegmentRow]:
    segments = []
    for label, line in rows:
        gutter = label[: _GUTTER - 1].rjust(_GUTTER - 1) + " "
        segments.append([Segment(gutter, theme.style("axis")), Segment(line, ink)])
    return segments


def _bar(view: AlignmentView, cells: int, glyphs: Glyphs) -> str:
    """A bar as long as the 95 % interval of the power's place."""
    text = ""
    if view.half_ps:
        length_ps = max(1, view.hi - view.lo)
        length = min(cells, round(2 * view.half_ps * cells / length_ps))
        if length > 1:
            text = glyphs.range_left + glyphs.horizontal * (length - 2) + glyphs.range_right
        text += f" {glyphs.plus_minus}{view.half_ps / PS_PER_S:.3g} s"
    return " " * _GUTTER + fit_text(text, cells)


def _ruler(view: AlignmentView, cells: int, theme: Theme) -> SegmentRow:
    text = [" "] * cells
    distance = max(10, cells // 8)  # cells between two times
    span_s = max(1, view.hi - view.lo) / PS_PER_S
    # Two times beside each other differ in the last digit but one.
    decimals = max(_MIN_DECIMALS, 1 + math.ceil(-math.log10(span_s * distance / cells)))
    distance = max(distance, decimals + _CELLS_AROUND_DECIMALS)
    for cell in range(0, cells, distance):
        ps = view.lo + (view.hi - view.lo) * cell / cells
        label = f"{ps / PS_PER_S:.{decimals}f} s"
        if cell + len(label) < cells:
            text[cell : cell + len(label)] = list(label)
    return [Segment(" " * _GUTTER + "".join(text), theme.style("axis"))]


class AlignmentChart(Picture[AlignmentView]):
    """Shows an `AlignmentView`; without one, a sentence."""

    def picture(
        self, view: AlignmentView, width: int, height: int, theme: Theme, glyphs: Glyphs
    ) -> list[SegmentRow]:
        return _picture(view, width, height, theme, glyphs)
