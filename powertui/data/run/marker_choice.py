"""Which candidate marks the steps: scored by what it covers, how regular it is, how it is numbered
and what it lies in.

Coverage is the share of the devices' work that was launched while a mark was open, or ran in its
line; where no device tells, the share of time that marks hold. Work that is asked for between a
mark and the next counts half: dispatch may return at once. So a helper that runs once a step, and
numbers itself, does not win over the step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from powertui import units
from powertui.data.model import Bools, Marker, ProcessKind, Trace
from powertui.data.quantiles import median_of_column
from powertui.data.run import candidates, marks, repeated_launches
from powertui.data.run.candidates import AROUND, BESIDES, NONE, STEP_NAMES, Candidate, in_marks
from powertui.data.run.device_intervals import DeviceWork, any_ps
from powertui.data.run.marks import EVALUATIONS, TRAINING, Marks
from powertui.data.sorted_columns import are_among
from powertui.errors import UsageError
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# What each property is worth in a score of at most 1. Chosen, not measured.
_COVERED_WEIGHT = 0.40
_REGULAR_WEIGHT = 0.15
_NUMBERS_WEIGHT = 0.25
_OUTERMOST_WEIGHT = 0.20
# What work that is asked for between marks counts: dispatch may return at once.
_BETWEEN_WEIGHT = 0.5
# What is left of a score: of what covers hardly anything, or is marked on the host as well. Chosen,
# not measured.
_HELPER_FACTOR = 0.5
# How much of "outermost" is left to marks inside others. Chosen, not measured.
_INNER_SHARE = 0.3
# Of the work that was launched by known calls: with less, time says what a mark covers. Chosen, not
# measured.
_MIN_LAUNCHED_SHARE = 0.5
# Of the outer marks: fewer inner ones than that are no detail of them. Chosen, not measured.
_MIN_INNER_RATIO = 0.5
# Of the devices' drawn steps that marks of the host name. Chosen, not measured.
_MIN_NAMED_SHARE = 0.5
# Of marks that are inside another's: from there on they are details of it. Chosen, not measured.
_MIN_NESTED_SHARE = 0.8
MIN_COVERED = 0.05  # of the work: what covers less is a helper
# From this score on, of at most 1, nothing else is looked for: looking through all names for what
# repeats takes longer than all the rest. Chosen, not measured.
_CONVINCING_SCORE = 0.55

# What a telling name adds to a score, or takes from it. Chosen, not measured.
_NAME_SCORE = 0.05
# What the gradients in its program add to a score: a validation that runs longer than the training
# loses by it. Chosen, not measured.
_TRAINING_SCORE = 0.2


@dataclass(frozen=True, eq=False)
class JudgedCandidate:
    """A candidate with its score."""

    candidate: Candidate
    score: float
    covers: float
    why: str

    def marker(self, count: int) -> Marker:
        """The same, for a person."""
        candidate = self.candidate
        return Marker(
            name=candidate.title,
            pattern=candidate.pattern,
            count=count,
            score=round(self.score, 3),
            why=self.why,
        )


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


# ── the choice ───────────────────────────────────────────────────────────────────────────────────


def choose_marker(trace: Trace, work: DeviceWork | None, marker: str | None) -> MarkerChoice:
    """What marks the steps; `marker` is a person's regex for the names of events that do."""
    pattern = _compiled(marker) if marker is not None else None
    all_marks = marks.marked_events(trace)
    other_marks = all_marks.take(all_marks.phase != TRAINING)
    device_lines = candidates.device_lines(trace)
    judged = _judged(trace, all_marks, device_lines, work)
    choice = MarkerChoice(
        judged=judged,
        all_marks=all_marks,
        other_marks=other_marks,
        device_lines=device_lines,
    )
    if pattern is not None:
        return _with_named_marker(trace, choice, pattern, work)
    if not judged:
        why = "no event has a step number and no module was launched three times"
        return choice._replace(why_none=why if trace.event_count else "nothing was recorded")
    return choice


def _with_named_marker(
    trace: Trace,
    choice: MarkerChoice,
    pattern: re.Pattern[str],
    work: DeviceWork | None,
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
    judged = _judge([named, *rivals], work)
    judged.sort(key=lambda judged_candidate: judged_candidate.candidate is not named)
    # Marks that the person calls steps are no other work, whatever their names say.
    other_marks = choice.other_marks
    is_other = ~are_among(other_marks.start, named.marks.start)
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
    trace: Trace,
    all_marks: Marks,
    device_lines: Candidate | None,
    work: DeviceWork | None,
) -> list[JudgedCandidate]:
    """What could mark the steps, the best first."""
    step_marks = all_marks.take(all_marks.phase == TRAINING)
    if not len(step_marks):  # an evaluation alone: its marks are the steps
        step_marks = all_marks.take(np.isin(all_marks.phase, EVALUATIONS))
    step_marks = candidates.without_undrawn(step_marks, device_lines)
    explicit = candidates.explicit_candidates(step_marks)
    if device_lines is not None:
        explicit.append(device_lines)
    judged = _judge(explicit, work)
    if judged and judged[0].score >= _CONVINCING_SCORE:
        return judged
    return _with_repeating(trace, judged, work)


def _with_repeating(
    trace: Trace,
    judged: list[JudgedCandidate],
    work: DeviceWork | None,
) -> list[JudgedCandidate]:
    """The same with what only repeats, and covers more of the work than a helper would."""
    by_pytorch = candidates.profiler_steps(trace)
    if by_pytorch is None and not judged:
        by_pytorch = candidates.optimizer_steps(trace)
    every_candidate = [judged_candidate.candidate for judged_candidate in judged]
    if by_pytorch is not None:
        every_candidate.append(by_pytorch)
    every_candidate += repeated_launches.repeated(trace)
    chosen = []
    for judged_candidate in _judge(every_candidate, work):
        is_marked = not judged_candidate.candidate.inferred
        if is_marked or judged_candidate.covers >= MIN_COVERED:
            chosen.append(judged_candidate)
    return chosen


# ── how good each is ─────────────────────────────────────────────────────────────────────────────


def _judge(among: Sequence[Candidate], work: DeviceWork | None) -> list[JudgedCandidate]:
    """All of them, the best first."""
    if not among:
        return []
    starts = [int(candidate.marks.start[0]) for candidate in among]
    ends = [int(candidate.marks.end.max()) for candidate in among]
    span_ps = max(1, max(ends) - min(starts))
    judged = [_scored(candidate, among, work, span_ps) for candidate in among]

    def best_first(judged_candidate: JudgedCandidate) -> tuple[float, int]:
        start = int(judged_candidate.candidate.marks.start[0])
        return -judged_candidate.score, start

    judged.sort(key=best_first)
    return judged


def _scored(
    candidate: Candidate,
    among: Sequence[Candidate],
    work: DeviceWork | None,
    span_ps: int,
) -> JudgedCandidate:
    covers, how = _coverage(candidate, work, span_ps)
    covers = _with_drawn_steps(candidate, among, covers)
    regular = _regularity(candidate)
    outermost, nests = _nesting(candidate, among)
    score = (
        _COVERED_WEIGHT * covers
        + _REGULAR_WEIGHT * regular
        + _NUMBERS_WEIGHT * candidate.numbering
        + _OUTERMOST_WEIGHT * outermost
    )
    if candidate.trains:
        score += _TRAINING_SCORE
    if candidate.marks.kinds:
        kind = candidate.marks.kinds[0]
    else:
        kind = ""
    if STEP_NAMES.search(kind):
        score += _NAME_SCORE
    if not candidate.device and BESIDES.search(kind):
        score -= 2 * _NAME_SCORE
    if covers < MIN_COVERED or _marked_on_host(candidate, among):
        score *= _HELPER_FACTOR
    regularity = "regular" if regular > 0.5 else "irregular"
    numbers = "numbered" if candidate.numbering > NONE else "counted"
    trains = "; computes gradients" if candidate.trains else ""
    why = f"covers {units.percent(covers)} {how}; {regularity}; {numbers}{nests}{trains}"
    return JudgedCandidate(
        candidate=candidate,
        score=min(1.0, max(0.0, score)),
        covers=covers,
        why=why,
    )


def _with_drawn_steps(candidate: Candidate, among: Sequence[Candidate], covers: float) -> float:
    """What marks of the host cover, where the collector drew the same steps on devices."""
    if candidate.device or candidate.inferred:
        return covers
    for rival in among:
        if rival.device and not rival.inferred:
            same_steps = _same_steps(candidate, rival)
            return max(covers, 0.5 * covers + 0.5 * same_steps)
    return covers


def _coverage(candidate: Candidate, work: DeviceWork | None, span_ps: int) -> tuple[float, str]:
    """(share of the work, of what it is the share)."""
    marks = candidate.marks
    if work is None and candidate.share is not None:
        return candidate.share, "of XLA's work"
    if work is not None and candidate.device:
        # A step line is drawn around its device's work: which device's hardly matters.
        return _share(work, in_marks(marks, work.start)), "of the devices' work"
    if work is not None and work.launched.mean() > _MIN_LAUNCHED_SHARE:
        return _launched_share(candidate, work), "of the devices' work"
    return _time_share(candidate, span_ps), "of the time"


def _launched_share(candidate: Candidate, work: DeviceWork) -> float:
    """The work that was launched inside marks, or partly that of the whole stretch from the first
    to the last.
    """
    marks = candidate.marks
    is_in_mark = in_marks(marks, work.launch)
    is_in_reach = (work.launch >= marks.start[0]) & (work.launch < _last(candidate))
    in_marks_share = _share(work, work.launched & is_in_mark)
    in_reach_share = _share(work, work.launched & is_in_reach)
    return max(in_marks_share, _BETWEEN_WEIGHT * in_reach_share)


def _time_share(candidate: Candidate, span_ps: int) -> float:
    """The same of the time, where no launches are known."""
    marks = candidate.marks
    marked_ps = any_ps(marks.start, marks.end)
    reach_ps = min(span_ps, _last(candidate) - int(marks.start[0]))
    return max(marked_ps / span_ps, _BETWEEN_WEIGHT * reach_ps / span_ps)


def _marked_on_host(candidate: Candidate, among: Sequence[Candidate]) -> bool:
    """Whether these are lines of devices, of steps that marks on the host name, too: those show
    host and device.
    """
    if not candidate.device or candidate.inferred:
        return False
    for rival in among:
        if rival.device or rival.inferred:
            continue
        if _same_steps(rival, candidate) > _MIN_NAMED_SHARE:
            return True
    return False


def _same_steps(candidate: Candidate, drawn: Candidate) -> float:
    """The share of the devices' drawn steps that carry the group, or the number, of one of these
    marks.
    """
    for column in ("group", "number"):
        theirs = getattr(drawn.marks, column)
        ours = getattr(candidate.marks, column)
        is_known = theirs >= 0
        if is_known.any() and (ours >= 0).any():
            is_shared = np.isin(theirs, ours)
            return float((is_shared & is_known).mean())
    return 0.0


def _share(work: DeviceWork, rows: Bools) -> float:
    total_ps = int(work.duration.sum())
    if total_ps:
        return int(work.duration[rows].sum()) / total_ps
    return 0.0


def _last(candidate: Candidate) -> int:
    """Where the last of them ends, with as much after it as usually lies between two."""
    marks = candidate.marks
    end = int(marks.end.max())
    if len(marks) < 2:
        return end
    usual_distance = median_of_column(np.diff(marks.start))
    next_start = int(marks.start[-1]) + int(usual_distance)
    return max(end, next_start)


def _regularity(candidate: Candidate) -> float:
    start = candidate.marks.start
    if candidate.apart:  # devices draw the same steps at the same times
        lines = candidate.marks.lines
        start = start[lines == lines[0]]
    distances = np.diff(start)
    if len(distances) < 2:
        return 0.5
    median = median_of_column(distances)
    if median <= 0:
        return 0.0
    spread = median_of_column(np.abs(distances - median)) / median
    return 1.0 - min(1.0, spread)


def _nesting(candidate: Candidate, among: Sequence[Candidate]) -> tuple[float, str]:
    """(1 for what lies in no other numbered candidate, in words)."""
    if candidate.device and not candidate.inferred:
        return 0.0, "; drawn by the collector"  # after the marks of the host, where it knew of any
    rivals = [rival for rival in among if rival is not candidate]
    for rival in rivals:
        if _can_hold_steps(rival, candidate) and _lies_in(candidate, rival):
            return _INNER_SHARE, f"; inside {rival.marks.kinds[0][:60]}"
    if _around(candidate) and any(_lies_in(rival, candidate) for rival in rivals):
        return 0.0, "; around other marks"
    return 1.0, ""


def _can_hold_steps(rival: Candidate, candidate: Candidate) -> bool:
    """Whether marks inside the rival's are details of its steps."""
    if rival.device or rival.by_kind or len(rival.marks) < 2:
        return False
    return rival.numbering >= candidate.numbering and not _around(rival)


def _around(candidate: Candidate) -> bool:
    return bool(candidate.marks.kinds) and AROUND.search(candidate.marks.kinds[0]) is not None


def _lies_in(inner: Candidate, outer: Candidate) -> bool:
    marks = inner.marks
    if len(marks) < len(outer.marks) * _MIN_INNER_RATIO:
        return False
    middle = marks.start + marks.duration // 2
    is_inside = in_marks(outer.marks, marks.start) & in_marks(outer.marks, middle)
    if is_inside.mean() <= _MIN_NESTED_SHARE:
        return False
    return median_of_column(outer.marks.duration) > median_of_column(marks.duration)
