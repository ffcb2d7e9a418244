"""Pages that a script writes: `run.html()` and `powertui.compare(...).html()`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui.data import logdir
from powertui.data.notes import add_note
from powertui.errors import UsageError
from tests.synthetic.step_world import step_series, write_run


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    rng = np.random.default_rng(33)
    for side in "ab":
        steps = 0.01 * step_series("white", 20, rng)
        write_run(tmp_path / side, steps, {"aten::mm": 0.5})
    return tmp_path / "a", tmp_path / "b"


def note(folder: Path, words: str) -> None:
    (entry,) = (entry for entry in logdir.scan(str(folder)).runs if entry.profiles)
    add_note(entry, words, None)


def test_a_comparison_is_written_with_the_notes_of_both_runs(runs: tuple[Path, Path]) -> None:
    for folder, words in zip(runs, ("before <b>", "after"), strict=True):
        note(folder, words)
    path = runs[0].parent / "compared.html"
    compared = powertui.compare(*runs)
    compared.html(path)
    page = path.read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<dt>A: whole run</dt><dd>before &lt;b&gt;</dd>" in page
    assert "<dt>B: whole run</dt><dd>after</dd>" in page
    with pytest.raises(UsageError, match="exists"):
        compared.html(path)
    compared.html(path, force=True)


def test_a_run_is_written_as_the_report_does(
    runs: tuple[Path, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    note(runs[0], "warm room")
    path = runs[0].parent / "run.html"
    powertui.open(runs[0])[0].html(path)
    # A script's output is its own.
    assert capfd.readouterr() == ("", "")
    assert "<dt>whole run</dt><dd>warm room</dd>" in path.read_text()
