"""What rounding leaves open of a window's energy.

While power stays within one step of a sensor, every reading is off by the same, by up to half a
step, all the time, and it is so again whenever the power comes back to that level. Where it moves
about, the steps beside are read as well, and what one rounds up the other rounds down: of a step
that is read for T seconds, only what its two neighbours are read less may be off together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from powertui.data.model import Floats, Int64s
from powertui.value_types import dataclass

_MAX_STEPS = 128  # of a sensor: of more, none is read for long
# Share of the variance that counts. Rounding is never off by more than half a step, so 95 % of it
# are nearer than 95 % of a normal distribution.
_UNIFORM_VARIANCE_SHARE = 0.7
_Knots = TypeVar("_Knots", int, Int64s)
# Bounds of memory, not of meaning.
_BATCH_WINDOWS = 128
_BATCH_READINGS = 1 << 13
_MAX_ROWS = 2048  # at which the times are kept: windows of such a log span many of them


@dataclass(frozen=True, eq=False)
class Steady:
    """How long each step had been read, at every so many knots of a curve."""

    every: int
    upto: Floats  # [knot / every, step]: s

    def alike(self, first: Int64s, last: Int64s) -> Floats:
        """s² for which the readings from a knot to another are off together: times q² / 12 it is a
        variance.
        """
        a, b = self._rows(first, last)
        b = np.minimum(b, len(self.upto) - 1)
        squares = np.empty(len(a))
        for at in range(0, len(a), _BATCH_WINDOWS):
            some = slice(at, at + _BATCH_WINDOWS)
            held = self.upto[b[some]] - self.upto[a[some]]
            beside = np.zeros_like(held)
            beside[:, 1:] += held[:, :-1]
            beside[:, :-1] += held[:, 1:]
            squares[some] = _off(held, beside).sum(axis=1)
        return np.asarray(_UNIFORM_VARIANCE_SHARE * squares)

    def read_into(self, first: int, last: int, out: Floats) -> None:
        """How long each step was read from a knot to another."""
        a, b = self._rows(first, last)
        np.subtract(self.upto[min(b, len(self.upto) - 1)], self.upto[a], out=out)

    def _rows(self, first: _Knots, last: _Knots) -> tuple[_Knots, _Knots]:
        return first // self.every, -(-last // self.every)


def _off(held: Floats, beside: Floats) -> Floats:
    """s² for which each step is off: `beside`, how long both of its neighbours were read."""
    off = held - beside
    np.maximum(off, 0.0, out=off)
    return np.asarray(np.multiply(off, off, out=off))


def alike(windows: Sequence[tuple[Steady | None, int, int]]) -> Floats:
    """The same of one window of each of many channels; 0 where there are no steps.

    Their steps lie in one row, a 0 between two.
    """
    steps = np.array(
        [0 if steady is None else steady.upto.shape[1] + 1 for steady, _, _ in windows]
    )
    ends = np.cumsum(steps)
    held = np.zeros(int(ends[-1]) + 1)
    for (steady, first, last), end in zip(windows, ends.tolist(), strict=True):
        if steady is not None:
            steady.read_into(first, last, held[end - steady.upto.shape[1] : end])
    squares, has_steps = np.zeros(len(windows)), steps > 0
    if has_steps.any():
        beside = held[2:] + held[:-2]
        squares[has_steps] = np.add.reduceat(
            np.concatenate(([0.0], _off(held[1:-1], beside))), (ends - steps)[has_steps]
        )
    return _UNIFORM_VARIANCE_SHARE * squares


def steady_rounding(level: Floats, seconds: Floats, step: float) -> Steady | None:
    """The steps of a curve's knots; `seconds` between them, 0 where nothing is known."""
    if step <= 0 or len(level) < 2:
        return None
    low, high = float(np.fmin.reduce(level)), float(np.fmax.reduce(level))
    if not (high - low) / step < _MAX_STEPS:
        return None
    steps = round((high - low) / step) + 1
    every = -(-len(level) // _MAX_ROWS)
    rows = -(-len(level) // every)
    even_steps = steps + steps % 2
    upto = np.empty((rows + 1, even_steps))
    upto[0] = 0.0
    sums = upto.view(
        np.complex128
    )  # two steps side by side: summed up together, they take half the time
    # Piece by piece: what fits into memory that was lately used costs a fraction of what takes
    # fresh pages.
    piece = max(1, _BATCH_READINGS // every)
    for row in range(0, rows, piece):
        first, last = row * every, min((row + piece) * every, len(level))
        held = _held(
            level[first:last],
            low,
            step,
            seconds[max(first - 1, 0) : last],
            first > 0,
            every,
            even_steps,
        )
        held[0] += upto[row]
        np.cumsum(held.view(np.complex128), axis=0, out=sums[row + 1 : row + 1 + len(held)])
    return Steady(every, upto[:, :steps])


def _held(
    level: Floats, low: float, step: float, seconds: Floats, goes_on: bool, every: int, steps: int
) -> Floats:
    """How long each step was read, for every so many readings.

    `seconds`: from the reading before, where it `goes_on`.
    """
    at = level - low
    at /= step
    np.round(at, out=at)
    at[np.isnan(at)] = 0.0
    rows = -(-len(level) // every)
    place = np.zeros((rows, every), np.int64)
    place.reshape(-1)[: len(at)] = at
    place += (np.arange(rows) * steps)[:, None]
    half, each = seconds / 2, np.zeros(len(level))  # half of the time to either side is a reading's
    after = half[1:] if goes_on else half
    each[: len(after)] += after
    each[0 if goes_on else 1 :] += half[: len(level) - (not goes_on)]
    held: Floats = np.bincount(place.reshape(-1)[: len(at)], each, rows * steps).astype(
        np.float64, copy=False
    )
    return held.reshape(rows, steps)
