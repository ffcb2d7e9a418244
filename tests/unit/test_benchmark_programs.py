"""What programs that benchmarks start in processes of their own import: nothing else notices a name
that went.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Iterator
from itertools import chain
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


def unbound(*programs: ast.AST) -> set[str]:
    """Names that programs use, and that nothing in them or in Python defines: some are put
    together from two texts of a file.
    """
    bound = set(dir(builtins)) | {"__name__", "__file__"}
    used: set[str] = set()
    for node in chain.from_iterable(map(ast.walk, programs)):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
        elif isinstance(node, ast.Set):
            # A place that the benchmark fills in: `{port}`.
            bound.update(part.id for part in node.elts if isinstance(part, ast.Name))
    return used - bound


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_a_program_of_a_benchmark_defines_the_names_that_it_uses(path: Path) -> None:
    assert not unbound(*programs(path))


def test_a_name_that_nothing_defines_is_found() -> None:
    program = ast.parse("from powertui import cli\nfor each in cli.VERBS:\n    common.run(each)\n")
    assert unbound(program) == {"common"}


def test_a_program_in_a_text_is_found(tmp_path: Path) -> None:
    file = tmp_path / "bench_some.py"
    file.write_text("PROGRAM = 'from powertui.data import lod'\nWORDS = 'an import of power'\n")
    (program,) = programs(file)
    assert list(imported(program)) == [("powertui.data", "lod")]
