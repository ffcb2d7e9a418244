"""Two stretches of one run: what a machine does by itself is no difference."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from powertui.data.compare import drift
from powertui.data.compare.figure import Basis, FigureSamples, FigureVerdict
from powertui.data.compare.judging import WithinRun, judge
from tests.synthetic.step_world import KINDS, step_series


def verdict_of(series: np.ndarray, first: int, second: int, length: int) -> FigureVerdict:
    """What is said of two windows of one run."""
    a, b = series[first : first + length], series[second : second + length]
    share = drift.share_as_far_apart(series, length, float(np.log(b.mean() / a.mean())))
    within_run = WithinRun((second - first - length) / length, share)
    return judge(samples(a), samples(b), within_run).verdict


def samples(values: np.ndarray) -> FigureSamples:
    return FigureSamples((float(values.mean()),), tuple(drift.block_means(values).tolist()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [20, 50, 100])
def test_windows_of_one_run_differ_in_at_most_five_percent(kind: str, length: int) -> None:
    rng = np.random.default_rng([KINDS.index(kind), length])
    wrong = pairs = 0
    for _ in range(8 if length == 20 else 20):  # make bench takes 20 each: 200 runs of ten kinds
        series = step_series(kind, int(rng.choice([220, 500])), rng)
        windows = range(0, len(series) - length + 1, length)
        for first, second in combinations(windows, 2):
            pairs += 1
            wrong += verdict_of(series, first, second, length) is FigureVerdict.DIFFERS
    assert wrong <= 0.05 * pairs


def test_the_reach_is_that_of_a_random_walk() -> None:
    rng = np.random.default_rng(33)
    beyond = 0
    for _ in range(2000):
        walk = np.cumsum(rng.standard_normal(160))
        a, b = walk[:80], walk[80:]
        half = drift.reach(drift.block_means(a).tolist(), drift.block_means(b).tolist())
        beyond += abs(b.mean() - a.mean()) > half
    assert beyond <= 30  # of 2,000: 1 %, and two standard deviations


def test_windows_far_apart_may_have_walked_further() -> None:
    blocks = [1.0, 2.0, 3.0, 2.0, 1.0]
    assert drift.reach(blocks, blocks, 3.0) == pytest.approx(
        3.04 * drift.reach(blocks, blocks), 0.01
    )


def test_a_step_that_really_takes_longer_is_seen_in_one_run() -> None:
    rng = np.random.default_rng(33)
    series = np.concatenate([rng.normal(1, 0.01, 200), rng.normal(1.1, 0.01, 200)])
    assert verdict_of(series, 0, 200, 200) is FigureVerdict.DIFFERS


def test_too_few_steps_say_nothing() -> None:
    assert not len(drift.block_means(np.ones(drift.MIN_STEPS - 1)))
    few = FigureSamples((1.0,))
    judgement = judge(few, FigureSamples((2.0,)), WithinRun())
    assert (judgement.verdict, judgement.basis) == (FigureVerdict.CANNOT_TELL, Basis.NONE)
    assert judgement.needs == "at least 5 steps in each stretch, or 3 runs a side"


@pytest.mark.parametrize("factor", [1.1, 2.0, 90.0])
def test_two_recordings_never_differ_however_far_they_are_apart(factor: float) -> None:
    rng = np.random.default_rng(33)
    a = rng.normal(1, 0.01, 400)
    judgement = judge(samples(a), samples(a * factor))
    assert (judgement.verdict, judgement.basis) == (FigureVerdict.CANNOT_TELL, Basis.WITHIN_RUN)
    assert judgement.needs == "3 runs a side"
    assert judge(samples(a), samples(rng.permutation(a))).verdict is FigureVerdict.WITHIN_NOISE


def test_two_runs_a_side_are_not_called_different() -> None:
    judgement = judge(FigureSamples((1.0, 1.01)), FigureSamples((2.0, 2.01)))
    assert judgement.verdict is FigureVerdict.CANNOT_TELL
    assert judgement.needs == "3 runs a side"
