"""The curve of a placed power series, built once from its rows and kept as long as it lives."""

from __future__ import annotations

import math
import weakref
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from powertui.data.energy import bridge, curve_slopes, distances, reading_noise, rounding
from powertui.data.energy import sensor as sensors
from powertui.data.energy.bridge import Bridges, summed_up
from powertui.data.energy.curve import BLOCK_ROWS, Curve
from powertui.data.energy.curve_slopes import PAUSE_REFRESHES
from powertui.data.energy.distances import Apart
from powertui.data.energy.rounding import Steady
from powertui.data.model import (
    PS_PER_NS,
    PS_PER_S,
    Bools,
    Figure,
    Floats,
    Int64s,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
    Sensor,
)
from powertui.named_tuples import NamedTuple

# A window whose error is more than this share of it may be anything. Chosen: two sigmas of that are
# more than the window.
_GUESSED_WINDOW_SHARE = 0.7
_PS_PER_S_FLOAT = float(PS_PER_S)  # so that numpy need not convert it

_curves: weakref.WeakKeyDictionary[PowerOnTrace, Curve] = weakref.WeakKeyDictionary()
_Curves: TypeAlias = "weakref.WeakValueDictionary[tuple[int, ...], Curve]"
_curves_by_place: weakref.WeakKeyDictionary[PowerSeries, _Curves] = weakref.WeakKeyDictionary()
_shared_times: weakref.WeakValueDictionary[tuple[int, int, int], Int64s] = (
    weakref.WeakValueDictionary()
)


def power_curve(power: PowerOnTrace) -> Curve:
    """The curve of a placed series, which is built when it is first asked for.

    A series has one curve at each place, however sure that place is. At another place its curve is
    the same one, moved in time.
    """
    curve = _curves.get(power)
    if curve is None:
        times = power.times
        key: tuple[int, ...] = (power.offset_ps, len(times))
        if len(times):
            # A clock that drifts moves these three by different amounts.
            key += (int(times[0]), int(times[len(times) // 2]), int(times[-1]))
        curves_of_series = _curves_by_place.setdefault(power.series, weakref.WeakValueDictionary())
        curve = curves_of_series.get(key)
        if curve is None:
            curve = _moved_curve(power, key, curves_of_series) or _build(power)
            curves_of_series[key] = curve
        _curves[power] = curve
    return curve


def _moved_curve(power: PowerOnTrace, key: tuple[int, ...], curves: _Curves) -> Curve | None:
    """The curve of the same readings at another place, moved; None where none is known.

    What is summed up is the same there.
    """
    offset, count, *moments = key
    if not count or count != len(power.series):
        return None
    # By `valuerefs`, a list that is there at once: another thread may add a curve meanwhile.
    for reference in curves.valuerefs():
        other_offset, *rest = reference.key
        shift = offset - other_offset
        curve = reference()
        if curve is not None and rest == [count, *(moment - shift for moment in moments)]:
            knots = _shared(curve.knots + shift)
            hold_at = knots if curve.hold_at is curve.knots else _shared(curve.hold_at + shift)
            return replace(curve, knots=knots, hold_at=hold_at, hold_end=curve.hold_end + shift)
    return None


def _shared(times: Int64s) -> Int64s:
    """The same array for the same times: a hundred channels of one log need one set of knots, not a
    hundred.
    """
    if not len(times):
        return times
    key = (len(times), int(times[0]), int(times[-1]))
    shared = _shared_times.get(key)
    if shared is times or (shared is not None and np.array_equal(shared, times)):
        return shared
    _shared_times[key] = times
    return times


# ── building ─────────────────────────────────────────────────────────────────────────────────────


class _SensorTimes(NamedTuple):
    """What is known of a sensor, in the units of a curve; 0 where nothing is."""

    refresh_s: float
    window_s: float
    centre_ps: int  # how long before a row its power was
    quantum_w: float
    is_guess: bool  # its window seems to be longer than a refresh, but may as well not be

    @property
    def longest_s(self) -> float:
        return max(self.refresh_s, self.window_s)


def _sensor_times(sensor: Sensor) -> _SensorTimes:
    refresh_s = _value(sensor.refresh_s) or _value(sensor.poll_s)
    window_s = _value(sensor.window_s)
    window_error_s = sensor.window_err_s or 0.0
    return _SensorTimes(
        refresh_s=refresh_s,
        window_s=window_s,
        centre_ps=round(min(sensors.centre_s(sensor), sensors.MAX_SENSOR_TIME_S) * PS_PER_S),
        quantum_w=_value(sensor.quantum_w),
        is_guess=window_s > refresh_s and window_error_s > _GUESSED_WINDOW_SHARE * window_s,
    )


def _value(figure: Figure | None) -> float:
    return min(figure.value, sensors.MAX_SENSOR_TIME_S) if figure is not None else 0.0


def _build(power: PowerOnTrace) -> Curve:
    series = power.series
    if len(series) > 1:
        series = sensors.described(series)
    sensor, kind = series.sensor, series.kind
    is_sampled = kind is PowerKind.SAMPLED
    sensor_times = _sensor_times(sensor)
    line = _interval_line(power, series) if not is_sampled else _sampled_line(power, series)
    # Channels share them, however late their sensors are.
    is_row_each = len(power.times) == len(line.knots)
    between = distances.reading_distances(power.times if is_row_each else line.knots)
    seconds = between.seconds
    # In this order: what is written last is still in memory that is quick.
    differences = _differences(line, kind)
    energies = _energies(power, line, seconds, sensor_times, kind)
    slopes = curve_slopes.turns(line.knots, between, differences, sensor_times.refresh_s)
    steep, steep_s = curve_slopes.steep(
        knots=line.knots,
        between=between,
        level=line.level,
        known=line.known,
        squares=slopes.squares,
        reach=sensor_times.longest_s,
        kind=kind,
    )
    covered = None if line.all_known else summed_up(np.where(line.known, seconds, 0.0))
    bridges = _bridges(
        line, between, energies.energy, covered, sensor_times.refresh_s if is_sampled else 0.0
    )
    if bridges is not None and series.in_stretches:
        bridges = bridge.between_stretches(bridges, line.knots, line.known)
    cut: Floats | None = None
    steps: Steady | None = None
    beat, noise_w = (1.0, 1.0), 0.0
    changes = np.zeros(len(differences) + 1, np.int32)
    np.cumsum(differences != 0, dtype=np.int32, out=changes[1:])
    if is_sampled:
        beat = reading_noise.beat(differences)
        known_s = seconds if line.all_known else seconds * line.known
        steps = rounding.steady_rounding(line.level, known_s, sensor_times.quantum_w)
        # The noise is measured over holes, too; it writes over its argument.
        moved = differences if line.all_known else np.diff(line.level)
        noise_w = reading_noise.sensor_noise_w(moved, sensor_times.quantum_w)
    else:
        cut = bridge.within(line.knots, line.left, line.known, sensor_times.refresh_s)
    window_error_s = (sensor.window_err_s or 0.0) if sensor_times.is_guess else 0.0
    return Curve(
        knots=line.knots,
        left=line.left,
        right=line.right,
        known=line.known,
        whole=line.all_known,
        energy=energies.energy,
        covered=covered,
        bridges=bridges,
        cut=cut,
        squares=slopes.squares,
        turns=slopes.turns,
        steep=steep,
        steep_s=steep_s,
        changes=changes,
        power=line.level,
        peaks=_block_maxima(line.level),
        hold_at=energies.hold_at,
        hold_power=energies.hold_power,
        hold_energy=energies.hold_energy,
        hold_end=energies.hold_end,
        refresh_s=sensor_times.refresh_s,
        window_s=sensor_times.window_s,
        smears_s=sensor_times.window_s + window_error_s,
        resolves_s=sensor_times.refresh_s if sensor_times.is_guess else sensor_times.longest_s,
        guessed=sensors.window_is_told_by_readings(sensor),
        # Two sigmas hold either.
        late_s=math.hypot(sensors.lag_err_s(sensor, kind), series.parted_s / 2),
        poll_s=_value(sensor.poll_s) if sensors.slow(sensor) and is_sampled else 0.0,
        beat=beat,
        turn=float(slopes.turns[-1] / slopes.squares[-1]) if slopes.squares[-1] > 0 else 0.0,
        averaged=_averaged_share(sensor, kind),
        quantum_w=sensor_times.quantum_w,
        step_j=_value(sensor.step_j),
        steps=steps,
        gain=sensor.gain.value if sensor.gain else None,
        spread_w=reading_noise.spread(line.level),
        noise_w=noise_w,
        kind=kind,
        sensor=sensor,
    )


def _block_maxima(level: Floats) -> Floats:
    if not len(level):
        return np.zeros(0)
    return np.maximum.reduceat(level, np.arange(0, len(level), BLOCK_ROWS))


def _averaged_share(sensor: Sensor, kind: PowerKind) -> float:
    """The share of the time that its readings cover: 1 for counters and for windows as long as the
    refresh.

    Of a window that is only guessed, or estimated, a rather short one counts.
    """
    if kind is PowerKind.INTERVAL:
        return 1.0
    refresh_s = _value(sensor.refresh_s) or _value(sensor.poll_s)
    if refresh_s <= 0:
        return 0.0
    short_window_s = max(0.0, _value(sensor.window_s) - (sensor.window_err_s or 0.0) / 2)
    share = short_window_s / refresh_s
    if sensor.window_err_s is not None and share < 1:
        # Power that moves while a reading is taken looks like a mean, too.
        share = max(0.0, (3 * share - 1) / 2)
    return min(1.0, share)


# ── knots ────────────────────────────────────────────────────────────────────────────────────────


class _Line(NamedTuple):
    """Power from knot to knot."""

    knots: Int64s
    level: Floats  # at each knot
    left: Floats  # at the start of each segment
    right: Floats  # and at its end
    known: Bools  # which segments hold knowledge
    gaps: Bools  # between rows of the log
    all_known: bool


def _gaps(power: PowerOnTrace, series: PowerSeries) -> Bools:
    # By the log's own times, so that it has the same holes wherever it is.
    times = power.times
    log_times = series.times if len(times) == len(series) else times // PS_PER_NS
    longest_ns = distances.longest(log_times)
    return sensors.holes(log_times, power.watts, series.sensor, series.kind, longest_ns=longest_ns)


def _interval_line(power: PowerOnTrace, series: PowerSeries) -> _Line:
    """Of a counter: its mean over each interval."""
    gaps = _gaps(power, series)
    knots = power.times
    if series.sensor.delay_s:
        delay_ps = round(_value(series.sensor.delay_s) * PS_PER_S)
        knots = distances.earlier(knots, delay_ps)
    level = np.nan_to_num(power.watts)
    means, known = level[1:], ~gaps
    return _Line(
        knots=_shared(knots),
        level=level,
        left=means,
        right=means,
        known=known,
        gaps=gaps,
        all_known=bool(known.all()),
    )


def _sampled_line(power: PowerOnTrace, series: PowerSeries) -> _Line:
    """Of samples: straight from one to the next."""
    gaps = _gaps(power, series)
    rows, is_read = _knots(power.times, power.watts, gaps, series.sensor)
    centre_ps = _sensor_times(series.sensor).centre_ps
    if rows is None:
        knots, level = distances.earlier(power.times, centre_ps), power.watts
    else:
        knots, level = power.times[rows] - centre_ps, power.watts[rows]
    return _Line(
        knots=_shared(knots),
        level=level,
        left=level[:-1],
        right=level[1:],
        known=is_read,
        gaps=gaps,
        all_known=bool(is_read.all()),
    )


def _knots(
    times: Int64s, watts: Floats, gaps: Bools, sensor: Sensor
) -> tuple[Int64s | None, Bools]:
    """Rows that bend the curve (None: all of them), and what is known between them.

    Of a slow sensor: where the value changed, and the last poll that is a whole refresh before the
    next change (until then it held; the change came about within the last refresh). Of a fast one:
    every reading.
    """
    is_missing = np.isnan(watts)
    refresh = sensor.refresh_s if sensors.slow(sensor) else None
    if refresh is None and not is_missing.any():
        return None, ~gaps
    valid = np.flatnonzero(~is_missing)
    if len(valid) < 2:
        return valid, np.zeros(0, np.bool_)
    # A hole anywhere between two valid rows parts them.
    gaps_before = np.concatenate(([0], np.cumsum(gaps)))
    is_parted = gaps_before[valid[1:]] > gaps_before[valid[:-1]]
    if refresh is None:
        return valid, ~is_parted
    rows = _rows_of_changes(times[valid], watts[valid], is_parted, _value(refresh))
    parted_before = np.concatenate(([0], np.cumsum(is_parted)))
    return valid[rows], parted_before[rows[1:]] == parted_before[rows[:-1]]


def _rows_of_changes(times: Int64s, watts: Floats, parted: Bools, refresh_s: float) -> Int64s:
    is_change = np.concatenate(([True], watts[1:] != watts[:-1]))
    is_knot = is_change.copy()
    is_knot[-1] = True
    is_knot[1:] |= parted
    is_knot[:-1] |= parted
    changes = np.flatnonzero(is_change)
    refresh_ps = round(refresh_s * PS_PER_S)
    held_to = times.searchsorted(times[changes[1:]] - refresh_ps, side="right") - 1
    is_knot[held_to[held_to > changes[:-1]]] = True
    return np.flatnonzero(is_knot)


def _differences(line: _Line, kind: PowerKind) -> Floats:
    """From each knot's reading to the next; 0 where one of the two is nobody's."""
    differences = np.diff(line.level)
    is_interval = kind is PowerKind.INTERVAL
    if is_interval and len(differences):
        differences[0] = 0.0  # the first row opens the first interval: its power is nobody's
    if not line.all_known:
        differences[~line.known] = 0.0
        if is_interval:
            differences[1:][~line.known[:-1]] = 0.0
    return differences


class _Energies(NamedTuple):
    """Joules up to each knot, by straight lines and where every reading holds."""

    energy: Floats
    hold_at: Int64s
    hold_power: Floats
    hold_energy: Floats
    hold_end: int


def _energies(
    power: PowerOnTrace,
    line: _Line,
    seconds: Floats,
    sensor_times: _SensorTimes,
    kind: PowerKind,
) -> _Energies:
    # Columns are made where their sums will stand: what is written to fresh memory costs more than
    # what is counted.
    sums, energy, hold_energy = bridge.room_for_two(len(seconds))
    area = np.add(line.left, line.right, out=energy[1:])
    area *= seconds
    area /= 2
    if not line.all_known:
        area[~line.known] = 0.0
    knots = line.knots
    if kind is PowerKind.INTERVAL:
        energy = summed_up(area)
        return _Energies(
            energy=energy,
            hold_at=knots,
            hold_power=np.append(line.left, 0.0),
            hold_energy=energy,
            hold_end=int(knots[-1]) if len(knots) else 0,
        )
    times, watts = power.times, power.watts
    refresh_ps = sensor_times.refresh_s * PS_PER_S
    # Each reading is held for one refresh, centered on it; the last one for a refresh, too.
    early_ps = sensor_times.centre_ps + round(refresh_ps / 2)
    hold_at, hold_power = _shared(distances.earlier(times, early_ps)), watts
    hold_end = int(hold_at[-1]) + round(refresh_ps) if len(times) else 0
    if line.gaps.any() or np.isnan(watts).any():
        hold_power = np.nan_to_num(watts)
        hold_power[:-1][line.gaps] = 0.0
    if len(knots) == len(times):
        np.multiply(hold_power[:-1], seconds, out=hold_energy[1:])
        np.cumsum(sums, out=sums)
    else:
        held_s = np.diff(times) / _PS_PER_S_FLOAT
        hold_energy = summed_up(hold_power[:-1] * held_s)
        energy = summed_up(area)
    return _Energies(
        energy=energy,
        hold_at=hold_at,
        hold_power=hold_power,
        hold_energy=hold_energy,
        hold_end=hold_end,
    )


def _bridges(
    line: _Line, between: Apart, energy: Floats, covered: Floats | None, refresh: float
) -> Bridges | None:
    """What its holes and pauses may hold; None when it has neither.

    `refresh`: s, 0 of a counter, which has no pauses.
    """
    may_pause = refresh > 0 and between.most > PAUSE_REFRESHES * refresh
    if covered is None and not may_pause:
        return None
    is_long = between.seconds > PAUSE_REFRESHES * refresh
    is_paused = line.known & is_long & (line.left != line.right) & (refresh > 0)
    if covered is None and not is_paused.any():
        return None
    if covered is None:
        covered = (line.knots - line.knots[0]) / _PS_PER_S_FLOAT
    paused_s = np.where(is_paused, between.seconds - refresh, 0.0)
    return bridge.build(
        knots=line.knots,
        left=line.left,
        right=line.right,
        known=line.known,
        energy=energy,
        covered=covered,
        paused_s=paused_s,
    )
