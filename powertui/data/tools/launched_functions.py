"""The functions of TensorFlow that a program launches again and again: which train, and when the
others evaluate.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from powertui.data.model import Int64s, ProcessKind, Trace, Track
from powertui.data.name_shapes import name_shapes
from powertui.data.sorted_columns import begins_run
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined
from powertui.patterns import late_pattern

# A function of which one launch after the other runs is a series from so many on.
_MIN_LAUNCHES = 3
# Share of the profile that an evaluation has to take to be told apart. Chosen, not measured.
_MIN_EVALUATION_SHARE = 0.02

# A name is read so far: some hold a whole shape or module behind their beginning.
_FUNCTION_NAME_CHARACTERS = 300
_FUNCTION = late_pattern(r"^EagerLocalExecute: (?P<name>__inference_.*_\d+)$")
_GRADIENT_OP = late_pattern(r"Grad|ResourceApply|AssignSub")


class FunctionSeries:
    """Launches of the functions that train, which have gradients among their operations, and of
    those that evaluate.
    """

    def __init__(self, trace: Trace, span: tuple[int, int]) -> None:
        self.training = NO_TIME
        self.evaluation = NO_TIME
        gradients = _gradient_moments(trace)
        training: list[CoveredTime] = []
        evaluating: list[CoveredTime] = []
        for launches in _launches(trace).values():
            if len(launches.start) < _MIN_LAUNCHES:
                continue
            if _holds_gradients(launches, gradients):
                training.append(launches)
            else:
                evaluating.append(launches)
        if not training:
            return
        self.training = max(training, key=lambda launches: launches.length)
        lo, hi = span
        evaluations = joined(evaluating)
        if evaluations.length >= _MIN_EVALUATION_SHARE * (hi - lo):
            self.evaluation = _blocks(evaluations, joined(training))


def _holds_gradients(launches: CoveredTime, gradients: Int64s) -> bool:
    """Whether most launches of a function hold an operation that only training has."""
    first = gradients.searchsorted(launches.start)
    after_last = gradients.searchsorted(launches.end)
    has_gradient = after_last > first
    return bool(has_gradient.mean() > 0.5)


def _launches(trace: Trace) -> dict[str, CoveredTime]:
    """Where each function runs, by its name."""
    numbers: dict[str, int] = {}  # of each function
    number_of_name = np.full(len(trace.names), -1, np.int64)
    may_be_function = name_shapes(trace.names).where(_function_match)
    for index in np.flatnonzero(may_be_function).tolist():
        match = _function_match(trace.names.full(index))
        if match is not None:
            number = numbers.setdefault(match["name"], len(numbers))
            number_of_name[index] = number
    if not numbers:
        return {}
    starts_by_track: list[Int64s] = []
    ends_by_track: list[Int64s] = []
    numbers_by_track: list[Int64s] = []
    is_function = number_of_name >= 0
    for track in _host_tracks(trace):
        events = track.events
        rows = np.flatnonzero(is_function.take(events.name))
        start = events.start.take(rows)
        name_of_row = events.name.take(rows)
        starts_by_track.append(start)
        ends_by_track.append(start + events.duration.take(rows))
        numbers_by_track.append(number_of_name.take(name_of_row))
    starts = np.concatenate(starts_by_track)
    ends = np.concatenate(ends_by_track)
    number_of_launch = np.concatenate(numbers_by_track)
    launches: dict[str, CoveredTime] = {}
    for name, number in numbers.items():
        rows = np.flatnonzero(number_of_launch == number)
        by_start = np.argsort(starts[rows], kind="stable")
        rows = rows[by_start]
        launches[name] = CoveredTime(starts[rows], ends[rows])
    return launches


def _function_match(name: str) -> re.Match[str] | None:
    return _FUNCTION.match(name[:_FUNCTION_NAME_CHARACTERS])


def _host_tracks(trace: Trace) -> Iterator[Track]:
    """The lines of hosts that hold events of their own."""
    for process, track in trace.tracks():
        if process.kind is not ProcessKind.HOST or track.derived:
            continue
        if len(track.events):
            yield track


def _gradient_moments(trace: Trace) -> Int64s:
    """When operations began that only training has, ascending."""
    is_gradient = name_shapes(trace.names).found(_GRADIENT_OP)
    starts = [np.empty(0, np.int64)]
    if not is_gradient.any():
        return starts[0]
    for track in _host_tracks(trace):
        events = track.events
        rows = np.flatnonzero(is_gradient.take(events.name))
        starts.append(events.start.take(rows))
    return np.sort(np.concatenate(starts))


def _blocks(evaluations: CoveredTime, training: CoveredTime) -> CoveredTime:
    """Launches of evaluations with no training between them, each run of them as one stretch."""
    count = len(evaluations.start)
    if not count:
        return NO_TIME
    trained_before = training.start.searchsorted(evaluations.start)
    firsts = np.flatnonzero(begins_run(trained_before))
    next_firsts = np.append(firsts[1:], count)
    lasts = next_firsts - 1
    return CoveredTime(evaluations.start[firsts], evaluations.end[lasts])
