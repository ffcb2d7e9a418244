"""What the power sum of IBM's AIU is worth in watts, by a sensor beside the trace.

The sum's unit is a guess (`formats.aiu_power`). Where a log of the same cards is aligned with the
trace, `aiu-smi` say, each of its readings is held against the mean of the sum over the time that it
stands for: one factor for all cards, with its interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import NamedTuple

import numpy as np

from powertui.data.energy import log_alignment
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
from powertui.plain import plain

__all__ = ["SumScale", "found_scale", "settled"]

_MIN_READINGS = 5  # fewer leave the interval to chance
_STUDENT_T = 2.776  # of 4 degrees of freedom at 95 %; more readings need less
_MIN_COVERED = 0.95  # of the time that a reading stands for, within the sum's stretches
# A factor that is not known to this share settles nothing. A sensor that does not follow the sum
# leaves such an interval.
_MAX_HALF_SHARE = 0.25
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
    return is_device and sensor.source != IN_TRACE and power.status == "aligned"


def _scaled(channel: Placed, scale: SumScale) -> Placed:
    series = channel.power.series
    sensor = replace(
        series.sensor,
        scale=Badge.ESTIMATED,
        gain=Figure(scale.half / scale.factor, Badge.ESTIMATED),
    )
    joules = None if series.joules is None else series.joules * scale.factor
    scaled = replace(series, sensor=sensor, watts=series.watts * scale.factor, joules=joules)
    evidence = (*channel.alignment.evidence, scale.sentence())
    return log_alignment.placed(scaled, replace(channel.alignment, evidence=evidence))


def _of_log(sums: Sequence[PowerOnTrace], sensors: Sequence[PowerOnTrace]) -> SumScale | None:
    """The factor by one log; at the ends of its place's interval, too: they widen the factor's."""
    first = sensors[0]
    shifts = (0, first.offset_lo_ps - first.offset_ps, first.offset_hi_ps - first.offset_ps)
    found: list[tuple[float, float, int]] = []
    for shift in dict.fromkeys(shifts):
        pairs = list(_pairs(sums, sensors, shift))
        fit = _fit(pairs)
        if fit is not None:
            found.append(fit)
    if not found or len(found) < len(dict.fromkeys(shifts)):
        return None
    factor, _, count = found[0]
    lo = min(each - width for each, width, _ in found)
    hi = max(each + width for each, width, _ in found)
    if lo <= 0 or max(hi - factor, factor - lo) > _MAX_HALF_SHARE * factor:
        return None
    return SumScale(factor, lo, hi, count, PurePath(first.series.path).name)


def _fit(pairs: Sequence[_Pairs]) -> tuple[float, float, int] | None:
    """(factor, half of its interval, readings): the line through zero that fits best."""
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
    return factor, _STUDENT_T * (variance / weight) ** 0.5, count


def _pairs(
    sums: Sequence[PowerOnTrace], sensors: Sequence[PowerOnTrace], shift_ps: int
) -> Iterator[_Pairs]:
    """Each card's readings that the sum covers. Two that are alone are one card; else numbers
    tell.
    """
    is_alone = len(sums) == len(sensors) == 1
    for sensor in sensors:
        device = sensor.series.sensor.device
        for total in sums:
            own = total.series.sensor.device
            assert device is not None
            assert own is not None
            if is_alone or device.index == own.index:
                pairs = _of_card(total, sensor, shift_ps)
                if len(pairs.sensor):
                    yield pairs


def _of_card(total: PowerOnTrace, sensor: PowerOnTrace, shift_ps: int) -> _Pairs:
    poll = sensor.series.sensor.poll_s
    period_ps = round((poll.value if poll is not None else _DEFAULT_PERIOD_S) * PS_PER_S)
    at = sensor.times + shift_ps
    joules, known = _summed(total, at - period_ps, at)
    is_covered = (known >= _MIN_COVERED * period_ps) & np.isfinite(sensor.watts)
    mean_w = joules[is_covered] / (known[is_covered] / PS_PER_S)
    return _Pairs(sensor.watts[is_covered], mean_w)


def _summed(total: PowerOnTrace, lo: Int64s, hi: Int64s) -> tuple[Floats, Floats]:
    """(joules, ps that they are of) of a channel of stretches in some windows."""
    lengths = np.diff(total.times, prepend=total.times[:1]).astype(np.float64)
    is_known = np.isfinite(total.watts)
    lengths[~is_known] = 0.0
    drawn = np.cumsum(np.where(is_known, total.watts, 0.0) * lengths / PS_PER_S)
    covered = np.cumsum(lengths)
    joules = np.interp(hi, total.times, drawn) - np.interp(lo, total.times, drawn)
    known = np.interp(hi, total.times, covered) - np.interp(lo, total.times, covered)
    return joules, known
