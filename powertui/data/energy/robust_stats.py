"""Statistics that all energy answers share: robust deviations, rounding, weights of far values,
sums over stretches.

A value is named here once, where several places need the same one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column, median_of_sorted, quantile_of_column

if TYPE_CHECKING:

    def _normal_quantile(share: float, mean: float, deviation: float, /) -> float: ...

else:
    try:
        # What `statistics` has it from, which imports four packages more: fractions of 4 ms.
        from _statistics import _normal_dist_inv_cdf as _normal_quantile
    except ImportError:  # a Python without this module in C
        from statistics import _normal_dist_inv_cdf as _normal_quantile

# ── of a normal distribution: mathematics, nothing to choose ──
# Its standard deviation over its median absolute deviation.
MEDIAN_TO_SIGMA = 1.4826
# Its standard deviation over the root mean square of its inner nine tenths.
_INNER_TO_SIGMA = 1.26
# The standard error of a median over that of a mean.
MEDIAN_ERROR = 1.25
# Its area over its height, of one with a standard deviation of 1.
ROOT_2PI = math.sqrt(2 * math.pi)
# The points of the 95 % interval.
TAILS = (0.025, 0.975)
# Tukey's constant: at this cut the fit of normal values is 95 % as good as that of least squares.
TUKEY_CUT = 4.685

# ── of power ──
# No reading is known better than to this share of the usual power. Chosen, not measured.
_MIN_NOISE_OF_POWER = 1e-3
# Percentiles of the readings from which on a robust fit of levels begins, each in turn. Chosen: a
# level that a load hides for most of the time is among them.
START_PERCENTILES = (10, 25, 40, 50, 60, 75)
# So many rounds a robust fit takes at most; most end by themselves after a third of them.
MAX_FIT_ROUNDS = 30


def median_deviation(residual: Floats) -> float:
    """The deviation of residuals around zero, as that of a normal distribution."""
    return MEDIAN_TO_SIGMA * median_of_column(np.abs(residual))


def spread(values: Floats) -> float:
    """The deviation of values around their median, likewise."""
    if not len(values):
        return 0.0
    return median_deviation(values - median_of_column(values))


def scatter(values: Floats) -> float:
    """A robust deviation: the larger of the median one and that of the inner nine tenths.

    Of few values the median one often comes out too small.
    """
    if not len(values):
        return 0.0
    off = np.sort(np.abs(values - median_of_column(values)))
    inner = off[: max(1, len(values) * 9 // 10)]
    mean_square = np.add.reduce(inner * inner) / len(inner)
    return max(
        MEDIAN_TO_SIGMA * median_of_sorted(off),
        _INNER_TO_SIGMA * math.sqrt(mean_square),
    )


def normal_scale(residual: Floats, share: float) -> float:
    """The deviation of normal residuals of which this share is as small as of these."""
    smallest = quantile_of_column(np.abs(residual), share)
    return smallest / normal_quantile(0.5 + share / 2)


def normal_scales(residuals: Floats, share: float) -> Floats:
    """The same of each row; the residuals are without a sign."""
    place = (residuals.shape[-1] - 1) * share
    below = int(place)
    above = min(below + 1, residuals.shape[-1] - 1)
    ordered = np.partition(residuals, (below, above), axis=-1)
    low = ordered[..., below]
    smallest = low + (ordered[..., above] - low) * (place - below)
    return np.asarray(smallest / normal_quantile(0.5 + share / 2))


def normal_quantile(share: float) -> float:
    """The value below which this share of a standard normal distribution is; 0 < share < 1."""
    return _normal_quantile(share, 0.0, 1.0)


def rounding_sigma(quantum: float) -> float:
    """The error of what is anywhere within a step of rounding."""
    return float(quantum / 12**0.5)


def noise_floor(quantum: float, usual_w: float) -> float:
    """The noise (W) that any reading has at least: its rounding, and a share of the usual power."""
    return max(rounding_sigma(quantum), _MIN_NOISE_OF_POWER * abs(usual_w), 1e-9)


def tukey_weights(errors: Floats) -> Floats:
    """Tukey's weights of residuals in deviations: those beyond the cut count nothing."""
    squares = (errors / TUKEY_CUT) ** 2
    nearness = np.clip(1 - squares, 0, None)
    weights: Floats = nearness**2
    return weights


def running_sums(values: Floats | Bools) -> Floats:
    """Sums along the last axis, up to each place: 0 first, and all in the end."""
    before_first = np.zeros((*values.shape[:-1], 1))
    sums = np.cumsum(values, axis=-1)
    return np.concatenate([before_first, sums], axis=-1)


def sums_over(running: Floats, length: int) -> Floats:
    """The sums over all stretches of so many values, by running sums."""
    return running[..., length:] - running[..., :-length]
