"""Whether a power log meets a run: the one rule, and the one sentence for a log that does not.

A log meets a run when one of its readings may lie between the run's first and last moment. "May":
both clocks are intervals, and a log is turned away only where no place within them overlaps. The
run is all that one program did: its profiles, its scalars and its epochs, so a log beside a short
profile still meets the training around it.

A log that does not meet the run is another run's. It is not aligned, not counted, and no axis grows
to hold it. Only a person may place it all the same (`--offset`, `--pins`), or have its clock set
aside (`--align signal`).
"""

from __future__ import annotations

from pathlib import PurePath

from powertui.data.model import NS_PER_S, PS_PER_NS, PowerOnTrace

Span = tuple[int, int]

_UNITS = (("years", 31_557_600), ("days", 86_400), ("hours", 3600), ("minutes", 60))
_WHOLE_UNITS_FROM = 10  # from this number of a unit on no decimal is shown


def gap(first: int, last: int, run: Span) -> int | None:
    """How far readings from `first` to `last` lie from a run, in the unit of both: more than 0
    after it, less than 0 before it, 0 where they only touch. None where they meet.
    """
    lo, hi = run
    if first < hi and last > lo:
        return None
    if first >= hi:
        return first - hi
    return last - lo


def gap_on_trace(power: PowerOnTrace, span: Span) -> int | None:
    """The same of a log that lies on a trace (ps), wherever within its interval it may lie.

    Ask whether it has a place first.
    """
    times = power.series.times
    if not len(times):
        return 0
    # Not `power.times`: of a log that a person put far away, its ps hold nothing.
    first_ps = int(times[0]) * PS_PER_NS + power.offset_lo_ps
    last_ps = int(times[-1]) * PS_PER_NS + power.offset_hi_ps
    return gap(first_ps, last_ps, span)


def meets(power: PowerOnTrace, span: Span) -> bool:
    """Whether a log has a place, and some reading of it may lie within this span."""
    if power.status == "none" or not len(power.times):
        return False
    return gap_on_trace(power, span) is None


def nearest(*gaps: int) -> int:
    """The smallest of several gaps: of the zones, or the logs, in question."""
    return min(gaps, key=abs)


def sentence(path: str, gap_ns: int, what: str = "this run") -> str:
    """ "power.csv ends 199 days before this run." """
    name = PurePath(path).name or "The power log"
    distance = length(abs(gap_ns) / NS_PER_S)
    if not gap_ns:
        return f"{name} has no reading within {what}."
    if gap_ns > 0:
        return f"{name} begins {distance} after {what}."
    return f"{name} ends {distance} before {what}."


def not_used(path: str, gap_ns: int) -> str:
    """The same of a log that is another run's."""
    return f"{sentence(path, gap_ns)} It is not used."


def length(seconds: float) -> str:
    """A length that may be years: "199 days", "2.5 hours", "0.3 seconds"."""
    for unit, unit_size in _UNITS:
        if seconds < 2 * unit_size:
            continue
        number = seconds / unit_size
        if number >= _WHOLE_UNITS_FROM:
            return f"{number:,.0f} {unit}"
        return f"{number:.1f} {unit}"
    if seconds >= _WHOLE_UNITS_FROM:
        return f"{seconds:.0f} seconds"
    return f"{seconds:.2g} seconds"
