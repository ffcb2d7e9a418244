"""From the call on the host to the work on the device: how long each kernel waited, and how much
was queued.

A kernel and the call that launched it share a correlation id; one call of a CUDA graph launches
many. What waits in a stream is what has been launched there and has not begun.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import (
    Bools,
    Int32s,
    Int64s,
    Process,
    ProcessKind,
    Trace,
    Track,
    UInt64s,
)
from powertui.data.opened import Profile
from powertui.data.run.stat_carriers import carried, whole_numbers
from powertui.data.sorted_columns import among, ends_run
from powertui.data.tools import kernels
from powertui.data.tools.kernels import Kernels
from powertui.value_types import dataclass

_STAT = "correlation_id"
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Calls:
    """The calls of the host that carry an id, by id; of several with one the last counts."""

    id: Int64s
    start: Int64s
    end: Int64s
    line: Int32s  # over Trace.tracks()
    row: Int64s  # of that line's events

    def __len__(self) -> int:
        return len(self.id)

    def take(self, rows: Int64s) -> Calls:
        """Some of the calls, in this order."""
        return Calls(
            id=self.id[rows],
            start=self.start[rows],
            end=self.end[rows],
            line=self.line[rows],
            row=self.row[rows],
        )


@dataclass(frozen=True, eq=False)
class Launches:
    """For each line of `Kernels` the call (index into `calls`) of each of its events; -1 where none
    is known.
    """

    calls: Calls
    of_line: tuple[Int64s, ...]

    @property
    def linked(self) -> int:
        """How many events of devices have a call."""
        linked = 0
        for calls in self.of_line:
            has_call = calls >= 0
            linked += int(has_call.sum())
        return linked


@dataclass(frozen=True, eq=False)
class Queue:
    """How many events of a stream were launched and had not begun: the most, and over time."""

    longest: int
    mean: float


def kernel_launches(profile: Profile) -> Launches:
    """The launches of a profile, found at the first question."""
    return profile.cached("launches", lambda: _find(profile.trace, kernels.device_kernels(profile)))


def _find(trace: Trace, work: Kernels) -> Launches:
    """The same of a trace, found now."""
    calls = _calls(trace)
    call_of_line: list[Int64s] = []
    for line in work.lines:
        events = line.track.events
        if not len(calls):
            call_of_line.append(np.full(len(events), -1, np.int64))
            continue
        ids = _ids(line.process, events.position)
        # Work that was launched before the profile began has an id that no call bears.
        has_call = among(calls.id, ids) & (ids >= 0)
        place = calls.id.searchsorted(ids)
        call_of_line.append(np.where(has_call, place, -1))
    return Launches(calls, tuple(call_of_line))


def _ids(process: Process, positions: UInt64s) -> Int64s:
    """The correlation ids of events; negative where they carry none."""
    return whole_numbers(process.source.columns(positions, (_STAT,))[_STAT])


def _calls(trace: Trace) -> Calls:
    parts = [
        Calls(
            id=_NONE,
            start=_NONE,
            end=_NONE,
            line=np.empty(0, np.int32),
            row=_NONE,
        )
    ]
    numbers = trace.track_numbers()
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        tracks = process.recorded_tracks
        if not tracks:
            continue
        may_have_id = carried(trace, process, tracks, (_STAT,))[_STAT]
        for track in tracks:
            rows = np.flatnonzero(may_have_id[track.events.name])
            if len(rows):
                number = numbers[id(track)]
                parts.append(_calls_on_line(process, track, number, rows))
    calls = Calls(
        id=np.concatenate([part.id for part in parts]),
        start=np.concatenate([part.start for part in parts]),
        end=np.concatenate([part.end for part in parts]),
        line=np.concatenate([part.line for part in parts]),
        row=np.concatenate([part.row for part in parts]),
    )
    # Ids may come again after a long time: TensorBoard, too, takes the last call.
    by_id = np.lexsort((calls.start, calls.id))
    return calls.take(by_id[ends_run(calls.id[by_id])])


def _calls_on_line(process: Process, track: Track, number: int, rows: Int64s) -> Calls:
    """Those of these events that carry an id."""
    events = track.events
    ids = _ids(process, events.positions(rows))
    has_id = ids >= 0
    rows = rows[has_id]
    ids = ids[has_id]
    start = events.start[rows]
    return Calls(
        id=ids,
        start=start,
        end=start + events.duration[rows],
        line=np.full(len(rows), number, np.int32),
        row=rows,
    )


def across(
    launches: Launches,
    work: Kernels,
    trace: Trace,
    line: int,
    row: int,
) -> tuple[int, int] | None:
    """The other end of a launch, as (line, row): of work on a device its call, of a call (or of an
    event that holds one) the first work that it launched.
    """
    calls = launches.calls
    for device, call_of in zip(work.lines, launches.of_line, strict=True):
        if device.number == line:
            call = int(call_of[row])
            if call >= 0:
                return (int(calls.line[call]), int(calls.row[call]))
            return None
    events = trace.track(line).events
    start = int(events.start[row])
    end = start + int(events.duration[row])
    is_held = (calls.start >= start) & (calls.end <= end)
    is_launch = (calls.line == line) & (is_held | (calls.row == row))
    first_work: list[tuple[int, int, int]] = []  # (start, line, row) of the first on each line
    for device, call_of in zip(work.lines, launches.of_line, strict=True):
        rows = np.flatnonzero(call_of >= 0)
        rows = rows[is_launch[call_of[rows]]]
        if len(rows):
            starts = device.track.events.start[rows]
            first = int(np.argmin(starts))
            first_start = int(starts[first])
            first_row = int(rows[first])
            first_work.append((first_start, device.number, first_row))
    if first_work:
        return min(first_work)[1:]
    return None


def delays(begun: Int64s, call: Int64s, calls: Calls) -> tuple[Int64s, Bools]:
    """(from the end of its call to its begin, 0 for what began before; whether a call is known) for
    events of a device, ps.
    """
    has_call = call >= 0
    delay = np.zeros(len(begun), np.int64)
    call_end = calls.end[call[has_call]]
    delay[has_call] = np.maximum(0, begun[has_call] - call_end)
    return delay, has_call


def queue(begun: Int64s, call: Int64s, calls: Calls) -> Queue | None:
    """What waited in one stream. None where no call is known."""
    has_call = call >= 0
    if not has_call.any():
        return None
    launched = calls.start[call[has_call]]
    # Clocks of host and device differ a little: nothing begins before its launch.
    start = np.maximum(begun[has_call], launched)
    moments = np.concatenate([launched, start])
    change = np.repeat([1, -1], len(launched))
    order = np.lexsort((-change, moments))  # of one moment the launches first
    length = np.cumsum(change[order])
    moments = moments[order]
    span_ps = int(moments[-1] - moments[0])
    if not span_ps:
        return Queue(longest=int(length.max()), mean=0.0)
    # From each moment to the next the queue has the length after the former.
    until_next = np.diff(moments)
    waiting_ps = (length[:-1] * until_next).sum()
    return Queue(longest=int(length.max()), mean=float(waiting_ps / span_ps))
