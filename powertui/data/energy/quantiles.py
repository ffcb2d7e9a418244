"""Quantiles of one column of floats.

Fits ask for them tens of thousands of times, of some fifty values each. NumPy's functions take
arrays of any shape, axis and method, and need 30 to 60 µs to find that out; these need 4, and give
the same floats to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from powertui.data.model import Floats


def quantile_of_column(values: Floats, share: float) -> float:
    """What `numpy.quantile(values, share)` gives: linear between neighbours, NaN if any is."""
    place = (len(values) - 1) * share
    below = min(math.floor(place), len(values) - 1)
    above = min(below + 1, len(values) - 1)
    ordered = np.partition(values, (below, above, -1))
    if math.isnan(ordered[-1]):
        return math.nan
    low, high = float(ordered[below]), float(ordered[above])
    part = place - below
    # As NumPy does it: from the nearer neighbour.
    if part >= 0.5:
        return high - (high - low) * (1 - part)
    return low + (high - low) * part


def median_of_column(values: Floats) -> float:
    """What `numpy.median(values)` gives: NaN of none, and if any is."""
    count = len(values)
    if not count:
        return math.nan
    middle = count // 2
    ordered = np.partition(values, (middle - 1 + count % 2, middle, -1))
    if math.isnan(ordered[-1]):
        return math.nan
    if count % 2:
        return float(ordered[middle])
    return (float(ordered[middle - 1]) + float(ordered[middle])) / 2
