"""In which time zone a log's local times are: in that of the profiled machine, else in the only one
in which log and run overlap.

A log that was written elsewhere (a BMC, a laptop) may not keep the machine's zone. Another zone is
believed only where so short a log would hardly meet so short a run by chance: half-hour zones place
a log of some hours on any run.
"""

from __future__ import annotations

from powertui.data.energy import meeting, settings
from powertui.data.model import NS_PER_S, Clock, PowerSeries
from powertui.data.power import times

_ZONES = range(-24, 29)  # in half hours: UTC-12 to UTC+14
_QUARTER_HOUR_ZONES = range(2 * -24, 2 * 29)  # some zones are a quarter of an hour beside those
# Chance that log and run overlap in one of these zones though they do not belong together.
_MAX_CHANCE_OVERLAP = settings.MINOR_SHARE
HALF_HOUR_S = 1800
# Two programs on one machine read one clock, but not at the same moment.
_SAME_MACHINE_NS = int(settings.SAME_CLOCK_S * NS_PER_S)
_DAYS_OF_LOG = 8  # that a log without dates may have run before the run began


def log_clock(series: PowerSeries, run: tuple[int, int], machine_s: int | None) -> Clock | None:
    """A clock for naive local times.

    `run`: its first and last moment (Unix ns); `machine_s`: seconds east of UTC, where known.
    """
    if series.clock.of_day_ns is not None:
        return _on_the_day(series, run, machine_s)
    machine_clock = None
    if machine_s is not None:
        name = times.offset_words(machine_s)
        detail = (
            f"the profiled machine's time zone is UTC{name} (run directory against profile-empty)"
        )
        machine_clock = times.with_offset(series.clock, machine_s, detail)
        if _overlap(series, machine_clock, run):
            return machine_clock
    fits = [
        at * HALF_HOUR_S
        for at in _ZONES
        if _overlap(series, times.with_offset(series.clock, at * HALF_HOUR_S), run)
    ]
    if len(fits) != 1:
        return machine_clock
    only = f"log and run overlap only in time zone UTC{times.offset_words(fits[0])}"
    if machine_clock is None:
        return times.with_offset(series.clock, fits[0], only)
    if _may_overlap_by_chance(series, run):
        return machine_clock
    machine = times.offset_words(machine_s or 0)
    return times.with_offset(
        series.clock,
        fits[0],
        f"{only} (assumed; the profiled machine's is UTC{machine}); --tz overrules it",
    )


def _may_overlap_by_chance(series: PowerSeries, run: tuple[int, int]) -> bool:
    """Whether log and run last so long that they overlap in some zone though they do not belong
    together.
    """
    log_ns = int(series.times[-1]) - int(series.times[0])
    run_ns = run[1] - run[0]
    length_s = (log_ns + run_ns) / NS_PER_S
    return length_s > _MAX_CHANCE_OVERLAP * HALF_HOUR_S


def nowhere(series: PowerSeries, run: tuple[int, int]) -> bool:
    """Whether local times with a date meet a run in no zone at all: then that run is none of
    theirs, wherever they were written.
    """
    if not len(series) or series.clock.of_day_ns is not None:
        return False
    return not any(
        _overlap(series, times.with_offset(series.clock, at * HALF_HOUR_S // 2, ""), run)
        for at in _QUARTER_HOUR_ZONES
    )


def gap(series: PowerSeries, clock: Clock | None, run: tuple[int, int]) -> int | None:
    """How far a log lies from a run (ns) by the clock that was found for it; None where they meet,
    or where no clock tells.

    `clock` is None for local times whose zone is not known: they are elsewhere only where they meet
    the run in no zone.
    """
    if not len(series):
        return None
    if clock is None:
        unknown = times.is_local(series.clock) and series.clock.known
        return nearest_gap(series, run) if unknown and nowhere(series, run) else None
    if not clock.known:
        return None
    spare = (
        times.BMC_SLACK if "BMC" in series.clock.detail else _SAME_MACHINE_NS
    )  # a BMC's clock is one that nobody sets
    return _gap(series, clock, (run[0] - spare, run[1] + spare))


def nearest_gap(series: PowerSeries, run: tuple[int, int]) -> int:
    """How far local times lie from a run that they meet in no zone (ns): in the zone that brings
    them nearest.
    """
    gaps = [
        _gap(series, times.with_offset(series.clock, at * HALF_HOUR_S // 2, ""), run)
        for at in _QUARTER_HOUR_ZONES
    ]
    return meeting.nearest(*(distance or 0 for distance in gaps))


def unplaced(series: PowerSeries) -> str:
    """Why no clock places a log without dates, or without any time but its own."""
    if series.clock.of_day_ns is not None:
        return (
            "the log has times of day alone, and neither the date nor the zone is known: "
            "write the date into its file's name"
        )
    return "the log has only elapsed time, and no marker shows when it started"


def _on_the_day(series: PowerSeries, run: tuple[int, int], machine_s: int | None) -> Clock | None:
    """Times of day in the machine's zone, on the one day on which log and run meet; None where that
    tells no day, or two.
    """
    of_day = series.clock.of_day_ns or 0
    if not len(series):
        return None
    zone_s = series.clock.utc_offset_s if series.clock.utc_offset_s is not None else machine_s
    if zone_s is None and _may_overlap_by_chance(series, run):
        return None
    if zone_s is not None:
        zones = [zone_s]
    else:
        zones = [at * HALF_HOUR_S for at in _ZONES]
    clocks = {
        zero: zone
        for zone in zones
        for zero in _zeros_on_the_day(series, of_day - zone * NS_PER_S, zone, run)
    }
    if len(clocks) != 1:
        return None
    zero, zone = clocks.popitem()
    name = times.offset_words(zone)
    day = times.day_words(zero + zone * NS_PER_S)
    assumed = f"date {day} assumed from the run's own day"
    if zone_s is None:
        assumed = f"{assumed}, in the only time zone in which log and run overlap"
    return Clock(
        lo_ns=zero,
        hi_ns=zero,
        source=times.ABSOLUTE,
        detail=f"time of day at UTC{name}",
        utc_offset_s=zone,
        assumed=assumed,
    )


def _zeros_on_the_day(
    series: PowerSeries,
    of_day_ns: int,
    zone_s: int,
    run: tuple[int, int],
) -> list[int]:
    """The zeros of a log (Unix ns), one for each day on which it would meet a run."""
    first, last = ((moment + zone_s * NS_PER_S) // times.DAY for moment in run)
    zeros = [day * times.DAY + of_day_ns for day in range(first - _DAYS_OF_LOG, last + 1)]
    return [zero for zero in zeros if _overlap(series, Clock(zero, zero, times.ABSOLUTE, ""), run)]


def _overlap(series: PowerSeries, clock: Clock, run: tuple[int, int]) -> bool:
    if not len(series) or not clock.known:
        return False
    return _gap(series, clock, run) is None


def _gap(series: PowerSeries, clock: Clock, run: tuple[int, int]) -> int | None:
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    return meeting.gap(clock.lo_ns + int(series.times[0]), clock.hi_ns + int(series.times[-1]), run)
