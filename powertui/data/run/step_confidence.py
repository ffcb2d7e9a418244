"""What is reported about the steps: what marked them, how sure that is and why, and what is odd
about them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from powertui import units
from powertui.data.model import Bools, Int64s
from powertui.data.run.assign import TIME, StepOfWork
from powertui.data.run.candidates import NAMED, STEP_NAMES, in_marks
from powertui.data.run.device_intervals import DeviceWork
from powertui.data.run.marker_choice import MIN_COVERED, JudgedCandidate
from powertui.data.run.marks import family
from powertui.data.run.step_rows import StepRows
from powertui.data.sorted_columns import are_among
from powertui.named_tuples import NamedTuple

# Scores nearer than this could go either way. Chosen, not measured.
_CLOSE_SCORES = 0.1
# Marks inside others that cover this share of what those do may be the steps as well. Chosen, not
# measured.
_MIN_ALIKE_SHARE = 0.8
# Such marks turn up so many times in each of the others.
_MIN_INNER_MARKS = 2
# Of the devices' work without a step: worth a sentence. Chosen, not measured.
_MIN_LOST_SHARE = 0.05
# Keras marks a call of its compiled function by the number of its first batch.
_KERAS_MARKS = frozenset(("Profiled batch", "train"))
# Equal distances of the numbers that are no chance. Chosen, not measured.
_MIN_CHANGES = 2


class StepsEvidence(NamedTuple):
    """All that the sentences are made of."""

    rows: StepRows
    judged: list[JudgedCandidate]
    given: StepOfWork | None
    work: DeviceWork | None
    asynchronous: bool
    alone: bool  # an evaluation without training
    cut: int  # steps whose own mark is not in the file
    asked: bool  # a person named the marker
    batches: int = 0  # that each launch takes from its input, where nothing marks steps
    unmarked: int = 0  # steps that only a device's line shows, between or beside the marks


def source(evidence: StepsEvidence) -> str:
    """What marked the steps."""
    best = evidence.judged[0].candidate
    if evidence.rows.ordinal and not best.inferred:
        return f"{best.title}, numbered in order"
    return best.title


def confidence(evidence: StepsEvidence) -> str:
    """How far to trust the steps and their times, in words: "sure", "likely" or "unsure" first,
    then why.
    """
    best = evidence.judged[0]
    unsure = list(_times(evidence))
    if not evidence.asked:
        unsure += _doubts(evidence, best)
    if unsure:
        return "unsure: " + "; ".join(unsure)
    likely = list(_weaknesses(evidence, best))
    if likely:
        return "likely: " + "; ".join(likely)
    if evidence.asked:
        return "sure: --step-marker names them"
    return "sure: the program numbers its steps"


def _times(evidence: StepsEvidence) -> Iterator[str]:
    if evidence.given is not None and evidence.given.by == TIME and evidence.asynchronous:
        yield (
            "the devices' work carries no link to the calls that launched it, and continues "
            "after them"
        )


def _doubts(evidence: StepsEvidence, best: JudgedCandidate) -> Iterator[str]:
    if best.candidate.inferred:
        yield (
            f"nothing marks steps, these are {best.candidate.repeats} that repeat: a step_num or "
            "--step-marker would settle it"
        )
    if best.candidate.doubt:
        yield best.candidate.doubt
    yield from _parts(evidence, best)
    if evidence.work is not None and best.covers < MIN_COVERED and not best.candidate.inferred:
        yield "hardly any of the devices' work was launched by what is marked"
    yield from _close_rival(evidence, best)


def _close_rival(evidence: StepsEvidence, best: JudgedCandidate) -> Iterator[str]:
    """The next best candidate, where it could be the steps as well."""
    if len(evidence.judged) < 2 or best.candidate.inferred:
        return
    second = evidence.judged[1]
    rival = second.candidate
    if rival.device or best.score - second.score >= _CLOSE_SCORES:
        return
    if best.candidate.by_kind and are_among(rival.marks.start, best.candidate.marks.start).all():
        return  # one of the series
    if rival.numbering >= best.candidate.numbering:
        yield f"{rival.title} would fit nearly as well"


def _parts(evidence: StepsEvidence, best: JudgedCandidate) -> Iterator[str]:
    """Marks inside the chosen ones that cover as much and come several times as often, where no
    name says which are the steps.
    """
    candidate = best.candidate
    marks = candidate.marks
    if candidate.device or candidate.inferred:
        return
    if marks.kinds and STEP_NAMES.search(marks.kinds[0]):
        return
    for rival in evidence.judged[1:]:
        inner = rival.candidate
        if inner.device or inner.numbering < candidate.numbering:
            continue
        if len(inner.marks) < _MIN_INNER_MARKS * len(marks):
            continue
        if rival.covers <= _MIN_ALIKE_SHARE * best.covers:
            continue
        if in_marks(marks, inner.marks.start).mean() > _MIN_ALIKE_SHARE:
            yield (
                f"{inner.title} are inside these and cover as much: {len(inner.marks)} "
                f"steps, or parts of {len(marks)}"
            )


def _weaknesses(evidence: StepsEvidence, best: JudgedCandidate) -> Iterator[str]:
    if evidence.rows.unmoved:
        yield "the step marks have no number that changes"
    elif (best.candidate.numbering < NAMED or best.candidate.device) and not evidence.asked:
        yield "the step marks have no number (step_num)"
    if evidence.unmarked:
        yield "the program marks only some of its steps"
    if evidence.given is not None and evidence.given.by == TIME:
        yield "device work was given to steps by time"
    elif evidence.given is not None and not evidence.given.direct:
        yield "device work was launched between the marks, and given to the one before"


def _shared(evidence: StepsEvidence) -> bool:
    """Whether several threads mark the same steps, and not each its own: requests, say."""
    marks = evidence.rows.marks
    return len(evidence.rows) < len(marks)


def _batches_per_mark(evidence: StepsEvidence) -> int:
    """By how much Keras counts from one mark to the next: more than 1 with steps_per_execution."""
    marks = evidence.rows.marks
    if evidence.rows.ordinal or not marks.kinds or marks.kinds[0] not in _KERAS_MARKS:
        return 1
    if evidence.unmarked:  # the device ran what lies between the numbers step by step
        return 1
    # Steps without a mark launched that work; a call of several batches launches all of its own.
    if evidence.given is not None and not evidence.given.direct:
        return 1
    change = np.diff(marks.number)
    change = change[change > 0]
    if len(change) < _MIN_CHANGES or (change != change[0]).any():
        return 1
    return int(change[0])


def notes(evidence: StepsEvidence, gaps: Bools, number: Int64s) -> tuple[str, ...]:
    """What is odd about them, a sentence each."""
    return (
        *_notes_on_marks(evidence),
        *_notes_on_numbers(evidence),
        *_notes_on_gaps(gaps, number),
        *_notes_on_lost_work(evidence),
    )


def _notes_on_marks(evidence: StepsEvidence) -> Iterator[str]:
    if evidence.alone:
        yield "Only an evaluation was profiled: these are its steps, no training ran."
    if evidence.cut:
        if evidence.cut == 1:
            which = "One step has"
        else:
            which = f"{evidence.cut} steps have"
        yield (
            f"{which} no mark in the file, as the end of the profile cuts it off: the time "
            "is that of what ran."
        )
    if evidence.unmarked:
        if evidence.unmarked == 1:
            which = "1 step has"
        else:
            which = f"{evidence.unmarked} steps have"
        yield (
            f"{which} no mark on the host: the device ran them, and the program's numbers go on in "
            "them."
        )


def _notes_on_numbers(evidence: StepsEvidence) -> Iterator[str]:
    rows = evidence.rows
    best = evidence.judged[0].candidate
    if rows.unmoved:
        yield (
            f"Every mark has the number {int(rows.marks.number[0])}: the steps were "
            "counted in their order."
        )
    if best.by_kind:
        counts = Counter(family(kind) for kind in best.marks.kinds)
        names = " and ".join(f"{count} of {name}" for name, count in counts.most_common())
        yield f"{len(counts)} series of steps, each counted for itself: {names}."
    batches = _batches_per_mark(evidence)
    if batches > 1:
        yield (
            f"Each mark is {batches} batches (steps_per_execution): a step here is {batches} "
            "steps of the training."
        )
    if evidence.batches > 1:
        yield (
            f"Each step here takes {evidence.batches} batches from its input: "
            f"{evidence.batches} steps of the training (steps_per_execution), or one batch for "
            "each of as many replicas."
        )
    if rows.parts:
        yield "Several marks have the same step number: they were taken as parts of one step."
    if rows.replicas and not best.device and _shared(evidence):
        yield (
            f"{len(rows.replicas)} threads run side by side with one marker: a step is "
            "one number on all of them."
        )


def _notes_on_gaps(gaps: Bools, number: Int64s) -> Iterator[str]:
    if len(number) < 2:
        return
    missing = np.flatnonzero(gaps[:-1] & (np.abs(np.diff(number)) > 1))
    if not len(missing):
        return
    first = int(missing[0])
    if len(missing) > 1:
        times = f" ({len(missing)} times)"
    else:
        times = ""
    yield (
        f"Step numbers are missing between {int(number[first])} and "
        f"{int(number[first + 1])}{times}: that time belongs to no step."
    )


def _notes_on_lost_work(evidence: StepsEvidence) -> Iterator[str]:
    work = evidence.work
    given = evidence.given
    if work is None or given is None or given.by == TIME:
        return
    lost_ps = float(work.duration[given.row < 0].sum())
    lost_share = lost_ps / max(1, int(work.duration.sum()))
    if lost_share > _MIN_LOST_SHARE:
        yield f"{units.percent(lost_share)} of the devices' work belongs to no step."
