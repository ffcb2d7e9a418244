"""The memory of one program of XLA over its points, as its buffer assignment plans it.

XLA decides before a run which memory each value gets: buffers that live for the whole program
(parameters, results, constants), and temporary ones, whose allocations and frees the profile keeps
in program order. This replays them with sizes as TensorBoard's `memory_viewer` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from powertui.data import hlo
from powertui.data.hlo import Instruction, Module
from powertui.value_types import dataclass

_ALLOC, _FREE, _SHARE = 0, 1, 2  # xla::HeapSimulatorTrace::Event::Kind
_POINTER_BYTES = 8  # what a value in a tuple takes of it


@dataclass(frozen=True)
class Buffer:
    """One value in memory."""

    id: int
    name: str  # its op, with the place in a tuple: "fusion.3{0}"
    op: Instruction | None
    shape: str
    size: int  # bytes that it takes, with its padding
    unpadded: int  # bytes of its values alone
    kind: str  # "Parameter", "Output", "Thread-local", "Constant", "Temporary"
    allocation: int  # number of the allocation that holds it
    offset: int  # in that allocation
    first: int | None = None  # points of the program; None: it lives from the first to the last
    last: int | None = None


@dataclass(frozen=True, eq=False)
class ProgramMemory:
    """The memory of one program in one memory space. Sizes in bytes."""

    module: Module
    space: int
    points: tuple[str, ...]  # the op at each point; after the last one ""
    heap: tuple[int, ...]  # before each point
    unpadded: tuple[int, ...]
    peak: int
    peak_unpadded: int
    peak_point: int  # the point that reaches it
    at_peak: tuple[Buffer, ...]  # those of the whole program first, then as they were allocated
    buffers: tuple[Buffer, ...]  # all of this space
    allocated: int  # of all allocations together
    lasting: int  # of those that live for the whole program
    parameters: int
    outputs: int
    fixed: int  # of allocations that no other value may use later


@dataclass
class _Allocation:
    proto: Any
    kind: str

    @property
    def is_lasting(self) -> bool:
        """Whether it lives for the whole program. Each thread's own memory is not counted."""
        return self.kind not in ("Temporary", "Thread-local")


def spaces(module: Module) -> tuple[int, ...]:
    """The memory spaces that a program has buffers in, ascending: 0 is the device's main memory."""
    if module.buffers is None:
        return ()
    return tuple(sorted({allocation.color for allocation in module.buffers.buffer_allocations}))


def program_memory(module: Module, space: int = 0) -> ProgramMemory | None:
    """The memory of a program over its points; None where the profile does not keep the plan."""
    if module.buffers is None or not module.buffers.buffer_allocations:
        return None
    plan = _Plan(module, space)
    events = list(plan.events)
    replay = _replayed(plan.buffers, events)
    # What is alive at the peak comes of a second replay: copies at each new peak would cost the
    # square of the number of buffers.
    at_peak = _replayed(plan.buffers, events[: replay.peak_point + 1] if replay.peak else [])
    lasting_buffers = list(plan.lasting_buffers)
    lasting = sum(allocation.proto.size for allocation in plan.allocations if allocation.is_lasting)
    replay.end()
    named = [replay.lived(buffer) for buffer in plan.buffers.values()]
    by_id = {buffer.id: buffer for buffer in named}
    allocations = [allocation.proto for allocation in plan.allocations]
    return ProgramMemory(
        module=module,
        space=space,
        points=tuple(replay.points),
        heap=tuple(size + lasting for size in replay.heap),
        unpadded=tuple(size + lasting for size in replay.unpadded),
        peak=replay.peak + lasting,
        peak_unpadded=replay.peak_unpadded + lasting,
        peak_point=replay.peak_point,
        at_peak=tuple(by_id[id] for id in (*lasting_buffers, *at_peak.live)),
        buffers=tuple(named),
        allocated=_sum(proto for proto in allocations if not proto.is_thread_local),
        lasting=lasting,
        parameters=_sum(proto for proto in allocations if proto.is_entry_computation_parameter),
        outputs=_sum(proto for proto in allocations if proto.maybe_live_out),
        fixed=_sum(proto for proto in allocations if proto.is_thread_local or proto.is_tuple),
    )


def _sum(allocations: Iterable[Any]) -> int:
    return sum(allocation.size for allocation in allocations)


class _Plan:
    """The buffer assignment of a program in one memory space."""

    def __init__(self, module: Module, space: int) -> None:
        self._module = module
        self._proto = module.buffers
        self.allocations = [
            _Allocation(proto, _kind(proto))
            for proto in self._proto.buffer_allocations
            if proto.color == space
        ]

    @cached_property
    def buffers(self) -> dict[int, Buffer]:
        """The values in these allocations, by their number."""
        logical = {buffer.id: buffer for buffer in self._proto.logical_buffers}
        ops = {
            op.id: op
            for computation in self._module.proto.computations
            for op in computation.instructions
        }
        names = {op.name: op for op in ops.values()}
        out = {}
        for allocation in self.allocations:
            for assigned in allocation.proto.assigned:
                proto = logical.get(assigned.logical_buffer_id)
                if proto is None:
                    continue
                where = proto.defined_at
                op = ops.get(where.instruction_id) or names.get(where.instruction_name)
                out[proto.id] = self._buffer(proto, op, allocation, assigned.offset)
        return out

    def _buffer(self, proto: Any, op: Any, allocation: _Allocation, offset: int) -> Buffer:
        place = list(proto.defined_at.shape_index)
        name = op.name if op is not None else proto.defined_at.instruction_name
        if place:
            name += "{" + ",".join(map(str, place)) + "}"
        shape = _part(op.shape, place) if op is not None else None
        text = ""
        unpadded = proto.size
        if shape is not None:
            text, _, _ = hlo.shape_sizes(shape)
            unpadded = _unpadded(shape, proto.size)
        return Buffer(
            id=proto.id,
            name=name,
            op=self._module.instructions.get(op.name) if op is not None else None,
            shape=text,
            size=proto.size,
            unpadded=unpadded,
            kind=allocation.kind,
            allocation=allocation.proto.index,
            offset=offset,
        )

    @property
    def lasting_buffers(self) -> Iterator[int]:
        """Of each allocation that lives for the whole program its largest value."""
        for allocation in self.allocations:
            if not allocation.is_lasting:
                continue
            largest: Buffer | None = None
            for assigned in allocation.proto.assigned:
                buffer = self.buffers.get(assigned.logical_buffer_id)
                if buffer is not None and buffer.size > (largest.size if largest else 0):
                    largest = buffer
            if largest is not None:
                yield largest.id

    @property
    def events(self) -> Iterable[Any]:
        """What is allocated and freed, in program order."""
        traces = self._proto.heap_simulator_traces
        indexes = {allocation.proto.index for allocation in self.allocations}
        # Older programs leave the number of the allocation out: then the trace that has most of
        # this space's buffers is taken.
        for trace in traces:
            if trace.buffer_allocation_index and trace.buffer_allocation_index in indexes:
                return list(trace.events)
        counts = [
            sum(event.buffer_id in self.buffers for event in trace.events) for trace in traces
        ]
        if not counts or not max(counts):
            return ()
        return list(traces[counts.index(max(counts))].events)


class _Replay:
    """Allocations and frees, replayed with sizes. Buffers that share memory are counted once."""

    def __init__(self, buffers: dict[int, Buffer]) -> None:
        self._buffers = buffers
        self._owner: dict[int, int] = {}  # whose memory a buffer shares
        self._heirs: set[int] = set()  # buffers that took over memory that had been freed
        self._users: dict[int, int] = {}
        self._lives: dict[int, tuple[int, int | None]] = {}
        self._live: dict[int, None] = {}  # in the order of allocation
        self.points: list[str] = []
        self.heap: list[int] = []
        self.unpadded: list[int] = []
        self.bytes = self.unpadded_bytes = 0
        self.peak = self.peak_unpadded = self.peak_point = 0

    def add(self, event: Any) -> None:
        """The next event of the trace: one point of the program."""
        self.heap.append(self.bytes)
        self.unpadded.append(self.unpadded_bytes)
        self.points.append(event.instruction_name)
        id = event.buffer_id
        buffer = self._buffers.get(id)
        if buffer is None:
            return
        self.points[-1] = event.instruction_name or buffer.name
        if event.kind == _ALLOC:
            self._lives[id] = (len(self.points) - 1, None)
            self._use(id)
        elif event.kind == _SHARE and event.share_with_canonical_id in self._buffers:
            self._share(id, self._holder(event.share_with_canonical_id))
        elif event.kind == _FREE:
            if id in self._heirs:  # its memory may go on to live under another name
                self._ends(id)
            self._leave(self._holder(id))

    @property
    def live(self) -> tuple[int, ...]:
        """Buffers that are in memory now, in the order of allocation."""
        return tuple(self._live)

    def end(self) -> None:
        """After the last point: what remains."""
        if self.points:
            self.heap.append(self.bytes)
            self.unpadded.append(self.unpadded_bytes)
            self.points.append("")

    def lived(self, buffer: Buffer) -> Buffer:
        """The buffer with the points between which it lives."""
        if buffer.id not in self._lives:
            return buffer
        first, last = self._lives[buffer.id]
        return replace(buffer, first=first, last=len(self.points) - 2 if last is None else last)

    def _share(self, id: int, holder: int) -> None:
        """A buffer that uses the memory of another one."""
        self._owner.pop(id, None)
        if holder in self._live:
            if holder != id:
                self._owner[id] = holder
        else:  # freed before: from here on the memory is this buffer's
            self._heirs.add(id)
            self._lives[id] = (len(self.points) - 1, None)
            if holder != id:
                self._owner[holder] = id
        self._use(self._holder(id))

    def _holder(self, id: int) -> int:
        """The buffer that stands for the memory that this one uses."""
        while id in self._owner:
            id = self._owner[id]
        return id

    def _use(self, id: int) -> None:
        self._users[id] = self._users.get(id, 0) + 1
        if self._users[id] > 1 or id in self._live:
            return
        self._live[id] = None
        self.bytes += self._buffers[id].size
        self.unpadded_bytes += self._buffers[id].unpadded
        if self.bytes > self.peak:
            self.peak = self.bytes
            self.peak_unpadded = self.unpadded_bytes
            self.peak_point = len(self.points) - 1

    def _leave(self, id: int) -> None:
        self._users[id] = self._users.get(id, 0) - 1
        if self._users[id] > 0 or id not in self._live:
            return
        del self._live[id]
        self.bytes -= self._buffers[id].size
        self.unpadded_bytes -= self._buffers[id].unpadded
        if id not in self._heirs:
            self._ends(id)

    def _ends(self, id: int) -> None:
        if id in self._lives:
            self._lives[id] = (self._lives[id][0], len(self.points) - 1)


def _replayed(buffers: dict[int, Buffer], events: Iterable[Any]) -> _Replay:
    replay = _Replay(buffers)
    for event in events:
        replay.add(event)
    return replay


def _kind(allocation: Any) -> str:
    """What an allocation holds, in TensorBoard's words."""
    if allocation.is_entry_computation_parameter:
        return "Parameter"
    if allocation.maybe_live_out:
        return "Output"
    if allocation.is_thread_local:
        return "Thread-local"
    if allocation.is_constant:
        return "Constant"
    return "Temporary"


def _part(shape: Any, place: list[int]) -> Any:
    """The shape of one value of a tuple; None where the tuple has no such place."""
    for index in place:
        if not 0 <= index < len(shape.tuple_shapes):
            return None
        shape = shape.tuple_shapes[index]
    return shape


def _unpadded(shape: Any, size: int) -> int:
    """Bytes of the values alone; of a tuple those of its pointers."""
    if shape.tuple_shapes:
        return _POINTER_BYTES * len(shape.tuple_shapes)
    _, plain_size, _ = hlo.shape_sizes(shape)
    return size if plain_size is None else plain_size
