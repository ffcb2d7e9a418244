"""Runs of one side against runs of the other: Welch's interval on one value for each run.

A run drifts as a whole, so its steps are no independent samples, but its runs are. Welch's interval
asks neither side to vary as much as the other. But where one side does vary more, small p-values
are too small: of five runs a side, one varying five times as much, 1.06 times as many as promised
are below 0.05, 1.8 times as many below 0.0017 (what one of 30 ops needs), and of three runs beside
ten up to 25 times as many below 0.0003. `p_beside_unequal_scatter` makes up for that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui.data import student
from powertui.value_types import dataclass

MIN_RUNS = 3  # a side: two runs give intervals of ± 13 standard errors
_MAX_RUNS_NAMED = 100  # more than nobody records
# Standard errors on top, so that so many runs find the difference in 79 and more of 100 cases. With
# a known scatter 0.84 would do; with that of three to eight runs it found it in 71 to 99, because
# runs that happen to be alike ask for too few (1,500 simulated pairs for each of twelve cases).
_FINDING_SIGMA = 1.28
# Values of several runs that are equal to so many digits are counts, not measurements.
_EQUAL_SHARE = 1e-9

ERROR_SHARE = 0.05  # of pairs without a difference that Welch's interval calls different
# The most that p may be of two runs beside several, whose own scatter nobody knows. Where runs vary
# more and more, up to four times as much, two beside ten were called different in 5.7 % at 5 %, in
# 4.7 % at 3 % and in 3.0 % at this (600 simulated jobs each).
_ERROR_SHARE_OF_ONE_SIDE = 0.015


@dataclass(frozen=True)
class Scatter:
    """The difference of two groups of runs."""

    difference: float  # B less A
    half: float  # of the 95 % interval
    p: float
    run_sigma: float = 0.0  # by which one run differs from another without any change
    drift: float = 0.0  # what was taken out; in turns, from the first run to the last
    is_drift_decisive: bool = False  # whether the runs differ by more than they scatter alone


def welch(a: Sequence[float], b: Sequence[float]) -> Scatter:
    """B less A by the scatter of the runs of each side."""
    mean_a = np.mean(a)
    mean_b = np.mean(b)
    difference = float(mean_b - mean_a)
    error_a = _squared_error(a)
    error_b = _squared_error(b)
    error = error_a + error_b
    largest = max(map(abs, (*a, *b)))
    rounding = _EQUAL_SHARE * largest
    if error <= rounding**2:
        is_same = abs(difference) <= rounding
        return Scatter(difference, half=0.0, p=1.0 if is_same else 0.0)
    # Welch–Satterthwaite: the side that varies more has more of a say.
    df_a = len(a) - 1
    df_b = len(b) - 1
    spread = error_a**2 / df_a + error_b**2 / df_b
    df = error**2 / spread
    sigma = math.sqrt(error)
    fewer = min(len(a), len(b))
    inverse_runs = 1 / len(a) + 1 / len(b)
    return Scatter(
        difference=difference,
        half=quantile_beside_unequal_scatter(df, fewer) * sigma,
        p=p_beside_unequal_scatter(difference / sigma, df, fewer),
        run_sigma=sigma / math.sqrt(inverse_runs),
    )


def p_beside_unequal_scatter(t: float, df: float, fewer_runs: int) -> float:
    """How often chance gives such a t at most, whichever side varies more.

    Of normal runs, one side varying 1 to 20 times as much, three to sixteen a side, in turns and
    not, the share of pairs below p was at most (1 + 1 / n) · 0.05 · (p / 0.05) ** (1 - 1 / n), n
    being the runs of the smaller side (200,000 pairs a cell; 3 beside 10 just reach it at 0.05,
    equal sides reach 0.9 of it, and some cells 1.5 times as much below 0.002).
    """
    least_df = _at_most_of_equal_sides(df, fewer_runs)
    p = student.two_sided_p(t, least_df)
    share_of_level = p / ERROR_SHARE
    exponent = 1 - 1 / fewer_runs
    at_most = ERROR_SHARE * math.pow(share_of_level, exponent)
    at_most *= _excess(fewer_runs)
    return min(1.0, max(p, at_most))


def quantile_beside_unequal_scatter(df: float, fewer_runs: int) -> float:
    """The t whose p is 5 % by that rule."""
    exponent = -fewer_runs / (fewer_runs - 1)
    level = ERROR_SHARE * math.pow(_excess(fewer_runs), exponent)
    least_df = _at_most_of_equal_sides(df, fewer_runs)
    return student.quantile(least_df, level)


def _excess(fewer_runs: int) -> float:
    return 1 + 1 / fewer_runs


def _at_most_of_equal_sides(df: float, fewer_runs: int) -> float:
    """Many runs of one side say nothing about how the few of the other vary."""
    return min(df, 2 * (fewer_runs - 1))


def p_at_level(p: float, level: float) -> float:
    """A p that is to be held against 5 %, of one that has to be below another level."""
    return min(1.0, p * ERROR_SHARE / level)


def p_to_believe(p: float, a_runs: int, b_runs: int) -> float:
    """The p of the interval; of a side with too few runs to show how they vary, larger."""
    if min(a_runs, b_runs) < MIN_RUNS:
        return p_at_level(p, _ERROR_SHARE_OF_ONE_SIDE)
    return p


def _squared_error(values: Sequence[float]) -> float:
    """Of the mean."""
    return float(np.var(values, ddof=1)) / len(values)


def runs_to_find(
    difference: float,
    run_sigma: float,
    *,
    more_than: int = 0,
    level: float = 0.05,
) -> int | None:
    """How many runs a side find a difference, when so many did not; None for too many to record."""
    for count in range(max(MIN_RUNS, more_than + 1), _MAX_RUNS_NAMED + 1):
        if difference_found(run_sigma, count, level) <= abs(difference):
            return count
    return None


def difference_found(run_sigma: float, runs: int, level: float = ERROR_SHARE) -> float:
    """Which difference so many runs a side find, in 79 and more of 100 cases."""
    df = 2 * runs - 2
    reach = student.quantile(df, level) + _FINDING_SIGMA
    mean_sigma = math.sqrt(2 / runs)
    return reach * run_sigma * mean_sigma


def differing_in_order(p_values: Sequence[float], levels: Sequence[float]) -> list[bool]:
    """Which of a few figures differ, where those that show most come first.

    Each figure has a level of its own, and what the figure before it needed when that differs.
    In at most as many of 100 lists as the levels add up to is one named by chance (Wiens 2003).
    """
    differs = []
    passed_on = 0.0
    for p, level in zip(p_values, levels, strict=True):
        available = level + passed_on
        is_different = p <= available
        differs.append(is_different)
        passed_on = available if is_different else 0.0
    return differs


def differing(p_values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Which of several figures differ, so that at most 5 of 100 such lists name one by chance.

    Hochberg's rule: the k-th largest p must be at most level / k.
    """
    rows = range(len(p_values))
    descending = sorted(rows, key=lambda row: -p_values[row])
    differs = [False] * len(p_values)
    for place, row in enumerate(descending):
        rank = place + 1
        if p_values[row] <= level / rank:
            for smaller in descending[place:]:
                differs[smaller] = True
            break
    return differs
