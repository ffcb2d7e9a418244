"""Ops by their own time, on devices and on the host."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from powertui.data.compare.figure import Family
from powertui.data.compare.op_identity import joined, op_identities
from powertui.data.compare.part import ComparedPart, HostWindow
from powertui.data.compare.step_blocks import (
    StepBlock,
    called_in_each,
    in_all_pieces,
    run_pieces,
    step_blocks,
)
from powertui.data.compare.values import ComparedValue, OpIdentity, ValueKey, Values
from powertui.data.model import PS_PER_S, Int64s
from powertui.data.tools import name_classes, op_stats
from powertui.data.tools.name_classes import NameClass
from powertui.data.tools.op_stats import OpStats
from powertui.data.tools.replicas import without_replica

ON_DEVICE = "device"
ON_HOST = "host"
# Of these a thread of the host only waits: what it waits for runs on other threads, and is counted
# there. XLA's executor waited for 93 ms while the sort that it waited for ran for 64.
# XLA also marks where an op ends, and that takes no time of its own.
_NO_WORK = re.compile(r"^ThunkExecutor::Execute \(wait|ThreadPool::Await$|^end: ")
_FRAMES = (NameClass.FRAME, NameClass.WAITING_FRAME, NameClass.PROFILER)


def op_values(part: ComparedPart) -> Values:
    """The own time of each op for each step, of all hosts together."""
    ops: dict[ValueKey, _Op] = defaultdict(_Op)
    for window in part.windows:
        _add_ops(ops, window)
    steps = max((len(window.rows) for window in part.windows), default=0)
    blocks = called_in_each([_own_seconds(block) for block in step_blocks(part)])
    pieces = run_pieces(part)
    course, piece_steps = in_all_pieces(pieces, [_own_seconds(piece) for piece in pieces])
    values: Values = {}
    for key, op in ops.items():
        if op.identities:
            identity = joined(sorted(op.identities))
        else:
            identity = None
        values[key] = ComparedValue(
            value=op.own_s / max(1, steps),
            blocks=blocks.get(key, ()),
            series=course.get(key),
            identity=identity,
            steps_per_value=piece_steps,
        )
    return values


def _own_seconds(block: StepBlock) -> dict[ValueKey, float]:
    """The own time of each op for each step of a block."""
    seconds: dict[ValueKey, float] = defaultdict(float)
    for window, bounds in zip(block.windows, block.bounds, strict=True):
        stats = op_stats.op_stats(window.profile.trace, *bounds)
        for row, key in _keys_of_ops(window, stats, _rows_of_ops(window, stats)):
            self_s = int(stats.self_time[row]) / PS_PER_S
            seconds[key] += self_s / block.steps
    return seconds


@dataclass
class _Op:
    """An op of one name, on all lines and hosts."""

    own_s: float = 0.0
    identities: set[OpIdentity] = field(default_factory=set)


def _add_ops(ops: dict[ValueKey, _Op], window: HostWindow) -> None:
    stats = op_stats.op_stats(window.profile.trace, *window.bounds)
    rows = _rows_of_ops(window, stats)
    identities = op_identities(window, stats, rows)
    for row, key in _keys_of_ops(window, stats, rows):
        op = ops[key]
        op.own_s += int(stats.self_time[row]) / PS_PER_S
        if row in identities:
            op.identities.add(identities[row])


def _keys_of_ops(
    window: HostWindow,
    stats: OpStats,
    rows: Int64s,
) -> Iterator[tuple[int, ValueKey]]:
    """The rows that are compared, each with the op it belongs to."""
    for row in rows.tolist():
        display = stats.trace.names.display(int(stats.name[row]))
        name = without_replica(display)
        # The mark of a step is as long as the step, and no op.
        if window.profile.steps.is_own_mark(name):
            continue
        where = ON_DEVICE if stats.on_device[row] else ON_HOST
        if where == ON_DEVICE or not _NO_WORK.search(name):
            key = ValueKey(
                family=Family.OP,
                name=name,
                unit="s",
                within=where,
            )
            yield row, key


def _rows_of_ops(window: HostWindow, stats: OpStats) -> Int64s:
    """Not Python frames, which hold ops, nor what waits for ops of other threads."""
    classes = name_classes.name_classes(window.profile)[stats.name]
    is_frame = np.isin(classes, _FRAMES) & ~stats.on_device
    is_waiting = np.isnan(stats.share)
    return np.flatnonzero(~is_frame & ~is_waiting)
