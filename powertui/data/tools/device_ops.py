"""The ops of a trace's devices, from the kernels that they launched: framework_op_stats, hlo_stats
and op_profile stand on them.

A kernel of XLA's belongs to its HLO op, another one to the framework op that its annotation names.
Times are the kernels'; where a line nests (the ops of a TPU), self time is what no op inside
covers. The time between the first and the last event of a device in which no op runs is idle; a
kernel that no op is known of is part of that, as in TensorBoard, and counted apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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
    keys = [_key(one, programs, compat) for one in work.facts]
    found: dict[tuple[str, str], DeviceOp] = {}
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
            own = selfs(line.track, rows, length)
            codes = line.facts[rows]
            order = np.argsort(codes, kind="stable")
            for mine in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
                code = int(codes[mine[0]])
                key, said = keys[code], work.facts[code]
                if key is None:
                    unnamed += int(own[mine].sum())
                    continue
                op = found.get(key)
                if op is None:
                    op = found[key] = _new(said, key, programs, compat)
                covered += int(own[mine].sum())
                longest = int(mine[int(np.argmax(length[mine]))])
                _add(
                    op,
                    said,
                    length[mine],
                    own[mine],
                    (line.number, int(rows[longest])),
                    int(length[longest]),
                )
        if bounds is not None:
            span += bounds[1] - bounds[0]
            idle += max(0, bounds[1] - bounds[0] - covered)
    return DeviceOps(tuple(found.values()), idle, unnamed, span, len(devices))


def merged(parts: Sequence[DeviceOps]) -> DeviceOps:
    """The same of several hosts: an op of one program is one op."""
    if len(parts) == 1:
        return parts[0]
    found: dict[tuple[str, str], DeviceOp] = {}
    for part in parts:
        for op in part.ops:
            key = (op.program, op.name)
            known = found.get(key)
            if known is None:
                found[key] = replace(op, events=[])
                continue
            for name in ("occurrences", "total", "self_time", "kernel_time", "tensor_core_time"):
                setattr(known, name, getattr(known, name) + getattr(op, name))
            for name in ("flops", "bytes", "model_flops", "energy", "stalled"):
                mine, other = getattr(known, name), getattr(op, name)
                setattr(
                    known, name, other if mine is None else mine if other is None else mine + other
                )
            known.eager |= op.eager
    idle, unnamed, span, devices = (
        sum(getattr(part, name) for part in parts)
        for name in ("idle", "unnamed", "span", "devices")
    )
    return DeviceOps(tuple(found.values()), idle, unnamed, span, devices)


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
    own = length.copy()
    place = np.full(len(track.events), -1, np.int64)
    place[rows] = np.arange(len(rows))
    for depth in range(1, track.lane_count):
        above, here = track.lane(depth - 1), track.lane(depth)
        holder = np.maximum(above.start.searchsorted(here.start, side="right") - 1, 0) + int(
            track.lanes[depth - 1]
        )
        children = place[int(track.lanes[depth]) : int(track.lanes[depth + 1])]
        there = (children >= 0) & (place[holder] >= 0)
        np.subtract.at(own, place[holder[there]], length[children[there]])
    return np.asarray(np.maximum(own, 0), np.int64)


def _key(said: KernelFacts, programs: dict[str, Module], compat: Compat) -> tuple[str, str] | None:
    """What tells an op from another: (program, HLO op), or ("", "op/kernel"); None where no op is
    known.
    """
    if said.hlo_op and (
        compat == "corrected" or hlo.find(programs, said.program, said.hlo_module) is not None
    ):
        return said.program or said.hlo_module, said.hlo_op.rpartition("::")[2]
    if said.category:  # an op of a TPU
        return said.program or said.hlo_module, said.short or said.name
    op = framework_op(said, compat)
    return ("", f"{op.name}/{said.name}") if op is not None else None


def framework_op(said: KernelFacts, compat: Compat) -> op_names.OpName | None:
    """The framework op that a kernel belongs to.

    Today's converter does not know the name under which old files tell it.
    """
    if said.operator:
        return op_names.torch(said.operator) if compat == "corrected" else None
    told = said.tf_op or ("" if compat == "xprof" else said.level)
    return op_names.parsed(told, compat) if told else None


def _new(
    said: KernelFacts, key: tuple[str, str], programs: dict[str, Module], compat: Compat
) -> DeviceOp:
    module = hlo.find(programs, said.program, said.hlo_module)
    if not (said.hlo_op or said.category) or (
        said.hlo_op and module is None and compat != "corrected"
    ):
        op = framework_op(said, compat)
        assert op is not None  # else there would be no key
        return DeviceOp(key[1], op, op.type, eager=said.eager)
    known = module.instructions.get(key[1]) if module is not None else None
    label = (
        module.label
        if module is not None
        else f"{said.hlo_module}({said.program})"
        if said.program
        else said.hlo_module
    )
    provenance = (
        (known.provenance if known is not None else "")
        or said.provenance
        or (said.tf_op if said.category else "")
    )
    category = (
        said.category or (known.category if known is not None else "") or op_names.hlo(key[1]).type
    )
    op = op_names.of_hlo(provenance, compat) if provenance else None
    return DeviceOp(
        name=key[1],
        framework=op,
        category=category,
        program=label,
        program_id=said.program,
        hlo_op=key[1],
        dedup=said.dedup,
        source=said.source or (known.source if known is not None else ""),
        eager=said.eager,
        instruction=known,
        text=said.name if said.name.startswith("%") else "",
    )


def _add(
    op: DeviceOp,
    said: KernelFacts,
    length: Int64s,
    own: Int64s,
    event: tuple[int, int],
    longest: int,
) -> None:
    count, total = len(length), int(length.sum())
    op.occurrences += count
    op.total += total
    op.self_time += int(own.sum())
    op.eager |= said.eager
    op.kernel_time += total
    if tensor_cores.used(said.name):
        op.tensor_core_time += total
    if said.flops is not None:
        op.flops = (op.flops or 0.0) + said.flops * count
    if said.bytes is not None:
        op.bytes = (op.bytes or 0.0) + said.bytes * count
    if said.model_flops is not None:
        op.model_flops = (op.model_flops or 0.0) + said.model_flops * count
    if said.energy is not None:
        op.energy = (op.energy or 0.0) + said.energy * count
    if said.stalled is not None:
        op.stalled = (op.stalled or 0.0) + said.stalled * count
    if not op.events or longest > op.events[0][1]:
        op.events = [event, (longest, longest)]
