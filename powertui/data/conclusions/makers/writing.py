"""Where a step prepares and writes what nobody trains with: summaries, checkpoints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from powertui.data.conclusions.makers.blame import DECISIVE, Purpose
from powertui.data.model import Bools, Events, Int64s
from powertui.data.opened import Profile
from powertui.data.tools.covered_time import CoveredTime, union
from powertui.data.tools.name_classes import NameClass, name_classes
from powertui.data.tools.wall_time import WallTime

# Compiled functions, and the updates of weights with which a step without them ends.
_UPDATE = ("ResourceApply", "AssignSubVariableOp")


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
    indexes = np.unique(events.name)
    names = [profile.trace.names.full(index)[:200] for index in indexes.tolist()]
    work_ends = _work_ends(profile, events, indexes, names)
    out: dict[Purpose, Writing] = {}
    if not len(work_ends):
        return out
    for purpose, pattern in DECISIVE:
        writing = np.array([pattern.search(name) is not None for name in names], np.bool_)
        writes = _rows(events, indexes[writing])
        if writes.any():
            call = next(name for name, is_writing in zip(names, writing, strict=True) if is_writing)
            stretches = _up_to(work_ends, wall, events.start[writes], events.end[writes])
            out[purpose] = Writing(call.rpartition(": ")[2], stretches)
    return out


def _rows(events: Events, names: npt.NDArray[np.uint32]) -> Bools:
    return np.asarray(np.isin(events.name, names))


def _work_ends(
    profile: Profile, events: Events, indexes: npt.NDArray[np.uint32], names: list[str]
) -> Int64s:
    """When the step's own work ends, sorted."""
    classes = name_classes(profile)[indexes]
    is_function = np.isin(classes, (NameClass.FUNCTION, NameClass.PROGRAM))
    is_update = np.array([any(part in name for part in _UPDATE) for name in names], np.bool_)
    return np.sort(events.end[_rows(events, indexes[is_function | is_update])])


def _up_to(work_ends: Int64s, wall: WallTime, start: Int64s, end: Int64s) -> CoveredTime:
    """The stretches from the last work before each write, in the same step, to the write's end."""
    work = work_ends.searchsorted(start, side="right") - 1
    step = wall.periods.start.searchsorted(start, side="right") - 1
    known = (work >= 0) & (step >= 0)
    since = work_ends[np.maximum(work, 0)]
    known &= since >= wall.periods.start[np.maximum(step, 0)]
    return union(since[known], end[known])
