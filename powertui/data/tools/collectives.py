"""Collectives of a trace of PyTorch or of IBM's AIU: how often, how long, how much, and the
bandwidth that comes of it.

Bytes are those of the message; the bus bandwidth is what each link had to carry, as NCCL's tests
define it. On one rank the time holds the wait for the slowest: its bandwidths are lower bounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from powertui.data import wire
from powertui.data.columns import Field, columns_of
from powertui.data.kernel_names import is_collective
from powertui.data.model import PS_PER_S, ProcessKind, StatColumn, TrackKind
from powertui.data.run.rank_collectives import (
    CALL_ARGS,
    argument_count,
    call_operation,
    message_elements,
)
from powertui.data.table import Place, Result, Table
from powertui.data.tools.registry import Question
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple

_ARGS = (*CALL_ARGS, "CollGroup", "Bytes")
# IBM's AIU: "SenRdmaSend_82227 [sync=AllReduce_all_reduce_4_s0_r1_0] DmaO", "HCOLL…". Each is part
# of a collective, so no rank waits in it for all others.
_AIU_TRANSFER = re.compile(r"hcoll|\[sync=[^\]]*\] Dma[IO]$", re.IGNORECASE)
_AIU_PART = re.compile(r"Rdma(Send|Receive|Recv)", re.IGNORECASE)
_BYTES = {
    "float": 4,
    "int": 4,
    "half": 2,
    "bfloat16": 2,
    "short": 2,
    "double": 8,
    "long": 8,
    "byte": 1,
    "char": 1,
    "bool": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
}


class _CollectiveKind(NamedTuple):
    """What tells one row from another. Numbers are None where the trace does not say."""

    collective: str  # "allreduce"; the kernel's name where it is not known
    group: str
    members: int | None
    dtype: str
    bytes: int | None


def answer(question: Question) -> Result:
    """The collectives of the window, those that took most time first."""
    calls: dict[_CollectiveKind, list[_Call]] = {}
    for kind, call in _collective_calls(question):
        calls.setdefault(kind, []).append(call)
    rows = [_Row(kind, tuple(of_kind)) for kind, of_kind in calls.items()]
    rows.sort(key=lambda row: -row.total)
    table = _table(rows, question)
    return Result(
        id="collectives",
        title="Collectives",
        tables=(table,),
        notes=_notes(rows),
    )


class _Call(NamedTuple):
    """One kernel of a collective: its time inside the window, and where it is."""

    ps: int
    line: int
    event: int


class _Row(NamedTuple):
    """All calls of one kind."""

    kind: _CollectiveKind
    calls: tuple[_Call, ...]

    @property
    def total(self) -> int:
        """Time of all of them, ps."""
        return sum(call.ps for call in self.calls)


def _collective_calls(question: Question) -> Iterator[tuple[_CollectiveKind, _Call]]:
    """The collectives on all streams in the window."""
    trace = question.profile.trace
    lo, hi = question.window
    for number, (process, track) in enumerate(trace.tracks()):
        if process.kind is not ProcessKind.DEVICE or track.kind is not TrackKind.STREAM:
            continue
        if track.derived:
            continue
        events = track.events
        is_call = np.zeros(len(trace.names), np.bool_)
        for index in wire.distinct(events.name).tolist():
            name = trace.names.full(index)
            is_call[index] = is_collective(name) or _AIU_TRANSFER.search(name) is not None
        in_window = touches(events.start, events.end, lo, hi)
        rows = np.flatnonzero(is_call[events.name] & in_window)
        if not len(rows):
            continue
        columns = process.source.columns(events.positions(rows), _ARGS)
        start = np.maximum(events.start[rows], lo)
        end = np.minimum(events.end[rows], hi)
        for place, row in enumerate(rows.tolist()):
            kernel = trace.names.full(int(events.name[row]))
            kind = _kind(columns, place, kernel)
            call = _Call(
                ps=int(end[place] - start[place]),
                line=number,
                event=row,
            )
            yield kind, call


def _kind(columns: Mapping[str, StatColumn], row: int, kernel: str) -> _CollectiveKind:
    def text(name: str) -> str:
        return columns[name].text(row) or ""

    aiu_group = text("CollGroup")
    if aiu_group:
        # Each transfer of the group is an event of its own, of so many bytes.
        name = aiu_group.partition("_")[0]
        part = _AIU_PART.search(kernel)
        if part is not None:
            if part[1].lower() == "send":
                name += " send"
            else:
                name += " receive"
        return _CollectiveKind(
            collective=name,
            group=aiu_group,
            members=None,
            dtype="",
            bytes=argument_count(columns, "Bytes", row),
        )
    name = text("Collective name")
    if not name:
        return _CollectiveKind(
            collective=kernel,
            group="",
            members=None,
            dtype="",
            bytes=None,
        )
    elements = message_elements(columns, row, call_operation(name, kernel))
    element_bytes = _BYTES.get(text("dtype").lower())
    size = None
    if elements is not None and element_bytes is not None:
        size = elements * element_bytes
    return _CollectiveKind(
        collective=name,
        group=text("Process Group Name"),
        members=argument_count(columns, "Group size", row, max_digits=9),
        dtype=text("dtype"),
        bytes=size,
    )


def factor(collective: str, members: int) -> float | None:
    """What of its message each link carries, as NCCL's tests define the bus bandwidth; None where
    no rule is known.
    """
    if members < 1:
        return None
    operation = call_operation(collective, "")
    if operation == "allreduce":
        return 2 * (members - 1) / members
    if operation in ("reduce_scatter", "allgather", "alltoall"):
        return (members - 1) / members
    if operation in ("broadcast", "reduce", "send or receive", "send and receive"):
        return 1.0
    return None


def _table(rows: Sequence[_Row], question: Question) -> Table:
    def place(row: int) -> Place:
        longest = max(rows[row].calls)
        return question.event_place(longest.line, longest.event)

    return Table(
        id="collectives",
        title="Collectives, longest total first",
        columns=columns_of(rows, _FIELDS),
        place=place,
        order=("total_s", True),
        empty="No collective ran on a device in this window.",
        noun="kind",
    )


def _mean_ps(row: _Row) -> int:
    return row.total // len(row.calls)


def _algorithm_rate(row: _Row) -> float | None:
    """Bytes of the message a second, as NCCL's tests have it."""
    if row.kind.bytes is None or not row.total:
        return None
    mean_s = float(row.total) / len(row.calls) / PS_PER_S
    return row.kind.bytes / mean_s


def _bus_rate(row: _Row) -> float | None:
    """What each link carried of that, B/s."""
    rate = _algorithm_rate(row)
    if rate is None or row.kind.members is None:
        return None
    carried = factor(row.kind.collective, row.kind.members)
    return None if carried is None else rate * carried


_FIELDS: tuple[Field[_Row], ...] = (
    Field("collective", "collective", "text", lambda row: row.kind.collective, weight=9),
    Field("group", "group", "text", lambda row: row.kind.group, weight=4),
    Field("group_size", "ranks", "integer", lambda row: row.kind.members, weight=5),
    Field("dtype", "type", "text", lambda row: row.kind.dtype, weight=3),
    Field("message_bytes", "message", "number", lambda row: row.kind.bytes, "B", 7),
    Field("count", "count", "integer", lambda row: len(row.calls), weight=7, always=True),
    Field("total_s", "total", "duration", lambda row: row.total, weight=9, always=True),
    Field("average_s", "average", "duration", _mean_ps, weight=6, always=True),
    Field("min_s", "shortest", "duration", lambda row: min(row.calls).ps, weight=3, always=True),
    Field("max_s", "longest", "duration", lambda row: max(row.calls).ps, weight=4, always=True),
    Field("algorithm_bandwidth", "algorithm", "number", _algorithm_rate, "B/s", 5),
    Field("bus_bandwidth", "bus", "number", _bus_rate, "B/s", 8),
)


def _notes(rows: Sequence[_Row]) -> tuple[str, ...]:
    if not rows:
        return ()
    if all(row.kind.bytes is None for row in rows):
        return ("This profile does not say how much its collectives moved.",)
    note = (
        "The time of a collective on one rank includes the wait for the other ranks: "
        "bandwidths are lower bounds."
    )
    return (note,)
