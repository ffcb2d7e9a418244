"""Other splits of runs whose scatter nobody tuned for: counted, and drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.bench_compare_held_out import (
    ORDERS,
    TIMES,
    family_differs,
    share_differing,
    sides_in_order,
)
from powertui.data.compare.figure import Family
from tests.synthetic.held_out_runs import HELD_OUT_KINDS, held_out_values


@pytest.mark.parametrize("kind", HELD_OUT_KINDS)
def test_of_all_splits_of_ten_runs_at_most_five_percent_differ(kind: str) -> None:
    """Whatever the runs are, and in whatever order: counted, not drawn."""
    rng = np.random.default_rng([33, HELD_OUT_KINDS.index(kind)])
    of_b = sides_in_order("A before B", 5, 5, rng)
    values = 100 + held_out_values(kind, of_b, len(TIMES), rng)
    wrong = splits = 0
    for chosen in itertools.combinations(range(1, 10), 4):
        split = np.ones(10)
        split[[0, *chosen]] = 0
        splits += 1
        wrong += family_differs(values, split, np.arange(10.0), Family.TIME, TIMES)
    assert wrong <= 0.05 * splits


@pytest.mark.parametrize("kind", HELD_OUT_KINDS)
@pytest.mark.parametrize("order", ORDERS)
def test_scatter_that_nobody_tuned_for_hardly_ever_differs(kind: str, order: str) -> None:
    for sides in ((3, 3), (5, 5)):
        assert share_differing(kind, order, sides, TIMES, 60) <= 0.1  # 3 of 60, and two deviations


def test_five_runs_a_side_in_turns_show_three_times_their_scatter() -> None:
    """84 splits in turns are few: the clearest of them alone found 80 of 100."""
    rng = np.random.default_rng(33)
    found = 0
    for _ in range(200):
        of_b = sides_in_order("in turns", 5, 5, rng)
        values = 100 + held_out_values("plain", of_b, len(TIMES), rng) + 3 * of_b[:, np.newaxis]
        found += family_differs(values, of_b, np.arange(10.0), Family.TIME, TIMES)
    assert found >= 172  # 92 of 100


@pytest.mark.parametrize(("a", "b"), [(5, 5), (3, 6)])
def test_one_of_thirty_ops_hardly_ever_differs_where_one_side_varies_more(a: int, b: int) -> None:
    """By Welch's p alone 6.8 % of 600 such pairs of five runs a side had an op that differed."""
    ops = tuple(f"op {number}" for number in range(30))
    rng = np.random.default_rng([33, a, b])
    wrong = 0
    for _ in range(200):
        of_b = np.asarray(rng.permutation(np.repeat([0.0, 1.0], [a, b])))
        values = 100 + held_out_values("A varies five times as much", of_b, len(ops), rng)
        wrong += family_differs(values, of_b, None, Family.OP, ops)
    assert wrong <= 10  # of 200: 5 %
