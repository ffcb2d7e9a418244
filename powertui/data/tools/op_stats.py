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

from collections.abc import Iterable
from dataclasses import field
from functools import cached_property

import numpy as np

from powertui.data import category, texts, wire
from powertui.data.columns import Value
from powertui.data.model import (
    Bools,
    Floats,
    Int32s,
    Int64s,
    ProcessKind,
    Trace,
    Track,
)
from powertui.data.sorted_columns import begins_run
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import launched_kinds, op_sums, op_types, replicas, thread_time
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
        op_type, work_category = op_types.kind_of(full, display)
        launched = self._launched_kind(row)
        if launched is not None:
            op_type = category.op_type(full) or launched.value
            work_category = launched
        return OpRow(
            name=display,
            full=full,
            type=op_type,
            category=work_category,
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
        names = self.trace.names
        index = int(self.name[row])
        full = names.full(index)
        display = names.display(index)
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
        holds_others = (self.total > 0) & (self.self_time < _MAX_WRAPPER_SHARE * self.total)
        return holds_others | np.isnan(self.share)

    def sums(self, rows: Int64s) -> dict[str, Value]:
        """What some rows come to.

        A share of devices and one of the host are shares of two things.
        """
        count = int(self.count[rows].sum())
        total = int(self.total[rows].sum())
        are_comparable = len(wire.distinct(self.on_device[rows])) == 1
        return {
            "count": count,
            "total_s": total,
            "self_s": int(self.self_time[rows].sum()),
            "average_s": total // count if count else None,
            "share": float(np.nansum(self.share[rows])) if are_comparable else None,
        }

    def find(self, full: str, device: str, rows: Int64s) -> int:
        """At which place in `rows` this op stands; -1 when it is not among them."""
        is_device = np.array([process.name == device for process in self.trace.processes], np.bool_)
        places = np.flatnonzero(is_device[self.process[rows]])
        encoded = full.encode("utf-8", "replace")
        # Bytes of the right length first: few of a million names are turned into text.
        for chunk, names, _ in texts.batches(self.trace.names, self.name[rows[places]]):
            same_length = np.flatnonzero(np.diff(names.start) == len(encoded))
            for place in same_length.tolist():
                name = names.data[names.start[place] : names.start[place + 1]]
                if name.tobytes() == encoded:
                    return int(places[chunk.start + place])
        # An op of several replicas is shown by a name that none of them has.
        for place in places[self.replicas[rows[places]] > 1].tolist():
            shown, _ = self._texts(int(rows[place]))
            if shown == full:
                return int(place)
        return -1

    def longest(self, row: int) -> tuple[int, int]:
        """(track, row of its columns) where the longest occurrence of an op in the window is.

        Tracks as in Trace.tracks().
        """
        twin_names, twin_rows = self.twins
        numbers = np.concatenate(([self.name[row]], twin_names[twin_rows == row]))
        return self.longest_named(numbers, int(self.process[row]))

    def longest_named(self, numbers: Int64s, process_number: int) -> tuple[int, int]:
        """The same of these names on one process."""
        op_process = self.trace.processes[process_number]
        best = (-1, -1, -1)  # (length, -track, -row): of equally long ones the first
        for number, (process, track) in enumerate(self.trace.tracks()):
            if process is not op_process or not op_sums.counts(track):
                continue
            for depth in range(track.lane_count):
                rows = self._rows_named(track, depth, numbers)
                if not len(rows):
                    continue
                start, end = op_sums.inside(track.events[rows], self.lo, self.hi)
                length = end - start
                longest = int(np.argmax(length))
                best = max(best, (int(length[longest]), -number, -int(rows[longest])))
        return -best[1], -best[2]

    def _rows_named(self, track: Track, depth: int, numbers: Int64s) -> Int64s:
        """The events of a lane in the window that have one of these names."""
        first, last = op_sums.touching(track, depth, self.lo, self.hi)
        names = track.events.name[first:last]
        # A comparison is much quicker than isin, and hardly any op has twins.
        if len(numbers) == 1:
            has_name = names == numbers[0]
        else:
            has_name = np.isin(names, numbers)
        return np.flatnonzero(has_name) + first

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
        self,
        key: str,
        *,
        descending: bool = True,
        check: CancelCheck = unhindered,
    ) -> Int64s:
        """All rows by one of COLUMNS; equal ones by self time, then by name (very many of those as
        the file numbers them).
        """
        last_order = self._order.get((key, descending))
        if last_order is not None:
            return last_order
        column = self._column(key, check)
        if key == "share":  # what only waits comes after all that works
            column = np.where(np.isnan(column), -1.0, column)
        if descending:
            column = -column
        check()
        order = np.lexsort((-self.self_time, column))
        self._order_ties_by_name(order, column, check)
        self._order.clear()
        self._order[key, descending] = order
        return order

    def _order_ties_by_name(
        self,
        order: Int64s,
        column: Int64s | Floats,
        check: CancelCheck,
    ) -> None:
        """Put rows that are equal in the column and in self time in the order of their names."""
        group = np.cumsum(begins_run(column[order], self.self_time[order])) - 1
        if not len(group):
            return
        is_tied = (np.bincount(group) > 1)[group]
        tied = np.flatnonzero(is_tied)
        if not 0 < len(tied) <= _MAX_NAMED_TIES:
            return
        rows = order[tied]
        names = texts.displayed(self.trace.names, self.name[rows], check)
        rank = names.ranks(group[tied], check)
        order[tied] = rows[np.argsort(rank, kind="stable")]

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
        launched = launched_kinds.launched_kinds(self.trace)
        if not launched:
            return codes, types
        code_of = {text: code for code, text in enumerate(types)}
        is_launched = np.isin(self.name, list(launched)) & self.on_device
        for row in np.flatnonzero(is_launched).tolist():
            codes[row] = code_of.setdefault(self[row].type, len(code_of))
        return codes, tuple(code_of)

    def matching(self, text: str, check: CancelCheck = unhindered) -> Bools:
        """Which rows hold the text in their name, type or device (in any case)."""
        if not text:
            return np.ones(len(self), np.bool_)
        low = text.lower()
        holding = texts.holding(text, fold=True)
        in_device = np.array(
            [low in process.name.lower() for process in self.trace.processes], np.bool_
        )
        matches = texts.matching(self.trace.names, holding, self.name, check)
        matches |= in_device[self.process]
        if len(self.copies):
            copies = texts.matching(self.trace.names, holding, self.copies.name, check)
            matches[self.copies.row[copies]] = True
        # An op's own type is part of its name. Only where the text is part of another type does
        # anyone need the types of all rows, which are slow to find.
        if any(low in kind for kind in _OTHER_TYPES):
            codes, types = self.types(check)
            in_type = np.array([low in kind.lower() for kind in types], np.bool_)
            matches |= in_type[codes]
        return matches


_OTHER_TYPES = (*(kind.value for kind in category.CATEGORIES), "dataset")


def _ranks_of(names: list[str] | tuple[str, ...]) -> Int64s:
    lowered = [name.lower() for name in names]
    rank = {name: number for number, name in enumerate(sorted(set(lowered)))}
    return np.array([rank[name] for name in lowered], np.int64)


# ── counting ─────────────────────────────────────────────────────────────────────────────────────


def op_stats(
    trace: Trace,
    lo: int | None = None,
    hi: int | None = None,
    check: CancelCheck = unhindered,
) -> OpStats:
    """The op table of [lo, hi) (the whole trace by default). `check` may raise to break it off."""
    if lo is None:
        lo = trace.span[0]
    if hi is None:
        hi = trace.span[1] + 1
    parts: list[op_sums.OpSums] = []
    for number, process in enumerate(trace.processes):
        sums = op_sums.summed(process, number, lo, hi, check)
        if sums is not None:
            parts.append(op_sums.merged(trace.names, sums, check))
    row_counts = [len(sums.name) for sums in parts]
    twin_rows: list[Int64s] = []
    copies: list[ReplicaRows] = []
    first = 0  # the rows of one process come after those of the others
    for sums, row_count in zip(parts, row_counts, strict=True):
        twin_rows.append(sums.twins[1] + first)
        copies.append(sums.copies.with_rows(sums.copies.row + first))
        first += row_count
    launched_kinds.launched_kinds(trace)  # here, and not when a row is drawn
    return OpStats(
        trace=trace,
        lo=lo,
        hi=hi,
        name=_joined(sums.name for sums in parts),
        process=np.repeat([sums.process for sums in parts], np.array(row_counts, np.int64)).astype(
            np.int32
        ),
        count=_joined(sums.count for sums in parts),
        total=_joined(sums.total for sums in parts),
        self_time=_joined(sums.self_time for sums in parts),
        share=_shares(trace, parts),
        events=sum(int(sums.count.sum()) for sums in parts),
        twins=(_joined(sums.twins[0] for sums in parts), _joined(twin_rows)),
        copies=ReplicaRows.joined(copies),
    )


def _joined(columns: Iterable[Int64s]) -> Int64s:
    return np.concatenate([np.empty(0, np.int64), *columns])


def _shares(trace: Trace, parts: list[op_sums.OpSums]) -> Floats:
    """Each row's share of the self time on all devices, or on the host: either adds up to 1.

    NaN for what only waits for others.
    """
    self_times = {True: 0, False: 0}  # on devices, on the host
    for sums in parts:
        self_times[_on_device(trace, sums)] += int(sums.self_time[~sums.waits].sum())
    columns: list[Floats] = []
    for sums in parts:
        work = np.where(sums.waits, np.nan, sums.self_time)
        columns.append(work / max(1, self_times[_on_device(trace, sums)]))
    return np.concatenate([np.empty(0), *columns])


def _on_device(trace: Trace, sums: op_sums.OpSums) -> bool:
    return trace.processes[sums.process].kind is ProcessKind.DEVICE
