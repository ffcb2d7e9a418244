"""What a trace lets one expect of a power sensor: which kind of work ran, exclusively, at every
moment.

The kinds exclude each other (a kernel that runs hides the Python that waits for it), so that the
shares of any window that they filled add up to one; see `window_shares`.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from powertui.data import category, wire
from powertui.data.category import Category
from powertui.data.energy import settings
from powertui.data.model import (
    PS_PER_S,
    Bools,
    Int64s,
    ProcessKind,
    Trace,
    Track,
    TrackKind,
)
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

# A first step that takes this many times the usual one traced or compiled. Chosen: a slow batch
# stays below it as a rule.
TRACING_STEP_FACTOR = 2.5

# From the weakest claim on a moment to the strongest.
IDLE, WAIT, UNSEEN, HOST, COMPILE, _INPUT, COPIES, COLLECTIVES, COMPUTE = range(9)
NAMES = (
    "idle",
    "waiting",
    "host calls without detail",
    "host work",
    "compiling",
    "input",
    "copies",
    "collectives",
    "compute",
)
# Only where somebody asks for it: pauses that are too short to be sure that power falls in them.
SHORT_PAUSES, SHORT_PAUSES_NAME = len(NAMES), "short pauses"

# A host call in which nothing begins or ends for longer than this may sleep as well as work:
# Python that works calls something every few milliseconds.
_MIN_UNSEEN_PS = round(settings.INSTANT_S * PS_PER_S)
# Bins of the table of running shares: 0.1 ms of a recording of half a minute.
TABLE_BINS = 1 << 18
_MAX_NAME = 200  # letters of a name that are looked at: kernels of templates have thousands
_KIND_OF_CATEGORY: Mapping[Category, int] = {
    Category.MATMUL: COMPUTE,
    Category.CONVOLUTION: COMPUTE,
    Category.ELEMENTWISE: COMPUTE,
    Category.REDUCTION: COMPUTE,
    Category.NORMALIZATION: COMPUTE,
    Category.OPTIMIZER: COMPUTE,
    Category.MEMORY: COPIES,
    Category.COMMUNICATION: COLLECTIVES,
    Category.INPUT: _INPUT,
    Category.COMPILE: COMPILE,
    Category.IDLE: WAIT,
}
# Of the names that move or make memory only these leave a device's compute units alone; transposing
# is computing.
_COPY = late_pattern(
    r"mem_?cpy|mem_?set|\b[hd]to?[hd]|\b[hd]2[hd]\b|copy[-_ ]?(?:start|done)|^copy", re.IGNORECASE
)
# What a thread does while somebody else works, or nobody; of a name in small letters, CamelCase
# taken apart.
_WAITS = late_pattern(
    r"\ba?wait(?:s|ing)?\b|\bblock (?:host )?until|\bblock_until|\bsynchroni[sz]e|sleep\b|\bfutex"
    r"|\be?poll\b|\bselectors\.py|\bselect\.select|_thread\.lock|\block\b.*\bacquire"
    r"|\bacquire_?lock|\bcondition.?variable|\bsemaphore|\bbarrier\b|\bblocking counter"
    r"|\bnotification\b|\bqueue\.py:\d+ (?:get|put)\b"
    r"|\bthreading\.py:\d+ (?:wait|join|acquire)|\bpark\b|\bidle\b"
)
# Work of a disk, whatever the op's type says: it may fill seconds in which no core does anything.
_FILES = late_pattern(
    r"\b(?:save|restore|checkpoints?|write file|read file|fsync|serialize)\b"
    r"|\b(?:save|restore|checkpoints?) ?v2\b"
)
_CAMEL = late_pattern(r"(?<=[a-z0-9])(?=[A-Z])|_(?=wait|sleep)")


def waits(name: str) -> bool:
    """Whether a call of this name only waits."""
    return _WAITS.search(_words(name)) is not None


def stores(name: str) -> bool:
    """Whether a call of this name writes or reads files."""
    return _FILES.search(_words(name).replace("_", " ")) is not None


def _words(name: str) -> str:
    return _CAMEL.sub(" ", name[:_MAX_NAME]).lower()


@dataclass(frozen=True)
class Intervals:
    """Stretches that do not overlap, by start (ps)."""

    start: Int64s
    end: Int64s

    def __len__(self) -> int:
        return len(self.start)

    def holds(self, at: Int64s) -> Bools:
        """Whether each of these moments is in a stretch."""
        if not len(self):
            return np.zeros(len(at), np.bool_)
        last_started = np.searchsorted(self.start, at, side="right") - 1
        is_before_end = at < self.end[np.maximum(last_started, 0)]
        return np.asarray((last_started >= 0) & is_before_end)


def minus(base: Intervals, removed: Intervals) -> Intervals:
    """The parts of one that the other does not cover."""
    if not len(base) or not len(removed):
        return base
    moments = [base.start, base.end, removed.start, removed.end]
    edges = wire.distinct(np.concatenate(moments))
    starts = edges[:-1]
    ends = edges[1:]
    remains = base.holds(starts) & ~removed.holds(starts)
    return union(starts[remains], ends[remains], ordered=True)


def union(
    start: Int64s,
    end: Int64s,
    *,
    gap: int = 0,
    ordered: bool = False,
) -> Intervals:
    """The stretches that these intervals cover together; holes up to `gap` are closed."""
    if not ordered:
        order = np.argsort(start, kind="stable")
        start = start[order]
        end = end[order]
    if not len(start):
        return Intervals(start, end)
    reach = np.maximum.accumulate(end)
    is_first = np.concatenate([[True], start[1:] > reach[:-1] + gap])
    is_last = np.concatenate([is_first[1:], [True]])
    return Intervals(start[is_first], reach[is_last])


@dataclass(frozen=True, eq=False)
class Activity:
    """What ran, moment by moment: kind `kind[i]` from `edges[i]` to `edges[i + 1]` (ps)."""

    edges: Int64s
    kind: Int64s

    def seconds(self, kind: int) -> float:
        """How long this kind of work ran."""
        return float(np.diff(self.edges)[self.kind == kind].sum()) / PS_PER_S


def with_pauses_apart(activity: Activity, longest_ps: int) -> Activity:
    """The same with each pause up to this length as a kind of its own."""
    lengths = np.diff(activity.edges)
    is_pause = (activity.kind == IDLE) | (activity.kind == WAIT)
    is_short = is_pause & (lengths <= longest_ps)
    return Activity(activity.edges, np.where(is_short, SHORT_PAUSES, activity.kind))


def exclusive(
    parts: Mapping[int, Intervals],
    span: tuple[int, int],
) -> tuple[Int64s, Int64s]:
    """Edges and kinds of a span in which the kind with the highest number wins every moment."""
    ends_of_span = np.asarray(span, np.int64)
    moments = [ends_of_span]
    for part in parts.values():
        moments += [part.start, part.end]
    inside = np.clip(np.concatenate(moments), *span)
    edges = wire.distinct(inside)
    if len(edges) < 2:
        return ends_of_span, np.zeros(1, np.int64)
    starts = edges[:-1]
    end = edges[-1:]
    kind = np.zeros(len(starts), np.int64)
    for number in sorted(parts):
        runs = parts[number].holds(starts)
        kind[runs] = number
    changes_kind = kind[1:] != kind[:-1]
    is_change = np.concatenate([[True], changes_kind])
    changes = starts[is_change]
    return np.concatenate([changes, end]), kind[is_change]


_cached_activities: weakref.WeakKeyDictionary[Trace, tuple[Activity, ...]] = (
    weakref.WeakKeyDictionary()
)


def activities(trace: Trace) -> tuple[Activity, ...]:
    """What ran in a trace, device by device: worked out once. The host alone counts when no device
    recorded anything: beside a busy device its threads mostly wait, and the watts are the device's.
    """
    work = _cached_activities.get(trace)
    if work is None:
        work = _cached_activities[trace] = _activities(trace)
    return work


def _activities(trace: Trace) -> tuple[Activity, ...]:
    device_rows = _busy_devices(trace)
    groups = [[row] for row in device_rows]
    if not device_rows:
        is_host = [process.kind is ProcessKind.HOST for process in trace.processes]
        groups = [np.flatnonzero(is_host).tolist()]
    kind_by_name = kinds_of_names(trace, bool(device_rows))
    begin, end = trace.span
    gap = max((end - begin) // (4 * TABLE_BINS), 1)
    result = []
    for group in groups:
        parts = _unions(trace, group, kind_by_name, gap)
        if not device_rows and HOST in parts:
            unseen = _unseen(parts[HOST], _edges(trace, group))
            parts[UNSEEN] = unseen
            parts[HOST] = minus(parts[HOST], unseen)
        edges, kinds = exclusive(parts, trace.span)
        result.append(Activity(edges, kinds))
    return tuple(result)


def _busy_devices(trace: Trace) -> list[int]:
    """The rows of the devices that recorded anything."""
    rows = []
    for row, process in enumerate(trace.processes):
        if process.kind is not ProcessKind.DEVICE:
            continue
        if any(not track.derived and track.event_count for track in process.tracks):
            rows.append(row)
    return rows


def kinds_of_names(trace: Trace, device: bool = False) -> Int64s:
    """The kind of every name.

    On a device everything that is neither copy nor collective is compute, by any name.
    """
    kinds = np.empty(len(trace.names), np.int64)
    for index in range(len(trace.names)):
        name = trace.names.full(index)
        kinds[index] = _device_kind(name) if device else _host_kind(name)
    return kinds


def _device_kind(name: str) -> int:
    kind = _KIND_OF_CATEGORY.get(category.work_category(name))
    if kind == COLLECTIVES or (kind == COPIES and _is_copy(name)):
        return kind
    return COMPUTE


def _host_kind(name: str) -> int:
    kind = _KIND_OF_CATEGORY.get(category.work_category(name))
    if kind in (None, WAIT) and waits(name):
        return WAIT
    if stores(name):
        return HOST
    if kind == COPIES and not _is_copy(name):
        return COMPUTE if category.op_type(name) else HOST
    if kind is None:
        return COMPUTE if category.op_type(name) else HOST
    return kind


def _is_copy(name: str) -> bool:
    return _COPY.search(name[:_MAX_NAME]) is not None


def _tracks(trace: Trace, group: Sequence[int]) -> Iterator[Track]:
    for number in group:
        for track in trace.processes[number].tracks:
            if not track.derived and track.kind is not TrackKind.COUNTER:
                yield track


def _unions(
    trace: Trace,
    group: Sequence[int],
    kind_by_name: Int64s,
    gap: int,
) -> dict[int, Intervals]:
    """When each kind of work ran on any line of these planes."""
    parts_by_kind: dict[int, list[Intervals]] = {}
    for track in _tracks(trace, group):
        for kind, part in _of_track(track, kind_by_name, gap):
            parts_by_kind.setdefault(kind, []).append(part)
    return {kind: _joined(parts, gap=gap) for kind, parts in parts_by_kind.items()}


def _of_track(track: Track, kind_by_name: Int64s, gap: int) -> Iterator[tuple[int, Intervals]]:
    """The kinds on one line, lane by lane from the innermost: what only waits inside is waiting,
    whatever lies around it.
    """
    nothing = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    inner_waits = nothing
    inner_work = nothing
    is_wait = kind_by_name[track.events.name] == WAIT
    any_waits = bool(is_wait.any())
    for depth in reversed(range(track.lane_count)):
        events = track.lane(depth)
        kinds = kind_by_name[events.name]
        lane_work: list[Intervals] = []
        lane_waits = nothing
        for kind in wire.distinct(kinds):
            rows = (kinds == kind) & (events.duration > 0)
            start = events.start[rows]
            end = start + events.duration[rows]
            part = union(start, end, gap=gap, ordered=True)
            if any_waits and kind == WAIT:
                part = minus(part, inner_work)
                lane_waits = part
            elif any_waits:
                part = minus(part, inner_waits)
                lane_work.append(part)
            yield int(kind), part
        if any_waits:
            inner_work = _joined([inner_work, *lane_work])
            inner_waits = _joined([inner_waits, lane_waits])


def _joined(parts: Sequence[Intervals], gap: int = 0) -> Intervals:
    starts = np.concatenate([part.start for part in parts])
    ends = np.concatenate([part.end for part in parts])
    return union(starts, ends, gap=gap)


def _edges(trace: Trace, group: Sequence[int]) -> Int64s:
    """All moments at which an event of these planes begins or ends, by time."""
    moments = [np.empty(0, np.int64)]
    for track in _tracks(trace, group):
        moments += [track.events.start, track.events.end]
    edges = np.concatenate(moments)
    edges.sort()
    return edges


def _unseen(host: Intervals, edges: Int64s) -> Intervals:
    """The parts of the host's own calls in which nothing on any thread begins or ends for long."""
    rows = np.flatnonzero(np.diff(edges) >= _MIN_UNSEEN_PS)
    still = Intervals(edges[rows], edges[rows + 1])
    return minus(host, minus(host, still))
