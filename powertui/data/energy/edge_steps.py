"""A step of power beside the edge of a window, put where the readings say that it was.

Readings are drawn as a straight line from one to the next, which smears a step over two of them. An
epoch or a profile begins and ends with a step of power: there the straight line puts part of the
energy outside, always on the same side. Means tell where within them the step was, as they hold the
energy of what lay before it and after it.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy.curve import CurveEntries
from powertui.data.model import PS_PER_S, Floats


def moved_to_steps(reading: CurveEntries, energy: Floats, watts: Floats) -> Floats:
    """[J and share, both edges, windows]: the energy from the edge to where the straight lines put
    it, and how clearly there is one step.

    `reading`, `energy` and `watts` hold rows for a, b, each a reading before and after, and each
    two readings before and after.
    """
    joules = np.zeros((2, *energy.shape[1:]))
    share = np.zeros((2, *energy.shape[1:]))
    for edge in range(2):
        before, after = 2 + 2 * edge, 3 + 2 * edge
        far_before, far_after = 6 + 2 * edge, 7 + 2 * edge
        low_w, high_w = watts[before], watts[after]
        past_s = (reading.inside[edge] - reading.inside[before]) / PS_PER_S
        left_s = (reading.inside[after] - reading.inside[edge]) / PS_PER_S
        height_w = high_w - low_w
        between = energy[after] - energy[before]
        with np.errstate(divide="ignore", invalid="ignore"):
            # The step at which both levels give the energy between the two readings.
            step_s = (high_w * (past_s + left_s) - between) / height_w
            uneven = (watts[far_before] - low_w) ** 2 + (watts[far_after] - high_w) ** 2
            clear = np.maximum(1.0 - uneven / height_w**2, 0.0)
        is_step = (
            np.isfinite(step_s)
            & (step_s >= 0)
            & (step_s <= past_s + left_s)
            & reading.known[[edge, before, after]].all(axis=0)
        )
        step_s = np.where(is_step, step_s, 0.0)
        by_step = low_w * np.minimum(past_s, step_s) + high_w * np.maximum(past_s - step_s, 0.0)
        drawn = energy[edge] - energy[before]
        share[edge] = np.where(is_step, clear, 0.0)
        joules[edge] = np.where(is_step, clear * (by_step - drawn), 0.0)
    return np.stack((joules, share))
