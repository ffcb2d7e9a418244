"""Least and most of any stretches of a long column, at a cost that does not grow with the column.

Rows that are few are gone through. Where they are many, every 16 make a block that knows its least
and greatest value, 16 blocks make one of the next level, and so on. A stretch is some rows at
either end and whole blocks between, level by level: exact, whatever its ends. What a block says is
kept in as few bytes as hold it exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from powertui.data import packed
from powertui.data.model import Floats, Int64s
from powertui.data.packed import KeptColumn
from powertui.named_tuples import NamedTuple

BLOCK = 16  # rows of a block, and blocks of one of the next level
MAX_SCANNED_ROWS = 1 << 17  # up to here a scan is faster than blocks; chosen, not measured
_BLOCK_BUILD_ROWS = 1 << 16  # rows whose blocks are made together: bounds the memory


class StretchExtremes(NamedTuple):
    """One row each; NaN where a stretch holds no value."""

    low: Floats
    high: Floats


class _Level(NamedTuple):
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]


class Extremes:
    """Of one column; NaN is no value.

    The column itself is kept as it is, the blocks take a sixteenth of it.
    """

    def __init__(self, values: KeptColumn) -> None:
        self.values = values
        self._levels: list[_Level] = []
        rows = len(values)
        while rows > BLOCK and len(values) > MAX_SCANNED_ROWS:
            self._levels.append(self._above())
            rows = len(self._levels[-1].low)

    def _above(self) -> _Level:
        """Blocks of the level below; what is left over at its end is reached through the level
        below alone.
        """
        if self._levels:
            below = self._levels[-1]
            low = np.fmin.reduce(_blocks(below.low), axis=1)
            high = np.fmax.reduce(_blocks(below.high), axis=1)
            return _Level(low, high)
        lows = []
        highs = []
        for row in range(0, len(self.values), _BLOCK_BUILD_ROWS):
            blocks = _blocks(self.values[row : row + _BLOCK_BUILD_ROWS])
            lows.append(np.fmin.reduce(blocks, axis=1))
            highs.append(np.fmax.reduce(blocks, axis=1))
        return _Level(_short(np.concatenate(lows)), _short(np.concatenate(highs)))

    def over_stretches(self, first: Int64s, end: Int64s) -> StretchExtremes:
        """Of the rows [first, end) of each stretch."""
        extremes = StretchExtremes(np.full(len(first), np.nan), np.full(len(first), np.nan))
        lo = np.asarray(first, np.int64)
        hi = np.maximum(first, end).astype(np.int64)
        filled = np.flatnonzero(lo < hi)
        if not len(filled):
            return extremes
        begin = int(lo[filled].min())
        stop = int(hi.max())
        is_short = stop - begin <= MAX_SCANNED_ROWS and int((hi - lo).sum()) <= MAX_SCANNED_ROWS
        if self._levels and not is_short:
            self._put_together(extremes, lo, hi)
            return extremes
        bounds = np.stack([lo[filled], hi[filled]], axis=1).ravel() - begin
        self._go_through(extremes, filled, begin, stop, bounds)
        return extremes

    def _go_through(
        self,
        extremes: StretchExtremes,
        filled: Int64s,
        begin: int,
        stop: int,
        bounds: Int64s,
    ) -> None:
        """Look at all rows from `begin` to `stop`; `bounds` are begin and end of each stretch that
        has rows, one after the other.
        """
        rows = packed.at_once(self.values, stop - begin)[begin:stop]
        # numpy takes no bound behind the last row: the last stretch ends there without one.
        if bounds[-1] == len(rows):
            bounds = bounds[:-1]
        if int(bounds.max()) == len(rows):  # another stretch ends where the rows do
            rows = np.append(rows, np.nan)
        extremes.low[filled] = np.fmin.reduceat(rows, bounds)[::2]
        extremes.high[filled] = np.fmax.reduceat(rows, bounds)[::2]

    def _put_together(self, extremes: StretchExtremes, lo: Int64s, hi: Int64s) -> None:
        """Look at rows at either end of a stretch, and at blocks between."""
        for level in range(len(self._levels)):
            inner_lo = -(-lo // BLOCK)
            inner_hi = hi // BLOCK
            has_blocks = inner_lo < inner_hi  # whole blocks lie between
            self._take(extremes, level, lo, np.where(has_blocks, inner_lo * BLOCK, hi))
            self._take(extremes, level, np.where(has_blocks, inner_hi * BLOCK, hi), hi)
            if not has_blocks.any():
                return
            lo = np.where(has_blocks, inner_lo, 0)
            hi = np.where(has_blocks, inner_hi, 0)
        self._take(extremes, len(self._levels), lo, hi)

    def _take(self, extremes: StretchExtremes, level: int, lo: Int64s, hi: Int64s) -> None:
        """Add the rows [lo, hi) of a level: never more than two blocks of them but at the top."""
        most_rows = int((hi - lo).max(initial=0))
        if most_rows <= 0:
            return
        rows = lo[:, None] + np.arange(most_rows)
        is_inside = rows < hi[:, None]
        lows = highs = self.values
        if level:
            lows, highs = self._levels[level - 1]
        rows = np.minimum(rows, len(lows) - 1)
        low = np.where(is_inside, lows[rows], np.nan)
        if level:
            high = np.where(is_inside, highs[rows], np.nan)
        else:
            high = low
        np.fmin(extremes.low, np.fmin.reduce(low, axis=1), out=extremes.low)
        np.fmax(extremes.high, np.fmax.reduce(high, axis=1), out=extremes.high)

    @property
    def nbytes(self) -> int:
        """Memory of the blocks."""
        return sum(level.low.nbytes + level.high.nbytes for level in self._levels)


def _short(column: Floats) -> npt.NDArray[Any]:
    """The same in half the bytes, where that is the same to the bit: whole watts, and what was
    logged so.
    """
    with np.errstate(over="ignore"):
        short = column.astype(np.float32)
    if np.array_equal(short, column, equal_nan=True):
        return short
    return column


def _blocks(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole blocks as rows."""
    blocks = len(column) // BLOCK
    return column[: blocks * BLOCK].reshape(blocks, BLOCK)
