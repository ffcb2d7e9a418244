"""How far stretches of readings are off, of every length that is tried: in errors of their mean."""

from __future__ import annotations

import functools
import math

import numpy as np

from powertui.data.energy.robust_stats import sums_over
from powertui.data.model import Floats, Int64s
from powertui.data.quantiles import CACHED_VALUES
from powertui.named_tuples import NamedTuple


class StretchSums(NamedTuple):
    """Running sums of readings: how far off they are, by weight, and what they weigh."""

    gained: Floats
    weights: Floats
    explained: Floats | None  # how many belong to another stretch; None for none
    shared: Floats | None  # doubts that all of a stretch shares, one in a row; None for none


def farthest(sums: StretchSums, lengths: list[int], errors: Floats) -> tuple[int, int]:
    """First and last (exclusive) reading of the stretch that is farthest off; (0, 0) for none.

    `errors`: of a mean over so many readings, for each length. Few stretches are looked at in one
    go: of 340 readings in a quarter of the time, and 10 M events have 54 such series.
    """
    count = len(sums.weights) - 1
    stretches = sum(count + 1 - length for length in lengths)
    if sums.shared is None and 0 < stretches <= CACHED_VALUES:
        bounds = _farthest_at_once(sums, tuple(lengths), errors)
        if bounds is not None:
            return bounds
    return _farthest_by_length(sums, lengths, errors)


@functools.lru_cache(maxsize=4)
def _laid_out(count: int, lengths: tuple[int, ...]) -> tuple[Int64s, Int64s, Int64s]:
    """(first, last (exclusive), number of the length) of all stretches, the shortest first."""
    counts = np.array([count + 1 - length for length in lengths])
    number = np.repeat(np.arange(len(lengths)), counts)
    first = np.concatenate([np.arange(starts) for starts in counts.tolist()])
    return first, first + np.array(lengths)[number], number


def _farthest_at_once(
    sums: StretchSums,
    lengths: tuple[int, ...],
    errors: Floats,
) -> tuple[int, int] | None:
    """The same for few readings; None where a score is no number."""
    first, last, number = _laid_out(len(sums.weights) - 1, lengths)
    weight = sums.weights.take(last)
    weight -= sums.weights.take(first)
    np.maximum(weight, 1e-300, out=weight)
    score = sums.gained.take(last)
    score -= sums.gained.take(first)
    np.abs(score, out=score)
    score /= weight
    each = np.array([math.sqrt(error**2) for error in errors.tolist()])
    score /= each.take(number)
    if sums.explained is not None:
        score[sums.explained.take(last) != sums.explained.take(first)] = 0.0
    best = int(score.argmax())
    if math.isnan(score[best]):
        return None
    if score[best] <= 0:
        return 0, 0
    return int(first[best]), int(last[best])


def _farthest_by_length(
    sums: StretchSums,
    lengths: list[int],
    errors: Floats,
) -> tuple[int, int]:
    best = 0.0
    bounds = (0, 0)
    for length, alone in zip(lengths, errors.tolist(), strict=True):
        total = sums_over(sums.weights, length)
        np.maximum(total, 1e-300, out=total)
        score = sums_over(sums.gained, length)
        np.abs(score, out=score)
        score /= total
        if sums.shared is None:
            score /= math.sqrt(alone**2)
        else:
            shared_doubts = sums_over(sums.shared, length) / total
            shared_error = (shared_doubts**2).sum(axis=0)
            score /= np.sqrt(alone**2 + shared_error)
        if sums.explained is not None:
            holds_explained = sums.explained[length:] != sums.explained[:-length]
            score[holds_explained] = 0.0
        start = int(score.argmax())
        if score[start] > best:
            best = float(score[start])
            bounds = (start, start + length)
    return bounds
