"""The examples of CONTRIBUTING.md do what the page says."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

import powertui
from powertui import cli, verbs
from powertui.data.formats import registry

ROOT = Path(__file__).resolve().parents[2]


def example(heading: str) -> str:
    """The Python block of a section."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == 1, heading
    return str(blocks[0])


def add_module(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), vars(module))
    monkeypatch.setitem(sys.modules, name, module)


def test_the_format_of_the_example_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_module(monkeypatch, "powertui.data.formats.toy", example("Add a format of profiles"))
    monkeypatch.setattr(registry, "READERS", (*registry.READERS, "toy"))
    (tmp_path / "node1.toy.txt").write_text("TOY\n0 1.5 load\n1.5 2 multiply\n")
    trace = powertui.open(tmp_path / "node1.toy.txt")[0].run.traces[0]
    assert (trace.host, trace.event_count, trace.span) == ("node1", 2, (0, 2 * 10**12))
    assert cli.main(["report", str(tmp_path / "node1.toy.txt")]) == 0
    assert "2 s" in capsys.readouterr().out


def test_the_verb_of_the_example_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add_module(monkeypatch, "powertui.verbs.count", example("Add a verb"))
    monkeypatch.setattr(verbs, "VERBS", (*verbs.VERBS, "count"))
    recording = ROOT / "powertui" / "demo" / "data"
    assert cli.main(["count", str(recording)]) == 0
    printed = capsys.readouterr().out
    assert re.fullmatch(r"([\d,]+ events in \S+\n)+", printed), printed
