"""A series that never ends, in memory that hardly grows: the newest readings as they are, older
ones in blocks.

A block knows the time from its first to its last reading, the lowest and highest value, their sum
and number, and the number of gaps. Blocks of 16 readings are kept for some hours (at 1 Hz), of 64
for a day, of 256 for some days, and so on: each level forgets its oldest half when it is full, and
by then the level above has them. Together the levels say everything that a chart, a minimum, a mean
or a maximum needs; every reading counts exactly once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import Floats, Int64s

RAW = 4096  # readings that stay when there are twice as many
BLOCKS = 512  # blocks of a level that stay when there are twice as many
_FIRST = 16  # readings in a block of the first level
_FACTOR = 4  # blocks of a level that make one block of the next


class ReadingBlocks(NamedTuple):
    """Readings (since = until) and blocks of them, by time."""

    since: Int64s
    until: Int64s
    low: Floats  # NaN where there is no value
    high: Floats
    total: Floats  # sum of the values
    values: Int64s  # how many of them
    gaps: Int64s  # readings without one

    def readings(self) -> tuple[Int64s, Floats]:
        """As many readings as there were: those of a block evenly over its time, with its mean, and
        its gaps behind them.
        """
        sizes = self.values + self.gaps
        block = np.repeat(np.arange(len(sizes)), sizes)
        place = np.arange(len(block)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        length = (self.until - self.since).astype(np.float64) / np.maximum(sizes - 1, 1)
        when = self.since[block] + np.rint(place * length[block]).astype(np.int64)
        mean = self.total / np.maximum(self.values, 1)
        return when, np.where(place < self.values[block], mean[block], np.nan)


class _Ring:
    """Columns that grow to `keep` × 2 rows and then forget the older half."""

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.dropped = 0  # rows forgotten
        self.size = 0
        self.times = np.empty((2, 64), np.int64)
        self.values = np.empty((5, 64), np.float64)

    def append(self, times: tuple[int, int], values: tuple[float, ...]) -> None:
        if self.size == 2 * self.keep:
            self.times[:, : self.keep] = self.times[:, self.keep : self.size]
            self.values[:, : self.keep] = self.values[:, self.keep : self.size]
            self.dropped += self.keep
            self.size = self.keep
        elif self.size == self.times.shape[1]:
            self.times = np.concatenate([self.times, np.empty_like(self.times)], axis=1)
            self.values = np.concatenate([self.values, np.empty_like(self.values)], axis=1)
        self.times[:, self.size] = times
        self.values[:, self.size] = values
        self.size += 1


class Pyramid:
    """Appended to in order of time."""

    def __init__(self) -> None:
        self.count = 0  # readings so far
        self._dropped = 0  # of these no longer as they came
        self._size = 0
        self._times = np.empty(256, np.int64)
        self._watts = np.empty(256, np.float64)
        self._levels: list[_Ring] = []

    @property
    def times(self) -> Int64s:
        """Of the readings that are still as they came (a view)."""
        return self._times[: self._size]

    @property
    def watts(self) -> Floats:
        """NaN: a gap (a view)."""
        return self._watts[: self._size]

    @property
    def nbytes(self) -> int:
        """Memory of all of it."""
        return (
            self._times.nbytes
            + self._watts.nbytes
            + sum(level.times.nbytes + level.values.nbytes for level in self._levels)
        )

    def append(self, at: int, watts: float) -> None:
        """Take one reading, later than the last; NaN is a gap."""
        if self._size == 2 * RAW:
            self._times[:RAW], self._watts[:RAW] = (
                self._times[RAW : 2 * RAW],
                self._watts[RAW : 2 * RAW],
            )
            self._dropped += RAW
            self._size = RAW
        elif self._size == len(self._times):
            self._times = np.concatenate([self._times, np.empty_like(self._times)])
            self._watts = np.concatenate([self._watts, np.empty_like(self._watts)])
        self._times[self._size], self._watts[self._size] = at, watts
        self._size += 1
        self.count += 1
        if self.count % _FIRST == 0:
            part = slice(self._size - _FIRST, self._size)
            self._close(0, _readings(self._times[part], self._watts[part]))

    def _close(self, level: int, parts: ReadingBlocks) -> None:
        """One more block of a level, made of these parts; and of the next level where it is the
        last of its parts.
        """
        if level == len(self._levels):
            self._levels.append(_Ring(BLOCKS))
        ring = self._levels[level]
        has_values = parts.values > 0
        low = float(parts.low[has_values].min()) if has_values.any() else np.nan
        high = float(parts.high[has_values].max()) if has_values.any() else np.nan
        sums = (
            low,
            high,
            float(parts.total[has_values].sum()),
            float(parts.values.sum()),
            float(parts.gaps.sum()),
        )
        ring.append((int(parts.since[0]), int(parts.until[-1])), sums)
        if (ring.dropped + ring.size) % _FACTOR == 0:
            self._close(level + 1, _blocks(ring, slice(ring.size - _FACTOR, ring.size)))

    def pieces(self, lo: int, hi: int) -> ReadingBlocks:
        """Everything that touches the time from lo to hi, both included, as finely as it is still
        known.
        """
        first, last = np.searchsorted(self.times, [lo, hi + 1])
        pieces = [_readings(self.times[first:last], self.watts[first:last])]
        size, below = _FIRST, self._dropped  # readings before this one are in blocks
        for ring in self._levels:
            if not below or (self._size and lo >= self._times[0]):
                break
            rows = (
                below // size - ring.dropped
            )  # the blocks that end before what is known more finely
            first = int(np.searchsorted(ring.times[1, :rows], lo))
            last = int(np.searchsorted(ring.times[0, :rows], hi + 1))
            pieces.insert(0, _blocks(ring, slice(first, max(first, last))))
            below, size = ring.dropped * size, size * _FACTOR
        if len(pieces) == 1:
            return pieces[0]
        return ReadingBlocks(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def _readings(times: Int64s, watts: Floats) -> ReadingBlocks:
    gaps = np.isnan(watts)
    return ReadingBlocks(
        times,
        times,
        watts,
        watts,
        np.where(gaps, 0.0, watts),
        (~gaps).astype(np.int64),
        gaps.astype(np.int64),
    )


def _blocks(ring: _Ring, rows: slice) -> ReadingBlocks:
    times, values = ring.times[:, rows], ring.values[:, rows]
    return ReadingBlocks(
        times[0],
        times[1],
        values[0],
        values[1],
        values[2],
        values[3].astype(np.int64),
        values[4].astype(np.int64),
    )
