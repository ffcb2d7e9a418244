"""When work ran that most steps do not hold: checkpoints, validation, a first run.

What it draws, no other work tells.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.energy.expected_work import TRACING_STEP_FACTOR, Intervals, union
from powertui.data.model import Events, Int64s, Steps, Trace, TrackKind
from powertui.data.quantiles import median_of_column

# A name that this share of the steps contains is usual. This and the others here are chosen, not
# measured.
_MIN_COMMON_SHARE = settings.VISIBLE_SHARE
_MAX_PARTS = 400  # more steps are taken together, a few at a time
# steps that say what is usual: with fewer, as many equal parts of the profile are taken for them
_MIN_STEPS = settings.MIN_SAMPLE_VALUES
_MAX_TRACING_STEPS = settings.TRACING_STEPS  # steps that may trace
_MAX_NAMES = 200_000  # a table of more names than this holds no names
# Of the time: what runs so often is not unusual, however it is called.
_MAX_RARE_SHARE = settings.EXCEPTION_SHARE
_NUMBERS = re.compile(r"\d+")


def unusual_intervals(trace: Trace, steps: Steps) -> Intervals:
    """The moments at which something runs whose name most steps do not contain.

    Numbers in names make no difference.
    """
    if len(trace.names) > _MAX_NAMES:
        return _nothing()
    lanes = _lanes(trace)
    if not lanes or not len(trace.names):
        return _nothing()
    stem, stem_count = _stems(trace)
    bounds = _parts(trace, steps)
    rows_by_lane = [
        (stem[events.name], events.start, events.start + events.duration) for events in lanes
    ]
    parts_with_stem = _parts_with_stem(rows_by_lane, bounds, stem_count)
    rare = parts_with_stem < _MIN_COMMON_SHARE * len(bounds)
    start = []
    end = []
    for events in lanes:
        rows = rare[stem[events.name]] & (events.duration > 0)
        start.append(events.start[rows])
        end.append(events.start[rows] + events.duration[rows])
    rare_work = union(np.concatenate(start), np.concatenate(end))
    length = max(trace.span[1] - trace.span[0], 1)
    rare_ps = (rare_work.end - rare_work.start).sum()
    if rare_ps > _MAX_RARE_SHARE * length and _in_most_parts(rare_work, bounds):
        return _nothing()
    return rare_work


def _nothing() -> Intervals:
    return Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def _lanes(trace: Trace) -> list[Events]:
    """Everything that was recorded, lane by lane; what was worked out from it is left out."""
    lanes: list[Events] = []
    for process in trace.processes:
        for track in process.tracks:
            if track.derived or track.kind is TrackKind.COUNTER:
                continue
            by_depth = (track.lane(depth) for depth in range(track.lane_count))
            lanes += [events for events in by_depth if len(events)]
    return lanes


def _stems(trace: Trace) -> tuple[Int64s, int]:
    """(of each name of the trace the number of its stem, how many stems there are)."""
    stems: dict[str, int] = {}
    stem = np.empty(len(trace.names), np.int64)
    for index in range(len(stem)):
        name = _NUMBERS.sub("", trace.names.full(index))
        stem[index] = stems.setdefault(name, len(stems))
    return stem, len(stems)


def untraced_edges(trace: Trace, steps: Steps) -> Intervals:
    """What is before the first step that did not trace, and after the last: libraries load and
    compile there, untraced.
    """
    if len(steps) < _MIN_STEPS:
        return _nothing()
    ends = steps.ends()
    length = ends - steps.start
    slow = length[:_MAX_TRACING_STEPS] > TRACING_STEP_FACTOR * median_of_column(length)
    if not slow.all():
        first = int(np.argmin(slow))
    else:
        first = len(slow)
    if first < len(steps):
        first_start = int(steps.start[first])
    else:
        first_start = int(ends[-1])
    begin, end = trace.span
    edges = np.array([(begin, first_start), (int(ends.max()), end)], np.int64)
    edges = edges[edges[:, 1] > edges[:, 0]]
    return Intervals(edges[:, 0], edges[:, 1])


def _parts(trace: Trace, steps: Steps) -> Int64s:
    """Where each part begins: a step, or several."""
    if len(steps) < _MIN_STEPS:
        return np.linspace(*trace.span, 8 * _MIN_STEPS + 1)[:-1].astype(np.int64)
    steps_in_part = -(-len(steps) // _MAX_PARTS)
    return np.asarray(np.sort(steps.start)[::steps_in_part])


def _parts_with_stem(
    lanes: list[tuple[Int64s, Int64s, Int64s]],
    bounds: Int64s,
    stems: int,
) -> Int64s:
    """How many parts contain each stem; a lane is the stem, start and end of its events."""
    count = len(bounds)
    keys = []
    for stem, start, end in lanes:
        first = np.clip(np.searchsorted(bounds, start, side="right") - 1, 0, count - 1)
        last = np.clip(np.searchsorted(bounds, end, side="left") - 1, first, count - 1)
        # One row for each part that an event touches.
        counts = last - first + 1
        rows_before = np.repeat(np.cumsum(counts) - counts, counts)
        part = np.repeat(first, counts) + np.arange(counts.sum()) - rows_before
        keys.append(wire.distinct(np.repeat(stem, counts) * count + part))
    stem_of_key = wire.distinct(np.concatenate(keys)) // count
    return np.bincount(stem_of_key, minlength=stems).astype(np.int64)


def _in_most_parts(rare_work: Intervals, bounds: Int64s) -> bool:
    """Whether most parts contain some of it."""
    middle = (rare_work.start + rare_work.end) // 2
    parts = wire.distinct(np.searchsorted(bounds, middle, side="right"))
    return len(parts) > len(bounds) / 2
