"""From when to when each allocation is alive: which event gave it back, and what is alive when."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Int64s
from powertui.data.model.allocations import AllocatorLog
from powertui.named_tuples import NamedTuple


class AllocationLives(NamedTuple):
    """For each event of a log its counterpart; -1 where the log holds none.

    An allocation without one lives to the end; what is given back without one was there before.
    """

    counterpart: Int64s

    def alive(self, log: AllocatorLog, moment_ps: int) -> Int64s:
        """The allocations of the log that are alive at a moment, after all of its events."""
        end = int(np.searchsorted(log.times, moment_ps, side="right"))
        rows = np.flatnonzero(log.taken[:end])
        other = self.counterpart[rows]
        return rows[(other < 0) | (other >= end)]


def allocation_lives(log: AllocatorLog) -> AllocationLives:
    """Allocations and their ends, by address.

    An address that is allocated again without having been given back, which a trace that misses
    events shows, ends the life of what was there: memory is never counted twice.
    """
    count = len(log)
    counterpart = np.full(count, -1, np.int64)
    order = np.lexsort((np.arange(count), log.address))
    if count < 2:
        return AllocationLives(counterpart)
    before = order[:-1]
    after = order[1:]
    same = log.address[before] == log.address[after]
    opened = same & log.taken[before]
    counterpart[before[opened]] = after[opened]
    closing = opened & ~log.taken[after]
    counterpart[after[closing]] = before[closing]
    return AllocationLives(counterpart)
