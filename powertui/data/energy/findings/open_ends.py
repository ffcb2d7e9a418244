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
    unseen_s = max(box.start - earliest_s, 0.0) + max(latest_s - box.end, 0.0)
    return replace(
        box,
        start_within=(min(box.start_within[0], earliest_s), box.start_within[1]),
        end_within=(box.end_within[0], max(box.end_within[1], latest_s)),
        hi_joules=box.hi_joules + box.watts * unseen_s,
    )


def _farthest_ends(box: Box, readings: SensorReadings) -> tuple[float, float]:
    """From when to when (s) nothing speaks against the load."""
    speaks = np.flatnonzero(~may_hold(readings, box.watts))
    middle = (readings.lo + readings.hi) / 2
    before = speaks[middle[speaks] < box.start]
    after = speaks[middle[speaks] > box.end]
    earliest_s = float(readings.hi[before[-1]] if len(before) else readings.lo[0])
    latest_s = float(readings.lo[after[0]] if len(after) else readings.hi[-1])
    return earliest_s, latest_s
