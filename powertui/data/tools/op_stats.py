"""What ran in a window, by name: count, total, self time, average, share, and where the longest one
is.

An event counts when it touches the window; its times are those of the part inside (`op_sums`).

Copies of one op on several replicas are one op, with their number (`replicas`).

What a thread spends waiting for ops that other threads run for it (`category.HAND_OVER`) is no part
of the shares: those ops are counted where they ran, and all the work there is comes to 100 %.

The answer is columns, one row for each name on each device: a program may have a million names.
Texts are looked up for the rows that someone asks for. Lines that a collector drew from other lines
are left out: their time is in the lines they came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property

import numpy as np

from powertui.data import category, texts
from powertui.data.model import (
    Bools,
    Floats,
    Int32s,
    Int64s,
    ProcessKind,
    Trace,
)
from powertui.data.table import Column, Lazy, Place, Quick, Result, Table, TablePart, Value
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import launched_kinds, op_sums, op_types, replicas, thread_time
from powertui.data.tools.registry import Question
from powertui.data.tools.replicas import ReplicaRows
from powertui.value_types import dataclass

# An op whose self time is a smaller share of its total only holds other ops. Chosen, not measured.
_MAX_WRAPPER_SHARE = 0.05

COLUMNS = ("name", "type", "device", "count", "total", "self", "average", "share")

# Up to so many rows with equal numbers are put in the order of their names; nobody waits for that.
_MAX_NAMED_TIES = 50_000


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
    replicas: int = 1  # whose copies of the op were counted together

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
    copies: ReplicaRows  # of the ops that ran on several replicas
    _types: list[tuple[Int32s, tuple[str, ...]]] = field(default_factory=list)
    # The last order that was asked for: a filter needs it again at every key.
    _order: dict[tuple[str, bool], Int64s] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, row: int) -> OpRow:
        """One row with its texts."""
        full, display = self._texts(row)
        kind, group = op_types.kind_of(full, display)
        launched = self._launched_kind(row)
        if launched is not None:
            kind, group = category.op_type(full) or launched.value, launched
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
            replicas=int(self.replicas[row]),
        )

    def _launched_kind(self, row: int) -> category.Category | None:
        """The kind of the operator that launched a kernel whose name says nothing."""
        if not self.on_device[row]:
            return None
        return launched_kinds.launched_kinds(self.trace).get(int(self.name[row]))

    def _texts(self, row: int) -> tuple[str, str]:
        """The name as recorded and as displayed; without the replica where it stands for
        several.
        """
        index = int(self.name[row])
        full, display = self.trace.names.full(index), self.trace.names.display(index)
        if self.replicas[row] > 1:
            return replicas.without_replica(full), replicas.without_replica(display)
        return full, display

    @cached_property
    def replicas(self) -> Int64s:
        """On how many replicas each op ran; 1 where its name does not say that there are any."""
        return np.maximum(1, np.bincount(self.copies.row, minlength=len(self.name)))

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
    def is_frame(self) -> Bools:
        """Which rows are Python frames that have a line of their own, beside that of the calls."""
        names = thread_time.frame_names(self.trace)
        return np.isin(self.name, names) & ~self.on_device

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
        for place in places[self.replicas[rows[places]] > 1].tolist():
            if self._texts(int(rows[place]))[0] == full:
                return int(place)
        return -1

    def longest(self, row: int) -> tuple[int, int]:
        """(track, row of its columns) where the longest occurrence of an op in the window is.

        Tracks as in Trace.tracks().
        """
        twins, twin_rows = self.twins
        numbers = np.concatenate(([self.name[row]], twins[twin_rows == row]))
        return self.longest_named(numbers, int(self.process[row]))

    def longest_named(self, numbers: Int64s, process_number: int) -> tuple[int, int]:
        """The same of these names on one process."""
        op_process = self.trace.processes[process_number]
        best = (-1, -1, -1)  # (length, -track, -row): of equally long ones the first
        for number, (process, track) in enumerate(self.trace.tracks()):
            if process is not op_process or not op_sums.counts(track):
                continue
            for depth in range(track.lane_count):
                first, last = op_sums.touching(track, depth, self.lo, self.hi)
                names = track.events.name[first:last]
                # A comparison is much quicker than isin, and hardly any op has twins.
                same = names == numbers[0] if len(numbers) == 1 else np.isin(names, numbers)
                rows = np.flatnonzero(same) + first
                if len(rows):
                    start, end = op_sums.inside(track.events[rows], self.lo, self.hi)
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
            copies=self.copies.with_rows(place[self.copies.row]),
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
            self._types.append(self._find_types(check))
        return self._types[0]

    def _find_types(self, check: CancelCheck) -> tuple[Int32s, tuple[str, ...]]:
        codes, types = op_types.op_types(self.trace.names, self.name, check)
        known = launched_kinds.launched_kinds(self.trace)
        if not known:
            return codes, types
        numbers = {text: number for number, text in enumerate(types)}
        for row in np.flatnonzero(np.isin(self.name, list(known)) & self.on_device).tolist():
            codes[row] = numbers.setdefault(self[row].type, len(numbers))
        return codes, tuple(numbers)

    def matching(self, text: str, check: CancelCheck = unhindered) -> Bools:
        """Which rows hold the text in their name, type or device (in any case)."""
        if not text:
            return np.ones(len(self), np.bool_)
        low = text.lower()
        in_device = [low in process.name.lower() for process in self.trace.processes]
        matches = texts.matching(self.trace.names, texts.holding(text, fold=True), self.name, check)
        matches |= np.array(in_device, np.bool_)[self.process]
        if len(self.copies):
            copies = texts.matching(
                self.trace.names, texts.holding(text, fold=True), self.copies.name, check
            )
            matches[self.copies.row[copies]] = True
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
        *(
            (Column("replicas", "replicas", "integer", ops.replicas, weight=6),)
            if len(ops.copies)
            else ()
        ),
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
        return _place(stats.trace, *ops.longest(row), run, host)

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
    copies = (_replica_table(ops, run, host),) if len(ops.copies) else ()
    return Result("op_stats", "Ops", (table, *copies, *_counted(stats.trace)))


def _replica_table(ops: OpStats, run: str, host: int) -> Table:
    """What each replica's copy of an op came to."""
    copies = ops.copies.take(np.argsort(-ops.copies.self_time, kind="stable"))
    count = len(copies)
    process = ops.process[copies.row]
    columns = (
        Column(
            "name",
            "recorded as",
            "text",
            Lazy(count, lambda row: ops.trace.names.full(int(copies.name[row]))),
            weight=9,
        ),
        Column("replica", "replica", "integer", copies.number, weight=8),
        Column(
            "device",
            "device",
            "text",
            Lazy(count, lambda row: ops.device(int(copies.row[row]))),
            weight=3,
        ),
        Column("count", "count", "integer", copies.count, weight=6),
        Column("total_s", "total", "duration", copies.total, weight=5),
        Column("self_s", "self", "duration", copies.self_time, weight=7),
    )

    def place(row: int) -> Place:
        track, event = ops.longest_named(copies.name[row : row + 1], int(process[row]))
        return _place(ops.trace, track, event, run, host)

    return Table(
        "replicas",
        "Each replica's copy of the ops",
        columns,
        place=place,
        order=("self_s", True),
        key=("name", "device"),
        noun="copy",
    )


def _place(trace: Trace, track: int, event: int, run: str, host: int) -> Place:
    events = list(trace.tracks())[track][1].events
    lo = int(events.start[event])
    return Place(
        run=run, host=host, lo=lo, hi=lo + int(events.duration[event]), track=track, event=event
    )


def _parts(ops: OpStats) -> tuple[TablePart, ...]:
    """What ran on devices is not mixed with what ran on the host, unless that is asked for.

    Nor are PyTorch's operators with the Python frames around them.
    """
    on_device, frames = ops.on_device, ops.is_frame
    sides = {
        "devices": on_device,
        ("host calls" if frames.any() else "host"): ~on_device & ~frames,
        "Python frames": frames,
    }
    parts = [TablePart(name, _always(rows)) for name, rows in sides.items() if rows.any()]
    if len(parts) < 2:
        return ()
    every = np.ones(len(ops), np.bool_)
    all_name = "devices and host" if on_device.any() else "all of the host"
    return (*parts, TablePart(all_name, _always(every)))


def _always(rows: Bools) -> Callable[[CancelCheck], Bools]:
    return lambda _check: rows


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
    parts: list[op_sums.OpSums] = []
    for number, process in enumerate(trace.processes):
        sums = op_sums.summed(process, number, lo, hi, check)
        if sums is not None:
            parts.append(op_sums.merged(trace.names, sums, check))

    def joined(columns: Iterable[Int64s]) -> Int64s:
        return np.concatenate([np.empty(0, np.int64), *columns])

    first = np.cumsum([0, *(len(sums.name) for sums in parts)])
    twin_rows = [sums.twins[1] + at for sums, at in zip(parts, first.tolist(), strict=False)]
    copies = [
        sums.copies.with_rows(sums.copies.row + at)
        for sums, at in zip(parts, first.tolist(), strict=False)
    ]
    launched_kinds.launched_kinds(trace)  # here, and not when a row is drawn
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
        copies=ReplicaRows.joined(copies),
    )


def _shares(trace: Trace, parts: list[op_sums.OpSums]) -> Floats:
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
