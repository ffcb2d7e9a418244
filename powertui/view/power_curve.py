"""Which reading is in force where: a power series on the trace's clock as steps, ready to be drawn or asked.

The rules are those of the integration (data/energy): a reading tells of the time around its moment less the sensor's
delay, the mean of an interval of the time before its row; nothing is known across a hole. Drawn are readings, never what lies
between two of them.
"""

from __future__ import annotations

import math
import weakref

import numpy as np

from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_S, Floats, Int64s, PowerKind, PowerOnTrace
from powertui.view.curve import Envelope, envelope


class PowerCurve:
    """One series, prepared once: `values[i]` holds from `at[i]` to `at[i + 1]`; NaN is a hole."""

    def __init__(self, power: PowerOnTrace) -> None:
        self.power = power
        series = power.series
        if series.sensor.poll_s is None and len(series) > 1:
            series = sensors.describe(series)
        self.sensor = series.sensor
        times, watts = power.times, power.watts
        known = watts[np.isfinite(watts)]
        self.range: tuple[float, float] | None = (float(known.min()), float(known.max())) if len(known) else None
        self.at: Int64s = times
        self.values: Floats = np.empty(0)
        if len(times) < 2:
            return
        holes = sensors.holes(times // 1000, watts, self.sensor)
        if series.kind is PowerKind.INTERVAL:
            delay = self.sensor.delay_s.value if self.sensor.delay_s else 0.0
            self.at = times - round(delay * PS_PER_S)
            # A hole is a row without a value: a long interval still has its mean.
            self.values = watts[1:]
            return
        usual = self.sensor.refresh_s or self.sensor.poll_s
        length = round(usual.value * PS_PER_S) if usual else int(np.median(np.diff(times)))
        begin = times - round(sensors.centre_s(self.sensor) * PS_PER_S) - length // 2
        self.at = np.concatenate([begin, begin[-1:] + max(1, length)])
        self.values = watts.copy()
        # Before a hole a reading holds for as long as readings usually do; behind that nothing is known.
        silent = np.flatnonzero(holes & ~np.isnan(watts[:-1]) & (np.diff(begin) > length))
        if len(silent):
            self.at = np.insert(self.at, silent + 1, begin[silent] + length)
            self.values = np.insert(self.values, silent + 1, math.nan)

    def value(self, ps: int) -> float:
        """The reading in force at a moment; NaN in a hole and outside the series."""
        return float(self.envelope(np.array([ps, ps + 1], np.int64)).high[0])

    def envelope(self, edges: Int64s) -> Envelope:
        """The least and the most of all readings in force in each [edge, next edge)."""
        if not len(self.values):
            nothing = np.full(len(edges) - 1, math.nan)
            return Envelope(nothing, nothing.copy())
        low, high = envelope(self.at[:-1], self.values, edges, -1)
        row = self.at.searchsorted(edges[:-1], side="right") - 1
        inside = (row >= 0) & (row < len(self.values))
        entering = np.where(inside, self.values[np.clip(row, 0, len(self.values) - 1)], math.nan)
        return Envelope(np.fmin(low, entering), np.fmax(high, entering))

    @property
    def span(self) -> tuple[int, int]:
        """From where to where there are readings (with holes)."""
        return (int(self.at[0]), int(self.at[-1])) if len(self.values) else (0, 0)


_curves: weakref.WeakKeyDictionary[PowerOnTrace, PowerCurve] = weakref.WeakKeyDictionary()


def curve_of(power: PowerOnTrace) -> PowerCurve:
    """The curve of a channel: made once, and kept as long as that is there."""
    found = _curves.get(power)
    if found is None:
        found = _curves[power] = PowerCurve(power)
    return found
