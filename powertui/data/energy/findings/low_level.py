"""Loads above a level, where one was there for so long that it seems to be the level itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings import overlapping_loads
from powertui.data.energy.findings.noise import Noise, centre
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import SensorReadings, covered_share

# So large a share of low readings may be the usual ones as well. Chosen, not measured.
_MIN_USUAL_SHARE = 0.3
# Stretches whose heights differ by less have one cause. Chosen, not measured.
_MIN_ALIKE_HEIGHT = 0.6


class LoadsAbove(NamedTuple):
    """Loads, the noise, and the readings with the level that they were held against."""

    readings: SensorReadings
    boxes: list[Box]
    noise: Noise


def loads_above_level(readings: SensorReadings, looks: int = 1) -> LoadsAbove:
    """The loads against this expectation, or against its low level where that fits as well."""
    boxes, noise = overlapping_loads.find_loads(readings, looks)
    lower = _lower(readings, boxes)
    if lower is not None:
        lower_boxes, lower_noise = overlapping_loads.find_loads(lower, looks)
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
    alike = [
        box for box in down if _MIN_ALIKE_HEIGHT < box.watts / longest.watts < 1 / _MIN_ALIKE_HEIGHT
    ]
    shares = [covered_share(readings, box.start, box.end) for box in alike]
    low = np.max(shares, axis=0) > 0.5
    inside = readings.judged & (readings.floor == readings.ceiling)
    if (low & inside).sum() < max(1, _MIN_USUAL_SHARE * inside.sum()):
        return None
    # By how far these readings themselves are below it: the height of a box is how far they are
    # below what is beside them, too.
    shift = centre(readings.beyond()[low & inside], readings.doubt[low & inside])
    by = np.where(inside, shift, 0.0)
    return replace(readings, floor=readings.floor + by, ceiling=readings.ceiling + by)
