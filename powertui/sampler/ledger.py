"""The running energy of a channel at the moments of its readings: exact for the last of them,
sparser the older they are.

A recording may go on for weeks. What is asked of its past is the energy between two moments, which
is the difference of two running sums: of old readings every fourth, then every sixteenth … is kept,
so that a moment is found to within a few thousandths of its age, and the sum over any length of
time stays true. The first reading is always kept. Memory grows with the logarithm of the length:
about 24 KB each time it becomes four times as long.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from powertui.named_tuples import NamedTuple

__all__ = ["Ledger", "Sums"]

_LEVEL_ENTRIES = 512  # entries of each level that stay when it has twice as many
# Of so many old entries one stays: each level reaches four times as far back as the one before, at
# a quarter of its resolution.
_THINNING = 4
_ENTRY_NUMBERS = 4  # numbers an entry


class Sums(NamedTuple):
    """The sums up to one moment."""

    mono: float
    joules: float
    covered: float
    number: float  # of the reading: 1, 2, 3 …; between two of them where the moment lies between


class Ledger:
    """Appended to by one thread; others may ask at any time."""

    def __init__(self) -> None:
        # Level 0 has the newest entries, each following level older and sparser ones. Other threads
        # read the tuple once and go on with it: a level is only ever appended to, or replaced.
        self._levels: tuple[array[float], ...] = (array("d"),)

    def __len__(self) -> int:
        """Entries in memory."""
        return sum(len(level) for level in self._levels) // _ENTRY_NUMBERS

    def append(self, mono: float, joules: float, covered: float, number: int) -> None:
        """Take the next entry: later than the last, sums that never fall."""
        newest = self._levels[0]
        newest.extend((mono, joules, covered, float(number)))
        if len(newest) >= 2 * _LEVEL_ENTRIES * _ENTRY_NUMBERS:
            self._thin()

    def _thin(self) -> None:
        levels = list(self._levels)
        at = 0
        while len(levels[at]) >= 2 * _LEVEL_ENTRIES * _ENTRY_NUMBERS:
            full = levels[at]
            levels[at] = full[_LEVEL_ENTRIES * _ENTRY_NUMBERS :]
            if at + 1 == len(levels):
                levels.append(array("d"))
            older = levels[at + 1][:]
            for start in range(0, _LEVEL_ENTRIES * _ENTRY_NUMBERS, _THINNING * _ENTRY_NUMBERS):
                older.extend(full[start : start + _ENTRY_NUMBERS])
            levels[at + 1] = older
            at += 1
        self._levels = tuple(levels)

    def at(self, mono: float) -> Sums | None:
        """The sums up to a moment; those of the first or last entry outside of them.

        None when there is none.
        """
        after = None  # the oldest entry of the newer levels
        for level in self._levels:
            if not level:
                continue
            first = Sums(*level[:_ENTRY_NUMBERS])
            if mono < first.mono:
                after = first
                continue
            row = bisect_right(_Monos(level), mono) - 1
            before = Sums(*level[row * _ENTRY_NUMBERS : (row + 1) * _ENTRY_NUMBERS])
            following = level[(row + 1) * _ENTRY_NUMBERS : (row + 2) * _ENTRY_NUMBERS]
            if len(following) == _ENTRY_NUMBERS:
                after = Sums(*following)
            if after is None:
                return before
            return _interpolated(before, after, mono)
        return after

    def inside(self, lo: float, hi: float) -> int:
        """How many readings lie between two moments, both included; of old ones to within those
        that were left out.
        """
        last = self.at(hi)
        if last is None:
            return 0
        before = 0.0
        for level in self._levels:  # the last entry before lo
            row = bisect_left(_Monos(level), lo)
            if row:
                before = level[row * _ENTRY_NUMBERS - 1]
                break
        return max(0, int(last.number) - int(before))


class _Monos:
    """The moments of a level, for a search by bisection."""

    def __init__(self, level: array[float]) -> None:
        self._level = level
        self._count = len(level) // _ENTRY_NUMBERS

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: int) -> float:
        return self._level[row * _ENTRY_NUMBERS]


def _interpolated(a: Sums, b: Sums, mono: float) -> Sums:
    share = 0.0
    if b.mono > a.mono:
        share = (mono - a.mono) / (b.mono - a.mono)
    _, *before = a
    _, *after = b
    between = [x + (y - x) * share for x, y in zip(before, after, strict=True)]
    return Sums(mono, *between)
