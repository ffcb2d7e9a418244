"""The watts of each kind of work of a training, fitted robustly to all its readings."""

from __future__ import annotations

import numpy as np

from powertui.data.energy.findings.noise import MEDIAN_TO_SIGMA
from powertui.data.energy.quantiles import median_of_column, quantile_of_column
from powertui.data.model import Floats

# Readings that a level needs. This and the others here are chosen, not measured, but for Tukey's
# constant.
MIN_READINGS = 5
# Tukey's constant: residuals farther off than this many deviations count nothing.
_TUKEY_CUT = 4.685
# Rounds of the robust fit, the first of which look at the closest readings alone.
_MAX_FIT_ROUNDS = 30
_MODE_ROUNDS = 8
# So many readings of one level are enough to begin with; normal ones are within so many deviations.
_MODE_SHARE = 0.25
_MODE_DEVIATIONS = 0.3186
# Percentiles of the readings that a fit begins with as well.
_START_PERCENTILES = (25, 40, 50, 60, 75)
# A window shows the level of a kind that fills this share of it, and so many such windows show it
# alone.
_MIN_PURE_SHARE = 0.9
_MIN_PURE_READINGS = 3
# No kind draws less than this share of the least that the machine ever drew.
_MIN_LEVEL_OF_LOW = 0.5


def kind_levels(columns: Floats, watts: Floats, low: float, quantum: float) -> Floats:
    """Watts of each kind: robustly, and none far below `low`, the least that the machine ever drew.

    `columns`: [readings, kinds], the share of each reading that each kind fills.
    """
    usual_w = float(np.median(watts))
    floor = max(quantum / 12**0.5, 1e-3 * abs(usual_w), 1e-9)
    levels = _pure_levels(columns, watts, usual_w)
    if levels is None:
        deviation = float(np.median(np.abs(watts - usual_w))) * MEDIAN_TO_SIGMA
        levels = _least_absolute(columns, watts, max(deviation, floor))
    starts = [levels]
    for high in np.percentile(watts, _START_PERCENTILES):
        starts.append(levels + high - levels[0])
    tried = [
        _refined(columns=columns, watts=watts, start=start, low=low, floor=floor)
        for start in starts
    ]
    residuals = [np.abs(watts - columns @ fit) for fit in tried]
    scale = max(min(_mode_scale(residual) for residual in residuals), floor)
    costs = [np.minimum(residual / scale, _TUKEY_CUT).sum() for residual in residuals]
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


def _mode_scale(residual: Floats) -> float:
    """The deviation of normal residuals whose smallest part is as small as of these."""
    return quantile_of_column(residual, _MODE_SHARE) / _MODE_DEVIATIONS


def _refined(columns: Floats, watts: Floats, start: Floats, low: float, floor: float) -> Floats:
    """The robust fit next to these watts: what is far from it moves nothing."""
    levels = start
    ridge = np.eye(columns.shape[1]) * 1e-3
    for turn in range(_MAX_FIT_ROUNDS):
        residual = np.abs(watts - columns @ levels)
        scale = MEDIAN_TO_SIGMA * median_of_column(residual)
        if turn < _MODE_ROUNDS:
            # Where three levels share the readings, their median would hold all of them.
            scale = min(scale, _mode_scale(residual))
        scale = max(scale, floor)
        nearness = np.clip(1 - (residual / (_TUKEY_CUT * scale)) ** 2, 0, None)
        weight = nearness**2
        if weight.sum() < MIN_READINGS / 2:
            break
        weighted = (columns * weight[:, None]).T
        moved = np.linalg.solve(weighted @ columns + ridge, weighted @ watts + ridge @ start)
        step = float(np.abs(moved - levels).max())
        levels = np.maximum(moved, _MIN_LEVEL_OF_LOW * low)
        if step < 1e-3 * scale and turn >= _MODE_ROUNDS:
            break
    return np.asarray(levels)


def _least_absolute(columns: Floats, watts: Floats, scale: float) -> Floats:
    """The watts of each kind with the least sum of absolute residuals: no far reading moves them.

    That is for kinds that hardly a window contains alone.
    """
    ridge = np.eye(columns.shape[1]) * 1e-6
    levels = np.full(columns.shape[1], float(np.median(watts)))
    for _ in range(_MAX_FIT_ROUNDS):
        residual = np.abs(watts - columns @ levels)
        weight = 1.0 / np.maximum(residual, 0.01 * scale)
        weighted = (columns * weight[:, None]).T
        levels = np.linalg.solve(weighted @ columns + ridge, weighted @ watts + ridge @ levels)
    return np.asarray(levels)
