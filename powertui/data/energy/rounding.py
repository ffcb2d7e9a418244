"""What rounding leaves open of a window's energy.

While power stays within one step of a sensor, every reading is off by the same, by up to half a
step, all the time, and it is so again whenever the power comes back to that level. Where it moves
about, the steps beside are read as well, and what one rounds up the other rounds down: of a step
that is read for T seconds, only what its two neighbors are read less may be off together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from powertui.data.model import Floats, Int64s
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Steps from the lowest reading to the highest: of more, none is read for long.
_MAX_STEPS = 128
# Share of the variance that counts. Rounding is never off by more than half a step, so 95 % of it
# are nearer than 95 % of a normal distribution.
_UNIFORM_VARIANCE_SHARE = 0.7

# ── bounds of memory, not of meaning ──
_BATCH_WINDOWS = 128
_BATCH_READINGS = 1 << 13
_MAX_ROWS = 2048  # at which the times are kept: windows of such a log span many of them

_Knots = TypeVar("_Knots", int, Int64s)


@dataclass(frozen=True, eq=False)
class Steady:
    """How long each step had been read, at every so many knots of a curve."""

    every: int
    upto: Floats  # [knot / every, step]: s

    def alike(self, first: Int64s, last: Int64s) -> Floats:
        """s² for which the readings from a knot to another are off together: times q² / 12 it is a
        variance.
        """
        begin, end = self._rows(first, last)
        end = np.minimum(end, len(self.upto) - 1)
        squares = np.empty(len(begin))
        for at in range(0, len(begin), _BATCH_WINDOWS):
            batch = slice(at, at + _BATCH_WINDOWS)
            step_s = self.upto[end[batch]] - self.upto[begin[batch]]
            beside_s = np.zeros_like(step_s)
            beside_s[:, 1:] += step_s[:, :-1]
            beside_s[:, :-1] += step_s[:, 1:]
            off = _off_together(step_s, beside_s)
            squares[batch] = off.sum(axis=1)
        return np.asarray(_UNIFORM_VARIANCE_SHARE * squares)

    def read_into(self, first: int, last: int, out: Floats) -> None:
        """How long each step was read from a knot to another."""
        begin, end = self._rows(first, last)
        end = min(end, len(self.upto) - 1)
        np.subtract(self.upto[end], self.upto[begin], out=out)

    def _rows(self, first: _Knots, last: _Knots) -> tuple[_Knots, _Knots]:
        begin = first // self.every
        end = -(-last // self.every)
        return begin, end


def _off_together(step_s: Floats, beside_s: Floats) -> Floats:
    """s² for which each step is off: `beside_s`, how long both of its neighbors were read."""
    off = step_s - beside_s
    np.maximum(off, 0.0, out=off)
    return np.asarray(np.multiply(off, off, out=off))


def alike(windows: Sequence[tuple[Steady | None, int, int]]) -> Floats:
    """The same of one window of each of many channels; 0 where there are no steps.

    Their steps are in one row, a 0 between two.
    """
    lengths = []
    for steady, _, _ in windows:
        length = 0 if steady is None else steady.upto.shape[1] + 1
        lengths.append(length)
    cells = np.array(lengths)
    ends = np.cumsum(cells)
    begins = ends - cells
    step_s = np.zeros(int(ends[-1]) + 1)
    for (steady, first, last), end in zip(windows, ends.tolist(), strict=True):
        if steady is None:
            continue
        begin = end - steady.upto.shape[1]
        steady.read_into(first, last, step_s[begin:end])
    squares = np.zeros(len(windows))
    has_steps = cells > 0
    if has_steps.any():
        beside_s = step_s[2:] + step_s[:-2]
        off = _off_together(step_s[1:-1], beside_s)
        off = np.concatenate(([0.0], off))
        squares[has_steps] = np.add.reduceat(off, begins[has_steps])
    return _UNIFORM_VARIANCE_SHARE * squares


class _Quantizer(NamedTuple):
    """The steps of a sensor, and how many knots share a row."""

    low: float  # W, of the first step
    step: float  # W
    every: int
    even_steps: int  # how many, rounded up to an even number

    def seconds_read(
        self,
        level: Floats,
        seconds: Floats,
        goes_on: bool,
    ) -> Floats:
        """[row, step]: how long each step was read, for every so many readings.

        `seconds`: from the reading before, where it `goes_on`.
        """
        count = len(level)
        nearest = level - self.low
        nearest /= self.step
        np.round(nearest, out=nearest)
        nearest[np.isnan(nearest)] = 0.0
        rows = -(-count // self.every)
        cell = np.zeros((rows, self.every), np.int64)
        cells = cell.reshape(-1)[:count]
        cells[:] = nearest
        first_cells = np.arange(rows) * self.even_steps
        cell += first_cells[:, None]
        reading_s = _seconds_of_readings(count, seconds, goes_on)
        total = np.bincount(cells, reading_s, rows * self.even_steps)
        step_s: Floats = total.astype(np.float64, copy=False)
        return step_s.reshape(rows, self.even_steps)


def steady_rounding(
    level: Floats,
    seconds: Floats,
    step: float,
) -> Steady | None:
    """The steps of a curve's knots; `seconds` between them, 0 where nothing is known."""
    count = len(level)
    if step <= 0 or count < 2:
        return None
    low = float(np.fmin.reduce(level))
    high = float(np.fmax.reduce(level))
    highest_step = (high - low) / step
    if not highest_step < _MAX_STEPS:
        return None
    steps = round(highest_step) + 1
    every = -(-count // _MAX_ROWS)
    rows = -(-count // every)
    quantizer = _Quantizer(
        low=low,
        step=step,
        every=every,
        even_steps=steps + steps % 2,
    )
    upto = np.empty((rows + 1, quantizer.even_steps))
    upto[0] = 0.0
    # Two steps side by side, as one complex number: summed up together, they take half the time.
    sums = upto.view(np.complex128)
    # Piece by piece: what fits into memory that was lately used costs a fraction of what takes
    # fresh pages.
    piece = max(1, _BATCH_READINGS // every)
    for row in range(0, rows, piece):
        first = row * every
        last = min((row + piece) * every, count)
        since_last_s = seconds[max(first - 1, 0) : last]
        step_s = quantizer.seconds_read(
            level=level[first:last],
            seconds=since_last_s,
            goes_on=first > 0,
        )
        step_s[0] += upto[row]
        next_row = row + 1
        sums_of_piece = sums[next_row : next_row + len(step_s)]
        np.cumsum(step_s.view(np.complex128), axis=0, out=sums_of_piece)
    return Steady(every, upto[:, :steps])


def _seconds_of_readings(count: int, seconds: Floats, goes_on: bool) -> Floats:
    """What each reading stands for: half of the time to either side."""
    half = seconds / 2
    reading_s = np.zeros(count)
    after = half[1:] if goes_on else half
    reading_s[: len(after)] += after
    if goes_on:
        reading_s += half[:count]
    else:
        reading_s[1:] += half[: count - 1]
    return reading_s
