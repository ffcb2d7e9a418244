"""How long a step takes while nothing slows the machine, and what it draws while nothing else does.

What disturbs a machine makes some steps longer: one at a time, or all of a stretch. How many is
chance, and a fixed quantile moves with their number. So the mean is taken of the steps that are
near the shorter ones, where both the step and its neighbors are.

Of simulated runs of 200 steps (`tests/synthetic/step_world.py`) this varied by 0.63 % where nothing
disturbs them, 1.17 % with regular slow steps and 1.24 % where something slows the machine for a
while; the lower quartile by 0.71, 1.27 and 1.45 %, the mean by 0.60, 5.1 and 4.9 %.

Another program only ever adds watts, for any part of a run. So of the watts of steps a low quantile
is taken. Beside a program that draws 60 W for 1 to 8 of 12 s the 5 % quantile varied by 0.7 % from
run to run, the 15 % quantile by 1.3, the 25 % quantile by 2.6, the mean by 3.8; without it by 0.65,
0.64, 0.65 and 0.57 %, and where the steps themselves draw unevenly by 1.6, 1.15, 0.92 and 0.90 %.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Floats
from powertui.data.quantiles import quantile_of_column

# Steps whose median stands for a stretch of them: a single long step does not move it.
_NEIGHBORS = 5
# Of fewer steps nobody can say which were slowed.
_MIN_STEPS = 2 * _NEIGHBORS
_SHORTER_SHARE = 0.25  # of the steps is never slowed: where it starts to look
# A stretch is slowed when its median is so many deviations of single steps above the others. At 1
# the mean of steps that nothing slowed varied by 1.38 % with regular slow steps, at 3 that of runs
# that something slows by 1.47 %.
_STRETCH_SIGMAS = 2.0
_STEP_SIGMAS = 3.0  # the same of a single step
_ROUNDS = 6  # it settles in three to five
_LOW_SHARE = 0.05  # of the watts of steps
_SIGMA_OF_MEDIAN = 1.4826  # of a normal distribution, its median distance from the middle


def undisturbed_mean(seconds: Floats) -> float:
    """The mean of the steps that nothing slowed; the lower quartile of a few."""
    level = quantile_of_column(seconds, _SHORTER_SHARE)
    if len(seconds) < _MIN_STEPS:
        return level
    stretches = _medians_of_neighbors(seconds)
    level = quantile_of_column(stretches, _SHORTER_SHARE)
    # Neighbors share what the machine does meanwhile, so their difference shows the noise alone.
    differences = np.abs(np.diff(seconds))
    median = float(np.median(differences))
    sigma = _SIGMA_OF_MEDIAN * median / np.sqrt(2)
    for _ in range(_ROUNDS):
        is_kept = stretches <= level + _STRETCH_SIGMAS * sigma
        is_kept &= seconds <= level + _STEP_SIGMAS * sigma
        if not is_kept.any():
            break
        before, level = level, float(seconds[is_kept].mean())
        if level == before:
            break
    return level


def undisturbed_watts(watts: Floats) -> float:
    """What steps draw while nothing else does; none of them may hold a pause between steps."""
    return quantile_of_column(watts, _LOW_SHARE)


def _medians_of_neighbors(seconds: Floats) -> Floats:
    """Of each step, the median of it and the steps around it."""
    around = np.pad(seconds, _NEIGHBORS // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(around, _NEIGHBORS)
    return np.asarray(np.median(windows, axis=1))
