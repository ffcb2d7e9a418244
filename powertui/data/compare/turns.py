"""Runs of two sides whose order is known: what a machine does over an hour is no difference.

Where A and B alternate, a drift from run to run is nearly the same on both sides. Welch's interval
counts it as scatter; here it is a straight line in the order of recording, and what the runs differ
by beside it is the scatter. As in Welch's, either side has its own.

Of 1,000 simulated pairs of each of ten kinds without any difference it said "differs" in 0 to 6 %
(three to eight runs a side; the line, a random walk and no drift were looked at when it was chosen,
the others not). A difference of twice the scatter was found in 94 to 100 of 100 pairs of five runs
with a drift, by Welch's in 3 to 96; without one in 75 instead of 79.

In any other order nobody can tell a drift from a change by the means alone, and Welch's interval
called 30 to 84 % of such pairs different under a drift. `run_drift.py` says what a drift may have
done in between; both intervals together are the answer (a jump of the machine just in between is
called different: 12 % of pairs of five runs, where it lies anywhere).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from powertui.data import student
from powertui.data.compare import run_drift
from powertui.data.compare.figure import FigureSamples
from powertui.data.compare.run_scatter import (
    ERROR_SHARE,
    MIN_RUNS,
    Scatter,
    p_beside_unequal_scatter,
    quantile_beside_unequal_scatter,
    welch,
)
from powertui.data.model import Bools, Floats

# More runs of one side after each other may look like the drift, or hide it.
_MAX_IN_A_ROW = 2
_EQUAL_SHARE = 1e-9  # differences of so many digits are rounding
_LINE_PARAMETERS = 3  # a mean, the difference and a slope


def scatter_as_recorded(a: FigureSamples, b: FigureSamples) -> Scatter:
    """B less A by what the order of the runs allows to say; Welch's where nobody knows it."""
    if not a.places or not b.places:
        return welch(a.runs, b.runs)
    if are_in_turns(a.places, b.places):
        return welch_in_turns(a, b)
    return _welch_and_drift(a, b)


def places_by_start(
    a: Sequence[int | None],
    b: Sequence[int | None],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """When the runs of either side began, after the first of all; empty where that is unknown."""
    starts = [start for start in (*a, *b) if start is not None]
    runs = len(a) + len(b)
    if len(set(starts)) < runs:
        return (), ()
    first = min(starts)
    places = tuple(float(start - first) for start in starts)
    places_a = places[: len(a)]
    places_b = places[len(a) :]
    return places_a, places_b


def are_in_turns(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether runs at these places were recorded in turns. False where that is not known."""
    fewer = min(len(a), len(b))
    if fewer < MIN_RUNS:
        return False
    _, is_of_b = _sides_in_order(a, b)
    return are_alternating(is_of_b)


def are_alternating(of_b: Bools) -> bool:
    """Whether no three runs of one side follow each other."""
    for _, runs_in_a_row in itertools.groupby(of_b.tolist()):
        if len(list(runs_in_a_row)) > _MAX_IN_A_ROW:
            return False
    return True


def long_pause_ns(a: Sequence[float], b: Sequence[float]) -> float:
    """The pause between all runs of one side and all of the other; 0 where one side took as long.

    What a machine did in such a pause the runs hardly show.
    """
    if not a or not b:
        return 0.0
    first_a = min(a)
    first_b = min(b)
    last_a = max(a)
    last_b = max(b)
    pause = max(first_b - last_a, first_a - last_b)
    longer_side = max(last_a - first_a, last_b - first_b)
    if pause > longer_side:
        return pause
    return 0.0


def _sides_in_order(a: Sequence[float], b: Sequence[float]) -> tuple[Floats, Bools]:
    """The order of all runs, and which of them are of B."""
    places = [*a, *b]
    order = np.argsort(places, kind="stable")
    is_of_b = order >= len(a)
    return np.asarray(order), np.asarray(is_of_b)


def _welch_and_drift(a: FigureSamples, b: FigureSamples) -> Scatter:
    """B less A of runs not in turns: what the scatter allows, and what a drift allows, together."""
    plain = welch(a.runs, b.runs)
    if plain.half == 0:
        return plain
    beside = _beside_drift(a, b)
    return _together(plain, beside)


def few_beside_several(several: FigureSamples, few: FigureSamples) -> Scatter:
    """Few less several, where the few are taken to vary and to drift as the several do."""
    plain = _distance(several.runs, few)
    are_placed = several.places and few.places
    if plain.half == 0 or not are_placed:
        return plain
    beside = _beside_drift(several, few)
    return _together(plain, beside)


def _beside_drift(a: FigureSamples, b: FigureSamples) -> Scatter:
    return run_drift.difference_beside_drift(
        a=a.runs,
        b=b.runs,
        places_a=a.places,
        places_b=b.places,
    )


def _distance(several: Sequence[float], few: FigureSamples) -> Scatter:
    """How far the few lie from the mean of the several, by the scatter of the several."""
    df = len(several) - 1
    variance = float(np.var(several, ddof=1))
    inverse_several = 1 / len(several)
    inverse_few = 1 / len(few.runs)
    inverse_runs = inverse_several + inverse_few
    error = math.sqrt(variance * inverse_runs)
    mean = float(np.mean(several))
    difference = few.mean - mean
    # Values that are equal to nine digits are counts, which do not vary.
    values = (*several, *few.runs)
    rounding = _EQUAL_SHARE * max(map(abs, values))
    if error <= rounding:
        is_same = abs(difference) <= rounding
        return Scatter(
            difference=difference,
            half=0.0,
            p=1.0 if is_same else 0.0,
        )
    return Scatter(
        difference=difference,
        half=student.quantile_95(df) * error,
        p=student.two_sided_p(difference / error, df),
        run_sigma=math.sqrt(variance),
    )


def _together(plain: Scatter, beside: Scatter) -> Scatter:
    """What the scatter alone allows, and what it allows beside a drift: both."""
    plain_lo = plain.difference - plain.half
    plain_hi = plain.difference + plain.half
    beside_lo = beside.difference - beside.half
    beside_hi = beside.difference + beside.half
    lo = min(plain_lo, beside_lo)
    hi = max(plain_hi, beside_hi)
    # A side that is higher beside the drift, and lower without it, is neither.
    is_opposite = plain.difference * beside.difference < 0
    return Scatter(
        difference=(lo + hi) / 2,
        half=(hi - lo) / 2,
        p=1.0 if is_opposite else max(plain.p, beside.p),
        # Recorded in turns the runs differ by what is left beside the drift.
        run_sigma=beside.run_sigma,
        drift=beside.drift,
        is_drift_decisive=plain.p <= ERROR_SHARE < beside.p,
    )


def welch_in_turns(a: FigureSamples, b: FigureSamples) -> Scatter:
    """B less A beside a straight line in the order of the runs, with its interval."""
    order, is_of_b = _sides_in_order(a.places, b.places)
    unordered = np.array([*a.runs, *b.runs])
    values = unordered[order]
    runs = len(values)
    mean = np.ones(runs)
    line = np.linspace(-0.5, 0.5, runs)
    model = np.column_stack([mean, is_of_b, line])
    solve = np.linalg.pinv(model)
    fit = solve @ values
    _, difference, slope = fit.tolist()
    residuals = values - model @ fit
    free = 1 - np.einsum("ij,ji->i", model, solve)  # degrees of freedom that each run has left
    errors: list[float] = []
    degrees: list[float] = []
    for side in (~is_of_b, is_of_b):
        degrees_left = float(free[side].sum())
        of_side = residuals[side]
        variance = float(of_side @ of_side) / degrees_left
        weights = solve[1, side]
        squared_weights = float(weights @ weights)
        errors.append(variance * squared_weights)
        degrees.append(degrees_left)
    error = sum(errors)
    plain = welch(a.runs, b.runs)
    if plain.half == 0 or error <= 0:  # counts that never vary
        return plain
    # Welch–Satterthwaite, as without the line.
    spread = 0.0
    for error_of_side, degrees_left in zip(errors, degrees, strict=True):
        spread += error_of_side**2 / degrees_left
    df = error**2 / spread
    sigma = math.sqrt(error)
    fewer = min(len(a.runs), len(b.runs))
    square_sum = float(residuals @ residuals)
    residual_variance = square_sum / (runs - _LINE_PARAMETERS)
    return Scatter(
        difference=difference,
        half=quantile_beside_unequal_scatter(df, fewer) * sigma,
        p=p_beside_unequal_scatter(difference / sigma, df, fewer),
        run_sigma=math.sqrt(residual_variance),
        drift=slope,
    )
