"""Every text that a person may read, file by file: what the program says, prints, draws or asks.

    python scripts/strings.py            all of them
    python scripts/strings.py screens    of the files whose path holds this

A text is a string literal that is no docstring and no name of a thing: it holds words, or begins
with a capital. f-strings are shown with their holes as {…}. The list is there to be read from top
to bottom, as a native speaker would, before a release.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_WORDS = re.compile(r"[A-Za-zµ]{2,}.* .*[A-Za-z]|^[A-Z][a-z]{3,}[.?!]?$")
# Calls whose texts no person reads.
_SILENT = {
    "compile",
    "getattr",
    "setattr",
    "hasattr",
    "encode",
    "decode",
    "import_module",
    "dtype",
    "TypeVar",
    "struct",
    "match",
    "search",
}


def main() -> None:
    """Print them."""
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    for file in sorted((ROOT / "powertui").rglob("*.py")):
        name = file.relative_to(ROOT).as_posix()
        if wanted in name:
            found = list(texts(ast.parse(file.read_text("utf-8"))))
            if found:
                print(f"\n{name}")
                for line, text in found:
                    print(f"  {line:5}  {text}")


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, text) of everything in a module that a person may read."""
    silent = docstrings(tree) | {
        id(n)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and name_of(call) in _SILENT
        for n in ast.walk(call)
    }
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in sorted(
        (n for n in ast.walk(tree) if isinstance(n, (ast.Constant, ast.JoinedStr))),
        key=lambda n: (n.lineno, n.col_offset),
    ):
        if id(node) in silent or id(node) in inside:
            continue
        text = shown(node)
        if text is not None and _WORDS.search(text):
            yield node.lineno, text.replace("\n", "⏎")


def docstrings(tree: ast.Module) -> set[int]:
    """The nodes that are documentation."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
        for part in ast.walk(node.body[0])
    }


def name_of(call: ast.Call) -> str:
    """The last name of what is called."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def shown(node: ast.Constant | ast.JoinedStr) -> str | None:
    """The text as it stands in the source, with holes."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    return "".join(part.value if isinstance(part, ast.Constant) else "{…}" for part in node.values)


if __name__ == "__main__":
    main()
