"""Joules over any window of a trace, with what they are worth.

E = sum of (P_j + P_j+1)/2 * (t_j+1 - t_j), the first and the last piece clipped exactly, holes left
out. The budget, one sigma:

    quantisation   q / sqrt(12) * D / sqrt(n_q)
                   n_q: runs of one value; more where the same step is read all the time, or again
                   and again: that does not average out (`rounding`)
    sampling       T * sqrt(c * sum dP^2)
                   what happens between two looks; c from 1/12 (power seldom changes) to 1/2 (it is
                   anywhere at the next look), by how alike neighbouring differences are; nothing
                   for what a mean covers
    noise          T * noise * sqrt(n)
                   of means, as far as they cover the time
    edges          what a mean that straddles an edge of the window, or an interval that it cuts,
                   leaves open: by how steep the power is around it
    timing         sigma * |P(a) - P(b)|
                   where the log is on the trace, and where a reading's window is; a reading away
                   from the edges on either side; edge_ps adds independent errors of the edges
    gain           kept apart: it does not average away, and cancels in ratios of one sensor

A window shorter than two refreshes is not resolved, and says so, unless it begins and ends with
readings of a counter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from powertui.data.energy import curve as curves
from powertui.data.energy import placing, rounding
from powertui.data.energy import sensor as sensors
from powertui.data.energy.curve import Curve
from powertui.data.energy.rounding import Steady
from powertui.data.model import (
    PS_PER_S,
    Z95,
    Badge,
    Bools,
    Figure,
    Floats,
    Int32s,
    Int64s,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
    worst_badge,
)

# ── when a window is resolved ──
# Share of a window that must be within the log, because nobody knows the power before and after it.
# Chosen, not measured.
_MIN_LOGGED_SHARE = 0.9
# Share of a window's energy that may be off at 95 % by what was filled into holes. Chosen, not
# measured.
_MAX_BRIDGED_SHARE = 0.25
# Share of a window's length that one hole may take. Many short holes may take more, because the
# readings between them show what the power did. Chosen, not measured.
_MAX_HOLE_SHARE = 0.5
_FULL_COVERAGE = 1 - 1e-6  # rounding aside
_MIN_REFRESHES = 2.0  # length of a window: a shorter one is not resolved
_MIN_RULE_DIFFERENCE = 0.01  # between the two rules of integration, from which on both are shown
_MAX_REACH_PS = 1 << 61  # from any moment, this far either way fits into 64 bits

# ── the error budget ──
# These factors of variances were tuned on simulated trainings (see docs/energy-evidence.md); what
# half and twice of each do is not recorded.
# Readings on either side of an edge that show how much the power moves there, near and far.
_NEAR_REFRESHES, _FAR_REFRESHES = 1.5, 8.0
# Variance of the mean of looks spread over a step times their number squared, in variances of one
# look.
_REPEATED_LOOK_VARIANCE = 0.8
# Differences that show by themselves how alike neighbors are; with fewer the whole log is asked.
_CORRELATION_PRIOR = 30.0
# What an interval cut by an edge leaves open, in squares of the slope; 0.5 if power were even
# noise.
_CUT_INTERVAL_VARIANCE = 0.95
# What an edge leaves open among readings of moments, among means, which see most of the power, and
# among means over many refreshes, which smear it.
_EDGE_VARIANCE_MOMENTS, _EDGE_VARIANCE_MEANS, _EDGE_VARIANCE_SMEARED = 3.0, 0.3, 0.65
# Share of the quietest differences that is noise; the rest is power, which a mean has seen.
_NOISE_SHARE = 0.9
# Power is no even noise: its few large moves leave more open than their mean says, and the more
# the less of the time is looked at.
_TAIL_FACTOR = 1.0
_TAIL_FACTOR_UNSEEN = 0.7
_MIN_LOOK_VARIANCE = 0.06  # in T² d², where power goes up and down in turns


@dataclass(frozen=True)
class Energy:
    """The energy of one window of one channel.

    `joules` is None when it is not resolved: `reason` says why.
    """

    lo_ps: int
    hi_ps: int
    joules: float | None
    lo: float | None  # 95 % interval, without the gain
    hi: float | None
    gain_j: float | None  # ± systematic, where the sensor's gain is known or assumed
    mean_w: float | None
    max_w: float | None
    covered_joules: float  # of the covered part alone, resolved or not
    coverage: float
    extrapolated: bool
    badge: Badge
    resolved: bool
    reason: str
    method: str  # "trapezoid" or "interval"
    other_joules: float | None  # by holding every reading, when that differs by more than 1 %
    sigma_quantum: float
    sigma_sampling: float
    sigma_edges: float
    sigma_timing: float
    idle_joules: float | None = None
    active_joules: float | None = None

    @property
    def duration_s(self) -> float:
        """Length of the window."""
        return (self.hi_ps - self.lo_ps) / PS_PER_S

    @property
    def sigma(self) -> float:
        """One standard deviation of everything but the gain."""
        return float(
            (
                self.sigma_quantum**2
                + self.sigma_sampling**2
                + self.sigma_edges**2
                + self.sigma_timing**2
            )
            ** 0.5
        )


@dataclass(frozen=True, eq=False)
class Energies:
    """Many windows of one channel as columns.

    NaN joules where not resolved; `energies[i]` is an `Energy`.
    """

    lo_ps: Int64s
    hi_ps: Int64s
    joules: Floats
    lo: Floats
    hi: Floats
    mean_w: Floats
    max_w: Floats
    covered_joules: Floats
    coverage: Floats
    resolved: Bools
    other_joules: Floats  # NaN where both rules agree
    sigma_quantum: Floats
    sigma_sampling: Floats
    sigma_edges: Floats
    sigma_timing: Floats
    power: PowerOnTrace
    curve: Curve

    def __len__(self) -> int:
        return len(self.joules)

    def __iter__(self) -> Iterator[Energy]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Energy:
        i = range(len(self))[index]
        row = (getattr(self, name)[i].item() for name in _VALUE_COLUMNS)
        return _energy(self.power, self.curve, int(self.lo_ps[i]), int(self.hi_ps[i]), *row)


_VALUE_COLUMNS = (
    "joules",
    "lo",
    "hi",
    "mean_w",
    "max_w",
    "covered_joules",
    "coverage",
    "resolved",
    "other_joules",
    "sigma_quantum",
    "sigma_sampling",
    "sigma_edges",
    "sigma_timing",
)


def _energy(
    power: PowerOnTrace,
    curve: Curve,
    lo_ps: int,
    hi_ps: int,
    joules: float,
    lo: float,
    hi: float,
    mean_w: float,
    max_w: float,
    covered_joules: float,
    coverage: float,
    resolved: bool,
    other_joules: float,
    sigma_quantum: float,
    sigma_sampling: float,
    sigma_edges: float,
    sigma_timing: float,
) -> Energy:
    """One row of the columns as a person gets it: None where nothing can be said, and why."""
    extrapolated = resolved and coverage < _FULL_COVERAGE
    return Energy(
        lo_ps=lo_ps,
        hi_ps=hi_ps,
        joules=joules if resolved else None,
        lo=_if_finite(lo, resolved),
        hi=_if_finite(hi, resolved),
        gain_j=abs(joules) * curve.gain if resolved and curve.gain is not None else None,
        mean_w=_if_finite(mean_w, resolved),
        max_w=_if_finite(max_w, coverage > 0),
        covered_joules=covered_joules,
        coverage=coverage,
        extrapolated=extrapolated,
        badge=_badge(power, extrapolated or curve.guessed),
        resolved=resolved,
        reason="" if resolved else _why(power, curve, lo_ps, hi_ps, coverage),
        method="interval" if curve.kind is PowerKind.INTERVAL else "trapezoid",
        other_joules=_if_finite(other_joules, resolved),
        sigma_quantum=sigma_quantum,
        sigma_sampling=sigma_sampling,
        sigma_edges=sigma_edges,
        sigma_timing=sigma_timing,
    )


def _badge(power: PowerOnTrace, is_filled: bool) -> Badge:
    """That of joules of these watts; where a gap was filled they are estimated at best."""
    of_gaps = Badge.ESTIMATED if is_filled else Badge.MEASURED
    return worst_badge((power.badge, of_gaps))


def _why(power: PowerOnTrace, curve: Curve, lo_ps: int, hi_ps: int, coverage: float) -> str:
    duration = (hi_ps - lo_ps) / PS_PER_S
    if power.status == "none":
        return "not resolved: the power log is not placed on this trace's clock"
    if len(curve.knots) < 2:
        return "not resolved: the log has fewer than two readings"
    if coverage <= 0:
        return "not resolved: nothing was sampled in this window"
    least = curve.resolves_s
    if duration < _MIN_REFRESHES * least:
        how = "refreshes every"
        if curve.kind is PowerKind.INTERVAL:
            how = "counts in intervals of"
        elif curve.window_s > curve.refresh_s:
            how = "averages over"
        return (
            f"not resolved: {sensors.seconds(duration)} is too short, the sensor {how} "
            f"{sensors.seconds(least)}"
        )
    return _why_not_enough(curve, lo_ps, hi_ps, coverage)


def _why_not_enough(curve: Curve, lo_ps: int, hi_ps: int, coverage: float) -> str:
    """Why what was sampled of a window is not enough."""
    if coverage >= _FULL_COVERAGE:
        return (
            "not resolved: it begins or ends within a pause of the log, and what was "
            "counted meanwhile may lie on either side"
        )
    within = min(hi_ps, int(curve.knots[-1])) - max(lo_ps, int(curve.knots[0]))
    only = f"not resolved: only {coverage:.0%} of this window was sampled"
    if within < _MIN_LOGGED_SHARE * (hi_ps - lo_ps):
        return only
    inside = curves.spot(curve.knots, np.array([lo_ps, hi_ps], np.int64))
    squares = curve.bridged(inside, 2)[2]
    if float(squares[1] - squares[0]) > (_MAX_HOLE_SHARE * (hi_ps - lo_ps) / PS_PER_S) ** 2:
        return f"{only}, and what is missing is one gap"
    return (
        f"not resolved: {1 - coverage:.0%} of this window was not sampled, and the power "
        "may have changed too much meanwhile"
    )


def _if_finite(value: float, there: bool) -> float | None:
    return value if there and math.isfinite(value) else None


def energies(
    power: PowerOnTrace,
    los: Sequence[int] | Int64s,
    his: Sequence[int] | Int64s,
    *,
    edge_ps: float = 0.0,
) -> Energies:
    """Any number of windows at once.

    `edge_ps`: one sigma of each edge, where edges err independently of one another.
    """
    begins, stops = np.asarray(los, np.int64), np.asarray(his, np.int64)
    curve = curves.power_curve(power)
    if len(curve.knots) < 2 or not len(begins):
        return _unresolved_rows(power, curve, begins, stops)
    lookup = _combine([_entries_at(curve, begins, stops, {})])
    return Energies(
        lo_ps=begins,
        hi_ps=stops,
        power=power,
        curve=curve,
        **_budget(lookup, _traits(power, curve), begins, stops, edge_ps),
    )


def across(
    powers: Sequence[PowerOnTrace], lo_ps: int, hi_ps: int, *, edge_ps: float = 0.0
) -> list[Energy]:
    """One window of many channels: what `energy` returns for each, at a fraction of the cost."""
    begin, stop = np.array([lo_ps], np.int64), np.array([hi_ps], np.int64)
    all_curves = [curves.power_curve(power) for power in powers]
    usable = [row for row, curve in enumerate(all_curves) if len(curve.knots) >= 2]
    results: dict[int, Energy] = {}
    if usable:
        windows: _WindowCache = {}
        lookup = _combine([_entries_at(all_curves[row], begin, stop, windows) for row in usable])
        traits_by_channel = [_traits(powers[row], all_curves[row]) for row in usable]
        traits = _Traits(*(np.array(column) for column in zip(*traits_by_channel, strict=True)))
        begins, stops = np.full(len(usable), lo_ps), np.full(len(usable), hi_ps)
        budget = _budget(lookup, traits, begins, stops, edge_ps)
        rows_of_values = zip(*(budget[name].tolist() for name in _VALUE_COLUMNS), strict=True)
        for row, values in zip(usable, rows_of_values, strict=True):
            results[row] = _energy(powers[row], all_curves[row], lo_ps, hi_ps, *values)
    for row, curve in enumerate(all_curves):
        if row not in results:
            results[row] = _unresolved_rows(powers[row], curve, begin, stop)[0]
    return [results[row] for row in range(len(powers))]


class _Lookup(NamedTuple):
    """What the curves say of each window: everything that `_judge` needs of them."""

    joules: Floats
    length: Floats  # s covered
    within: Floats  # s within the log
    filled: Floats  # J that its holes are taken to hold …
    opened: Floats  # … and the variance of that
    lost: Floats  # s² of its holes
    steep: Floats  # W² [both edges]: squared difference of neighbouring readings there
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


class _Traits(NamedTuple):
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
    spread_w: float | Floats
    noise_w: float | Floats
    offset_s: float | Floats  # one sigma of the place on the trace, and of the readings' own
    placed: bool | Bools
    interval: bool | Bools
    steep_s: float | Floats  # s that the curve's slopes are to be taken times


def _traits(power: PowerOnTrace, curve: Curve) -> _Traits:
    offset = (power.offset_hi_ps - power.offset_lo_ps) / (2 * Z95) / PS_PER_S
    return _Traits(
        curve.refresh_s,
        curve.smears_s,
        curve.resolves_s,
        curve.averaged,
        curve.poll_s,
        curve.turn,
        *curve.beat,
        curve.quantum_w,
        curve.spread_w,
        curve.noise_w,
        math.hypot(offset, curve.late_s),
        power.status != "none",
        curve.kind is PowerKind.INTERVAL,
        curve.steep_s,
    )


class _Entries(NamedTuple):
    """Entries of one curve for its windows, end to end: eight, six, two or one for each."""

    reading: curves.CurveEntries  # six
    bridged: tuple[Floats, Floats, Floats]  # two: J in holes, its variance, s² of them
    cut: Floats  # two
    steep: Floats  # eight: from and to near a, near b, far around a, far around b
    moved: Floats  # two
    turned: Floats  # two
    runs: Int32s  # two
    held: Floats  # two
    steps: Steady | None  # how long it read each of its steps …
    read: tuple[Int64s, Int64s]  # one each: … from and to which knot
    peak: list[float]  # one
    pairs: Int64s  # one: differences within
    inside: Bools  # two: the edge lies within the curve


class _Windows(NamedTuple):
    """Where windows lie among the knots of a curve: the same for all channels that share their
    knots.
    """

    edges: curves.Spot  # a, b, and each a reading earlier and later
    around: Int64s  # knots from and to which the slope near and far around an edge counts
    held: tuple[Int64s, Floats]  # a and b among the readings that hold
    moved: Int64s  # knots from and to which differences count
    pairs: Int64s  # how many those are
    runs: Int64s  # and changes
    read: tuple[Int64s, Int64s]  # and how long each step was read
    ranges: list[tuple[int, int]]  # knots inside
    inside: Bools


_WindowCache = dict[tuple[int, int, int, float], _Windows]


def _windows(curve: Curve, a: Int64s, b: Int64s) -> _Windows:
    count = len(a)
    reach = min(
        round(curve.smeared_s * PS_PER_S), _MAX_REACH_PS
    )  # a step is smeared over that much on either side
    both = np.concatenate((a, b))
    edges = curves.spot(
        curve.knots, np.concatenate((both, a - reach, a + reach, b - reach, b + reach))
    )
    ra, rb = edges.row[:count], edges.row[count : 2 * count]
    knots = curve.knots
    opens, ends = ra + (knots[ra] < a), rb + 1 + (knots[-1] <= b)
    near, far = (
        min(round(times * curve.smeared_s * PS_PER_S), _MAX_REACH_PS)
        for times in (_NEAR_REFRESHES, _FAR_REFRESHES)
    )
    last = np.maximum(ra, rb)
    around = np.concatenate(
        (a - near, a + near, b - near, b + near, a - far, a + far, b - far, b + far)
    )
    ends_moving = np.maximum(
        rb + (knots[rb] < b), ra
    )  # the segment that b cuts counts with its end
    return _Windows(
        edges=edges,
        around=np.minimum(knots.searchsorted(around), len(knots) - 1),
        held=curve.held_at(both),
        moved=np.concatenate((ra, ends_moving)),
        pairs=ends_moving - ra,
        runs=np.concatenate((ra, last)),
        read=(ra, last + 1),
        ranges=list(zip(opens.tolist(), ends.tolist(), strict=True)),
        inside=edges.inside[: 2 * count] == both,
    )


def _entries_at(curve: Curve, a: Int64s, b: Int64s, memo: _WindowCache) -> _Entries:
    key = (id(curve.knots), id(curve.hold_at), curve.hold_end, curve.smeared_s)
    at = memo.get(key)
    if at is None:
        at = memo[key] = _windows(curve, a, b)
    return _Entries(
        curve.read(at.edges),
        curve.bridged(at.edges, len(at.inside)),
        curve.cuts(at.edges, len(at.inside)),
        curve.steep[at.around],
        curve.squares[at.moved],
        curve.turns[at.moved],
        curve.changes[at.runs],
        curve.held(*at.held),
        curve.steps,
        at.read,
        curve.peaks_of(at.ranges),
        at.pairs,
        at.inside,
    )


def _side_by_side(columns: Sequence[Any]) -> Any:
    """What each channel says, side by side; as one column where they share it."""
    first = columns[0]
    return first[:, None] if all(column is first for column in columns) else np.array(columns).T


def _combine(looks: Sequence[_Entries]) -> _Lookup:
    """The arithmetic, once: for many windows of one channel, or for one window of many."""
    if len(looks) > 1:
        columns: list[Any] = [
            _side_by_side(column) for column in zip(*(look.reading for look in looks), strict=True)
        ]
        reading = curves.CurveEntries(*columns)
        bridged = [
            _side_by_side(column) for column in zip(*(look.bridged for look in looks), strict=True)
        ]
        cut, steep, moved, turned, runs, held, pairs, inside = (
            _side_by_side([getattr(look, name) for look in looks])
            for name in ("cut", "steep", "moved", "turned", "runs", "held", "pairs", "inside")
        )
        alike = rounding.alike(
            [(look.steps, int(look.read[0][0]), int(look.read[1][0])) for look in looks]
        )
        peak = np.array([look.peak[0] for look in looks])
    else:
        look = looks[0]
        reading = look.reading.shaped(6, -1)
        steep = look.steep.reshape(8, -1)
        bridged = [column.reshape(2, -1) for column in look.bridged]
        cut, moved, turned, runs, held, inside = (
            column.reshape(2, -1)
            for column in (look.cut, look.moved, look.turned, look.runs, look.held, look.inside)
        )
        alike = look.steps.alike(*look.read) if look.steps is not None else np.zeros(len(look.peak))
        peak, pairs = np.array(look.peak), look.pairs.reshape(1, -1)
    energy, covered, watts = curves.place(reading)
    on_known_ground = (
        reading.known[:2] & inside
    )  # an edge that lies on known ground counts for the maximum, too
    peak = np.fmax(peak, np.fmax.reduce(np.where(on_known_ground, watts[:2], np.nan)))
    slopes = steep[1::2] - steep[::2]
    since_last, to_next = (
        (reading.inside[:2] - reading.start[:2]) / PS_PER_S,
        (reading.end[:2] - reading.inside[:2]) / PS_PER_S,
    )
    return _Lookup(
        joules=energy[1] - energy[0],
        length=covered[1] - covered[0],
        within=(reading.inside[1] - reading.inside[0]) / PS_PER_S,
        filled=bridged[0][1] - bridged[0][0],
        opened=bridged[1][1] - bridged[1][0],
        lost=bridged[2][1] - bridged[2][0],
        steep=np.maximum(slopes[:2] / (2 * _NEAR_REFRESHES), slopes[2:] / (2 * _FAR_REFRESHES)),
        inner=np.where(inside, since_last * to_next, 0.0),
        cut=cut,
        before=watts[2] - watts[4],
        after=watts[3] - watts[5],
        at_a=watts[0],
        at_b=watts[1],
        moved=moved[1] - moved[0],
        turned=turned[1] - turned[0],
        pairs=pairs[0],
        runs=runs[1] - runs[0] + 1.0,
        alike=alike,
        held=held[1] - held[0],
        peak=peak,
    )


def _between_looks(lookup: _Lookup, sensor: _Traits) -> Floats:
    """What lies between two looks, as a share of T² d².

    By the correlation of neighbouring differences: -1/2 where power is anywhere at the next look, 0
    where it seldom changes.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.where(lookup.moved > 0, lookup.turned / lookup.moved, 0.0)
    prior_weight = _CORRELATION_PRIOR / (_CORRELATION_PRIOR + lookup.pairs)
    turn = np.clip(correlation * (1 - prior_weight) + prior_weight * sensor.turn, -1.0, 0.0)
    share = 1 / 12 - turn * 5 / 6  # some of it never the same again, some of it seldom another
    swings = np.minimum(1 + 2 * turn, 0.0)  # up and down in turns, which evens itself out …
    share = np.where(
        turn < -0.5, np.maximum(0.5 * (1 + swings) / (1 - swings) ** 2, _MIN_LOOK_VARIANCE), share
    )
    repeats = np.minimum(sensor.beats, lookup.pairs) / np.square(
        sensor.beat
    )  # … unless the same places of every step are seen
    tails = _TAIL_FACTOR + _TAIL_FACTOR_UNSEEN * (1 - np.asarray(sensor.averaged))
    return np.asarray(tails * share * np.maximum(1.0, _REPEATED_LOOK_VARIANCE * repeats))


def _budget(
    lookup: _Lookup, sensor: _Traits, begins: Int64s, stops: Int64s, edge_ps: float
) -> dict[str, Any]:
    """The columns of `Energies`: energy, budget, and whether it is resolved at all."""
    seconds = (stops - begins) / PS_PER_S
    least = np.maximum(sensor.refresh_s, sensor.window_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        coverage = np.where(seconds > 0, np.clip(lookup.length / seconds, 0.0, 1.0), 0.0)
        within = np.where(seconds > 0, np.clip(lookup.within / seconds, 0.0, 1.0), 0.0)
        scale = np.where(within > 0, 1 / within, 1.0)
    refresh = np.maximum(sensor.refresh_s, 1e-9)
    quantum = (
        sensor.quantum_w / 12**0.5 * np.sqrt(np.maximum(seconds**2 / lookup.runs, lookup.alike))
    )
    noise = sensor.noise_w**2 * seconds / refresh
    # A short time between two means holds few of the moves, and little of each.
    between = 1 - np.asarray(sensor.averaged)
    unseen = (
        _between_looks(lookup, sensor) * between * np.minimum(1.0, 2 * between)
        + (sensor.poll_s / refresh) ** 2 / 24
    )
    sampling = sensor.refresh_s * np.sqrt(
        lookup.moved * unseen + _NOISE_SHARE * noise * sensor.averaged
    )
    # A mean that straddles an edge, drawn as a straight line; of an interval, how much of it lay on
    # which side.
    length = 1 / 24 + np.minimum(1.0, refresh / np.maximum(least, 1e-9)) / 12
    straddled = np.where(
        sensor.interval,
        _CUT_INTERVAL_VARIANCE * lookup.inner,
        length * least**2 + sensor.poll_s**2 / 4,
    )
    means = _EDGE_VARIANCE_SMEARED + (_EDGE_VARIANCE_MEANS - _EDGE_VARIANCE_SMEARED) * np.minimum(
        1.0, refresh / np.maximum(least, 1e-9)
    )
    straddled = straddled * np.where(
        sensor.interval,
        1.0,
        _EDGE_VARIANCE_MOMENTS + (means - _EDGE_VARIANCE_MOMENTS) * sensor.averaged,
    )
    # A counter's long interval that an end cuts: what is known of it as a whole may have come
    # before the end or after it.
    parted = np.where(lookup.cut > 0, lookup.inner * lookup.cut, 0.0).sum(axis=0)
    slopes = (
        np.where(lookup.cut > 0, 0.0, straddled * lookup.steep).sum(axis=0)
        * sensor.steep_s
        / np.maximum(least, 1e-9)
    )
    edges = np.sqrt(slopes + parted)
    edge = edge_ps / PS_PER_S
    ends = (lookup.before**2 + lookup.after**2) / 2
    timing = np.sqrt(sensor.offset_s**2 * ends + edge**2 * (lookup.at_a**2 + lookup.at_b**2))
    total_j = (lookup.joules + lookup.filled) * scale
    missing = lookup.opened + np.where(
        within < _FULL_COVERAGE, ((1 - within) * seconds * sensor.spread_w) ** 2, 0.0
    )
    sampling = np.sqrt(sampling**2 + missing)  # a hole is a long time between two looks
    sigma = np.sqrt(quantum**2 + sampling**2 + edges**2 + timing**2)
    holes_small = (
        Z95 * np.sqrt(lookup.opened + parted) <= _MAX_BRIDGED_SHARE * np.abs(total_j)
    ) & (lookup.lost <= (_MAX_HOLE_SHARE * seconds) ** 2)
    # What a counter counted from one of its readings to another is known, however few they are.
    counted = (
        np.asarray(sensor.interval) & (lookup.inner == 0).all(axis=0) & (coverage >= _FULL_COVERAGE)
    )
    enough_read = (within >= _MIN_LOGGED_SHARE) & (coverage > 0) & holes_small
    resolved = (
        enough_read
        & ((seconds >= _MIN_REFRESHES * sensor.resolves_s) | counted)
        & np.asarray(sensor.placed)
    )
    total = np.where(resolved, total_j, np.nan)
    held = (lookup.held + lookup.filled) * scale
    with np.errstate(invalid="ignore"):
        differs = (np.abs(held - total) > _MIN_RULE_DIFFERENCE * np.abs(total)) & ~np.asarray(
            sensor.interval
        )
    return {
        "joules": total,
        "lo": total - Z95 * sigma,
        "hi": total + Z95 * sigma,
        "mean_w": np.where(
            resolved & (seconds > 0), total / np.where(seconds > 0, seconds, 1.0), np.nan
        ),
        "max_w": lookup.peak,
        "covered_joules": lookup.joules,
        "coverage": coverage,
        "resolved": resolved,
        "other_joules": np.where(differs, held, np.nan),
        "sigma_quantum": quantum,
        "sigma_sampling": sampling,
        "sigma_edges": edges,
        "sigma_timing": timing,
    }


def _unresolved_rows(power: PowerOnTrace, curve: Curve, a: Int64s, b: Int64s) -> Energies:
    zeros = np.zeros(len(a))
    zero_columns = (
        "covered_joules",
        "coverage",
        "sigma_quantum",
        "sigma_sampling",
        "sigma_edges",
        "sigma_timing",
    )
    columns: dict[str, Any] = {field.name: np.full(len(a), np.nan) for field in fields(Energies)}
    columns |= dict.fromkeys(zero_columns, zeros)
    columns |= {"lo_ps": a, "hi_ps": b, "resolved": np.zeros(len(a), np.bool_)}
    columns |= {"power": power, "curve": curve}
    return Energies(**columns)


def energy(
    power: PowerOnTrace, lo_ps: int, hi_ps: int, *, edge_ps: float = 0.0, idle: Figure | None = None
) -> Energy:
    """One window. With the idle power, the joules above it are told as well."""
    result = energies(power, np.array([lo_ps]), np.array([hi_ps]), edge_ps=edge_ps)[0]
    return above_idle(result, idle)


def unresolved(lo_ps: int, hi_ps: int, reason: str) -> Energy:
    """The energy of a window of which no channel tells anything, and why."""
    return Energy(
        lo_ps=lo_ps,
        hi_ps=hi_ps,
        joules=None,
        lo=None,
        hi=None,
        gain_j=None,
        mean_w=None,
        max_w=None,
        covered_joules=0.0,
        coverage=0.0,
        extrapolated=False,
        badge=Badge.MEASURED,
        resolved=False,
        reason=f"not resolved: {reason}",
        method="trapezoid",
        other_joules=None,
        sigma_quantum=0.0,
        sigma_sampling=0.0,
        sigma_edges=0.0,
        sigma_timing=0.0,
    )


def above_idle(measured: Energy, idle: Figure | None) -> Energy:
    """The same energy, split into what an idle machine would have drawn and what came on top."""
    if idle is None or measured.joules is None:
        return measured
    idle_j = idle.value * measured.duration_s
    return replace(measured, idle_joules=idle_j, active_joules=measured.joules - idle_j)


def mean_energy(
    power: PowerOnTrace, los: Sequence[int] | Int64s, his: Sequence[int] | Int64s
) -> Energy | None:
    """The mean per window of many that follow one another: the energy of the whole stretch over
    their number.

    The inner edges cancel, so that the error falls with the number of windows where a mean of
    single integrals would carry every edge. Windows that do not touch are taken as several
    stretches. None without any window.
    """
    begins, stops = np.asarray(los, np.int64), np.asarray(his, np.int64)
    if not len(begins):
        return None
    order = np.argsort(begins, kind="stable")
    begins, stops = begins[order], stops[order]
    breaks = (
        np.flatnonzero(
            begins[1:] - stops[:-1] > np.maximum(1_000_000, (stops[:-1] - begins[:-1]) // 1000)
        )
        + 1
    )
    starts = np.r_[0, breaks]
    ends = np.maximum.reduceat(stops, starts)
    stretches = energies(power, begins[starts], ends)
    if len(starts) == 1:
        total = stretches[0]
    else:
        total = _sum(stretches)
    return _share(total, len(begins))


def _sum(parts: Energies) -> Energy:
    """Several stretches as one.

    The offset is common to all of them; everything else is independent.
    """
    first = parts[0]
    bad = np.flatnonzero(~parts.resolved)
    worst = parts[int(bad[0])] if len(bad) else first
    seconds = (parts.hi_ps - parts.lo_ps) / PS_PER_S
    joules = float(parts.joules.sum())
    roots = [
        float(np.sqrt((column**2).sum()))
        for column in (parts.sigma_quantum, parts.sigma_sampling, parts.sigma_edges)
    ]
    timing = float(parts.sigma_timing.sum())
    sigma = float(np.sqrt(sum(root**2 for root in roots) + timing**2))
    good = not len(bad)
    coverage = float((parts.coverage * seconds).sum() / seconds.sum()) if seconds.sum() else 0.0
    gain = parts.curve.gain
    length = int((parts.hi_ps - parts.lo_ps).sum())
    return replace(
        worst,
        lo_ps=int(parts.lo_ps[0]),
        hi_ps=int(parts.lo_ps[0]) + length,
        joules=joules if good else None,
        lo=joules - Z95 * sigma if good else None,
        hi=joules + Z95 * sigma if good else None,
        gain_j=abs(joules) * gain if good and gain is not None else None,
        mean_w=joules / float(seconds.sum()) if good and length else None,
        max_w=_if_finite(float(np.fmax.reduce(parts.max_w)), True),
        covered_joules=float(parts.covered_joules.sum()),
        coverage=coverage,
        other_joules=None,
        sigma_quantum=roots[0],
        sigma_sampling=roots[1],
        sigma_edges=roots[2],
        sigma_timing=timing,
    )


def _share(total: Energy, count: int) -> Energy:
    """A total divided by a number. Powers and times stay those of the whole."""
    scaled = {
        "joules",
        "lo",
        "hi",
        "gain_j",
        "covered_joules",
        "other_joules",
        "sigma_quantum",
        "sigma_sampling",
        "sigma_edges",
        "sigma_timing",
    }
    changes = {}
    for field in fields(total):
        value = getattr(total, field.name)
        if field.name in scaled and value is not None:
            changes[field.name] = value / count
    return replace(total, **changes)


def of_series(series: PowerSeries) -> Energy:
    """A whole log on its own clock: from its first reading to its last."""
    power = own_clock(series)
    return energy(power, *(reach(power) or (0, 0)))


def reach(power: PowerOnTrace) -> tuple[int, int] | None:
    """From when to when its readings tell: from the middle of what the first one is the mean of to
    that of the last.
    """
    knots = curves.power_curve(power).knots
    return (int(knots[0]), int(knots[-1])) if len(knots) > 1 else None


def own_clock(series: PowerSeries) -> PowerOnTrace:
    """A log placed on nothing but itself, for answers that need no trace."""
    first = int(series.times[0]) if len(series) else 0
    return placing.on_trace(
        series, -first * 1000, -first * 1000, -first * 1000, "aligned", "its own clock"
    )


def upto(power: PowerOnTrace, times_ps: Int64s) -> tuple[Floats, Floats]:
    """(J, s of knowledge) from the first reading to each time."""
    curve = curves.power_curve(power)
    if len(curve.knots) < 2:
        return np.zeros(len(times_ps)), np.zeros(len(times_ps))
    values = curves.place(curve.read(curves.spot(curve.knots, times_ps)))
    return values.energy, values.covered


def watts_at(power: PowerOnTrace, times_ps: Int64s) -> Floats:
    """The curve's power at each time; NaN in holes and outside the log."""
    curve = curves.power_curve(power)
    at = np.asarray(times_ps, np.int64)
    if len(curve.knots) < 2:
        return np.full(len(at), np.nan)
    entries = curve.read(curves.spot(curve.knots, at))
    return np.where(entries.known & (entries.inside == at), curves.place(entries).watts, np.nan)
