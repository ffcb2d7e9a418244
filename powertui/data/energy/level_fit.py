"""How well a power log fits a training at each offset when every kind of work draws the same watts
whenever it runs.

Slow sensors show few jumps, but each of their readings is a mean over a known time. At every offset
the readings are fitted by the shares of their windows that training, validation and pauses fill,
with watts that cannot be negative, on top of the idle machine. Readings far from the fit count
little: machines do things that no record shows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.energy import nnls
from powertui.data.energy.expected_work import WindowShares
from powertui.data.energy.samples import Samples
from powertui.data.model import Floats

_MAX_READINGS = 400  # neighbors of more are averaged: a bound of time
_MAX_OFFSETS = 1500
_STEPS_PER_WINDOW = 8.0  # offsets tried for each window of a reading
_FIT_ITERATIONS = 4
_CHUNK_CELLS = 100_000
# Student's t with so many degrees of freedom: far readings cost little more than less far ones.
_FREEDOM = 3.0
_MAX_COST = 5.0  # of one reading; chosen, not measured
_MEDIAN_TO_SIGMA = 1.4826
_MIN_SIGMA_SWING = 0.03  # of the swing: levels are never as constant as the fit assumes
_MAX_LAG = 0.95
_ORDINARY = 2.5  # sigmas: residuals that are larger are somebody else's work


class LevelCosts(NamedTuple):
    """Costs of evenly spaced offsets, in units of log-likelihood."""

    offset_s: Floats
    cost: Floats

    def at(self, offsets: Floats) -> Floats:
        """The costs of other offsets in the same range."""
        return np.interp(offsets, self.offset_s, self.cost)


def level_costs(data: Samples, shares: WindowShares, range_s: tuple[float, float]) -> LevelCosts:
    """The costs of all offsets in a range."""
    length_s = float(data.hi[-1] - data.lo[0])
    if len(data) > _MAX_READINGS:
        data = data.gathered(length_s / _MAX_READINGS)
    lo, hi = range_s
    window_s = float(np.median(data.hi - data.lo))
    step = max(window_s / _STEPS_PER_WINDOW, (hi - lo) / _MAX_OFFSETS)
    offsets = np.arange(lo, hi + step, step)
    low, high = np.percentile(data.watts, (2, 98))
    swing_w = max(float(high - low), 1e-9)
    floor_w = max(_MIN_SIGMA_SWING * swing_w, data.quantum / 12**0.5)
    above = data.watts - float(low)
    # The noise is learned where a rough fit is best, and all offsets are judged by it.
    rough = max(swing_w / 4, floor_w)
    first, residuals = _costs(above, data, shares, offsets[:: max(1, len(offsets) // 300)], rough)
    best = residuals[int(np.argmin(first))]
    sigma = max(_MEDIAN_TO_SIGMA * float(np.median(np.abs(best))), floor_w)
    cost, residuals = _costs(above, data, shares, offsets, sigma)
    ordinary = residuals[int(np.argmin(cost))]
    is_pair = (np.abs(ordinary[1:]) < _ORDINARY * sigma) & (
        np.abs(ordinary[:-1]) < _ORDINARY * sigma
    )
    after, before = ordinary[1:][is_pair], ordinary[:-1][is_pair]
    lag = float((after * before).sum() / max(float((before**2).sum()), 1e-12))
    lag = min(max(lag, 0.0), _MAX_LAG)
    return LevelCosts(offsets, cost * (1 - lag) / (1 + lag))


def _costs(
    above: Floats, data: Samples, shares: WindowShares, offsets: Floats, sigma: float
) -> tuple[Floats, Floats]:
    """The cost of each offset, and what its fit leaves of each reading."""
    total = np.empty(len(offsets))
    left = np.empty((len(offsets), len(data)))
    chunk = max(1, _CHUNK_CELLS // len(data))
    for start in range(0, len(offsets), chunk):
        offset = offsets[start : start + chunk, None]
        columns = shares.work(data.lo + offset, data.hi + offset, data.forget_s)
        weight = np.ones(columns.shape[:2])
        residual = np.broadcast_to(above, weight.shape)
        for turn in range(_FIT_ITERATIONS):
            weighted = (columns * weight[..., None]).transpose(0, 2, 1)
            ridge = 1e-6 * len(data) * np.eye(columns.shape[2])
            fitted = nnls.many(weighted @ columns + ridge, weighted @ above, exact=False)
            residual = above - (columns @ fitted[..., None])[..., 0]
            if turn < _FIT_ITERATIONS - 1:
                weight = 1 / (1 + (residual / sigma) ** 2 / _FREEDOM)
        price = (_FREEDOM + 1) / 2 * np.log1p((residual / sigma) ** 2 / _FREEDOM)
        total[start : start + chunk] = np.minimum(price, _MAX_COST).sum(axis=1)
        left[start : start + chunk] = residual
    return total, left
