"""What is reported about the steps: what marked them, how sure that is and why, and what is odd
about them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from powertui.data.model import Bools, Int64s
from powertui.data.run.assign import TIME, Given
from powertui.data.run.candidates import NAMED, inside
from powertui.data.run.device_intervals import Work
from powertui.data.run.marker_choice import LITTLE, STEP_NAMES, Judged
from powertui.data.run.step_rows import StepRows

_CLOSE = 0.1  # scores nearer than this could go either way
_ALIKE = 0.8
_SEVERAL = 2
_LOST = 0.05  # of the devices' work without a step: worth a sentence


class StepsTold(NamedTuple):
    """All that the sentences are made of."""

    rows: StepRows
    judged: list[Judged]
    given: Given | None
    work: Work | None
    asynchronous: bool
    alone: bool  # an evaluation without training
    cut: int  # steps whose own mark is not in the file
    asked: bool  # a person named the marker


def source(told: StepsTold) -> str:
    """What marked the steps."""
    title = told.judged[0].candidate.title
    return title + (
        ", numbered in order" if told.rows.ordinal and not told.judged[0].candidate.inferred else ""
    )


def confidence(told: StepsTold) -> str:
    """How far to trust the steps and their times, in words: "sure", "likely" or "unsure" first,
    then why.
    """
    best = told.judged[0]
    unsure = [*_times(told), *([] if told.asked else _doubts(told, best))]
    likely = list(_weaknesses(told, best))
    if unsure:
        return "unsure: " + "; ".join(unsure)
    if likely:
        return "likely: " + "; ".join(likely)
    return "sure: " + (
        "--step-marker names them" if told.asked else "the program numbers its steps"
    )


def _times(told: StepsTold) -> Iterator[str]:
    if told.given is not None and told.given.by == TIME and told.asynchronous:
        yield (
            "the devices' work carries no link to the calls that launched it, and continues "
            "after them"
        )


def _doubts(told: StepsTold, best: Judged) -> Iterator[str]:
    if best.candidate.inferred:
        yield (
            "nothing marks steps, these are launches that repeat: a step_num or "
            "--step-marker would settle it"
        )
    if best.candidate.doubt:
        yield best.candidate.doubt
    if told.rows.doubt:
        yield told.rows.doubt
    yield from _parts(told, best)
    if told.work is not None and best.covers < LITTLE and not best.candidate.inferred:
        yield "hardly any of the devices' work was launched by what is marked"
    if (
        len(told.judged) > 1
        and not told.judged[1].candidate.device
        and best.score - told.judged[1].score < _CLOSE
    ):
        other = told.judged[1].candidate
        if not best.candidate.inferred and other.numbering >= best.candidate.numbering:
            yield f"{other.title} would fit nearly as well"


def _parts(told: StepsTold, best: Judged) -> Iterator[str]:
    """Marks inside the chosen ones that cover as much and come several times as often, where no
    name says which are the steps.
    """
    marks = best.candidate.marks
    if (
        best.candidate.device
        or best.candidate.inferred
        or (marks.kinds and STEP_NAMES.search(marks.kinds[0]))
    ):
        return
    for other in told.judged[1:]:
        inner = other.candidate
        often = (
            len(inner.marks) >= _SEVERAL * len(marks)
            and inner.numbering >= best.candidate.numbering
            and not inner.device
        )
        if (
            often
            and other.covers > _ALIKE * best.covers
            and inside(marks, inner.marks.start).mean() > _ALIKE
        ):
            yield (
                f"{inner.title} lie inside these and cover as much: {len(inner.marks)} "
                f"steps, or parts of {len(marks)}"
            )


def _weaknesses(told: StepsTold, best: Judged) -> Iterator[str]:
    if (best.candidate.numbering < NAMED or best.candidate.device) and not told.asked:
        yield "the marks carry no step_num"
    if told.given is not None and told.given.by == TIME:
        yield "device work was given to steps by time"
    elif told.given is not None and not told.given.direct:
        yield "device work was launched between the marks, and given to the one before"


def notes(told: StepsTold, gaps: Bools, number: Int64s) -> tuple[str, ...]:
    """What is odd about them, a sentence each."""
    return tuple(_notes(told, gaps, number))


def _notes(told: StepsTold, gaps: Bools, number: Int64s) -> Iterator[str]:
    if told.alone:
        yield "Only an evaluation was profiled: these are its steps, no training ran."
    if told.cut:
        which = "One step has" if told.cut == 1 else f"{told.cut} steps have"
        yield (
            f"{which} no mark in the file, as the end of the profile cuts it off: the time "
            "is that of what ran."
        )
    if told.rows.parts:
        yield "Several marks carry the same step number: they were taken as parts of one step."
    if told.rows.replicas and not told.judged[0].candidate.device:
        yield (
            f"{len(told.rows.replicas)} threads run side by side with one marker: a step is "
            "one number on all of them."
        )
    missing = (
        np.flatnonzero(gaps[:-1] & (np.abs(np.diff(number)) > 1))
        if len(number) > 1
        else np.empty(0, np.int64)
    )
    if len(missing):
        first = int(missing[0])
        times = f" ({len(missing)} times)" if len(missing) > 1 else ""
        yield (
            f"Step numbers are missing between {int(number[first])} and "
            f"{int(number[first + 1])}{times}: that time is no step's."
        )
    if told.work is not None and told.given is not None and told.given.by != TIME:
        lost = told.given.row < 0
        share = float(told.work.duration[lost].sum()) / max(1, int(told.work.duration.sum()))
        if share > _LOST:
            yield f"{share:.0%} of the devices' work belongs to no step."
