"""What the machine draws when nothing runs: given by a person, or the lowest steady level that the
log has.

A trace does not show all that runs: what draws power in its pauses may be work, too. No idle
machine draws more than the lowest level at which the log ever stays, so the pauses are held against
what the log reads before and after; the lower one counts, and it is called measured where two of
the three agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.energy import mixture, placing
from powertui.data.energy import sensor as sensors
from powertui.data.energy.curve import MAX_SENSOR_TIME_S
from powertui.data.model import (
    PS_PER_S,
    Badge,
    Figure,
    Floats,
    Int64s,
    PowerKind,
    PowerOnTrace,
    worst_badge,
)

# Chosen, not measured.
# A pause must be this many refreshes long: its first readings still hold the work before it.
_MIN_PAUSE_REFRESHES = 3.0
_MIN_SAMPLES = 5  # readings that a level needs
_MIN_STEADY_S = 1.0  # that a level has to last
# On each side of the run: longer ago the machine may have been set up differently.
_AROUND_PS = 1800 * PS_PER_S
# Two levels are one within this share of the lower one, or this many steps of the sensor.
_SAME_LEVEL_SHARE = 0.03
_SAME_LEVEL_STEPS = 1.5
_OFF_SHARE = 0.1  # of the power in the trace's pauses: a machine that draws less is switched off


# Readings that are looked at, all places of a log together: 1,000,000 take 0.5 s of CPU. A log of a
# million readings is hours or days long, and its levels are the same some seconds later.
_MAX_READINGS_AT_PLACES = 1_000_000


class When(NamedTuple):
    """When something ran, in ps."""

    los: Int64s  # stretches in any order
    his: Int64s
    first: int  # of the profile, or of the training as far as records tell of it …
    last: int
    told: bool  # … in which case nothing of it runs before and after


class IdlePower(NamedTuple):
    """Idle power, and where it was read."""

    figure: Figure | None
    # "in the pauses of the trace and before the profile". Without a figure: why the work leaves no
    # level for it; empty where there is no power, or no level of rest in some channel.
    text: str = ""
    at_most: bool = False  # something may have run wherever it was read


class _Levels(NamedTuple):
    """Watts; NaN where nothing tells."""

    pauses: float  # the lower decile of the new readings in them
    before: float  # the lowest level at which it stayed there
    after: float
    within: float
    work: float  # the middle of all readings of work
    rests: float  # how many of before and after have that level at the log's end, too
    alike: float  # W: levels so near to each other are one


def given(watts: float) -> IdlePower:
    """As a person says."""
    return IdlePower(Figure(watts, Badge.ASSUMED))


def of_all(channels: Sequence[PowerOnTrace], when: When) -> IdlePower:
    """Idle watts of several channels together, over all places where they may lie."""
    levels = [_mixed(channel, when) for channel in channels]
    lowest = [low for level in levels if (low := _lowest(level, ends_known=when.told)) is not None]
    if not levels or len(lowest) < len(levels):
        return IdlePower(None)
    value = float(sum(lowest))
    total = _Levels._make(float(sum(column)) for column in zip(*levels, strict=True))
    if np.isfinite(total.work) and value >= total.work - total.alike:
        return IdlePower(
            None,
            (
                f"unknown: the log never stays below the {total.work:.0f} W of work; --idle W "
                "would tell"
            ),
        )
    watts_by_place = {
        "the pauses of the trace": total.pauses,
        "before": total.before,
        "after": total.after,
        "the rest of it": total.within,
    }
    at_idle = [where for where, watts in watts_by_place.items() if watts <= value + total.alike]
    elsewhere = {
        where: watts
        for where, watts in watts_by_place.items()
        if watts > value + total.alike and where != "the rest of it"
    }
    agree = len([where for where in at_idle if where != "the rest of it"]) > 1
    rested = when.told or (np.isfinite(total.pauses) and any(level.rests > 0 for level in levels))
    sure = agree and rested and all(len(level.places) == 1 for level in channels)
    of_level = Badge.MEASURED if sure else Badge.ESTIMATED
    return IdlePower(
        Figure(value, worst_badge((of_level, *(level.series.sensor.scale for level in channels)))),
        _told(at_idle, elsewhere),
        not sure,
    )


def _told(here: Sequence[str], others: dict[str, float]) -> str:
    """ "before and after the profile; in the pauses of the trace 308 W" """
    return "; ".join(
        [_places(here), *(f"{_places([where])} {watts:.0f} W" for where, watts in others.items())]
    )


def _places(where: Sequence[str]) -> str:
    within = [f"in {place}" for place in where if place == "the pauses of the trace"]
    beside = " and ".join(place for place in where if place in ("before", "after"))
    phrases = [*within, *([f"{beside} the profile"] if beside else [])]
    return " and ".join(phrases) or "at the lowest of the profile"


def _lowest(levels: _Levels, *, ends_known: bool) -> float | None:
    """The idle level of one channel; None where nothing shows that any of its levels is idle.

    The trace's pauses are rest, and so is what is beside a training whose ends are known: then the
    lowest level is idle, unless the machine was off. Otherwise before and after must agree, both at
    the log's ends, and the work must draw more.
    """
    beside = [watts for watts in (levels.before, levels.after) if np.isfinite(watts)]
    if np.isfinite(levels.pauses) or (ends_known and beside):
        usual = levels.pauses if np.isfinite(levels.pauses) else max(beside)
        return min(
            (
                watts
                for watts in (levels.pauses, levels.within, *beside)
                if watts > _OFF_SHARE * usual
            ),
            default=None,
        )
    both = len(beside) == 2 and abs(beside[0] - beside[1]) <= levels.alike and levels.rests == 2
    return min(beside) if both and max(beside) < levels.within - levels.alike else None


def _mixed(channel: PowerOnTrace, when: When) -> _Levels:
    """The levels over all places of a channel."""
    placed = placing.everywhere(channel)
    if len(placed) * len(channel.times) > _MAX_READINGS_AT_PLACES:
        placed = placed[:1]
    levels = [_levels(power, when) for power in placed]
    if len(levels) == 1:
        return levels[0]
    weights = np.array([place.weight for place in channel.places])

    def mixed(column: Sequence[float]) -> float:
        watts = np.array(column)
        is_known = np.isfinite(watts)
        weight = float(weights[is_known].sum())
        return (
            float((weights[is_known] * watts[is_known]).sum() / weight)
            if weight >= 1 - mixture.MAX_UNRESOLVED_WEIGHT
            else np.nan
        )

    return _Levels._make(map(mixed, zip(*levels, strict=True)))


def _levels(power: PowerOnTrace, when: When) -> _Levels:
    """Of one channel at one place."""
    series = power.series
    sensor = series.sensor
    nothing = _Levels(np.nan, np.nan, np.nan, np.nan, np.nan, 0.0, 0.0)
    if len(power.times) != len(series) or not len(series):
        return nothing
    late = round(sensors.centre_s(sensor) * PS_PER_S)
    rows = slice(
        *np.searchsorted(power.times, (when.first - _AROUND_PS, when.last + _AROUND_PS)).tolist()
    )
    at, watts = power.times[rows] - late, power.watts[rows]
    there = np.isfinite(watts)
    fresh = sensors.samples(series)[rows][there]
    at, watts = at[there], watts[there]
    if not len(at):
        return nothing
    figures = (sensor.refresh_s, sensor.window_s)
    refresh = min(
        max((figure.value for figure in figures if figure), default=0.0), MAX_SENSOR_TIME_S
    )
    guard = round(refresh * PS_PER_S)
    if (
        series.kind is PowerKind.INTERVAL and len(at) > 1
    ):  # a row tells of the time since the row before
        at = at - np.diff(at, prepend=2 * at[0] - at[1]) // 2
    quiet = np.zeros(len(at), np.bool_)
    for lo, hi in _pauses(when):
        if hi - lo >= _MIN_PAUSE_REFRESHES * guard:
            quiet |= (at >= lo + guard) & (at < hi - guard // 2)
    paused = watts[quiet & fresh]
    inside = (at >= when.first) & (at < when.last)
    steady = max(_MIN_PAUSE_REFRESHES * refresh, _MIN_STEADY_S)
    before, after = at < when.first - guard // 2, at >= when.last + guard
    levels = [_steady(at[part], watts[part], steady) for part in (before, after, inside)]
    pauses = float(np.percentile(paused, 10)) if len(paused) >= _MIN_SAMPLES else np.nan
    work = watts[inside & ~quiet]
    (low, begins, _), (high, _, ends), (within, _, _) = levels
    step = sensor.quantum_w.value if sensor.quantum_w else 0.0
    alike = max(
        _SAME_LEVEL_SHARE * float(np.nanmin([pauses, low, high, within, np.inf])),
        _SAME_LEVEL_STEPS * step,
    )
    rests = float(abs(begins - low) <= alike) + float(abs(ends - high) <= alike)
    usual = float(np.median(work)) if len(work) >= _MIN_SAMPLES else np.nan
    return _Levels(pauses, low, high, within, usual, rests, alike)


def _steady(at: Int64s, watts: Floats, seconds: float) -> tuple[float, float, float]:
    """Levels at which the power stays for so long: the lowest, the first and the last one."""
    if len(at) < _MIN_SAMPLES or at[-1] - at[0] < seconds * PS_PER_S:
        return np.nan, np.nan, np.nan
    poll_s = float(np.median(np.diff(at))) / PS_PER_S
    readings = int(np.ceil(seconds / max(poll_s, 1e-6)))
    count = max(_MIN_SAMPLES, min(readings, len(at)))
    blocks = np.lib.stride_tricks.sliding_window_view(watts, count)
    half_apart = np.arange(0, len(blocks), max(1, count // 2))
    starts = np.unique(np.append(half_apart, len(blocks) - 1))
    levels = np.median(blocks[starts], axis=1)
    return float(levels.min()), float(levels[0]), float(levels[-1])


def _pauses(when: When) -> list[tuple[int, int]]:
    """What lies between the busy stretches, from first to last."""
    if not len(when.los):
        return [(when.first, when.last)]
    order = np.argsort(when.los, kind="stable")
    los, ends = when.los[order], np.maximum.accumulate(when.his[order])
    opened = np.flatnonzero(los[1:] > ends[:-1])
    gaps = [(int(ends[i]), int(los[i + 1])) for i in opened]
    return [
        (lo, hi)
        for lo, hi in [(when.first, int(los[0])), *gaps, (int(ends[-1]), when.last)]
        if hi > lo
    ]
