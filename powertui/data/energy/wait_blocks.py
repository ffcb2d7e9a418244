"""Readings of a host that waits in collectives, as many in a row together as pass over several
waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.samples import Samples, usual_pace_s
from powertui.data.model import PS_PER_S
from powertui.data.tools.covered_time import CoveredTime

TOO_FAR_APART = (
    "work and waits alternate within the time between two or three of its readings, so that it "
    "depends on chance which of them a reading shows; readings that are means over longer, or "
    "nearer together, would show it"
)
# Waits that a reading passes over, so that it does not matter how it follows from work to wait.
# Sensors of 0.02 s read every 0.2 s beside steps of 0.25 s: with single readings the interval held
# in 4 of 25 runs; those of 0.7 s, in 19 of 25. Chosen beside that, not fitted.
_MIN_WAITS_A_READING = settings.MIN_SPREAD_VALUES
# With two (0.5 s beside steps of 0.25 s) it held in 7 of 10 and 12 of 15 runs.
_MIN_READINGS_A_BLOCK = settings.MIN_SPREAD_VALUES


def over_several_waits(readings: Samples, waits: Sequence[CoveredTime]) -> Samples | None:
    """Means of as many readings in a row as pass over several waits each; None where these would be
    too few to stand for what is between them.

    A reading that is shorter shows a wait or the work beside it, and how it follows from one to the
    other decides which: nobody knows that well enough. Over several of them it does not matter.
    """
    period_s = _usual_period_s(waits)
    pace_s = usual_pace_s(readings, period_s)
    if pace_s <= 0:
        return readings
    count = round(_MIN_WAITS_A_READING * period_s / pace_s)
    if count <= 1:
        return readings
    if count < _MIN_READINGS_A_BLOCK:
        return None
    size = len(readings) // count * count
    lo = readings.lo[:size].reshape(-1, count)
    hi = readings.hi[:size].reshape(-1, count)
    watts = readings.watts[:size].reshape(-1, count)
    # Without those that a gap of the log lies in: a reading and more is missing.
    has_gap = (hi[:, -1] - hi[:, 0]) >= count * pace_s
    return replace(
        readings,
        lo=lo[~has_gap, 0],
        hi=hi[~has_gap, -1],
        watts=watts[~has_gap].mean(axis=1),
        noise=np.empty(0),
    )


def _usual_period_s(waits: Sequence[CoveredTime]) -> float:
    """From one wait to the next, of the rank that waits most often."""
    starts = max((stretches.start for stretches in waits), key=len)
    return float(np.median(np.diff(starts))) / PS_PER_S if len(starts) > 1 else 0.0
