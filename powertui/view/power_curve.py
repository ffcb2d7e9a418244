"""Which reading is in force where: a power series on the trace's clock as steps, ready to be drawn
or asked.

The rules are those of the integration (data/energy): a reading tells of the time around its moment
less the sensor's delay, the mean of an interval of the time before its row; nothing is known across
a hole. Drawn are readings, never what lies between two of them.
"""

from __future__ import annotations

import math
import weakref

import numpy as np

from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_S, Floats, Int64s, PowerKind, PowerOnTrace, PowerSeries
from powertui.view.step_curve import StepCurve


class PowerCurve(StepCurve):
    """One series, prepared once: `values[i]` holds from `at[i]` to `at[i + 1]`; NaN is a hole."""

    def __init__(self, power: PowerOnTrace) -> None:
        series = power.series
        if series.sensor.poll_s is None and len(series) > 1:
            series = sensors.describe(series)
        self.sensor = series.sensor
        times, watts = power.times, power.watts
        known = watts[np.isfinite(watts)]
        super().__init__(*self._steps(series, times, watts))
        self.range = (float(known.min()), float(known.max())) if len(known) else None

    def _steps(self, series: PowerSeries, times: Int64s, watts: Floats) -> tuple[Int64s, Floats]:
        """Where each reading begins to stand, and the readings."""
        if len(times) < 2:
            return times, np.empty(0)
        holes = sensors.holes(times // 1000, watts, self.sensor)
        if series.kind is PowerKind.INTERVAL:
            delay = self.sensor.delay_s.value if self.sensor.delay_s else 0.0
            # A hole is a row without a value: a long interval still has its mean.
            return times - round(delay * PS_PER_S), watts[1:]
        usual = self.sensor.refresh_s or self.sensor.poll_s
        length = round(usual.value * PS_PER_S) if usual else int(np.median(np.diff(times)))
        begin = times - round(sensors.centre_s(self.sensor) * PS_PER_S) - length // 2
        at, values = np.concatenate([begin, begin[-1:] + max(1, length)]), watts
        # Before a hole a reading holds for as long as readings usually do; behind that nothing is
        # known.
        silent = np.flatnonzero(holes & ~np.isnan(watts[:-1]) & (np.diff(begin) > length))
        if len(silent):
            at = np.insert(at, silent + 1, begin[silent] + length)
            values = np.insert(values, silent + 1, math.nan)
        return at, values


_curves: weakref.WeakKeyDictionary[PowerOnTrace, PowerCurve] = weakref.WeakKeyDictionary()


def curve_of(power: PowerOnTrace) -> PowerCurve:
    """The curve of a channel: made once, and kept as long as that is there."""
    found = _curves.get(power)
    if found is None:
        found = _curves[power] = PowerCurve(power)
    return found
