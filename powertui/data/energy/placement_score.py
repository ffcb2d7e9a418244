"""How badly a power log fits a trace when it is laid on it at some offset.

Every reading is predicted by the kinds of work that would have filled its window, with
watts that cannot be negative, on top of the lowest power that the log ever had: no idle machine
draws less than that floor, and hardly more, and work only adds to it. What is left over costs, in
units of the ordinary residual:

    above the prediction   no more than a fixed price: machines do things that no trace shows, and
                           those only add
    below it               more, the farther the more: what ran has to be paid for
    outside the profile    nothing is known; idle, or work like that in the profile, is likely,
                           anything else has its price
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.energy import nnls, settings
from powertui.data.energy.residual_price import (
    PROFILE_LEVELS,
    STUDENT_T_FACTOR,
    WINDOWS_PER_LEVEL,
    change_price,
    level_price,
    power_levels,
    residual_price,
)
from powertui.data.energy.samples import Samples
from powertui.data.energy.unprofiled_price import (
    IN_PROFILE,
    IN_TRAINING,
    UNKNOWN_LOAD_PRICE,
    Likely,
    Rates,
    States,
    known_state,
    price_rates,
    share_of_limit,
    unprofiled_prices,
)
from powertui.data.energy.window_shares import WindowShares
from powertui.data.energy.work_prior import LogPower, WorkPrior, work_prior
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Prices are in units of the ordinary residual's, so 0.5 is what a residual of one scale costs.
# Unless a comment says otherwise a value was chosen on simulated worlds. What half and twice of it
# do to 27 logs stands in docs/energy-evidence.md, summed up here as "lost" (no longer sure) and
# "won" (now sure and right).

# Power above the prediction costs at most this: machines do work that no trace shows.
# 2, 4 and 8 were tried with one recording left out at a time, and 4 was best each of 16 times.
_MAX_PRICE_ABOVE = 4.0
# Price of an offset at which the log covers hardly any of the profile, from cut logs.
# Half: 1 lost. Twice: 1 lost, 1 won, 1 without a place.
_UNCOVERED_PROFILE_PRICE = 9.0
# Uncovered share of the profile that costs half of that. People record power around what they
# profile, but logs end early, too. Chosen: a log of most of the profile is hardly doubted.
_HALF_PRICE_SHARE = 0.4
# How far the idle machine may be above the lowest reading, as a share of the log's swing.
# Half and twice: no change.
IDLE_SHARE = settings.SAME_LEVEL_SHARE

# ── the robust fit. Chosen: as long as most readings are of the machine's own work, others do not
# change where it settles ──
_FIT_ITERATIONS = 4  # one less where offsets are only ranked
_HELD_ITERATIONS = 2  # the first ones keep the idle machine where it is likeliest …
_IDLE_HOLD = 10.0  # … by so much of the weight of all readings
_OUTSIDE_WEIGHT = (
    settings.NEGLIGIBLE_SHARE
)  # of readings outside the profile, until something was fitted
_NO_WEIGHT = 1e-3  # the same, later, of those far from the idle machine
_FOREIGN_WEIGHT = 0.2  # of readings that somebody else's work explains better
_IDLE_RADIUS = 2.5  # residuals: readings nearer to the idle level than this are of the idle machine

_CHUNK_CELLS = 30_000  # readings times offsets at once: they fit into a processor's cache
_GOLDEN_RATIO = 0.6180339887498949


class _Described(NamedTuple):
    """What all offsets share, whatever the width of an ordinary residual."""

    pace_s: float  # from a reading to the next
    width: Floats  # of each reading's residual, in ordinary ones
    usual_work: Floats  # columns of windows all over the profile


class _Placed(NamedTuple):
    """Readings at some offsets, whatever the width of an ordinary residual."""

    columns: Floats  # [offsets, readings, kinds]
    state: States
    unrecorded: Floats  # share of the training that the log does not cover
    uncovered: Floats  # the same of the profile


class _Readings(NamedTuple):
    """What all offsets share."""

    above: Floats  # W above the floor
    sigma: Floats  # W, of an ordinary residual
    steady: Floats  # price of being like the reading before
    rates: Rates
    usual_work: Floats  # columns of windows all over the profile
    foreign_price: Floats  # what power above the prediction costs at most
    foreign_from: Floats  # residuals above this are somebody else's work


@dataclass
class Likeness:
    """Readings, what ran, and the width of an ordinary residual."""

    shares: WindowShares
    base_w: float  # the floor
    swing_w: float  # from there to the highest readings
    scale: float = 1.0
    floor: float = 1.0  # the smallest scale
    alike: float = 1.0  # how many neighboring residuals say the same thing
    idle: float = IDLE_SHARE  # of the swing: so far the idle machine may stand above the floor
    usual_w: float = 0.0  # where it is likeliest, above the floor
    # The last ones: whoever looks for the width asks for the same offsets again and again.
    _described: tuple[Samples, _Described] | None = None
    _placed: tuple[Samples, tuple[bytes, float], _Placed] | None = None

    def costs(
        self,
        offsets: Floats,
        data: Samples,
        ppm: float = 0.0,
        *,
        exact: bool = True,
    ) -> tuple[Floats, Floats]:
        """What each offset costs, and the watts of its fit, idle first.

        Not `exact`: near enough to rank thousands.
        """
        total = np.empty(len(offsets))
        watts = np.empty((len(offsets), len(self.shares.names) - 1))
        stretch = 1 + ppm * 1e-6
        readings = self._readings(data)
        prior = self._prior()
        for part in _chunks(len(offsets), len(data)):
            placed = self._placed_at(offsets[part], data, stretch)
            fitted, residual = self._fit(placed, readings, prior, exact)
            unlike_idle = (readings.above - fitted[:, :1]) / readings.sigma
            levels = power_levels(fitted, readings.usual_work)
            likely = Likely(
                idle=residual_price(unlike_idle),
                busy=level_price(readings.above, levels, readings.sigma),
                steady=readings.steady,
            )
            cost = self._price(residual, likely, placed, readings)
            total[part] = self._with_prior(cost, fitted, prior, placed.uncovered)
            watts[part] = fitted
        watts[:, 0] += self.base_w
        return total, watts

    def _placed_at(
        self,
        offsets: Floats,
        data: Samples,
        stretch: float,
    ) -> _Placed:
        """The readings at these offsets."""
        key = offsets.tobytes(), stretch
        last = self._placed
        if last is not None and last[0] is data and last[1] == key:
            return last[2]
        offset = offsets[:, None]
        lo = data.lo * stretch + offset
        hi = data.hi * stretch + offset
        middle = (lo + hi) / 2
        placed = _Placed(
            columns=self.shares.work(lo, hi, data.forget_s),
            state=known_state(middle, self.shares),
            unrecorded=_uncovered_share(data, offsets, self.shares.training),
            uncovered=_uncovered_share(data, offsets, self.shares.span),
        )
        self._placed = data, key, placed
        return placed

    def _describe(self, data: Samples) -> _Described:
        last = self._described
        if last is not None and last[0] is data:
            return last[1]
        pace_s = 1.0
        if len(data) > 1:
            pace_s = median_of_column(np.diff(data.hi))
        window_s = median_of_column(data.hi - data.lo)
        described = _Described(
            pace_s=pace_s,
            width=self.widths(data),
            usual_work=self._usual_work(window_s),
        )
        self._described = data, described
        return described

    def _readings(self, data: Samples) -> _Readings:
        described = self._describe(data)
        above = data.watts - self.base_w
        sigma = self.scale * described.width
        steady = change_price(above, sigma)
        rates = price_rates(described.pace_s, self.alike)
        foreign_price = np.minimum(_MAX_PRICE_ABOVE, steady + rates.lasting)
        growth = np.expm1(foreign_price / STUDENT_T_FACTOR)
        return _Readings(
            above=above,
            sigma=sigma,
            steady=steady,
            rates=rates,
            usual_work=described.usual_work,
            foreign_price=foreign_price,
            foreign_from=np.sqrt(2 * STUDENT_T_FACTOR * growth),
        )

    def _prior(self) -> WorkPrior:
        kinds = self.shares.names[1:-1]
        log = LogPower(
            swing_w=self.swing_w,
            idle_w=self.usual_w,
            idle_share=self.idle,
            alike=self.alike,
        )
        return work_prior(kinds, log)

    def _fit(
        self,
        placed: _Placed,
        readings: _Readings,
        prior: WorkPrior,
        exact: bool,
    ) -> tuple[Floats, Floats]:
        """The watts of each kind of work at each offset, and what they leave, in sigmas."""
        above = readings.above
        sigma = readings.sigma
        columns = placed.columns
        is_profiled = placed.state == IN_PROFILE
        trust = (self.scale / sigma) ** 2
        weight = np.where(is_profiled, 1.0, _OUTSIDE_WEIGHT) * trust

        # The expectations as a term of the fit.
        ridge = np.diag(prior.precision * self.scale**2)
        holding_ridge = ridge.copy()
        holding_ridge[0, 0] += _IDLE_HOLD * len(above)

        iterations = _FIT_ITERATIONS if exact else _FIT_ITERATIONS - 1
        for iteration in range(iterations):
            is_last = iteration == iterations - 1
            penalty = holding_ridge if iteration < _HELD_ITERATIONS else ridge
            weighted = (columns * weight[..., None]).transpose(0, 2, 1)
            moment = weighted @ above
            moment[:, 0] += penalty[0, 0] * self.usual_w
            gram = weighted @ columns + penalty
            fitted = nnls.many(gram, moment, exact=exact and is_last)
            predicted = (columns @ fitted[..., None])[..., 0]
            residual = (above - predicted) / sigma
            if not is_last:
                idle = (above - fitted[:, :1]) / sigma
                weight = trust * _weight(residual, idle, is_profiled, readings.foreign_from)
        return fitted, residual

    def _with_prior(
        self,
        cost: Floats,
        fitted: Floats,
        prior: WorkPrior,
        uncovered: Floats,
    ) -> Floats:
        """Costs with what speaks against the watts of a fit, and against its place."""
        cost = cost + prior.price(fitted)
        full_price = _UNCOVERED_PROFILE_PRICE * self.alike
        cost += full_price * uncovered / (uncovered + _HALF_PRICE_SHARE)
        cost += prior.no_power_price(fitted, self.shares.mixture)
        over_compute = prior.over_compute_price(fitted)
        if over_compute is not None:
            cost += over_compute
        return cost

    def sweep(
        self,
        offsets: Floats,
        watts: Floats,
        data: Samples,
    ) -> Floats:
        """What each of many offsets costs, roughly, when every kind of work draws these watts."""
        joules_until = self.shares.running(watts[1:])
        above = data.watts - watts[0]
        sigma = self.scale * self.widths(data)
        window_s = data.hi - data.lo
        unlike_idle = 0.5 * (above / sigma) ** 2
        outside = np.minimum(unlike_idle, UNKNOWN_LOAD_PRICE)
        first, last = self.shares.span
        total = np.empty(len(offsets))
        for part in _chunks(len(offsets), len(data)):
            offset = offsets[part, None]
            lo = data.lo + offset
            hi = data.hi + offset
            joules = joules_until(hi) - joules_until(lo)
            residual = (above - joules / window_s) / sigma
            inside = np.minimum(0.5 * residual**2, _MAX_PRICE_ABOVE)
            is_inside = (lo >= first) & (hi <= last)
            price = np.where(is_inside, inside, outside)
            total[part] = price.sum(axis=1)
        return total

    def ended(
        self,
        offsets: Floats,
        watts: Floats,
        data: Samples,
    ) -> Floats:
        """What of each offset's cost is for something like training after its recorded end. Nothing
        where much of the known training is outside the log: else that might be anywhere.
        """
        readings = self._readings(data)
        above = readings.above
        sigma = readings.sigma
        middle = (data.lo + data.hi) / 2
        total = np.empty(len(offsets))
        for part in _chunks(len(offsets), len(data)):
            offset = offsets[part]
            fitted = watts[part].copy()
            fitted[:, 0] -= self.base_w
            unlike_idle = (above - fitted[:, :1]) / sigma
            levels = power_levels(fitted, readings.usual_work)
            likely = Likely(
                idle=residual_price(unlike_idle),
                busy=level_price(above, levels, sigma),
                steady=readings.steady,
            )
            state = known_state(middle + offset[:, None], self.shares)
            unrecorded = _uncovered_share(data, offset, self.shares.training)
            outside = unprofiled_prices(likely, state, readings.rates, unrecorded, self.alike)
            recorded_share = 1 - share_of_limit(unrecorded)
            total[part] = outside.ended * recorded_share
        return total

    def _usual_work(self, window_s: float) -> Floats:
        """The columns of windows all over the profile: what readings of more of the same
        may say.
        """
        first, last = self.shares.span
        length_s = last - first
        number = np.arange(WINDOWS_PER_LEVEL * PROFILE_LEVELS)
        # Multiples of the golden ratio are spread evenly, whatever repeats in the profile.
        place = (number + 0.5) * _GOLDEN_RATIO % 1.0
        lo = np.asarray(first + place * max(length_s - window_s, 0.0), np.float64)
        hi: Floats = lo + min(window_s, length_s)
        return self.shares.work(lo, hi)

    def _price(
        self,
        residual: Floats,
        likely: Likely,
        placed: _Placed,
        readings: _Readings,
    ) -> Floats:
        """What the readings of each offset cost in all."""
        state = placed.state
        profiled = residual_price(residual)
        capped = np.minimum(profiled, readings.foreign_price)
        profiled = np.where(residual > 0, capped, profiled)
        outside = unprofiled_prices(likely, state, readings.rates, placed.unrecorded, self.alike)
        unprofiled = np.where(state == IN_TRAINING, outside.training, outside.anything)
        of_reading = np.where(state == IN_PROFILE, profiled, unprofiled)
        cost: Floats = of_reading.sum(axis=1) + outside.goes_on + outside.ended
        return cost

    def widths(self, data: Samples) -> Floats:
        """How much wider than usual the residual of each reading is: as its neighbors differ,
        whatever ran.
        """
        if not len(data.noise):
            return np.ones(len(data))
        widths: Floats = np.hypot(self.floor, data.noise) / self.floor
        return widths

    def residuals(
        self,
        offset: float,
        watts: Floats,
        data: Samples,
        ppm: float = 0.0,
    ) -> tuple[Floats, Bools]:
        """Watts minus fit, and which readings lie wholly inside the profile."""
        stretch = 1 + ppm * 1e-6
        first, last = self.shares.span
        lo = data.lo * stretch + offset
        hi = data.hi * stretch + offset
        predicted_w = self.shares.work(lo, hi, data.forget_s) @ watts
        is_inside = (lo >= first) & (hi <= last)
        return data.watts - predicted_w, is_inside

    def left_over(self, offset: float, data: Samples) -> tuple[Floats, Bools]:
        """`residuals` of the best fit at one offset, without the work of pricing it."""
        placed = self._placed_at(np.array([offset]), data, 1.0)
        fitted, _ = self._fit(placed, self._readings(data), self._prior(), exact=True)
        fitted[:, 0] += self.base_w
        predicted_w = placed.columns[0] @ fitted[0]
        first, last = self.shares.span
        is_inside = (data.lo + offset >= first) & (data.hi + offset <= last)
        return data.watts - predicted_w, is_inside

    def flat(self, data: Samples, level: float) -> float:
        """The cost of saying that nothing ever changed."""
        sigma = self.scale * self.widths(data)
        residual = (data.watts - level) / sigma
        cost = residual_price(residual)
        capped = np.minimum(cost, _MAX_PRICE_ABOVE)
        cost = np.where(residual > 0, capped, cost)
        return float(cost.sum())


def _chunks(offsets: int, readings: int) -> Iterator[slice]:
    """So many offsets at once as fit into a processor's cache with all readings each."""
    size = max(1, _CHUNK_CELLS // max(readings, 1))
    for start in range(0, offsets, size):
        yield slice(start, start + size)


def _weight(residual: Floats, idle: Floats, is_profiled: Bools, foreign_from: Floats) -> Floats:
    """How much each reading counts in the next iteration.

    Outside the profile the level of the idle machine at most.
    """
    weight = 1 / (1 + residual**2 / (2 * STUDENT_T_FACTOR))
    # Where more is left over than a foreign load costs, it is one.
    weight = np.where(residual > foreign_from, _FOREIGN_WEIGHT * weight, weight)
    counts = is_profiled | (np.abs(idle) < _IDLE_RADIUS)
    return np.where(counts, weight, _NO_WEIGHT)


def _uncovered_share(data: Samples, offsets: Floats, span: tuple[float, float]) -> Floats:
    """The share of a span that the log does not cover at each offset: people record power around
    what they profile.
    """
    begin, end = span
    log_begin = float(data.lo[0]) + offsets
    log_end = float(data.hi[-1]) + offsets
    covered_s = np.minimum(log_end, end) - np.maximum(log_begin, begin)
    length_s = max(end - begin, 1e-9)
    uncovered: Floats = 1 - np.clip(covered_s / length_s, 0, 1)
    return uncovered
