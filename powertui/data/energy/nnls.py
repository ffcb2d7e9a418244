"""Least squares with coefficients that cannot be negative: Lawson and Hanson's active set, on
normal equations.

A category cannot draw less than nothing. The systems here have fewer than twenty unknowns, so the
method costs microseconds, and no library beyond numpy is needed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from powertui.data.model import Bools, Floats

# ── what counts as nothing beside rounding of float64 (1e-16, times the condition of a system) ──
_ZERO_SHARE = 1e-9  # of the largest coefficient: a smaller one is zero
_ZERO_SLOPE_SHARE = 1e-7  # of the largest moment: a smaller slope is rounding
_RIDGE_SHARE = 1e-9  # of the largest diagonal element: settles a column that is empty
_HOLD_SHARE = 1e9  # the same of a coefficient that is held at zero
_TINY = 1e-300  # instead of a division by zero


def solve(gram: Floats, moment: Floats) -> Floats:
    """The x >= 0 that minimises x·G·x - 2·m·x, for G = AᵀA and m = Aᵀy."""
    count = len(moment)
    x = np.zeros(count)
    if count == 0:
        return x
    free = np.zeros(count, np.bool_)
    scale = max(_largest(moment), _TINY)
    # The method ends by itself; the bound is for rounding that frees and fixes the same one.
    for _ in range(6 * count + 10):
        gradient = moment - gram @ x
        gradient[free] = -np.inf
        steepest = int(np.argmax(gradient))
        if gradient[steepest] <= _ZERO_SHARE * scale:
            return x
        free[steepest] = True
        x = _settled(gram, moment, x, free)
    return x


def _largest(values: Floats) -> float:
    """The largest size among them; 0 if there are none."""
    return float(np.abs(values).max(initial=0.0))


def _settled(
    gram: Floats,
    moment: Floats,
    x: Floats,
    free: Bools,
) -> Floats:
    """The best x of the free coefficients; those that reach zero on the way are fixed there."""
    while free.any():
        rows = np.flatnonzero(free)
        system = gram[np.ix_(rows, rows)]
        trial = np.zeros(len(x))
        trial[rows] = _least_squares(system, moment[rows])
        falling = rows[trial[rows] <= 0]
        if len(falling) == 0:
            return trial
        # Walk from x towards the trial until the first coefficient reaches zero, and fix that one
        # there.
        distance = x[falling] - trial[falling]
        steps_to_zero = x[falling] / np.maximum(distance, _TINY)
        x = x + float(steps_to_zero.min()) * (trial - x)
        largest = max(float(x.max(initial=0.0)), _TINY)
        free &= x > _ZERO_SHARE * largest
        x[~free] = 0.0
    return x


def fit(
    matrix: npt.ArrayLike,
    values: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """The x >= 0 that brings A·x closest to y."""
    columns = np.asarray(matrix, np.float64)
    target = np.asarray(values, np.float64)
    if weights is not None:
        root = np.sqrt(np.asarray(weights, np.float64))
        columns = columns * root[:, None]
        target = target * root
    return solve(columns.T @ columns, columns.T @ target)


def many(gram: Floats, moment: Floats, *, exact: bool = True) -> Floats:
    """`solve` for a stack of systems. Most need no constraint at all and are solved together.

    With `exact` False the others are solved together too, with their negative coefficients held at
    zero: enough to rank tens of thousands of candidates.
    """
    diagonal = np.einsum("...kk->...k", gram)
    largest = np.maximum(diagonal.max(axis=-1, keepdims=True), 1e-12)
    # A column that is empty at some offset makes its system singular: a whisper of ridge gives it
    # zero watts.
    ridge = _RIDGE_SHARE * largest
    x = _with_ridge(gram, moment, ridge)
    is_negative = _negative(x)
    if not is_negative.any():
        return np.maximum(x, 0.0)
    held = np.repeat(ridge, gram.shape[-1], axis=-1)
    for _ in range(2):
        # The others are settled: solving them again would give the same.
        is_open = is_negative.any(axis=-1)
        if not is_open.any():
            break
        held = np.where(is_negative, _HOLD_SHARE * largest, held)
        x[is_open] = _with_ridge(
            gram[is_open],
            moment[is_open],
            held[is_open],
        )
        is_negative = _negative(x)
    x = np.maximum(x, 0.0)
    if not exact:
        return x
    is_held = held > ridge
    x = np.where(is_held, 0.0, x)
    would_rise = _would_rise(gram, moment, x, is_held)
    is_open = would_rise | is_negative.any(axis=-1)
    for index in np.argwhere(is_open):
        at = tuple(index)
        x[at] = _solve_with_ridge(gram[at], moment[at], ridge[at])
    return np.maximum(x, 0.0)


def _solve_with_ridge(gram: Floats, moment: Floats, ridge: Floats) -> Floats:
    """`solve` with the same ridge as the systems that are solved together."""
    diagonal = np.broadcast_to(ridge, moment.shape)
    return solve(gram + np.diag(diagonal), moment)


def _would_rise(
    gram: Floats,
    moment: Floats,
    x: Floats,
    is_held: Bools,
) -> Bools:
    """Which systems hold a coefficient at zero that would rise if it were free.

    Where there is none, that is the answer.
    """
    slope = moment - (gram @ x[..., None])[..., 0]
    steepest = np.abs(moment).max(axis=-1, keepdims=True)
    rises = slope > _ZERO_SLOPE_SHARE * steepest
    would_rise: Bools = (rises & is_held).any(axis=-1)
    return would_rise


def _with_ridge(gram: Floats, moment: Floats, ridge: Floats) -> Floats:
    system = gram.copy()
    diagonal = np.einsum("...kk->...k", system)
    diagonal += ridge  # in place: it is a view
    solution: Floats = np.linalg.solve(system, moment[..., None])
    return solution[..., 0]


def _negative(x: Floats) -> Bools:
    largest = np.abs(x).max(axis=-1, keepdims=True)
    is_negative: Bools = x < -_ZERO_SHARE * largest
    return is_negative


def _least_squares(gram: Floats, moment: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(gram, moment))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(gram, moment, rcond=None)[0])
