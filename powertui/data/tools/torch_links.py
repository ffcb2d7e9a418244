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
from powertui.data.formats import kineto
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
    UInt64s,
)
from powertui.data.opened import Profile
from powertui.data.run.device_intervals import furthest
from powertui.data.run.stat_carriers import whole_numbers
from powertui.data.sorted_columns import among, begins_run
from powertui.named_tuples import NamedTuple
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
        if passed is None:
            is_passed = ~self.operator
        else:
            is_passed = ~self.operator | passed
        above = at.copy()
        while len(self):
            # One level up with each round: few are as deep as the deepest.
            climbs = (above >= 0) & is_passed[np.maximum(above, 0)]
            if not climbs.any():
                break
            above[climbs] = self.parent[above[climbs]]
        return np.asarray(above, np.int64)


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
    if profile.trace.format != kineto.NAME:
        return None
    return profile.cached("torch links", lambda: linked(profile.trace))


def linked(trace: Trace) -> Links:
    """The links of a trace, made now."""
    categories = [_category(trace, index) for index in range(len(trace.names))]
    host, calls = _host(trace, categories)
    device = _device(trace, categories, calls)
    operator = host.operator_above(device.call)
    return Links(
        trace=trace,
        host=host,
        device=device,
        operator=operator,
    )


def _category(trace: Trace, index: int) -> str:
    for stat in trace.names.stats(index):
        if stat.name == "cat":
            return str(stat.value)
    return ""


# ── the host ─────────────────────────────────────────────────────────────────────────────────────


class _ByCorrelation(NamedTuple):
    """The calls that carry a correlation, ascending by it."""

    correlation: Int64s
    call: Int64s  # index into HostCalls

    def calls_of(self, ids: Int64s) -> Int64s:
        """The call that has each of these; -1 for none."""
        has_call = among(self.correlation, ids) & (ids >= 0)
        place = self.correlation.searchsorted(ids[has_call])
        calls = np.full(len(ids), -1, np.int64)
        calls[has_call] = self.call[place]
        return calls


def _host(trace: Trace, categories: list[str]) -> tuple[HostCalls, _ByCorrelation]:
    """(operators and calls, the calls by their correlations)."""
    is_operator = np.array([category in OPERATORS for category in categories], np.bool_)
    is_call = np.array([category in _CALLS for category in categories], np.bool_)
    lines = [np.empty(0, np.int32)]
    rows = [_NONE]
    names = [_NONE]
    parents = [_NONE]
    ids = [_NONE]
    callers = [_NONE]
    first = 0  # rows of the lines before this one
    for number, process, track in trace.threads():
        events = track.events
        is_of_host = (is_operator | is_call)[events.name]
        chosen = _by_start(events, np.flatnonzero(is_of_host))
        if not len(chosen):
            continue
        name = events.name[chosen].astype(np.int64)
        parent = _parents(events[chosen])
        # Parents are rows of all lines together.
        parent_of_all = np.where(parent >= 0, parent + first, -1)
        parents.append(parent_of_all)
        calls = np.flatnonzero(is_call[name])
        positions = events.positions(chosen[calls])
        correlation = _correlations(process, positions)
        has_correlation = correlation >= 0
        ids.append(correlation[has_correlation])
        callers.append(calls[has_correlation] + first)
        lines.append(np.full(len(chosen), number, np.int32))
        rows.append(chosen)
        names.append(name)
        first += len(chosen)
    name = np.concatenate(names)
    host = HostCalls(
        line=np.concatenate(lines),
        row=np.concatenate(rows),
        name=name,
        operator=is_operator[name],
        parent=np.concatenate(parents),
    )
    correlation = np.concatenate(ids)
    call = np.concatenate(callers)
    order = np.argsort(correlation, kind="stable")
    return host, _ByCorrelation(correlation[order], call[order])


def _by_start(events: Events, rows: Int64s) -> Int64s:
    """The rows by start, of equal starts the longest first."""
    # Events of a file are mostly in that order: then no further sort is needed.
    in_file = np.argsort(events.place[rows], kind="stable")
    rows = rows[in_file]
    start = events.start[rows]
    duration = events.duration[rows]
    if is_sorted(start, duration):
        return rows
    return rows[np.lexsort((-duration, start))]


def _correlations(process: Process, positions: UInt64s) -> Int64s:
    return whole_numbers(process.source.columns(positions, ("correlation",))["correlation"])


def _parents(events: Events) -> Int64s:
    """The innermost event that holds each of a line's, which lie by start; -1 for none."""
    start = events.start
    end = events.end
    depth = wire.nest(start, events.duration)
    deepest = int(depth.max(initial=0))
    levels = [np.flatnonzero(depth == level) for level in range(deepest + 1)]
    parent = np.full(len(start), -1, np.int64)
    for level in range(1, len(levels)):
        orphans = levels[level]
        # What overlaps partly is held further up, or by none.
        for above in reversed(levels[:level]):
            began_before = above.searchsorted(orphans) - 1
            holder = above[np.maximum(began_before, 0)]
            ends_inside = end[orphans] <= end[holder]
            is_held = (holder < orphans) & ends_inside
            parent[orphans[is_held]] = holder[is_held]
            orphans = orphans[~is_held]
            if not len(orphans):
                break
    return parent


# ── the devices ──────────────────────────────────────────────────────────────────────────────────


def _device(trace: Trace, categories: list[str], calls: _ByCorrelation) -> DeviceStreams:
    zero_ns = _zero_ns(trace)
    lines = [np.empty(0, np.int32)]
    rows = [_NONE]
    streams = [_NONE]
    names = [_NONE]
    durations = [_NONE]
    ids = [_NONE]
    starts = [np.empty(0)]
    for number, (process, track) in enumerate(trace.tracks()):
        if process.kind is not ProcessKind.DEVICE or track.kind is not TrackKind.STREAM:
            continue
        events = track.events
        if track.derived or not len(events):
            continue
        lines.append(np.full(len(events), number, np.int32))
        rows.append(np.arange(len(events)))
        streams.append(np.full(len(events), track.key, np.int64))
        names.append(events.name.astype(np.int64))
        starts.append(_us(events.start, zero_ns))
        durations.append(events.duration)
        ids.append(_correlations(process, events.position))
    start = np.concatenate(starts)
    duration = np.concatenate(durations)
    return DeviceStreams(
        line=np.concatenate(lines),
        row=np.concatenate(rows),
        stream=np.concatenate(streams),
        name=np.concatenate(names),
        kind=categories,
        start=start,
        end=start + _us(duration, 0),
        duration=duration,
        call=calls.calls_of(np.concatenate(ids)),
    )


def _zero_ns(trace: Trace) -> int:
    """What was written as `ts` at the trace's zero, in ns."""
    from powertui.data.formats.kineto_names import ZERO

    for process in trace.processes:
        for stat in process.stats:
            if stat.name == ZERO and isinstance(stat.value, int):
                return stat.value * 1000
    return 0


def _us(ps: Int64s, zero_ns: int) -> Floats:
    """Times as the double that stands in the file: whole ns divided once."""
    us: Floats = (ps // 1000 + zero_ns) / 1000.0
    return us


# ── each moment once ─────────────────────────────────────────────────────────────────────────────


def covered(start: Floats, end: Floats) -> float:
    """How long at least one of these ran."""
    if not len(start):
        return 0.0
    one_key = np.zeros(len(start), np.int64)
    return float(covered_by(one_key, start, end, 1)[0])


def covered_by(key: Int64s, start: Floats, end: Floats, count: int) -> Floats:
    """For each of `count` keys how long at least one of its events ran."""
    covered_us = np.zeros(count)
    if not len(key):
        return covered_us
    order = np.lexsort((start, key))
    key = key[order]
    start = start[order]
    end = end[order]
    is_first = begins_run(key)
    furthest_end = furthest(key, end)
    # Up to where the events before have covered the time already.
    covered_until = np.empty_like(furthest_end)
    covered_until[1:] = furthest_end[:-1]
    covered_until[is_first] = start[is_first]
    begins_anew = np.maximum(start, covered_until)
    added = np.maximum(0.0, end - begins_anew)
    np.add.at(covered_us, key, added)
    return covered_us
