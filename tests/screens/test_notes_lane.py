"""`C` on the timeline: a note is written, shown in a lane and beside it, changed and deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.notes import run_notes
from powertui.view.navigation import Navigator
from powertui.widgets.context_pane import ContextPane
from tests.screens.conftest import Maker, loaded, settled, timeline_screen


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))


async def test_a_note_is_written_changed_and_deleted(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        lane = page.view.notes
        assert not lane.display, "a run without notes has no lane for them"
        page.timeline.move(Navigator.set_window, 10**13, 2 * 10**13)
        await pilot.press("C", *"slow here", "enter")
        await settled(pilot)
        assert "kept in your own folder" in next(iter(shell.messages)).text
        entry = shell.session.entry
        assert entry is not None
        (note,) = run_notes(entry).notes
        assert (note.text, note.lo, note.hi, note.host) == ("slow here", 10**13, 2 * 10**13, "")
        assert lane.display
        assert "slow here" in "".join(segment.text for segment in lane.cells(0))
        context = page.query_one(ContextPane).context
        assert context is not None
        assert context.sections[0].title == "notes"
        assert context.sections[0].facts[0].value == "slow here"
        await pilot.press("C", *", very", "enter")
        await settled(pilot)
        assert [note.text for note in run_notes(entry).notes] == ["slow here, very"]
        await pilot.press("C", *["backspace"] * len("slow here, very"), "enter")
        await settled(pilot)
        assert run_notes(entry).notes == ()
        assert not lane.display


async def test_escape_keeps_nothing(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("C", *"no", "escape")
        await settled(pilot)
        assert shell.session.entry is not None
        assert run_notes(shell.session.entry).notes == ()


async def test_a_damaged_file_is_said_and_the_rest_is_drawn(make: Maker, tmp_path: Path) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("C", *"one", "enter")
        await settled(pilot)
    (path,) = (tmp_path / "own" / "powertui" / "notes").iterdir()
    with path.open("ab") as file:
        file.write(b"{torn")
    again = make()
    async with again.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        assert "1 line of" in next(iter(again.messages)).text
        lane = timeline_screen(again).view.notes
        assert [mark.name for mark in lane.marks] == ["one"]
        assert lane.marks[0].end_ps is None
