"""Other splits of the same runs: what may be said whatever the scatter is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from powertui.data.compare import relabeling
from powertui.data.compare.figure import (
    ComparedFigure,
    Family,
    FigureSamples,
    FigureVerdict,
)
from powertui.data.compare.judging import judge, judge_family


def p_by_counting(a: list[float], b: list[float]) -> float:
    """The share of splits whose means are at least as far apart, one by one."""
    runs = [*a, *b]
    least = abs(np.mean(b) - np.mean(a)) * (1 - 1e-9)
    distances = []
    for chosen in itertools.combinations(range(len(runs)), len(b)):
        of_b = [runs[at] for at in chosen]
        of_a = [runs[at] for at in range(len(runs)) if at not in chosen]
        distances.append(abs(np.mean(of_b) - np.mean(of_a)))
    return float(np.mean(np.array(distances) >= least))


@pytest.mark.parametrize(("a_runs", "b_runs"), [(3, 3), (5, 5), (3, 6), (6, 4)])
def test_the_p_value_is_the_share_of_splits_that_differ_as_much(a_runs: int, b_runs: int) -> None:
    rng = np.random.default_rng(33)
    for _ in range(5):
        a, b = rng.normal(1, 1, a_runs).tolist(), rng.normal(2, 1, b_runs).tolist()
        (p,) = relabeling.family_p_values([(FigureSamples(tuple(a)), FigureSamples(tuple(b)))])
        assert p == pytest.approx(p_by_counting(a, b))


def test_three_and_three_runs_cannot_be_rarer_than_two_of_twenty_splits() -> None:
    assert relabeling.least_p(3, 3) == pytest.approx(0.1)
    assert relabeling.least_p(3, 4) == pytest.approx(1 / 35)
    assert relabeling.least_p(5, 5) == pytest.approx(2 / 252)
    apart = FigureSamples((1.0, 1.1, 1.2)), FigureSamples((2.0, 2.1, 2.2))
    overlapping = FigureSamples((1.0, 1.1, 2.1)), FigureSamples((2.0, 2.2, 2.3))
    assert relabeling.is_rare(*apart)
    assert not relabeling.is_rare(*overlapping)


def test_a_family_whose_figures_move_together_is_one_question() -> None:
    a, b = (10.0, 10.1, 10.2, 10.1, 10.0), (10.3, 10.4, 10.2, 10.3, 10.5)
    copies = [(FigureSamples(a), FigureSamples(b))] * 40
    alone = relabeling.family_p_values(copies[:1])[0]
    assert relabeling.family_p_values(copies) == pytest.approx([alone] * 40)


def test_the_clear_figure_of_many_is_the_one_that_differs() -> None:
    rng = np.random.default_rng(33)
    figures = []
    for number in range(30):
        a, b = rng.normal(100, 1, (2, 5))
        b = b + (20 if number == 7 else 0)
        sides = FigureSamples(tuple(a)), FigureSamples(tuple(b))
        judgement = judge(*sides)
        row = ComparedFigure(Family.OP, f"op {number}", "s", a.mean(), b.mean(), judgement)
        figures.append(row)
    verdicts = [row.verdict for row in judge_family(figures)]
    assert [at for at, verdict in enumerate(verdicts) if verdict is FigureVerdict.DIFFERS] == [7]


def test_counts_that_never_vary_have_no_split_that_differs() -> None:
    same = FigureSamples((4.0,) * 5)
    assert relabeling.family_p_values([(same, same)]) == [1.0]
