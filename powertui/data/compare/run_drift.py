"""The difference of runs that were not recorded in turns, beside a drift of which nobody knows the
form.

Where A was recorded before B a drift looks like a change, and how the runs of either side drift is
all that shows what the machine may have done in between. Nobody knows whether that is nothing, a
straight line, a random walk or a wave. So the difference is estimated under each of these, for
several sizes, and every form counts by how well it explains the runs (its restricted likelihood).
The error of the mean holds the error within each form and how far the forms disagree.

The further apart two runs were recorded, the more a drift may lie between them, and a pause counts
by its length. What a machine did while nothing was recorded no rule can see: where A and B are two
short stretches with a long pause between, every form leaves their difference open, unless it is
larger than any drift of `_DRIFT_SIZES`. By the logarithm of the pause, as a drift grows that is as
large in every octave of time, up to 66 % of pairs under other drifts were called different after a
pause of 144 runs, and up to 20 % after one of ten. Runs of A on several days show what days do.

Chosen by simulated runs: `tests/synthetic/run_world.py` and the kinds of `held_out_runs.py`. Held
out were eight further kinds (`drifting_runs.py`), looked at after the forms and the level stood; by
them only one of two weights of "no drift" was chosen, and what few runs beside many know.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data import student
from powertui.data.compare.run_scatter import MIN_RUNS, Scatter, p_at_level
from powertui.data.model import Floats
from powertui.value_types import dataclass

# Of the scatter of one run, a drift may have so many times as much from the first run to the last.
# Where runs scatter little beside their drift, 16 is reached with 20 runs of a random walk.
_DRIFT_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0)
# A wave may be so long, as a part of the whole recording.
_WAVE_LENGTHS = (0.15, 0.4)
# No drift at all has less of a say than each of the three forms. With as much a day that slows a
# machine was called a change in 6.8 % of pairs of fifteen runs a side, with this in 4.0 %; the
# price is 3 % more found in 56 instead of 63 of 100 pairs of five runs.
_NO_DRIFT_WEIGHT = 0.3
# At which the interval stands. A mean of forms knows less than its standard error says: at 5 % 6 to
# 9 % of pairs under a drift differed, at this 1 to 4 %.
_ERROR_SHARE_OF_FORMS = 0.03
_PARAMETERS = 3  # a mean, the difference, and one for the drift
_MIN_DEGREES = 1
# What many runs of one side show of the scatter says little about the hours in which the few of
# the other were recorded. With the degrees of freedom of all runs 4 beside 10 differed in up to
# 6.7 % of pairs, 3 beside 10 in 7.5 % (the few recorded while the machine warmed up); with two for
# each of the few, less the mean and the difference, in 4.2 %. The price: 3 % more is found in 66
# instead of 74 of 100 pairs. Sides of as many runs stay as they are.
_DEGREES_PER_FEW_RUN = 2
_SIDE_PARAMETERS = 2


@dataclass(frozen=True)
class _DriftForm:
    """What one form of drift makes of runs at given places."""

    log_weight: float  # beside its residuals: its prior, and how many runs it could explain
    weights: Floats  # of the runs, in the difference
    residuals: Floats  # [runs × runs] takes what the form explains out of them
    error_factor: float  # of the scatter of a run, squared, in the difference


def difference_beside_drift(
    a: Sequence[float],
    b: Sequence[float],
    places_a: Sequence[float],
    places_b: Sequence[float],
) -> Scatter:
    """B less A with its interval; p is given as at 5 %. Not all runs are equal."""
    values = np.array([*a, *b])
    is_of_b = (False,) * len(a) + (True,) * len(b)
    places = (*places_a, *places_b)
    forms = _drift_forms(is_of_b, places)
    fitted_df = len(values) - 2
    differences_of_forms = []
    squares_of_forms = []
    for form in forms:
        residuals = form.residuals @ values
        squared_residuals = residuals**2
        differences_of_forms.append(float(form.weights @ values))
        squares_of_forms.append(float(np.sum(squared_residuals)))
    differences = np.array(differences_of_forms)
    squares = np.array(squares_of_forms)
    log_weights = np.array([form.log_weight for form in forms])
    log_weights = log_weights - fitted_df / 2 * np.log(squares)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    variances = squares / fitted_df
    difference = float(weights @ differences)
    error_factors = np.array([form.error_factor for form in forms])
    errors = variances * error_factors
    between_forms = (differences - difference) ** 2
    squared_error = float(weights @ (errors + between_forms))
    error = math.sqrt(squared_error)
    df = _degrees_of_freedom(len(a), len(b))
    p_of_form = student.two_sided_p(difference / error, df)
    mean_a = np.mean(a)
    mean_b = np.mean(b)
    difference_of_means = float(mean_b - mean_a)
    return Scatter(
        difference=difference,
        half=student.quantile(df, _ERROR_SHARE_OF_FORMS) * error,
        p=p_at_level(p_of_form, _ERROR_SHARE_OF_FORMS),
        run_sigma=math.sqrt(float(weights @ variances)),
        drift=difference_of_means - difference,
    )


def _degrees_of_freedom(a: int, b: int) -> int:
    """How well so many runs a side know their scatter beside a drift."""
    df = a + b - _PARAMETERS
    few = min(a, b)
    # One or two runs show no scatter of their own: they are taken to vary as the others do.
    if few >= MIN_RUNS:
        df = min(df, _DEGREES_PER_FEW_RUN * few - _SIDE_PARAMETERS)
    return max(_MIN_DEGREES, df)


@functools.lru_cache(maxsize=16)  # one comparison has many figures of the same runs
def _drift_forms(is_of_b: tuple[bool, ...], places: tuple[float, ...]) -> list[_DriftForm]:
    at = np.array(places)
    first = at.min()
    span = at.max() - first
    share = (at - first) / span
    runs = len(share)
    mean = np.ones(runs)
    difference = np.array(is_of_b, dtype=float)
    model = np.column_stack([mean, difference])
    forms = []
    for prior, drift in _covariances(share):
        # Each run scatters by 1 beside the drift.
        covariance = np.eye(runs) + drift
        factor = np.linalg.cholesky(covariance)
        whiten = np.linalg.inv(factor)
        whitened = whiten @ model
        factors = np.linalg.inv(whitened.T @ whitened)
        solve = factors @ whitened.T @ whiten
        _, log_determinant = np.linalg.slogdet(factors)
        log_diagonal = np.log(np.diag(whiten))
        log_likelihood = float(log_diagonal.sum())
        log_likelihood += float(log_determinant) / 2
        form = _DriftForm(
            log_weight=math.log(prior) + log_likelihood,
            weights=solve[1],
            residuals=whiten - whitened @ solve,
            error_factor=float(factors[1, 1]),
        )
        forms.append(form)
    return forms


def _covariances(share: Floats) -> Iterator[tuple[float, Floats]]:
    """Each form of drift with its weight: how runs at these shares of the recording go together."""
    runs = len(share)
    yield _NO_DRIFT_WEIGHT, np.zeros((runs, runs))
    middle = share - 0.5
    line = 12 * np.outer(middle, middle)  # 12: the variance of a whole line is 1
    walk = np.minimum.outer(share, share)
    distance = share[:, np.newaxis] - share
    waves = []
    for length in _WAVE_LENGTHS:
        lengths_apart = distance / length
        exponent = -(lengths_apart**2) / 2
        waves.append(np.exp(exponent))
    weight = 1 / len(_DRIFT_SIZES)
    weight_of_wave = weight / len(waves)
    for size in _DRIFT_SIZES:
        variance = size**2
        yield weight, variance * line
        yield weight, variance * walk
        for wave in waves:
            yield weight_of_wave, variance * wave
