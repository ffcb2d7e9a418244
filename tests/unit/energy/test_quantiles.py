"""Quantiles of a column are those of NumPy, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from powertui.data.model import Floats
from powertui.data.quantiles import (
    known_medians,
    median_of_column,
    median_of_rows,
    percentiles_of_column,
    quantile_of_column,
    quantiles_of_column,
)

TABLES = arrays(
    np.float64,
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)),
)
COLUMNS = arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6))


@given(COLUMNS, st.floats(0, 1))
def test_a_quantile_is_that_of_numpy(values: Floats, share: float) -> None:
    assert quantile_of_column(values, share) == np.quantile(values, share)


@given(COLUMNS, st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_several_quantiles_are_those_of_numpy(values: Floats, shares: list[float]) -> None:
    assert quantiles_of_column(values, shares) == np.quantile(values, shares).tolist()


@given(COLUMNS)
def test_a_median_is_that_of_numpy(values: Floats) -> None:
    assert median_of_column(values) == np.median(values)


@pytest.mark.parametrize("place", [0, 3, 6])
def test_what_is_not_known_makes_the_answer_unknown(place: int) -> None:
    values = np.arange(7.0)
    values[place] = np.nan
    assert np.isnan(quantile_of_column(values, 0.35))
    assert np.isnan(median_of_column(values))


def test_nothing_has_no_median() -> None:
    assert np.isnan(median_of_column(np.empty(0)))
    assert np.isnan(quantile_of_column(np.empty(0), 0.5))


def test_an_infinite_value_is_one_of_them() -> None:
    values = np.array([1.0, np.inf, 2.0, 3.0])
    assert quantile_of_column(values, 0.5) == np.quantile(values, 0.5)
    assert median_of_column(values) == 2.5


@given(COLUMNS, st.lists(st.integers(0, 100), min_size=1, max_size=5))
def test_percentiles_are_those_of_numpy(values: Floats, percents: list[int]) -> None:
    assert percentiles_of_column(values, percents) == np.percentile(values, percents).tolist()


@given(COLUMNS)
def test_a_median_of_short_floats_is_rounded_as_numpy_does(values: Floats) -> None:
    short = values.astype(np.float32)
    assert median_of_column(short) == float(np.median(short))


@given(TABLES)
def test_medians_of_rows_are_those_of_numpy(table: Floats) -> None:
    expected = np.median(table, axis=1)
    assert median_of_rows(table).tobytes() == expected.tobytes()


@given(TABLES)
def test_medians_of_what_is_known_are_those_of_numpy(table: Floats) -> None:
    table = table[:, ~np.isnan(table).all(axis=0)]
    expected = np.nanmedian(table, axis=0)
    assert known_medians(table).tolist() == expected.tolist()
