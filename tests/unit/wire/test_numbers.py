"""What stands in for numpy's own where numpy's imports much and looks twice."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from powertui.data import wire
from powertui.data.quantiles import median_of_column, percentile_of_column

numbers = st.lists(st.integers(-(1 << 62), 1 << 62), max_size=9) | st.lists(
    st.floats(-1e300, 1e300), max_size=9
)


@given(numbers)
def test_the_middle_and_the_different_ones_are_numpys(values: list[float]) -> None:
    column = np.array(
        values, np.int64 if all(isinstance(one, int) for one in values) else np.float64
    )
    assert wire.distinct(column).tolist() == np.unique(column).tolist()
    if len(column):
        assert median_of_column(column) == float(np.median(column))
    else:
        assert math.isnan(median_of_column(column))


@given(st.lists(st.floats(allow_infinity=False), max_size=9))
def test_what_is_no_number_counts_once(values: list[float]) -> None:
    column = np.array(values)
    assert np.array_equal(wire.distinct(column), np.unique(column), equal_nan=True)
    assert np.array_equal(wire.distinct(column[None]), np.unique(column), equal_nan=True)


@given(numbers.filter(len), st.integers(0, 100))
def test_percentiles_are_numpys(values: list[float], percent: int) -> None:
    column = np.array(values, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        assert percentile_of_column(column, percent) == float(np.percentile(column, percent))
