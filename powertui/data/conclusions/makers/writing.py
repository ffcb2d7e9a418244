"""Where a step prepares and writes what nobody trains with: summaries, checkpoints."""

from __future__ import annotations

import numpy as np

from powertui.data.conclusions.makers.purposes import DECISIVE, Purpose
from powertui.data.model import Events, Int64s
from powertui.data.name_shapes import READ_CHARACTERS, name_shapes
from powertui.data.opened import Profile
from powertui.data.run.stat_carriers import rows_named
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.name_classes import NameClass, any_class, name_classes
from powertui.data.tools.wall_time import WallTime
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

# Compiled functions, and the updates of weights with which a step without them ends.
_UPDATE = late_pattern(r"ResourceApply|AssignSubVariableOp")


class Writing(NamedTuple):
    """Where the thread of the steps works toward a write."""

    call: str  # that writes: "WriteSummary"
    stretches: CoveredTime


def writing_stretches(profile: Profile, wall: WallTime) -> dict[Purpose, Writing]:
    """For each purpose where the thread of the steps works toward a write: from the end of the
    step's own work to the end of the write.
    """
    if wall.driver is None or not len(wall.periods):
        return {}
    events = wall.driver.events
    names = profile.trace.names
    work_ends = _work_ends(profile, events)
    if not len(work_ends):
        return {}
    by_purpose: dict[Purpose, Writing] = {}
    for purpose, pattern in DECISIVE:
        writes = rows_named(events.name, name_shapes(names).found(pattern))
        if not len(writes):
            continue
        first_name = events.name[writes].min()
        call = names.full(int(first_name))[:READ_CHARACTERS]
        stretches = _up_to(work_ends, wall, events.start[writes], events.end[writes])
        by_purpose[purpose] = Writing(call.rpartition(": ")[2], stretches)
    return by_purpose


def _work_ends(profile: Profile, events: Events) -> Int64s:
    """When the step's own work ends, sorted."""
    is_work = any_class(name_classes(profile), (NameClass.FUNCTION, NameClass.PROGRAM))
    is_work |= name_shapes(profile.trace.names).found(_UPDATE)
    rows = rows_named(events.name, is_work)
    return np.sort(events.end[rows])


def _up_to(work_ends: Int64s, wall: WallTime, start: Int64s, end: Int64s) -> CoveredTime:
    """The stretches from the last work before each write, in the same step, to the write's end."""
    step_starts = wall.periods.start
    work = work_ends.searchsorted(start, side="right") - 1
    step = step_starts.searchsorted(start, side="right") - 1
    since = work_ends[np.maximum(work, 0)]
    in_same_step = since >= step_starts[np.maximum(step, 0)]
    usable = (work >= 0) & (step >= 0) & in_same_step
    return union(since[usable], end[usable])
