"""Stretches of time that lie apart: their union, what is left of some without others, and how much
of them lies before a moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Int64s

_NONE = np.empty(0, np.int64)
_FIRST, _LAST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class CoveredTime(NamedTuple):
    """Stretches of some length, apart from each other and ascending."""

    start: Int64s
    end: Int64s

    @property
    def length(self) -> int:
        """How long all of them are together."""
        return int((self.end - self.start).sum())

    def length_until(self, moments: Int64s) -> Int64s:
        """How much of them lies before each moment."""
        if not len(self.start):
            return np.zeros(len(moments), np.int64)
        before = np.concatenate(([0], np.cumsum(self.end - self.start)))
        place = self.start.searchsorted(moments, side="left")
        last = np.maximum(place - 1, 0)
        beyond = np.where(place > 0, np.maximum(0, self.end[last] - moments), 0)
        return np.asarray(before[place] - beyond, np.int64)

    def inside(self, lo: Int64s, hi: Int64s) -> Int64s:
        """How much of each [lo, hi) they cover."""
        return self.length_until(hi) - self.length_until(lo)

    def hold(self, moments: Int64s) -> Bools:
        """Which moments lie in one of them."""
        if not len(self.start):
            return np.zeros(len(moments), np.bool_)
        place = self.start.searchsorted(moments, side="right") - 1
        return np.asarray((place >= 0) & (moments < self.end[np.maximum(place, 0)]))

    def without(self, removed: CoveredTime) -> CoveredTime:
        """What of them the removed ones leave."""
        if not len(removed.start) or not len(self.start):
            return self
        return self.common(
            CoveredTime(np.append(_FIRST, removed.end), np.append(removed.start, _LAST))
        )

    def common(self, other: CoveredTime) -> CoveredTime:
        """The moments that are in both."""
        if not len(self.start) or not len(other.start):
            return NO_TIME
        few, many = (self, other) if len(self.start) <= len(other.start) else (other, self)
        # Each stretch of the fewer with all of the others that it touches.
        first = many.end.searchsorted(few.start, side="right")
        count = np.maximum(many.start.searchsorted(few.end, side="left") - first, 0)
        row = np.repeat(np.arange(len(few.start)), count)
        touched = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + first[row]
        start = np.maximum(few.start[row], many.start[touched])
        end = np.minimum(few.end[row], many.end[touched])
        real = end > start
        if not real.all():
            start, end = start[real], end[real]
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
    kept = [part for part in parts if len(part.start)]
    if not kept:
        return NO_TIME
    start = np.concatenate([part.start for part in kept])
    end = np.concatenate([part.end for part in kept])
    return union(start[end > start], end[end > start])


def union(start: Int64s, end: Int64s) -> CoveredTime:
    """The same moments as any stretches of some length cover, apart and ascending."""
    if not len(start):
        return CoveredTime(_NONE, _NONE)
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order])
    new = np.ones(len(start), np.bool_)
    new[1:] = start[1:] > end[:-1]
    firsts = np.flatnonzero(new)
    return CoveredTime(start[firsts], end[np.append(firsts[1:], len(start)) - 1])
