"""When a device ran nothing: how long, between what, why, and what the host did meanwhile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import Int64s, Trace, Track
from powertui.data.tools import op_sums
from powertui.data.tools.kernels import Kernels
from powertui.data.tools.launches import Launches
from powertui.data.window import lane_rows

# Between kernels that were queued one behind the other a device takes less than 30 µs
# (docs/tools.md calls it the device's own pace; chosen, not measured).
_MAX_QUEUED_GAP_PS = 30_000_000

# Why a device ran nothing before an event.
_HOST = "launched late"  # its call had not returned when everything before it had ended
_QUEUED = "queued"  # it was launched in time, and the device took a moment
_HELD = "waiting"  # it was launched in time, and waited: for a copy, an event, another device
_UNKNOWN = "not known"  # when it was launched


class Gap(NamedTuple):
    """One stretch in which a device ran nothing."""

    device: str
    lo: int
    hi: int
    before: tuple[int, int]  # (line of Kernels, event) that ended when the gap began
    after: tuple[int, int]  # (line of Kernels, event) that began when the gap ended
    why: str


class Idle(NamedTuple):
    """The time in which one stream ran nothing, by reason; ps."""

    launched_late: int
    queued: int
    waiting: int
    not_known: int


def idle_time(start: Int64s, end: Int64s, call: Int64s, launched: Int64s) -> Idle:
    """Return the gaps of one stream by reason.

    `launched` is when each event's call returned, where `call` is not -1.
    """
    if len(start) < 2:
        return Idle(0, 0, 0, 0)
    order = np.argsort(start, kind="stable")
    following = order[1:]
    until = np.maximum.accumulate(end[order])[:-1]
    gap = np.maximum(0, start[following] - until)
    has_call = call[following] >= 0
    late = has_call & (launched[following] > until)
    short = has_call & ~late & (gap < _MAX_QUEUED_GAP_PS)
    return Idle(
        launched_late=int(gap[late].sum()),
        queued=int(gap[short].sum()),
        waiting=int(gap[has_call & ~late & ~short].sum()),
        not_known=int(gap[~has_call].sum()),
    )


def longest_gaps(work: Kernels, launches: Launches, lo: int, hi: int, limit: int) -> list[Gap]:
    """Return the longest gaps in [lo, hi) of the devices, all streams of each together."""
    devices: dict[str, list[int]] = {}
    for number, line in enumerate(work.lines):
        devices.setdefault(line.process.name, []).append(number)
    gaps: list[Gap] = []
    for device, numbers in devices.items():
        gaps += _device_gaps(
            device, _device_events(work, launches, numbers, lo, hi), launches, limit
        )
    return sorted(gaps, key=lambda gap: gap.lo - gap.hi)[:limit]


class _DeviceEvents(NamedTuple):
    """The events of all streams of one device, by start."""

    start: Int64s
    end: Int64s
    line: Int64s  # of Kernels
    row: Int64s  # of that line's events
    call: Int64s


def _device_events(
    work: Kernels, launches: Launches, numbers: list[int], lo: int, hi: int
) -> _DeviceEvents:
    columns: list[tuple[Int64s, ...]] = []
    for number in numbers:
        events = work.lines[number].track.events
        rows = np.arange(len(events))
        line = np.full(len(events), number, np.int64)
        columns.append((events.start, events.end, line, rows, launches.of_line[number]))
    joined = _DeviceEvents(*(np.concatenate(column) for column in zip(*columns, strict=True)))
    rows = np.flatnonzero((joined.start < hi) & (joined.end > lo))
    rows = rows[np.argsort(joined.start[rows], kind="stable")]
    return _DeviceEvents(*(column[rows] for column in joined))


def _device_gaps(device: str, events: _DeviceEvents, launches: Launches, limit: int) -> list[Gap]:
    until = np.maximum.accumulate(events.end)
    # The event that ended last so far, at each event.
    is_last = events.end == until
    last_to_end = np.maximum.accumulate(np.where(is_last, np.arange(len(until)), 0))
    at = np.flatnonzero(events.start[1:] > until[:-1])
    length = events.start[1:][at] - until[at]
    gaps = []
    for before in at[np.argsort(-length, kind="stable")[:limit]].tolist():
        after, ended = before + 1, int(last_to_end[before])
        lo, hi = int(until[before]), int(events.start[after])
        gaps.append(
            Gap(
                device=device,
                lo=lo,
                hi=hi,
                before=(int(events.line[ended]), int(events.row[ended])),
                after=(int(events.line[after]), int(events.row[after])),
                why=_why(int(events.call[after]), lo, hi, launches),
            )
        )
    return gaps


def _why(call: int, lo: int, hi: int, launches: Launches) -> str:
    if call < 0:
        return _UNKNOWN
    if int(launches.calls.end[call]) > lo:
        return _HOST
    return _QUEUED if hi - lo < _MAX_QUEUED_GAP_PS else _HELD


def busiest_event(trace: Trace, line: int, lo: int, hi: int) -> tuple[str, int]:
    """Return the name whose events took most of [lo, hi) by themselves on a host's line, and how
    long (ps).

    It is ("", 0) where nothing ran.
    """
    track: Track = list(trace.tracks())[line][1]
    self_times: dict[int, int] = {}
    for depth in range(track.lane_count):
        lane = track.lane(depth)
        first, last = lane_rows(lane, lo, hi)
        if first >= last:
            break  # deeper events are inside these
        events = lane[slice(first, last)]
        start, end = op_sums.inside(events, lo, hi)
        self_time = end - start
        if depth + 1 < track.lane_count:
            self_time = self_time - op_sums.covered(track.lane(depth + 1), start, end)
        for name, ps in zip(events.name.tolist(), self_time.tolist(), strict=True):
            self_times[name] = self_times.get(name, 0) + ps
    if not self_times:
        return "", 0
    name = max(self_times, key=lambda name: (self_times[name], -name))
    if self_times[name] <= 0:
        return "", 0
    return trace.names.display(name), self_times[name]
