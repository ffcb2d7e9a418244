"""The watts of each kind of work of a training, fitted robustly to all its readings."""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.robust_stats import (
    MAX_FIT_ROUNDS,
    MEDIAN_TO_SIGMA,
    START_PERCENTILES,
    TUKEY_CUT,
    noise_floor,
    normal_scales,
    tukey_weights,
)
from powertui.data.model import Floats
from powertui.data.quantiles import median_of_column, median_of_rows, percentiles_of_column

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
# Readings that are worked on at once: their windows take many columns each.
CHUNK_READINGS = 1 << 16


def kind_levels(
    columns: Floats,
    watts: Floats,
    low: float,
    quantum: float,
) -> Floats:
    """Watts of each kind: robustly, and none far below `low`, the least that the machine ever drew.

    `columns`: [readings, kinds], the share of each reading that each kind fills.
    """
    return np.asarray(levels_of_each(columns[None], watts, low, quantum)[0])


def levels_of_each(
    columns: Floats,
    watts: Floats,
    low: float,
    quantum: float,
) -> Floats:
    """The same for several ways in which kinds may fill the readings: [ways, readings, kinds].

    All are fitted at once: one by one they took most of the time of a training of which only epochs
    are logged.
    """
    together = max(CHUNK_READINGS // len(watts), 1)
    levels = []
    for first in range(0, len(columns), together):
        ways = columns[first : first + together]
        levels.append(_levels_together(ways, watts, low, quantum))
    return np.concatenate(levels)


def _levels_together(
    columns: Floats,
    watts: Floats,
    low: float,
    quantum: float,
) -> Floats:
    way_count, _, kind_count = columns.shape
    usual_w = median_of_column(watts)
    floor = noise_floor(quantum, usual_w)
    likely = _first_levels(columns, watts, usual_w, floor)
    highs = np.array(percentiles_of_column(watts, START_PERCENTILES))
    by_high = likely[:, None] + (highs[:, None] - likely[:, None, :1])
    starts = np.concatenate([likely[:, None], by_high], axis=1)
    start_count = starts.shape[1]
    tried = _refined(
        columns=np.repeat(columns, start_count, axis=0),
        watts=watts,
        starts=starts.reshape(-1, kind_count),
        low=low,
        floor=floor,
    )
    tried = tried.reshape(way_count, start_count, kind_count)
    residuals = np.abs(watts - tried @ columns.transpose(0, 2, 1))
    scales = np.maximum(normal_scales(residuals, _MODE_SHARE).min(axis=1), floor)
    errors = np.minimum(residuals / scales[:, None, None], TUKEY_CUT)
    best = errors.sum(axis=2).argmin(axis=1)
    return np.asarray(tried[np.arange(way_count), best])


def _first_levels(columns: Floats, watts: Floats, usual_w: float, floor: float) -> Floats:
    """[ways, kinds]: what pure windows show, else what moves least by far readings."""
    levels = np.empty((len(columns), columns.shape[2]))
    mixed = []
    for way, of_way in enumerate(columns):
        pure = _pure_levels(of_way, watts, usual_w)
        if pure is None:
            mixed.append(way)
        else:
            levels[way] = pure
    if mixed:
        deviation = MEDIAN_TO_SIGMA * median_of_column(np.abs(watts - usual_w))
        levels[mixed] = _least_absolute(columns[mixed], watts, max(deviation, floor))
    return levels


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
    starts: Floats,
    low: float,
    floor: float,
) -> Floats:
    """The robust fit next to each of these watts: what is far from it moves nothing."""
    levels = starts.copy()
    min_level = _MIN_LEVEL_OF_LOW * low
    ridge = np.eye(columns.shape[2]) * 1e-3
    moving = np.arange(len(starts))
    for turn in range(MAX_FIT_ROUNDS):
        residuals = np.abs(watts - _expected(columns[moving], levels[moving]))
        scales = MEDIAN_TO_SIGMA * median_of_rows(residuals)
        if turn < _MODE_ROUNDS:
            # Where three levels share the readings, their median would hold all of them.
            scales = np.minimum(scales, normal_scales(residuals, _MODE_SHARE))
        scales = np.maximum(scales, floor)
        weights = tukey_weights(residuals / scales[:, None])
        is_shown = weights.sum(axis=1) >= MIN_READINGS / 2
        moving = moving[is_shown]
        if not len(moving):
            break
        moved = _solved(
            columns=columns[moving],
            weights=weights[is_shown],
            watts=watts,
            ridge=ridge,
            beforehand=starts[moving],
        )
        steps = np.abs(moved - levels[moving]).max(axis=1)
        levels[moving] = np.maximum(moved, min_level)
        if turn >= _MODE_ROUNDS:
            moving = moving[steps >= 1e-3 * scales[is_shown]]
    return np.asarray(levels)


def _expected(columns: Floats, levels: Floats) -> Floats:
    """[fits, readings]"""
    return np.asarray((columns @ levels[..., None])[..., 0])


def _solved(
    columns: Floats,
    weights: Floats,
    watts: Floats,
    ridge: Floats,
    beforehand: Floats,
) -> Floats:
    """The weighted least squares of each fit, drawn a little to what was known beforehand."""
    weighted = weights[:, None, :] * columns.transpose(0, 2, 1)
    moments = weighted @ columns + ridge
    targets = weighted @ watts + beforehand @ ridge
    return np.asarray(np.linalg.solve(moments, targets[..., None])[..., 0])


def _least_absolute(columns: Floats, watts: Floats, scale: float) -> Floats:
    """The watts of each kind with the least sum of absolute residuals: no far reading moves them.

    That is for kinds that hardly a window contains alone.
    """
    ways, _, kind_count = columns.shape
    ridge = np.eye(kind_count) * 1e-6
    levels = np.full((ways, kind_count), median_of_column(watts))
    for _ in range(MAX_FIT_ROUNDS):
        residuals = np.abs(watts - _expected(columns, levels))
        levels = _solved(
            columns=columns,
            weights=1.0 / np.maximum(residuals, settings.NEGLIGIBLE_SHARE * scale),
            watts=watts,
            ridge=ridge,
            beforehand=levels,
        )
    return levels
