"""Rows that lie in rows: each stands below the one that it lies in, whatever the table is sorted
by, and folds away with it.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from powertui.data.model import Bools, Int64s
from powertui.data.table import Table
from powertui.value_types import dataclass

MAX_OPEN_ROWS = 8  # more rows in one are folded to begin with
INDENT = 2  # cells of a level: the mark of a row that holds others has as many


@dataclass(frozen=True, eq=False)
class NestedRows:
    """Which rows of a table hold others, and whether those are folded away."""

    within: Int64s  # the row that each lies in, or -1
    held: Int64s  # how many of the rows that are left lie in each
    folded: Bools

    def around(self, row: int) -> int:
        """The row that holds others: this one, or the one that it lies in; -1 for none."""
        if row < 0 or self.held[row]:
            return row
        return int(self.within[row])

    def lines(self, rows: Int64s) -> Int64s:
        """Of these rows those that stand on the screen."""
        outer = self.within[rows]
        is_folded_away = (outer >= 0) & self.folded[outer]
        return rows[~is_folded_away]


def folds(
    table: Table,
    within: Int64s,
    rows: Int64s,
    by_hand: Collection[str],
) -> NestedRows:
    """Folded are rows that hold many, but where a person said otherwise (`turned`)."""
    outer = within[rows]
    held = np.bincount(outer[outer >= 0], minlength=len(within)).astype(np.int64)
    folded = np.asarray(held > MAX_OPEN_ROWS, np.bool_)
    if by_hand:
        for row in np.flatnonzero(held).tolist():
            if _choice(table, row, folded=True) in by_hand:
                folded[row] = True
            elif _choice(table, row, folded=False) in by_hand:
                folded[row] = False
    return NestedRows(within, held, folded)


def turned(
    table: Table,
    row: int,
    folded: bool,
    by_hand: frozenset[str],
) -> frozenset[str]:
    """What a person said so far, and now that this row is to be folded or not."""
    withdrawn = _choice(table, row, folded=not folded)
    return (by_hand - {withdrawn}) | {_choice(table, row, folded=folded)}


def _choice(table: Table, row: int, *, folded: bool) -> str:
    """What a person said of a row; by its key, so that it survives another order."""
    state = "folded" if folded else "open"
    return f"{state} {table.key_of(row)!r}"


def below(within: Int64s, rows: Int64s) -> Int64s:
    """Rows in an order, put below the row that each lies in where that one is left too: the outer
    ones keep their order, and so do those in each of them.
    """
    rank_of_row = np.full(len(within), -1, np.int64)
    rank_of_row[rows] = np.arange(len(rows))
    rank = rank_of_row[rows]
    outer = within[rows]
    outer_rank = rank_of_row[outer]
    is_inside = (outer >= 0) & (outer_rank >= 0)
    family_rank = np.where(is_inside, outer_rank, rank)
    order = np.lexsort((rank, is_inside, family_rank))
    return rows[order]


def left(within: Int64s, matching: Bools) -> Bools:
    """What is left by a filter: what matches, with the row around it, and all that lies in a row
    that matches.
    """
    inner = np.flatnonzero(within >= 0)
    outer = within[inner]
    remaining: Bools = matching.copy()
    remaining[inner] |= matching[outer]
    remaining[outer[matching[inner]]] = True
    return remaining
