"""In which time zone a log's local times are: in that of the profiled machine, else in the only one in which log and run overlap.

A log that was written elsewhere (a BMC, a laptop) may not keep the machine's zone. Another zone is believed only where so short a
log would hardly meet so short a run by chance: half-hour zones place a log of some hours on any run.
"""

from __future__ import annotations

from dataclasses import replace

from powertui.data.model import NS_PER_S, Clock, PowerSeries
from powertui.data.power import times

_HALF_HOURS = range(-24, 29)  # UTC-12 to UTC+14
_QUARTERS = range(2 * -24, 2 * 29)  # some zones lie a quarter of an hour beside those
_BY_CHANCE = 0.1  # that log and run overlap in one zone of these, though neither belongs to the other
_STEP_S = 1800
_DAYS_OF_LOG = 8  # that a log without dates may have run before the run began


def of(series: PowerSeries, run: tuple[int, int], machine_s: int | None) -> Clock | None:
    """A clock for naive local times. `run`: its first and last moment (Unix ns); `machine_s`: seconds east of UTC, where known."""
    if series.clock.of_day_ns is not None:
        return _on_the_day(series, run, machine_s)
    own = None
    if machine_s is not None:
        name = times.offset_words(machine_s)
        detail = f"the profiled machine's time zone is UTC{name} (run directory against profile-empty)"
        own = times.with_offset(series.clock, machine_s, detail)
        if _overlap(series, own, run):
            return own
    fits = [at * _STEP_S for at in _HALF_HOURS if _overlap(series, times.with_offset(series.clock, at * _STEP_S), run)]
    if len(fits) != 1:
        return own
    only = f"log and run overlap only in time zone UTC{times.offset_words(fits[0])}"
    if own is None:
        return times.with_offset(series.clock, fits[0], only)
    length_s = (int(series.times[-1]) - int(series.times[0]) + run[1] - run[0]) / NS_PER_S
    if length_s > _BY_CHANCE * _STEP_S:
        return own
    machine = times.offset_words(machine_s or 0)
    return times.with_offset(series.clock, fits[0], f"{only} (assumed; the profiled machine's is UTC{machine}); --tz overrules it")


def nowhere(series: PowerSeries, run: tuple[int, int]) -> bool:
    """Whether local times with a date meet a run in no zone at all: then that run is none of theirs, wherever they were written."""
    if not len(series) or series.clock.of_day_ns is not None:
        return False
    return not any(_overlap(series, times.with_offset(series.clock, at * _STEP_S // 2, ""), run) for at in _QUARTERS)


def unplaced(series: PowerSeries) -> str:
    """Why no clock places a log without dates, or without any time but its own."""
    if series.clock.of_day_ns is not None:
        return "the log has times of day alone, and neither the date nor the zone is known: write the date into its file's name"
    return "the log has only elapsed time, and no marker shows when it started"


def _on_the_day(series: PowerSeries, run: tuple[int, int], machine_s: int | None) -> Clock | None:
    """Times of day in the machine's zone, on the one day on which log and run meet; None where that tells no day, or two."""
    of_day = series.clock.of_day_ns or 0
    zone_s = series.clock.utc_offset_s if series.clock.utc_offset_s is not None else machine_s
    if zone_s is None or not len(series):
        return None
    found = []
    for day in range((run[0] + zone_s * NS_PER_S) // times.DAY - _DAYS_OF_LOG, (run[1] + zone_s * NS_PER_S) // times.DAY + 1):
        zero = day * times.DAY + of_day - zone_s * NS_PER_S
        name = times.offset_words(zone_s)
        clock = Clock(zero, zero, times.ABSOLUTE, f"time of day at UTC{name}", zone_s)
        if _overlap(series, clock, run):
            found.append(replace(clock, assumed=f"date {times.day_words(zero + zone_s * NS_PER_S)} assumed from the run's own day"))
    return found[0] if len(found) == 1 else None


def _overlap(series: PowerSeries, clock: Clock, run: tuple[int, int]) -> bool:
    if not len(series) or clock.lo_ns is None or clock.hi_ns is None:
        return False
    return clock.lo_ns + int(series.times[0]) < run[1] and clock.hi_ns + int(series.times[-1]) > run[0]
