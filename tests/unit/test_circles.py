"""Imports go one way: no module of powertui needs, even inside a function, one that needs it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def imports(source: str, known: set[str]) -> set[str]:
    """The modules that a source imports, at its top or inside functions; what is for type checkers
    alone is left out.
    """
    found: set[str] = set()
    for node in _running(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {
                full if (full := f"{node.module}.{alias.name}") in known else node.module
                for alias in node.names
            }
    return found & known


def _running(tree: ast.Module) -> Iterator[ast.AST]:
    """Every statement that can run; imports are statements."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            if field != "body" or not _is_for_type_checkers(node):
                left += getattr(node, field, ())


def _is_for_type_checkers(node: ast.AST) -> bool:
    if not isinstance(node, ast.If):
        return False
    # `TYPE_CHECKING`, or `typing.TYPE_CHECKING`
    name = getattr(node.test, "id", getattr(node.test, "attr", ""))
    return name == "TYPE_CHECKING"


def circles(graph: dict[str, set[str]]) -> list[str]:
    """What is left when all that needs nothing, or is needed by nothing, has been taken away, again
    and again.
    """
    left = {name: set(needs) for name, needs in graph.items()}
    while True:
        needed = {one for needs in left.values() for one in needs}
        gone = {
            name for name, needs in left.items() if not needs & left.keys() or name not in needed
        }
        if not gone:
            return sorted(left)
        left = {name: needs - gone for name, needs in left.items() if name not in gone}


def test_a_circle_is_seen_wherever_the_import_stands() -> None:
    known = {"a", "a.b", "c"}
    source = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import c\ndef f():\n    "
        "from a import b\n"
    )
    assert imports(source, known) == {"a.b"}
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["b", "c"]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_imports_go_in_no_circle() -> None:
    files = {}
    for path in sorted((ROOT / "powertui").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    assert len(files) > 400
    graph = {
        name: imports(path.read_text(encoding="utf-8"), set(files)) - {name}
        for name, path in files.items()
    }
    assert circles(graph) == []
