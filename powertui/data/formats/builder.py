"""The one way a reader makes a Trace: validates, sorts, packs lanes, classifies, orders.

A reader knows bytes; this knows what a good Trace is. A line's events come as four columns in any
order and are kept lane by lane. Nothing is copied that is right already, and what cannot be true (a
garbage offset in a damaged file) is dropped and counted, so that one bad byte does not stretch the
timeline over centuries.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.formats.file_warnings import FileWarnings
from powertui.data.formats.filenames import host_of
from powertui.data.formats.line_kinds import is_derived, process_kind, track_kind
from powertui.data.model import (
    PS_PER_S,
    Aggregates,
    Arrows,
    Clock,
    Counter,
    Epochs,
    Events,
    Floats,
    Int64s,
    Names,
    Process,
    ProcessKind,
    ProcessLaunch,
    Stat,
    StatSource,
    Steps,
    Trace,
    Track,
    TrackKind,
    UInt32s,
    UInt64s,
    Warn,
)
from powertui.data.secret_values import secret_names, shown_value
from powertui.patterns import late_pattern
from powertui.plain import plain

# 26 days. No profile runs that long, so a time beyond it is damage; sums of two such times cannot
# overflow.
LIMIT_PS = 1 << 61
LIMIT_NS = 1 << 51  # the same, of formats that count ns: 26 days, a longer time is damage
# Events may lie a little outside the session: device clocks drift, threads end late.
_MARGIN_PS = 60 * PS_PER_S
MAX_COUNTERS = 10_000
_MAX_SECRET_NAMES, _MAX_SECRET_NAME_CHARS = 20, 80  # a reader of `doctor` looks at no more
SLICE = 1 << 20  # rows looked at together where a whole line's temporaries would be large

# ── names that mean something ────────────────────────────────────────────────────────────────────


_MAIN_THREAD = late_pattern(r"(python[\d.]*|main|MainThread)?(/-?\d+)?")
_DIGITS = late_pattern(r"(\d+)")
_TRACK_ORDER = {
    TrackKind.STEPS: 0,
    TrackKind.MODULES: 1,
    TrackKind.SCOPE: 2,
    TrackKind.OPS: 3,
    TrackKind.STREAM: 4,
    TrackKind.THREAD: 4,
    TrackKind.COUNTER: 5,
    TrackKind.OTHER: 6,
}
PROCESS_ORDER = {
    ProcessKind.DEVICE: 0,
    ProcessKind.HOST: 1,
    ProcessKind.OTHER: 2,
    ProcessKind.META: 3,
}


def _natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts `GPU:2` before `GPU:10`."""
    return tuple(
        (0, int(p), "") if p.isdigit() and p.isascii() and len(p) < 30 else (1, 0, p)
        for p in _DIGITS.split(name)
        if p
    )


# ── counted warnings ─────────────────────────────────────────────────────────────────────────────


# ── lanes ────────────────────────────────────────────────────────────────────────────────────────


def is_sorted(start: Int64s, duration: Int64s) -> bool:
    """Whether events lie by start, of equal starts the longest first: so nearly every collector
    writes them.
    """
    for lo in range(0, len(start) - 1, SLICE):
        s = start[lo : lo + SLICE + 1]
        d = duration[lo : lo + SLICE + 1]
        if not np.all((s[1:] > s[:-1]) | ((s[1:] == s[:-1]) & (d[1:] <= d[:-1]))):
            return False
    return True


def pack(start: Int64s, duration: Int64s) -> tuple[npt.NDArray[np.intp] | None, Int64s]:
    """How sorted events move into lanes: the new order (None when it is the old one) and where each
    lane begins.
    """
    depth = wire.nest(start, duration)
    counts = np.zeros(wire.MAX_LANES, np.int64)
    for lo in range(0, len(depth), SLICE):  # bincount makes eight bytes of each
        counts += np.bincount(depth[lo : lo + SLICE], minlength=wire.MAX_LANES)
    counts = counts[: int(np.max(np.flatnonzero(counts), initial=0)) + 1]
    lanes = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    if len(lanes) <= 2:
        return None, lanes
    return np.argsort(depth, kind="stable"), lanes  # of bytes this is a radix sort: linear


def _last_end(start: Int64s, duration: Int64s) -> int:
    last_ends = []
    for lo in range(0, len(start), SLICE):
        rows = slice(lo, lo + SLICE)
        last_ends.append(int((start[rows] + duration[rows]).max()))
    return max(last_ends)


class LineEvents:
    """The events of one line on their way into a Track. The columns are given away: they are
    changed in place.

    `place` is where each event lies in its source, counted from `origin`; four bytes each are kept
    where they will do.
    """

    def __init__(
        self,
        start: Int64s,
        duration: Int64s,
        name: UInt32s,
        place: UInt32s | UInt64s,
        origin: int = 0,
    ) -> None:
        if place.dtype == np.uint64 and len(place) and int(place.max()) < 1 << 32:
            place = place.astype(np.uint32)
        self.start = start
        self.duration = duration
        self.name = name
        self.place = place
        self.origin = origin

    def __len__(self) -> int:
        return len(self.start)

    @property
    def events(self) -> Events:
        """The columns as they are now."""
        return Events(self.start, self.duration, self.name, self.place, self.origin)

    def take(self, rows: npt.NDArray[Any]) -> None:
        """Keep these rows, in this order.

        Column by column, so that only one of them is there twice.
        """
        self.start = self.start[rows]
        self.duration = self.duration[rows]
        self.name = self.name[rows]
        self.place = self.place[rows]

    def validate(self, lo: int, hi: int, findings: FileWarnings, where: str) -> None:
        """Drop what cannot have happened between `lo` and `hi` (ps), and repair negative
        durations.
        """
        if not len(self):
            return
        if int(self.duration.min()) < 0:
            wrong = self.duration < 0
            findings.add(
                "events with a negative duration were given a duration of 0",
                where,
                int(wrong.sum()),
            )
            self.duration[wrong] = 0
        if (
            int(self.start.min()) < lo
            or int(self.start.max()) > hi
            or int(self.duration.max()) > hi - lo
        ):
            # |start| and duration are compared before they are added: in damaged files the sum may
            # overflow
            good = (self.start >= lo) & (self.start <= hi) & (self.duration <= hi - lo)
            findings.add(
                "events at impossible times were left out", where, int(len(good) - good.sum())
            )
            self.take(np.flatnonzero(good))


# ── the trace ────────────────────────────────────────────────────────────────────────────────────


class ProcessBuilder:
    """One plane that grows line by line."""

    def __init__(
        self,
        trace: TraceBuilder,
        name: str,
        stats: tuple[Stat, ...],
        source: StatSource,
    ) -> None:
        self.name = name
        self.kind = process_kind(name)
        # Without owning it: a circle of the two would keep all events until garbage is collected,
        # which is seldom, and never in a process that was copied before the first picture.
        self._trace: TraceBuilder = weakref.proxy(trace)
        self._stats = stats
        self._source = source
        self._tracks: list[Track] = []

    def add(
        self,
        key: int,
        name: str,
        line: LineEvents,
        aggregates: Aggregates | None = None,
        *,
        derived: bool = False,
    ) -> Track | None:
        """One line with its events, in any order. A line without any event is no track.

        `derived`: it says again, in other words, what another line of its thread holds.
        """
        trace = self._trace
        line.validate(
            trace.earliest,
            trace.latest,
            trace.findings,
            f"{self.name} {self._label(key, name)}".strip(),
        )
        if not len(line) and not aggregates:
            return None
        if not is_sorted(line.start, line.duration):
            line.take(np.lexsort((-line.duration, line.start)))
        if len(line):
            span = (int(line.start[0]), _last_end(line.start, line.duration))
        else:
            span = None
        order, lanes = pack(line.start, line.duration)
        if order is not None:
            line.take(order)
        return self.add_packed(
            key=key,
            name=name,
            events=line.events,
            lanes=lanes,
            span=span,
            aggregates=aggregates,
            derived=derived,
        )

    def add_packed(
        self,
        key: int,
        name: str,
        events: Events,
        lanes: Int64s,
        span: tuple[int, int] | None,
        aggregates: Aggregates | None = None,
        *,
        derived: bool = False,
    ) -> Track:
        """One line whose events are valid and lie lane by lane already; `span` is when the first
        starts and the last ends.
        """
        if span is not None:
            self._trace.saw(*span)
        kind = track_kind(name, self.kind)
        label = self._label(key, name)
        derived = derived or is_derived(key, name, self.kind)
        track = Track(key, label, kind, derived, events, lanes, aggregates)
        self._tracks.append(track)
        self._trace.events += len(events) + (len(aggregates) if aggregates else 0)
        return track

    def _label(self, key: int, name: str) -> str:
        return name or (f"thread {key}" if self.kind is ProcessKind.HOST else f"line {key}")

    def build(self) -> Process:
        """The process with what it has so far, its lines in drawing order."""
        tracks = tuple(sorted(self._tracks, key=self._order))
        empty = self.kind in (ProcessKind.DEVICE, ProcessKind.OTHER) and not tracks
        return Process(self.name, self.kind, tracks, self._stats, self._source, empty)

    def _order(self, track: Track) -> tuple[Any, ...]:
        if self.kind is ProcessKind.DEVICE:
            return (not track.derived, _TRACK_ORDER[track.kind], _natural(track.name))
        # The main thread comes first; an unnamed thread is macOS' main thread.
        main = _MAIN_THREAD.fullmatch(track.name) or track.name == f"thread {track.key}"
        return (not main, _natural(track.name), -len(track.events))


class TraceBuilder:
    """A trace that grows plane by plane.

    Any number of Traces can be taken from it; the last one is complete.
    """

    def __init__(self, path: str, format: str, *, size: int = 0, host: str = "") -> None:
        self.path = path
        self.format = format
        self.size = size
        self.host = host or host_of(path)
        self.findings = FileWarnings(path)
        self.clock = Clock()
        self.stop_ns: int | None = None
        self.hostnames: tuple[str, ...] = ()
        self.machine = ""
        self.launch: ProcessLaunch | None = None
        self.secret_names: dict[str, None] = {}  # in the order of the file
        self.exported_steps: tuple[Steps, Epochs] | None = None
        self.earliest = -LIMIT_PS
        self.latest = LIMIT_PS
        self.events = 0
        self.counted = 0  # readings of counters
        self._span: tuple[int, int] | None = None
        self._processes: list[ProcessBuilder] = []
        self._counters: list[Counter] = []
        self._arrows: tuple[Arrows, Sequence[Track | None]] | None = None

    def session(self, length_ps: int) -> None:
        """The session is known to have lasted so long: what lies far outside it is damage."""
        margin = max(_MARGIN_PS, length_ps)
        self.earliest = -margin
        self.latest = min(length_ps + margin, LIMIT_PS)

    def process(self, name: str, stats: Sequence[Stat], source: StatSource) -> ProcessBuilder:
        """A new plane. Names may repeat."""
        for stat in stats:
            self.note_secrets(stat.name, stat.value)
        shown = (stat._replace(value=shown_value(stat.name, stat.value)) for stat in stats)
        process = ProcessBuilder(self, name, tuple(shown), source)
        self._processes.append(process)
        return process

    def note_secrets(self, name: str, value: Any) -> None:
        """Keep the names of the access tokens and passwords in a value of the file."""
        for secret_name in secret_names(name, value):
            if len(self.secret_names) < _MAX_SECRET_NAMES:
                self.secret_names[plain(secret_name, _MAX_SECRET_NAME_CHARS)] = None

    def counter(self, name: str, unit: str, process: str, times: Int64s, values: Floats) -> None:
        """A quantity that was recorded beside the events, its readings in any order.

        What has no time or no number is left out.
        """
        good = np.isfinite(values) & (times >= self.earliest) & (times <= self.latest)
        self.findings.add(
            "counter readings without a usable time or number were left out",
            name,
            int(len(good) - good.sum()),
        )
        if not good.all():
            times = times[good]
            values = values[good]
        if not len(times):
            return
        order = np.argsort(times, kind="stable")
        times = times[order]
        values = values[order]
        self.saw(int(times[0]), int(times[-1]))
        self.counted += len(times)
        self._counters.append(Counter(name, unit, process, times, values))

    def draw(self, arrows: Arrows, lines: Sequence[Track | None]) -> None:
        """Arrows between lines, which they count as they stand here; None is a line without
        events.
        """
        if len(arrows):
            self._arrows = (arrows, lines)
        else:
            self._arrows = None

    def saw(self, lo: int, hi: int) -> None:
        """Something happened between these two times."""
        if self._span is None:
            self._span = (lo, hi)
        else:
            self._span = (min(self._span[0], lo), max(self._span[1], hi))

    def build(self, names: Names, *, complete: bool, warnings: Sequence[Warn] = ()) -> Trace:
        """The trace with what there is so far."""
        processes = sorted(
            (process.build() for process in self._processes),
            key=lambda process: (PROCESS_ORDER[process.kind], _natural(process.name)),
        )
        return Trace(
            arrows=self._drawn(processes),
            path=self.path,
            host=self.host,
            format=self.format,
            processes=tuple(processes),
            names=names,
            clock=self.clock,
            span=self._span or (0, 0),
            event_count=self.events,
            warnings=(*warnings, *self.findings.all()),
            complete=complete,
            missing=self.findings.missing,
            stop_ns=self.stop_ns,
            size=self.size,
            hostnames=self.hostnames,
            machine=self.machine,
            launch=self.launch,
            secret_names=tuple(self.secret_names),
            counters=tuple(
                sorted(
                    self._counters,
                    key=lambda counter: (_natural(counter.process), _natural(counter.name)),
                )
            ),
            exported_steps=self.exported_steps,
        )

    def _drawn(self, processes: Sequence[Process]) -> Arrows | None:
        if self._arrows is None:
            return None
        arrows, lines = self._arrows
        numbers = {
            id(track): number
            for number, track in enumerate(
                track for process in processes for track in process.tracks
            )
        }
        return arrows.on(np.array([numbers.get(id(track), -1) for track in lines], np.int64))
