"""Modules, functions and calls that ran three times or more: what could be the steps where nothing
marks any.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.jax_ops import is_single_operation
from powertui.data.model import Bools, Events, Trace, TrackKind
from powertui.data.run import functions, marks, step_rows
from powertui.data.run.candidates import (
    MIN_LAUNCHES,
    NONE,
    Candidate,
    escaped,
    interleaved,
    pattern_of,
)
from powertui.data.run.marks import Marks
from powertui.patterns import late_pattern

# What launches a compiled module or graph on the host, the surest first.
_LAUNCHES = tuple(
    late_pattern(pattern)
    for pattern in (
        r"^PjitFunction\(.+\)$",
        r"^(jit|pjit|pmap|xla)_\w+",
        r"^(FunctionRun|SessionRun|Session::Run|RunGraph)$",
        r"(PjRt|Pjrt|Tfrt|StreamExecutor)\w*(Loaded)?Executable::Execute$",
    )
)
# Single operations that JAX's eager mode compiles on the way to the work: never a step.
_HELPERS = late_pattern(
    r"^(PjitFunction\(|jit_)_?(convert_element_type|broadcast_in_dim|broadcast|copy|iota|full|zeros_like|ones_like|reshape|squeeze"
    r"|expand_dims|transpose|concatenate|slice|dynamic_slice|device_put|threefry\w*|random_\w+|fold_in|split|uniform|normal|randint"
    r"|where|astype)\b"
)
# A line that feeds the input pipeline runs graphs of its own, and no steps.
_INPUT_LINE = late_pattern(r"tf_data|iterator", re.IGNORECASE)
# Of XLA's ops: a second function with more of them trains as well. Chosen, not measured.
_MIN_SERIES_SHARE = 0.1
# Launches of so many names are judged. Chosen, not measured.
_MAX_LAUNCH_NAMES = 4
# Of XLA's ops: a single operation of JAX with fewer of them is a part of a step that nobody
# compiled, and no step. Chosen, not measured: dot_general had 0.41 in a network without jit.
_MIN_OPERATION_SHARE = 0.8


def repeated(trace: Trace) -> list[Candidate]:
    """Modules of devices, else launches of the host, that ran three times or more, the longest
    first. They are counted.
    """
    repeats = list(modules(trace))
    if not repeats:
        repeats = _that_train(trace, _longest(_functions(trace)))
    if repeats:
        return repeats[:_MAX_LAUNCH_NAMES]
    calls = _with_their_work(trace, list(_calls(trace)))[:_MAX_LAUNCH_NAMES]
    from powertui.data.run import repeated_annotations  # most programs mark their steps

    # What a program annotates around its calls may be the step that they are parts of.
    return [*calls, *repeated_annotations.annotated_series(trace)]


def _that_train(trace: Trace, candidates: list[Candidate]) -> list[Candidate]:
    """TensorFlow's functions, with which of them compute gradients."""
    if len(candidates) < 2:
        return candidates
    moments = functions.gradient_moments(trace)
    return [
        replace(candidate, trains=functions.trains(candidate.marks, moments))
        for candidate in candidates
    ]


def _with_their_work(trace: Trace, calls: list[Candidate]) -> list[Candidate]:
    """JAX's functions, with what XLA ran for each of them."""
    if len(calls) < 2:
        return calls
    shares = functions.shares_of_functions(trace)
    training = functions.training_functions(trace)
    out = []
    for call in calls:
        key = functions.function_key(call.marks.kinds[0])
        share = shares.get(key, 0.0) if shares else None
        out.append(replace(call, share=share, trains=key in training))
    out = [call for call in out if not _is_part(call)]
    # Where a function trains, one that only looks at the results evaluates, however often it runs.
    out = [call for call in out if call.trains] or out
    return [*_two_that_train(out), *out]


def _is_part(call: Candidate) -> bool:
    """Whether it is one of the operations that an eager program launches one by one."""
    is_single = is_single_operation(call.marks.kinds[0])
    return is_single and call.share is not None and call.share < _MIN_OPERATION_SHARE


def _two_that_train(calls: list[Candidate]) -> Iterator[Candidate]:
    """Two functions that compute gradients in turn: two series of steps, as a GAN has them."""
    training = [call for call in calls if call.trains and (call.share or 0.0) >= _MIN_SERIES_SHARE]
    if len(training) != 2 or not interleaved(training[0].marks, training[1].marks):
        return
    together = marks.join_marks([call.marks for call in training])
    names = " and ".join(call.marks.kinds[0][:60] for call in training)
    yield Candidate(
        title=f"launches of {names} (no step marker in the profile)",
        pattern=pattern_of(together.kinds),
        marks=together,
        numbering=NONE,
        inferred=True,
        share=sum(call.share or 0.0 for call in training),
        trains=True,
        by_kind=True,
    )


def _longest(repeats: Iterator[Candidate]) -> list[Candidate]:
    def without_longest_ps(candidate: Candidate) -> int:
        return int(candidate.marks.duration.sum() - candidate.marks.duration.max())

    return sorted(repeats, key=without_longest_ps, reverse=True)


def modules(trace: Trace) -> Iterator[Candidate]:
    """Modules that devices ran three times or more, each device's counted for itself."""
    every_name = np.ones(len(trace.names), np.bool_)
    lanes = []
    for line, (_, track) in enumerate(trace.tracks()):
        if track.kind is TrackKind.MODULES and len(track.events):
            lanes.append((line, track.lane(0)))
    busiest: list[tuple[int, int]] = []
    most_ps = -1
    for _, lane in lanes:
        names_by_time = _repeating_names(lane, every_name)
        if names_by_time and names_by_time[0][1] > most_ps:
            busiest = names_by_time
            most_ps = busiest[0][1]
    for name, _ in busiest[:_MAX_LAUNCH_NAMES]:
        full = trace.names.full(name)
        runs = []
        for line, lane in lanes:
            is_run = _called(trace, lane, full)
            runs.append((line, lane[is_run]))
        most_runs = max(len(events) for _, events in runs)
        # Each device runs a module of its own; one that ran it less often entered the profile late,
        # and cannot be counted along.
        parts = []
        for line, events in runs:
            if len(events) == most_runs:
                launches = marks.of_events(trace, line, events)
                parts.append(_counted(launches))
        yield Candidate(
            title=f"launches of the module {full[:80]} (no step marker in the profile)",
            pattern=f"^{escaped(full)}$",
            marks=marks.join_marks(parts),
            numbering=NONE,
            device=True,
            apart=True,
            inferred=True,
        )


def _called(trace: Trace, lane: Events, full: str) -> Bools:
    """Which events have this name: planes number their names apart."""
    names = [name for name in wire.distinct(lane.name).tolist() if trace.names.full(name) == full]
    return np.isin(lane.name, names)


def _functions(trace: Trace) -> Iterator[Candidate]:
    for line, _, name, events in functions.calls(trace):
        chosen = marks.of_events(trace, line, events).outermost()
        if len(chosen) >= MIN_LAUNCHES:
            yield _launched(trace.names.full(name), chosen)


def _launched(name: str, chosen: Marks) -> Candidate:
    title = f"launches of {name[:80]} (no step marker in the profile)"
    return Candidate(
        title=title,
        pattern=f"^{escaped(name)}$",
        marks=_counted(chosen),
        numbering=NONE,
        inferred=True,
    )


def _calls(trace: Trace) -> Iterator[Candidate]:
    """Launches of the host, by the surest kind of name that repeats."""
    names = [trace.names.full(index) for index in range(len(trace.names))]
    for pattern in _LAUNCHES:
        is_launch = np.zeros(len(names), np.bool_)
        for index, name in enumerate(names):
            if pattern.search(name):
                is_launch[index] = not _HELPERS.search(name)
        if not is_launch.any():
            continue
        repeating = list(_repeating_launches(trace, is_launch))
        if repeating:
            yield from repeating
            return


def _repeating_launches(trace: Trace, is_launch: Bools) -> Iterator[Candidate]:
    """The first few of these names that were launched often enough, most time first."""
    spent: Counter[int] = Counter()
    launches_of: dict[int, list[Marks]] = {}
    for line, _, track in trace.threads():
        if _INPUT_LINE.search(track.name):
            continue
        for name, ps in _spent(track.events, is_launch):
            spent[name] += ps
            events = track.events[track.events.name == name]
            by_start = np.argsort(events.start, kind="stable")
            launches = marks.of_events(trace, line, events[by_start]).outermost()
            launches_of.setdefault(name, []).append(launches)
    yielded = 0
    for name, _ in sorted(spent.items(), key=lambda launch: (-launch[1], launch[0])):
        chosen = _one_series(launches_of[name])
        if len(chosen) >= MIN_LAUNCHES:
            yield _launched(trace.names.full(name), chosen)
            yielded += 1
        if yielded == _MAX_LAUNCH_NAMES:
            return


def _one_series(launches: list[Marks]) -> Marks:
    """Launches of one name on several threads: all of them, as a server's requests are; of threads
    that launch together, step by step, those of one.
    """
    longest = max(launches, key=len)
    parts = [longest]
    for line in launches:
        if line is not longest and not step_rows.begin_together(longest.start, line.start):
            parts.append(line)
    return marks.join_marks(parts)


def _repeating_names(events: Events, chosen_names: Bools) -> list[tuple[int, int]]:
    """(name, its ps without the longest) of these names that ran often enough, most time first."""
    spent = _spent(events, chosen_names)
    if not spent:
        return []
    counts = np.bincount(events.name.astype(np.int64))
    return [(name, ps) for name, ps in spent if counts[name] >= MIN_LAUNCHES]


def _spent(events: Events, chosen_names: Bools) -> list[tuple[int, int]]:
    """(name, its ps without the longest) of these names, most time first."""
    rows = chosen_names[events.name]
    if not rows.any():
        return []
    names, which = np.unique(events.name[rows], return_inverse=True)
    which = which.ravel()
    durations = events.duration[rows].astype(np.float64)
    total = np.bincount(which, weights=durations).astype(np.float64)
    longest = np.zeros(len(names))
    np.maximum.at(longest, which, durations)
    # The first launch traces and compiles: a helper that ran once more must not win by that.
    without_longest = total - longest
    spent = []
    for i in np.argsort(-without_longest, kind="stable").tolist():
        spent.append((int(names[i]), int(without_longest[i])))
    return spent


def _counted(chosen: Marks) -> Marks:
    count = len(chosen)
    return replace(chosen, number=np.arange(count), labels=[f"launch {i}" for i in range(count)])
