"""Ops by their own time, and kernels by the operator that launched them.

Names of kernels differ between makers, and those of operators hardly do: of two runs of one model
on an H100 and an MI300, 20 of 21 operators have the same name and 12 of 80 kernels. So kernels are
compared by operator, and by name below it.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from powertui.data.compare.figure import Family
from powertui.data.compare.part import HostWindow, Part
from powertui.data.compare.values import Key, Value, Values
from powertui.data.model import PS_PER_S
from powertui.data.tools import name_classes, op_stats, registry
from powertui.data.tools.name_classes import NameClass
from powertui.data.tools.registry import Question
from powertui.data.tools.replicas import without_replica

_NO_OPERATOR = "(no operator)"  # of kernels that were launched before the profile began
ON_DEVICE, ON_HOST = "device", "host"
LAUNCHES = "launches"  # the unit of counts
_KERNEL_TOOL = "kernel_summary"
_FRAMES = (NameClass.FRAME, NameClass.WAITING_FRAME, NameClass.PROFILER)


def op_values(part: Part) -> Values:
    """The own time of each op for each step, of all hosts together."""
    seconds: dict[Key, float] = defaultdict(float)
    for window in part.windows:
        for key, own_s in _op_seconds(window).items():
            seconds[key] += own_s
    steps = max((len(window.rows) for window in part.windows), default=0)
    return {key: Value(own_s / max(1, steps)) for key, own_s in seconds.items()}


def kernel_values(part: Part) -> Values:
    """Kernel time of the whole window by operator, and by kernel below it; of PyTorch's traces."""
    sums: dict[Key, float] = defaultdict(float)
    for window in part.windows:
        if window.profile.trace.format != "kineto":
            continue
        question = Question(part.opened, window.profile.index, window.lo, window.hi)
        table = registry.get(_KERNEL_TOOL).answer(question)[_KERNEL_TOOL]
        names, operators = table["Kernel name"], table["Parent cpu_op"]
        total_ps = table["Kernel duration (µs)_sum"].values
        count = table["Kernel duration (µs)_count"].values
        for row in range(len(table)):
            operator = operators.text(row) or _NO_OPERATOR
            name, own_s = names.text(row), float(total_ps[row]) / PS_PER_S
            sums[Key(Family.KERNEL, operator, "s")] += own_s
            sums[Key(Family.KERNEL_NAME, name, "s", operator)] += own_s
            sums[Key(Family.KERNEL_NAME, name, LAUNCHES, operator)] += int(count[row])
    return {key: Value(total) for key, total in sums.items()}


def operator_values(part: Part) -> Values:
    """What TraceLens says of a PyTorch trace: how devices spent their time, and which operators
    launched work: how often, and for how long that ran.
    """
    sums: dict[Key, float] = defaultdict(float)
    for window in part.windows:
        if window.profile.trace.format != "kineto":
            continue
        question = Question(part.opened, window.profile.index, window.lo, window.hi)
        times = registry.get("gpu_timeline").answer(question)["gpu_timeline"]
        for row in range(len(times)):
            key = Key(Family.DEVICE_TIME, times["type"].text(row), "s")
            sums[key] += float(times["time ms"].values[row]) / PS_PER_S
        operators = registry.get("ops_summary").answer(question)["ops_summary"]
        for row in range(len(operators)):
            name = operators["name"].text(row)
            own_ps = float(operators["total_direct_kernel_time_sum"].values[row])
            sums[Key(Family.OPERATOR, name, "s")] += own_ps / PS_PER_S
            sums[Key(Family.OPERATOR, name, LAUNCHES)] += int(operators["Count"].values[row])
    return {key: Value(total) for key, total in sums.items()}


def _op_seconds(window: HostWindow) -> dict[Key, float]:
    """Own time by op, without marks of steps, Python frames and ops that wait for others."""
    profile = window.profile
    stats = op_stats.op_stats(profile.trace, *window.bounds)
    is_frame = np.isin(name_classes.name_classes(profile)[stats.name], _FRAMES)
    waits = np.isnan(stats.share)
    seconds: dict[Key, float] = defaultdict(float)
    for row in np.flatnonzero(~waits & ~(is_frame & ~stats.on_device)).tolist():
        name = without_replica(stats.trace.names.display(int(stats.name[row])))
        if profile.steps.is_own_mark(name):
            continue
        where = ON_DEVICE if stats.on_device[row] else ON_HOST
        seconds[Key(Family.OP, name, "s", where)] += int(stats.self_time[row]) / PS_PER_S
    return seconds
