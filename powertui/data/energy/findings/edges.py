"""The box behind a stretch of readings: from when to when the load was there, and how high it
stood.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.box_fit import Neighbourhood, WeighedBoxes
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.random_draws import RandomDraws, random_draws
from powertui.data.energy.findings.readings import SensorReadings, readings_subset
from powertui.data.energy.findings.residual_noise import ResidualNoise
from powertui.data.energy.robust_stats import TAILS
from powertui.data.energy.samples import usual_pace_s, usual_window_s
from powertui.data.model import Floats
from powertui.data.quantiles import median_of_column, quantiles_of_column
from powertui.named_tuples import NamedTuple

# Places of each edge that are weighed. Chosen, not measured.
_EDGE_PLACES = 40
# Share of a load: no box is known better than this, for loads are no boxes. Chosen.
_MIN_BOX_ERROR = settings.SLIGHT_SHARE
# How far from the stretch's mean watts to the load's the reported watts are: loads that an edge cut
# come out too high. Chosen, not measured.
_LOAD_SHARE = settings.MAX_DOUBT_SHARE
# Readings beside a box that show the level there. Chosen, not measured.
_MIN_LEVEL_READINGS = settings.MIN_ALIKE_VALUES


def box(
    readings: SensorReadings,
    first: int,
    last: int,
    noise: ResidualNoise,
    foreign: Floats,
    p: float,
) -> Box | None:
    """The box behind a stretch of readings: every pair of edges near it, weighed by how well it
    explains them.
    """
    width = usual_window_s(readings)
    pace = usual_pace_s(readings, single=width)
    reach = max(width, pace)
    lo = float(readings.lo[first])
    hi = float(readings.hi[last - 1])
    finite = np.isfinite(readings.floor + readings.watts)
    beside = max(3 * reach, 0.75 * (hi - lo))
    is_near = (readings.hi > lo - beside) & (readings.lo < hi + beside)
    near = np.flatnonzero(is_near & finite)
    local = readings_subset(readings, near)
    local = replace(local, watts=local.watts - foreign[near])
    noise_of_level = noise.mean_error(2 * max(last - first, 1))
    neighbourhood = Neighbourhood(
        local=local,
        noise=noise,
        level_error=max(noise_of_level, _level(local, lo, hi)),
        shortest_s=reach / 8,
    )
    # A load begins by the end of the first reading, and ends after the start of the last one.
    latest_start = min(float(readings.hi[first]) + reach, hi)
    earliest_end = max(float(readings.lo[last - 1]) - reach, lo)
    starts = np.linspace(lo - reach, latest_start, _EDGE_PLACES)
    ends = np.linspace(earliest_end, hi + reach, _EDGE_PLACES)
    weighed = neighbourhood.refined(starts, ends)
    if weighed is None:
        return None
    return _figures(weighed, min(width, pace), p)


def _figures(weighed: WeighedBoxes, shortest_s: float, p: float) -> Box:
    """The bounds, watts and joules that the weighed boxes show, with their intervals."""
    draws, further_draws = random_draws()
    # Among boxes shorter than a window short ones are many, because they fit in many places. So the
    # likeliest length comes from giving each length its weight, and the intervals contain what
    # either way comes out.
    flat = _drawn(weighed, weighed.weights, draws)
    likely = _drawn(weighed, weighed.weights * np.maximum(weighed.length, 0.0), further_draws)
    start = _interval(flat.start, likely.start)
    end = _interval(flat.end, likely.end)
    joules = _interval(flat.joules, likely.joules)
    resolved = end.middle - start.middle >= shortest_s
    start, end = _no_shorter_than(shortest_s, start, end)
    # There are two figures of watts: those of the load, and the mean over the stretch that is
    # listed, which is less wherever that is beside the load. Where the edges are known they are
    # one. What is listed is between them, and the interval contains both.
    mean = _interval(
        _mean_watts(flat, start.middle, end.middle),
        _mean_watts(likely, start.middle, end.middle),
    )
    load = _interval(flat.watts, likely.watts)
    height = mean.middle
    if resolved:
        height += _LOAD_SHARE * (load.middle - mean.middle)
    watts = _Interval(
        low=min(mean.low, load.low),
        middle=height,
        high=max(mean.middle, load.high),
    )
    watts = _no_better_than(watts, _MIN_BOX_ERROR * abs(watts.middle))
    joules = _no_better_than(joules, _MIN_BOX_ERROR * abs(joules.middle))
    return Box(
        start=start.middle,
        end=end.middle,
        start_within=(start.low, start.high),
        end_within=(end.low, end.high),
        watts=watts.middle,
        lo_watts=watts.low,
        hi_watts=watts.high,
        joules=joules.middle,
        lo_joules=joules.low,
        hi_joules=joules.high,
        p=p,
    )


class _Interval(NamedTuple):
    """A figure, and the 95 % interval around it."""

    low: float
    middle: float
    high: float


def _level(local: SensorReadings, lo: float, hi: float) -> float:
    """How far off, the other way than a stretch itself, the readings beside it are: a fit with a
    long load in it is too high there. What is off the same way may be more of the load.
    """
    is_outside = (local.hi <= lo) | (local.lo >= hi)
    beside = local.judged & is_outside
    if beside.sum() < _MIN_LEVEL_READINGS:
        return 0.0
    beyond = local.beyond()
    inside = local.judged & ~beside
    sign = 1.0
    if inside.any() and median_of_column(beyond[inside]) < 0:
        sign = -1.0
    return max(-sign * median_of_column(beyond[beside]), 0.0)


def _interval(flat: Floats, likely: Floats) -> _Interval:
    """The likeliest value of one figure, and the interval that contains what either way comes
    out.
    """
    low, high = quantiles_of_column(flat, TAILS)
    likely_quantiles = quantiles_of_column(likely, (TAILS[0], 0.5, TAILS[1]))
    likely_low, middle, likely_high = likely_quantiles
    return _Interval(
        low=min(low, likely_low),
        middle=middle,
        high=max(high, likely_high),
    )


def _no_shorter_than(
    shortest_s: float,
    start: _Interval,
    end: _Interval,
) -> tuple[_Interval, _Interval]:
    """A stretch as long as what one reading reports on: a mean does not say whether half of that
    time drew twice as much, and the watts of a shorter stretch would be a guess.
    """
    middle = (start.middle + end.middle) / 2
    half = max(shortest_s, end.middle - start.middle) / 2
    first = middle - half
    last = middle + half
    return (
        _Interval(min(start.low, first), first, start.high),
        _Interval(end.low, last, max(end.high, last)),
    )


def _mean_watts(drawn: _Drawn, begin: float, end: float) -> Floats:
    """The mean power of each box over a stretch, of which it covers a part."""
    covered_end = np.minimum(drawn.end, end)
    covered_begin = np.maximum(drawn.start, begin)
    overlap = np.clip(covered_end - covered_begin, 0.0, None)
    share = overlap / max(end - begin, 1e-9)
    return np.asarray(drawn.watts * share)


def _no_better_than(figure: _Interval, half: float) -> _Interval:
    """An interval, widened by something of that half width that is independent of it."""
    low, middle, high = figure
    lower_half = math.hypot(middle - low, half)
    upper_half = math.hypot(high - middle, half)
    return _Interval(middle - lower_half, middle, middle + upper_half)


class _Drawn(NamedTuple):
    """Boxes drawn at random."""

    start: Floats
    end: Floats
    watts: Floats
    joules: Floats


def _drawn(
    boxes: WeighedBoxes,
    weights: Floats,
    draws: RandomDraws,
) -> _Drawn:
    """Boxes at random, each as often as it weighs."""
    shares = weights.ravel() / weights.sum()
    shares_up_to = shares.cumsum()
    shares_up_to /= shares_up_to[-1]
    chosen = shares_up_to.searchsorted(draws.even, side="right")
    errors = boxes.errors.ravel()[chosen] * draws.normal
    watts = boxes.watts.ravel()[chosen] + errors
    lengths = boxes.length.ravel()[chosen]
    row, column = np.unravel_index(chosen, weights.shape)
    return _Drawn(
        start=boxes.starts[row],
        end=boxes.ends[column],
        watts=watts,
        joules=watts * lengths,
    )
