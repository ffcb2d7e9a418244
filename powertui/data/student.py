"""Student's t distribution, which the standard library and numpy do not have."""

from __future__ import annotations

import functools
import math

import numpy as np

from powertui.data.model import Floats

_GRID_POINTS = 2001  # of the integral; the tail is then right to six digits
_MAX_DF = 1000.0  # above it t is the normal distribution to three digits
_MIN_VARIANCE_DF = 3.0  # of two and fewer t has none
_BISECTIONS = 32  # of a range of 1,000: to six digits


def _upper_tail(t: float, df: float) -> float:
    """How often t is larger than this by chance."""
    if t < 0:
        return 1 - _upper_tail(-t, df)
    df = min(df, _MAX_DF)
    # With t = √df · tan(angle) the density is a power of the cosine, and the range is finite.
    first = math.atan(t / math.sqrt(df))
    last = math.pi / 2
    angles = np.linspace(first, last, _GRID_POINTS)
    density = np.cos(angles) ** (df - 1)
    half_of_ends = (density[0] + density[-1]) / 2
    spacing = float(angles[1] - angles[0])
    tail = float(density.sum() - half_of_ends) * spacing
    log_numerator = math.lgamma(df / 2)
    log_denominator = math.lgamma((df + 1) / 2)
    log_whole = log_numerator - log_denominator + math.log(math.pi) / 2
    return min(0.5, tail / math.exp(log_whole))


def variance(df: Floats) -> Floats:
    """Of a t: more than the 1 of what is known. Below three degrees of freedom it is that of
    three.
    """
    at_least = np.maximum(df, _MIN_VARIANCE_DF)
    return np.asarray(at_least / (at_least - 2))


def two_sided_p(t: float, df: float) -> float:
    """How often chance alone gives a t at least as far from 0."""
    return 2 * _upper_tail(abs(t), df)


def quantile_95(df: float) -> float:
    """95 % of all t are no further from 0 than this."""
    return quantile(df, 0.05)


def quantile(df: float, level: float) -> float:
    """Of all t only this share is further from 0."""
    return _quantile(round(min(df, _MAX_DF), 2), level)


def upper_quantile(df: float, tail: float) -> float:
    """Of all t only this share is above it."""
    return quantile(df, 2 * tail)


@functools.lru_cache(maxsize=1024)
def _quantile(df: float, level: float) -> float:
    low, high = 0.0, 1000.0
    while two_sided_p(high, df) > level:  # hardly any degrees of freedom, and a small level
        high *= 10
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if two_sided_p(middle, df) > level:
            low = middle
        else:
            high = middle
    return high
