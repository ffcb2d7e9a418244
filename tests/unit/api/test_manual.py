"""What the manual says of the library is so: every name is told, every example runs as it
stands.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import powertui
from powertui import api, demo, errors
from powertui.sampler.runner import CommandNotFound

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

ROOT = Path(__file__).parents[3]


def test_importing_everything_leaves_open_alone() -> None:
    for module in ("powertui", "powertui.api"):
        code = f"import builtins\nfrom {module} import *\nassert open is builtins.open"
        subprocess.run([sys.executable, "-c", code], check=True)
    assert "open" in dir(powertui)
    assert {"record", "libipmi"} <= set(powertui.__all__)


def test_the_tree_of_errors_is_the_one_that_is_drawn() -> None:
    drawn: dict[str, tuple[str, int]] = {}  # name → its base, its exit code
    above: list[str] = []
    for indent, name, code in re.findall(
        r"^    ([│├└─ ]*)(\w+) +(\d+) +\S", errors.__doc__ or "", re.MULTILINE
    ):
        del above[len(indent) // 4 :]
        drawn[name] = (above[-1] if above else "Exception", int(code))
        above.append(name)
    assert set(drawn) == {*errors.__all__, "CommandNotFound"}
    for name, (base, code) in drawn.items():
        kind = getattr(errors, name, CommandNotFound)
        assert kind.__base__.__name__ == base, name
        assert name == "CommandNotFound" or kind.exit_code == code, name


# ── the manual ───────────────────────────────────────────────────────────────────────────────────


def examples() -> list[tuple[str, str]]:
    """Every block of Python in README and docs that opens runs.

    Those that record need a sensor and are tested elsewhere.
    """
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        found += [
            (page.name, block)
            for block in blocks
            if "powertui.open(" in block and "powertui.record(" not in block
        ]
    return found


def test_the_manual_names_all_that_there_is() -> None:
    """Every property, method and filter of what `powertui.open()` gives."""
    page = (ROOT / "docs" / "library.md").read_text()
    names = set()
    for kind in (api.Runs, api.RunView, api.TraceView, api.TrainingView):
        for name, value in vars(kind).items():
            if not name.startswith("_"):
                names.add(name)
                if callable(value):
                    asked = inspect.signature(value).parameters.values()
                    names |= {
                        one.name for one in asked if one.kind is inspect.Parameter.KEYWORD_ONLY
                    }
    names |= set(inspect.signature(api.open).parameters)
    assert {"steps", "tool", "compat", "trainings"} <= names
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", page)) == []


def test_the_manual_has_examples() -> None:
    assert {"README.md", "library.md"} <= {page for page, _ in examples()}


@pytest.mark.parametrize(
    ("page", "block"), [pytest.param(*one, id=f"{one[0]}-{i}") for i, one in enumerate(examples())]
)
def test_the_manual_shows_what_works(
    page: str, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line runs as it stands there, with the demo for ~/logs, and none of them comes up
    empty.
    """
    (tmp_path / "logs").symlink_to(demo.folder())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)  # some lines write a file
    known: dict[str, object] = {}
    for statement in ast.parse(block, page).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), page, "eval"), known)
            assert not isinstance(value, pd.DataFrame) or not value.empty, ast.unparse(statement)
        else:
            exec(compile(ast.Module([statement], []), page, "exec"), known)
