"""Counters of energy: watts are the mean since the counter moved, beside the energy itself.

Where a counter's largest value is known (RAPL) it wraps there, as long as what it would have
counted is possible and it cannot have wrapped twice; where it is not known (hwmon's 64 bits) a
smaller number than before means that the counter was set back. Then nothing is known of the time
between: a reading without watts that has joules is where the counting begins anew. A counter that
could not be read for a while went on counting: its next reading covers all that time.

A counter that has not moved means nothing: it may count in whole joules, be renewed seldom, or not
count at all, as in many virtual machines. So it never reads as 0 W: it gives nothing for a moment,
then a gap with its reason, and when it moves the mean of all that time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import TypeVar

from powertui.named_tuples import NamedTuple
from powertui.sampler.source import OK, AnswerTime, Reading, Stamp, none
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

MIN_STEP_S = 0.02  # a difference over less than this is mostly the counter's own step
STANDSTILL_S = 2.0  # a counter that did not move for so long is reported as standing still
STANDSTILL = "the counter does not change"
_MAX_POWER_W = 3000.0  # no socket, and no machine whose counter wraps, draws more
_STANDSTILL_LOOKS = 10  # in the time in which a counter that works must have moved
_Name = TypeVar("_Name", bound=Hashable)


class Counted(NamedTuple):
    """What one look at a counter gives."""

    watts: float | None
    joules: float | None  # since the first look; without watts: the counting begins anew here
    reason: str = ""  # why there are no watts

    def reading(self, answered: AnswerTime, source: str, channel: str) -> Reading:
        """The same as a reading of that time."""
        quality = none(self.reason) if self.reason else OK
        return answered.reading(source, channel, self.watts, quality, self.joules)


class CountedEnergy:
    """The unwrapped energy of one counter, whoever reads it.

    `joules` is the energy of one count, `limit` the largest count before it wraps.
    """

    def __init__(
        self,
        joules: float,
        limit: int | None = None,
        min_step_s: float = MIN_STEP_S,
    ) -> None:
        self._joules = joules
        self._limit = limit
        self._min_step_s = min_step_s
        self._count: int | None = None
        self._moved_mono = 0.0  # when it last moved
        self._read_mono = 0.0  # when it was last read
        self._total = 0

    def take(self, count: int, mono: float) -> Counted | None:
        """The mean since it last moved; None where there is nothing new to say yet."""
        before = self._count
        since_read = mono - self._read_mono
        if before is not None and 0 <= since_read < self._min_step_s:
            return None
        self._read_mono = mono
        since_moved = mono - self._moved_mono
        if before is None or since_moved <= 0:
            return self._begin_anew(count, mono, "the counter's first reading")
        step = count - before
        if step == 0:
            if since_moved < STANDSTILL_S:
                return None
            return Counted(None, None, STANDSTILL)
        if self._limit is not None:
            step %= self._limit + 1
            # So long without a look, the greatest possible power would have gone all the way round.
            if self._limit * self._joules < _MAX_POWER_W * since_read:
                return self._begin_anew(count, mono, "the counter may have wrapped more than once")
        energy = step * self._joules
        if step < 0 or (count < before and energy > _MAX_POWER_W * since_moved):
            return self._begin_anew(count, mono, "the counter was set back")
        self._count, self._moved_mono = count, mono
        self._total += step
        return Counted(energy / since_moved, self._total * self._joules)

    def _begin_anew(self, count: int, mono: float, reason: str) -> Counted:
        self._count, self._moved_mono = count, mono
        return Counted(None, self._total * self._joules, reason)

    def forget(self) -> None:
        """What is read next may be another counter."""
        self._count = None


class EnergyCounter:
    """A counter in a file of /sys, in µJ."""

    def __init__(self, path: Path, source: str, channel: str, limit: int | None = None) -> None:
        self.path = path
        self._source = source
        self._channel = channel
        self._counter = CountedEnergy(1e-6, limit)

    def read(self) -> Reading | None:
        """As `CountedEnergy.take` has it."""
        stamp = Stamp.now()
        count, why = read_number(self.path)
        answered = stamp.middle()
        if count is None:
            if why == GONE:  # its driver may come back with a counter that begins at nothing
                self._counter.forget()
            return answered.gap(self._source, self._channel, why)
        counted = self._counter.take(count, answered.mono)
        if counted is None:
            return None
        return counted.reading(answered, self._source, self._channel)


def motionless(counts: Mapping[_Name, Callable[[], int | None]], within: float) -> set[_Name]:
    """Those that can be read and do not move within a time (s): they count nothing.

    Returns at once where all move.
    """
    first = {name: count() for name, count in counts.items()}
    unmoved = {name for name, count in first.items() if count is not None}
    until = time.monotonic() + within
    looks = 0
    # The number of looks counts too: a machine that is busy may let the time pass in one of them.
    while unmoved and (looks < _STANDSTILL_LOOKS or time.monotonic() < until):
        time.sleep(within / _STANDSTILL_LOOKS)
        looks += 1
        unmoved = {name for name in unmoved if counts[name]() == first[name]}
    return unmoved
