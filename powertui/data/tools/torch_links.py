"""PyTorch's traces, linked: which call launched each kernel, and which operator made that call.

A call and its work share a `correlation` (one call of a CUDA graph launches many kernels). The
operator is the innermost one around the call on its thread; where no call is known, none is. Times
are added as TraceLens adds them, whose tables these are held against: in doubles of µs, from the
`ts` that was written.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.formats import kineto, kineto_events
from powertui.data.formats.builder import is_sorted
from powertui.data.model import (
    Bools,
    Events,
    Floats,
    Int32s,
    Int64s,
    Process,
    ProcessKind,
    Trace,
    TrackKind,
)
from powertui.data.opened import Profile
from powertui.data.run.device_intervals import furthest
from powertui.data.run.marks import whole_numbers
from powertui.value_types import dataclass

OPERATORS = frozenset(("cpu_op", "operator"))
_CALLS = frozenset(
    ("cuda_runtime", "cuda_driver", "runtime", "xpu_runtime", "xpu_driver", "mtia_runtime")
)
COPIES = frozenset(("gpu_memcpy", "memcpy"))
SETS = frozenset(("gpu_memset", "memset"))
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class HostCalls:
    """Operators and calls of all threads, thread by thread, each by start; a parent stands before
    its children.
    """

    line: Int32s  # over Trace.tracks()
    row: Int64s  # of that line's events
    name: Int64s  # into Trace.names
    operator: Bools  # else a call of the runtime
    parent: Int64s  # -1 for none

    def __len__(self) -> int:
        return len(self.row)

    def operator_above(self, at: Int64s, passed: Bools | None = None) -> Int64s:
        """For each of these events the innermost operator that it lies in or is; -1 for none.

        `passed` are stepped over.
        """
        skip = ~self.operator if passed is None else ~self.operator | passed
        out = at.copy()
        while len(self):
            climb = (out >= 0) & skip[np.maximum(out, 0)]
            if not climb.any():
                break
            out[climb] = self.parent[out[climb]]
        return np.asarray(out, np.int64)


@dataclass(frozen=True, eq=False)
class DeviceStreams:
    """The work of all devices, stream by stream in the order of the lines, and which call launched
    each.
    """

    line: Int32s
    row: Int64s
    stream: Int64s
    name: Int64s
    kind: Sequence[str]  # by name: the category of its events
    start: Floats  # µs as written
    end: Floats
    duration: Int64s  # ps
    call: Int64s  # index into HostCalls; -1 where no call is known

    def __len__(self) -> int:
        return len(self.row)

    def of_kind(self, kinds: frozenset[str]) -> Bools:
        """Which are of these categories."""
        is_kind = np.array([kind in kinds for kind in self.kind], np.bool_)
        return is_kind[self.name]


@dataclass(frozen=True, eq=False)
class Links:
    """Host and devices of a PyTorch trace."""

    trace: Trace
    host: HostCalls
    device: DeviceStreams
    operator: (
        Int64s  # for each work of a device the innermost operator around its call; -1 for none
    )


def torch_links(profile: Profile) -> Links | None:
    """The links of a profile, made at the first question; None for what is no trace of
    PyTorch's.
    """
    return (
        profile.cached("torch links", lambda: linked(profile.trace))
        if profile.trace.format == kineto.NAME
        else None
    )


def linked(trace: Trace) -> Links:
    """The links of a trace, made now."""
    categories = [_category(trace, index) for index in range(len(trace.names))]
    host, calls = _host(trace, categories)
    device = _device(trace, categories, calls)
    return Links(trace, host, device, host.operator_above(device.call))


def _category(trace: Trace, index: int) -> str:
    return next((str(stat.value) for stat in trace.names.stats(index) if stat.name == "cat"), "")


# ── the host ─────────────────────────────────────────────────────────────────────────────────────


def _host(trace: Trace, categories: list[str]) -> tuple[HostCalls, tuple[Int64s, Int64s]]:
    """(operators and calls, (correlations ascending, the call that has each))."""
    is_operator = np.array([category in OPERATORS for category in categories], np.bool_)
    is_call = np.array([category in _CALLS for category in categories], np.bool_)
    lines, rows, names, parents = [np.empty(0, np.int32)], [_NONE], [_NONE], [_NONE]
    ids, callers = [_NONE], [_NONE]
    first = 0
    for number, (process, track) in enumerate(trace.tracks()):
        if process.kind is not ProcessKind.HOST or track.derived or not len(track.events):
            continue
        events = track.events
        mine = np.flatnonzero((is_operator | is_call)[events.name])
        if not len(mine):
            continue
        mine = mine[np.argsort(events.place[mine], kind="stable")]
        if not is_sorted(events.start[mine], events.duration[mine]):
            mine = mine[np.lexsort((-events.duration[mine], events.start[mine]))]
        name = events.name[mine].astype(np.int64)
        parent = _parents(events[mine])
        parents.append(np.where(parent >= 0, parent + first, -1))
        calls = np.flatnonzero(is_call[name])
        recorded = whole_numbers(
            process.source.columns(events.positions(mine[calls]), ("correlation",))["correlation"]
        )
        ids.append(recorded[recorded >= 0])
        callers.append(calls[recorded >= 0] + first)
        lines.append(np.full(len(mine), number, np.int32))
        rows.append(mine)
        names.append(name)
        first += len(mine)
    name = np.concatenate(names)
    host = HostCalls(
        np.concatenate(lines),
        np.concatenate(rows),
        name,
        is_operator[name],
        np.concatenate(parents),
    )
    correlation, caller = np.concatenate(ids), np.concatenate(callers)
    order = np.argsort(correlation, kind="stable")
    return host, (correlation[order], caller[order])


def _parents(events: Events) -> Int64s:
    """The innermost event that holds each of a line's, which lie by start; -1 for none."""
    start, end = events.start, events.end
    depth = wire.nest(start, events.duration)
    levels = [np.flatnonzero(depth == level) for level in range(int(depth.max(initial=0)) + 1)]
    parent = np.full(len(start), -1, np.int64)
    for level in range(1, len(levels)):
        orphans = levels[level]
        for above in range(
            level - 1, -1, -1
        ):  # what overlaps partly is held further up, or by none
            holder = levels[above][np.maximum(levels[above].searchsorted(orphans) - 1, 0)]
            inside = (holder < orphans) & (end[orphans] <= end[holder])
            parent[orphans[inside]] = holder[inside]
            orphans = orphans[~inside]
            if not len(orphans):
                break
    return parent


# ── the devices ──────────────────────────────────────────────────────────────────────────────────


def _device(trace: Trace, categories: list[str], calls: tuple[Int64s, Int64s]) -> DeviceStreams:
    parts: list[tuple[int, Process, Events, int]] = []
    for number, (process, track) in enumerate(trace.tracks()):
        real = (
            process.kind is ProcessKind.DEVICE
            and track.kind is TrackKind.STREAM
            and not track.derived
        )
        if real and len(track.events):
            parts.append((number, process, track.events, track.key))
    if not parts:
        none, no = _NONE, np.empty(0)
        return DeviceStreams(
            line=np.empty(0, np.int32),
            row=none,
            stream=none,
            name=none,
            kind=categories,
            start=no,
            end=no,
            duration=none,
            call=none,
        )
    zero_ns = _zero_ns(trace)
    correlation = [
        whole_numbers(process.source.columns(events.position, ("correlation",))["correlation"])
        for _, process, events, _ in parts
    ]
    ids = np.concatenate(correlation)
    call = np.full(len(ids), -1, np.int64)
    if len(calls[0]):
        place = np.minimum(calls[0].searchsorted(ids), len(calls[0]) - 1)
        call = np.where((calls[0][place] == ids) & (ids >= 0), calls[1][place], -1)
    start = np.concatenate([_us(events.start, zero_ns) for _, _, events, _ in parts])
    duration = np.concatenate([events.duration for _, _, events, _ in parts])
    return DeviceStreams(
        line=np.concatenate(
            [np.full(len(events), number, np.int32) for number, _, events, _ in parts]
        ),
        row=np.concatenate([np.arange(len(events)) for _, _, events, _ in parts]),
        stream=np.concatenate([np.full(len(events), key, np.int64) for _, _, events, key in parts]),
        name=np.concatenate([events.name for _, _, events, _ in parts]).astype(np.int64),
        kind=categories,
        start=start,
        end=start + _us(duration, 0),
        duration=duration,
        call=call,
    )


def _zero_ns(trace: Trace) -> int:
    """What was written as `ts` at the trace's zero, in ns."""
    for process in trace.processes:
        for stat in process.stats:
            if stat.name == kineto_events.ZERO and isinstance(stat.value, int):
                return stat.value * 1000
    return 0


def _us(ps: Int64s, zero_ns: int) -> Floats:
    """Times as the double that stands in the file: whole ns divided once."""
    us: Floats = (ps // 1000 + zero_ns) / 1000.0
    return us


# ── each moment once ─────────────────────────────────────────────────────────────────────────────


def covered(start: Floats, end: Floats) -> float:
    """How long at least one of these ran."""
    return (
        float(covered_by(np.zeros(len(start), np.int64), start, end, 1)[0]) if len(start) else 0.0
    )


def covered_by(key: Int64s, start: Floats, end: Floats, count: int) -> Floats:
    """For each of `count` keys how long at least one of its events ran."""
    out = np.zeros(count)
    if not len(key):
        return out
    order = np.lexsort((start, key))
    key, start, end = key[order], start[order], end[order]
    new = np.ones(len(key), np.bool_)
    new[1:] = key[1:] != key[:-1]
    until = furthest(key, end)
    before = np.empty_like(until)
    before[1:] = until[:-1]
    before[new] = start[new]
    np.add.at(out, key, np.maximum(0.0, end - np.maximum(start, before)))
    return out
