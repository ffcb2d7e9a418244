"""Loads that begin or end where readings do not tell: how much longer they may have lasted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.energy.findings.power_stretch import Box, may_hold
from powertui.data.energy.findings.readings import SensorReadings


def with_open_ends(box: Box, readings: SensorReadings) -> Box:
    """The same load; its intervals contain what may be of it beside, where readings do not say.

    What ends as validation begins may go on through it: only more power than usual was seen, and
    how much validation draws is not known so well.
    """
    if box.watts <= 0 or not len(readings):
        return box
    # As long again on either side at most: a load whose lengths are those of chance has as much
    # before it as behind it. Chosen, not measured.
    length_s = box.end - box.start
    earliest_s, latest_s = _farthest_ends(box, readings)
    earliest_s = max(earliest_s, box.start - length_s)
    latest_s = min(latest_s, box.end + length_s)
    unseen_before_s = max(box.start - earliest_s, 0.0)
    unseen_after_s = max(latest_s - box.end, 0.0)
    earliest_start, latest_start = box.start_within
    earliest_end, latest_end = box.end_within
    return replace(
        box,
        start_within=(min(earliest_start, earliest_s), latest_start),
        end_within=(earliest_end, max(latest_end, latest_s)),
        hi_joules=box.hi_joules + box.watts * (unseen_before_s + unseen_after_s),
    )


def _farthest_ends(box: Box, readings: SensorReadings) -> tuple[float, float]:
    """From when to when (s) nothing speaks against the load."""
    speaks_against = ~may_hold(readings, box.watts)
    middle = (readings.lo + readings.hi) / 2
    before = np.flatnonzero(speaks_against & (middle < box.start))
    after = np.flatnonzero(speaks_against & (middle > box.end))
    earliest_s = readings.lo[0]
    if len(before):
        earliest_s = readings.hi[before[-1]]
    latest_s = readings.hi[-1]
    if len(after):
        latest_s = readings.lo[after[0]]
    return float(earliest_s), float(latest_s)
