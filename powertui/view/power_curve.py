"""A power series on the trace's clock as steps: which reading holds where, ready to be drawn.

The rules are those of the integration (data/energy): a reading describes the time around its moment
less the sensor's delay, the mean of an interval the time before its row; nothing is known across a
hole. Only readings are drawn, never what is between two of them.
"""

from __future__ import annotations

import math
import weakref

import numpy as np

from powertui.data.energy import sensor as sensors
from powertui.data.model import (
    PS_PER_NS,
    PS_PER_S,
    Floats,
    Int64s,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
)
from powertui.data.quantiles import median_of_column
from powertui.view.step_curve import StepCurve


class PowerCurve(StepCurve):
    """One series: `values[i]` holds from `at[i]` to `at[i + 1]`; NaN is a hole."""

    def __init__(self, power: PowerOnTrace) -> None:
        series = power.series
        if series.sensor.poll_s is None and len(series) > 1:
            series = sensors.describe(series)
        self.sensor = series.sensor
        at, watts = self._steps(series, power.times, power.watts)
        super().__init__(at, watts)
        # of all readings, also those that no step shows
        is_finite = np.isfinite(power.watts)
        finite = power.watts[is_finite]
        self.range = None
        if len(finite):
            lowest = float(finite.min())
            highest = float(finite.max())
            self.range = (lowest, highest)

    def _steps(
        self,
        series: PowerSeries,
        times: Int64s,
        watts: Floats,
    ) -> tuple[Int64s, Floats]:
        """Where each reading begins to hold, and the readings."""
        if len(times) < 2:
            return times, np.empty(0)
        if series.kind is PowerKind.INTERVAL:
            delay = self.sensor.delay_s
            delay_ps = 0
            if delay:
                delay_ps = round(delay.value * PS_PER_S)
            # A hole is a row without a value: a long interval still has its mean.
            return times - delay_ps, watts[1:]
        length_ps = self._held_ps(times)
        center_s = sensors.centre_s(self.sensor)
        center_ps = round(center_s * PS_PER_S)
        start = times - center_ps - length_ps // 2
        end = start[-1] + max(1, length_ps)
        at = np.append(start, end)
        # Before a hole a reading holds for one refresh; after that nothing is known.
        times_ns = times // PS_PER_NS
        is_before_hole = sensors.holes(times_ns, watts, self.sensor)
        has_value = ~np.isnan(watts[:-1])
        is_long = np.diff(start) > length_ps
        rows = np.flatnonzero(is_before_hole & has_value & is_long)
        if not len(rows):
            return at, watts
        after = rows + 1
        hole_starts = start[rows] + length_ps
        at_with_holes = np.insert(at, after, hole_starts)
        watts_with_holes = np.insert(watts, after, math.nan)
        return at_with_holes, watts_with_holes

    def _held_ps(self, times: Int64s) -> int:
        """How long a reading holds: until the sensor has a new one."""
        refresh = self.sensor.refresh_s or self.sensor.poll_s
        if refresh:
            return round(refresh.value * PS_PER_S)
        return int(median_of_column(np.diff(times)))


_curves: weakref.WeakKeyDictionary[PowerOnTrace, PowerCurve] = weakref.WeakKeyDictionary()


def channel_curve(power: PowerOnTrace) -> PowerCurve:
    """The curve of a channel: built once, and kept as long as the channel."""
    curve = _curves.get(power)
    if curve is None:
        curve = _curves[power] = PowerCurve(power)
    return curve
