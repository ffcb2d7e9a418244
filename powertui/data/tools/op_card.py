"""All that is known of one op of XLA, as a card: what it does, how long it ran, what it costs,
where it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence

from powertui.data.hlo import Instruction
from powertui.data.model import PS_PER_S
from powertui.data.row_card import Card, Lead
from powertui.data.table import Fact, if_missing
from powertui.data.tools.device_ops import DeviceOp

_NO_TEXT = "the profile holds no text of this op"
NO_EVENT = "no event of this profile names it"
_NO_COST = "the profile does not say"


def instruction_card(op: Instruction, program: str, leads: tuple[Lead, ...]) -> Card:
    """The card of an op without events."""
    facts = (
        Fact("category", "category", op.category),
        Fact("program", "program", program),
        Fact("self_time", "self time", None, "duration", why=NO_EVENT),
        *_op_facts(op),
        _text("provenance", "framework op", op.provenance, "none is named"),
        _text("source", "source", op.source, "the program does not say"),
        _text("expression", "expression", op.expression, _NO_TEXT),
    )
    return Card(op.name, facts, leads)


def op_card(op: DeviceOp, more: Sequence[Fact] = (), leads: tuple[Lead, ...] = ()) -> Card:
    """The card of an op that ran; `more` is what a table knows of it beside that."""
    facts = [
        Fact("category", "category", op.category or None, why="unknown"),
        Fact("program", "program", op.program or None, why="unknown"),
        Fact("self_time", "self time", op.self_time, "duration"),
        Fact("total_time", "total time", op.total, "duration"),
        Fact("occurrences", "count", op.occurrences, "integer"),
        Fact("average", "average", op.total // max(1, op.occurrences), "duration"),
        *more,
        *_costs(op),
        *_op_facts(op.instruction),
        _text("provenance", "framework op", op.provenance, "none is named"),
        _text("source", "source", op.source, "the program does not say"),
        _text("expression", "expression", op.expression, _NO_TEXT),
    ]
    return Card(op.name, tuple(facts), leads)


def _op_facts(instruction: Instruction | None) -> tuple[Fact, ...]:
    """The value that an op computes, and what is fused in it."""
    if instruction is None:
        return (Fact("shape", "shape", None, why=_NO_TEXT),)
    size = instruction.size
    padding = None
    if size is not None and instruction.padded is not None:
        padding = instruction.padded - size
    facts = [
        Fact("shape", "shape", instruction.shape),
        Fact("size", "size", size, "number", "B", why=if_missing(size, "its type has none")),
        Fact("padding", "padding", padding, "number", "B", why="its layout has no tiles"),
        _text("operands", "operands", ", ".join(instruction.operands), "none"),
    ]
    if instruction.opcode == "fusion":
        fused = ", ".join(instruction.fused)
        facts.append(_text("fused", "fused ops", fused, "none"))
    return tuple(facts)


def _costs(op: DeviceOp) -> tuple[Fact, ...]:
    """FLOPs and bytes of all its runs, and the rates that follow."""
    seconds = op.self_time / PS_PER_S
    flops = op.flops
    size = op.bytes
    facts = [
        Fact("flops", "FLOPs", flops, "number", "FLOP", why=_NO_COST),
        Fact("bytes", "bytes", size, "number", "B", why=_NO_COST),
    ]
    if flops is not None and seconds:
        facts.append(Fact("flop_rate", "rate", flops / seconds, "number", "FLOP/s"))
    if size is not None and seconds:
        facts.append(Fact("bandwidth", "bandwidth", size / seconds, "number", "B/s"))
    if op.energy is not None:
        facts.append(Fact("energy", "energy", op.energy, "number", "J"))
    return tuple(facts)


def _text(id: str, label: str, text: str, why: str) -> Fact:
    return Fact(id, label, text or None, why=why)
