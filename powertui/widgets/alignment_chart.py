"""Power where an alignment puts it, above what ran by the trace.

Edges that belong together are in the same column.
"""

from __future__ import annotations

import numpy as np
from rich.segment import Segment

from powertui.data.model import PS_PER_S, Floats, Int64s
from powertui.named_tuples import NamedTuple
from powertui.terminal.glyphs import Glyphs
from powertui.terminal.theme import Theme
from powertui.view.curve import envelope
from powertui.widgets.area_chart import GUTTER_CELLS, AreaChart, second_ticks
from powertui.widgets.picture import Picture, SegmentRow
from powertui.widgets.time_lane import fit_text

_TICK_CELLS = 10  # from one label of the ruler to the next, at least
_MIN_S = 1e-12  # an axis without length would have no marks


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
    view: AlignmentView,
    width: int,
    height: int,
    theme: Theme,
    glyphs: Glyphs,
) -> list[SegmentRow]:
    """All rows: caption, power, uncertainty, what ran, times."""
    chart = AreaChart(
        width=width,
        height=height,
        unit="W",
        theme=theme,
        glyphs=glyphs,
    )
    edges = np.linspace(view.lo, view.hi, chart.cells + 1).astype(np.int64)
    power_rows = max(2, (height - 3) * 3 // 5)
    ran_rows = max(1, height - 3 - power_rows)
    has_value = np.isfinite(view.watts)
    power = envelope(
        view.at[has_value],
        view.watts[has_value],
        edges,
        view.hold,
    )
    ran = envelope(view.ran_at, view.ran, edges, view.hold)
    caption = fit_text(view.caption, width, glyphs.ellipsis)
    lo_s = view.lo / PS_PER_S
    hi_s = view.hi / PS_PER_S
    rows: list[SegmentRow] = [
        [Segment(caption, theme.style("title"))],
        *chart.filled(power, power_rows, "W"),
        [Segment(_bar(view, chart.cells, glyphs), theme.style("estimated"))],
        *chart.filled(ran, ran_rows, view.ran_unit, "step_bars"),
        chart.ruler("", second_ticks(lo_s, max(hi_s, lo_s + _MIN_S), chart.cells, _TICK_CELLS)),
    ]
    return rows[:height]


def _bar(view: AlignmentView, cells: int, glyphs: Glyphs) -> str:
    """A bar as long as the 95 % interval of the power's place."""
    text = ""
    if view.half_ps:
        length_ps = max(1, view.hi - view.lo)
        length = min(cells, round(2 * view.half_ps * cells / length_ps))
        if length > 1:
            text = glyphs.range_left + glyphs.horizontal * (length - 2) + glyphs.range_right
        text += f" {glyphs.plus_minus}{view.half_ps / PS_PER_S:.3g} s"
    return " " * GUTTER_CELLS + fit_text(text, cells)


class AlignmentChart(Picture[AlignmentView]):
    """Shows an `AlignmentView`; without one, a sentence."""

    def picture(
        self,
        view: AlignmentView,
        width: int,
        height: int,
        theme: Theme,
        glyphs: Glyphs,
    ) -> list[SegmentRow]:
        return _picture(view, width, height, theme, glyphs)
