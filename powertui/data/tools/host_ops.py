"""The ops of a host: how often each ran, how long, and how long none of the ops inside it did.

An op is an event whose name is one; the converter of 2026 also counts what an event says of the op
that it belongs to (`tf_op`: allocations). The time of a line between its first and its last op in
which none of them runs is idle. Programs of JAX name their ops in a stat of each event (`hlo_op`),
PyTorch says of each name what it is: TensorBoard's profiler sees neither, and shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.asked import Compat
from powertui.data.formats.builder import is_sorted
from powertui.data.model import Bools, Events, Int32s, Int64s, Process, ProcessKind, Trace, Track
from powertui.data.opened import Profile
from powertui.data.run import marks
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import op_names, op_stack, torch_links
from powertui.data.tools.op_names import OpTable
from powertui.data.tools.op_sums import exact
from powertui.data.window import touches
from powertui.value_types import dataclass

_EAGER = "EagerKernelExecute"
_CHUNK = 1 << 18  # events of a line that are looked at together; chosen, not measured
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class HostOps:
    """Ops as columns, by the order in which they first came up. Times in ps."""

    table: OpTable
    occurrences: Int64s
    total: Int64s
    self_time: Int64s
    eager: Bools  # some of its runs was no part of a function
    idle: int  # of all lines
    span: int  # of all lines, from the first to the last op of each
    lines: int  # that ran any op


class _Rows(NamedTuple):
    """The ops of one line by start: rows of its events, and which op each is."""

    row: Int64s
    op: Int32s


def host_ops(
    trace: Trace, lo: int, hi: int, compat: Compat = "corrected", check: CancelCheck = unhindered
) -> HostOps:
    """The ops of all hosts of a trace in [lo, hi); of an op that the window cuts, the part
    inside.
    """
    table = OpTable.empty()
    sums = _Sums()
    bounds: dict[
        int, tuple[int, int]
    ] = {}  # of each line that ran any op: begin of the first, end of the last
    busy = 0
    eager: tuple[Track, _Eager] | None = None
    is_all = lo <= trace.span[0] and hi > trace.span[1]
    for process, track, rows in _lines(trace, table, compat, check):
        check()
        start, duration = track.events.start[rows.row], track.events.duration[rows.row]
        if not is_all:
            inside = touches(start, start + duration, lo, hi)
            rows = _Rows(rows.row[inside], rows.op[inside])
            end = np.minimum(start[inside] + duration[inside], hi)
            start = np.maximum(start[inside], lo)
            duration = end - start
        if not len(start):
            continue
        times = op_stack.self_times(start, duration, like_tensorflow=compat != "corrected")
        busy += sums.add(rows.op, duration, times)
        first, last = bounds.get(id(track), (hi, lo))
        bounds[id(track)] = min(first, int(start.min())), max(last, int((start + duration).max()))
        if eager is None or eager[0] is not track:
            eager = track, _Eager(trace, process, track)
        sums.eager.append(eager[1].among(rows))
    span = sum(last - first for first, last in bounds.values())
    return sums.host_ops(table, span - busy, span, len(bounds))


def asked(profile: Profile, lo: int, hi: int, compat: Compat = "corrected") -> HostOps:
    """The same of a profile: of all of it, worked out once for all tools that ask."""
    trace = profile.trace
    if lo <= trace.span[0] and hi > trace.span[1]:
        return profile.cached(("host ops", compat), lambda: host_ops(trace, lo, hi, compat))
    return host_ops(trace, lo, hi, compat)


def merged(parts: Sequence[HostOps]) -> HostOps:
    """The same of several hosts: figures of one op are added up."""
    if len(parts) == 1:
        return parts[0]
    table = OpTable.empty()
    where = [np.array([table.index(op) for op in part.table.ops], np.int64) for part in parts]
    sums = np.zeros((3, len(table)), np.int64)
    eager = np.zeros(len(table), np.bool_)
    for part, at in zip(parts, where, strict=True):
        for row, column in zip(sums, (part.occurrences, part.total, part.self_time), strict=True):
            np.add.at(row, at, column)
        eager[at[part.eager]] = True
    idle, span, lines = (
        sum(getattr(part, name) for part in parts) for name in ("idle", "span", "lines")
    )
    return HostOps(
        table=table,
        occurrences=sums[0],
        total=sums[1],
        self_time=sums[2],
        eager=eager,
        idle=idle,
        span=span,
        lines=lines,
    )


class _Sums:
    """Figures of ops, added up line by line: the events of one line alone lie in memory."""

    def __init__(self) -> None:
        self.columns = [_NONE, _NONE, _NONE]  # occurrences, total, self time
        self.eager: list[Int32s] = []

    def add(self, op: Int32s, duration: Int64s, times: op_stack.SelfTimes) -> int:
        """Add one line; return its self times together."""
        self_time = times.self_time
        if not times.counted.all():
            op, duration = op[times.counted], duration[times.counted]
            self_time = self_time[times.counted]
        size = max(len(self.columns[0]), int(op.max(initial=-1)) + 1)
        new = (
            np.bincount(op, minlength=size),
            exact(op, duration, size),
            exact(op, self_time, size),
        )
        self.columns = [
            np.pad(before, (0, size - len(before))) + added
            for before, added in zip(self.columns, new, strict=True)
        ]
        return int(self_time.sum())

    def host_ops(self, table: OpTable, idle: int, span: int, lines: int) -> HostOps:
        """The ops of all lines that were added."""
        size = len(table)
        occurrences, total, self_time = (
            np.pad(column, (0, size - len(column))) for column in self.columns
        )
        is_eager = np.zeros(size, np.bool_)
        for ops in self.eager:
            is_eager[ops] = True
        return HostOps(
            table=table,
            occurrences=occurrences,
            total=total,
            self_time=self_time,
            eager=is_eager,
            idle=idle,
            span=span,
            lines=lines,
        )


# ── which events are ops ─────────────────────────────────────────────────────────────────────────


def _lines(
    trace: Trace, table: OpTable, compat: Compat, check: CancelCheck
) -> Iterator[tuple[Process, Track, _Rows]]:
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        tracks = [track for track in process.tracks if not track.derived and len(track.events)]
        if not tracks:
            continue
        used = np.zeros(len(trace.names), np.bool_)
        for track in tracks:
            used[track.events.name] = True
        named = (
            _torch(trace, used, table)
            if trace.format == "kineto"
            else op_names.op_numbers(trace.names, used, table, compat)
        )
        carried = marks.carried(trace, process, tracks, ("tf_op", "hlo_op"))
        if compat != "xprof":  # an allocation is no run of the op that asked for it
            carried["tf_op"][:] = False
        if compat != "corrected":
            carried["hlo_op"][:] = False
        if trace.format == "kineto":
            carried["tf_op"][:] = False
        for track in tracks:
            for stretch in _stretches(track):
                check()
                rows = _rows(process, track.events, stretch, table, named, carried, compat)
                if len(rows.row):
                    yield process, track, rows


def _stretches(track: Track) -> Iterator[list[slice]]:
    """The rows of a line, lane by lane, in stretches of some hundred thousand events between which
    nothing runs.
    """
    lanes = [track.lane(depth) for depth in range(track.lane_count)]
    top, longest = lanes[0], max(lanes, key=len)
    moments = np.linspace(0, len(longest) - 1, len(track.events) // _CHUNK + 1)[1:-1].astype(
        np.int64
    )
    at = np.unique(top.start.searchsorted(longest.start[moments]))
    cuts = top.start[at[at < len(top)]]
    for lane in lanes:
        before = lane.start.searchsorted(cuts) - 1
        some = lane[np.maximum(before, 0)]
        cuts = cuts[(before < 0) | (some.start + some.duration <= cuts)]
    edges = [
        np.concatenate(([0], lane.start.searchsorted(cuts), [len(lane)])) + int(track.lanes[depth])
        for depth, lane in enumerate(lanes)
    ]
    for number in range(len(cuts) + 1):
        yield [slice(int(rows[number]), int(rows[number + 1])) for rows in edges]


def _rows(
    process: Process,
    events: Events,
    stretch: list[slice],
    table: OpTable,
    named: Int32s,
    carried: dict[str, Bools],
    compat: Compat,
) -> _Rows:
    mine = _where(events, stretch, (named >= 0) & ~carried["hlo_op"])
    parts, ops = [mine], [named[events.name[mine]]]
    if carried["tf_op"].any():
        rows, ops_of_stat = _ops_by_stat(
            process, events, _where(events, stretch, carried["tf_op"]), "tf_op", table, compat
        )
        parts.append(rows)
        ops.append(ops_of_stat)
    if carried["hlo_op"].any():
        rows, ops_of_stat = _ops_by_stat(
            process, events, _where(events, stretch, carried["hlo_op"]), "hlo_op", table, compat
        )
        parts.append(rows)
        ops.append(ops_of_stat)
    row, op = np.concatenate(parts), np.concatenate(ops)
    order = np.argsort(
        events.place[row], kind="stable"
    )  # a few ascending runs, one for each lane: quick
    row, op = row[order], op[order]
    if not is_sorted(events.start[row], events.duration[row]):
        order = np.lexsort((-events.duration[row], events.start[row]))
        row, op = row[order], op[order]
    return _Rows(row, op)


def _where(events: Events, stretch: list[slice], names: Bools) -> Int64s:
    """Rows of a stretch with one of these names."""
    parts = [np.flatnonzero(names[events.name[rows]]) + rows.start for rows in stretch]
    return np.concatenate([_NONE, *parts])


def _ops_by_stat(
    process: Process, events: Events, rows: Int64s, stat: str, table: OpTable, compat: Compat
) -> tuple[Int64s, Int32s]:
    """What these events say of the op that they belong to: (the rows that say any, their ops)."""
    ops_of_texts: dict[str, int] = {}
    out_rows, out_ops = [_NONE], [np.empty(0, np.int32)]
    for at in range(0, len(rows), _CHUNK >> 2):
        some = rows[at : at + (_CHUNK >> 2)]
        column = process.source.columns(events.positions(some), (stat,))[stat]
        if column.texts is None:
            continue
        has = np.flatnonzero(column.present)
        ops = np.empty(len(has), np.int32)
        for i, place in enumerate(has.tolist()):
            text = column.texts[place] or ""
            if text not in ops_of_texts:
                op = op_names.hlo(text) if stat == "hlo_op" else op_names.parsed(text, compat)
                ops_of_texts[text] = table.index(op)
            ops[i] = ops_of_texts[text]
        out_rows.append(some[has])
        out_ops.append(ops)
    return np.concatenate(out_rows), np.concatenate(out_ops)


def _torch(trace: Trace, used: Bools, table: OpTable) -> Int32s:
    """PyTorch's operators, by the category that the trace gives each name."""
    out = np.full(len(trace.names), -1, np.int32)
    for index in np.flatnonzero(used).tolist():
        if any(
            stat.name == "cat" and stat.value in torch_links.OPERATORS
            for stat in trace.names.stats(index)
        ):
            out[index] = table.index(op_names.torch(trace.names.full(index)))
    return out


# ── eager or in a function ───────────────────────────────────────────────────────────────────────


class _Eager:
    """Which ops of a line ran eagerly: as their events say, else by the kernel's eager run around
    them that is no function.
    """

    def __init__(self, trace: Trace, process: Process, track: Track) -> None:
        self._process, self._events = process, track.events
        carry = marks.carried(trace, process, [track], ("is_eager", "is_func"))
        self._telling = carry["is_eager"]
        wanted = np.zeros(len(trace.names), np.bool_)
        wanted[
            [
                index
                for index in np.flatnonzero(carry["is_func"]).tolist()
                if trace.names.full(index) == _EAGER
            ]
        ] = True
        events = track.events
        runs = marks.rows_named(events.name, wanted) if wanted.any() else _NONE
        self._start, duration = events.start[runs], events.duration[runs]
        order = (
            np.lexsort((-duration, self._start)) if track.lane_count > 1 else np.arange(len(runs))
        )
        self._start = self._start[order]
        self._end = self._start + duration[order]
        self._func = np.zeros(len(runs), np.bool_)
        for at in range(0, len(runs), _CHUNK >> 2):
            some = runs[order[at : at + (_CHUNK >> 2)]]
            told = process.source.columns(events.positions(some), ("is_func",))["is_func"].ints
            self._func[at : at + len(some)] = told != 0

    def among(self, rows: _Rows) -> Int32s:
        """Those of the ops that some of these events ran eagerly."""
        events = self._events
        is_op = (
            self._telling[events.name[rows.row]] if self._telling.any() else np.zeros(0, np.bool_)
        )
        if is_op.any():
            column = self._process.source.columns(events.positions(rows.row[is_op]), ("is_eager",))[
                "is_eager"
            ]
            return np.unique(rows.op[is_op][column.ints != 0])
        if not len(self._start):
            return np.empty(0, np.int32)
        start = events.start[rows.row]
        at = self._start.searchsorted(start, side="right") - 1
        place = np.maximum(at, 0)
        held = (at >= 0) & (self._end[place] >= start + events.duration[rows.row])
        return np.unique(rows.op[held & ~self._func[place]])
