"""The first witness: power that nothing in the trace explains.

It works with one epoch, with none, and outside all steps. Where a log may lie at several places,
stretches are looked for at each of them. A stretch counts when it is found at places that together
are nearly sure; its figures are then means over all of these, by their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy import expected_work, placing, samples
from powertui.data.energy import sensor as sensors
from powertui.data.energy.findings import expected_power, pace, stretch_search, work_columns
from powertui.data.energy.findings.expected_power import Expected
from powertui.data.energy.findings.noise import Noise, centre, noise_of
from powertui.data.energy.findings.power_stretch import Box, joined, same_load
from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.energy.findings.readings import covered_share
from powertui.data.energy.samples import Samples
from powertui.data.model import (
    NS_PER_S,
    PS_PER_S,
    Z95,
    Floats,
    PowerKind,
    PowerOnTrace,
    ScalarSeries,
    Steps,
    Trace,
)
from powertui.value_types import dataclass

# The share of the weight of all places at which a stretch must be found. Chosen, not measured.
SURE_WEIGHT = 0.9
# Found at places of at least this weight, a stretch that is not sure is counted as doubtful.
_DOUBTFUL_WEIGHT = 0.1
# A place that weighs less is not looked at. Chosen, not measured.
LEAST_WEIGHT = 0.02
# One sigma of a window that is only usual for such a source, as a share of it. Chosen.
_USUAL_WINDOW_ERROR = 0.2
# So large a share of low readings may be the usual ones as well. Chosen, not measured.
_MIN_USUAL_SHARE = 0.3
# Stretches whose heights differ by less have one cause. Chosen, not measured.
_MIN_ALIKE_HEIGHT = 0.6
# A place weighs less by the power that the noise there has over the least noise: one for so many
# independent readings, and no more than for so many. Chosen, not measured.
_BLOCKS_OF_A_FIT = 8
_MAX_FIT_BLOCKS = 80.0


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Stretches, and at the likeliest place what they were held against."""

    boxes: tuple[Box, ...]
    expected: Expected | None
    noise: Noise | None
    doubtful: int = 0  # stretches that stand out at some places only
    reason: str = ""


class _PlaceFindings(NamedTuple):
    """What was found at one place of the log."""

    weight: float
    offset: float  # s
    expected: Expected
    boxes: list[Box]
    noise: Noise


def unexplained_power(
    trace: Trace,
    steps: Steps,
    power: PowerOnTrace,
    scalars: Sequence[ScalarSeries],
    training: tuple[int, int] | None,
) -> Unexplained:
    """What the channel drew that nothing in the trace explains."""
    if trace.span[1] <= trace.span[0]:
        return Unexplained((), None, None, reason="the profile is empty")
    data = samples.power_samples(power.series)
    work = work_columns.kind_seconds(trace, steps, expected_work.activities(trace))
    usual_pace = pace.training_pace(scalars, trace.clock)
    training_s = None
    if training is not None:
        training_s = (training[0] / PS_PER_S, training[1] / PS_PER_S)
    step_bounds = steps.start / PS_PER_S, steps.ends() / PS_PER_S
    places = [
        (place.weight, on_trace)
        for place, on_trace in zip(power.places, placing.everywhere(power), strict=True)
        if place.weight >= LEAST_WEIGHT
    ]
    by_place: list[_PlaceFindings] = []
    for weight, on_trace in places or [(1.0, power)]:
        half_s = (on_trace.offset_hi_ps - on_trace.offset_lo_ps) / 2 / PS_PER_S
        model = expected_power.expected_power(
            placed_on(data, on_trace),
            work,
            0.0,
            unsure=window_prior(power, data, half_s / Z95),
            pace=usual_pace,
            training=training_s,
            steps=step_bounds,
        )
        by_place.append(
            _PlaceFindings(weight, on_trace.offset_ps / PS_PER_S, *_find_stretches(model))
        )
    likeliest = by_place[0]
    if likeliest.expected.reason:
        return Unexplained((), None, None, reason=likeliest.expected.reason)
    # Boxes are compared on the log's own clock, on which they do not move from place to place.
    on_log = [[box.moved(-place.offset) for box in place.boxes] for place in by_place]
    by_alignment = join_over_places(
        [(place.weight, boxes) for place, boxes in zip(by_place, on_log, strict=True)]
    )
    by_fit = join_over_places(list(zip(_weights_by_fit(by_place), on_log, strict=True)))
    offset = likeliest.offset
    span = (trace.span[0] / PS_PER_S - offset, trace.span[1] / PS_PER_S - offset)
    boxes, dropped = in_profile(by_fit[0], by_alignment[0], span)
    offsets = [place.offset for place in by_place]
    sigma = spread(_weights_by_fit(by_place), offsets)
    sigma = float(np.hypot(sigma, likeliest.expected.place_s))
    return Unexplained(
        boxes=tuple(box.moved(offset).wider(sigma) for box in boxes),
        expected=likeliest.expected,
        noise=likeliest.noise,
        doubtful=by_fit[1] + dropped,
    )


def _find_stretches(model: Expected) -> tuple[Expected, list[Box], Noise]:
    """The stretches against this expectation, or against its low level where that fits as well."""
    if model.reason:
        boxes: list[Box] = []
        return model, boxes, noise_of(np.empty(0), 1.0)
    boxes, noise = stretch_search.find_stretches(model.readings)
    lower = _lower(model, boxes)
    if lower is not None:
        lower_boxes, lower_noise = stretch_search.find_stretches(lower.readings)
        if lower_boxes and all(box.watts > 0 for box in lower_boxes):
            return lower, lower_boxes, lower_noise
    return model, boxes, noise


def _lower(model: Expected, boxes: Sequence[Box]) -> Expected | None:
    """The same compared with the level of its low stretches; None where there are no such.

    They have to be a good part of it. Foreign load adds, and a load that is there for half of a run
    is no more usual than its end.
    """
    down = [box for box in boxes if box.watts < 0]
    if not down:
        return None
    readings = model.readings
    longest = max(down, key=lambda box: box.end - box.start)
    alike = [
        box for box in down if _MIN_ALIKE_HEIGHT < box.watts / longest.watts < 1 / _MIN_ALIKE_HEIGHT
    ]
    shares = [covered_share(readings, box.start, box.end) for box in alike]
    low = np.max(shares, axis=0) > 0.5
    inside = readings.judged & (readings.floor == readings.ceiling)
    if (low & inside).sum() < _MIN_USUAL_SHARE * inside.sum():
        return None
    # By how far these readings themselves are below it: the height of a box is how far they are
    # below what is beside them, too.
    shift = centre(readings.beyond()[low & inside], readings.doubt[low & inside])
    by = np.where(inside, shift, 0.0)
    lower = replace(readings, floor=readings.floor + by, ceiling=readings.ceiling + by)
    return replace(model, readings=lower, level=model.level + shift)


def _weights_by_fit(by_place: Sequence[_PlaceFindings]) -> list[float]:
    """The weights of the places, less where what ran explains the readings worse.

    Bursts are set aside for that. It is done carefully, for the weights come from much the same
    readings.
    """
    least = min(place.noise.one for place in by_place)
    weights = []
    for place in by_place:
        care = min(place.noise.blocks, _MAX_FIT_BLOCKS) / _BLOCKS_OF_A_FIT
        weights.append(place.weight * (least / place.noise.one) ** care)
    return weights


def in_profile(
    boxes: Sequence[Box], everywhere: Sequence[Box], span: tuple[float, float]
) -> tuple[list[Box], int]:
    """(boxes that overlap the profile, and of the others those in `everywhere`; how many are left).

    `span` of the profile is on the log's own clock. `everywhere`: the boxes at all places as the
    alignment weighs them, for how well the profile explains a place says little of what is beside
    it.
    """
    inside = []
    for box in boxes:
        overlaps = box.end > span[0] and box.start < span[1]
        if overlaps or any(same_load(box, candidate) for candidate in everywhere):
            inside.append(box)
    return inside, len(boxes) - len(inside)


def window_prior(power: PowerOnTrace, data: Samples, place_s: float) -> WindowPrior:
    """How well the windows are known, at a place that is known to `place_s` (one sigma)."""
    sensor = power.series.sensor
    centre_err_s = sensors.centre_err_s(sensor, power.series.kind)
    place = float(np.sqrt(place_s**2 + centre_err_s**2 + data.late**2 / 3))
    exact = power.series.kind is PowerKind.INTERVAL
    if data.known_window or exact:
        return WindowPrior(place, 0.0, exact=exact)
    window = sensor.window_s.value if sensor.window_s else data.refresh
    error = sensor.window_err_s
    if error is None:
        error = _USUAL_WINDOW_ERROR * window
    length = float(np.median(data.hi - data.lo)) if len(data) else window
    longest = max(1.0, data.refresh / max(length, 1e-9)) if sensors.slow(sensor) else 1.0
    return WindowPrior(place, min(error / max(window, 1e-9), 0.9), longest=longest)


def placed_on(data: Samples, power: PowerOnTrace) -> Samples:
    """The windows on the trace's clock, where that of the log drifts against it, too."""
    times = power.times
    log_times = power.series.times
    shift_s: Floats | float = power.offset_ps / PS_PER_S
    if len(times) and len(times) == len(log_times):
        log_s = log_times / NS_PER_S
        shift_s = np.interp(data.hi, log_s, times / PS_PER_S - log_s)
    return replace(data, lo=data.lo + shift_s, hi=data.hi + shift_s)


def spread(weights: Sequence[float], offsets: Sequence[float]) -> float:
    """One sigma of the place."""
    share = np.asarray(weights) / sum(weights)
    places = np.asarray(offsets)
    middle = float(share @ places)
    return float(np.sqrt(share @ (places - middle) ** 2))


class _BoxAtPlace(NamedTuple):
    """A box that was found with the log at one place."""

    weight: float
    place: int
    box: Box


def join_over_places(by_place: Sequence[tuple[float, list[Box]]]) -> tuple[list[Box], int]:
    """(boxes that are found at nearly all places, joined; how many are found at some only).

    Each place is (weight, boxes on the log's own clock).
    """
    if len(by_place) == 1:
        return by_place[0][1], 0
    total = sum(weight for weight, _ in by_place)
    remaining: list[_BoxAtPlace] = []
    for place, (weight, boxes) in enumerate(by_place):
        remaining += [_BoxAtPlace(weight, place, box) for box in boxes]
    remaining.sort(key=lambda candidate: -candidate.weight)
    sure: list[Box] = []
    doubtful = 0
    while remaining:
        heaviest = remaining[0].box
        same = [candidate for candidate in remaining if same_load(candidate.box, heaviest)]
        remaining = [candidate for candidate in remaining if candidate not in same]
        weight_by_place = {candidate.place: candidate.weight for candidate in same}
        share = sum(weight_by_place.values()) / total
        if share >= SURE_WEIGHT:
            sure.append(joined([(candidate.weight, candidate.box) for candidate in same]))
        elif share >= _DOUBTFUL_WEIGHT:
            doubtful += 1
    return sorted(sure, key=lambda box: box.start), doubtful
