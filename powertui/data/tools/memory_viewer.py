"""The memory that XLA planned for a program, as TensorBoard's `memory_viewer`: over the program's
points, and the buffers at the peak.

Each program has a plan for each memory space (0 is the device's main memory). `Question.choice`
names both: `jit_step(28)`, `jit_step:1`. Without one it is the program with the highest peak.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data import hlo, hlo_memory
from powertui.data.columns import Field, columns_of
from powertui.data.hlo import Module
from powertui.data.hlo_memory import Buffer, ProgramMemory
from powertui.data.row_card import Card, Lead
from powertui.data.table import Chart, Fact, Place, Result, Series, Table
from powertui.data.tools import hlo_choice
from powertui.data.tools.registry import Question
from powertui.errors import UsageError
from powertui.value_types import dataclass

_NO_PLAN = (
    "This profile holds no plan of memory: XLA did not run this program, or its programs "
    "were not recorded."
)


@dataclass(frozen=True)
class _Planned:
    """One program in one memory space, in short: the plans of many programs are large."""

    module: Module
    space: int
    peak: int
    peak_unpadded: int
    lasting: int
    buffers: int
    points: int

    @property
    def choice(self) -> str:
        """What `Question.choice` takes."""
        if self.space:
            return f"{self.module.label}:{self.space}"
        return self.module.label


@dataclass(frozen=True)
class _AtPeak:
    """A buffer that is alive at the peak."""

    order: int  # in the order of the program, from 1
    buffer: Buffer
    share: float  # of the peak


@dataclass(frozen=True)
class _Point:
    number: int
    op: str
    size: int
    unpadded: int
    change: int | None


def answer(question: Question) -> Result:
    """The plan of the chosen program, else of that with the highest peak."""
    plans = _plans(question)
    if not plans:
        empty = Table(
            id="at_peak",
            title="Buffers at the peak",
            columns=(),
            empty=_NO_PLAN,
            noun="buffer",
        )
        return Result("memory_viewer", "Memory of a program", (empty,))
    planned = _chosen(plans, question.choice)
    memory = hlo_memory.program_memory(planned.module, planned.space)
    assert memory is not None  # a plan of it is listed
    return Result(
        id="memory_viewer",
        title="Memory of a program",
        tables=(
            _peak_table(memory, question),
            _point_table(memory),
            _plan_table(plans),
        ),
        facts=_facts(memory),
        charts=_charts(memory),
        notes=_notes(len(plans)),
    )


def _plans(question: Question) -> list[_Planned]:
    profile = question.profile

    def work() -> list[_Planned]:
        plans = []
        for module in hlo.modules(profile).values():
            for space in hlo_memory.spaces(module):
                memory = hlo_memory.program_memory(module, space)
                if memory is not None:
                    plans.append(_short(memory))
        return sorted(plans, key=lambda plan: (-plan.peak, plan.module.label, plan.space))

    return profile.cached("memory plans", work)


def _short(memory: ProgramMemory) -> _Planned:
    return _Planned(
        module=memory.module,
        space=memory.space,
        peak=memory.peak,
        peak_unpadded=memory.peak_unpadded,
        lasting=memory.lasting,
        buffers=len(memory.buffers),
        points=max(0, len(memory.points) - 1),
    )


def _chosen(plans: Sequence[_Planned], choice: str) -> _Planned:
    """The plan that is asked about. Raises `UsageError` where there is none like it."""
    if not choice:
        return plans[0]
    name, _, space = choice.rpartition(":")
    if not name or not space.isascii() or not space.isdigit():
        name, space = choice, ""
    module = hlo_choice.named_module([plan.module for plan in plans], name)
    spaces = [plan for plan in plans if plan.module is module]
    if not space:
        return min(spaces, key=lambda plan: plan.space)
    for plan in spaces:
        if plan.space == int(space):
            return plan
    there_are = ", ".join(str(plan.space) for plan in spaces)
    raise UsageError(
        f"This program has no buffers in memory space {space}.", hint=f"There are: {there_are}."
    )


def _notes(plans: int) -> tuple[str, ...]:
    notes = [
        "XLA planned this before the run, without each thread's own memory; no allocator was asked."
    ]
    if plans > 1:
        notes.append(f"{plans:,} plans are in this profile: the last table lists them.")
    return tuple(notes)


def _facts(memory: ProgramMemory) -> tuple[Fact, ...]:
    name = memory.module.label
    if memory.space:
        name += f", memory space {memory.space}"
    points = len(memory.points) - 1
    where = "the whole program"
    if points > 0:
        where = f"{memory.points[memory.peak_point]}, point {memory.peak_point} of {points:,}"
    return (
        Fact("program", "program", name),
        Fact("peak", "peak", memory.peak, "number", "B"),
        Fact("peak_unpadded", "without padding", memory.peak_unpadded, "number", "B"),
        Fact("peak_at", "reached at", where),
        Fact("parameters", "parameters", memory.parameters, "number", "B"),
        Fact("outputs", "outputs", memory.outputs, "number", "B"),
        Fact("temporary", "temporary at the peak", memory.peak - memory.lasting, "number", "B"),
        Fact("allocated", "all allocations", memory.allocated, "number", "B"),
        Fact("fixed", "never reused", memory.fixed, "number", "B"),
    )


# ── the buffers at the peak ──────────────────────────────────────────────────────────────────────

_PEAK_FIELDS: tuple[Field[_AtPeak], ...] = (
    Field("order", "#", "integer", lambda row: row.order, weight=6, always=True),
    Field("buffer", "buffer", "text", lambda row: row.buffer.name, weight=9),
    Field("size_bytes", "size", "number", lambda row: row.buffer.size, "B", weight=9),
    Field("share", "share", "share", lambda row: row.share, weight=8),
    Field("unpadded_bytes", "unpadded", "number", lambda row: row.buffer.unpadded, "B", weight=4),
    Field("padding_bytes", "padding", "number", lambda row: _padding(row.buffer), "B", weight=2),
    Field("kind", "kind", "text", lambda row: row.buffer.kind, weight=7),
    Field("shape", "shape", "text", lambda row: row.buffer.shape, weight=5),
    Field("opcode", "op", "text", lambda row: _opcode(row.buffer), weight=3),
    Field("provenance", "framework op", "text", lambda row: _provenance(row.buffer), weight=3),
    Field("source", "source", "text", lambda row: _source(row.buffer), weight=1),
    Field("first", "from point", "integer", lambda row: row.buffer.first, weight=2),
    Field("last", "to point", "integer", lambda row: row.buffer.last, weight=2),
    Field("id", "id", "integer", lambda row: row.buffer.id, weight=0, always=True),
)


def _peak_table(memory: ProgramMemory, question: Question) -> Table:
    rows = [
        _AtPeak(number, buffer, buffer.size / max(1, memory.peak))
        for number, buffer in enumerate(memory.at_peak, 1)
    ]
    rows.sort(key=lambda row: -row.buffer.size)

    def place(row: int) -> Place | None:
        op = rows[row].buffer.op
        if op is not None:
            return hlo_choice.op_place(question, memory.module, op.name)
        return None

    return Table(
        id="at_peak",
        title="Buffers at the peak",
        columns=columns_of(rows, _PEAK_FIELDS),
        place=place,
        order=("size_bytes", True),
        empty="This program has no buffer at its peak.",
        key=("id",),
        noun="buffer",
        card=lambda row: _card(rows[row], memory),
    )


def _card(row: _AtPeak, memory: ProgramMemory) -> Card:
    """All that is known of one buffer."""
    buffer = row.buffer
    lifetime = "the whole program"
    if buffer.first is not None and buffer.last is not None:
        lifetime = (
            f"from point {buffer.first} ({_point(memory, buffer.first)}) "
            f"to {buffer.last} ({_point(memory, buffer.last)}) of {len(memory.points) - 1:,}"
        )
    facts = [
        Fact("size", "size", buffer.size, "number", "B"),
        Fact("unpadded", "without padding", buffer.unpadded, "number", "B"),
        Fact("share", "share of the peak", row.share, "share"),
        Fact("shape", "shape", buffer.shape or None, why="the program does not say"),
        Fact("kind", "kind", buffer.kind),
        Fact("lifetime", "lives", lifetime),
        Fact("allocation", "allocation", f"{buffer.allocation}, at byte {buffer.offset:,} of it"),
    ]
    leads: tuple[Lead, ...] = ()
    if buffer.op is not None:
        facts += [
            Fact("op", "HLO op", buffer.op.opcode),
            Fact("provenance", "framework op", buffer.op.provenance or None, why="none"),
            Fact("source", "source", buffer.op.source or None, why="the program does not say"),
            Fact("expression", "expression", buffer.op.expression),
        ]
        leads = (hlo_choice.graph_lead(memory.module, buffer.op.name),)
    return Card(buffer.name, tuple(facts), leads)


def _point(memory: ProgramMemory, number: int) -> str:
    return memory.points[number] or "end"


def _padding(buffer: Buffer) -> int | None:
    """Bytes that padding adds; None where it adds nothing."""
    return buffer.size - buffer.unpadded or None


def _opcode(buffer: Buffer) -> str:
    if buffer.op is not None:
        return buffer.op.opcode
    return ""


def _provenance(buffer: Buffer) -> str:
    if buffer.op is not None:
        return buffer.op.provenance
    return ""


def _source(buffer: Buffer) -> str:
    if buffer.op is not None:
        return buffer.op.source
    return ""


# ── over the program, and all programs ───────────────────────────────────────────────────────────

_POINT_FIELDS: tuple[Field[_Point], ...] = (
    Field("point", "point", "integer", lambda row: row.number, weight=8, always=True),
    Field("op", "op", "text", lambda row: row.op, weight=9),
    Field("size_bytes", "before it", "number", lambda row: row.size, "B", weight=9),
    Field("unpadded_bytes", "unpadded", "number", lambda row: row.unpadded, "B", weight=4),
    Field("change_bytes", "change", "number", lambda row: row.change, "B", weight=7),
)


def _point_table(memory: ProgramMemory) -> Table:
    rows = []
    for number, size in enumerate(memory.heap):
        if number + 1 < len(memory.heap):
            after = memory.heap[number + 1]
        else:
            after = None
        rows.append(
            _Point(
                number=number,
                op=_point(memory, number),
                size=size,
                unpadded=memory.unpadded[number],
                change=None if after is None else after - size,
            )
        )
    return Table(
        id="over_program",
        title="Memory over the program",
        columns=columns_of(rows, _POINT_FIELDS),
        empty="Nothing is allocated or freed inside this program.",
        key=("point",),
        noun="point",
    )


_PLAN_FIELDS: tuple[Field[_Planned], ...] = (
    Field("program", "program", "text", lambda plan: plan.module.label, weight=9),
    Field("space", "memory space", "integer", lambda plan: plan.space, weight=5, always=True),
    Field("peak_bytes", "peak", "number", lambda plan: plan.peak, "B", weight=9),
    Field("unpadded_bytes", "unpadded", "number", lambda plan: plan.peak_unpadded, "B", weight=4),
    Field("lasting_bytes", "all the time", "number", lambda plan: plan.lasting, "B", weight=6),
    Field("buffers", "buffers", "integer", lambda plan: plan.buffers, weight=3, always=True),
    Field("points", "points", "integer", lambda plan: plan.points, weight=3, always=True),
    Field("choice", "choice", "text", lambda plan: plan.choice, weight=0),
)


def _plan_table(plans: Sequence[_Planned]) -> Table:
    return Table(
        id="programs",
        title="Programs",
        columns=columns_of(plans, _PLAN_FIELDS),
        order=("peak_bytes", True),
        empty=_NO_PLAN,
        key=("choice",),
        noun="program",
        lead=lambda row: Lead("its memory", "memory_viewer", plans[row].choice),
    )


def _charts(memory: ProgramMemory) -> tuple[Chart, ...]:
    if len(memory.heap) < 2:  # one point is no course
        return ()
    points = np.arange(len(memory.heap), dtype=np.float64)
    series = [Series("memory", points, np.array(memory.heap, np.float64))]
    if memory.unpadded != memory.heap:
        series.append(Series("unpadded", points, np.array(memory.unpadded, np.float64)))
    title = "Memory over the program's points"
    return (
        Chart(
            id="heap",
            title=title,
            series=tuple(series),
            kind="line",
            x_label="point",
            y_label="memory",
            y_unit="B",
        ),
    )
