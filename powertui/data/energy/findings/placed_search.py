"""The search for power that nothing explains, at every place where the log may be.

One engine for a profile and for the training around it: only what they expect differs. A stretch
counts when it is found at places that together are nearly sure; its figures are then means over all
of these, by their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import placing, samples, settings
from powertui.data.energy import sensor as sensors
from powertui.data.energy.findings import layers
from powertui.data.energy.findings.layers import LayerFindings
from powertui.data.energy.findings.power_stretch import Box, joined, one_load, same_load
from powertui.data.energy.findings.reading_windows import WindowPrior
from powertui.data.energy.findings.readings import Expectation
from powertui.data.energy.findings.residual_noise import ResidualNoise
from powertui.data.energy.samples import Samples, usual_window_s
from powertui.data.model import NS_PER_S, PS_PER_S, Z95, Floats, PowerKind, PowerOnTrace
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# The share of the weight of all places at which a stretch must be found. Chosen, not measured.
_MIN_SURE_WEIGHT = settings.NEARLY_ALL_SHARE
# Found at places of at least this weight, a stretch that is not sure is counted as doubtful.
_DOUBTFUL_WEIGHT = settings.MINOR_SHARE
# A place that weighs less is not looked at. Chosen, not measured.
_MIN_PLACE_WEIGHT = settings.SLIGHT_SHARE
# Readings that are searched, all places together: restless ones take 0.2 ms each. The likeliest
# places come first, and those that there is no room for make these less sure. At 200,000 one
# training of 25 minutes read every 0.1 s took 35 s.
_MAX_SEARCHED_READINGS = 50_000
# One sigma of a window that is only usual for such a source, as a share of it. Chosen.
_USUAL_WINDOW_ERROR = 0.2
# A place weighs less by the power that the noise there has over the least noise: one for so many
# independent readings, and no more than for so many. Chosen, not measured.
_BLOCKS_OF_A_FIT = settings.MIN_SAMPLE_VALUES
_MAX_FIT_BLOCKS = 80.0

_Span = tuple[float, float]  # s on the trace
# What readings on the trace should have been, by how well their windows are known.
Expect = Callable[[Samples, WindowPrior], Expectation]


@dataclass(frozen=True, eq=False)
class FoundLoads:
    """Stretches, and at the likeliest place what they were held against."""

    boxes: tuple[Box, ...]
    expected: Expectation | None
    noise: ResidualNoise | None
    doubtful: int = 0  # stretches that stand out at some places only
    reason: str = ""  # why nothing was looked for
    at_likeliest: tuple[Box, ...] = ()  # what was found at the likeliest place
    skipped: tuple[_Span, ...] = ()  # not looked at closely, there is too much


class _LoadsAtPlace(NamedTuple):
    """What was found at one place of the log."""

    weight: float
    offset: float  # s
    loads: LayerFindings


def loads_at_all_places(
    power: PowerOnTrace,
    expect: Expect,
    span: _Span,
    axis_err_s: float = 0.0,
) -> FoundLoads:
    """The stretches that noise does not explain.

    `span`: of which `expect` knows what was drawn. `axis_err_s`: one sigma of the axis itself.
    """
    data = samples.power_samples(power.series)
    places = likely_places(power)
    apart_s = 0.0
    room = max(_MAX_SEARCHED_READINGS // max(len(data), 1), 1)
    if len(places) > room:
        weights = [weight for weight, _ in places]
        offsets_s = [on_trace.offset_ps / PS_PER_S for _, on_trace in places]
        apart_s = spread(weights, offsets_s)
        places = places[:room]
    by_place = []
    for weight, on_trace in places:
        half_s = (on_trace.offset_hi_ps - on_trace.offset_lo_ps) / 2 / PS_PER_S
        sigma_s = half_s / Z95
        place_s = float(np.sqrt(sigma_s**2 + axis_err_s**2 + apart_s**2))

        def expect_there(
            layer: Samples,
            on_trace: PowerOnTrace = on_trace,
            place_s: float = place_s,
        ) -> Expectation:
            prior = _window_prior(power, layer, place_s)
            return expect(_placed_on(layer, on_trace), prior)

        loads = layers.find_in_layers(data, expect_there)
        by_place.append(
            _LoadsAtPlace(
                weight=weight,
                offset=on_trace.offset_ps / PS_PER_S,
                loads=loads,
            )
        )
    return _over_all_places(by_place, span)


class LogEnds(NamedTuple):
    """Where the first and the last reading of a log are, at its likeliest place."""

    first_s: float  # the middle of what the reading is the mean of, s on the trace
    last_s: float

    def cut(self, box: Box) -> tuple[bool, bool]:
        """Whether the log begins, and whether it ends, inside a box. A reading of which a box
        covers less than half shows itself where the box ends.
        """
        return box.start <= self.first_s, box.end >= self.last_s


def log_ends(power: PowerOnTrace) -> LogEnds:
    """Those of all of a log, however few of its readings are looked at."""
    data = samples.power_samples(power.series)
    if not len(data):
        return LogEnds(-np.inf, np.inf)
    _, likeliest = likely_places(power)[0]
    data = _placed_on(data, likeliest)
    middles = (data.lo[[0, -1]] + data.hi[[0, -1]]) / 2
    return LogEnds(
        first_s=float(middles[0]),
        last_s=float(middles[1]),
    )


def likely_places(power: PowerOnTrace) -> list[tuple[float, PowerOnTrace]]:
    """The places where the power may be, with their weights, the likeliest first."""
    places = []
    for place, on_trace in zip(power.places, placing.everywhere(power), strict=True):
        if place.weight >= _MIN_PLACE_WEIGHT:
            places.append((place.weight, on_trace))
    return places or [(1.0, power)]


def _over_all_places(by_place: Sequence[_LoadsAtPlace], span: _Span) -> FoundLoads:
    """What was found at the places together, on the trace as the likeliest one lays it."""
    likeliest = by_place[0]
    likeliest_loads = likeliest.loads
    expected = likeliest_loads.expected
    if expected.reason:
        return FoundLoads(
            boxes=(),
            expected=None,
            noise=None,
            reason=expected.reason,
        )
    # Boxes are compared on the log's own clock, on which they do not move from place to place.
    on_log = [[box.moved(-place.offset) for box in place.loads.boxes] for place in by_place]
    weights = [place.weight for place in by_place]
    everywhere, _ = _join_over_places(weights, on_log)
    weights = _weights_by_fit(by_place)
    sure, doubtful_count = _join_over_places(weights, on_log)
    offset = likeliest.offset
    begin, end = span
    boxes, dropped = in_known_span(sure, everywhere, (begin - offset, end - offset))
    offset_sigma = spread(weights, [place.offset for place in by_place])
    sigma = float(np.hypot(offset_sigma, expected.place_s))
    return FoundLoads(
        boxes=tuple(box.moved(offset).wider(sigma) for box in one_load(boxes)),
        expected=expected,
        noise=likeliest_loads.noise,
        doubtful=doubtful_count + dropped,
        at_likeliest=tuple(likeliest_loads.boxes),
        skipped=likeliest_loads.skipped,
    )


def _weights_by_fit(by_place: Sequence[_LoadsAtPlace]) -> list[float]:
    """The weights of the places, less where what ran explains the readings worse.

    Bursts are set aside for that. It is done carefully, for the weights come from much the same
    readings.
    """
    least = min(place.loads.noise.single for place in by_place)
    weights = []
    for place in by_place:
        noise = place.loads.noise
        care = min(noise.blocks, _MAX_FIT_BLOCKS) / _BLOCKS_OF_A_FIT
        fit = (least / noise.single) ** care
        weights.append(place.weight * fit)
    return weights


def in_known_span(
    boxes: Sequence[Box],
    everywhere: Sequence[Box],
    span: _Span,
) -> tuple[list[Box], int]:
    """(boxes that overlap what is known, and of the others those in `everywhere`; how many are
    left).

    `span` is on the log's own clock. `everywhere`: the boxes at all places as the alignment weighs
    them, for how well a profile explains a place says little of what is beside it.
    """
    begin, end = span
    inside = []
    for box in boxes:
        overlaps = box.end > begin and box.start < end
        if overlaps or any(same_load(box, candidate) for candidate in everywhere):
            inside.append(box)
    return inside, len(boxes) - len(inside)


def _window_prior(
    power: PowerOnTrace,
    data: Samples,
    place_s: float,
) -> WindowPrior:
    """How well the windows are known, at a place that is known to `place_s` (one sigma)."""
    sensor = power.series.sensor
    kind = power.series.kind
    centre_err_s = sensors.centre_err_s(sensor, kind)
    variance = place_s**2 + centre_err_s**2 + data.late**2 / 3
    place = float(np.sqrt(variance))
    exact = kind is PowerKind.INTERVAL
    if data.known_window or exact:
        return WindowPrior(place, 0.0, exact=exact)
    window = sensor.window_s.value if sensor.window_s else data.refresh
    error = sensor.window_err_s
    if error is None:
        error = _USUAL_WINDOW_ERROR * window
    longest = 1.0
    if sensors.slow(sensor):
        length = usual_window_s(data) if len(data) else window
        longest = max(1.0, data.refresh / max(length, 1e-9))
    return WindowPrior(
        place=place,
        window=min(error / max(window, 1e-9), 0.9),
        longest=longest,
    )


def _placed_on(data: Samples, power: PowerOnTrace) -> Samples:
    """The windows on the trace's clock, where that of the log drifts against it, too."""
    times = power.times
    log_times = power.series.times
    shift_s: Floats | float = power.offset_ps / PS_PER_S
    if len(times) and len(times) == len(log_times):
        log_s = log_times / NS_PER_S
        trace_s = times / PS_PER_S
        shift_s = np.interp(data.hi, log_s, trace_s - log_s)
    return replace(
        data,
        lo=data.lo + shift_s,
        hi=data.hi + shift_s,
    )


def spread(weights: Sequence[float], offsets: Sequence[float]) -> float:
    """One sigma of the place."""
    share = np.asarray(weights) / sum(weights)
    places = np.asarray(offsets)
    middle = float(share @ places)
    variance = share @ (places - middle) ** 2
    return float(np.sqrt(variance))


class _BoxAtPlace(NamedTuple):
    """A box that was found with the log at one place."""

    weight: float
    place: int
    box: Box


def _join_over_places(
    weights: Sequence[float],
    boxes_by_place: Sequence[list[Box]],
) -> tuple[list[Box], int]:
    """(boxes that are found at nearly all places, joined; how many are found at some only).

    The boxes are on the log's own clock.
    """
    if len(boxes_by_place) == 1:
        return boxes_by_place[0], 0
    total = sum(weights)
    remaining: list[_BoxAtPlace] = []
    for place, (weight, boxes) in enumerate(zip(weights, boxes_by_place, strict=True)):
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
        if share >= _MIN_SURE_WEIGHT:
            sure.append(joined([(candidate.weight, candidate.box) for candidate in same]))
        elif share >= _DOUBTFUL_WEIGHT:
            doubtful += 1
    sure.sort(key=lambda box: box.start)
    return sure, doubtful
