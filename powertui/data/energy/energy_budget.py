"""What the energy of a window is worth: one sigma of each thing that it leaves open.

quantization   q / sqrt(12) * D / sqrt(n_q); of a counter q / sqrt(6)
               n_q: runs of one value; more where the same step is read all the time, or again
               and again: that does not average out (`rounding`)
sampling       T * sqrt(c * sum dP^2)
               what happens between two looks; c from 1/12 (power seldom changes) to 1/2 (it is
               anywhere at the next look), by how alike neighboring differences are; nothing
               for what a mean covers
noise          T * noise * sqrt(n)
               of means, as far as they cover the time
edges          what a mean that straddles an edge of the window, or an interval that it cuts,
               leaves open: by how steep the power is around it
timing         sigma * |P(a) - P(b)|
               where the log is on the trace, and where a reading's window is; a reading away
               from the edges on either side; edge_ps adds independent errors of the edges
gain           in the interval, and told apart from the rest: it does not average away, and
               cancels in ratios of one sensor
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.curve import Curve
from powertui.data.energy.edge_steps import SteppedEdges
from powertui.data.energy.measured_energy import (
    FULL_COVERAGE,
    MAX_HOLE_SHARE,
    MIN_LOGGED_SHARE,
    MIN_REFRESHES,
    intervals_with_gain,
)
from powertui.data.model import PS_PER_S, Z95, Bools, Floats, Int64s, PowerKind, PowerOnTrace
from powertui.named_tuples import NamedTuple

# Share of a window's energy that may be off at 95 % by what was filled into holes. Chosen, not
# measured.
_MAX_BRIDGED_SHARE = settings.UNKNOWN_SHARE
# Between the two rules of integration, from which on both are shown.
_MIN_RULE_DIFFERENCE = settings.NEGLIGIBLE_SHARE

# ── the error budget ──
# These factors of variances were tuned on simulated trainings (see docs/energy-evidence.md); what
# half and twice of each do is not recorded.
# Readings on either side of an edge that show how much the power moves there, near and far.
NEAR_REFRESHES, FAR_REFRESHES = 1.5, 8.0
# What the far changes of a counter count for without the two largest. 0.1 J read every second were
# 3.9 times as wide as needed with all of them, 2.1 at 3.0 and 2.0 at 2.0; of 28 simulated trainings
# 99.6, 99.3 and 99 % of the windows held.
STEADY_CHANGE_FACTOR = 3.0
# Variance of the mean of looks spread over a step times their number squared, in variances of one
# look.
_REPEATED_LOOK_VARIANCE = 0.8
# Differences that show by themselves how alike neighbors are; with fewer the whole log is asked.
_CORRELATION_PRIOR = settings.GOOD_SAMPLE_VALUES
# What an interval cut by an edge leaves open, in squares of the slope; 0.5 if power were even
# noise.
_CUT_INTERVAL_VARIANCE = 0.95
# What an edge leaves open among readings of moments, and among means, which see most of the power.
# Of 236 windows of means over ten refreshes 99.2 % held, 1.6 times as wide as needed.
_EDGE_VARIANCE_MOMENTS, _EDGE_VARIANCE_MEANS = 3.0, 0.3
# Share of the quietest differences that is noise; the rest is power, which a mean has seen.
_NOISE_SHARE = settings.NEARLY_ALL_SHARE
# From this share of the time on that readings cover, they tell where between them a step was.
_MIN_STEP_SHARE = settings.MAJORITY_SHARE
# Of what an edge leaves open among means, the share that a clear step beside it settles. At 0.35
# and at 0.5 one more of the nine epochs of a drawn training (seed 11082) was outside its interval.
_STEP_CERTAINTY = 0.2
# Power is no even noise: its few large moves leave more open than their mean says, and the more
# the less of the time is looked at.
_TAIL_FACTOR_UNSEEN = 0.7
_MIN_LOOK_VARIANCE = 0.06  # in T² d², where power goes up and down in turns


class CurveFigures(NamedTuple):
    """What the curves say of each window: everything that the budget needs of them.

    Each field has a value for each window, or for each channel of one window. But where all
    channels share an answer it has one value for all of them: `filled`, `opened`, `lost` and `cut`
    where no channel has a hole or a cut interval, `pairs` where all were read at the same moments.
    So fields are only combined by arithmetic that broadcasts, never by index or by length.
    """

    joules: Floats
    stepped: SteppedEdges
    length: Floats  # s covered
    within: Floats  # s within the log
    filled: Floats  # J that its holes are taken to hold …
    opened: Floats  # … and the variance of that
    lost: Floats  # s² of its holes
    steep: Floats  # W² [both edges]: squared difference of neighboring readings there
    far: Floats  # the same of all readings within `FAR_REFRESHES`
    inner: (
        Floats  # s² [both edges]: the edge's distance to the row before times that to the row after
    )
    # W² [both edges]: what a part of the counter's long interval there may have drawn beside its
    # share; else 0
    cut: Floats
    before: Floats  # W, power at the begin less that at the end, a reading earlier
    after: Floats  # and a reading later
    at_a: Floats
    at_b: Floats
    moved: Floats  # sum of squared differences within
    turned: Floats  # and of each times the one before it
    pairs: Floats  # how many differences
    runs: Floats  # runs of one value
    alike: Floats  # s² over which they are rounded by the same
    held: Floats
    peak: Floats


class SensorTraits(NamedTuple):
    """What the sensor and its place contribute; scalars for one channel, columns for many."""

    refresh_s: float | Floats
    window_s: float | Floats
    resolves_s: float | Floats
    averaged: float | Floats
    poll_s: float | Floats
    turn: float | Floats
    beat: float | Floats
    beats: float | Floats
    quantum_w: float | Floats
    step_j: float | Floats
    spread_w: float | Floats
    noise_w: float | Floats
    offset_s: float | Floats  # one sigma of the place on the trace, and of the readings' own
    centre_open_s: float | Floats  # by which the middle of a reading may be earlier or later
    placed: bool | Bools
    interval: bool | Bools
    steep_s: float | Floats  # s that the curve's slopes are to be taken times
    gain: float | Floats  # share of the energy by which the scale may be off; 0 where not known
    begin_ps: int | Int64s  # of the profile
    end_ps: int | Int64s


def sensor_traits(power: PowerOnTrace, curve: Curve) -> SensorTraits:
    """What one channel contributes."""
    beat, beats = curve.beat
    return SensorTraits(
        refresh_s=curve.refresh_s,
        window_s=curve.smears_s,
        resolves_s=curve.resolves_s,
        averaged=curve.averaged,
        poll_s=curve.poll_s,
        turn=curve.turn,
        beat=beat,
        beats=beats,
        quantum_w=curve.quantum_w,
        step_j=curve.step_j,
        spread_w=curve.spread_w,
        noise_w=curve.noise_w,
        offset_s=_place_sigma_s(power, curve),
        centre_open_s=(curve.sensor.window_err_s or 0.0) / 2,
        placed=power.status != "none",
        interval=curve.kind is PowerKind.INTERVAL,
        steep_s=curve.steep_s,
        gain=curve.gain or 0.0,
        begin_ps=power.borders[0],
        end_ps=power.borders[1],
    )


def _place_sigma_s(power: PowerOnTrace, curve: Curve) -> float:
    """When the power was: by its readings, else by the place of its log and their age."""
    # A window that may be anything smears the power by as much as it moves it.
    may_smear_more = curve.smears_s > curve.window_s
    if power.power_sigma_s is None or may_smear_more:
        offset_s = (power.offset_hi_ps - power.offset_lo_ps) / (2 * Z95) / PS_PER_S
        return math.hypot(offset_s, curve.late_s)
    return math.hypot(power.power_sigma_s, power.series.parted_s / 2)


def _between_looks(figures: CurveFigures, sensor: SensorTraits) -> Floats:
    """What lies between two looks, as a share of T² d².

    By the correlation of neighboring differences: -1/2 where power is anywhere at the next look, 0
    where it seldom changes.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = figures.turned / figures.moved
    correlation = np.where(figures.moved > 0, ratio, 0.0)
    prior_weight = _CORRELATION_PRIOR / (_CORRELATION_PRIOR + figures.pairs)
    turn = correlation * (1 - prior_weight) + prior_weight * sensor.turn
    turn = np.clip(turn, -1.0, 0.0)
    # c of docs/energy.md: a straight line from 1/12 at 0 to 1/2 at -1/2.
    share = 1 / 12 - turn * 5 / 6
    # Below -1/2 power goes up and down in turns, which evens itself out: 1/2 falls towards 0 …
    swings = np.minimum(1 + 2 * turn, 0.0)
    alternating = 0.5 * (1 + swings) / (1 - swings) ** 2
    alternating = np.maximum(alternating, _MIN_LOOK_VARIANCE)
    share = np.where(turn < -0.5, alternating, share)
    # … unless the same places of every step are seen.
    repeats = np.minimum(sensor.beats, figures.pairs) / np.square(sensor.beat)
    repeated = np.maximum(1.0, _REPEATED_LOOK_VARIANCE * repeats)
    unseen_share = 1 - np.asarray(sensor.averaged)
    tails = 1 + _TAIL_FACTOR_UNSEEN * unseen_share
    return np.asarray(tails * share * repeated)


def _sampling(
    figures: CurveFigures,
    sensor: SensorTraits,
    seconds: Floats,
    refresh: Floats | float,
) -> Floats:
    """What happens between two looks, and the noise of means."""
    noise = sensor.noise_w**2 * seconds / refresh
    # A short time between two means holds few of the moves, and little of each.
    unseen_share = 1 - np.asarray(sensor.averaged)
    seen_of_moves = np.minimum(1.0, 2 * unseen_share)
    between = _between_looks(figures, sensor) * unseen_share * seen_of_moves
    by_polls = (sensor.poll_s / refresh) ** 2 / 24
    of_power = figures.moved * (between + by_polls)
    of_noise = _NOISE_SHARE * noise * sensor.averaged
    return np.asarray(sensor.refresh_s * np.sqrt(of_power + of_noise))


def _straddled(
    figures: CurveFigures,
    sensor: SensorTraits,
    least: Floats | float,
    refresh: Floats | float,
) -> Floats:
    """What an edge leaves open of the reading that lies over it, in squares of the slope."""
    averages = np.minimum(1.0, refresh / np.maximum(least, 1e-9))
    # A mean that straddles an edge, drawn as a straight line; of an interval, how much of it lay on
    # which side. k of docs/energy.md: 1/8 up to a refresh, down to 1/24 for much longer windows.
    length = 1 / 24 + averages / 12
    of_mean = length * least**2 + sensor.poll_s**2 / 4
    of_interval = _CUT_INTERVAL_VARIANCE * figures.inner
    straddled = np.where(sensor.interval, of_interval, of_mean)
    of_means = _EDGE_VARIANCE_MEANS - _EDGE_VARIANCE_MOMENTS
    of_kind = _EDGE_VARIANCE_MOMENTS + of_means * np.asarray(sensor.averaged)
    of_kind = np.where(sensor.interval, 1.0, of_kind)
    return np.asarray(straddled * of_kind)


def _stands_out(
    figures: CurveFigures,
    sensor: SensorTraits,
    least: Floats | float,
) -> Floats:
    """[both edges]: 1 where a step at an edge is far larger than what the power does around it from
    one reading to the next, 0 where that is half as large (in squares).

    Only what is around the edge counts, so that windows that share an edge add up.
    """
    height = figures.stepped.height
    pairs = 2 * FAR_REFRESHES
    around = figures.far * sensor.steep_s / np.maximum(least, 1e-9) * pairs
    # Differences are taken over a refresh, so that two of them may see one step.
    without_step = np.maximum(around - 2 * height, 0.0)
    beside = without_step / (pairs - 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        beside_share = 2 * beside / height
    share = np.where(height > 0, 1 - beside_share, 0.0)
    return np.asarray(np.maximum(share, 0.0))


def _moved_at_borders(
    stepped: SteppedEdges,
    sensor: SensorTraits,
    is_border: Bools,
) -> Floats:
    """[both edges]: what readings of moments gain, where the profile begins or ends with a step.

    A reading whose time is not known so well may have been taken on the other side of the border,
    where the step that it shows was.
    """
    is_near = stepped.away_s <= sensor.centre_open_s
    is_across = (stepped.is_clear == 0) & is_near
    at_border = np.where(is_across, stepped.by_nearest, stepped.by_border)
    return np.where(is_border, at_border, stepped.by_moments)


def _sees_no_step(stepped: SteppedEdges, sensor: SensorTraits) -> Bools:
    """[both edges]: where a clear step was between two means that leave time between them."""
    leaves_time = sensor.averaged < settings.NEARLY_ALL_SHARE
    return np.asarray((stepped.is_clear > 0) & leaves_time)


def _shares(figures: CurveFigures, seconds: Floats) -> tuple[Floats, Floats]:
    """The shares of each window that were sampled, and that are within the log."""

    def share(of_window_s: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.clip(of_window_s / seconds, 0.0, 1.0)
        return np.where(seconds > 0, shares, 0.0)

    return share(figures.length), share(figures.within)


def _has_enough(
    figures: CurveFigures,
    sensor: SensorTraits,
    seconds: Floats,
    shares: tuple[Floats, Floats],
    holes_may_be_off: Bools,
) -> Bools:
    """Which windows are resolved: long enough, placed, and read for most of their time."""
    coverage, within = shares
    max_hole_s = MAX_HOLE_SHARE * seconds
    holes_small = ~holes_may_be_off & (figures.lost <= max_hole_s**2)
    # What a counter counted from one of its readings to another is known, however few they are.
    cuts_no_interval = (figures.inner == 0).all(axis=0)
    is_covered = coverage >= FULL_COVERAGE
    counted = np.asarray(sensor.interval) & cuts_no_interval & is_covered
    enough_read = (within >= MIN_LOGGED_SHARE) & (coverage > 0) & holes_small
    long_enough = (seconds >= MIN_REFRESHES * sensor.resolves_s) | counted
    return np.asarray(enough_read & long_enough & np.asarray(sensor.placed))


def _rounding(
    figures: CurveFigures,
    sensor: SensorTraits,
    seconds: Floats,
) -> Floats:
    """What rounding leaves open."""
    rounded_s2 = np.maximum(seconds**2 / figures.runs, figures.alike)
    of_readings = sensor.quantum_w / 12**0.5 * np.sqrt(rounded_s2)
    # Of a counter the readings at both ends are cut to a step, wherever the step is.
    of_counter = np.asarray(sensor.step_j) / 6**0.5
    return np.hypot(of_readings, of_counter)


class _Edges(NamedTuple):
    """What the edges of each window come to."""

    moved_j: Floats  # [both edges]: J that a step beside an edge adds
    sigma: Floats  # J that both edges leave open
    parted: Floats  # the variance of that which is of long intervals that an edge cuts


def _edges(
    figures: CurveFigures,
    sensor: SensorTraits,
    is_end: Bools,
    least: Floats | float,
    refresh: Floats | float,
) -> _Edges:
    """`is_end`: [both edges], where the profile begins or ends there."""
    stepped = figures.stepped
    # A counter's long interval that an end cuts: what is known of it as a whole may have come
    # before the end or after it.
    is_cut = figures.cut > 0
    parted = np.where(is_cut, figures.inner * figures.cut, 0.0).sum(axis=0)
    # Only means hold the energy of both sides of a step.
    covers_steps = np.asarray(sensor.averaged) >= _MIN_STEP_SHARE
    tells_steps = np.asarray(sensor.interval) | covers_steps
    stands_out = _stands_out(figures, sensor, least)
    is_border = is_end & (stands_out >= settings.NEARLY_ALL_SHARE)
    by_moments = _moved_at_borders(stepped, sensor, is_border) * stands_out
    covers_gaps = tells_steps & ~(_sees_no_step(stepped, sensor) & is_border)
    moved_j = np.where(covers_gaps, stepped.by_means, by_moments)
    straddled = _straddled(figures, sensor, least, refresh)
    settled_share = _STEP_CERTAINTY * stepped.share * tells_steps
    straddled = straddled * (1 - settled_share)
    of_slopes = np.where(is_cut, 0.0, straddled * figures.steep).sum(axis=0)
    slopes = of_slopes * sensor.steep_s / np.maximum(least, 1e-9)
    return _Edges(
        moved_j=np.where(is_cut, 0.0, moved_j),
        sigma=np.sqrt(slopes + parted),
        parted=parted,
    )


def _timing(
    figures: CurveFigures,
    sensor: SensorTraits,
    edge_ps: float,
) -> Floats:
    """What the place of the log, and of the edges themselves, leaves open."""
    ends = (figures.before**2 + figures.after**2) / 2
    edge_s = edge_ps / PS_PER_S
    at_edges_w2 = figures.at_a**2 + figures.at_b**2
    variance = sensor.offset_s**2 * ends + edge_s**2 * at_edges_w2
    return np.asarray(np.sqrt(variance))


def energy_columns(
    figures: CurveFigures,
    sensor: SensorTraits,
    begins: Int64s,
    stops: Int64s,
    edge_ps: float,
) -> dict[str, Any]:
    """The columns of `Energies`: energy, budget, and whether it is resolved at all."""
    seconds = (stops - begins) / PS_PER_S
    least = np.maximum(sensor.refresh_s, sensor.window_s)
    refresh = np.maximum(sensor.refresh_s, 1e-9)
    coverage, within = _shares(figures, seconds)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(within > 0, 1 / within, 1.0)
    quantum = _rounding(figures, sensor, seconds)
    is_end = np.array([begins == sensor.begin_ps, stops == sensor.end_ps])
    edges = _edges(
        figures=figures,
        sensor=sensor,
        is_end=is_end,
        least=least,
        refresh=refresh,
    )
    timing = _timing(figures, sensor, edge_ps)
    outside = ((1 - within) * seconds * sensor.spread_w) ** 2
    missing = figures.opened + np.where(within < FULL_COVERAGE, outside, 0.0)
    # A hole is a long time between two looks.
    sampling = _sampling(figures, sensor, seconds, refresh)
    sampling = np.sqrt(sampling**2 + missing)
    sigma = np.sqrt(quantum**2 + sampling**2 + edges.sigma**2 + timing**2)
    at_begin, at_stop = edges.moved_j
    joules = (figures.joules + at_stop - at_begin + figures.filled) * scale
    filled_half_j = Z95 * np.sqrt(figures.opened + edges.parted)
    may_be_off = ~(filled_half_j <= _MAX_BRIDGED_SHARE * np.abs(joules))
    resolved = _has_enough(
        figures=figures,
        sensor=sensor,
        seconds=seconds,
        shares=(coverage, within),
        holes_may_be_off=may_be_off,
    )
    total = np.where(resolved, joules, np.nan)
    held = (figures.held + figures.filled) * scale
    with np.errstate(invalid="ignore"):
        differs = np.abs(held - total) > _MIN_RULE_DIFFERENCE * np.abs(total)
    shows_other = differs & ~np.asarray(sensor.interval)
    has_length = seconds > 0
    mean_w = total / np.where(has_length, seconds, 1.0)
    half = Z95 * sigma
    lo, hi = intervals_with_gain(total, total - half, total + half, sensor.gain)
    return {
        "joules": total,
        "lo": lo,
        "hi": hi,
        "mean_w": np.where(resolved & has_length, mean_w, np.nan),
        "max_w": figures.peak,
        "covered_joules": figures.joules,
        "coverage": coverage,
        "resolved": resolved,
        "other_joules": np.where(shows_other, held, np.nan),
        "sigma_quantum": quantum,
        "sigma_sampling": sampling,
        "sigma_edges": edges.sigma,
        "sigma_timing": timing,
    }
