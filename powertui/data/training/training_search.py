"""The search for stretches in which a training drew more or less than expected.

What is expected comes from its own records and its other epochs. The engine is that of a profile's
findings; only the expectation differs. A stretch that reaches over several epochs is one
finding, from a batch of the first to one of the last. Outside its sessions nothing can explain it:
"a capture here would show".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.energy import placing, samples
from powertui.data.energy.account import Account
from powertui.data.energy.findings import finding_texts, unexplained
from powertui.data.energy.findings.finding import Finding, Findings, Unopened
from powertui.data.energy.findings.noise import Noise
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import held_against
from powertui.data.energy.samples import Samples
from powertui.data.model import NS_PER_S, PS_PER_S, Z95, PowerOnTrace
from powertui.data.training import expected_course, layers, overlapping_loads, stretches
from powertui.data.training import training_finding_words as words
from powertui.data.training.boxes_in_epochs import MAX_EPOCH_RECORDS, FindingsFromBoxes
from powertui.data.training.expected_course import ExpectedOfTraining, KnownCourse
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_limits import SearchedReadings, detection_limits
from powertui.data.training.training_on_axis import TrainingOnAxis, session_spans
from powertui.data.training.training_parts import bounded_epochs

# A place of the log that weighs less is not looked at. Chosen, not measured.
_MIN_PLACE_WEIGHT = 0.02
# Readings that are searched, all places together: 100,000 take 4 s. A longer log is searched at its
# likeliest place alone, where the others make its place less sure.
_MAX_SEARCHED_READINGS = 200_000


class _PlaceFindings(NamedTuple):
    """What differs from the expectation with the log at one place."""

    weight: float
    offset: float
    expected: ExpectedOfTraining
    boxes: list[Box]
    noise: Noise
    skipped: tuple[tuple[float, float], ...]


def searched_findings(
    training: PlacedTraining, axis: TrainingOnAxis, account: Account, power: PowerOnTrace
) -> Findings:
    """All stretches of unexpected power outside the sessions, on this axis."""
    by_place = _findings_by_place(training, axis, power)
    likeliest = by_place[0]
    if likeliest.expected.reason:
        return Findings(None, (), reason=likeliest.expected.reason)
    # Boxes are compared on the log's own clock, on which they do not move from place to place.
    boxes, doubtful = unexplained.join_over_places(
        [(place.weight, [box.moved(-place.offset) for box in place.boxes]) for place in by_place]
    )
    converter = FindingsFromBoxes(training=training, axis=axis, account=account, power=power)
    findings = _from_boxes(boxes, converter, by_place)
    if len(training.records) <= MAX_EPOCH_RECORDS:
        # Where within an epoch it pauses is not known: drawing less than the others says nothing.
        findings = [finding for finding in findings if (finding.delta_watts or 0.0) > 0]
    mattering: list[Finding] = []
    smaller: list[Finding] = []
    for finding in findings:
        (mattering if converter.matters(finding) else smaller).append(finding)
    mattering.sort(key=lambda finding: -abs(finding.delta_joules or 0.0))
    readings = likeliest.expected.readings
    searched = SearchedReadings(
        readings=readings,
        noise=likeliest.noise,
        boxes=likeliest.boxes,
        skipped=likeliest.skipped,
        run_joules=converter.run_joules,
    )
    limits, could = detection_limits(training, axis, searched)
    return Findings(
        folded=None,
        findings=tuple(mattering),
        smaller=Unopened(smaller),
        limits=limits.findings,
        could=could,
        notes=_notes(training, likeliest, doubtful),
        seen=limits.seen,
        against=held_against(readings),
        apart=limits.apart,
    )


def _notes(training: PlacedTraining, likeliest: _PlaceFindings, doubtful: int) -> tuple[str, ...]:
    """What was not looked for, or is not listed."""
    notes = []
    if likeliest.skipped:
        notes.append(words.skipped_sentence(likeliest.skipped))
    if len(training.records) <= MAX_EPOCH_RECORDS:
        notes.append("only epochs are logged: scalars every few batches would show more")
    if doubtful:
        notes.append(finding_texts.doubtful_note(doubtful))
    return tuple(notes)


def _from_boxes(
    boxes: Sequence[Box], converter: FindingsFromBoxes, by_place: Sequence[_PlaceFindings]
) -> list[Finding]:
    """Boxes on the log's own clock as findings of the likeliest place; pauses are none."""
    power = converter.power
    offset = by_place[0].offset
    offsets = [place.offset for place in by_place]
    sigma = unexplained.spread([place.weight for place in by_place], offsets)
    if len(by_place) == 1:
        half_ps = (power.offset_hi_ps - power.offset_lo_ps) / 2
        sigma = float(np.hypot(sigma, half_ps / Z95 / PS_PER_S))
    shifts = [(weight, on_axis.offset_ps / PS_PER_S - offset) for weight, on_axis in _places(power)]
    findings = []
    for box in overlapping_loads.merge_stacked_boxes(boxes):
        finding = converter.from_box(box.moved(offset).wider(sigma), shifts)
        if not converter.is_pause(finding):
            findings.append(finding)
    return findings


def _places(power: PowerOnTrace) -> list[tuple[float, PowerOnTrace]]:
    """The places where the power may be, with their weights, the likeliest first."""
    places = []
    for place, on_axis in zip(power.places, placing.everywhere(power), strict=True):
        if place.weight >= _MIN_PLACE_WEIGHT:
            places.append((place.weight, on_axis))
    return places or [(1.0, power)]


def _findings_by_place(
    training: PlacedTraining, axis: TrainingOnAxis, power: PowerOnTrace
) -> list[_PlaceFindings]:
    """What differs from the expectation at each place where the power may be."""
    data = samples.power_samples(power.series)
    course = _known_course(training, axis)
    places = _places(power)
    apart_s = 0.0
    if len(places) * len(data) > _MAX_SEARCHED_READINGS:
        offsets = [on_axis.offset_ps / PS_PER_S for _, on_axis in places]
        apart_s = unexplained.spread([weight for weight, _ in places], offsets)
        places = places[:1]
    by_place = []
    for weight, on_axis in places:
        half_s = (on_axis.offset_hi_ps - on_axis.offset_lo_ps) / 2 / PS_PER_S
        place_s = float(np.hypot(half_s / Z95, axis.apart_ns / Z95 / NS_PER_S))
        place_s = float(np.hypot(place_s, apart_s))

        def expect(
            layer: Samples, on_axis: PowerOnTrace = on_axis, place_s: float = place_s
        ) -> ExpectedOfTraining:
            prior = unexplained.window_prior(power, layer, place_s)
            placed = unexplained.placed_on(layer, on_axis)
            return expected_course.expected_course(placed, course, prior)

        layered = layers.find_in_layers(data, expect)
        by_place.append(_PlaceFindings(weight, on_axis.offset_ps / PS_PER_S, *layered))
    return by_place


def _known_course(training: PlacedTraining, axis: TrainingOnAxis) -> KnownCourse:
    """What the records say of the training, on the axis."""
    epochs = []
    for _, start, end in bounded_epochs(training.epochs):
        begin_s = (start.ns - axis.zero_ns) / NS_PER_S
        end_s = (end.ns - axis.zero_ns) / NS_PER_S
        epochs.append((begin_s, end_s))
    return KnownCourse(
        stretches=stretches.training_stretches(training.records, training.epochs),
        zero_ns=axis.zero_ns,
        epochs=tuple(epochs),
        by_steps=len(training.records) > MAX_EPOCH_RECORDS,
        islands=session_spans(axis),
    )
