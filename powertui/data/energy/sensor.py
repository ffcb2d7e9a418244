"""What a sensor can resolve, by its own samples.

A BMC polled four times a second that changes every three seconds gives one sample every three
seconds, not twelve: all statistics here and everywhere else stand on the rows that `samples` calls
new. Poll, refresh and step are measured. The averaging window is estimated where the readings show
it (`sensor_window`), and is otherwise what is usual for the source. Readings show neither the delay
nor the gain: those are what the log's format says, or what `sensor_defaults` has for the source.
Each figure's badge says which.
"""

from __future__ import annotations

import math
import weakref
from dataclasses import replace

import numpy as np

from powertui.data.energy import distances, refresh, rounding_step, settings
from powertui.data.energy.refresh import HELD_POLLS, HOLE_REFRESHES
from powertui.data.energy.sensor_defaults import defaults
from powertui.data.model import (
    NS_PER_S,
    Badge,
    Bools,
    Figure,
    Floats,
    Int64s,
    PowerKind,
    PowerSeries,
    Sensor,
)
from powertui.data.quantiles import median_of_column

MAX_SENSOR_TIME_S = 4e6  # no refresh, window or delay is longer than a log can be

# ── which rows say something new ──
# After which a reading that still holds counts as a sample again.
_HEARTBEAT_REFRESHES = settings.HOLE_REFRESHES
_OVERLAPPING_REFRESHES = settings.MORE_THAN_ONE  # a longer window makes readings overlap
_MAX_NAMED_ERROR = settings.UNKNOWN_SHARE  # of a window: one that is known to less is not named

# ── how late a reading is. Chosen: of what no log shows; twice widens intervals of slow sensors ──
_DELAY_OF_REFRESH = settings.NOTABLE_SHARE  # that a sensor may take to publish
# One sigma of a reading's age when it is asked for. `_UNKNOWN_AGE_OF_REFRESH` is for readings that
# are taken to be new, where any age from 0 to a refresh is equally likely.
_AGE_OF_REFRESH = 0.35
_UNKNOWN_AGE_OF_REFRESH = 0.45
# One sigma of a lag that is taken to be none, where any window up to a refresh is equally likely,
# too.
_LAG_OF_REFRESH = settings.LARGE_SHARE

# ── what a measured refresh rests on ──
_MIN_RUNS = settings.CONFIRMING_VALUES  # complete runs of one value
_MAX_USUAL_RUNS = 20  # a longer run holds a pause of the log
_MIN_ASKED_SHARE = settings.VISIBLE_SHARE  # of the runs: of fewer, those across pauses count, too
# Share of the runs longer than a poll, from which on a sensor does not change at every poll.
_MIN_LONGER_RUN_SHARE = settings.MINOR_SHARE


_COUNTED_ROWS = 1 << 16  # of a counter, in which its step is looked for: a bound of time
# A rise of less than so many steps is of one step.
_TICK_STEPS = settings.MORE_THAN_ONE

# A run, its training and its pages all ask for the same channels.
_described: weakref.WeakKeyDictionary[PowerSeries, PowerSeries] = weakref.WeakKeyDictionary()


def described(series: PowerSeries) -> PowerSeries:
    """The series itself where its sensor is described already, else as `describe` makes it."""
    return series if series.sensor.poll_s is not None else describe(series)


def describe(series: PowerSeries) -> PowerSeries:
    """The same series, its sensor filled: what the samples tell is measured, the rest assumed or
    left open. It is made once.
    """
    described = _described.get(series)
    if described is None:
        described = _described[series] = _describe(series)
    return described


def _describe(series: PowerSeries) -> PowerSeries:
    sensor = series.sensor
    usual = defaults(series.sensor)
    times, watts = series.times, series.watts
    is_known = np.isfinite(watts)
    if not is_known.all():
        times = times[is_known]
        watts = watts[is_known]
    is_sampled = series.kind is PowerKind.SAMPLED
    poll = _poll(series)
    refresh = _refresh(times, watts, poll) if is_sampled else poll
    if refresh is None and usual.refresh_s is not None:
        refresh = Figure(max(usual.refresh_s, poll.value if poll else 0.0), Badge.ASSUMED)
    window, error = sensor.window_s, sensor.window_err_s
    if window is None and series.kind is PowerKind.INTERVAL:
        window = poll
    elif window is None and poll is not None:
        from powertui.data.energy.sensor_window import averaging_window_of

        refresh_s = refresh.value if refresh else poll.value
        window, error = averaging_window_of(times, watts, poll.value, refresh_s, usual.window_s)
    described = replace(
        sensor,
        poll_s=poll,
        refresh_s=refresh,
        quantum_w=_step(watts, sensor, usual.quantum_w) if is_sampled else None,
        window_s=window,
        window_err_s=error,
        step_j=None if is_sampled else _counter_step(series),
        delay_s=sensor.delay_s or _assumed(usual.delay_s),
        gain=sensor.gain or _assumed(usual.gain),
    )
    return replace(series, sensor=described)


def _step(watts: Floats, sensor: Sensor, usual_w: float | None) -> Figure | None:
    """What readings are rounded to."""
    measured_w = rounding_step.quantum(watts)
    if measured_w is not None:
        return Figure(measured_w, Badge.MEASURED)
    if sensor.quantum_w:
        return sensor.quantum_w
    return _assumed(usual_w if usual_w is not None else rounding_step.written_step(watts))


def _counter_step(series: PowerSeries) -> Figure | None:
    """By how many joules a counter's reading may be off: the step that it counts in, and what it
    counts between two looks at a value that it holds. None of joules that were not counted.
    """
    held = series.sensor.step_j
    joules = series.joules
    if joules is None:
        return held
    counted = joules[np.isfinite(joules)][:_COUNTED_ROWS]
    rises = counted[counted > 0]
    step_j = rounding_step.quantum(np.cumsum(counted)) if len(rises) else None
    if step_j is None:
        return held
    smallest_j = float(rises.min())
    if held is not None and median_of_column(rises) < _TICK_STEPS * step_j:
        return held  # it shows each step when it is full
    if (
        smallest_j < _TICK_STEPS * step_j
        and held is None
        and float(rises.max()) < _TICK_STEPS * smallest_j
    ):
        return None  # all alike: they may be any number of steps
    if held is None:
        return Figure(step_j, Badge.MEASURED)
    return Figure(math.hypot(step_j, held.value), Badge.ESTIMATED)


def _assumed(value: float | None) -> Figure | None:
    return None if value is None else Figure(value, Badge.ASSUMED)


def _poll(series: PowerSeries) -> Figure | None:
    """The usual distance of two rows, missing readings included as rows; of a counter the usual
    length of an interval.
    """
    if len(series) < 2:
        return None
    if series.kind is PowerKind.INTERVAL:
        apart_ns = np.diff(series.times)[np.isfinite(series.watts[1:])]
        if not len(apart_ns):
            return None
        usual_ns = median_of_column(apart_ns)
    else:
        usual_ns = distances.median(series.times)
    # A reader that had to assume it said so.
    stated = series.sensor.poll_s
    badge = stated.badge if stated else Badge.MEASURED
    return Figure(usual_ns / NS_PER_S, badge)


def _refresh(times: Int64s, watts: Floats, poll: Figure | None) -> Figure | None:
    """The time between publications that the changes of the value show; else the median time
    between changes, over runs that are whole: the first and the last are cut by the log.
    """
    if poll is None or len(watts) < 3:
        return None
    is_change = watts[1:] != watts[:-1]
    changes = times[1:][is_change]
    if len(changes) < _MIN_RUNS + 1:
        return None
    runs = np.diff(changes) / NS_PER_S
    usual = median_of_column(runs)
    # A run that holds a pause of the log says nothing about the sensor.
    longest = usual * _MAX_USUAL_RUNS + HOLE_REFRESHES * poll.value
    is_complete = runs <= longest
    complete = runs if is_complete.all() else runs[is_complete]
    # Nor does one that began, went on or ended while it was not asked, as long as there are others.
    longest_ns = HOLE_REFRESHES * poll.value * NS_PER_S
    if distances.longest(times) > longest_ns:
        is_pause = np.diff(times) > longest_ns
        pauses = np.concatenate(([0], np.cumsum(is_pause)))
        rows = np.flatnonzero(is_change)
        is_asked = pauses[rows[1:] + 1] == pauses[rows[:-1]]
        asked = runs[is_asked & is_complete]
        if len(asked) >= max(_MIN_RUNS, len(complete) * _MIN_ASKED_SHARE):
            complete = asked
    if len(complete) < _MIN_RUNS:
        return None
    if np.mean(runs > HELD_POLLS * poll.value) > _MIN_LONGER_RUN_SHARE:
        since_start = (times - times[0]) / NS_PER_S
        rows = np.flatnonzero(is_change)
        every = refresh.distance(since_start[rows], since_start[rows + 1], poll.value)
        if every is not None:
            return Figure(every, Badge.MEASURED)
    if len(complete) != len(runs):
        usual = median_of_column(complete)
    # Two publications are seen at most a poll closer than they are: a load that stood still for
    # long makes long runs, and the shortest of them bounds the time between publications.
    at_most = float(complete.min()) + poll.value
    return Figure(max(min(usual, at_most), poll.value), Badge.MEASURED)


# ── which rows say something new ─────────────────────────────────────────────────────────────────


def slow(sensor: Sensor) -> bool:
    """It is polled faster than it refreshes, so that most rows repeat the one before."""
    if sensor.refresh_s is None or sensor.poll_s is None:
        return False
    return sensor.refresh_s.value > HELD_POLLS * sensor.poll_s.value


def samples(series: PowerSeries) -> Bools:
    """Rows that are really new: changes, and a heartbeat of a held value every three refreshes.

    All rows of a fast sensor.
    """
    sensor = series.sensor
    is_valid = np.isfinite(series.watts)
    if series.kind is PowerKind.INTERVAL or not slow(sensor) or len(series) < 2:
        return is_valid
    assert sensor.refresh_s is not None
    watts, times = series.watts, series.times
    both_missing = np.isnan(watts[1:]) & np.isnan(watts[:-1])
    is_change = np.r_[True, (watts[1:] != watts[:-1]) & ~both_missing]
    row_of_change = np.maximum.accumulate(np.where(is_change, np.arange(len(times)), 0))
    held_ns = times - times[row_of_change]
    heartbeat_ns = max(1, round(_HEARTBEAT_REFRESHES * sensor.refresh_s.value * NS_PER_S))
    beats = held_ns // heartbeat_ns
    is_beat = np.r_[True, beats[1:] > beats[:-1]]
    is_new: Bools = is_valid & (is_change | is_beat)
    return is_new


def holes(
    times: Int64s,
    watts: Floats,
    sensor: Sensor,
    kind: PowerKind = PowerKind.SAMPLED,
    *,
    longest_ns: int | None = None,
) -> Bools:
    """[i] is True when nothing is known between row i and row i+1: a gap row at either end, or a
    pause.

    A row of a counter is of the whole time since the row before, however long that was.
    `longest_ns`: how far two rows lie apart at most, where that is known already.
    """
    if len(times) < 2:
        return np.zeros(0, np.bool_)
    if kind is PowerKind.INTERVAL:
        return np.isnan(watts[1:])
    is_missing = np.isnan(watts)
    is_hole = is_missing[1:] | is_missing[:-1]
    usual_s = max(_value(sensor.poll_s), _value(sensor.refresh_s))
    pause_ns = HOLE_REFRESHES * usual_s * NS_PER_S
    if usual_s <= 0 or (longest_ns is not None and longest_ns <= pause_ns):
        return is_hole
    return is_hole | (np.diff(times) > pause_ns)


def window_is_guess(sensor: Sensor) -> bool:
    """Nothing is known of the averaging window but that a meter usually tells of the time since it
    last published.
    """
    window, refresh = sensor.window_s, sensor.refresh_s
    if window is None or refresh is None or defaults(sensor).window_s is not None:
        return False
    return window.badge is Badge.ASSUMED and window.value == refresh.value


def is_window_known(sensor: Sensor) -> bool:
    """Whether its averaging window is known well enough to be named."""
    window = sensor.window_s
    if window is None or window_is_guess(sensor):
        return False
    return (sensor.window_err_s or 0.0) <= _MAX_NAMED_ERROR * window.value


def window_is_told_by_readings(sensor: Sensor) -> bool:
    """Its readings are means over clearly more than a refresh, and nothing but they themselves
    shows it.
    """
    window = sensor.window_s
    refresh = sensor.refresh_s or sensor.poll_s
    if window is None or sensor.window_err_s is None or refresh is None:
        return False
    overlaps = window.value > _OVERLAPPING_REFRESHES * refresh.value
    return window.badge is Badge.ESTIMATED and overlaps


def centre_s(sensor: Sensor) -> float:
    """How long before a row its power was: delay, half the window, and half a poll of a slow
    sensor.
    """
    late = _value(sensor.delay_s) + _value(sensor.window_s) / 2
    return late + (_value(sensor.poll_s) / 2 if slow(sensor) else 0.0)


def centre_err_s(sensor: Sensor, kind: PowerKind) -> float:
    """One sigma of that: the same for all rows of a log."""
    if kind is PowerKind.INTERVAL:
        return 0.0
    refresh = _value(sensor.refresh_s or sensor.poll_s)
    delay = 0.0 if sensor.delay_s else _DELAY_OF_REFRESH * refresh
    half_window = (sensor.window_err_s or 0.0) / 2
    age = _AGE_OF_REFRESH * oldest_s(sensor, kind)
    return float((half_window**2 + delay**2 + age**2) ** 0.5)


def lag_err_s(sensor: Sensor, kind: PowerKind) -> float:
    """The same of joules by wall clock: readings are laid as if they were new when they were asked
    for, and any age up to a refresh is as likely. (A place by signal takes what they are older by
    into its interval, on the one side.)
    """
    oldest = oldest_s(sensor, kind)
    least = _LAG_OF_REFRESH * oldest if sensor.window_s is None else 0.0
    return max(math.hypot(centre_err_s(sensor, kind), _UNKNOWN_AGE_OF_REFRESH * oldest), least)


def oldest_s(sensor: Sensor, kind: PowerKind) -> float:
    """How old a reading may be when it is asked for, beyond what `centre_s` counts: as old as a
    refresh, unless something shows less.
    """
    refresh = sensor.refresh_s or sensor.poll_s
    if refresh is None or slow(sensor) or sensor.delay_s or kind is PowerKind.INTERVAL:
        return 0.0
    return min(refresh.value, defaults(sensor).refresh_s or refresh.value)


def _value(figure: Figure | None) -> float:
    return figure.value if figure else 0.0


# ── in words ─────────────────────────────────────────────────────────────────────────────────────


def seconds(value: float) -> str:
    """ "3.1 s", "40 ms", "2 min" """
    if value >= 120:
        return f"{value / 60:.3g} min"
    if value >= 9.95:
        return f"{value:.0f} s"
    if value >= 0.0995:
        return f"{value:.2g} s"
    if value >= 1e-3:
        return f"{value * 1e3:.3g} ms"
    return f"{value * 1e6:.3g} µs"


def sentence(series: PowerSeries) -> str:
    """ "polled every 0.27 s, changes every 3.1 s, in steps of 7 W" """
    sensor = series.sensor
    parts = []
    is_interval = series.kind is PowerKind.INTERVAL
    if sensor.poll_s:
        asked = "energy" if is_interval else "polled"
        parts.append(f"{asked} every {seconds(sensor.poll_s.value)}")
    if not is_interval:
        parts += _changes(series)
    if sensor.quantum_w:
        step = sensor.quantum_w
        parts.append(f"in steps of {step.value:.4g} W{_if_assumed(step)}")
    window = sensor.window_s
    if window and not is_interval and is_window_known(sensor):
        parts.append(f"each the mean of {seconds(window.value)} ({window.badge.value})")
    first_row = 1 if is_interval else 0
    gaps = int(holes(series.times, series.watts, sensor, series.kind)[first_row:].sum())
    if gaps:
        parts.append(f"{gaps} gap{'s' if gaps > 1 else ''}")
    return ", ".join(parts) if parts else "a single reading"


def _changes(series: PowerSeries) -> list[str]:
    """How often a sampled value changes, as a phrase, if anything can be said."""
    sensor = series.sensor
    refresh = sensor.refresh_s
    if refresh:
        is_measured = refresh.badge is Badge.MEASURED
        if sensor.poll_s is not None and is_measured and not slow(sensor):
            return ["changes at every poll"]
        return [f"changes every {seconds(refresh.value)}{_if_assumed(refresh)}"]
    if len(series) < 2:
        return []
    values = set(series.watts[np.isfinite(series.watts)].tolist())
    if len(values) < 2:
        return ["never changes in this log"]
    return ["too few changes to measure its refresh"]


def _if_assumed(figure: Figure) -> str:
    return "" if figure.badge is Badge.MEASURED else " (assumed)"
