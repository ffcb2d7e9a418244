"""What the machine draws when nothing runs: given by a person, or the lowest steady level that the
log has.

A trace does not show all that runs: what draws power in its pauses may be work, too. No idle
machine draws more than the lowest level at which the log ever stays, so the pauses are held against
what the log reads before and after; the lower one counts, and it is called measured where two of
the three agree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import mixture, placing, settings
from powertui.data.energy import sensor as sensors
from powertui.data.model import (
    PS_PER_S,
    Badge,
    Bools,
    Figure,
    Floats,
    Int64s,
    PowerKind,
    PowerOnTrace,
    worst_badge,
)
from powertui.data.quantiles import median_of_column, median_of_rows, quantile_of_column
from powertui.named_tuples import NamedTuple

# ── what is a level ──
# A pause must be this many refreshes long: its first readings still hold the work before it.
_MIN_PAUSE_REFRESHES = settings.HOLE_REFRESHES
# Readings: fewer may all be late or rounded the same way.
_MIN_SAMPLES = settings.MIN_ALIKE_VALUES
_MIN_STEADY_S = settings.MOMENT_S  # shorter lulls are within the work
# Of the new readings in pauses: work that no trace shows and late readings are above it.
_PAUSE_SHARE = settings.MINOR_SHARE

# ── when levels are alike. Chosen: below them, noise of a sensor tells apart what is one level ──
_SAME_LEVEL_SHARE = settings.SAME_LEVEL_SHARE  # of the lower one
_SAME_LEVEL_STEPS = settings.MORE_THAN_ONE  # of the sensor's rounding
# Of the power in the trace's pauses: a machine that draws less is switched off.
_OFF_SHARE = settings.MINOR_SHARE

# ── where it is looked for ──
# On each side of the run: longer ago the machine may have been set up differently.
AROUND_PS = 1800 * PS_PER_S
# Readings, all places of a log together: 1,000,000 take 0.5 s of CPU. A log of a million readings
# is hours or days long, and its levels are the same some seconds later.
_MAX_READINGS_AT_PLACES = 1_000_000

_PAUSES = "the pauses of the trace"
_WITHIN = "the rest of it"


class When(NamedTuple):
    """When something ran, in ps."""

    los: Int64s  # stretches in any order
    his: Int64s
    first: int  # of the profile, or of the training as far as records tell of it …
    last: int
    ends_known: bool  # … in which case nothing of it runs before and after


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


_NO_LEVELS = _Levels(
    pauses=np.nan,
    before=np.nan,
    after=np.nan,
    within=np.nan,
    work=np.nan,
    rests=0.0,
    alike=0.0,
)


def given(watts: float) -> IdlePower:
    """As a person says."""
    return IdlePower(Figure(watts, Badge.ASSUMED))


def of_all(channels: Sequence[PowerOnTrace], when: When) -> IdlePower:
    """Idle watts of several channels together, over all places where they may lie."""
    levels = [_mixed(channel, when) for channel in channels]
    idle_w = _sum_of_lowest(levels, ends_known=when.ends_known)
    if idle_w is None:
        return IdlePower(None)
    sums = [float(sum(column)) for column in zip(*levels, strict=True)]
    total = _Levels._make(sums)
    if np.isfinite(total.work) and idle_w >= total.work - total.alike:
        reason = (
            f"unknown: the log never stays below the {total.work:.0f} W of work; give it "
            "with --idle W"
        )
        return IdlePower(None, reason)
    idle_places, busier_places = _idle_and_busier(total, idle_w)
    # The lowest of the profile is among them by itself: it agrees with nothing.
    agreeing = [place for place in idle_places if place != _WITHIN]
    rests_somewhere = any(level.rests > 0 for level in levels)
    is_rest = when.ends_known or (np.isfinite(total.pauses) and rests_somewhere)
    has_one_place = all(len(channel.places) == 1 for channel in channels)
    is_sure = len(agreeing) > 1 and is_rest and has_one_place
    badge_of_level = Badge.MEASURED if is_sure else Badge.ESTIMATED
    scales = [channel.series.sensor.scale for channel in channels]
    badge = worst_badge((badge_of_level, *scales))
    return IdlePower(
        figure=Figure(idle_w, badge),
        text=_where(idle_places, busier_places),
        at_most=not is_sure,
    )


def _idle_and_busier(levels: _Levels, idle_w: float) -> tuple[list[str], dict[str, float]]:
    """(places at the idle level, those beside the work that draw more and what they draw)."""
    watts_by_place = {
        _PAUSES: levels.pauses,
        "before": levels.before,
        "after": levels.after,
        _WITHIN: levels.within,
    }
    highest_idle_w = idle_w + levels.alike
    idle_places: list[str] = []
    busier_places: dict[str, float] = {}
    for place, watts in watts_by_place.items():
        if watts <= highest_idle_w:
            idle_places.append(place)
        elif watts > highest_idle_w and place != _WITHIN:  # not NaN
            busier_places[place] = watts
    return idle_places, busier_places


def _sum_of_lowest(levels: Sequence[_Levels], *, ends_known: bool) -> float | None:
    """The idle levels of all channels together; None where one has none."""
    total_w = 0.0
    for level in levels:
        lowest_w = _lowest(level, ends_known=ends_known)
        if lowest_w is None:
            return None
        total_w += lowest_w
    return total_w if levels else None


def _where(idle_places: Sequence[str], busier_places: dict[str, float]) -> str:
    """ "before and after the profile; in the pauses of the trace 308 W" """
    phrases = [_places(idle_places)]
    for place, watts in busier_places.items():
        where = _places([place])
        phrases.append(f"{where} {watts:.0f} W")
    return "; ".join(phrases)


def _places(places: Sequence[str]) -> str:
    phrases = []
    if _PAUSES in places:
        phrases.append(f"in {_PAUSES}")
    beside = [place for place in places if place in ("before", "after")]
    if beside:
        words = " and ".join(beside)
        phrases.append(f"{words} the profile")
    return " and ".join(phrases) or "at the lowest of the profile"


def _lowest(levels: _Levels, *, ends_known: bool) -> float | None:
    """The idle level of one channel; None where nothing shows that any of its levels is idle.

    The trace's pauses are rest, and so is what is beside a training whose ends are known: then the
    lowest level is idle, unless the machine was off. Otherwise before and after must agree, both at
    the log's ends, and the work must draw more.
    """
    beside = [watts for watts in (levels.before, levels.after) if np.isfinite(watts)]
    has_pauses = np.isfinite(levels.pauses)
    if has_pauses or (ends_known and beside):
        rest_w = levels.pauses if has_pauses else max(beside)
        min_on_w = _OFF_SHARE * rest_w
        candidates = (levels.pauses, levels.within, *beside)
        switched_on = [watts for watts in candidates if watts > min_on_w]
        return min(switched_on, default=None)
    both_rest = len(beside) == 2 and levels.rests == 2
    if not both_rest:
        return None
    before_w, after_w = beside
    if abs(before_w - after_w) > levels.alike:
        return None
    work_draws_more = max(beside) < levels.within - levels.alike
    return min(beside) if work_draws_more else None


def _mixed(channel: PowerOnTrace, when: When) -> _Levels:
    """The levels over all places of a channel."""
    placed = placing.everywhere(channel)
    reading_count = len(placed) * len(channel.times)
    if reading_count > _MAX_READINGS_AT_PLACES:
        placed = placed[:1]
    levels = [_levels(power, when) for power in placed]
    if len(levels) == 1:
        return levels[0]
    weights = np.array([place.weight for place in channel.places])

    def mean(column: Sequence[float]) -> float:
        watts = np.array(column)
        is_known = np.isfinite(watts)
        known_weights = weights[is_known]
        weight = float(known_weights.sum())
        if weight < mixture.MIN_RESOLVED_WEIGHT:
            return np.nan
        weighted = known_weights * watts[is_known]
        return float(weighted.sum() / weight)

    return _Levels._make(mean(column) for column in zip(*levels, strict=True))


class _Readings(NamedTuple):
    """The readings of one channel around a run."""

    at: Int64s  # ps
    watts: Floats
    is_new: Bools
    sensor_time_s: float  # of the sensor itself: in which a change shows


def _levels(power: PowerOnTrace, when: When) -> _Levels:
    """The levels of one channel at one place."""
    readings = _readings_around(power, when)
    if readings is None:
        return _NO_LEVELS
    at = readings.at
    watts = readings.watts
    guard_ps = round(readings.sensor_time_s * PS_PER_S)
    is_paused = _in_pauses(at, when, guard_ps)
    paused_w = watts[is_paused & readings.is_new]
    pauses_w = np.nan
    if len(paused_w) >= _MIN_SAMPLES:
        pauses_w = quantile_of_column(paused_w, _PAUSE_SHARE)

    steady_s = max(_MIN_PAUSE_REFRESHES * readings.sensor_time_s, _MIN_STEADY_S)

    def steady(rows: Bools) -> _SteadyLevels:
        return _steady(at[rows], watts[rows], steady_s)

    # A reading is late: the first ones after the end still hold work, and half of a sensor time
    # before the start they already do.
    before = steady(at < when.first - guard_ps // 2)
    after = steady(at >= when.last + guard_ps)
    is_inside = (at >= when.first) & (at < when.last)
    within_w = steady(is_inside).lowest
    readings_of_work = watts[is_inside & ~is_paused]
    work_w = np.nan
    if len(readings_of_work) >= _MIN_SAMPLES:
        work_w = median_of_column(readings_of_work)

    quantum = power.series.sensor.quantum_w
    step_w = quantum.value if quantum else 0.0
    lowest_levels = [pauses_w, before.lowest, after.lowest, within_w, np.inf]
    lowest_w = float(np.nanmin(lowest_levels))
    alike_w = max(
        _SAME_LEVEL_SHARE * lowest_w,
        _SAME_LEVEL_STEPS * step_w,
    )
    begins_at_rest = abs(before.first - before.lowest) <= alike_w
    ends_at_rest = abs(after.last - after.lowest) <= alike_w
    return _Levels(
        pauses=pauses_w,
        before=before.lowest,
        after=after.lowest,
        within=within_w,
        work=work_w,
        rests=float(begins_at_rest) + float(ends_at_rest),
        alike=alike_w,
    )


def _readings_around(power: PowerOnTrace, when: When) -> _Readings | None:
    """Those of a run, and of as long before and after it as the machine is the same."""
    series = power.series
    sensor = series.sensor
    if len(power.times) != len(series) or not len(series):
        return None
    around = (when.first - AROUND_PS, when.last + AROUND_PS)
    first, end = np.searchsorted(power.times, around).tolist()
    rows = slice(first, end)
    watts = power.watts[rows]
    is_known = np.isfinite(watts)
    is_new = sensors.samples(series)[rows]
    late_ps = round(sensors.centre_s(sensor) * PS_PER_S)
    at = power.times[rows][is_known] - late_ps
    if not len(at):
        return None
    times_s = [figure.value for figure in (sensor.refresh_s, sensor.window_s) if figure]
    sensor_time_s = max(times_s, default=0.0)
    if series.kind is PowerKind.INTERVAL and len(at) > 1:
        # A row is of the time since the row before.
        since_row_before = np.diff(at, prepend=2 * at[0] - at[1])
        at = at - since_row_before // 2
    return _Readings(
        at=at,
        watts=watts[is_known],
        is_new=is_new[is_known],
        sensor_time_s=min(sensor_time_s, sensors.MAX_SENSOR_TIME_S),
    )


def _in_pauses(at: Int64s, when: When, guard_ps: int) -> Bools:
    """Which readings are in pauses long enough for the sensor, their beginnings left out."""
    is_paused = np.zeros(len(at), np.bool_)
    for begin, end in _pauses(when):
        if end - begin < _MIN_PAUSE_REFRESHES * guard_ps:
            continue
        shows_pause_from = begin + guard_ps
        shows_pause_until = end - guard_ps // 2
        is_paused |= (at >= shows_pause_from) & (at < shows_pause_until)
    return is_paused


class _SteadyLevels(NamedTuple):
    """Watts at which the power stays; NaN where it never does."""

    lowest: float
    first: float
    last: float


_NEVER_STEADY = _SteadyLevels(np.nan, np.nan, np.nan)


def _steady(at: Int64s, watts: Floats, seconds: float) -> _SteadyLevels:
    """Levels at which the power stays for so long."""
    if len(at) < _MIN_SAMPLES or at[-1] - at[0] < seconds * PS_PER_S:
        return _NEVER_STEADY
    poll_s = median_of_column(np.diff(at)) / PS_PER_S
    readings = int(np.ceil(seconds / max(poll_s, 1e-6)))
    count = max(_MIN_SAMPLES, min(readings, len(at)))
    blocks = np.lib.stride_tricks.sliding_window_view(watts, count)
    last_block = len(blocks) - 1
    half_count = max(1, count // 2)
    starts = np.arange(0, len(blocks), half_count)  # half overlapping
    if starts[-1] != last_block:
        starts = np.append(starts, last_block)
    levels = median_of_rows(blocks[starts])
    return _SteadyLevels(
        lowest=float(levels.min()),
        first=float(levels[0]),
        last=float(levels[-1]),
    )


def _pauses(when: When) -> list[tuple[int, int]]:
    """What is between the busy stretches, from first to last: (start, end) of each pause."""
    if not len(when.los):
        return [(when.first, when.last)]
    order = np.argsort(when.los, kind="stable")
    starts: list[int] = when.los[order].tolist()
    busy_until: list[int] = np.maximum.accumulate(when.his[order]).tolist()
    pause_starts = [when.first, *busy_until]
    pause_ends = [*starts, when.last]
    pauses = []
    for begin, end in zip(pause_starts, pause_ends, strict=True):
        if end > begin:
            pauses.append((begin, end))
    return pauses
