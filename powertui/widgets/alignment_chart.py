"""Power where an alignment puts it, above what the trace says ran: edges that belong together stand
under each other.
"""

from __future__ import annotations

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

_GUTTER = 9


class AlignmentView(NamedTuple):
    """Both curves on the trace's time (ps), and the stretch that is shown."""

    lo: int
    hi: int
    at: Int64s  # moments that the readings tell of
    watts: Floats
    hold: int  # how long a reading stands
    ran_at: Int64s
    ran: Floats  # expected watts, or the share of time in which something ran
    ran_unit: str
    caption: str
    half_ps: int = 0  # half of the offset's 95 % interval


def _picture(
    view: AlignmentView, width: int, height: int, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    """All rows: caption, power, what ran, times."""
    cells = max(1, width - _GUTTER)
    edges = np.linspace(view.lo, view.hi, cells * columns_per_cell(glyphs) + 1).astype(np.int64)
    upper = max(2, (height - 3) * 3 // 5)
    lower = max(1, height - 3 - upper)
    rows: list[SegmentRow] = [
        [Segment(fit_text(view.caption, width, glyphs.ellipsis), theme.style("title"))]
    ]
    known = np.isfinite(view.watts)
    power = envelope(view.at[known], view.watts[known], edges, view.hold)
    rows += _strip(power, upper, "W", theme.style("power"), theme, glyphs)
    rows.append([Segment(_bar(view, cells, glyphs), theme.style("estimated"))])
    rows += _strip(
        envelope(view.ran_at, view.ran, edges, view.hold),
        lower,
        view.ran_unit,
        theme.style("text"),
        theme,
        glyphs,
    )
    rows.append(_ruler(view, cells, theme))
    return rows[:height]


def _strip(
    shape: Envelope, rows: int, unit: str, ink: Style, theme: Theme, glyphs: Glyphs
) -> list[SegmentRow]:
    some = shape.known.any()
    scale = axis(
        float(np.nanmin(shape.low)) if some else 0.0,
        float(np.nanmax(shape.high)) if some else 1.0,
        rows,
    )
    out: list[SegmentRow] = []
    for number, line in enumerate(draw(shape, scale, rows, glyphs)):
        label = ""
        if number == 0:
            label = f"{scale.text(scale.hi)} {unit}"
        elif number == rows - 1:
            label = f"{scale.text(scale.lo)} {unit}"
        gutter = label[: _GUTTER - 1].rjust(_GUTTER - 1) + " "
        out.append([Segment(gutter, theme.style("axis")), Segment(line, ink)])
    return out


def _bar(view: AlignmentView, cells: int, glyphs: Glyphs) -> str:
    """How far the power may still lie to either side."""
    length = min(cells, round(2 * view.half_ps * cells / max(1, view.hi - view.lo)))
    bar = (
        glyphs.range_left + glyphs.horizontal * (length - 2) + glyphs.range_right
        if length > 1
        else ""
    )
    return " " * _GUTTER + fit_text(
        f"{bar} {glyphs.plus_minus}{view.half_ps / PS_PER_S:.3g} s" if view.half_ps else "", cells
    )


def _ruler(view: AlignmentView, cells: int, theme: Theme) -> SegmentRow:
    text = [" "] * cells
    apart = max(10, cells // 8)
    for at in range(0, cells, apart):
        label = f"{(view.lo + (view.hi - view.lo) * at / cells) / PS_PER_S:.2f} s"
        if at + len(label) < cells:
            text[at : at + len(label)] = list(label)
    return [Segment(" " * _GUTTER + "".join(text), theme.style("axis"))]


class AlignmentChart(Picture[AlignmentView]):
    """Shows a `AlignmentView`; without one, a sentence."""

    def picture(
        self, view: AlignmentView, width: int, height: int, theme: Theme, glyphs: Glyphs
    ) -> list[SegmentRow]:
        return _picture(view, width, height, theme, glyphs)
