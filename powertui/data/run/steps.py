"""Steps: found by what marks them best, told with all their times, and with what else could have
marked them.

What a person says (`--step-marker`) goes first. Else every candidate is judged (`candidates`,
`ladder`), the marks of the best one are put together to steps (`rows`), and each step gets the work
of the devices that belongs to it (`work`, `assign`, `times`). A loop inside the graph
(`ExecutorState::Process` with iteration numbers) never hides markers: it is not asked.

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
    marker_choice,
    marks,
    step_confidence,
    step_rows,
    step_times,
)
from powertui.data.run.assign import DrawnSteps, Given
from powertui.data.run.candidates import Candidate
from powertui.data.run.device_intervals import Work
from powertui.data.run.marker_choice import Judged
from powertui.data.run.marks import EVALUATIONS, TRAINING, Marks
from powertui.data.run.step_rows import StepRows
from powertui.errors import UsageError

_SHOWN = 6  # candidates that are kept for a person to choose from


class FoundSteps(NamedTuple):
    """Steps, and the marks of other work that ran between them."""

    steps: Steps
    other: Marks
    epoch_num: bool = False  # Steps.epoch holds the program's own numbers, not counts of restarts
    alone: bool = False  # the steps are an evaluation's: no training was profiled
    first: tuple[int, int] | None = None  # start and length of the first step's mark on the host
    training: Marks = marks.join([])  # the marks of the steps


def find(trace: Trace, *, marker: str | None = None) -> Steps:
    """The steps of one trace. `marker` is a person's regex for names of events that are steps."""
    return search(trace, marker=marker).steps


def search(trace: Trace, *, marker: str | None = None) -> FoundSteps:
    """As `find`, with the marks of other work apart.

    Steps.epoch counts restarts of the step number, or is epoch_num.
    """
    if trace.exported_steps is not None and marker is None:
        return FoundSteps(trace.exported_steps[0], marks.join([]))
    pattern = _pattern(marker) if marker is not None else None
    ran = device_intervals.device_intervals(trace)
    found = marks.marked(trace)
    other = found.take(found.phase != TRAINING)
    judged, lines = _judged(trace, found, ran)
    if pattern is not None:
        known = next(
            (one.candidate for one in judged if one.candidate.pattern == pattern.pattern), None
        )
        chosen = known or _by_name(trace, pattern)
        if chosen is None:
            return nothing(f"no event's name matches --step-marker {pattern.pattern!r}")
        others = [
            one.candidate
            for one in judged
            if not np.array_equal(one.candidate.marks.start, chosen.marks.start)
        ]
        judged = sorted(
            marker_choice.judge([chosen, *others], ran), key=lambda one: one.candidate is not chosen
        )
        other = other.take(~np.isin(other.start, chosen.marks.start))
    if not judged:
        why = "no event carries a step number and no module was launched three times"
        return nothing(why if trace.event_count else "nothing was recorded")
    return _found(trace, judged, found, other, lines, ran, asked=pattern is not None)


def nothing(why: str = "") -> FoundSteps:
    """No steps, and the reason."""
    return FoundSteps(Steps.none(why), marks.join([]))


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
        found = marks.named(trace, lambda name: pattern.search(name) is not None, kinds=kinds)
        if len(found):
            device = ProcessKind.DEVICE in kinds and bool(_on_devices(trace, found).all())
            title = f"events that match --step-marker {pattern.pattern!r}"
            return Candidate(title, pattern.pattern, found, candidates.OWN, device=device)
    return None


def _on_devices(trace: Trace, found: Marks) -> Bools:
    device = np.array(
        [process.kind is ProcessKind.DEVICE for process, _ in trace.tracks()], np.bool_
    )
    return np.asarray(device[found.lines])


def _judged(trace: Trace, found: Marks, ran: Work | None) -> tuple[list[Judged], Candidate | None]:
    """(what could mark the steps, the best first; the step lines of devices)."""
    base = found.take(found.phase == TRAINING)
    if not len(base):  # an evaluation alone: its marks are the steps
        base = found.take(np.isin(found.phase, EVALUATIONS))
    lines = candidates.device_lines(trace)
    base = candidates.seen_by(base, lines)
    drawn = [lines] if lines is not None else []
    judged = marker_choice.judge([*candidates.explicit(base), *drawn], ran)
    if not judged or judged[0].score < marker_choice.CONVINCING:
        steps = candidates.profiler_steps(trace)
        steps = steps if steps is not None or judged else candidates.optimizer_steps(trace)
        further = [steps] if steps is not None else []
        judged = marker_choice.judge(
            [*(one.candidate for one in judged), *further, *candidates.repeated(trace)], ran
        )
        judged = [
            one
            for one in judged
            if not (one.candidate.inferred and one.covers < marker_choice.LITTLE)
        ]
    return judged, lines


# ── from marks to steps ──────────────────────────────────────────────────────────────────────────


def _found(
    trace: Trace,
    judged: list[Judged],
    found: Marks,
    other: Marks,
    lines: Candidate | None,
    ran: Work | None,
    *,
    asked: bool,
) -> FoundSteps:
    chosen = judged[0].candidate
    alone = bool(len(chosen.marks)) and bool(
        (chosen.marks.phase != TRAINING).all()
    )  # nothing but an evaluation was profiled
    whole = chosen.marks
    bare = (
        candidates.seen_by(candidates.cut(found, whole), lines)
        if not chosen.device
        else marks.join([])
    )
    if len(bare):
        whole = marks.join([whole, bare])
    made = step_rows.rows_from_marks(whole, apart=chosen.apart)
    drawn = assign.drawn(trace, chosen if chosen.apart else lines, made, ran, own=chosen.apart)
    cut_lines = np.empty(0, np.int64)
    if lines is not None and not chosen.device:
        roots = chosen.numbering == candidates.TITLED
        made, drawn, cut_lines = assign.beyond(made, lines, drawn, other.group, roots=roots)
    given = _given(trace, made, drawn, ran, on_devices=chosen.device)
    if given is not None and ran is not None:
        given = assign.filled(given, ran, drawn, cut_lines)
    timed = step_times.step_times(
        made, drawn, ran, given, on_devices=chosen.device, whole=chosen.whole
    )
    later = timed.asynchronous
    if later is None:
        later = dispatch.asynchronous(trace, made.start, made.end, made.marks.lines)
    order, start = _in_order(made.start, timed.start, timed.duration, timed.told)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    gaps = step_rows.holes(
        made.number[order], made.turn[order], steady=not made.replicas or chosen.apart
    )
    beside = (
        other.start[np.isin(other.lines, made.marks.lines)]
        if len(other) and not alone
        else np.empty(0, np.int64)
    )
    on = [_placed(one, place) for one in timed.on] + _replicas(trace, made, place, chosen)
    told = step_confidence.StepsTold(
        made, judged, given, ran, later, alone, len(bare) + len(cut_lines), asked
    )
    steps = Steps(
        made.number[order],
        start,
        timed.duration[order],
        made.turn[order],
        [made.labels[i] for i in order.tolist()],
        step_confidence.source(told),
        later,
        host=timed.host[order],
        device=timed.device[order],
        step=timed.step[order],
        hole=gaps,
        until=step_rows.until(start, beside),
        device_by=given.by
        if given is not None and (timed.device >= 0).any()
        else assign.LINE
        if (timed.device >= 0).any()
        else "",
        inferred=chosen.inferred,
        confidence=step_confidence.confidence(told),
        on=tuple(on),
        markers=_markers(judged, len(made)),
        notes=step_confidence.notes(told, gaps, made.number[order]),
    )
    first = (
        None
        if chosen.device or not len(made)
        else (int(made.start[0]), int(made.end[0] - made.start[0]))
    )
    return FoundSteps(steps, other, made.epoch_num, alone, first, made.marks)


def _given(
    trace: Trace, made: StepRows, drawn: DrawnSteps, ran: Work | None, *, on_devices: bool
) -> Given | None:
    if ran is None:
        return None
    following = np.append(made.start[1:], max(trace.span[1], int(made.end.max())) + 1)
    modules = (
        assign.NOTHING if on_devices or ran.link or len(drawn.row) else assign.in_order(trace, made)
    )
    return assign.give(
        ran,
        made,
        drawn,
        modules,
        np.maximum(following, made.end),
        lambda: device_work.thread_handovers(trace),
    )


def _in_order(asked: Int64s, start: Int64s, duration: Int64s, told: Bools) -> tuple[Int64s, Int64s]:
    """(the order of the steps, where each begins then).

    By the stretch that each lies in. A step that was dispatched ahead, and that no device ran
    before the profile ended, has no stretch but its mark: it keeps its place in the order in which
    steps were asked for, and begins where the one before it ends.
    """
    by_asking = np.argsort(asked, kind="stable")
    begins = start[by_asking].copy()
    if told.any():
        for i in np.flatnonzero(~told[by_asking]).tolist():
            if i and begins[i] < begins[i - 1]:
                begins[i] = begins[i - 1] + duration[by_asking[i - 1]]
    if (np.diff(begins) >= 0).all():
        return by_asking, begins
    order = np.lexsort((asked, start))
    return order, start[order]


def _placed(one: StepsOn, place: Int64s) -> StepsOn:
    return StepsOn(one.name, one.kind, place[one.row], one.start, one.duration, one.work)


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


def _markers(judged: list[Judged], count: int) -> tuple[Marker, ...]:
    others = (
        len(step_rows.rows_from_marks(one.candidate.marks, apart=one.candidate.apart))
        for one in judged[1:_SHOWN]
    )
    return tuple(one.marker(steps) for one, steps in zip(judged, (count, *others), strict=False))


def work_of(trace: Trace, steps: Steps) -> dispatch.Ran:
    """The work that the steps asked for: how much, and when the last of it ended."""
    return dispatch.ran(trace, steps)
