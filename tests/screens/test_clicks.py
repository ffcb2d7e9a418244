"""A click does what the thing under the pointer looks like."""

from __future__ import annotations

from typing import Any

import pytest

from powertui.screens import runs
from powertui.screens.shell import Shell
from powertui.screens.status import StatusLine
from powertui.widgets.lines import LinesPane
from tests.screens.conftest import Maker, loaded, settled
from tests.waiting import until_then


def page(shell: Shell) -> str:
    current = shell.current()
    assert current is not None
    return current.page_name


async def click_on(shell: Shell, pilot: Any, words: str) -> None:
    """Click on the first cell of these words on the bottom line."""
    status = shell.screen.query_one("#status", StatusLine)
    await pilot.click("#status", offset=(status.text.index(words), 0))
    await settled(pilot)


async def test_findings_and_the_ways_on_the_bottom_line_are_clicked(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        sentence = shell.screen.query_one("#conclusion", LinesPane)
        await until_then(lambda: bool(sentence.lines))
        await settled(pilot)
        await pilot.click("#conclusion")
        await settled(pilot)
        assert page(shell) == "symmetry"
        await pilot.click("#findings", offset=(30, 4))  # the second conclusion: chosen
        await settled(pilot)
        lines = shell.screen.query_one("#findings", LinesPane).lines
        chosen = ["".join(text for text, _ in line) for line in lines if line[0][0] == " > "]
        assert len(chosen) == 1
        assert "Computing" in chosen[0]
        await pilot.click("#findings", offset=(30, 0))
        await pilot.click("#findings", offset=(30, 0))  # the first one: chosen, then shown
        await settled(pilot)
        assert page(shell) == "timeline"
        assert shell.session.window is not None
        await pilot.press("1")
        await settled(pilot)
        await click_on(shell, pilot, "? help")
        assert page(shell) == "help"
        await click_on(shell, pilot, "Esc")
        assert page(shell) == "overview"
