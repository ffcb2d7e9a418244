"""Readings that say nothing of the power: what a BMC answers while it starts, the marks of "no
value", a sensor that hangs.

Each is recognized by the channel's own other readings, and becomes a gap that is reported: it costs
itself and nothing else. What may be true stays: a machine that is off for longer than any restart
lasts, a channel whose power really comes near to nothing, a steady load.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.model import NS_PER_S, Bools, Floats, Int64s, PowerKind, PowerSeries, Warn
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.named_tuples import NamedTuple

# All of these were chosen, not measured.
_MIN_READINGS = 8  # of a channel in which such readings are looked for
# Zeros are a restart where the channel never comes near zero otherwise.
_MAX_RESTART_S = 600.0  # 0 W for longer than that is a machine that is off
_MAX_ZERO_SHARE = 0.02  # of the least that it draws otherwise: as good as zero
_MIN_LOW_SHARE = 0.2  # of its usual power: a channel that falls lower may come down to nothing
_MIN_USUAL_W = 2.0  # what usually draws less may well draw nothing
_MAX_OUTAGE_SHARE = 0.4  # of the readings, that may be outages
# Large numbers are marks of "no value" where they are few and far above the other readings.
_MAX_MARK_SHARE = 0.02  # of the readings, that may be marks
_MIN_MARK_RATIO = 3.0  # to the highest other reading, of a number that is known as a mark
_MIN_SPIKE_RATIO = 20.0  # the same of any reading that comes and goes at once
_MAX_SPIKE_ROWS = 2
_MARKS = (
    *(255, 254, 511, 1023, 4095, 8191, 9999, 16383, 32767, 32768, 65534, 65535, 99999, 999999),
    *(2**24 - 1, 2**31 - 1, 2**31, 2**32 - 1),
)
_MARK_SCALES = (1.0, 10.0, 0.1, 0.01, 1e-3, 1e-6)
# A sensor hangs where it repeats one value for far longer than readings at that level stay equal.
_MIN_HUNG_POLLS = 20  # of one value in a row that are looked at
_MIN_HUNG_RATIO = 5.0  # to the longest other run of one value at that level
_MIN_OTHER_RUNS = 30  # at that level, that show how long one usually is
_SAME_LEVEL_SHARE = 0.05  # of the value: readings so near to it are at its level
_MAX_IDLE_SHARE = 0.15  # of the way from the lowest readings to the highest: idle may be steady


def without_outages(series: PowerSeries) -> PowerSeries:
    """The channel with such readings as gaps, each kind reported."""
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
    """The same without these readings, counted and reported."""
    count = int(rows.sum())
    if not count:
        return series
    first = int(np.flatnonzero(rows)[0])
    since_begin_ns = int(series.times[first]) - int(series.times[0])
    first_s = since_begin_ns / NS_PER_S
    first_w = float(series.watts[first])
    name = series.sensor.name or "the log"
    if count == 1:
        subject = f"1 reading of {name} is"
    else:
        subject = f"{count} readings of {name} are"
    cause = (
        f"{subject} {why} (the first: {first_w:.4g} W, {first_s:.1f} s after the log begins); "
        "left out as gaps"
    )
    warning = Warn(series.path, "", cause, count)
    joules = None
    if series.joules is not None:
        joules = np.where(rows, np.nan, series.joules)
    return replace(
        series,
        watts=np.where(rows, np.nan, series.watts),
        joules=joules,
        warnings=(*series.warnings, warning),
    )


def _runs(rows: Bools) -> Int64s:
    """[n × 2] where runs of True begin and end."""
    is_in_run = rows.astype(np.int8)
    changes = np.diff(is_in_run, prepend=0, append=0)
    runs: Int64s = np.flatnonzero(changes).reshape(-1, 2)
    return runs


def _restarts(times: Int64s, watts: Floats) -> Bools:
    """Zeros of a channel that never comes near zero otherwise, as long as no restart lasts
    longer.
    """
    is_restart = np.zeros(len(watts), np.bool_)
    with np.errstate(invalid="ignore"):
        # First what nearly every log answers: readings are not copied for it.
        if not (watts <= 0).any():
            return is_restart
        positive = watts[watts > 0]
        if len(positive) < _MIN_READINGS:
            return is_restart
        typical = median_of_column(positive)
        lowest = percentile_of_column(positive, 1)
        is_zero = watts <= _MAX_ZERO_SHARE * lowest
        is_zero &= watts >= 0
    if typical < _MIN_USUAL_W or lowest < _MIN_LOW_SHARE * typical:
        return is_restart
    if is_zero.sum() > _MAX_OUTAGE_SHARE * len(watts):
        return is_restart
    is_silent = is_zero | ~np.isfinite(watts)
    last_row = len(times) - 1
    for first, end in _runs(is_silent).tolist():
        # From the last good reading to the next one.
        good_before = max(first - 1, 0)
        good_after = min(end, last_row)
        length_ns = int(times[good_after]) - int(times[good_before])
        if length_ns / NS_PER_S <= _MAX_RESTART_S:
            is_restart[first:end] = is_zero[first:end]
    return is_restart


def _marks(watts: Floats) -> Bools:
    """Numbers that stand for "no value", and single readings that nothing around them explains."""
    is_mark = np.zeros(len(watts), np.bool_)
    finite = np.isfinite(watts)
    values = np.abs(watts if finite.all() else watts[finite])
    if len(values) < _MIN_READINGS:
        return is_mark
    highest = values.max()
    if highest <= 0 or highest <= _MIN_MARK_RATIO * values.min():
        return is_mark
    usual_peak = max(_highest_without_marks(values), 1e-9)
    with np.errstate(invalid="ignore"):
        is_high = np.abs(watts) > _MIN_MARK_RATIO * usual_peak
    above = finite & is_high
    if not above.any():
        return is_mark
    other_readings = np.abs(watts[finite & ~above])
    sensor_step = _step(other_readings)
    min_spike = _MIN_SPIKE_RATIO * float(other_readings.max())
    first_rows, ends = _runs(above).T
    are_spikes = bool((ends - first_rows <= _MAX_SPIKE_ROWS).all())
    for value in wire.distinct(watts[above]).tolist():
        is_spike = are_spikes and value > min_spike
        if is_spike or _is_mark(abs(value), sensor_step):
            is_mark |= watts == value
    return is_mark


def _highest_without_marks(values: Floats) -> float:
    """The highest of those readings that cannot all be marks."""
    count = len(values)
    mark_count = max(1, int(_MAX_MARK_SHARE * count))
    rank = count - mark_count - 1
    ordered = np.partition(values, rank)
    return float(ordered[rank])


def _step(values: Floats) -> float:
    """The smallest difference of two readings."""
    differences = np.diff(wire.distinct(values))
    if len(differences):
        return float(differences.min())
    return 0.0


def _is_mark(value: float, step: float) -> bool:
    """Whether a number is one that sensors report for "no value", in any unit."""
    tolerance = 1e-6 * value
    # All of eight bits set, in the sensor's own steps.
    if step > 1.5 and abs(value - 255 * step) < tolerance:
        return True
    for mark in _MARKS:
        for scale in _MARK_SCALES:
            if abs(value - mark * scale) <= tolerance:
                return True
    return False


def _may_hang(watts: Floats) -> bool:
    """Whether any value may have stayed for so long that it counts as hung.

    Such a run covers at least two neighbors among every so many readings: where no such pair is
    alike all the way, runs need not be counted one by one.
    """
    apart = _MIN_HUNG_POLLS // 2
    every = watts[::apart]
    is_repeated = every[1:] == every[:-1]
    first_rows = np.flatnonzero(is_repeated) * apart
    rows = first_rows[:, None] + np.arange(apart)
    between = watts[rows]
    stays = between == between[:, :1]
    return bool(stays.all(axis=1).any())


class _ValueRuns(NamedTuple):
    """Stretches of readings that are equal."""

    starts: Int64s
    lengths: Int64s
    values: Floats

    @classmethod
    def of_readings(cls, watts: Floats) -> _ValueRuns:
        is_first = np.ones(len(watts), np.bool_)
        is_first[1:] = watts[1:] != watts[:-1]
        starts = np.flatnonzero(is_first)
        return cls(
            starts=starts,
            lengths=np.diff(starts, append=len(watts)),
            values=watts[starts],
        )


def _hangs(watts: Floats) -> Bools:
    """One value for far longer than readings at that level ever stay the same, with others before
    and after it.
    """
    is_hung = np.zeros(len(watts), np.bool_)
    if len(watts) < 4 * _MIN_HUNG_POLLS or not _may_hang(watts):
        return is_hung
    runs = _ValueRuns.of_readings(watts)
    is_number = np.isfinite(runs.values)
    is_long = is_number & (runs.lengths >= _MIN_HUNG_POLLS)
    # How long a run at one of the log's ends lasted is not known.
    is_long[[0, -1]] = False
    if not is_long.any():
        return is_hung
    low, high = np.percentile(watts[np.isfinite(watts)], (5, 95))
    max_idle = low + _MAX_IDLE_SHARE * (high - low)
    for run in np.flatnonzero(is_long).tolist():
        value = float(runs.values[run])
        if value <= max_idle:
            continue
        distances = np.abs(runs.values - value)
        is_near = distances <= _SAME_LEVEL_SHARE * abs(value)
        at_level = is_number & is_near
        at_level[run] = False
        if at_level.sum() < _MIN_OTHER_RUNS:
            continue
        longest_other = runs.lengths[at_level].max()
        length = runs.lengths[run]
        if length > _MIN_HUNG_RATIO * longest_other:
            first_row = runs.starts[run]
            # The first of them was new.
            is_hung[first_row + 1 : first_row + length] = True
    return is_hung
