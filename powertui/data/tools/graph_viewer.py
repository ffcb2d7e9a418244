"""The graph of a program of XLA around one op: its operands, its users, what is fused in it, with
the time that each took. As TensorBoard's `graph_viewer`, for a terminal: each row can be gone to.

`Question.choice` names a program and an op: `jit_step(28)/fusion.3`. Without an op it is the
program's result, without a program that whose ops took most time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from powertui.data import hlo
from powertui.data.columns import Field, columns_of
from powertui.data.hlo import Instruction, Module
from powertui.data.hlo_graph import Neighbor, ProgramGraph
from powertui.data.row_card import Card, Lead
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.tools import hlo_choice, op_card
from powertui.data.tools.device_ops import DeviceOp
from powertui.data.tools.registry import Question
from powertui.errors import UsageError
from powertui.plain import plain
from powertui.value_types import dataclass

DEPTH = 2  # operands of operands, users of users (chosen, not measured)
MAX_NEIGHBORS = 200  # of each kind
_NO_PROGRAM = (
    "This profile holds no program of XLA: it was not recorded, or another compiler was used."
)


@dataclass(frozen=True)
class _Row:
    """An op, how it is beside the one that is looked at, and how it ran."""

    op: Instruction
    relation: str
    level: int
    ran: DeviceOp | None
    computation: str
    operands: int
    users: int


@dataclass(frozen=True)
class _Program:
    module: Module
    time: int  # ps of its ops
    ops: int


def answer(question: Question) -> Result:
    """The neighborhood of the chosen op, all ops of its program, and the programs."""
    programs = _programs(question)
    if not programs:
        empty = Table(
            id="neighbors",
            title="Operands and users",
            columns=(),
            empty=_NO_PROGRAM,
            noun="op",
        )
        return Result("graph_viewer", "Graph of a program", (empty,))
    graph, name = chosen(question)
    ran = hlo_choice.ops_of(question, graph.module)
    op = graph.module.instructions[name]
    return Result(
        id="graph_viewer",
        title="Graph of a program",
        tables=(
            _neighbors(graph, name, ran, question),
            _all_ops(graph, ran, question),
            _program_table(programs),
        ),
        facts=_facts(graph, op, ran.get(name)),
    )


def chosen(question: Question) -> tuple[ProgramGraph, str]:
    """The program and the op that are asked about. Raises `UsageError` where there are none."""
    programs = _programs(question)
    if not programs:
        raise UsageError(_NO_PROGRAM)
    # A program's name may hold a slash; no op's name does.
    program, slash, name = question.choice.rpartition("/")
    if not slash:
        program = question.choice
        name = ""
    module = programs[0].module
    if program:
        module = hlo_choice.named_module([listed.module for listed in programs], program)
    graph = _graph(question, module)
    name = name.lstrip("%") or graph.root
    if name not in module.instructions:
        raise UsageError(
            f"{plain(module.label, 60)} has no op {plain(name, 60)}.",
            hint="Its ops are in the second table of: --tool graph_viewer --json",
        )
    return graph, name


def _graph(question: Question, module: Module) -> ProgramGraph:
    return question.profile.cached(("hlo graph", module.id), lambda: ProgramGraph(module))


def _programs(question: Question) -> list[_Program]:
    """All programs that have ops, that with most time first."""
    programs = []
    for module in hlo.modules(question.profile).values():
        if module.instructions:
            ran = hlo_choice.ops_of(question, module)
            time = sum(op.self_time for op in ran.values())
            programs.append(_Program(module, time, len(module.instructions)))
    return sorted(programs, key=lambda program: (-program.time, program.module.label))


def _facts(graph: ProgramGraph, op: Instruction, ran: DeviceOp | None) -> tuple[Fact, ...]:
    time = ran.self_time if ran is not None else None
    return (
        Fact("program", "program", graph.module.label),
        Fact("op", "op", op.name),
        Fact("computation", "in", graph.computation_of[op.name]),
        Fact("self_time", "self time", time, "duration", why=op_card.NO_EVENT),
        Fact("expression", "expression", op.expression),
    )


# ── around one op ────────────────────────────────────────────────────────────────────────────────

_COMMON: tuple[Field[_Row], ...] = (
    Field("opcode", "does", "text", lambda row: row.op.opcode, weight=7),
    Field("shape", "shape", "text", lambda row: row.op.shape, weight=6),
    Field("self_time_s", "self time", "duration", lambda row: _time(row), weight=8),
    Field("occurrences", "count", "integer", lambda row: _count(row), weight=4),
    Field("size_bytes", "size", "number", lambda row: row.op.size, "B", weight=3),
    Field("operands", "operands", "integer", lambda row: row.operands, weight=2, always=True),
    Field("users", "users", "integer", lambda row: row.users, weight=2, always=True),
    Field("provenance", "framework op", "text", lambda row: row.op.provenance, weight=1),
    Field("source", "source", "text", lambda row: row.op.source, weight=1),
    Field("computation", "computation", "text", lambda row: row.computation, weight=0),
    Field("expression", "text", "text", lambda row: row.op.expression, weight=0),
)
_NEIGHBOR_FIELDS: tuple[Field[_Row], ...] = (
    Field("name", "op", "text", lambda row: "  " * row.level + row.op.name, weight=9),
    Field("relation", "is its", "text", lambda row: row.relation, weight=9),
    Field("level", "level", "integer", lambda row: row.level, weight=0, always=True),
    *_COMMON,
)
_OP_FIELDS: tuple[Field[_Row], ...] = (
    Field("name", "op", "text", lambda row: row.op.name, weight=9),
    *_COMMON,
)


def _time(row: _Row) -> int | None:
    if row.ran is not None:
        return row.ran.self_time
    return None


def _count(row: _Row) -> int | None:
    if row.ran is not None:
        return row.ran.occurrences
    return None


def _row(graph: ProgramGraph, near: Neighbor, ran: Mapping[str, DeviceOp]) -> _Row:
    op = graph.module.instructions[near.name]
    return _Row(
        op=op,
        relation=near.relation,
        level=near.level,
        ran=ran.get(near.name),
        computation=graph.computation_of[near.name],
        operands=len(op.operands),
        users=len(graph.users.get(near.name, ())),
    )


def _neighbors(
    graph: ProgramGraph,
    name: str,
    ran: Mapping[str, DeviceOp],
    question: Question,
) -> Table:
    op_itself = Neighbor("this op", name, 0)
    near = [op_itself, *graph.neighbors(name, DEPTH, MAX_NEIGHBORS)]
    rows = [_row(graph, neighbor, ran) for neighbor in near]
    return Table(
        id="neighbors",
        title="Operands and users",
        columns=columns_of(rows, _NEIGHBOR_FIELDS),
        place=_places(rows, question),
        key=("name", "relation"),
        noun="op",
        card=lambda row: _card(rows[row], graph),
        lead=lambda row: None if row == 0 else _lead(graph, rows[row]),
    )


def _all_ops(graph: ProgramGraph, ran: Mapping[str, DeviceOp], question: Question) -> Table:
    rows = []
    for name in graph.module.instructions:
        op = Neighbor("", name, 0)
        rows.append(_row(graph, op, ran))
    rows.sort(key=lambda row: -(_time(row) or 0))
    return Table(
        id="ops",
        title="All ops of the program",
        columns=columns_of(rows, _OP_FIELDS),
        place=_places(rows, question),
        order=("self_time_s", True),
        key=("name",),
        noun="op",
        card=lambda row: _card(rows[row], graph),
        lead=lambda row: _lead(graph, rows[row]),
    )


def _places(rows: Sequence[_Row], question: Question) -> Callable[[int], Place | None]:
    def place(row: int) -> Place | None:
        ran = rows[row].ran
        if ran is None or not ran.events:
            return None
        return question.event_place(*ran.events[0])

    return place


def _lead(graph: ProgramGraph, row: _Row) -> Lead:
    return hlo_choice.graph_lead(graph.module, row.op.name)


def _card(row: _Row, graph: ProgramGraph) -> Card:
    lead = (_lead(graph, row),)
    if row.ran is not None:
        return op_card.op_card(row.ran, leads=lead)
    return op_card.instruction_card(row.op, graph.module.label, leads=lead)


# ── all programs ─────────────────────────────────────────────────────────────────────────────────

_PROGRAM_FIELDS: tuple[Field[_Program], ...] = (
    Field("program", "program", "text", lambda row: row.module.label, weight=9),
    Field("self_time_s", "time of its ops", "duration", lambda row: row.time, weight=9),
    Field("ops", "ops", "integer", lambda row: row.ops, weight=5, always=True),
)


def _program_table(programs: Sequence[_Program]) -> Table:
    return Table(
        id="programs",
        title="Programs",
        columns=columns_of(programs, _PROGRAM_FIELDS),
        order=("self_time_s", True),
        key=("program",),
        noun="program",
        lead=lambda row: Lead("its graph", "graph_viewer", programs[row].module.label),
    )
