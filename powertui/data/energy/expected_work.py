"""What a trace lets one expect of a power sensor: which kind of work ran, exclusively, in every
sensor window.

A sensor's sample is a mean over a window. So a sample is predicted by the shares of that window
that each kind of work filled, and the watts of each kind are what a fit finds. The kinds exclude
each other at every moment (a kernel that runs hides the Python that waits for it), so the shares
add up to one.

Before and after the profile nothing is known but one thing: whether training went on, when the
run's scalars tell. There the profile's own mixture of work is assumed, so that the end of training
is an edge here too.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

import numpy as np

from powertui.data import category
from powertui.data.category import Category
from powertui.data.model import (
    PS_PER_S,
    Bools,
    Floats,
    Int64s,
    ProcessKind,
    Trace,
    Track,
    TrackKind,
)
from powertui.value_types import dataclass

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

OUTSIDE = "outside the profile"
# A host call in which nothing begins or ends for longer than this may sleep as well as work.
_MIN_UNSEEN_PS = PS_PER_S // 10
# Bins of the table of running shares: 0.1 ms of a recording of half a minute.
_TABLE_BINS = 1 << 18
_MEANS_PER_MEMORY = 64  # times at which an exponential mean is kept while it forgets
_EXACT_BINS = 64  # of windows with fewer bins the parts of the outer bins count, too
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
_COPY = re.compile(
    r"mem_?cpy|mem_?set|\b[hd]to?[hd]|\b[hd]2[hd]\b|copy[-_ ]?(?:start|done)|^copy", re.IGNORECASE
)
# What a thread does while somebody else works, or nobody; of a name in small letters, CamelCase
# taken apart.
_WAITS = re.compile(
    r"\ba?wait(?:s|ing)?\b|\bblock (?:host "
    r")?until|\bblock_until|\bsynchroni[sz]e|sleep\b|\bfutex|\be?poll\b|\bselectors\.py|"
    r"\bselect\.select|_thread\.lock|\block\b.*\bacquire|\bacquire_?lock|\bcondition.?variable|\bsemaphore|\bbarrier\b|"
    r"\bblocking counter|\bnotification\b|\bqueue\.py:\d+ (?:get|put)\b|\bthreading\.py:\d+ "
    r"(?:wait|join|acquire)|\bpark\b|\bidle\b"
)
# Work of a disk, whatever the op's type says: it may fill seconds in which no core does anything.
_FILES = re.compile(
    r"\b(?:save|restore|checkpoints?|write file|read "
    r"file|fsync|serialize)\b|\b(?:save|restore|checkpoints?) ?v2\b"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_(?=wait|sleep)")


def waits(name: str) -> bool:
    """Whether a call of this name only waits."""
    return _WAITS.search(_CAMEL.sub(" ", name[:200]).lower()) is not None


def stores(name: str) -> bool:
    """Whether a call of this name writes or reads files."""
    return _FILES.search(_CAMEL.sub(" ", name[:200]).lower().replace("_", " ")) is not None


@dataclass(frozen=True)
class Intervals:
    """Stretches that do not overlap, by start (ps)."""

    start: Int64s
    end: Int64s

    def __len__(self) -> int:
        return len(self.start)

    def holds(self, at: Int64s) -> Bools:
        """Whether each of these moments lies in a stretch."""
        if not len(self):
            return np.zeros(len(at), np.bool_)
        index = np.searchsorted(self.start, at, side="right") - 1
        return np.asarray((index >= 0) & (at < self.end[np.maximum(index, 0)]))


def minus(base: Intervals, removed: Intervals) -> Intervals:
    """The parts of one that the other does not cover."""
    if not len(base) or not len(removed):
        return base
    edges = np.unique(np.concatenate([base.start, base.end, removed.start, removed.end]))
    middle = edges[:-1]
    remains = base.holds(middle) & ~removed.holds(middle)
    return union(middle[remains], edges[1:][remains], ordered=True)


def union(start: Int64s, end: Int64s, *, gap: int = 0, ordered: bool = False) -> Intervals:
    """The stretches that these intervals cover together; holes up to `gap` are closed."""
    if not ordered:
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    if not len(start):
        return Intervals(start, end)
    reach = np.maximum.accumulate(end)
    opens = np.concatenate([[True], start[1:] > reach[:-1] + gap])
    return Intervals(start[opens], reach[np.concatenate([opens[1:], [True]])])


@dataclass(frozen=True, eq=False)
class Activity:
    """What ran, moment by moment: kind `kind[i]` from `edges[i]` to `edges[i + 1]` (ps)."""

    edges: Int64s
    kind: Int64s

    def seconds(self, kind: int) -> float:
        """How long this kind of work ran."""
        return float(np.diff(self.edges)[self.kind == kind].sum()) / PS_PER_S


def exclusive(parts: Mapping[int, Intervals], span: tuple[int, int]) -> tuple[Int64s, Int64s]:
    """Edges and kinds of a span in which the kind with the highest number wins every moment."""
    ends = [np.asarray(span, np.int64)]
    for part in parts.values():
        ends += [part.start, part.end]
    edges = np.unique(np.clip(np.concatenate(ends), *span))
    if len(edges) < 2:
        return np.asarray(span, np.int64), np.zeros(1, np.int64)
    middle = edges[:-1]
    kind = np.zeros(len(middle), np.int64)
    for number in sorted(parts):
        kind[parts[number].holds(middle)] = number
    changed = np.concatenate([[True], kind[1:] != kind[:-1]])
    return np.concatenate([edges[:-1][changed], edges[-1:]]), kind[changed]


@dataclass(frozen=True, eq=False)
class WindowShares:
    """For any sensor window, the columns of a fit: what its watts are a sum of.

    The first column is 1: the power of the idle machine. Every other column is the share of the
    window that one kind of work filled, and its coefficient the watts that this kind adds. What
    lies outside the profile has one column of its own, except where training went on there: that is
    taken to be the profile's own mixture.
    """

    names: tuple[str, ...]
    span: tuple[float, float]  # of the profile, s
    training: tuple[float, float]  # of training, s; at least the span
    table: Floats  # [bins + 1, kinds]: seconds of each kind up to the bin's start
    mixture: Floats  # [kinds]: share of each kind in the profile
    step: float  # s per bin
    told: bool = False  # whether something says when training began and ended
    forgotten: dict[float, tuple[Floats, Floats]] = field(
        default_factory=dict, repr=False
    )  # exponential means, once asked for

    def rows(self, lo: Floats, hi: Floats) -> Floats:
        """The columns for windows from lo to hi (s, any shape), as one more axis at the end."""
        work = self.work(lo, hi)
        length, (begin, end) = hi - lo, self.training
        outside = np.clip(begin - lo, 0, length) + np.clip(hi - end, 0, length)
        return np.asarray(np.concatenate([work, (outside / length)[..., None]], axis=-1))

    def work(self, lo: Floats, hi: Floats, forget_s: float = 0.0) -> Floats:
        """All of them but the last: what lies outside draws nothing more.

        `forget_s`: of an exponential mean up to `hi`.
        """
        if forget_s:
            return self._forgotten(np.asarray(hi), forget_s)
        length = np.asarray(hi - lo)
        fine = bool(length.size) and float(length.min()) < _EXACT_BINS * self.step
        out = np.empty((*length.shape, len(self.names) - 1))
        out[..., 0] = 1.0
        ran = out[..., 1:]
        np.subtract(self._running(hi, fine), self._running(lo, fine), out=ran)
        (first, last), (begin, end) = self.span, self.training
        if begin < first or end > last:
            beside = np.clip(np.minimum(hi, first) - np.maximum(lo, begin), 0, None)
            beside += np.clip(np.minimum(hi, end) - np.maximum(lo, last), 0, None)
            ran += beside[..., None] * self.mixture
        ran /= length[..., None]
        return out

    def _forgotten(self, times_s: Floats, forget_s: float) -> Floats:
        """The columns of exponential means."""
        times, means = self._means(forget_s)
        out = np.empty((*times_s.shape, len(self.names) - 1))
        out[..., 0] = 1.0
        place = np.clip((times_s - times[0]) / (times[1] - times[0]), 0, len(times) - 1)
        index = np.minimum(place.astype(np.int64), len(times) - 2)
        part = (place - index)[..., None]
        low = means.take(index, axis=0)
        out[..., 1:] = low + part * (means.take(index + 1, axis=0) - low)
        out[..., 1:] *= np.exp(-np.maximum(times_s - times[-1], 0.0) / forget_s)[..., None]
        (first, last), (begin, end) = self.span, self.training
        for begin_s, end_s in ((begin, first), (last, end)):
            if end_s > begin_s:
                newer, older = (
                    np.exp(-np.maximum(times_s - edge, 0.0) / forget_s) for edge in (end_s, begin_s)
                )
                out[..., 1:] += (
                    np.where(times_s > begin_s, newer - older, 0.0)[..., None] * self.mixture
                )
        return out

    def _means(self, forget_s: float) -> tuple[Floats, Floats]:
        """Exponential means of the kinds' shares all over the profile, at even times."""
        if forget_s not in self.forgotten:
            bins = len(self.table) - 1
            every = max(1, min(int(forget_s / _MEANS_PER_MEMORY / self.step), bins // 2))
            running = self.table[: bins // every * every + 1 : every]
            step = every * self.step
            keep = float(np.exp(-step / forget_s))
            gained = (1 - keep) / step * np.diff(running, axis=0)
            means = np.zeros_like(running)
            size = max(1, int(20.0 * forget_s / step))
            for start in range(
                0, len(gained), size
            ):  # each piece in one go: m[k] = keep^k (m[0] + sum of gained[j] / keep^(j+1))
                some = gained[start : start + size]
                power = keep ** np.arange(1, len(some) + 1)[:, None]
                means[start + 1 : start + 1 + len(some)] = power * (
                    means[start] + np.cumsum(some / power, axis=0)
                )
            times = np.asarray(self.span[0] + step * np.arange(len(running)), np.float64)
            self.forgotten[forget_s] = (times, means)
        return self.forgotten[forget_s]

    def running(self, watts: Floats) -> Callable[[Floats], Floats]:
        """The joules up to any moment, to the nearest bin, when the kinds of work draw so much."""
        joules = self.table @ watts
        most, first, each = len(joules) - 1, self.span[0], 1.0 / self.step
        return lambda at: np.asarray(
            joules.take(np.clip((at - first) * each + 0.5, 0, most).astype(np.int32))
        )

    def _running(self, at: Floats, fine: bool) -> Floats:
        place = np.clip((at - self.span[0]) / self.step, 0, len(self.table) - 1)
        if not fine:
            return self.table.take(
                np.rint(place).astype(np.int32), axis=0
            )  # several times as fast as [...]
        index = np.minimum(place.astype(np.int64), len(self.table) - 2)
        part = (place - index)[..., None]
        low = self.table.take(index, axis=0)
        return np.asarray(low + part * (self.table.take(index + 1, axis=0) - low))


def shares(
    devices: Sequence[Activity],
    span: tuple[int, int],
    training: tuple[int, int] | None = None,
    *,
    least_s: float = 0.0,
) -> WindowShares:
    """The columns for one trace; several devices are averaged.

    A kind that filled less than 2 % of the profile, or less than `least_s`, gets no watts of its
    own: too little of it was seen by the sensor, and a column that can take any value explains any
    accident. It joins the next weaker kind, at last the idle machine.
    """
    length = (span[1] - span[0]) / PS_PER_S
    seconds = [sum(a.seconds(kind) for a in devices) / len(devices) for kind in range(len(NAMES))]
    joins = list(range(len(NAMES)))
    for kind in range(len(NAMES) - 1, 0, -1):
        if seconds[kind] < max(0.02 * length, least_s):
            joins[kind] = kind - 1
            seconds[kind - 1] += seconds[kind]
            seconds[kind] = 0.0
    target = np.array([_root(joins, kind) for kind in range(len(NAMES))])
    kinds = sorted({int(k) for k in target} - {IDLE, WAIT})
    grid = np.linspace(span[0], span[1], _TABLE_BINS + 1)
    table = np.zeros((_TABLE_BINS + 1, len(kinds)))
    for device in devices:
        pieces = np.diff(device.edges).astype(np.float64)
        joined = target[device.kind]
        for column, kind in enumerate(kinds):
            running = np.concatenate([[0.0], np.cumsum(np.where(joined == kind, pieces, 0.0))])
            table[:, column] += np.interp(grid, device.edges, running) / PS_PER_S / len(devices)
    around = training if training is not None else span
    begin, end = min(around[0], span[0]) / PS_PER_S, max(around[1], span[1]) / PS_PER_S
    names = ("base", *(NAMES[k] for k in kinds), OUTSIDE)
    inside = (span[0] / PS_PER_S, span[1] / PS_PER_S)
    return WindowShares(
        names,
        inside,
        (begin, end),
        table,
        table[-1] / max(length, 1e-12),
        length / _TABLE_BINS,
        training is not None,
    )


def _root(joins: Sequence[int], kind: int) -> int:
    while joins[kind] != kind:
        kind = joins[kind]
    return kind


_kept: weakref.WeakKeyDictionary[Trace, tuple[Activity, ...]] = weakref.WeakKeyDictionary()


def activities(trace: Trace) -> tuple[Activity, ...]:
    """What ran in a trace, device by device: worked out once. The host alone counts when no device
    recorded anything: beside a busy device its threads mostly wait, and the watts are the device's.
    """
    work = _kept.get(trace)
    if work is None:
        work = _kept[trace] = _activities(trace)
    return work


def _activities(trace: Trace) -> tuple[Activity, ...]:
    planes = enumerate(trace.processes)
    devices = [
        [i]
        for i, p in planes
        if p.kind is ProcessKind.DEVICE and any(not t.derived and len(t.events) for t in p.tracks)
    ]
    groups = devices or [[i for i, p in enumerate(trace.processes) if p.kind is ProcessKind.HOST]]
    table = kinds_of_names(trace, bool(devices))
    gap = max((trace.span[1] - trace.span[0]) // (4 * _TABLE_BINS), 1)
    result = []
    for group in groups:
        parts = _unions(trace, group, table, gap)
        if not devices and HOST in parts:
            parts[UNSEEN] = _unseen(parts[HOST], _edges(trace, group))
            parts[HOST] = minus(parts[HOST], parts[UNSEEN])
        result.append(Activity(*exclusive(parts, trace.span)))
    return tuple(result)


def kinds_of_names(trace: Trace, device: bool = False) -> Int64s:
    """The kind of every name.

    On a device everything that is neither copy nor collective is compute, by any name.
    """
    kinds = np.full(len(trace.names), COMPUTE if device else HOST, np.int64)
    for index in range(len(trace.names)):
        name = trace.names.full(index)
        kind = _KIND_OF_CATEGORY.get(category.work_category(name))
        if not device and kind in (None, WAIT) and waits(name):
            kind = WAIT
        elif not device and stores(name):
            kind = HOST
        elif kind == COPIES and not _COPY.search(name[:200]):
            kind = COMPUTE if device or category.op_type(name) else HOST
        elif kind is None and category.op_type(name):
            kind = COMPUTE
        if kind is not None and (not device or kind in (COPIES, COLLECTIVES)):
            kinds[index] = kind
    return kinds


def _tracks(trace: Trace, group: Sequence[int]) -> Iterator[Track]:
    for number in group:
        for track in trace.processes[number].tracks:
            if not track.derived and track.kind is not TrackKind.COUNTER:
                yield track


def _unions(trace: Trace, group: Sequence[int], table: Int64s, gap: int) -> dict[int, Intervals]:
    """When each kind of work ran on any line of these planes."""
    parts_by_kind: dict[int, list[Intervals]] = {}
    for track in _tracks(trace, group):
        for kind, part in _of_track(track, table, gap):
            parts_by_kind.setdefault(kind, []).append(part)
    return {
        kind: union(
            np.concatenate([p.start for p in parts]),
            np.concatenate([p.end for p in parts]),
            gap=gap,
        )
        for kind, parts in parts_by_kind.items()
    }


def _of_track(track: Track, table: Int64s, gap: int) -> Iterator[tuple[int, Intervals]]:
    """The kinds on one line, lane by lane from the innermost: what only waits inside is waiting,
    whatever lies around it.
    """
    waits = nothing = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    any_waits = bool((table[track.events.name] == WAIT).any())
    works = nothing
    for depth in reversed(range(track.lane_count)):
        events = track.lane(depth)
        kinds = table[events.name]
        lane: list[Intervals] = []
        waiting = nothing
        for kind in np.unique(kinds):
            rows = (kinds == kind) & (events.duration > 0)
            start = events.start[rows]
            part = union(start, start + events.duration[rows], gap=gap, ordered=True)
            if any_waits and kind == WAIT:
                waiting = part = minus(part, works)
            elif any_waits:
                part = minus(part, waits)
                lane.append(part)
            yield int(kind), part
        if any_waits:
            works, waits = _joined([works, *lane]), _joined([waits, waiting])


def _joined(parts: Sequence[Intervals]) -> Intervals:
    return union(np.concatenate([p.start for p in parts]), np.concatenate([p.end for p in parts]))


def _edges(trace: Trace, group: Sequence[int]) -> Int64s:
    """All moments at which an event of these planes begins or ends, by time."""
    parts = [
        column
        for track in _tracks(trace, group)
        for column in (track.events.start, track.events.end)
    ]
    edges = np.concatenate([np.empty(0, np.int64), *parts])
    edges.sort()
    return edges


def _unseen(host: Intervals, edges: Int64s) -> Intervals:
    """The parts of the host's own calls in which nothing on any thread begins or ends for long."""
    long = np.flatnonzero(np.diff(edges) >= _MIN_UNSEEN_PS)
    still = Intervals(edges[long], edges[long + 1])
    return minus(host, minus(host, still))
