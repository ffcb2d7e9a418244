"""What the power sum of IBM's AIU is worth in watts, by a sensor beside the trace.

The sum's unit is a guess (`formats.aiu_power`). Where a log of the same cards is aligned with the
trace, `aiu-smi` say, each of its readings is held against the mean of the sum over the time that it
stands for: one factor for all cards, with its interval. Where the log's clock leaves its place open
by seconds, the place is found as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from powertui.data import wire
from powertui.data.energy import log_alignment, settings
from powertui.data.energy.log_alignment import Placed
from powertui.data.model import (
    IN_TRACE,
    PS_PER_S,
    Badge,
    Figure,
    Floats,
    Int64s,
    PowerOnTrace,
    PowerSeries,
    Scope,
)
from powertui.named_tuples import NamedTuple
from powertui.plain import plain

__all__ = ["SumScale", "found_scale", "settled"]

_MIN_READINGS = settings.MIN_ALIKE_VALUES  # fewer leave the interval to chance
_STUDENT_T = 2.776  # of 4 degrees of freedom at 95 %; more readings need less
_MIN_COVERED = 0.95  # of the time that a reading stands for, within the sum's stretches
# A factor that is not known to this share settles nothing. A sensor that does not follow the sum
# leaves such an interval.
_MAX_HALF_SHARE = settings.UNKNOWN_SHARE
_PLACES = 81  # of a log whose clock leaves ±2 s open: one each 50 ms, a twentieth of its period
_MAX_OPEN_PS = 10 * PS_PER_S  # a place that is open by more is not looked for here
_CHI2 = 3.84  # twice the fall of the log likelihood at the ends of a 95 % interval
_ROUNDING_W2 = 0.1**2 / 12  # W²; aiu-smi prints tenths
_DEFAULT_PERIOD_S = 1.0  # aiu-smi prints once a second


class SumScale(NamedTuple):
    """A factor on the sum's assumed watts, with its 95 % interval, and what it was found from."""

    factor: float
    lo: float
    hi: float
    readings: int
    log: str  # the file's name

    @property
    def half(self) -> float:
        """Half of the interval."""
        return (self.hi - self.lo) / 2

    def sentence(self) -> str:
        """For a person."""
        return (
            f"its scale is settled by {plain(self.log, 80)}: {self.factor:.4g} ± {self.half:.2g} "
            f"times 12 V/512, by {self.readings:,} readings"
        )


class _Pairs(NamedTuple):
    """A sensor's readings beside the mean of the sum over the same time, both in W."""

    sensor: Floats
    summed: Floats


def found_scale(channels: Sequence[Placed]) -> SumScale | None:
    """The factor that makes the sums' watts those of a sensor of the same cards; None where no log
    settles it.
    """
    sums = [channel.power for channel in channels if _is_sum(channel.power.series)]
    if not sums:
        return None
    for path in dict.fromkeys(channel.power.series.path for channel in channels):
        sensors = [
            channel.power
            for channel in channels
            if channel.power.series.path == path and _is_sensor(channel.power)
        ]
        scale = _of_log(sums, sensors) if sensors else None
        if scale is not None:
            return scale
    return None


def settled(channels: Sequence[Placed]) -> tuple[Placed, ...]:
    """The channels, the AIUs' own ones in the watts that a log beside them settles."""
    scale = found_scale(channels)
    if scale is None:
        return tuple(channels)
    return tuple(
        _scaled(channel, scale) if _is_sum(channel.power.series) else channel
        for channel in channels
    )


def _is_sum(series: PowerSeries) -> bool:
    sensor = series.sensor
    return sensor.source == IN_TRACE and sensor.scale is Badge.ASSUMED and sensor.device is not None


def _is_sensor(power: PowerOnTrace) -> bool:
    sensor = power.series.sensor
    is_device = sensor.scope is Scope.GPU and sensor.device is not None
    # Where its place is open by seconds, the ends of that interval widen the factor's.
    return is_device and sensor.source != IN_TRACE and power.status != "none"


def _scaled(channel: Placed, scale: SumScale) -> Placed:
    series = channel.power.series
    sensor = replace(
        series.sensor,
        scale=Badge.ESTIMATED,
        gain=Figure(scale.half / scale.factor, Badge.ESTIMATED),
    )
    joules = None if series.joules is None else series.joules * scale.factor
    scaled = replace(
        series,
        sensor=sensor,
        watts=series.watts * scale.factor,
        joules=joules,
    )
    evidence = (*channel.alignment.evidence, scale.sentence())
    return log_alignment.placed(scaled, replace(channel.alignment, evidence=evidence))


class _Fit(NamedTuple):
    """The line through zero that fits a sensor's readings best, at one place of its log."""

    factor: float
    half: float  # of its 95 % interval
    readings: int
    variance: float  # W², of what the line leaves


def _of_log(sums: Sequence[PowerOnTrace], sensors: Sequence[PowerOnTrace]) -> SumScale | None:
    """The factor by one log: over all its places that fit the sum about as well as the best one.

    Sum and sensor show the same power, so that they find the place within what its clock leaves
    open.
    """
    first = sensors[0]
    lo = first.offset_lo_ps - first.offset_ps
    hi = first.offset_hi_ps - first.offset_ps
    if hi - lo > _MAX_OPEN_PS:
        return None
    fits: list[_Fit] = []
    for shift in wire.distinct([*np.linspace(lo, hi, _PLACES).astype(np.int64), 0]).tolist():
        fit = _fit(list(_pairs(sums, sensors, shift)))
        if fit is not None:
            fits.append(fit)
    if not fits:
        return None
    best = min(fits, key=lambda fit: fit.variance)
    # The likelihood of normal readings falls by the logarithm of their variance.
    allowed = best.variance * float(np.exp(_CHI2 / best.readings))
    likely = [fit for fit in fits if fit.variance <= allowed]
    least = min(fit.factor - fit.half for fit in likely)
    most = max(fit.factor + fit.half for fit in likely)
    if least <= 0 or max(most - best.factor, best.factor - least) > _MAX_HALF_SHARE * best.factor:
        return None
    return SumScale(
        factor=best.factor,
        lo=least,
        hi=most,
        readings=best.readings,
        log=PurePath(first.series.path).name,
    )


def _fit(pairs: Sequence[_Pairs]) -> _Fit | None:
    if not pairs:
        return None
    sensor = np.concatenate([pair.sensor for pair in pairs])
    summed = np.concatenate([pair.summed for pair in pairs])
    count = len(sensor)
    weight = float((summed**2).sum())
    if count < _MIN_READINGS or weight <= 0:
        return None
    factor = float((sensor * summed).sum()) / weight
    variance = float(((sensor - factor * summed) ** 2).sum()) / (count - 1)
    half = _STUDENT_T * (variance / weight) ** 0.5
    return _Fit(
        factor=factor,
        half=half,
        readings=count,
        variance=variance + _ROUNDING_W2,
    )


def _pairs(
    sums: Sequence[PowerOnTrace],
    sensors: Sequence[PowerOnTrace],
    shift_ps: int,
) -> Iterator[_Pairs]:
    """Each card's readings that the sum covers. Two that are alone are one card; else numbers
    tell.
    """
    is_alone = len(sums) == len(sensors) == 1
    for sensor in sensors:
        device = sensor.series.sensor.device
        for total in sums:
            summed_device = total.series.sensor.device
            assert device is not None
            assert summed_device is not None
            if is_alone or device.index == summed_device.index:
                pairs = _of_card(total, sensor, shift_ps)
                if len(pairs.sensor):
                    yield pairs


def _of_card(
    total: PowerOnTrace,
    sensor: PowerOnTrace,
    shift_ps: int,
) -> _Pairs:
    poll = sensor.series.sensor.poll_s
    period_ps = round((poll.value if poll is not None else _DEFAULT_PERIOD_S) * PS_PER_S)
    at = sensor.times + shift_ps
    joules, covered_ps = _summed(total, at - period_ps, at)
    is_covered = (covered_ps >= _MIN_COVERED * period_ps) & np.isfinite(sensor.watts)
    mean_w = joules[is_covered] / (covered_ps[is_covered] / PS_PER_S)
    return _Pairs(sensor.watts[is_covered], mean_w)


def _summed(
    total: PowerOnTrace,
    lo: Int64s,
    hi: Int64s,
) -> tuple[Floats, Floats]:
    """(joules, ps that they are of) of a channel of stretches in some windows."""
    lengths = np.diff(total.times, prepend=total.times[:1]).astype(np.float64)
    is_known = np.isfinite(total.watts)
    lengths[~is_known] = 0.0
    watts = np.where(is_known, total.watts, 0.0)
    drawn = np.cumsum(watts * lengths / PS_PER_S)
    covered = np.cumsum(lengths)

    def between(sums: Floats) -> Floats:
        return np.asarray(np.interp(hi, total.times, sums) - np.interp(lo, total.times, sums))

    return between(drawn), between(covered)
