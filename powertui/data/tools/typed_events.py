"""Which type each event of a trace has, line by line: by its name, and by its stats where these say
more.
"""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.asked import Compat
from powertui.data.model import (
    Bools,
    Int32s,
    Int64s,
    Process,
    ProcessKind,
    Trace,
    Track,
    UInt8s,
)
from powertui.data.run.device_intervals import work_tracks
from powertui.data.run.marks import is_explicit
from powertui.data.run.stat_carriers import (
    carried,
    have_number,
    rows_named,
    stat_column,
    whole_numbers,
)
from powertui.data.sorted_columns import begins_run, ends_run
from powertui.data.tools import python_frames
from powertui.data.tools.event_types import (
    MARK,
    NOTHING,
    EventType,
    device_kind,
    host_kind,
    speaking_names,
    tpu_kind,
)
from powertui.named_tuples import NamedTuple

# Annotations that PyTorch sets itself: around code that works, and records no event of its own.
_WORKING_ANNOTATIONS = ("Optimizer.", "enumerate(DataLoader)")
_STATS = ("correlation_id", "step_name", "step_num", "shape", "_ipl_stage_id")
_NONE = np.empty(0, np.int64)
# What does nothing and what copies keeps its type, whatever it launched.
_NO_LAUNCHES = (NOTHING, EventType.HOST_TO_DEVICE, EventType.HOST_TO_HOST)
# From every fourth event of a line on, the types of all are worked out: that is sooner done than to
# look each up (4 against 9 ms of 100,000 events).
_MIN_LOOKED_UP = 4


class Typed(NamedTuple):
    """One line: the type of its events by their names, and of those that say more themselves."""

    number: int  # of the line, over Trace.tracks()
    process: Process
    track: Track
    by_name: UInt8s  # for each name of the trace an EventType, MARK or NOTHING
    rows: Int64s  # events whose type their stats tell, ascending
    kinds: UInt8s  # of those

    @property
    def types(self) -> UInt8s:
        """The types of all events."""
        if len(self.rows) == len(self.track.events):  # all of them, as rows ascend
            return self.kinds
        kind = self.by_name.take(self.track.events.name)
        kind[self.rows] = self.kinds
        return kind

    def types_for(self, rows: Int64s | Int32s) -> UInt8s:
        """The types of these events."""
        if _MIN_LOOKED_UP * len(rows) > len(self.track.events):
            if self._are_all(rows):
                return self.types
            return self.types.take(rows)
        name = self.track.events.name.take(rows)
        kind = self.by_name.take(name)
        if not len(self.rows):
            return kind
        last = len(self.rows) - 1
        place = np.minimum(self.rows.searchsorted(rows), last)
        has_own_type = self.rows[place] == rows
        return np.where(has_own_type, self.kinds[place], kind)

    def times(self, rows: Int64s | Int32s) -> tuple[Int64s, Int64s]:
        """(when these events start, when they end)."""
        events = self.track.events
        if self._are_all(rows):
            return events.start, events.end
        # `take` needs half the time of indexing with rows of 32 bit.
        start = events.start.take(rows)
        return start, start + events.duration.take(rows)

    def _are_all(self, rows: Int64s | Int32s) -> bool:
        """Whether these are the rows of all events, in their order."""
        if len(rows) < len(self.track.events):
            return False
        return bool((rows[1:] > rows[:-1]).all())

    def with_marks(self, marks: Int32s) -> Typed:
        """The same line; these rows, ascending, mark steps, whatever their names are."""
        rows = np.concatenate([self.rows, marks.astype(np.int64)])
        mark_kinds = np.full(len(marks), MARK, np.uint8)
        kinds = np.concatenate([self.kinds, mark_kinds])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        kinds = kinds[order]
        # A row that had a type of its own stands twice now: its mark comes last and counts.
        counts = ends_run(rows)
        return self._replace(rows=rows[counts], kinds=kinds[counts])

    def telling(self) -> Int64s:
        """The events that are more than the host's computing, or that mark a step, ascending."""
        names = (self.by_name != NOTHING) & (self.by_name != EventType.HOST_COMPUTE)
        rows_by_name = rows_named(self.track.events.name, names)
        if not len(self.rows):
            return rows_by_name
        rows_by_stat = self.rows[self.kinds != NOTHING]
        both = np.concatenate([rows_by_name, rows_by_stat])
        rows = np.sort(both, kind="stable")
        return rows[begins_run(rows)]


def typed_events(trace: Trace, compat: Compat) -> tuple[list[Typed], list[Typed]]:
    """(work of devices, work of hosts), line by line.

    Lines that collectors drew from others are left out.
    """
    numbers = trace.track_numbers()
    with_device = has_device(trace, compat)
    devices: list[Typed] = []
    hosts: list[Typed] = []
    for process in trace.processes:
        if process.kind is ProcessKind.DEVICE:
            tracks = [track for track in work_tracks(process) if len(track.events)]
            if tracks:
                devices += _device(trace, process, tracks, numbers, compat)
        elif process.kind is ProcessKind.HOST:
            tracks = [track for track in process.tracks if _is_host_work(trace, track)]
            if tracks:
                hosts += _host(
                    trace=trace,
                    process=process,
                    tracks=tracks,
                    numbers=numbers,
                    has_device=with_device,
                    compat=compat,
                )
    return devices, hosts


def _is_host_work(trace: Trace, track: Track) -> bool:
    """Whether a line holds events of a thread: frames of Python say nothing of TensorBoard's
    types.
    """
    if not len(track.events) or track.derived:
        return False
    return not python_frames.is_frame_line(trace, track)


def has_device(trace: Trace, compat: Compat) -> bool:
    """Whether a trace tells of devices.

    One that recorded nothing counts for TensorFlow, and not for us.
    """
    for process in trace.processes:
        if process.kind is not ProcessKind.DEVICE:
            continue
        if compat != "corrected" or process.event_count:
            return True
    return False


def _device(
    trace: Trace,
    process: Process,
    tracks: list[Track],
    numbers: dict[int, int],
    compat: Compat,
) -> list[Typed]:
    is_tpu = "TPU" in process.name
    carry = carried(trace, process, tracks, _STATS)
    type_of_name = np.full(len(trace.names), NOTHING, np.uint8)
    names_by_track = [wire.distinct(track.events.name) for track in tracks]
    used = wire.distinct(np.concatenate(names_by_track))
    for index in used.tolist():
        name = trace.names.full(index)
        if is_tpu:
            type_of_name[index] = tpu_kind(name)
        else:
            type_of_name[index] = device_kind(name, compat)
    lines: list[Typed] = []
    for track in tracks:
        name_of_event = track.events.name
        rows = _NONE
        if carry["shape"].any():
            rows = rows_named(name_of_event, carry["shape"])
        kinds = type_of_name[name_of_event[rows]]
        if len(rows):
            kinds = _by_shape(process, track, rows, kinds)
        to_converter = compat != "corrected" and not is_tpu
        if to_converter and not carry["correlation_id"][name_of_event].all():
            # To the converters an event without a correlation id counts nowhere.
            all_kinds = type_of_name[name_of_event]
            all_kinds[rows] = kinds
            rows = np.arange(len(name_of_event))
            columns = process.source.columns(track.events.position, ("correlation_id",))
            has_id = whole_numbers(columns["correlation_id"]) >= 0
            kinds = np.where(has_id, all_kinds, NOTHING).astype(np.uint8)
        lines.append(
            Typed(
                number=numbers[id(track)],
                process=process,
                track=track,
                by_name=type_of_name,
                rows=rows,
                kinds=kinds,
            )
        )
    return lines


def _by_shape(process: Process, track: Track, rows: Int64s, kinds: UInt8s) -> UInt8s:
    """The types of these events, where the shapes of their tensors say whether they compute in
    16 bit.
    """
    column = stat_column(process, track, rows, "shape")
    shapes = column.texts or [None] * len(rows)
    half_shapes = [shape is not None and "half" in shape for shape in shapes]
    is_half = np.array(half_shapes, np.bool_)
    is_computing = np.isin(kinds, (EventType.COMPUTE_16, EventType.COMPUTE_32))
    computes = is_computing & column.present
    by_shape = np.where(is_half, EventType.COMPUTE_16, EventType.COMPUTE_32)
    return np.where(computes, by_shape, kinds).astype(np.uint8)


def _host(
    trace: Trace,
    process: Process,
    tracks: list[Track],
    numbers: dict[int, int],
    *,
    has_device: bool,
    compat: Compat,
) -> list[Typed]:
    carry = carried(trace, process, tracks, _STATS)
    used = np.zeros(len(trace.names), np.bool_)
    for track in tracks:
        used[track.events.name] = True
    table = np.full(len(trace.names), EventType.HOST_COMPUTE, np.uint8)
    marks: Bools = np.zeros(len(trace.names), np.bool_)
    for index in np.flatnonzero(speaking_names(trace.names, used)).tolist():
        name = trace.names.full(index)
        marks[index] = is_explicit(name) or name.startswith("ProfilerStep#")
        if marks[index]:
            table[index] = MARK
        else:
            table[index] = host_kind(name, has_device=has_device, compat=compat)
    is_open = (table != MARK) & (table != NOTHING)
    table[carry["_ipl_stage_id"] & is_open] = EventType.WAIT_INPUT
    if compat == "corrected":
        table[python_frames.frame_names(trace) & used] = NOTHING
        computes = table == EventType.HOST_COMPUTE
        table[_annotations(trace, used) & computes] = NOTHING
        table[carry["step_num"]] = MARK  # whatever carries a step's number marks it
    may_mark = carry["step_name"] & ~marks
    is_silent = np.isin(table, (MARK, NOTHING))
    may_launch = carry["correlation_id"] & has_device & ~is_silent
    asks = may_mark | may_launch
    out = []
    for track in tracks:
        names = track.events.name
        if asks.any():
            rows = rows_named(names, asks)
        else:
            rows = np.empty(0, np.int64)
        kinds = table[names[rows]]
        if len(rows):
            if has_device and carry["correlation_id"].any():
                launches = have_number(process, track, rows, "correlation_id")
                plain = ~np.isin(kinds, _NO_LAUNCHES)
                kinds[launches & plain] = EventType.HOST_PREPARE
            if carry["step_name"].any():
                column = stat_column(process, track, rows, "step_name")
                kinds[column.present] = MARK
        out.append(
            Typed(
                number=numbers[id(track)],
                process=process,
                track=track,
                by_name=table,
                rows=rows,
                kinds=kinds,
            )
        )
    return out


def _annotations(trace: Trace, used: Bools) -> Bools:
    """Which names a PyTorch program gave to stretches of its own (`record_function`): whether
    anything ran there, the events inside say.
    """
    out = np.zeros(len(trace.names), np.bool_)
    if trace.format != "kineto":
        return out
    for index in np.flatnonzero(used).tolist():
        kinds = {stat.value for stat in trace.names.stats(index) if stat.name == "cat"}
        works = trace.names.full(index).startswith(_WORKING_ANNOTATIONS)
        out[index] = "user_annotation" in kinds and not works
    return out
