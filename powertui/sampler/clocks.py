"""The clocks of this machine: the wall clock, and one that is never set and that goes on while the
machine sleeps.

Python's monotonic clock stands still while a laptop sleeps. Readings before and after would seem to
follow one another at once, and the wall clock would seem to have been set. A recording needs a
clock that counts the time that really passed.
"""

from __future__ import annotations

import sys
import time

from powertui.errors import PowertuiError

__all__ = ["asleep_s", "check", "steady_s", "wall_s"]

# 2262-04-11, in Unix seconds: 64 bits of nanoseconds end there, in Python and in every power log
_LAST_TIME_S = 9_223_372_036.0


def _works(clock: int | None) -> int | None:
    """The same clock where this system has it: some sandboxes know its name alone."""
    if clock is None:
        return None
    try:
        time.clock_gettime(clock)
    except OSError:
        return None
    return clock


# Apple's CLOCK_MONOTONIC counts the time asleep, Linux's does not.
_STEADY = _works(
    getattr(time, "CLOCK_MONOTONIC" if sys.platform == "darwin" else "CLOCK_BOOTTIME", None)
)
_AWAKE = _works(
    getattr(time, "CLOCK_UPTIME_RAW" if sys.platform == "darwin" else "CLOCK_MONOTONIC", None)
)


def wall_s() -> float:
    """Unix seconds. `time.time()` raises OverflowError from the year 2262 on; this does not."""
    return time.clock_gettime(time.CLOCK_REALTIME)


def steady_s() -> float:
    """Seconds on the clock that nobody sets, the time that the machine sleeps included where the
    system counts it.
    """
    if _STEADY is None:
        return time.monotonic()
    return time.clock_gettime(_STEADY)


def asleep_s() -> float | None:
    """How long the machine has slept since it started; None where the system does not tell.

    Only differences mean something.
    """
    if _STEADY is None or _AWAKE is None:
        return None
    return time.clock_gettime(_STEADY) - time.clock_gettime(_AWAKE)


def check() -> None:
    """Raise where the wall clock shows a time that neither Python nor a power log can hold."""
    if wall_s() >= _LAST_TIME_S:
        raise PowertuiError(
            "This machine's clock is past April 2262, and no log can hold such times.",
            hint="Set the clock, then start again: `date` shows it.",
        )
