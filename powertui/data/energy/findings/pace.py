"""Where training went on at its usual pace though nothing was profiled: told by what it logged
every few batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.model import NS_PER_S, Bools, Clock, Floats, ScalarSeries
from powertui.value_types import dataclass

_MIN_POINTS = 8  # logged values that tell a pace
# Share of the median pace: a foreign load slows training, a pause for something else stops it.
# Chosen, not measured.
_MIN_PACE_SHARE = 0.6


@dataclass(frozen=True, eq=False)
class Pace:
    """Stretches in which training went on as usual, s on the trace, in order and apart."""

    start: Floats
    end: Floats

    def holds(self, lo: Floats, hi: Floats) -> Bools:
        """Whether all of each window lies in such a stretch."""
        if not len(self.start):
            return np.zeros(len(lo), np.bool_)
        row = np.searchsorted(self.start, lo, side="right") - 1
        return np.asarray((row >= 0) & (hi <= self.end[np.maximum(row, 0)]))


NOTHING = Pace(np.empty(0), np.empty(0))


def training_pace(scalars: Sequence[ScalarSeries], clock: Clock) -> Pace:
    """From the longest series of the training's own scalars, on the clock of a trace."""
    if not clock.known:
        return NOTHING
    longest = _longest_series(scalars)
    if longest is None:
        return NOTHING
    order = np.argsort(longest.wall_ns, kind="stable")
    moments = (longest.wall_ns[order] - clock.mid_ns) / NS_PER_S
    step = longest.steps[order].astype(np.float64)
    length = np.diff(moments)
    moved = np.diff(step)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(length > 0, moved / length, 0.0)
    forward = rate > 0
    if forward.sum() < _MIN_POINTS:
        return NOTHING
    usual_rate = float(np.median(rate[forward]))
    usual = np.flatnonzero(rate >= _MIN_PACE_SHARE * usual_rate)
    if not len(usual):
        return NOTHING
    opens = np.concatenate([[True], np.diff(usual) > 1])
    closes = np.concatenate([opens[1:], [True]])
    return Pace(moments[usual[opens]], moments[usual[closes] + 1])


def _longest_series(scalars: Sequence[ScalarSeries]) -> ScalarSeries | None:
    """The series of the training, and not of its validation, with most records."""
    longest = None
    for series in scalars:
        if series.group == "validation" or len(series.steps) <= _MIN_POINTS:
            continue
        if longest is None or len(series.steps) > len(longest.steps):
            longest = series
    return longest
