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

import numpy as np

from powertui import units
from powertui.data.energy import settings
from powertui.data.energy.findings import layers, stretch_search
from powertui.data.energy.findings.finding import DetectionLimit
from powertui.data.energy.findings.finding_rules import (
    MIN_RUN_SHARE,
    MIN_STRONG_S,
    STRONG_SHARE,
    expected_watts,
    joined_spans,
    min_watts,
)
from powertui.data.energy.findings.placed_search import FoundLoads
from powertui.data.energy.findings.readings import SensorReadings, covered_share
from powertui.data.energy.findings.residual_noise import ResidualNoise
from powertui.data.energy.samples import usual_pace_s, usual_window_s
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

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
_ALL_OF_IT = settings.WHOLE_SHARE  # of the time: the rest is not worth the words
_SHORTER_SHARE = settings.LARGE_SHARE  # of the limit before, from which another is worth listing
# A reading counts as part of a burst from this share of its window on: each is tried, and the one
# counts with which the burst shows best. Chosen, not measured.
_MIN_COVERED_SHARES = (0.02, 0.3, 0.6, 0.95)
_UNUSUAL_DOUBTS = 4.0  # times the usual doubt: that of other work
_MAX_DOUBTFUL_SHARE = settings.MAJORITY_SHARE  # of a run: more of it is what is usual
_MIN_OUTSIDE_SHARE = 2 / 3  # of a burst must be where something is promised
_MIN_MOMENTS = 15  # of the tried ones must be left
_MAX_ERRORS = 9.0  # beyond so many, the chance is 0 or 1 in double precision
_MAX_WATTS = 1e5  # a burst that needs more is none that a machine could draw
_HALVINGS = 12  # of an interval of watts: to 1/4096 of it
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


class Mattering(NamedTuple):
    """What a burst must have to be a finding; one that is `strong` always is."""

    watts: Floats  # at each reading
    joules: float
    strong: StrongBurst | None = None

    def strong_watts(self, seconds: float) -> Floats | None:
        """What makes a burst of so many seconds strong; None where nothing does."""
        if self.strong is None or seconds < self.strong.seconds:
            return None
        return self.strong.watts


class SearchExtent(NamedTuple):
    """In how many parts readings were searched, and for stretches of which length."""

    looks: int = 1
    longest_s: float = math.inf


_ALL_AT_ONCE = SearchExtent()


class _Moments(NamedTuple):
    """Bursts of one length at many moments."""

    # Errors per watt of the stretch that would be looked at; 0 where it shows in no reading.
    strength: Floats
    least: Floats  # watts that it needs to matter


def limits(
    readings: SensorReadings,
    noise: ResidualNoise,
    span: tuple[float, float],
    mattering: Mattering,
    apart: Sequence[tuple[float, float]] = (),
    searched: SearchExtent = _ALL_AT_ONCE,
) -> Limits:
    """What would be found in a span (s on the trace).

    `apart`: stretches of which nothing is promised.
    """
    judged = np.flatnonzero(readings.judged)
    if len(judged) < stretch_search.MIN_READINGS or span[1] <= span[0]:
        return Limits((), ())
    width = usual_window_s(readings)
    pace = usual_pace_s(readings, single=0.0)
    shortest = max(width, pace) / 4
    longest = min(_MAX_LENGTH_SHARE * (span[1] - span[0]), searched.longest_s)
    lengths = np.geomspace(shortest, max(longest, 2 * shortest), _LENGTHS)
    bursts = _Bursts(readings=readings, judged=judged, noise=noise, looks=searched.looks)
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
        moments = bursts.at(starts, length, mattering)
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
    usual_doubt = median_of_column(doubt)
    max_doubt = np.maximum(
        settings.MAX_DOUBT_SHARE * least_w[judged], _UNUSUAL_DOUBTS * usual_doubt
    )
    well_known = judged[doubt <= max_doubt]
    pace = usual_pace_s(readings, single=0.0)
    hi = readings.hi[well_known]
    # A reading of a moment stands for the time since the one before.
    lo = np.minimum(readings.lo[well_known], hi - pace)
    gap_starts = np.clip(np.concatenate([[span[0]], np.maximum.accumulate(hi)]), *span)
    gap_ends = np.clip(np.concatenate([lo, [span[1]]]), *span)
    lengths = gap_ends - gap_starts
    gaps = np.flatnonzero(lengths >= max(SHORTEST_S, 1.5 * pace))
    if float(lengths[gaps].sum()) > _MAX_DOUBTFUL_SHARE * (span[1] - span[0]):
        return ()
    return tuple((float(gap_starts[gap]), float(gap_ends[gap])) for gap in gaps)


def beside(
    stretches: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]
) -> tuple[tuple[float, float], ...]:
    """What of these stretches is in none of the others, as far as it is long enough to be named."""
    parts = list(stretches)
    for lo, hi in others:
        pieces: list[tuple[float, float]] = []
        for start, end in parts:
            pieces += [(start, min(end, lo)), (max(start, hi), end)]
        parts = [(start, end) for start, end in pieces if end - start >= SHORTEST_S]
    return tuple(parts)


def _outside(starts: Floats, length: float, apart: Sequence[tuple[float, float]]) -> Floats:
    """The share of bursts that is outside these stretches."""
    inside = np.zeros(len(starts))
    for begin, end in apart:
        overlap = np.minimum(starts + length, end) - np.maximum(starts, begin)
        inside = np.clip(overlap, 0, None) + inside
    return np.asarray(1 - inside / length)


def sentence(limits_found: Limits, span: tuple[float, float], elsewhere_s: float = 0.0) -> str:
    """The limits in words, and in how much of the span they hold.

    `elsewhere_s`: of the span, what is looked at elsewhere.
    """
    length = max(span[1] - span[0] - elsewhere_s, 1e-9)
    if not limits_found.seen:
        shortest = _seconds(_MAX_LENGTH_SHARE * length)
        return f"no load shorter than {shortest} would have been found"
    if limits_found.findings:
        loads = _listed(limits_found.findings)
        addition = ""
    else:
        loads = _listed(limits_found.seen)
        addition = ", as a smaller difference only"
    begin, stop = span
    hidden = sum(min(end, stop) - max(start, begin) for start, end in limits_found.apart)
    share = max(1.0 - hidden / length, 0.0)
    where = f" (in {100 * share:.0f} % of the time)" if share < _ALL_OF_IT else ""
    return f"a load of {loads} would have been found{addition}{where}; a smaller one can hide"


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
    milliseconds = 1000 * value
    if milliseconds < 100:
        return f"{milliseconds:.2g} ms"
    digits = ".2g" if value < 10 else ".0f"
    return f"{value:{digits}} s"


def _by_watts(lengths: Floats, needed: Floats) -> tuple[DetectionLimit, ...]:
    """The shortest length for each of the listed watts, read between the lengths that were
    tried.
    """
    limits_found: list[DetectionLimit] = []
    for watts in _WATTS:
        long_enough = np.flatnonzero(needed <= watts)
        if not len(long_enough):
            continue
        row = int(long_enough[0])
        seconds = _length_between(lengths, needed, row, watts)
        if not limits_found or seconds < _SHORTER_SHARE * limits_found[-1].seconds:
            limits_found.append(DetectionLimit(watts, seconds))
        if row == 0:
            break
    return tuple(limits_found)


def _length_between(lengths: Floats, needed: Floats, row: int, watts: float) -> float:
    """The length at which so many watts are just needed: this one, or one between it and the
    shorter one before it.
    """
    length = float(lengths[row])
    if row == 0:
        return length
    before = row - 1
    if not math.isfinite(needed[before]) or needed[row] >= needed[before]:
        return length
    part = math.log(needed[before] / watts) / math.log(needed[before] / needed[row])
    return float(lengths[before] * (lengths[row] / lengths[before]) ** part)


def _needed(moments: _Moments, min_errors: float, matters: bool, max_watts: float) -> float:
    """The watts at which so many of these bursts would be found.

    `min_errors` that each needs; `max_watts` that a single reading counts for.
    """
    strength, least_w = moments
    if (strength > 0).mean() < _FOUND_SHARE:
        return math.inf
    can_show = (strength > 0) & np.isfinite(least_w)
    least_w = np.where(can_show, least_w, 0.0)

    def found_share(watts: float) -> float:
        errors = strength * min(watts, max_watts) - min_errors
        if matters:
            errors = np.minimum(errors, strength * (watts - least_w))
            errors = np.where(can_show, errors, -_MAX_ERRORS)
        errors = np.clip(errors, -_MAX_ERRORS, _MAX_ERRORS)
        chance = 0.5 + 0.5 * _ERF(errors / math.sqrt(2))
        return float(chance.mean())

    low, high = 0.0, 1.0
    while found_share(high) < _FOUND_SHARE:
        low = high
        high = 2 * high
        if high > _MAX_WATTS:
            return math.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if found_share(middle) >= _FOUND_SHARE:
            high = middle
        else:
            low = middle
    return high


class _Bursts:
    """Bursts laid into the readings that are judged."""

    def __init__(
        self, readings: SensorReadings, judged: Int64s, noise: ResidualNoise, looks: int
    ) -> None:
        self.noise = noise
        self.rows = judged
        self.lo = readings.lo[judged]
        self.hi = readings.hi[judged]
        variance = noise.single**2 + readings.doubt[judged] ** 2
        self.weight = 1.0 / variance
        # Running sums: of the weight, then of each doubt times the weight.
        columns: list[Floats] = [np.ones(len(judged)), readings.blunt[judged]]
        if readings.ways.size:
            columns += list(readings.ways[:, judged])
        self.sums = np.zeros((len(columns), len(judged) + 1))
        for running, column in zip(self.sums, columns, strict=True):
            np.cumsum(column * self.weight, out=running[1:])
        chance = stretch_search.ALPHA / looks
        self.min_errors = max(stretch_search.MIN_ERRORS, noise.errors_of_chance(chance))

    def at(self, starts: Floats, length: float, mattering: Mattering) -> _Moments:
        """Bursts that begin at these moments."""
        first = np.searchsorted(self.hi, starts)
        last = np.searchsorted(self.lo, starts + length)
        most_rows = int((last - first).max(initial=0))
        if not most_rows:
            return _Moments(np.zeros(len(starts)), np.full(len(starts), np.inf))
        share = self._covered_shares(starts, length, first, last)
        strength = np.zeros(len(starts))
        for least_share in _MIN_COVERED_SHARES:
            inside = share > least_share
            strength = np.maximum(strength, self._strength(share, inside, first))
        if self.noise.shortest > 1:
            strength[(share > 0.5).sum(axis=1) < self.noise.shortest] = 0.0
        shows = share > _MIN_COVERED_SHARES[0]
        rows = self.rows[self._rows_from(first, most_rows)]
        by_watts = _middle(mattering.watts[rows], shows)
        watts = np.maximum(by_watts, mattering.joules / length)
        strong_w = mattering.strong_watts(length)
        if strong_w is not None:
            watts = np.minimum(watts, _middle(strong_w[rows], shows))
        return _Moments(strength, np.where(strength > 0, watts, np.inf))

    def _rows_from(self, first: Int64s, count: int) -> Int64s:
        """[bursts, readings]: so many rows from the first one of each burst on."""
        return np.asarray(np.minimum(first[:, None] + np.arange(count), len(self.lo) - 1))

    def _covered_shares(self, starts: Floats, length: float, first: Int64s, last: Int64s) -> Floats:
        """[bursts, readings]: the share of each reading's window that a burst covers."""
        columns = np.arange(int((last - first).max()))
        rows = self._rows_from(first, len(columns))
        begin = starts[:, None]
        share = covered_share(self.lo[rows], self.hi[rows], begin, begin + length)
        share[first[:, None] + columns >= last[:, None]] = 0.0
        return share

    def _strength(self, share: Floats, inside: Bools, first: Int64s) -> Floats:
        """Errors per watt of bursts that show in these readings by these shares: of each burst,
        neighbours.
        """
        count = inside.sum(axis=1)
        begin = first + inside.argmax(axis=1)
        end = np.minimum(begin + count, len(self.weight))
        total, *doubts = self.sums[:, end] - self.sums[:, begin]
        total = np.maximum(total, 1e-300)
        weight = self.weight[self._rows_from(first, share.shape[1])]
        share_inside = np.where(inside, share, 0.0)
        shown = (share_inside * weight).sum(axis=1) / total
        by_noise = self.noise.over(np.maximum(count, 1)) ** 2
        shared = sum((doubt / total) ** 2 for doubt in doubts)
        error = np.sqrt(by_noise + shared)
        return np.where(count > 0, shown / error, 0.0)


def _middle(values: Floats, rows: Bools) -> Floats:
    """The median of some of each line; inf for a line of nothing."""
    count = rows.sum(axis=1)
    ordered = np.sort(np.where(rows, values, np.inf), axis=1)
    line = np.arange(len(values))
    lower = ordered[line, np.maximum(count - 1, 0) // 2]
    upper = ordered[line, count // 2]
    return np.asarray((lower + upper) / 2)


_Span = tuple[float, float]  # s on the trace


def detection_limits(
    loads: FoundLoads, span: _Span, run_joules: float, elsewhere: Sequence[_Span] = ()
) -> tuple[Limits, str]:
    """What would have been found in a span, also in words, or why nothing.

    `elsewhere`: stretches that have limits of their own.
    """
    if loads.expected is None or loads.noise is None:
        text = f"no burst could have been found: {loads.reason}" if loads.reason else ""
        return Limits((), ()), text
    readings = loads.expected.readings
    expected = expected_watts(readings.ceiling)
    strong = StrongBurst(min_watts(expected, STRONG_SHARE), MIN_STRONG_S)
    mattering = Mattering(min_watts(expected), MIN_RUN_SHARE * run_joules, strong)
    unsure = doubtful(readings, span, mattering.watts)
    # Where it drew less than expected a load shows the less of itself.
    paused = []
    for box in loads.at_likeliest:
        if box.watts < 0 and box.end - box.start >= SHORTEST_S:
            paused.append(box.span)
    unchecked = joined_spans([*unsure, *paused, *loads.skipped])
    unknown = beside(unchecked, elsewhere)
    searched = SearchExtent(
        looks=layers.piece_count(readings),
        longest_s=layers.longest_stretch_s(readings),
    )
    promised = limits(
        readings=readings,
        noise=loads.noise,
        span=span,
        mattering=mattering,
        apart=(*unknown, *elsewhere),
        searched=searched,
    )
    promised = promised._replace(apart=unknown)
    elsewhere_s = sum(end - start for start, end in elsewhere)
    return promised, sentence(promised, span, elsewhere_s)
