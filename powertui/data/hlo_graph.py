"""A program of XLA as a graph: what an op reads, who reads it, what it calls and from where it is
called. Names of ops are unique in a program.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from powertui.data.hlo import Instruction, Module
from powertui.value_types import dataclass

# Graphviz 2.42 refuses a quoted text of 16,384 bytes; four bytes are one character at most.
_MAX_DOT_CHARS = 4000
_MAX_SHAPE_CHARS = 120  # of a box: more is wider than what it stands among (chosen, not measured)


@dataclass(frozen=True)
class Neighbor:
    """An op beside the one that is looked at."""

    relation: str  # "operand 0", "user", "inside", "called by", "is operand 1"
    name: str
    level: int  # how far away, from 1


@dataclass(frozen=True, eq=False)
class ProgramGraph:
    """The ops of one program."""

    module: Module

    @cached_property
    def computations(self) -> dict[str, tuple[str, ...]]:
        """Names of ops by computation, in the order of the program."""
        names = {}
        for computation in self._computations:
            names[computation.name] = tuple(op.name for op in computation.instructions)
        return names

    @cached_property
    def computation_of(self) -> dict[str, str]:
        """The computation that each op belongs to."""
        owners = {}
        for computation, ops in self.computations.items():
            for op in ops:
                owners[op] = computation
        return owners

    @cached_property
    def called(self) -> dict[str, tuple[str, ...]]:
        """Computations that an op calls: a fusion's, a loop's condition and body."""
        name_of_id = {computation.id: computation.name for computation in self._computations}
        called = {}
        for op in self._ops:
            ids = op.called_computation_ids
            if ids:
                called[op.name] = tuple(name_of_id[id] for id in ids if id in name_of_id)
        return called

    @cached_property
    def callers(self) -> dict[str, tuple[str, ...]]:
        """Ops that call a computation."""
        callers: dict[str, list[str]] = {}
        for name, computations in self.called.items():
            for computation in computations:
                callers.setdefault(computation, []).append(name)
        return {computation: tuple(names) for computation, names in callers.items()}

    @cached_property
    def users(self) -> dict[str, tuple[str, ...]]:
        """Ops that read an op's value, in the order of the program."""
        users: dict[str, dict[str, None]] = {}
        for name, op in self.module.instructions.items():
            for operand in op.operands:
                users.setdefault(operand, {})[name] = None
        return {name: tuple(readers) for name, readers in users.items()}

    @property
    def root(self) -> str:
        """The op whose value is the program's result; "" for an empty program."""
        proto = self.module.proto
        last = ""
        for computation in proto.computations:
            is_entry = computation.name == proto.entry_computation_name
            for op in computation.instructions:
                if is_entry and op.id == computation.root_id:
                    return str(op.name)
                last = op.name
        return last

    def neighbors(self, name: str, depth: int, most: int) -> list[Neighbor]:
        """What is around an op: inside it, its operands, its users, its callers; `most` of each.

        An op that is near in two ways is listed once each way.
        """
        op = self.module.instructions[name]
        inside = []
        for computation in self.called.get(name, ()):
            for inner in self.computations[computation]:
                if self.module.instructions[inner].opcode != "parameter":
                    inside.append(Neighbor(relation="inside", name=inner, level=1))
        return [
            *inside[:most],
            *_walk(self._operands, name, depth, most),
            *self._outside(op)[:most],
            *_walk(self._readers, name, depth, most),
        ]

    def _operands(self, name: str) -> list[tuple[str, str]]:
        operands = self.module.instructions[name].operands
        return [(f"operand {number}", operand) for number, operand in enumerate(operands)]

    def _readers(self, name: str) -> list[tuple[str, str]]:
        return [("user", user) for user in self.users.get(name, ())]

    def _outside(self, op: Instruction) -> list[Neighbor]:
        """Of an op inside another: that one, and what stands for a parameter there."""
        neighbors = []
        for caller in self.callers.get(self.computation_of[op.name], ()):
            neighbors.append(Neighbor(relation="called by", name=caller, level=1))
            number = self._parameter_numbers.get(op.name)
            operands = self.module.instructions[caller].operands
            if number is not None and number < len(operands):
                neighbors.append(
                    Neighbor(
                        relation=f"is operand {number}",
                        name=operands[number],
                        level=2,
                    )
                )
        return neighbors

    @cached_property
    def _parameter_numbers(self) -> dict[str, int]:
        return {op.name: op.parameter_number for op in self._ops if op.opcode == "parameter"}

    @property
    def _computations(self) -> Any:
        return self.module.proto.computations

    @property
    def _ops(self) -> Iterator[Any]:
        for computation in self._computations:
            yield from computation.instructions


def _walk(beside: Any, name: str, depth: int, most: int) -> list[Neighbor]:
    """A tree from an op on, depth first; an op that was met before is not opened again."""
    neighbors: list[Neighbor] = []
    opened = {name}
    ahead = _opened_level(beside, name, 1)
    while ahead and len(neighbors) < most:
        neighbor = ahead.pop()
        if not neighbor.name:  # the program names an op that it does not have
            continue
        neighbors.append(neighbor)
        if neighbor.level < depth and neighbor.name not in opened:
            opened.add(neighbor.name)
            ahead += _opened_level(beside, neighbor.name, neighbor.level + 1)
    return neighbors


def _opened_level(beside: Any, name: str, level: int) -> list[Neighbor]:
    """What is beside an op, the last first."""
    neighbors = []
    for relation, op in reversed(beside(name)):
        neighbors.append(Neighbor(relation=relation, name=op, level=level))
    return neighbors


def program_dot(graph: ProgramGraph, names: set[str] | None = None) -> str:
    """The program in Graphviz's language, one box for each computation; of these ops alone where
    some are named.
    """
    lines = [f"digraph {_quoted(graph.module.name)} {{", "  node [shape=box, fontname=monospace];"]
    for number, (computation, ops) in enumerate(graph.computations.items()):
        kept = [name for name in ops if names is None or name in names]
        if not kept:
            continue
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quoted(computation)};")
        for name in kept:
            op = graph.module.instructions[name]
            label = f"{name}\n{op.opcode}\n{_short_shape(op.shape)}"
            lines.append(f"    {_quoted(name)} [label={_quoted(label)}];")
        lines.append("  }")
    for name, op in graph.module.instructions.items():
        if names is not None and name not in names:
            continue
        for operand in op.operands:
            if operand and (names is None or operand in names):
                lines.append(f"  {_quoted(operand)} -> {_quoted(name)};")
        for computation in graph.called.get(name, ()):
            inner = graph.computations[computation][-1:]
            if inner and (names is None or inner[0] in names):
                edge = f"{_quoted(inner[0])} -> {_quoted(name)}"
                lines.append(f"  {edge} [style=dotted];")
    return "\n".join([*lines, "}"])


def _short_shape(shape: str) -> str:
    """A shape that a box can hold: that of a loop's tuple may have thousands of parts."""
    if len(shape) <= _MAX_SHAPE_CHARS:
        return shape
    return f"{shape[:_MAX_SHAPE_CHARS]}…"


def _quoted(text: str) -> str:
    """A text as Graphviz reads it: quotes and backslashes are marked, and what is too long ends
    with a digest, so that two names stay two.
    """
    words = "".join(character for character in text if character == "\n" or character.isprintable())
    if len(words) > _MAX_DOT_CHARS:
        digest = zlib.crc32(words.encode("utf-8", "replace"))
        words = f"{words[:_MAX_DOT_CHARS]}… {digest:08x}"
    marked = words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{marked}"'
