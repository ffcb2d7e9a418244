"""Counters of energy: watts are the mean since the counter moved, and the energy itself is told
too.

Where a counter's largest value is known (RAPL) it wraps there, as long as what it would have
counted is possible and it cannot have wrapped twice; where it is not known (hwmon's 64 bits) a
smaller number than before means that the counter was set back. Then nothing is known of the time
between: a reading without watts that has joules is where the counting begins anew. A counter that
could not be read for a while went on counting: its next reading tells of all that time.

A counter that has not moved says nothing: it may count in whole joules, be renewed seldom, or not
count at all, as in many virtual machines. So it never says 0 W: nothing for a moment, then a gap
with its reason, and when it moves the mean of all that time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from powertui.sampler.source import OK, Reading, Stamp, none
from powertui.sampler.sysfs import GONE, read_number

__all__ = [
    "MIN_STEP_S",
    "STANDSTILL",
    "STANDSTILL_S",
    "Counted",
    "CountedEnergy",
    "EnergyCounter",
    "motionless",
]

MIN_STEP_S = 0.02  # s: a difference over less than this is mostly the counter's own step
STANDSTILL_S = 2.0  # a counter that did not move for so long is told as standing still
STANDSTILL = "the counter stands still"
_MAX_POWER_W = 3000.0  # no socket, and no machine whose counter wraps, draws more
_STANDSTILL_LOOKS = 10
_Name = TypeVar("_Name", bound=Hashable)


class Counted(NamedTuple):
    """What one look at a counter tells."""

    watts: float | None
    joules: float | None  # since the first look; without watts: the counting begins anew here
    reason: str = ""  # why there are no watts


class CountedEnergy:
    """The unwrapped energy of one counter, whoever reads it."""

    def __init__(
        self, joules: float, limit: int | None = None, shortest: float = MIN_STEP_S
    ) -> None:
        self._joules, self._limit, self._shortest = (
            joules,
            limit,
            shortest,
        )  # J of one count; its largest value
        self._raw: int | None = None
        self._moved = self._seen = 0.0  # monotonic s: when it last moved, and when it was last read
        self._total = 0

    def take(self, raw: int, mono: float) -> Counted | None:
        """The mean since it last moved; None where there is nothing new to say yet."""
        before, moved, seen = self._raw, self._moved, self._seen
        if before is not None and 0 <= mono - seen < self._shortest:
            return None
        self._seen = mono
        if before is None or mono <= moved:
            return self._anew(raw, mono, "the counter's first reading")
        step = raw - before
        if step == 0:
            return None if mono - moved < STANDSTILL_S else Counted(None, None, STANDSTILL)
        if self._limit is not None:
            step %= self._limit + 1
            if self._limit * self._joules < _MAX_POWER_W * (mono - seen):
                return self._anew(raw, mono, "the counter may have wrapped more than once")
        if step < 0 or (raw < before and step * self._joules > _MAX_POWER_W * (mono - moved)):
            return self._anew(raw, mono, "the counter was set back")
        self._raw, self._moved = raw, mono
        self._total += step
        return Counted(step * self._joules / (mono - moved), self._total * self._joules)

    def _anew(self, raw: int, mono: float, reason: str) -> Counted:
        self._raw, self._moved = raw, mono
        return Counted(None, self._total * self._joules, reason)

    def forget(self) -> None:
        """What is read next may be another counter."""
        self._raw = None


class EnergyCounter:
    """A counter in a file of /sys, in µJ."""

    def __init__(self, path: Path, source: str, channel: str, limit: int | None = None) -> None:
        self.path, self._source, self._channel = path, source, channel
        self._counter = CountedEnergy(1e-6, limit)

    def read(self) -> Reading | None:
        """As `CountedEnergy.take` has it."""
        stamp = Stamp.now()
        raw, why = read_number(self.path)
        t, mono, rtt = stamp.middle()
        if raw is None:
            if why == GONE:  # its driver may come back with a counter that begins at nothing
                self._counter.forget()
            return Reading(t, mono, None, rtt, self._source, self._channel, none(why))
        told = self._counter.take(raw, mono)
        if told is None:
            return None
        quality = none(told.reason) if told.reason else OK
        return Reading(t, mono, told.watts, rtt, self._source, self._channel, quality, told.joules)


def motionless(counts: Mapping[_Name, Callable[[], int | None]], within: float) -> set[_Name]:
    """Those that can be read and do not move within a time (s): they count nothing.

    At once where all move.
    """
    first = {name: count() for name, count in counts.items()}
    still = {name for name, count in first.items() if count is not None}
    until, looks = time.monotonic() + within, 0
    while still and (looks < _STANDSTILL_LOOKS or time.monotonic() < until):
        time.sleep(within / _STANDSTILL_LOOKS)
        looks += 1
        still -= {name for name in still if counts[name]() != first[name]}
    return still
