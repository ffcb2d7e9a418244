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

_MOST = 5  # stretches that stand apart: more of them, and it is the noise that has such tails
_SHARE = 0.3  # of the readings, all of them together
_FAR = 6.0  # errors from what is usual
_GAP = 1  # readings within a stretch that need not show it
_ALIKE = (0.6, 1.7)  # heights of two stretches that may be one
_PAUSE = 0.5  # of both together: so long a time between them may show nothing
_STRADDLE = 0.25  # of the readings between two stretches
_LEAST = 2  # readings of a stretch
_SHOWN = 0.5  # of what its upper readings show: those that show less are left aside


def find_loads(readings: SensorReadings, looks: int = 1) -> tuple[list[Box], Noise]:
    """Stretches that noise does not explain, and the noise.

    `looks`: at so many recordings like this one.
    """
    alone, noise = _one_by_one(readings, looks)
    return _across(readings, merge_stacked_boxes(alone)), noise


def _one_by_one(readings: SensorReadings, looks: int) -> tuple[list[Box], Noise]:
    first, noise = stretch_search.find_stretches(readings, looks=looks)
    clusters = _clusters(readings)
    if not 0 < len(clusters) <= _MOST or sum(b - a for a, b in clusters) > _SHARE * max(
        int(readings.judged.sum()), 1
    ):
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
        for other, (c, d) in enumerate(clusters):
            if other != number:
                judged[max(0, c - 1) : d + 1] = False
        # Where other epochs draw as much, a load shows less of itself: what shows is one stretch,
        # and not noise to itself.
        judged[a + 1 : b - 1] &= shown[a + 1 : b - 1] >= _SHOWN * float(
            np.percentile(shown[a:b], 75)
        )
        alone, quiet = stretch_search.find_stretches(
            replace(readings, judged=judged), looks=looks * len(clusters), quiet=calm
        )
        out += [box for box in alone if box.start < end and box.end > start]
        noise = quiet if quiet.one < noise.one or not first else noise
    return bridged(sorted(out, key=lambda one: one.start)), noise


def merge_stacked_boxes(found: Sequence[Box]) -> list[Box]:
    """Boxes that lie on one another, up and up, as one: a load that was told in two layers."""
    out: list[Box] = []
    for box in sorted(found, key=lambda one: one.start):
        before = out[-1] if out else None
        if (
            before is None
            or before.watts * box.watts < 0
            or box.start >= before.end - 0.1 * (box.end - box.start)
        ):
            out.append(box)
            continue
        last = max((before, box), key=lambda one: one.end)
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


def _across(readings: SensorReadings, found: list[Box]) -> list[Box]:
    """Boxes of one height as one, where every reading between them may hold as much as well."""
    out: list[Box] = []
    for box in found:
        before = out[-1] if out else None
        if before is not None and _ALIKE[0] < box.watts / before.watts < _ALIKE[1]:
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
            if gap <= _PAUSE * (box.end - before.start) and speak <= max(1, _STRADDLE * len(holds)):
                out[-1] = _joined_up(before, box)
                continue
        out.append(box)
    return out


def _joined_up(one: Box, other: Box) -> Box:
    """One box from the start of the first to the end of the second, as high as both."""
    parts = np.array([one.end - one.start, other.end - other.start])
    share = parts / parts.sum()
    watts = float(share @ np.array([one.watts, other.watts]))
    half = (
        float(share @ np.array([one.hi_watts - one.lo_watts, other.hi_watts - other.lo_watts])) / 2
    )
    length = other.end - one.start
    return replace(
        one,
        end=other.end,
        end_within=other.end_within,
        watts=watts,
        lo_watts=watts - half,
        hi_watts=watts + half,
        joules=watts * length,
        lo_joules=(watts - half) * length,
        hi_joules=(watts + half) * length,
        p=min(one.p, other.p),
    )


def _clusters(readings: SensorReadings) -> list[tuple[int, int]]:
    """First and last (exclusive) reading of the stretches whose readings lie far off, all on one
    side.
    """
    beyond: Floats = np.where(readings.judged, readings.beyond(), 0.0)
    known = beyond[readings.judged]
    if len(known) < stretch_search.MIN_READINGS:
        return []
    floor = max(
        readings.quantum / 12**0.5, 1e-3 * abs(float(np.median(readings.watts[readings.judged])))
    )
    usual = max(spread(known), floor)
    far = np.flatnonzero(np.abs(beyond) > _FAR * np.hypot(usual, readings.doubt / 2))
    if not len(far):
        return []
    sign = np.sign(beyond[far])
    cuts = np.flatnonzero((np.diff(far) > _GAP + 1) | (sign[1:] != sign[:-1])) + 1
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(far, cuts) if len(run) >= _LEAST]
