"""How busy the threads of a host were, and how much of that was waiting: what a profile without a
device tells.
"""

from __future__ import annotations

import numpy as np

from powertui.data import category
from powertui.data.category import Category
from powertui.data.model import Bools, ProcessKind, Trace, Track
from powertui.data.run.stat_carriers import rows_named
from powertui.data.tools.covered_time import CoveredTime, joined
from powertui.data.window import lane_rows
from powertui.named_tuples import NamedTuple


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
    waits = np.zeros(len(trace.names), np.bool_)
    for index in range(len(trace.names)):
        kind = category.work_category(trace.names.full(index))
        waits[index] = kind is Category.IDLE
    threads: list[Thread] = []
    for number, (process, track) in enumerate(trace.tracks()):
        if process.kind is ProcessKind.HOST and len(track.events) and not track.derived:
            thread = _of_track(track, number, waits, lo, hi)
            if thread is not None:
                threads.append(thread)
    return sorted(threads, key=lambda thread: (-thread.busy, thread.name))


def _of_track(track: Track, number: int, waits: Bools, lo: int, hi: int) -> Thread | None:
    # Events of the outermost lane lie apart, so that their lengths add up.
    lane = track.lane(0)
    start = np.maximum(lane.start, lo)
    end = np.minimum(lane.start + lane.duration, hi)
    inside = end >= start
    if not inside.any():
        return None
    # Waits may lie in one another.
    rows = rows_named(track.events.name, waits)
    wait_start = track.events.start[rows]
    wait_end = np.minimum(wait_start + track.events.duration[rows], hi)
    waiting = joined([CoveredTime(np.maximum(wait_start, lo), wait_end)])
    count = 0
    for depth in range(track.lane_count):
        first, last = lane_rows(track.lane(depth), lo, hi)
        count += last - first
    return Thread(
        name=track.name,
        track=number,
        busy=int((end - start)[inside].sum()),
        waiting=waiting.length,
        events=count,
        lo=int(start[inside].min()),
        hi=int(end[inside].max()),
    )
