"""Sums, the longest events and the ends of names over long columns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.wire.pure import fields
from powertui.data.wire.types import (
    BLOCK,
    FAN,
    Bools,
    Int32s,
    Int64s,
    UInt8s,
    UInt32s,
)


def blocks(duration: Int64s) -> tuple[Int64s, UInt8s]:
    """Sums and longest events of blocks. See the package's docstring."""
    count, full = -(-len(duration) // BLOCK), len(duration) // BLOCK
    total, top = np.empty(count, np.int64), np.empty(count, np.uint8)
    for lo in range(0, full, fields.BATCH):
        part = duration[lo * BLOCK : min(lo + fields.BATCH, full) * BLOCK].reshape(-1, BLOCK)
        part.sum(axis=1, out=total[lo : lo + len(part)])
        top[lo : lo + len(part)] = part.argmax(axis=1)
    if count > full:
        rest = duration[full * BLOCK :]
        total[full], top[full] = rest.sum(), rest.argmax()
    return total, top


def sums(duration: Int64s, before: Int64s, at: Int64s) -> Int64s:
    """Durations summed up to these rows. See the package's docstring."""
    block = at // BLOCK
    inside = np.arange(BLOCK)
    looked = _gather(duration, block[:, None] * BLOCK + inside)
    # Whole blocks are looked at and the rest is multiplied by 0: a loop over rows of different
    # lengths would cost one Python step for each.
    looked *= inside < (at - block * BLOCK)[:, None]
    total: Int64s = before[block] + looked.sum(axis=1)
    return total


def longest(duration: Int64s, top: UInt8s, table: Int32s, lo: Int64s, hi: Int64s) -> Int64s:
    """The longest event of each range of rows. See the package's docstring."""
    first, last = -(-lo // BLOCK), hi // BLOCK  # whole blocks
    last = np.maximum(first, last)
    begin, end = -(-first // FAN), last // FAN  # whole groups of them
    end = np.maximum(begin, end)
    best = _Best(duration, np.full(len(lo), -1, np.int64), np.full(len(lo), np.iinfo(np.int64).min))
    # from the first row to the last, so that of equals the first stays
    best.of_rows(lo, np.minimum(hi, first * BLOCK), BLOCK)
    best.of_blocks(first, np.minimum(last, begin * FAN), top)
    ranges = np.flatnonzero(end > begin)
    if len(ranges):
        # floor(log2): exact for any count below 2^53.
        level = np.frexp((end - begin)[ranges].astype(np.float64))[1] - 1
        # Two ranges of a power of two cover any range; that they overlap is no harm to a maximum.
        for group in (begin[ranges], end[ranges] - (np.int64(1) << level.astype(np.int64))):
            block = table[level, group].astype(np.int64)
            best.put(ranges, (block * BLOCK + top[block])[:, None], None)
    best.of_blocks(np.where(last >= end * FAN, np.maximum(first, end * FAN), last), last, top)
    best.of_rows(np.minimum(hi, last * BLOCK), hi, BLOCK)
    return best.row


class _Best(NamedTuple):
    """The longest event of each range so far."""

    duration: Int64s
    row: Int64s
    stay: Int64s

    def of_rows(self, lo: Int64s, hi: Int64s, most: int) -> None:
        """These rows, at most so many in each range."""
        some = np.flatnonzero(hi > lo)
        if len(some):
            step = np.arange(min(most, int((hi - lo)[some].max())))
            self.put(some, lo[some, None] + step, step < (hi - lo)[some, None])

    def of_blocks(self, lo: Int64s, hi: Int64s, top: UInt8s) -> None:
        """The longest events of these blocks, fewer than a group."""
        some = np.flatnonzero(hi > lo)
        if len(some):
            step = np.arange(FAN - 1)
            block = lo[some, None] + step
            self.put(
                some, block * BLOCK + top.take(block, mode="clip"), step < (hi - lo)[some, None]
            )

    def put(self, ranges: Int64s, rows: Int64s, inside: Bools | None) -> None:
        """Candidates for these ranges, side by side; those not `inside` do not count."""
        looked = _gather(self.duration, rows)
        if inside is not None:
            looked[~inside] = np.iinfo(np.int64).min
        which = looked.argmax(axis=1)
        which += np.arange(len(rows)) * rows.shape[1]
        row, stay = rows.reshape(-1)[which], looked.reshape(-1)[which]
        best = self.stay[ranges]
        wins = (stay > best) | (self.row[ranges] < 0)
        self.row[ranges] = np.where(wins, row, self.row[ranges])
        self.stay[ranges] = np.where(wins, stay, best)


def _gather(column: Int64s, rows: Int64s) -> Int64s:
    """Every look at a duration goes through here, so that a test can count them."""
    return column.take(rows, mode="clip")


def ends(name: UInt32s, names: int) -> tuple[Int64s, Int64s]:
    """The first and the last row of each name. See the package's docstring."""
    first, last = np.full(names, -1, np.int64), np.full(names, -1, np.int64)
    for lo in range(0, len(name), fields.BATCH):
        part, rows = name[lo : lo + fields.BATCH], np.arange(lo, min(lo + fields.BATCH, len(name)))
        last[part] = rows
        # Backwards: the first of several is written last.
        new = np.flatnonzero(first[part] < 0)[::-1]
        first[part[new]] = rows[new]
    return first, last
