"""The examples of CONTRIBUTING.md do what the page says."""

from __future__ import annotations

import re
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

import powertui
from powertui import cli, verbs
from powertui.data.energy.measured_energy import unresolved
from powertui.data.formats import registry
from powertui.data.model import Z95, Scope
from powertui.data.power import dialects
from powertui.data.power import registry as power_registry
from powertui.data.tools import registry as tools
from powertui.report.energy_figures import json_energy
from powertui.sampler import schemes
from powertui.sampler.source import Options, open_source

ROOT = Path(__file__).resolve().parents[2]
_ENERGY = replace(
    unresolved(0, 10**12, ""), joules=300.0, lo=296.0, hi=304.0, resolved=True, sigma_edges=2.0
)


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
    energy_row, _ = examples("Add a dialect of power logs")
    row = eval(energy_row, vars(dialects))
    monkeypatch.setattr(power_registry, "DIALECTS", (row, *dialects.DIALECTS))
    log = tmp_path / "log.csv"
    lines = [f"{1_763_726_400 + second},1.0,{200 + second}" for second in range(6)]
    log.write_text("\n".join(("toy_start,toy_seconds,toy_joules", *lines)) + "\n")
    (series,) = power_registry.load(str(log)).series
    assert len(series) == 7
    assert series.watts[1:].tolist() == [200.0, 201.0, 202.0, 203.0, 204.0, 205.0]


def test_the_table_of_the_example_says_what_its_columns_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log.csv"
    lines = [f"03.02.2026 10:00:{second:02},230,{200 + second}" for second in range(6)]
    log.write_text("\n".join(("time,toy volts,toy power (W)", *lines)) + "\n")
    assert power_registry.load(str(log)).series[0].sensor.scope is not Scope.PLUG
    _, plain_row = examples("Add a dialect of power logs")
    row = eval(plain_row, vars(dialects))
    monkeypatch.setattr(power_registry, "DIALECTS", (row, *dialects.DIALECTS))
    (series,) = power_registry.load(str(log)).series
    assert series.sensor.scope is Scope.PLUG
    assert series.watts.tolist() == [200.0, 201.0, 202.0, 203.0, 204.0, 205.0]
    noon_of_3_february_ns = 1_770_112_800 * 10**9
    assert abs(series.clock.mid_ns - noon_of_3_february_ns) < 24 * 3600 * 10**9


def test_the_key_of_the_example_is_a_line_of_an_energy() -> None:
    line = example("Add a key to a JSON")
    for energy, half in ((unresolved(0, 10**12, "no power"), None), (_ENERGY, 2.0 * Z95)):
        assert eval("{" + line + "}", {"energy": energy})["half_joules"] == pytest.approx(half)


def test_an_energy_has_the_same_keys_in_the_same_order_where_there_is_none() -> None:
    assert list(json_energy(None)) == list(json_energy(_ENERGY))


def test_the_places_of_the_json_are_there() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("| answer | made in |")[2].partition("\n\n")[0]
    for row in table.splitlines()[2:]:
        cell = row.strip("|").split("|")[1]
        file = ""
        for name in re.findall(r"`([\w/.]+)`", cell):
            if name.endswith(".py"):
                file = (ROOT / "powertui" / name).read_text(encoding="utf-8")
            elif "/" not in name and name.islower():
                assert f"def {name}(" in file, name


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
