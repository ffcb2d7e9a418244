"""A series that never ends, in memory that hardly grows: the newest readings as they are, older
ones in blocks.

A block knows the time from its first to its last reading, the lowest and highest value, their sum
and number, and the number of gaps. Blocks of 16 readings are kept for some hours (at 1 Hz), of 64
for a day, of 256 for some days, and so on: each level forgets its oldest half when it is full, and
by then the level above has them. Together the levels say everything that a chart, a minimum, a mean
or a maximum needs; every reading counts exactly once.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from powertui.data.model import Floats, Int64s
from powertui.named_tuples import NamedTuple

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
        size = self.values + self.gaps
        length = (self.until - self.since).astype(np.float64)
        interval = length / np.maximum(size - 1, 1)
        mean = self.total / np.maximum(self.values, 1)
        # From here on a row for each reading: its block, and its place inside the block.
        block = np.repeat(np.arange(len(size)), size)
        first_reading = np.cumsum(size) - size
        place = np.arange(len(block)) - first_reading[block]
        offset = np.rint(place * interval[block]).astype(np.int64)
        times = self.since[block] + offset
        is_gap = place >= self.values[block]
        watts = np.where(is_gap, np.nan, mean[block])
        return times, watts


_Columns = TypeVar("_Columns", Int64s, Floats)


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
            self._forget_older_half()
        elif self.size == self.times.shape[1]:
            self.times = _doubled(self.times)
            self.values = _doubled(self.values)
        row = self.size
        self.times[:, row] = times
        self.values[:, row] = values
        self.size += 1

    def _forget_older_half(self) -> None:
        older = slice(self.keep)
        newer = slice(self.keep, self.size)
        self.times[:, older] = self.times[:, newer]
        self.values[:, older] = self.values[:, newer]
        self.dropped += self.keep
        self.size = self.keep


def _doubled(columns: _Columns) -> _Columns:
    """The same columns with room for as many rows again."""
    room = np.empty_like(columns)
    return np.concatenate([columns, room], axis=1)


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
        total = self._times.nbytes + self._watts.nbytes
        for level in self._levels:
            total += level.times.nbytes + level.values.nbytes
        return total

    def append(self, at: int, watts: float) -> None:
        """Take one reading, later than the last; NaN is a gap."""
        if self._size == 2 * RAW:
            self._forget_older_half()
        elif self._size == len(self._times):
            self._times = np.concatenate([self._times, np.empty_like(self._times)])
            self._watts = np.concatenate([self._watts, np.empty_like(self._watts)])
        self._times[self._size] = at
        self._watts[self._size] = watts
        self._size += 1
        self.count += 1
        if self.count % _FIRST == 0:
            newest = slice(self._size - _FIRST, self._size)
            readings = _readings(self._times[newest], self._watts[newest])
            self._close(0, readings)

    def _forget_older_half(self) -> None:
        newer = slice(RAW, 2 * RAW)
        self._times[:RAW] = self._times[newer]
        self._watts[:RAW] = self._watts[newer]
        self._dropped += RAW
        self._size = RAW

    def _close(self, level: int, parts: ReadingBlocks) -> None:
        """One more block of a level, made of these parts; and of the next level where it is the
        last of its parts.
        """
        if level == len(self._levels):
            self._levels.append(_Ring(BLOCKS))
        ring = self._levels[level]
        low = np.nan
        high = np.nan
        has_values = parts.values > 0
        if has_values.any():
            low = float(parts.low[has_values].min())
            high = float(parts.high[has_values].max())
        values = (
            low,
            high,
            float(parts.total[has_values].sum()),
            float(parts.values.sum()),
            float(parts.gaps.sum()),
        )
        times = (int(parts.since[0]), int(parts.until[-1]))
        ring.append(times, values)
        if (ring.dropped + ring.size) % _FACTOR == 0:
            newest = slice(ring.size - _FACTOR, ring.size)
            self._close(level + 1, _blocks(ring, newest))

    def pieces(self, lo: int, hi: int) -> ReadingBlocks:
        """Everything that touches the time from lo to hi, both included, as finely as it is still
        known.
        """
        first, end = self.times.searchsorted([lo, hi + 1])
        pieces = [_readings(self.times[first:end], self.watts[first:end])]
        block_size = _FIRST
        below = self._dropped  # readings before this one are in blocks
        for ring in self._levels:
            if not below or (self._size and lo >= self._times[0]):
                break
            # The blocks that end before what is known more finely.
            rows = below // block_size - ring.dropped
            since, until = ring.times[:, :rows]
            first = int(until.searchsorted(lo))
            end = int(since.searchsorted(hi + 1))
            touching = slice(first, max(first, end))
            pieces.insert(0, _blocks(ring, touching))
            below = ring.dropped * block_size
            block_size *= _FACTOR
        if len(pieces) == 1:
            return pieces[0]
        columns = zip(*pieces, strict=True)
        return ReadingBlocks(*map(np.concatenate, columns))


def _readings(times: Int64s, watts: Floats) -> ReadingBlocks:
    is_gap = np.isnan(watts)
    return ReadingBlocks(
        since=times,
        until=times,
        low=watts,
        high=watts,
        total=np.where(is_gap, 0.0, watts),
        values=(~is_gap).astype(np.int64),
        gaps=is_gap.astype(np.int64),
    )


def _blocks(ring: _Ring, rows: slice) -> ReadingBlocks:
    since, until = ring.times[:, rows]
    low, high, total, value_count, gap_count = ring.values[:, rows]
    return ReadingBlocks(
        since=since,
        until=until,
        low=low,
        high=high,
        total=total,
        values=value_count.astype(np.int64),
        gaps=gap_count.astype(np.int64),
    )
