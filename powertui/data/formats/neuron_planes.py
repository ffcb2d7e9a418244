"""What torch-neuronx writes into an XPlane: its JSON results as planes, one for each file.

    /host:Neuron-runtime:profile//<graph>_1/model10001/node5/plugins/neuron/<s>/neuron_op_timeline.json
        stats    displayTimeUnit, neuronStartTimestampNs, total_time, op_0, op_1 …
        events   one JSON record each, as text in a stat

The records of a timeline are read as the Chrome trace that they are; a table's come back as its
document. Held against files made after the vendor's documentation: no recorded one lies here.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np

from powertui.data.formats.builder import PROCESS_ORDER
from powertui.data.formats.source import OpenedFile
from powertui.data.formats.xplane_head import recorded_start
from powertui.data.limits import MemoryLimit
from powertui.data.model import (
    PS_PER_NS,
    Clock,
    Int64s,
    Names,
    Process,
    ProcessKind,
    Stat,
    Trace,
    Warn,
)
from powertui.data.model.trace import Track
from powertui.data.texts import Texts
from powertui.data.wire.stored import Stored
from powertui.errors import UnreadableFile

_PLANE = re.compile(r"/host:Neuron-runtime:.*/(neuron_\w+\.json)")
_TIMELINES = ("neuron_op_timeline.json", "neuron_op_timeline_split.json", "neuron_trace.json")
_ROW = re.compile(r"op_(\d{1,9})")
_MEMBERS = ("displayTimeUnit", "neuronStartTimestampNs")
_RECORD_BYTES = 400  # memory of a record with its event, about
_MAX_SHIFT_NS = 86_400_000_000_000  # a day: clocks further apart are not of one session


def result_of(process: Process) -> str:
    """The name of the JSON result that a plane holds; "" for all other planes."""
    match = _PLANE.fullmatch(process.name)
    if match is None:
        return ""
    return match[1]


def table_document(process: Process) -> dict[str, Any]:
    """A table of ops as its file would hold it: its rows from the plane's stats, else from its
    events.
    """
    rows: list[tuple[int, dict[str, Any]]] = []
    totals = {}
    for stat in process.stats:
        match = _ROW.fullmatch(stat.name)
        record = _record(stat) if match else None
        if match and record is not None:
            rows.append((int(match[1]), record))
        if stat.name == "total_time":
            totals[stat.name] = stat.value
    rows.sort(key=lambda row: row[0])
    records = [record for _, record in rows]
    return {"ops": records or _records(process), **totals}


def _record(stat: Stat) -> dict[str, Any] | None:
    """The JSON record in a stat; None where it is none."""
    text = stat.value
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return None
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(record, dict):
        return record
    return None


def _records(process: Process) -> list[dict[str, Any]]:
    """The records in the events of a plane, in the order of the file."""
    positions = [np.empty(0, np.uint64)]
    for track in process.tracks:
        positions.append(track.events.position)
    in_file_order = np.sort(np.concatenate(positions))
    records = []
    for position in in_file_order.tolist():
        stats = process.source.event_stats(int(position))
        for record in map(_record, stats):
            if record is not None:
                records.append(record)
                break
    return records


def with_timelines(trace: Trace, limit: MemoryLimit) -> Trace:
    """The trace with Neuron's timelines as devices and lines, where any plane holds one."""
    for process in trace.processes:
        if result_of(process) in _TIMELINES and process.event_count:
            trace = _with_timeline(trace, process, limit)
    return trace


def _with_timeline(trace: Trace, plane: Process, limit: MemoryLimit) -> Trace:
    limit.check(trace.path, plane.event_count * _RECORD_BYTES, "its Neuron timeline takes")
    records = _records(plane)
    unusable = plane.event_count - len(records)
    members = {stat.name: stat.value for stat in plane.stats if stat.name in _MEMBERS}
    text = json.dumps({**members, "traceEvents": records}).encode()
    try:
        timeline = _read(OpenedFile(trace.path, Stored(trace.path, memory=text), limit))
    except UnreadableFile:
        return _warned(trace, f"the plane {plane.name} holds no event of a timeline")
    trace = _merged(trace, plane, timeline)
    if unusable:
        return _warned(
            trace, "records of Neuron's timeline that are not JSON were left out", unusable
        )
    return trace


def _read(source: OpenedFile) -> Trace:
    from powertui.data.formats import neuron_lines, trace_json_events

    loaded = trace_json_events.load(source, lambda *_: None, "trace_json")
    *_, timeline = neuron_lines.marked(loaded)
    if not timeline.event_count:
        raise UnreadableFile(source.path, "holds no event")
    return timeline


def _warned(trace: Trace, cause: str, count: int = 1) -> Trace:
    warning = Warn(trace.path, "", cause, count)
    return replace(trace, warnings=(*trace.warnings, warning))


def _merged(trace: Trace, plane: Process, timeline: Trace) -> Trace:
    """The trace with the lines of a timeline in place of the plane that held its records."""
    emptied = replace(plane, kind=ProcessKind.META, tracks=())
    others = tuple(emptied if process is plane else process for process in trace.processes)
    is_alone = not any(process.event_count for process in others)
    clock, shift, problem = _placed(trace, timeline, is_alone=is_alone)
    first_name = len(trace.names)
    processes = [_moved(process, shift, first_name) for process in timeline.processes]
    processes += others
    # Devices come first, as in every trace.
    processes.sort(key=lambda process: PROCESS_ORDER[process.kind])
    first, last = timeline.span
    first += shift
    last += shift
    if not is_alone:
        trace_first, trace_last = trace.span
        first = min(first, trace_first)
        last = max(last, trace_last)
    merged = replace(
        trace,
        processes=tuple(processes),
        names=_JoinedNames(trace.names, timeline.names),
        clock=clock,
        span=(first, last),
        event_count=trace.event_count - plane.event_count + timeline.event_count,
        warnings=(*trace.warnings, *timeline.warnings),
        arrows=None,  # they count the lines as they were
    )
    if problem:
        return _warned(merged, problem)
    return merged


def _placed(trace: Trace, timeline: Trace, *, is_alone: bool) -> tuple[Clock, int, str]:
    """(the clock of both, by how many ps the timeline moves, what is to be said of that)."""
    if is_alone:
        clock = timeline.clock if timeline.clock.known else trace.clock
        return clock, 0, ""
    session = _session_start_ns(trace)
    if session is not None and timeline.clock.known:
        apart_ns = timeline.clock.mid_ns - session
        if abs(apart_ns) < _MAX_SHIFT_NS:
            return trace.clock, apart_ns * PS_PER_NS, ""
    problem = "no clock relates Neuron's timeline to the host: it starts where the profile starts"
    shift = trace.span[0] - timeline.span[0]
    return trace.clock, shift, problem


def _session_start_ns(trace: Trace) -> int | None:
    """The Unix time of the XPlane's own zero, where it says so."""
    clock = recorded_start(trace)
    if clock is None:
        return None
    return clock.mid_ns


def _moved(process: Process, shift: int, first_name: int) -> Process:
    tracks = tuple(_moved_track(track, shift, first_name) for track in process.tracks)
    return replace(process, tracks=tracks)


def _moved_track(track: Track, shift: int, first_name: int) -> Track:
    events = track.events
    moved = replace(
        events,
        start=events.start + shift,
        name=(events.name + first_name).astype(np.uint32),
    )
    return replace(track, events=moved)


class _JoinedNames:
    """The names of two traces, one after the other (model.Names)."""

    def __init__(self, first: Names, second: Names) -> None:
        self._first = first
        self._second = second
        self._count = len(first)

    def __len__(self) -> int:
        return self._count + len(self._second)

    def _at(self, index: int) -> tuple[Names, int]:
        if index < self._count:
            return self._first, index
        return self._second, index - self._count

    def full(self, index: int) -> str:
        names, own = self._at(index)
        return names.full(own)

    def display(self, index: int) -> str:
        names, own = self._at(index)
        return names.display(own)

    def stats(self, index: int) -> tuple[Stat, ...]:
        names, own = self._at(index)
        return names.stats(own)

    def texts(self, indices: Int64s, *, display: bool = False) -> Texts:
        """Of both, in the order asked."""
        is_first = indices < self._count
        of_first = indices[is_first]
        of_second = indices[~is_first] - self._count
        places = np.concatenate([np.flatnonzero(is_first), np.flatnonzero(~is_first)])
        pieces = [
            self._first.texts(of_first, display=display),
            self._second.texts(of_second, display=display),
        ]
        in_order = np.argsort(places, kind="stable")
        return Texts.joined(pieces).take(in_order)
