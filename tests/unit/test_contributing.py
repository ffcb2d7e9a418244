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
from powertui.data.power import dialects
from powertui.data.power import registry as power_registry
from powertui.data.tools import registry as tools
from powertui.sampler import schemes
from powertui.sampler.source import Options, open_source

ROOT = Path(__file__).resolve().parents[2]


def examples(heading: str, page: str = "CONTRIBUTING.md") -> list[str]:
    """The Python blocks of a section."""
    text = (ROOT / page).read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def example(heading: str) -> str:
    """The only one."""
    (block,) = examples(heading)
    return block


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


def test_the_tool_of_the_example_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, row = examples("Add a tool", "docs/tools.md")
    add_module(monkeypatch, "powertui.data.tools.longest", module)
    (tool,) = eval(f"[{row}]", {"Tool": tools.Tool, "_HERE": "powertui.data.tools"})
    monkeypatch.setattr(tools, "TOOLS", (*tools.TOOLS, tool))
    recording = ROOT / "tests" / "data" / "logdirs" / "jax_cpu"
    assert cli.main(["report", str(recording), "--tool", "longest", "--csv"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header == "line,name,duration_s"
    assert "python,$contextlib.py:141 __exit__,0.006765659000" in rows


def test_the_dialect_of_the_example_is_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = eval(example("Add a dialect of power logs"), vars(dialects))
    monkeypatch.setattr(power_registry, "DIALECTS", (row, *dialects.DIALECTS))
    log = tmp_path / "log.csv"
    lines = [f"{1_763_726_400 + second},1.0,{200 + second}" for second in range(6)]
    log.write_text("\n".join(("toy_start,toy_seconds,toy_joules", *lines)) + "\n")
    (series,) = power_registry.load(str(log)).series
    assert len(series) == 7
    assert series.watts[1:].tolist() == [200.0, 201.0, 202.0, 203.0, 204.0, 205.0]


def test_the_source_of_the_example_measures_and_tells_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_module(monkeypatch, "powertui.sampler.toy", example("Add a power source"))
    toy = schemes.Scheme("toy:make", "toy:", "toy:")
    monkeypatch.setitem(schemes.SCHEMES, "toy", toy)
    for name, text in (("left", "245000"), ("right", "not a number")):
        file = tmp_path / "sys" / "class" / "toy" / name / "power_mw"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    source = open_source("toy:", Options(root=str(tmp_path)))
    assert [channel.name for channel in source.open().channels] == ["left", "right"]
    left, right = source.read()
    assert (left.watts, left.quality) == (245.0, "ok")
    assert right.watts is None
    assert right.quality.startswith("none:")
    source.close()
