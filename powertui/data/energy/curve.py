"""A placed power series as a curve with prefix sums: what integration, maxima and drawing look up.

Built once per series (a few passes over its rows) and kept as long as the series lives; afterwards any window costs a
binary search. Between two knots the power runs straight; counters hold their mean over each interval. Holes carry
neither energy nor coverage.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import numpy as np

from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_S, Bools, Figure, Floats, Int64s, PowerKind, PowerOnTrace, Sensor

BLOCK = 256  # knots per block of the maxima
_S = float(PS_PER_S)


@dataclass(frozen=True, eq=False)
class Curve:
    """Knots in trace time (ps) and everything summed up to each of them."""

    knots: Int64s
    left: Floats  # power at the start of segment i (between knot i and i+1)
    slope: Floats  # W per s within it
    known: Bools  # segment i holds knowledge
    energy: Floats  # J from the first knot to knot i
    covered: Floats  # s of known segments to knot i
    squares: Floats  # sum of squared differences of neighbouring readings to knot i
    changes: Int64s  # how often the reading had changed up to knot i
    power: Floats  # power at knot i
    peaks: Floats  # maximum of every BLOCK knots
    hold_at: Int64s  # the same energy with every reading held for one refresh, centred on it
    hold_power: Floats
    hold_energy: Floats
    refresh_s: float  # 0 when unknown
    window_s: float
    averaged: float  # share of the time between two readings that they average over
    quantum_w: float
    gain: float | None
    spread_w: float  # standard deviation of the power over the whole curve
    kind: PowerKind
    sensor: Sensor

    def segment(self, at: Int64s) -> Int64s:
        """The segment that holds each time; the nearest one outside."""
        return np.clip(self.knots.searchsorted(at, side="right") - 1, 0, max(0, len(self.left) - 1))

    def sums(self, at: Int64s) -> tuple[Floats, Floats, Floats, Int64s]:
        """(energy to there, seconds covered to there, power there, segment) for each time."""
        row = self.segment(at)
        inside = np.clip(at, self.knots[0], self.knots[-1])
        dt = (inside - self.knots[row]) / _S
        slope, left, known = self.slope[row], self.left[row], self.known[row]
        energy = self.energy[row] + known * (left * dt + slope * dt * dt / 2)
        return energy, self.covered[row] + known * dt, left + slope * dt, row

    def held(self, at: Int64s) -> Floats:
        """Energy to each time under the rule that every reading holds."""
        row = np.clip(self.hold_at.searchsorted(at, side="right") - 1, 0, max(0, len(self.hold_power) - 1))
        dt = (np.clip(at, self.hold_at[0], self.hold_at[-1]) - self.hold_at[row]) / _S
        return self.hold_energy[row] + self.hold_power[row] * dt

    def peak(self, first: int, last: int) -> float:
        """Maximum power over knots first … last-1; NaN when there is none."""
        if last <= first:
            return float("nan")
        if last - first <= 2 * BLOCK:
            return float(self.power[first:last].max())
        a, b = -(-first // BLOCK), last // BLOCK
        best = float(self.peaks[a:b].max()) if b > a else float("-inf")
        for lo, hi in ((first, a * BLOCK), (b * BLOCK, last)):
            if hi > lo:
                best = max(best, float(self.power[lo:hi].max()))
        return best


_kept: weakref.WeakKeyDictionary[PowerOnTrace, Curve] = weakref.WeakKeyDictionary()


def of(power: PowerOnTrace) -> Curve:
    """The curve of a placed series; built when it is first asked for."""
    found = _kept.get(power)
    if found is None:
        found = _kept[power] = _build(power)
    return found


def _value(figure: Figure | None) -> float:
    return figure.value if figure is not None else 0.0


def _build(power: PowerOnTrace) -> Curve:
    series = power.series
    if series.sensor.poll_s is None and len(series) > 1:
        series = sensors.describe(series)
    sensor = series.sensor
    times, watts = power.times, power.watts
    centre = round(sensors.centre_s(sensor) * PS_PER_S)
    if series.kind is PowerKind.INTERVAL:
        at, left, right, known, at_power = _intervals(times - round(_value(sensor.delay_s) * PS_PER_S), watts)
    else:
        rows, known = _knots(times, watts, sensor)
        at, at_power = times[rows] - centre, watts[rows]
        left, right = at_power[:-1], at_power[1:]
    seconds = np.diff(at) / _S
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(known & (seconds > 0), (right - left) / seconds, 0.0)
    area = np.where(known, (left + right) / 2 * seconds, 0.0)
    moved = np.where(known, at_power[1:] - at_power[:-1], 0.0) if len(at) > 1 else np.zeros(0)
    moved = np.nan_to_num(moved)
    total = float(area.sum())
    length = float(seconds[known].sum()) if len(seconds) else 0.0
    mean = total / length if length else 0.0
    spread = (
        float(np.sqrt(max(0.0, np.where(known, ((left + right) / 2 - mean) ** 2 * seconds, 0.0).sum() / length))) if length else 0.0
    )
    hold_at, hold_power = _held(at, times, watts, known, sensor, series.kind, centre, left)
    return Curve(
        knots=at,
        left=np.nan_to_num(left),
        slope=np.nan_to_num(slope),
        known=known,
        energy=_prefix(area),
        covered=_prefix(np.where(known, seconds, 0.0)),
        squares=_prefix(moved * moved),
        changes=np.concatenate(([0], np.cumsum(moved != 0))).astype(np.int64),
        power=at_power,
        peaks=np.array([at_power[i : i + BLOCK].max() for i in range(0, len(at_power), BLOCK)]),
        hold_at=hold_at,
        hold_power=hold_power,
        hold_energy=_prefix(hold_power * (np.diff(hold_at) / _S)),
        refresh_s=_value(sensor.refresh_s) or _value(sensor.poll_s),
        window_s=_value(sensor.window_s),
        averaged=_averaged(sensor, series.kind),
        quantum_w=_value(sensor.quantum_w),
        gain=sensor.gain.value if sensor.gain else None,
        spread_w=spread,
        kind=series.kind,
        sensor=sensor,
    )


def _averaged(sensor: Sensor, kind: PowerKind) -> float:
    """The share of the time that its readings cover: 1 for counters and for windows as long as the refresh.

    A window that is only guessed covers nothing here: the budget stays on the safe side.
    """
    if kind is PowerKind.INTERVAL:
        return 1.0
    refresh = _value(sensor.refresh_s) or _value(sensor.poll_s)
    if refresh <= 0 or sensors.window_is_guess(sensor):
        return 0.0
    return min(1.0, _value(sensor.window_s) / refresh)


def _prefix(values: Floats) -> Floats:
    out = np.zeros(len(values) + 1)
    np.cumsum(values, out=out[1:])
    return out


def _intervals(times: Int64s, watts: Floats) -> tuple[Int64s, Floats, Floats, Bools, Floats]:
    """Every row tells the mean since the row before."""
    mean = watts[1:]
    at_power = np.nan_to_num(np.r_[mean[:1], mean]) if len(watts) else watts
    return times, mean, mean, np.isfinite(mean), at_power


def _knots(times: Int64s, watts: Floats, sensor: Sensor) -> tuple[Int64s, Bools]:
    """Rows that bend the curve, and what is known between them.

    Of a slow sensor: where the value changed, and the last poll that is a whole refresh before the next change (until
    then it held; the change came about within the last refresh). Of a fast one: every reading.
    """
    gaps = sensors.holes(times // 1000, watts, sensor)
    valid = np.flatnonzero(np.isfinite(watts))
    if len(valid) < 2:
        return valid, np.zeros(0, np.bool_)
    # a hole anywhere between two valid rows parts them
    upto = np.r_[0, np.cumsum(gaps)]
    parted = upto[valid[1:]] > upto[valid[:-1]]
    if not sensors.slow(sensor) or sensor.refresh_s is None:
        return valid, ~parted
    t, w = times[valid], watts[valid]
    changed = np.r_[True, w[1:] != w[:-1]]
    keep = changed.copy()
    keep[-1] = True
    keep[1:] |= parted
    keep[:-1] |= parted
    starts = np.flatnonzero(changed)
    held_to = t.searchsorted(t[starts[1:]] - round(sensor.refresh_s.value * PS_PER_S), side="right") - 1
    keep[held_to[held_to > starts[:-1]]] = True
    rows = np.flatnonzero(keep)
    upto = np.r_[0, np.cumsum(parted)]
    return valid[rows], upto[rows[1:]] == upto[rows[:-1]]


def _held(
    at: Int64s, times: Int64s, watts: Floats, known: Bools, sensor: Sensor, kind: PowerKind, centre: int, left: Floats
) -> tuple[Int64s, Floats]:  # fmt: skip
    if kind is PowerKind.INTERVAL:
        return at, np.where(known, np.nan_to_num(left), 0.0)
    gaps = sensors.holes(times // 1000, watts, sensor)
    early = centre + round((_value(sensor.refresh_s) or _value(sensor.poll_s)) * PS_PER_S / 2)
    if not len(times):
        return times, np.zeros(0)
    held = np.where(gaps | np.isnan(watts[:-1]), 0.0, np.nan_to_num(watts[:-1]))
    return np.r_[times - early, times[-1] + early], np.r_[held, np.nan_to_num(watts[-1:])]  # the last one for a refresh, too
