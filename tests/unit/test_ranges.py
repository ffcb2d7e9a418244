"""`make ranges`: the ends of what pyproject.toml allows, and the tests that feel them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ranges() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ranges", ROOT / "scripts/ranges.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_oldest_are_the_lower_bounds_of_every_dependency(
    ranges: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "sys", SimpleNamespace(version_info=(3, 11, 2)))
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text.partition("\ndependencies = [")[2].partition("\n]")[0]
    block += "\n  " + text.partition("\nparquet = [")[2].partition("]")[0]
    bounds = dict(re.findall(r'^  "([\w-]+)(?:\[\w+\])?>=([\d.]+)', block, re.MULTILINE))
    del bounds["tomli"]  # of Python 3.10 alone
    pins = dict(pin.split("==") for pin in ranges.oldest())
    assert {name.partition("[")[0]: pin.removesuffix(".*") for name, pin in pins.items()} == bounds
    assert {"numpy", "pandas", "textual", "protobuf", "h2", "pyarrow"} <= set(bounds)


def test_a_python_without_wheels_of_the_oldest_numpy_compiles_none(
    ranges: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "sys", SimpleNamespace(version_info=(3, 12, 0)))
    assert not [pin for pin in ranges.oldest() if pin.startswith(("numpy", "pandas"))]


def test_its_tests_are_there_and_the_ci_runs_them(ranges: ModuleType) -> None:
    assert [path for path in ranges.TESTS if not (ROOT / path).exists()] == []
    commands = (ROOT / ".ci/run").read_text(encoding="utf-8").split("\n")
    assert [command for command in commands if command.startswith("make ranges")]
