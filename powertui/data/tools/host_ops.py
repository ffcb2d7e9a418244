"""The ops of a host: how often each ran, how long, and how long none of the ops inside it did.

An op is an event whose name is one; the converter of 2026 also counts what an event says of the op
that it belongs to (`tf_op`: allocations). The time of a line between its first and its last op in
which none of them runs is idle. Programs of JAX name their ops in a stat of each event (`hlo_op`),
PyTorch says of each name what it is: TensorBoard's profiler sees neither, and shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data import wire
from powertui.data.asked import Compat
from powertui.data.formats.builder import is_sorted
from powertui.data.model import Bools, Events, Int32s, Int64s, Process, ProcessKind, Trace, Track
from powertui.data.opened import Profile
from powertui.data.run import stat_carriers
from powertui.data.sorted_columns import last_begun
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import op_names, op_stack, torch_links
from powertui.data.tools.op_names import OpTable
from powertui.data.tools.op_sums import exact
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_EAGER_RUN = "EagerKernelExecute"
_CHUNK_EVENTS = 1 << 18  # events of a line that are looked at together; chosen, not measured
_STAT_CHUNK_EVENTS = _CHUNK_EVENTS >> 2  # whose stats are read together: texts take more room
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


class _OpSources(NamedTuple):
    """What says that an event of a process is an op, by the number of its name."""

    op_of_name: Int32s  # the op that a name is; -1 for none
    carries_tf_op: Bools  # whose events name the op that they belong to
    carries_hlo_op: Bools


class _Rows(NamedTuple):
    """The ops of one line by start: rows of its events, and which op each is."""

    row: Int64s
    op: Int32s


def host_ops(
    trace: Trace,
    lo: int,
    hi: int,
    compat: Compat = "corrected",
    check: CancelCheck = unhindered,
) -> HostOps:
    """The ops of all hosts of a trace in [lo, hi); of an op that the window cuts, the part
    inside.
    """
    table = OpTable()
    sums = _Sums()
    # Of each line that ran any op: begin of the first, end of the last.
    bounds: dict[int, tuple[int, int]] = {}
    busy = 0
    eager: tuple[Track, _Eager] | None = None
    is_all = _is_all(trace, lo, hi)
    for process, track, rows in _lines(trace, table, compat, check):
        check()
        start = track.events.start[rows.row]
        end = start + track.events.duration[rows.row]
        if not is_all:
            inside = touches(start, end, lo, hi)
            rows = _Rows(rows.row[inside], rows.op[inside])
            start = np.maximum(start[inside], lo)
            end = np.minimum(end[inside], hi)
        if not len(start):
            continue
        duration = end - start
        times = op_stack.self_times(start, duration, like_tensorflow=compat != "corrected")
        busy += sums.add(rows.op, duration, times)
        first, last = bounds.get(id(track), (hi, lo))
        first = min(first, int(start.min()))
        last = max(last, int(end.max()))
        bounds[id(track)] = (first, last)
        # Lines come in stretches: what is known of a line serves all of its stretches.
        if eager is None or eager[0] is not track:
            eager = track, _Eager(trace, process, track)
        sums.eager.append(eager[1].among(rows))
    span = sum(last - first for first, last in bounds.values())
    return sums.host_ops(table, span - busy, span, len(bounds))


def _is_all(trace: Trace, lo: int, hi: int) -> bool:
    return lo <= trace.span[0] and hi > trace.span[1]


def asked(profile: Profile, lo: int, hi: int, compat: Compat = "corrected") -> HostOps:
    """The same of a profile: of all of it, worked out once for all tools that ask."""
    trace = profile.trace
    if _is_all(trace, lo, hi):
        return profile.cached(("host ops", compat), lambda: host_ops(trace, lo, hi, compat))
    return host_ops(trace, lo, hi, compat)


def merged(parts: Sequence[HostOps]) -> HostOps:
    """The same of several hosts: figures of one op are added up."""
    if len(parts) == 1:
        return parts[0]
    table = OpTable()
    rows_of_parts = [np.array(list(map(table.index, part.table)), np.int64) for part in parts]
    occurrences, total, self_time = np.zeros((3, len(table)), np.int64)
    eager = np.zeros(len(table), np.bool_)
    for part, rows in zip(parts, rows_of_parts, strict=True):
        np.add.at(occurrences, rows, part.occurrences)
        np.add.at(total, rows, part.total)
        np.add.at(self_time, rows, part.self_time)
        eager[rows[part.eager]] = True
    return HostOps(
        table=table,
        occurrences=occurrences,
        total=total,
        self_time=self_time,
        eager=eager,
        idle=sum(part.idle for part in parts),
        span=sum(part.span for part in parts),
        lines=sum(part.lines for part in parts),
    )


class _Sums:
    """Figures of ops, added up line by line: the events of one line alone lie in memory."""

    def __init__(self) -> None:
        self._occurrences = _NONE
        self._total = _NONE
        self._self_time = _NONE
        self.eager: list[Int32s] = []

    def add(self, op: Int32s, duration: Int64s, times: op_stack.SelfTimes) -> int:
        """Add one line; return its self times together."""
        self_time = times.self_time
        if not times.counted.all():
            op = op[times.counted]
            duration = duration[times.counted]
            self_time = self_time[times.counted]
        # Ops are numbered as they come up: a further line may have some that none had before.
        highest = int(op.max(initial=-1))
        size = max(len(self._occurrences), highest + 1)
        self._occurrences = _padded(self._occurrences, size)
        self._occurrences += np.bincount(op, minlength=size)
        self._total = _padded(self._total, size)
        self._total += exact(op, duration, size)
        self._self_time = _padded(self._self_time, size)
        self._self_time += exact(op, self_time, size)
        return int(self_time.sum())

    def host_ops(self, table: OpTable, idle: int, span: int, lines: int) -> HostOps:
        """The ops of all lines that were added."""
        size = len(table)
        is_eager = np.zeros(size, np.bool_)
        for ops in self.eager:
            is_eager[ops] = True
        return HostOps(
            table=table,
            occurrences=_padded(self._occurrences, size),
            total=_padded(self._total, size),
            self_time=_padded(self._self_time, size),
            eager=is_eager,
            idle=idle,
            span=span,
            lines=lines,
        )


def _padded(column: Int64s, size: int) -> Int64s:
    return np.pad(column, (0, size - len(column)))


# ── which events are ops ─────────────────────────────────────────────────────────────────────────


def _lines(
    trace: Trace,
    table: OpTable,
    compat: Compat,
    check: CancelCheck,
) -> Iterator[tuple[Process, Track, _Rows]]:
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        tracks = process.recorded_tracks
        if not tracks:
            continue
        sources = _op_sources(trace, process, tracks, table, compat)
        for track in tracks:
            for stretch in _stretches(track):
                check()
                rows = _rows(
                    process=process,
                    events=track.events,
                    stretch=stretch,
                    sources=sources,
                    table=table,
                    compat=compat,
                )
                if len(rows.row):
                    yield process, track, rows


def _op_sources(
    trace: Trace,
    process: Process,
    tracks: list[Track],
    table: OpTable,
    compat: Compat,
) -> _OpSources:
    is_torch = trace.format == "kineto"
    used = np.zeros(len(trace.names), np.bool_)
    for track in tracks:
        used[track.events.name] = True
    if is_torch:
        op_of_name = _torch(trace, used, table)
    else:
        op_of_name = op_names.op_numbers(trace.names, used, table, compat)
    carried = stat_carriers.carried(trace, process, tracks, ("tf_op", "hlo_op"))
    # Only xprof counts an allocation as a run of the op that asked for it.
    if compat != "xprof" or is_torch:
        carried["tf_op"][:] = False
    # TensorBoard's profiler does not see the ops of JAX's programs.
    if compat != "corrected":
        carried["hlo_op"][:] = False
    return _OpSources(op_of_name, carried["tf_op"], carried["hlo_op"])


def _stretches(track: Track) -> Iterator[list[slice]]:
    """The rows of a line, lane by lane, in stretches of some hundred thousand events between which
    nothing runs.
    """
    lanes = [track.lane(depth) for depth in range(track.lane_count)]
    cuts = _quiet_moments(lanes, len(track.events) // _CHUNK_EVENTS)
    edges_by_lane: list[Int64s] = []
    for depth, lane in enumerate(lanes):
        inner_edges = lane.start.searchsorted(cuts)
        edges = np.concatenate(([0], inner_edges, [len(lane)]))
        first = int(track.lanes[depth])
        edges_by_lane.append(edges + first)
    for number in range(len(cuts) + 1):
        stretch = []
        for edges in edges_by_lane:
            rows = slice(int(edges[number]), int(edges[number + 1]))
            stretch.append(rows)
        yield stretch


def _quiet_moments(lanes: list[Events], count: int) -> Int64s:
    """About so many moments at which no event of a line goes on, evenly by its fullest lane."""
    outermost = lanes[0]
    fullest = max(lanes, key=len)
    last_row = len(fullest) - 1
    with_ends = np.linspace(0, last_row, count + 1)
    even_rows = with_ends[1:-1].astype(np.int64)
    even_moments = fullest.start[even_rows]
    row: Int64s = wire.distinct(outermost.start.searchsorted(even_moments))
    exists = row < len(outermost)
    moments = outermost.start[row[exists]]
    for lane in lanes:
        before = lane.start.searchsorted(moments) - 1
        last = lane[np.maximum(before, 0)]
        is_over = last.start + last.duration <= moments
        moments = moments[(before < 0) | is_over]
    return moments


def _rows(
    process: Process,
    events: Events,
    stretch: list[slice],
    sources: _OpSources,
    table: OpTable,
    compat: Compat,
) -> _Rows:
    by_name = _where(events, stretch, (sources.op_of_name >= 0) & ~sources.carries_hlo_op)
    rows = [by_name]
    ops = [sources.op_of_name[events.name[by_name]]]
    for stat, carries in (("tf_op", sources.carries_tf_op), ("hlo_op", sources.carries_hlo_op)):
        if not carries.any():
            continue
        carriers = _where(events, stretch, carries)
        rows_by_stat, ops_by_stat = _ops_by_stat(
            process=process,
            events=events,
            rows=carriers,
            stat=stat,
            table=table,
            compat=compat,
        )
        rows.append(rows_by_stat)
        ops.append(ops_by_stat)
    row = np.concatenate(rows)
    op = np.concatenate(ops)
    # In the order of the file a few ascending runs, one for each lane: quick to sort.
    order = np.argsort(events.place[row], kind="stable")
    row = row[order]
    op = op[order]
    if not is_sorted(events.start[row], events.duration[row]):
        order = np.lexsort((-events.duration[row], events.start[row]))
        row = row[order]
        op = op[order]
    return _Rows(row, op)


def _where(events: Events, stretch: list[slice], names: Bools) -> Int64s:
    """Rows of a stretch with one of these names."""
    parts = []
    for rows in stretch:
        has_name = names[events.name[rows]]
        parts.append(np.flatnonzero(has_name) + rows.start)
    return np.concatenate([_NONE, *parts])


def _ops_by_stat(
    process: Process,
    events: Events,
    rows: Int64s,
    stat: str,
    table: OpTable,
    compat: Compat,
) -> tuple[Int64s, Int32s]:
    """What these events say of the op that they belong to: (the rows that say any, their ops)."""
    op_of_text: dict[str, int] = {}
    all_rows = [_NONE]
    all_ops = [np.empty(0, np.int32)]
    for begin in range(0, len(rows), _STAT_CHUNK_EVENTS):
        chunk = rows[begin : begin + _STAT_CHUNK_EVENTS]
        column = process.source.columns(events.positions(chunk), (stat,))[stat]
        if column.texts is None:
            continue
        carriers = np.flatnonzero(column.present)
        ops = np.empty(len(carriers), np.int32)
        for place, carrier in enumerate(carriers.tolist()):
            text = column.texts[carrier] or ""
            if text not in op_of_text:
                if stat == "hlo_op":
                    op = op_names.hlo(text)
                else:
                    op = op_names.parsed(text, compat)
                op_of_text[text] = table.index(op)
            ops[place] = op_of_text[text]
        all_rows.append(chunk[carriers])
        all_ops.append(ops)
    return np.concatenate(all_rows), np.concatenate(all_ops)


def _torch(trace: Trace, used: Bools, table: OpTable) -> Int32s:
    """PyTorch's operators, by the category that the trace gives each name."""
    op_of_name = np.full(len(trace.names), -1, np.int32)
    for index in np.flatnonzero(used).tolist():
        categories = {stat.value for stat in trace.names.stats(index) if stat.name == "cat"}
        if not categories.isdisjoint(torch_links.OPERATORS):
            op = op_names.torch(trace.names.full(index))
            op_of_name[index] = table.index(op)
    return op_of_name


# ── eager or in a function ───────────────────────────────────────────────────────────────────────


class _Eager:
    """Which ops of a line ran eagerly: as their events say, else by the kernel's eager run around
    them that is no function.
    """

    def __init__(self, trace: Trace, process: Process, track: Track) -> None:
        self._process = process
        self._track = track
        carried = stat_carriers.carried(trace, process, [track], ("is_eager", "is_func"))
        self._carries_eager = carried["is_eager"]
        runs = _eager_runs(trace, track, carried["is_func"])
        start = track.events.start[runs]
        duration = track.events.duration[runs]
        if track.lane_count > 1:
            order = np.lexsort((-duration, start))
            runs = runs[order]
            start = start[order]
            duration = duration[order]
        self._start = start
        self._end = start + duration
        self._is_function = np.zeros(len(runs), np.bool_)
        for begin in range(0, len(runs), _STAT_CHUNK_EVENTS):
            chunk = runs[begin : begin + _STAT_CHUNK_EVENTS]
            column = stat_carriers.stat_column(process, track, chunk, "is_func")
            self._is_function[begin : begin + len(chunk)] = column.ints != 0

    def among(self, rows: _Rows) -> Int32s:
        """Those of the ops that some of these events ran eagerly."""
        events = self._track.events
        if self._carries_eager.any():
            carries = self._carries_eager[events.name[rows.row]]
            if carries.any():
                column = stat_carriers.stat_column(
                    process=self._process,
                    track=self._track,
                    rows=rows.row[carries],
                    stat="is_eager",
                )
                is_eager = column.ints != 0
                return wire.distinct(rows.op[carries][is_eager])
        if not len(self._start):
            return np.empty(0, np.int32)
        start = events.start[rows.row]
        end = start + events.duration[rows.row]
        any_begun, run = last_begun(self._start, start)
        is_inside = any_begun & (self._end[run] >= end)
        is_eager = is_inside & ~self._is_function[run]
        return wire.distinct(rows.op[is_eager])


def _eager_runs(trace: Trace, track: Track, carries_is_func: Bools) -> Int64s:
    """The kernel's eager runs on a line that say whether they run a function."""
    is_run = np.zeros(len(trace.names), np.bool_)
    for index in np.flatnonzero(carries_is_func).tolist():
        is_run[index] = trace.names.full(index) == _EAGER_RUN
    if is_run.any():
        return stat_carriers.rows_named(track.events.name, is_run)
    return _NONE
