"""A profile in a notebook, and the times that a person names there."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import pandas as pd

from powertui.data.model import PS_PER_S, Clock, Trace
from powertui.data.opened import Profile
from powertui.errors import UsageError
from powertui.plain import plain
from powertui.report import frames
from powertui.report.frames import UNITS, EventFilter, Match, TimeUnit

__all__ = ["TraceView", "check_unit", "window_ps"]

_MAX_PS = 2.0**62  # 53 days: no profile is longer, and int64 overflows at twice that


class TraceView:
    """The profile of one host. The same rule: properties, and a method for what can be narrowed."""

    def __init__(self, profile: Profile, unit: TimeUnit = "s") -> None:
        self.profile = profile
        self.unit = unit

    @property
    def trace(self) -> Trace:
        """The trace itself, as `powertui.data.model` describes it."""
        return self.profile.trace

    @property
    def host(self) -> str:
        """The host, by the name of its file."""
        return self.profile.host

    @property
    def clock(self) -> Clock:
        """Where the profile's zero lies in Unix time: an interval in ns, and the evidence."""
        return self.profile.clock

    @property
    def tracks(self) -> pd.DataFrame:
        """As `RunView.tracks`, without the host."""
        return frames.tracks(self.trace.tracks())

    @property
    def steps(self) -> pd.DataFrame:
        """As `RunView.steps`, without the host."""
        return frames.steps(self.profile.steps, self.profile.epochs, self.unit)

    @property
    def epochs(self) -> pd.DataFrame:
        """As `RunView.epochs`, without the host."""
        return frames.epochs(self.profile.epochs, self.unit)

    def events(
        self,
        *,
        process: Match = None,
        track: Match = None,
        name: Match = None,
        exact: str | None = None,
        start: float | None = None,
        end: float | None = None,
        stats: Sequence[str] = (),
        unit: TimeUnit | None = None,
    ) -> pd.DataFrame:
        """As `RunView.events`, without the host."""
        time_unit = unit or self.unit
        lo, hi = window_ps(start, end, time_unit)
        events = EventFilter(process=process, track=track, name=name, exact=exact, lo=lo, hi=hi)
        return frames.events(self.trace, events, stats, time_unit)

    def __repr__(self) -> str:
        return f"<Trace of {plain(self.host)}: {self.trace.event_count:,} events>"


def check_unit(unit: str) -> None:
    if unit not in UNITS:
        raise UsageError(
            f"There is no unit {plain(str(unit), 80)!r}.", hint='Times are in "s" or "ps".'
        )


def window_ps(
    start: float | None,
    end: float | None,
    unit: TimeUnit,
) -> tuple[int | None, int | None]:
    """A window in ps; None where a bound is not named."""
    check_unit(unit)
    lo = _ps(start, unit)
    hi = _ps(end, unit)
    if lo is not None and hi is not None and lo > hi:
        raise UsageError("The window ends before it starts: start is later than end.")
    return lo, hi


def _ps(moment: float | None, unit: TimeUnit) -> int | None:
    """A moment in ps.

    Picoseconds are whole: a float would be seconds that somebody forgot to multiply.
    """
    if moment is None:
        return None
    try:
        if unit == "ps":
            return operator.index(moment)  # type: ignore[arg-type]
        ps = float(moment) * PS_PER_S
        if abs(ps) < _MAX_PS:  # false for NaN
            return round(ps)
    except (TypeError, ValueError):
        pass
    if unit == "ps":
        raise UsageError(
            "start and end are whole picoseconds (int) here.",
            hint='unit="s" takes and gives seconds.',
        )
    raise UsageError(
        "start and end are seconds since the profile's zero.",
        hint='unit="ps" takes and gives whole picoseconds.',
    )
