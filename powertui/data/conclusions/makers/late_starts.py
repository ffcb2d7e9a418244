"""Compiled programs that began late: the program has handed one over, no thread computes, and
nothing is there to wait for but a core.

Between a call that hands a program to the threads of a pool, and its first operation there, a
thread has to wake up: 10 to 100 µs where a core is free. No lock of Python keeps it from running,
and its inputs are there, as no other operation runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from powertui.data import wire
from powertui.data.category import op_type
from powertui.data.model import PS_PER_S, Bools, Events, Trace
from powertui.data.name_shapes import READ_CHARACTERS, beginning, name_shapes
from powertui.data.opened import Profile
from powertui.data.tools.covered_time import CoveredTime, joined, time_of, union
from powertui.data.tools.name_classes import (
    POOL_OF_XLA,
    NameClass,
    any_class,
    name_classes,
)
from powertui.data.tools.wall_time import Periods
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

# A thread of a pool that begins so late waited for a core. On two idle cores those of JAX and
# TensorFlow took 12 to 50 µs at the median.
_MIN_LATE_PS = PS_PER_S // 1000
# JAX hands a program to its pool in one of these.
_HANDS_OVER = late_pattern(r"Executable::Execute(?:Helper|$)")
# TensorFlow runs the operations of a function in one of these, on whatever threads.
_RUNS = "KernelAndDeviceFunc::Run"
# What runs then is what the pool waits for, or is the program itself.
_WORKING = (
    NameClass.OPERATION,
    NameClass.PROGRAM,
    NameClass.COLLECTIVE,
    NameClass.COMPILE,
    NameClass.CALLED_PYTHON,
    NameClass.INPUT_AHEAD,
)


@dataclass(frozen=True, eq=False)
class LateStarts:
    """Where a program was handed over, and nothing ran."""

    stretches: CoveredTime

    @property
    def longest_ps(self) -> int:
        """How long the longest of them is."""
        return int((self.stretches.end - self.stretches.start).max(initial=0))

    def at_least(self, ps: int) -> LateStarts:
        """Those that are so long."""
        start, end = self.stretches.start, self.stretches.end
        is_long = end - start >= ps
        return LateStarts(CoveredTime(start[is_long], end[is_long]))

    def left_by(self, threads: Iterable[CoveredTime], ps: int) -> LateStarts:
        """What the work of all threads leaves of them, where that is so long."""
        # Long ones are few beside what all threads do, which is never joined. What work leaves of
        # a shorter one is shorter still.
        late = self.at_least(ps)
        for working in threads:
            if not len(late.stretches.start):
                break
            late = LateStarts(late.stretches.without(working)).at_least(ps)
        return late

    def steps(self, periods: Periods) -> int:
        """How many steps have one."""
        step = periods.start.searchsorted(self.stretches.start, side="right")
        return len(wire.distinct(step))


def late_starts(profile: Profile) -> LateStarts:
    """Those of JAX, whose programs run on threads of a pool, and of TensorFlow's functions."""
    trace = profile.trace
    late = LateStarts(joined([*_before_pools_begin(trace), *_while_run(profile)]))
    return late.left_by(_working(profile), _MIN_LATE_PS)


def _working(profile: Profile) -> Iterator[CoveredTime]:
    """When each thread computes, copies, compiles, or prepares a batch."""
    names = profile.trace.names
    is_work = any_class(name_classes(profile), _WORKING)
    is_work |= name_shapes(names).where(lambda name: op_type(name[:READ_CHARACTERS]))
    for _, _, track in profile.trace.threads():
        # XLA's instructions have whatever names the program gave them.
        is_any = POOL_OF_XLA.search(track.name) is not None
        yield _time_of(track.events, np.ones_like(is_work) if is_any else is_work)


def _before_pools_begin(trace: Trace) -> Iterator[CoveredTime]:
    """From the end of each call of JAX that hands a program over to the first work of a pool after
    the call began, if that comes before the next such call.
    """
    hands_over = name_shapes(trace.names).found(_HANDS_OVER)
    of_pools = _work_of_pools(trace)
    if not hands_over.any() or not len(of_pools.start):
        return
    for _, _, track in trace.threads():
        calls = _time_of(track.events, hands_over)
        place = of_pools.start.searchsorted(calls.start)
        begins = np.append(of_pools.start, of_pools.end[-1])[place]
        next_call = np.append(calls.start[1:], np.iinfo(np.int64).max)
        is_own = (begins > calls.end) & (begins < next_call) & (place < len(of_pools.start))
        yield CoveredTime(calls.end[is_own], begins[is_own])


def _work_of_pools(trace: Trace) -> CoveredTime:
    """When XLA's threads for the CPU run anything."""
    parts = [
        union(track.events.start, track.events.end)
        for _, _, track in trace.threads()
        if POOL_OF_XLA.search(track.name) is not None
    ]
    return joined(parts)


def _while_run(profile: Profile) -> Iterator[CoveredTime]:
    """Where TensorFlow runs a function: that it is made ready for its first run comes before.

    A single operation runs in such a call, too, and has no event of its own in it.
    """
    is_function = name_classes(profile) == NameClass.FUNCTION
    runs = beginning(profile.trace.names, _RUNS, whole=True)
    for _, _, track in profile.trace.threads():
        functions = _time_of(track.events, is_function)
        if len(functions.start):
            yield functions.common(_time_of(track.events, runs))


def _time_of(events: Events, is_chosen: Bools) -> CoveredTime:
    """When any event with one of the chosen names runs."""
    return time_of(events, is_chosen[events.name], empty_too=True)
