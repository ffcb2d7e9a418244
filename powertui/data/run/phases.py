"""Phases: stretches with a name that are no steps. Tracing, validation, evaluation, prediction,
checkpoints.

They come from all marks of the profile, whichever of them became the steps; where nothing marks a
validation, from the wall time of its results in tfevents. They are named so that nobody takes them
for findings, or for steps that took long.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.by_number import ByNumber
from powertui.data.model import Bools, Clock, Epoch, Int32s, Int64s, Phase, Steps
from powertui.data.quantiles import median_of_column
from powertui.data.run.logged_epochs import LoggedEpoch, in_trace
from powertui.data.run.marks import EVALUATIONS, PHASES, Marks
from powertui.data.run.steps import StepsAndOthers
from powertui.data.sorted_columns import begins_run
from powertui.named_tuples import NamedTuple

# A first step this many times the median is tracing and compiling. Chosen, not measured.
_TRACING_TIMES_MEDIAN = 5
# Nothing is traced and compiled faster: of a small function of JAX that alone took 20 ms, of one of
# TensorFlow 400 ms; a first dispatch without either took 0.2 ms.
_MIN_TRACING_PS = 2_000_000_000
# A gap between epochs this many times the median step has a name. Chosen, not measured.
_GAP_TIMES_MEDIAN = 10


def phases_of(
    marked: Steps,
    steps_found: StepsAndOthers,
    table: Sequence[Epoch],
    clock: Clock,
    logged: Sequence[LoggedEpoch],
) -> tuple[Phase, ...]:
    """All of them, by start."""
    phases = _marked(marked, steps_found)
    if not marked.inferred:
        tracing = _tracing(marked, steps_found)
    else:
        tracing = None
    if tracing is not None and not any(phase.name == tracing.name for phase in phases):
        phases.append(tracing)
    other = steps_found.other.phase
    has_marked_evaluation = any((other == phase).any() for phase in EVALUATIONS)
    if len(marked) and not has_marked_evaluation:
        phases += _after_epochs(marked, table, clock, logged)
    return tuple(sorted(phases, key=lambda phase: phase.start))


def training(marked: Steps, phases: Sequence[Phase]) -> list[Phase]:
    """The stretches in which steps ran, one after the other, with none of these phases (but
    tracing) between them.
    """
    step_end = marked.mark_ends()
    step_rows = np.arange(len(marked))
    others = [phase for phase in phases if phase.name != "tracing"]
    if not others:
        return [_training_phase(marked, step_end, step_rows)] if len(marked) else []
    others.sort(key=lambda phase: phase.start)
    begins = np.array([phase.start for phase in others], np.int64)
    ends = np.array([phase.end for phase in others], np.int64)
    # Of each phase the first step that it meets, and the first one after it.
    first = begins
    if len(marked):
        reached = np.maximum.accumulate(step_end)
        first = reached.searchsorted(begins, side="right")
    after = marked.start.searchsorted(ends, side="left")
    meets_steps = first < after
    change = np.zeros(len(marked) + 1, np.int64)
    np.add.at(change, first[meets_steps], 1)
    np.add.at(change, after[meets_steps], -1)
    phases_met = np.cumsum(change)[:-1]
    if (phases_met > 0).all():  # an evaluation alone has steps, and trains in none of them
        return []
    begins_between = begins[~meets_steps]
    phases_before = begins_between.searchsorted(marked.start)
    cuts = np.flatnonzero(np.diff(phases_before) > 0) + 1
    return [_training_phase(marked, step_end, rows) for rows in np.split(step_rows, cuts)]


def _training_phase(marked: Steps, step_end: Int64s, rows: Int64s) -> Phase:
    epoch = int(marked.epoch[rows[0]])
    return Phase(
        name="training",
        start=int(marked.start[rows[0]]),
        end=int(step_end[rows].max()),
        epoch=epoch if epoch >= 0 else None,
        source="1 step" if len(rows) == 1 else f"{len(rows)} steps",
    )


def _tracing(marked: Steps, steps_found: StepsAndOthers) -> Phase | None:
    """The first step of a program traces and compiles."""
    if len(marked) < 4:
        return None
    lengths = marked.start_to_start() if marked.asynchronous else marked.duration
    later_lengths = lengths[1:][lengths[1:] >= 0]
    if not len(later_lengths):
        return None
    median = median_of_column(later_lengths)
    start, length = steps_found.first or (int(marked.start[0]), int(marked.duration[0]))
    if median <= 0 or length < max(_MIN_TRACING_PS, _TRACING_TIMES_MEDIAN * median):
        return None
    epoch = int(marked.epoch[0])
    return Phase(
        name="tracing",
        start=start,
        end=start + length,
        epoch=epoch if epoch >= 0 else None,
        source=f"the first step took {length / median:.0f} times the median step",
    )


class _Part(NamedTuple):
    """Marks of one kind of work, and from when to when they are."""

    kind: int
    start: int  # ps
    end: int
    rows: Int64s


def _marked(marked: Steps, steps_found: StepsAndOthers) -> list[Phase]:
    """Marks of one kind of work are one phase, until their own line trains again or, beside
    training, their numbers start again.
    """
    other_marks = steps_found.other
    if not len(other_marks):
        return []
    kind = _phase_kinds(other_marks.phase, alone=steps_found.alone)
    mark_end = other_marks.end
    parts: list[_Part] = []
    for line, rows_of_line in other_marks.by_line():
        begins_new = begins_run(kind[rows_of_line])
        begins_new[1:] |= _interrupted(other_marks, rows_of_line, steps_found, line)
        part_of = np.cumsum(begins_new) - 1
        part_count = int(part_of[-1]) + 1
        for places in ByNumber(part_of, part_count):
            rows = rows_of_line[places]
            first = rows[0]
            parts.append(
                _Part(
                    kind=int(kind[first]),
                    start=int(other_marks.start[first]),
                    end=int(mark_end[rows].max()),
                    rows=rows,
                )
            )
    return [_phase(marked, steps_found, part) for part in _joined(parts)]


def _interrupted(
    other_marks: Marks,
    rows: Int64s,
    steps_found: StepsAndOthers,
    line: int,
) -> Bools:
    """Before which of these marks of one line (but the first) something else ran there."""
    is_on_line = steps_found.training.lines == line
    training_start = steps_found.training.start[is_on_line]
    if len(training_start) and not steps_found.alone:
        steps_before = training_start.searchsorted(other_marks.start[rows])
        return np.asarray(np.diff(steps_before) > 0)
    number = other_marks.number[rows]
    is_numbered = number[1:] >= 0
    falls = number[1:] < number[:-1]
    return np.asarray(is_numbered & falls)


def _joined(parts: Sequence[_Part]) -> list[_Part]:
    """Replicas that do the same at the same time are in one phase."""
    out: list[_Part] = []
    for part in sorted(parts, key=lambda part: (part.kind, part.start)):
        last = out[-1] if out else None
        if last is None or last.kind != part.kind or part.start >= last.end:
            out.append(part)
            continue
        out[-1] = last._replace(
            end=max(part.end, last.end),
            rows=np.concatenate([last.rows, part.rows]),
        )
    return out


def _phase(marked: Steps, steps_found: StepsAndOthers, part: _Part) -> Phase:
    if steps_found.alone:
        before = 0
    else:
        before = int(np.sort(marked.start).searchsorted(part.start))
    if before:
        epoch = int(marked.epoch[before - 1])
    else:
        epoch = -1
    count = len(part.rows)
    if count == 1:
        events = "1 event"
    else:
        events = f"{count} events"
    return Phase(
        name=PHASES[part.kind],
        start=part.start,
        end=part.end,
        epoch=epoch if epoch >= 0 else None,
        source=f"{events} named {steps_found.other.kinds[int(part.rows[0])]}",
    )


def _phase_kinds(phase: Int32s, *, alone: bool) -> Int32s:
    """An evaluation that runs while training is its validation, whatever its marks are called."""
    if alone:
        return phase
    is_evaluation = phase == PHASES.index("evaluation")
    return np.where(is_evaluation, PHASES.index("validation"), phase).astype(np.int32)


def _after_epochs(
    marked: Steps,
    table: Sequence[Epoch],
    clock: Clock,
    logged: Sequence[LoggedEpoch],
) -> list[Phase]:
    """What is between the last step of an epoch and the first of the next, or the epoch's end."""
    phases = []
    median = median_of_column(marked.duration)
    validated = {epoch.number: epoch.validated for epoch in logged}
    rows_by_epoch = ByNumber(marked.epoch, len(table))
    for index, epoch in enumerate(table):
        rows = rows_by_epoch[index]
        if not len(rows) or not _is_complete(marked, rows_by_epoch, index):
            continue
        last_end = int((marked.start[rows] + marked.duration[rows]).max())
        after = int(rows[-1]) + 1
        if after < len(marked):
            next_start = int(marked.start[after])
        else:
            next_start = None
        logged_ns = validated.get(epoch.number)
        results = in_trace(logged_ns, clock) if clock.known else None
        if results is not None and results > last_end:
            phases.append(
                Phase(
                    name="validation",
                    start=last_end,
                    end=min(results, next_start or results),
                    epoch=index,
                    source="from the last step to its results in tfevents",
                )
            )
        elif next_start is not None and next_start - last_end > _GAP_TIMES_MEDIAN * median:
            phases.append(
                Phase(
                    name="between epochs" if logged_ns is None else "validation",
                    start=last_end,
                    end=next_start,
                    epoch=index,
                    source="between the last step of an epoch and the first of the next",
                )
            )
    return phases


def _is_complete(marked: Steps, rows_by_epoch: ByNumber, index: int) -> bool:
    """Whether the last step of this epoch is in the profile."""
    last = int(rows_by_epoch[index][-1])
    after = last + 1
    if after < len(marked):
        # A step without epoch and number has its mark cut off by the profile's end: it may be of
        # this epoch as well.
        has_epoch = marked.epoch[after] >= 0
        has_number = marked.number[after] >= 0
        return bool(has_epoch or has_number)
    # The profile may have stopped in the middle of the epoch, unless it counted as far as before.
    counted_as_far = int(marked.number[last]) == int(marked.number.max())
    return index > 0 and counted_as_far and len(rows_by_epoch[index - 1]) > 0
