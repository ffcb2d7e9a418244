"""What a reading costs by how far it is from a predicted level of power.

Prices are in units of the ordinary residual's, so 0.5 is what a residual of one scale costs.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import settings
from powertui.data.model import Floats

# Growth of a large residual's price, as of Student's t with 5 degrees of freedom.
# Half: 3 lost, 1 won, 1 without a place. Twice: 2 won, 1 lost, 1 interval misses.
STUDENT_T_FACTOR = 3.0

# ── levels of power ──
PROFILE_LEVELS = 8  # levels of power that stand for the whole profile
WINDOWS_PER_LEVEL = settings.MIN_SAMPLE_VALUES  # windows of the profile behind each of these levels
_LEVEL_RADIUS = 1.5  # residuals: levels nearer to a reading than this count as one
# What it costs that a reading is near so many of the levels: nothing where it is near all of them.
_LEVEL_SURPRISE = np.log(PROFILE_LEVELS / np.maximum(np.arange(PROFILE_LEVELS + 1.0), 1.0))


def level_price(above: Floats, levels: Floats, sigma: Floats) -> Floats:
    """What readings cost that may be any of these levels [offsets, levels]: by the nearest, and by
    how many are as near.
    """
    nearest = np.full((len(levels), len(above)), np.inf)
    near_levels = np.zeros(nearest.shape, np.int8)
    radius_w = _LEVEL_RADIUS * sigma
    for level in levels.T:
        apart = np.abs(above - level[:, None])
        np.minimum(nearest, apart, out=nearest)
        near_levels += apart < radius_w
    price: Floats = residual_price(nearest / sigma) + _LEVEL_SURPRISE.take(near_levels)
    return price


def change_price(above: Floats, sigma: Floats) -> Floats:
    """What it costs that a reading is like the one before."""
    change = np.diff(above, prepend=above[:1])
    residual = np.abs(change) / (sigma * 2**0.5)
    return residual_price(residual)


def residual_price(residual: Floats) -> Floats:
    """What a residual costs, in units of the ordinary one."""
    growth = np.log1p(residual**2 / (2 * STUDENT_T_FACTOR))
    price: Floats = STUDENT_T_FACTOR * growth
    return price


def power_levels(fitted: Floats, usual_work: Floats) -> Floats:
    """The levels of power [offsets, levels] that windows all over the profile have by each fit."""
    in_order = np.sort(fitted @ usual_work.T, axis=1)
    levels: Floats = in_order[:, WINDOWS_PER_LEVEL // 2 :: WINDOWS_PER_LEVEL]
    return levels
