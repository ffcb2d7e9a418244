"""What could have been found: the shortest burst of so many watts that would show, at nine in ten.

Bursts are added, in thought, to the run's own readings at many moments, and are judged by the very
rules that findings are judged by: the noise of this run's residuals, what is not known of what was
expected, and the size from which one matters. There are two limits: from where on a burst is a
finding, and from where on it shows at all, as a smaller difference.

Where other work than usual ran (compiling, a checkpoint), hardly anything can be called foreign.
Nothing is promised of such stretches: they are named, and the limits are about the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui import units
from powertui.data.energy.findings import stretch_search
from powertui.data.energy.findings.finding import DetectionLimit
from powertui.data.energy.findings.noise import Noise
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.model import Bools, Floats, Int64s

_WATTS = (
    1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0,
    1000.0, 2000.0, 5000.0,
)  # fmt: skip
# Of all bursts, wherever they are and whatever the noise does, this share must be found. The text
# promises nine in ten; the rest is for what the estimate itself is off by. Chosen.
_FOUND_SHARE = 0.92
# A smaller difference that is shorter is not listed: it may come out half as long as it was.
SHORTEST_S = 0.25
_MOMENTS = 60  # at which a burst of one length is tried
_LENGTHS = 16  # of bursts that are tried
_MAX_LENGTH_SHARE = 0.4  # of the span
_LISTED_LIMITS = 2  # in the sentence
_ALL_OF_IT = 0.985  # of the time: the rest is not worth the words
_SHORTER_SHARE = 0.8  # of the limit before: from there on another limit is worth listing
_MIN_WINDOW_SHARE = 0.02  # of a reading's window, for a burst to show in it
_UNUSUAL_DOUBTS = 4.0  # times the usual doubt: that of other work
_MAX_DOUBTFUL_SHARE = 0.5  # of a run: where more of it is so doubtful, that is what is usual
_MIN_OUTSIDE_SHARE = 2 / 3  # of a burst must be where something is promised
_MIN_MOMENTS = 15  # of the tried ones must be left
_ERF = np.vectorize(math.erf, otypes=[np.float64])


class Limits(NamedTuple):
    """For ever larger bursts the shortest that would be …"""

    findings: tuple[DetectionLimit, ...]  # … a finding
    seen: tuple[DetectionLimit, ...]  # … seen, if only as a smaller difference
    apart: tuple[tuple[float, float], ...] = ()  # stretches (s) of which nothing is promised


class StrongBurst(NamedTuple):
    """A burst that matters however long the run is: so many watts (at each reading), for so
    long.
    """

    watts: Floats
    seconds: float


class _Moments(NamedTuple):
    """Bursts of one length at many moments."""

    strength: (
        Floats  # errors per watt of the stretch that would be looked at; 0: it shows in no reading
    )
    least: Floats  # watts that it needs to matter


def limits(
    readings: SensorReadings,
    noise: Noise,
    span: tuple[float, float],
    least_w: Floats,
    joules: float,
    looks: int = 1,
    strong: StrongBurst | None = None,
    longest: float = math.inf,
    apart: Sequence[tuple[float, float]] = (),
) -> Limits:
    """What would be found in a span (s on the trace).

    `least_w` and `joules`: what a finding must have to matter, in W (of each reading) and J; or it
    is `strong`. `longest`: s that are tried. `apart`: stretches of which nothing is promised.
    """
    judged = np.flatnonzero(readings.judged)
    if len(judged) < stretch_search.MIN_READINGS or span[1] <= span[0]:
        return Limits((), ())
    width = float(np.median(readings.hi - readings.lo))
    pace = float(np.median(np.diff(readings.hi)))
    shortest = max(width, pace) / 4
    longest = min(_MAX_LENGTH_SHARE * (span[1] - span[0]), longest)
    lengths = np.geomspace(shortest, max(longest, 2 * shortest), _LENGTHS)
    bursts = _Bursts(readings, judged, noise, looks)
    # The watts that a burst of each length needs: to be a finding, and to show at all.
    for_finding: list[float] = []
    for_showing: list[float] = []
    for length in lengths.tolist():
        starts = np.linspace(span[0], span[1] - length, _MOMENTS)
        starts = starts[_outside(starts, length, apart) >= _MIN_OUTSIDE_SHARE]
        if len(starts) < _MIN_MOMENTS:
            for_finding.append(math.inf)
            for_showing.append(math.inf)
            continue
        strong_w = strong.watts if strong is not None and length >= strong.seconds else None
        moments = bursts.at(starts, length, least_w, joules, strong_w)
        for_finding.append(_needed(moments, bursts.min_errors, True, noise.most))
        watts = math.inf
        if length >= 2 * SHORTEST_S:
            watts = _needed(moments, bursts.min_errors, False, noise.most)
        for_showing.append(watts)
    return Limits(
        findings=_by_watts(lengths, np.minimum.accumulate(for_finding)),
        seen=_by_watts(lengths, np.minimum.accumulate(for_showing)),
        apart=tuple(apart),
    )


def doubtful(
    readings: SensorReadings, span: tuple[float, float], least_w: Floats
) -> tuple[tuple[float, float], ...]:
    """Stretches of a span in which no reading is known well: what should have been drawn is open by
    more than a third of what a finding needs (`least_w`, at each reading), and by much more than
    usual; or nothing was read.
    """
    judged = np.flatnonzero(readings.judged)
    if not len(judged):
        return ()
    doubt = readings.doubt[judged]
    well_known = judged[
        doubt
        <= np.maximum(
            stretch_search.MAX_DOUBT_SHARE * least_w[judged],
            _UNUSUAL_DOUBTS * float(np.median(doubt)),
        )
    ]
    pace = float(np.median(np.diff(readings.hi))) if len(readings) > 1 else 0.0
    hi = readings.hi[well_known]
    lo = np.minimum(
        readings.lo[well_known], hi - pace
    )  # a reading of a moment stands for the time since the one before
    begin = np.clip(np.concatenate([[span[0]], np.maximum.accumulate(hi)]), *span)
    end = np.clip(np.concatenate([lo, [span[1]]]), *span)
    gaps = np.flatnonzero(end - begin >= max(SHORTEST_S, 1.5 * pace))
    if float((end - begin)[gaps].sum()) > _MAX_DOUBTFUL_SHARE * (span[1] - span[0]):
        return ()
    return tuple((float(begin[row]), float(end[row])) for row in gaps)


def beside(
    stretches: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]
) -> tuple[tuple[float, float], ...]:
    """What of these stretches lies in none of the others, as far as it is long enough to be
    named.
    """
    parts = list(stretches)
    for lo, hi in others:
        parts = [piece for a, b in parts for piece in ((a, min(b, lo)), (max(a, hi), b))]
        parts = [(a, b) for a, b in parts if b - a >= SHORTEST_S]
    return tuple(parts)


def _outside(starts: Floats, length: float, apart: Sequence[tuple[float, float]]) -> Floats:
    """The share of bursts that lies outside these stretches."""
    inside = sum(
        (
            np.clip(np.minimum(starts + length, b) - np.maximum(starts, a), 0, None)
            for a, b in apart
        ),
        np.zeros(len(starts)),
    )
    return np.asarray(1 - inside / length)


def sentence(limits_found: Limits, span: tuple[float, float], elsewhere_s: float = 0.0) -> str:
    """The limits in words, and in how much of the span they hold.

    `elsewhere_s`: of the span, what is looked at elsewhere.
    """
    length = max(span[1] - span[0] - elsewhere_s, 1e-9)
    if not limits_found.seen:
        shortest = _seconds(_MAX_LENGTH_SHARE * length)
        return f"no load shorter than {shortest} would have been found"
    told, addition = limits_found.findings, ""
    if not told:
        told, addition = limits_found.seen, ", as a smaller difference only"
    hidden = sum(min(end, span[1]) - max(start, span[0]) for start, end in limits_found.apart)
    share = max(1.0 - hidden / length, 0.0)
    where = f" (in {100 * share:.0f} % of the time)" if share < _ALL_OF_IT else ""
    return f"a load of {_listed(told)} would have been found{addition}{where}"


def _listed(limits_found: Sequence[DetectionLimit]) -> str:
    """A few of them: the first, and each that is clearly shorter than the one before."""
    few: list[DetectionLimit] = []
    for limit in limits_found:
        if not few or limit.seconds <= 0.5 * few[-1].seconds:
            few.append(limit)
    return " or ".join(
        f"{units.difference(limit.watts, 'W')} for {_seconds(limit.seconds)}"
        for limit in few[:_LISTED_LIMITS]
    )


def _seconds(value: float) -> str:
    return f"{value:.2g} s" if value < 10 else f"{value:.0f} s"


def _by_watts(lengths: Floats, needed: Floats) -> tuple[DetectionLimit, ...]:
    """The shortest length for each of the told watts, read between the lengths that were tried."""
    limits_found: list[DetectionLimit] = []
    for watts in _WATTS:
        enough = np.flatnonzero(needed <= watts)
        if not len(enough):
            continue
        at = int(enough[0])
        seconds = float(lengths[at])
        if at and math.isfinite(needed[at - 1]) and needed[at] < needed[at - 1]:
            part = math.log(needed[at - 1] / watts) / math.log(needed[at - 1] / needed[at])
            seconds = float(lengths[at - 1] * (lengths[at] / lengths[at - 1]) ** part)
        if not limits_found or seconds < _SHORTER_SHARE * limits_found[-1].seconds:
            limits_found.append(DetectionLimit(watts, seconds))
        if at == 0:
            break
    return tuple(limits_found)


def _needed(moments: _Moments, asked: float, matters: bool, most: float) -> float:
    """The watts at which so many of these bursts would be found. `asked`: errors that each needs;
    `most`: watts that a single reading counts for.
    """
    strength, least = moments
    if (strength > 0).mean() < _FOUND_SHARE:
        return math.inf
    there = (strength > 0) & np.isfinite(least)
    least = np.where(there, least, 0.0)

    def share(watts: float) -> float:
        errors = strength * min(watts, most) - asked
        if matters:
            errors = np.where(there, np.minimum(errors, strength * (watts - least)), -9.0)
        return float((0.5 + 0.5 * _ERF(np.clip(errors, -9, 9) / math.sqrt(2))).mean())

    low, high = 0.0, 1.0
    while share(high) < _FOUND_SHARE:
        low, high = high, 2 * high
        if high > 1e5:
            return math.inf
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if share(middle) >= _FOUND_SHARE else (middle, high)
    return high


class _Bursts:
    """Bursts laid into the readings that are judged."""

    def __init__(self, readings: SensorReadings, judged: Int64s, noise: Noise, looks: int) -> None:
        self.noise = noise
        self.rows = judged
        self.lo, self.hi = readings.lo[judged], readings.hi[judged]
        self.weight = 1.0 / (noise.one**2 + readings.doubt[judged] ** 2)
        ways = readings.ways[:, judged] if readings.ways.size else np.empty((0, len(judged)))
        self.sums = np.zeros(
            (2 + len(ways), len(judged) + 1)
        )  # running, of the weight and of each doubt by it
        for row, column in zip(self.sums, (1.0, readings.blunt[judged], *ways), strict=True):
            np.cumsum(column * self.weight, out=row[1:])
        self.min_errors = max(
            stretch_search.MIN_ERRORS, noise.errors_of_chance(stretch_search.ALPHA / looks)
        )

    def at(
        self, starts: Floats, length: float, least_w: Floats, joules: float, strong_w: Floats | None
    ) -> _Moments:
        """Bursts that begin at these moments."""
        first = np.searchsorted(self.hi, starts)
        last = np.searchsorted(self.lo, starts + length)
        most = int((last - first).max(initial=0))
        if not most:
            return _Moments(np.zeros(len(starts)), np.full(len(starts), np.inf))
        rows = np.minimum(first[:, None] + np.arange(most), len(self.lo) - 1)
        there = first[:, None] + np.arange(most) < last[:, None]
        lo, hi, begin = self.lo[rows], self.hi[rows], starts[:, None]
        share = np.clip(
            np.minimum(hi, begin + length) - np.maximum(lo, begin), 0, None
        ) / np.maximum(hi - lo, 1e-12)
        share[~there] = 0.0
        strength = np.zeros(len(starts))
        for least in (_MIN_WINDOW_SHARE, 0.3, 0.6, 0.95):
            strength = np.maximum(strength, self._strength(share, share > least, first))
        if self.noise.shortest > 1:
            strength[(share > 0.5).sum(axis=1) < self.noise.shortest] = 0.0
        shows = share > _MIN_WINDOW_SHARE
        watts = np.maximum(_middle(least_w[self.rows[rows]], shows), joules / length)
        if strong_w is not None:
            watts = np.minimum(watts, _middle(strong_w[self.rows[rows]], shows))
        return _Moments(strength, np.where(strength > 0, watts, np.inf))

    def _strength(self, share: Floats, inside: Bools, first: Int64s) -> Floats:
        """Errors per watt of bursts that show in these readings by these shares: of each burst,
        neighbours.
        """
        count = inside.sum(axis=1)
        begin = first + inside.argmax(axis=1)
        end = np.minimum(begin + count, len(self.weight))
        total, *shared = self.sums[:, end] - self.sums[:, begin]
        rows = np.minimum(first[:, None] + np.arange(share.shape[1]), len(self.weight) - 1)
        shown = (np.where(inside, share, 0.0) * self.weight[rows]).sum(axis=1)
        total = np.maximum(total, 1e-300)
        off = sum((sum_ / total) ** 2 for sum_ in shared)
        errors = self.noise.over(np.maximum(count, 1)) ** 2 + off
        return np.where(count > 0, shown / total / np.sqrt(errors), 0.0)


def _middle(values: Floats, rows: Bools) -> Floats:
    """The median of some of each line; inf for a line of nothing."""
    count = rows.sum(axis=1)
    ordered = np.sort(np.where(rows, values, np.inf), axis=1)
    line = np.arange(len(values))
    return np.asarray(
        (ordered[line, np.maximum(count - 1, 0) // 2] + ordered[line, count // 2]) / 2
    )
