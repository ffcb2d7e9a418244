"""Where a power log lies on a trace when no clock tells: by what ran.

For every offset in question the readings are fitted by the kinds of work that would have filled
their windows (`likeness`). What an offset costs says how likely it is, once it is divided by how
alike neighbouring residuals are: a likelihood that takes them for independent believes itself far
too much. The answer is a set of places with weights; it is sure when nearly all of the weight lies
in one.

Three passes, so that an hour of log costs little more than a minute of it: all offsets on a coarse
grid with plain least squares; the best of them, and their neighbours one step time away, robustly;
the best of those to a fraction of the sensor's refresh.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy import coarse_search
from powertui.data.energy.expected_work import WindowShares
from powertui.data.energy.placement_score import IDLE_SHARE, Likeness
from powertui.data.energy.samples import Samples
from powertui.data.model import Z95, Bools, Floats

# Costs are in units of the ordinary residual's (see placement_score), divided by how many
# neighbouring residuals say the same. What half and twice of a value do to 27 logs stands in
# docs/energy-evidence.md, summed up here as "lost" (no longer sure) and "won" (now sure and right).

# ── when a fit is an answer ──
MIN_SAMPLES = 6  # different readings; chosen, not measured
_MIN_READINGS_IN_PROFILE = 3  # chosen, not measured
# Share of the shorter of log and profile that must overlap: a log may begin or end within the
# profile. Chosen, not measured.
_MIN_OVERLAP_SHARE = 0.2
# Cost that a fit must save against a flat line. Noise alone saves some where every offset is tried.
# Half: no change. Twice: 1 without a place.
_MIN_FIT_GAIN = 8.0
# The same of the readings in the profile alone, from which the share of their variation follows
# that a fit must explain. Chosen, not measured.
_MIN_PROFILE_FIT_GAIN = 4.0
_MAX_REQUIRED_R2 = 0.5  # never ask for more: few readings have wide intervals anyway
_FLAT_POWER_SHARE = 0.01  # of the power: a log that moves less shows no edge to align by

# ── when an answer is sure ──
_MIN_SURE_WEIGHT = 0.95  # in one place, as the 95 % interval promises; half and twice: no change
SURE_S = 0.3  # half-width of a sure place, or a tenth of a slow sensor's refresh
# Costs of a place that is not sure are divided by this, so that errors of the model count, too.
# Half and twice: no change.
_UNSURE_COST_DIVISOR = 1.6
# Independent readings in the profile: fewer fit many a place by accident. From one cut log.
# Half: no change. Twice: 4 lost.
_MIN_INDEPENDENT_READINGS = 12.0
# How well the age of a reading must be known: meters that publish and are asked every 0.5 s leave
# 0.35 s open, and still count.
_MAX_READING_AGE_S = 0.36
MAX_PLACES = 32  # places that are listed; further ones have next to no weight

# ── clock drift ──
_MAX_DRIFT_PPM = 200.0  # chosen, not measured
_MIN_DRIFT_SPAN_S = 600.0  # of readings in the profile: shorter logs show no drift
_MIN_DRIFT_BIC = 6.0  # difference of the Bayesian information criterion: strong evidence

# ── noise ──
# Smallest believable residual, as a share of the power's swing: what a handful of kinds of work
# leaves open anyway. Half: 3 won, 1 lost. Twice: 4 lost, 1 won.
_MIN_NOISE_OF_SWING = 0.03
_POWER_DRIFT_SHARE = 0.004  # of the power: it drifts by that much whatever runs
# Residuals nearer to each other are wrong together, because work that no trace shows lasts.
# Half: 1 interval misses. Twice: 2 lost.
_CORRELATION_S = 0.5
# The lowest reading is the idle machine's where another is within this share of the swing of it.
_IDLE_BAND_OF_SWING = 0.15

# ── rivals of the best place ──
_NEGLIGIBLE_COST = 12.0  # above the best: such a place has no weight (e to the -12)
# A place is looked at as a rival up to this times the negligible cost.
_RIVAL_COST_FACTOR = 4.0
# Standard errors by which a rival must explain more of the log: chance alone does so one time in
# twenty. Half: 1 lost. Twice: a cut log is sure and wrong. 1.64 was best with one recording left
# out at a time, each of 16 times.
_RIVAL_STANDARD_ERRORS = 1.64
# A rival then counts as if it cost no more than this. From one cut log.
# Half: no change. Twice: 1 interval misses.
_RIVAL_COST = 3.0
_PROMISING_COST = 5.0  # above the best: such a coarse offset is looked at closely, too

# ── how much is tried: bounds of time; what they cost in answers was not measured ──
_MIN_WINDOW_S = 0.1  # readings of faster sensors are gathered into windows of this length
_MIN_AVERAGING_GAIN = 2.0  # cost that another way of averaging must save to be looked at first
_SCALE_PLACES = 8  # places that are asked for the width of ordinary residuals
_PLACES_PER_AVERAGING = 3  # the same for each further way of averaging
_OFFSETS_PER_SIDE = 6  # of a coarse offset, that each way of averaging is tried at
_MAX_BASINS = 24  # separate minima that are looked at closely
_MAX_CENTERS = 48  # of minima and their aliases, after a look at each
_MAX_REFINED_OFFSETS = 160  # whose neighbourhood is looked at most closely
_MAX_ALIASES = 120  # offsets a number of steps away
_MAX_ROBUST_CELLS = 1_000_000  # readings times offsets, up to which all are tried robustly
_GRID_CELLS = 400_000  # the same of the grid that is only weighed
_MIN_GRID_READINGS = 200  # readings that this grid keeps at least
_EXTRA_PASSES = 2  # further close looks while they find a better place
_SWEPT_FITS = 2  # fits whose watts are swept over all offsets
_SWEEP_STEPS_PER_READING = 4
_MAX_SWEPT_OFFSETS = 8000
_MAX_SWEPT_CELLS = 1_500_000  # readings times offsets
_MAX_FINE_SAMPLES = 2400  # in the finer passes: more are thinned evenly


class Where(NamedTuple):
    """One place in question: an offset (s), how likely it is, and half of its own 95 % interval."""

    offset_s: float
    weight: float
    half_s: float


@dataclass(frozen=True)
class Fit:
    """An offset (s, trace time of the log's zero) found by signal, and how far to believe it."""

    offset_s: float
    lo_s: float
    hi_s: float
    ambiguous: bool
    reasons: tuple[str, ...]  # why it is ambiguous
    r2: float  # share of the watts' variation on the profile and at its ends that the fit explains
    watts: tuple[tuple[str, float], ...]  # idle machine first, then what each kind of work adds
    runner_up_s: float | None  # the second-best separated offset
    elsewhere: float  # weight of all places but the best
    window_s: float  # averaging window that fitted best
    samples: int  # inside the profile
    effective: float  # of them, independent
    ppm: float = 0.0  # drift of the log's clock against the trace's, when the data ask for one
    places: tuple[
        Where, ...
    ] = ()  # all that come into question, the best first; their weights add up to 1


def search(
    data: Samples,
    shares: WindowShares,
    *,
    within: tuple[float, float] | None = None,
    step_s: float | None = None,
) -> Fit | str:
    """The offset that explains the samples best, or why there is none.

    `step_s`: the usual step, for aliases.
    """
    data = data.gathered(_MIN_WINDOW_S).listened()
    lo, hi = _offsets(data, shares, within)
    if len(data) < MIN_SAMPLES:
        return f"only {len(data)} different samples"
    if hi <= lo:
        return "log and profile do not overlap enough at any offset"
    ordered = np.sort(data.watts)
    spread = float(ordered[-1 - len(ordered) // 1000 - 2] - ordered[len(ordered) // 1000 + 2])
    if _is_flat(spread, data):
        return "the power hardly changes, so there is no edge to align by"
    base_w = _lowest(data.watts)
    rough = coarse_search.candidates(data, shares, lo, hi, base_w)
    if not len(rough):
        return f"no offset puts {MIN_SAMPLES} samples inside the profile"
    is_near = _near(data, shares, rough)
    return _Search(data[is_near], shares, step_s, base_w).run(rough, lo, hi)


def _is_flat(spread: float, data: Samples) -> bool:
    """Whether watts that differ by so much tell nothing of what ran."""
    return spread <= max(1.5 * data.quantum, _FLAT_POWER_SHARE * abs(float(np.median(data.watts))))


def _lowest(watts: Floats) -> float:
    """The lowest power that the log ever had, a single odd reading left aside: no idle machine
    draws less.
    """
    return float(np.sort(watts)[min(2, len(watts) // 40)])


def _near(data: Samples, shares: WindowShares, offsets: Floats) -> Bools:
    """The samples that lie on or around the profile at one of these offsets: of a day of log the
    others say nothing.
    """
    first, last = shares.span
    margin = coarse_search.margin(data, last - first)
    is_near = np.zeros(len(data), np.bool_)
    for offset in offsets.tolist():
        is_near |= (data.hi + offset > first - margin) & (data.lo + offset < last + margin)
    return is_near


def _offsets(
    data: Samples, shares: WindowShares, within: tuple[float, float] | None
) -> tuple[float, float]:
    """The offsets at which enough of the shorter one is overlapped."""
    if not len(data):
        return 0.0, 0.0
    first, last = shares.span
    least = _MIN_OVERLAP_SHARE * min(last - first, float(data.hi[-1] - data.lo[0]))
    lo, hi = first + least - float(data.hi[-1]), last - least - float(data.lo[0])
    if within is not None:
        lo, hi = max(lo, within[0]), min(hi, within[1])
    return lo, hi


class _Rival(NamedTuple):
    """A place that costs more than the best, and explains more."""

    offset_s: float
    cost: float


@dataclass(frozen=True)
class _Choices:
    """Offsets, each with a way of averaging, what it costs, and the watts of its fit."""

    # at which readings taken to be centred as the sensor's description says lie right, whatever the
    # way
    offsets: Floats
    # a window so many times as long; below zero: an exponential mean that forgets in so many
    # seconds
    way: Floats
    cost: Floats  # of all samples there
    watts: Floats
    width: Floats  # how many of the finest steps each stands for

    def rows(self, rows: Bools) -> _Choices:
        """Some of them."""
        return _Choices(*(getattr(self, field.name)[rows] for field in fields(self)))


def _joined(first: _Choices, second: _Choices) -> _Choices:
    return _Choices(
        *(
            np.concatenate([getattr(part, field.name) for part in (first, second)])
            for field in fields(_Choices)
        )
    )


def _thinned_to(data: Samples, count: int) -> Samples:
    """At most `count` samples, evenly spread over all of them."""
    if len(data) <= count:
        return data
    return data[np.linspace(0, len(data) - 1, count).astype(np.int64)]


def _away(offsets: Floats, others: Floats, least: float) -> Bools:
    """Which offsets are farther than `least` from all others."""
    looked = np.sort(others)
    row = np.clip(np.searchsorted(looked, offsets), 1, max(len(looked) - 1, 1))
    near = np.minimum(
        np.abs(offsets - looked[row - 1]),
        np.abs(offsets - looked[np.minimum(row, len(looked) - 1)]),
    )
    return np.asarray(near > least)


class _Search:
    """The two finer passes and the verdict, over one set of samples."""

    def __init__(
        self, data: Samples, shares: WindowShares, step_s: float | None, base_w: float
    ) -> None:
        self.data = _thinned_to(data, _MAX_FINE_SAMPLES)
        self.shares = shares
        self.step_s = step_s
        self.middle = float(np.median(data.watts))
        gaps = np.abs(np.diff(self.data.watts))
        pace = float(np.median(np.diff(self.data.hi))) if len(self.data) > 1 else _CORRELATION_S
        self.together = max(_CORRELATION_S / max(pace, 1e-9), 1.0)
        # The smallest noise that is credible: rounding, and what a handful of categories cannot say
        # of a machine.
        swing = float(np.percentile(data.watts, 98)) - base_w
        spread = max(float(np.percentile(data.watts, 95) - np.percentile(data.watts, 5)), swing)
        self.floor = max(
            data.quantum / np.sqrt(12),
            _MIN_NOISE_OF_SWING * spread,
            _POWER_DRIFT_SHARE * abs(self.middle),
            0.1 * float(np.median(gaps)),
            1e-9,
        )
        swing = max(swing, self.floor)
        idle, usual_w = IDLE_SHARE, 0.0
        if np.count_nonzero(data.watts < base_w + _IDLE_BAND_OF_SWING * swing) < 2:
            # Seen once only, it is the mean of idling and something else: the idle machine may
            # stand far below.
            base_w, idle, usual_w = base_w - swing / 2, 0.35, swing / 2
        self.like = Likeness(
            shares, base_w, swing, self.floor, self.floor, idle=idle, usual_w=usual_w
        )
        self.length = float(np.median(data.hi - data.lo))
        self.ways = (
            (1.0, 0.0),
            *data.windows,
            *((-forget, price) for forget, price in data.forgets),
        )
        self.main = 1.0  # the way that is looked at first

    def _as(self, way: float, data: Samples) -> Samples:
        """The readings of a sensor that averages so."""
        if way == 1.0:
            return data
        return data.scaled(way) if way > 0 else data.forgetting(-way)

    def _shift(self, way: float) -> float:
        """How much later an offset is told than windows of this way lie: the integrals centre
        readings as they are described.
        """
        return (1 - way) * self.length / 2 if way > 0 else self.data.centre_s + way

    def _costs(
        self, offsets: Floats, data: Samples, way: float | None = None, *, exact: bool = True
    ) -> tuple[Floats, Floats]:
        way = self.main if way is None else way
        return self.like.costs(offsets - self._shift(way), self._as(way, data), exact=exact)

    def _residuals(
        self, offset: float, watts: Floats, data: Samples, way: float | None = None
    ) -> tuple[Floats, Bools]:
        way = self.main if way is None else way
        return self.like.residuals(offset - self._shift(way), watts, self._as(way, data))

    def run(self, rough: Floats, lo: float, hi: float) -> Fit | str:
        data = self.data
        near = max(data.refresh, float(np.median(data.hi - data.lo)))
        coarse_step = max(
            min(near, 0.1 if data.refresh < 0.2 else near / 2),
            (self.shares.span[1] - self.shares.span[0]) / 1500,
        )
        step = max(min(near / 8, coarse_step / 3), coarse_step / 12)
        reach = max(
            coarse_step, 0.6 * coarse_search.apart(data, self.shares.span[1] - self.shares.span[0])
        )
        thinned = _thinned_to(data, _MAX_FINE_SAMPLES // 4)
        self._choose_way(rough, thinned, reach)
        rough = self._everywhere(rough, thinned, coarse_step, near, lo, hi)
        if self.step_s is not None and self.step_s > 2 * near:
            rough = np.concatenate([rough, self._swept(rough[:_SWEPT_FITS], thinned, near, lo, hi)])
        offsets = self._around(rough, reach, step, lo, hi)
        self._choose_scale(rough[:_SCALE_PLACES], thinned)
        cost, _ = self._costs(offsets, thinned, exact=False)
        centres = coarse_search.separated(offsets, cost, near, _MAX_BASINS)
        if self.step_s is not None and self.step_s >= near / 4:
            aliases = centres[0] + self.step_s * np.array([-2.0, -1.0, 1.0, 2.0])
            centres = np.concatenate(
                [centres, aliases[np.abs(centres[:, None] - aliases).min(axis=0) > near / 4]]
            )
        self._set_scale(centres[:1], data)
        centres = np.concatenate([centres, self._aliases(float(centres[0]), lo, hi, near)])
        cost, _ = self._costs(centres, data)
        ranked = np.argsort(cost, kind="stable")[:_MAX_CENTERS]
        centres = np.clip(
            centres[ranked[cost[ranked] - cost.min() < 2 * _NEGLIGIBLE_COST * self.like.alike]],
            lo,
            hi,
        )  # grids reach beyond
        choices, step = self._fine(centres, near, data, lo, hi)
        if not len(choices.cost):
            return f"no offset puts {MIN_SAMPLES} samples inside the profile"
        ppm = self._drift(choices, data, near)
        if ppm:
            stretch = 1 + ppm * 1e-6
            data = self.data = replace(data, lo=data.lo * stretch, hi=data.hi * stretch)
            centres = np.clip(centres - (stretch - 1) * float(np.median(data.hi)), lo, hi)
            choices, step = self._fine(centres, near, data, lo - near, hi + near)
        beside = self._beside_these(choices, step, coarse_step, lo, hi)
        for _ in range(_EXTRA_PASSES):
            best = float(choices.cost.min())
            likely = beside.cost - best < _PROMISING_COST * self.like.alike
            if not likely.any():
                break
            centres = coarse_search.separated(
                beside.offsets[likely], beside.cost[likely], near, _MAX_BASINS
            )
            more = self._windows(self._around(centres, near / 2, step, lo, hi), data, several=False)
            choices, beside = (
                _joined(choices, more),
                beside.rows(_away(beside.offsets, more.offsets, coarse_step / 2)),
            )
            if more.cost.min() > best:
                break
        answer = self._judge(_joined(choices, beside), step, near)
        return answer if isinstance(answer, str) or not ppm else replace(answer, ppm=ppm)

    def _everywhere(
        self, rough: Floats, thinned: Samples, step: float, near: float, lo: float, hi: float
    ) -> Floats:
        """The best offsets of all, robustly, where there are few enough to try each; else those of
        plain least squares.
        """
        every = np.arange(lo, hi + step, step)
        if len(every) * len(thinned) > _MAX_ROBUST_CELLS:
            return rough
        offsets = np.concatenate([rough, every])
        cost, _ = self._costs(offsets, thinned, exact=False)
        return coarse_search.separated(
            offsets, cost, max(near, 4 * step), coarse_search.MAX_CANDIDATES
        )

    def _swept(self, levels: Floats, thinned: Samples, near: float, lo: float, hi: float) -> Floats:
        """The best of all offsets in fine steps, with the watts of the fits at `levels`.

        Where steps are much longer than a reading's window, the right place is between the offsets
        of a coarse grid.
        """
        step = max(near / _SWEEP_STEPS_PER_READING, (hi - lo) / _MAX_SWEPT_OFFSETS)
        offsets = np.arange(lo, hi + step, step)
        data = _thinned_to(thinned, _MAX_SWEPT_CELLS // max(len(offsets), 1))
        _, watts = self._costs(levels, thinned, exact=False)
        costs_by_fit = [
            self.like.sweep(offsets - self._shift(self.main), fit_watts, self._as(self.main, data))
            for fit_watts in watts
        ]
        if not costs_by_fit:
            return np.empty(0)
        lowest = np.min(costs_by_fit, axis=0)
        return coarse_search.separated(offsets, lowest, near, _MAX_BASINS)

    def _fine(
        self, centres: Floats, near: float, data: Samples, lo: float, hi: float
    ) -> tuple[_Choices, float]:
        """An even grid around every centre, finer around those that are left; the scale of the
        noise settles on the way.
        """
        step, reach = near / 6, near
        for fraction in (6, 24):
            step = max(near / fraction, 1e-3)
            choices = self._windows(
                self._around(centres, reach, step, lo, hi), data, several=fraction == 24
            )
            cost = choices.cost
            if not len(cost):  # nothing is left between `lo` and `hi`
                break
            best = int(np.argmin(cost))
            if fraction == 6:
                # The last pass keeps the scale that it was looked at with.
                self._set_scale(choices.offsets[best : best + 1], data)
                ranked = np.argsort(cost, kind="stable")[:_MAX_REFINED_OFFSETS]
                close = ranked[cost[ranked] - cost[best] < 2 * _NEGLIGIBLE_COST * self.like.alike]
                centres, reach = np.unique(choices.offsets[close]), step / 2
        return choices, step

    def _drift(self, choices: _Choices, data: Samples, near: float) -> float:
        """How fast the log's clock runs against the trace's (ppm): told only of long logs, and only
        when the data insist.
        """
        best = int(np.argmin(choices.cost))
        way = float(choices.way[best])
        offset, data = float(choices.offsets[best]) - self._shift(way), self._as(way, data)
        inside = (data.lo + offset > self.shares.span[0]) & (data.hi + offset < self.shares.span[1])
        if inside.sum() < 32 or float(data.hi[inside][-1] - data.lo[inside][0]) < _MIN_DRIFT_SPAN_S:
            return 0.0
        middle = float(np.median(data.hi[inside]))
        rate, reach, spread = 0.0, _MAX_DRIFT_PPM, near / 2
        lowest, at = np.inf, offset
        for _ in range(4):
            for ppm in rate + np.linspace(-reach, reach, 9):
                offsets = at - (ppm - rate) * 1e-6 * middle + np.linspace(-spread, spread, 9)
                cost, watts = self.like.costs(offsets, data, ppm)
                if cost.min() < lowest:
                    lowest, best_fit, level = (
                        float(cost.min()),
                        (float(ppm), float(offsets[np.argmin(cost)])),
                        watts[np.argmin(cost)],
                    )
            rate, at = best_fit
            reach, spread = reach / 4, spread / 3
        before, _ = self.like.residuals(offset, choices.watts[best], data)
        after, _ = self.like.residuals(at, level, data, rate)
        lag = self._lag(after[inside])
        count = float(inside.sum()) * (1 - lag) / (1 + lag)
        cost_before, cost_after = (
            float(np.minimum(np.abs(r[inside]), 3 * self.like.scale) @ np.abs(r[inside]))
            for r in (before, after)
        )
        evidence = count * np.log(max(cost_before, 1e-12) / max(cost_after, 1e-12)) - np.log(
            max(count, 2.0)
        )
        return rate if evidence > _MIN_DRIFT_BIC and abs(rate) <= _MAX_DRIFT_PPM else 0.0

    def _aliases(self, at: float, lo: float, hi: float, near: float) -> Floats:
        """Every offset that lies whole steps away: equal steps look alike, and the set of places
        has to say so.
        """
        if self.step_s is None or self.step_s < near / 4:
            return np.empty(0)
        turns = np.arange(np.ceil((lo - at) / self.step_s), np.floor((hi - at) / self.step_s) + 1)
        if len(turns) > _MAX_ALIASES:
            turns = turns[np.linspace(0, len(turns) - 1, _MAX_ALIASES).astype(np.int64)]
        return np.asarray(at + self.step_s * turns[turns != 0], np.float64)

    def _windows(self, offsets: Floats, data: Samples, *, several: bool) -> _Choices:
        """Every offset with every window that the sensor may have: a dialect rarely says over what
        it averages.
        """
        parts = []
        for way in (way for way, _ in self.ways) if several else (self.main,):
            cost, watts = self._costs(offsets, data, way)
            parts.append((offsets, np.full(len(offsets), way), cost, watts))
        columns = [np.concatenate([part[i] for part in parts]) for i in range(4)]
        return _Choices(columns[0], columns[1], columns[2], columns[3], np.ones(len(columns[0])))

    def _beside_these(
        self, choices: _Choices, step: float, coarse_step: float, lo: float, hi: float
    ) -> _Choices:
        """The coarse offsets between `lo` and `hi` that were not looked at closely.

        Where no place is better than the rest, they weigh more than the few that were.
        """
        grid = np.arange(lo, hi + coarse_step, coarse_step)
        offsets = grid[_away(grid, choices.offsets, coarse_step / 2)]
        best = int(np.argmin(choices.cost))
        best_offset = choices.offsets[best : best + 1]
        way = float(choices.way[best])
        count = max(_MIN_GRID_READINGS, _GRID_CELLS // max(len(offsets), 1))
        thinned = _thinned_to(self.data, count)
        cost, watts = self._costs(np.concatenate([best_offset, offsets]), thinned, way, exact=False)
        # Fewer readings cost less. The best offset is among them, so that the others can be told
        # by how much more they cost.
        readings_ratio = len(self.data) / len(thinned)
        above_best = np.maximum(cost[1:] - cost[0], 0.0) * readings_ratio
        return _Choices(
            offsets=offsets,
            way=np.full(len(offsets), way),
            cost=choices.cost[best] + above_best,
            watts=watts[1:],
            width=np.full(len(offsets), coarse_step / step),
        )

    def _around(self, centres: Floats, reach: float, step: float, lo: float, hi: float) -> Floats:
        steps = np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1) * step
        near = (centres[:, None] + steps).ravel()
        every = np.unique(np.round(near / (step / 2)).astype(np.int64)) * (step / 2)
        return np.asarray(every[(every >= lo - reach) & (every <= hi + reach)], np.float64)

    def _choose_way(self, offsets: Floats, data: Samples, reach: float) -> None:
        """The way of averaging that explains most, each at its own best offsets within `reach` of
        these (beside its place a long window, or one that forgets slowly, explains more than the
        true one), and the width of ordinary residuals with it.
        """
        default_cost = self._choose_scale(
            self._best_beside(offsets[:_SCALE_PLACES], data, reach), data
        )
        lowest_cost, best_settings = default_cost, (self.main, self.like.scale, self.like.alike)
        drifts = (
            float(data.hi[-1] - data.lo[0]) > _MIN_DRIFT_SPAN_S
        )  # which looks like a longer memory
        for way, price in () if drifts else self.ways[1:]:
            self.main = way
            cost = (
                self._choose_scale(
                    self._best_beside(offsets[:_PLACES_PER_AVERAGING], data, reach), data
                )
                + price * self.like.alike
            )
            if cost < lowest_cost - _MIN_AVERAGING_GAIN * self.like.alike:
                lowest_cost, best_settings = cost, (way, self.like.scale, self.like.alike)
        self.main, self.like.scale, self.like.alike = best_settings

    def _best_beside(self, offsets: Floats, data: Samples, reach: float) -> Floats:
        """For each of these the offset within `reach` that costs least."""
        beside = np.linspace(-reach, reach, 2 * _OFFSETS_PER_SIDE + 1)
        around = offsets[:, None] + beside
        cost, _ = self._costs(around.ravel(), data, exact=False)
        return np.asarray(
            around[np.arange(len(offsets)), np.argmin(cost.reshape(around.shape), axis=1)]
        )

    def _choose_scale(self, offsets: Floats, data: Samples) -> float:
        """The width of ordinary residuals where all is explained best with its own: a wide one
        makes every place alike.
        """
        candidates = []
        for offset in offsets:
            single = np.array([offset])
            self._set_scale(single, data)
            cost, watts = self._costs(single, data)
            _, inside = self._residuals(float(offset), watts[0], data)
            cost_of_best = float(cost[0]) + float(inside.sum()) * float(
                np.log(self.like.scale / self.floor)
            )
            candidates.append((cost_of_best, self.like.scale, self.like.alike))
        cost_of_best, self.like.scale, self.like.alike = min(candidates)
        return cost_of_best

    def _set_scale(self, offsets: Floats, data: Samples) -> None:
        """The width of ordinary residuals, from the best of these offsets."""
        for _ in range(2):
            cost, watts = self._costs(offsets, data)
            best = int(np.argmin(cost))
            residual, inside = self._residuals(float(offsets[best]), watts[best], data)
            if inside.sum() >= _MIN_READINGS_IN_PROFILE:
                residual = residual[inside]
            wide = (
                self.like.widths(data)[inside]
                if inside.sum() >= _MIN_READINGS_IN_PROFILE
                else self.like.widths(data)
            )
            self.like.scale = max(self.floor, 1.4826 * float(np.median(np.abs(residual) / wide)))
            lag = self._lag(residual)
            self.like.alike = max((1 + lag) / (1 - lag), self.together)

    def _judge(self, choices: _Choices, step: float, near: float) -> Fit | str:
        offsets = choices.offsets
        total = choices.cost
        best = int(np.argmin(total))
        fitted = choices.watts[best]
        way = float(choices.way[best])
        data = self._as(way, self.data)
        residual, inside = self._residuals(float(offsets[best]), fitted, self.data, way)
        count = int(inside.sum())
        if count < _MIN_READINGS_IN_PROFILE:
            return f"only {count} samples fall into the profile at the best offset"
        alike = self.like.alike
        if (self.like.flat(data, self.middle) - float(total[best])) / alike < _MIN_FIT_GAIN:
            return "the power does not follow anything in the profile"
        near_by = self._beside(data, float(offsets[best]) - self._shift(way), max(3 * near, 1.0))
        inner = data.watts[near_by]
        if _is_flat(float(np.ptp(inner)), data):
            return (
                "where the log fits best, its power hardly changes, so nothing shows that "
                "it belongs there"
            )
        r2 = self._explained(near_by, data, residual)
        # Readings around what is known to have run may be anything, and so may all of a log of
        # something else: those in it, and at its ends, have to be explained.
        least = min(
            1 - np.exp(-2 * _MIN_PROFILE_FIT_GAIN / max(count / alike, 1.0)), _MAX_REQUIRED_R2
        )
        if r2 < least:
            in_training = self._beside(
                data,
                float(offsets[best]) - self._shift(way),
                max(3 * near, 1.0),
                self.shares.training,
            )
            r2 = self._explained(in_training, data, residual)
        if r2 < least:
            return (
                f"what ran explains {max(r2, 0.0):.0%} of its changes where it fits best: "
                "no more than chance may"
            )
        # Offset and window cannot be told apart. Joules need the offset at which the power lies
        # right; where the log's zero really lies depends on the way of averaging, and the interval
        # holds both.
        zero = (
            offsets
            - np.array([self._shift(way_of_place) for way_of_place in choices.way])
            + max(self.length / 2 - self.data.centre_s, 0.0)
            * ((choices.way > 0) & (choices.way != 1.0))
        )
        age = self.data.age_s
        least, older = step + age, step + max(age, self.data.older_s)
        reasons: list[str] = []
        better = self._better(choices, best, near)
        wider = (
            _UNSURE_COST_DIVISOR
            if better is None
            else max(
                _UNSURE_COST_DIVISOR, (better.cost - float(total[best])) / (alike * _RIVAL_COST)
            )
        )
        # What is left over of few readings comes out small: of so many as are independent, each
        # fitted figure takes one.
        few_factor = count / alike / max(count / alike - len(fitted), 1.0)
        for divisor in (1.0, wider):
            cost = (total - total[best]) / (alike * divisor) + self._beforehand(choices.way)
            weight = choices.width * np.exp(-cost)
            weight /= weight.sum()
            if divisor != 1.0:
                weight = self._weighed_again(choices, weight, cost, alike * divisor)
            interval_weight = (
                weight if divisor == 1.0 else choices.width * np.exp(-cost / few_factor)
            )  # so few readings leave more places open
            order = np.argsort(offsets, kind="stable")
            places = _weighed_places(offsets[order], weight[order], max(SURE_S, near / 4), least)
            low, high = (
                _weighted_quantile(offsets[order], interval_weight[order], at)
                for at in (0.025, 0.975)
            )
            offset = places[0].offset_s
            fit_half_s = max(high - offset, offset - low) + step
            order = np.argsort(zero, kind="stable")
            zero_low, zero_high = (
                _weighted_quantile(zero[order], interval_weight[order], at) for at in (0.025, 0.975)
            )
            low, high = min(low, zero_low), max(high, zero_high)
            elsewhere = float(
                weight[np.abs(offsets - offset) > max(SURE_S, self.data.refresh / 10)].sum()
            )
            reasons = reasons or self._doubts(
                elsewhere, 2 * (max(high - offset, offset - low) + step), near, fitted
            )
            if better is not None and not reasons:
                reasons = [f"what ran explains more of the log at {better.offset_s:.2f} s"]
            if not reasons:
                break
        low, high = low - least, high + older
        apart = np.abs(offsets - offset) > near
        runner_up = float(offsets[apart][np.argmin(total[apart])]) if apart.any() else None
        if count / alike < _MIN_INDEPENDENT_READINGS:
            reasons.append(
                f"only {count / alike:.0f} readings that are independent of each other lie in "
                "the profile"
            )
        # What the fit leaves open and what its window does add up (the one moves with the other),
        # though either is narrow enough.
        if age > _MAX_READING_AGE_S or (
            not reasons
            and fit_half_s + self.data.centre_err_s > max(SURE_S, self.data.refresh / 10)
        ):
            reasons.append(f"how old a reading is, is known to ±{age:.2g} s only")
        return Fit(
            offset,
            low,
            high,
            bool(reasons),
            tuple(reasons),
            r2,
            tuple(zip(self.shares.names, (float(w) for w in fitted), strict=False)),
            runner_up,
            elsewhere,
            float(np.median(data.hi - data.lo)),
            count,
            count / alike,
            places=places,
        )

    def _weighed_again(
        self, choices: _Choices, weight: Floats, cost: Floats, unit: float
    ) -> Floats:
        """The weights where places are not sure. How often something like training follows its told
        end nobody knows (programs evaluate, predict, train again): that it is rare and that it is
        common weigh in alike.
        """
        rows = np.flatnonzero(cost < 2 * _NEGLIGIBLE_COST)
        ended = np.zeros(len(cost))
        for way in np.unique(choices.way[rows]).tolist():
            same_way = rows[choices.way[rows] == way]
            ended[same_way] = self.like.ended(
                choices.offsets[same_way] - self._shift(way),
                choices.watts[same_way],
                self._as(way, self.data),
            )
        if not ended.any():
            return weight
        common = cost - ended / unit
        common_weight = choices.width * np.exp(common.min() - common)
        return np.asarray((weight + common_weight / common_weight.sum()) / 2)

    def _better(self, choices: _Choices, best: int, near: float) -> _Rival | None:
        """Another place at which clearly less power, of the whole log, is left to what no trace
        shows, though it costs more: how likely that is to come, and to go on, is a guess.
        """
        in_reach = (
            choices.cost - choices.cost[best]
            < _RIVAL_COST_FACTOR * _NEGLIGIBLE_COST * self.like.alike
        )
        in_reach[best] = True
        total, rows = choices.cost[in_reach], np.flatnonzero(in_reach)
        centres = coarse_search.separated(choices.offsets[in_reach], total, near, _MAX_BASINS)
        unexplained = []
        for centre in centres.tolist():
            row = int(
                rows[
                    np.argmin(
                        np.where(np.abs(choices.offsets[in_reach] - centre) < 1e-9, total, np.inf)
                    )
                ]
            )
            residual, _ = self._residuals(
                float(choices.offsets[row]), choices.watts[row], self.data, float(choices.way[row])
            )
            unexplained.append(np.maximum(np.abs(residual) - self.like.scale, 0.0))
        saved = unexplained[0] - np.array(unexplained)
        gained = saved.sum(axis=1)
        chance = np.sqrt(
            self.like.alike * (saved**2).sum(axis=1)
        )  # neighbours are alike, and so is what they leave
        winner = int(np.argmax(gained - _RIVAL_STANDARD_ERRORS * chance))
        if gained[winner] <= _RIVAL_STANDARD_ERRORS * chance[winner] + self.like.scale:
            return None
        return _Rival(
            float(centres[winner]), float(total[choices.offsets[in_reach] == centres[winner]].min())
        )

    def _beforehand(self, ways: Floats) -> Floats:
        """What each way of averaging costs beforehand."""
        price_of_way = np.zeros(len(ways))
        for way, price in self.ways:
            price_of_way[ways == way] = price
        return price_of_way

    def _beside(
        self, data: Samples, offset: float, margin: float, span: tuple[float, float] | None = None
    ) -> Bools:
        """The samples on the profile (or another span) and a little around it: its ends are edges
        like any other.
        """
        first, last = span or self.shares.span
        is_beside: Bools = (data.lo + offset > first - margin) & (data.hi + offset < last + margin)
        return is_beside

    def _explained(self, rows: Bools, data: Samples, residual: Floats) -> float:
        """The share of these readings' variation that the fit explains, single odd ones
        left aside.
        """
        inner = data.watts[rows]
        trust = 1 / np.maximum(1.0, np.abs(residual) / (1.345 * self.like.scale))[rows]
        centre = float(np.average(inner, weights=trust))
        variation = float((trust * (inner - centre) ** 2).sum())
        return 1 - float((trust * residual[rows] ** 2).sum()) / variation if variation > 0 else 0.0

    def _lag(self, residual: Floats) -> float:
        """How alike neighbouring residuals are, bursts that no trace explains left aside."""
        usual = np.abs(residual) < 3 * self.like.scale
        pair = usual[1:] & usual[:-1]
        first, second = residual[:-1][pair], residual[1:][pair]
        if pair.sum() < MIN_SAMPLES or np.ptp(first) == 0 or np.ptp(second) == 0:
            return 0.0
        return min(max(float(np.corrcoef(first, second)[0, 1]), 0.0), 0.99)

    def _doubts(self, elsewhere: float, width: float, near: float, fitted: Floats) -> list[str]:
        reasons = []
        if elsewhere >= 1 - _MIN_SURE_WEIGHT:
            reasons.append(f"{elsewhere:.0%} of the weight lies at other places")
        limit = 2 * max(SURE_S, self.data.refresh / 10)
        if self.step_s is not None and self.step_s >= 2 * near:
            limit = min(
                limit, self.step_s / 2
            )  # this sensor could tell one step from the next, so it has to
        if width > limit and elsewhere < 1 - _MIN_SURE_WEIGHT:
            reasons.append(f"the interval is {width:.3g} s wide")
        strength = float(fitted[1:].max(initial=0.0))
        if strength < max(0.5 * self.data.quantum, 0.005 * float(fitted[0])):
            reasons.append("no kind of work draws more than the idle machine")
        return reasons


def _weighed_places(
    offsets: Floats, weight: Floats, width: float, least: float
) -> tuple[Where, ...]:
    """The weight of ordered offsets, gathered in places no wider than `width`; the heaviest
    first.
    """
    places: list[Where] = []
    remaining = weight.copy()
    while remaining.max() > 1e-4 * weight.max():
        heaviest = int(np.argmax(remaining))
        in_place = (np.abs(offsets - offsets[heaviest]) <= width / 2) & (remaining > 0)
        share = remaining[in_place]
        middle = float(np.average(offsets[in_place], weights=share))
        spread = float(np.sqrt(np.average((offsets[in_place] - middle) ** 2, weights=share)))
        places.append(Where(middle, float(share.sum()), Z95 * spread + least))
        remaining[in_place] = 0.0
    best = max(places, key=lambda place: place.weight)
    places = _thinned(places)
    total = sum(place.weight for place in places)
    places.sort(key=lambda place: (place.offset_s != best.offset_s, -place.weight))
    return tuple(place._replace(weight=place.weight / total) for place in places)


def _thinned(places: list[Where]) -> list[Where]:
    """No more than are told, standing for all of them: those at which even shares of the whole
    weight are reached, and the best.
    """
    if len(places) <= MAX_PLACES:
        return places
    ordered = sorted(places)
    best = max(ordered, key=lambda place: place.weight)
    running = np.cumsum([place.weight for place in ordered])
    drawn = np.searchsorted(
        running, (np.arange(MAX_PLACES - 1) + 0.5) / (MAX_PLACES - 1) * running[-1]
    )
    share = running[-1] / (MAX_PLACES - 1)
    rows, counts = np.unique(drawn, return_counts=True)
    chosen = [
        ordered[row]._replace(weight=float(count * share))
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
    ]
    return chosen if any(place.offset_s == best.offset_s for place in chosen) else [*chosen, best]


def _weighted_quantile(offsets: Floats, weight: Floats, share: float) -> float:
    """The offset below which this share of the weight lies."""
    running = np.cumsum(weight)
    return float(offsets[min(int(np.searchsorted(running, share * running[-1])), len(offsets) - 1)])
