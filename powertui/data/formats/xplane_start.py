"""When a session began, as recent TensorFlow and JAX record it in an XPlane."""

from __future__ import annotations

from powertui.data.model import Clock, Trace

# 2001 to 2096. Times of lines in here are Unix times; all others count from the session's start.
UNIX_NS = (10**18, 4 * 10**18)
# The session's start is read before the collectors start. Their zero is within this of it.
_START_SLACK_NS = 1_000_000


def recorded_start(trace: Trace) -> Clock | None:
    """The session's start, which recent TensorFlow and JAX write into a plane of its own."""
    for process in trace.processes:
        if process.name != "Task Environment":
            continue
        for stat in process.stats:
            if stat.name != "profile_start_time":
                continue
            if isinstance(stat.value, int) and stat.value > UNIX_NS[0]:
                return Clock(
                    stat.value - _START_SLACK_NS,
                    stat.value + _START_SLACK_NS,
                    "task environment",
                    "start of the session as recorded in the profile",
                )
    return None
