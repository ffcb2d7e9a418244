"""What would show where a power log belongs whose clock is in doubt."""

from __future__ import annotations

from powertui.data.model import PowerSeries

RECORD_ENDS = (
    "Log power from before the training starts until after it ends: its start and end in the "
    "readings show where the log is. Or give --offset."
)
# A person who did that already is asked for something else.
_BELIEVE_CLOCK = (
    "The log begins before the run and ends after it, but its readings do not show where it "
    "belongs. If both clocks are right (one machine, or set by NTP), use --align clock. Otherwise "
    "give --offset."
)


def clock_advice(series: PowerSeries, offset_ns: int, run_ns: tuple[int, int]) -> str:
    """By whether a log, with its zero at `offset_ns`, reaches beyond the run on both sides."""
    if not len(series):
        return RECORD_ENDS
    first = int(series.times[0]) + offset_ns
    last = int(series.times[-1]) + offset_ns
    if first < run_ns[0] and last > run_ns[1]:
        return _BELIEVE_CLOCK
    return RECORD_ENDS
