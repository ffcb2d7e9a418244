"""A run in a few bars, for a list of runs: how its power or the time of its steps went.

A bar is a height from 1 to 7, so that the bars of neighboring rows never touch.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Floats, Int64s, PowerOnTrace, Steps
from powertui.data.quantiles import median_of_column

BARS = 10  # a burst of a tenth of the run is a bar of its own
_MEDIAN_HEIGHT = 3  # room below for pauses, above for bursts
_MAX_HEIGHT = 7
# What fills the room above and below the median, at least, as a share of it: ±2 % is no storm.
_MIN_RANGE = 0.2
_MIN_STEPS = 2  # one step has no course
# A slow sensor's reading stands for bars without one, up to so many of its usual intervals.
_MAX_HELD_INTERVALS = 3


def power_bars(power: PowerOnTrace, lo_ps: int, hi_ps: int) -> tuple[int, ...]:
    """The mean power in each part of a profile; 0 where nothing was read, () where nothing is."""
    is_known = np.isfinite(power.watts)
    times = power.times[is_known]
    watts = power.watts[is_known]
    if hi_ps <= lo_ps or len(times) < 2:
        return ()
    edges = np.linspace(lo_ps, hi_ps, BARS + 1)
    means = _means_between(edges, times, watts)
    # Between two readings of a slow sensor the earlier one holds.
    centers = (edges[:-1] + edges[1:]) / 2
    reading_before = np.searchsorted(times, centers, side="right") - 1
    has_reading = reading_before >= 0
    read_at = times[np.maximum(reading_before, 0)]
    usual_interval = median_of_column(np.diff(times))
    is_young = centers - read_at <= _MAX_HELD_INTERVALS * usual_interval
    is_held = np.isnan(means) & (has_reading & is_young)
    means[is_held] = watts[reading_before[is_held]]
    return _heights(means)


def _means_between(edges: Floats, times: Int64s, watts: Floats) -> Floats:
    """The mean of the readings between each two of these edges; NaN where there is none."""
    bar_of_reading = np.searchsorted(edges, times, side="right") - 1
    is_inside = (bar_of_reading >= 0) & (bar_of_reading < BARS)
    bars_inside = bar_of_reading[is_inside]
    watts_inside = watts[is_inside]
    counts = np.bincount(bars_inside, minlength=BARS)
    sums = np.bincount(bars_inside, weights=watts_inside, minlength=BARS)
    means = np.full(BARS, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    return means


def step_bars(steps: Steps) -> tuple[int, ...]:
    """The longest step of each part of a run: a slow one is never averaged away."""
    if len(steps) < _MIN_STEPS:
        return ()
    lengths = np.asarray(steps.stretch_lengths(), np.float64)
    first_steps = np.arange(BARS) * len(lengths) // BARS  # of each bar
    if len(lengths) <= BARS:
        # A step fills several bars: a maximum of none of them has no value.
        return _heights(lengths[first_steps])
    return _heights(np.maximum.reduceat(lengths, first_steps))


def _heights(values: Floats) -> tuple[int, ...]:
    """Bars around the median, which has always the same height."""
    is_known = np.isfinite(values)
    if not is_known.any():
        return ()
    median = median_of_column(values[is_known])
    if median <= 0:
        return ()
    ratios = np.where(is_known, values, median) / median - 1
    range_above = max(_MIN_RANGE, float(ratios.max()))
    range_below = max(_MIN_RANGE, -float(ratios.min()))
    room_above = _MAX_HEIGHT - _MEDIAN_HEIGHT
    room_below = _MEDIAN_HEIGHT - 1
    raised = ratios / range_above * room_above
    lowered = ratios / range_below * room_below
    offsets = np.rint(np.where(ratios > 0, raised, lowered))
    heights = np.where(is_known, _MEDIAN_HEIGHT + offsets, 0)
    return tuple(heights.astype(np.int64).tolist())
