"""What readings of moments leave open of steps that are no longer than a few of them.

Neighbouring readings that are alike tell of power that seldom changes, and readings up and down in turns of one that evens
itself out. Unless steps beat with the sensor: then they are alike, or in turns, because each meets nearly the same place of a
step as one of those before it, and how far beside the step's mean that lies shows over many of them only. Where the trace shows
such steps, readings are taken to meet them anywhere.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import replace

import numpy as np

from powertui.data.energy import curve as curves
from powertui.data.energy.bridge import summed_up
from powertui.data.energy.curve import Curve
from powertui.data.energy.integrate import Z95, Energy
from powertui.data.model import PS_PER_S, Floats, PowerKind, PowerOnTrace, Steps

_SHORT = 4.0  # refreshes: longer steps are seen in their course
_MANY = 31  # readings that tell what is usual around one: many beats, and little of what is slow
_LEAST = 8  # readings in steps


def widened(found: Energy, power: PowerOnTrace, steps: Steps) -> Energy:
    """The same energy with the sampling error that such steps leave, where it is larger than what its readings told."""
    if found.joules is None or not len(steps):
        return found
    curve = curves.of(power)
    over = _squares(power, curve, steps)
    if over is None:
        return found
    first, last = np.searchsorted(curve.knots, [found.lo_ps, found.hi_ps])
    sampling = curve.refresh_s * math.sqrt(max(float(over[last] - over[first]), 0.0) * (1 - curve.averaged))
    if sampling <= found.sigma_sampling:
        return found
    wider = replace(found, sigma_sampling=sampling)
    return replace(wider, lo=found.joules - Z95 * wider.sigma, hi=found.joules + Z95 * wider.sigma)


_kept: weakref.WeakKeyDictionary[PowerOnTrace, tuple[Steps, Floats | None]] = weakref.WeakKeyDictionary()


def _squares(power: PowerOnTrace, curve: Curve, steps: Steps) -> Floats | None:
    """Up to each reading the squares of how far those within short steps lie beside the ones around them, without noise."""
    known = _kept.get(power)
    if known is None or known[0] is not steps:
        known = _kept[power] = steps, _summed(curve, steps)
    return known[1]


def _summed(curve: Curve, steps: Steps) -> Floats | None:
    if curve.kind is PowerKind.INTERVAL or curve.averaged >= 1 or curve.poll_s or len(curve.knots) < _MANY:
        return None  # a meter that is asked again and again until it changes tells of means
    starts, ends = steps.start, steps.ends()
    row = np.searchsorted(starts, curve.knots, side="right") - 1
    at = np.maximum(row, 0)
    inside = (row >= 0) & (curve.knots < ends[at]) & (ends[at] - starts[at] < _SHORT * curve.refresh_s * PS_PER_S)
    if inside.sum() < _LEAST:
        return None
    upto = np.concatenate([[0.0], np.cumsum(np.where(inside, curve.power, 0.0))])
    many = np.concatenate([[0.0], np.cumsum(inside, dtype=np.float64)])
    rows = np.arange(len(inside))
    low, high = np.maximum(rows - _MANY // 2, 0), np.minimum(rows + _MANY // 2 + 1, len(inside))
    count = many[high] - many[low]
    mean = (upto[high] - upto[low]) / np.maximum(count, 1.0)
    apart = (curve.power - mean) ** 2 * count / np.maximum(count - 1, 1.0) - curve.noise_w**2
    return summed_up(np.where(inside, apart, 0.0))
