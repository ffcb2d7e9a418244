"""Calls of TensorFlow's compiled functions: what runs once a step where nothing marks one.

A call is an event that carries `tf_function_call`, by the Python function's name. Training and
validation may share that name (Keras calls both `multi_step_on_iterator`): what was compiled for
each stands in the `EagerLocalExecute: __inference_…` inside it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data import texts
from powertui.data.model import Bools, Events, Int64s, ProcessKind, Trace, Track
from powertui.data.run import marks

_CALL = "tf_function_call"
# What a graph runs to take a batch from its iterator.
_INPUT_OPS = ("IteratorGetNextAsOptionalOp::DoCompute", "IteratorGetNextOp::DoCompute")
_NONE = np.empty(0, np.int64)
_MIN_CALLS = 3  # fewer agree by chance
_MIN_EQUAL_SHARE = 0.8  # of the calls; the profile's ends cut some. Chosen, not measured
_GRAPH = "EagerLocalExecute: __inference_"


def calls(trace: Trace) -> Iterator[tuple[int, Track, int, Events]]:
    """(line, its track, name, its events by start) of every function, or of every graph where one
    function ran several.
    """
    graphs = np.fromiter(
        (trace.names.full(i).startswith(_GRAPH) for i in range(len(trace.names))),
        np.bool_,
        len(trace.names),
    )
    for line, (process, track) in enumerate(trace.tracks()):
        if process.kind is not ProcessKind.HOST or track.derived or not len(track.events):
            continue
        if not graphs[track.events.name].any():  # the only lines that call any
            continue
        called = marks.carried(trace, process, [track], (_CALL,))[_CALL]
        for name in np.flatnonzero(called).tolist():
            events = _of(track, track.events.name == name)
            inner = _of(track, graphs[track.events.name])
            held = inner[_within(events, inner)]
            compiled = np.unique(held.name)
            if len(compiled) > 1:
                yield from (
                    (line, track, int(graph), held[held.name == graph])
                    for graph in compiled.tolist()
                )
            elif len(events):
                yield line, track, name, events


def batches_taken(trace: Trace, starts: Int64s) -> int:
    """How many batches each call takes from its input, by the starts of the calls; 0 where they
    differ or nothing says so.
    """
    asked = texts.beginning(trace.names, *_INPUT_OPS, whole=True)
    if not asked.any() or len(starts) < _MIN_CALLS:
        return 0
    moments = [
        track.events.start[asked[track.events.name]]
        for process, track in trace.tracks()
        if process.kind is ProcessKind.HOST and not track.derived and len(track.events)
    ]
    step = np.searchsorted(np.sort(starts), np.concatenate([_NONE, *moments]), side="right") - 1
    taken = np.bincount(step[step >= 0], minlength=len(starts))
    usual = int(np.median(taken))
    return usual if (taken == usual).mean() >= _MIN_EQUAL_SHARE else 0


def _of(track: Track, rows: Bools) -> Events:
    events = track.events[rows]
    return events[np.argsort(events.start, kind="stable")]


def _within(outer: Events, inner: Events) -> Bools:
    """Which of the inner events lie in an outer one."""
    if not len(outer):
        return np.zeros(len(inner), np.bool_)
    until = np.maximum.accumulate(outer.end)
    place = outer.start.searchsorted(inner.start, side="right") - 1
    return np.asarray((place >= 0) & (inner.end <= until[np.maximum(place, 0)]))
