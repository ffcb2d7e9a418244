"""Which watts are in force where: a power series on the trace's clock, ready to be drawn or asked.

Between two samples a sensor's last word holds (of interval means: the next row's, which tells of the time before it). It
does not hold across a gap: a NaN, or a pause of more than a few sample intervals. Nothing is known there, from
the pause's first moment on.
"""

from __future__ import annotations

import math

import numpy as np

from powertui.data.model import Floats, Int64s, PowerKind, PowerOnTrace
from powertui.widgets.curve import Envelope, envelope

HOLD = 4  # sample intervals after which silence is a gap


class PowerCurve:
    """One series, prepared once: how long a value holds, and the range of all values."""

    def __init__(self, power: PowerOnTrace) -> None:
        self.power = power
        self.times, self.watts = power.times, power.watts
        self.interval_means = power.series.kind is PowerKind.INTERVAL
        known = self.watts[np.isfinite(self.watts)]
        self.range: tuple[float, float] | None = (float(known.min()), float(known.max())) if len(known) else None
        pauses = np.diff(self.times)
        self.typical = int(np.median(pauses)) if len(pauses) else 0
        self.limit = max(1, self.typical * HOLD)

    def at(self, ps: int) -> float:
        """The watts in force at a moment; NaN in a gap and outside the series."""
        value = self.envelope(np.array([ps, ps + 1], np.int64)).high[0]
        return float(value)

    def envelope(self, edges: Int64s) -> Envelope:
        """The range of watts in force in each [edge, next edge)."""
        if not len(self.times):
            nothing = np.full(len(edges) - 1, math.nan)
            return Envelope(nothing, nothing)
        low, high = envelope(self.times, self.watts, edges, -1)  # samples only: what holds between them is decided here
        at = self.times.searchsorted(edges)
        bare = at[1:] == at[:-1]
        held = self._held(edges[:-1][bare], at[:-1][bare])
        low[bare] = held
        high[bare] = held
        return Envelope(low, high)

    def _held(self, moments: Int64s, at: Int64s) -> Floats:
        """What holds at moments that lie between sample at-1 and sample at."""
        times, size = self.times, len(self.times)
        out = np.full(len(moments), math.nan)
        before, after = np.maximum(at - 1, 0), np.minimum(at, size - 1)
        pause = times[after] - times[before]
        between = (at > 0) & (at < size) & (pause <= self.limit)
        if self.interval_means:
            out[between] = self.watts[after[between]]
            return out
        # Nothing follows the last sample: it holds for as long as samples usually do.
        last = (at == size) & (moments - times[-1] <= self.typical)
        holds = between | last
        out[holds] = self.watts[before[holds]]
        return out
