"""What a sensor should have read, by what the trace says ran: for every reading the power that is
explained.

Inside the profile that is a fit of what each kind of work drew (`kind_fit`).

Outside the profile nothing is known but, where the run's scalars tell, that training went on as
usual: then everything up to the usual power of training is explained, and only more than that is
not.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy.findings import pace as paces
from powertui.data.energy.findings import phases
from powertui.data.energy.findings.kind_fit import (
    MIN_READINGS,
    Explained,
    KindFit,
    fit_kinds,
    fitted_windows,
    least_power,
    moved_windows,
)
from powertui.data.energy.findings.noise import centre
from powertui.data.energy.findings.pace import Pace
from powertui.data.energy.findings.reading_windows import WindowPrior, Windows
from powertui.data.energy.findings.readings import (
    Expectation,
    SensorReadings,
    unjudged_readings,
)
from powertui.data.energy.findings.work_columns import KindSeconds
from powertui.data.energy.samples import Samples
from powertui.data.model import Floats

_NONE: Floats = np.empty(0)
# A window is inside the profile with this share of itself. Chosen, not measured.
_MIN_INSIDE_SHARE = 0.98
# One sigma of the level of usual training outside the profile, as a share of the power of work.
# Chosen, not measured.
_USUAL_DOUBT_SHARE = 0.1
# The same where nothing is known of what ran. Chosen, not measured.
_ELSEWHERE_DOUBT_SHARE = 0.25


def expected_power(
    data: Samples,
    work: KindSeconds,
    *,
    unsure: WindowPrior,
    pace: Pace = paces.NOTHING,
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
    within = good & (inside >= _MIN_INSIDE_SHARE)
    windows: Windows | None = None
    if within.sum() >= MIN_READINGS:
        windows = fitted_windows(data=data, work=work, lo=lo, hi=hi, rows=within, unsure=unsure)
        lo, hi = moved_windows(lo, hi, windows.best.place, windows.best.length)
        inside = _inside(work, lo, hi)
        within = good & (inside >= _MIN_INSIDE_SHARE)
    usual = good & (inside < 1 - _MIN_INSIDE_SHARE) & pace.holds(lo, hi)
    fit: KindFit | None = None
    if within.sum() >= MIN_READINGS:
        fit = fit_kinds(data=data, work=work, lo=lo, hi=hi, rows=within)
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
    level = float(np.percentile(data.watts[usual], 75)) if knows_usual else -np.inf
    if fit is not None and windows is not None:
        explained = _explained(data=data, work=work, fit=fit, windows=windows, bounds=(lo, hi))
        residual = (data.watts - explained.watts)[within]
        explained.watts[within] += phases.course(residual, lo[within], hi[within], *steps)
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
    doubt[elsewhere] = _ELSEWHERE_DOUBT_SHARE * swing
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
    data: Samples, work: KindSeconds, fit: KindFit, windows: Windows, bounds: tuple[Floats, Floats]
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
