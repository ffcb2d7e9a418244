"""The step in watts that a sensor's readings are rounded to."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.model import Floats, Int64s

STEP_SHARE = settings.WHOLE_SHARE  # of the differences, that must be multiples of the step
_MIN_CHANGES = settings.MIN_REPEATS  # that a measured step needs
_MAX_DIGITS = 4  # after the point: no dialect writes more of a rounded value
_COUNTED_BINS = 1 << 16  # W: differences up to here are counted without sorting them
_MAX_W = 1e9  # beyond it a float's own rounding is in the way
_ROUNDING = 1e-3  # of a step, by which floats miss a multiple of it
# The largest step that unchanging readings may show: boards with a byte for 2 kW read in steps of
# 8 W, some plugs and racks in steps of 10 W.
_MAX_WRITTEN_STEP = 10
_COMMONEST = 12  # differences of which every two are tried for a common divisor


def quantum(watts: Floats) -> float | None:
    """The step of the readings: the largest number that nearly all differences are multiples of.

    None when there is no step.
    """
    if len(watts) < 3:
        return None
    moved = np.abs(np.diff(watts))
    if np.count_nonzero(moved) < _MIN_CHANGES or moved.max() > _MAX_W:
        return None
    levels, counts = _counted(moved)
    total = int(counts.sum())
    min_count = STEP_SHARE * total
    for digits in range(_MAX_DIGITS + 1):
        scaled = levels * 10**digits
        nearest = np.round(scaled)
        is_near = np.abs(scaled - nearest) < _ROUNDING
        is_multiple = is_near & (scaled > 0.5)
        counts_of_multiples = counts[is_multiple]
        if counts_of_multiples.sum() < min_count:
            continue
        divisor = _common_divisor(
            steps=nearest[is_multiple].astype(np.int64),
            counts=counts_of_multiples,
            min_count=min_count,
        )
        return float(divisor / 10**digits)
    return None


def written_step(watts: Floats) -> float | None:
    """The step that readings may have which hardly ever change: the largest of a few digits that
    all of them are multiples of.
    """
    if not len(watts) or np.abs(watts).max() > _MAX_W:
        return None
    change_count = np.count_nonzero(np.diff(watts))
    if change_count >= _MIN_CHANGES:
        return None
    for digits in range(_MAX_DIGITS):
        scaled = watts * 10**digits
        nearest = np.round(scaled)
        is_near = np.abs(scaled - nearest) < _ROUNDING
        if is_near.all():
            values = wire.distinct(nearest).astype(np.int64).tolist()
            shared = functools.reduce(math.gcd, values, 0)
            steps = [n for n in range(1, _MAX_WRITTEN_STEP + 1) if shared % n == 0]
            return float(max(steps)) / float(10**digits)
    return None


def _counted(moved: Floats) -> tuple[Floats, Int64s]:
    """How often each difference but zero occurs: whole watts, as most are, without sorting them."""
    if moved.max() < _COUNTED_BINS:
        whole_watts = moved.astype(np.int64)
        if (whole_watts == moved).all():
            occurrences = np.bincount(whole_watts)
            occurrences[0] = 0
            levels = np.flatnonzero(occurrences)
            return levels.astype(np.float64), occurrences[levels]
    rounded = np.round(moved[moved != 0], 9)
    differences, counts = np.unique(rounded, return_counts=True)
    return differences, counts


def _common_divisor(
    steps: Int64s,
    counts: Int64s,
    min_count: float,
) -> float:
    """Greatest common divisor that tolerates a few strays."""
    positive = steps[steps > 0]
    best = functools.reduce(math.gcd, positive.tolist(), 0)
    by_count = np.argsort(-counts, kind="stable")
    commonest = steps[by_count][:_COMMONEST].tolist()
    candidates = {int(positive.min())}
    for first, second in itertools.combinations_with_replacement(commonest, 2):
        candidates.add(math.gcd(first, second))
    for candidate in candidates:
        if candidate <= best:
            continue
        is_multiple = steps % candidate == 0
        multiples = set(steps[is_multiple].tolist())
        if len(multiples) > 1 and counts[is_multiple].sum() >= min_count:
            best = candidate
    return float(best)
