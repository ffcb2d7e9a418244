"""XPlane (`<host>.xplane.pb`): what TensorFlow, JAX and PyTorch/XLA record.

    XSpace   1 planes  2 errors  3 warnings  4 hostnames
    XPlane   1 id  2 name  3 lines  4 event_metadata  5 stat_metadata (maps)  6 stats
    XLine    1 id  10 display_id  2 name  11 display_name  3 timestamp_ns  4 events

The file is walked by hopping from record to record; only events are decoded, into columns, a window
at a time. Names are kept; stats stay in the file and are read when someone asks. Times in files are
relative to the session's start, except where a collector forgot to shift: see `zero_of_lines`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.formats.builder import LIMIT_PS, LineEvents, ProcessBuilder, TraceBuilder
from powertui.data.formats.file_warnings import FileWarnings
from powertui.data.formats.registry import ClockRule, Progress
from powertui.data.formats.source import MANGLED, MANGLED_HINT, OpenedFile, describe, looks_mangled
from powertui.data.formats.xplane_head import (
    UNIX_NS,
    recorded_session,
    recorded_start,
    zero_of_lines,
)
from powertui.data.formats.xplane_head import sniff as sniff
from powertui.data.formats.xplane_names import EventNames
from powertui.data.formats.xplane_stats import PlaneStats, TextTable, decode
from powertui.data.model import PS_PER_NS, Aggregates, Events, ProcessKind, Stat, Trace
from powertui.data.name_shapes import beginning
from powertui.data.wire import windows
from powertui.data.wire.stored import Stored
from powertui.errors import FileChanged, UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "xplane"

# More than any profile has: a file of empty planes, lines or texts must not take minutes.
_MAX_PLANES = 10_000
_MAX_LINES = 100_000
_MAX_TEXTS = 1000  # errors, warnings, host names, or stats of a plane
# Of a line's bytes. With less of it, what is there tells what took the time. Chosen, not measured.
_MAX_LOST_SHARE = 0.01
# Events decoded between two reports of progress: some ms in C, a tenth of a second in Python.
SLICE = 1 << (18 if wire.COMPILED else 16)
_EVENT_BYTES = 45  # memory of an event: its columns, and the index that the screens draw by
FIRST_PART = 1 << 16  # events of the first partial trace; each next one has twice as many
LONG_LINE = 1 << 18  # events of a line before which all shorter lines are shown

_ERROR, _WARNING = "profiler error: ", "profiler warning: "
_EMPTY_PLANE = b"\x0a\x00"


class _LineHead(NamedTuple):
    """A line but its events."""

    key: int
    name: str
    timestamp_ns: int
    events: int
    stretches: list[windows.MessagePart]  # that hold them
    bad: int
    begin: int  # its bytes
    end: int


class _Plane(NamedTuple):
    """A plane but its events."""

    name: str
    lines: list[_LineHead]
    stats: tuple[Stat, ...]
    source: PlaneStats


class _PlaneLine(NamedTuple):
    """A line that is still to be read."""

    process: ProcessBuilder
    stats: PlaneStats
    head: _LineHead


# ── the clock ────────────────────────────────────────────────────────────────────────────────────


CLOCK = ClockRule(zero=recorded_start)


# ── loading ──────────────────────────────────────────────────────────────────────────────────────


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """Partial traces as they grow, the complete one last."""
    if looks_mangled(source.head):
        raise UnreadableFile(source.path, MANGLED, hint=MANGLED_HINT)
    stored = source.stored()
    # Not of the opened file: it holds the bytes, and a circle would keep all events until garbage
    # is collected, which is seldom.
    limit, path = source.limit, source.path
    stored.admit = lambda need: limit.check(path, need, "its metadata takes")
    space = windows.hop(stored, 0, stored.size, empty=False).hop
    builder = TraceBuilder(source.path, NAME, size=source.size)
    names = EventNames(stored)
    planes = _outlines(stored, space, names, builder)
    if not planes and not builder.hostnames and not builder.findings.all():
        raise _without_planes(source)
    session = recorded_session((plane.name, plane.stats) for plane in planes)
    if session is not None:
        start_ns, stop_ns = session
        builder.session((stop_ns - start_ns) * PS_PER_NS)
        builder.stop_ns = stop_ns
    lines_ns = [line.timestamp_ns for plane in planes for line in plane.lines if line.events]
    zero_ns, clock = zero_of_lines(lines_ns, session)
    builder.clock = clock or builder.clock
    lines = _shortest_first(planes, builder)
    events = sum(line.head.events for line in lines)
    unpacked = stored.size if source.compressed else 0
    source.limit.check(
        source.path, events * _EVENT_BYTES + unpacked, f"holds {events:,} events, which take"
    )
    reader = _LineReader(stored, names, builder, progress, source.size, events)
    next_part = FIRST_PART
    for line in lines:
        is_long = line.head.events >= LONG_LINE and line.head.events > builder.events > 0
        if builder.events >= next_part or is_long:
            next_part = builder.events * 2
            yield builder.build(names, complete=False, warnings=source.warnings)
        try:
            reader.read(line.process, line.head, line.stats, zero_ns)
        except FileChanged as error:
            if not builder.events:
                raise
            builder.findings.lose(f"the file {error.problem}")
            break
    if space.bad >= 0 and not builder.events:
        raise UnreadableFile(
            source.path,
            (
                f"is truncated or damaged: after byte {space.bad:,} of {stored.size:,} nothing can "
                "be read, and no event comes before"
            ),
            hint="Copy it again and compare the sizes; if they agree, profile again.",
        )
    trace = builder.build(names, complete=True, warnings=source.warnings)
    if trace.missing:
        trace = replace(trace, lost_names=names.lost)
    try:
        yield _with_neuron(_with_counters(_with_allocations(trace)), source)
    except FileChanged:  # what was read before is shown
        yield trace


def _without_planes(source: OpenedFile) -> UnreadableFile:
    if source.head.startswith(_EMPTY_PLANE):
        hint = "The profiler had nothing to write. Profile again."
        return UnreadableFile(source.path, "is empty: it contains only empty planes", hint=hint)
    problem, hint = describe(source.head, source.path)
    return UnreadableFile(source.path, problem, hint=hint)


def _shortest_first(planes: list[_Plane], builder: TraceBuilder) -> list[_PlaneLine]:
    """All lines: a partial trace with all short ones appears at once, and a person waits for the
    long ones only.
    """
    lines = []
    for plane in planes:
        process = builder.process(plane.name, plane.stats, plane.source)
        lines += [_PlaneLine(process, plane.source, head) for head in plane.lines]
    lines.sort(key=lambda line: line.head.events)
    return lines


def _with_allocations(trace: Trace) -> Trace:
    """The trace with what its allocators did, which is read when somebody asks."""
    if beginning(trace.names, "MemoryAllocation", "MemoryDeallocation", whole=True).any():
        from powertui.data.formats import xplane_allocations

        return xplane_allocations.with_allocations(trace)
    return trace


def _with_counters(trace: Trace) -> Trace:
    """The trace with what its devices counted."""
    if all(process.kind is not ProcessKind.DEVICE for process in trace.processes):
        return trace
    from powertui.data.formats import hardware_counters

    return hardware_counters.with_counters(trace)


def _with_neuron(trace: Trace, source: OpenedFile) -> Trace:
    """The trace with the timelines that torch-neuronx puts into planes as JSON."""
    if all("/plugins/neuron/" not in process.name for process in trace.processes):
        return trace
    from powertui.data.formats import neuron_planes

    return neuron_planes.with_timelines(trace, source.limit)


def _bounded(
    ranges: tuple[wire.types.Int64s, wire.types.Int64s], most: int, what: str, builder: TraceBuilder
) -> list[tuple[int, int]]:
    """The first `most` of these ranges; the rest is damage, and counted."""
    begins, ends = ranges
    builder.findings.add(
        f"there are more {what} than any profile has; the others were left out",
        count=len(begins) - most,
    )
    return list(zip(begins[:most].tolist(), ends[:most].tolist(), strict=True))


def _is_cut(hi: int, stored: Stored, builder: TraceBuilder) -> bool:
    """Whether a plane or line ends because its file does, which was told."""
    return hi >= stored.size and bool(builder.findings.missing)


def _report_damage(head: _LineHead, findings: FileWarnings, where: str) -> None:
    """That a line cannot be read to its end."""
    lost, size = head.end - head.bad, head.end - head.begin
    cause = f"{lost:,} of the {size:,} bytes of a line cannot be read, as there is damage"
    place = f"{where}, byte {head.bad:,}"
    if lost > _MAX_LOST_SHARE * size:
        findings.lose(cause, place)
    else:
        findings.add(cause, place)


def _text(stored: Stored, lo: int, hi: int) -> str:
    return wire.text(stored.read(lo, hi), 0, hi - lo)


def _outlines(
    stored: Stored, space: wire.Hop, names: EventNames, builder: TraceBuilder
) -> list[_Plane]:
    """All planes without their events; what the profiler reports goes to the builder."""
    if space.bad >= 0:
        builder.findings.lose(*_where_it_ends(stored, space.bad))
    planes: list[_Plane] = []
    lines_left = _MAX_LINES
    for lo, hi in _bounded(space.ranges(1), _MAX_PLANES, "planes", builder):
        planes.append(_outline(stored, lo, hi, names, builder, lines_left))
        lines_left -= len(planes[-1].lines)
    _report_texts(stored, space, builder)
    return planes


def _report_texts(stored: Stored, space: wire.Hop, builder: TraceBuilder) -> None:
    """The profiler's own errors, warnings and host names."""
    for number, prefix in ((2, _ERROR), (3, _WARNING)):
        for lo, hi in _bounded(space.ranges(number), _MAX_TEXTS, f"{prefix.strip(': ')}s", builder):
            builder.findings.add(prefix + _text(stored, lo, min(hi, lo + 2000)).strip())
    builder.hostnames = tuple(
        _text(stored, lo, min(hi, lo + 255))
        for lo, hi in _bounded(space.ranges(4), _MAX_TEXTS, "host names", builder)
    )


def _where_it_ends(stored: Stored, bad: int) -> tuple[str, str]:
    """(what is wrong with a file, where) that cannot be read from this byte on."""
    wanted = windows.announced_end(stored, bad)
    if wanted > stored.size:
        return f"the file ends at byte {stored.size:,}, its data at byte {wanted:,} or later", ""
    return "the file is damaged from here on", f"byte {bad:,} of {stored.size:,}"


def _outline(
    stored: Stored, lo: int, hi: int, names: EventNames, builder: TraceBuilder, most_lines: int
) -> _Plane:
    """Everything of a plane but its events, which cost most and are read later."""
    plane = windows.hop(stored, lo, hi, empty=False).hop
    name = _text(stored, *plane.payload(2))
    stat_names = TextTable.of_map(stored, *plane.ranges(5))
    source = PlaneStats(stored, stat_names)
    names.extend(plane.ranges(4), source)
    stat_ranges = _bounded(plane.ranges(6), _MAX_TEXTS, "stats of a plane", builder)
    begins, ends = np.array(stat_ranges, np.int64).reshape(-1, 2).T
    stats = decode(windows.each_stat(stored, (begins, ends)), stat_names)
    lines = []
    for at, end in _bounded(plane.ranges(3), most_lines, "lines", builder):
        line, stretches = windows.hop(stored, at, end, skip=wire.EVENTS_FIELD)
        label = _text(stored, *line.payload(11)) or _text(stored, *line.payload(2))
        key = line.integer(10) or line.integer(1)
        lines.append(
            _LineHead(key, label, line.integer(3), line.skipped, stretches, line.bad, at, end)
        )
    if plane.bad >= 0 and not _is_cut(hi, stored, builder):
        builder.findings.lose(
            f"{hi - plane.bad:,} bytes of a plane cannot be read, as there is damage",
            f"plane {name}, byte {plane.bad:,}",
        )
    return _Plane(name, lines, stats, source)


class _LineReader:
    """Decodes one line after the other, slice by slice, and reports its progress."""

    def __init__(
        self,
        stored: Stored,
        names: EventNames,
        builder: TraceBuilder,
        progress: Progress,
        size: int,
        total: int,
    ) -> None:
        self.stored = stored
        self.names = names
        self.builder = builder
        self.progress = progress
        self.size = size
        self.total = max(total, 1)
        self.done = 0
        self.aside = wire.Aside() if wire.COMPILED else None
        self.buffer = np.empty(min(windows.WINDOW, stored.size), np.uint8)

    def read(
        self, process: ProcessBuilder, head: _LineHead, source: PlaneStats, zero_ns: int
    ) -> None:
        """Give one line to its process.

        When the file changes meanwhile, the events read so far are kept, and `FileChanged` is
        raised.
        """
        findings = self.builder.findings
        where = f"{process.name} {head.name}".strip()
        if UNIX_NS[0] <= head.timestamp_ns < UNIX_NS[1]:
            shift = zero_ns
        else:
            shift = 0
        base = (head.timestamp_ns - shift) * PS_PER_NS
        if abs(base) > LIMIT_PS:
            findings.add(
                "the line's own time is impossible; its events were left out", where, head.events
            )
            self.done += head.events
            return
        if head.bad >= 0 and not _is_cut(head.end, self.stored, self.builder):
            _report_damage(head, findings, where)
        if not head.stretches:
            return
        before = self.done
        if not self._read_packed(process, head, source, base):
            self.done = before
            self._read_any(process, head, source, base, where)
        self.done = before + head.events

    def _report_progress(self, events: int) -> None:
        done = self.done + events
        self.progress(
            int(self.size * min(done / self.total, 1)), self.size, self.builder.events + events
        )

    def _read_packed(
        self, process: ProcessBuilder, head: _LineHead, source: PlaneStats, base: int
    ) -> bool:
        """Decode a line whose events are valid and in order, as nearly all are, lane by lane.

        False where it is not: then nothing was given to the process.
        """
        table = self.names.table(source)
        if self.aside is None or table is None or head.bad >= 0:
            return False
        self.aside.last_line = self.done + head.events >= self.total
        origin = head.stretches[0].lo
        end = head.stretches[-1].hi
        span = (self.builder.earliest, self.builder.latest)
        scan = wire.LaneScan(head.events, end - origin, base, span, table, self.aside)
        changed: FileChanged | None = None
        try:
            for lo, hi in head.stretches:
                if not scan.feed(self.stored.read(lo, hi, self.buffer), lo - origin):
                    return False
                self._report_progress(scan.rows)
        except FileChanged as error:
            changed = error
        made = scan.finish()
        if made is not None:
            events = Events(made.start, made.duration, made.name, made.place, origin)
            process.add_packed(
                head.key, head.name, events, made.lanes, (int(made.start[0]), made.end)
            )
        if changed is not None:
            raise changed
        return made is not None

    def _read_any(
        self, process: ProcessBuilder, head: _LineHead, source: PlaneStats, base: int, where: str
    ) -> None:
        """Decode any line: columns in the order of the file, which the builder validates."""
        start = wire.empty(head.events, np.int64)
        duration = wire.empty(head.events, np.int64)
        name = wire.empty(head.events, np.uint32)
        origin = head.stretches[0].lo
        places = wire.places(head.events, head.stretches[-1].hi - origin)
        # The places of the events of one slice, in their window.
        slice_places = np.empty(min(SLICE, head.events), np.uint64)
        at = 0
        counted: list[int] = []
        changed: FileChanged | None = None
        try:
            for lo, hi in head.stretches:
                data = self.stored.read(lo, hi, self.buffer)
                place = 0
                while place < len(data) and at < head.events:
                    rows = slice(at, at + SLICE)
                    room = min(SLICE, head.events - at)
                    columns = wire.EventColumns(
                        name[rows], start[rows], duration[rows], slice_places[:room]
                    )
                    scan = wire.scan_events(data, place, len(data), base, columns, 0)
                    self.names.translate(columns.id[: scan.rows], source, scan.wide, scan.wide_ids)
                    places[at : at + scan.rows] = slice_places[: scan.rows] + np.uint64(lo - origin)
                    if len(scan.counted):
                        counted += (scan.counted + at).tolist()
                    if scan.dropped:
                        self.builder.findings.add(
                            "malformed events were left out",
                            f"{where}, from byte {lo + scan.bad:,}",
                            scan.dropped,
                        )
                    if scan.rows == 0 and scan.next <= place:
                        break  # never trust a file to make progress
                    at = at + scan.rows
                    place = scan.next
                    self._report_progress(at)
        except FileChanged as error:
            changed = error
        line = LineEvents(start[:at], duration[:at], name[:at], places[:at], origin)
        process.add(head.key, head.name, line, _aggregates(line, counted))
        if changed is not None:
            raise changed


def _aggregates(line: LineEvents, counted: list[int]) -> Aggregates | None:
    """Take events that only count how often something ran out of the line."""
    if not counted:
        return None
    rows = np.array(counted, np.int64)
    out = Aggregates(
        line.name[rows], line.start[rows], line.duration[rows], line.events.positions(rows)
    )
    keep = np.ones(len(line), np.bool_)
    keep[rows] = False
    line.take(np.flatnonzero(keep))
    return out
