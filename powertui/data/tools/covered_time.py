"""Stretches of time that lie apart: their union, what is left of some without others, and how much
of them lies before a moment.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Events, Int64s
from powertui.data.sorted_columns import open_at, rows_of_ranges
from powertui.named_tuples import NamedTuple

_NONE = np.empty(0, np.int64)
_FIRST_MOMENT = np.iinfo(np.int64).min
_LAST_MOMENT = np.iinfo(np.int64).max


class CoveredTime(NamedTuple):
    """Stretches of some length, apart from each other and ascending."""

    start: Int64s
    end: Int64s

    @property
    def length(self) -> int:
        """How long all of them are together."""
        return int((self.end - self.start).sum())

    def inside(self, lo: Int64s, hi: Int64s, lengths_before: Int64s | None = None) -> Int64s:
        """How much of each [lo, hi) they cover.

        Whoever asks of many lanes gives `lengths_before()`, which is worked out once then.
        """
        if not len(self.start):
            return np.zeros(len(lo), np.int64)
        if lengths_before is None:
            lengths_before = self.lengths_before()
        until_end = self._until(hi, lengths_before)
        until_start = self._until(lo, lengths_before)
        return until_end - until_start

    def touched(self, start: Int64s, end: Int64s) -> Int64s:
        """The rows of other stretches, ascending and apart, that may share time with these."""
        if len(self.start) >= len(start):
            return np.arange(len(start))  # to look for each of these would take longer
        first = wire.ranks(end, self.start, equal_too=True)
        after_last = wire.ranks(start, self.end)
        # One that two of these share counts once.
        last_of_previous = after_last[:-1]
        first[1:] = np.maximum(first[1:], last_of_previous)
        count = np.maximum(after_last - first, 0)
        _, rows = rows_of_ranges(first, count)
        return rows

    def lengths_before(self) -> Int64s:
        """How long all stretches before each one are together, and all of them."""
        lengths = np.zeros(len(self.start) + 1, np.int64)
        np.subtract(self.end, self.start, out=lengths[1:])
        return np.cumsum(lengths, out=lengths)

    def _until(self, moments: Int64s, lengths_before: Int64s) -> Int64s:
        return wire.covered(self.start, self.end, lengths_before, moments)

    def hold(self, moments: Int64s) -> Bools:
        """Which moments lie in one of them."""
        is_inside, _ = open_at(self.start, self.end, moments)
        return is_inside

    def without(self, removed: CoveredTime) -> CoveredTime:
        """What of them the removed ones leave."""
        if not len(removed.start) or not len(self.start):
            return self
        between_removed = CoveredTime(
            np.append(_FIRST_MOMENT, removed.end), np.append(removed.start, _LAST_MOMENT)
        )
        return self.common(between_removed)

    def common(self, other: CoveredTime) -> CoveredTime:
        """The moments that are in both."""
        if not len(self.start) or not len(other.start):
            return NO_TIME
        fewer = self
        more = other
        if len(fewer.start) > len(more.start):
            fewer, more = more, fewer
        # Each stretch of the fewer with all of the others that it touches.
        first = wire.ranks(more.end, fewer.start, equal_too=True)
        after_last = wire.ranks(more.start, fewer.end)
        if len(fewer.start) == 1:  # a window: what it touches is in one piece
            rows_in_window = slice(int(first[0]), int(after_last[0]))
            return _clipped(more, rows_in_window, fewer)
        count = np.maximum(after_last - first, 0)
        row, touched = rows_of_ranges(first, count)
        start = fewer.start.take(row)
        start_of_touched = more.start.take(touched)
        np.maximum(start, start_of_touched, out=start)
        end = fewer.end.take(row)
        end_of_touched = more.end.take(touched)
        np.minimum(end, end_of_touched, out=end)
        return _apart(start, end)


def _clipped(stretches: CoveredTime, rows: slice, bounds: CoveredTime) -> CoveredTime:
    """Some of the stretches, within one bounding stretch."""
    lo = bounds.start[0]
    hi = bounds.end[0]
    start = np.maximum(stretches.start[rows], lo)
    end = np.minimum(stretches.end[rows], hi)
    return _apart(start, end)


def _apart(start: Int64s, end: Int64s) -> CoveredTime:
    """Ascending stretches, those without a length left out."""
    has_length = end > start
    if not has_length.all():
        start = start[has_length]
        end = end[has_length]
    if (start[1:] <= end[:-1]).any():  # some of the given ones were not apart
        return union(start, end)
    return CoveredTime(start, end)


NO_TIME = CoveredTime(_NONE, _NONE)


def window(lo: int, hi: int) -> CoveredTime:
    """One stretch, or none where it has no length."""
    if hi <= lo:
        return NO_TIME
    return CoveredTime(np.array([lo], np.int64), np.array([hi], np.int64))


def joined(parts: Iterable[CoveredTime]) -> CoveredTime:
    """The moments that are in any of them."""
    filled = [part for part in parts if len(part.start)]
    if not filled:
        return NO_TIME
    if len(filled) == 1:
        return CoveredTime(*wire.united(*filled[0]))
    start = np.concatenate([part.start for part in filled])
    end = np.concatenate([part.end for part in filled])
    return CoveredTime(*wire.united(start, end))


def union(start: Int64s, end: Int64s) -> CoveredTime:
    """The same moments as any stretches of some length cover, apart and ascending."""
    return CoveredTime(*wire.united(start, end, empty_too=True))


def time_of(events: Events, chosen: Bools, *, empty_too: bool = False) -> CoveredTime:
    """When any of the chosen events of a line runs. `empty_too`: those of no length, too."""
    return CoveredTime(
        *wire.united_events(events.start, events.duration, chosen, empty_too=empty_too)
    )
