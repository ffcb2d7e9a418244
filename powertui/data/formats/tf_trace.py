"""`local.trace`, `<host>.trace`: the protobuf trace of old TensorFlow.

TensorFlow up to 2.1, `tf.summary.trace_export`, and the TPU tools of TF 1 write it.

    Trace       1 devices {id: Device}   4 trace_events
    Device      1 name   3 resources {id: Resource(1 name)}
    TraceEvent  1 device_id  2 resource_id  3 name  9 timestamp_ps  10 duration_ps
                11 args {text: text}

Devices are processes, resources their lines. Times are picoseconds since tracing started. No
version of it says when that was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from powertui.data import wire
from powertui.data.formats import stat_columns
from powertui.data.formats.builder import LineEvents, TraceBuilder
from powertui.data.formats.file_warnings import MAX_PROCESSES, FileWarnings, LineQuota
from powertui.data.formats.json_stats import PairNames, clean
from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile, describe
from powertui.data.model import PS_PER_S, Int64s, Stat, StatColumn, Trace, UInt64s
from powertui.data.sorted_columns import rows_of_each
from powertui.data.wire import LEN, VARINT, schemas, windows
from powertui.data.wire.stored import Stored
from powertui.data.wire.types import Hop
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "tf_trace"

_DEVICES, _EVENTS = 1, 4
_EVENT_BYTES = 120  # memory of an event while it is read
SLICE = 1 << 18  # events decoded together
# An hour. Times whose first is later count from something else than the session's start. Chosen,
# not measured.
_MAX_SESSION_START_PS = 3600 * PS_PER_S
# Device, resource, start and duration of an event.
_NUMBERS = tuple(wire.tag(number, VARINT) for number in (1, 2, 9, 10))
_TITLE = wire.tag(3, LEN)
_ARGS = wire.tag(11, LEN)
_JOB_PREFIX = re.compile(r"^/job:[^/]+(?:/replica:\d+)?(?:/task:\d+)?(?=/(?:device|host):)")
# A position is the place of an event's first byte, with its length above bit 40.
_LENGTH_SHIFT = 40
_PLACE_LIMIT = 1 << _LENGTH_SHIFT
_MAX_EVENT_BYTES = 1 << 23  # the bits above the place, but for the sign
_EVENT_FIELDS = {(1, VARINT), (2, VARINT), (3, LEN), (9, VARINT), (10, VARINT), (11, LEN)}
_DEVICE_FIELDS = {(1, VARINT), (2, LEN)}
_SNIFFED_MESSAGES = 20  # at the beginning of the file


def sniff(head: bytes, path: str) -> int:
    """How sure it is; there is no magic.

    Devices have a number and a name with resources; events have the fields of events and no others.
    """
    if not head or head[0] not in (wire.tag(_DEVICES, LEN), wire.tag(_EVENTS, LEN)):
        return 0
    data = np.frombuffer(head, np.uint8)
    outline = wire.hop(data, 0, len(data))
    numbers = outline.number.tolist()
    if not set(numbers) <= {_DEVICES, _EVENTS}:
        return 0
    named_count = 0  # events and devices with a name
    messages = zip(numbers, outline.lo.tolist(), outline.hi.tolist(), strict=True)
    for number, lo, hi in islice(messages, _SNIFFED_MESSAGES):
        message = wire.hop(data, lo, min(hi, len(data)))
        if number == _EVENTS:
            is_named = _is_named_event(message)
        else:
            is_named = _is_named_device(head, message)
        if is_named is None:
            return 0
        named_count += is_named
    if named_count:
        return min(95, 60 + 10 * named_count)
    if path.endswith(".trace") and len(numbers):
        return 30
    return 0


def _field_types(message: wire.Hop) -> set[tuple[int, int]]:
    """The numbers and types of the fields that a message holds."""
    fields = zip(message.number.tolist(), message.wire.tolist(), strict=True)
    return set(fields)


def _is_named_event(message: wire.Hop) -> bool | None:
    """Whether an event has a name; None for what is no event."""
    fields = _field_types(message)
    if not fields or not fields <= _EVENT_FIELDS:
        return None
    return (3, LEN) in fields


def _is_named_device(head: bytes, message: wire.Hop) -> bool | None:
    """Whether a device has a name; None for what is no device."""
    if not _field_types(message) <= _DEVICE_FIELDS:
        return None
    values = message.lo[message.number == 2]
    if not len(values):
        return False
    # A device begins with one of its fields; anything else is the name of an XPlane.
    begin = int(values[0])
    if head.startswith((b"\n", b"\x10", b"\x1a"), begin):
        return True
    return None


class _Args:
    """The args of all events (model.StatSource)."""

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def _args_at(self, position: int) -> list[tuple[str, str]]:
        lo = position % _PLACE_LIMIT
        hi = lo + (position >> _LENGTH_SHIFT)
        if hi == lo or hi > self._stored.size:
            return []
        data = self._stored.read(lo, hi).tobytes()
        try:
            event = schemas.parsed("TraceViewEvent", data)
        except schemas.Undecodable:
            return []
        return [(clean(arg.key), arg.value) for arg in event.args]

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All args of the event at this position, in file order."""
        stats = []
        for name, value in self._args_at(position):
            stats.append(Stat(name, clean(value), "str"))
        return tuple(stats)

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """Each named arg for each of these events; the first where it is repeated."""
        columns = stat_columns.TextColumns(names, len(positions))
        for row in np.flatnonzero(positions).tolist():
            for name, value in self._args_at(int(positions[row])):
                if columns.lacks(row, name):
                    columns.put(row, name, value, clean(value))
        return columns.columns()


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """The whole trace."""
    builder = TraceBuilder(source.path, NAME, size=source.size)
    stored = source.stored()
    limit = source.limit
    path = source.path  # not the opened file, which holds the bytes
    stored.admit = lambda need: limit.check(path, need)
    outline = windows.hop(stored, 0, stored.size).hop
    lo, hi = _event_ranges(outline, builder)
    devices = _devices(stored, *outline.ranges(_DEVICES), builder.findings)
    event_count = len(lo)
    if not event_count and not devices:
        problem, hint = describe(source.head, path)
        raise UnreadableFile(path, problem, hint=hint)
    limit.check(path, _EVENT_BYTES * event_count)
    names = PairNames()
    args = _Args(stored)
    parts = []
    for first in range(0, event_count, SLICE):
        end = min(first + SLICE, event_count)
        part = _events(stored, lo[first:end], hi[first:end], names)
        parts.append(part)
        progress(int(hi[end - 1]), source.size, end)
    _lines(builder, devices, args, _joined(parts))
    yield builder.build(names, complete=True, warnings=source.warnings)


def _event_ranges(outline: Hop, builder: TraceBuilder) -> tuple[Int64s, Int64s]:
    """Where each event begins and ends, without one that the file cuts."""
    lo, hi = outline.ranges(_EVENTS)
    bad = outline.bad
    if bad < 0:
        return lo, hi
    builder.findings.lose(
        "the trace ends in the middle or is damaged",
        f"byte {bad:,}",
    )
    is_last_cut = len(hi) and bad < int(hi[-1])
    if is_last_cut:
        return lo[:-1], hi[:-1]
    return lo, hi


class _EventColumns(NamedTuple):
    """Events in the order of the file, a row for each."""

    device: Int64s
    resource: Int64s  # the line of the device
    start: Int64s
    duration: Int64s
    name: Int64s
    position: UInt64s  # where its args are in the file; 0 where there are none


def _events(stored: Stored, lo: Int64s, hi: Int64s, names: PairNames) -> _EventColumns:
    """The events in these ranges of the file."""
    fields = windows.pick(stored, lo, hi, (*_NUMBERS, _TITLE, _ARGS))
    title = len(_NUMBERS)
    has_number = fields.present[:title]
    device, resource, start, duration = np.where(has_number, fields.value[:title], 0)
    has_title, has_args = fields.present[title:]
    # An event without a title gets an empty range of the file, and so an empty name.
    title_begin = np.where(has_title, fields.value[title], lo[0])
    title_end = np.where(has_title, fields.end[title], lo[0])
    size = hi - lo
    is_placed = has_args & (size < _MAX_EVENT_BYTES)
    place_and_size = lo | size << _LENGTH_SHIFT
    position = np.where(is_placed, place_and_size, 0)
    return _EventColumns(
        device=device,
        resource=resource,
        start=start,
        duration=duration,
        name=_name_codes(stored, title_begin, title_end, names),
        position=position.astype(np.uint64),
    )


def _joined(parts: Sequence[_EventColumns]) -> _EventColumns:
    if not parts:
        empty = np.empty(0, np.int64)
        return _EventColumns(
            device=empty,
            resource=empty,
            start=empty,
            duration=empty,
            name=empty,
            position=np.empty(0, np.uint64),
        )
    return _EventColumns(*map(np.concatenate, zip(*parts, strict=True)))


def _name_codes(stored: Stored, begins: Int64s, ends: Int64s, names: PairNames) -> Int64s:
    """The code of each title in the file; one without bytes is a name, too."""
    base = int(begins.min())
    last = int(ends.max())
    data = stored.read(base, last).tobytes()
    starts_in_data = (begins - base).tolist()
    ends_in_data = (ends - base).tolist()
    titles = []
    for start, end in zip(starts_in_data, ends_in_data, strict=True):
        titles.append(data[start:end])
    codes: dict[bytes, int] = {}
    for title in dict.fromkeys(titles):
        text = title.decode("utf-8", "replace")
        codes[title] = names.index(text, text)
    return np.array([codes[title] for title in titles], np.int64)


def _lines(
    builder: TraceBuilder,
    devices: dict[int, tuple[str, dict[int, str]]],
    args: _Args,
    events: _EventColumns,
) -> None:
    """Each device's process with its lines, as many as powertui draws."""
    lines: dict[int, list[Int64s]] = {}  # the rows of each line, by device
    quota = LineQuota()
    for rows in _groups(events.device, events.resource):
        number = int(events.device[rows[0]])
        if quota.admits(number):
            lines.setdefault(number, []).append(rows)
        else:
            quota.left_out += len(rows)
    quota.say(builder.findings)
    start = events.start
    if len(start) and start.min() > _MAX_SESSION_START_PS:
        start = start - start.min()
    idle = [number for number in devices if number not in lines]
    room = max(0, MAX_PROCESSES - len(lines))
    builder.findings.add(
        f"there are more than {MAX_PROCESSES:,} devices; others were left out",
        count=len(idle) - room,
    )
    for number in (*lines, *idle[:room]):
        label, resources = devices.get(number, ("", {}))
        name = _JOB_PREFIX.sub("", label) or f"device {number}"
        process = builder.process(name, (), args)
        for rows in lines.get(number, ()):
            line = int(events.resource[rows[0]])
            line_events = LineEvents(
                start=start[rows],
                duration=events.duration[rows],
                name=events.name[rows].astype(np.uint32),
                place=events.position[rows],
            )
            process.add(line, resources.get(line, ""), line_events)


def _groups(device: Int64s, resource: Int64s) -> list[Int64s]:
    """The rows of each line, the lines as they begin in the file."""
    groups = list(rows_of_each(device, resource))
    groups.sort(key=lambda rows: int(rows[0]))
    return groups


def _devices(
    stored: Stored,
    lo: Int64s,
    hi: Int64s,
    findings: FileWarnings,
) -> dict[int, tuple[str, dict[int, str]]]:
    """(name, names of resources) of each device."""
    devices: dict[int, tuple[str, dict[int, str]]] = {}
    for first, last in zip(lo.tolist(), hi.tolist(), strict=True):
        if last > stored.size:
            continue
        data = stored.read(first, last).tobytes()
        try:
            entry = schemas.parsed("TraceViewEntry", data)
        except schemas.Undecodable:
            findings.add("devices that cannot be decoded were left out")
            continue
        device = entry.value
        resources = {resource.key: clean(resource.value.name) for resource in device.resources}
        devices[entry.key] = (clean(device.name), resources)
    return devices
