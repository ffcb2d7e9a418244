"""Steps: with all their times, how sure they are, and what else could have marked them.

What a person names (`--step-marker`) goes first. Else every candidate is judged (`marker_choice`),
the marks of the best one are joined to steps (`step_rows`), and each step gets the work of the
devices that belongs to it (`drawn_steps`, `assign`, `step_times`). A loop inside the graph
(`ExecutorState::Process` with iteration numbers) never hides markers: it is not a candidate.

Callers want `epochs.mark`, which calls this and places the steps in epochs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import Int64s, Marker, Steps, StepsOn, Trace
from powertui.data.run import (
    assign,
    candidates,
    device_intervals,
    dispatch,
    drawn_steps,
    functions,
    marker_choice,
    marks,
    step_confidence,
    step_rows,
    step_times,
    steps_between_marks,
)
from powertui.data.run.assign import StepOfWork
from powertui.data.run.candidates import Candidate
from powertui.data.run.device_intervals import DeviceWork
from powertui.data.run.drawn_steps import NO_DRAWN_STEPS, DrawnSteps
from powertui.data.run.marker_choice import JudgedCandidate, MarkerChoice
from powertui.data.run.marks import TRAINING, Marks
from powertui.data.run.step_confidence import StepsEvidence
from powertui.data.run.step_rows import StepRows
from powertui.data.run.step_times import Times
from powertui.data.sorted_columns import places_in
from powertui.named_tuples import NamedTuple

if TYPE_CHECKING:
    from powertui.data.run.device_work import HandOvers

_MAX_MARKERS = 6  # candidates that are kept for a person to choose from
# Of the steps that are followed by other work: above this, each step is a round of its own. Chosen,
# not measured.
_MIN_FOLLOWED_SHARE = 0.5

_MAY_BE_MISSING = "More steps may be in the part of the profile that is missing."


class StepsAndOthers(NamedTuple):
    """Steps, and the marks of other work that ran between them."""

    steps: Steps
    other: Marks
    epoch_num: bool = False  # Steps.epoch holds the program's own numbers, not counts of restarts
    alone: bool = False  # the steps are an evaluation's: no training was profiled
    first: tuple[int, int] | None = None  # start and length of the first step's mark on the host
    training: Marks = marks.join_marks([])  # the marks of the steps


class _DeviceShare(NamedTuple):
    """The steps with those that only a device shows, and what devices did for each."""

    rows: StepRows
    drawn: DrawnSteps
    given: StepOfWork | None
    cut_count: int  # steps whose own mark the profile's ends cut off
    unmarked: int  # steps that only a device's line shows, between or beside the marks


def find_steps(trace: Trace, *, marker: str | None = None) -> Steps:
    """The steps of one trace. `marker` is a person's regex for names of events that are steps."""
    return find_steps_and_others(trace, marker=marker).steps


def find_steps_and_others(trace: Trace, *, marker: str | None = None) -> StepsAndOthers:
    """As `find_steps`, with the marks of other work apart.

    Steps.epoch counts restarts of the step number, or is epoch_num.
    """
    if trace.exported_steps is not None and marker is None:
        return StepsAndOthers(trace.exported_steps[0], marks.join_marks([]))
    work = device_intervals.device_intervals(trace)
    choice = marker_choice.choose_marker(trace, work, marker)
    if not choice.judged:
        return no_steps(choice.why_none)
    found = _steps_by_choice(trace, choice, work)
    if not trace.missing:
        return found
    notes = (*found.steps.notes, _MAY_BE_MISSING)
    return found._replace(steps=replace(found.steps, notes=notes))


def no_steps(why: str) -> StepsAndOthers:
    """No steps, and the reason."""
    return StepsAndOthers(Steps.none(why), marks.join_marks([]))


# ── from marks to steps ──────────────────────────────────────────────────────────────────────────


def _steps_by_choice(trace: Trace, choice: MarkerChoice, work: DeviceWork | None) -> StepsAndOthers:
    best = choice.best
    is_evaluation = bool(len(best.marks)) and bool((best.marks.phase != TRAINING).all())
    step_marks, cut_count = _step_marks(choice)
    rows = step_rows.rows_from_marks(
        step_marks,
        apart=best.apart,
        by_kind=best.by_kind,
        each_a_round=_other_work_follows_steps(choice.other_marks, step_marks),
    )
    share = _device_share(trace, choice, rows, work, cut_count)
    rows = share.rows
    timed = step_times.step_times(
        rows,
        share.drawn,
        work,
        share.given,
        on_devices=best.device,
        mark_is_step=best.whole,
    )
    asynchronous = timed.asynchronous
    if asynchronous is None:
        asynchronous = dispatch.asynchronous(trace, rows.start, rows.end, rows.marks.lines)
    evidence = StepsEvidence(
        rows=rows,
        judged=choice.judged,
        given=share.given,
        work=work,
        asynchronous=asynchronous,
        alone=is_evaluation,
        cut=share.cut_count,
        asked=choice.asked,
        unmarked=share.unmarked,
        batches=_batches_taken(trace, best, rows),
    )
    return StepsAndOthers(
        steps=_columns(trace, choice, evidence, timed),
        other=choice.other_marks,
        epoch_num=rows.epoch_num,
        alone=is_evaluation,
        first=_first_mark(rows, on_devices=best.device),
        training=rows.marks,
    )


def _step_marks(choice: MarkerChoice) -> tuple[Marks, int]:
    """(the marks of the steps, how many of them stand for marks that the profile's ends cut)."""
    step_marks = choice.best.marks
    if choice.best.device:
        return step_marks, 0
    cut_marks = candidates.without_undrawn(
        candidates.cut_marks(choice.all_marks, step_marks), choice.device_lines
    )
    if not len(cut_marks):
        return step_marks, 0
    return marks.join_marks([step_marks, cut_marks]), len(cut_marks)


def _other_work_follows_steps(other_marks: Marks, step_marks: Marks) -> bool:
    """Whether other work, a validation, was marked after most of the steps."""
    if not len(other_marks) or len(step_marks) < 2:
        return False
    place = np.sort(other_marks.start).searchsorted(step_marks.start)
    return bool((np.diff(place) > 0).mean() > _MIN_FOLLOWED_SHARE)


def _device_share(
    trace: Trace,
    choice: MarkerChoice,
    rows: StepRows,
    work: DeviceWork | None,
    cut_count: int,
) -> _DeviceShare:
    best = choice.best
    lines, drawn = _drawn_lines(trace, choice, rows, work)
    cut_lines = np.empty(0, np.int64)
    unmarked = 0
    if lines is not None and not best.device:
        are_roots = best.numbering == candidates.TITLED
        if not are_roots:  # else the numbers are the collector's
            unmarked = steps_between_marks.unmarked_count(rows, lines.marks, drawn.row)
        rows, drawn, cut_lines = drawn_steps.with_cut_steps(
            rows, lines, drawn, choice.other_marks.group, roots=are_roots
        )
    given = _steps_of_work(trace, rows, drawn, work, on_devices=best.device)
    if given is not None and work is not None:
        given = assign.with_cut_work(given, work, drawn, cut_lines)
    cut_count = 0 if unmarked else cut_count + len(cut_lines)
    return _DeviceShare(
        rows=rows,
        drawn=drawn,
        given=given,
        cut_count=cut_count,
        unmarked=unmarked,
    )


def _drawn_lines(
    trace: Trace,
    choice: MarkerChoice,
    rows: StepRows,
    work: DeviceWork | None,
) -> tuple[Candidate | None, DrawnSteps]:
    """(the lines of devices that show steps, which of the steps each event there is)."""
    best = choice.best
    lines = choice.device_lines
    drawn = drawn_steps.drawn_steps(
        trace, best if best.apart else lines, rows, work, made_of_lines=best.apart
    )
    if lines is not None or best.device:
        return lines, drawn
    # A line of modules shows steps where its runs can be numbered by the marks.
    modules = steps_between_marks.numbered_modules(trace, rows, work)
    if modules is not None:
        by_modules = drawn_steps.drawn_steps(trace, modules, rows, work, made_of_lines=False)
        if steps_between_marks.numbered_alike(rows, modules.marks, by_modules.row):
            return modules, by_modules
    return lines, drawn


def _steps_of_work(
    trace: Trace,
    rows: StepRows,
    drawn: DrawnSteps,
    work: DeviceWork | None,
    *,
    on_devices: bool,
) -> StepOfWork | None:
    if work is None:
        return None
    profile_end = max(trace.span[1], int(rows.end.max())) + 1
    next_start = np.append(rows.start[1:], profile_end)
    modules = NO_DRAWN_STEPS
    if not on_devices and not work.link and not len(drawn.row):
        modules = drawn_steps.modules_in_order(trace, rows)
    return assign.steps_of_work(
        work=work,
        rows=rows,
        lines=drawn,
        modules=modules,
        ends=np.maximum(next_start, rows.end),
        thread_handovers=lambda: _thread_handovers(trace),
    )


def _thread_handovers(trace: Trace) -> HandOvers | None:
    from powertui.data.run import device_work  # most threads launch what they were called for

    return device_work.thread_handovers(trace)


def _batches_taken(trace: Trace, best: Candidate, rows: StepRows) -> int:
    if not best.inferred or best.device:
        return 0
    return functions.batches_taken(trace, rows.start)


def _first_mark(rows: StepRows, *, on_devices: bool) -> tuple[int, int] | None:
    """(start, length) of the first step's mark on the host."""
    if on_devices or not len(rows):
        return None
    start = int(rows.start[0])
    return start, int(rows.end[0]) - start


# ── the columns of `Steps` ───────────────────────────────────────────────────────────────────────


def _columns(trace: Trace, choice: MarkerChoice, evidence: StepsEvidence, timed: Times) -> Steps:
    rows = evidence.rows
    best = choice.best
    order, start = _in_order(rows.start, timed)
    place = places_in(order)
    number = rows.number[order]
    is_steady = (not rows.replicas or best.apart) and not best.by_kind
    gaps = step_rows.holes(number, rows.turn[order], steady=is_steady)
    steps_on = [_placed(steps_on, place) for steps_on in timed.on]
    steps_on += _replicas(trace, rows, place, on_devices=best.device)
    return Steps(
        number=number,
        start=start,
        duration=timed.duration[order],
        epoch=rows.turn[order],
        names=[rows.labels[i] for i in order.tolist()],
        source=step_confidence.source(evidence),
        asynchronous=evidence.asynchronous,
        host=timed.host[order],
        device=timed.device[order],
        step=timed.step[order],
        hole=gaps,
        until=step_rows.next_other_work(start, _other_starts(choice.other_marks, evidence)),
        device_by=_device_by(timed, evidence.given),
        inferred=best.inferred,
        confidence=step_confidence.confidence(evidence),
        on=tuple(steps_on),
        markers=_markers(choice.judged, len(rows)),
        notes=step_confidence.notes(evidence, gaps, number),
    )


def _other_starts(other_marks: Marks, evidence: StepsEvidence) -> Int64s:
    """When other work began on the threads that run the steps."""
    if not len(other_marks) or evidence.alone:
        return np.empty(0, np.int64)
    step_lines = evidence.rows.marks.lines
    is_on_step_line = np.isin(other_marks.lines, step_lines)
    return other_marks.start[is_on_step_line]


def _device_by(timed: Times, given: StepOfWork | None) -> str:
    """How it is known what devices did for each step; "" where they did nothing."""
    if not (timed.device >= 0).any():
        return ""
    return given.by if given is not None else assign.LINE


def _in_order(marked_start: Int64s, timed: Times) -> tuple[Int64s, Int64s]:
    """(the order of the steps, where each begins then).

    A step that was dispatched ahead, and that no device ran before the profile ended, has no
    stretch but its mark: it keeps its place in the order in which steps were asked for, and begins
    where the one before it ends.
    """
    by_mark = np.argsort(marked_start, kind="stable")
    begins = timed.start[by_mark].copy()
    if timed.on_device.any():
        length = timed.duration[by_mark]
        has_only_its_mark = ~timed.on_device[by_mark]
        for i in np.flatnonzero(has_only_its_mark).tolist():
            if i and begins[i] < begins[i - 1]:
                begins[i] = begins[i - 1] + length[i - 1]
    if (np.diff(begins) >= 0).all():
        return by_mark, begins
    order = np.lexsort((marked_start, timed.start))
    return order, timed.start[order]


def _placed(steps_on: StepsOn, place: Int64s) -> StepsOn:
    return StepsOn(
        name=steps_on.name,
        kind=steps_on.kind,
        row=place[steps_on.row],
        start=steps_on.start,
        duration=steps_on.duration,
        work=steps_on.work,
    )


def _replicas(
    trace: Trace,
    rows: StepRows,
    place: Int64s,
    *,
    on_devices: bool,
) -> list[StepsOn]:
    """The steps of each line, where several run side by side on the host."""
    if on_devices or len(rows.replicas) < 2:
        return []
    names = [track.name for _, track in trace.tracks()]
    marks = rows.marks
    mark_end = marks.end
    replicas = []
    for line, line_marks in rows.replicas:
        row, which = np.unique(rows.row_of[line_marks], return_inverse=True)
        start, end = device_intervals.extents(
            which.ravel(),
            marks.start[line_marks],
            mark_end[line_marks],
            len(row),
        )
        replicas.append(
            StepsOn(
                name=names[line],
                kind="replica",
                row=place[row],
                start=start,
                duration=end - start,
                work=np.full(len(row), -1, np.int64),
            )
        )
    return replicas


def _markers(judged: list[JudgedCandidate], step_count: int) -> tuple[Marker, ...]:
    """The candidates for a person to choose from, each with how many steps it would make."""
    markers = [judged[0].marker(step_count)]
    for rival in judged[1:_MAX_MARKERS]:
        candidate = rival.candidate
        rows = step_rows.rows_from_marks(
            candidate.marks,
            apart=candidate.apart,
            by_kind=candidate.by_kind,
        )
        markers.append(rival.marker(len(rows)))
    return tuple(markers)


def dispatched_step_ps(trace: Trace, steps: Steps) -> int | None:
    """The mean length of a step with its work, where a host alone dispatches steps ahead: its
    marks show no more than how long asking takes. None for all other steps.
    """
    if not steps.asynchronous or len(steps) < 2 or (steps.device >= 0).any():
        return None
    start = int(steps.start.min())
    end = max(dispatch.work_done(trace, steps).end, int(steps.ends().max()))
    return round((end - start) / len(steps))


def dispatched_edges(trace: Trace, steps: Steps) -> Int64s | None:
    """Where the work of each such step begins, and the end of the last one's: together they last as
    long as `dispatched_step_ps` has it. None where no op shows where a step's work begins.
    """
    mean_ps = dispatched_step_ps(trace, steps)
    stretches = dispatch.work_stretches(trace, steps)
    if mean_ps is None or stretches is None:
        return None
    start = int(steps.start.min())
    end = start + mean_ps * len(steps)
    work_starts, _ = stretches
    # What comes before the first op was spent on asking for the first step.
    return np.concatenate([[start], work_starts[1:], [end]])
