"""What would have been found in a training, beside its sessions, which have limits of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy.findings import could_find
from powertui.data.energy.findings.finding_rules import MIN_RUN_SHARE, expected_watts, min_watts
from powertui.data.energy.findings.noise import Noise
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.model import PS_PER_S
from powertui.data.training import layers
from powertui.data.training.boxes_in_epochs import MAX_EPOCH_RECORDS, RULES
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_finding_words import joined_spans
from powertui.data.training.training_on_axis import TrainingOnAxis, session_spans
from powertui.value_types import dataclass

_Span = tuple[float, float]  # s on the axis


@dataclass(frozen=True, eq=False)
class SearchedReadings:
    """What stretches were looked for in."""

    readings: SensorReadings
    noise: Noise
    boxes: Sequence[Box]  # that were found
    skipped: Sequence[_Span]  # not looked at closely
    run_joules: float


def detection_limits(
    training: PlacedTraining, axis: TrainingOnAxis, searched: SearchedReadings
) -> tuple[could_find.Limits, str]:
    """What would have been found, also in words."""
    readings = searched.readings
    span = _promised_span(training, axis, readings)
    expected = expected_watts(readings.ceiling)
    strong_watts = min_watts(expected, RULES.strong_share)
    mattering = could_find.Mattering(
        watts=min_watts(expected),
        joules=MIN_RUN_SHARE * searched.run_joules,
        strong=could_find.StrongBurst(strong_watts, RULES.min_strong_s),
    )
    # Sessions have limits of their own, by their traces: these are about the rest.
    sessions = session_spans(axis)
    doubtful = could_find.doubtful(readings, span, mattering.watts)
    # Where it drew less than expected a load shows the less of itself.
    paused = [box.span for box in searched.boxes if box.watts < 0]
    unchecked = joined_spans([*doubtful, *paused, *searched.skipped])
    unknown = could_find.beside(unchecked, sessions)
    limits = could_find.limits(
        readings,
        searched.noise,
        span,
        mattering,
        apart=(*unknown, *sessions),
        searched=could_find.SearchExtent(
            looks=layers.piece_count(len(readings)),
            longest_s=layers.longest_stretch_s(readings),
        ),
    )
    limits = limits._replace(apart=unknown)
    sessions_s = sum(end - start for start, end in sessions)
    return limits, could_find.sentence(limits, span, sessions_s)


def _promised_span(
    training: PlacedTraining, axis: TrainingOnAxis, readings: SensorReadings
) -> _Span:
    """The part of the training that limits speak of."""
    stretches = training.stretches
    begin = axis.at(int(stretches.start[0])) / PS_PER_S
    end = axis.at(int(stretches.end.max())) / PS_PER_S
    judged = np.flatnonzero(readings.judged)
    if len(judged) and len(training.records) <= MAX_EPOCH_RECORDS:
        # How the first epoch begins is not judged, and nothing is promised of it.
        begin = max(begin, float(readings.lo[judged[0]]))
    return begin, end
