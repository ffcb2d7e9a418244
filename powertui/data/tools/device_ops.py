"""The ops of a trace's devices, from the kernels that they launched: framework_op_stats, hlo_stats
and op_profile stand on them.

A kernel of XLA's belongs to its HLO op, another one to the framework op that its annotation names.
Times are the kernels'; where a line nests (the ops of a TPU), self time is what no op inside
covers. The time between the first and the last event of a device in which no op runs is idle; a
kernel that no op is known of is part of that, as in TensorBoard, and counted apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

import numpy as np

from powertui.data import hlo
from powertui.data.asked import Compat
from powertui.data.hlo import Instruction, Module
from powertui.data.model import Int64s, Process, Track, TrackKind
from powertui.data.opened import Profile
from powertui.data.sorted_columns import last_begun, rows_of_each
from powertui.data.texts import CancelCheck, unhindered
from powertui.data.tools import kernels, op_names, tensor_cores
from powertui.data.tools.kernels import DeviceLine, KernelFacts
from powertui.data.window import touches
from powertui.named_tuples import NamedTuple
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
    runs: int = 0  # of the op itself: one may launch several kernels, which `occurrences` counts
    total: int = 0
    self_time: int = 0
    kernel_time: int = 0  # of its kernels
    tensor_core_time: int = 0  # of those on tensor cores
    flops: float | None = None  # of all its runs
    bytes: float | None = None
    hbm_bytes: float | None = None  # those of the devices' memory, where that is not all of them
    model_flops: float | None = None
    energy: float | None = None  # J
    stalled: float | None = None  # ps
    cost_basis: str = ""  # whence FLOPs and bytes are known: "profile", "program"
    why_no_cost: str = ""  # what of them is not known, and why
    text: str = ""  # the HLO text, where the event itself is named so
    instruction: Instruction | None = field(default=None, repr=False)
    events: list[tuple[int, int]] = field(
        default_factory=list,
        repr=False,
    )  # (line, event) of its longest run

    @property
    def expression(self) -> str:
        """Its HLO text, as far as the profile keeps it."""
        return self.text or (self.instruction.expression if self.instruction is not None else "")

    @property
    def provenance(self) -> str:
        """The framework's op that it came of, with its type where it has one."""
        if self.framework is None:
            return ""
        if not self.framework.form:
            return self.framework.name
        return f"{self.framework.name}:{self.framework.type}"


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
    lines_by_device: dict[int, list[DeviceLine]] = {}
    for line in work.lines:
        lines_by_device.setdefault(id(line.process), []).append(line)
    for lines in lines_by_device.values():
        # Idle is what no named op covers: the converters do not tell unnamed work from it.
        named_ps = 0
        for line in lines:
            check()
            for code, runs in _runs_by_kind(line, lo, hi):
                self_ps = int(runs.self_time.sum())
                key = keys[code]
                facts = work.facts[code]
                if key is None:
                    unnamed += self_ps
                    continue
                if key not in ops:
                    ops[key] = _new(facts, key, programs, compat)
                named_ps += self_ps
                _add(ops[key], facts, runs, line.number)
            for key, count in _executions(line, keys, lo, hi).items():
                ops[key].runs += count
        bounds = _span(lines[0].process, lo, hi)
        if bounds is not None:
            device_ps = bounds[1] - bounds[0]
            span += device_ps
            idle += max(0, device_ps - named_ps)
    if compat == "xprof":  # to which every kernel is a run of its op
        for op in ops.values():
            op.runs = op.occurrences
    if ops:
        from powertui.data.tools.op_costs import fill_costs  # not where nothing ran on a device

        fill_costs(profile, ops.values(), compat)
    return DeviceOps(
        ops=tuple(ops.values()),
        idle=idle,
        unnamed=unnamed,
        span=span,
        devices=len(lines_by_device),
    )


class _Runs(NamedTuple):
    """Runs of kernels that the collector says the same of. Times in ps."""

    row: Int64s  # of the line's events
    length: Int64s
    self_time: Int64s


def _runs_by_kind(line: DeviceLine, lo: int, hi: int) -> Iterator[tuple[int, _Runs]]:
    """(index into the facts of kernels, the runs in [lo, hi)) of each kind on a line."""
    rows, length = kernels.inside(line.track, lo, hi)
    if not len(rows):
        return
    self_time = selfs(line.track, rows, length)
    codes = line.facts[rows]
    for chosen in rows_of_each(codes):
        code = int(codes[chosen[0]])
        runs = _Runs(
            row=rows[chosen],
            length=length[chosen],
            self_time=self_time[chosen],
        )
        yield code, runs


_Key = tuple[str, str]


def _executions(line: DeviceLine, keys: Sequence[_Key | None], lo: int, hi: int) -> dict[_Key, int]:
    """How often each op ran on a line.

    Kernels of one op that follow each other are one run of it: a convolution unfolds its input and
    multiplies. Runs of one op that follow each other are as many as its most frequent kernel.
    """
    rows, _ = kernels.inside(line.track, lo, hi)
    codes = line.facts[rows]
    kinds, kernel_counts = np.unique(codes, return_counts=True)
    numbers: dict[_Key, int] = {}
    number_of_code = np.full(len(keys), -1, np.int64)
    counts: dict[_Key, int] = {}
    for code, count in zip(kinds.tolist(), kernel_counts.tolist(), strict=True):
        key = keys[code]
        if key is not None:
            number_of_code[code] = numbers.setdefault(key, len(numbers))
            counts[key] = max(counts.get(key, 0), count)
    sequence = number_of_code[codes]
    is_other_op = np.diff(sequence, prepend=-2) != 0
    first = sequence[is_other_op]
    stretches = np.bincount(first[first >= 0], minlength=len(numbers))
    executions = {}
    for key, number in numbers.items():
        stretch_count = int(stretches[number])
        executions[key] = max(counts[key], stretch_count)
    return executions


def merged(parts: Sequence[DeviceOps]) -> DeviceOps:
    """The same of several hosts: an op of one program is one op."""
    if len(parts) == 1:
        return parts[0]
    ops: dict[tuple[str, str], DeviceOp] = {}
    for part in parts:
        for op in part.ops:
            # Hosts of one training run the same program under the same label.
            key = (op.program, op.name)
            if key in ops:
                _merge(ops[key], op)
            else:
                ops[key] = replace(op, events=[])
    return DeviceOps(
        ops=tuple(ops.values()),
        idle=sum(part.idle for part in parts),
        unnamed=sum(part.unnamed for part in parts),
        span=sum(part.span for part in parts),
        devices=sum(part.devices for part in parts),
    )


def _merge(op: DeviceOp, further: DeviceOp) -> None:
    """Add another host's figures of an op."""
    op.occurrences += further.occurrences
    op.runs += further.runs
    op.total += further.total
    op.self_time += further.self_time
    op.kernel_time += further.kernel_time
    op.tensor_core_time += further.tensor_core_time
    op.eager |= further.eager
    op.flops = added(op.flops, further.flops)
    op.bytes = added(op.bytes, further.bytes)
    op.hbm_bytes = added(op.hbm_bytes, further.hbm_bytes)
    op.model_flops = added(op.model_flops, further.model_flops)
    op.energy = added(op.energy, further.energy)
    op.stalled = added(op.stalled, further.stalled)


def added(cost: float | None, further: float | None) -> float | None:
    """The sum of two costs; the other one where only one is known."""
    if cost is None or further is None:
        return further if cost is None else cost
    return cost + further


def _span(process: Process, lo: int, hi: int) -> tuple[int, int] | None:
    """From the first to the last event of a device, those of derived lines too."""
    first = hi
    last = lo
    for track in process.tracks:
        if track.kind is TrackKind.COUNTER or not len(track.events):
            continue
        start = track.events.start
        end = track.events.end
        inside = touches(start, end, lo, hi)
        if inside.any():
            first_start = int(start[inside].min())
            last_end = int(end[inside].max())
            first = min(first, first_start)
            last = max(last, last_end)
    if last < first:
        return None
    return max(first, lo), min(last, hi)


def selfs(track: Track, rows: Int64s, length: Int64s) -> Int64s:
    """Self times of some rows of a line: kernels of a stream hide none, ops of a TPU lie in one
    another.
    """
    if track.kind is TrackKind.STREAM or track.lane_count <= 1:
        return length
    self_time = length.copy()
    # Where each event of the line stands among the rows; -1 for one that is not asked.
    place = np.full(len(track.events), -1, np.int64)
    place[rows] = np.arange(len(rows))
    for depth in range(1, track.lane_count):
        outer = track.lane(depth - 1)
        inner = track.lane(depth)
        _, outer_row = last_begun(outer.start, inner.start)
        rows_of_outer = track.rows_of_lane(depth - 1)
        holder = place[rows_of_outer.start + outer_row]
        child = place[track.rows_of_lane(depth)]
        both = (child >= 0) & (holder >= 0)
        inner_length = length[child[both]]
        np.subtract.at(self_time, holder[both], inner_length)
    return np.asarray(np.maximum(self_time, 0), np.int64)


def _key(facts: KernelFacts, programs: dict[str, Module], compat: Compat) -> tuple[str, str] | None:
    """What tells an op from another: (program, HLO op), or ("", "op/kernel"); None where no op is
    known.
    """
    program = facts.program or facts.hlo_module
    module = hlo.find(programs, facts.program, facts.hlo_module)
    if _is_hlo_op(facts, module, compat):
        return program, facts.hlo_op.rpartition("::")[2]
    # An op of a TPU without an `hlo_op` stat is told apart by its display name.
    if facts.category:  # an op of a TPU
        return program, facts.short or facts.name
    op = framework_op(facts, compat)
    if op is None:
        return None
    return "", f"{op.name}/{facts.name}"


def _is_hlo_op(facts: KernelFacts, module: Module | None, compat: Compat) -> bool:
    """Whether a kernel counts for its HLO op: to the converters only with its program at hand."""
    return bool(facts.hlo_op) and (compat == "corrected" or module is not None)


def framework_op(facts: KernelFacts, compat: Compat) -> op_names.OpName | None:
    """The framework op that a kernel belongs to.

    Today's converter does not know the name under which old files tell it (`level 0`).
    """
    if facts.operator:
        if compat == "corrected":
            return op_names.torch(facts.operator)
        return None
    path = facts.tf_op
    if not path and compat != "xprof":
        path = facts.level
    return op_names.parsed(path, compat) if path else None


def _new(
    facts: KernelFacts,
    key: tuple[str, str],
    programs: dict[str, Module],
    compat: Compat,
) -> DeviceOp:
    """An op without occurrences yet: what its kernel and its program say of it."""
    module = hlo.find(programs, facts.program, facts.hlo_module)
    _, name = key
    is_hlo_op = _is_hlo_op(facts, module, compat)
    is_tpu_op = bool(facts.category) and not facts.hlo_op
    if not is_hlo_op and not is_tpu_op:
        op = framework_op(facts, compat)
        assert op is not None  # else there would be no key
        return DeviceOp(
            name=name,
            framework=op,
            category=op.type,
            eager=facts.eager,
        )
    label = _program_label(facts)
    instruction: Instruction | None = None
    if module is not None:
        label = module.label
        instruction = module.instructions.get(name)
    category = facts.category
    source = facts.source
    provenance = facts.provenance
    if instruction is not None:
        category = category or instruction.category
        source = source or instruction.source
        provenance = instruction.provenance or provenance
    if not provenance and facts.category:  # a TPU's op bears the framework's name itself
        provenance = facts.tf_op
    return DeviceOp(
        name=name,
        framework=op_names.of_hlo(provenance, compat) if provenance else None,
        category=category or op_names.hlo(name).type,
        program=label,
        program_id=facts.program,
        hlo_op=name,
        dedup=facts.dedup,
        source=source,
        eager=facts.eager,
        instruction=instruction,
        text=facts.name if facts.name.startswith("%") else "",
    )


def _program_label(facts: KernelFacts) -> str:
    if facts.program:
        return f"{facts.hlo_module}({facts.program})"
    return facts.hlo_module


def _add(op: DeviceOp, facts: KernelFacts, runs: _Runs, line: int) -> None:
    """Count these runs of a kernel for an op; what each costs, the collector says once."""
    count = len(runs.row)
    total = int(runs.length.sum())
    op.occurrences += count
    op.total += total
    op.self_time += int(runs.self_time.sum())
    op.eager |= facts.eager
    op.kernel_time += total
    # The part of an op's kernels on tensor cores is a column of its own.
    if tensor_cores.used(facts.name):
        op.tensor_core_time += total
    op.flops = _plus(op.flops, facts.flops, count)
    op.bytes = _plus(op.bytes, facts.bytes, count)
    op.model_flops = _plus(op.model_flops, facts.model_flops, count)
    op.energy = _plus(op.energy, facts.energy, count)
    op.stalled = _plus(op.stalled, facts.stalled, count)
    longest = int(np.argmax(runs.length))
    longest_ps = int(runs.length[longest])
    if not op.events or longest_ps > op.events[0][1]:
        row = int(runs.row[longest])
        op.events = [(line, row), (longest_ps, longest_ps)]


def _plus(cost: float | None, cost_of_run: float | None, runs: int) -> float | None:
    if cost_of_run is None:
        return cost
    return (cost or 0.0) + cost_of_run * runs
