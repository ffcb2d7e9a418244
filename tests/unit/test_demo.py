from __future__ import annotations

import argparse
import gzip
import importlib
import json
import runpy
import shutil
from pathlib import Path

import pytest

from powertui import demo
from powertui.cli import main
from powertui.data import logdir
from powertui.data.asked import Aligning
from powertui.data.energy.account import energy_account
from powertui.data.formats import tfevents
from powertui.data.model import Badge
from powertui.data.opened import Opened
from powertui.data.power import registry as power
from powertui.data.training import edge_placing
from powertui.data.training.training import Trainings
from powertui.errors import UnreadableFile
from powertui.feed import ReplayFeed

pytestmark = pytest.mark.usefixtures("worked_out_once", "read_once")

SCRIPT = Path(__file__).parents[2] / "scripts/make_demo.py"


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_recording_is_small_enough_to_ship() -> None:
    assert sum(len(content) for content in files(demo.folder()).values()) <= 2_000_000


def test_the_report_says_where_the_watts_come_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--report"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "simulated sensor that followed the real CPU load" in lines[0]
    facts = [line.split() for line in lines]
    assert any(words[:2] == ["steps", "200:"] for words in facts)
    assert any(words[:2] == ["power", "watts:"] for words in facts)


def test_the_page_of_the_report_shows_what_the_demo_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo", "--report"]) == 0
    page = (Path(__file__).parents[2] / "docs" / "report.md").read_text("utf-8")
    shown = page.split("$ powertui demo --report\n")[1].split("```")[0]
    out, err = capsys.readouterr()
    assert shown == out + err


def test_a_session_lies_where_its_own_clock_says_also_when_its_trace_was_let_go() -> None:
    """The report reads one session after another: each is let go before the next, and the training
    comes last.
    """
    found = logdir.scan(demo.folder())
    trainings = Trainings(found)
    before = [one.start for one in trainings.all[0].islands]
    for opened in trainings.each(found.runs):
        assert opened.run.traces
    (island,) = trainings.all[0].islands
    assert not trainings.all[0].read_sessions()
    assert island.start is not None
    assert island.start.half_ns <= 1_000_000
    assert [island.start] != before


def test_the_report_as_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--report", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert (run["events"], run["steps"], run["epochs"]) == (179_470, 200, 2)


def test_power_lies_where_readers_find_it() -> None:
    log = power.load(str(demo.power_file()))
    assert [len(series) for series in log.series] == [175]
    assert log.series[0].clock.known


def test_the_screens_get_the_recording_and_the_note(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[argparse.Namespace, str]] = []

    def opened(args: argparse.Namespace, notice: str) -> int:
        seen.append((args, notice))
        return 7

    monkeypatch.setattr(importlib.import_module("powertui.verbs.open"), "run", opened)
    assert main(["demo", "--glyphs", "ascii"]) == 7
    ((args, notice),) = seen
    assert args.path == str(demo.folder())
    assert args.glyphs == "ascii"
    assert notice == demo.NOTE
    assert args.run is None
    assert args.power == []


def test_a_missing_recording_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "_DATA", tmp_path / "gone")
    with pytest.raises(UnreadableFile, match="missing from this installation"):
        demo.folder()
    assert main(["demo", "--report"]) == 3
    assert "pip install" in capsys.readouterr().err


def test_the_script_makes_the_same_recording_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From what ships, unpacked: the trimmed records stay as they are, and gzip depends on the
    content alone.
    """
    source = tmp_path / "source"
    shutil.copytree(demo.folder(), source)
    (packed,) = source.rglob("*.xplane.pb.gz")
    packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    for target in (tmp_path / "first", tmp_path / "second"):
        monkeypatch.setattr("sys.argv", [str(SCRIPT), str(source), "-o", str(target)])
        with pytest.raises(SystemExit) as done:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        assert done.value.code == 0
    first, second, shipped = (
        files(tmp_path / "first"),
        files(tmp_path / "second"),
        files(demo.folder()),
    )
    assert first == second
    assert list(first) == list(shipped)
    for name, content in shipped.items():
        if name.endswith(".gz"):  # zlib of another version may pack otherwise
            assert gzip.decompress(first[name]) == gzip.decompress(content)
        else:
            assert first[name] == content


def test_the_script_leaves_out_graphs_and_nothing_else(shared_data: Path, tmp_path: Path) -> None:
    make = runpy.run_path(str(SCRIPT))
    (original,) = (shared_data / "own/two_epochs_with_burst").glob("logs/**/train/events*")
    trimmed = tmp_path / original.name
    trimmed.write_bytes(b"".join(make["trimmed"](original.read_bytes())))
    before, after = tfevents.read(str(original)), tfevents.read(str(trimmed))
    assert trimmed.stat().st_size < original.stat().st_size / 50
    assert (before.batches, before.keras_graph_ns, before.records) == (
        after.batches,
        after.keras_graph_ns,
        after.records,
    )
    assert [(s.tag, s.values.tolist()) for s in before.scalars] == [
        (s.tag, s.values.tolist()) for s in after.scalars
    ]
    assert not after.warnings
    assert (
        trimmed.read_bytes()
        == files(demo.folder())[
            str(original.relative_to(shared_data / "own/two_epochs_with_burst"))
        ]
    )


def test_a_clock_is_held_against_the_epochs_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Power is placed once more when the session was read, which changes no epoch."""
    weighed: list[int] = []
    weights_of_edges = edge_placing._weights_of_edges

    def counted(*args):
        weighed.append(1)
        return weights_of_edges(*args)

    monkeypatch.setattr(edge_placing, "_weights_of_edges", counted)
    assert main(["demo", "--report"]) == 0
    assert "power" in capsys.readouterr().out
    assert len(weighed) == 1


def test_a_page_of_the_demo_is_drawn_as_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "steps.svg"
    command = ["demo", "--svg", str(picture), "--page", "steps", "--size", "80x24"]
    assert main(command) == 0
    assert "80x24 cells" in capsys.readouterr().err
    assert "a mean step draws 23.08 J" in picture.read_text().replace("\xa0", " ")
    assert main(command) != 0  # what is there is not replaced
    assert main([*command, "--force"]) == 0


def test_no_joule_of_the_simulated_sensor_is_called_measured(tmp_path: Path) -> None:
    """One rule, where the log is read: all that is made of it says so, its replay too."""
    (entry,) = logdir.scan(demo.folder()).runs
    opened = Opened(entry)
    account = energy_account(opened.profiles[0], Aligning())
    energies = [account.energy(*account.trace.span)]
    energies += [epoch.energy for epoch in account.epoch_energies]
    assert {energy.badge for energy in energies} == {Badge.SIMULATED}
    assert demo.power_file() == power.SIMULATED_LOG
    series = power.load(str(demo.power_file())).series
    assert ReplayFeed(series, "demo").is_simulated
    copied = tmp_path / "power.csv"
    copied.write_bytes(demo.power_file().read_bytes())
    of_a_copy = power.load(str(copied)).series
    assert not ReplayFeed(of_a_copy, "a log of nobody knows what").is_simulated
