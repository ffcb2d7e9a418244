"""Stretches of series of numbers whose sum is large for their length."""

from __future__ import annotations

import numpy as np

from powertui.data.wire.types import Floats

_PRUNE_EVERY = 4  # lengths, after which series that can hold no longer stretch are left out


def reaching(sums: Floats, least: int, longest: int, score: float) -> int:
    """How many series hold a stretch that strong. See the package's docstring."""
    widest = np.ptp(sums, axis=1)  # no stretch adds up to more than its series' sums range over
    larger = 0
    for length in range(least, min(longest + 1, sums.shape[1])):
        if not len(sums):
            break
        if length % _PRUNE_EVERY == 0:
            may_reach = widest >= score * np.sqrt(length) * (1 - 1e-9)
            sums, widest = sums[may_reach], widest[may_reach]
        total = np.abs(sums[:, length:] - sums[:, :-length]).max(axis=1)
        is_reached = total / np.sqrt(length) >= score
        if is_reached.any():
            larger += int(is_reached.sum())
            sums, widest = sums[~is_reached], widest[~is_reached]
    return larger


def strongest(sums: Floats, least: int, longest: int) -> tuple[int, int]:
    """The strongest stretch of a series. See the package's docstring."""
    best_score, best = 0.0, (0, 0)
    for length in range(least, min(longest + 1, len(sums))):
        score = np.abs(sums[length:] - sums[:-length]) / np.sqrt(length)
        first = int(np.argmax(score))
        if score[first] > best_score:
            best_score = float(score[first])
            best = first, length
    return best
