"""What could have been found: the shortest burst of so many watts that would stand out, nine times in ten.

Bursts are laid, in thought, into the run's own readings at many moments, and are held to the very rules that findings are
held to: the noise of this run's residuals, what is not known of what was expected, and the size from which one matters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui.data.energy.findings import boxes
from powertui.data.energy.findings.finding import Limit
from powertui.data.energy.findings.noise import Noise, chance
from powertui.data.energy.findings.readings import Readings, covered
from powertui.data.model import Floats, Int64s

WATTS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0)
_TIMES = 0.9  # of all moments
_MOMENTS = 60
_MARGIN = 1.28  # errors more than the least, so that noise does not hide it more often
_TOLD = 3  # limits in the sentence


def limits(readings: Readings, noise: Noise, span: tuple[float, float], least_w: Floats, joules: float) -> tuple[Limit, ...]:
    """For ever larger bursts the shortest that would be found in a span (s on the trace).

    `least_w` and `joules`: what a finding must have to matter, in W (of each reading) and J.
    """
    judged = np.flatnonzero(readings.judged)
    if len(judged) < boxes.LEAST or span[1] <= span[0]:
        return ()
    width = float(np.median(readings.hi - readings.lo))
    pace = float(np.median(np.diff(readings.hi)))
    shortest = max(width, pace) / 4
    lengths = np.geomspace(shortest, max(0.4 * (span[1] - span[0]), 2 * shortest), 24)
    needed = np.array([_needed(readings, noise, judged, span, float(length), least_w, joules) for length in lengths])
    needed = np.minimum.accumulate(needed)
    found: list[Limit] = []
    for watts in WATTS:
        enough = np.flatnonzero(needed <= watts)
        if len(enough) and (not found or lengths[enough[0]] < 0.9 * found[-1].seconds):
            found.append(Limit(watts, float(lengths[enough[0]])))
        if len(enough) and enough[0] == 0:
            break
    return tuple(found)


def sentence(found: Sequence[Limit], span_s: float) -> str:
    """The limits in words."""
    if not found:
        return f"no burst shorter than {0.4 * span_s:.3g} s would have been found here"
    parts = [f"of {one.watts:.0f} W from {_seconds(one.seconds)} on" for one in found[:_TOLD]]
    return f"this sensor and this run would show a burst {', '.join(parts)}"


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def _needed(
    readings: Readings, noise: Noise, judged: Int64s, span: tuple[float, float], length: float,
    least_w: Floats, joules: float,
) -> float:  # fmt: skip
    """The watts that a burst of this length needs to be found at nine of ten moments."""
    starts = np.linspace(span[0], span[1] - length, _MOMENTS)
    watts = np.full(len(starts), np.inf)
    asked = _score_asked(noise)
    for number, start in enumerate(starts):
        share = covered(readings, start, start + length)[judged]
        rows = np.flatnonzero(share > 0.02)
        if len(rows) and (share > 0.5).sum() >= (noise.shortest if noise.shortest > 1 else 0):
            part, doubt = share[rows], readings.doubt[judged[rows]]
            watts[number] = max(asked / _strength(part, doubt, noise), float(np.median(least_w[judged[rows]])), joules / length)
    return float(np.quantile(watts, _TIMES, method="higher"))


def _score_asked(noise: Noise) -> float:
    """The errors that a stretch must lie off to be told."""
    low, high = boxes.SURE, 60.0
    freedom = max(noise.blocks - 2, 1.0)
    if chance(low, freedom, noise.blocks) > boxes.ALPHA:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if chance(middle, freedom, noise.blocks) <= boxes.ALPHA else (middle, high)
        low = high
    return low + _MARGIN


def _strength(share: Floats, doubt: Floats, noise: Noise) -> float:
    """Errors per watt of a burst that shows in readings by these shares: of the part of them that the search would choose."""
    weight = 1.0 / (noise.one**2 + doubt**2)
    best, at = 0.0, (0, len(share))
    sums, weights = (np.concatenate([[0.0], np.cumsum(x)]) for x in (weight * share, weight))
    for first in range(min(3, len(share))):
        for last in range(max(first + 1, len(share) - 2), len(share) + 1):
            gain = (sums[last] - sums[first]) / math.sqrt(weights[last] - weights[first])
            if gain > best:
                best, at = float(gain), (first, last)
    first, last = at
    w = weight[first:last]
    mean, shared = float(w @ share[first:last] / w.sum()), float(w @ doubt[first:last] / w.sum())
    return mean / math.hypot(noise.of(last - first), shared)
