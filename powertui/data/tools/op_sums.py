"""Count, total and self time of the ops of one process in a window, by the number of their name.

Self time is what no child covers: the children of an event are in the next lane of its track, so it
is the event's length less what that lane covers of it. That is one subtraction of two prefix sums
per event, for many events of a lane at once. A PyTorch thread with Python frames
is two lines, which `thread_time` counts as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

import numpy as np

from powertui.data import category, texts, wire
from powertui.data.model import (
    Bools,
    Events,
    Int32s,
    Int64s,
    Names,
    Process,
    Track,
    TrackKind,
    UInt32s,
    UInt64s,
)
from powertui.data.sorted_columns import begins_run
from powertui.data.texts import CancelCheck, Texts, unhindered
from powertui.data.tools import replicas, thread_time
from powertui.data.tools.replicas import ReplicaRows
from powertui.data.tools.thread_time import EventTimes
from powertui.data.window import lane_rows
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_CHUNK_EVENTS = 1 << 16  # events summed together: their columns stay in the processor's cache
_FLUSH_EVENTS = 1 << 20  # events added to the sums in one call
_EXACT_FLOAT = 1 << 53  # below this, sums of floats are exact
_LOW_BITS = 26  # of a sum that is added in two halves: 2^27 values of these stay exact
# Few events whose names have far numbers: columns over all numbers between would be mostly empty.
# Chosen: four places for each event, and 1,024 that nobody notices.
_MAX_PLACES_PER_EVENT, _FREE_PLACES = 4, 1024

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class OpSums:
    """The rows of one process."""

    process: int
    name: Int64s
    count: Int64s
    total: Int64s
    self_time: Int64s
    twins: tuple[Int64s, Int64s] = (_NONE, _NONE)
    # Which only wait for other threads; set when names are merged.
    waits: Bools = field(default_factory=lambda: np.zeros(0, np.bool_))
    copies: ReplicaRows = field(default_factory=ReplicaRows.empty)  # set then, too


class _Adder:
    """Adds up columns by name, many events at a time, whatever the lines are that they come
    from.
    """

    def __init__(self, names: int) -> None:
        self.size = names
        self.count = np.zeros(names, np.int64)
        self.total = np.zeros(names, np.int64)
        self.self_time = np.zeros(names, np.int64)
        self._parts: list[tuple[UInt32s | Int64s, Int64s, Int64s]] = []
        self._pending = 0

    def add(self, name: UInt32s | Int64s, total: Int64s, self_time: Int64s) -> None:
        self._parts.append((name, total, self_time))
        self._pending += len(name)
        if self._pending >= _FLUSH_EVENTS:
            self.flush()

    def flush(self) -> None:
        """Add what is pending to the sums.

        Small lines are added together: a pass over all names for each of ten thousand lines would
        never end.
        """
        if not self._parts:
            return
        columns = zip(*self._parts, strict=True)
        name, total, self_time = (np.concatenate(column) for column in columns)
        self._parts = []
        self._pending = 0
        self.count += np.bincount(name, minlength=self.size)
        self.total += exact(name, total, self.size)
        self.self_time += exact(name, self_time, self.size)


def exact(name: UInt32s | Int32s | Int64s, values: Int64s, size: int) -> Int64s:
    """Exact integer sums per name.

    bincount adds floats: where they could round, the high and the low bits are added separately.
    """
    float_sum = float(values.sum(dtype=np.float64))
    if float_sum < _EXACT_FLOAT / 2:
        return np.bincount(name, values, size).astype(np.int64)
    low_mask = (1 << _LOW_BITS) - 1
    high_bits = np.bincount(name, values >> _LOW_BITS, size)
    low_bits = np.bincount(name, values & low_mask, size)
    high_sums = high_bits.astype(np.int64) << _LOW_BITS
    return high_sums + low_bits.astype(np.int64)


class _LaneRows(NamedTuple):
    """The rows of one lane that belong to a window."""

    track: Track
    depth: int
    first: int  # in the track's columns
    last: int

    @property
    def name(self) -> UInt32s:
        return self.track.events.name[self.first : self.last]


def summed(
    process: Process,
    number: int,
    lo: int,
    hi: int,
    check: CancelCheck = unhindered,
) -> OpSums | None:
    """What ran on one process in [lo, hi), by the number of its name; None where nothing did."""
    parts = _parts(process, lo, hi)
    if not parts:
        return None
    lowest = min(int(part.name.min()) for part in parts)
    highest = max(int(part.name.max()) for part in parts)
    name_range = highest - lowest + 1
    event_count = sum(len(part.name) for part in parts)
    used_names: Int64s | None = None
    if name_range > _MAX_PLACES_PER_EVENT * event_count + _FREE_PLACES:
        names = np.concatenate([part.name for part in parts])
        used_names = wire.distinct(names).astype(np.int64)
        name_range = len(used_names)
    adder = _Adder(name_range)
    direct = wire.COMPILED and used_names is None
    for part in parts:
        if direct and isinstance(part, _LaneRows):
            _add_lane(adder, part, lowest, (lo, hi), check)
            continue
        for name, total, self_time in _times(part, lo, hi):
            check()
            if used_names is None:
                index = name - lowest
            else:
                index = np.searchsorted(used_names, name).astype(np.uint32)
            adder.add(index, total, self_time)
    adder.flush()
    ran = np.flatnonzero(adder.count)
    return OpSums(
        process=number,
        name=ran + lowest if used_names is None else used_names[ran],
        count=adder.count[ran],
        total=adder.total[ran],
        self_time=adder.self_time[ran],
    )


def _parts(process: Process, lo: int, hi: int) -> list[_LaneRows | EventTimes]:
    """What of a process belongs to [lo, hi): lane by lane, of threads with frames all at once."""
    threads = thread_time.framed_threads(process)
    parts: list[_LaneRows | EventTimes] = []
    for track in thread_time.other_lines(process, threads):
        if not counts(track):
            continue
        for depth in range(track.lane_count):
            first, last = touching(track, depth, lo, hi)
            if first >= last:
                continue
            rows = _LaneRows(
                track=track,
                depth=depth,
                first=first,
                last=last,
            )
            parts.append(rows)
    for thread in threads:
        times = thread.inside(lo, hi)
        if len(times.name):
            parts.append(times)
    return parts


def _add_lane(
    adder: _Adder,
    part: _LaneRows,
    lowest: int,
    window: tuple[int, int],
    check: CancelCheck,
) -> None:
    """The same sums as of `_times`, in one walk over the events and those in the lane below."""
    for events, below in _pieces_of_lane(part, _FLUSH_EVENTS):
        check()
        held = _reached(
            below,
            int(events.start[0]),
            int(events.start[-1] + events.duration[-1]),
        )
        wire.add_events(
            name=events.name,
            times=(events.start, events.duration),
            below=(held.start, held.duration),
            window=window,
            lowest=lowest,
            sums=(adder.count, adder.total, adder.self_time),
        )


def self_times(lane: Events, below: Events) -> Int64s:
    """What of each event of a lane no event of the lane below covers. With the compiled scanner
    alone.
    """
    alone = np.empty(len(lane), np.int64)
    for first in range(0, len(lane), _CHUNK_EVENTS):
        events = lane[first : first + _CHUNK_EVENTS]
        span = (int(events.start[0]), int(events.start[-1] + events.duration[-1]))
        held = _reached(below, *span)
        count, total, self_time = np.zeros((3, len(events)), np.int64)
        wire.add_events(
            name=np.arange(len(events), dtype=np.uint32),
            times=(events.start, events.duration),
            below=(held.start, held.duration),
            window=span,
            lowest=0,
            sums=(count, total, self_time),
        )
        alone[first : first + len(events)] = self_time
    return alone


def _pieces_of_lane(part: _LaneRows, size: int) -> Iterator[tuple[Events, Events]]:
    """Some events of a lane at a time, and all of the lane below."""
    track, depth, first, last = part
    if depth + 1 < track.lane_count:
        below = track.lane(depth + 1)
    else:
        below = track.events[:0]
    for begin in range(first, last, size):
        end = min(begin + size, last)
        yield track.events[begin:end], below


def _times(
    part: _LaneRows | EventTimes,
    lo: int,
    hi: int,
) -> Iterator[tuple[UInt32s | Int64s, Int64s, Int64s]]:
    """(names, lengths, self times) of the events of a part, some at a time."""
    if isinstance(part, EventTimes):
        yield part
        return
    for events, below in _pieces_of_lane(part, _CHUNK_EVENTS):
        start, end = inside(events, lo, hi)
        total = end - start
        if len(below):
            self_time = total - covered(below, start, end)
        else:
            self_time = total
        yield events.name, total, self_time


def counts(track: Track) -> bool:
    """Whether the events of a line are work of their own."""
    return not track.derived and track.kind not in (TrackKind.STEPS, TrackKind.COUNTER)


def touching(track: Track, depth: int, lo: int, hi: int) -> tuple[int, int]:
    """Rows of a lane, in the track's columns, that belong to the window."""
    begin = int(track.lanes[depth])
    lane = track.lane(depth)
    first, last = lane_rows(lane, lo, hi)
    return begin + first, begin + last


def inside(events: Events, lo: int, hi: int) -> tuple[Int64s, Int64s]:
    """Start and end of the part of each event that is in the window."""
    end = events.start + events.duration
    return np.maximum(events.start, lo), np.minimum(end, hi)


def covered(lane: Events, start: Int64s, end: Int64s) -> Int64s:
    """How much of each stretch the lane covers.

    The stretches come in the order of time, one after the other.
    """
    first_start = int(start[0])
    last_end = int(end[-1])
    events = _reached(lane, first_start, last_end)
    if not len(events):
        return np.zeros(len(start), np.int64)
    # As `CoveredTime.inside`, with one prefix sum for both ends: all op tables wait for this.
    length_so_far = np.cumsum(events.duration)
    length_before = np.concatenate(([0], length_so_far))
    stop = events.start + events.duration

    covered_ps: Int64s = wire.covered(events.start, stop, length_before, end)
    covered_ps -= wire.covered(events.start, stop, length_before, start)
    return covered_ps


def _reached(lane: Events, lo: int, hi: int) -> Events:
    """The events of a lane that may touch [lo, hi)."""
    first = max(0, int(lane.start.searchsorted(lo)) - 1)
    return lane[slice(first, int(lane.start.searchsorted(hi)))]


# ── names with the same text, and copies on several replicas ─────────────────────────────────────


def merged(names: Names, sums: OpSums, check: CancelCheck) -> OpSums:
    """The same sums with one row for each op: files number some texts twice, and name its copy on
    each replica.
    """
    size = len(sums.name)
    marks = np.empty(size, np.uint64)
    waits = np.empty(size, np.bool_)
    scoped = np.empty(size, np.bool_)  # may be a replica's copy
    zero_is_scoped = False
    for rows, full, display in texts.batches(names, sums.name, check):
        marks[rows] = _marks(full, display)
        waits[rows] = full.among(category.HAND_OVER)
        scoped[rows] = full.contain(replicas.SCOPE)
        in_scope = np.flatnonzero(scoped[rows])
        if not len(in_scope):
            continue
        is_first_replica = full.contain(replicas.FIRST_SCOPE)
        zero_is_scoped |= bool(is_first_replica.any())
        full_without = replicas.all_without_replica(full.take(in_scope))
        display_without = replicas.all_without_replica(display.take(in_scope))
        marks[rows.start + in_scope] = _marks(full_without, display_without)
    in_order = np.sort(marks)
    is_repeated = in_order[1:] == in_order[:-1]
    repeated = in_order[1:][is_repeated]
    if not len(repeated):
        return replace(sums, waits=waits)
    # Equal marks are a hint: the texts decide.
    same_ops = _SameOps(len(marks), zero_is_scoped=zero_is_scoped)
    suspects = np.flatnonzero(np.isin(marks, repeated))
    for rows, full, display in texts.batches(names, sums.name[suspects], check):
        numbers = suspects[rows]
        same_ops.add(
            rows=numbers,
            scoped=scoped[numbers],
            full=full.strings(),
            display=display.strings(),
        )
    added_up = _added_up(sums, same_ops)
    return replace(added_up, waits=waits[same_ops.is_first])


def _added_up(sums: OpSums, same_ops: _SameOps) -> OpSums:
    """One row for each op: the first of its names, with the figures of all of them."""
    first_name = same_ops.first_name
    is_first = same_ops.is_first
    firsts = np.flatnonzero(is_first)
    twins = np.flatnonzero(~is_first)
    row_of_first = np.cumsum(is_first) - 1
    count = sums.count.copy()
    total = sums.total.copy()
    self_time = sums.self_time.copy()
    for column in (count, total, self_time):
        np.add.at(column, first_name[twins], column[twins])
    return OpSums(
        process=sums.process,
        name=sums.name[firsts],
        count=count[firsts],
        total=total[firsts],
        self_time=self_time[firsts],
        twins=(sums.name[twins], row_of_first[first_name[twins]]),
        copies=_copies(sums, row_of_first[first_name], same_ops.replica),
    )


def _marks(full: Texts, display: Texts) -> UInt64s:
    """A number for each pair of texts: equal ones have equal numbers, and some others too."""
    marks: UInt64s = full.marks() * np.uint64(3) + display.marks()
    return marks


class _SameOps:
    """Which names are one op."""

    def __init__(self, size: int, *, zero_is_scoped: bool) -> None:
        self.first_name: Int64s = np.arange(size)  # for each name the first one of the same op
        self.replica = np.full(size, -1)  # the number of its replica; -1 for a name without one
        self._zero_is_scoped = zero_is_scoped  # so that a name without a scope is no copy
        self._rows: dict[tuple[str, str, bool], int] = {}

    @property
    def is_first(self) -> Bools:
        """Which names are the first of their op."""
        return np.asarray(self.first_name == np.arange(len(self.first_name)))

    def add(self, rows: Int64s, scoped: Bools, full: list[str], display: list[str]) -> None:
        """Compare the texts of these names with all that were added before."""
        columns = zip(rows.tolist(), scoped.tolist(), full, display, strict=True)
        for row, is_scoped, text, shown in columns:
            if is_scoped:
                number = replicas.replica_of(text)
                if number is None:
                    self.replica[row] = -1
                else:
                    self.replica[row] = number
                text = replicas.without_replica(text)
                shown = replicas.without_replica(shown)
            is_no_copy = self._zero_is_scoped and not is_scoped
            key = (text, shown, is_no_copy)
            self.first_name[row] = self._rows.setdefault(key, row)


def _copies(sums: OpSums, new_row: Int64s, replica: Int64s) -> ReplicaRows:
    """The copies of the ops that ran on several replicas, each of them once."""
    numbered = np.flatnonzero(replica >= 0)
    if not len(numbered):
        return ReplicaRows.empty()
    of_numbered = np.isin(new_row, new_row[numbered])
    rows = np.flatnonzero(of_numbered)
    number = np.maximum(replica[rows], 0)  # the first replica has no scope of its own
    order = np.lexsort((number, new_row[rows]))
    rows = rows[order]
    number = number[order]
    op = new_row[rows]
    first = np.flatnonzero(begins_run(op, number))
    copies = ReplicaRows(
        row=op[first],
        name=sums.name[rows][first],
        number=number[first],
        count=np.add.reduceat(sums.count[rows], first),
        total=np.add.reduceat(sums.total[rows], first),
        self_time=np.add.reduceat(sums.self_time[rows], first),
    )
    copies_of_op = np.bincount(copies.row)
    has_several = copies_of_op[copies.row] > 1
    return copies.take(np.flatnonzero(has_several))
