"""The engine behind `make mutants`: a planted fault is found, what no test tells survives, and the
checkout stays as it is.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/mutants.py"


@pytest.fixture(scope="module")
def mutants() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutants", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    return module


SOURCE = "def half(x):\n    if x < 0:\n        return 0\n    return x / 2\n"


def test_a_planted_mutant_is_found_and_the_checkout_untouched(
    mutants: ModuleType, tmp_path: Path
) -> None:
    root = tmp_path / "checkout"
    (root / "powertui").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "powertui/__init__.py").write_text("")
    (root / "powertui/part.py").write_text(SOURCE)
    (root / "tests/test_part.py").write_text(
        "from powertui.part import half\n\ndef test_half():\n    assert half(4) == 2\n"
    )
    (root / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\nasyncio_default_fixture_loop_scope = '
        '"function"\n'
    )
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    bench = mutants.Bench(root, tmp_path / "copy")
    place = "powertui/part.py", "half"
    assert "test_half" in bench.killed(
        mutants.Mutant(*place, "return x / 2", "return x * 2"), ("tests",)
    )
    assert bench.killed(mutants.Mutant(*place, "if x < 0:", "if x <= 0:"), ("tests",)) == ""
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_a_line_that_is_gone_is_said(mutants: ModuleType) -> None:
    with pytest.raises(mutants.Broken, match="0 times"):
        mutants.applied(mutants.Mutant("a.py", "half", "return x / 3", "pass"), SOURCE)
    moved = "import os\n\n\n" + SOURCE
    assert "x * 2" in mutants.applied(
        mutants.Mutant("a.py", "half", "return x / 2", "return x * 2"), moved
    )
