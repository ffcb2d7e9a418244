"""Sums, the longest events and the ends of names over long columns."""

from __future__ import annotations

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
from powertui.named_tuples import NamedTuple


def blocks(duration: Int64s) -> tuple[Int64s, UInt8s]:
    """Sums and longest events of blocks. See the package's docstring."""
    count = -(-len(duration) // BLOCK)
    full = len(duration) // BLOCK
    total = np.empty(count, np.int64)
    top = np.empty(count, np.uint8)
    for first in range(0, full, fields.BATCH):
        after = min(first + fields.BATCH, full)
        by_block = duration[first * BLOCK : after * BLOCK].reshape(-1, BLOCK)
        by_block.sum(axis=1, out=total[first:after])
        top[first:after] = by_block.argmax(axis=1)
    if count > full:
        rest = duration[full * BLOCK :]
        total[full] = rest.sum()
        top[full] = rest.argmax()
    return total, top


def sums(duration: Int64s, before: Int64s, at: Int64s) -> Int64s:
    """Durations summed up to these rows. See the package's docstring."""
    block = at // BLOCK
    begin = block * BLOCK
    inside = np.arange(BLOCK)
    looked = _gather(duration, begin[:, None] + inside)
    # Whole blocks are looked at and the rest is multiplied by 0: a loop over rows of different
    # lengths would cost one Python step for each.
    looked *= inside < (at - begin)[:, None]
    total: Int64s = before[block] + looked.sum(axis=1)
    return total


def longest(duration: Int64s, top: UInt8s, table: Int32s, lo: Int64s, hi: Int64s) -> Int64s:
    """The longest event from row lo to row hi (more than none), the first of equals."""
    # Each range is rows, whole blocks, whole groups of blocks, blocks, rows. They are tried in that
    # order, so that of several events of equal length the first one stays.
    first_block = -(-lo // BLOCK)
    last_block = np.maximum(first_block, hi // BLOCK)
    first_group = -(-first_block // FAN)
    last_group = np.maximum(first_group, last_block // FAN)
    row = np.full(len(lo), -1, np.int64)
    stay = np.full(len(lo), np.iinfo(np.int64).min)
    best = _Best(duration, row, stay)
    best.of_rows(lo, np.minimum(hi, first_block * BLOCK), BLOCK)
    best.of_blocks(first_block, np.minimum(last_block, first_group * FAN), top)
    best.of_groups(first_group, last_group, top, table)
    groups_end = last_group * FAN
    rest = np.where(last_block >= groups_end, np.maximum(first_block, groups_end), last_block)
    best.of_blocks(rest, last_block, top)
    best.of_rows(np.minimum(hi, last_block * BLOCK), hi, BLOCK)
    return best.row


class _Best(NamedTuple):
    """The longest event of each range so far."""

    duration: Int64s
    row: Int64s
    stay: Int64s

    def of_rows(self, lo: Int64s, hi: Int64s, most: int) -> None:
        """These rows, at most so many in each range."""
        length = hi - lo
        ranges = np.flatnonzero(length > 0)
        if not len(ranges):
            return
        length = length[ranges]
        step = np.arange(min(most, int(length.max())))
        self.put(ranges, lo[ranges, None] + step, step < length[:, None])

    def of_blocks(self, lo: Int64s, hi: Int64s, top: UInt8s) -> None:
        """The longest events of these blocks, fewer than a group."""
        length = hi - lo
        ranges = np.flatnonzero(length > 0)
        if not len(ranges):
            return
        step = np.arange(FAN - 1)
        block = lo[ranges, None] + step
        rows = block * BLOCK + top.take(block, mode="clip")
        self.put(ranges, rows, step < length[ranges, None])

    def of_groups(self, lo: Int64s, hi: Int64s, top: UInt8s, table: Int32s) -> None:
        """The longest events of these groups of blocks, by a table of powers of two."""
        ranges = np.flatnonzero(hi > lo)
        if not len(ranges):
            return
        first = lo[ranges]
        after = hi[ranges]
        # floor(log2): exact for any count below 2^53.
        level = np.frexp((after - first).astype(np.float64))[1] - 1
        size = np.int64(1) << level.astype(np.int64)
        # Two ranges of a power of two cover any range; that they overlap is no harm to a maximum.
        for group in (first, after - size):
            block = table[level, group].astype(np.int64)
            rows = block * BLOCK + top[block]
            self.put(ranges, rows[:, None], None)

    def put(self, ranges: Int64s, rows: Int64s, inside: Bools | None) -> None:
        """Candidates for these ranges, side by side; those not `inside` do not count."""
        looked = _gather(self.duration, rows)
        if inside is not None:
            looked[~inside] = np.iinfo(np.int64).min
        which = looked.argmax(axis=1)
        which += np.arange(len(rows)) * rows.shape[1]
        row = rows.reshape(-1)[which]
        stay = looked.reshape(-1)[which]
        best_row = self.row[ranges]
        best_stay = self.stay[ranges]
        wins = (stay > best_stay) | (best_row < 0)
        self.row[ranges] = np.where(wins, row, best_row)
        self.stay[ranges] = np.where(wins, stay, best_stay)


def _gather(column: Int64s, rows: Int64s) -> Int64s:
    """Every look at a duration goes through here, so that a test can count them."""
    return column.take(rows, mode="clip")


def ends(name: UInt32s, names: int) -> tuple[Int64s, Int64s]:
    """The first and the last row of each name. See the package's docstring."""
    first = np.full(names, -1, np.int64)
    last = np.full(names, -1, np.int64)
    for lo in range(0, len(name), fields.BATCH):
        batch = name[lo : lo + fields.BATCH]
        rows = np.arange(lo, lo + len(batch))
        last[batch] = rows
        # Backwards: the first of several is written last.
        new = np.flatnonzero(first[batch] < 0)[::-1]
        first[batch[new]] = rows[new]
    return first, last
