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
from powertui.data.energy.findings.added_bursts import (
    AddedBursts,
    BurstMoments,
    Mattering,
    StrongBurst,
)
from powertui.data.energy.findings.finding import DetectionLimit, Limits
from powertui.data.energy.findings.finding_rules import (
    MIN_RUN_SHARE,
    MIN_STRONG_S,
    SHORTEST_S,
    STRONG_SHARE,
    expected_watts,
    joined_spans,
    min_watts,
)
from powertui.data.energy.findings.placed_search import FoundLoads
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.findings.residual_noise import ResidualNoise
from powertui.data.energy.samples import usual_pace_s, usual_window_s
from powertui.data.model import Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

_WATTS = (
    1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 50.0, 70.0, 100.0, 150.0, 200.0, 300.0, 500.0,
    1000.0, 2000.0, 5000.0,
)  # fmt: skip
# Of all bursts, wherever they are and whatever the noise does, this share must be found. The text
# promises nine in ten; the rest is for what the estimate itself is off by. Chosen.
_FOUND_SHARE = 0.92
_MOMENTS = 60  # at which a burst of one length is tried
_LENGTHS = 16  # of bursts that are tried
_MAX_LENGTH_SHARE = settings.MAX_BURST_SHARE  # of the span
_LISTED_LIMITS = 2  # in the sentence
_ALL_OF_IT = settings.WHOLE_SHARE  # of the time: the rest is not worth the words
_SHORTER_SHARE = settings.LARGE_SHARE  # of the limit before, from which another is worth listing
_UNUSUAL_DOUBTS = settings.FAR_SIGMAS  # times the usual doubt: that of other work
_MAX_DOUBTFUL_SHARE = settings.MAJORITY_SHARE  # of a run: more of it is what is usual
_MIN_OUTSIDE_SHARE = 2 / 3  # of a burst must be where something is promised
_MIN_MOMENTS = 15  # of the tried ones must be left
_MAX_ERRORS = 9.0  # beyond so many, the chance is 0 or 1 in double precision
_MAX_WATTS = 1e5  # a burst that needs more is none that a machine could draw
_HALVINGS = 12  # of an interval of watts: to 1/4096 of it
_ERF = np.vectorize(math.erf, otypes=[np.float64])


class SearchExtent(NamedTuple):
    """In how many parts readings were searched, and for stretches of which length."""

    looks: int = 1
    longest_s: float = math.inf


_ALL_AT_ONCE = SearchExtent()


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
    begin, end = span
    if len(judged) < stretch_search.MIN_READINGS or end <= begin:
        return Limits()
    width = usual_window_s(readings)
    pace = usual_pace_s(readings, single=0.0)
    shortest = max(width, pace) / 4
    longest = min(_MAX_LENGTH_SHARE * (end - begin), searched.longest_s)
    lengths = np.geomspace(shortest, max(longest, 2 * shortest), _LENGTHS)
    bursts = AddedBursts(
        readings=readings,
        judged=judged,
        noise=noise,
        looks=searched.looks,
    )
    # The watts that a burst of each length needs: to be a finding, and to show at all.
    for_finding: list[float] = []
    for_showing: list[float] = []
    for length in lengths.tolist():
        starts = np.linspace(begin, end - length, _MOMENTS)
        outside_share = _outside(starts, length, apart)
        starts = starts[outside_share >= _MIN_OUTSIDE_SHARE]
        finding_w = math.inf
        showing_w = math.inf
        if len(starts) >= _MIN_MOMENTS:
            moments = bursts.at(starts, length, mattering)
            finding_w = _needed(
                moments=moments,
                min_errors=bursts.min_errors,
                matters=True,
                max_watts=noise.most,
            )
            if length >= 2 * SHORTEST_S:
                showing_w = _needed(
                    moments=moments,
                    min_errors=bursts.min_errors,
                    matters=False,
                    max_watts=noise.most,
                )
        for_finding.append(finding_w)
        for_showing.append(showing_w)
    return Limits(
        findings=_by_watts(lengths, np.minimum.accumulate(for_finding)),
        seen=_by_watts(lengths, np.minimum.accumulate(for_showing)),
        apart=tuple(apart),
    )


def doubtful(
    readings: SensorReadings,
    span: tuple[float, float],
    least_w: Floats,
) -> tuple[tuple[float, float], ...]:
    """Stretches of a span in which no reading is known well: what should have been drawn is open by
    more than a third of what a finding needs (`least_w`, at each reading), and by much more than
    usual; or nothing was read.
    """
    judged = np.flatnonzero(readings.judged)
    if not len(judged):
        return ()
    doubt = readings.doubt[judged]
    max_doubt = np.maximum(
        settings.MAX_DOUBT_SHARE * least_w[judged],
        _UNUSUAL_DOUBTS * median_of_column(doubt),
    )
    well_known = judged[doubt <= max_doubt]
    pace = usual_pace_s(readings, single=0.0)
    hi = readings.hi[well_known]
    # A reading of a moment stands for the time since the one before.
    lo = np.minimum(readings.lo[well_known], hi - pace)
    begin, end = span
    ends_so_far = np.maximum.accumulate(hi)
    gap_starts = np.clip(np.concatenate([[begin], ends_so_far]), begin, end)
    gap_ends = np.clip(np.concatenate([lo, [end]]), begin, end)
    lengths = gap_ends - gap_starts
    gaps = np.flatnonzero(lengths >= max(SHORTEST_S, 1.5 * pace))
    doubtful_s = float(lengths[gaps].sum())
    if doubtful_s > _MAX_DOUBTFUL_SHARE * (end - begin):
        return ()
    starts: list[float] = gap_starts[gaps].tolist()
    ends: list[float] = gap_ends[gaps].tolist()
    return tuple(zip(starts, ends, strict=True))


def beside(
    stretches: Sequence[tuple[float, float]],
    others: Sequence[tuple[float, float]],
) -> tuple[tuple[float, float], ...]:
    """What of these stretches is in none of the others, as far as it is long enough to be named."""
    parts = list(stretches)
    for lo, hi in others:
        pieces: list[tuple[float, float]] = []
        for start, end in parts:
            before = (start, min(end, lo))
            after = (max(start, hi), end)
            pieces += [before, after]
        parts = [piece for piece in pieces if piece[1] - piece[0] >= SHORTEST_S]
    return tuple(parts)


def _outside(
    starts: Floats,
    length: float,
    apart: Sequence[tuple[float, float]],
) -> Floats:
    """The share of bursts that is outside these stretches."""
    inside = np.zeros(len(starts))
    for begin, end in apart:
        last_start = np.maximum(starts, begin)
        first_end = np.minimum(starts + length, end)
        overlap = first_end - last_start
        inside = np.clip(overlap, 0, None) + inside
    return np.asarray(1 - inside / length)


def sentence(
    limits_found: Limits,
    span: tuple[float, float],
    elsewhere_s: float = 0.0,
) -> str:
    """The limits in words, and in how much of the span they hold.

    `elsewhere_s`: of the span, what is looked at elsewhere.
    """
    begin, stop = span
    length = max(stop - begin - elsewhere_s, 1e-9)
    if not limits_found.seen:
        shortest = _seconds(_MAX_LENGTH_SHARE * length)
        return f"no load shorter than {shortest} would have been found"
    if limits_found.findings:
        loads = _listed(limits_found.findings)
        addition = ""
    else:
        loads = _listed(limits_found.seen)
        addition = ", as a smaller difference only"
    hidden = sum(min(end, stop) - max(start, begin) for start, end in limits_found.apart)
    share = max(1.0 - hidden / length, 0.0)
    where = ""
    if share < _ALL_OF_IT:
        where = f" (in {100 * share:.0f} % of the time)"
    return f"a load of {loads} would have been found{addition}{where}; a smaller one can hide"


def _listed(limits_found: Sequence[DetectionLimit]) -> str:
    """A few of them: the first, and each that is clearly shorter than the one before."""
    few: list[DetectionLimit] = []
    for limit in limits_found:
        if not few or limit.seconds <= 0.5 * few[-1].seconds:
            few.append(limit)
    texts = []
    for limit in few[:_LISTED_LIMITS]:
        watts = units.difference(limit.watts, "W")
        texts.append(f"{watts} for {_seconds(limit.seconds)}")
    return " or ".join(texts)


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


def _length_between(
    lengths: Floats,
    needed: Floats,
    row: int,
    watts: float,
) -> float:
    """The length at which so many watts are just needed: this one, or one between it and the
    shorter one before it.
    """
    length = float(lengths[row])
    if row == 0:
        return length
    needed_w = needed[row]
    needed_before_w = needed[row - 1]
    if not math.isfinite(needed_before_w) or needed_w >= needed_before_w:
        return length
    part = math.log(needed_before_w / watts) / math.log(needed_before_w / needed_w)
    length_before = lengths[row - 1]
    return float(length_before * (lengths[row] / length_before) ** part)


def _needed(
    moments: BurstMoments,
    min_errors: float,
    matters: bool,
    max_watts: float,
) -> float:
    """The watts at which so many of these bursts would be found.

    `min_errors` that each needs; `max_watts` that a single reading counts for.
    """
    strength = moments.strength
    shows = strength > 0
    if shows.mean() < _FOUND_SHARE:
        return math.inf
    can_show = shows & np.isfinite(moments.least_w)
    least_w = np.where(can_show, moments.least_w, 0.0)

    def found_share(watts: float) -> float:
        errors = strength * min(watts, max_watts) - min_errors
        if matters:
            errors = np.minimum(errors, strength * (watts - least_w))
            errors = np.where(can_show, errors, -_MAX_ERRORS)
        errors = np.clip(errors, -_MAX_ERRORS, _MAX_ERRORS)
        chance = 0.5 + 0.5 * _ERF(errors / math.sqrt(2))
        return float(chance.mean())

    low = 0.0
    high = 1.0
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


_Span = tuple[float, float]  # s on the trace


def detection_limits(
    loads: FoundLoads,
    span: _Span,
    run_joules: float,
    elsewhere: Sequence[_Span] = (),
) -> tuple[Limits, str]:
    """What would have been found in a span, also in words, or why nothing.

    `elsewhere`: stretches that have limits of their own.
    """
    if loads.expected is None or loads.noise is None:
        text = f"no burst could have been found: {loads.reason}" if loads.reason else ""
        return Limits(), text
    readings = loads.expected.readings
    expected = expected_watts(readings.ceiling)
    mattering = Mattering(
        watts=min_watts(expected),
        joules=MIN_RUN_SHARE * run_joules,
        strong=StrongBurst(min_watts(expected, STRONG_SHARE), MIN_STRONG_S),
    )
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
