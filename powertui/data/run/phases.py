"""Phases: stretches with a name that are no steps. Tracing, validation, evaluation, prediction,
checkpoints.

They come from all marks of the profile, whichever of them became the steps; where nothing marks a
validation, from the wall time of its results in tfevents. They are named so that nobody takes them
for findings, or for steps that took long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data import wire
from powertui.data.by_number import ByNumber
from powertui.data.model import Bools, Clock, Epoch, Int64s, Phase, Steps
from powertui.data.run.logged_epochs import LoggedEpoch, in_trace
from powertui.data.run.marks import EVALUATIONS, PHASES, Marks
from powertui.data.run.steps import StepsAndOthers

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
    out = _marked(marked, steps_found)
    tracing = _tracing(marked, steps_found) if not marked.inferred else None
    if tracing is not None and not any(phase.name == tracing.name for phase in out):
        out.append(tracing)
    if len(marked) and not (
        len(steps_found.other) and np.isin(steps_found.other.phase, EVALUATIONS).any()
    ):
        out += _after_epochs(marked, table, clock, logged)
    return tuple(sorted(out, key=lambda phase: phase.start))


def training(marked: Steps, phases: Sequence[Phase]) -> list[Phase]:
    """The stretches in which steps ran, one after the other, with none of these phases (but
    tracing) between them.
    """
    stops = marked.start + marked.duration
    other_marks = sorted(
        (phase for phase in phases if phase.name != "tracing"), key=lambda phase: phase.start
    )
    begins, ends = (
        np.array([getattr(phase, side) for phase in other_marks], np.int64)
        for side in ("start", "end")
    )
    first = (
        np.maximum.accumulate(stops).searchsorted(begins, side="right") if len(marked) else begins
    )
    last = marked.start.searchsorted(ends, side="left")
    beside = np.zeros(len(marked) + 1, np.int64)  # how many phases each step meets
    np.add.at(beside, first[first < last], 1)
    np.add.at(beside, last[first < last], -1)
    if (
        np.cumsum(beside)[:-1] > 0
    ).all():  # an evaluation alone has steps, and trains in none of them
        return []
    before = begins[first >= last].searchsorted(marked.start)
    out = []
    for run in np.split(np.arange(len(marked)), np.flatnonzero(np.diff(before) > 0) + 1):
        epoch = int(marked.epoch[run[0]])
        steps = "1 step" if len(run) == 1 else f"{len(run)} steps"
        out.append(
            Phase(
                "training",
                int(marked.start[run[0]]),
                int(stops[run].max()),
                epoch if epoch >= 0 else None,
                steps,
            )
        )
    return out


def _tracing(marked: Steps, steps_found: StepsAndOthers) -> Phase | None:
    """The first step of a program traces and compiles."""
    if len(marked) < 4:
        return None
    lengths = marked.start_to_start() if marked.asynchronous else marked.duration
    usual_lengths = lengths[1:][lengths[1:] >= 0]
    median = wire.median(usual_lengths) if len(usual_lengths) else 0.0
    start, length = steps_found.first or (int(marked.start[0]), int(marked.duration[0]))
    if median <= 0 or length < max(_MIN_TRACING_PS, _TRACING_TIMES_MEDIAN * median):
        return None
    epoch = int(marked.epoch[0])
    source = f"the first step took {length / median:.0f} times the median step"
    return Phase("tracing", start, start + length, epoch if epoch >= 0 else None, source)


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
    kind = _names(other_marks.phase, alone=steps_found.alone)
    stops = other_marks.start + other_marks.duration
    parts: list[_Part] = []
    for line in np.unique(other_marks.lines).tolist():
        mine = np.flatnonzero(other_marks.lines == line)
        new = np.ones(len(mine), np.bool_)
        new[1:] = (kind[mine][1:] != kind[mine][:-1]) | _apart(other_marks, mine, steps_found, line)
        which = np.cumsum(new) - 1
        for in_line in ByNumber(which, int(which[-1]) + 1):
            rows = mine[in_line]
            start, end = int(other_marks.start[rows[0]]), int(stops[rows].max())
            parts.append(_Part(int(kind[rows[0]]), start, end, rows))
    return [_phase(marked, steps_found, part) for part in _joined(parts)]


def _apart(marks_of_line: Marks, mine: Int64s, steps_found: StepsAndOthers, line: int) -> Bools:
    """Before which of these marks of one line (but the first) something else ran there."""
    training = steps_found.training.start[steps_found.training.lines == line]
    if len(training) and not steps_found.alone:
        return np.asarray(np.diff(training.searchsorted(marks_of_line.start[mine])) > 0)
    number = marks_of_line.number[mine]
    return np.asarray((number[1:] >= 0) & (number[1:] < number[:-1]))


def _joined(parts: Sequence[_Part]) -> list[_Part]:
    """Replicas that do the same at the same time are in one phase."""
    out: list[_Part] = []
    for part in sorted(parts, key=lambda part: (part.kind, part.start)):
        last = out[-1] if out else None
        if last is None or last.kind != part.kind or part.start >= last.end:
            out.append(part)
            continue
        rows = np.concatenate([last.rows, part.rows])
        out[-1] = _Part(part.kind, last.start, max(part.end, last.end), rows)
    return out


def _phase(marked: Steps, steps_found: StepsAndOthers, part: _Part) -> Phase:
    before = 0 if steps_found.alone else int(np.sort(marked.start).searchsorted(part.start))
    epoch = int(marked.epoch[before - 1]) if before else -1
    count = len(part.rows)
    events = "1 event" if count == 1 else f"{count} events"
    return Phase(
        name=PHASES[part.kind],
        start=part.start,
        end=part.end,
        epoch=epoch if epoch >= 0 else None,
        source=f"{events} named {steps_found.other.kinds[int(part.rows[0])]}",
    )


def _names(
    phase: np.ndarray[tuple[int, ...], np.dtype[np.int32]], *, alone: bool
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """An evaluation that runs while training is its validation, whatever its marks are called."""
    if alone:
        return phase
    return np.where(phase == PHASES.index("evaluation"), PHASES.index("validation"), phase).astype(
        np.int32
    )


def _after_epochs(
    marked: Steps, table: Sequence[Epoch], clock: Clock, logged: Sequence[LoggedEpoch]
) -> list[Phase]:
    """What lies between the last step of an epoch and the first of the next, or the epoch's end."""
    out = []
    ends = marked.start + marked.duration
    median = wire.median(marked.duration)
    validated = {epoch.number: epoch.validated for epoch in logged}
    highest = int(marked.number.max())
    groups = ByNumber(marked.epoch, len(table))
    for index in range(len(table)):
        rows = groups[index]
        if not len(rows):
            continue
        last = int(ends[rows].max())
        after = int(rows[-1]) + 1
        if after < len(marked) and marked.epoch[after] < 0 and marked.number[after] < 0:
            # what follows is a step whose mark the profile's end cut off: whose it is, is not known
            continue
        followed = after < len(marked)
        if not followed and not (
            index > 0 and int(marked.number[rows[-1]]) == highest and len(groups[index - 1])
        ):
            continue  # the profile may have stopped in the middle of the epoch
        wall = validated.get(table[index].number)
        stop = in_trace(wall, clock) if wall is not None and clock.known else None
        limit = int(marked.start[rows[-1] + 1]) if followed else None
        if stop is not None and stop > last:
            out.append(
                Phase(
                    "validation",
                    last,
                    min(stop, limit or stop),
                    index,
                    "from the last step to its results in tfevents",
                )
            )
        elif limit is not None and limit - last > _GAP_TIMES_MEDIAN * median:
            name = "validation" if wall is not None else "between epochs"
            out.append(
                Phase(
                    name,
                    last,
                    limit,
                    index,
                    "between the last step of an epoch and the first of the next",
                )
            )
    return out
