"""How deep each event of a line lies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.wire.types import (
    MAX_LANES,
    Int64s,
    UInt8s,
    distinct,
)


def nest(start: Int64s, duration: Int64s) -> UInt8s:
    """How deep each event of a line lies. See the package's docstring."""
    n = len(start)
    if not n:
        return np.empty(0, np.uint8)
    start = np.ascontiguousarray(start, np.int64)
    end = start + np.maximum(duration, 0)
    end = np.where(end < start, np.iinfo(np.int64).max, end)  # a sum beyond 64 bits
    index = np.arange(n)
    # Open at start[i]: the i events before, less those that have ended. The search also counts the
    # events of no length that start right here and come later (or are event i itself): they have
    # not been before.
    instants = np.concatenate(([0], np.cumsum(end == start)))
    ended = np.searchsorted(np.sort(end), start, side="right")
    after_equal_starts = np.searchsorted(start, start, side="right")
    later = instants[after_equal_starts] - instants[index]
    depth = index - (ended - later)
    lanes: UInt8s = np.minimum(depth, MAX_LANES - 1).astype(np.uint8)
    for lo, hi in _improper(start, end, depth):
        lanes[lo:hi] = _first_fit(start[lo:hi].tolist(), end[lo:hi].tolist())
    return lanes


def _improper(start: Int64s, end: Int64s, depth: Int64s) -> Iterator[tuple[int, int]]:
    """Stretches between two moments of rest in which some event outlives the one it began in (or is
    too deep).
    """
    wrong = depth >= MAX_LANES
    deepest = int(depth.max())
    outermost = np.flatnonzero(depth == 0)
    above = outermost
    for level in range(1, min(deepest, MAX_LANES - 1) + 1):
        here = np.flatnonzero(depth == level)
        if not len(here):
            continue
        if not len(above):
            wrong[here] = True
            continue
        before = np.searchsorted(above, here) - 1
        parent = above[np.maximum(before, 0)]
        wrong[here] |= (parent > here) | (end[parent] < end[here])
        above = here
    # From one event of the outermost level to the next there is a stretch.
    stretch_of_wrong = np.searchsorted(outermost, np.flatnonzero(wrong), side="right") - 1
    bounds = [*outermost.tolist(), len(start)]
    for stretch in distinct(stretch_of_wrong).tolist():
        yield bounds[stretch], bounds[stretch + 1]


def _first_fit(start: list[int], end: list[int]) -> list[int]:
    """The rule itself: below the deepest event that holds this one whole, the first lane that is
    free.
    """
    lanes: list[int] = []
    until: list[int] = []
    for s, e in zip(start, end, strict=True):
        while until and until[-1] <= s:
            until.pop()
        lane = len(until)
        while lane and not (until[lane - 1] > s and until[lane - 1] >= e):
            lane -= 1
        while lane < len(until) and until[lane] > s:
            lane += 1
        if lane >= MAX_LANES:
            lane = MAX_LANES - 1
            until[lane] = max(until[lane], e)
        elif lane == len(until):
            until.append(e)
        else:
            until[lane] = e
        lanes.append(lane)
    return lanes
