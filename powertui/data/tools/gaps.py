"""When a device ran nothing: how long, between what, why, and what the host did meanwhile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import Int64s, Trace, Track
from powertui.data.tools import op_stats
from powertui.data.tools.kernels import Kernels
from powertui.data.tools.launches import Launches
from powertui.data.window import lane_rows

# ps: between kernels that were queued one behind the other, a device takes no longer
_SHORT = 30_000_000

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
    before: tuple[int, int]  # (line of Kernels, event) that ended it began after
    after: tuple[int, int]
    why: str


class Idle(NamedTuple):
    """What one stream did not run, by why; ps."""

    launched_late: int
    queued: int
    waiting: int
    not_known: int


def of_stream(start: Int64s, end: Int64s, call: Int64s, launched: Int64s) -> Idle:
    """The gaps of one stream.

    `launched` is when each event's call returned, where `call` is not -1.
    """
    if len(start) < 2:
        return Idle(0, 0, 0, 0)
    order = np.argsort(start, kind="stable")
    until = np.maximum.accumulate(end[order])[:-1]
    gap = np.maximum(0, start[order][1:] - until)
    known = call[order][1:] >= 0
    late = known & (launched[order][1:] > until)
    short = known & ~late & (gap < _SHORT)
    return Idle(
        int(gap[late].sum()),
        int(gap[short].sum()),
        int(gap[known & ~late & ~short].sum()),
        int(gap[~known].sum()),
    )


def of_devices(work: Kernels, launches: Launches, lo: int, hi: int, most: int) -> list[Gap]:
    """The longest gaps of the devices (all streams of each together) in [lo, hi)."""
    devices: dict[str, list[int]] = {}
    for number, line in enumerate(work.lines):
        devices.setdefault(line.process.name, []).append(number)
    out: list[Gap] = []
    for device, numbers in devices.items():
        start = np.concatenate([work.lines[n].track.events.start for n in numbers])
        end = np.concatenate([work.lines[n].track.events.end for n in numbers])
        lines = np.concatenate([np.full(len(work.lines[n].said), n, np.int64) for n in numbers])
        row = np.concatenate([np.arange(len(work.lines[n].said)) for n in numbers])
        call = np.concatenate([launches.of_line[n] for n in numbers])
        inside = (start < hi) & (end > lo)
        start, end, lines, row, call = (column[inside] for column in (start, end, lines, row, call))
        order = np.argsort(start, kind="stable")
        until = np.maximum.accumulate(end[order])
        by_end = np.maximum.accumulate(
            np.where(end[order] == until, np.arange(len(order)), 0)
        )  # which of them ended last so far
        at = np.flatnonzero(start[order][1:] > until[:-1])
        length = start[order][1:][at] - until[at]
        for i in at[np.argsort(-length, kind="stable")[:most]].tolist():
            last, following = int(order[by_end[i]]), int(order[i + 1])
            why = _why(int(call[following]), int(until[i]), int(start[following]), launches)
            ended, begun = (
                (int(lines[last]), int(row[last])),
                (int(lines[following]), int(row[following])),
            )
            out.append(
                Gap(
                    device=device,
                    lo=int(until[i]),
                    hi=int(start[following]),
                    before=ended,
                    after=begun,
                    why=why,
                )
            )
    return sorted(out, key=lambda gap: gap.lo - gap.hi)[:most]


def _why(call: int, until: int, begun: int, launches: Launches) -> str:
    if call < 0:
        return _UNKNOWN
    if int(launches.calls.end[call]) > until:
        return _HOST
    return _QUEUED if begun - until < _SHORT else _HELD


def meanwhile(trace: Trace, line: int, lo: int, hi: int) -> tuple[str, int]:
    """(the event of a host's line that took most of [lo, hi) by itself, how long); ("", 0) where
    nothing ran.
    """
    track: Track = list(trace.tracks())[line][1]
    took: dict[int, int] = {}
    for depth in range(track.lane_count):
        lane = track.lane(depth)
        first, last = lane_rows(lane, lo, hi)
        if first >= last:
            break  # what is deeper lies inside
        some = lane[slice(first, last)]
        start, end = op_stats.inside(some, lo, hi)
        own = end - start
        if depth + 1 < track.lane_count:
            own = own - op_stats.covered(track.lane(depth + 1), start, end)
        for name, ps in zip(some.name.tolist(), own.tolist(), strict=True):
            took[name] = took.get(name, 0) + ps
    if not took:
        return "", 0
    name = max(took, key=lambda one: (took[one], -one))
    return (trace.names.display(name), took[name]) if took[name] > 0 else ("", 0)
