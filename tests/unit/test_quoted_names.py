"""Names of code that the documents quote are in the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# `module.NAME`, and `module.NAME`, `_OTHER` after it: the evidence of a constant is found by these.
QUOTED = re.compile(r"`([a-z_]+)\.(_?[A-Z][A-Z0-9_]+)`((?:, `_?[A-Z][A-Z0-9_]+`)*)")


def names_by_module(modules: set[str]) -> dict[str, set[str]]:
    """What each of these defines at its top or in a class; modules of one name together."""
    names: dict[str, set[str]] = {}
    for path in (ROOT / "powertui").rglob("*.py"):
        if path.stem not in modules:
            continue
        targets = {
            node.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        names.setdefault(path.stem, set()).update(targets)
    return names


@pytest.mark.parametrize("page", ["energy-evidence.md", "architecture.md", "energy.md"])
def test_constants_that_a_page_quotes_are_there(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    quoted = [
        (module, name)
        for module, first, others in QUOTED.findall(text)
        for name in (first, *re.findall(r"`(\w+)`", others))
    ]
    names = names_by_module({module for module, _ in quoted})
    assert quoted or page != "energy-evidence.md"
    assert [
        f"{module}.{name}" for module, name in quoted if name not in names.get(module, ())
    ] == []
