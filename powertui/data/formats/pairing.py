"""Begins and ends of one track paired to stretches, with columns and no loop over events."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Int64s
from powertui.named_tuples import NamedTuple


class Slices(NamedTuple):
    """Stretches by the row of their begin."""

    begin: Int64s  # rows
    end: Int64s  # rows; -1 where it never ended
    stray: int  # ends without a begin


def pair(opens: Bools) -> Slices:
    """Rows of one track by time: True begins a stretch, False ends the last one that is open."""
    depth = np.cumsum(np.where(opens, 1, -1))
    if len(depth):
        lowest = np.minimum(np.minimum.accumulate(depth), 0)
    else:
        lowest = depth
    # An end that takes the depth lower than it ever was ends nothing.
    stray = np.diff(lowest, prepend=0) < 0
    depth = depth - lowest
    level = np.where(opens, depth, depth + 1)
    # Sorted by level, begins and ends of one level take turns: a begin's end is the next row.
    rows = np.flatnonzero(~stray)
    rows = rows[np.argsort(level[rows], kind="stable")]
    begins = np.flatnonzero(opens[rows])
    begin = rows[begins]
    next_row = rows[np.minimum(begins + 1, len(rows) - 1)]
    has_next = begins + 1 < len(rows)
    next_ends_it = ~opens[next_row] & (level[next_row] == level[begin])
    closed = has_next & next_ends_it
    end = np.where(closed, next_row, -1)
    order = np.argsort(begin, kind="stable")
    return Slices(begin[order], end[order], int(stray.sum()))
