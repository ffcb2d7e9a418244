"""Readings that say nothing of the power: what a BMC answers while it starts, the marks of "no
value", a sensor that hangs.

Each is told by the channel's own other readings, and becomes a gap that is said: it costs itself
and nothing else. What may be true stays: a machine that is off for longer than any restart lasts, a
channel whose power really comes near to nothing, a steady load.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data.model import NS_PER_S, Bools, Floats, Int64s, PowerKind, PowerSeries, Warn

_MAX_RESTART_S = 600.0  # 0 W for longer than that is a machine that is off
_NOTHING = 0.02  # of the least that it draws otherwise: as good as zero
# of its usual power: a channel that never falls so far otherwise has no way down to nothing
_NEVER_LOW = 0.2
_MIN_USUAL_W = 2.0  # what usually draws less may well draw nothing
_MAX_OUTAGE_SHARE = 0.4  # share of the readings that may be outages
_RARE = 0.02  # and that may be marks of "no value"
_MARKS = (
    255,
    254,
    511,
    1023,
    4095,
    8191,
    9999,
    16383,
    32767,
    32768,
    65534,
    65535,
    99999,
    999999,
    2**24 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
)
_SCALES = (1.0, 10.0, 0.1, 0.01, 1e-3, 1e-6)
_ABOVE = 3.0  # times the highest other reading: from there on such a number is a mark …
_FAR_ABOVE = 20.0  # … and any reading that comes and goes at once
_MIN_HUNG_POLLS = 20  # polls of one value in a row that are looked at
_MIN_HUNG_RATIO = 5.0  # times the longest other run of one value at that level
_OTHERS = 30  # other runs at that level that tell how long one usually is


def without_outages(series: PowerSeries) -> PowerSeries:
    """The channel with such readings as gaps, each kind said."""
    series = as_gaps(
        series, _marks(series.watts), "far above all others, as a sensor without a value reports"
    )
    if series.kind is PowerKind.INTERVAL:
        return series
    series = as_gaps(
        series,
        _restarts(series.times, series.watts),
        "0 W between readings that never come near it, as a sensor that restarts reports",
    )
    return as_gaps(
        series,
        _hangs(series.watts),
        "the same value for longer than it ever stays, as from a sensor that hangs",
    )


def as_gaps(series: PowerSeries, rows: Bools, why: str) -> PowerSeries:
    """The same without these readings, counted and said."""
    count = int(rows.sum())
    if not count:
        return series
    first = int(np.flatnonzero(rows)[0])
    at = (int(series.times[first]) - int(series.times[0])) / NS_PER_S
    name = series.sensor.name or "the log"
    cause = (
        f"{count} reading{'s' if count > 1 else ''} of {name} {'are' if count > 1 else 'is'} "
        f"{why} (the first: "
        f"{float(series.watts[first]):.4g} W, {at:.1f} s after the log begins); left out as gaps"
    )
    joules = None if series.joules is None else np.where(rows, np.nan, series.joules)
    return replace(
        series,
        watts=np.where(rows, np.nan, series.watts),
        joules=joules,
        warnings=(*series.warnings, Warn(series.path, "", cause, count)),
    )


def _runs(rows: Bools) -> Int64s:
    """[n × 2] where runs of True begin and end."""
    starts: Int64s = np.flatnonzero(
        np.diff(np.concatenate(([0], rows.astype(np.int8), [0])))
    ).reshape(-1, 2)
    return starts


def _restarts(times: Int64s, watts: Floats) -> Bools:
    """Zeros of a channel that never comes near zero otherwise, as long as no restart lasts
    longer.
    """
    nothing = np.zeros(len(watts), np.bool_)
    with np.errstate(invalid="ignore"):
        some = watts > 0
        if some.sum() < 8 or not (watts <= 0).any():
            return nothing
        usual, least = float(np.median(watts[some])), float(np.percentile(watts[some], 1))
        zero = (watts <= _NOTHING * least) & (watts >= 0)
    if (
        usual < _MIN_USUAL_W
        or least < _NEVER_LOW * usual
        or zero.sum() > _MAX_OUTAGE_SHARE * len(watts)
    ):
        return nothing
    for first, end in _runs(zero | ~np.isfinite(watts)).tolist():
        # from the last good reading to the next one
        lasted = (int(times[min(end, len(times) - 1)]) - int(times[max(first - 1, 0)])) / NS_PER_S
        if lasted <= _MAX_RESTART_S:
            nothing[first:end] = zero[first:end]
    return nothing


def _marks(watts: Floats) -> Bools:
    """Numbers that stand for "no value", and single readings that nothing around them explains."""
    nothing = np.zeros(len(watts), np.bool_)
    there = np.isfinite(watts)
    values = np.abs(watts[there])
    if len(values) < 8 or (most := values.max()) <= 0 or most <= _ABOVE * values.min():
        return nothing
    at = len(values) - max(1, int(_RARE * len(values))) - 1
    usual = float(np.partition(values, at)[at])  # the highest of those that cannot all be marks
    with np.errstate(invalid="ignore"):
        above = there & (np.abs(watts) > _ABOVE * max(usual, 1e-9))
    if not above.any():
        return nothing
    rest = np.abs(watts[there & ~above])
    step = _step(rest)
    for value in np.unique(watts[above]).tolist():
        alone = value > _FAR_ABOVE * float(rest.max()) and all(
            end - first <= 2 for first, end in _runs(above).tolist()
        )
        if alone or _is_mark(abs(value), step):
            nothing |= watts == value
    return nothing


def _step(values: Floats) -> float:
    """The smallest difference of two readings."""
    apart = np.diff(np.unique(values))
    return float(apart.min()) if len(apart) else 0.0


def _is_mark(value: float, step: float) -> bool:
    if (
        step > 1.5 and abs(value - 255 * step) < 1e-6 * value
    ):  # eight bits, in the sensor's own steps
        return True
    return any(abs(value - mark * scale) <= 1e-6 * value for mark in _MARKS for scale in _SCALES)


def _hangs(watts: Floats) -> Bools:
    """One value for far longer than readings at that level ever stay the same, with others before
    and after it.
    """
    nothing = np.zeros(len(watts), np.bool_)
    if len(watts) < 4 * _MIN_HUNG_POLLS:
        return nothing
    opens = np.flatnonzero(np.concatenate(([True], watts[1:] != watts[:-1])))
    lengths = np.diff(np.append(opens, len(watts)))
    values = watts[opens]
    if not (lengths >= _MIN_HUNG_POLLS).any():
        return nothing
    good = np.isfinite(values)
    low, high = np.percentile(watts[np.isfinite(watts)], (5, 95))
    for run in np.flatnonzero(good & (lengths >= _MIN_HUNG_POLLS)).tolist():
        value = float(values[run])
        if run in (0, len(opens) - 1) or value <= low + 0.15 * (high - low):
            continue  # idle may well be steady, and what the log's ends cut is not known whole
        near = good & (np.abs(values - value) <= 0.05 * abs(value))
        near[run] = False
        if near.sum() >= _OTHERS and lengths[run] > _MIN_HUNG_RATIO * lengths[near].max():
            nothing[opens[run] + 1 : opens[run] + lengths[run]] = True  # the first of them was new
    return nothing
