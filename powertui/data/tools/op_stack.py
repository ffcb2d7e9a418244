"""Self times of the ops of one line, exactly as TensorFlow's profiler takes them.

It sorts begins and ends by time alone and walks them with a stack: an end takes off everything
above its begin, and an end whose begin is gone empties the stack. So an op that ends at the very
moment at which the op around it ends is lost, and with it everything that is open around that one.
Here the same comes out of a few numpy calls: only ops that overlap without nesting are walked one
by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int64s


@dataclass(frozen=True, eq=False)
class Selfs:
    """The ops of one line: which of them count, and how much of each no op inside it covers
    (ps).
    """

    kept: Bools
    self_time: Int64s


def self_times(start: Int64s, duration: Int64s, *, lose: bool = True) -> Selfs:
    """Of ops by start (of equal starts the longest first).

    `lose`: lose what the original loses; else every op counts.
    """
    count = len(start)
    kept, own = np.ones(count, np.bool_), duration.copy()
    if not count:
        return Selfs(kept, own)
    depth = wire.nest(start, duration)
    end = start + duration
    parent = np.full(count, -1, np.int64)
    levels: list[Int64s] = []
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max()) + 1):
        here = np.flatnonzero(depth == level)
        levels.append(here)
        holder = (
            above[np.maximum(above.searchsorted(here) - 1, 0)]
            if len(above)
            else np.zeros(len(here), np.int64)
        )
        parent[here] = holder
        above = here
    inner = parent >= 0
    crossing = np.zeros(count, np.bool_)
    crossing[inner] = (
        (parent[inner] > np.flatnonzero(inner))
        | (end[inner] > end[parent[inner]])
        | (depth[inner] >= wire.MAX_LANES - 1)
    )
    if lose:
        _lose(kept, parent, levels, end)
    nested = np.flatnonzero(inner & kept)
    own -= np.bincount(parent[nested], duration[nested], count).astype(np.int64)
    if crossing.any():
        _walk(np.flatnonzero(crossing), start, end, kept, own, lose)
    return Selfs(kept, np.maximum(own, 0))


def _lose(kept: Bools, parent: Int64s, levels: list[Int64s], end: Int64s) -> None:
    """An op that ends with its parent is gone, and so is everything around the outermost of
    those.
    """
    inner = np.flatnonzero(parent >= 0)
    together = np.zeros(len(kept), np.bool_)
    together[inner] = end[inner] == end[parent[inner]]
    if not together.any():
        return
    cleared = np.zeros(
        len(kept), np.bool_
    )  # its end took another op off the stack: what is open around it is lost
    cleared[parent[together]] = True
    cleared &= ~together
    lost = np.zeros(len(kept), np.bool_)
    for here in reversed(levels):
        lost[parent[here[cleared[here] | lost[here]]]] = True
    kept &= ~(together | lost)


def _walk(
    crossing: Int64s, start: Int64s, end: Int64s, kept: Bools, own: Int64s, lose: bool
) -> None:
    """The stretches in which some ops overlap without nesting, op by op: from one moment of rest to
    the next.
    """
    rest = np.ones(len(start), np.bool_)
    rest[1:] = start[1:] >= np.maximum.accumulate(end)[:-1]
    edges = np.append(np.flatnonzero(rest), len(start))
    for root in np.unique(np.searchsorted(edges, crossing, side="right") - 1).tolist():
        lo, hi = int(edges[root]), int(edges[root + 1])
        for row, (is_kept, mine) in zip(
            range(lo, hi), walked(start[lo:hi].tolist(), end[lo:hi].tolist()), strict=True
        ):
            kept[row], own[row] = (
                (is_kept, mine) if is_kept or lose else (True, int(end[row] - start[row]))
            )


def walked(start: list[int], end: list[int]) -> list[tuple[bool, int]]:
    """The rule itself, for a few ops: (whether an op counts, its self time)."""
    moments = [
        (time, row, is_end)
        for row in range(len(start))
        for is_end, time in ((False, start[row]), (True, end[row]))
    ]
    moments.sort(
        key=lambda moment: moment[0]
    )  # stable: by time alone, in the order in which they were written down
    out = [(False, 0)] * len(start)
    stack: list[list[int]] = []  # [row, time of the ops inside]
    for time, row, is_end in moments:
        if not is_end:
            stack.append([row, 0])
            continue
        while stack:
            top, inside = stack.pop()
            if top == row:
                length = time - start[row]
                out[row] = (True, length - inside)
                if stack:
                    stack[-1][1] += length
                break
    return out
