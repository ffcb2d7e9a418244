"""The planes and lines of an XPlane file without their events, and what of it is damaged."""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.formats.builder import TraceBuilder
from powertui.data.formats.file_warnings import FileWarnings
from powertui.data.formats.xplane_names import EventNames
from powertui.data.formats.xplane_stats import PlaneStats, TextTable, decode
from powertui.data.model import Stat
from powertui.data.wire import windows
from powertui.data.wire.stored import Stored
from powertui.named_tuples import NamedTuple

# More than any profile has: a file of empty planes, lines or texts must not take minutes.
_MAX_PLANES = 10_000
_MAX_LINES = 100_000
_MAX_TEXTS = 1000  # errors, warnings, host names, or stats of a plane
# Of the bytes of a line. With less of it, what is there tells what took the time. Chosen, not
# measured.
_MAX_LOST_SHARE = 0.01

_ERROR, _WARNING = "profiler error: ", "profiler warning: "


class LineHead(NamedTuple):
    """A line but its events."""

    key: int
    name: str
    timestamp_ns: int
    events: int
    stretches: list[windows.MessagePart]  # that hold them
    bad: int
    begin: int  # its bytes
    end: int


class Plane(NamedTuple):
    """A plane but its events."""

    name: str
    lines: list[LineHead]
    stats: tuple[Stat, ...]
    source: PlaneStats


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


def is_cut(hi: int, stored: Stored, builder: TraceBuilder) -> bool:
    """Whether a plane or line ends because its file does, which was told."""
    return hi >= stored.size and bool(builder.findings.missing)


def report_damage(head: LineHead, findings: FileWarnings, where: str) -> None:
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


def outlines(
    stored: Stored, space: wire.Hop, names: EventNames, builder: TraceBuilder
) -> list[Plane]:
    """All planes without their events; what the profiler reports goes to the builder."""
    if space.bad >= 0:
        builder.findings.lose(*_where_it_ends(stored, space.bad))
    planes: list[Plane] = []
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
) -> Plane:
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
            LineHead(key, label, line.integer(3), line.skipped, stretches, line.bad, at, end)
        )
    if plane.bad >= 0 and not is_cut(hi, stored, builder):
        builder.findings.lose(
            f"{hi - plane.bad:,} bytes of a plane cannot be read, as there is damage",
            f"plane {name}, byte {plane.bad:,}",
        )
    return Plane(name, lines, stats, source)
