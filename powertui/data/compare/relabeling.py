"""How often the same runs, split into two groups in other ways, differ as much.

Without a change every split of the runs is as likely as the one into A and B. So the share of the
splits in which some figure of a family differs at least as much is a p-value that holds for any
scatter: heavy tails, two speeds of a machine, one outlier, figures that depend on each other. A
family is judged by the largest difference among its figures (Westfall and Young's rule), which
costs nothing where figures move together. Welch's and Hochberg's rules assume more, and have to
agree.

Three and three runs have 20 splits, so not even the clearest difference has less than 2 in 20
against it. `least_p` says so, and the caller asks more of Welch's interval there. One run or two
have no scatter of their own that a bad run among them would widen, so nothing makes up for that:
`can_show` says which numbers of runs can be told apart at all. One run is never enough: beside
twenty whose scatter grew to four times as much it was called different in 9.5 % of 200 jobs.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from powertui.data.compare.figure import FigureSamples
from powertui.data.compare.run_scatter import MIN_RUNS
from powertui.data.compare.turns import are_alternating, are_in_turns
from powertui.data.model import Floats

_ERROR_SHARE = 0.05
_MAX_SPLITS = 1000  # more are drawn: 999 and the actual one give a p of 0.05 to ± 0.007
# Fewer splits in turns than this cannot show 5 %; then all splits are taken.
_LEAST_SPLITS_IN_TURNS = 40
_EQUAL_SHARE = 1e-9  # differences that are equal to so many digits are ties


def least_p(a_runs: int, b_runs: int) -> float:
    """The smallest p-value that splits of so many runs can have."""
    splits = math.comb(a_runs + b_runs, a_runs)
    if a_runs == b_runs:
        # A and B changed round differ as much.
        return 2 / splits
    return 1 / splits


def is_rare(a: FigureSamples, b: FigureSamples) -> bool:
    """Whether at most 5 % of the splits differ as much, or as few as there can be."""
    (p,) = family_p_values([(a, b)])
    a_runs = len(a.runs)
    b_runs = len(b.runs)
    return is_low(p, a_runs, b_runs)


def is_low(p: float, a_runs: int, b_runs: int) -> bool:
    """Whether a p-value is at most 5 %, or the least that splits of so many runs can have."""
    if not can_show(a_runs, b_runs):
        return False
    least = least_p(a_runs, b_runs) * (1 + _EQUAL_SHARE)
    highest = max(_ERROR_SHARE, least)
    return p <= highest


def can_show(a_runs: int, b_runs: int) -> bool:
    """Whether so many runs can show a difference: three a side, or two beside five."""
    fewer = min(a_runs, b_runs)
    if fewer >= MIN_RUNS:
        return True
    if fewer <= 1:
        return False
    return least_p(a_runs, b_runs) <= _ERROR_SHARE


def family_p_values(family: Sequence[tuple[FigureSamples, FigureSamples]]) -> list[float]:
    """For each figure, the share of splits in which any of those below it differs as much.

    All figures have the same runs. The largest is held against all, the second against all but
    the first, and so on.
    """
    a, b = family[0]
    a_runs = len(a.runs)
    b_runs = len(b.runs)
    values, is_of_b = _runs_in_order(family)
    is_in_turns = are_in_turns(a.places, b.places)
    beside = _beside(len(is_of_b), is_in_turns)
    figures = beside @ values
    squares = (figures**2).sum(axis=0)
    scale = np.sqrt(squares)
    # Counts that never vary differ in no split.
    largest_values = np.abs(values).max(axis=0)
    is_constant = scale <= _EQUAL_SHARE * largest_values
    figures /= np.where(is_constant, np.inf, scale)
    actual_split = is_of_b[np.newaxis]
    actual = _sizes(actual_split, beside, figures)[0]
    splits = _splits(a_runs, b_runs, is_in_turns)
    others = _sizes(splits, beside, figures)
    is_drawn = _is_drawn(a_runs, b_runs)
    return _stepped_down(actual, others, is_drawn)


def _runs_in_order(
    family: Sequence[tuple[FigureSamples, FigureSamples]],
) -> tuple[Floats, Floats]:
    """[runs × figures] the values, and 1 for the runs of B: as recorded, where that is known."""
    a, b = family[0]
    runs_of_figures = []
    for of_a, of_b in family:
        runs_of_figures.append([*of_a.runs, *of_b.runs])
    values = np.array(runs_of_figures).T
    run_counts = [len(a.runs), len(b.runs)]
    is_of_b = np.repeat([0.0, 1.0], run_counts)
    if not a.places or not b.places:
        return values, is_of_b
    places = [*a.places, *b.places]
    order = np.argsort(places, kind="stable")
    return values[order], is_of_b[order]


def _sizes(splits: Floats, beside: Floats, figures: Floats) -> Floats:
    """[splits × figures] how far the two groups are apart: the correlation with belonging to B."""
    belonging = splits @ beside
    squares = (belonging**2).sum(axis=1, keepdims=True)
    length = np.sqrt(squares)
    distance = np.abs(belonging @ figures)
    return np.asarray(distance / length)


def _stepped_down(actual: Floats, others: Floats, is_drawn: bool) -> list[float]:
    p_values = np.ones(len(actual))
    largest = np.zeros(len(others))
    extra = int(is_drawn)  # the actual split is not among those that are drawn
    splits = len(others) + extra
    ascending = np.argsort(actual, kind="stable").tolist()
    for figure in ascending:
        of_figure = others[:, figure]
        largest = np.maximum(largest, of_figure)
        least = actual[figure] * (1 - _EQUAL_SHARE)
        is_as_far = largest >= least
        as_far = int(is_as_far.sum()) + extra
        p_values[figure] = as_far / splits
    # A figure is no clearer than one that differs more.
    highest = 0.0
    descending = np.argsort(-actual, kind="stable").tolist()
    for figure in descending:
        highest = max(highest, float(p_values[figure]))
        p_values[figure] = highest
    return [float(p) for p in p_values]


def _beside(runs: int, is_in_turns: bool) -> Floats:
    """Takes the mean out of the runs, and a straight line where they were recorded in turns."""
    columns = [np.ones(runs)]
    if is_in_turns:
        line = np.linspace(-0.5, 0.5, runs)
        columns.append(line)
    model = np.column_stack(columns)
    fitted = model @ np.linalg.pinv(model)
    return np.asarray(np.eye(runs) - fitted)


def _is_drawn(a_runs: int, b_runs: int) -> bool:
    """Whether there are more splits than are looked at."""
    splits = math.comb(a_runs + b_runs, b_runs)
    return splits > _MAX_SPLITS


@functools.lru_cache(maxsize=16)
def _splits(a_runs: int, b_runs: int, is_in_turns: bool) -> Floats:
    """[splits × runs] 1 for B: all of them, or as many as are enough.

    Where the runs were recorded in turns only splits in turns are as likely: others hold a drift.
    """
    every = _all_splits(a_runs, b_runs)
    if not is_in_turns:
        return every
    alternating = []
    for number, split in enumerate(every):
        is_of_b = split > 0
        if are_alternating(is_of_b):
            alternating.append(number)
    if len(alternating) < _LEAST_SPLITS_IN_TURNS:
        return every
    return np.asarray(every[alternating])


def _all_splits(a_runs: int, b_runs: int) -> Floats:
    runs = a_runs + b_runs
    if _is_drawn(a_runs, b_runs):
        rng = np.random.default_rng(runs)  # the same answer each time
        is_of_b = np.repeat([0.0, 1.0], [a_runs, b_runs])
        drawn = [rng.permutation(is_of_b) for _ in range(_MAX_SPLITS - 1)]
        return np.array(drawn)
    places_of_b = list(itertools.combinations(range(runs), b_runs))
    splits = np.zeros((len(places_of_b), runs))
    for row, places in enumerate(places_of_b):
        splits[row, places] = 1.0
    return splits
