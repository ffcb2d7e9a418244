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
from powertui.data.columns import Column, int_column, optional, text_column
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
    return Result("collectives", "Collectives", (table,), notes=_notes(rows))


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
            yield kind, _Call(int(end[place] - start[place]), number, row)


def _kind(columns: Mapping[str, StatColumn], row: int, kernel: str) -> _CollectiveKind:
    def text(name: str) -> str:
        return columns[name].text(row) or ""

    aiu_group = text("CollGroup")
    if aiu_group:
        # Each transfer of the group is an event of its own, of so many bytes.
        name = aiu_group.partition("_")[0]
        part = _AIU_PART.search(kernel)
        if part is not None:
            name += " send" if part[1].lower() == "send" else " receive"
        return _CollectiveKind(name, aiu_group, None, "", argument_count(columns, "Bytes", row))
    name = text("Collective name")
    if not name:
        return _CollectiveKind(kernel, "", None, "", None)
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
        "collectives",
        "Collectives, longest total first",
        tuple(_columns(rows)),
        place=place,
        order=("total_s", True),
        empty="No collective ran on a device in this window.",
        noun="kind",
    )


def _columns(rows: Sequence[_Row]) -> Iterator[Column]:
    kinds = [row.kind for row in rows]
    total = np.array([row.total for row in rows], np.int64)
    count = np.array([len(row.calls) for row in rows], np.int64)
    shortest = [min(row.calls).ps for row in rows]
    longest = [max(row.calls).ps for row in rows]
    calls = np.maximum(count, 1)
    mean_s = total / calls / PS_PER_S
    rates = [_rate(kind, seconds) for kind, seconds in zip(kinds, mean_s.tolist(), strict=True)]
    algorithm = [algorithm_rate for algorithm_rate, _ in rates]
    bus = [bus_rate for _, bus_rate in rates]
    members = [kind.members for kind in kinds]
    sizes = [kind.bytes for kind in kinds]
    yield text_column("collective", "collective", [kind.collective for kind in kinds], weight=9)
    yield text_column("group", "group", [kind.group for kind in kinds], weight=4)
    yield optional("group_size", "ranks", "integer", members, weight=5)
    yield text_column("dtype", "type", [kind.dtype for kind in kinds], weight=3)
    yield optional("message_bytes", "message", "number", sizes, unit="B", weight=7)
    yield Column("count", "count", "integer", count, weight=7)
    yield Column("total_s", "total", "duration", total, weight=9)
    yield Column("average_s", "average", "duration", total // calls, weight=6)
    yield int_column("min_s", "shortest", "duration", shortest, weight=3)
    yield int_column("max_s", "longest", "duration", longest, weight=4)
    yield optional("algorithm_bandwidth", "algorithm", "number", algorithm, unit="B/s", weight=5)
    yield optional("bus_bandwidth", "bus", "number", bus, unit="B/s", weight=8)


def _rate(kind: _CollectiveKind, seconds: float) -> tuple[float | None, float | None]:
    """(algorithm bandwidth, bus bandwidth) in B/s."""
    if kind.bytes is None or not seconds:
        return None, None
    # As NCCL's tests have it: bytes of the message a second, and what each link carried of it.
    rate = kind.bytes / seconds
    if kind.members is None:
        return rate, None
    carried = factor(kind.collective, kind.members)
    return rate, None if carried is None else rate * carried


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
