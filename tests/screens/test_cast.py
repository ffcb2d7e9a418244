"""The moving picture of README shows what the program shows."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pyte
import pytest

from powertui.screens import runs
from scripts import cast


def events() -> tuple[dict[str, object], list[tuple[float, str, str]]]:
    header, *lines = cast.CAST.read_text(encoding="utf-8").splitlines()
    return json.loads(header), [tuple(json.loads(line)) for line in lines]


@pytest.mark.usefixtures("utc")
async def test_the_cast_shows_the_screens_of_today(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # its last scene writes a file
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.2)  # what is concluded is part of the cast
    frames = await cast.record()
    stored = json.loads(cast.DIGESTS.read_text(encoding="utf-8"))
    for scene, now, then in zip(cast.SCENES, cast.digests(frames), stored, strict=True):
        assert now == then, f"{scene.caption!r}: this screen changed. Record it anew: make cast"
    assert [path.suffix for path in tmp_path.iterdir() if path.is_file()] == [".svg"]


def test_the_animation_is_small_shows_every_scene_and_runs_nothing() -> None:
    drawn = cast.ANIMATION.read_text(encoding="utf-8")
    assert len(drawn.encode()) <= cast.MAX_BYTES
    root = ElementTree.fromstring(drawn)
    shown = [element for element in root if element.get("id", "").startswith("f")]
    assert len(shown) == len(cast.SCENES)
    assert not [element for element in root.iter() if element.tag.endswith("script")]
    assert drawn.count("http") == 1, "the name of the format, and nothing to fetch"


def test_the_asciicast_leads_from_screen_to_screen_in_twenty_seconds() -> None:
    header, played = events()
    assert header["version"] == 2
    assert [kind for _, kind, _ in played] == ["o"] * (len(cast.SCENES) + 1)
    assert all(before[0] < after[0] for before, after in pairwise(played))
    assert 15 <= played[-1][0] <= 20
    screen = pyte.Screen(cast.COLUMNS, cast.ROWS + 1)
    stream = pyte.Stream(screen)
    said = ("[2 Time]", "+59 W", "Conv2D filter grad", "To do:", "[1 Over]", "Export.", "Wrote ")
    for (_, _, text), words in zip(played, said, strict=False):
        stream.feed(text)
        assert any(words in line for line in screen.display), words


def test_readme_begins_with_it() -> None:
    readme = (cast.ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.index("docs/pictures/demo.svg") < readme.index("## Start")
