"""The ops that took most time: of the devices, by the framework's op where kernels say which; else of the host's threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from powertui.data import category
from powertui.data.asked import Compat
from powertui.data.model import ProcessKind
from powertui.data.opened import Profile
from powertui.data.tools import device_ops, event_types, host_ops, op_stats

SHOWN = 10
_LOOKED_AT = 400  # names, where nothing says which are ops


class Top(NamedTuple):
    """One op, and its part of all ops' time."""

    name: str
    type: str
    occurrences: int
    self_time: int  # ps
    share: float
    category: str


def of(profile: Profile, lo: int, hi: int, compat: Compat = "corrected") -> list[Top]:
    """All ops of the window by time: of devices where there are some, else of the host."""
    trace = profile.trace
    if any(process.kind is ProcessKind.DEVICE and process.event_count for process in trace.processes):
        sums = list(_on_devices(profile, lo, hi, compat))
    else:
        sums = list(_on_host(profile, lo, hi, compat))
    whole = max(1, sum(time for _, _, _, time in sums))
    sums.sort(key=lambda one: (-one[3], one[0]))
    return [Top(name, kind, count, time, time / whole, category.of(f"{name}:{kind}" if kind else name).value)
            for name, kind, count, time in sums]  # fmt: skip


def _on_host(profile: Profile, lo: int, hi: int, compat: Compat) -> Iterator[tuple[str, str, int, int]]:
    """The framework's ops; of a program that names none, whatever ran but Python's frames and waiting."""
    ops = host_ops.asked(profile, lo, hi, compat)
    named = np.flatnonzero(ops.self_time > 0).tolist()
    for number in named:
        op = ops.table.ops[number]
        yield op.name, op.type, int(ops.occurrences[number]), int(ops.self_time[number])
    if named:
        return
    found = op_stats.of(profile.trace, lo, hi)
    for row in found.order("self")[:_LOOKED_AT].tolist():
        one = found[row]
        if not event_types.waits(one.full) and one.self_time > 0:
            yield one.name, one.type, one.count, one.self_time


def _on_devices(profile: Profile, lo: int, hi: int, compat: Compat) -> Iterator[tuple[str, str, int, int]]:
    """By the framework's op; of its kernels' counts the largest, as TensorBoard has it."""
    sums: dict[str, tuple[str, int, int]] = {}
    for op in device_ops.of(profile, lo, hi, compat).ops:
        name, kind = (op.framework.name, op.framework.type) if op.framework is not None else (op.name, op.category)
        _, count, time = sums.get(name, ("", 0, 0))
        sums[name] = kind, max(count, op.occurrences), time + op.self_time
    for name, (kind, count, time) in sums.items():
        yield name, kind, count, time
