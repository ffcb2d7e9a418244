"""Collectives of a PyTorch trace: how often, how long, how much, and the bandwidth that comes of
it.

Bytes are those of the message; the bus bandwidth is what each link had to carry, as NCCL's tests
define it. On one rank the time holds the wait for the slowest: its bandwidths are lower bounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.model import PS_PER_S, ProcessKind, StatColumn, TrackKind
from powertui.data.table import Column, Place, Result, Table, optional, text_column
from powertui.data.tools.registry import Question
from powertui.data.window import touches

_ARGS = (
    "Collective name",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "dtype",
    "Process Group Name",
)
_KERNEL = re.compile(r"nccl|rccl|cross_device_reduce|hccl", re.IGNORECASE)
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


class _Kind(NamedTuple):
    """What tells one row from another. Numbers are None where the trace does not say."""

    collective: str  # "allreduce"; the kernel's name where it is not known
    group: str
    members: int | None
    dtype: str
    bytes: int | None


def answer(question: Question) -> Result:
    """The collectives of the window, those that took most time first."""
    trace = question.profile.trace
    lo, hi = question.window
    calls: dict[_Kind, list[tuple[int, int, int]]] = {}  # (ps, line, event)
    for number, (process, track) in enumerate(trace.tracks()):
        if (
            process.kind is not ProcessKind.DEVICE
            or track.kind is not TrackKind.STREAM
            or track.derived
        ):
            continue
        events = track.events
        used = np.zeros(len(trace.names), np.bool_)
        used[events.name] = True
        named = used.copy()
        named[used] = [
            _KERNEL.search(trace.names.full(int(i))) is not None for i in np.flatnonzero(used)
        ]
        rows = np.flatnonzero(named[events.name] & touches(events.start, events.end, lo, hi))
        if not len(rows):
            continue
        columns = process.source.columns(events.positions(rows), _ARGS)
        length = np.minimum(events.end[rows], hi) - np.maximum(events.start[rows], lo)
        for i, row in enumerate(rows.tolist()):
            kind = _kind(
                {name: columns[name] for name in _ARGS}, i, trace.names.full(int(events.name[row]))
            )
            calls.setdefault(kind, []).append((int(length[i]), number, row))
    kinds = sorted(calls, key=lambda kind: -sum(ps for ps, _, _ in calls[kind]))
    return Result(
        "collectives", "Collectives", (_table(kinds, calls, question),), notes=_notes(kinds)
    )


def _kind(columns: dict[str, StatColumn], row: int, kernel: str) -> _Kind:
    def text(name: str) -> str:
        return columns[name].text(row) or ""

    name = text("Collective name")
    if not name:
        return _Kind(kernel, "", None, "", None)
    size = _BYTES.get(text("dtype").lower())
    elements = text("Out msg nelems" if "allgather" in name.replace("_", "") else "In msg nelems")
    count = int(elements) if elements.isdecimal() and len(elements) < 19 else None
    members = text("Group size")
    return _Kind(
        name,
        text("Process Group Name"),
        int(members) if members.isdecimal() and len(members) < 10 else None,
        text("dtype"),
        count * size if count is not None and size is not None else None,
    )


def factor(collective: str, members: int) -> float | None:
    """What of its message each link carries; None where no rule is known."""
    name = collective.replace("_", "").lower()
    if members < 1:
        return None
    if "allreduce" in name:
        return 2 * (members - 1) / members
    if any(word in name for word in ("reducescatter", "allgather", "alltoall")):
        return (members - 1) / members
    return 1.0 if any(word in name for word in ("broadcast", "reduce", "send", "recv")) else None


def _table(
    kinds: Sequence[_Kind], calls: dict[_Kind, list[tuple[int, int, int]]], question: Question
) -> Table:
    total = np.array([sum(ps for ps, _, _ in calls[kind]) for kind in kinds], np.int64)
    count = np.array([len(calls[kind]) for kind in kinds], np.int64)
    shortest = np.array([min(ps for ps, _, _ in calls[kind]) for kind in kinds], np.int64)
    longest = np.array([max(ps for ps, _, _ in calls[kind]) for kind in kinds], np.int64)
    moved = [
        _rate(kind, seconds)
        for kind, seconds in zip(
            kinds, (total / np.maximum(count, 1) / PS_PER_S).tolist(), strict=True
        )
    ]
    columns = (
        text_column("collective", "collective", [kind.collective for kind in kinds], weight=9),
        text_column("group", "group", [kind.group for kind in kinds], weight=4),
        optional("group_size", "ranks", "integer", [kind.members for kind in kinds], weight=5),
        text_column("dtype", "type", [kind.dtype for kind in kinds], weight=3),
        optional(
            "message_bytes", "message", "number", [kind.bytes for kind in kinds], unit="B", weight=7
        ),
        Column("count", "count", "integer", count, weight=7),
        Column("total_s", "total", "duration", total, weight=9),
        Column("average_s", "average", "duration", total // np.maximum(count, 1), weight=6),
        Column("min_s", "shortest", "duration", shortest, weight=3),
        Column("max_s", "longest", "duration", longest, weight=4),
        optional(
            "algorithm_bandwidth",
            "algorithm",
            "number",
            [rate for rate, _ in moved],
            unit="B/s",
            weight=5,
        ),
        optional(
            "bus_bandwidth", "bus", "number", [rate for _, rate in moved], unit="B/s", weight=8
        ),
    )
    tracks = [track for _, track in question.profile.trace.tracks()]

    def place(row: int) -> Place:
        _, line, event = max(calls[kinds[row]])
        lo = int(tracks[line].events.start[event])
        return Place(
            run=question.opened.name,
            host=question.host,
            lo=lo,
            hi=lo + int(tracks[line].events.duration[event]),
            track=line,
            event=event,
        )

    empty = "No collective ran on a device in this window."
    return Table(
        "collectives",
        "Collectives, longest total first",
        columns,
        place=place,
        order=("total_s", True),
        empty=empty,
        noun="kind",
    )


def _rate(kind: _Kind, seconds: float) -> tuple[float | None, float | None]:
    """(algorithm bandwidth, bus bandwidth) in B/s."""
    if kind.bytes is None or not seconds:
        return None, None
    rate = kind.bytes / seconds
    share = factor(kind.collective, kind.members) if kind.members is not None else None
    return rate, rate * share if share is not None else None


def _notes(kinds: Sequence[_Kind]) -> tuple[str, ...]:
    if any(kind.bytes is not None for kind in kinds):
        return (
            (
                "The time of a collective on one rank includes the wait for the other ranks: "
                "bandwidths are lower bounds."
            ),
        )
    return ("This profile does not say how much its collectives moved.",) if kinds else ()
