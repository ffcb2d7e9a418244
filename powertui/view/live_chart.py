"""The chart of the live screen: the stretch of time that it shows, and its rows."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence

import numpy as np

from powertui.data.live import History
from powertui.data.model import Int64s
from powertui.feed import NS
from powertui.plain import plain, width
from powertui.terminal.glyphs import Glyphs
from powertui.value_types import dataclass
from powertui.view import curve, limit_line, power_area
from powertui.view.live_texts import RoleLine, time_of_day

# How long a chart can be; each is a rung of the zoom.
SPANS_S = (30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800)
AXIS_WIDTH = 8
# Between two times of day below the chart.
_SHORT_TIME_STEPS_S = (5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)
_TIME_STEPS_S = (*_SHORT_TIME_STEPS_S, 3600, 7200, 10800, 21600, 43200, 86400)
_TIME_GAP_CELLS = 6  # blank cells behind a time of day, at least


def fitting_span_s(seconds: float, longest: int = SPANS_S[-1]) -> int:
    """The shortest span that shows so many seconds, within reason."""
    enough_s = min(seconds, longest)
    for span_s in SPANS_S:
        if span_s >= enough_s:
            return span_s
    return SPANS_S[-1]


@dataclass(frozen=True)
class LiveSpan:
    """What the chart shows."""

    span_s: int = 300
    end_ns: int | None = None  # None: the present, and it moves along

    @property
    def follows(self) -> bool:
        return self.end_ns is None

    def bounds(self, now_ns: int, cells: int) -> tuple[int, int, int]:
        """(first edge, last edge, ns per cell), on a grid that stands still while time passes."""
        cells = max(1, cells)
        span_ns = self.span_s * NS
        cell_ns = max(1, -(-span_ns // cells))
        # Edges are at multiples of a whole cell: what was drawn moves left by cells and is not
        # drawn anew.
        last_cell = -(-self._end(now_ns) // cell_ns)
        last_ns = last_cell * cell_ns
        first_ns = last_ns - cells * cell_ns
        return first_ns, last_ns, cell_ns

    def _end(self, now_ns: int) -> int:
        if self.end_ns is None:
            return now_ns
        return self.end_ns

    def zoomed(self, direction: int) -> LiveSpan:
        """The next shorter (1) or longer (-1) span."""
        nearest_s = min(SPANS_S, key=lambda span_s: abs(span_s - self.span_s))
        rung = SPANS_S.index(nearest_s) - direction
        last_rung = len(SPANS_S) - 1
        rung = max(0, min(last_rung, rung))
        return LiveSpan(SPANS_S[rung], self.end_ns)

    def panned(
        self,
        share: float,
        now_ns: int,
        first_ns: int,
    ) -> LiveSpan:
        """Moved by a share of the span. Scrolled to the present, it follows again."""
        span_ns = self.span_s * NS
        end_ns = self._end(now_ns) + int(share * span_ns)
        end_ns = max(end_ns, first_ns + span_ns // 4)
        return LiveSpan(self.span_s, None if end_ns >= now_ns else end_ns)


def chart(
    history: History,
    view: LiveSpan,
    now_ns: int,
    hold_ns: int,
    size: tuple[int, int],
    glyphs: Glyphs,
    marks: Sequence[tuple[int, str]],
) -> list[RoleLine]:
    """The history of one channel: axis, curve, limits, marked moments and the time of day."""
    columns, rows = size
    cells = columns - AXIS_WIDTH
    height = rows - 2
    if cells < 8 or height < 2:
        return []
    first_ns, last_ns, cell_ns = view.bounds(now_ns, cells)
    edges = first_ns + cell_ns * np.arange(cells + 1, dtype=np.int64)
    part = history.pieces(first_ns - hold_ns, last_ns)
    shape = curve.envelope(
        times=part.since,
        values=part.low,
        edges=edges,
        hold=hold_ns,
        high=part.high,
        until=part.until,
    )
    # The future is not known: a value holds until now, no further.
    is_future = edges[:-1] > now_ns
    shape.low[is_future] = np.nan
    limits = _limits(history, edges, now_ns)
    scale = _scale(shape, limits, height)
    area = power_area.draw_area(
        shape,
        scale,
        height,
        glyphs,
    )
    chars = [list(text) for text in area]
    limit_cells = set(limit_line.draw(chars, limits, scale.axis, glyphs.horizontal))
    lines: list[RoleLine] = []
    labels = _axis_labels(scale, height, glyphs)
    roles = power_area.row_roles(scale, height)
    for row, text in enumerate(chars):
        is_limit = [(row, cell) in limit_cells for cell in range(cells)]
        runs = _runs(text, is_limit, roles[row])
        lines.append([(labels[row], "axis"), *runs])
    indent = (" " * AXIS_WIDTH, "axis")
    marked = _marks(marks, first_ns, cell_ns, cells, glyphs)
    lines.append([indent, (marked, "cursor")])
    times = _times(first_ns, cell_ns, cells)
    lines.append([indent, (times, "axis")])
    return lines


def _scale(
    shape: curve.Envelope,
    limits: Sequence[tuple[Int64s, float]],
    height: int,
) -> power_area.PowerScale:
    """The scale of what is in view, with the limits that are near it."""
    if not shape.known.any():
        return power_area.power_scale(math.nan, math.nan, height)
    lowest = float(np.nanmin(shape.low))
    highest = float(np.nanmax(shape.high))
    highest = limit_line.highest(highest, (watts for _, watts in limits))
    return power_area.power_scale(lowest, highest, height)


def _axis_labels(
    scale: power_area.PowerScale,
    height: int,
    glyphs: Glyphs,
) -> list[str]:
    """The label left of each row: ticks in watts, the unit in the first row where it fits."""
    ticks = power_area.row_labels(scale, height, glyphs)
    has_unit = max(map(len, ticks)) <= AXIS_WIDTH - 3
    labels = []
    for row, tick in enumerate(ticks):
        label = tick
        if has_unit:
            label += " W" if row == 0 else "  "
        labels.append(label.rjust(AXIS_WIDTH - 1) + power_area.edge_tick(tick, glyphs))
    return labels


def _limits(history: History, edges: Int64s, now_ns: int) -> list[tuple[Int64s, float]]:
    """(columns, W) of the limits that hold somewhere in view, up to now."""
    ends = [limit.start_ns for limit in history.limits[1:]]
    ends.append(now_ns)
    limits = []
    for limit, end_ns in zip(history.limits, ends, strict=False):
        is_in_view = limit.start_ns < edges[-1] and end_ns > edges[0]
        if not is_in_view or math.isnan(limit.watts):
            continue
        holds = (edges[1:] > limit.start_ns) & (edges[:-1] < end_ns)
        columns = np.flatnonzero(holds)
        limits.append((columns, limit.watts))
    return limits


def _runs(text: Sequence[str], limits: Sequence[bool], role: str) -> RoleLine:
    """A row of the chart: the area in its role, and the line of a limit where that is."""
    runs = []
    cells = zip(text, limits, strict=True)
    for is_limit, group in itertools.groupby(cells, key=lambda cell: cell[1]):
        chars = "".join(char for char, _ in group)
        run_role = "estimated" if is_limit else role
        runs.append((chars, run_role))
    return runs


def _times(first_ns: int, cell_ns: int, cells: int) -> str:
    """Times of day below the chart, each beginning at the cell it stands for."""
    span_ns = cell_ns * cells
    has_seconds = span_ns < 3600 * NS
    length = len("12:34:56") if has_seconds else len("12:34")
    min_step_ns = cell_ns * (length + _TIME_GAP_CELLS)
    for step_s in _TIME_STEPS_S:
        step_ns = step_s * NS
        if step_ns >= min_step_ns:
            break
    # Round in the zone of this machine: midnight is a tick here, not in UTC.
    zone_ns = time.localtime(first_ns / NS).tm_gmtoff * NS
    first_step = -(-(first_ns + zone_ns) // step_ns)
    at_ns = first_step * step_ns - zone_ns
    line = [" "] * cells
    while at_ns < first_ns + span_ns:
        cell = (at_ns - first_ns) // cell_ns
        stop = cell + length
        if stop <= cells:
            line[cell:stop] = time_of_day(at_ns, has_seconds)
        at_ns += step_ns
    return "".join(line)


def _marks(
    marks: Sequence[tuple[int, str]],
    first_ns: int,
    cell_ns: int,
    cells: int,
    glyphs: Glyphs,
) -> str:
    """Names of marked moments, where they fit; at least a sign where they do not."""
    line = [" "] * cells
    shown = []
    for at_ns, text in sorted(marks):
        cell = (at_ns - first_ns) // cell_ns
        if 0 <= cell < cells:
            shown.append((cell, text))
    next_cells = [*(cell for cell, _ in shown[1:]), cells]
    for (cell, text), next_cell in zip(shown, next_cells, strict=False):
        line[cell] = glyphs.cursor
        name = plain(text, 16)
        stop = cell + 1 + len(name)
        has_wide_chars = width(name) != len(name)
        if stop <= next_cell and not has_wide_chars:
            line[cell + 1 : stop] = name
    return "".join(line)
