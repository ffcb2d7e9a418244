"""What a sensor can resolve, told from its own samples.

A BMC polled four times a second that changes every three seconds gives one sample every three
seconds, not twelve: all statistics here and everywhere else stand on the rows that `samples` calls
new. Refresh, step and poll are measured; what no log can tell (the averaging window, the delay, the
gain) comes from `sensor_defaults` and says so.
"""

from __future__ import annotations

import functools
import itertools
import math
import weakref
from dataclasses import replace

import numpy as np

from powertui.data.energy import averaging_window, refresh
from powertui.data.energy.averaging_window import Smear
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

# Where nothing else is said a value was chosen, not measured.
_HEARTBEAT_REFRESHES = 3.0  # after which a reading that still holds counts as a sample again
_HOLE_REFRESHES = 3.0  # polls or refreshes: nothing is known across a longer pause
_DELAY_OF_REFRESH = 0.05  # that a sensor may take to publish
_UNASKED_REFRESHES = 1.2  # in a longer pause something was published that nobody saw
_OVERLAPPING_REFRESHES = 1.5  # a longer window makes readings overlap
# One sigma of a reading's age when it is asked for. `_UNKNOWN_AGE_OF_REFRESH` is for readings that
# are taken to be new, where any age from 0 to a refresh is equally likely.
_AGE_OF_REFRESH = 0.35
_UNKNOWN_AGE_OF_REFRESH = 0.45
# One sigma of a lag that is taken to be none, where any window up to a refresh is equally likely,
# too.
_LAG_OF_REFRESH = 0.8
# One sigma of a window that nothing shows. Half and twice: no change in findings
# (docs/energy-evidence.md).
_WINDOW_SIGMA_OF_REFRESH = 0.3
# Standard deviations that a window may seem to be from a refresh and still be one: equal steps meet
# a sensor alike again and again.
_REFRESH_WINDOW_SIGMAS = 3.5
_MIN_RUNS = 2  # complete runs of one value that a measured refresh needs
# Share of the runs longer than a poll, from which on a sensor does not change at every poll.
_MIN_LONGER_RUN_SHARE = 0.1
_MIN_STEP_CHANGES = 3  # that a measured step needs
_MAX_COUNTED_W = 1 << 16  # differences up to here are counted without sorting them
# The largest step that unchanging readings may show: boards with a byte for 2 kW read in steps of
# 8 W, some plugs and racks in steps of 10 W.
_MAX_WRITTEN_STEP = 10
STEP_SHARE = 0.98  # of the differences, that must be multiples of the step


# A run, its training and its pages all ask for the same channels.
_described: weakref.WeakKeyDictionary[PowerSeries, PowerSeries] = weakref.WeakKeyDictionary()


def describe(series: PowerSeries) -> PowerSeries:
    """The same series, its sensor filled: what the samples tell is measured, the rest assumed or
    left open. It is made once.
    """
    described = _described.get(series)
    if described is None:
        described = _described[series] = _describe(series)
    return described


def _describe(series: PowerSeries) -> PowerSeries:
    sensor, usual = series.sensor, defaults(series.sensor)
    times, watts = series.times, series.watts
    if not (rows := np.isfinite(watts)).all():
        times, watts = times[rows], watts[rows]
    poll = _poll(series)
    refresh = _refresh(times, watts, poll) if series.kind is PowerKind.SAMPLED else poll
    if refresh is None and usual.refresh_s is not None:
        refresh = Figure(max(usual.refresh_s, poll.value if poll else 0.0), Badge.ASSUMED)
    step = quantum(watts) if series.kind is PowerKind.SAMPLED else None
    measured_step = Figure(step, Badge.MEASURED) if step is not None else None
    if measured_step is None and series.kind is PowerKind.SAMPLED:
        measured_step = sensor.quantum_w or _assumed(
            usual.quantum_w if usual.quantum_w is not None else _written_step(watts)
        )
    window, error = sensor.window_s, sensor.window_err_s
    if window is None and series.kind is PowerKind.INTERVAL:
        window = poll
    elif window is None and poll is not None:
        window, error = _window(
            times, watts, poll.value, refresh.value if refresh else poll.value, usual.window_s
        )
    return replace(
        series,
        sensor=replace(
            sensor,
            poll_s=poll,
            refresh_s=refresh,
            quantum_w=measured_step,
            window_s=window,
            window_err_s=error,
            delay_s=sensor.delay_s or _assumed(usual.delay_s),
            gain=sensor.gain or _assumed(usual.gain),
        ),
    )


def _window(
    times: Int64s, watts: Floats, poll: float, refresh: float, usual: float | None
) -> tuple[Figure | None, float | None]:
    """What a reading averages over, and one sigma of it: as the readings show it, else as is usual
    for such a source.
    """
    held = refresh > 1.5 * poll
    look = averaging_window.look(_steady(times, watts, poll, refresh), refresh, held=held)
    if usual is not None:
        if look is None or not _contradicts(look, usual, refresh):
            return Figure(usual, Badge.ASSUMED), None
    elif look is None or look.by == "nothing":
        unseen = averaging_window.UNSEEN_S if look is None else look.sd_s
        error = (
            max(unseen, _WINDOW_SIGMA_OF_REFRESH * refresh)
            if unseen >= averaging_window.UNSEEN_S > refresh
            else _WINDOW_SIGMA_OF_REFRESH * refresh
        )
        # A meter that publishes now and then tells of the time since it last did, as a rule.
        return Figure(refresh, Badge.ASSUMED) if held else None, error
    elif look.by == "slow":
        return Figure(refresh if held else look.window_s, Badge.ASSUMED), max(
            look.sd_s, _WINDOW_SIGMA_OF_REFRESH * refresh
        )
    elif (
        held
        and look.by == "steps"
        and look.window_s < refresh < look.window_s + _REFRESH_WINDOW_SIGMAS * look.sd_s
    ):
        return Figure(refresh, Badge.ASSUMED), max(
            look.sd_s, (refresh - look.window_s) / _REFRESH_WINDOW_SIGMAS
        )  # they do not say otherwise
    return Figure(look.window_s, Badge.ESTIMATED), look.sd_s


def _contradicts(look: Smear, usual: float, refresh: float) -> bool:
    """The readings cannot be means over the time that is usual for their source."""
    if look.by == "gaps":
        return abs(look.window_s - usual) > 3 * look.sd_s + 0.1 * usual
    return look.by == "steps" and usual > 2 * refresh and look.window_s + 3 * look.sd_s < usual


def _steady(times: Int64s, watts: Floats, poll: float, refresh: float) -> Floats:
    """The readings as they followed one another every `refresh`, with NaN where none was taken."""
    if len(times) < 3:
        return watts[:0]
    refresh_ns = max(1, round(refresh * NS_PER_S))
    if (
        len(times) > 4 * averaging_window.MAX_READINGS * refresh / poll
    ):  # a day of it: what is liveliest tells most
        step = max(1, round(averaging_window.MAX_READINGS * refresh / poll))
        ends = np.arange(0, len(times), step)
        moved = np.add.reduceat(np.abs(np.diff(watts, prepend=watts[0])), ends)
        first = int(ends[moved.argmax()])
        times, watts = times[first : first + step], watts[first : first + step]
    count = int((times[-1] - times[0]) // refresh_ns) + 1
    if count > 8 * averaging_window.MAX_READINGS:
        return watts[:0]
    if refresh > 1.5 * poll:
        return _published(times, watts, refresh_ns)
    at = times[0] + np.arange(count, dtype=np.int64) * refresh_ns + refresh_ns // 2
    row = times.searchsorted(at, side="right") - 1
    return np.where(
        at - times[row] <= _HOLE_REFRESHES * max(poll, refresh) * NS_PER_S, watts[row], np.nan
    )


def _published(times: Int64s, watts: Floats, refresh_ns: int) -> Floats:
    """One reading for every publication: as many as a value stayed for, those that nobody asked for
    as NaN.
    """
    first = np.concatenate(([0], np.flatnonzero(watts[1:] != watts[:-1]) + 1))
    lasted = np.diff(np.append(times[first], times[-1]))
    publications = np.maximum(np.round(lasted / refresh_ns).astype(np.int64), 1)
    asked = (
        np.add.reduceat(np.append(np.diff(times) > _UNASKED_REFRESHES * refresh_ns, False), first)
        == 0
    )
    out = np.repeat(watts[first], publications)
    out[np.repeat(~asked, publications)] = np.nan
    began = np.cumsum(publications) - publications
    out[began] = watts[first]
    return out


def _assumed(value: float | None) -> Figure | None:
    return None if value is None else Figure(value, Badge.ASSUMED)


def _poll(series: PowerSeries) -> Figure | None:
    """The usual distance of two rows, missing readings included as rows; of a counter the usual
    length of an interval.
    """
    apart = np.diff(series.times)
    if series.kind is PowerKind.INTERVAL:
        apart = apart[np.isfinite(series.watts[1:])]
    badge = (
        series.sensor.poll_s.badge if series.sensor.poll_s else Badge.MEASURED
    )  # a reader that had to assume it said so
    return Figure(float(np.median(apart)) / NS_PER_S, badge) if len(apart) else None


def _refresh(times: Int64s, watts: Floats, poll: Figure | None) -> Figure | None:
    """The time between publications that the changes of the value tell of; else the median time
    between changes, over runs that are whole: the first and the last are cut by the log.
    """
    if poll is None or len(watts) < 3:
        return None
    rows = np.flatnonzero(watts[1:] != watts[:-1])
    changes = times[rows + 1]
    if len(changes) < _MIN_RUNS + 1:
        return None
    runs = np.diff(changes) / NS_PER_S
    # a run that holds a pause of the log says nothing about the sensor
    usual = float(np.median(runs))
    longest = usual * 20 + _HOLE_REFRESHES * poll.value
    complete = runs[runs <= longest]
    # Nor does one that began, went on or ended while it was not asked, as long as there are others.
    paused = np.diff(times) > _HOLE_REFRESHES * poll.value * NS_PER_S
    if paused.any():
        pauses = np.concatenate(([0], np.cumsum(paused)))
        asked = runs[(pauses[rows[1:] + 1] == pauses[rows[:-1]]) & (runs <= longest)]
        if len(asked) >= max(_MIN_RUNS, len(complete) / 4):
            complete = asked
    if len(complete) < _MIN_RUNS:
        return None
    if np.mean(runs > 1.5 * poll.value) > _MIN_LONGER_RUN_SHARE:
        since = (times - times[0]) / NS_PER_S
        if (
            published_every := refresh.distance(since[rows], since[rows + 1], poll.value)
        ) is not None:
            return Figure(published_every, Badge.MEASURED)
    return Figure(
        max(usual if len(complete) == len(runs) else float(np.median(complete)), poll.value),
        Badge.MEASURED,
    )


def quantum(watts: Floats) -> float | None:
    """The step of the readings: the largest number that nearly all differences are multiples of.

    None when there is no step.
    """
    if len(watts) < 3:
        return None
    moved = np.diff(watts)
    moved = np.abs(moved[moved != 0])
    if len(moved) < _MIN_STEP_CHANGES:
        return None
    if moved.max() > 1e9:
        return None
    levels, counts = _counted(moved)
    for digits in range(5):
        scaled = levels * 10**digits
        is_multiple = (np.abs(scaled - np.round(scaled)) < 1e-3) & (scaled > 0.5)
        if counts[is_multiple].sum() >= STEP_SHARE * counts.sum():
            return float(
                _common(
                    np.round(scaled[is_multiple]).astype(np.int64),
                    counts[is_multiple],
                    int(counts.sum()),
                )
                / 10**digits
            )
    return None


def _counted(moved: Floats) -> tuple[Floats, Int64s]:
    """How often each difference occurs: whole watts, as most are, without sorting them."""
    if moved.max() < _MAX_COUNTED_W and (moved.astype(np.int64) == moved).all():
        occurrences = np.bincount(moved.astype(np.int64))
        levels = np.flatnonzero(occurrences)
        return levels.astype(np.float64), occurrences[levels]
    differences, counts = np.unique(np.round(moved, 9), return_counts=True)
    return differences, counts


def _written_step(watts: Floats) -> float | None:
    """The step that readings may have which hardly ever change: the largest of a few digits that
    all of them are multiples of.
    """
    if (
        not len(watts)
        or np.count_nonzero(np.diff(watts)) >= _MIN_STEP_CHANGES
        or np.abs(watts).max() > 1e9
    ):
        return None
    for digits in range(4):
        scaled = watts * 10**digits
        rounded = np.round(scaled)
        if (np.abs(scaled - rounded) < 1e-3).all():
            shared = functools.reduce(math.gcd, np.unique(rounded).astype(np.int64).tolist(), 0)
            return float(
                max(n for n in range(1, _MAX_WRITTEN_STEP + 1) if shared % n == 0)
            ) / float(10**digits)
    return None


def _common(steps: Int64s, counts: Int64s, total: int) -> float:
    """Greatest common divisor that tolerates a few strays."""
    best = functools.reduce(math.gcd, steps[steps > 0].tolist(), 0)
    common = steps[np.argsort(-counts, kind="stable")][:12].tolist()
    candidates = {math.gcd(a, b) for a, b in itertools.combinations_with_replacement(common, 2)} | {
        int(steps[steps > 0].min())
    }
    for candidate in candidates:
        if (
            candidate > best
            and counts[steps % candidate == 0].sum() >= STEP_SHARE * total
            and len(set(steps[steps % candidate == 0].tolist())) > 1
        ):
            best = candidate
    return float(best)


# ── which rows say something new ─────────────────────────────────────────────────────────────────


def slow(sensor: Sensor) -> bool:
    """It is polled faster than it refreshes, so that most rows repeat the one before."""
    return (
        sensor.refresh_s is not None
        and sensor.poll_s is not None
        and sensor.refresh_s.value > 1.5 * sensor.poll_s.value
    )


def samples(series: PowerSeries) -> Bools:
    """Rows that are really new: changes, and a heartbeat of a held value every three refreshes.

    All rows of a fast sensor.
    """
    sensor = series.sensor
    valid = np.isfinite(series.watts)
    if series.kind is PowerKind.INTERVAL or not slow(sensor) or len(series) < 2:
        return valid
    assert sensor.refresh_s is not None
    watts, times = series.watts, series.times
    new = np.r_[True, (watts[1:] != watts[:-1]) & ~(np.isnan(watts[1:]) & np.isnan(watts[:-1]))]
    began = times[np.maximum.accumulate(np.where(new, np.arange(len(times)), 0))]
    beat = (times - began) // max(
        1, round(_HEARTBEAT_REFRESHES * sensor.refresh_s.value * NS_PER_S)
    )
    fresh: Bools = valid & (new | np.r_[True, beat[1:] > beat[:-1]])
    return fresh


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

    A row of a counter tells of the whole time since the row before, however long that was.
    `longest_ns`: how far two rows lie apart at most, where that is known already.
    """
    if len(times) < 2:
        return np.zeros(0, np.bool_)
    if kind is PowerKind.INTERVAL:
        return np.isnan(watts[1:])
    usual = max(
        sensor.poll_s.value if sensor.poll_s else 0.0,
        sensor.refresh_s.value if sensor.refresh_s else 0.0,
    )
    missing = np.isnan(watts)
    out = missing[1:] | missing[:-1]
    pause = _HOLE_REFRESHES * usual * NS_PER_S
    if usual <= 0 or (longest_ns is not None and longest_ns <= pause):
        return out
    return out | (np.diff(times) > pause)


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
    return (sensor.window_err_s or 0.0) <= 0.25 * window.value


def window_is_told_by_readings(sensor: Sensor) -> bool:
    """Its readings are means over clearly more than a refresh, and nothing but they themselves says
    so.
    """
    refresh = sensor.refresh_s or sensor.poll_s
    if sensor.window_s is None or sensor.window_err_s is None or refresh is None:
        return False
    return (
        sensor.window_s.badge is Badge.ESTIMATED
        and sensor.window_s.value > _OVERLAPPING_REFRESHES * refresh.value
    )


def centre_s(sensor: Sensor) -> float:
    """How long before a row the power lay that it tells of: delay, half the window, and half a poll
    of a slow sensor.
    """
    late = (sensor.delay_s.value if sensor.delay_s else 0.0) + (
        sensor.window_s.value / 2 if sensor.window_s else 0.0
    )
    return late + (sensor.poll_s.value / 2 if slow(sensor) and sensor.poll_s else 0.0)


def centre_err_s(sensor: Sensor, kind: PowerKind) -> float:
    """One sigma of that: the same for all rows of a log."""
    if kind is PowerKind.INTERVAL:
        return 0.0
    refresh = (sensor.refresh_s or sensor.poll_s or Figure(0.0, Badge.ASSUMED)).value
    delay = 0.0 if sensor.delay_s else _DELAY_OF_REFRESH * refresh
    return float(
        (
            ((sensor.window_err_s or 0.0) / 2) ** 2
            + delay**2
            + (_AGE_OF_REFRESH * oldest_s(sensor, kind)) ** 2
        )
        ** 0.5
    )


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
    refresh, as far as nobody tells.
    """
    refresh = sensor.refresh_s or sensor.poll_s
    if refresh is None or slow(sensor) or sensor.delay_s or kind is PowerKind.INTERVAL:
        return 0.0
    return min(refresh.value, defaults(sensor).refresh_s or refresh.value)


# ── in words ─────────────────────────────────────────────────────────────────────────────────────


def seconds(value: float) -> str:
    """ "3.1 s", "40 ms", "2 min" """
    if value >= 120:
        return f"{value / 60:.3g} min"
    if value >= 0.0995:
        return f"{value:.2g} s" if value < 9.95 else f"{value:.0f} s"
    return f"{value * 1e3:.3g} ms" if value >= 1e-3 else f"{value * 1e6:.3g} µs"


def sentence(series: PowerSeries) -> str:
    """ "polled every 0.27 s, changes every 3.1 s, in steps of 7 W" """
    sensor = series.sensor
    parts = []
    interval = series.kind is PowerKind.INTERVAL
    if sensor.poll_s:
        parts.append(f"{'energy' if interval else 'polled'} every {seconds(sensor.poll_s.value)}")
    if sensor.refresh_s and not interval:
        word = "" if sensor.refresh_s.badge is Badge.MEASURED else " (assumed)"
        at_every = sensor.poll_s is not None and not slow(sensor) and not word
        parts.append(
            "changes at every poll"
            if at_every
            else f"changes every {seconds(sensor.refresh_s.value)}{word}"
        )
    elif not interval and len(series) > 1:
        parts.append(
            "never changes in this log"
            if len(set(series.watts[np.isfinite(series.watts)].tolist())) < 2
            else "too few changes to measure its refresh"
        )
    if sensor.quantum_w:
        word = "" if sensor.quantum_w.badge is Badge.MEASURED else " (assumed)"
        parts.append(f"in steps of {sensor.quantum_w.value:.4g} W{word}")
    if sensor.window_s and not interval and is_window_known(sensor):
        parts.append(
            f"each the mean of {seconds(sensor.window_s.value)} ({sensor.window_s.badge.value})"
        )
    gaps = int(holes(series.times, series.watts, sensor, series.kind)[1 if interval else 0 :].sum())
    if gaps:
        parts.append(f"{gaps} gap{'s' if gaps > 1 else ''}")
    return ", ".join(parts) if parts else "a single reading"
