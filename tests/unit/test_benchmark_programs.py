"""What programs that benchmarks start in processes of their own import: nothing else notices a name
that went.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def imported() -> list[tuple[str, str, str]]:
    """(file, module, name) of what is imported from powertui by text that a benchmark hands to
    another process.
    """
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and "import" in node.value
            ):
                try:
                    inner = ast.parse(node.value)
                except SyntaxError:
                    continue  # it is no program
                for one in ast.walk(inner):
                    if (
                        isinstance(one, ast.ImportFrom)
                        and one.module
                        and one.module.split(".")[0] == "powertui"
                    ):
                        found += [(path.name, one.module, alias.name) for alias in one.names]
    return found


@pytest.mark.parametrize(("file", "module", "name"), imported())
def test_what_a_program_of_a_benchmark_imports_is_there(file: str, module: str, name: str) -> None:
    there = importlib.import_module(module)
    assert hasattr(there, name) or importlib.import_module(f"{module}.{name}"), file
