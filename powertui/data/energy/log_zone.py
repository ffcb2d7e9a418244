"""In which time zone a log's local times are: in that of the profiled machine, else in the only one in which log and run overlap.

A log that was written elsewhere (a BMC, a laptop) may not keep the machine's zone. Another zone is believed only where so short a
log would hardly meet so short a run by chance: half-hour zones place a log of some hours on any run.
"""

from __future__ import annotations

from powertui.data.model import NS_PER_S, Clock, PowerSeries
from powertui.data.power import times

_HALF_HOURS = range(-24, 29)  # UTC-12 to UTC+14
_BY_CHANCE = 0.1  # that log and run overlap in one zone of these, though neither belongs to the other
_STEP_S = 1800


def of(series: PowerSeries, run: tuple[int, int], machine_s: int | None) -> Clock | None:
    """A clock for naive local times. `run`: its first and last moment (Unix ns); `machine_s`: seconds east of UTC, where known."""
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


def _overlap(series: PowerSeries, clock: Clock, run: tuple[int, int]) -> bool:
    if not len(series) or clock.lo_ns is None or clock.hi_ns is None:
        return False
    return clock.lo_ns + int(series.times[0]) < run[1] and clock.hi_ns + int(series.times[-1]) > run[0]
