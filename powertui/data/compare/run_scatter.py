"""Runs of one side against runs of the other: Welch's interval on one value for each run.

A run drifts as a whole, so its steps are no independent samples, but its runs are. Welch's interval
asks neither side to vary as much as the other. In 10,000 simulated pairs without any difference
(three to ten runs a side, normal, skewed and one side varying three times as much) it said
"differs" in 3.2 to 5.1 % with as many runs on either side, and in up to 6.8 % with 3 against 10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui.data.compare import student
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
# The same where a side has three or four runs. Of three and three, 2 of 20 splits differ as much
# as the clearest difference, so no split can show 5 %; both rules together called 1 to 4 % of pairs
# without a difference different, whatever the scatter (eight kinds, uniform to two speeds). Of few
# that vary five times as much as the more it was 7 to 8 % without.
_ERROR_SHARE_OF_FEW = 0.03
_FEW_RUNS = 4
# The same of two runs beside several, whose own scatter nobody knows. Where runs vary more and
# more, up to four times as much, two beside ten were called different in 5.7 % at 5 %, in 4.7 % at
# 3 % and in 3.0 % at this (600 simulated jobs each).
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
    difference = float(np.mean(b) - np.mean(a))
    error_a = _squared_error(a)
    error_b = _squared_error(b)
    error = error_a + error_b
    rounding = _EQUAL_SHARE * max(map(abs, (*a, *b)))
    if error <= rounding**2:
        is_same = abs(difference) <= rounding
        return Scatter(difference, half=0.0, p=1.0 if is_same else 0.0)
    # Welch–Satterthwaite: the side that varies more has more of a say.
    spread = error_a**2 / (len(a) - 1) + error_b**2 / (len(b) - 1)
    df = error**2 / spread
    sigma = math.sqrt(error)
    return Scatter(
        difference,
        half=student.quantile_95(df) * sigma,
        p=student.two_sided_p(difference / sigma, df),
        run_sigma=sigma / math.sqrt(1 / len(a) + 1 / len(b)),
    )


def p_at_level(p: float, level: float) -> float:
    """A p that is to be held against 5 %, of one that has to be below another level."""
    return min(1.0, p * ERROR_SHARE / level)


def p_to_believe(p: float, a_runs: int, b_runs: int) -> float:
    """The p of the interval; of a side with hardly more runs than can be judged, larger."""
    fewer = min(a_runs, b_runs)
    if fewer < MIN_RUNS:
        return p * ERROR_SHARE / _ERROR_SHARE_OF_ONE_SIDE
    return p * ERROR_SHARE / _ERROR_SHARE_OF_FEW if fewer <= _FEW_RUNS else p


def _squared_error(values: Sequence[float]) -> float:
    """Of the mean."""
    return float(np.var(values, ddof=1)) / len(values)


def runs_to_find(
    difference: float, run_sigma: float, *, more_than: int = 0, level: float = 0.05
) -> int | None:
    """How many runs a side find a difference, when so many did not; None for too many to record."""
    for count in range(max(MIN_RUNS, more_than + 1), _MAX_RUNS_NAMED + 1):
        reach = student.quantile(2 * count - 2, level) + _FINDING_SIGMA
        if reach * run_sigma * math.sqrt(2 / count) <= abs(difference):
            return count
    return None


def differing_in_order(p_values: Sequence[float], levels: Sequence[float]) -> list[bool]:
    """Which of a few figures differ, where those that show most come first.

    Each figure has a level of its own, and what the figure before it needed when that differs.
    In at most as many of 100 lists as the levels add up to is one named by chance (Wiens 2003).
    """
    differs = []
    passed_on = 0.0
    for p, level in zip(p_values, levels, strict=True):
        available = level + passed_on
        differs.append(p <= available)
        passed_on = available if differs[-1] else 0.0
    return differs


def differing(p_values: Sequence[float], level: float = 0.05) -> list[bool]:
    """Which of several figures differ, so that at most 5 of 100 such lists name one by chance.

    Hochberg's rule: the k-th largest p must be at most level / k.
    """
    order = sorted(range(len(p_values)), key=lambda row: -p_values[row])
    differs = [False] * len(p_values)
    for place, row in enumerate(order):
        if p_values[row] <= level / (place + 1):
            for smaller in order[place:]:
                differs[smaller] = True
            break
    return differs
