"""What could have been found: the shortest burst of so many watts that would stand out, nine times in ten.

Bursts are laid, in thought, into the run's own readings at many moments, and are held to the very rules that findings are
held to: the noise of this run's residuals, what is not known of what was expected, and the size from which one matters.
Two limits are told: from where on a burst is a finding, and from where on it is seen at all, as a smaller difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings import boxes
from powertui.data.energy.findings.finding import DetectionLimit
from powertui.data.energy.findings.noise import Noise
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.model import Bools, Floats, Int64s

WATTS = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0, 5000.0)
_TIMES = 0.92  # of all bursts, wherever they lie and whatever the noise does: what is told is nine in ten
SHORTEST_S = 0.25  # a smaller difference that is shorter is not told: it may come out half as long as it was
_MOMENTS = 40
_LENGTHS = 16
_LONGEST = 0.4  # of the span
_TOLD = 3  # limits in the sentence
_TELLING = 0.8  # of a limit before: a shorter one is worth telling
_LEAST_SHARE = 0.02  # of a reading's window, to show anything
_ERROR = np.vectorize(math.erf, otypes=[np.float64])


class Limits(NamedTuple):
    """For ever larger bursts the shortest that would be …"""

    findings: tuple[DetectionLimit, ...]  # … a finding
    seen: tuple[DetectionLimit, ...]  # … seen, if only as a smaller difference


class Strong(NamedTuple):
    """A burst that matters however long the run is: so many watts (at each reading), for so long."""

    watts: Floats
    seconds: float


class _Moment(NamedTuple):
    """A burst of one length at one moment."""

    strength: float  # errors per watt of the stretch that would be looked at
    asked: float  # errors that it needs
    least: float  # watts that it needs to matter


def limits(
    readings: SensorReadings, noise: Noise, span: tuple[float, float], least_w: Floats, joules: float, looks: int = 1,
    strong: Strong | None = None, longest: float = math.inf,
) -> Limits:  # fmt: skip
    """What would be found in a span (s on the trace).

    `least_w` and `joules`: what a finding must have to matter, in W (of each reading) and J; or it is `strong`.
    `longest`: s that are tried.
    """
    judged = np.flatnonzero(readings.judged)
    if len(judged) < boxes.LEAST or span[1] <= span[0]:
        return Limits((), ())
    width = float(np.median(readings.hi - readings.lo))
    pace = float(np.median(np.diff(readings.hi)))
    shortest = max(width, pace) / 4
    lengths = np.geomspace(shortest, max(min(_LONGEST * (span[1] - span[0]), longest), 2 * shortest), _LENGTHS)
    laid = _Laid(readings, judged, noise, looks)
    needed: dict[bool, list[float]] = {True: [], False: []}
    for length in lengths.tolist():
        starts = np.linspace(span[0], span[1] - length, _MOMENTS)
        either = strong.watts if strong is not None and length >= strong.seconds else None
        moments = [laid.at(start, length, least_w, joules, either) for start in starts.tolist()]
        for matters, found in needed.items():
            found.append(_needed(moments, matters, noise.most) if matters or length >= 2 * SHORTEST_S else math.inf)
    return Limits(*(_told(lengths, np.minimum.accumulate(needed[matters])) for matters in (True, False)))


def sentence(found: Limits, span_s: float) -> str:
    """The limits in words."""
    if not found.seen:
        return f"no burst shorter than {_LONGEST * span_s:.3g} s would have been found here"
    text = "this sensor and this run would show a burst of "
    if not found.findings:
        return f"{text}{_listed(found.seen, _TOLD)} on, as a smaller difference only"
    smaller = [one for one in found.seen if one.watts < 0.9 * found.findings[0].watts]
    text += _listed(found.findings, _TOLD - bool(smaller))
    return f"{text}; as a smaller difference {_listed(smaller, 1)} on" if smaller else f"{text} on"


def _listed(found: Sequence[DetectionLimit], most: int) -> str:
    """A few of them: the first, and each that is clearly shorter than the one before."""
    few: list[DetectionLimit] = []
    for one in found:
        if not few or one.seconds <= 0.5 * few[-1].seconds:
            few.append(one)
    return ", ".join(f"{one.watts:.0f} W from {_seconds(one.seconds)}" for one in few[:most])


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def _told(lengths: Floats, needed: Floats) -> tuple[DetectionLimit, ...]:
    """The shortest length for each of the told watts, read between the lengths that were tried."""
    found: list[DetectionLimit] = []
    for watts in WATTS:
        enough = np.flatnonzero(needed <= watts)
        if not len(enough):
            continue
        at = int(enough[0])
        seconds = float(lengths[at])
        if at and math.isfinite(needed[at - 1]) and needed[at] < needed[at - 1]:
            part = math.log(needed[at - 1] / watts) / math.log(needed[at - 1] / needed[at])
            seconds = float(lengths[at - 1] * (lengths[at] / lengths[at - 1]) ** part)
        if not found or seconds < _TELLING * found[-1].seconds:
            found.append(DetectionLimit(watts, seconds))
        if at == 0:
            break
    return tuple(found)


def _needed(moments: Sequence[_Moment], matters: bool, most: float) -> float:
    """The watts at which so many of these bursts would be found. `most`: watts that a single reading counts for."""
    strength, asked, least = (np.array(column) for column in zip(*moments, strict=True))
    if (strength > 0).mean() < _TIMES:
        return math.inf

    def share(watts: float) -> float:
        errors = strength * min(watts, most) - asked
        if matters:
            errors = np.where(
                np.isfinite(least), np.minimum(errors, strength * (watts - np.where(np.isfinite(least), least, 0.0))), -9.0
            )
        return float((0.5 + 0.5 * _ERROR(np.clip(errors, -9, 9) / math.sqrt(2))).mean())

    low, high = 0.0, 1.0
    while share(high) < _TIMES:
        low, high = high, 2 * high
        if high > 1e5:
            return math.inf
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if share(middle) >= _TIMES else (middle, high)
    return high


class _Laid:
    """Bursts laid into the readings that are judged."""

    def __init__(self, readings: SensorReadings, judged: Int64s, noise: Noise, looks: int) -> None:
        self.noise = noise
        self.rows = judged
        self.lo, self.hi = readings.lo[judged], readings.hi[judged]
        self.reach = float((self.hi - self.lo).max())
        self.weight = 1.0 / (noise.one**2 + readings.doubt[judged] ** 2)
        ways = readings.ways[:, judged] if readings.ways.size else np.empty((0, len(judged)))
        self.shared = np.vstack([readings.blunt[judged][None], ways]) * self.weight
        self.asked = _asked(noise, looks)

    def at(self, start: float, length: float, least_w: Floats, joules: float, strong_w: Floats | None) -> _Moment:
        """A burst from `start` on."""
        first = int(np.searchsorted(self.hi, start))
        last = int(np.searchsorted(self.lo, start + length))
        near = slice(first, last)
        lo, hi = self.lo[near], self.hi[near]
        share = np.clip(np.minimum(hi, start + length) - np.maximum(lo, start), 0, None) / np.maximum(hi - lo, 1e-12)
        rows = np.flatnonzero(share > _LEAST_SHARE) + first
        if not len(rows) or (self.noise.shortest > 1 and (share > 0.5).sum() < self.noise.shortest):
            return _Moment(0.0, math.inf, math.inf)
        part, rows = share[rows - first], rows
        best = 0.0
        for least in (_LEAST_SHARE, 0.3, 0.6, 0.95):
            inside: Bools = part > least
            if inside.any():
                best = max(best, self._strength(part[inside], rows[inside]))
        least = max(float(np.median(least_w[self.rows[rows]])), joules / length)
        if strong_w is not None:
            least = min(least, float(np.median(strong_w[self.rows[rows]])))
        return _Moment(best, self.asked, least)

    def _strength(self, share: Floats, rows: Int64s) -> float:
        """Errors per watt of a burst that shows in these readings by these shares."""
        weight = self.weight[rows]
        total = float(weight.sum())
        shared = self.shared[:, rows].sum(axis=1) / total
        return float(weight @ share) / total / math.sqrt(self.noise.of(len(rows)) ** 2 + float(shared @ shared))


def _asked(noise: Noise, looks: int) -> float:
    """The errors that a stretch must lie off to be told: `noise.chance` the other way round."""
    freedom = max(noise.blocks - 2, 1.0)
    many = 4 * noise.blocks * max(1.0, math.log(noise.blocks)) * looks
    normal = -NormalDist().inv_cdf(min(boxes.ALPHA / many, 0.4)) * (8 * freedom + 3) / (8 * freedom + 1)
    return max(boxes.SURE, math.sqrt(freedom * math.expm1(min(normal * normal / freedom, 50.0))))
