"""One run of a side, or a stretch of it: which hosts, which window, which steps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

import numpy as np

from powertui.data.asked import Aligning
from powertui.data.model import PS_PER_S, Bools, Floats, Int64s
from powertui.data.opened import Opened, Profile
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class HostWindow:
    """A stretch of one host's profile."""

    profile: Profile
    lo: int | None = None  # ps; None: from the beginning, or to the end
    hi: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.lo is None and self.hi is None

    @property
    def rows(self) -> Int64s:
        """Its steps, without those that trace or compile, or whose work is not in the file."""
        return np.flatnonzero(self._inside & comparable_steps(self.profile))

    @property
    def places(self) -> Int64s:
        """Where its steps are among all of the run that can be compared."""
        return (np.cumsum(comparable_steps(self.profile)) - 1)[self.rows]

    @property
    def left_out(self) -> int:
        """How many of its steps are not compared."""
        return int(self._inside.sum()) - len(self.rows)

    @property
    def _inside(self) -> Bools:
        start = self.profile.steps.start
        inside = np.ones(len(start), np.bool_)
        if self.lo is not None:
            inside &= start >= self.lo
        if self.hi is not None:
            inside &= start < self.hi
        return inside

    @property
    def bounds(self) -> tuple[int, int]:
        """From its first step to the end of its last one; all of it where it has none."""
        rows = self.rows
        steps = self.profile.steps
        if len(rows):
            return int(steps.start[rows].min()), int(steps.ends()[rows].max())
        begin, end = self.profile.trace.span
        return (begin if self.lo is None else self.lo), (end if self.hi is None else self.hi)


@dataclass(frozen=True, eq=False)
class ComparedPart:
    """One run of a side."""

    name: str
    opened: Opened
    windows: tuple[HostWindow, ...]  # of the hosts that are compared
    aligning: Aligning = field(default_factory=Aligning)
    program: str = ""  # which start of the program it was: its sessions are no further runs

    @property
    def lead(self) -> HostWindow | None:
        """The host whose steps stand for the run: with most of them, then the slowest."""
        ranked = [
            (len(window.rows), float(step_seconds(window.profile)[window.rows].sum()))
            for window in self.windows
        ]
        return self.windows[ranked.index(max(ranked))] if ranked else None


@dataclass(frozen=True, eq=False)
class AskedSide:
    """A, or B: its runs, one after the other, so that each can be let go before the next."""

    name: str
    parts: Iterable[ComparedPart]


def comparable_steps(profile: Profile) -> Bools:
    """Which steps say how long a step takes: not those that trace, nor those without their work."""
    steps = profile.steps
    usable: Bools = steps.lengths() >= 0
    for phase in profile.epochs.phases:
        if phase.name == "tracing":
            usable = usable & ~((steps.start >= phase.start) & (steps.start < phase.end))
    return usable


def comparable_seconds(profile: Profile) -> Floats:
    """The lengths of all steps that can be compared."""
    return np.asarray(step_seconds(profile)[comparable_steps(profile)])


def step_seconds(profile: Profile) -> Floats:
    """From the start of each step to the next one, or to its end where none follows at once."""
    steps = profile.steps
    return np.asarray((steps.ends() - steps.start) / PS_PER_S, np.float64)
