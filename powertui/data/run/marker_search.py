"""What marks the steps of a trace: the events that a person names, else the best of all candidates.

Candidates come from `candidates` and `repeated_launches`; `marker_choice` judges them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from powertui.data.model import ProcessKind, Trace
from powertui.data.run import candidates, marker_choice, marks, repeated_launches
from powertui.data.run.candidates import Candidate
from powertui.data.run.device_intervals import DeviceWork
from powertui.data.run.marker_choice import JudgedCandidate
from powertui.data.run.marks import EVALUATIONS, TRAINING, Marks
from powertui.errors import UsageError


class MarkerChoice(NamedTuple):
    """What marks the steps, and what it was chosen among."""

    judged: list[JudgedCandidate]  # the best first: that one marks the steps
    all_marks: Marks  # whatever the profile marks
    other_marks: Marks  # those of other work than training
    device_lines: Candidate | None  # the step lines of devices
    asked: bool = False  # a person named the marker
    why_none: str = ""  # why nothing marks steps

    @property
    def best(self) -> Candidate:
        """The candidate that marks the steps."""
        return self.judged[0].candidate


def choose_marker(trace: Trace, work: DeviceWork | None, marker: str | None) -> MarkerChoice:
    """What marks the steps; `marker` is a person's regex for the names of events that do."""
    pattern = _compiled(marker) if marker is not None else None
    all_marks = marks.marked_events(trace)
    other_marks = all_marks.take(all_marks.phase != TRAINING)
    device_lines = candidates.device_lines(trace)
    judged = _judged(trace, all_marks, device_lines, work)
    choice = MarkerChoice(judged, all_marks, other_marks, device_lines)
    if pattern is not None:
        return _with_named_marker(trace, choice, pattern, work)
    if not judged:
        why = "no event has a step number and no module was launched three times"
        return choice._replace(why_none=why if trace.event_count else "nothing was recorded")
    return choice


def _with_named_marker(
    trace: Trace, choice: MarkerChoice, pattern: re.Pattern[str], work: DeviceWork | None
) -> MarkerChoice:
    """The same with the marker that a person named before all others."""
    named = _candidate_with(choice.judged, pattern) or _events_named(trace, pattern)
    if named is None:
        why = f"no event's name matches --step-marker {pattern.pattern!r}"
        return choice._replace(judged=[], why_none=why)
    rivals = [
        judged.candidate
        for judged in choice.judged
        if not np.array_equal(judged.candidate.marks.start, named.marks.start)
    ]
    judged = marker_choice.judge([named, *rivals], work)
    judged.sort(key=lambda judged_candidate: judged_candidate.candidate is not named)
    # Marks that the person calls steps are no other work, whatever their names say.
    other_marks = choice.other_marks
    is_other = ~np.isin(other_marks.start, named.marks.start)
    return choice._replace(judged=judged, other_marks=other_marks.take(is_other), asked=True)


def _compiled(marker: str) -> re.Pattern[str]:
    try:
        return re.compile(marker)
    except re.error as error:
        hint = "Example: --step-marker '^train_step'"
        raise UsageError(
            f"--step-marker {marker!r} is not a regular expression: {error}", hint=hint
        ) from None


def _candidate_with(judged: list[JudgedCandidate], pattern: re.Pattern[str]) -> Candidate | None:
    """The candidate that has this pattern already."""
    for judged_candidate in judged:
        if judged_candidate.candidate.pattern == pattern.pattern:
            return judged_candidate.candidate
    return None


def _events_named(trace: Trace, pattern: re.Pattern[str]) -> Candidate | None:
    """All events whose name matches: the host's, or where it has none the devices'."""
    for kinds in ((ProcessKind.HOST,), (ProcessKind.DEVICE, ProcessKind.OTHER)):
        matching = marks.marks_by_name(
            trace, lambda name: pattern.search(name) is not None, kinds=kinds
        )
        if len(matching):
            return Candidate(
                title=f"events that match --step-marker {pattern.pattern!r}",
                pattern=pattern.pattern,
                marks=matching,
                numbering=candidates.OWN_NUMBERS,
                device=ProcessKind.DEVICE in kinds and _all_on_devices(trace, matching),
            )
    return None


def _all_on_devices(trace: Trace, matching: Marks) -> bool:
    is_device = np.array(
        [process.kind is ProcessKind.DEVICE for process, _ in trace.tracks()], np.bool_
    )
    return bool(is_device[matching.lines].all())


def _judged(
    trace: Trace, all_marks: Marks, device_lines: Candidate | None, work: DeviceWork | None
) -> list[JudgedCandidate]:
    """What could mark the steps, the best first."""
    step_marks = all_marks.take(all_marks.phase == TRAINING)
    if not len(step_marks):  # an evaluation alone: its marks are the steps
        step_marks = all_marks.take(np.isin(all_marks.phase, EVALUATIONS))
    step_marks = candidates.without_undrawn(step_marks, device_lines)
    explicit = candidates.explicit_candidates(step_marks)
    if device_lines is not None:
        explicit.append(device_lines)
    judged = marker_choice.judge(explicit, work)
    if judged and judged[0].score >= marker_choice.CONVINCING_SCORE:
        return judged
    return _with_repeating(trace, judged, work)


def _with_repeating(
    trace: Trace, judged: list[JudgedCandidate], work: DeviceWork | None
) -> list[JudgedCandidate]:
    """The same with what only repeats, and covers more of the work than a helper would."""
    by_pytorch = candidates.profiler_steps(trace)
    if by_pytorch is None and not judged:
        by_pytorch = candidates.optimizer_steps(trace)
    every_candidate = [judged_candidate.candidate for judged_candidate in judged]
    if by_pytorch is not None:
        every_candidate.append(by_pytorch)
    every_candidate += repeated_launches.repeated(trace)
    return [
        judged_candidate
        for judged_candidate in marker_choice.judge(every_candidate, work)
        if not judged_candidate.candidate.inferred
        or judged_candidate.covers >= marker_choice.MIN_COVERED
    ]
