"""From the call on the host to the work on the device: how long each kernel waited, and how much
was queued.

A kernel and the call that launched it share a correlation id; one call of a CUDA graph launches
many. What waits in a stream is what has been launched there and has not begun.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Int32s, Int64s, ProcessKind, Trace
from powertui.data.opened import Profile
from powertui.data.run.marks import carriers, whole_numbers
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
        return sum(int((calls >= 0).sum()) for calls in self.of_line)


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
    lines = []
    for line in work.lines:
        events = line.track.events
        if not len(calls):
            lines.append(np.full(len(events), -1, np.int64))
            continue
        ids = whole_numbers(line.process.source.columns(events.position, (_STAT,))[_STAT])
        place = np.minimum(calls.id.searchsorted(ids), len(calls) - 1)
        lines.append(np.where((calls.id[place] == ids) & (ids >= 0), place, -1))
    return Launches(calls, tuple(lines))


def _calls(trace: Trace) -> Calls:
    columns: list[tuple[Int64s, Int64s, Int64s, Int32s, Int64s]] = []
    numbers = {id(track): number for number, (_, track) in enumerate(trace.tracks())}
    for process in trace.processes:
        if process.kind is not ProcessKind.HOST:
            continue
        tracks = [track for track in process.tracks if not track.derived and len(track.events)]
        if not tracks:
            continue
        has_id = carriers(trace, process, tracks, (_STAT,))
        for track in tracks:
            events = track.events
            rows = np.flatnonzero(has_id[events.name])
            if not len(rows):
                continue
            ids = whole_numbers(process.source.columns(events.positions(rows), (_STAT,))[_STAT])
            rows, ids = rows[ids >= 0], ids[ids >= 0]
            start = events.start[rows]
            columns.append(
                (
                    ids,
                    start,
                    start + events.duration[rows],
                    np.full(len(rows), numbers[id(track)], np.int32),
                    rows,
                )
            )
    if not columns:
        return Calls(_NONE, _NONE, _NONE, np.empty(0, np.int32), _NONE)
    ids, start, end, line, row = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.lexsort((start, ids))
    last = order[np.append(ids[order][1:] != ids[order][:-1], True)]
    return Calls(ids[last], start[last], end[last], line[last].astype(np.int32), row[last])


def across(
    launches: Launches, work: Kernels, trace: Trace, line: int, row: int
) -> tuple[int, int] | None:
    """The other end of a launch, as (line, row): of work on a device its call, of a call (or of an
    event that holds one) the first work that it launched.
    """
    calls = launches.calls
    for device, call_of in zip(work.lines, launches.of_line, strict=True):
        if device.number == line:
            call = int(call_of[row])
            return (int(calls.line[call]), int(calls.row[call])) if call >= 0 else None
    events = list(trace.tracks())[line][1].events
    start = int(events.start[row])
    end = start + int(events.duration[row])
    inside = (calls.row == row) | ((calls.start >= start) & (calls.end <= end))
    is_launch = (calls.line == line) & inside
    launched: list[tuple[int, int, int]] = []  # (start, line, row) of the first on each line
    for device, call_of in zip(work.lines, launches.of_line, strict=True):
        rows = np.flatnonzero((call_of >= 0) & is_launch[call_of])
        if len(rows):
            starts = device.track.events.start[rows]
            first = int(np.argmin(starts))
            launched.append((int(starts[first]), device.number, int(rows[first])))
    return min(launched)[1:] if launched else None


def delays(begun: Int64s, call: Int64s, calls: Calls) -> tuple[Int64s, Bools]:
    """(from the end of its call to its begin, 0 for what began before; whether a call is known) for
    events of a device, ps.
    """
    has_call = call >= 0
    delay = np.zeros(len(begun), np.int64)
    delay[has_call] = np.maximum(0, begun[has_call] - calls.end[call[has_call]])
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
    span = int(moments[-1] - moments[0])
    mean = float((length[:-1] * np.diff(moments)).sum() / span) if span else 0.0
    return Queue(int(length.max()), mean)
