"""What ran in a window, by name: count, total, self time, average, share, and where the longest one is.

An event counts when it touches the window; its times are those of the part inside. Self time is what no child covers: the
children of an event lie in the next lane of its track, so it is the event's length less what that lane covers of it.
That is one subtraction of two prefix sums per event, for all of a lane at once.

Lines that a collector drew from other lines are left out: their time is in the lines they came from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from powertui.data import category
from powertui.data.model import Events, Int64s, Names, Process, Trace, Track, TrackKind

_AT_ONCE = 1 << 20  # events added up in one call
COLUMNS = ("name", "type", "device", "count", "total", "self", "average", "share")


@dataclass(frozen=True)
class Op:
    """One name on one device (or host). Times in ps."""

    name: str  # as displayed
    full: str  # as recorded
    type: str  # the op's own type where its name tells, else the category
    category: category.Category
    device: str
    count: int
    total: int
    self_time: int
    share: float  # of all self time on this device in the window
    track: int  # the longest occurrence: counts the tracks of Trace.tracks() …
    row: int  # … and that track's columns

    @property
    def average(self) -> float:
        return self.total / self.count


@dataclass(frozen=True)
class OpStats:
    """The ops of a window, by self time. `total` of a nested op holds its children: totals do not add up, selfs do."""

    lo: int
    hi: int
    ops: tuple[Op, ...]
    events: int
    self_time: int  # over all devices

    def sorted_by(self, key: str, descending: bool = True) -> OpStats:
        """By one of COLUMNS; equal ones by self time, then by name."""
        ops = sorted(self.ops, key=lambda op: (-op.self_time, op.name))
        return replace(self, ops=tuple(sorted(ops, key=lambda op: _value(op, key), reverse=descending)))

    def matching(self, text: str) -> OpStats:
        """Only ops whose name, type or device holds the text (in any case)."""
        wanted = text.lower()
        if not wanted:
            return self
        kept = (op for op in self.ops if wanted in op.full.lower() or wanted in op.name.lower()
                or wanted in op.type.lower() or wanted in op.device.lower())  # fmt: skip
        return replace(self, ops=tuple(kept))


def _value(op: Op, key: str) -> Any:
    if key == "self":
        return op.self_time
    value = getattr(op, key)
    return value.lower() if isinstance(value, str) else value


def of(trace: Trace, lo: int | None = None, hi: int | None = None) -> OpStats:
    """The op table of [lo, hi) (the whole trace by default)."""
    lo = trace.span[0] if lo is None else lo
    hi = trace.span[1] + 1 if hi is None else hi
    number = 0
    ops: list[Op] = []
    events = 0
    for process in trace.processes:
        parts: list[_Part] = []
        for track in process.tracks:
            if not track.derived and track.kind not in (TrackKind.STEPS, TrackKind.COUNTER):
                parts.extend(_lanes(track, number, lo, hi))
            number += 1
        if parts:
            found, counted = _by_name(trace.names, process, parts)
            ops.extend(found)
            events += counted
    ops.sort(key=lambda op: (-op.self_time, op.name))
    return OpStats(lo, hi, tuple(ops), events, sum(op.self_time for op in ops))


class _Part(NamedTuple):
    """The events of one lane that touch the window."""

    track: int
    first: int  # row of the first in the track's columns
    name: Int64s
    total: Int64s
    self_time: Int64s


def _touching(lane: Events, lo: int, hi: int) -> tuple[int, int]:
    """Rows of a lane that overlap [lo, hi), or lie in it without length."""
    first = int(lane.start.searchsorted(lo, side="left"))
    last = int(lane.start.searchsorted(hi, side="left"))
    if first > 0 and int(lane.start[first - 1] + lane.duration[first - 1]) > lo:
        first -= 1
    return first, last


def _lanes(track: Track, number: int, lo: int, hi: int) -> list[_Part]:
    out = []
    below: Events | None = None
    for depth in range(track.lane_count - 1, -1, -1):  # from the innermost: each lane needs the one below it
        lane = track.lane(depth)
        first, last = _touching(lane, lo, hi)
        part = lane[slice(first, last)]
        if len(part):
            start = np.maximum(part.start, lo)
            end = np.minimum(part.start + part.duration, hi)
            own = end - start
            if below is not None and len(below):
                own = own - (_busy_until(below, end) - _busy_until(below, start))
            out.append(_Part(number, int(track.lanes[depth]) + first, part.name.astype(np.int64), end - start, own))
        below = part
    return out


def _busy_until(lane: Events, moments: Int64s) -> Int64s:
    """How much of all time before each moment the lane covers."""
    total = np.concatenate([[0], np.cumsum(lane.duration)])
    at = lane.start.searchsorted(moments, side="left")
    before = np.maximum(at - 1, 0)
    over = np.where(at > 0, np.maximum(0, lane.start[before] + lane.duration[before] - moments), 0)
    busy: Int64s = total[at] - over
    return busy


class _Sums:
    """Count, total, self time and longest occurrence per name id. Events come in parts, so that a screen can breathe."""

    def __init__(self, names: int) -> None:
        self.count, self.total, self.self_time = (np.zeros(names, np.int64) for _ in range(3))
        self.most = np.full(names, -1, np.int64)
        self.where = np.zeros(names, np.int64)

    def add(self, name: Int64s, total: Int64s, own: Int64s, first: int) -> None:
        """Events numbered from `first`, in the order in which the first of equals counts as the longest."""
        size = len(self.count)
        self.count += np.bincount(name, minlength=size)
        self.total += _exact(name, total, size)
        self.self_time += _exact(name, own, size)
        before = self.most.copy()
        np.maximum.at(self.most, name, total)
        best = np.flatnonzero((total == self.most[name]) & (self.most[name] > before[name]))[::-1]
        self.where[name[best]] = best + first  # backwards: the first of equals is written last


def _exact(name: Int64s, values: Int64s, size: int) -> Int64s:
    """Exact integer sums per name. bincount adds floats, so both halves of the bits are added apart: neither passes 2^53."""
    high = np.bincount(name, values >> 26, size)
    low = np.bincount(name, values & ((1 << 26) - 1), size)
    return (high.astype(np.int64) << 26) + low.astype(np.int64)


def _by_name(names: Names, process: Process, parts: list[_Part]) -> tuple[list[Op], int]:
    sums = _Sums(len(names))
    bounds = np.cumsum([len(part.name) for part in parts])
    for part, end in zip(parts, bounds.tolist(), strict=True):
        begin = end - len(part.name)
        for lo in range(0, len(part.name), _AT_ONCE):
            rows = slice(lo, lo + _AT_ONCE)
            sums.add(part.name[rows], part.total[rows], part.self_time[rows], begin + lo)
    merged: dict[tuple[str, str], list[int]] = {}
    for name in np.flatnonzero(sums.count).tolist():
        key = (names.full(name), names.display(name))
        row = [int(column[name]) for column in (sums.count, sums.total, sums.self_time, sums.most, sums.where)]
        seen = merged.get(key)
        if seen is not None:  # the same text under two ids
            row[:3] = [a + b for a, b in zip(seen[:3], row[:3], strict=True)]
            if seen[3] >= row[3]:
                row[3:] = seen[3:]
        merged[key] = row
    device_self = max(1, int(sums.self_time.sum()))
    ops = []
    for (full, display), (times, all_, self_, _, where) in merged.items():
        kind = category.of(full)
        kind = category.of(display) if kind is category.Category.OTHER else kind
        part_number = int(np.searchsorted(bounds, where, side="right"))
        part = parts[part_number]
        row_in_part = where - (int(bounds[part_number - 1]) if part_number else 0)
        ops.append(
            Op(display, full, category.op_type(full) or kind.value, kind, process.name, times, all_, self_,
               self_ / device_self, part.track, part.first + row_in_part)
        )  # fmt: skip
    return ops, int(bounds[-1])
