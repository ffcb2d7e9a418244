"""Ops by their own time, on devices and on the host."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np

from powertui.data.compare.figure import Family
from powertui.data.compare.part import ComparedPart, HostWindow
from powertui.data.compare.values import ComparedValue, ValueKey, Values
from powertui.data.model import PS_PER_S, Int64s
from powertui.data.tools import name_classes, op_stats
from powertui.data.tools.name_classes import NameClass
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.replicas import without_replica

ON_DEVICE = "device"
ON_HOST = "host"
# Of these a thread of the host only waits: what it waits for runs on other threads, and is counted
# there. XLA's executor waited for 93 ms while the sort that it waited for ran for 64.
_WAITS_FOR_THREADS = re.compile(r"^ThunkExecutor::Execute \(wait|ThreadPool::Await$")
_FRAMES = (NameClass.FRAME, NameClass.WAITING_FRAME, NameClass.PROFILER)


def op_values(part: ComparedPart) -> Values:
    """The own time of each op for each step, of all hosts together."""
    seconds: dict[ValueKey, float] = defaultdict(float)
    for window in part.windows:
        _add_ops(seconds, window)
    steps = max((len(window.rows) for window in part.windows), default=0)
    return {key: ComparedValue(own_s / max(1, steps)) for key, own_s in seconds.items()}


def _add_ops(seconds: dict[ValueKey, float], window: HostWindow) -> None:
    profile = window.profile
    stats = op_stats.op_stats(profile.trace, *window.bounds)
    for row in _rows_of_ops(window, stats).tolist():
        name = without_replica(stats.trace.names.display(int(stats.name[row])))
        # The mark of a step is as long as the step, and no op.
        if profile.steps.is_own_mark(name):
            continue
        where = ON_DEVICE if stats.on_device[row] else ON_HOST
        if where == ON_HOST and _WAITS_FOR_THREADS.search(name):
            continue
        own_s = int(stats.self_time[row]) / PS_PER_S
        seconds[ValueKey(Family.OP, name, "s", where)] += own_s


def _rows_of_ops(window: HostWindow, stats: OpStats) -> Int64s:
    """Not Python frames, which hold ops, nor what waits for ops of other threads."""
    classes = name_classes.name_classes(window.profile)[stats.name]
    is_frame = np.isin(classes, _FRAMES) & ~stats.on_device
    is_waiting = np.isnan(stats.share)
    return np.flatnonzero(~is_frame & ~is_waiting)
