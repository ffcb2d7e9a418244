"""Readings of a host that waits in collectives: over how much time each of them is, and as many in
a row together as pass over several waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.samples import Samples, usual_pace_s
from powertui.data.model import PS_PER_S, Badge, Floats, Int64s, Sensor
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.rank_lateness import Lateness

TOO_FAR_APART = (
    "work and waits alternate faster than its readings come, so that it depends on chance which of "
    "them a reading shows; readings that are means over longer, or that come more often, would "
    "show it"
)
# Waits that a reading passes over, so that it does not matter how it follows from work to wait.
# Sensors of 0.02 s read every 0.2 s beside steps of 0.25 s: with single readings the interval held
# in 4 of 25 runs; those of 0.7 s, in 19 of 25. Chosen beside that, not fitted.
_MIN_WAITS_A_READING = settings.MIN_SPREAD_VALUES
# With two (0.5 s beside steps of 0.25 s) it held in 7 of 10 and 12 of 15 runs.
_MIN_READINGS_A_BLOCK = settings.MIN_SPREAD_VALUES


def wait_stretches(lateness: Lateness, rank: int) -> CoveredTime:
    """When a rank waited for the last one, on its own host's clock."""
    matched = lateness.matched
    takes_part = matched.is_in[:, rank]
    rows = matched.rows[takes_part, rank]
    start: Int64s = matched.ranks[rank].start[rows]
    waits = lateness.waits[takes_part, rank]
    end = start + np.rint(waits).astype(np.int64)
    return union(start, end)


def over_several_waits(readings: Samples, waits: Sequence[CoveredTime]) -> Samples | None:
    """Means of as many readings in a row as pass over several waits each; None where these would be
    too few to stand for what is between them.

    A reading that is shorter shows a wait or the work beside it, and how it follows from one to the
    other decides which: nobody knows that well enough. Over several of them it does not matter.
    """
    period_s = usual_period_s(waits)
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


def usual_period_s(waits: Sequence[CoveredTime]) -> float:
    """From one wait to the next, of the rank that waits most often."""
    starts = max((stretches.start for stretches in waits), key=len)
    if len(starts) < 2:
        return 0.0
    distances = np.diff(starts)
    return float(np.median(distances)) / PS_PER_S


def slow_variation(shares: Floats, in_a_row: int) -> float:
    """How much the share of waits differs between stretches of so many readings."""
    means = np.convolve(shares, np.ones(in_a_row) / in_a_row, "valid")
    return float(means.std())


def window_lengths(described: Sensor, refresh_s: float) -> list[float]:
    """The times that a reading may be the mean of, as shares of the one that is assumed."""
    window = described.window_s
    if window is None or not window.value or window.badge is Badge.MEASURED:
        return [1.0]
    usual_s = window.value
    error_s = described.window_err_s or usual_s / 4
    lengths_s = [usual_s + sigmas * error_s for sigmas in (-2, -1, 0, 1, 2)]
    lengths_s.append(refresh_s)
    return [length_s / usual_s for length_s in lengths_s if length_s > 0]
