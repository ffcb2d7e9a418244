"""When a device ran nothing: how long, between what, why, and what the host did meanwhile."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Int64s, Trace
from powertui.data.tools import op_sums
from powertui.data.tools.kernels import Kernels
from powertui.data.tools.launches import Launches
from powertui.data.window import lane_rows
from powertui.named_tuples import NamedTuple

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
    busy_until = np.maximum.accumulate(end[order])
    idle_from = busy_until[:-1]
    # Kernels of a graph may overlap on one stream: then there is no gap.
    next_start = start[following]
    gap = np.maximum(0, next_start - idle_from)
    has_call = call[following] >= 0
    is_late = has_call & (launched[following] > idle_from)
    in_time = has_call & ~is_late
    is_short = gap < _MAX_QUEUED_GAP_PS
    return Idle(
        launched_late=int(gap[is_late].sum()),
        queued=int(gap[in_time & is_short].sum()),
        waiting=int(gap[in_time & ~is_short].sum()),
        not_known=int(gap[~has_call].sum()),
    )


def longest_gaps(work: Kernels, launches: Launches, lo: int, hi: int, limit: int) -> list[Gap]:
    """Return the longest gaps in [lo, hi) of the devices, all streams of each together."""
    lines_by_device: dict[str, list[int]] = {}
    for number, line in enumerate(work.lines):
        device = line.process.name
        lines_by_device.setdefault(device, []).append(number)
    gaps: list[Gap] = []
    for device, numbers in lines_by_device.items():
        events = _device_events(work, launches, numbers, lo, hi)
        gaps += _device_gaps(device, events, launches, limit)
    gaps.sort(key=lambda gap: gap.lo - gap.hi)
    return gaps[:limit]


class _DeviceEvents(NamedTuple):
    """The events of all streams of one device, by start."""

    start: Int64s
    end: Int64s
    line: Int64s  # of Kernels
    row: Int64s  # of that line's events
    call: Int64s  # of Launches


def _device_events(
    work: Kernels,
    launches: Launches,
    numbers: list[int],
    lo: int,
    hi: int,
) -> _DeviceEvents:
    streams: list[_DeviceEvents] = []
    for number in numbers:
        events = work.lines[number].track.events
        streams.append(
            _DeviceEvents(
                start=events.start,
                end=events.end,
                line=np.full(len(events), number, np.int64),
                row=np.arange(len(events)),
                call=launches.of_line[number],
            )
        )
    columns = zip(*streams, strict=True)
    every = _DeviceEvents(*map(np.concatenate, columns))
    is_inside = (every.start < hi) & (every.end > lo)
    rows = np.flatnonzero(is_inside)
    by_start = rows[np.argsort(every.start[rows], kind="stable")]
    return _DeviceEvents(*(column[by_start] for column in every))


def _device_gaps(device: str, events: _DeviceEvents, launches: Launches, limit: int) -> list[Gap]:
    busy_until = np.maximum.accumulate(events.end)
    # The event that ended last so far, at each event.
    ends_last = events.end == busy_until
    rows = np.arange(len(ends_last))
    last_to_end = np.maximum.accumulate(np.where(ends_last, rows, 0))
    next_start = events.start[1:]
    length = next_start - busy_until[:-1]
    gap_rows = np.flatnonzero(length > 0)
    by_length = np.argsort(-length[gap_rows], kind="stable")
    longest_first = gap_rows[by_length]
    gaps = []
    for before in longest_first[:limit].tolist():
        after = before + 1
        ended = int(last_to_end[before])
        lo = int(busy_until[before])
        hi = int(events.start[after])
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
    # The device stood idle before the call had returned: the host was late.
    if int(launches.calls.end[call]) > lo:
        return _HOST
    return _QUEUED if hi - lo < _MAX_QUEUED_GAP_PS else _HELD


def busiest_event(trace: Trace, line: int, lo: int, hi: int) -> tuple[str, int]:
    """Return the name whose events took most of [lo, hi) by themselves on a host's line, and how
    long (ps).

    It is ("", 0) where nothing ran.
    """
    track = trace.track(line)
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
            inner = track.lane(depth + 1)
            self_time = self_time - op_sums.covered(inner, start, end)
        for name, ps in zip(events.name.tolist(), self_time.tolist(), strict=True):
            self_times[name] = self_times.get(name, 0) + ps
    if not self_times:
        return "", 0
    # Of equally long ones the first that the trace names.
    name = max(self_times, key=lambda name: (self_times[name], -name))
    longest_ps = self_times[name]
    if longest_ps <= 0:
        return "", 0
    return trace.names.display(name), longest_ps
