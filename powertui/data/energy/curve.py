"""A placed power series as a curve with prefix sums: what integration, maxima and drawing look up.

Built once per series (a few passes over its rows) and kept as long as the series lives; afterwards
any window costs a binary search. Between two knots the power runs straight; counters hold their
mean over each interval. Holes carry neither energy nor coverage.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from powertui.data.energy import bridge, distances, rounding
from powertui.data.energy import sensor as sensors
from powertui.data.energy.bridge import Bridges, summed_up
from powertui.data.energy.distances import Apart
from powertui.data.energy.rounding import Steady
from powertui.data.model import (
    PS_PER_NS,
    PS_PER_S,
    Bools,
    Figure,
    Floats,
    Int32s,
    Int64s,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
    Sensor,
)
from powertui.value_types import dataclass

_BLOCK_ROWS = 256  # knots per block of the maxima
# Ranges from which their maxima are looked up in one pass. A bound of time only.
_MIN_GROUPED_RANGES = 32
_PS_PER_S_FLOAT = float(PS_PER_S)  # so that numpy need not convert it


class Spot(NamedTuple):
    """Where some times lie among knots.

    Channels that were read together share their knots, and so their spots.
    """

    row: Int64s  # the segment; the nearest one outside
    inside: Int64s  # the time, clipped to the knots
    start: Int64s
    end: Int64s
    since: Floats  # s from the first knot to that start


def spot(knots: Int64s, times: Int64s) -> Spot:
    """Where the times lie."""
    inside = np.minimum(np.maximum(times, knots[0]), knots[-1])
    row = np.minimum(knots.searchsorted(inside, side="right"), len(knots) - 1) - 1
    start = knots[row]
    return Spot(row, inside, start, knots[row + 1], (start - knots[0]) / _PS_PER_S_FLOAT)


class CurveEntries(NamedTuple):
    """Raw entries of a curve at some times: what `place` needs.

    Entries of several curves may be stacked.
    """

    inside: Int64s
    start: Int64s
    end: Int64s
    left: Floats
    right: Floats
    energy: Floats
    covered: Floats
    known: Bools

    def shaped(self, *shape: int) -> CurveEntries:
        """The same entries as a table."""
        columns: list[Any] = [column.reshape(shape) for column in self]
        return CurveEntries(*columns)


class CurveValues(NamedTuple):
    """What a curve says at some times."""

    energy: Floats  # J from the first knot
    covered: Floats  # s of knowledge from the first knot
    watts: Floats


def place(entries: CurveEntries) -> CurveValues:
    """Energy, coverage and power at each time. Nothing is added outside the knots."""
    dt = (entries.inside - entries.start) / _PS_PER_S_FLOAT
    rise = (entries.right - entries.left) * (
        dt / np.maximum((entries.end - entries.start) / _PS_PER_S_FLOAT, 1e-12)
    )
    known_s = entries.known * dt
    return CurveValues(
        entries.energy + known_s * (entries.left + rise / 2),
        entries.covered + known_s,
        entries.left + rise,
    )


@dataclass(frozen=True, eq=False)
class Curve:
    """Knots in trace time (ps) and everything summed up to each of them.

    Columns are views of the series wherever they can be: a day of a rack has a hundred of these.
    """

    knots: Int64s
    left: Floats  # power at the start of segment i (between knot i and i+1)
    right: Floats  # and at its end
    known: Bools  # segment i holds knowledge
    whole: bool  # every one does
    energy: Floats  # J from the first knot to knot i
    covered: Floats | None  # s of known segments to knot i; None when all are known
    bridges: Bridges | None  # over its holes and pauses; None when it has neither
    # W²: what a part of a counter's long interval may have drawn beside its share; None when none
    # is long.
    cut: Floats | None
    squares: Floats  # sum of squared differences of neighbouring readings to knot i
    turns: Floats  # and of each difference times the one before it
    # squared differences over the averaging window (or a refresh), around knot i, summed to it: W²
    # …
    steep: Floats
    steep_s: float  # … times so many s
    changes: Int32s  # how often the reading had changed up to knot i
    power: Floats  # power at knot i
    peaks: Floats  # maximum of every BLOCK knots
    hold_at: Int64s  # each reading held for one refresh, centred on it: from here on (ps) …
    hold_power: Floats
    hold_energy: Floats  # … with so many joules before
    hold_end: int  # the last reading holds until here
    refresh_s: float  # 0 when unknown
    window_s: float
    smears_s: float  # the same, as long as it may be where it is a guess
    # the shortest stretch that the sensor can tell apart: its refresh, or its window where that is
    # none
    resolves_s: float
    averaged: float  # share of the time between two readings that they average over, at the least
    guessed: (
        bool  # its readings are means over more than a refresh, which only they themselves tell
    )
    late_s: float  # one sigma of where all readings together lie in time
    poll_s: float  # of a sensor that is asked more often than it changes; else 0
    turn: float  # correlation of neighbouring differences over the whole curve
    # Readings until they meet the same part of a repeating load again, and for how long they go on
    # to.
    beat: tuple[float, float]
    quantum_w: float
    steps: (
        Steady | None
    )  # how long it read each of its steps; None of a sensor that is fine, or has too many
    gain: float | None
    spread_w: float  # standard deviation of the power over the whole curve
    noise_w: float  # of one reading, where the power is quiet; 0 for counters
    kind: PowerKind
    sensor: Sensor

    @functools.cached_property
    def smeared_s(self) -> float:
        """Over how long a step of power is smeared: the sensor's refresh, or the window it averages
        over.
        """
        return max(self.refresh_s, self.window_s)

    def read(self, at: Spot) -> CurveEntries:
        """The entries there: lookups only, no arithmetic worth the name (a window costs one of
        these per channel).
        """
        row = at.row
        covered = at.since if self.covered is None else self.covered[row]
        return CurveEntries(
            at.inside,
            at.start,
            at.end,
            self.left[row],
            self.right[row],
            self.energy[row],
            covered,
            self.known[row],
        )

    def held_at(self, times: Int64s) -> tuple[Int64s, Floats]:
        """(reading, seconds since it) at each time: which reading holds. For `held`."""
        at = spot(self.hold_at, times)
        past = times >= self.hold_at[-1]
        row = at.row + past
        return row, (
            np.where(past, np.minimum(times, self.hold_end), at.inside) - self.hold_at[row]
        ) / _PS_PER_S_FLOAT

    def held(self, row: Int64s, seconds: Floats) -> Floats:
        """Energy to there under the rule that every reading holds."""
        energy: Floats = self.hold_energy[row] + self.hold_power[row] * seconds
        return energy

    def bridged(self, at: Spot, count: int) -> tuple[Floats, Floats, Floats]:
        """J that holes up to each of the first so many times are taken to hold, its variance, and
        s² of these holes.
        """
        if self.bridges is None:
            nothing = _zeros(count)
            return nothing, nothing, nothing
        bridges, row = self.bridges, at.row[:count]
        since_start, segment_s = (
            (at.inside[:count] - at.start[:count]) / _PS_PER_S_FLOAT,
            (at.end[:count] - at.start[:count]) / _PS_PER_S_FLOAT,
        )
        part = since_start * segment_s * ~self.known[row]
        return (
            bridges.joules[row] + bridges.watts[row] * since_start,
            bridges.variance[row] + bridges.spread[row] * since_start,
            bridges.squares[row] + part,
        )

    def cuts(self, at: Spot, count: int) -> Floats:
        """What the first so many times leave open of a long interval that they cut: W², 0 where
        they cut none.
        """
        return _zeros(count) if self.cut is None else self.cut[at.row[:count]]

    def peaks_of(self, ranges: Sequence[tuple[int, int]]) -> list[float]:
        """The same of many: where they are short, all of them in one pass."""
        if (
            len(ranges) < _MIN_GROUPED_RANGES
            or sum(last - first for first, last in ranges) > len(ranges) * 2 * _BLOCK_ROWS
        ):
            return [self.peak(first, last) for first, last in ranges]
        ends = np.array(ranges, np.int64)
        in_order = (ends[:, 0] < ends[:, 1]) & (ends[:, 1] < len(self.power))
        # What lies between two of them is gone through as well: where they follow one another it is
        # little.
        between = np.maximum(np.diff(ends[in_order].ravel()), 0)
        if not in_order.any() or int(between.sum()) > 2 * len(self.power):
            return [self.peak(first, last) for first, last in ranges]
        maxima = np.full(len(ranges), np.nan)
        maxima[in_order] = np.maximum.reduceat(self.power, ends[in_order].ravel())[::2]
        for row in np.flatnonzero(~in_order).tolist():
            maxima[row] = self.peak(*ranges[row])
        out: list[float] = maxima.tolist()
        return out

    def peak(self, first: int, last: int) -> float:
        """Maximum power over knots first … last-1; NaN when there is none."""
        if last <= first:
            return float("nan")
        maximum = np.maximum.reduce
        if last - first <= 2 * _BLOCK_ROWS:
            return float(maximum(self.power[first:last]))
        first_block, last_block = -(-first // _BLOCK_ROWS), last // _BLOCK_ROWS
        best = float(maximum(self.peaks[first_block:last_block]))
        if first < first_block * _BLOCK_ROWS:
            best = max(best, float(maximum(self.power[first : first_block * _BLOCK_ROWS])))
        if last_block * _BLOCK_ROWS < last:
            best = max(best, float(maximum(self.power[last_block * _BLOCK_ROWS : last])))
        return best


@functools.lru_cache(maxsize=8)
def _zeros(count: int) -> Floats:
    nothing = np.zeros(count)
    nothing.flags.writeable = False
    return nothing


_curves: weakref.WeakKeyDictionary[PowerOnTrace, Curve] = weakref.WeakKeyDictionary()
_shared_times: weakref.WeakValueDictionary[tuple[int, int, int], Int64s] = (
    weakref.WeakValueDictionary()
)


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


_curves_by_place: weakref.WeakKeyDictionary[
    PowerSeries, weakref.WeakValueDictionary[tuple[int, ...], Curve]
] = weakref.WeakKeyDictionary()


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


def _moved_curve(
    power: PowerOnTrace, key: tuple[int, ...], curves: Mapping[tuple[int, ...], Curve]
) -> Curve | None:
    """The curve of the same readings at another place, moved; None where none is known.

    What is summed up is the same there.
    """
    offset, count, *moments = key
    if not count or count != len(power.series):
        return None
    for (other_offset, *rest), curve in list(curves.items()):
        shift = offset - other_offset
        if rest == [count, *(moment - shift for moment in moments)]:
            knots = _shared(curve.knots + shift)
            hold_at = knots if curve.hold_at is curve.knots else _shared(curve.hold_at + shift)
            return replace(curve, knots=knots, hold_at=hold_at, hold_end=curve.hold_end + shift)
    return None


MAX_SENSOR_TIME_S = 4e6  # no refresh, window or delay is longer than a log can be


def _value(figure: Figure | None) -> float:
    return min(figure.value, MAX_SENSOR_TIME_S) if figure is not None else 0.0


def _build(power: PowerOnTrace) -> Curve:
    series = power.series
    if series.sensor.poll_s is None and len(series) > 1:
        series = sensors.describe(series)
    sensor, kind = series.sensor, series.kind
    times, watts = power.times, power.watts
    refresh = _value(sensor.refresh_s) or _value(sensor.poll_s)
    centre = round(min(sensors.centre_s(sensor), MAX_SENSOR_TIME_S) * PS_PER_S)
    # By the log's own times, so that it has the same holes wherever it lies.
    log_times = series.times if len(times) == len(series) else times // PS_PER_NS
    gaps = sensors.holes(log_times, watts, sensor, kind, longest_ns=distances.longest(log_times))
    if kind is PowerKind.INTERVAL:
        knots = (
            distances.earlier(times, round(_value(sensor.delay_s) * PS_PER_S))
            if sensor.delay_s
            else times
        )
        known, level = ~gaps, np.nan_to_num(watts)
        left = right = level[1:]
    else:
        rows, known = _knots(times, watts, gaps, sensor)
        knots, level = (
            (distances.earlier(times, centre), watts)
            if rows is None
            else (times[rows] - centre, watts[rows])
        )
        left, right = level[:-1], level[1:]
    knots = _shared(knots)
    gaps_between = distances.reading_distances(
        times if len(times) == len(knots) else knots
    )  # whose channels share them, however late their sensors are
    seconds = gaps_between.seconds
    all_known = bool(known.all())
    differences = np.diff(level)
    if kind is PowerKind.INTERVAL and len(differences):
        differences[0] = 0.0  # the first row opens the first interval: its power is nobody's
    if not all_known:
        differences[~known] = 0.0
        if kind is PowerKind.INTERVAL:
            differences[1:][~known[:-1]] = 0.0
    # Columns are made where their sums will stand: what is written to fresh memory costs more than
    # what is counted.
    sums, energy, hold_energy = bridge.room_for_two(len(seconds))
    area = energy[1:]
    np.add(left, right, out=area)
    area *= seconds
    area /= 2
    if not all_known:
        area[~known] = 0.0
    hold_at, hold_power, hold_end = knots, left, int(knots[-1]) if len(knots) else 0
    if kind is PowerKind.INTERVAL:
        energy = hold_energy = summed_up(area)
    else:
        early = centre + round(refresh * PS_PER_S / 2)
        hold_at, hold_power = _shared(distances.earlier(times, early)), watts
        if gaps.any() or np.isnan(watts).any():
            hold_power = np.nan_to_num(watts)
            hold_power[:-1][gaps] = 0.0
        if len(knots) == len(times):
            np.multiply(hold_power[:-1], seconds, out=hold_energy[1:])
            np.cumsum(sums, out=sums)
        else:
            energy, hold_energy = (
                summed_up(area),
                summed_up(hold_power[:-1] * (np.diff(times) / _PS_PER_S_FLOAT)),
            )
        hold_end = (
            int(hold_at[-1]) + round(refresh * PS_PER_S) if len(times) else 0
        )  # the last one for a refresh, too
    window, guess = _value(sensor.window_s), _guess(sensor, refresh)
    sums, squares, turns = bridge.room_for_two(len(differences))
    np.multiply(differences, differences, out=squares[1:])
    _turns(knots, gaps_between, differences, refresh, turns[1:])
    np.cumsum(sums, out=sums)
    steep, steep_s = _steep(knots, gaps_between, level, known, squares, max(refresh, window), kind)
    covered = None if all_known else summed_up(np.where(known, seconds, 0.0))
    changes = np.zeros(len(differences) + 1, np.int32)
    np.cumsum(differences != 0, dtype=np.int32, out=changes[1:])
    beat = _beat(differences) if kind is PowerKind.SAMPLED else (1.0, 1.0)
    noise = (
        _noise(differences if all_known else np.diff(level), _value(sensor.quantum_w))
        if kind is PowerKind.SAMPLED
        else 0.0
    )
    bridges = _bridges(
        knots,
        gaps_between,
        left,
        right,
        known,
        energy,
        covered,
        refresh if kind is PowerKind.SAMPLED else 0.0,
    )
    if bridges is not None and series.in_stretches:
        bridges = bridge.between_stretches(bridges, knots, known)
    return Curve(
        knots=knots,
        left=left,
        right=right,
        known=known,
        whole=all_known,
        energy=energy,
        covered=covered,
        bridges=bridges,
        cut=bridge.within(knots, left, known, refresh) if kind is PowerKind.INTERVAL else None,
        squares=squares,
        turns=turns,
        steep=steep,
        steep_s=steep_s,
        changes=changes,
        power=level,
        peaks=_peaks(level),
        hold_at=hold_at,
        hold_power=np.append(hold_power, 0.0) if kind is PowerKind.INTERVAL else hold_power,
        hold_energy=hold_energy,
        hold_end=hold_end,
        refresh_s=refresh,
        window_s=window,
        smears_s=window + ((sensor.window_err_s or 0.0) if guess else 0.0),
        resolves_s=refresh if guess else max(refresh, window),
        guessed=sensors.window_is_told_by_readings(sensor),
        late_s=math.hypot(
            sensors.lag_err_s(sensor, kind), series.parted_s / 2
        ),  # two sigmas hold either
        poll_s=_value(sensor.poll_s) if sensors.slow(sensor) and kind is PowerKind.SAMPLED else 0.0,
        beat=beat,
        turn=float(turns[-1] / squares[-1]) if squares[-1] > 0 else 0.0,
        averaged=_averaged(sensor, kind),
        quantum_w=_value(sensor.quantum_w),
        steps=rounding.steady_rounding(
            level, seconds if all_known else seconds * known, _value(sensor.quantum_w)
        )
        if kind is PowerKind.SAMPLED
        else None,
        gain=sensor.gain.value if sensor.gain else None,
        spread_w=_spread(level),
        noise_w=noise,
        kind=kind,
        sensor=sensor,
    )


def _guess(sensor: Sensor, refresh: float) -> bool:
    """Its window seems to be longer than a refresh, but may as well not be."""
    window = _value(sensor.window_s)
    return window > refresh and (sensor.window_err_s or 0.0) > _GUESSED_WINDOW_SHARE * window


def _peaks(level: Floats) -> Floats:
    return (
        np.maximum.reduceat(level, np.arange(0, len(level), _BLOCK_ROWS))
        if len(level)
        else np.zeros(0)
    )


def _spread(level: Floats) -> float:
    """How far the power strays: over some thousand knots, for it only says how little a gap is
    known.
    """
    return float(level[:: max(1, len(level) // 4096)].std()) if len(level) else 0.0


# A window whose error is more than this share of it may be anything. Chosen, not measured.
_GUESSED_WINDOW_SHARE = 0.7
# Refreshes between two readings from which on the straight line between them is a pause. Chosen,
# not measured.
_PAUSE_REFRESHES = 1.6
_ROUNDING_MARGIN = 0.001  # relative, and more than what is lost where ps become seconds


def _bridges(
    knots: Int64s,
    between: Apart,
    left: Floats,
    right: Floats,
    known: Bools,
    energy: Floats,
    covered: Floats | None,
    refresh: float,
) -> Bridges | None:
    if covered is None and not (refresh > 0 and between.most > _PAUSE_REFRESHES * refresh):
        return None
    paused = (
        known & (between.seconds > _PAUSE_REFRESHES * refresh) & (left != right) & (refresh > 0)
    )
    if covered is None and not paused.any():
        return None
    upto = (knots - knots[0]) / _PS_PER_S_FLOAT if covered is None else covered
    return bridge.build(
        knots, left, right, known, energy, upto, np.where(paused, between.seconds - refresh, 0.0)
    )


def _turns(knots: Int64s, between: Apart, moved: Floats, refresh: float, out: Floats) -> None:
    """Each difference times the one before it, where both are a refresh or so long."""
    out[:1] = 0.0
    # Where rows come evenly, the one before is near, and none is that has another one between.
    near_s = _PAUSE_REFRESHES * max(refresh, 1e-9)
    even = (
        np.isfinite(moved).all()
        and between.most < (1 - _ROUNDING_MARGIN) * near_s
        and 2 * between.least > (1 + _ROUNDING_MARGIN) * near_s
    )
    if len(moved) > 1 and (even or (between.most < _PAUSE_REFRESHES * refresh and moved.all())):
        np.multiply(moved[1:], moved[:-1], out=out[1:])
    else:
        out[:] = 0.0
        rows = np.flatnonzero(moved)
        if len(rows) > 1:
            near = np.diff(knots[rows + 1]) < near_s * PS_PER_S
            some = moved[rows]
            out[rows[1:]] = np.where(near, some[1:] * some[:-1], 0.0)


def _steep(
    knots: Int64s,
    between: Apart,
    level: Floats,
    known: Bools,
    squares: Floats,
    reach: float,
    kind: PowerKind,
) -> tuple[Floats, float]:
    """Squared differences of the readings half a reach before and after each segment, times its
    length, summed up to each knot.
    """
    if len(level) < 2:
        return squares, reach
    seconds = between.seconds
    lag = max(1, round(reach / between.usual)) if between.usual > 0 else 1
    if lag == 1 or kind is PowerKind.INTERVAL:
        if between.most <= _PAUSE_REFRESHES * reach:
            return squares, reach
        return summed_up(np.maximum(seconds, reach) * np.diff(squares)), 1.0
    middle = knots[:-1] + np.diff(knots) // 2
    half = round(reach / 2 * PS_PER_S)
    later = np.minimum(knots.searchsorted(middle + half), len(knots) - 1)
    earlier = np.maximum(knots.searchsorted(middle - half, side="right") - 1, 0)
    # What repeats within the window is not seen in means over it; but one mean and the next differ
    # by what came and what went.
    across, along = (level[later] - level[earlier]) ** 2, lag * np.diff(level) ** 2
    return summed_up(
        np.where(
            known,
            seconds * (_WINDOW_CHANGE_WEIGHT * across + _NEIGHBOUR_CHANGE_WEIGHT * along),
            0.0,
        )
    ), 1.0


# How much the change across a whole window, and the one from reading to reading, count for the
# slope. Tuned on simulated trainings; half and twice are not recorded.
_WINDOW_CHANGE_WEIGHT, _NEIGHBOUR_CHANGE_WEIGHT = 0.7, 1.3
_REPEAT_CORRELATION = 0.5  # from which on differences repeat; chosen, not measured
_MAX_LAGS = 256  # readings: longer periods are not looked for
_BEAT_DIFFERENCES = 4096  # of the liveliest part of the log, which are asked for a period
# Differences that are looked at together: so few take no fresh memory.
_PIECE_DIFFERENCES = 4 * _BEAT_DIFFERENCES


def _beat(moved: Floats) -> tuple[float, float]:
    """After how many readings a load that repeats is met at the same place again, and how many
    readings long that goes on.

    Steps of 0.2 s that are looked at every 0.1 s show the same two places of each: more readings do
    not tell more.
    """
    rows = moved[moved != 0]
    if len(rows) > _BEAT_DIFFERENCES:
        pieces = [
            rows[at : at + _PIECE_DIFFERENCES] for at in range(0, len(rows), _PIECE_DIFFERENCES)
        ]
        chunks = [
            np.add.reduceat(piece * piece, np.arange(0, len(piece), _BEAT_DIFFERENCES))
            for piece in pieces
        ]
        first = int(np.concatenate(chunks).argmax()) * _BEAT_DIFFERENCES
        rows = rows[first : first + _BEAT_DIFFERENCES]
    lags = min(_MAX_LAGS, len(rows) // 3)
    if lags < 4:
        return 1.0, 1.0
    size = 1 << (2 * len(rows) - 1).bit_length()
    alike = np.fft.irfft(np.abs(np.fft.rfft(rows, size)) ** 2, size)[: lags + 1]
    alike = alike / alike[0] * len(rows) / (len(rows) - np.arange(lags + 1))
    again = np.flatnonzero(alike[2:] > _REPEAT_CORRELATION) + 2
    if not len(again):
        return 1.0, 1.0
    period = int(again[0])
    back = alike[period::period]
    lost = np.flatnonzero(back < _REPEAT_CORRELATION / 2)
    return float(period), float(
        period * (1 + 2 * back[: int(lost[0]) if len(lost) else len(back)].sum())
    )


_STRETCH_DIFFERENCES = 6  # of neighbors, that make up one stretch
# Mean of the smaller half of the sizes of a normal distribution, in standard deviations.
_SMALLER_HALF_MEAN = 0.3246
_MIN_STRETCHES = 20  # of which the quietest twentieth is one
# With fewer, the smallest differences are too few as well: with 4 the joules of a 10 s sensor were
# off by ten standard deviations in one of 29 windows (make_whole(0)).
_MIN_SHORT_STRETCHES = 8
# A fifth of differences are smaller than this many standard deviations of a normal distribution.
_QUIET_SHARE, _QUIET_QUANTILE = 5, 0.2533
# The 5 % point of chi-square with six degrees of freedom, as a share of its mean.
_CHI_SQUARE_5_PERCENT = 0.2725


def _noise(moved: Floats, quantum: float) -> float:
    """The noise of one reading beside its rounding: from the quietest twentieth of the stretches,
    for elsewhere the power moves.

    `moved`: from each reading to the next; it is written over.
    """
    moved = moved[: 64 * 4096 - 1]
    count = len(moved) // _STRETCH_DIFFERENCES
    if count < 4:
        return 0.0
    blocks = np.empty(count)
    for first in range(0, count, _BEAT_DIFFERENCES // 2):
        last = min(first + _BEAT_DIFFERENCES // 2, count)
        blocks[first:last] = (
            moved[first * _STRETCH_DIFFERENCES : last * _STRETCH_DIFFERENCES].reshape(
                -1, _STRETCH_DIFFERENCES
            )
            ** 2
        ).mean(axis=1) / 2
    np.abs(moved, out=moved)
    moved.sort()
    smaller = moved[: len(moved) // 2]
    least = min(
        np.percentile(blocks, 5) / _CHI_SQUARE_5_PERCENT,
        (smaller.mean() / _SMALLER_HALF_MEAN) ** 2 / 2,
    )  # it may be quiet nowhere for long
    if _MIN_SHORT_STRETCHES <= count < _MIN_STRETCHES:
        # No twentieth of so few stretches is quiet, and of a slow sensor nearly every reading is of
        # other work than the one before.
        quiet = float(moved[len(moved) // _QUIET_SHARE])
        least = min(least, (quiet / _QUIET_QUANTILE) ** 2 / 2)
    return float(np.sqrt(max(least - quantum**2 / 12, 0.0)))


def _averaged(sensor: Sensor, kind: PowerKind) -> float:
    """The share of the time that its readings cover: 1 for counters and for windows as long as the
    refresh.

    Of a window that is only guessed, or estimated, a rather short one counts.
    """
    if kind is PowerKind.INTERVAL:
        return 1.0
    refresh = _value(sensor.refresh_s) or _value(sensor.poll_s)
    if refresh <= 0:
        return 0.0
    share = max(0.0, _value(sensor.window_s) - (sensor.window_err_s or 0.0) / 2) / refresh
    if sensor.window_err_s is not None and share < 1:
        share = max(
            0.0, (3 * share - 1) / 2
        )  # power that moves while a reading is taken looks like a mean, too
    return min(1.0, share)


def _knots(
    times: Int64s, watts: Floats, gaps: Bools, sensor: Sensor
) -> tuple[Int64s | None, Bools]:
    """Rows that bend the curve (None: all of them), and what is known between them.

    Of a slow sensor: where the value changed, and the last poll that is a whole refresh before the
    next change (until then it held; the change came about within the last refresh). Of a fast one:
    every reading.
    """
    missing = np.isnan(watts)
    slow = sensors.slow(sensor) and sensor.refresh_s is not None
    if not slow and not missing.any():
        return None, ~gaps
    valid = np.flatnonzero(~missing)
    if len(valid) < 2:
        return valid, np.zeros(0, np.bool_)
    # a hole anywhere between two valid rows parts them
    upto = np.concatenate(([0], np.cumsum(gaps)))
    parted = upto[valid[1:]] > upto[valid[:-1]]
    if not slow or sensor.refresh_s is None:
        return valid, ~parted
    t, w = times[valid], watts[valid]
    changed = np.concatenate(([True], w[1:] != w[:-1]))
    keep = changed.copy()
    keep[-1] = True
    keep[1:] |= parted
    keep[:-1] |= parted
    starts = np.flatnonzero(changed)
    held_to = (
        t.searchsorted(t[starts[1:]] - round(_value(sensor.refresh_s) * PS_PER_S), side="right") - 1
    )
    keep[held_to[held_to > starts[:-1]]] = True
    rows = np.flatnonzero(keep)
    upto = np.concatenate(([0], np.cumsum(parted)))
    return valid[rows], upto[rows[1:]] == upto[rows[:-1]]
