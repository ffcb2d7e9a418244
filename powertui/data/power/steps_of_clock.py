"""A host's clock that was set while it recorded: its rows then tell two times that do not fit together.

Each row carries the wall clock and the monotonic clock, which is never set. Where the distance between the two jumps, the
wall clock was stepped: taking the jump out again puts all rows on one time, whose differences are true lengths. Which of the
two wall clocks was right nobody can tell from the rows, so the zero then lies in an interval that holds both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from powertui.data.model import NS_PER_S, Floats, Int32s, Int64s
from powertui.data.power import times

STEP_NS = 100_000_000  # as the recorder notes it; less is how far apart two looks at two clocks can be


@dataclass(frozen=True, eq=False)
class Joined:
    """Times without steps, and how far the true zero may lie before and behind the one they speak of."""

    ns: Int64s
    early_ns: int = 0
    late_ns: int = 0
    steps_ns: tuple[int, ...] = ()  # how far the clock was set, each time


def join(ns: Int64s, mono_s: Floats, block: Int32s) -> Joined:
    """One time for rows in file order. Between blocks (a restarted recorder, a restarted machine) the wall clock stands."""
    if len(ns) < 2:
        return Joined(ns)
    # From the first row on: what a double holds of 1e18 ns is not enough.
    mono_s = np.where(np.abs(mono_s) < times.LONGEST_S, mono_s, np.nan)  # no machine runs that long: a damaged row
    offset = (ns - ns[0]).astype(np.float64) - (mono_s - mono_s[0]) * NS_PER_S
    jump = np.diff(offset, prepend=offset[0])
    jump[np.flatnonzero(np.diff(block)) + 1] = 0.0
    jump[~(np.abs(jump) > STEP_NS)] = 0.0  # NaN too: a row without the second clock
    if not jump.any():
        return Joined(ns)
    set_by = np.cumsum(np.rint(jump).astype(np.int64))
    for start, stop in _runs(block):  # in each block the clock that most rows were stamped with
        values, counts = np.unique(set_by[start:stop], return_counts=True)
        set_by[start:stop] -= values[counts.argmax()]
    # A look at one clock that was held up before the look at the other is a jump to and fro: it says nothing of the zero.
    ends = [int(set_by[at]) for start, stop in _runs(block) for at in (start, stop - 1)]
    return Joined(ns - set_by, min(0, *ends), max(0, *ends), tuple(int(j) for j in np.rint(jump[jump != 0])))


def _runs(block: Int32s) -> list[tuple[int, int]]:
    edges = [0, *(np.flatnonzero(np.diff(block)) + 1).tolist(), len(block)]
    return list(pairwise(edges))
