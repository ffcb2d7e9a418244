"""Annotations of the program that repeat without a number: the requests of a server, or steps whose
loop does not count them.

Such a name is a candidate only where it is most of what its threads did: what a program annotates
besides (a metric, the reading of a file) is a small part of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from powertui.data import name_shapes
from powertui.data.model import Bools, Trace, Track
from powertui.data.run import marks
from powertui.data.run.candidates import AROUND, BESIDES, NONE, Candidate, pattern_of
from powertui.data.run.device_intervals import any_ps
from powertui.data.run.marks import TRAINING, Marks
from powertui.patterns import late_pattern

_MIN_ANNOTATIONS = 5  # fewer repeat by chance. Chosen, not measured
# Of the time in which the annotated threads did anything. Chosen, not measured.
_MIN_THREAD_SHARE = 0.5
# What runtimes write on the threads of a program: frames, types and arguments, ops of XLA with
# their numbers, calls in CamelCase, the stages of compiling.
_RUNTIME = late_pattern(
    r"^[A-Z]\w*$|[:()$#\[\]/]|\.\d+$|compile|jaxpr|mlir|lower(?:ing)?_|sharding"
)
_NO_PERSON = late_pattern(r"[:()$#\[\]/]")  # the same, where the category says who wrote it
_PYTHON = late_pattern(r"python", re.IGNORECASE)
_CATEGORY = "user_annotation"


def annotated_series(trace: Trace) -> Iterator[Candidate]:
    """Each name that was annotated again and again and is most of what its threads did."""
    annotated = _annotated(trace)
    if not annotated.any():
        return
    lines = []
    counts = np.zeros(len(trace.names), np.int64)
    for number, _, track in trace.threads():
        if annotated[track.events.name].any():
            lines.append((number, track))
            counts += np.bincount(track.events.name, minlength=len(counts))
    is_frame = name_shapes.beginning(trace.names, "$")  # of Python
    for name in np.flatnonzero(annotated & (counts >= _MIN_ANNOTATIONS)).tolist():
        marks_on = list(_marks_by_track(trace, lines, name))
        chosen = marks.join_marks([part.outermost() for part, _ in marks_on])
        if len(chosen) < _MIN_ANNOTATIONS or (chosen.phase != TRAINING).any():
            continue
        if _thread_share(marks_on, is_frame) >= _MIN_THREAD_SHARE:
            full = trace.names.full(name)
            yield Candidate(
                title=f"annotations named {full[:80]} (no step marker in the profile)",
                pattern=pattern_of([full]),
                marks=chosen,
                numbering=NONE,
                inferred=True,
                repeats="annotations",
            )


def _marks_by_track(
    trace: Trace,
    lines: list[tuple[int, Track]],
    name: int,
) -> Iterator[tuple[Marks, Track]]:
    """The events of one name, line by line."""
    for number, track in lines:
        rows = track.events.name == name
        if rows.any():
            yield marks.of_events(trace, number, track.events[rows]), track


def _thread_share(marks_on: list[tuple[Marks, Track]], is_frame: Bools) -> float:
    """Of the time in which these threads ran anything but frames, the part in the annotations."""
    annotated_ps, ran_ps = 0, 0
    for made, track in marks_on:
        events = track.events
        rows = ~is_frame[events.name]
        annotated_ps += any_ps(made.start, made.end)
        ran_ps += any_ps(events.start[rows], events.end[rows])
    return annotated_ps / ran_ps if ran_ps else 0.0


def _annotated(trace: Trace) -> Bools:
    """Which names a program gave to stretches of its own."""
    used = np.zeros(len(trace.names), np.bool_)
    for _, _, track in trace.threads():
        if trace.format == "kineto" or _PYTHON.search(track.name):
            used[track.events.name] = True
    out = used
    if used.any():
        out = _by_person(trace, used)
    out[trace.lost_names.start : trace.lost_names.stop] = False  # who wrote them is not known
    return out


def holding_annotations(trace: Trace) -> Bools:
    """Those of them that hold other events. Where nothing says who wrote a name, one that holds
    none may be a call of the runtime.
    """
    annotated = _annotated(trace)
    if trace.format == "kineto" or not annotated.any():
        return annotated
    holds = np.zeros(len(annotated), np.bool_)
    for _, _, track in trace.threads():
        for depth in range(track.lane_count - 1):
            lane = track.lane(depth)
            # Of ten million events hardly any has a name that is still asked about.
            is_open = annotated & ~holds
            rows = np.flatnonzero(is_open.take(lane.name))
            if not len(rows):
                continue
            start = lane.start.take(rows)
            end = start + lane.duration.take(rows)
            inner = track.lane(depth + 1).start
            last = len(inner) - 1
            first = np.minimum(inner.searchsorted(start), last)
            begins = inner.take(first)
            is_around = (begins >= start) & (begins < end)
            holding_names = lane.name[rows[is_around]]
            holds[holding_names] = True
    return annotated & holds


def _by_person(trace: Trace, used: Bools) -> Bools:
    """Which of the used names a person may have written."""
    by_runtime = _NO_PERSON if trace.format == "kineto" else _RUNTIME
    patterns = (BESIDES, AROUND, by_runtime)
    out = used & name_shapes.name_shapes(trace.names).where(
        lambda name: not any(pattern.search(name) for pattern in patterns)
    )
    if trace.format == "kineto":
        for index in np.flatnonzero(out).tolist():
            stats = trace.names.stats(index)
            out[index] = any(stat.name == "cat" and stat.value == _CATEGORY for stat in stats)
    return out
