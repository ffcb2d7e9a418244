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

import numpy as np

from powertui.data.energy import nnls, settings
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
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Prices are in units of the ordinary residual's, so 0.5 is what a residual of one scale costs.
# Unless a comment says otherwise a value was chosen on simulated worlds. What half and twice of it
# do to 27 logs stands in docs/energy-evidence.md, summed up here as "lost" (no longer sure) and
# "won" (now sure and right).

# Growth of a large residual's price, as of Student's t with 5 degrees of freedom.
# Half: 3 lost, 1 won, 1 without a place. Twice: 2 won, 1 lost, 1 interval misses.
_STUDENT_T_FACTOR = 3.0
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
# Expected power of each kind of work, as a share of the log's swing. Chosen: a fit is free
# to leave it by as much again. A host call that shows nothing inside is probably waiting.
_WORK_SHARE_OF_SWING = {
    "host calls without detail": 0.25,
    "host work": 0.6,
    "input": 0.6,
    "compiling": 0.7,
    "copies": 0.8,
}
_DEFAULT_SHARE_OF_SWING = 1.5
# How much more than computing a kind of work may draw, as a share of the swing.
# Half and twice of the default: no change.
_EXCESS_OVER_COMPUTE = {"host calls without detail": 0.03, "input": 0.2}
_DEFAULT_EXCESS_OVER_COMPUTE = settings.UNKNOWN_SHARE
# Price of a fit in which no work draws power, so that the log swings for reasons of its own.
# Half and twice: no change.
_NO_POWER_PRICE = 5.0
# Of the swing: work that draws less is within what idling varies by.
_NO_POWER_SHARE = settings.MINOR_SHARE

# ── the robust fit. Chosen: as long as most readings are of the machine's own work, others do not
# change where it settles ──
_FIT_ITERATIONS = 4  # one less where offsets are only ranked
_HELD_ITERATIONS = 2  # the first ones keep the idle machine where it is likeliest …
_IDLE_HOLD = 10.0  # … by so much of the weight of all readings
_OUTSIDE_WEIGHT = 0.01  # of readings outside the profile, until something was fitted
_NO_WEIGHT = 1e-3  # the same, later, of those far from the idle machine
_FOREIGN_WEIGHT = 0.2  # of readings that somebody else's work explains better

# ── levels of power ──
_PROFILE_LEVELS = 8  # levels of power that stand for the whole profile
_WINDOWS_PER_LEVEL = 8  # windows of the profile behind each of these levels
_LEVEL_RADIUS = 1.5  # residuals: levels nearer to a reading than this count as one
_IDLE_RADIUS = 2.5  # residuals: readings nearer to the idle level than this are of the idle machine
# What it costs that a reading is near so many of the levels: nothing where it is near all of them.
_LEVEL_SURPRISE = np.log(_PROFILE_LEVELS / np.maximum(np.arange(_PROFILE_LEVELS + 1.0), 1.0))
_CHUNK_CELLS = 30_000  # readings times offsets at once: they fit into a processor's cache
_GOLDEN_RATIO = 0.6180339887498949


class _Described(NamedTuple):
    """What all offsets share, whatever the width of an ordinary residual."""

    pace_s: float  # from a reading to the next
    width: Floats  # of each reading's residual, in ordinary ones
    usual_work: Floats  # columns of windows all over the profile


class _Laid(NamedTuple):
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


class _Prior(NamedTuple):
    """What is expected of the watts of each kind of work, the idle machine first."""

    usual_w: Floats
    precision: Floats  # 1 / W²
    ridge: Floats  # the same as a term of the fit …
    holding_ridge: Floats  # … which keeps the idle machine where it is likeliest
    allowed_excess_w: Floats  # over computing, of each kind of work but the idle machine
    compute: int | None  # which kind of work computing is


@dataclass
class Likeness:
    """Readings, what ran, and the width of an ordinary residual."""

    shares: WindowShares
    base_w: float  # the floor
    swing_w: float  # from there to the highest readings
    scale: float = 1.0
    floor: float = 1.0  # the smallest scale
    alike: float = 1.0  # how many neighbouring residuals say the same thing
    idle: float = IDLE_SHARE  # of the swing: so far the idle machine may stand above the floor
    usual_w: float = 0.0  # where it is likeliest, above the floor
    # The last ones: whoever looks for the width asks for the same offsets again and again.
    _described: tuple[Samples, _Described] | None = None
    _laid: tuple[Samples, tuple[bytes, float], _Laid] | None = None

    def costs(
        self, offsets: Floats, data: Samples, ppm: float = 0.0, *, exact: bool = True
    ) -> tuple[Floats, Floats]:
        """What each offset costs, and the watts of its fit, idle first.

        Not `exact`: near enough to rank thousands.
        """
        total = np.empty(len(offsets))
        watts = np.empty((len(offsets), len(self.shares.names) - 1))
        stretch = 1 + ppm * 1e-6
        readings, prior = self._readings(data), self._prior(len(data))
        chunk = max(1, _CHUNK_CELLS // max(len(data), 1))
        for start in range(0, len(offsets), chunk):
            part = slice(start, start + chunk)
            laid = self._laid_at(offsets[part], data, stretch)
            fitted, residual = self._fit(laid, readings, prior, exact)
            idle = (readings.above - fitted[:, :1]) / readings.sigma
            levels = _power_levels(fitted, readings.usual_work)
            busy = _level_price(readings.above, levels, readings.sigma)
            cost = self._price(residual, idle, busy, laid, readings)
            total[part] = self._with_prior(cost, fitted, prior, laid.uncovered)
            watts[part] = fitted
        watts[:, 0] += self.base_w
        return total, watts

    def _laid_at(self, offsets: Floats, data: Samples, stretch: float) -> _Laid:
        """The readings at these offsets."""
        key = offsets.tobytes(), stretch
        last = self._laid
        if last is not None and last[0] is data and last[1] == key:
            return last[2]
        offset = offsets[:, None]
        lo, hi = data.lo * stretch + offset, data.hi * stretch + offset
        laid = _Laid(
            columns=self.shares.work(lo, hi, data.forget_s),
            state=known_state((lo + hi) / 2, self.shares),
            unrecorded=_uncovered_share(data, offsets, self.shares.training),
            uncovered=_uncovered_share(data, offsets, self.shares.span),
        )
        self._laid = data, key, laid
        return laid

    def _describe(self, data: Samples) -> _Described:
        last = self._described
        if last is not None and last[0] is data:
            return last[1]
        described = _Described(
            pace_s=median_of_column(np.diff(data.hi)) if len(data) > 1 else 1.0,
            width=self.widths(data),
            usual_work=self._usual_work(median_of_column(data.hi - data.lo)),
        )
        self._described = data, described
        return described

    def _readings(self, data: Samples) -> _Readings:
        described = self._describe(data)
        above = data.watts - self.base_w
        sigma = self.scale * described.width
        steady = _change_price(above, sigma)
        rates = price_rates(described.pace_s, self.alike)
        foreign_price = np.minimum(_MAX_PRICE_ABOVE, steady + rates.lasting)
        growth = np.expm1(foreign_price / _STUDENT_T_FACTOR)
        return _Readings(
            above=above,
            sigma=sigma,
            steady=steady,
            rates=rates,
            usual_work=described.usual_work,
            foreign_price=foreign_price,
            foreign_from=np.sqrt(2 * _STUDENT_T_FACTOR * growth),
        )

    def _prior(self, readings: int) -> _Prior:
        """Beforehand: the idle machine is near the floor, and no kind of work draws many times the
        log's swing.
        """
        kinds = self.shares.names[1:-1]
        shares = [_WORK_SHARE_OF_SWING.get(kind, _DEFAULT_SHARE_OF_SWING) for kind in kinds]
        excess = [_EXCESS_OVER_COMPUTE.get(kind, _DEFAULT_EXCESS_OVER_COMPUTE) for kind in kinds]
        expected_w = self.swing_w * np.array([self.idle, *shares])
        precision = self.alike / expected_w**2
        ridge = np.diag(precision * self.scale**2)
        holding_ridge = ridge.copy()
        holding_ridge[0, 0] += _IDLE_HOLD * readings
        usual_w = np.zeros(len(expected_w))
        usual_w[0] = self.usual_w
        return _Prior(
            usual_w=usual_w,
            precision=precision,
            ridge=ridge,
            holding_ridge=holding_ridge,
            allowed_excess_w=self.swing_w * np.array(excess),
            compute=kinds.index("compute") if "compute" in kinds else None,
        )

    def _fit(
        self, laid: _Laid, readings: _Readings, prior: _Prior, exact: bool
    ) -> tuple[Floats, Floats]:
        """The watts of each kind of work at each offset, and what they leave, in sigmas."""
        above, sigma = readings.above, readings.sigma
        columns = laid.columns
        is_profiled = laid.state == IN_PROFILE
        trust = (self.scale / sigma) ** 2
        weight = np.where(is_profiled, 1.0, _OUTSIDE_WEIGHT) * trust
        iterations = _FIT_ITERATIONS if exact else _FIT_ITERATIONS - 1
        for iteration in range(iterations):
            is_last = iteration == iterations - 1
            weighted = (columns * weight[..., None]).transpose(0, 2, 1)
            penalty = prior.holding_ridge if iteration < _HELD_ITERATIONS else prior.ridge
            moment = weighted @ above
            moment[:, 0] += penalty[0, 0] * self.usual_w
            gram = weighted @ columns + penalty
            fitted = nnls.many(gram, moment, exact=exact and is_last)
            residual = (above - (columns @ fitted[..., None])[..., 0]) / sigma
            if not is_last:
                idle = (above - fitted[:, :1]) / sigma
                weight = trust * _weight(residual, idle, is_profiled, readings.foreign_from)
        return fitted, residual

    def _with_prior(self, cost: Floats, fitted: Floats, prior: _Prior, uncovered: Floats) -> Floats:
        """Costs with what speaks against the watts of a fit, and against its place."""
        cost = cost + ((fitted - prior.usual_w) ** 2 @ prior.precision) / 2
        cost += _UNCOVERED_PROFILE_PRICE * self.alike * uncovered / (uncovered + _HALF_PRICE_SHARE)
        cost += self._no_power_price(fitted)
        if prior.compute is not None:
            work = fitted[:, 1:]
            over_compute = np.maximum(work - work[:, prior.compute, None], 0.0)
            excess = over_compute / prior.allowed_excess_w
            cost += self.alike * (excess**2).sum(axis=1) / 2
        return cost

    def _no_power_price(self, fitted: Floats) -> Floats:
        """What each fit costs for saying that the work of the profile hardly draws power."""
        mixture = self.shares.mixture
        work_w = fitted[:, 1:] @ mixture / max(float(mixture.sum()), 1e-9)
        share = work_w / (_NO_POWER_SHARE * self.swing_w)
        return np.asarray(_NO_POWER_PRICE * self.alike * np.exp(-(share**2) / 2))

    def sweep(self, offsets: Floats, watts: Floats, data: Samples) -> Floats:
        """What each of many offsets costs, roughly, when every kind of work draws these watts."""
        joules_until = self.shares.running(watts[1:])
        above = data.watts - watts[0]
        sigma = self.scale * self.widths(data)
        outside = np.minimum(0.5 * (above / sigma) ** 2, UNKNOWN_LOAD_PRICE)
        first, last = self.shares.span
        total = np.empty(len(offsets))
        chunk = max(1, _CHUNK_CELLS // max(len(data), 1))
        for start in range(0, len(offsets), chunk):
            part = slice(start, start + chunk)
            offset = offsets[part, None]
            lo, hi = data.lo + offset, data.hi + offset
            predicted_w = (joules_until(hi) - joules_until(lo)) / (data.hi - data.lo)
            residual = (above - predicted_w) / sigma
            inside = np.minimum(0.5 * residual**2, _MAX_PRICE_ABOVE)
            is_inside = (lo >= first) & (hi <= last)
            total[part] = np.where(is_inside, inside, outside).sum(axis=1)
        return total

    def ended(self, offsets: Floats, watts: Floats, data: Samples) -> Floats:
        """What of each offset's cost is for something like training after its recorded end. Nothing
        where much of the known training is outside the log: else that might be anywhere.
        """
        readings = self._readings(data)
        above, sigma = readings.above, readings.sigma
        middle = (data.lo + data.hi) / 2
        total = np.empty(len(offsets))
        chunk = max(1, _CHUNK_CELLS // max(len(data), 1))
        for start in range(0, len(offsets), chunk):
            part = slice(start, start + chunk)
            offset, fitted = offsets[part], watts[part].copy()
            fitted[:, 0] -= self.base_w
            idle = _residual_price((above - fitted[:, :1]) / sigma)
            busy = _level_price(above, _power_levels(fitted, readings.usual_work), sigma)
            state = known_state(middle + offset[:, None], self.shares)
            unrecorded = _uncovered_share(data, offset, self.shares.training)
            likely = Likely(idle, busy, readings.steady)
            outside = unprofiled_prices(likely, state, readings.rates, unrecorded, self.alike)
            total[part] = outside.ended * (1 - share_of_limit(unrecorded))
        return total

    def _usual_work(self, window_s: float) -> Floats:
        """The columns of windows all over the profile: what readings of more of the same
        may say.
        """
        first, last = self.shares.span
        count = _WINDOWS_PER_LEVEL * _PROFILE_LEVELS
        # Multiples of the golden ratio are spread evenly, whatever repeats in the profile.
        turn = (np.arange(count) + 0.5) * _GOLDEN_RATIO % 1.0
        lo = np.asarray(first + turn * max(last - first - window_s, 0.0), np.float64)
        hi = np.asarray(lo + min(window_s, last - first), np.float64)
        return self.shares.work(lo, hi)

    def _price(
        self,
        residual: Floats,
        idle: Floats,
        busy: Floats,
        laid: _Laid,
        readings: _Readings,
    ) -> Floats:
        """What the readings of each offset cost in all."""
        state = laid.state
        profiled = _residual_price(residual)
        capped = np.minimum(profiled, readings.foreign_price)
        profiled = np.where(residual > 0, capped, profiled)
        likely = Likely(_residual_price(idle), busy, readings.steady)
        outside = unprofiled_prices(likely, state, readings.rates, laid.unrecorded, self.alike)
        unprofiled = np.where(state == IN_TRAINING, outside.training, outside.anything)
        cost = np.where(state == IN_PROFILE, profiled, unprofiled)
        return np.asarray(cost.sum(axis=1) + outside.goes_on + outside.ended)

    def widths(self, data: Samples) -> Floats:
        """How much wider than usual the residual of each reading is: as its neighbours differ,
        whatever ran.
        """
        if not len(data.noise):
            return np.ones(len(data))
        return np.asarray(np.hypot(self.floor, data.noise) / self.floor)

    def residuals(
        self, offset: float, watts: Floats, data: Samples, ppm: float = 0.0
    ) -> tuple[Floats, Bools]:
        """Watts minus fit, and which readings lie wholly inside the profile."""
        stretch = 1 + ppm * 1e-6
        first, last = self.shares.span
        lo, hi = data.lo * stretch + offset, data.hi * stretch + offset
        predicted_w = self.shares.work(lo, hi, data.forget_s) @ watts
        return data.watts - predicted_w, (lo >= first) & (hi <= last)

    def left_over(self, offset: float, data: Samples) -> tuple[Floats, Bools]:
        """`residuals` of the best fit at one offset, without the work of pricing it."""
        laid = self._laid_at(np.array([offset]), data, 1.0)
        fitted, _ = self._fit(laid, self._readings(data), self._prior(len(data)), exact=True)
        fitted[:, 0] += self.base_w
        first, last = self.shares.span
        is_inside = (data.lo + offset >= first) & (data.hi + offset <= last)
        return data.watts - laid.columns[0] @ fitted[0], is_inside

    def flat(self, data: Samples, level: float) -> float:
        """The cost of saying that nothing ever changed."""
        residual = (data.watts - level) / (self.scale * self.widths(data))
        cost = _residual_price(residual)
        cost = np.where(residual > 0, np.minimum(cost, _MAX_PRICE_ABOVE), cost)
        return float(cost.sum())


def _weight(residual: Floats, idle: Floats, is_profiled: Bools, foreign_from: Floats) -> Floats:
    """How much each reading counts in the next iteration.

    Outside the profile the level of the idle machine at most.
    """
    weight = 1 / (1 + residual**2 / (2 * _STUDENT_T_FACTOR))
    # Where more is left over than a foreign load costs, it is one.
    weight = np.where(residual > foreign_from, _FOREIGN_WEIGHT * weight, weight)
    counts = is_profiled | (np.abs(idle) < _IDLE_RADIUS)
    return np.asarray(np.where(counts, weight, _NO_WEIGHT))


def _power_levels(fitted: Floats, usual_work: Floats) -> Floats:
    """The levels of power [offsets, levels] that windows all over the profile have by each fit."""
    in_order = np.sort(fitted @ usual_work.T, axis=1)
    return np.asarray(in_order[:, _WINDOWS_PER_LEVEL // 2 :: _WINDOWS_PER_LEVEL])


def _uncovered_share(data: Samples, offsets: Floats, span: tuple[float, float]) -> Floats:
    """The share of a span that the log does not cover at each offset: people record power around
    what they profile.
    """
    begin, end = span
    log_begin, log_end = float(data.lo[0]) + offsets, float(data.hi[-1]) + offsets
    covered = np.minimum(log_end, end) - np.maximum(log_begin, begin)
    return np.asarray(1 - np.clip(covered / max(end - begin, 1e-9), 0, 1))


def _level_price(above: Floats, levels: Floats, sigma: Floats) -> Floats:
    """What readings cost that may be any of these levels [offsets, levels]: by the nearest, and by
    how many are as near.
    """
    nearest = np.full((len(levels), len(above)), np.inf)
    near = np.zeros(nearest.shape, np.int8)
    for level in levels.T:
        apart = np.abs(above - level[:, None])
        np.minimum(nearest, apart, out=nearest)
        near += apart < _LEVEL_RADIUS * sigma
    return np.asarray(_residual_price(nearest / sigma) + _LEVEL_SURPRISE.take(near))


def _change_price(above: Floats, sigma: Floats) -> Floats:
    """What it costs that a reading is like the one before."""
    return _residual_price(np.abs(np.diff(above, prepend=above[:1])) / (sigma * 2**0.5))


def _residual_price(residual: Floats) -> Floats:
    """What a residual costs, in units of the ordinary one."""
    size: Floats = _STUDENT_T_FACTOR * np.log1p(residual**2 / (2 * _STUDENT_T_FACTOR))
    return size
