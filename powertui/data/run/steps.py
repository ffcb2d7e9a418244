"""Steps, from whatever marks them, with the marker named.

In this order: what a person says (`--step-marker`); explicit markers (`train`, `test`, `TraceContext`, or a `step_name`);
any host event with a `step_num` (Keras 3 writes `Profiled batch`, JAX whatever the program says); `Steps` lines of
devices; `ProfilerStep#N`; and when nothing marks a step, the module or function that ran again and again. A loop inside
the graph (`ExecutorState::Process` with iteration numbers) never hides markers: it is not asked.

Callers want `epochs.mark`, which calls this and places the steps in epochs.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Events, Int32s, Int64s, ProcessKind, Steps, Trace, Track, TrackKind
from powertui.data.run import marks
from powertui.data.run.marks import Marks
from powertui.errors import UsageError

_PROFILER_STEP = re.compile(r"^ProfilerStep\s*#?\s*\d+$")

# What launches a compiled module or graph on the host, the surest first.
_LAUNCHES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^PjitFunction\(.+\)$",
        r"^(jit|pjit|pmap|xla)_\w+",
        r"^(FunctionRun|SessionRun|Session::Run|RunGraph)$",
        r"(PjRt|Pjrt|Tfrt|StreamExecutor)\w*(Loaded)?Executable::Execute$",
    )
)
_MIN_LAUNCHES = 3

# A line that feeds the input pipeline is not the work of a step that runs on.
_INPUT_LINE = re.compile(r"tf_data|iterator", re.IGNORECASE)
_WORK_GOES_ON = 0.5  # share of the steps' work that runs while no marker is open
_SHORT_MARKER = 0.5  # time around the markers, as a share of theirs


class Found(NamedTuple):
    """Steps, and what marks the evaluation that ran between them."""

    steps: Steps
    evaluation: Marks
    epoch_num: bool = False  # Steps.epoch holds the program's own numbers, not counts of restarts
    inferred: bool = False  # nothing marks these steps: they are launches that repeat


def find(trace: Trace, *, marker: str | None = None) -> Steps:
    """The steps of one trace. `marker` is a person's regex for names of events that are steps."""
    return search(trace, marker=marker).steps


def search(trace: Trace, *, marker: str | None = None) -> Found:
    """As `find`, with the evaluation steps apart. Steps.epoch counts restarts of the step number, or is epoch_num."""
    if marker is not None:
        return _by_name(trace, marker)
    carried = marks.marked(trace)
    for chosen in (carried.explicit, carried.titled, carried.numbered):
        if chosen.any():
            return _found(trace, carried.take(chosen))
    for attempt in (_device_lines, _profiler_steps, _launches):
        found = attempt(trace)
        if len(found.steps):
            return found
    why = "no event carries a step number and no module was launched three times"
    return nothing(why if trace.event_count else "nothing was recorded")


def nothing(why: str = "") -> Found:
    """No steps, and the reason."""
    return Found(Steps.none(why), marks.join([]))


# ── the sources ──────────────────────────────────────────────────────────────────────────────────


def _by_name(trace: Trace, marker: str) -> Found:
    try:
        pattern = re.compile(marker)
    except re.error as error:
        hint = "Example: --step-marker '^train_step'"
        raise UsageError(f"--step-marker {marker!r} is not a regular expression: {error}", hint=hint) from None

    def matches(name: str) -> bool:
        return pattern.search(name) is not None

    for kinds in ((ProcessKind.HOST,), (ProcessKind.DEVICE, ProcessKind.OTHER)):
        found = marks.named(trace, matches, kinds=kinds)
        if len(found):
            return _found(trace, found, f"events that match --step-marker {marker!r}", split_evaluation=False)
    return nothing(f"no event's name matches --step-marker {marker!r}")


def _device_lines(trace: Trace) -> Found:
    """`Steps` lines that the collector drew. The same step on several devices is one step."""
    parts: list[Marks] = []
    planes: set[str] = set()
    for line, (process, track) in enumerate(trace.tracks()):
        if track.kind is TrackKind.STEPS and process.kind is ProcessKind.DEVICE and len(track.events):
            parts.append(marks.of_events(trace, line, track.lane(0)))
            planes.add(process.name)
    whole = marks.join(parts)
    if not len(whole):
        return Found(Steps.none(), whole)
    united: dict[str, list[int]] = {}
    for row, label in enumerate(whole.labels):
        united.setdefault(label, []).append(row)
    if len(united) * len(parts) >= len(whole) and len(parts) > 1:
        end = whole.start + whole.duration
        first = np.array([rows[0] for rows in united.values()], np.int64)
        stop = np.array([end[rows].max() for rows in united.values()], np.int64)
        whole = whole.take(first)
        whole = replace(whole, duration=stop - whole.start)
    names = ", ".join(sorted(planes)[:3]) + (f" and {len(planes) - 3} more" if len(planes) > 3 else "")
    return _found(trace, whole, f"the Steps line of {names}")


def _profiler_steps(trace: Trace) -> Found:
    for kinds in ((ProcessKind.HOST,), (ProcessKind.DEVICE, ProcessKind.OTHER)):
        found = marks.named(trace, lambda name: _PROFILER_STEP.match(name) is not None, kinds=kinds)
        if len(found):
            return _found(trace, found, "events named ProfilerStep#N")
    return nothing()


def _launches(trace: Trace) -> Found:
    """No marker at all: the module that took most time of those that ran again and again."""
    best: tuple[int, int, Track, int] | None = None
    for line, (_, track) in enumerate(trace.tracks()):
        if track.kind is TrackKind.MODULES and len(track.events):
            events = track.lane(0)
            name, total = _dominant(events, np.ones(len(trace.names), np.bool_))
            if name >= 0 and (best is None or total > best[0]):
                best = (total, line, track, name)
    if best is not None:
        _, line, track, name = best
        events = track.lane(0)
        chosen = marks.of_events(trace, line, events[events.name == name])
        return _ordinals(trace, chosen, f"launches of the module {trace.names.full(name)[:80]} (no step marker in the profile)")
    for pattern in _LAUNCHES:
        wanted = np.fromiter((pattern.search(trace.names.full(i)) is not None for i in range(len(trace.names))), np.bool_)
        if not wanted.any():
            continue
        host: tuple[int, int, Track, int] | None = None
        for line, (process, track) in enumerate(trace.tracks()):
            if process.kind is ProcessKind.HOST and not track.derived and len(track.events):
                name, total = _dominant(track.events, wanted)
                if name >= 0 and (host is None or total > host[0]):
                    host = (total, line, track, name)
        if host is not None:
            _, line, track, name = host
            chosen = marks.of_events(trace, line, _by_start(track.events[track.events.name == name])).outermost()
            if len(chosen) >= _MIN_LAUNCHES:
                return _ordinals(trace, chosen, f"launches of {trace.names.full(name)[:80]} (no step marker in the profile)")
    return nothing()


def _dominant(events: Events, wanted: Bools) -> tuple[int, int]:
    """(name, its ps without the longest) of the wanted name that took most time and ran often enough; (-1, 0) for none."""
    rows = wanted[events.name]
    if not rows.any():
        return -1, 0
    names, which, counts = np.unique(events.name[rows], return_inverse=True, return_counts=True)
    durations = events.duration[rows].astype(np.float64)
    spent = np.bincount(which.ravel(), weights=durations).astype(np.float64)
    longest = np.zeros(len(names))
    np.maximum.at(longest, which.ravel(), durations)
    totals = spent - longest  # the first launch traces and compiles: a helper that ran once more must not win by that
    totals[counts < _MIN_LAUNCHES] = -1
    top = int(np.argmax(totals))
    return (int(names[top]), int(totals[top])) if totals[top] >= 0 else (-1, 0)


def _by_start(events: Events) -> Events:
    return events[np.argsort(events.start, kind="stable")]


def _ordinals(trace: Trace, chosen: Marks, source: str) -> Found:
    """Launches carry no number of their own: count them."""
    count = len(chosen)
    numbered = replace(chosen, number=np.arange(count), labels=[f"launch {i}" for i in range(count)])
    return _found(trace, numbered, source)._replace(inferred=True)


# ── from marks to steps ──────────────────────────────────────────────────────────────────────────


def _found(trace: Trace, chosen: Marks, source: str = "", split_evaluation: bool = True) -> Found:
    chosen = chosen.outermost()
    evaluation = chosen.take(chosen.evaluation)
    training = chosen.take(~chosen.evaluation)
    if not split_evaluation or not len(training):  # a profile of an evaluation alone: its steps are the steps
        training, evaluation = chosen, marks.join([])
    source = source or _describe(training)
    number = training.number.copy()
    if not (number >= 0).any():
        number = np.arange(len(number))
        source += ", numbered in order"
    own = bool((training.epoch >= 0).any())
    epoch = training.epoch.astype(np.int32) if own else _restarts(number)
    steps = Steps(number, training.start, training.duration, epoch, training.labels, source, host=training.duration)
    if len(steps) and _asynchronous(trace, steps, training.lines):
        steps = replace(steps, asynchronous=True)
    return Found(steps, evaluation, own)


def _describe(chosen: Marks) -> str:
    kinds: dict[str, int] = {}
    for kind in chosen.kinds:
        kinds[kind] = kinds.get(kind, 0) + 1
    names = sorted(kinds, key=lambda kind: -kinds[kind])
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more names" if len(names) > 3 else "")
    stat = "step_num" if chosen.numbered.any() else "step_name" if chosen.titled.any() else "root mark"
    extra = " and an epoch_num" if (chosen.epoch >= 0).any() else ""
    return f"events named {shown} with a {stat}{extra}"


def _restarts(number: Int64s) -> Int32s:
    """Which time around: a step number below the one before it starts again. -1 everywhere when that never happens."""
    if len(number) < 2:
        return np.full(len(number), -1, np.int32)
    again = np.concatenate([[False], number[1:] < number[:-1]])
    if not again.any():
        return np.full(len(number), -1, np.int32)
    return np.cumsum(again).astype(np.int32)


# ── asynchronous dispatch ────────────────────────────────────────────────────────────────────────


class Work(NamedTuple):
    """What runs as often as the steps do, on other lines than the marker's: the work that the steps asked for."""

    total: int  # ps
    outside: int  # of which began when no step's marker was open
    end: int  # when the last of it ended


def work_of(trace: Trace, steps: Steps, lines: Int32s | None = None) -> Work:
    """The work of the steps: events whose name occurs a whole multiple of the step count, on lines that do work."""
    own = set(lines.tolist()) if lines is not None else set()
    stops = steps.start + steps.duration
    total = outside = 0
    end = int(stops.max())
    by_process: dict[int, list[Events]] = {}
    for line, (process, track) in enumerate(trace.tracks()):
        real = process.kind in (ProcessKind.HOST, ProcessKind.DEVICE) and not track.derived and len(track.events)
        if real and line not in own and not _INPUT_LINE.search(track.name):
            by_process.setdefault(id(process), []).append(track.events)
    for several in by_process.values():
        # Pools hand the work of a step to any of their threads: count per process, not per line.
        counts = np.zeros(len(trace.names), np.int64)
        for events in several:
            counts += np.bincount(events.name, minlength=len(counts))
        repeats = (counts >= len(steps)) & (counts % len(steps) == 0)
        for events in several:
            rows = np.flatnonzero(repeats[events.name] & (events.duration > 0))
            if not len(rows):
                continue
            work = events[rows]
            inside = np.searchsorted(steps.start, work.start, side="right") - 1
            in_step = (inside >= 0) & (work.start < stops[np.maximum(inside, 0)])
            total += int(work.duration.sum())
            outside += int(work.duration[~in_step].sum())
            end = max(end, int(work.end.max()))
    return Work(total, outside, end)


def _asynchronous(trace: Trace, steps: Steps, lines: Int32s) -> bool:
    """Whether the marker ends before the work does: JAX dispatches and returns, GPUs run on."""
    stop = int((steps.start + steps.duration).max())
    if len(steps) < _MIN_LAUNCHES:
        return _works_on_devices(trace, stop, int(steps.duration[-1]))
    # Cheap first: markers that fill the time, with little after the last, cannot hide much.
    marked = int(steps.duration.sum())
    around = max(stop, trace.span[1]) - int(steps.start[0]) - marked
    if around < _SHORT_MARKER * marked:
        return False
    work = work_of(trace, steps, lines)
    return work.outside > _WORK_GOES_ON * work.total


def _works_on_devices(trace: Trace, end: int, duration: int) -> bool:
    """For a single step: whether the devices' own step lines end clearly later than its marker."""
    for process, track in trace.tracks():
        if track.kind is TrackKind.STEPS and process.kind is ProcessKind.DEVICE and len(track.events):
            lane = track.lane(0)
            if int(lane.end.max()) > end + duration // 2:
                return True
    return False
