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
_MIN_CALLS = 3  # fewer agree by chance
_MIN_EQUAL_SHARE = 0.8  # of the calls; the profile's ends cut some. Chosen, not measured
_GRAPH = "EagerLocalExecute: __inference_"


def calls(trace: Trace) -> Iterator[tuple[int, Track, int, Events]]:
    """(line, its track, name, its events by start) of every function, or of every graph where one
    function ran several.
    """
    is_graph = texts.beginning(trace.names, _GRAPH)
    for line, (process, track) in enumerate(trace.tracks()):
        if process.kind is not ProcessKind.HOST or track.derived or not len(track.events):
            continue
        runs_graph = is_graph[track.events.name]
        if not runs_graph.any():  # the only lines that call any
            continue
        graph_events = _by_start(track, runs_graph)
        called = marks.carried(trace, process, [track], (_CALL,))[_CALL]
        for name in np.flatnonzero(called).tolist():
            events = _by_start(track, track.events.name == name)
            inner = graph_events[_within(events, graph_events)]
            graphs = np.unique(inner.name).tolist()
            if len(graphs) > 1:
                for graph in graphs:
                    yield line, track, graph, inner[inner.name == graph]
            elif len(events):
                yield line, track, name, events


def batches_taken(trace: Trace, starts: Int64s) -> int:
    """How many batches each call takes from its input, by the starts of the calls; 0 where they
    differ or nothing says so.
    """
    takes_batch = texts.beginning(trace.names, *_INPUT_OPS, whole=True)
    if not takes_batch.any() or len(starts) < _MIN_CALLS:
        return 0
    moments = [np.empty(0, np.int64)]
    for process, track in trace.tracks():
        if process.kind is ProcessKind.HOST and not track.derived and len(track.events):
            moments.append(track.events.start[takes_batch[track.events.name]])
    step = np.searchsorted(np.sort(starts), np.concatenate(moments), side="right") - 1
    batches = np.bincount(step[step >= 0], minlength=len(starts))
    median = int(np.median(batches))
    return median if (batches == median).mean() >= _MIN_EQUAL_SHARE else 0


def _by_start(track: Track, rows: Bools) -> Events:
    events = track.events[rows]
    return events[np.argsort(events.start, kind="stable")]


def _within(outer: Events, inner: Events) -> Bools:
    """Which of the inner events lie in an outer one."""
    if not len(outer):
        return np.zeros(len(inner), np.bool_)
    reached = np.maximum.accumulate(outer.end)
    place = outer.start.searchsorted(inner.start, side="right") - 1
    return np.asarray((place >= 0) & (inner.end <= reached[np.maximum(place, 0)]))
