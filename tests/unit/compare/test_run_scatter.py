"""Runs against runs: as often wrong as promised, and not blind."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data import student
from powertui.data.compare.run_scatter import differing, differing_in_order, runs_to_find, welch


@pytest.mark.parametrize(
    ("df", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (8, 2.306), (30, 2.042), (900, 1.963)]
)
def test_quantiles_are_those_of_the_tables(df: float, quantile: float) -> None:
    assert student.quantile_95(df) == pytest.approx(quantile, abs=0.001)
    assert student.two_sided_p(quantile, df) == pytest.approx(0.05, abs=0.0001)


def test_small_p_values_are_right_too() -> None:
    assert student.two_sided_p(5.041, 8) == pytest.approx(0.001, rel=0.002)


@pytest.mark.parametrize("runs", [3, 5, 10])
@pytest.mark.parametrize("kind", ["normal", "skewed", "one varies more"])
def test_groups_alike_differ_in_at_most_five_percent(runs: int, kind: str) -> None:
    rng = np.random.default_rng(33)
    wrong = 0
    for _ in range(1000):
        a, b = rng.normal(1, 0.05, (2, runs))
        if kind == "skewed":
            a, b = np.exp(6 * (a - 1)), np.exp(6 * (b - 1))
        if kind == "one varies more":
            b = 1 + 3 * (b - 1)
        wrong += welch(a.tolist(), b.tolist()).p <= 0.05
    assert wrong <= 65  # of 1,000: 50, and two standard deviations


@pytest.mark.parametrize(("a_runs", "b_runs", "restless"), [(3, 10, 2), (4, 10, 3), (5, 5, 5)])
def test_small_p_values_hold_where_one_side_varies_more(
    a_runs: int, b_runs: int, restless: int
) -> None:
    """Of many figures each has to be surer: there Welch's p was too small, three times with 3 and 10."""
    rng = np.random.default_rng(33)
    wrong = 0
    for _ in range(5000):
        a, b = 100 + restless * rng.standard_normal(a_runs), 100 + rng.standard_normal(b_runs)
        wrong += welch(a.tolist(), b.tolist()).p <= 0.01
    assert wrong <= 58  # of 5,000: 50, and more than one standard deviation


@pytest.mark.parametrize(("a_runs", "b_runs"), [(3, 3), (5, 5), (4, 10)])
def test_the_interval_and_its_p_say_the_same(a_runs: int, b_runs: int) -> None:
    rng = np.random.default_rng(33)
    for change in np.linspace(0, 4, 60):
        a, b = rng.standard_normal(a_runs), change + rng.standard_normal(b_runs)
        scatter = welch(a.tolist(), b.tolist())
        assert (scatter.p <= 0.05) == (abs(scatter.difference) >= scatter.half)


def test_three_percent_more_is_found_with_five_runs_a_side() -> None:
    rng = np.random.default_rng(33)
    found = 0
    for _ in range(100):
        a, b = rng.normal(1, 0.01, 5), rng.normal(1.03, 0.01, 5)
        found += welch(a.tolist(), b.tolist()).p <= 0.05
    assert found >= 90


def test_so_many_runs_as_are_named_find_it() -> None:
    count = runs_to_find(0.05, run_sigma=0.03)
    assert count is not None
    rng = np.random.default_rng(33)
    pairs = [(rng.normal(1, 0.03, count), rng.normal(1.05, 0.03, count)) for _ in range(400)]
    found = sum(welch(a.tolist(), b.tolist()).p <= 0.05 for a, b in pairs)
    assert 0.74 <= found / len(pairs) <= 0.95
    assert runs_to_find(1e-6, run_sigma=0.03) is None


def test_of_many_figures_without_a_difference_hardly_ever_one_differs() -> None:
    rng = np.random.default_rng(33)
    lists = sum(any(differing(rng.random(80).tolist())) for _ in range(1000))
    assert lists <= 65
    assert differing([0.001, 0.9, 0.03]) == [True, False, False]
    assert differing([0.04, 0.05]) == [True, True]
    assert differing([]) == []


def test_in_order_each_figure_may_use_what_the_one_before_needed() -> None:
    levels = (0.04, 0.0, 0.01)
    assert differing_in_order((0.03, 0.03, 0.045), levels) == [True, True, True]
    assert differing_in_order((0.2, 0.001, 0.02), levels) == [False, False, False]
    assert differing_in_order((0.2, 0.001, 0.01), levels) == [False, False, True]
    rng = np.random.default_rng(33)
    lists = sum(any(differing_in_order(rng.random(3).tolist(), levels)) for _ in range(4000))
    assert lists <= 228  # of 4,000: 200, and two standard deviations


def test_counts_that_never_vary_are_no_chance() -> None:
    assert welch([5.0, 5.0, 5.0], [5.0, 5.0, 5.0]).p == 1.0
    assert welch([5.0, 5.0, 5.0], [6.0, 6.0, 6.0]).p == 0.0
