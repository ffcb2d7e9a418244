"""Whether this process has run all the time: somebody may have stopped it, frozen its container, or
closed the laptop.

Threads that wait call `beat()` when they wake, and one of them wakes four times a second. A beat
that comes much later than the one before it shows that nothing ran in between.
"""

from __future__ import annotations

import threading

from powertui import units
from powertui.named_tuples import NamedTuple
from powertui.sampler import clocks

__all__ = ["BEAT_S", "Heartbeat", "Suspension"]

BEAT_S = 0.25  # s between two beats of a process that runs
# Without a beat: on a busy machine a thread that is due may wait for a beat or two.
_MIN_SUSPENSION_S = 3 * BEAT_S
# of a suspension that the machine slept: whatever held the process up for the rest, it was the
# sleep
_ASLEEP_SHARE = 0.5


class Suspension(NamedTuple):
    """A time in which nothing of this process ran, on the steady clock."""

    begin: float
    end: float
    asleep_s: float  # of it the machine itself slept

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    @property
    def middle(self) -> float:
        return (self.begin + self.end) / 2

    @property
    def cause(self) -> str:
        """Why nothing ran, in words."""
        if self.asleep_s > _ASLEEP_SHARE * self.seconds:
            return "this machine slept"
        return "the recorder was suspended"

    @property
    def length(self) -> str:
        """How long it lasted, in words."""
        return units.duration(round(self.seconds * units.PS_PER_S), 2)


class Heartbeat:
    """Called by any thread, right after it woke."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = clocks.steady_s()
        self._asleep = clocks.asleep_s()

    def beat(self) -> Suspension | None:
        """The suspension that has just ended, for the first thread that asks after it."""
        with self._lock:
            now = clocks.steady_s()
            asleep = clocks.asleep_s()
            before, self._last = self._last, now
            if asleep is None or self._asleep is None:
                slept = 0.0
            else:
                slept = max(0.0, asleep - self._asleep)
            self._asleep = asleep
        if now - before >= _MIN_SUSPENSION_S:
            return Suspension(before, now, slept)
        return None
