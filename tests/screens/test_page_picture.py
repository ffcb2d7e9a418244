"""`powertui RUN --svg FILE`: a page as a picture, without a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui import cli, demo
from powertui.errors import UsageError
from powertui.screens.page_picture import page_key


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8").replace("&#160;", " ")


def test_a_page_is_drawn_at_the_size_that_was_asked_for(tmp_path: Path) -> None:
    picture = tmp_path / "timeline.svg"
    options = ["--svg", str(picture), "--size", "80x24", "--at", "10.5s"]
    assert cli.main([str(demo.folder()), *options]) == 0
    drawn = text_of(picture)
    assert drawn.startswith("<svg")
    assert "python" in drawn
    assert "10.5" in drawn, "the cursor is at the moment that was asked for"
    assert [child.name for child in tmp_path.iterdir()] == ["timeline.svg"]


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
    assert page_key(words) == key


def test_an_unknown_page_is_answered_with_those_that_there_are() -> None:
    with pytest.raises(UsageError) as refused:
        page_key("nothing")
    assert "3 Findings" in refused.value.hint


@pytest.mark.parametrize("size", ["0x0", "9x9", "120", "x", "1e3x20", "9999999x9999999"])
def test_a_size_that_is_none_is_a_sentence(
    size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "x.svg"
    assert cli.main([str(demo.folder()), "--svg", str(picture), "--size", size]) == 2
    assert "120x36" in capsys.readouterr().err
    assert not picture.exists()
