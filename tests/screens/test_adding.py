"""What CONTRIBUTING promises: a dialect, a verb, a page is one file and one line.

The same of tools is in test_tool_page, of formats in formats/test_registry, of power sources in
sampler/test_schemes.
"""

from __future__ import annotations

import argparse
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from textual.app import ComposeResult

from powertui import cli, completion, verbs
from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import assemble, column_times, dialects, registry
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.screens import SCREENS, ScreenSpec
from powertui.screens.base import BaseScreen
from powertui.screens.palette import Palette
from powertui.screens.shell import Shell
from powertui.widgets.lines import LinesPane

from .conftest import Maker, loaded, settled


def _module(monkeypatch: pytest.MonkeyPatch, name: str, **content: object) -> None:
    module = types.ModuleType(name)
    vars(module).update(content)
    monkeypatch.setitem(sys.modules, name, module)


def test_a_dialect_of_power_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def sniff(head: str | bytes, _path: str) -> int:
        return 100 if isinstance(head, str) and head.startswith("TOYWATTS") else 0

    def load(source: LogFile, options: LogColumns) -> PowerLog:
        rows = [line.split() for line in source.text.splitlines()[1:]]
        column, watts = (
            column_times.from_texts([row[0] for row in rows]),
            np.array([float(row[1]) for row in rows]),
        )
        ns, clock = assemble.zeroed(column, column.ok)
        sensor = Sensor("toy", "toywatts", Scope.NODE, options.host)
        series = assemble.power_series(
            sensor, ns, watts[column.ok], clock=clock, notes=Notes(source.path)
        )
        return PowerLog(source.path, "toywatts", (series,), (), "toywatts: Unix seconds and watts")

    _module(monkeypatch, "powertui.data.power.toywatts", NAME="toywatts", sniff=sniff, load=load)
    toywatts = dialects.Dialect("toywatts", ("TOYWATTS",))
    monkeypatch.setattr(registry, "DIALECTS", (toywatts, *registry.DIALECTS))
    (tmp_path / "power.txt").write_text(
        "TOYWATTS\n" + "".join(f"{1_790_000_000 + k} {200 + k}\n" for k in range(9))
    )
    assert registry.sniff(str(tmp_path / "power.txt")) == ("toywatts", 100)
    assert cli.main(["report", str(tmp_path)]) == 0
    assert "204 W on average, 208 W at most" in capsys.readouterr().out


def test_a_verb(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--times", type=int, default=1, metavar="N", help="so often")

    def run(args: argparse.Namespace) -> int:
        print("toy " * args.times)
        return 0

    examples = (("powertui toy --times 2", "says toy twice"),)
    _module(
        monkeypatch,
        "powertui.verbs.toy",
        HELP="say toy",
        USAGE="[OPTIONS]",
        ABOUT="Toys.",
        EXAMPLES=examples,
        arguments=arguments,
        run=run,
    )
    monkeypatch.setattr(verbs, "VERBS", (*verbs.VERBS, "toy"))
    assert cli.main(["toy", "--times", "2"]) == 0
    assert capsys.readouterr().out == "toy toy \n"
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    told = capsys.readouterr().out
    assert "    toy                say toy" in told
    assert "powertui toy --times 2" in told
    for kind in ("bash", "zsh", "fish", "man"):
        assert "times" in completion.tell(kind, cli.build_parser()), kind


class ToyScreen(BaseScreen):
    """A page of a test."""

    NAME = "toy"

    def body(self) -> ComposeResult:
        yield LinesPane(theme=self.shell.look, id="toy")


async def test_a_page(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ScreenSpec("toy", "", "Toys", f"{__name__}:ToyScreen", needs_run=False)
    for place in ("", ".frame", ".palette", ".shell"):
        monkeypatch.setattr(f"powertui.screens{place}.SCREENS", (*SCREENS, entry))
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("ctrl+p")
        await settled(pilot)
        assert isinstance(pilot.app.screen, Palette)
        await pilot.press(*"toys", "enter")
        await settled(pilot)
        assert isinstance(shell, Shell)
        assert isinstance(shell.current(), ToyScreen)
