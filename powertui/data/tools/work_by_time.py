"""What ran at each moment of a profile, on any thread of the host and any device, whoever asked for
it.

A thread that waits for another one does nothing; what it waits for is seen on the other one. Python
counts where nothing else runs.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Int64s, Trace
from powertui.data.name_shapes import name_shapes
from powertui.data.opened import Profile
from powertui.data.tools import covered_time, event_types, python_frames, sweep, typed_events
from powertui.data.tools.covered_time import CoveredTime, time_of
from powertui.data.tools.event_types import KINDS, MARK, NOTHING, EventType
from powertui.data.tools.sweep import Sweep
from powertui.data.tools.typed_events import Typed

_LINES = "typed lines"
_NO_TYPE = -1  # a name whose events count as elsewhere


def work_by_time(profile: Profile) -> Sweep:
    """The most telling type of work at each moment of a profile. Made once."""
    return profile.cached("work by time", lambda: _of_profile(profile))


def parts_of(axis: Sweep, lo: Int64s, hi: Int64s) -> Int64s:
    """[stretches × types]: how much of each stretch [lo, hi) every type has."""
    return axis.inside(np.zeros(len(lo), np.int64), lo, hi)


def at_work(axis: Sweep) -> CoveredTime:
    """When more than Python ran."""
    start, end = axis.covers[EventType.PYTHON + 1]
    shift = axis.shift[0]
    return CoveredTime(start - shift, end - shift)


def typed_lines(profile: Profile) -> tuple[list[Typed], list[Typed]]:
    """(work of devices, work of hosts), line by line, as both ways to break steps down need it.

    Whoever asks lets go of it with `forget_lines`: of ten million events it takes 100 MB.
    """
    return profile.cached(_LINES, lambda: typed_events.typed_events(profile.trace, "corrected"))


def forget_lines(profile: Profile) -> None:
    """The lines are not needed any more."""
    profile.opened.forget(profile.index, _LINES)


def _of_profile(profile: Profile) -> Sweep:
    trace = profile.trace
    devices, hosts = typed_lines(profile)
    by_type: list[list[CoveredTime]] = [[] for _ in range(KINDS)]
    for line in [*devices, *_typed_by_time(trace, hosts)]:
        types = line.types
        counts = np.bincount(types, minlength=KINDS)[:KINDS]
        for event_type in np.flatnonzero(counts).tolist():
            # A moment says nothing of the time after it: "end: dot" of XLA has no length.
            is_type = types == event_type
            by_type[event_type].append(time_of(line.track.events, is_type))
    # Python is the lowest type: it counts where nothing else runs.
    span = covered_time.window(*trace.span)
    python = python_frames.working_stretches(profile)
    by_type[EventType.PYTHON].append(python.common(span))
    return sweep.sweep_times(by_type)


def _typed_by_time(trace: Trace, hosts: list[Typed]) -> list[Typed]:
    """The same lines; what waits and what marks a step counts nowhere."""
    type_of_name = name_shapes(trace.names).numbers(_type_number, np.int16)
    has_type = type_of_name != _NO_TYPE
    only_waits = has_type & (type_of_name == NOTHING)
    lines: list[Typed] = []
    for line in hosts:
        # What tells more than the host's computing keeps its type, unless it only waits.
        is_plain = has_type & (line.by_name == EventType.HOST_COMPUTE)
        is_replaced = is_plain | only_waits
        by_name = np.where(is_replaced, type_of_name, line.by_name)
        name_of_row = line.track.events.name[line.rows]
        row_waits = only_waits[name_of_row]
        row_kinds = np.where(row_waits, NOTHING, line.kinds)
        lines.append(
            line._replace(
                by_name=np.where(by_name == MARK, NOTHING, by_name).astype(np.uint8),
                kinds=np.where(row_kinds == MARK, NOTHING, row_kinds).astype(np.uint8),
            )
        )
    return lines


def _type_number(name: str) -> int:
    event_type = event_types.type_by_time(name)
    return _NO_TYPE if event_type is None else event_type
