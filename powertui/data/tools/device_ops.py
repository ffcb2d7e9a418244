"""The ops of a trace's devices, from the kernels that they launched: framework_op_stats, hlo_stats
and op_profile stand on them.

A kernel of XLA's belongs to its HLO op, another one to the framework op that its annotation names.
Times are the kernels'; where a line nests (the ops of a TPU), self time is what no op inside
covers. The time between the first and the last event of a device in which no op runs is idle; a
kernel that no op is known of is part of that, as in TensorBoard, and counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from powertui.data import hlo
from powertui.data.asked import Compat
from powertui.data.hlo import Instruction, Module
from powertui.data.model import Int64s, Process, Track, TrackKind
from powertui.data.opened import Profile
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import kernels, op_names, tensor_cores
from powertui.data.tools.kernels import DeviceLine, KernelFacts
from powertui.data.window import touches
from powertui.value_types import dataclass


@dataclass(eq=False)
class DeviceOp:
    """One op on all devices. Times in ps."""

    name: str  # of the HLO op; of others "op/kernel"
    framework: op_names.OpName | None  # the framework's op; None where it is not known
    category: str
    program: str = ""  # label of XLA's program
    program_id: str = ""
    hlo_op: str = ""
    dedup: str = ""
    source: str = ""
    eager: bool = False
    occurrences: int = 0
    total: int = 0
    self_time: int = 0
    kernel_time: int = 0  # of its kernels
    tensor_core_time: int = 0  # of those on tensor cores
    flops: float | None = None  # of all its runs
    bytes: float | None = None
    model_flops: float | None = None
    energy: float | None = None  # J
    stalled: float | None = None  # ps
    text: str = ""  # the HLO text, where the event itself is named so
    instruction: Instruction | None = field(default=None, repr=False)
    events: list[tuple[int, int]] = field(
        default_factory=list, repr=False
    )  # (line, event) of its longest run


@dataclass(frozen=True, eq=False)
class DeviceOps:
    """The ops of all devices, and the time that is no op's (ps)."""

    ops: tuple[DeviceOp, ...]
    idle: int  # with the work that no op is known of
    unnamed: int  # that work
    span: int  # of all devices, from the first to the last event of each
    devices: int

    @property
    def busy(self) -> int:
        """Self time of all ops."""
        return sum(op.self_time for op in self.ops)


def device_ops(
    profile: Profile,
    lo: int,
    hi: int,
    compat: Compat = "corrected",
    check: CancelCheck = unhindered,
) -> DeviceOps:
    """The ops of all devices of a profile in [lo, hi); of an op that the window cuts, the part
    inside.
    """
    work = kernels.device_kernels(profile)
    programs = hlo.modules(profile)
    keys = [_key(facts, programs, compat) for facts in work.facts]
    ops: dict[tuple[str, str], DeviceOp] = {}
    idle = unnamed = span = 0
    devices: dict[int, tuple[Process, list[DeviceLine]]] = {}
    for line in work.lines:
        devices.setdefault(id(line.process), (line.process, []))[1].append(line)
    for process, lines in devices.values():
        bounds = _span(process, lo, hi)
        covered = 0
        for line in lines:
            check()
            rows, length = kernels.inside(line.track, lo, hi)
            if not len(rows):
                continue
            self_time = selfs(line.track, rows, length)
            codes = line.facts[rows]
            order = np.argsort(codes, kind="stable")
            for mine in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
                code = int(codes[mine[0]])
                key, facts_of_kind = keys[code], work.facts[code]
                if key is None:
                    unnamed += int(self_time[mine].sum())
                    continue
                op = ops.get(key)
                if op is None:
                    op = ops[key] = _new(facts_of_kind, key, programs, compat)
                covered += int(self_time[mine].sum())
                longest = int(mine[int(np.argmax(length[mine]))])
                _add(
                    op,
                    facts_of_kind,
                    length[mine],
                    self_time[mine],
                    (line.number, int(rows[longest])),
                    int(length[longest]),
                )
        if bounds is not None:
            span += bounds[1] - bounds[0]
            idle += max(0, bounds[1] - bounds[0] - covered)
    return DeviceOps(tuple(ops.values()), idle, unnamed, span, len(devices))


def merged(parts: Sequence[DeviceOps]) -> DeviceOps:
    """The same of several hosts: an op of one program is one op."""
    if len(parts) == 1:
        return parts[0]
    ops: dict[tuple[str, str], DeviceOp] = {}
    for part in parts:
        for op in part.ops:
            key = (op.program, op.name)
            first = ops.get(key)
            if first is None:
                ops[key] = replace(op, events=[])
                continue
            for name in ("occurrences", "total", "self_time", "kernel_time", "tensor_core_time"):
                setattr(first, name, getattr(first, name) + getattr(op, name))
            for name in ("flops", "bytes", "model_flops", "energy", "stalled"):
                mine, theirs = getattr(first, name), getattr(op, name)
                setattr(
                    first,
                    name,
                    theirs if mine is None else mine if theirs is None else mine + theirs,
                )
            first.eager |= op.eager
    idle, unnamed, span, devices = (
        sum(getattr(part, name) for part in parts)
        for name in ("idle", "unnamed", "span", "devices")
    )
    return DeviceOps(tuple(ops.values()), idle, unnamed, span, devices)


def _span(process: Process, lo: int, hi: int) -> tuple[int, int] | None:
    """From the first to the last event of a device, those of derived lines too."""
    first, last = hi, lo
    for track in process.tracks:
        if track.kind is TrackKind.COUNTER or not len(track.events):
            continue
        start, end = track.events.start, track.events.end
        inside = touches(start, end, lo, hi)
        if inside.any():
            first, last = min(first, int(start[inside].min())), max(last, int(end[inside].max()))
    return (max(first, lo), min(last, hi)) if last >= first else None


def selfs(track: Track, rows: Int64s, length: Int64s) -> Int64s:
    """Self times of some rows of a line: kernels of a stream hide none, ops of a TPU lie in one
    another.
    """
    if track.kind is TrackKind.STREAM or track.lane_count <= 1:
        return length
    self_time = length.copy()
    place = np.full(len(track.events), -1, np.int64)
    place[rows] = np.arange(len(rows))
    for depth in range(1, track.lane_count):
        above, here = track.lane(depth - 1), track.lane(depth)
        holder = np.maximum(above.start.searchsorted(here.start, side="right") - 1, 0) + int(
            track.lanes[depth - 1]
        )
        children = place[int(track.lanes[depth]) : int(track.lanes[depth + 1])]
        there = (children >= 0) & (place[holder] >= 0)
        np.subtract.at(self_time, place[holder[there]], length[children[there]])
    return np.asarray(np.maximum(self_time, 0), np.int64)


def _key(facts: KernelFacts, programs: dict[str, Module], compat: Compat) -> tuple[str, str] | None:
    """What tells an op from another: (program, HLO op), or ("", "op/kernel"); None where no op is
    known.
    """
    if facts.hlo_op and (
        compat == "corrected" or hlo.find(programs, facts.program, facts.hlo_module) is not None
    ):
        return facts.program or facts.hlo_module, facts.hlo_op.rpartition("::")[2]
    if facts.category:  # an op of a TPU
        return facts.program or facts.hlo_module, facts.short or facts.name
    op = framework_op(facts, compat)
    return ("", f"{op.name}/{facts.name}") if op is not None else None


def framework_op(facts: KernelFacts, compat: Compat) -> op_names.OpName | None:
    """The framework op that a kernel belongs to.

    Today's converter does not know the name under which old files tell it.
    """
    if facts.operator:
        return op_names.torch(facts.operator) if compat == "corrected" else None
    path = facts.tf_op or ("" if compat == "xprof" else facts.level)
    return op_names.parsed(path, compat) if path else None


def _new(
    facts: KernelFacts, key: tuple[str, str], programs: dict[str, Module], compat: Compat
) -> DeviceOp:
    module = hlo.find(programs, facts.program, facts.hlo_module)
    if not (facts.hlo_op or facts.category) or (
        facts.hlo_op and module is None and compat != "corrected"
    ):
        op = framework_op(facts, compat)
        assert op is not None  # else there would be no key
        return DeviceOp(key[1], op, op.type, eager=facts.eager)
    instruction = module.instructions.get(key[1]) if module is not None else None
    label = (
        module.label
        if module is not None
        else f"{facts.hlo_module}({facts.program})"
        if facts.program
        else facts.hlo_module
    )
    provenance = (
        (instruction.provenance if instruction is not None else "")
        or facts.provenance
        or (facts.tf_op if facts.category else "")
    )
    category = (
        facts.category
        or (instruction.category if instruction is not None else "")
        or op_names.hlo(key[1]).type
    )
    op = op_names.of_hlo(provenance, compat) if provenance else None
    return DeviceOp(
        name=key[1],
        framework=op,
        category=category,
        program=label,
        program_id=facts.program,
        hlo_op=key[1],
        dedup=facts.dedup,
        source=facts.source or (instruction.source if instruction is not None else ""),
        eager=facts.eager,
        instruction=instruction,
        text=facts.name if facts.name.startswith("%") else "",
    )


def _add(
    op: DeviceOp,
    facts: KernelFacts,
    length: Int64s,
    self_time: Int64s,
    event: tuple[int, int],
    longest: int,
) -> None:
    count, total = len(length), int(length.sum())
    op.occurrences += count
    op.total += total
    op.self_time += int(self_time.sum())
    op.eager |= facts.eager
    op.kernel_time += total
    if tensor_cores.used(facts.name):
        op.tensor_core_time += total
    if facts.flops is not None:
        op.flops = (op.flops or 0.0) + facts.flops * count
    if facts.bytes is not None:
        op.bytes = (op.bytes or 0.0) + facts.bytes * count
    if facts.model_flops is not None:
        op.model_flops = (op.model_flops or 0.0) + facts.model_flops * count
    if facts.energy is not None:
        op.energy = (op.energy or 0.0) + facts.energy * count
    if facts.stalled is not None:
        op.stalled = (op.stalled or 0.0) + facts.stalled * count
    if not op.events or longest > op.events[0][1]:
        op.events = [event, (longest, longest)]
