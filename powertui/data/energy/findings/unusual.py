"""When work ran that most steps do not hold: checkpoints, validation, a first run.

What it draws, no other work tells.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.energy.expected_work import Intervals, union
from powertui.data.energy.fold import TRACING_STEP_FACTOR
from powertui.data.model import Int64s, Steps, Trace, TrackKind

_SHARE = 0.25  # of the steps: a name that so many hold is usual
_PARTS = 400  # more steps are taken together, a few at a time
# steps that say what is usual: with fewer, as many equal parts of the profile are taken for them
_FEW = 8
_FIRST = 20  # steps that may trace
_NAMES = 200_000  # a table of more names than this holds no names
_COMMON = 0.3  # of the time: what runs so often is not unusual, however it is called
_NUMBERS = re.compile(r"\d+")


def unusual_intervals(trace: Trace, steps: Steps) -> Intervals:
    """The moments at which something runs whose name most steps do not hold.

    Numbers in names make no difference.
    """
    nothing = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    if len(trace.names) > _NAMES:
        return nothing
    bounds = _parts(trace, steps)
    stems: dict[str, int] = {}
    names = (_NUMBERS.sub("", trace.names.full(index)) for index in range(len(trace.names)))
    stem = np.array([stems.setdefault(name, len(stems)) for name in names], np.int64)
    lanes = [
        events
        for process in trace.processes
        for track in process.tracks
        if not track.derived and track.kind is not TrackKind.COUNTER
        for events in (track.lane(depth) for depth in range(track.lane_count))
        if len(events)
    ]
    if not lanes or not len(stem):
        return nothing
    held = _held([(stem[e.name], e.start, e.start + e.duration) for e in lanes], bounds, len(stems))
    rare = held < _SHARE * len(bounds)
    start, end = [], []
    for events in lanes:
        rows = rare[stem[events.name]] & (events.duration > 0)
        start.append(events.start[rows])
        end.append(events.start[rows] + events.duration[rows])
    found = union(np.concatenate(start), np.concatenate(end))
    length = max(trace.span[1] - trace.span[0], 1)
    return (
        nothing
        if (found.end - found.start).sum() > _COMMON * length and _usual(found, bounds)
        else found
    )


def untraced_edges(trace: Trace, steps: Steps) -> Intervals:
    """What lies before the first step that did not trace, and behind the last: libraries load and
    compile there, untraced.
    """
    if len(steps) < _FEW:
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    ends = steps.ends()
    length = ends - steps.start
    slow = length[:_FIRST] > TRACING_STEP_FACTOR * float(np.median(length))
    first = int(np.argmin(slow)) if not slow.all() else len(slow)
    begin = int(steps.start[first]) if first < len(steps) else int(ends[-1])
    edges = [(trace.span[0], begin), (int(ends.max()), trace.span[1])]
    kept = np.array([(a, b) for a, b in edges if b > a], np.int64).reshape(-1, 2)
    return Intervals(kept[:, 0], kept[:, 1])


def _parts(trace: Trace, steps: Steps) -> Int64s:
    """Where each part begins: a step, or several."""
    if len(steps) < _FEW:
        return np.linspace(*trace.span, 8 * _FEW + 1)[:-1].astype(np.int64)
    return np.asarray(np.sort(steps.start)[:: -(-len(steps) // _PARTS)])


def _held(lanes: list[tuple[Int64s, Int64s, Int64s]], bounds: Int64s, names: int) -> Int64s:
    """How many parts hold each name."""
    count = len(bounds)
    keys = []
    for name, start, end in lanes:
        first = np.clip(np.searchsorted(bounds, start, side="right") - 1, 0, count - 1)
        last = np.clip(np.searchsorted(bounds, end, side="left") - 1, first, count - 1)
        many = last - first + 1
        at = (
            np.repeat(first, many) + np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        )
        keys.append(np.unique(np.repeat(name, many) * count + at))
    return np.bincount(np.unique(np.concatenate(keys)) // count, minlength=names).astype(np.int64)


def _usual(found: Intervals, bounds: Int64s) -> bool:
    """Whether most parts hold some of it."""
    middle = (found.start + found.end) // 2
    return len(np.unique(np.searchsorted(bounds, middle, side="right"))) > len(bounds) / 2
