"""Medians and quantiles of one column, or of each row of a table: those of NumPy to the last bit.

NumPy's functions take arrays of any shape, axis and method, and need 30 to 60 µs to find that out;
those of a column need 4, and fits ask tens of thousands of times, of some fifty values each. The
first of NumPy's also imports numpy.ma, which nothing here uses: 12 ms of a small report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_Column: TypeAlias = npt.NDArray[Any] | Sequence[float]
_FLOATS32 = np.dtype(np.float32)
# Values of a few columns that stay in the cache: with fewer, numpy's calls cost more than its work.
CACHED_VALUES = 1 << 15


def median_of_column(values: _Column) -> float:
    """What `numpy.median(values)` gives: NaN of none, and if any is."""
    count = len(values)
    if not count:
        return math.nan
    middle = count // 2
    return _middle(np.partition(values, (middle - 1 + count % 2, middle, -1)))


def median_of_sorted(values: npt.NDArray[Any]) -> float:
    """The same of ascending values, those that are not a number last."""
    return _middle(values) if len(values) else math.nan


def _middle(ordered: npt.NDArray[Any]) -> float:
    """The median of values whose middle ones and the last one are where sorting puts them."""
    count = len(ordered)
    middle = count // 2
    if math.isnan(ordered[-1]):
        return math.nan
    if count % 2:
        return float(ordered[middle])
    if ordered.dtype == _FLOATS32:  # their mean is rounded to what they are
        return float(ordered[middle - 1 : middle + 1].mean())
    return (float(ordered[middle - 1]) + float(ordered[middle])) / 2


def median_of_rows(table: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """What `numpy.median(table, axis=1)` gives; no row is empty."""
    columns = table.shape[1]
    middle = columns // 2
    lower = middle - 1 + columns % 2
    ordered = np.partition(table, (lower, middle, -1), axis=1)
    medians = np.asarray(ordered[:, lower : middle + 1].mean(axis=1))
    unknown = np.isnan(ordered[:, -1])
    if unknown.any():
        medians[unknown] = math.nan
    return medians


def known_medians(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """What `numpy.nanmedian(table, axis=0)` gives; in each column something is known."""
    ordered = np.sort(table, axis=0)  # what is not known comes last
    count = (~np.isnan(table)).sum(axis=0)
    column = np.arange(table.shape[1])
    return np.asarray((ordered[(count - 1) // 2, column] + ordered[count // 2, column]) / 2)


def quantile_of_column(values: _Column, share: float) -> float:
    """What `numpy.quantile(values, share)` gives: linear between neighbors, NaN if any is."""
    (quantile,) = quantiles_of_column(values, (share,))
    return quantile


def percentile_of_column(values: _Column, percent: float) -> float:
    """What `numpy.percentile(values, percent)` gives."""
    return quantile_of_column(values, percent / 100)


def percentiles_of_column(values: _Column, percents: Sequence[float]) -> list[float]:
    """What `numpy.percentile(values, percents)` gives; NaN of none."""
    return quantiles_of_column(values, [percent / 100 for percent in percents])


def quantiles_of_column(values: _Column, shares: Sequence[float]) -> list[float]:
    """What `numpy.quantile(values, shares)` gives; NaN of none."""
    if not len(values):
        return [math.nan] * len(shares)
    last = len(values) - 1
    places = [last * share for share in shares]
    below = [min(math.floor(place), last) for place in places]
    above = [min(row + 1, last) for row in below]
    ordered = np.partition(values, (*below, *above, -1))
    if math.isnan(ordered[-1]):
        return [math.nan] * len(places)
    quantiles = []
    for place, low_row, high_row in zip(places, below, above, strict=True):
        low = float(ordered[low_row])
        high = float(ordered[high_row])
        quantiles.append(_between(low, high, place - low_row))
    return quantiles


def _between(low: float, high: float, part: float) -> float:
    """The value so far from one neighbor to the next."""
    # As NumPy does it: from the nearer neighbor.
    if part >= 0.5:
        return high - (high - low) * (1 - part)
    return low + (high - low) * part
