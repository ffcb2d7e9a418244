"""The ops of a host: how often each ran, how long, and how long none of the ops inside it did.

An op is an event whose name is one; the converter of 2026 also counts what an event says of the op that it belongs to (`tf_op`:
allocations). The time of a line between its first and its last op in which none of them runs is idle. Programs of JAX name their
ops in a stat of each event (`hlo_op`), PyTorch says of each name what it is: TensorBoard's profiler sees neither, and shows
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from powertui.data.asked import Compat
from powertui.data.formats.builder import is_sorted
from powertui.data.model import Bools, Events, Int32s, Int64s, Process, ProcessKind, Trace, Track
from powertui.data.run import marks
from powertui.data.texts import Check, unhindered
from powertui.data.tools import op_names, op_stack
from powertui.data.tools.op_names import OpTable

_EAGER = "EagerKernelExecute"
_CHUNK = 1 << 20
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


def of(trace: Trace, lo: int, hi: int, compat: Compat = "corrected", check: Check = unhindered) -> HostOps:
    """The ops of all hosts of a trace in [lo, hi); of an op that the window cuts, the part inside."""
    table = OpTable.empty()
    parts: list[tuple[Int32s, Int64s, Int64s]] = []
    eager: list[Int32s] = []
    idle = span = lines = 0
    whole = lo <= trace.span[0] and hi > trace.span[1]
    for process, track, rows in _lines(trace, table, compat, check):
        check()
        events = track.events
        start, duration = events.start[rows.row], events.duration[rows.row]
        if not whole:
            inside = (start < hi) & ((start + duration > lo) | (start >= lo))
            rows = _Rows(rows.row[inside], rows.op[inside])
            end = np.minimum(start[inside] + duration[inside], hi)
            start = np.maximum(start[inside], lo)
            duration = end - start
        if not len(start):
            continue
        found = op_stack.of(start, duration, lose=compat != "corrected")
        kept = found.kept
        parts.append((rows.op[kept], duration[kept], found.self_time[kept]))
        length = int((start + duration).max() - start.min())
        idle += length - int(found.self_time[kept].sum())
        span += length
        lines += 1
        eager.append(_eager(trace, process, track, rows))
    op, total, own = (np.concatenate(columns) for columns in zip(*parts, strict=True)) if parts else (_NONE, _NONE, _NONE)
    size = len(table)
    is_eager = np.zeros(size, np.bool_)
    for some in eager:
        is_eager[some] = True
    return HostOps(table, np.bincount(op, minlength=size), _sum(op, total, size), _sum(op, own, size), is_eager, idle, span, lines)


def _sum(op: Int32s | Int64s, values: Int64s, size: int) -> Int64s:
    """Exact sums by op: a float holds each half of the bits."""
    high = np.bincount(op, values >> 26, size).astype(np.int64)
    low = np.bincount(op, values & ((1 << 26) - 1), size).astype(np.int64)
    return (high << 26) + low


# ── which events are ops ─────────────────────────────────────────────────────────────────────────


def _lines(trace: Trace, table: OpTable, compat: Compat, check: Check) -> Iterator[tuple[Process, Track, _Rows]]:
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        tracks = [track for track in process.tracks if not track.derived and len(track.events)]
        if not tracks:
            continue
        used = np.zeros(len(trace.names), np.bool_)
        for track in tracks:
            used[track.events.name] = True
        named = _torch(trace, used, table) if trace.format == "kineto" else op_names.of(trace.names, used, table, compat)
        said = marks.carried(trace, process, tracks, ("tf_op", "hlo_op"))
        if compat != "xprof":  # an allocation is no run of the op that asked for it
            said["tf_op"][:] = False
        if compat != "corrected":
            said["hlo_op"][:] = False
        for track in tracks:
            check()
            rows = _rows(trace, process, track, table, named, said, compat)
            if len(rows.row):
                yield process, track, rows


def _rows(
    trace: Trace, process: Process, track: Track, table: OpTable, named: Int32s, said: dict[str, Bools], compat: Compat
) -> _Rows:
    events = track.events
    mine = _where(events, (named >= 0) & ~said["hlo_op"])
    parts, ops = [mine], [named[events.name[mine]]]
    if said["tf_op"].any() and trace.format != "kineto":
        rows, found = _told(process, events, _where(events, said["tf_op"]), "tf_op", table, compat)
        parts.append(rows)
        ops.append(found)
    if said["hlo_op"].any():
        rows, found = _told(process, events, _where(events, said["hlo_op"]), "hlo_op", table, compat)
        parts.append(rows)
        ops.append(found)
    row, op = np.concatenate(parts), np.concatenate(ops)
    order = np.argsort(events.place[row], kind="stable")  # a few ascending runs, one for each lane: quick
    row, op = row[order], op[order]
    if not is_sorted(events.start[row], events.duration[row]):
        order = np.lexsort((-events.duration[row], events.start[row]))
        row, op = row[order], op[order]
    return _Rows(row, op)


def _where(events: Events, names: Bools) -> Int64s:
    """Rows with one of these names, without a mask as long as the line."""
    parts = [np.flatnonzero(names[events.name[at : at + _CHUNK]]) + at for at in range(0, len(events), _CHUNK)]
    return np.concatenate([_NONE, *parts])


def _told(process: Process, events: Events, rows: Int64s, stat: str, table: OpTable, compat: Compat) -> tuple[Int64s, Int32s]:
    """What these events say of the op that they belong to: (the rows that say any, their ops)."""
    known: dict[str, int] = {}
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
            if text not in known:
                op = op_names.hlo(text) if stat == "hlo_op" else op_names.parsed(text, compat)
                known[text] = table.index(op)
            ops[i] = known[text]
        out_rows.append(some[has])
        out_ops.append(ops)
    return np.concatenate(out_rows), np.concatenate(out_ops)


def _torch(trace: Trace, used: Bools, table: OpTable) -> Int32s:
    """PyTorch's operators, by the category that the trace gives each name."""
    out = np.full(len(trace.names), -1, np.int32)
    for index in np.flatnonzero(used).tolist():
        if any(stat.name == "cat" and stat.value in ("cpu_op", "Operator") for stat in trace.names.stats(index)):
            out[index] = table.index(op_names.torch(trace.names.full(index)))
    return out


# ── eager or in a function ───────────────────────────────────────────────────────────────────────


def _eager(trace: Trace, process: Process, track: Track, rows: _Rows) -> Int32s:
    """Ops that ran eagerly: as their events say, else by the kernel's eager run around them that is no function."""
    events = track.events
    carry = marks.carried(trace, process, [track], ("is_eager", "is_func"))
    told = carry["is_eager"][events.name[rows.row]]
    if told.any():
        column = process.source.columns(events.positions(rows.row[told]), ("is_eager",))["is_eager"]
        return np.unique(rows.op[told][column.ints != 0])
    runs = np.flatnonzero(carry["is_func"][events.name])
    if len(runs):
        runs = runs[[trace.names.full(int(name)) == _EAGER for name in events.name[runs].tolist()]]
    if not len(runs):
        return np.empty(0, np.int32)
    runs = runs[np.lexsort((-events.duration[runs], events.start[runs]))]
    func = process.source.columns(events.positions(runs), ("is_func",))["is_func"].ints != 0
    at = events.start[runs].searchsorted(events.start[rows.row], side="right") - 1
    place = np.maximum(at, 0)
    holder = runs[place]
    held = (at >= 0) & (events.end[holder] >= events.start[rows.row] + events.duration[rows.row])
    return np.unique(rows.op[held & ~func[place]])
