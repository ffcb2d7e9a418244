"""The op table of a window as an answer: the columns of `op_stats` with their texts, the copies on
each replica, and the events that the profiler only counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.columns import Column, Lazy
from powertui.data.model import Bools, Int64s, Trace
from powertui.data.table import Place, Quick, Result, Table, TablePart
from powertui.data.texts import CancelCheck
from powertui.data.tools.op_stats import OpRow, OpStats, op_stats
from powertui.data.tools.registry import Question, event_place

if TYPE_CHECKING:
    from powertui.data.tools.op_joules import OpJoules

# What `OpStats` calls the columns of the table.
_ORDER_KEYS = {"total_s": "total", "self_s": "self", "average_s": "average", "full_name": "name"}


def answer(question: Question) -> Result:
    """The op table of the window, most self time first."""
    lo, hi = question.window
    return result(
        op_stats(question.profile.trace, lo, hi),
        question.opened.name,
        question.host,
    )


def result(
    stats: OpStats,
    run: str = "",
    host: int = 0,
    *,
    energy: OpJoules | None = None,
    notes: tuple[str, ...] = (),
) -> Result:
    """The op table as a `Result`, with what each op drew where that is known.

    Its texts are looked up row by row: a million names cost nothing until they are read.
    """
    order = stats.order("self")
    ops = stats.take(order)
    tables = [
        _op_table(
            ops,
            run,
            host,
            energy.take(order) if energy is not None else None,
        )
    ]
    if len(ops.copies):
        tables.append(_replica_table(ops, run, host))
    return Result(
        id="op_stats",
        title="Ops",
        tables=(*tables, *_counted(stats.trace)),
        notes=notes,
    )


def _op_table(ops: OpStats, run: str, host: int, energy: OpJoules | None) -> Table:
    if energy is not None:
        energy_columns = _energy_columns(energy)
    else:
        energy_columns = ()
    own_order = {column.id: column for column in energy_columns}

    def place(row: int) -> Place:
        return event_place(ops.trace, *ops.longest(row), run=run, host=host)

    def order(column: str, descending: bool, check: CancelCheck) -> Int64s:
        if column in own_order:
            return own_order[column].order(descending)
        return ops.order(_ORDER_KEYS.get(column, column), descending=descending, check=check)

    return Table(
        id="ops",
        title="Ops, most self time first",
        columns=(*_op_columns(ops), *energy_columns),
        place=place,
        order=("self_s", True),
        empty="No op was recorded in this window.",
        key=("full_name", "device"),
        noun="op",
        summary=f"shares of the self time of all events {_base(ops)}  {ops.events:,} events",
        kind_of_work=lambda row: ops[row].category.value,
        quick=Quick(
            order=order,
            matching=ops.matching,
            find=lambda key, rows: ops.find(
                str(key[0]),
                str(key[1]),
                rows,
            ),
        ),
        parts=_parts(ops),
        wrappers=lambda _check: ops.wrappers,
        total=ops.sums,
        layer=True,
    )


def _op_columns(ops: OpStats) -> tuple[Column, ...]:
    count = len(ops)
    names = Lazy(count, lambda row: _short(ops[row]))
    types = Lazy(count, lambda row: ops[row].type)
    full_names = Lazy(count, lambda row: ops[row].full)
    average = ops.total // np.maximum(ops.count, 1)
    columns = [
        Column("name", "name", "text", names, weight=9),
        Column("type", "type", "text", types, weight=4),
        Column("device", "device", "text", Lazy(count, ops.device), weight=3),
    ]
    if len(ops.copies):
        columns.append(Column("replicas", "replicas", "integer", ops.replicas, weight=6))
    return (
        *columns,
        Column("count", "count", "integer", ops.count, weight=7),
        Column("total_s", "total", "duration", ops.total, weight=5),
        Column("self_s", "self", "duration", ops.self_time, weight=9),
        Column("average_s", "average", "duration", average, weight=6),
        Column("share", "of self", "share", ops.share, weight=8),
        # Of no weight: it is part of what is written out, and of no screen.
        Column("full_name", "recorded as", "text", full_names, weight=0),
    )


def _energy_columns(energy: OpJoules) -> tuple[Column, ...]:
    """What the device drew while each op ran; of an op none of whose calls has known power,
    nothing.
    """
    is_known = energy.calls > 0
    calls = Column("energy_calls", "with energy", "integer", energy.calls, weight=0)
    return (
        Column("energy_j", "energy", "number", energy.joules, "J", is_known, weight=8),
        Column("energy_per_call_j", "a call", "number", energy.per_call, "J", is_known, weight=7),
        calls,
    )


def _replica_table(ops: OpStats, run: str, host: int) -> Table:
    """What each replica's copy of an op came to."""
    most_first = np.argsort(-ops.copies.self_time, kind="stable")
    copies = ops.copies.take(most_first)
    count = len(copies)
    process = ops.process[copies.row]
    names = Lazy(count, lambda row: ops.trace.names.full(int(copies.name[row])))
    devices = Lazy(count, lambda row: ops.device(int(copies.row[row])))
    columns = (
        Column("name", "recorded as", "text", names, weight=9),
        Column("replica", "replica", "integer", copies.number, weight=8),
        Column("device", "device", "text", devices, weight=3),
        Column("count", "count", "integer", copies.count, weight=6),
        Column("total_s", "total", "duration", copies.total, weight=5),
        Column("self_s", "self", "duration", copies.self_time, weight=7),
    )

    def place(row: int) -> Place:
        names_of_copy = copies.name[row : row + 1]
        line, event = ops.longest_named(names_of_copy, int(process[row]))
        return event_place(ops.trace, line, event, run=run, host=host)

    return Table(
        id="replicas",
        title="Each replica's copy of the ops",
        columns=columns,
        place=place,
        order=("self_s", True),
        key=("name", "device"),
        noun="copy",
    )


def _parts(ops: OpStats) -> tuple[TablePart, ...]:
    """What ran on devices is not mixed with what ran on the host, unless that is asked for.

    Nor are PyTorch's operators with the Python frames around them.
    """
    on_device = ops.on_device
    frames = ops.is_frame
    host_name = "host calls" if frames.any() else "host"
    sides = {
        "devices": on_device,
        host_name: ~on_device & ~frames,
        "Python frames": frames,
    }
    parts = []
    for name, rows in sides.items():
        if rows.any():
            parts.append(TablePart(name, _always(rows)))
    if len(parts) < 2:
        return ()
    every_row = np.ones(len(ops), np.bool_)
    all_name = "devices and host" if on_device.any() else "all of the host"
    return (*parts, TablePart(all_name, _always(every_row)))


def _always(rows: Bools) -> Callable[[CancelCheck], Bools]:
    return lambda _check: rows


def _base(ops: OpStats) -> str:
    """What the shares are shares of."""
    if not ops.on_device.any():
        return "on the host"
    return "on devices" if ops.on_device.all() else "on devices or on the host"


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
        if aggregates is None or not len(aggregates):
            continue
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


def _short(op: OpRow) -> str:
    """The op's own name, its type left to the column beside it."""
    if op.full.endswith(":" + op.type):
        return op.full.rpartition(":")[0]
    return op.name
