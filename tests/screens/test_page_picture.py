"""`powertui RUN --svg FILE`: a page as a picture, without a terminal."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.widgets import Input

from powertui import cli, demo
from powertui.errors import UsageError
from powertui.screens import page_named, page_picture, runs
from powertui.screens.export import ExportDialog
from powertui.terminal.svg_picture import svg_picture
from tests.screens.conftest import Maker, loaded, settled

pytestmark = pytest.mark.usefixtures("read_once")


@pytest.fixture(autouse=True)
def _news_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture waits for what is concluded from its run."""
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.01)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")


def test_a_page_is_drawn_at_the_size_that_was_asked_for(tmp_path: Path) -> None:
    picture = tmp_path / "timeline.svg"
    options = ["--svg", str(picture), "--size", "80x24", "--at", "10.5s"]
    assert cli.main([str(demo.folder()), *options]) == 0
    drawn = text_of(picture)
    assert drawn.startswith("<svg")
    assert "python" in drawn
    assert "10.5" in drawn, "the cursor is at the moment that was asked for"
    assert [child.name for child in tmp_path.iterdir()] == ["timeline.svg"]


def test_a_picture_has_its_colors_wherever_it_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NO_COLOR is about a terminal: with it a picture waited ten minutes for a page that failed."""
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli.main([str(demo.folder()), "--svg", str(tmp_path / "timeline.svg")]) == 0
    drawn = text_of(tmp_path / "timeline.svg")
    assert "python" in drawn
    assert "#b03864" in drawn, "power has its colors"


def test_a_page_is_drawn_of_the_place_that_was_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "ops.svg"
    where = ["--at", "epoch 1 step 45-71", "--page", "ops"]
    assert cli.main([str(demo.folder()), "--svg", str(picture), *where]) == 0
    drawn = text_of(picture)
    assert "Conv2D filter grad" in drawn
    assert "2.617 s" in drawn, "the ops of those steps alone"
    size_told = f"{picture.stat().st_size / 1000:.1f} kB"
    assert f"{size_told}, 120x36 cells" in capsys.readouterr().err


def test_a_page_that_was_not_worked_out_in_time_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_picture, "_MAX_WAIT_S", 0.0)
    assert cli.main([str(demo.folder()), "--svg", str(tmp_path / "early.svg")]) == 0
    told = capsys.readouterr().err
    assert "early.svg" in told
    assert "drawn before all of it was worked out" in told


@pytest.mark.parametrize("name", ["event_sets", "Event sets"])
def test_the_page_of_a_tool_is_drawn_by_its_name(tmp_path: Path, name: str) -> None:
    picture = tmp_path / "tool.svg"
    assert cli.main([str(demo.folder()), "--svg", str(picture), "--page", name]) == 0
    assert "Event sets" in text_of(picture)
    assert page_named("op_stats").name == "ops", "a tool with a page of its own"
    with pytest.raises(UsageError) as refused:
        page_named("memory_x")
    assert "or a tool" in refused.value.hint


def test_a_picture_of_the_timeline_holds_the_first_conclusion(tmp_path: Path) -> None:
    picture = tmp_path / "timeline.svg"
    assert cli.main([str(demo.folder()), "--svg", str(picture), "--size", "80x24"]) == 0
    drawn = text_of(picture)
    assert "Epoch 1, steps 46-71: +59 W for 2.52 s" in drawn
    assert "by clock" in drawn, "what aligned the power, in words that are not cut"


def test_a_picture_of_the_runs_holds_what_was_concluded_from_each(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for name in ("first", "second"):
        shutil.copytree(demo.folder(), folder / name)
    picture = tmp_path / "runs.svg"
    assert cli.main([str(folder), "--svg", str(picture), "--page", "runs"]) == 0
    drawn = text_of(picture)
    assert "2 unusual" in drawn
    assert "still to be read" not in drawn
    assert "that nothing in the profile explains" in drawn, "of the run under the cursor"


def test_a_picture_is_replaced_where_that_was_asked_for(tmp_path: Path) -> None:
    picture = tmp_path / "mine.svg"
    picture.write_text("mine")
    assert cli.main([str(demo.folder()), "--svg", str(picture), "--force"]) == 0
    assert text_of(picture).startswith("<svg")


def test_a_place_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "x.svg"
    assert cli.main([str(demo.folder()), "--svg", str(picture), "--at", "epoch 7"]) == 2
    assert "Epochs in this profile: 0, 1." in capsys.readouterr().err
    assert not picture.exists()


def test_a_picture_holds_no_more_than_what_was_on_the_screen() -> None:
    hostile = '<script>alert("x")</script>&\x1b]0;mine\x07\u202e'
    rows = [[Segment(hostile), Segment("▅▅░", Style.parse("red on #102030"))], [Segment("")]]
    drawn = svg_picture(rows, 60, "#d0d0d0", "#121212")
    root = ElementTree.fromstring(drawn)
    tags = {element.tag.partition("}")[2] for element in root.iter()}
    assert tags == {"svg", "style", "rect", "g", "text", "tspan"}
    assert "alert(" in "".join(root.itertext())
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", drawn)
    assert drawn.count("http") == 1, "the name of the format, and nothing to fetch"
    blocks = [element for element in root.iter() if element.get("fill-opacity") == "0.25"]
    assert len(blocks) == 1, "░ is a rectangle"


async def test_e_writes_the_page_that_is_in_front(make: Maker, tmp_path: Path) -> None:
    shell = make()
    target = tmp_path / "findings.svg"
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        await pilot.press("e")
        await settled(pilot)
        assert isinstance(shell.screen, ExportDialog)
        box = shell.screen.query_one(Input)
        assert box.value.endswith("-findings.svg")
        box.value = str(target)
        await pilot.press("enter")
        await settled(pilot)
        said = shell.screen.query_one("#status").message  # type: ignore[attr-defined]
    assert said == f"Wrote {target}: {target.stat().st_size / 1000:.1f} kB."
    drawn = text_of(target)
    assert "that nothing in the profile explains" in drawn
    assert "Export." not in drawn, "the page, and not the question in front of it"


def test_a_file_that_is_there_is_never_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "mine.svg"
    picture.write_text("mine")
    assert cli.main([str(demo.folder()), "--svg", str(picture), "--page", "5"]) != 0
    assert picture.read_text() == "mine"
    assert "mine.svg" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "key"), [("5", "5"), ("ops", "5"), ("Find", "3"), ("timeline", "2")]
)
def test_a_page_is_named_by_its_key_or_its_title(words: str, key: str) -> None:
    assert page_named(words).key == key


def test_an_unknown_page_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        page_named("nothing")
    assert "3 Findings" in refused.value.hint


@pytest.mark.parametrize("size", ["0x0", "9x9", "120", "x", "1e3x20", "9999999x9999999"])
def test_a_size_that_is_none_is_a_sentence(
    size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "x.svg"
    assert cli.main([str(demo.folder()), "--svg", str(picture), "--size", size]) == 2
    assert "120x36" in capsys.readouterr().err
    assert not picture.exists()


def test_joules_in_an_assumed_unit_say_so_on_the_overview(
    tmp_path: Path, shared_data: Path
) -> None:
    run = shared_data / "public/ibm_aiu/sample_flex_3062_job_4.json"
    picture = tmp_path / "overview.svg"
    options = ["--svg", str(picture), "--size", "80x24", "--page", "overview"]
    assert cli.main([str(run), *options]) == 0
    assert "138.2 mJ ± 2.0 (assumed)" in text_of(picture)


def test_the_page_of_what_was_recorded_is_drawn_where_there_is_no_profile(tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "plugins" / "neuron" / "run"
    folder.mkdir(parents=True)
    table = {"framework_ops": [["aten::linear", 3]]}
    (folder / "neuron_framework_op.json").write_text(json.dumps(table))
    picture = tmp_path / "recorded.svg"
    where = ["--svg", str(picture), "--page", "recorded_results"]
    assert cli.main([str(tmp_path / "logs"), *where]) == 0
    drawn = text_of(picture)
    assert "neuron_framework_op.json" in drawn
    assert "Open a run first" not in drawn
