"""What programs that benchmarks start in processes of their own import: nothing else notices a name
that went.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def programs(path: Path) -> Iterator[ast.Module]:
    """The texts of a file that import something: what a benchmark hands to another process."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if "import" not in node.value:
                continue
            try:
                yield ast.parse(node.value)
            except SyntaxError:
                continue  # it is no program


def imported(program: ast.Module) -> Iterator[tuple[str, str]]:
    """(module, name) of what a program imports from powertui."""
    for node in ast.walk(program):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "powertui":
            for alias in node.names:
                yield node.module or "", alias.name


# By file, and each is read by its test: every process that runs tests collects all of them.
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_what_a_program_of_a_benchmark_imports_is_there(path: Path) -> None:
    for program in programs(path):
        for module, name in imported(program):
            there = importlib.import_module(module)
            assert hasattr(there, name) or importlib.import_module(f"{module}.{name}")


def test_a_program_in_a_text_is_found(tmp_path: Path) -> None:
    file = tmp_path / "bench_some.py"
    file.write_text("PROGRAM = 'from powertui.data import lod'\nWORDS = 'an import of power'\n")
    (program,) = programs(file)
    assert list(imported(program)) == [("powertui.data", "lod")]
