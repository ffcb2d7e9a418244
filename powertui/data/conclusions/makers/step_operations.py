"""How often each operation runs in some of the steps, and for how long."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Floats, ProcessKind
from powertui.data.opened import Profile
from powertui.data.tools import device_facts
from powertui.data.tools.covered_time import CoveredTime, joined
from powertui.data.tools.name_classes import NameClass, name_classes
from powertui.data.tools.wall_time import Periods
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class StepOperations:
    """How often each operation runs in some steps, and for how long, by its name's number."""

    count: Floats  # a step
    ps: Floats  # a step


def step_operations(profile: Profile, periods: Periods, rows: Bools) -> StepOperations:
    """The operations that begin in these steps: of devices where there are some, else of hosts."""
    windows = joined([CoveredTime(periods.start[rows], periods.end[rows])])
    size = len(profile.trace.names)
    count = np.zeros(size)
    ps = np.zeros(size)
    kind = ProcessKind.DEVICE if device_facts.has_device(profile.trace) else ProcessKind.HOST
    is_operation = name_classes(profile) == NameClass.OPERATION
    for process in profile.trace.processes:
        if process.kind is not kind:
            continue
        for track in process.tracks:
            events = track.events
            inside = windows.hold(events.start)
            if kind is ProcessKind.HOST:
                inside &= is_operation[events.name]
            names = events.name[inside]
            count += np.bincount(names, minlength=size)
            ps += np.bincount(names, events.duration[inside].astype(np.float64), minlength=size)
    steps = max(1, int(rows.sum()))
    return StepOperations(count / steps, ps / steps)
