"""The search for stretches in which a training drew more or less than expected.

What is expected comes from its own records and its other epochs. The engine is that of a profile's
findings (`placed_search`); only the expectation differs. A stretch that reaches over several epochs
is one finding, from a batch of the first to one of the last. Outside its sessions nothing can
explain it: "a capture here would show".
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings import finding_texts, placed_search
from powertui.data.energy.findings.could_find import detection_limits
from powertui.data.energy.findings.finding import Finding, Findings, Unopened
from powertui.data.energy.findings.placed_search import FoundLoads
from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.energy.findings.readings import Expectation, SensorReadings, held_against
from powertui.data.energy.samples import Samples
from powertui.data.energy.trace_account import Account
from powertui.data.model import NS_PER_S, PS_PER_S, Z95, PowerOnTrace
from powertui.data.training import expected_course, stretches
from powertui.data.training import training_finding_words as words
from powertui.data.training.boxes_in_epochs import MAX_EPOCH_RECORDS, FindingsFromBoxes
from powertui.data.training.expected_course import KnownCourse
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_on_axis import TrainingOnAxis, session_spans
from powertui.data.training.training_parts import bounded_epochs

# Records between which a course is looked for: what happens again between more of them is noise to
# the search.
_FEW_RECORDS = settings.USUAL_STEPS

_Span = tuple[float, float]  # s on the axis


def searched_findings(
    training: PlacedTraining,
    axis: TrainingOnAxis,
    account: Account,
    power: PowerOnTrace,
) -> Findings:
    """All stretches of unexpected power outside the sessions, on this axis."""
    course = _known_course(training, axis)

    def expect(data: Samples, unsure: WindowPrior) -> Expectation:
        return expected_course.expected_course(data, course, unsure)

    span = _span(training, axis)
    loads = placed_search.loads_at_all_places(power, expect, span, axis.apart_ns / Z95 / NS_PER_S)
    if loads.expected is None:
        return Findings(
            folded=None,
            findings=(),
            reason=loads.reason,
        )
    converter = FindingsFromBoxes(
        training=training,
        axis=axis,
        account=account,
        power=power,
    )
    mattering: list[Finding] = []
    smaller: list[Finding] = []
    for finding in _from_boxes(loads, converter):
        (mattering if converter.matters(finding) else smaller).append(finding)
    mattering.sort(key=lambda finding: -abs(finding.delta_joules or 0.0))
    readings = loads.expected.readings
    limits, could = detection_limits(
        loads,
        _promised_span(training, span, readings),
        converter.totals.joules,
        elsewhere=session_spans(axis),
    )
    return Findings(
        folded=None,
        findings=tuple(mattering),
        smaller=Unopened(smaller),
        limits=limits.findings,
        could=could,
        notes=_notes(training, loads),
        seen=limits.seen,
        against=held_against(readings),
        apart=limits.apart,
    )


def _notes(training: PlacedTraining, loads: FoundLoads) -> tuple[str, ...]:
    """What was not looked for, or is not listed."""
    notes = []
    if loads.skipped:
        notes.append(words.skipped_sentence(loads.skipped))
    if len(training.records) <= MAX_EPOCH_RECORDS:
        notes.append("only epochs are logged: scalars every few batches would show more")
    if loads.doubtful:
        notes.append(finding_texts.doubtful_note(loads.doubtful))
    return tuple(notes)


def _from_boxes(loads: FoundLoads, converter: FindingsFromBoxes) -> list[Finding]:
    """Boxes as findings; pauses and slower work are none."""
    places = placed_search.likely_places(converter.power)
    likeliest = places[0][1]
    shifts = []
    for weight, on_axis in places:
        shifts.append((weight, (on_axis.offset_ps - likeliest.offset_ps) / PS_PER_S))
    assert loads.expected is not None
    usual_w = max(watts for _, watts in loads.expected.watts)
    findings = []
    for box in loads.boxes:
        finding = converter.from_box(box, shifts)
        if not converter.is_pause(finding) and not converter.is_slower_work(finding, usual_w):
            findings.append(finding)
    if len(converter.training.records) <= MAX_EPOCH_RECORDS:
        # Where within an epoch it pauses is not known: drawing less than the others says nothing.
        findings = [finding for finding in findings if (finding.delta_watts or 0.0) > 0]
    return findings


def _span(training: PlacedTraining, axis: TrainingOnAxis) -> _Span:
    """From when to when it trained."""
    begin = axis.at(int(training.stretches.start[0]))
    end = axis.at(int(training.stretches.end.max()))
    return begin / PS_PER_S, end / PS_PER_S


def _promised_span(training: PlacedTraining, span: _Span, readings: SensorReadings) -> _Span:
    """The part of the training that limits speak of."""
    begin, end = span
    judged = np.flatnonzero(readings.judged)
    if len(judged) and len(training.records) <= MAX_EPOCH_RECORDS:
        # How the first epoch begins is not judged, and nothing is promised of it.
        begin = max(begin, float(readings.lo[judged[0]]))
    return begin, end


def _known_course(training: PlacedTraining, axis: TrainingOnAxis) -> KnownCourse:
    """What the records say of the training, on the axis."""
    epochs = []
    for _, start, end in bounded_epochs(training.epochs):
        begin_s = (start.ns - axis.zero_ns) / NS_PER_S
        end_s = (end.ns - axis.zero_ns) / NS_PER_S
        epochs.append((begin_s, end_s))
    few = MAX_EPOCH_RECORDS < len(training.records) <= _FEW_RECORDS
    if few and len(epochs) < 2 and not training.records.within:
        # Of a loop that logs once in a long while each turn is an epoch: what it does at the end
        # of every one, nothing else tells.
        at_s = (training.records.at_ns - axis.zero_ns) / NS_PER_S
        epochs = list(zip(at_s[:-1].tolist(), at_s[1:].tolist(), strict=True))
    return KnownCourse(
        stretches=stretches.training_stretches(training.records, training.epochs),
        zero_ns=axis.zero_ns,
        epochs=tuple(epochs),
        by_steps=len(training.records) > MAX_EPOCH_RECORDS,
        islands=session_spans(axis),
    )
