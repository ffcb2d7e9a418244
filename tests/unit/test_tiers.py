"""Which tests `make quick`, `make test` and `make check` run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def listed(name: str) -> list[str]:
    lines = (ROOT / "tests" / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def commands(target: str) -> str:
    """What make would run, with the environment taken for made."""
    made = ["-o", ".venv/.program", "-o", ".venv/.tests", "-o", ".venv/.ready"]
    command = ["make", "--dry-run", *made, target]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", ["quick.txt", "slow.txt"])
def test_the_files_of_a_tier_are_there_once_and_sorted(name: str) -> None:
    files = listed(name)
    assert files == sorted(set(files))
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_nothing_is_quick_and_slow() -> None:
    assert not set(listed("quick.txt")) & set(listed("slow.txt"))


def test_make_check_runs_what_make_test_leaves_out() -> None:
    left_out = [*listed("slow.txt"), "tests/e2e", "tests/monkey"]
    test, check = commands("test"), commands("check")
    for path in left_out:
        assert f"--ignore {path}" in test
        assert f" {path}" in check.replace(f"--ignore {path}", "")
