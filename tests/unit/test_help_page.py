"""`powertui --help` is what argparse would print, at every width, and imports none of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from powertui import help_page
from powertui.cli import build_parser

ROOT = Path(__file__).resolve().parents[2]
START = "import sys; from powertui.__main__ import main; main(); print(*sys.modules)"


@pytest.mark.parametrize("columns", [*range(60, 132), 200, 400])
def test_the_page_is_as_argparse_prints_it(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert help_page.tell() == build_parser(with_arguments=False).format_help()


def test_a_narrow_terminal_gets_the_page_of_argparse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "59")
    assert help_page.tell() == ""


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_the_page_needs_no_parser(option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-S", "-c", START, option],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=True,
    )
    printed, _, modules = done.stdout.rstrip("\n").rpartition("\n")
    assert printed.startswith("usage: powertui [-h]")
    assert "exit codes: 0 done" in printed
    assert not {"argparse", "re", "typing", "signal"} & set(modules.split())


def test_other_words_beside_it_are_read_by_the_parser() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "powertui", "--help", "--version"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "40"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("usage: powertui")
