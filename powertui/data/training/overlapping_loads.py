"""Several stretches in one short recording hide each other, for each is noise to the others.

Those that stand clearly apart are looked at one by one, the others set aside meanwhile, and the
number of looks is paid for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy.findings import stretch_search
from powertui.data.energy.findings.noise import Noise, spread
from powertui.data.energy.findings.power_stretch import Box, bridged
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.model import Floats

# Stretches that are clearly apart: if there are more, the noise has such tails. This and the others
# here are chosen, not measured.
_MAX_CLUSTERS = 5
# Of the readings, all clusters together.
_MAX_CLUSTER_SHARE = 0.3
# Errors from what is usual.
_FAR_ERRORS = 6.0
# Readings within a stretch that need not show it.
_MAX_GAP_READINGS = 1
# Heights of two stretches that may be one, as ratios.
_ALIKE_HEIGHTS = (0.6, 1.7)
# Of both together: so long a time between them may show nothing.
_MAX_PAUSE_SHARE = 0.5
# Of the readings between two stretches: so many may speak against one load.
_MAX_AGAINST_SHARE = 0.25
# Readings of a stretch.
_MIN_READINGS = 2
# Of what its upper readings show: readings that show less are left aside.
_MIN_SHOWN_SHARE = 0.5


def find_loads(readings: SensorReadings, looks: int = 1) -> tuple[list[Box], Noise]:
    """Stretches that noise does not explain, and the noise.

    `looks`: at so many recordings like this one.
    """
    alone, noise = _one_by_one(readings, looks)
    return _across(readings, merge_stacked_boxes(alone)), noise


def _one_by_one(readings: SensorReadings, looks: int) -> tuple[list[Box], Noise]:
    first, noise = stretch_search.find_stretches(readings, looks=looks)
    clusters = _clusters(readings)
    if not 0 < len(clusters) <= _MAX_CLUSTERS or sum(
        b - a for a, b in clusters
    ) > _MAX_CLUSTER_SHARE * max(int(readings.judged.sum()), 1):
        return first, noise
    out = list(first)
    shown = np.abs(readings.beyond())
    calm = readings.judged.copy()
    for a, b in clusters:
        calm[max(0, a - 1) : b + 1] = False
    for number, (a, b) in enumerate(clusters):
        start, end = float(readings.lo[a]), float(readings.hi[b - 1])
        if any(box.start < end and box.end > start for box in out):
            continue
        judged = readings.judged.copy()
        for row, (c, d) in enumerate(clusters):
            if row != number:
                judged[max(0, c - 1) : d + 1] = False
        # Where other epochs draw as much, a load shows less of itself: what shows is one stretch,
        # and not noise to itself.
        judged[a + 1 : b - 1] &= shown[a + 1 : b - 1] >= _MIN_SHOWN_SHARE * float(
            np.percentile(shown[a:b], 75)
        )
        alone, quiet = stretch_search.find_stretches(
            replace(readings, judged=judged), looks=looks * len(clusters), quiet=calm
        )
        out += [box for box in alone if box.start < end and box.end > start]
        noise = quiet if quiet.one < noise.one or not first else noise
    return bridged(sorted(out, key=lambda box: box.start)), noise


def merge_stacked_boxes(boxes: Sequence[Box]) -> list[Box]:
    """Boxes that lie on one another, up and up, as one: a load that was told in two layers."""
    out: list[Box] = []
    for box in sorted(boxes, key=lambda box: box.start):
        before = out[-1] if out else None
        if (
            before is None
            or before.watts * box.watts < 0
            or box.start >= before.end - 0.1 * (box.end - box.start)
        ):
            out.append(box)
            continue
        last = max((before, box), key=lambda box: box.end)
        joules = before.joules + box.joules
        half = math.hypot(before.hi_joules - before.lo_joules, box.hi_joules - box.lo_joules) / 2
        length = max(last.end - before.start, 1e-9)
        out[-1] = replace(
            before,
            end=last.end,
            end_within=last.end_within,
            joules=joules,
            lo_joules=joules - half,
            hi_joules=joules + half,
            watts=joules / length,
            lo_watts=(joules - half) / length,
            hi_watts=(joules + half) / length,
            p=min(before.p, box.p),
        )
    return out


def _across(readings: SensorReadings, boxes: list[Box]) -> list[Box]:
    """Boxes of one height as one, where every reading between them may hold as much as well."""
    out: list[Box] = []
    for box in boxes:
        before = out[-1] if out else None
        if before is not None and _ALIKE_HEIGHTS[0] < box.watts / before.watts < _ALIKE_HEIGHTS[1]:
            gap = box.start - before.end
            rows = (
                readings.judged
                & (readings.lo >= before.end - 1e-9)
                & (readings.hi <= box.start + 1e-9)
            )
            height = (before.watts + box.watts) / 2
            rest = readings.watts[rows] - height
            spare = 2 * readings.doubt[rows] + 0.3 * abs(height)
            holds = (rest >= readings.floor[rows] - spare) & (
                rest <= readings.ceiling[rows] + spare
            )
            speak = int((~holds).sum())  # a reading that straddles an epoch's end may lie anywhere
            if gap <= _MAX_PAUSE_SHARE * (box.end - before.start) and speak <= max(
                1, _MAX_AGAINST_SHARE * len(holds)
            ):
                out[-1] = _joined_up(before, box)
                continue
        out.append(box)
    return out


def _joined_up(first: Box, second: Box) -> Box:
    """One box from the start of the first to the end of the second, as high as both."""
    parts = np.array([first.end - first.start, second.end - second.start])
    share = parts / parts.sum()
    watts = float(share @ np.array([first.watts, second.watts]))
    half = (
        float(
            share @ np.array([first.hi_watts - first.lo_watts, second.hi_watts - second.lo_watts])
        )
        / 2
    )
    length = second.end - first.start
    return replace(
        first,
        end=second.end,
        end_within=second.end_within,
        watts=watts,
        lo_watts=watts - half,
        hi_watts=watts + half,
        joules=watts * length,
        lo_joules=(watts - half) * length,
        hi_joules=(watts + half) * length,
        p=min(first.p, second.p),
    )


def _clusters(readings: SensorReadings) -> list[tuple[int, int]]:
    """First and last (exclusive) reading of the stretches whose readings lie far off, all on one
    side.
    """
    beyond: Floats = np.where(readings.judged, readings.beyond(), 0.0)
    judged = beyond[readings.judged]
    if len(judged) < stretch_search.MIN_READINGS:
        return []
    floor = max(
        readings.quantum / 12**0.5, 1e-3 * abs(float(np.median(readings.watts[readings.judged])))
    )
    usual = max(spread(judged), floor)
    far = np.flatnonzero(np.abs(beyond) > _FAR_ERRORS * np.hypot(usual, readings.doubt / 2))
    if not len(far):
        return []
    sign = np.sign(beyond[far])
    cuts = np.flatnonzero((np.diff(far) > _MAX_GAP_READINGS + 1) | (sign[1:] != sign[:-1])) + 1
    return [
        (int(run[0]), int(run[-1]) + 1) for run in np.split(far, cuts) if len(run) >= _MIN_READINGS
    ]
