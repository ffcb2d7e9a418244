"""What ran in a window, by name: count, total, self time, average, share, and where the longest one
is.

An event counts when it touches the window; its times are those of the part inside. Self time is
what no child covers: the children of an event are in the next lane of its track, so it is the
event's length less what that lane covers of it. That is one subtraction of two prefix sums per
event, for many events of a lane at once.

What a thread spends waiting for ops that other threads run for it (`category.HAND_OVER`) is no part
of the shares: those ops are counted where they ran, and all the work there is comes to 100 %.

The answer is columns, one row for each name on each device: a program may have a million names.
Texts are looked up for the rows that someone asks for. Lines that a collector drew from other lines
are left out: their time is in the lines they came from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from powertui.data import category, texts
from powertui.data.model import (
    Bools,
    Events,
    Floats,
    Int32s,
    Int64s,
    Names,
    Process,
    ProcessKind,
    Trace,
    Track,
    TrackKind,
    UInt32s,
)
from powertui.data.table import Column, Lazy, Place, Quick, Result, Table, TablePart, Value
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import op_types
from powertui.data.tools.registry import Question
from powertui.data.window import lane_rows

# An op whose self time is a smaller share of its total only holds other ops. Chosen, not measured.
_MAX_WRAPPER_SHARE = 0.05

COLUMNS = ("name", "type", "device", "count", "total", "self", "average", "share")

_CHUNK_EVENTS = 1 << 16  # events summed together: their columns stay in the processor's cache
_FLUSH_EVENTS = 1 << 20  # events added to the sums in one call
# Up to so many rows with equal numbers are put in the order of their names; nobody waits for that.
_MAX_NAMED_TIES = 50_000
_EXACT_FLOAT = 1 << 53  # below this, sums of floats are exact


@dataclass(frozen=True)
class OpRow:
    """One name on one device (or host), for a person. Times in ps."""

    name: str  # as displayed
    full: str  # as recorded
    type: str  # the op's own type where its name tells, else the category
    category: category.Category
    device: str
    count: int
    total: int
    self_time: int
    # Of all self time in the window on the devices, or on the host; NaN for an op that only waits
    # for others.
    share: float

    @property
    def average(self) -> float:
        return self.total / self.count


@dataclass(frozen=True, eq=False)
class OpStats:
    """The ops of a window as columns.

    `total` of a nested op holds its children: totals do not add up, selfs do.
    """

    trace: Trace
    lo: int
    hi: int
    name: Int64s  # index into Trace.names
    process: Int32s  # index into Trace.processes
    count: Int64s
    total: Int64s
    self_time: Int64s
    share: Floats
    events: int
    # (names, rows): further names with the same text that were counted into these rows.
    twins: tuple[Int64s, Int64s]
    _types: list[tuple[Int32s, tuple[str, ...]]] = field(default_factory=list)
    # The last order that was asked for: a filter needs it again at every key.
    _order: dict[tuple[str, bool], Int64s] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, row: int) -> OpRow:
        """One row with its texts."""
        index = int(self.name[row])
        full, display = self.trace.names.full(index), self.trace.names.display(index)
        kind, group = op_types.kind_of(full, display)
        return OpRow(
            name=display,
            full=full,
            type=kind,
            category=group,
            device=self.device(row),
            count=int(self.count[row]),
            total=int(self.total[row]),
            self_time=int(self.self_time[row]),
            share=float(self.share[row]),
        )

    @cached_property
    def ops(self) -> tuple[OpRow, ...]:
        """All rows with their texts, by self time.

        For tables that are written out; a screen asks row by row.
        """
        return tuple(self[row] for row in self.order("self").tolist())

    def device(self, row: int) -> str:
        return self.trace.processes[int(self.process[row])].name

    @cached_property
    def on_device(self) -> Bools:
        """Which rows ran on a device."""
        devices = [process.kind is ProcessKind.DEVICE for process in self.trace.processes]
        return np.array(devices, np.bool_)[self.process]

    @cached_property
    def wrappers(self) -> Bools:
        """Which rows only hold others: nearly all of their time is their children's, or work of
        other threads.
        """
        return ((self.total > 0) & (self.self_time < _MAX_WRAPPER_SHARE * self.total)) | np.isnan(
            self.share
        )

    def sums(self, rows: Int64s) -> dict[str, Value]:
        """What some rows come to.

        A share of devices and one of the host are shares of two things.
        """
        count, total = int(self.count[rows].sum()), int(self.total[rows].sum())
        sides = np.unique(self.on_device[rows])
        return {
            "count": count,
            "total_s": total,
            "self_s": int(self.self_time[rows].sum()),
            "average_s": total // count if count else None,
            "share": float(np.nansum(self.share[rows])) if len(sides) == 1 else None,
        }

    def find(self, full: str, device: str, rows: Int64s) -> int:
        """At which place in `rows` this op stands; -1 when it is not among them."""
        is_device = [process.name == device for process in self.trace.processes]
        places = np.flatnonzero(np.array(is_device, np.bool_)[self.process[rows]])
        encoded = full.encode("utf-8", "replace")
        for chunk, names, _ in texts.batches(self.trace.names, self.name[rows[places]]):
            same_length = np.flatnonzero(np.diff(names.start) == len(encoded))
            for place in same_length.tolist():
                name = names.data[names.start[place] : names.start[place + 1]]
                if name.tobytes() == encoded:
                    return int(places[chunk.start + place])
        return -1

    def longest(self, row: int) -> tuple[int, int]:
        """(track, row of its columns) where the longest occurrence of an op in the window is.

        Tracks as in Trace.tracks().
        """
        twins, twin_rows = self.twins
        numbers = np.concatenate(([self.name[row]], twins[twin_rows == row]))
        op_process = self.trace.processes[int(self.process[row])]
        best = (-1, -1, -1)  # (length, -track, -row): of equally long ones the first
        for number, (process, track) in enumerate(self.trace.tracks()):
            if process is not op_process or not counts(track):
                continue
            for depth in range(track.lane_count):
                first, last = _touching(track, depth, self.lo, self.hi)
                names = track.events.name[first:last]
                # A comparison is much quicker than isin, and hardly any op has twins.
                same = names == numbers[0] if len(numbers) == 1 else np.isin(names, numbers)
                rows = np.flatnonzero(same) + first
                if len(rows):
                    start, end = inside(track.events[rows], self.lo, self.hi)
                    at = int(np.argmax(end - start))
                    best = max(best, (int(end[at] - start[at]), -number, -int(rows[at])))
        return -best[1], -best[2]

    def take(self, rows: Int64s) -> OpStats:
        """All rows in another order."""
        place = np.empty(len(rows), np.int64)
        place[rows] = np.arange(len(rows))
        return OpStats(
            trace=self.trace,
            lo=self.lo,
            hi=self.hi,
            name=self.name[rows],
            process=self.process[rows],
            count=self.count[rows],
            total=self.total[rows],
            self_time=self.self_time[rows],
            share=self.share[rows],
            events=self.events,
            twins=(self.twins[0], place[self.twins[1]]),
        )

    # ── in an order, and some of them ────────────────────────────────────────────────────────────

    def order(
        self, key: str, *, descending: bool = True, check: CancelCheck = unhindered
    ) -> Int64s:
        """All rows by one of COLUMNS; equal ones by self time, then by name (very many of those as
        the file numbers them).
        """
        last_order = self._order.get((key, descending))
        if last_order is not None:
            return last_order
        column = self._column(key, check)
        if key == "share":
            column = np.where(np.isnan(column), -1.0, column)
        column = -column if descending else column
        check()
        order = np.lexsort((-self.self_time, column))
        by_key, by_self = column[order], self.self_time[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (by_key[1:] != by_key[:-1]) | (by_self[1:] != by_self[:-1])
        group = np.cumsum(new) - 1
        tied = np.flatnonzero((np.bincount(group) > 1)[group]) if len(group) else group
        if 0 < len(tied) <= _MAX_NAMED_TIES:
            rows = order[tied]
            names = texts.displayed(self.trace.names, self.name[rows], check)
            rank = names.ranks(group[tied], check)
            order[tied] = rows[np.argsort(rank, kind="stable")]
        self._order.clear()
        self._order[key, descending] = order
        return order

    def _column(self, key: str, check: CancelCheck) -> Int64s | Floats:
        """A column of numbers that sorts as this one does.

        Texts sort in any case of their letters.
        """
        if key == "name":
            return texts.displayed(self.trace.names, self.name, check).lower().ranks(check=check)
        if key == "type":
            codes, types = self.types(check)
            return _ranks_of(types)[codes]
        if key == "device":
            return _ranks_of([process.name for process in self.trace.processes])[self.process]
        if key == "average":
            return self.total / self.count
        columns: dict[str, Int64s | Floats] = {
            "count": self.count,
            "total": self.total,
            "self": self.self_time,
            "share": self.share,
        }
        return columns[key]

    def types(self, check: CancelCheck = unhindered) -> tuple[Int32s, tuple[str, ...]]:
        """(which type each row has, the types)."""
        if not self._types:
            self._types.append(op_types.op_types(self.trace.names, self.name, check))
        return self._types[0]

    def matching(self, text: str, check: CancelCheck = unhindered) -> Bools:
        """Which rows hold the text in their name, type or device (in any case)."""
        if not text:
            return np.ones(len(self), np.bool_)
        low = text.lower()
        in_device = [low in process.name.lower() for process in self.trace.processes]
        matches = texts.matching(self.trace.names, texts.holding(text, fold=True), self.name, check)
        matches |= np.array(in_device, np.bool_)[self.process]
        # An op's own type is part of its name. Only where the text is part of another type does
        # anyone need the types of all rows, which are slow to find.
        if any(low in kind for kind in _OTHER_TYPES):
            codes, types = self.types(check)
            matches |= np.array([low in kind.lower() for kind in types], np.bool_)[codes]
        return matches


_OTHER_TYPES = (*(kind.value for kind in category.CATEGORIES), "dataset")


def _ranks_of(names: list[str] | tuple[str, ...]) -> Int64s:
    values = sorted({name.lower() for name in names})
    rank = {value: number for number, value in enumerate(values)}
    return np.array([rank[name.lower()] for name in names], np.int64)


# ── as an answer ─────────────────────────────────────────────────────────────────────────────────


def answer(question: Question) -> Result:
    """The op table of the window, most self time first."""
    lo, hi = question.window
    return result(op_stats(question.profile.trace, lo, hi), question.opened.name, question.host)


def result(stats: OpStats, run: str = "", host: int = 0) -> Result:
    """The op table as a `Result`.

    Its texts are looked up row by row: a million names cost nothing until they are read.
    """
    ops = stats.take(stats.order("self"))
    count = len(ops)
    columns = (
        Column("name", "name", "text", Lazy(count, lambda row: _short(ops[row])), weight=9),
        Column("type", "type", "text", Lazy(count, lambda row: ops[row].type), weight=4),
        Column("device", "device", "text", Lazy(count, ops.device), weight=3),
        Column("count", "count", "integer", ops.count, weight=7),
        Column("total_s", "total", "duration", ops.total, weight=5),
        Column("self_s", "self", "duration", ops.self_time, weight=9),
        Column("average_s", "average", "duration", ops.total // np.maximum(ops.count, 1), weight=6),
        Column("share", "share", "share", ops.share, weight=8),
        Column(
            "full_name", "recorded as", "text", Lazy(count, lambda row: ops[row].full), weight=0
        ),
    )

    def place(row: int) -> Place:
        track, event = ops.longest(row)
        events = list(stats.trace.tracks())[track][1].events
        lo = int(events.start[event])
        return Place(
            run=run, host=host, lo=lo, hi=lo + int(events.duration[event]), track=track, event=event
        )

    quick = Quick(
        lambda id, descending, check: ops.order(
            _KEYS.get(id, id), descending=descending, check=check
        ),
        ops.matching,
        lambda key, rows: ops.find(str(key[0]), str(key[1]), rows),
    )
    summary = f"shares: self time, {_base(ops)}  {ops.events:,} events"
    table = Table(
        "ops",
        "Ops, most self time first",
        columns,
        place=place,
        order=("self_s", True),
        empty="No op ran in this window.",
        key=("full_name", "device"),
        noun="op",
        summary=summary,
        kind_of_work=lambda row: ops[row].category.value,
        quick=quick,
        parts=_parts(ops),
        wrappers=lambda _check: ops.wrappers,
        total=ops.sums,
        layer=True,
    )
    return Result("op_stats", "Ops", (table, *_counted(stats.trace)))


def _parts(ops: OpStats) -> tuple[TablePart, ...]:
    """What ran on devices is not mixed with what ran on the host, unless that is asked for."""
    on_device = ops.on_device
    if on_device.all() or not on_device.any():
        return ()
    every = np.ones(len(ops), np.bool_)
    return (
        TablePart("devices", lambda _check: on_device),
        TablePart("host", lambda _check: ~on_device),
        TablePart("devices and host", lambda _check: every),
    )


def _base(ops: OpStats) -> str:
    """What the shares are shares of."""
    on_device = ops.on_device
    if not on_device.any():
        return "host"
    return "devices" if on_device.all() else "of devices or of the host"


def _counted(trace: Trace) -> tuple[Table, ...]:
    """The table of events that the profiler only counted (num_occurrences).

    They have no place in time, so they belong to no window and no op above.
    """
    names: list[int] = []
    lines: list[str] = []
    occurrences: list[Int64s] = []
    totals: list[Int64s] = []
    for _, track in trace.tracks():
        aggregates = track.aggregates
        if aggregates is not None and len(aggregates):
            names += aggregates.name.tolist()
            lines += [track.name] * len(aggregates)
            occurrences.append(aggregates.occurrences)
            totals.append(aggregates.duration)
    if not names:
        return ()
    labels = Lazy(len(names), lambda row: trace.names.display(names[row]))
    columns = (
        Column("name", "name", "text", labels, weight=9),
        Column("line", "line", "text", lines, weight=4),
        Column("count", "count", "integer", np.concatenate(occurrences), weight=7),
        Column("total_s", "total", "duration", np.concatenate(totals), weight=6),
    )
    return (Table("counted", "Only counted by the profiler, in the whole profile", columns),)


_KEYS = {"total_s": "total", "self_s": "self", "average_s": "average", "full_name": "name"}


def _short(op: OpRow) -> str:
    """The op's own name, its type left to the column beside it."""
    return op.full.rpartition(":")[0] if op.full.endswith(":" + op.type) else op.name


# ── counting ─────────────────────────────────────────────────────────────────────────────────────


def op_stats(
    trace: Trace, lo: int | None = None, hi: int | None = None, check: CancelCheck = unhindered
) -> OpStats:
    """The op table of [lo, hi) (the whole trace by default). `check` may raise to break it off."""
    lo = trace.span[0] if lo is None else lo
    hi = trace.span[1] + 1 if hi is None else hi
    parts: list[OpSums] = []
    for number, process in enumerate(trace.processes):
        sums = summed(process, number, lo, hi, check)
        if sums is not None:
            parts.append(_merged(trace.names, sums, check))

    def joined(columns: Iterable[Int64s]) -> Int64s:
        return np.concatenate([_NONE, *columns])

    first = np.cumsum([0, *(len(sums.name) for sums in parts)])
    twin_rows = [sums.twins[1] + at for sums, at in zip(parts, first.tolist(), strict=False)]
    return OpStats(
        trace=trace,
        lo=lo,
        hi=hi,
        name=joined(sums.name for sums in parts),
        process=np.repeat([sums.process for sums in parts], np.diff(first)).astype(np.int32),
        count=joined(sums.count for sums in parts),
        total=joined(sums.total for sums in parts),
        self_time=joined(sums.self_time for sums in parts),
        share=_shares(trace, parts),
        events=sum(int(sums.count.sum()) for sums in parts),
        twins=(joined(sums.twins[0] for sums in parts), joined(twin_rows)),
    )


def _shares(trace: Trace, parts: list[OpSums]) -> Floats:
    """Each row's share of the self time on all devices, or on the host: either adds up to 1.

    NaN for what only waits for others.
    """
    totals = {True: 0, False: 0}  # on devices, on the host
    columns: list[Floats] = []
    for sums in parts:
        work = np.where(sums.waits, np.nan, sums.self_time)
        on_device = trace.processes[sums.process].kind is ProcessKind.DEVICE
        totals[on_device] += int(sums.self_time[~np.isnan(work)].sum())
        columns.append(work)
    for sums, work in zip(parts, columns, strict=True):
        on_device = trace.processes[sums.process].kind is ProcessKind.DEVICE
        work /= max(1, totals[on_device])
    return np.concatenate([np.empty(0), *columns])


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


class _Adder:
    """Adds up columns by name, many events at a time, whatever the lines are that they come
    from.
    """

    def __init__(self, names: int) -> None:
        self.size = names
        self.count, self.total, self.self_time = (np.zeros(names, np.int64) for _ in range(3))
        self._parts: list[tuple[UInt32s, Int64s, Int64s]] = []
        self._pending = 0

    def add(self, name: UInt32s, total: Int64s, self_time: Int64s) -> None:
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
        self._parts, self._pending = [], 0
        self.count += np.bincount(name, minlength=self.size)
        self.total += exact(name, total, self.size)
        self.self_time += exact(name, self_time, self.size)


def exact(name: UInt32s | Int32s, values: Int64s, size: int) -> Int64s:
    """Exact integer sums per name.

    bincount adds floats: where they could round, the high and the low bits are added separately.
    """
    if float(values.sum(dtype=np.float64)) < _EXACT_FLOAT / 2:
        return np.bincount(name, values, size).astype(np.int64)
    high = np.bincount(name, values >> 26, size)
    low = np.bincount(name, values & ((1 << 26) - 1), size)
    return (high.astype(np.int64) << 26) + low.astype(np.int64)


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
    process: Process, number: int, lo: int, hi: int, check: CancelCheck = unhindered
) -> OpSums | None:
    """What ran on one process in [lo, hi), by the number of its name; None where nothing did."""
    lanes: list[_LaneRows] = []
    for track in process.tracks:
        for depth in range(track.lane_count if counts(track) else 0):
            lane = _LaneRows(track, depth, *_touching(track, depth, lo, hi))
            if lane.first < lane.last:
                lanes.append(lane)
    if not lanes:
        return None
    lowest = min(int(lane.name.min()) for lane in lanes)
    name_range = max(int(lane.name.max()) for lane in lanes) - lowest + 1
    event_count = sum(lane.last - lane.first for lane in lanes)
    used: Int64s | None = None
    # Few events whose names have far numbers: columns over all numbers between would be mostly
    # empty.
    if name_range > 4 * event_count + 1024:
        used = np.unique(np.concatenate([lane.name for lane in lanes])).astype(np.int64)
    adder = _Adder(name_range if used is None else len(used))
    for track, depth, first, last in lanes:
        for at in range(first, last, _CHUNK_EVENTS):
            check()
            events = track.events[slice(at, min(at + _CHUNK_EVENTS, last))]
            start, end = inside(events, lo, hi)
            total = end - start
            self_time = total
            if depth + 1 < track.lane_count:
                self_time = total - covered(track.lane(depth + 1), start, end)
            if used is None:
                index = events.name - lowest
            else:
                index = np.searchsorted(used, events.name).astype(np.uint32)
            adder.add(index, total, self_time)
    adder.flush()
    ran = np.flatnonzero(adder.count)
    name = ran + lowest if used is None else used[ran]
    return OpSums(number, name, adder.count[ran], adder.total[ran], adder.self_time[ran])


def counts(track: Track) -> bool:
    """Whether the events of a line are work of their own."""
    return not track.derived and track.kind not in (TrackKind.STEPS, TrackKind.COUNTER)


def _touching(track: Track, depth: int, lo: int, hi: int) -> tuple[int, int]:
    """Rows of a lane, in the track's columns, that belong to the window."""
    begin = int(track.lanes[depth])
    first, last = lane_rows(track.lane(depth), lo, hi)
    return begin + first, begin + last


def inside(events: Events, lo: int, hi: int) -> tuple[Int64s, Int64s]:
    """Start and end of the part of each event that is in the window."""
    return np.maximum(events.start, lo), np.minimum(events.start + events.duration, hi)


def covered(lane: Events, start: Int64s, end: Int64s) -> Int64s:
    """How much of each stretch the lane covers.

    The stretches come in the order of time, one after the other.
    """
    first = max(0, int(lane.start.searchsorted(start[0])) - 1)
    last = int(lane.start.searchsorted(end[-1]))
    events = lane[slice(first, last)]
    if not len(events):
        return np.zeros(len(start), np.int64)
    # The time that the lane covers before each of its events.
    before = np.concatenate(([0], np.cumsum(events.duration)))
    stop = events.start + events.duration

    def covered_until(moments: Int64s) -> Int64s:
        at = events.start.searchsorted(moments, side="left")
        # The last event that began may go on after the moment: that part does not count.
        after = np.where(at > 0, np.maximum(0, stop[at - 1] - moments), 0)
        covered_ps: Int64s = before[at] - after
        return covered_ps

    covered_ps: Int64s = covered_until(end) - covered_until(start)
    return covered_ps


# ── names with the same text ─────────────────────────────────────────────────────────────────────


def _merged(names: Names, sums: OpSums, check: CancelCheck) -> OpSums:
    """The same sums with one row for each text: files number some texts twice."""
    marks, waits = np.empty(len(sums.name), np.uint64), np.empty(len(sums.name), np.bool_)
    for rows, full, display in texts.batches(names, sums.name, check):
        marks[rows] = full.marks() * np.uint64(3) + display.marks()
        waits[rows] = full.among(category.HAND_OVER)
    in_order = np.sort(marks)
    repeated = in_order[1:][in_order[1:] == in_order[:-1]]
    if not len(repeated):
        return replace(sums, waits=waits)
    # Equal marks are a hint: the texts decide.
    target = np.arange(len(marks))
    suspects = np.flatnonzero(np.isin(marks, repeated))
    row_of_text: dict[tuple[str, str], int] = {}
    for rows, full, display in texts.batches(names, sums.name[suspects], check):
        pairs = zip(full.strings(), display.strings(), strict=True)
        for row, pair in zip(suspects[rows].tolist(), pairs, strict=True):
            target[row] = row_of_text.setdefault(pair, row)
    is_first = target == np.arange(len(target))
    new_row = np.cumsum(is_first) - 1
    firsts, twins = np.flatnonzero(is_first), np.flatnonzero(~is_first)
    count, total, self_time = sums.count.copy(), sums.total.copy(), sums.self_time.copy()
    for column in (count, total, self_time):
        np.add.at(column, target[twins], column[twins])
    return OpSums(
        process=sums.process,
        name=sums.name[firsts],
        count=count[firsts],
        total=total[firsts],
        self_time=self_time[firsts],
        twins=(sums.name[twins], new_row[target[twins]]),
        waits=waits[firsts],
    )
