"""Least squares with coefficients that cannot be negative: Lawson and Hanson's active set, on
normal equations.

A category cannot draw less than nothing. The systems here have fewer than twenty unknowns, so the
method costs microseconds, and no library beyond numpy is needed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from powertui.data.model import Floats

_ZERO_SHARE = 1e-9  # of the largest coefficient: a smaller one is zero
_ZERO_SLOPE_SHARE = 1e-7  # of the largest moment: a smaller slope is rounding


def solve(gram: Floats, moment: Floats) -> Floats:
    """The x >= 0 that minimises x·G·x - 2·m·x, for G = AᵀA and m = Aᵀy."""
    count = len(moment)
    x = np.zeros(count)
    free = np.zeros(count, np.bool_)
    scale = max(float(np.abs(moment).max(initial=0.0)), 1e-300)
    for _ in range(6 * count + 10):
        gradient = moment - gram @ x
        gradient[free] = -np.inf
        best = int(np.argmax(gradient)) if count else 0
        if count == 0 or gradient[best] <= _ZERO_SHARE * scale:
            return x
        free[best] = True
        while True:
            rows = np.flatnonzero(free)
            trial = np.zeros(count)
            trial[rows] = _least(gram[np.ix_(rows, rows)], moment[rows])
            bad = rows[trial[rows] <= 0]
            if len(bad) == 0:
                x = trial
                break
            # Walk from x towards the trial until the first coefficient reaches zero, and fix that
            # one there.
            step = x[bad] / np.maximum(x[bad] - trial[bad], 1e-300)
            x = x + float(step.min()) * (trial - x)
            free &= x > _ZERO_SHARE * max(float(x.max(initial=0.0)), 1e-300)
            x[~free] = 0.0
            if not free.any():
                break
    return x


def fit(
    matrix: npt.ArrayLike, values: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Floats:
    """The x >= 0 that brings A·x closest to y."""
    a = np.asarray(matrix, np.float64)
    y = np.asarray(values, np.float64)
    if weights is not None:
        root = np.sqrt(np.asarray(weights, np.float64))
        a, y = a * root[:, None], y * root
    return solve(a.T @ a, a.T @ y)


def many(gram: Floats, moment: Floats, *, exact: bool = True) -> Floats:
    """`solve` for a stack of systems. Most need no constraint at all and are solved together.

    With `exact` False the others are solved together too, with their negative coefficients held at
    zero: enough to rank tens of thousands of candidates.
    """
    count = gram.shape[-1]
    eye = np.eye(count)
    diagonal = np.einsum("...kk->...k", gram)
    # A column that is empty at some offset makes its system singular: a whisper of ridge gives it
    # zero watts.
    ridge = np.repeat(
        1e-9 * np.maximum(diagonal.max(axis=-1, keepdims=True), 1e-12), count, axis=-1
    )
    x: Floats = np.asarray(
        np.linalg.solve(gram + ridge[..., None] * eye, moment[..., None])[..., 0], np.float64
    )
    negative = x < -1e-9 * np.abs(x).max(axis=-1, keepdims=True)
    held = ridge
    for _ in range(2):
        if not negative.any():
            break
        held = np.where(
            negative, 1e9 * np.maximum(diagonal.max(axis=-1, keepdims=True), 1e-12), held
        )
        x = np.asarray(
            np.linalg.solve(gram + held[..., None] * eye, moment[..., None])[..., 0], np.float64
        )
        negative = x < -1e-9 * np.abs(x).max(axis=-1, keepdims=True)
    x = np.maximum(x, 0.0)
    if exact and held is not ridge:
        # Where nothing that is held at zero would rise if it were free, that is the answer.
        x = np.where(held > ridge, 0.0, x)
        rises = moment - (gram @ x[..., None])[..., 0] > _ZERO_SLOPE_SHARE * np.abs(moment).max(
            axis=-1, keepdims=True
        )
        for index in np.argwhere((rises & (held > ridge)).any(axis=-1) | negative.any(axis=-1)):
            at = tuple(index)
            x[at] = solve(gram[at] + np.diag(ridge[at]), moment[at])
    return np.maximum(x, 0.0)


def _least(gram: Floats, moment: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(gram, moment))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(gram, moment, rcond=None)[0])
