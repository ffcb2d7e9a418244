"""The chart of the live screen: the stretch of time that it shows, and its rows."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Sequence

import numpy as np

from powertui.data.live import History
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
    enough = min(seconds, longest)
    return next((span for span in SPANS_S if span >= enough), SPANS_S[-1])


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
        cell = max(1, -(-self.span_s * NS // cells))
        # Edges are at multiples of a whole cell: what was drawn moves left by cells and is not
        # drawn anew.
        last = -(-(now_ns if self.end_ns is None else self.end_ns) // cell) * cell
        return last - cells * cell, last, cell

    def zoomed(self, direction: int) -> LiveSpan:
        """The next shorter (1) or longer (-1) span."""
        nearest = min(SPANS_S, key=lambda span: abs(span - self.span_s))
        rung = SPANS_S.index(nearest) - direction
        return LiveSpan(SPANS_S[max(0, min(len(SPANS_S) - 1, rung))], self.end_ns)

    def panned(self, share: float, now_ns: int, first_ns: int) -> LiveSpan:
        """Moved by a share of the span. Scrolled to the present, it follows again."""
        end = (now_ns if self.end_ns is None else self.end_ns) + int(share * self.span_s * NS)
        end = max(end, first_ns + self.span_s * NS // 4)
        return LiveSpan(self.span_s, None if end >= now_ns else end)


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
    first, last, cell_ns = view.bounds(now_ns, cells)
    edges = first + cell_ns * np.arange(cells + 1, dtype=np.int64)
    part = history.pieces(first - hold_ns, last)
    shape = curve.envelope(part.since, part.low, edges, hold_ns, high=part.high, until=part.until)
    # The future is not known: a value holds until now, no further.
    shape.low[edges[:-1] > now_ns] = np.nan
    caps = _caps(history, first, last, now_ns)
    lowest = highest = math.nan
    if shape.known.any():
        lowest = float(np.nanmin(shape.low))
        highest = limit_line.highest(float(np.nanmax(shape.high)), (watts for _, _, watts in caps))
    scale = power_area.power_scale(lowest, highest, height)
    chars = [list(text) for text in power_area.draw_area(shape, scale, height, glyphs)]
    starts = edges[:-1]
    capped = (
        (np.flatnonzero((starts + cell_ns > lo) & (starts < hi)), watts) for lo, hi, watts in caps
    )
    limit_cells = set(limit_line.draw(chars, capped, scale.axis, glyphs.horizontal))
    lines: list[RoleLine] = []
    labels = _axis_labels(scale, height, glyphs)
    roles = power_area.row_roles(scale, height)
    for row, (text, label) in enumerate(zip(chars, labels, strict=True)):
        limits = [(row, cell) in limit_cells for cell in range(cells)]
        lines.append([(label, "axis"), *_runs(text, limits, roles[row])])
    indent = (" " * AXIS_WIDTH, "axis")
    lines.append([indent, (_marks(marks, first, cell_ns, cells, glyphs), "cursor")])
    lines.append([indent, (_times(first, cell_ns, cells), "axis")])
    return lines


def _axis_labels(scale: power_area.PowerScale, height: int, glyphs: Glyphs) -> list[str]:
    """The label left of each row: ticks in watts, the unit in the first row where it fits."""
    ticks = power_area.row_labels(scale, height, glyphs)
    has_unit = max(map(len, ticks)) <= AXIS_WIDTH - 3
    labels = []
    for row, tick in enumerate(ticks):
        label = tick
        if has_unit:
            label += " W" if row == 0 else "  "
        labels.append(label.rjust(AXIS_WIDTH - 1) + (glyphs.vertical if tick else " "))
    return labels


def _caps(history: History, first: int, last: int, now_ns: int) -> list[tuple[int, int, float]]:
    """(start, end, W) of the limits that hold somewhere in view, up to now."""
    ends = [*(cap.start_ns for cap in history.limits[1:]), now_ns]
    caps = []
    for cap, end in zip(history.limits, ends, strict=False):
        if cap.start_ns < last and end > first and not math.isnan(cap.watts):
            caps.append((cap.start_ns, end, cap.watts))
    return caps


def _runs(text: Sequence[str], limits: Sequence[bool], role: str) -> RoleLine:
    """A row of the chart: the area in its role, and the line of a limit where that is."""
    runs = []
    cells = zip(text, limits, strict=True)
    for is_limit, group in itertools.groupby(cells, key=lambda cell: cell[1]):
        chars = "".join(char for char, _ in group)
        runs.append((chars, "estimated" if is_limit else role))
    return runs


def _times(first_ns: int, cell_ns: int, cells: int) -> str:
    """Times of day below the chart, each beginning at the cell it stands for."""
    seconds = cell_ns * cells < 3600 * NS
    length = 8 if seconds else 5
    min_step_ns = cell_ns * (length + _TIME_GAP_CELLS)
    step = (
        next((step for step in _TIME_STEPS_S if step * NS >= min_step_ns), _TIME_STEPS_S[-1]) * NS
    )
    # Round in the zone of this machine: midnight is a tick here, not in UTC.
    zone = time.localtime(first_ns / NS).tm_gmtoff * NS
    at = -(-(first_ns + zone) // step) * step - zone
    line = [" "] * cells
    while at < first_ns + cell_ns * cells:
        cell = (at - first_ns) // cell_ns
        if cell + length <= cells:
            line[cell : cell + length] = time_of_day(at, seconds)
        at += step
    return "".join(line)


def _marks(
    marks: Sequence[tuple[int, str]], first_ns: int, cell_ns: int, cells: int, glyphs: Glyphs
) -> str:
    """Names of marked moments, where they fit; at least a sign where they do not."""
    line = [" "] * cells
    placed = [((at - first_ns) // cell_ns, text) for at, text in sorted(marks)]
    shown = [(cell, text) for cell, text in placed if 0 <= cell < cells]
    ends = [*(cell for cell, _ in shown[1:]), cells]
    for (cell, text), end in zip(shown, ends, strict=False):
        line[cell] = glyphs.cursor
        name = plain(text, 16)
        if cell + 1 + width(name) <= end and width(name) == len(name):
            line[cell + 1 : cell + 1 + len(name)] = name
    return "".join(line)
