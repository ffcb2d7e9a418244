"""Runs recorded in turns: a drift from run to run is neither a difference nor noise."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.compare.figure import FigureSamples, FigureVerdict
from powertui.data.compare.judging import judge
from powertui.data.compare.run_scatter import runs_to_find, welch
from powertui.data.compare.turns import are_in_turns, scatter_as_recorded, welch_in_turns
from tests.synthetic.run_world import RUN_KINDS, run_values, turns_of


def sides(values: np.ndarray, of_b: np.ndarray) -> tuple[FigureSamples, FigureSamples]:
    """The runs of A and of B, each with its place."""
    a, b = np.flatnonzero(of_b == 0), np.flatnonzero(of_b)
    return (
        FigureSamples(tuple(values[a]), places=tuple(a.tolist())),
        FigureSamples(tuple(values[b]), places=tuple(b.tolist())),
    )


@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize("kind", RUN_KINDS)
def test_groups_alike_differ_in_at_most_five_percent(kind: str, runs: int) -> None:
    rng = np.random.default_rng([33, RUN_KINDS.index(kind), runs])
    wrong = 0
    for _ in range(100):  # make bench takes 1,000
        of_b = turns_of(runs, runs, rng)
        wrong += welch_in_turns(*sides(run_values(kind, of_b, rng), of_b)).p <= 0.05
    assert wrong <= 9  # of 100: 5, and two standard deviations


@pytest.mark.parametrize("kind", ["trend", "warming up", "random walk"])
def test_a_drift_hides_less_where_runs_are_in_turns(kind: str) -> None:
    rng = np.random.default_rng(33)
    found = {"welch": 0, "in turns": 0}
    of_b = np.tile([0.0, 1.0], 5)
    for _ in range(50):
        a, b = sides(run_values(kind, of_b, rng) + 2 * of_b, of_b)
        found["welch"] += welch(a.runs, b.runs).p <= 0.05
        found["in turns"] += welch_in_turns(a, b).p <= 0.05
    assert found["in turns"] >= 42
    assert found["welch"] < found["in turns"]


def test_the_drift_that_was_taken_out_is_said() -> None:
    of_b = np.tile([0.0, 1.0], 4)
    rng = np.random.default_rng(33)
    values = 100 + np.linspace(0, 20, 8) + rng.normal(0, 0.1, 8) + 2 * of_b
    a, b = sides(values, of_b)
    judgement = judge(a, b)
    assert judgement.verdict is FigureVerdict.DIFFERS
    assert judgement.why == (
        "the scatter of 4 and 4 runs beside a drift of 18.4% from the first to the last"
    )
    without_order = judge(FigureSamples(a.runs), FigureSamples(b.runs))
    assert without_order.verdict is FigureVerdict.CANNOT_TELL
    assert without_order.why == "the scatter of 4 and 4 runs"


@pytest.mark.parametrize(
    ("a", "b", "is_meant"),
    [
        ((0, 2, 4), (1, 3, 5), True),
        ((0, 3, 4), (1, 2, 5), True),
        ((0, 1, 2), (3, 4, 5), False),  # one side after the other
        ((0, 2), (1, 3), False),  # too few
        ((), (), False),  # not known
        ((0, 1, 3, 4, 6, 7), (2, 5, 8), True),
    ],
)
def test_in_turns_means_no_three_of_one_side(
    a: tuple[int, ...], b: tuple[int, ...], is_meant: bool
) -> None:
    assert are_in_turns(a, b) == is_meant


def test_counts_that_never_vary_are_no_chance() -> None:
    of_b = np.tile([0.0, 1.0], 3)
    assert welch_in_turns(*sides(np.full(6, 7.0), of_b)).p == 1.0
    assert welch_in_turns(*sides(7.0 + of_b, of_b)).p == 0.0


@pytest.mark.parametrize("sigma", [0.03, 0.05, 0.08])
def test_so_many_runs_as_are_named_find_five_percent(sigma: float) -> None:
    rng = np.random.default_rng(33)
    found = asked = 0
    while asked < 100:
        first, second = rng.normal(1, sigma, (2, 5))
        judgement = judge(FigureSamples(tuple(first)), FigureSamples(tuple(second)))
        if judgement.runs_needed is None:
            continue
        assert judgement.needs == f"about {judgement.runs_needed} runs a side, to see 5%"
        assert judgement.runs_needed > 5
        asked += 1
        a, b = rng.normal(1, sigma, (2, judgement.runs_needed))
        found += welch(a.tolist(), (b + 0.05).tolist()).p <= 0.05
    assert found >= 74  # of 100: 80, and one and a half standard deviations


def test_a_machine_that_varies_too_much_needs_no_number() -> None:
    assert runs_to_find(0.01, 1.0) is None
    assert runs_to_find(1.0, 0.01, more_than=7) == 8


def test_a_drift_between_two_blocks_of_runs_is_no_difference() -> None:
    """All of A before B: Welch's interval alone calls a slow day a difference."""
    rng = np.random.default_rng(33)
    of_b = np.repeat([0.0, 1.0], 5)
    wrong = {"welch": 0, "both": 0}
    for _ in range(100):
        a, b = sides(100 + run_values("trend", of_b, rng), of_b)
        wrong["welch"] += welch(a.runs, b.runs).p <= 0.05
        judgement = judge(a, b)
        is_called = judgement.verdict is FigureVerdict.DIFFERS
        wrong["both"] += is_called
        assert judgement.lo is not None
        assert judgement.hi is not None
        assert is_called == (judgement.lo > 0 or judgement.hi < 0)
    assert wrong["welch"] >= 60
    assert wrong["both"] <= 9


def test_what_was_not_recorded_in_turns_needs_turns() -> None:
    a = FigureSamples((100.0, 101.0, 102.0, 103.0), places=(0, 1, 2, 3))
    b = FigureSamples((104.0, 105.0, 106.0, 107.0), places=(4, 5, 6, 7))
    judgement = judge(a, b)
    assert judgement.verdict is FigureVerdict.CANNOT_TELL
    assert judgement.why.endswith("and their drift, as A and B were not recorded in turns")
    assert " runs a side in turns, to see 5%" in judgement.needs


def test_a_wave_of_a_day_between_many_runs_of_either_side_is_no_difference() -> None:
    rng = np.random.default_rng(7302)
    of_b = np.repeat([0.0, 1.0], 10)
    hours = np.linspace(0, 1, 20)
    wrong = 0
    for _ in range(400):
        wave = 1.5 * np.sin(rng.uniform(1, 9) * hours + rng.uniform(0, 6)) + 2 * hours
        values = 100 + wave + rng.standard_normal(20)
        wrong += scatter_as_recorded(*sides(values, of_b)).p <= 0.05
    assert wrong / 400 <= 0.06
