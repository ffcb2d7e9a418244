"""Pictures of the pages that no other file draws, at 80×24, 120×36 and 200×50."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from powertui import demo
from powertui.screens.shell import Shell
from powertui.widgets.lines import LinesPane
from powertui.widgets.table import TableView

from .conftest import Maker, loaded, settled

SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50)}
PAGES = {  # page → what is opened, and the keys that lead there
    "search": ("demo", ("slash", *"MatMul", "enter", "b")),
    "what-took-longer": ("demo", ("6", "s", "down", "i")),
    "grouped": ("demo", ("5", "g", "enter", "down")),
    "nothing-sampled": ("demo", ("9",)),
    "power-alone": (demo.power_file(), ("1",)),
    "power-sensors": (demo.power_file(), ("1", "right")),
    "power-no-profile": (demo.power_file(), ("5",)),
}


def without_paths(shell: Shell) -> None:
    """A picture is the same wherever the checkout lies."""
    for pane in shell.screen.query("#notes"):
        assert isinstance(pane, LinesPane)
        pane.set_lines(())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page(snap_compare: Any, make: Maker, page: str, size: str) -> None:
    path, keys = PAGES[page]
    shell = make(path)

    async def before(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        shell.say("")
        without_paths(shell)
        await settled(pilot)

    assert snap_compare(shell, terminal_size=SIZES[size], run_before=before)


@pytest.mark.parametrize("size", SIZES)
def test_the_runs(snap_compare: Any, make: Maker, size: str) -> None:
    from .test_open import concluded

    shell = make("logdirs")

    async def before(pilot: Pilot[Any]) -> None:
        await pilot.pause()
        assert shell.session.logdir is not None
        await concluded(shell, len(shell.session.logdir.runs))
        shell.screen.query_one("#title").update(" logdirs")  # type: ignore[attr-defined]
        shell.session.logdir = replace(shell.session.logdir, path="logdirs")
        await pilot.press("space")
        shell.say("")
        shell.screen.top_line()  # type: ignore[attr-defined]
        await settled(pilot)

    assert snap_compare(shell, terminal_size=SIZES[size], run_before=before)


async def test_a_power_log_alone_has_an_overview_whose_windows_can_be_gone_to(
    make: Maker, data: Path
) -> None:
    """What was measured, what it came to, what the recording marked; Enter makes a row the window
    of the timeline.
    """
    shell = make(data / "power" / "recording.csv")
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("1")
        await settled(pilot)
        view = shell.screen.query_one("#rows", TableView)
        assert view.table is not None
        assert [view.table["name"].text(row) for row in range(len(view.table))] == [
            "everything",
            "epoch 1",
        ]
        assert view.table["joules"].text(0) == "555.5 J"
        assert view.table["joules"].text(1) == "", "a moment draws nothing that could be told"
        await pilot.press("enter")
        await settled(pilot)
        page = shell.current()
        assert page is not None
        assert page.page_name == "timeline"
        place = view.table.place(0)
        assert place is not None
        assert shell.session.window == (place.lo, place.hi)
