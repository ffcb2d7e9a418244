"""The small faults that can be put into a file, and a choice of them that a seed repeats."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from scripts.mutants.listed import ROOT, Mutant, problems_of
from scripts.mutants.matching import NoMatch, applied, scopes

SEED = 9
MAX_QUOTED_COLUMNS = 100  # a longer statement is quoted in part, where a part of it is unique

# How many mutants the list has at least of the files in each place.
MUTANTS_PER_PLACE = {
    "powertui/data/energy/": 32,
    "powertui/data/power/": 30,
    "powertui/data/formats/": 20,
    "powertui/data/run/": 20,
    "powertui/data/logdir/": 8,
    "powertui/data/tools/": 12,
    "powertui/data/export/": 10,
    "powertui/data/wire/pure/": 8,
    "powertui/data/*.py": 24,
    "powertui/sampler/": 34,
    "powertui/view/": 32,
    "powertui/data/training/": 8,
    "powertui/data/energy/findings/": 4,
    "powertui/data/energy/badges.py": 2,
    "powertui/data/formats/json_*.py": 5,
    "powertui/data/formats/perfetto/": 2,
    "powertui/data/formats/rocprof/": 3,
    "powertui/data/model/": 5,
    "powertui/data/wire/": 3,
    "powertui/data/elsewhere/": 3,
    "powertui/data/packed.py": 4,
    "powertui/data/extremes.py": 2,
    "powertui/capture/": 6,
    "powertui/data/compare/": 6,
    "powertui/data/conclusions/": 3,
    "powertui/data/conclusions/makers/": 6,
    "powertui/data/gate/": 4,
    "powertui/html/": 3,
    "powertui/report/": 8,
}

_OTHER_COMPARISON: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OTHER_OPERATOR: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Mod: ast.Add,
    ast.FloorDiv: ast.Mult,
}
# Words in the names of constants that only bound memory or waiting: any other value gives the
# same answers.
_MEMORY_WORDS = {"BYTES", "CHUNK", "BATCH", "PIECE", "BLOCK", "BLOCKS", "HEAD", "TAIL", "FEED"}
_CACHE_WORDS = {"CACHE", "CACHED", "BUFFER", "QUEUE"}
_WAITING_WORDS = {"PATIENCE", "TIMEOUT", "BACKOFF", "LOOK", "TICK"}
_SIZE_WORDS = _MEMORY_WORDS | _CACHE_WORDS | _WAITING_WORDS
_MIN_SIZE_SHIFT = 10  # 1 << 10 and more is written for sizes of memory; smaller shifts are flags

_Node = TypeVar("_Node", bound=ast.AST)


def with_new_mutants(mutants: Sequence[Mutant], root: Path = ROOT) -> list[Mutant]:
    """The mutants that still fit the source, and as many new ones as each place needs."""
    chosen = [mutant for mutant in mutants if not problems_of([mutant], root)]
    for place, count in MUTANTS_PER_PLACE.items():
        paths = root.glob(place if place.endswith(".py") else f"{place}*.py")
        sources = {
            path.relative_to(root).as_posix(): path.read_text("utf-8") for path in sorted(paths)
        }
        of_place = [mutant for mutant in chosen if mutant.file in sources]
        missing = count - len(of_place)
        if missing > 0:
            chosen += _drawn(sources, missing, of_place, random.Random(f"{SEED} {place}"))
    return sorted(chosen, key=lambda mutant: mutant.file)


def _drawn(
    sources: Mapping[str, str], count: int, mutants: Sequence[Mutant], rng: random.Random
) -> list[Mutant]:
    """New mutants of some files, none of a quote that another mutant has."""
    files = [_File(name, source) for name, source in sources.items()]
    pool = [(file, *change) for file in files for change in changes(file.tree)]
    rng.shuffle(pool)
    used = {(mutant.file, mutant.function, mutant.before) for mutant in mutants}
    drawn: list[Mutant] = []
    for file, node, replacement in pool:
        if len(drawn) == count:
            break
        mutant = file.mutant(node, replacement)
        if mutant is None or (mutant.file, mutant.function, mutant.before) in used:
            continue
        used.add((mutant.file, mutant.function, mutant.before))
        drawn.append(mutant)
    return drawn


def candidates(name: str, source: str) -> Iterator[Mutant]:
    """Every mutant that a file can have."""
    file = _File(name, source)
    for node, replacement in changes(file.tree):
        mutant = file.mutant(node, replacement)
        if mutant is not None:
            yield mutant


class _File:
    """A source file in which changes become mutants, each with a quote that is unique."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.tree = ast.parse(source)
        self._parents = {
            child: parent
            for parent in ast.walk(self.tree)
            for child in ast.iter_child_nodes(parent)
        }
        self._scope_names = {
            scope: scope_name for scope_name, parts in scopes(self.tree).items() for scope in parts
        }

    def mutant(self, node: ast.AST, replacement: ast.AST) -> Mutant | None:
        """The change as a mutant, or None if no quote of it is unique."""
        function = self._function_around(node)
        for quoted in self._quotable(node):
            before = ast.unparse(quoted)
            after = ast.unparse(_rebuilt(quoted, node, replacement))
            mutant = Mutant(self.name, function, before, after)
            if "\n" not in before + after and _fits(mutant, self.source):
                return mutant
        return None

    def _function_around(self, node: ast.AST) -> str:
        while node not in self._scope_names:
            node = self._parents[node]
        return self._scope_names[node]

    def _quotable(self, node: ast.AST) -> list[ast.AST]:
        """The statement or the expressions around a node, the best to quote first.

        That is the largest one that fits into a line, then larger ones.
        """
        around: list[ast.AST] = []
        while isinstance(node, (ast.expr, ast.stmt, ast.keyword, ast.comprehension)):
            if hasattr(node, "body") and isinstance(node, ast.stmt):
                break  # a compound statement: its test or its iterable is quoted
            if not isinstance(
                node, (ast.Constant, ast.Slice, ast.Starred, ast.keyword, ast.comprehension)
            ):
                around.append(node)
            node = self._parents[node]
        narrow = [part for part in around if len(ast.unparse(part)) <= MAX_QUOTED_COLUMNS]
        wide = around[len(narrow) :]
        return narrow[-1:] + wide


def _fits(mutant: Mutant, source: str) -> bool:
    """Whether the change can be made, and the result is a program."""
    try:
        applied(mutant, source)
    except (NoMatch, SyntaxError):
        return False
    return True


def _rebuilt(tree: _Node, old: ast.AST, new: ast.AST) -> _Node:
    """A copy of a syntax tree that has another node in the place of an old one."""
    if tree is old:
        return new  # type: ignore[return-value]
    fields: dict[str, object] = {}
    for name, value in ast.iter_fields(tree):
        if isinstance(value, ast.AST):
            fields[name] = _rebuilt(value, old, new)
        elif isinstance(value, list):
            fields[name] = [
                _rebuilt(part, old, new) if isinstance(part, ast.AST) else part for part in value
            ]
        else:
            fields[name] = value
    return ast.copy_location(type(tree)(**fields), tree)


def changes(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Each node that is worth a mutant, with what is put in its place."""
    left_out = _left_out(tree)
    for node in ast.walk(tree):
        if node not in left_out:
            replacement = _replacement(node)
            if replacement is not None:
                yield node, replacement


def _replacement(node: ast.AST) -> ast.AST | None:
    """What is put in the place of a node; None where no mutant is made."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        operation = _OTHER_COMPARISON[type(node.ops[0])]()
        return ast.Compare(node.left, [operation], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in _OTHER_OPERATOR:
        return ast.BinOp(node.left, _OTHER_OPERATOR[type(node.op)](), node.right)
    if isinstance(node, ast.BoolOp) and len(node.values) == 2:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return ast.BoolOp(other, node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        return node.operand
    if isinstance(node, ast.Constant):
        return _other_constant(node.value)
    if _can_be_deleted(node):
        return ast.Pass()
    return None


def _other_constant(value: object) -> ast.Constant | None:
    if isinstance(value, bool):
        return ast.Constant(not value)
    if isinstance(value, int):
        return ast.Constant(value + 1)
    if isinstance(value, float):
        return ast.Constant(value * 2 or 1.0)
    return None


def _can_be_deleted(node: ast.AST) -> bool:
    """Whether a statement can be left out without leaving a name undefined."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Call)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], (ast.Attribute, ast.Subscript))
    return isinstance(node, (ast.AugAssign, ast.Continue, ast.Break, ast.Raise))


def _left_out(tree: ast.Module) -> set[ast.AST]:
    """Nodes that no test can judge.

    These are annotations, decorators, formatted strings, the words of errors, sizes of buffers,
    which column of a table gives way first, and `strict` of zip(), which only guards us.
    """
    left_out: set[ast.AST] = set()
    for node in ast.walk(tree):
        for part in _unjudged_parts(node):
            left_out.update(ast.walk(part))
    return left_out


def _unjudged_parts(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield from node.decorator_list
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns is not None:
        yield node.returns
    if isinstance(node, (ast.AnnAssign, ast.arg)) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.keyword) and node.arg in ("weight", "strict"):
        yield node.value
    if isinstance(node, (ast.JoinedStr, ast.Raise)):
        yield from ast.iter_child_nodes(node)
    if isinstance(node, ast.Assign) and is_size(ast.unparse(node.targets[0]), node.value):
        yield node
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        yield node


def is_size(name: str, value: ast.expr) -> bool:
    """Whether a constant only bounds memory or waiting."""
    if not name.isupper():
        return False
    if not _SIZE_WORDS.isdisjoint(name.split("_")):
        return True
    return any(_is_large_shift(node) for node in ast.walk(value))


def _is_large_shift(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.LShift)
        and isinstance(node.right, ast.Constant)
        and isinstance(node.right.value, int)
        and node.right.value >= _MIN_SIZE_SHIFT
    )
