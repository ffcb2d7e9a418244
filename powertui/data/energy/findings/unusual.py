"""When work ran that most steps do not hold: checkpoints, validation, a first run.

What it draws, no other work tells.
"""

from __future__ import annotations

import numpy as np

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.energy.expected_work import TRACING_STEP_FACTOR, Intervals, union
from powertui.data.model import Events, Int64s, Steps, Trace, TrackKind
from powertui.data.quantiles import median_of_column
from powertui.patterns import late_pattern

# A name that this share of the steps contains is usual. This and the others here are chosen, not
# measured.
_MIN_COMMON_SHARE = settings.VISIBLE_SHARE
_MAX_PARTS = 400  # more steps are taken together, a few at a time
# steps that say what is usual: with fewer, as many equal parts of the profile are taken for them
_MIN_STEPS = settings.MIN_SAMPLE_VALUES
_MAX_TRACING_STEPS = settings.USUAL_STEPS  # steps that may trace
_MAX_NAMES = 200_000  # a table of more names than this holds no names
# Of the time: what runs so often is not unusual, however it is called.
_MAX_RARE_SHARE = settings.LESSER_SHARE
_NUMBERS = late_pattern(r"\d+")


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
    rows_by_lane = []
    for events in lanes:
        ends = events.start + events.duration
        rows_by_lane.append((stem[events.name], events.start, ends))
    parts_with_stem = _parts_with_stem(rows_by_lane, bounds, stem_count)
    rare = parts_with_stem < _MIN_COMMON_SHARE * len(bounds)
    rare_starts = []
    rare_ends = []
    for stem_of_event, start, end in rows_by_lane:
        rows = rare[stem_of_event] & (end > start)
        rare_starts.append(start[rows])
        rare_ends.append(end[rows])
    rare_work = union(np.concatenate(rare_starts), np.concatenate(rare_ends))
    begin, stop = trace.span
    max_rare_ps = _MAX_RARE_SHARE * max(stop - begin, 1)
    rare_ps = (rare_work.end - rare_work.start).sum()
    if rare_ps > max_rare_ps and _in_most_parts(rare_work, bounds):
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
        full_name = trace.names.full(index)
        name = _NUMBERS.sub("", full_name)
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
    max_length = TRACING_STEP_FACTOR * median_of_column(length)
    slow = length[:_MAX_TRACING_STEPS] > max_length
    if not slow.all():
        first = int(np.argmin(slow))
    else:
        first = len(slow)
    if first < len(steps):
        first_start = int(steps.start[first])
    else:
        first_start = int(ends[-1])
    begin, end = trace.span
    edge_starts = np.array([begin, int(ends.max())], np.int64)
    edge_ends = np.array([first_start, end], np.int64)
    rows = edge_ends > edge_starts
    return Intervals(edge_starts[rows], edge_ends[rows])


def _parts(trace: Trace, steps: Steps) -> Int64s:
    """Where each part begins: a step, or several."""
    if len(steps) < _MIN_STEPS:
        bounds = np.linspace(*trace.span, 8 * _MIN_STEPS + 1)
        return bounds[:-1].astype(np.int64)
    steps_in_part = -(-len(steps) // _MAX_PARTS)
    starts = np.sort(steps.start)
    return np.asarray(starts[::steps_in_part])


def _parts_with_stem(
    lanes: list[tuple[Int64s, Int64s, Int64s]],
    bounds: Int64s,
    stems: int,
) -> Int64s:
    """How many parts contain each stem; a lane is the stem, start and end of its events."""
    count = len(bounds)
    last_part = count - 1
    keys = []
    for stem, start, end in lanes:
        first = np.searchsorted(bounds, start, side="right") - 1
        first = np.clip(first, 0, last_part)
        last = np.searchsorted(bounds, end, side="left") - 1
        last = np.clip(last, first, last_part)
        # One row for each part that an event touches.
        counts = last - first + 1
        first_rows = np.cumsum(counts) - counts
        row_in_event = np.arange(counts.sum()) - np.repeat(first_rows, counts)
        part = np.repeat(first, counts) + row_in_event
        keys.append(wire.distinct(np.repeat(stem, counts) * count + part))
    stem_of_key = wire.distinct(np.concatenate(keys)) // count
    return np.bincount(stem_of_key, minlength=stems).astype(np.int64)


def _in_most_parts(rare_work: Intervals, bounds: Int64s) -> bool:
    """Whether most parts contain some of it."""
    middle = (rare_work.start + rare_work.end) // 2
    parts = wire.distinct(np.searchsorted(bounds, middle, side="right"))
    return len(parts) > len(bounds) / 2
