"""How well a power log fits a training at each offset when every kind of work draws the same watts
whenever it runs.

Slow sensors show few jumps, but each of their readings is a mean over a known time. At every offset
the readings are fitted by the shares of their windows that training, validation and pauses fill,
with watts that cannot be negative, on top of the idle machine. Readings far from the fit count
little: machines do things that no record shows.

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
# Of one reading. Chosen: that of a residual of 6 sigmas, so that none decides alone.
_MAX_COST = 5.0
# Of the swing: the noise before anything is known of it.
_ROUGH_SIGMA_SWING = settings.UNKNOWN_SHARE
_ORDINARY_SIGMAS = 2.5  # larger residuals are somebody else's work
# Correlation of neighbors: at 1 all readings together would count for nothing.
_MAX_LAG = settings.MAX_NEIGHBOR_CORRELATION
_RIDGE = 1e-6  # of a reading's weight: settles the watts of work that an offset leaves out


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
    above_idle: Floats  # W
    shares: WindowShares
    open_to: OpenTimes


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
    idle_w, high_w = percentiles_of_column(data.watts, (2, 98))
    swing_w = max(float(high_w - idle_w), 1e-9)
    least_sigma_w = max(settings.SAME_LEVEL_SHARE * swing_w, rounding_sigma(data.quantum))
    readings = _LevelReadings(
        data=data,
        above_idle=data.watts - float(idle_w),
        shares=shares,
        open_to=open_to,
    )
    # The noise is learned where a rough fit is best, and all offsets are judged by it.
    every = max(1, len(offsets) // _MAX_ROUGH_OFFSETS)
    rough_sigma_w = max(swing_w * _ROUGH_SIGMA_SWING, least_sigma_w)
    rough = _fitted(readings, offsets[::every], rough_sigma_w)
    # Of open readings exactly nothing is left.
    best_residual = rough.best_residual
    known_residual = best_residual[best_residual != 0.0]
    sigma_w = least_sigma_w
    if len(known_residual):
        sigma_w = max(median_deviation(known_residual), least_sigma_w)
    open_price = _noise_price(known_residual, sigma_w)
    fitted = _fitted(readings, offsets, sigma_w, open_price)
    lag = _lag(fitted.best_residual, sigma_w)
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


def _noise_price(residual: Floats, sigma_w: float) -> float:
    """What a reading costs that only noise is in.

    One that may be anything costs as much, so that no offset wins by leaving more of them open.
    """
    is_ordinary = np.abs(residual) < _ORDINARY_SIGMAS * sigma_w
    if not is_ordinary.any():
        return 0.0
    return float(_price(residual[is_ordinary], sigma_w).mean())


def _price(residual: Floats, sigma_w: float) -> Floats:
    distance = (residual / sigma_w) ** 2
    growth = np.log1p(distance / _FREEDOM)
    price = (_FREEDOM + 1) / 2 * growth
    limited: Floats = np.minimum(price, _MAX_COST)
    return limited


def _lag(residual: Floats, sigma_w: float) -> float:
    """How alike neighboring residuals are, somebody else's work left out."""
    is_ordinary = np.abs(residual) < _ORDINARY_SIGMAS * sigma_w
    is_pair = is_ordinary[1:] & is_ordinary[:-1]
    after = residual[1:][is_pair]
    before = residual[:-1][is_pair]
    squares = max(float((before**2).sum()), 1e-12)
    lag = float((after * before).sum() / squares)
    return min(max(lag, 0.0), _MAX_LAG)


class _LevelFits(NamedTuple):
    """What the fit of each offset costs, and what it leaves of each reading (W)."""

    cost: Floats
    residuals: Floats  # [offset, reading]

    @property
    def best_residual(self) -> Floats:
        """What the cheapest one leaves."""
        cheapest = int(np.argmin(self.cost))
        residual: Floats = self.residuals[cheapest]
        return residual


def _fitted(
    readings: _LevelReadings,
    offsets: Floats,
    sigma_w: float,
    open_price: float = 0.0,
) -> _LevelFits:
    """The fits of these offsets; `open_price`: what a reading costs that may be anything."""
    data = readings.data
    total = np.empty(len(offsets))
    residuals = np.empty((len(offsets), len(data)))
    chunk = max(1, _CHUNK_CELLS // len(data))
    for start in range(0, len(offsets), chunk):
        part = slice(start, start + chunk)
        offset = offsets[part, None]
        lo = data.lo + offset
        hi = data.hi + offset
        columns = readings.shares.work(lo, hi, data.forget_s)
        open_share = readings.open_to.share(lo, hi)
        residual = _robust_residual(readings.above_idle, columns, open_share, sigma_w)
        price = np.maximum(_price(residual, sigma_w), open_price * open_share)
        total[part] = price.sum(axis=1)
        residuals[part] = residual
    return _LevelFits(total, residuals)


def _robust_residual(
    above_idle: Floats,
    columns: Floats,
    open_share: Floats,
    sigma_w: float,
) -> Floats:
    """[offset, reading]: what watts of the work cannot explain, far readings weighted down."""
    kinds = columns.shape[2]
    ridge = _RIDGE * len(above_idle) * np.eye(kinds)
    ridge[0, 0] = 1  # as one more reading of the idle machine, for where all its time is open
    known_share = 1 - open_share
    weight = known_share
    residual = np.broadcast_to(above_idle, weight.shape)
    for iteration in range(_FIT_ITERATIONS):
        if iteration:
            distance = (residual / sigma_w) ** 2
            weight = known_share / (1 + distance / _FREEDOM)
        weighted = (columns * weight[..., None]).transpose(0, 2, 1)
        gram = weighted @ columns + ridge
        moment = weighted @ above_idle
        watts = nnls.many(gram, moment, exact=False)
        predicted = (columns @ watts[..., None])[..., 0]
        residual = above_idle - predicted
    return _outside_open(residual, above_idle, watts, open_share)


def _outside_open(
    residual: Floats,
    above_idle: Floats,
    watts: Floats,
    open_share: Floats,
) -> Floats:
    """What is left where the open share of a reading may be idling, work, or some of both."""
    idle_w = watts[:, :1]
    work_w = watts[:, 1:].max(axis=1, keepdims=True)
    predicted = above_idle - residual
    open_w = open_share * work_w
    least = np.maximum(predicted - open_w, idle_w)
    most = np.minimum(predicted + open_w, idle_w + work_w)
    least = np.minimum(least, predicted)
    most = np.maximum(most, predicted)
    nearest = np.clip(above_idle, least, most)
    outside: Floats = above_idle - nearest
    return outside
