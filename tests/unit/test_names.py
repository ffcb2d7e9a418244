"""One word, one thing: a public name of a class or a type stands for one class or type in all of
powertui.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "powertui"

# Two things of one name that are one thing to whoever reads them, with the reason.
MAY_SHARE: dict[str, str] = {}


def defined(source: str) -> list[str]:
    """Public classes and named types of a module.

    A class inside another one has that one's name before its own.
    """
    out = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            out.append(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and target.id[0].isupper() and not target.id.isupper():
                out.append(target.id)
    return [name for name in out if not name.startswith("_")]


def test_what_counts_as_a_definition() -> None:
    source = (
        "class Abc: ...\nBcd = list[int]\nCde: TypeAlias = int\nLIMIT = 3\nclass _Def: "
        "...\nclass Efg:\n    class Fgh: ...\n"
    )
    assert defined(source) == ["Abc", "Bcd", "Cde", "Efg"]


def test_no_public_name_means_two_things() -> None:
    where: dict[str, list[str]] = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for name in defined(path.read_text(encoding="utf-8")):
            where[name].append(path.relative_to(ROOT).as_posix())
    assert len(where) > 300
    assert {
        name: files for name, files in where.items() if len(files) > 1 and name not in MAY_SHARE
    } == {}
    assert {name for name in MAY_SHARE if len(where[name]) < 2} == set()
