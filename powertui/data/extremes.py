"""Least, most and mean of any stretches of a long column, at a cost that does not grow with the column.

Every 16 rows make a block that knows its least and greatest value, their sum and how many there are; 16 blocks make one of the next
level, and so on. A stretch is some rows at either end and whole blocks between, level by level: exact, whatever its ends.
What a block says is kept in as few bytes as hold it exactly.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from powertui.data.model import Floats, Int64s
from powertui.data.packed import KeptColumn

BLOCK = 16
_AT_ONCE = 1 << 16  # rows whose blocks are made together


class StretchExtremes(NamedTuple):
    """One row each; NaN where a stretch holds no value."""

    low: Floats
    high: Floats
    total: Floats
    known: Int64s

    @property
    def mean(self) -> Floats:
        """Of the values that there are."""
        known = np.maximum(self.known, 1)
        mean: Floats = np.where(self.known > 0, self.total / known, np.nan)
        return mean


class _Level(NamedTuple):
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    total: Floats
    known: Int64s | None  # None: no block of it holds anything unknown
    rows: int  # values in each block


class Extremes:
    """Of one column; NaN is no value. The column itself is kept as it is, the blocks take an eighth of it."""

    def __init__(self, values: KeptColumn) -> None:
        self.values = values
        self._levels: list[_Level] = []
        rows = len(values)
        while rows > BLOCK:
            self._levels.append(self._above())
            rows = len(self._levels[-1].low)

    def _above(self) -> _Level:
        """Blocks of the level below; what is left over at its end is reached through the level below alone."""
        if not self._levels:
            parts = [_first(self.values[at : at + _AT_ONCE]) for at in range(0, len(self.values), _AT_ONCE)]
            low, high, total, known = (np.concatenate(column) for column in zip(*parts, strict=True))
            return _Level(_short(low), _short(high), total, None if (known == BLOCK).all() else known, BLOCK)
        below = self._levels[-1]
        counted = _blocks(below.known).sum(axis=1) if below.known is not None else None
        low, high = np.fmin.reduce(_blocks(below.low), axis=1), np.fmax.reduce(_blocks(below.high), axis=1)
        return _Level(low, high, _blocks(below.total).sum(axis=1), counted, below.rows * BLOCK)

    def of(self, first: Int64s, end: Int64s) -> StretchExtremes:
        """Of the rows [first, end) of each stretch."""
        cells = len(first)
        low, high = np.full(cells, np.nan), np.full(cells, np.nan)
        out = StretchExtremes(low, high, np.zeros(cells), np.zeros(cells, np.int64))
        lo, hi = np.asarray(first, np.int64), np.maximum(first, end).astype(np.int64)
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
        return out

    def _take(self, out: StretchExtremes, level: int, lo: Int64s, hi: Int64s) -> None:
        """Add the rows [lo, hi) of a level: never more than two blocks of them but at the top."""
        most = int((hi - lo).max(initial=0))
        if most <= 0:
            return
        rows = lo[:, None] + np.arange(most)
        held = rows < hi[:, None]
        if level:
            column = self._levels[level - 1]
            rows = np.minimum(rows, len(column.low) - 1)
            low, high = np.where(held, column.low[rows], np.nan), np.where(held, column.high[rows], np.nan)
            total = np.where(held, column.total[rows], 0.0)
            count = np.where(held, column.known[rows] if column.known is not None else column.rows, 0)
        else:
            values = np.where(held, self.values[np.minimum(rows, len(self.values) - 1)], np.nan)
            low = high = values
            known = np.isfinite(values)
            total, count = np.where(known, values, 0.0), known
        np.fmin(out.low, np.fmin.reduce(low, axis=1), out=out.low)
        np.fmax(out.high, np.fmax.reduce(high, axis=1), out=out.high)
        np.add(out.total, total.sum(axis=1), out=out.total)
        np.add(out.known, count.sum(axis=1), out=out.known)

    @property
    def nbytes(self) -> int:
        """Memory of the blocks."""
        columns = (column for level in self._levels for column in level[:4] if column is not None)
        return sum(column.nbytes for column in columns)


def _first(column: npt.NDArray[Any]) -> tuple[Floats, Floats, Floats, Int64s]:
    """Least, most, sum and number of the values of each whole block."""
    values = _blocks(column)
    known = np.isfinite(values).sum(axis=1)
    return np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1), np.nansum(values, axis=1), known


def _short(column: Floats) -> npt.NDArray[Any]:
    """The same in half the bytes, where that is the same to the bit: whole watts, and what was logged so."""
    with np.errstate(over="ignore"):
        short = column.astype(np.float32)
    return short if np.array_equal(short, column, equal_nan=True) else column


def _blocks(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Whole blocks as rows."""
    whole = len(column) // BLOCK
    return column[: whole * BLOCK].reshape(whole, BLOCK)
