"""Runs of two sides whose order is known: what a machine does over an hour is no difference.

Where A and B alternate, a drift from run to run is nearly the same on both sides. Welch's interval
counts it as scatter; here it is a straight line in the order of recording, and what the runs differ
by beside it is the scatter. As in Welch's, either side has its own.

Of 1,000 simulated pairs of each of ten kinds without any difference it said "differs" in 0 to 6 %
(three to eight runs a side; the line, a random walk and no drift were looked at when it was chosen,
the others not). A difference of twice the scatter was found in 94 to 100 of 100 pairs of five runs
with a drift, by Welch's in 3 to 96; without one in 75 instead of 79.

Where one side was recorded before the other, nobody can tell a drift from a change by the means
alone, and Welch's interval called 30 to 84 % of such pairs different under a drift. How much the
runs drift within either side shows what it may have done in between: both intervals together, with
and without the line, called 0 to 4 % different (a jump of the machine just in between: 14 %).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from powertui.data.compare import student
from powertui.data.compare.figure import FigureSamples
from powertui.data.compare.run_scatter import ERROR_SHARE, MIN_RUNS, Scatter, p_at_level, welch
from powertui.data.model import Bools, Floats

# More runs of one side after each other may look like the drift, or hide it.
_MAX_IN_A_ROW = 2
_EQUAL_SHARE = 1e-9  # differences of so many digits are rounding
# More runs tell a difference of the means better, and what a machine did between them no better: a
# wave of a day looks like a change ever more often. Of runs of one side before the other, eight and
# more on one of them, 7 to 10 % of pairs without a change differed at a level of 5 % (a restless
# day, 10 and 10), at 2 % up to 5.2 %. The price with ten a side: 3 % more was found in 90 % before.
_MANY_RUNS = 8
_ERROR_SHARE_OF_MANY = 0.015
_LINE_PARAMETERS = 3  # a mean, the difference and a slope


def scatter_as_recorded(a: FigureSamples, b: FigureSamples) -> Scatter:
    """B less A by what the order of the runs allows to say; Welch's where nobody knows it."""
    if not a.places or not b.places:
        return welch(a.runs, b.runs)
    if are_in_turns(a.places, b.places):
        return welch_in_turns(a, b)
    return _welch_and_drift(a, b)


def places_by_start(
    a: Sequence[int | None], b: Sequence[int | None]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The places of the runs of either side among all of them; empty where a start is unknown."""
    starts = [start for start in (*a, *b) if start is not None]
    if len(set(starts)) < len(a) + len(b):
        return (), ()
    places = np.argsort(np.argsort(starts)).tolist()
    return tuple(places[: len(a)]), tuple(places[len(a) :])


def are_in_turns(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether runs at these places were recorded in turns. False where that is not known."""
    if min(len(a), len(b)) < MIN_RUNS:
        return False
    return are_alternating(_sides_in_order(a, b)[1])


def are_alternating(of_b: Bools) -> bool:
    """Whether no three runs of one side follow each other."""
    longest = max(len(list(runs)) for _, runs in itertools.groupby(of_b.tolist()))
    return longest <= _MAX_IN_A_ROW


def _sides_in_order(a: Sequence[int], b: Sequence[int]) -> tuple[Floats, Bools]:
    """The order of all runs, and which of them are of B."""
    order = np.argsort([*a, *b], kind="stable")
    return np.asarray(order), np.asarray(order >= len(a))


def _welch_and_drift(a: FigureSamples, b: FigureSamples) -> Scatter:
    """B less A of runs not in turns: what the scatter allows, and what a drift allows, together."""
    is_many = max(len(a.runs), len(b.runs)) >= _MANY_RUNS
    level = _ERROR_SHARE_OF_MANY if is_many else ERROR_SHARE
    plain = welch(a.runs, b.runs, level)
    if plain.half == 0:
        return plain
    return _together(plain, welch_in_turns(a, b, level))


def few_beside_several(several: FigureSamples, few: FigureSamples) -> Scatter:
    """Few less several, where the few are taken to vary as the several do, and to drift as they do.

    The line through the several is drawn on to where the few were recorded.
    """
    values = np.array(several.runs)
    plain = _distance(values, np.ones((len(values), 1)), np.ones(1), few)
    if plain.half == 0 or not several.places or not few.places:
        return plain
    places = np.array(several.places, dtype=float)
    line = np.column_stack([np.ones(len(values)), places])
    beside = _distance(values, line, np.array([1.0, float(np.mean(few.places))]), few)
    return _together(plain, beside)


def _distance(values: Floats, model: Floats, where: Floats, few: FigureSamples) -> Scatter:
    """How far the few lie from what a model of the several says of their place."""
    solve = np.linalg.pinv(model)
    fit = solve @ values
    residuals = values - model @ fit
    df = len(values) - model.shape[1]
    variance = float(residuals @ residuals) / df
    weights = where @ solve
    error = math.sqrt(variance * (float(weights @ weights) + 1 / len(few.runs)))
    difference = few.mean - float(where @ fit)
    # Values that are equal to nine digits are counts, which do not vary.
    rounding = _EQUAL_SHARE * max(map(abs, (*values.tolist(), *few.runs)))
    if error <= rounding:
        return Scatter(difference, half=0.0, p=1.0 if abs(difference) <= rounding else 0.0)
    return Scatter(
        difference,
        half=student.quantile_95(df) * error,
        p=student.two_sided_p(difference / error, df),
        run_sigma=math.sqrt(variance),
    )


def _together(plain: Scatter, beside: Scatter) -> Scatter:
    """What the scatter alone allows, and what it allows beside a drift: both."""
    lo = min(plain.difference - plain.half, beside.difference - beside.half)
    hi = max(plain.difference + plain.half, beside.difference + beside.half)
    # A side that is higher beside the drift, and lower without it, is neither.
    is_opposite = plain.difference * beside.difference < 0
    return Scatter(
        difference=(lo + hi) / 2,
        half=(hi - lo) / 2,
        p=1.0 if is_opposite else max(plain.p, beside.p),
        run_sigma=plain.run_sigma,
        drift=beside.drift,
    )


def welch_in_turns(a: FigureSamples, b: FigureSamples, level: float = ERROR_SHARE) -> Scatter:
    """B less A beside a straight line in the order of the runs, with an interval of this level."""
    order, is_of_b = _sides_in_order(a.places, b.places)
    values = np.array([*a.runs, *b.runs])[order]
    line = np.linspace(-0.5, 0.5, len(values))
    model = np.column_stack([np.ones(len(values)), is_of_b, line])
    solve = np.linalg.pinv(model)
    fit = solve @ values
    _, difference, slope = fit.tolist()
    residuals = values - model @ fit
    free = 1 - np.einsum("ij,ji->i", model, solve)  # degrees of freedom that each run has left
    errors: list[float] = []
    degrees: list[float] = []
    for side in (~is_of_b, is_of_b):
        degrees_left = float(free[side].sum())
        variance = float(residuals[side] @ residuals[side]) / degrees_left
        weights = solve[1, side]
        errors.append(variance * float(weights @ weights))
        degrees.append(degrees_left)
    error = sum(errors)
    plain = welch(a.runs, b.runs, level)
    if plain.half == 0 or error <= 0:  # counts that never vary
        return plain
    # Welch–Satterthwaite, as without the line.
    terms = (part**2 / left for part, left in zip(errors, degrees, strict=True))
    df = error**2 / sum(terms)
    sigma = math.sqrt(error)
    residual = float(residuals @ residuals) / (len(values) - _LINE_PARAMETERS)
    return Scatter(
        difference,
        half=student.quantile(df, level) * sigma,
        p=p_at_level(student.two_sided_p(difference / sigma, df), level),
        run_sigma=math.sqrt(residual),
        drift=slope,
    )
