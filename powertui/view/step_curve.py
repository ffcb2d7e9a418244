"""A value that holds until the next one: scalars, counters and power above the timeline.

A frame costs its cells: two binary searches and some blocks for each (`data/extremes.py`), however
long the column is. Long columns stay packed, and only the pieces that a frame asks for are
unpacked; a column of up to a day is unpacked as a whole and kept for the next frames.
"""

from __future__ import annotations

import math

import numpy as np

from powertui.data import packed
from powertui.data.extremes import Extremes
from powertui.data.model import Floats, Int64s
from powertui.data.packed import KeptColumn
from powertui.view.curve import Envelope


class StepCurve:
    """`values[i]` holds from `at[i]` to `at[i + 1]`, the last one until `end`; NaN is no value."""

    def __init__(
        self,
        at: Int64s,
        values: Floats,
        end: int | None = None,
    ) -> None:
        count = len(values)
        self.at = packed.pack_column(at)
        self.values = packed.pack_column(values)
        self._start = 0
        self.end = end or 0
        if len(at):
            self._start = int(at[0])
            if end is None:
                self.end = int(at[-1])
        self.extremes = Extremes(self.values)
        is_unknown = ~np.isfinite(values)
        self.unknown = int(np.count_nonzero(is_unknown))  # stretches without a value
        self.range: tuple[float, float] | None = None
        if self.unknown < count:
            everything = self.extremes.over_stretches(np.array([0]), np.array([count]))
            self.range = float(everything.low[0]), float(everything.high[0])

    @property
    def span(self) -> tuple[int, int]:
        """From where to where there are values, with holes between them."""
        if len(self.values):
            return (self._start, self.end)
        return (0, 0)

    def value(self, moment: int) -> float:
        """The value that holds at a moment; NaN in a hole and outside."""
        started = int(self.at.searchsorted(moment, side="right"))
        row = min(started, len(self.values)) - 1
        has_value = row >= 0 and moment < self.end
        if not has_value:
            return math.nan
        return float(self.values[row])

    def envelope(self, edges: Int64s) -> Envelope:
        """The lowest and the highest of all values that hold in each [edge, next edge)."""
        rows = len(self.values)
        cell_starts = edges[:-1]
        if not rows:
            unknown = np.full(len(cell_starts), math.nan)
            return Envelope(unknown, unknown.copy())
        visible_length = int(edges[-1] - edges[0])
        at, values = self._visible_columns(visible_length)
        rows_at_edges = np.minimum(at.searchsorted(edges), rows)
        first = rows_at_edges[:-1]
        end = rows_at_edges[1:]
        inside = self.extremes.over_stretches(first, end)
        # The values that start inside of a cell are not all: one more holds where it begins.
        entering = _rows_at(at, cell_starts, first, rows)
        has_value = (entering >= 0) & (cell_starts < self.end)
        entering_values = values[np.maximum(entering, 0)]
        held = np.where(has_value, entering_values, math.nan)
        lowest = np.fmin(inside.low, held)
        highest = np.fmax(inside.high, held)
        return Envelope(lowest, highest)

    def _visible_columns(self, visible_length: int) -> tuple[KeptColumn, KeptColumn]:
        """Moments and values, unpacked where a frame of this length asks for many of them."""
        length = max(self.end - self._start, 1)
        visible_share = min(1.0, visible_length / length)
        visible_rows = round(len(self.values) * visible_share)
        at = packed.at_once(self.at, visible_rows)
        values = packed.at_once(self.values, visible_rows)
        return at, values


def _rows_at(
    at: KeptColumn,
    moments: Int64s,
    first: Int64s,
    count: int,
) -> Int64s:
    """The last of `count` rows that began at or before each moment; `first`: the next one.

    That is the row before `first`, unless `first` starts exactly at the moment.
    """
    rows: Int64s = first - 1
    next_row = np.minimum(first, count - 1)
    at_start = np.flatnonzero(at[next_row] == moments)
    started = at.searchsorted(moments[at_start], side="right")
    rows[at_start] = np.minimum(started, count) - 1
    return rows


def _mean_distance(at: Int64s) -> int:
    """How far records are apart on average, at least 1."""
    gaps = len(at) - 1
    if gaps < 1:
        return 1
    span = int(at[-1]) - int(at[0])
    return max(1, span // gaps)


def curve_of_points(at: Int64s, values: Floats) -> StepCurve:
    """Records at moments: each holds until the next one, the last for their mean distance."""
    if not len(at):
        return StepCurve(at, values, 0)
    last = int(at[-1])
    end = last + _mean_distance(at)
    return StepCurve(at, values, end)


def curve_of_means(at: Int64s, values: Floats) -> StepCurve:
    """Records that describe the time up to them: each holds from the one before.

    The first holds from their mean distance before it.
    """
    if not len(at):
        return StepCurve(at, values, 0)
    begin = at[:1] - _mean_distance(at)
    return StepCurve(np.concatenate([begin, at]), values)
