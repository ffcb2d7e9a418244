"""Several stretches in one short recording hide each other, for each is noise to the others.

Those that stand clearly apart are looked at one by one, the others set aside meanwhile, and the
number of looks is paid for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings import stretch_search
from powertui.data.energy.findings.finding_rules import alike_heights
from powertui.data.energy.findings.power_stretch import Box, one_load
from powertui.data.energy.findings.readings import SensorReadings, covered_share
from powertui.data.energy.findings.residual_noise import ResidualNoise, centre
from powertui.data.energy.robust_stats import noise_floor, spread
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.named_tuples import NamedTuple

# Stretches that are clearly apart: if there are more, the noise has such tails. This and the others
# here are chosen, not measured.
_MAX_CLUSTERS = settings.MIN_ALIKE_VALUES
# Of the readings, all clusters together.
_MAX_CLUSTER_SHARE = settings.LESSER_SHARE
# Errors from what is usual.
_FAR_ERRORS = settings.LARGEST_CHANCE_SIGMAS
# Readings within a stretch that need not show it.
_MAX_GAP_READINGS = 1
# Readings of a stretch.
_MIN_READINGS = settings.CONFIRMING_VALUES
# Of what its upper readings show: readings that show less are set aside.
_MIN_SHOWN_SHARE = settings.MAJORITY_SHARE


def find_loads(readings: SensorReadings, looks: int) -> tuple[list[Box], ResidualNoise]:
    """Stretches that noise does not explain, and the noise.

    `looks`: at so many recordings like this one.
    """
    alone, noise = _one_by_one(readings, looks)
    return one_load(alone, readings), noise


def _one_by_one(readings: SensorReadings, looks: int) -> tuple[list[Box], ResidualNoise]:
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
            alone,
            looks=looks * len(clusters),
            quiet=calm,
        )
        boxes += [box for box in found_alone if box.start < end and box.end > start]
        if quiet.single < noise.single or not together:
            noise = quiet
    return one_load(boxes, readings), noise


def _are_few(clusters: Sequence[_Cluster], readings: SensorReadings) -> bool:
    """Whether these are stretches, and not the tails of noise."""
    if len(clusters) > _MAX_CLUSTERS:
        return False
    rows = sum(cluster.end - cluster.first for cluster in clusters)
    judged_count = max(int(readings.judged.sum()), 1)
    return rows <= _MAX_CLUSTER_SHARE * judged_count


def _judged_without(readings: SensorReadings, clusters: Sequence[_Cluster]) -> Bools:
    """The judged readings that are in none of these, and not beside them."""
    judged: Bools = readings.judged.copy()
    for cluster in clusters:
        first = max(0, cluster.first - 1)
        judged[first : cluster.end + 1] = False
    return judged


def _alone(
    readings: SensorReadings,
    cluster: _Cluster,
    clusters: Sequence[_Cluster],
) -> SensorReadings:
    """The readings with the other clusters set aside."""
    others = [another for another in clusters if another is not cluster]
    judged = _judged_without(readings, others)
    # Where other epochs draw as much, a load shows less of itself: what shows is one stretch,
    # and not noise to itself.
    shown = np.abs(readings.beyond())
    shown_of_cluster = shown[cluster.first : cluster.end]
    least = _MIN_SHOWN_SHARE * percentile_of_column(shown_of_cluster, 75)
    inner = slice(cluster.first + 1, cluster.end - 1)
    judged[inner] &= shown[inner] >= least
    return replace(readings, judged=judged)


class _Cluster(NamedTuple):
    """Neighboring readings that are far off, all on one side."""

    first: int
    end: int  # past the last


def _clusters(readings: SensorReadings) -> list[_Cluster]:
    """The clusters of several readings each."""
    is_judged = readings.judged
    beyond: Floats = np.where(is_judged, readings.beyond(), 0.0)
    judged = beyond[is_judged]
    if len(judged) < stretch_search.MIN_READINGS:
        return []
    usual_w = abs(median_of_column(readings.watts[is_judged]))
    floor = noise_floor(readings.quantum, usual_w)
    noise_w = max(spread(judged), floor)
    error = np.hypot(noise_w, readings.doubt / 2)
    is_far = np.abs(beyond) > _FAR_ERRORS * error
    far = np.flatnonzero(is_far)
    if not len(far):
        return []
    sign = np.sign(beyond[far])
    is_gap = np.diff(far) > _MAX_GAP_READINGS + 1
    changes_side = sign[1:] != sign[:-1]
    cuts = np.flatnonzero(is_gap | changes_side) + 1
    clusters = []
    for rows in np.split(far, cuts):
        if len(rows) >= _MIN_READINGS:
            cluster = _Cluster(first=int(rows[0]), end=int(rows[-1]) + 1)
            clusters.append(cluster)
    return clusters


# So large a share of low readings may be the usual ones as well. Chosen, not measured.
_MIN_USUAL_SHARE = settings.LESSER_SHARE


class LoadsAbove(NamedTuple):
    """Loads, the noise, and the readings with the level that they were held against."""

    readings: SensorReadings
    boxes: list[Box]
    noise: ResidualNoise


def loads_above_level(readings: SensorReadings, looks: int) -> LoadsAbove:
    """The loads against this expectation, or against its low level where that fits as well."""
    boxes, noise = find_loads(readings, looks)
    lower = _lower(readings, boxes)
    if lower is not None:
        lower_boxes, lower_noise = find_loads(lower, looks)
        if lower_boxes and all(box.watts > 0 for box in lower_boxes):
            return LoadsAbove(lower, lower_boxes, lower_noise)
    return LoadsAbove(readings, boxes, noise)


def _lower(readings: SensorReadings, boxes: Sequence[Box]) -> SensorReadings | None:
    """The same compared with the level of its low stretches; None where there are no such.

    They have to be a good part of it. Foreign load adds, and a load that is there for half of a run
    is no more usual than its end.
    """
    down = [box for box in boxes if box.watts < 0]
    if not down:
        return None
    longest = max(down, key=lambda box: box.end - box.start)
    shares = []
    for box in down:
        if alike_heights(box.watts, longest.watts):
            share = covered_share(readings.lo, readings.hi, box.start, box.end)
            shares.append(share)
    is_low = np.max(shares, axis=0) > 0.5
    inside = readings.judged & (readings.floor == readings.ceiling)
    low = is_low & inside
    min_low = _MIN_USUAL_SHARE * inside.sum()
    if low.sum() < max(1, min_low):
        return None
    # By how far these readings themselves are below it: the height of a box is how far they are
    # below what is beside them, too.
    shift = centre(readings.beyond()[low], readings.doubt[low])
    by = np.where(inside, shift, 0.0)
    return replace(
        readings,
        floor=readings.floor + by,
        ceiling=readings.ceiling + by,
    )
