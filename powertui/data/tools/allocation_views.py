"""An allocator's log as a person asks about it: what each allocation is for, and what is alive."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from powertui.data.model import Int64s, Process, Trace, Track
from powertui.data.model.allocations import AllocatorLog
from powertui.data.opened import Profile
from powertui.data.tools import allocation_ops, memory_peak
from powertui.data.tools.allocation_lives import AllocationLives, allocation_lives
from powertui.data.tools.allocation_ops import AroundAllocations
from powertui.data.tools.memory_peak import PeakRow

_BEFORE = "allocated before the profile"


class AllocatorView:
    """One log, with what is worked out from it when somebody asks."""

    def __init__(self, trace: Trace, log: AllocatorLog) -> None:
        self._trace = trace
        self.log = log

    @cached_property
    def lives(self) -> AllocationLives:
        """Which event ends the life of which allocation."""
        return allocation_lives(self.log)

    @cached_property
    def _around(self) -> AroundAllocations | None:
        """The operators around events; None where the log says itself what they are for."""
        if self.log.words.texts or not (self.log.track >= 0).any():
            return None
        return allocation_ops.operators_around(self._trace, self.log)

    @cached_property
    def _tracks(self) -> list[tuple[Process, Track]]:
        return list(self._trace.tracks())

    @property
    def has_operators(self) -> bool:
        """Whether the ops of this log are those around its events."""
        return self._around is not None

    def source_event(self, event: int) -> int:
        """The allocation that an event is about; the event itself where that is not known."""
        if self.log.taken[event]:
            return event
        allocation = int(self.lives.counterpart[event])
        return allocation if allocation >= 0 else event

    def row(self, event: int) -> PeakRow:
        """What an event allocated or gave back."""
        allocation = self.source_event(event)
        row = memory_peak.allocation_row(self.log, allocation)._replace(
            size=int(self.log.size[event]),
            requested=float(self.log.requested[event]),
            event=event,
        )
        around = self._around
        if around is None or not self.log.taken[allocation] or around.event[allocation] < 0:
            return row
        line = int(self.log.track[allocation])
        operator = int(around.event[allocation])
        inputs = allocation_ops.operator_inputs(*self._tracks[line], operator)
        name = self._trace.names.full(int(around.name[allocation]))
        return row._replace(op=name, dtype=inputs.types, shape=inputs.shapes)

    def op(self, event: int) -> str:
        """For what an event's memory is; "" where nobody knows."""
        allocation = self.source_event(event)
        around = self._around
        if around is None:
            return self.log.words.text(self.log.words.op[allocation])
        if not self.log.taken[allocation] or around.name[allocation] < 0:
            return ""
        return self._trace.names.full(int(around.name[allocation]))

    def rows_alive(self, moment_ps: int, in_use: float) -> list[PeakRow]:
        """What is alive at a moment, alike allocations together, and the rest of what is in use."""
        alive = self.lives.alive(self.log, moment_ps)
        rows = [self.row(event) for event in alive.tolist()]
        before = in_use - float(self.log.size[alive].sum())
        if before > 0:
            rows.append(
                PeakRow(
                    op=_BEFORE,
                    size=int(before),
                    requested=np.nan,
                    region="",
                    dtype="",
                    shape="",
                )
            )
        if self.log.segments is not None:
            return list(memory_peak.by_op(rows))
        return list(memory_peak.together(rows))

    def alive(self, moment_ps: int) -> Iterator[tuple[int, int]]:
        """(allocation, the event that ends it or -1) of what is alive at a moment."""
        for event in self.lives.alive(self.log, moment_ps).tolist():
            yield event, int(self.lives.counterpart[event])

    def level(self, moment_ps: int) -> int:
        """The last event up to a moment; -1 before the first."""
        return int(np.searchsorted(self.log.times, moment_ps, side="right")) - 1

    def inside(self, lo: int, hi: int) -> Int64s:
        """The events of a window."""
        times = self.log.times
        in_window = (times >= lo) & (times < hi)
        return np.flatnonzero(in_window).astype(np.int64)


def allocator_views(profile: Profile) -> tuple[AllocatorView, ...]:
    """The allocators of a profile, by name."""

    def make() -> tuple[AllocatorView, ...]:
        trace = profile.trace
        return tuple(AllocatorView(trace, log) for log in trace.allocators)

    return profile.cached("allocator views", make)
