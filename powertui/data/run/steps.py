"""Steps: found by what marks them best, told with all their times, and with what else could have
marked them.

What a person says (`--step-marker`) goes first. Else every candidate is judged (`candidates`,
`marker_choice`), the marks of the best one are put together to steps (`step_rows`), and each step
gets the work of the devices that belongs to it (`device_work`, `assign`, `step_times`). A loop
inside the graph (`ExecutorState::Process` with iteration numbers) never hides markers: it is not
asked.

Callers want `epochs.mark`, which calls this and places the steps in epochs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Int64s, Marker, ProcessKind, Steps, StepsOn, Trace
from powertui.data.run import (
    assign,
    candidates,
    device_intervals,
    device_work,
    dispatch,
    functions,
    marker_choice,
    marks,
    repeated_launches,
    step_confidence,
    step_rows,
    step_times,
    unmarked_steps,
)
from powertui.data.run.assign import DrawnSteps, StepOfWork
from powertui.data.run.candidates import Candidate
from powertui.data.run.device_intervals import DeviceWork
from powertui.data.run.marker_choice import JudgedCandidate
from powertui.data.run.marks import EVALUATIONS, TRAINING, Marks
from powertui.data.run.step_rows import StepRows
from powertui.errors import UsageError

_SHOWN = 6  # candidates that are kept for a person to choose from


class StepsAndOthers(NamedTuple):
    """Steps, and the marks of other work that ran between them."""

    steps: Steps
    other: Marks
    epoch_num: bool = False  # Steps.epoch holds the program's own numbers, not counts of restarts
    alone: bool = False  # the steps are an evaluation's: no training was profiled
    first: tuple[int, int] | None = None  # start and length of the first step's mark on the host
    training: Marks = marks.join_marks([])  # the marks of the steps


def find_steps(trace: Trace, *, marker: str | None = None) -> Steps:
    """The steps of one trace. `marker` is a person's regex for names of events that are steps."""
    return find_steps_and_others(trace, marker=marker).steps


def find_steps_and_others(trace: Trace, *, marker: str | None = None) -> StepsAndOthers:
    """As `find_steps`, with the marks of other work apart.

    Steps.epoch counts restarts of the step number, or is epoch_num.
    """
    if trace.exported_steps is not None and marker is None:
        return StepsAndOthers(trace.exported_steps[0], marks.join_marks([]))
    pattern = _pattern(marker) if marker is not None else None
    ran = device_intervals.device_intervals(trace)
    found_marks = marks.marked_events(trace)
    other_marks = found_marks.take(found_marks.phase != TRAINING)
    judged, lines = _judged(trace, found_marks, ran)
    if pattern is not None:
        chosen = _with_pattern(judged, pattern) or _by_name(trace, pattern)
        if chosen is None:
            return no_steps(f"no event's name matches --step-marker {pattern.pattern!r}")
        others = [
            judged_candidate.candidate
            for judged_candidate in judged
            if not np.array_equal(judged_candidate.candidate.marks.start, chosen.marks.start)
        ]
        judged = sorted(
            marker_choice.judge([chosen, *others], ran),
            key=lambda judged_candidate: judged_candidate.candidate is not chosen,
        )
        other_marks = other_marks.take(~np.isin(other_marks.start, chosen.marks.start))
    if not judged:
        why = "no event has a step number and no module was launched three times"
        return no_steps(why if trace.event_count else "nothing was recorded")
    return _found(trace, judged, found_marks, other_marks, lines, ran, asked=pattern is not None)


def no_steps(why: str = "") -> StepsAndOthers:
    """No steps, and the reason."""
    return StepsAndOthers(Steps.none(why), marks.join_marks([]))


def _with_pattern(judged: list[JudgedCandidate], pattern: re.Pattern[str]) -> Candidate | None:
    """The candidate that has this pattern already."""
    for judged_candidate in judged:
        if judged_candidate.candidate.pattern == pattern.pattern:
            return judged_candidate.candidate
    return None


def _pattern(marker: str) -> re.Pattern[str]:
    try:
        return re.compile(marker)
    except re.error as error:
        hint = "Example: --step-marker '^train_step'"
        raise UsageError(
            f"--step-marker {marker!r} is not a regular expression: {error}", hint=hint
        ) from None


def _by_name(trace: Trace, pattern: re.Pattern[str]) -> Candidate | None:
    for kinds in ((ProcessKind.HOST,), (ProcessKind.DEVICE, ProcessKind.OTHER)):
        matching = marks.marks_by_name(
            trace, lambda name: pattern.search(name) is not None, kinds=kinds
        )
        if len(matching):
            device = ProcessKind.DEVICE in kinds and bool(_on_devices(trace, matching).all())
            title = f"events that match --step-marker {pattern.pattern!r}"
            return Candidate(
                title, pattern.pattern, matching, candidates.OWN_NUMBERS, device=device
            )
    return None


def _on_devices(trace: Trace, found_marks: Marks) -> Bools:
    device = np.array(
        [process.kind is ProcessKind.DEVICE for process, _ in trace.tracks()], np.bool_
    )
    return np.asarray(device[found_marks.lines])


def _judged(
    trace: Trace, found_marks: Marks, ran: DeviceWork | None
) -> tuple[list[JudgedCandidate], Candidate | None]:
    """(what could mark the steps, the best first; the step lines of devices)."""
    base = found_marks.take(found_marks.phase == TRAINING)
    if not len(base):  # an evaluation alone: its marks are the steps
        base = found_marks.take(np.isin(found_marks.phase, EVALUATIONS))
    lines = candidates.device_lines(trace)
    base = candidates.without_undrawn(base, lines)
    drawn = [lines] if lines is not None else []
    judged = marker_choice.judge([*candidates.explicit_candidates(base), *drawn], ran)
    if not judged or judged[0].score < marker_choice.CONVINCING_SCORE:
        steps = candidates.profiler_steps(trace)
        steps = steps if steps is not None or judged else candidates.optimizer_steps(trace)
        further = [steps] if steps is not None else []
        judged = marker_choice.judge(
            [
                *(judged_candidate.candidate for judged_candidate in judged),
                *further,
                *repeated_launches.repeated(trace),
            ],
            ran,
        )
        judged = [
            judged_candidate
            for judged_candidate in judged
            if not (
                judged_candidate.candidate.inferred
                and judged_candidate.covers < marker_choice.MIN_COVERED
            )
        ]
    return judged, lines


# ── from marks to steps ──────────────────────────────────────────────────────────────────────────


def _found(
    trace: Trace,
    judged: list[JudgedCandidate],
    found_marks: Marks,
    other_marks: Marks,
    lines: Candidate | None,
    ran: DeviceWork | None,
    *,
    asked: bool,
) -> StepsAndOthers:
    chosen = judged[0].candidate
    alone = bool(len(chosen.marks)) and bool(
        (chosen.marks.phase != TRAINING).all()
    )  # nothing but an evaluation was profiled
    step_marks = chosen.marks
    bare = (
        candidates.without_undrawn(candidates.cut_marks(found_marks, step_marks), lines)
        if not chosen.device
        else marks.join_marks([])
    )
    if len(bare):
        step_marks = marks.join_marks([step_marks, bare])
    made = step_rows.rows_from_marks(
        step_marks,
        apart=chosen.apart,
        by_kind=chosen.by_kind,
        each_a_round=_lie_between(other_marks, step_marks),
    )
    drawn = assign.drawn_steps(
        trace, chosen if chosen.apart else lines, made, ran, made_of_lines=chosen.apart
    )
    if lines is None and not chosen.device:
        module_lines = unmarked_steps.numbered_modules(trace, made, ran)
        if module_lines is not None:
            by_modules = assign.drawn_steps(trace, module_lines, made, ran, made_of_lines=False)
            if unmarked_steps.numbered_alike(made, module_lines.marks, by_modules.row):
                lines, drawn = module_lines, by_modules
    cut_lines = np.empty(0, np.int64)
    unmarked = 0
    if lines is not None and not chosen.device:
        roots = chosen.numbering == candidates.TITLED
        if not roots:  # else the numbers are the collector's
            unmarked = unmarked_steps.unmarked_count(made, lines.marks, drawn.row)
        made, drawn, cut_lines = assign.with_cut_steps(
            made, lines, drawn, other_marks.group, roots=roots
        )
    given = _given(trace, made, drawn, ran, on_devices=chosen.device)
    if given is not None and ran is not None:
        given = assign.with_cut_work(given, ran, drawn, cut_lines)
    timed = step_times.step_times(
        made, drawn, ran, given, on_devices=chosen.device, mark_is_step=chosen.whole
    )
    later = timed.asynchronous
    if later is None:
        later = dispatch.asynchronous(trace, made.start, made.end, made.marks.lines)
    order, start = _in_order(made.start, timed.start, timed.duration, timed.told)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    gaps = step_rows.holes(
        made.number[order],
        made.turn[order],
        steady=(not made.replicas or chosen.apart) and not chosen.by_kind,
    )
    beside = (
        other_marks.start[np.isin(other_marks.lines, made.marks.lines)]
        if len(other_marks) and not alone
        else np.empty(0, np.int64)
    )
    on = [_placed(steps_on, place) for steps_on in timed.on] + _replicas(trace, made, place, chosen)
    evidence = step_confidence.StepsEvidence(
        rows=made,
        judged=judged,
        given=given,
        work=ran,
        asynchronous=later,
        alone=alone,
        cut=0 if unmarked else len(bare) + len(cut_lines),
        asked=asked,
        unmarked=unmarked,
        batches=functions.batches_taken(trace, made.start)
        if chosen.inferred and not chosen.device
        else 0,
    )
    steps = Steps(
        made.number[order],
        start,
        timed.duration[order],
        made.turn[order],
        [made.labels[i] for i in order.tolist()],
        step_confidence.source(evidence),
        later,
        host=timed.host[order],
        device=timed.device[order],
        step=timed.step[order],
        hole=gaps,
        until=step_rows.next_other_work(start, beside),
        device_by=given.by
        if given is not None and (timed.device >= 0).any()
        else assign.LINE
        if (timed.device >= 0).any()
        else "",
        inferred=chosen.inferred,
        confidence=step_confidence.confidence(evidence),
        on=tuple(on),
        markers=_markers(judged, len(made)),
        notes=step_confidence.notes(evidence, gaps, made.number[order]),
    )
    first = (
        None
        if chosen.device or not len(made)
        else (int(made.start[0]), int(made.end[0] - made.start[0]))
    )
    return StepsAndOthers(steps, other_marks, made.epoch_num, alone, first, made.marks)


def _lie_between(other_marks: Marks, step_marks: Marks) -> bool:
    """Whether other work, a validation, was marked after most of the steps."""
    if not len(other_marks) or len(step_marks) < 2:
        return False
    place = np.sort(other_marks.start).searchsorted(step_marks.start)
    return bool((np.diff(place) > 0).mean() > 0.5)


def _given(
    trace: Trace, made: StepRows, drawn: DrawnSteps, ran: DeviceWork | None, *, on_devices: bool
) -> StepOfWork | None:
    if ran is None:
        return None
    following = np.append(made.start[1:], max(trace.span[1], int(made.end.max())) + 1)
    modules = (
        assign.NO_DRAWN_STEPS
        if on_devices or ran.link or len(drawn.row)
        else assign.modules_in_order(trace, made)
    )
    return assign.steps_of_work(
        ran,
        made,
        drawn,
        modules,
        np.maximum(following, made.end),
        lambda: device_work.thread_handovers(trace),
    )


def _in_order(
    asked: Int64s, start: Int64s, duration: Int64s, by_device: Bools
) -> tuple[Int64s, Int64s]:
    """(the order of the steps, where each begins then).

    By the stretch that each lies in. A step that was dispatched ahead, and that no device ran
    before the profile ended, has no stretch but its mark: it keeps its place in the order in which
    steps were asked for, and begins where the one before it ends.
    """
    by_asking = np.argsort(asked, kind="stable")
    begins = start[by_asking].copy()
    if by_device.any():
        for i in np.flatnonzero(~by_device[by_asking]).tolist():
            if i and begins[i] < begins[i - 1]:
                begins[i] = begins[i - 1] + duration[by_asking[i - 1]]
    if (np.diff(begins) >= 0).all():
        return by_asking, begins
    order = np.lexsort((asked, start))
    return order, start[order]


def _placed(steps_on: StepsOn, place: Int64s) -> StepsOn:
    return StepsOn(
        steps_on.name,
        steps_on.kind,
        place[steps_on.row],
        steps_on.start,
        steps_on.duration,
        steps_on.work,
    )


def _replicas(trace: Trace, made: StepRows, place: Int64s, chosen: Candidate) -> list[StepsOn]:
    """The steps of each line, where several run side by side on the host."""
    if chosen.device or len(made.replicas) < 2:
        return []
    names = [track.name for _, track in trace.tracks()]
    out = []
    for line, mine in made.replicas:
        row, which = np.unique(made.row_of[mine], return_inverse=True)
        start, end = device_intervals.extents(
            which.ravel(),
            made.marks.start[mine],
            (made.marks.start + made.marks.duration)[mine],
            len(row),
        )
        out.append(
            StepsOn(
                names[line],
                "replica",
                place[row],
                start,
                end - start,
                np.full(len(row), -1, np.int64),
            )
        )
    return out


def _markers(judged: list[JudgedCandidate], count: int) -> tuple[Marker, ...]:
    others = (
        len(
            step_rows.rows_from_marks(
                judged_candidate.candidate.marks,
                apart=judged_candidate.candidate.apart,
                by_kind=judged_candidate.candidate.by_kind,
            )
        )
        for judged_candidate in judged[1:_SHOWN]
    )
    return tuple(
        judged_candidate.marker(steps)
        for judged_candidate, steps in zip(judged, (count, *others), strict=False)
    )


def work_of(trace: Trace, steps: Steps) -> dispatch.WorkDone:
    """The work that the steps asked for: how much, and when the last of it ended."""
    return dispatch.work_done(trace, steps)


def dispatched_step_ps(trace: Trace, steps: Steps) -> int | None:
    """The mean length of a step with its work, where a host alone dispatches steps ahead: its
    marks show no more than how long asking takes. None for all other steps.
    """
    if not steps.asynchronous or len(steps) < 2 or (steps.device >= 0).any():
        return None
    start = int(steps.start.min())
    end = max(work_of(trace, steps).end, int(steps.ends().max()))
    return round((end - start) / len(steps))
