"""The ops that took most time: of the devices, by the framework's op where kernels say which; else of the host's threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from powertui.data import category
from powertui.data.asked import Compat
from powertui.data.model import ProcessKind, Trace
from powertui.data.opened import Profile
from powertui.data.tools import device_ops, event_types, op_stats

SHOWN = 10


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
        sums = list(_on_host(trace, lo, hi))
    whole = max(1, sum(time for _, _, _, time in sums))
    sums.sort(key=lambda one: (-one[3], one[0]))
    return [Top(name, kind, count, time, time / whole, category.of(f"{name}:{kind}" if kind else name).value)
            for name, kind, count, time in sums]  # fmt: skip


def _on_host(trace: Trace, lo: int, hi: int) -> Iterator[tuple[str, str, int, int]]:
    """Without Python's frames and threads that wait."""
    found = op_stats.of(trace, lo, hi)
    rows = found.order("self")[:400]
    for row in rows.tolist():
        op = found[row]
        if not event_types.waits(op.full) and op.self_time > 0:
            name, _, kind = op.full.partition(":") if op.full.endswith(":" + op.type) else (op.name, "", op.type)
            yield name, kind, op.count, op.self_time


def _on_devices(profile: Profile, lo: int, hi: int, compat: Compat) -> Iterator[tuple[str, str, int, int]]:
    """By the framework's op; of its kernels' counts the largest, as TensorBoard has it."""
    sums: dict[str, tuple[str, int, int]] = {}
    for op in device_ops.of(profile, lo, hi, compat).ops:
        name, kind = (op.framework.name, op.framework.type) if op.framework is not None else (op.name, op.category)
        _, count, time = sums.get(name, ("", 0, 0))
        sums[name] = kind, max(count, op.occurrences), time + op.self_time
    for name, (kind, count, time) in sums.items():
        yield name, kind, count, time
