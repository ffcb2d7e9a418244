"""The collectives of every rank of a run, in columns: which operation of which group, when the rank
arrived and when it left.

A rank is a device of a host, or a host where its only collectives are gloo's, which run on its
threads. Only operations that no rank leaves before all have arrived are of use here: a broadcast
lets its root go at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from powertui.data.kernel_names import KEPT_NAMES, is_collective
from powertui.data.model import (
    NS_PER_S,
    PS_PER_NS,
    Bools,
    Events,
    Int64s,
    Names,
    Process,
    ProcessKind,
    StatColumn,
    Trace,
    TrackKind,
)
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_OPERATIONS = (
    ("allreduce", re.compile(r"all[_-]?reduce|cross_device_reduce", re.IGNORECASE)),
    ("reduce_scatter", re.compile(r"reduce[_-]?scatter", re.IGNORECASE)),
    ("allgather", re.compile(r"all[_-]?gather", re.IGNORECASE)),
    ("alltoall", re.compile(r"all[_-]?to[_-]?all", re.IGNORECASE)),
    ("barrier", re.compile(r"barrier", re.IGNORECASE)),
    ("broadcast", re.compile(r"broadcast", re.IGNORECASE)),
    ("reduce", re.compile(r"reduce", re.IGNORECASE)),
    ("gather", re.compile(r"(?<![a-z])gather", re.IGNORECASE)),
    ("scatter", re.compile(r"scatter", re.IGNORECASE)),
)
# PyTorch's all-to-all and NCCL's one kernel for sends and receives have this name; whether it is
# one or the other, the moments at which its ranks leave it show.
_SEND_RECEIVE = re.compile(r"send[_-]?recv", re.IGNORECASE)
_POINT_TO_POINT = re.compile(r"^(?:send|recv|isend|irecv)", re.IGNORECASE)
_LEAVE_APART = frozenset({"broadcast", "reduce", "gather", "scatter", "send or receive"})
# Operations whose message has one size on all ranks.
_SAME_SIZE = frozenset({"allreduce", "reduce_scatter", "allgather"})
CALL_ARGS = (
    "Collective name",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
    "dtype",
    "Process Group Name",
    "Process Group Ranks",
    "Seq",
)
_MAX_COUNT_DIGITS = 18  # of a count that fits int64
# Clocks that are further apart show no run of today. Chosen: a day, as int64 holds 106 of them.
_MAX_ZEROS_APART_NS = 86_400 * NS_PER_S
HOST_CALLS = "host calls"  # the key of what `host_calls` gave where a host was read
_DEVICE_LINES = frozenset({TrackKind.STREAM, TrackKind.OPS})
_HOST_LINES = frozenset({TrackKind.THREAD})


class CollectiveKey(NamedTuple):
    """What calls of one operation have in common on all ranks."""

    operation: str  # "allreduce"; "collective" where neither name nor arguments say
    group: str  # as its program calls it; "" where the trace does not say
    members: str  # of the group, as written: "[0, 1]"
    dtype: str
    elements: int  # of the message; -1 where unknown, or where ranks differ in it


@dataclass(frozen=True, eq=False)
class RankCalls:
    """The collectives of one rank, by start, on its host's own clock."""

    name: str  # of the rank, for a person
    host: int  # index of the profile
    start: Int64s  # ps
    end: Int64s
    key: Int64s  # index into `keys`
    keys: tuple[CollectiveKey, ...]
    sequence: Int64s  # as its group counts; -1 where the trace does not say
    line: Int64s  # over `Trace.tracks()`
    event: Int64s
    zero_ps: int  # of its host's clock, after the earliest zero of the run; 0 where one is unknown
    on_clock: bool  # whether that is known
    left_out: int  # calls of operations that ranks leave one by one

    def __len__(self) -> int:
        return len(self.start)


def rank_calls(traces: Sequence[Trace]) -> Iterator[RankCalls]:
    """The collectives of all ranks of a run; ranks without any are left out."""
    zeros = _zeros_ps(traces)
    for index, trace in enumerate(traces):
        host = trace.host or f"host {index}"
        for calls in known_host_calls(trace):
            yield replace(
                calls,
                name=f"{host} {calls.name}" if calls.name else host,
                host=index,
                zero_ps=zeros[index] if zeros is not None else 0,
                on_clock=zeros is not None,
            )


def known_host_calls(trace: Trace) -> tuple[RankCalls, ...]:
    """The same as `host_calls`, which came with a host of many."""
    prepared: tuple[RankCalls, ...] | None = trace.prepared(HOST_CALLS)
    return host_calls(trace) if prepared is None else prepared


def host_calls(trace: Trace) -> tuple[RankCalls, ...]:
    """The collectives of the ranks of one host, which know no other host yet: each has the name of
    its device, if there are several.
    """
    # Where devices have some, those of the host's threads only ask for them.
    ranks = list(_ranks(trace, ProcessKind.DEVICE, is_collective, _DEVICE_LINES))
    if not ranks:
        ranks = list(_ranks(trace, ProcessKind.HOST, _is_of_gloo, _HOST_LINES))
    if len(ranks) == 1:
        return (ranks[0][1].calls(""),)
    return tuple(columns.calls(device.rpartition("device:")[2]) for device, columns in ranks)


def _is_of_gloo(name: str) -> bool:
    """Whether an event of a host's thread is a collective: PyTorch's span of one of gloo."""
    return name.casefold().startswith("gloo:")


def _zeros_ps(traces: Sequence[Trace]) -> list[int] | None:
    """When each profile's clock begins, after the earliest; None where one is not known, or where
    they are so far apart that they are no one run's.
    """
    clocks = [trace.clock for trace in traces]
    if not clocks or not all(clock.known for clock in clocks):
        return None
    middles = [clock.mid_ns for clock in clocks]
    earliest = min(middles)
    if max(middles) - earliest > _MAX_ZEROS_APART_NS:
        return None
    return [(middle - earliest) * PS_PER_NS for middle in middles]


def _ranks(
    trace: Trace,
    kind: ProcessKind,
    counts: Callable[[str], bool],
    line_kinds: frozenset[TrackKind],
) -> Iterator[tuple[str, _Columns]]:
    """(name, calls) of each device, or of the host, that has some."""
    names = trace.names
    matches = [counts(names.full(number)) for number in range(len(names))]
    if not any(matches):
        return
    is_call = np.array(matches, np.bool_)
    lines = {id(track): line for line, (_, track) in enumerate(trace.tracks())}
    for process in trace.processes:
        if process.kind is not kind:
            continue
        columns = _Columns(names)
        for track in process.tracks:
            if track.kind in line_kinds and not track.derived:
                columns.add(track.events, process, lines[id(track)], is_call)
        if len(columns):
            yield process.name, columns


class _Columns:
    """Calls as they are found, line by line."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._keys: dict[CollectiveKey, int] = {}
        self._rows: list[tuple[int, int, int, int, int, int]] = []
        self._left_out = 0

    def add(
        self,
        events: Events,
        process: Process,
        line: int,
        is_call: Bools,
    ) -> None:
        """The collectives of one line; `is_call`: which names are of some."""
        rows = np.flatnonzero(is_call[events.name])
        if not len(rows):
            return
        columns = process.source.columns(events.positions(rows), CALL_ARGS)
        for place, row in enumerate(rows.tolist()):
            kernel = self._names.full(int(events.name[row]))
            key = _key(columns, place, kernel)
            if key.operation in _LEAVE_APART:
                self._left_out += 1
                continue
            start = int(events.start[row])
            end = start + int(events.duration[row])
            number = self._keys.setdefault(key, len(self._keys))
            sequence = argument_count(columns, "Seq", place)
            if sequence is None:
                sequence = -1
            self._rows.append((start, end, number, sequence, line, row))

    def __len__(self) -> int:
        return len(self._rows)

    def calls(self, name: str) -> RankCalls:
        """All of them by start."""
        columns = np.array(sorted(self._rows), np.int64).T
        return RankCalls(
            name=name,
            host=0,
            start=columns[0],
            end=columns[1],
            key=columns[2],
            keys=tuple(self._keys),
            sequence=columns[3],
            line=columns[4],
            event=columns[5],
            zero_ps=0,
            on_clock=False,
            left_out=self._left_out,
        )


def _key(columns: Mapping[str, StatColumn], row: int, kernel: str) -> CollectiveKey:
    def text(name: str) -> str:
        return columns[name].text(row) or ""

    operation = call_operation(text("Collective name"), kernel)
    elements = None
    if operation in _SAME_SIZE:
        elements = message_elements(columns, row, operation)
    return CollectiveKey(
        operation=operation,
        group=text("Process Group Name"),
        members=text("Process Group Ranks") or text("Group size"),
        dtype=text("dtype"),
        elements=elements if elements is not None else -1,
    )


@lru_cache(KEPT_NAMES)
def call_operation(collective: str, kernel: str) -> str:
    """The operation by the arguments of a call, else by the name of its kernel."""
    name = collective or kernel
    if collective and _POINT_TO_POINT.match(collective):
        return "send or receive"
    for operation, pattern in _OPERATIONS:
        if pattern.search(name):
            return operation
    return "send and receive" if _SEND_RECEIVE.search(name) else "collective"


def message_elements(columns: Mapping[str, StatColumn], row: int, operation: str) -> int | None:
    """The length of a call's message; of an allgather that is what each rank has in the end."""
    if operation == "allgather":
        return argument_count(columns, "Out msg nelems", row)
    return argument_count(columns, "In msg nelems", row)


def argument_count(
    columns: Mapping[str, StatColumn],
    name: str,
    row: int,
    max_digits: int = _MAX_COUNT_DIGITS,
) -> int | None:
    """A count among a call's arguments; None for anything else."""
    text = columns[name].text(row) or ""
    if text.isdecimal() and len(text) <= max_digits:
        return int(text)
    return None
