"""Annotations of the program that repeat without a number: the requests of a server, or steps whose
loop does not count them.

Such a name is a candidate only where it is most of what its threads did: what a program annotates
besides (a metric, the reading of a file) is a small part of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from powertui.data.model import Bools, Int64s, ProcessKind, Trace, Track
from powertui.data.run import marks
from powertui.data.run.candidates import NONE, Candidate, pattern_of
from powertui.data.run.device_intervals import covered_ps
from powertui.data.run.marker_choice import AROUND, BESIDES
from powertui.data.run.marks import TRAINING, Marks

_MIN_ANNOTATIONS = 5  # fewer repeat by chance. Chosen, not measured
# Of the time in which the annotated threads did anything. Chosen, not measured.
_MIN_THREAD_SHARE = 0.5
# What runtimes write on the threads of a program: frames, types and arguments, ops of XLA with
# their numbers, calls in CamelCase, the stages of compiling.
_RUNTIME = re.compile(r"^[A-Z]\w*$|[:()$#\[\]/]|\.\d+$|compile|jaxpr|mlir|lower(?:ing)?_|sharding")
_NO_PERSON = re.compile(r"[:()$#\[\]/]")  # the same, where the category says who wrote it
_PYTHON = re.compile(r"python", re.IGNORECASE)
_CATEGORY = "user_annotation"


def annotated_series(trace: Trace) -> Iterator[Candidate]:
    """Each name that was annotated again and again and is most of what its threads did."""
    annotated = _annotated(trace)
    if not annotated.any():
        return
    lines = [
        (number, track)
        for number, (process, track) in enumerate(trace.tracks())
        if process.kind is ProcessKind.HOST
        and not track.derived
        and len(track.events)
        and annotated[track.events.name].any()
    ]
    counts = np.zeros(len(trace.names), np.int64)
    for _, track in lines:
        counts += np.bincount(track.events.name, minlength=len(counts))
    frames = _frames(trace)
    for name in np.flatnonzero(annotated & (counts >= _MIN_ANNOTATIONS)).tolist():
        found = [
            (marks.of_events(trace, number, track.events[track.events.name == name]), track)
            for number, track in lines
            if (track.events.name == name).any()
        ]
        chosen = marks.join_marks([part.outermost() for part, _ in found])
        if len(chosen) < _MIN_ANNOTATIONS or (chosen.phase != TRAINING).any():
            continue
        if _thread_share([track for _, track in found], found, frames) >= _MIN_THREAD_SHARE:
            full = trace.names.full(name)
            yield Candidate(
                f"annotations named {full[:80]} (no step marker in the profile)",
                pattern_of([full]),
                chosen,
                NONE,
                inferred=True,
                repeats="annotations",
            )


def _thread_share(tracks: list[Track], found: list[tuple[Marks, Track]], frames: Bools) -> float:
    """Of the time in which these threads ran anything but frames, the part in the annotations."""
    held, ran = 0, 0
    for (part, _), track in zip(found, tracks, strict=True):
        events = track.events
        rows = ~frames[events.name]
        held += _covered(part.start, part.start + part.duration)
        ran += _covered(events.start[rows], events.end[rows])
    return held / ran if ran else 0.0


def _covered(start: Int64s, end: Int64s) -> int:
    return int(covered_ps(np.zeros(len(start), np.int64), start, end, 1)[0]) if len(start) else 0


def _frames(trace: Trace) -> Bools:
    """Which names are frames of Python."""
    return np.fromiter(
        (trace.names.full(i).startswith("$") for i in range(len(trace.names))),
        np.bool_,
        len(trace.names),
    )


def _annotated(trace: Trace) -> Bools:
    """Which names a program gave to stretches of its own."""
    out = np.zeros(len(trace.names), np.bool_)
    for process, track in trace.tracks():
        if process.kind is not ProcessKind.HOST or track.derived or not len(track.events):
            continue
        if trace.format != "kineto" and not _PYTHON.search(track.name):
            continue
        for name in np.unique(track.events.name).tolist():
            out[name] = out[name] or _is_annotation(trace, name)
    return out


def _is_annotation(trace: Trace, name: int) -> bool:
    full = trace.names.full(name)
    if BESIDES.search(full) or AROUND.search(full):
        return False
    if trace.format != "kineto":
        return _RUNTIME.search(full) is None
    categories = (stat.value for stat in trace.names.stats(name) if stat.name == "cat")
    return _CATEGORY in categories and _NO_PERSON.search(full) is None
