"""What rounding leaves open of a window's energy.

While power stays within one step of a sensor, every reading is off by the same, by up to half a step, all the time, and it is so
again whenever the power comes back to that level. Where it moves about, the steps beside are read as well, and what one rounds up
the other rounds down: of a step that is read for T seconds, only what its two neighbours are read less may be off together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from powertui.data.model import Floats, Int64s

_MOST_STEPS = 128  # of more, none is read for long
_BOUNDED = 0.7  # of the variance: nothing is off by more than half a step, so that 95 % of it lie nearer than of what is normal
_MOST_ROWS = 2048  # at which the times are kept: between two of them lies what no window of such a log is long against


@dataclass(frozen=True, eq=False)
class Steady:
    """How long each step had been read, at every so many knots of a curve."""

    every: int
    upto: Floats  # [knot / every, step]: s

    def alike(self, first: Int64s, last: Int64s) -> Floats:
        """s² for which the readings from a knot to another are off together: times q² / 12 it is a variance."""
        a, b = first // self.every, -(-last // self.every)
        held = self.upto[np.minimum(b, len(self.upto) - 1)] - self.upto[a]
        beside = np.zeros_like(held)
        beside[:, 1:] += held[:, :-1]
        beside[:, :-1] += held[:, 1:]
        found: Floats = _BOUNDED * np.square(np.maximum(held - beside, 0.0)).sum(axis=1)
        return found


def of(level: Floats, seconds: Floats, step: float) -> Steady | None:
    """The steps of a curve's knots; `seconds` between them, 0 where nothing is known."""
    if step <= 0 or len(level) < 2:
        return None
    low, high = float(np.nanmin(level)), float(np.nanmax(level))
    if not (high - low) / step < _MOST_STEPS:
        return None
    at = np.round((np.nan_to_num(level, nan=low) - low) / step).astype(np.int64)
    many = int(at.max()) + 1
    each = np.zeros(len(level))  # half of the time to either side is a reading's
    each[:-1] += seconds / 2
    each[1:] += seconds / 2
    every = -(-len(level) // _MOST_ROWS)
    rows = -(-len(level) // every)
    held = np.bincount(np.arange(len(level)) // every * many + at, each, rows * many).reshape(rows, many)
    return Steady(every, np.concatenate((np.zeros((1, many)), np.cumsum(held, axis=0))))
