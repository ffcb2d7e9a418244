"""How busy the threads of a host were, and how much of that was waiting: what a profile without a
device tells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data import category
from powertui.data.category import Category
from powertui.data.model import Bools, Int64s, ProcessKind, Trace, Track
from powertui.data.run.device_intervals import covered_ps
from powertui.data.run.marks import rows_named
from powertui.data.window import lane_rows


class Thread(NamedTuple):
    """One thread in a window."""

    name: str
    track: int  # counts Trace.tracks()
    busy: int  # ps in which some event was open
    waiting: int  # of that, in events that wait
    events: int
    lo: int  # where its first and last event lie
    hi: int


def busy_threads(trace: Trace, lo: int, hi: int) -> list[Thread]:
    """The host's threads with events in the window, the busiest first."""
    waits = np.fromiter(
        (
            category.work_category(trace.names.full(i)) is Category.IDLE
            for i in range(len(trace.names))
        ),
        np.bool_,
        len(trace.names),
    )
    out = []
    for number, (process, track) in enumerate(trace.tracks()):
        if process.kind is ProcessKind.HOST and len(track.events) and not track.derived:
            thread = _of_track(track, number, waits, lo, hi)
            if thread is not None:
                out.append(thread)
    return sorted(out, key=lambda thread: (-thread.busy, thread.name))


def _of_track(track: Track, number: int, waits: Bools, lo: int, hi: int) -> Thread | None:
    lane = track.lane(0)
    start = np.maximum(lane.start, lo)
    end = np.minimum(lane.start + lane.duration, hi)
    inside = end >= start
    if not inside.any():
        return None
    rows = rows_named(track.events.name, waits)
    a, b = _clipped(
        track.events.start[rows], track.events.start[rows] + track.events.duration[rows], lo, hi
    )
    waiting = int(covered_ps(np.zeros(len(a), np.int64), a, b, 1)[0]) if len(a) else 0
    count = 0
    for depth in range(track.lane_count):
        first, last = lane_rows(track.lane(depth), lo, hi)
        count += last - first
    return Thread(
        name=track.name,
        track=number,
        busy=int((end - start)[inside].sum()),
        waiting=max(0, waiting),
        events=count,
        lo=int(start[inside].min()),
        hi=int(end[inside].max()),
    )


def _clipped(start: Int64s, end: Int64s, lo: int, hi: int) -> tuple[Int64s, Int64s]:
    a = np.maximum(start, lo)
    b = np.minimum(end, hi)
    keep = b > a
    return a[keep], b[keep]
