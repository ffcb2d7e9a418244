"""The watts of each kind of work of a training, fitted robustly to all its readings."""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.robust_stats import (
    MAX_FIT_ROUNDS,
    START_PERCENTILES,
    TUKEY_CUT,
    median_deviation,
    noise_floor,
    normal_scale,
    tukey_weights,
)
from powertui.data.model import Floats
from powertui.data.quantiles import median_of_column, percentiles_of_column

# Readings that a level needs. This and the others here are chosen, not measured.
MIN_READINGS = settings.MIN_ALIKE_VALUES
# Rounds of the robust fit that look at the closest readings alone.
_MODE_ROUNDS = 8
# So many readings of one level are enough to begin with.
_MODE_SHARE = settings.VISIBLE_SHARE
# A window shows the level of a kind that fills this share of it, and so many such windows show it
# alone.
_MIN_PURE_SHARE = settings.NEARLY_ALL_SHARE
_MIN_PURE_READINGS = settings.MIN_REPEATS
# No kind draws less than this share of the least that the machine ever drew.
_MIN_LEVEL_OF_LOW = settings.MAJORITY_SHARE


def kind_levels(
    columns: Floats,
    watts: Floats,
    low: float,
    quantum: float,
) -> Floats:
    """Watts of each kind: robustly, and none far below `low`, the least that the machine ever drew.

    `columns`: [readings, kinds], the share of each reading that each kind fills.
    """
    usual_w = median_of_column(watts)
    floor = noise_floor(quantum, usual_w)
    levels = _pure_levels(columns, watts, usual_w)
    if levels is None:
        deviation = median_deviation(watts - usual_w)
        levels = _least_absolute(columns, watts, max(deviation, floor))
    starts = [levels]
    for high in percentiles_of_column(watts, START_PERCENTILES):
        starts.append(levels + high - levels[0])
    tried = []
    residuals = []
    for start in starts:
        fit = _refined(
            columns=columns,
            watts=watts,
            start=start,
            low=low,
            floor=floor,
        )
        tried.append(fit)
        residuals.append(np.abs(watts - columns @ fit))
    smallest = min(normal_scale(residual, _MODE_SHARE) for residual in residuals)
    scale = max(smallest, floor)
    costs = [np.minimum(residual / scale, TUKEY_CUT).sum() for residual in residuals]
    return tried[int(np.argmin(costs))]


def _pure_levels(columns: Floats, watts: Floats, usual_w: float) -> Floats | None:
    """The medians of windows that contain one kind alone; None where a kind has hardly any."""
    levels = np.full(columns.shape[1], usual_w)
    is_pure = columns.max(axis=1) > _MIN_PURE_SHARE
    main_kind = columns.argmax(axis=1)
    for kind in range(columns.shape[1]):
        rows = is_pure & (main_kind == kind)
        if rows.sum() < _MIN_PURE_READINGS:
            return None
        levels[kind] = median_of_column(watts[rows])
    return levels


def _refined(
    columns: Floats,
    watts: Floats,
    start: Floats,
    low: float,
    floor: float,
) -> Floats:
    """The robust fit next to these watts: what is far from it moves nothing."""
    levels = start
    min_level = _MIN_LEVEL_OF_LOW * low
    ridge = np.eye(columns.shape[1]) * 1e-3
    for turn in range(MAX_FIT_ROUNDS):
        residual = np.abs(watts - columns @ levels)
        scale = median_deviation(residual)
        if turn < _MODE_ROUNDS:
            # Where three levels share the readings, their median would hold all of them.
            scale = min(scale, normal_scale(residual, _MODE_SHARE))
        scale = max(scale, floor)
        weight = tukey_weights(residual / scale)
        if weight.sum() < MIN_READINGS / 2:
            break
        weighted = (columns * weight[:, None]).T
        moments = weighted @ columns + ridge
        targets = weighted @ watts + ridge @ start
        moved = np.linalg.solve(moments, targets)
        step = float(np.abs(moved - levels).max())
        levels = np.maximum(moved, min_level)
        if step < 1e-3 * scale and turn >= _MODE_ROUNDS:
            break
    return np.asarray(levels)


def _least_absolute(columns: Floats, watts: Floats, scale: float) -> Floats:
    """The watts of each kind with the least sum of absolute residuals: no far reading moves them.

    That is for kinds that hardly a window contains alone.
    """
    kind_count = columns.shape[1]
    ridge = np.eye(kind_count) * 1e-6
    levels = np.full(kind_count, median_of_column(watts))
    for _ in range(MAX_FIT_ROUNDS):
        residual = np.abs(watts - columns @ levels)
        weight = 1.0 / np.maximum(residual, settings.NEGLIGIBLE_SHARE * scale)
        weighted = (columns * weight[:, None]).T
        moments = weighted @ columns + ridge
        targets = weighted @ watts + ridge @ levels
        levels = np.linalg.solve(moments, targets)
    return np.asarray(levels)
