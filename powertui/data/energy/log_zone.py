"""In which time zone a log's local times are: in that of the profiled machine, else in the only one
in which log and run overlap.

A log that was written elsewhere (a BMC, a laptop) may not keep the machine's zone. Another zone is
believed only where so short a log would hardly meet so short a run by chance: half-hour zones place
a log of some hours on any run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from powertui.data.energy import meeting, settings
from powertui.data.model import NS_PER_S, Clock, PowerSeries
from powertui.data.power import times
from powertui.data.run.zones import HALF_HOUR_S

_ZONES = range(-24, 29)  # in half hours: UTC-12 to UTC+14
_QUARTER_HOUR_ZONES = range(2 * -24, 2 * 29)  # some zones are a quarter of an hour beside those
# Chance that log and run overlap in one of these zones though they do not belong together.
_MAX_CHANCE_OVERLAP = settings.MINOR_SHARE
# Two programs on one machine read one clock, but not at the same moment.
_SAME_MACHINE_NS = int(settings.SAME_CLOCK_S * NS_PER_S)
_DAYS_OF_LOG = 8  # that a log without dates may have run before the run began


def log_clock(
    series: PowerSeries,
    run: tuple[int, int],
    machine_s: int | None,
) -> Clock | None:
    """A clock for naive local times.

    `run`: its first and last moment (Unix ns); `machine_s`: seconds east of UTC, where known.
    """
    clock = _zoned(series, run, machine_s)
    if clock is None or "BMC" not in series.clock.detail:
        return clock
    # In the right zone it is still a clock that nobody sets.
    return replace(times.bmc(clock), detail=clock.detail)


def _zoned(
    series: PowerSeries,
    run: tuple[int, int],
    machine_s: int | None,
) -> Clock | None:
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
    fits = []
    for half_hours in _ZONES:
        zone_s = half_hours * HALF_HOUR_S
        if _overlap(series, times.with_offset(series.clock, zone_s), run):
            fits.append(zone_s)
    if len(fits) != 1:
        return machine_clock
    (zone_s,) = fits
    only = f"log and run overlap only in time zone UTC{times.offset_words(zone_s)}"
    if machine_clock is None:
        return times.with_offset(series.clock, zone_s, only)
    if _may_overlap_by_chance(series, run):
        return machine_clock
    machine = times.offset_words(machine_s or 0)
    return times.with_offset(
        series.clock,
        zone_s,
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
    return not any(_overlap(series, clock, run) for clock in _clocks_of_all_zones(series))


def _clocks_of_all_zones(series: PowerSeries) -> Iterator[Clock]:
    """The clock of local times in each zone there is."""
    for quarter_hours in _QUARTER_HOUR_ZONES:
        zone_s = quarter_hours * HALF_HOUR_S // 2
        yield times.with_offset(series.clock, zone_s, "")


def gap(
    series: PowerSeries,
    clock: Clock | None,
    run: tuple[int, int],
) -> int | None:
    """How far a log lies from a run (ns) by the clock that was found for it; None where they meet,
    or where no clock tells.

    `clock` is None for local times whose zone is not known: they are elsewhere only where they meet
    the run in no zone.
    """
    if not len(series):
        return None
    if clock is None:
        is_of_unknown_zone = times.is_local(series.clock) and series.clock.known
        if is_of_unknown_zone and nowhere(series, run):
            return nearest_gap(series, run)
        return None
    if not clock.known:
        return None
    spare_ns = _SAME_MACHINE_NS
    if "BMC" in series.clock.detail:
        spare_ns = times.BMC_SLACK  # nobody sets a BMC's clock
    first_ns, last_ns = run
    return _gap(series, clock, (first_ns - spare_ns, last_ns + spare_ns))


def nearest_gap(series: PowerSeries, run: tuple[int, int]) -> int:
    """How far local times lie from a run that they meet in no zone (ns): in the zone that brings
    them nearest.
    """
    gaps = [_gap(series, clock, run) or 0 for clock in _clocks_of_all_zones(series)]
    return meeting.nearest(*gaps)


def unplaced(series: PowerSeries) -> str:
    """Why no clock places a log without dates, or without any time but its own."""
    if series.clock.of_day_ns is not None:
        return (
            "the log has times of day alone, and neither the date nor the zone is known: "
            "write the date into its file's name"
        )
    return "the log has only elapsed time, and no marker shows when it started"


def _on_the_day(
    series: PowerSeries,
    run: tuple[int, int],
    machine_s: int | None,
) -> Clock | None:
    """Times of day in the machine's zone, on the one day on which log and run meet; None where that
    tells no day, or two.
    """
    if not len(series):
        return None
    of_day_ns = series.clock.of_day_ns or 0
    zone_s = series.clock.utc_offset_s
    if zone_s is None:
        zone_s = machine_s
    if zone_s is not None:
        zones = [zone_s]
    elif _may_overlap_by_chance(series, run):
        return None
    else:
        zones = [half_hours * HALF_HOUR_S for half_hours in _ZONES]
    zone_of_zero: dict[int, int] = {}
    for zone in zones:
        midnight_ns = of_day_ns - zone * NS_PER_S
        for zero in _zeros_on_the_day(series, midnight_ns, zone, run):
            zone_of_zero[zero] = zone
    if len(zone_of_zero) != 1:
        return None
    zero, zone = zone_of_zero.popitem()
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
    first_day, last_day = ((moment + zone_s * NS_PER_S) // times.DAY for moment in run)
    zeros = []
    for day in range(first_day - _DAYS_OF_LOG, last_day + 1):
        zero = day * times.DAY + of_day_ns
        clock = Clock(zero, zero, times.ABSOLUTE, "")
        if _overlap(series, clock, run):
            zeros.append(zero)
    return zeros


def _overlap(series: PowerSeries, clock: Clock, run: tuple[int, int]) -> bool:
    if not len(series) or not clock.known:
        return False
    return _gap(series, clock, run) is None


def _gap(
    series: PowerSeries,
    clock: Clock,
    run: tuple[int, int],
) -> int | None:
    assert clock.lo_ns is not None
    assert clock.hi_ns is not None
    first_ns = clock.lo_ns + int(series.times[0])
    last_ns = clock.hi_ns + int(series.times[-1])
    return meeting.gap(first_ns, last_ns, run)
