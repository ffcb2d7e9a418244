"""A value that stands until the next one: what the strips above the timeline draw of scalars,
counters and power.

A frame costs its cells: two binary searches and some blocks for each (`data/extremes.py`), however
long the column is. Long columns are kept packed, and only the pieces that a frame asks for are
unpacked; one of up to a day as a whole, for the next frames as well.
"""

from __future__ import annotations

import math

import numpy as np

from powertui.data import packed
from powertui.data.extremes import Extremes
from powertui.data.model import Floats, Int64s
from powertui.view.curve import Envelope


class StepCurve:
    """`values[i]` stands from `at[i]` to `at[i + 1]`, the last one until `end`; NaN is no value."""

    def __init__(self, at: Int64s, values: Floats, end: int | None = None) -> None:
        self.at, self.values = packed.pack_column(at), packed.pack_column(values)
        self.end = int(at[-1]) if end is None and len(at) else end or 0
        self._begin = int(at[0]) if len(at) else 0
        self.extremes = Extremes(self.values)
        whole = self.extremes.over_stretches(np.array([0]), np.array([len(values)]))
        self.unknown = int(np.count_nonzero(~np.isfinite(values)))  # stretches without a value
        self.range: tuple[float, float] | None = (
            (float(whole.low[0]), float(whole.high[0])) if self.unknown < len(values) else None
        )

    @property
    def span(self) -> tuple[int, int]:
        """From where to where there are values (with holes)."""
        return (self._begin, self.end) if len(self.values) else (0, 0)

    def value(self, moment: int) -> float:
        """What stands at a moment; NaN in a hole and outside."""
        row = min(int(self.at.searchsorted(moment, side="right")), len(self.values)) - 1
        return float(self.values[row]) if row >= 0 and moment < self.end else math.nan

    def envelope(self, edges: Int64s) -> Envelope:
        """The least and the most of all values in force in each [edge, next edge)."""
        rows = len(self.values)
        if not rows:
            nothing = np.full(len(edges) - 1, math.nan)
            return Envelope(nothing, nothing.copy())
        in_sight = round(
            rows * min(1.0, int(edges[-1] - edges[0]) / max(self.end - self._begin, 1))
        )
        at, values = packed.at_once(self.at, in_sight), packed.at_once(self.values, in_sight)
        first = np.minimum(at.searchsorted(edges), rows)
        found = self.extremes.over_stretches(first[:-1], first[1:])
        entering = first[:-1] - 1  # what stands where the cell begins …
        begins = np.flatnonzero(
            at[np.minimum(first[:-1], rows - 1)] == edges[:-1]
        )  # … or begins there
        entering[begins] = np.minimum(at.searchsorted(edges[begins], side="right"), rows) - 1
        held = np.where(
            (entering >= 0) & (edges[:-1] < self.end), values[np.maximum(entering, 0)], math.nan
        )
        return Envelope(np.fmin(found.low, held), np.fmax(found.high, held))


def of_points(at: Int64s, values: Floats) -> StepCurve:
    """Records at moments: each stands until the next one, the last for as long as they do on the
    whole.
    """
    usual = (int(at[-1]) - int(at[0])) // (len(at) - 1) if len(at) > 1 else 1
    return StepCurve(at, values, int(at[-1]) + max(1, usual) if len(at) else 0)


def before(at: Int64s, values: Floats) -> StepCurve:
    """Records that tell of the time up to them: from the one before, the first from as long before
    as they do on the whole.
    """
    if not len(at):
        return StepCurve(at, values, 0)
    usual = (int(at[-1]) - int(at[0])) // (len(at) - 1) if len(at) > 1 else 1
    return StepCurve(np.concatenate([at[:1] - max(1, usual), at]), values)
