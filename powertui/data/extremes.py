"""Least and most of any stretches of a long column, at a cost that does not grow with the column.

Rows that are few are gone through. Where they are many, every 16 make a block that knows its least
and greatest value, 16 blocks make one of the next level, and so on. A stretch is some rows at
either end and whole blocks between, level by level: exact, whatever its ends. What a block says is
kept in as few bytes as hold it exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from powertui.data import packed
from powertui.data.model import Floats, Int64s
from powertui.data.packed import KeptColumn

BLOCK = 16
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
        if not self._levels:
            parts = [
                _blocks(self.values[at : at + _BLOCK_BUILD_ROWS])
                for at in range(0, len(self.values), _BLOCK_BUILD_ROWS)
            ]
            low = np.concatenate([np.fmin.reduce(part, axis=1) for part in parts])
            return _Level(
                _short(low),
                _short(np.concatenate([np.fmax.reduce(part, axis=1) for part in parts])),
            )
        below = self._levels[-1]
        return _Level(
            np.fmin.reduce(_blocks(below.low), axis=1), np.fmax.reduce(_blocks(below.high), axis=1)
        )

    def over_stretches(self, first: Int64s, end: Int64s) -> StretchExtremes:
        """Of the rows [first, end) of each stretch."""
        out = StretchExtremes(np.full(len(first), np.nan), np.full(len(first), np.nan))
        lo, hi = np.asarray(first, np.int64), np.maximum(first, end).astype(np.int64)
        filled = np.flatnonzero(lo < hi)
        if not len(filled):
            return out
        begin, stop = int(lo[filled].min()), int(hi.max())
        if not self._levels or (
            stop - begin <= MAX_SCANNED_ROWS and int((hi - lo).sum()) <= MAX_SCANNED_ROWS
        ):
            self._go_through(
                out, filled, begin, stop, np.stack([lo[filled], hi[filled]], axis=1).ravel() - begin
            )
        else:
            self._put_together(out, lo, hi)
        return out

    def _go_through(
        self, out: StretchExtremes, some: Int64s, begin: int, stop: int, ends: Int64s
    ) -> None:
        """Look at all rows from `begin` to `stop`; `ends` are begin and end of each stretch that
        has rows, one after the other.
        """
        rows = packed.at_once(self.values, stop - begin)[begin:stop]
        ends = ends[:-1] if ends[-1] == len(rows) else ends
        if int(ends.max()) == len(rows):  # another stretch ends where the rows do
            rows = np.append(rows, np.nan)
        out.low[some] = np.fmin.reduceat(rows, ends)[::2]
        out.high[some] = np.fmax.reduceat(rows, ends)[::2]

    def _put_together(self, out: StretchExtremes, lo: Int64s, hi: Int64s) -> None:
        """Look at rows at either end of a stretch, and at blocks between."""
        for level in range(len(self._levels) + 1):
            upper = level < len(self._levels)
            inner_lo, inner_hi = (-(-lo // BLOCK), hi // BLOCK) if upper else (hi, hi)
            inside = inner_lo < inner_hi  # whole blocks lie between
            cut = np.where(inside, inner_lo * BLOCK, hi) if upper else hi
            self._take(out, level, lo, cut)
            if not upper:
                break
            rest = np.where(inside, inner_hi * BLOCK, hi)
            self._take(out, level, rest, hi)
            if not inside.any():
                break
            lo, hi = np.where(inside, inner_lo, 0), np.where(inside, inner_hi, 0)

    def _take(self, out: StretchExtremes, level: int, lo: Int64s, hi: Int64s) -> None:
        """Add the rows [lo, hi) of a level: never more than two blocks of them but at the top."""
        most = int((hi - lo).max(initial=0))
        if most <= 0:
            return
        rows = lo[:, None] + np.arange(most)
        held = rows < hi[:, None]
        column = self._levels[level - 1] if level else StretchExtremes(self.values, self.values)  # type: ignore[arg-type]
        rows = np.minimum(rows, len(column.low) - 1)
        low = np.where(held, column.low[rows], np.nan)
        high = np.where(held, column.high[rows], np.nan) if level else low
        np.fmin(out.low, np.fmin.reduce(low, axis=1), out=out.low)
        np.fmax(out.high, np.fmax.reduce(high, axis=1), out=out.high)

    @property
    def nbytes(self) -> int:
        """Memory of the blocks."""
        return sum(column.nbytes for level in self._levels for column in level)


def _short(column: Floats) -> npt.NDArray[Any]:
    """The same in half the bytes, where that is the same to the bit: whole watts, and what was
    logged so.
    """
    with np.errstate(over="ignore"):
        short = column.astype(np.float32)
    return short if np.array_equal(short, column, equal_nan=True) else column


def _blocks(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole blocks as rows."""
    blocks = len(column) // BLOCK
    return column[: blocks * BLOCK].reshape(blocks, BLOCK)
