"""The first witness: power that nothing in the trace explains, with one epoch, with none, or
outside all steps.

Where a log may lie at several places, it is looked for at each of them. A stretch is told when it
stands out at places that together are nearly sure; its figures are then drawn from all of these, by
their weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy import expected_work, placing, samples
from powertui.data.energy import sensor as sensors
from powertui.data.energy.findings import expected_power, pace, stretch_search, work_columns
from powertui.data.energy.findings.expected_power import Expected
from powertui.data.energy.findings.noise import Noise, centre, noise_of
from powertui.data.energy.findings.power_stretch import Box, joined, overlap
from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.energy.findings.readings import covered_share
from powertui.data.energy.samples import Samples
from powertui.data.model import (
    NS_PER_S,
    PS_PER_S,
    Floats,
    PowerKind,
    PowerOnTrace,
    ScalarSeries,
    Steps,
    Trace,
)

SURE_WEIGHT = 0.9  # of the weight of all places
_USUAL = 0.2  # of a window that is only usual for such a source: one sigma
_AS_USUAL = 0.3  # of the readings: so many low ones may be the usual ones as well
_ALIKE = 0.6  # of a height: such stretches have one cause
LEAST_WEIGHT = 0.02  # a place that weighs less is not looked at


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Stretches, and at the likeliest place what they were held against."""

    boxes: tuple[Box, ...]
    expected: Expected | None
    noise: Noise | None
    doubtful: int = 0  # stretches that stand out at some places only
    reason: str = ""


class _Looked(NamedTuple):
    """What stands out at one place."""

    weight: float
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
    ran = work_columns.kind_seconds(trace, steps, expected_work.activities(trace))
    going = pace.training_pace(scalars, trace.clock)
    trained = (training[0] / PS_PER_S, training[1] / PS_PER_S) if training is not None else None
    begin, end = steps.start / PS_PER_S, steps.ends() / PS_PER_S
    places = [
        (p.weight, one)
        for p, one in zip(power.places, placing.everywhere(power), strict=True)
        if p.weight >= LEAST_WEIGHT
    ]
    looked: list[_Looked] = []
    for weight, one in places or [(1.0, power)]:
        moved = placed_on(data, one)
        half = (one.offset_hi_ps - one.offset_lo_ps) / 2 / PS_PER_S
        doubt = window_prior(power, data, half / 1.96)
        model = expected_power.expected_power(
            moved, ran, 0.0, unsure=doubt, pace=going, training=trained, steps=(begin, end)
        )
        found, noise = (
            stretch_search.find_stretches(model.readings) if not model.reason else ([], None)
        )
        lower = _lower(model, found)
        if lower is not None:
            other, noise_there = stretch_search.find_stretches(lower.readings)
            if other and all(box.watts > 0 for box in other):
                model, found, noise = lower, other, noise_there
        looked.append(_Looked(weight, model, found, noise or noise_of(np.empty(0), 1.0)))
    _, first, found, noise = looked[0]
    if first.reason:
        return Unexplained((), None, None, reason=first.reason)
    offsets = [one.offset_ps / PS_PER_S for _, one in places] or [power.offset_ps / PS_PER_S]
    asked = [
        (w, [b.moved(-o) for b in bs]) for (w, _, bs, _), o in zip(looked, offsets, strict=True)
    ]
    looked = _believed(looked)
    kept, doubtful = join_over_places(
        [(one.weight, own) for one, (_, own) in zip(looked, asked, strict=True)]
    )
    at = offsets[0]
    kept, less = in_profile(
        kept,
        join_over_places(asked)[0],
        (trace.span[0] / PS_PER_S - at, trace.span[1] / PS_PER_S - at),
    )
    doubtful += less
    sigma = float(np.hypot(spread([w for w, *_ in looked], offsets), first.place_s))
    return Unexplained(tuple(one.moved(at).wider(sigma) for one in kept), first, noise, doubtful)


def _lower(model: Expected, found: Sequence[Box]) -> Expected | None:
    """The same held against the level of its low stretches, where these are a good part of it:
    foreign load adds, and a load that is there for half of a run is no more usual than its end.
    None where no such stretches are.
    """
    down = [box for box in found if box.watts < 0]
    if not down:
        return None
    readings = model.readings
    longest = max(down, key=lambda box: box.end - box.start)
    alike = [box for box in down if _ALIKE < box.watts / longest.watts < 1 / _ALIKE]
    low = np.max([covered_share(readings, box.start, box.end) for box in alike], axis=0) > 0.5
    inside = readings.judged & (readings.floor == readings.ceiling)
    if (low & inside).sum() < _AS_USUAL * inside.sum():
        return None
    # By what they lie below it themselves: the height of a box is how far they lie below what is
    # beside them, too.
    down_to = centre(readings.beyond()[low & inside], readings.doubt[low & inside])
    by = np.where(inside, down_to, 0.0)
    lower = replace(readings, floor=readings.floor + by, ceiling=readings.ceiling + by)
    return replace(model, readings=lower, level=model.level + down_to)


def _believed(looked: Sequence[_Looked]) -> list[_Looked]:
    """Places at which what ran explains the readings worse, bursts set aside, weigh less:
    carefully, for their weights come from much the same readings.
    """
    least = min(one.noise.one for one in looked)
    return [
        one._replace(
            weight=one.weight * (least / one.noise.one) ** (min(one.noise.blocks, 80.0) / 8)
        )
        for one in looked
    ]


def in_profile(
    found: Sequence[Box], everywhere: Sequence[Box], span: tuple[float, float]
) -> tuple[list[Box], int]:
    """Boxes that overlap the profile (`span`, on the log's own clock), and of the others those that
    stand out at all places as the alignment weighs them; and how many are left out. How well the
    profile explains a place tells little of what lies beside it.
    """

    def held(box: Box) -> bool:
        return any(overlap(box, one) > 0 and box.watts * one.watts > 0 for one in everywhere)

    kept = [box for box in found if (box.end > span[0] and box.start < span[1]) or held(box)]
    return kept, len(found) - len(kept)


def window_prior(power: PowerOnTrace, data: Samples, place_s: float) -> WindowPrior:
    """How well the windows are known, at a place that is known so well."""
    sensor = power.series.sensor
    place = float(
        np.sqrt(
            place_s**2 + sensors.centre_err_s(sensor, power.series.kind) ** 2 + data.late**2 / 3
        )
    )
    if data.known_window or power.series.kind is PowerKind.INTERVAL:
        return WindowPrior(place, 0.0, exact=power.series.kind is PowerKind.INTERVAL)
    window = sensor.window_s.value if sensor.window_s else data.refresh
    error = sensor.window_err_s if sensor.window_err_s is not None else _USUAL * window
    length = float(np.median(data.hi - data.lo)) if len(data) else window
    longest = max(1.0, data.refresh / max(length, 1e-9)) if sensors.slow(sensor) else 1.0
    return WindowPrior(place, min(error / max(window, 1e-9), 0.9), longest=longest)


def placed_on(data: Samples, power: PowerOnTrace) -> Samples:
    """The windows on the trace's clock, where that of the log drifts against it, too."""
    times, series = power.times, power.series.times
    if not len(times) or len(times) != len(series):
        shift: Floats | float = power.offset_ps / PS_PER_S
    else:
        log = series / NS_PER_S
        shift = np.interp(data.hi, log, times / PS_PER_S - log)
    return replace(data, lo=data.lo + shift, hi=data.hi + shift)


def spread(weights: Sequence[float], offsets: Sequence[float]) -> float:
    """One sigma of the place."""
    share = np.asarray(weights) / sum(weights)
    middle = float(share @ np.asarray(offsets))
    return float(np.sqrt(share @ (np.asarray(offsets) - middle) ** 2))


def join_over_places(looked: Sequence[tuple[float, list[Box]]]) -> tuple[list[Box], int]:
    """Boxes on the log's own clock that stand out at nearly all places, joined; and how many stand
    out at some only.
    """
    if len(looked) == 1:
        return looked[0][1], 0
    total = sum(weight for weight, _ in looked)
    every = sorted(
        ((weight, at, box) for at, (weight, found) in enumerate(looked) for box in found),
        key=lambda one: -one[0],
    )
    kept: list[Box] = []
    doubtful = 0
    while every:
        _, _, lead = every[0]
        same = [
            one for one in every if one[2].watts * lead.watts > 0 and overlap(one[2], lead) >= 0.5
        ]
        every = [one for one in every if one not in same]
        weight = sum({at: w for w, at, _ in same}.values()) / total
        if weight >= SURE_WEIGHT:
            kept.append(joined([(w, box) for w, _, box in same]))
        elif weight >= 0.1:
            doubtful += 1
    return sorted(kept, key=lambda one: one.start), doubtful
