"""One run of a side, or a stretch of it: which hosts, which window, which steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TypeVar

import numpy as np

from powertui.data.asked import Aligning
from powertui.data.model import PS_PER_S, Bools, Floats, Int64s
from powertui.data.opened import Opened, Profile
from powertui.data.run.steps import dispatched_edges, dispatched_step_ps
from powertui.value_types import dataclass

A = TypeVar("A")


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
    def has_all_steps(self) -> bool:
        """Whether it leaves no step of the profile out."""
        return bool(self._inside.all())

    @property
    def bounds(self) -> tuple[int, int]:
        """From its first step to the end of its last one; all of it where it has none."""
        rows = self.rows
        if len(rows):
            starts, ends = step_bounds(self.profile)
            return int(starts[rows].min()), int(ends[rows].max())
        begin, end = self.profile.trace.span
        lo = begin if self.lo is None else self.lo
        hi = end if self.hi is None else self.hi
        return lo, hi


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
        if ranked:
            return self.windows[ranked.index(max(ranked))]
        return None


@dataclass(frozen=True, eq=False)
class AskedSide:
    """A, or B: its runs, one after the other, so that each can be let go before the next."""

    name: str
    parts: Iterable[ComparedPart]
    notes: tuple[str, ...]  # on how its runs were chosen

    def each(self, function: Callable[[ComparedPart], A]) -> Iterator[A]:
        """What is said of each run. `function` is one of a module, and its answer holds nothing of
        the run: another machine may be asked.
        """
        return map(function, self.parts)


def comparable_steps(profile: Profile) -> Bools:
    """Which steps say how long a step takes: not those that trace, nor those without their work.

    Unlike `breakdown.Breakdown.usual` it keeps steps that compile: if B compiles again and again,
    that is the difference to be shown. And it keeps none where all of them trace: there the length
    of the window is compared instead (`step_figures.WINDOW`), while a page of one run has to show
    the steps that it has.
    """
    steps = profile.steps
    usable: Bools = steps.lengths() >= 0
    for phase in profile.epochs.phases:
        if phase.name == "tracing":
            begins_in_phase = (steps.start >= phase.start) & (steps.start < phase.end)
            usable = usable & ~begins_in_phase
    return usable


def comparable_seconds(profile: Profile) -> Floats:
    """The lengths of all steps that can be compared."""
    return np.asarray(step_seconds(profile)[comparable_steps(profile)])


def step_seconds(profile: Profile) -> Floats:
    """From the start of each step to the next one, or to its end where none follows at once."""
    starts, ends = step_bounds(profile)
    return np.asarray((ends - starts) / PS_PER_S, np.float64)


def shows_each_step(profile: Profile) -> bool:
    """Whether it is known when each step began and ended. Where a host dispatches steps ahead,
    and no op of theirs runs once a step, their work is known as a whole alone.
    """
    if _work_edges(profile) is not None:
        return True
    return dispatched_step_ps(profile.trace, profile.steps) is None


def step_bounds(profile: Profile) -> tuple[Int64s, Int64s]:
    """When each step began and ended. Of steps that a host dispatches ahead it is their work: their
    marks show no more than how long asking for it takes.
    """
    edges = _work_edges(profile)
    if edges is None:
        return profile.steps.start, profile.steps.ends()
    return edges[:-1], edges[1:]


def _work_edges(profile: Profile) -> Int64s | None:
    return profile.cached(
        "edges of dispatched steps", lambda: dispatched_edges(profile.trace, profile.steps)
    )
