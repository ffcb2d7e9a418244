"""Several stretches in one short recording hide each other, for each is noise to the others.

Those that stand clearly apart are looked at one by one, the others set aside meanwhile, and the
number of looks is paid for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings import stretch_search
from powertui.data.energy.findings.noise import Noise, spread
from powertui.data.energy.findings.power_stretch import Box, bridged
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.model import Bools, Floats

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
# Of what its upper readings show: readings that show less are set aside.
_MIN_SHOWN_SHARE = 0.5
# Of its own length: so much of a box may be past the end of the one that it is on.
_MAX_STICKING_OUT = 0.1
# Of the height of two boxes: what a reading between them may be off by and still be of their load.
_SPARE_SHARE = 0.3


def find_loads(readings: SensorReadings, looks: int = 1) -> tuple[list[Box], Noise]:
    """Stretches that noise does not explain, and the noise.

    `looks`: at so many recordings like this one.
    """
    alone, noise = _one_by_one(readings, looks)
    return _across(readings, merge_stacked_boxes(alone)), noise


def _one_by_one(readings: SensorReadings, looks: int) -> tuple[list[Box], Noise]:
    """Stretches that were found together, and those that only show alone."""
    together, noise = stretch_search.find_stretches(readings, looks=looks)
    clusters = _clusters(readings)
    if not clusters or not _are_few(clusters, readings):
        return together, noise
    boxes = list(together)
    calm = _judged_without(readings, clusters)
    for cluster in clusters:
        start = float(readings.lo[cluster.first])
        end = float(readings.hi[cluster.end - 1])
        if any(box.start < end and box.end > start for box in boxes):
            continue
        alone = _alone(readings, cluster, clusters)
        found_alone, quiet = stretch_search.find_stretches(
            alone, looks=looks * len(clusters), quiet=calm
        )
        boxes += [box for box in found_alone if box.start < end and box.end > start]
        if quiet.one < noise.one or not together:
            noise = quiet
    return bridged(sorted(boxes, key=lambda box: box.start)), noise


def _are_few(clusters: Sequence[_Cluster], readings: SensorReadings) -> bool:
    """Whether these are stretches, and not the tails of noise."""
    if len(clusters) > _MAX_CLUSTERS:
        return False
    rows = sum(cluster.end - cluster.first for cluster in clusters)
    return rows <= _MAX_CLUSTER_SHARE * max(int(readings.judged.sum()), 1)


def _judged_without(readings: SensorReadings, clusters: Sequence[_Cluster]) -> Bools:
    """The judged readings that are in none of these, and not beside them."""
    judged: Bools = readings.judged.copy()
    for cluster in clusters:
        judged[max(0, cluster.first - 1) : cluster.end + 1] = False
    return judged


def _alone(
    readings: SensorReadings, cluster: _Cluster, clusters: Sequence[_Cluster]
) -> SensorReadings:
    """The readings with the other clusters set aside."""
    others = [another for another in clusters if another is not cluster]
    judged = _judged_without(readings, others)
    # Where other epochs draw as much, a load shows less of itself: what shows is one stretch,
    # and not noise to itself.
    shown = np.abs(readings.beyond())
    least = _MIN_SHOWN_SHARE * float(np.percentile(shown[cluster.first : cluster.end], 75))
    inner = slice(cluster.first + 1, cluster.end - 1)
    judged[inner] &= shown[inner] >= least
    return replace(readings, judged=judged)


def merge_stacked_boxes(boxes: Sequence[Box]) -> list[Box]:
    """Boxes that are on one another, up and up, as one: a load that was found in two layers."""
    merged: list[Box] = []
    for box in sorted(boxes, key=lambda box: box.start):
        if merged and _is_stacked(merged[-1], box):
            merged[-1] = _stacked(merged[-1], box)
        else:
            merged.append(box)
    return merged


def _is_stacked(before: Box, box: Box) -> bool:
    """Whether a box begins within the one before it, on the same side."""
    latest_start = before.end - _MAX_STICKING_OUT * (box.end - box.start)
    return before.watts * box.watts >= 0 and box.start < latest_start


def _stacked(before: Box, box: Box) -> Box:
    """One box over both, with the energy of both."""
    last = max((before, box), key=lambda box: box.end)
    joules = before.joules + box.joules
    half = math.hypot(before.hi_joules - before.lo_joules, box.hi_joules - box.lo_joules) / 2
    length = max(last.end - before.start, 1e-9)
    return replace(
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


def _across(readings: SensorReadings, boxes: list[Box]) -> list[Box]:
    """Boxes of one height as one, where every reading between them may hold as much as well."""
    out: list[Box] = []
    for box in boxes:
        before = out[-1] if out else None
        if before is not None and _is_one_load(readings, before, box):
            out[-1] = _joined_up(before, box)
        else:
            out.append(box)
    return out


def _is_one_load(readings: SensorReadings, before: Box, box: Box) -> bool:
    """Whether two boxes are as high as each other, and hardly a reading between them speaks against
    one load.
    """
    lowest, highest = _ALIKE_HEIGHTS
    if not lowest < box.watts / before.watts < highest:
        return False
    if box.start - before.end > _MAX_PAUSE_SHARE * (box.end - before.start):
        return False
    after_first = readings.lo >= before.end - 1e-9
    before_second = readings.hi <= box.start + 1e-9
    rows = readings.judged & after_first & before_second
    height = (before.watts + box.watts) / 2
    rest = readings.watts[rows] - height
    spare = 2 * readings.doubt[rows] + _SPARE_SHARE * abs(height)
    is_high_enough = rest >= readings.floor[rows] - spare
    is_low_enough = rest <= readings.ceiling[rows] + spare
    against = int((~(is_high_enough & is_low_enough)).sum())
    # A reading that straddles an epoch's end may be anywhere.
    return against <= max(1, _MAX_AGAINST_SHARE * len(rest))


def _joined_up(first: Box, second: Box) -> Box:
    """One box from the start of the first to the end of the second, as high as both."""
    lengths = np.array([first.end - first.start, second.end - second.start])
    share = lengths / lengths.sum()
    widths = np.array([first.hi_watts - first.lo_watts, second.hi_watts - second.lo_watts])
    watts = float(share @ np.array([first.watts, second.watts]))
    half = float(share @ widths) / 2
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


class _Cluster(NamedTuple):
    """Neighboring readings that are far off, all on one side."""

    first: int
    end: int  # past the last


def _clusters(readings: SensorReadings) -> list[_Cluster]:
    """The clusters of several readings each."""
    beyond: Floats = np.where(readings.judged, readings.beyond(), 0.0)
    judged = beyond[readings.judged]
    if len(judged) < stretch_search.MIN_READINGS:
        return []
    usual_w = abs(float(np.median(readings.watts[readings.judged])))
    floor = max(readings.quantum / 12**0.5, 1e-3 * usual_w)
    noise_w = max(spread(judged), floor)
    error = np.hypot(noise_w, readings.doubt / 2)
    far = np.flatnonzero(np.abs(beyond) > _FAR_ERRORS * error)
    if not len(far):
        return []
    sign = np.sign(beyond[far])
    is_gap = np.diff(far) > _MAX_GAP_READINGS + 1
    cuts = np.flatnonzero(is_gap | (sign[1:] != sign[:-1])) + 1
    clusters = []
    for rows in np.split(far, cuts):
        if len(rows) >= _MIN_READINGS:
            clusters.append(_Cluster(int(rows[0]), int(rows[-1]) + 1))
    return clusters
