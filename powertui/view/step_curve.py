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
from powertui.view.curve import Envelope


class StepCurve:
    """`values[i]` holds from `at[i]` to `at[i + 1]`, the last one until `end`; NaN is no value."""

    def __init__(self, at: Int64s, values: Floats, end: int | None = None) -> None:
        self.at = packed.pack_column(at)
        self.values = packed.pack_column(values)
        self._start = int(at[0]) if len(at) else 0
        if end is None and len(at):
            end = int(at[-1])
        self.end = end or 0
        self.extremes = Extremes(self.values)
        self.unknown = int(np.count_nonzero(~np.isfinite(values)))  # stretches without a value
        self.range: tuple[float, float] | None = None
        if self.unknown < len(values):
            extremes = self.extremes.over_stretches(np.array([0]), np.array([len(values)]))
            self.range = float(extremes.low[0]), float(extremes.high[0])

    @property
    def span(self) -> tuple[int, int]:
        """From where to where there are values, with holes between them."""
        return (self._start, self.end) if len(self.values) else (0, 0)

    def value(self, moment: int) -> float:
        """The value that holds at a moment; NaN in a hole and outside."""
        row = min(int(self.at.searchsorted(moment, side="right")), len(self.values)) - 1
        return float(self.values[row]) if row >= 0 and moment < self.end else math.nan

    def envelope(self, edges: Int64s) -> Envelope:
        """The lowest and the highest of all values that hold in each [edge, next edge)."""
        rows = len(self.values)
        if not rows:
            nothing = np.full(len(edges) - 1, math.nan)
            return Envelope(nothing, nothing.copy())
        visible_share = min(1.0, int(edges[-1] - edges[0]) / max(self.end - self._start, 1))
        visible_rows = round(rows * visible_share)
        at = packed.at_once(self.at, visible_rows)
        values = packed.at_once(self.values, visible_rows)
        first = np.minimum(at.searchsorted(edges), rows)
        inside = self.extremes.over_stretches(first[:-1], first[1:])
        # The values that start inside of a cell are not all: one more holds where it begins.
        # That is the row before, unless a row starts exactly at the edge.
        entering = first[:-1] - 1
        at_edge = np.flatnonzero(at[np.minimum(first[:-1], rows - 1)] == edges[:-1])
        entering[at_edge] = np.minimum(at.searchsorted(edges[at_edge], side="right"), rows) - 1
        holds = (entering >= 0) & (edges[:-1] < self.end)
        held = np.where(holds, values[np.maximum(entering, 0)], math.nan)
        return Envelope(np.fmin(inside.low, held), np.fmax(inside.high, held))


def _mean_distance(at: Int64s) -> int:
    """How far records are apart on average, at least 1."""
    return max(1, (int(at[-1]) - int(at[0])) // (len(at) - 1)) if len(at) > 1 else 1


def curve_of_points(at: Int64s, values: Floats) -> StepCurve:
    """Records at moments: each holds until the next one, the last for their mean distance."""
    return StepCurve(at, values, int(at[-1]) + _mean_distance(at) if len(at) else 0)


def curve_of_means(at: Int64s, values: Floats) -> StepCurve:
    """Records that describe the time up to them: each holds from the one before.

    The first holds from their mean distance before it.
    """
    if not len(at):
        return StepCurve(at, values, 0)
    return StepCurve(np.concatenate([at[:1] - _mean_distance(at), at]), values)
