"""Charts of ASCII letters in Markdown: the steps, the power, causes and intervals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.cli import main
from powertui.data.compare.causes import Cause
from powertui.report import compare_charts
from tests.synthetic.step_world import write_run


def fenced(document: str) -> list[str]:
    """The lines of all code fences."""
    lines, inside = [], False
    for line in document.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            lines.append(line)
    assert not inside
    return lines


def test_markdown_has_charts_of_steps_and_power(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "run", np.full(40, 0.1), {"aten::mm": 0.6, "```": 0.2}, watts=200.0)
    assert main(["report", str(tmp_path / "run"), "--md"]) == 0
    lines = fenced(capsys.readouterr().out)
    assert lines[0] == "Step time by category"
    assert "Power, node" in lines
    assert all(line.isascii() and len(line) <= 80 for line in lines)
    (levels,) = [line for line in lines if line.lstrip().startswith("0")][:1]
    assert "|HH" in levels
    assert any("idle" in line for line in lines)


def test_json_and_text_are_as_they_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "run", np.full(40, 0.1), {"aten::mm": 0.6})
    for form in ([], ["--json"], ["--csv"]):
        assert main(["report", str(tmp_path / "run"), *form]) == 0
        said = capsys.readouterr().out
        assert "charts" not in said
        assert "```" not in said


def test_causes_are_a_waterfall() -> None:
    causes = [
        Cause("category", "Host `compute`", 0.003, 0.75, None),
        Cause("category", "Input", 0.002, 0.5, None),
        Cause("category", "Output", -0.001, -0.25, None),
    ]
    assert compare_charts.waterfall_lines(causes) == [
        "Host 'compute'                |++++++++++++++++++++                        +3 ms",
        "Input                         |                   ++++++++++++++           +2 ms",
        "Output                        |                         --------           -1 ms",
        "together                      |++++++++++++++++++++++++++                  +4 ms",
    ]
