"""Self times of the ops of one line, counted exactly as TensorFlow's profiler counts them.

TensorFlow sorts begins and ends by time alone and walks them with a stack: an end pops everything
above its begin, and an end whose begin is gone empties the stack. So an op that ends at the very
moment at which its parent ends is lost, and so is everything open around that parent.
Here a few numpy calls give the same result. Only ops that overlap without nesting go through the
stack itself.
"""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.model import Bools, Int64s, UInt8s
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class SelfTimes:
    """Which ops of one line count, and the time of each that no op inside it covers (ps)."""

    counted: Bools
    self_time: Int64s


def self_times(start: Int64s, duration: Int64s, *, like_tensorflow: bool = True) -> SelfTimes:
    """Return the self times of ops that are sorted by start, of equal starts the longest first.

    With `like_tensorflow` the ops that TensorFlow loses are not counted; else every op counts.
    """
    count = len(start)
    counted = np.ones(count, np.bool_)
    self_time = duration.copy()
    if not count:
        return SelfTimes(counted, self_time)
    depth = wire.nest(start, duration)
    end = start + duration
    parent, levels = parents(depth)
    if like_tensorflow:
        counted &= ~_lost(parent, levels, end)
    has_parent = parent >= 0
    nested = np.flatnonzero(has_parent & counted)
    nested_ps = np.bincount(parent[nested], duration[nested], count)
    self_time -= nested_ps.astype(np.int64)
    crossing = _crossing(parent, depth, end)
    for lo, hi in _stretches_with(crossing, start, end):
        by_stack = self_times_by_stack(start[lo:hi], end[lo:hi])
        if not like_tensorflow:
            uncounted = ~by_stack.counted
            whole_durations = duration[lo:hi]
            by_stack.self_time[uncounted] = whole_durations[uncounted]
            by_stack.counted[:] = True
        counted[lo:hi] = by_stack.counted
        self_time[lo:hi] = by_stack.self_time
    return SelfTimes(counted, np.maximum(self_time, 0))


def _crossing(parent: Int64s, depth: UInt8s, end: Int64s) -> Int64s:
    """The ops that do not simply nest: they outlast their parent, or lie too deep to have one."""
    inner = np.flatnonzero(parent >= 0)
    holder = parent[inner]
    begins_before = holder > inner
    outlasts = end[inner] > end[holder]
    # Beyond the last lane the depth is not counted any more.
    too_deep = depth[inner] >= wire.MAX_LANES - 1
    return inner[begins_before | outlasts | too_deep]


def parents(depth: UInt8s) -> tuple[Int64s, list[Int64s]]:
    """Return the parent row of each op (-1 at the top), and the rows of each level below the top.

    The parent is the op one level up that began last.
    """
    parent = np.full(len(depth), -1, np.int64)
    levels: list[Int64s] = []
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max()) + 1):
        rows = np.flatnonzero(depth == level)
        levels.append(rows)
        if len(above):
            began_last = above.searchsorted(rows) - 1
            began_last = np.maximum(began_last, 0)
            parent[rows] = above[began_last]
        else:
            parent[rows] = 0
        above = rows
    return parent, levels


def _lost(parent: Int64s, levels: list[Int64s], end: Int64s) -> Bools:
    """Return which ops TensorFlow loses.

    An op that ends with its parent is lost, and so is everything around the outermost of those.
    """
    inner = np.flatnonzero(parent >= 0)
    ends_with_parent = np.zeros(len(parent), np.bool_)
    end_of_parent = end[parent[inner]]
    ends_with_parent[inner] = end[inner] == end_of_parent
    lost = np.zeros(len(parent), np.bool_)
    if not ends_with_parent.any():
        return lost
    # The end of such a parent empties the stack: everything open around it is lost as well.
    cleared = np.zeros(len(parent), np.bool_)
    cleared[parent[ends_with_parent]] = True
    cleared &= ~ends_with_parent
    for rows in reversed(levels):
        is_spoiled = cleared[rows] | lost[rows]
        spoiled = rows[is_spoiled]
        lost[parent[spoiled]] = True
    return ends_with_parent | lost


def _stretches_with(crossing: Int64s, start: Int64s, end: Int64s) -> list[tuple[int, int]]:
    """Return the row ranges that hold one of the `crossing` ops.

    Each range goes from one moment at which nothing runs to the next.
    """
    if not len(crossing):
        return []
    begins_idle = np.ones(len(start), np.bool_)
    last_end_so_far = np.maximum.accumulate(end)
    begins_idle[1:] = start[1:] >= last_end_so_far[:-1]
    first_rows = np.flatnonzero(begins_idle)
    edges = np.append(first_rows, len(start))
    range_of_op = np.searchsorted(edges, crossing, side="right") - 1
    ranges = []
    for number in wire.distinct(range_of_op).tolist():
        first = int(edges[number])
        after_last = int(edges[number + 1])
        ranges.append((first, after_last))
    return ranges


def self_times_by_stack(start: Int64s, end: Int64s) -> SelfTimes:
    """Return the self times of a few ops by TensorFlow's own rule, op by op."""
    starts = start.tolist()
    ends = end.tolist()
    moments: list[tuple[int, int, bool]] = []  # (time, row, whether it is an end)
    for row, (op_start, op_end) in enumerate(zip(starts, ends, strict=True)):
        moments.append((op_start, row, False))
        moments.append((op_end, row, True))
    # TensorFlow sorts by time alone; among equal times its order of writing stays.
    moments.sort(key=lambda moment: moment[0])
    counted = [False] * len(starts)
    self_time = [0] * len(starts)
    stack: list[list[int]] = []  # [row, time of the ops inside]
    for time, row, is_end in moments:
        if not is_end:
            stack.append([row, 0])
            continue
        # An end whose begin is gone empties the stack.
        while stack:
            top, time_inside = stack.pop()
            if top == row:
                length = time - starts[row]
                counted[row] = True
                self_time[row] = length - time_inside
                if stack:
                    stack[-1][1] += length
                break
    return SelfTimes(
        counted=np.array(counted, np.bool_),
        self_time=np.array(self_time, np.int64),
    )
