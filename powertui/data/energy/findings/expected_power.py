"""What a sensor should have read, by what the trace says ran: for every reading the power that is
explained.

Inside the profile that is a fit of what each kind of work drew (`kind_fit`).

Outside the profile nothing is known but, where the run's scalars tell, that training went on as
usual: then everything up to the usual power of training is explained, and only more than that is
not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.kind_fit import (
    MIN_READINGS,
    Explained,
    KindFit,
    fit_kinds,
    fitted_windows,
    least_power,
    moved_windows,
)
from powertui.data.energy.findings.reading_windows import WindowPrior, Windows
from powertui.data.energy.findings.readings import (
    ELSEWHERE_DOUBT_SHARE,
    MIN_INSIDE_SHARE,
    Expectation,
    SensorReadings,
    unjudged_readings,
)
from powertui.data.energy.findings.residual_noise import centre
from powertui.data.energy.findings.work_columns import KindSeconds
from powertui.data.energy.samples import Samples
from powertui.data.model import NS_PER_S, Bools, Clock, Floats, ScalarSeries
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.value_types import dataclass

_MIN_POINTS = settings.MIN_SAMPLE_VALUES  # logged values that tell a pace
# Share of the median pace: a foreign load slows training, a pause for something else stops it.
# Chosen, not measured.
_MIN_PACE_SHARE = settings.ALIKE_SHARE


@dataclass(frozen=True, eq=False)
class Pace:
    """Stretches in which training went on as usual, s on the trace, in order and apart."""

    start: Floats
    end: Floats

    def holds(self, lo: Floats, hi: Floats) -> Bools:
        """Whether all of each window lies in such a stretch."""
        if not len(self.start):
            return np.zeros(len(lo), np.bool_)
        row = np.searchsorted(self.start, lo, side="right") - 1
        return np.asarray((row >= 0) & (hi <= self.end[np.maximum(row, 0)]))


NOTHING = Pace(np.empty(0), np.empty(0))


def training_pace(scalars: Sequence[ScalarSeries], clock: Clock) -> Pace:
    """From the longest series of the training's own scalars, on the clock of a trace."""
    if not clock.known:
        return NOTHING
    longest = _longest_series(scalars)
    if longest is None:
        return NOTHING
    order = np.argsort(longest.wall_ns, kind="stable")
    moments = (longest.wall_ns[order] - clock.mid_ns) / NS_PER_S
    step = longest.steps[order].astype(np.float64)
    length = np.diff(moments)
    moved = np.diff(step)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(length > 0, moved / length, 0.0)
    forward = rate > 0
    if forward.sum() < _MIN_POINTS:
        return NOTHING
    usual_rate = median_of_column(rate[forward])
    usual = np.flatnonzero(rate >= _MIN_PACE_SHARE * usual_rate)
    if not len(usual):
        return NOTHING
    opens = np.concatenate([[True], np.diff(usual) > 1])
    closes = np.concatenate([opens[1:], [True]])
    return Pace(moments[usual[opens]], moments[usual[closes] + 1])


def _longest_series(scalars: Sequence[ScalarSeries]) -> ScalarSeries | None:
    """The series of the training, and not of its validation, with most records."""
    longest = None
    for series in scalars:
        if series.group == "validation" or len(series.steps) <= _MIN_POINTS:
            continue
        if longest is None or len(series.steps) > len(longest.steps):
            longest = series
    return longest


_NONE: Floats = np.empty(0)
# One sigma of the level of usual training outside the profile, as a share of the power of work.
# Chosen, not measured.
_USUAL_DOUBT_SHARE = settings.BORROWED_ERROR_SHARE


def expected_power(
    data: Samples,
    work: KindSeconds,
    *,
    unsure: WindowPrior,
    pace: Pace = NOTHING,
    training: tuple[float, float] | None = None,
    steps: tuple[Floats, Floats] = (_NONE, _NONE),
) -> Expectation:
    """Every reading; `data` is on the trace already.

    `training`: from when to when; `steps`: where they start and end. All in s.
    """
    lo = data.lo
    hi = data.hi
    good = np.isfinite(data.watts) & (data.watts > 0)
    inside = _inside(work, lo, hi)
    within = good & (inside >= MIN_INSIDE_SHARE)
    windows: Windows | None = None
    if within.sum() >= MIN_READINGS:
        windows = fitted_windows(
            data=data,
            work=work,
            lo=lo,
            hi=hi,
            rows=within,
            unsure=unsure,
        )
        lo, hi = moved_windows(lo, hi, windows.best.place, windows.best.length)
        inside = _inside(work, lo, hi)
        within = good & (inside >= MIN_INSIDE_SHARE)
    usual = good & (inside < 1 - MIN_INSIDE_SHARE) & pace.holds(lo, hi)
    fit: KindFit | None = None
    if within.sum() >= MIN_READINGS:
        fit = fit_kinds(
            data=data,
            work=work,
            lo=lo,
            hi=hi,
            rows=within,
        )
    knows_usual = usual.sum() >= MIN_READINGS
    if fit is None and not knows_usual:
        reason = (
            f"too few readings of the power log are wholly in the profile ({int(within.sum())})"
        )
        return Expectation(unjudged_readings(data, lo, hi), (), reason)
    if fit is None:
        within = np.zeros_like(within)  # so few show nothing
    floor = np.full(len(data), least_power(data))
    ceiling = np.full(len(data), np.inf)
    doubt = np.full(len(data), np.inf)
    ways = np.empty((0, 0))
    if knows_usual:
        level = percentile_of_column(data.watts[usual], 75)
    else:
        level = -np.inf
    if fit is not None and windows is not None:
        explained = _explained(
            data=data,
            work=work,
            fit=fit,
            windows=windows,
            bounds=(lo, hi),
        )
        residual = (data.watts - explained.watts)[within]
        explained.watts[within] += course_of_steps(residual, lo[within], hi[within], *steps)
        residual = data.watts[within] - explained.watts[within]
        expected = explained.watts + centre(residual, explained.doubt[within])
        floor[within] = ceiling[within] = expected[within]
        doubt[within] = explained.doubt[within]
        ways = np.where(within, explained.ways, 0.0)
        level = max(level, fit.level)
    swing = fit.swing if fit is not None else level - least_power(data)
    ceiling[usual] = level
    doubt[usual] = _USUAL_DOUBT_SHARE * swing
    elsewhere = ~(within | usual)
    doubt[elsewhere] = ELSEWHERE_DOUBT_SHARE * swing
    if training is not None:
        ceiling[elsewhere & (lo >= training[0]) & (hi <= training[1])] = level
    readings = SensorReadings(
        lo=lo,
        hi=hi,
        watts=np.where(good, data.watts, np.nan),
        floor=floor,
        ceiling=ceiling,
        doubt=doubt,
        judged=within | usual,
        quantum=data.quantum,
        ways=ways,
    )
    return Expectation(
        readings=readings,
        watts=fit.watts if fit is not None else (("training", level),),
        place_s=windows.sigma if windows is not None else unsure.place,
    )


def _explained(
    data: Samples,
    work: KindSeconds,
    fit: KindFit,
    windows: Windows,
    bounds: tuple[Floats, Floats],
) -> Explained:
    """What the fit explains of each reading; those that came late may belong earlier."""
    lo, hi = bounds
    explained = fit.expected(work, lo, hi, windows)
    behind = _behind(data)
    late = behind > 0
    if late.any():
        earlier = fit.expected(work, (lo - behind)[late], (hi - behind)[late], windows)
        moved = earlier.watts - explained.watts[late]
        explained.doubt[late] = np.hypot(np.maximum(explained.doubt[late], earlier.doubt), moved)
    return explained


def _behind(data: Samples) -> Floats:
    """How much older each reading may be than its window says, s: nothing, but for one that came
    more than half a poll late after the one before. It was published in time, and the row before
    was missed, or repeated the last answer.
    """
    previous_end = np.concatenate([data.hi[:1] - data.refresh, data.hi[:-1]])
    since = data.hi - previous_end - data.refresh
    is_late = (data.late > 0) & (since > data.late)
    return np.where(is_late, np.minimum(since, 2 * data.late) + data.late, 0.0)


def _inside(work: KindSeconds, lo: Floats, hi: Floats) -> Floats:
    """The share of each window that is in the profile."""
    begin, end = work.span
    overlap = np.clip(np.minimum(hi, end) - np.maximum(lo, begin), 0, None)
    return np.asarray(overlap / np.maximum(hi - lo, 1e-12))


# Parts of a step at most. This and the others here are chosen, not measured.
_MAX_PARTS = 24
_MIN_PART_READINGS = settings.GOOD_SAMPLE_VALUES  # readings of each part of a step, at least
_MIN_PARTS = settings.MIN_SPREAD_VALUES  # parts: fewer tell nothing
# of the run: what most of them tell of a part is its own; a load of seconds may meet the same parts
# of steps, too …
_BLOCKS = settings.MIN_INDEPENDENT_READINGS
_MIN_BLOCKS = settings.MIN_SPREAD_VALUES  # … and what fewer tell may be that load
_MIN_BLOCK_READINGS = settings.CONFIRMING_VALUES  # readings of a part in one of them
# A step within this of the usual length is a usual one.
_MAX_LENGTH_DIFFERENCE = settings.LESSER_SHARE


def course_of_steps(
    residual: Floats,
    lo: Floats,
    hi: Floats,
    start: Floats,
    end: Floats,
) -> Floats:
    """What to add to the expectation of each reading; steps run from `start` to `end`, and all in
    s.
    """
    out = np.zeros(len(residual))
    length = end - start
    if len(length) < _MIN_PART_READINGS:
        return out
    usual = median_of_column(length)
    if median_of_column(hi - lo) >= usual:
        return out
    middle = (lo + hi) / 2
    row = np.clip(np.searchsorted(start, middle, side="right") - 1, 0, len(start) - 1)
    inside = (
        (middle >= start[row])
        & (middle < end[row])
        & (np.abs(length[row] - usual) < _MAX_LENGTH_DIFFERENCE * usual)
    )
    parts = min(_MAX_PARTS, int(inside.sum()) // _MIN_PART_READINGS)
    if parts < _MIN_PARTS:
        return out
    at = np.minimum(
        ((middle - start[row]) / np.maximum(length[row], 1e-12) * parts).astype(np.int64), parts - 1
    )
    when = np.arange(len(residual)) * _BLOCKS // len(residual)
    for part in range(parts):
        here = inside & (at == part)
        levels = [
            np.median(some)
            for block in range(_BLOCKS)
            if len(some := residual[here & (when == block)]) >= _MIN_BLOCK_READINGS
        ]
        if len(levels) >= _MIN_BLOCKS:
            out[here] = np.median(levels)
    return out
