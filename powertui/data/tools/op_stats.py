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
import numpy.typing as npt

from powertui.data import category
from powertui.data.model import Events, Int64s, Names, Process, Trace, Track, TrackKind

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


def _sums(place: npt.NDArray[np.intp], values: Int64s, groups: int) -> Int64s:
    """Exact integer sums per group. bincount adds floats, so both halves of the bits are added apart: neither passes 2^53."""
    high = np.bincount(place, values >> 26, groups)
    low = np.bincount(place, values & ((1 << 26) - 1), groups)
    return (high.astype(np.int64) << 26) + low.astype(np.int64)


def _by_name(names: Names, process: Process, parts: list[_Part]) -> tuple[list[Op], int]:
    index = np.concatenate([part.name for part in parts])
    total = np.concatenate([part.total for part in parts])
    own = np.concatenate([part.self_time for part in parts])
    used, place = np.unique(index, return_inverse=True)
    count = np.bincount(place, minlength=len(used))
    totals, owns = _sums(place, total, len(used)), _sums(place, own, len(used))
    # The longest of each name: sorted by length, the last one written stays; of equals the first.
    order = np.argsort(total[::-1], kind="stable")
    longest = np.zeros(len(used), np.int64)
    longest[place[::-1][order]] = (len(total) - 1 - np.arange(len(total)))[order]
    bounds = np.cumsum([len(part.name) for part in parts])
    merged: dict[tuple[str, str], list[int]] = {}
    for i, name in enumerate(used.tolist()):
        key = (names.full(name), names.display(name))
        row = [int(count[i]), int(totals[i]), int(owns[i]), int(longest[i])]
        seen = merged.get(key)
        if seen is None:
            merged[key] = row
        else:  # the same text under two ids
            keep = 3 if total[seen[3]] >= total[row[3]] else -1
            merged[key] = [a + b for a, b in zip(seen[:3], row[:3], strict=True)] + [seen[3] if keep == 3 else row[3]]
    device_self = max(1, int(owns.sum()))
    ops = []
    for (full, display), (times, all_, self_, where) in merged.items():
        kind = category.of(full)
        kind = category.of(display) if kind is category.Category.OTHER else kind
        part_number = int(np.searchsorted(bounds, where, side="right"))
        part = parts[part_number]
        row_in_part = where - (int(bounds[part_number - 1]) if part_number else 0)
        ops.append(
            Op(display, full, category.op_type(full) or kind.value, kind, process.name, times, all_, self_,
               self_ / device_self, part.track, part.first + row_in_part)
        )  # fmt: skip
    return ops, len(index)
