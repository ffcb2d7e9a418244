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
