"""When work ran that most steps do not hold: checkpoints, validation, a first run.

What it draws, no other work tells.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.energy.expected_work import Intervals, union
from powertui.data.energy.fold import TRACING_STEP_FACTOR
from powertui.data.model import Int64s, Steps, Trace, TrackKind

# A name that this share of the steps contains is usual. This and the others here are chosen, not
# measured.
_MIN_COMMON_SHARE = 0.25
_MAX_PARTS = 400  # more steps are taken together, a few at a time
# steps that say what is usual: with fewer, as many equal parts of the profile are taken for them
_MIN_STEPS = 8
_MAX_TRACING_STEPS = 20  # steps that may trace
_MAX_NAMES = 200_000  # a table of more names than this holds no names
_MAX_RARE_SHARE = 0.3  # of the time: what runs so often is not unusual, however it is called
_NUMBERS = re.compile(r"\d+")


def unusual_intervals(trace: Trace, steps: Steps) -> Intervals:
    """The moments at which something runs whose name most steps do not hold.

    Numbers in names make no difference.
    """
    nothing = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    if len(trace.names) > _MAX_NAMES:
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
    rare = held < _MIN_COMMON_SHARE * len(bounds)
    start, end = [], []
    for events in lanes:
        rows = rare[stem[events.name]] & (events.duration > 0)
        start.append(events.start[rows])
        end.append(events.start[rows] + events.duration[rows])
    rare_work = union(np.concatenate(start), np.concatenate(end))
    length = max(trace.span[1] - trace.span[0], 1)
    return (
        nothing
        if (rare_work.end - rare_work.start).sum() > _MAX_RARE_SHARE * length
        and _usual(rare_work, bounds)
        else rare_work
    )


def untraced_edges(trace: Trace, steps: Steps) -> Intervals:
    """What lies before the first step that did not trace, and behind the last: libraries load and
    compile there, untraced.
    """
    if len(steps) < _MIN_STEPS:
        return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))
    ends = steps.ends()
    length = ends - steps.start
    slow = length[:_MAX_TRACING_STEPS] > TRACING_STEP_FACTOR * float(np.median(length))
    first = int(np.argmin(slow)) if not slow.all() else len(slow)
    begin = int(steps.start[first]) if first < len(steps) else int(ends[-1])
    edges = [(trace.span[0], begin), (int(ends.max()), trace.span[1])]
    spans = np.array([(a, b) for a, b in edges if b > a], np.int64).reshape(-1, 2)
    return Intervals(spans[:, 0], spans[:, 1])


def _parts(trace: Trace, steps: Steps) -> Int64s:
    """Where each part begins: a step, or several."""
    if len(steps) < _MIN_STEPS:
        return np.linspace(*trace.span, 8 * _MIN_STEPS + 1)[:-1].astype(np.int64)
    return np.asarray(np.sort(steps.start)[:: -(-len(steps) // _MAX_PARTS)])


def _held(lanes: list[tuple[Int64s, Int64s, Int64s]], bounds: Int64s, names: int) -> Int64s:
    """How many parts hold each name."""
    count = len(bounds)
    keys = []
    for name, start, end in lanes:
        first = np.clip(np.searchsorted(bounds, start, side="right") - 1, 0, count - 1)
        last = np.clip(np.searchsorted(bounds, end, side="left") - 1, first, count - 1)
        counts = last - first + 1
        at = (
            np.repeat(first, counts)
            + np.arange(counts.sum())
            - np.repeat(np.cumsum(counts) - counts, counts)
        )
        keys.append(np.unique(np.repeat(name, counts) * count + at))
    return np.bincount(np.unique(np.concatenate(keys)) // count, minlength=names).astype(np.int64)


def _usual(rare_work: Intervals, bounds: Int64s) -> bool:
    """Whether most parts hold some of it."""
    middle = (rare_work.start + rare_work.end) // 2
    return len(np.unique(np.searchsorted(bounds, middle, side="right"))) > len(bounds) / 2
