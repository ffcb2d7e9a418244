"""How well a power log fits a training at each offset when every kind of work draws the same watts
whenever it runs.

Slow sensors show few jumps, but each of their readings is a mean over a known time. At every offset
the readings are fitted by the shares of their windows that training, validation and pauses fill,
with watts that cannot be negative, on top of the idle machine. Readings far from the fit count
little: machines do things that no record shows.

Most of that they do while they work: they save, or validate where only the end of it is logged. So
each reading has the noise of an idle machine and, as far as work filled it, that of work. A pause
in the middle of an epoch is then no surprise, but work where the machine should idle is one.

Where it is not known whether the training ran already, or still, anything between idling and work
fits equally well: the levels are no more certain of a start or an end than its edge is.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import nnls, settings
from powertui.data.energy.robust_stats import median_deviation, rounding_sigma
from powertui.data.energy.samples import Samples, usual_window_s
from powertui.data.energy.window_shares import WindowShares
from powertui.data.model import Floats
from powertui.data.quantiles import percentiles_of_column
from powertui.named_tuples import NamedTuple

# ── how much is tried: bounds of time ──
_MAX_READINGS = 400  # neighbors of more are averaged
_MAX_OFFSETS = 1500
_MAX_ROUGH_OFFSETS = 300  # from which the noise is learned
_STEPS_PER_WINDOW = 8.0  # offsets tried for each window of a reading
_FIT_ITERATIONS = 4
_CHUNK_CELLS = 100_000

# ── what a residual costs ──
# Student's t with so many degrees of freedom: far readings cost little more than less far ones.
_FREEDOM = 3.0
# Of one reading, so that few decide alone. At 5, the price of 6 sigmas of the idle machine, 46
# instead of 47 of 90 clocks off beside a sensor of 10 s were noticed, and 31 instead of 44 answers
# were sure, none of them wrong (seeds 14000 to 14095).
_MAX_COST = 8.0
# Of the swing: the noise before anything is known of it.
_ROUGH_SIGMA_SWING = settings.UNKNOWN_SHARE
_ORDINARY_SIGMAS = 2.5  # larger residuals are somebody else's work
# Correlation of neighbors: at 1 all readings together would count for nothing.
_MAX_LAG = settings.MAX_NEIGHBOR_CORRELATION
_RIDGE = 1e-8  # of a reading's weight: settles the watts of work that an offset leaves out


class LevelCosts(NamedTuple):
    """Costs of evenly spaced offsets, in units of log-likelihood."""

    offset_s: Floats
    cost: Floats

    def at(self, offsets: Floats) -> Floats:
        """The costs of other offsets in the same range."""
        return np.interp(offsets, self.offset_s, self.cost)


class OpenTimes(NamedTuple):
    """When nobody knows what ran, by time and without overlaps (s)."""

    start_s: Floats
    end_s: Floats

    def share(self, lo: Floats, hi: Floats) -> Floats:
        """The share of each window that is open."""
        open_s = self._seconds(hi) - self._seconds(lo)
        share: Floats = open_s / (hi - lo)
        return share

    def _seconds(self, at: Floats) -> Floats:
        """Open seconds up to each moment."""
        count = len(self.start_s)
        if not count:
            return np.zeros(np.shape(at))
        moments = np.column_stack([self.start_s, self.end_s])
        lengths = np.column_stack([np.zeros(count), self.end_s - self.start_s])
        running = np.cumsum(lengths.ravel())
        seconds: Floats = np.interp(at, moments.ravel(), running)
        return seconds


def open_times(middle_s: Floats, half_s: Floats) -> OpenTimes:
    """The times around moments that are known to ± so much."""
    start = middle_s - half_s
    end = middle_s + half_s
    order = np.argsort(start, kind="stable")
    start = start[order]
    reaches_to = np.maximum.accumulate(end[order])
    is_first = np.concatenate([[True], start[1:] > reaches_to[:-1]])
    is_last = np.append(is_first[1:], True)
    return OpenTimes(start[is_first], reaches_to[is_last])


class _LevelReadings(NamedTuple):
    """The readings of a log, and what may have filled their windows."""

    data: Samples
    low_w: float  # what the idle machine draws, unless readings show less
    swing_w: float
    shares: WindowShares
    open_to: OpenTimes


class _Noise(NamedTuple):
    """What no record shows: one sigma of a reading (W)."""

    idle_w: float
    work_w: float  # beside that, of a reading that work fills

    def sigma(self, work_share: Floats) -> Floats:
        """Of readings that work fills so far."""
        sigma: Floats = np.hypot(self.idle_w, work_share * self.work_w)
        return sigma


def level_costs(
    data: Samples,
    shares: WindowShares,
    open_to: OpenTimes,
    range_s: tuple[float, float],
) -> LevelCosts:
    """The costs of all offsets in a range."""
    length_s = float(data.hi[-1] - data.lo[0])
    if len(data) > _MAX_READINGS:
        data = data.gathered(length_s / _MAX_READINGS)
    offsets = _offsets_to_try(data, range_s)
    low_w, high_w = percentiles_of_column(data.watts, (2, 98))
    swing_w = max(float(high_w - low_w), 1e-9)
    readings = _LevelReadings(
        data=data,
        low_w=float(low_w),
        swing_w=swing_w,
        shares=shares,
        open_to=open_to,
    )
    # The noise is learned where a rough fit is best, and all offsets are judged by it.
    every = max(1, len(offsets) // _MAX_ROUGH_OFFSETS)
    least_sigma_w = max(settings.SAME_LEVEL_SHARE * swing_w, rounding_sigma(data.quantum))
    rough_sigma_w = max(swing_w * _ROUGH_SIGMA_SWING, least_sigma_w)
    rough = _fitted(readings, offsets[::every], _Noise(idle_w=rough_sigma_w, work_w=0.0))
    noise = _learned_noise(rough.best, least_sigma_w, rough_sigma_w)
    open_price = _noise_price(rough.best, noise)
    fitted = _fitted(readings, offsets, noise, open_price)
    lag = _lag(fitted.best, noise)
    # Neighbors that are alike count as fewer readings.
    return LevelCosts(
        offset_s=offsets,
        cost=fitted.cost * (1 - lag) / (1 + lag),
    )


def _offsets_to_try(data: Samples, range_s: tuple[float, float]) -> Floats:
    lo, hi = range_s
    window_s = usual_window_s(data)
    step = max(window_s / _STEPS_PER_WINDOW, (hi - lo) / _MAX_OFFSETS)
    return np.arange(lo, hi + step, step)


class _Residuals(NamedTuple):
    """What the fit of an offset leaves of each reading."""

    watts: Floats
    work_share: Floats  # of the reading, as it is put there

    @property
    def known(self) -> _Residuals:
        """Those of readings that may not be just anything: of these exactly nothing is left."""
        is_known = self.watts != 0.0
        return _Residuals(self.watts[is_known], self.work_share[is_known])

    def in_sigmas(self, noise: _Noise) -> Floats:
        """How far each is off, in standard deviations."""
        in_sigmas: Floats = self.watts / noise.sigma(self.work_share)
        return in_sigmas


def _learned_noise(residuals: _Residuals, least_w: float, rough_w: float) -> _Noise:
    """Of work, what is left of readings that it fills; of an idle machine the least.

    But where most readings beside the training are not even roughly those of an idle machine,
    something else works there, and work is no surprise: a recording of 73 s had a program load for
    8 s at full power before it trained.
    """
    known = residuals.known
    is_work = known.work_share > settings.MAJORITY_SHARE
    work_w = _sigma_w(known.watts[is_work], least_w)
    beside_w = _sigma_w(known.watts[~is_work], least_w)
    if beside_w > rough_w:
        return _Noise(idle_w=beside_w, work_w=work_w)
    return _Noise(idle_w=least_w, work_w=work_w)


def _sigma_w(residual: Floats, least_w: float) -> float:
    if not len(residual):
        return least_w
    return max(median_deviation(residual), least_w)


def _noise_price(residuals: _Residuals, noise: _Noise) -> float:
    """What a reading costs that only noise is in.

    One that may be anything costs as much, so that no offset wins by leaving more of them open.
    """
    known = residuals.known
    is_ordinary = np.abs(known.in_sigmas(noise)) < _ORDINARY_SIGMAS
    if not is_ordinary.any():
        return 0.0
    prices = _price(known.watts, known.work_share, noise)
    return float(prices[is_ordinary].mean())


def _price(residual: Floats, work_share: Floats, noise: _Noise) -> Floats:
    """Less likely by so much than what an idle machine is taken to draw."""
    sigma_w = noise.sigma(work_share)
    distance = (residual / sigma_w) ** 2
    growth = np.log1p(distance / _FREEDOM)
    price = (_FREEDOM + 1) / 2 * growth + np.log(sigma_w / noise.idle_w)
    limited: Floats = np.minimum(price, _MAX_COST)
    return limited


def _lag(residuals: _Residuals, noise: _Noise) -> float:
    """How alike neighboring residuals are, somebody else's work left out."""
    in_sigmas = residuals.in_sigmas(noise)
    is_ordinary = np.abs(in_sigmas) < _ORDINARY_SIGMAS
    is_pair = is_ordinary[1:] & is_ordinary[:-1]
    after = in_sigmas[1:][is_pair]
    before = in_sigmas[:-1][is_pair]
    squares = max(float((before**2).sum()), 1e-12)
    lag = float((after * before).sum() / squares)
    return min(max(lag, 0.0), _MAX_LAG)


class _LevelFits(NamedTuple):
    """What the fit of each offset costs, and what it leaves."""

    cost: Floats
    residuals_w: Floats  # [offset, reading]
    work_shares: Floats

    @property
    def best(self) -> _Residuals:
        """What the cheapest one leaves."""
        cheapest = int(np.argmin(self.cost))
        return _Residuals(self.residuals_w[cheapest], self.work_shares[cheapest])


def _fitted(
    readings: _LevelReadings,
    offsets: Floats,
    noise: _Noise,
    open_price: float = 0.0,
) -> _LevelFits:
    """The fits of these offsets; `open_price`: what a reading costs that may be anything."""
    data = readings.data
    total = np.empty(len(offsets))
    residuals_w = np.empty((len(offsets), len(data)))
    work_shares = np.empty((len(offsets), len(data)))
    chunk = max(1, _CHUNK_CELLS // len(data))
    for start in range(0, len(offsets), chunk):
        part = slice(start, start + chunk)
        offset = offsets[part, None]
        lo = data.lo + offset
        hi = data.hi + offset
        columns = readings.shares.work(lo, hi, data.forget_s)
        open_share = readings.open_to.share(lo, hi)
        work_share = columns[..., 1:].sum(axis=2)
        residual = _robust_residual(readings, columns, open_share, noise)
        price = _price(residual, work_share, noise)
        total[part] = np.maximum(price, open_price * open_share).sum(axis=1)
        residuals_w[part] = residual
        work_shares[part] = work_share
    return _LevelFits(total, residuals_w, work_shares)


def _robust_residual(
    readings: _LevelReadings,
    columns: Floats,
    open_share: Floats,
    noise: _Noise,
) -> Floats:
    """[offset, reading]: what watts of the work cannot explain, far readings weighted down."""
    watts_read = readings.data.watts
    sigma_w = noise.sigma(columns[..., 1:].sum(axis=2))
    kinds = columns.shape[2]
    ridge = _RIDGE * len(watts_read) * np.eye(kinds)
    # Where all idling is open, or not in the log, it is at the lowest readings, give or take all
    # that they differ by.
    ridge[0, 0] = (noise.idle_w / readings.swing_w) ** 2
    beforehand = ridge[0] * readings.low_w
    certainty = (1 - open_share) * (noise.idle_w / sigma_w) ** 2
    weight = certainty
    for _ in range(_FIT_ITERATIONS):
        weighted = (columns * weight[..., None]).transpose(0, 2, 1)
        gram = weighted @ columns + ridge
        moment = weighted @ watts_read + beforehand
        watts = nnls.many(gram, moment, exact=False)
        predicted = (columns @ watts[..., None])[..., 0]
        residual = watts_read - predicted
        distance = (residual / sigma_w) ** 2
        weight = certainty / (1 + distance / _FREEDOM)
    return _outside_open(residual, watts_read, watts, open_share)


def _outside_open(
    residual: Floats,
    watts_read: Floats,
    watts: Floats,
    open_share: Floats,
) -> Floats:
    """What is left where the open share of a reading may be idling, work, or some of both."""
    idle_w = watts[:, :1]
    work_w = watts[:, 1:].max(axis=1, keepdims=True)
    predicted = watts_read - residual
    open_w = open_share * work_w
    least = np.maximum(predicted - open_w, idle_w)
    most = np.minimum(predicted + open_w, idle_w + work_w)
    least = np.minimum(least, predicted)
    most = np.maximum(most, predicted)
    nearest = np.clip(watts_read, least, most)
    outside: Floats = watts_read - nearest
    return outside
