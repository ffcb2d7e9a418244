"""What `make demo` and `make test` do on machines that lack something: one sentence, and nothing
half made.
"""

from __future__ import annotations

import ast
import importlib.util
import platform
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/environment.py"


@pytest.fixture
def environment() -> ModuleType:
    spec = importlib.util.spec_from_file_location("environment", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_old_pythons_can_read_it() -> None:
    ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 6))


def test_an_old_python_is_told_which_one_it_takes(
    environment: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(
        environment, "sys", type("sys", (), {"version_info": (3, 9, 18), "stderr": sys.stderr})
    )
    monkeypatch.setattr(environment, "release", lambda: ["rhel", "fedora"])
    assert environment.main([str(tmp_path / "venv")]) == 1
    said = capsys.readouterr().err
    assert "needs Python 3.10 or newer" in said
    assert "make PYTHON=python3.12 demo" in said
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(
    ("like", "what"),
    [(["debian"], "apt install python3-numpy python3-pandas"), (["suse"], "docs/install.md")],
)
def test_power_without_numpy_is_told_how_to_get_it(
    environment: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    like: list[str],
    what: str,
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "ppc64le")
    monkeypatch.setattr(environment, "release", lambda: like)
    monkeypatch.setattr(environment, "version", lambda name: "")
    assert environment.main([str(tmp_path / "venv"), "test"]) == 1
    said = capsys.readouterr().err
    assert "no numpy and pandas for ppc64le" in said
    assert what in said
    assert said.count("\n") == 1
    assert not (tmp_path / "venv").exists()


def test_power_with_older_ones_is_told_which(
    environment: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Ubuntu 22.04: installing what is installed would not help."""
    monkeypatch.setattr(platform, "machine", lambda: "ppc64le")
    monkeypatch.setattr(environment, "release", lambda: ["ubuntu", "debian"])
    monkeypatch.setattr(environment, "version", {"numpy": "1.21.5", "pandas": "1.3.5"}.get)
    assert environment.main([str(tmp_path / "venv")]) == 1
    said = capsys.readouterr().err
    assert "too old (numpy 1.21.5, pandas 1.3.5; needed: numpy 1.24 and pandas 1.5)" in said
    assert "apt install" not in said


def test_power_with_both_sees_those_of_the_distribution(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(platform, "machine", lambda: "ppc64le")
    monkeypatch.setattr(environment.subprocess, "call", lambda command: called.append(command) or 0)
    assert environment.fits("numpy", (1, 24))
    assert environment.main([str(tmp_path / "venv")]) == 0
    assert "--system-site-packages" in called[0]
    assert called[1][-1] == "."
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    assert environment.main([str(tmp_path / "venv"), "dev"]) == 0
    assert "--system-site-packages" not in called[2]
    assert called[3][-1] == ".[dev]"


def test_a_package_that_is_too_old_does_not_fit(environment: ModuleType) -> None:
    assert not environment.fits("numpy", (99, 0))
    assert not environment.fits("no_such_package_at_all", (0, 1))


def test_nothing_is_imported_from_the_folder_that_make_runs_in(
    environment: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A checkout may hold a re.py, say, or an argparse.py. The options of both commands are tried on
    a module that imports the latter.
    """
    (tmp_path / "argparse.py").write_text("raise SystemExit('imported')")
    run_here: list[int] = []

    def call(command: list[str]) -> int:
        python, *options = command[: command.index("-m")]
        assert Path(python).name.startswith("python")
        asked = [sys.executable, *options, "-m", "tokenize", "--help"]
        run_here.append(subprocess.run(asked, cwd=tmp_path, capture_output=True).returncode)
        return run_here[-1]

    monkeypatch.setattr(environment.subprocess, "call", call)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.chdir(tmp_path)
    assert environment.main(["venv"]) == 0
    assert run_here == [0, 0]
