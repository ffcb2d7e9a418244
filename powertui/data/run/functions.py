"""Launches of compiled functions: what runs once a step where nothing marks one, how much of the
host's XLA ops each launch runs, and which function trains.

A call of TensorFlow's is an event that carries `tf_function_call`, by the Python function's name.
Training and validation may share that name (Keras calls both `multi_step_on_iterator`): what was
compiled for each is the `EagerLocalExecute: __inference_…` inside it.

A function of JAX that is launched once in ten steps may block for longer than all of them: its own
time says little. What XLA ran for it does, and so do the gradients in its program: the HLO of a
training step holds transposed derivatives, the graph of one holds ops of a gradient tape.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from powertui.data import name_shapes, texts, wire
from powertui.data.model import Bools, Events, Int64s, Trace, Track
from powertui.data.quantiles import median_of_column
from powertui.data.run.device_intervals import host_lines
from powertui.data.run.marks import Marks
from powertui.data.run.stat_carriers import carried, rows_named
from powertui.data.sorted_columns import last_begun
from powertui.patterns import late_pattern

_CALL = "tf_function_call"
# What a graph runs to take a batch from its iterator.
_INPUT_OPS = ("IteratorGetNextAsOptionalOp::DoCompute", "IteratorGetNextOp::DoCompute")
_MIN_CALLS = 3  # fewer agree by chance
_MIN_EQUAL_SHARE = 0.8  # of the calls; the profile's ends cut some. Chosen, not measured
_GRAPH = "EagerLocalExecute: __inference_"
# Ops of one line that are looked at: evenly spread, of longer lines. Chosen, not measured.
_MAX_OPS = 20_000
_LAUNCH = late_pattern(
    r"^(?:PjitFunction\((?P<called>.+)\)|(?:jit|pjit|pmap|xla)_(?P<module>\w+))$"
)
_NOT_WORD = late_pattern(r"\W+")
_GRADIENT_IN_HLO = b"transpose(jvp"
_GRADIENT_OPS = (b"gradient_tape/", b"backprop", b"resourceapply", b"assignsubvariable")
# Of a function's launches: in so many of them gradients were computed. Chosen, not measured.
_MIN_TRAINING_LAUNCHES = 0.5


def calls(trace: Trace) -> Iterator[tuple[int, Track, int, Events]]:
    """(line, its track, name, its events by start) of every function, or of every graph where one
    function ran several.
    """
    is_graph = name_shapes.beginning(trace.names, _GRAPH)
    for line, process, track in trace.threads():
        names = track.events.name
        runs_graph = is_graph[names]
        if not runs_graph.any():  # the only lines that call any
            continue
        graph_events = _by_start(track, runs_graph)
        called = carried(trace, process, [track], (_CALL,))[_CALL]
        for name in np.flatnonzero(called).tolist():
            events = _by_start(track, names == name)
            is_inner = _within(events, graph_events)
            inner = graph_events[is_inner]
            graphs = wire.distinct(inner.name).tolist()
            if len(graphs) > 1:
                for graph in graphs:
                    yield line, track, graph, inner[inner.name == graph]
            elif len(events):
                yield line, track, name, events


def batches_taken(trace: Trace, starts: Int64s) -> int:
    """How many batches each call takes from its input, by the starts of the calls; 0 where they
    differ or nothing says so.
    """
    takes_batch = name_shapes.beginning(trace.names, *_INPUT_OPS, whole=True)
    if not takes_batch.any() or len(starts) < _MIN_CALLS:
        return 0
    moment_parts = [np.empty(0, np.int64)]
    for _, _, track in trace.threads():
        rows = takes_batch[track.events.name]
        moment_parts.append(track.events.start[rows])
    moments = np.concatenate(moment_parts)
    call = np.searchsorted(np.sort(starts), moments, side="right") - 1
    batches = np.bincount(call[call >= 0], minlength=len(starts))
    median = int(median_of_column(batches))
    equal_share = (batches == median).mean()
    return median if equal_share >= _MIN_EQUAL_SHARE else 0


def _by_start(track: Track, rows: Bools) -> Events:
    events = track.events[rows]
    by_start = np.argsort(events.start, kind="stable")
    return events[by_start]


def _within(outer: Events, inner: Events) -> Bools:
    """Which of the inner events lie in an outer one."""
    if not len(outer):
        return np.zeros(len(inner), np.bool_)
    reached = np.maximum.accumulate(outer.end)
    any_begun, last = last_begun(outer.start, inner.start)
    return np.asarray(any_begun & (inner.end <= reached[last]))


# ── what their launches carry ────────────────────────────────────────────────────────────────────


def function_key(name: str) -> str:
    """What a launch and the program that it runs have in common: "step" of `PjitFunction(step)` and
    of `jit_step`; "" for what launches no XLA program.
    """
    match = _LAUNCH.match(name)
    if match is None:
        return ""
    function = match["called"] or match["module"]
    return _NOT_WORD.sub("_", function).strip("_")


def shares_of_functions(trace: Trace) -> dict[str, float]:
    """The share of XLA's ops on the host that ran for each function; empty without such ops."""
    lengths: dict[str, float] = defaultdict(float)
    for process, lines in host_lines(trace):
        tracks = [track for _, track in lines]
        has_op = carried(trace, process, tracks, ("hlo_op",))["hlo_op"]
        for track in tracks:
            events = track.events
            rows = rows_named(events.name, has_op)
            if not len(rows):
                continue
            every = len(rows) // _MAX_OPS + 1
            rows = rows[::every]
            columns = process.source.columns(events.positions(rows), ("hlo_module",))
            modules = columns["hlo_module"]
            for row, ps in enumerate(events.duration[rows].tolist()):
                module = modules.text(row) or ""
                lengths[function_key(module)] += ps
    total = sum(lengths.values())
    if not total:
        return {}
    return {key: ps / total for key, ps in lengths.items() if key}


def training_functions(trace: Trace) -> frozenset[str]:
    """The functions whose XLA program computes gradients."""
    keys = set()
    for process in trace.processes:
        if not process.name.startswith("/host:metadata"):
            continue
        for index in getattr(process.source, "names", ()):
            programs = [stat.value for stat in trace.names.stats(index)]
            if any(_holds_gradient(program) for program in programs):
                module, _, _ = trace.names.full(index).partition("(")
                keys.add(function_key(module))
    return frozenset(keys)


def _holds_gradient(program: object) -> bool:
    return isinstance(program, bytes) and _GRADIENT_IN_HLO in program


def gradient_moments(trace: Trace) -> Int64s:
    """When TensorFlow's ops that compute or apply gradients began on the host, ascending."""
    names = _gradient_names(trace)
    parts = [np.empty(0, np.int64)]
    for _, _, track in trace.threads():
        rows = rows_named(track.events.name, names)
        parts.append(track.events.start[rows])
    return np.sort(np.concatenate(parts))


def trains(launches: Marks, moments: Int64s) -> bool:
    """Whether gradients were computed in most of these launches."""
    first = moments.searchsorted(launches.start)
    last = moments.searchsorted(launches.end)
    return bool((last > first).mean() >= _MIN_TRAINING_LAUNCHES)


def _gradient_names(trace: Trace) -> Bools:
    count = len(trace.names)
    is_gradient = np.zeros(count, np.bool_)
    for first in range(0, count, texts.BATCH):
        after = min(first + texts.BATCH, count)
        batch = np.arange(first, after)
        lower = trace.names.texts(batch).lower()
        for part in _GRADIENT_OPS:
            is_gradient[batch] |= lower.contain(part)
    return is_gradient
