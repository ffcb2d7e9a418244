"""Whether the work of steps runs on after their marks are closed, where no device tells: in pools
of the host's own threads.

The work of the steps is what repeats with them. Names may differ from step to step (`fusion.1`,
`fusion.2`), the profile may cut the last step short: so names are counted without their numbers,
per process, and need not come out even.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.model import Events, Int32s, Int64s, ProcessKind, Steps, Trace
from powertui.data.sorted_columns import are_among, open_at
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

# A line that feeds the input pipeline is not the work of a step that runs on.
_INPUT_LINE = late_pattern(r"tf_data|iterator", re.IGNORECASE)
_DIGITS = late_pattern(r"\d+")
# Of the steps' work that runs while no marker is open: from here on it runs on after them. Chosen,
# not measured.
_MIN_OUTSIDE_SHARE = 0.5
# Of the time of the markers: with less around them, little can run there. Chosen, not measured.
_MIN_AROUND_SHARE = 0.5
# A cut end leaves a little less than once. Chosen, not measured.
_MIN_TIMES_A_STEP = 0.8
# Fewer steps repeat nothing.
_MIN_STEPS = 3
# A program with more names has no two alike. Chosen, not measured.
_MAX_NAMES = 50_000


class WorkDone(NamedTuple):
    """The work that the steps asked for."""

    total: int  # ps
    outside: int  # of which began when no step's marker was open
    end: int  # when the last of it ended


def asynchronous(trace: Trace, start: Int64s, stop: Int64s, lines: Int32s) -> bool:
    """Whether the marks (by start) end before the host's work does."""
    if len(start) < _MIN_STEPS:
        return False
    # Cheap first: markers that fill the time, with little after the last, cannot hide much.
    marked_ps = int((stop - start).sum())
    end = max(int(stop.max()), trace.span[1])
    around_ps = end - int(start[0]) - marked_ps
    if around_ps < _MIN_AROUND_SHARE * marked_ps:
        return False
    ran = _on_host(trace, start, stop, lines)
    return ran.outside > _MIN_OUTSIDE_SHARE * ran.total


def work_done(trace: Trace, steps: Steps) -> WorkDone:
    """The work of the steps: that of their devices, else what repeats with them on the host."""
    ends = []
    for device_steps in steps.on:
        if device_steps.kind == "device" and len(device_steps):
            ends.append(int(device_steps.end.max()))
    if ends:
        total = int(steps.device[steps.device >= 0].sum())
        return WorkDone(
            total=total,
            outside=0,
            end=max(ends),
        )
    stop = steps.start + np.where(steps.host >= 0, steps.host, steps.duration)
    return _on_host(trace, steps.start, stop, np.empty(0, np.int32))


def work_stretches(trace: Trace, steps: Steps) -> tuple[Int64s, Int64s] | None:
    """(start, end) of each step's work in the host's pools, for steps that are dispatched ahead:
    from the first op of its own to the next step's.

    The op is one that ran exactly once a step, after the step's mark began; of several the
    earliest. None where no op did.
    """
    if not steps.asynchronous or len(steps) < _MIN_STEPS:
        return None
    if (steps.device >= 0).any():
        return None
    earliest: Int64s | None = None
    earliest_sum = np.inf
    op_end = 0
    for parts in _pool_ops(trace, steps).values():
        if sum(map(len, parts)) != len(steps):
            continue
        start = np.concatenate([events.start for events in parts])
        start.sort()
        runs_early = (start < steps.start).any()
        runs_twice = (np.diff(start) <= 0).any()
        if runs_early or runs_twice:
            continue
        # Sums of absolute times pass the range of int64.
        start_sum = float(start.sum(dtype=np.float64))
        if start_sum < earliest_sum:
            earliest = start
            earliest_sum = start_sum
            op_end = max(int(events.end.max()) for events in parts)
    if earliest is None:
        return None
    steps_end = work_done(trace, steps).end
    end = np.append(earliest[1:], max(steps_end, op_end))
    return earliest, end


def _pool_ops(trace: Trace, steps: Steps) -> dict[int, list[Events]]:
    """The events of each name that ran at most once a step, on threads that do not dispatch."""
    by_name: dict[int, list[Events]] = {}
    for _, _, track in trace.threads():
        if _INPUT_LINE.search(track.name):
            continue
        events = track.events
        dispatches = are_among(steps.start, events.start).any()
        if dispatches:
            continue
        counts = np.bincount(events.name.astype(np.int64))
        is_rare = (counts > 0) & (counts <= len(steps))
        for name in np.flatnonzero(is_rare).tolist():
            events_of_name = events[events.name == name]
            by_name.setdefault(name, []).append(events_of_name)
    return by_name


def _on_host(trace: Trace, start: Int64s, stop: Int64s, lines: Int32s) -> WorkDone:
    """What repeats with the steps, which begin and end then; `lines` hold their marks."""
    stops = np.maximum.accumulate(stop)
    total = 0
    outside = 0
    end = int(stops[-1])
    by_process = _events_by_process(trace, frozenset(lines.tolist()))
    if not by_process:
        return WorkDone(total=0, outside=0, end=end)
    families = _families(trace)
    family_count = int(families.max(initial=0)) + 1
    min_count = _MIN_TIMES_A_STEP * len(start)
    for parts in by_process.values():
        # Pools hand the work of a step to any of their threads: count per process, not per line.
        counts = np.zeros(family_count, np.int64)
        for events in parts:
            family = families[events.name]
            counts += np.bincount(family, minlength=family_count)
        repeats = counts >= min_count
        for events in parts:
            family = families[events.name]
            is_work = repeats[family] & (events.duration > 0)
            if not is_work.any():
                continue
            work = events[np.flatnonzero(is_work)]
            in_step, _ = open_at(start, stops, work.start)
            outside_steps = work.duration[~in_step]
            total += int(work.duration.sum())
            outside += int(outside_steps.sum())
            end = max(end, int(work.end.max()))
    return WorkDone(total=total, outside=outside, end=end)


def _events_by_process(trace: Trace, marked_lines: frozenset[int]) -> dict[int, list[Events]]:
    """The events of threads and streams that hold no mark and feed no input, by process."""
    by_process: dict[int, list[Events]] = {}
    for line, (process, track) in enumerate(trace.tracks()):
        if process.kind not in (ProcessKind.HOST, ProcessKind.DEVICE):
            continue
        if track.derived or line in marked_lines or not len(track.events):
            continue
        if _INPUT_LINE.search(track.name):
            continue
        by_process.setdefault(id(process), []).append(track.events)
    return by_process


def _families(trace: Trace) -> Int64s:
    """Names that differ in their numbers alone, as one."""
    count = len(trace.names)
    families = np.arange(count, dtype=np.int64)
    if count > _MAX_NAMES:
        return families
    codes: dict[str, int] = {}
    for index in range(count):
        name = trace.names.full(index)
        family = _DIGITS.sub("", name)
        families[index] = codes.setdefault(family, len(codes))
    return families
