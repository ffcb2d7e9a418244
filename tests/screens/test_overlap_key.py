"""`I` on a selected event: what runs at the same time."""

from __future__ import annotations

from textual.widgets import Static

from powertui.screens.timeline import TimelineScreen
from tests.waiting import until_then

from .conftest import Maker, loaded


async def test_i_shows_what_overlaps_the_selected_event(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("2")
        await until_then(lambda: isinstance(pilot.app.screen, TimelineScreen))
        await pilot.press("down", "right")  # an event of the first line
        page = pilot.app.screen
        assert isinstance(page, TimelineScreen)
        await until_then(lambda: page.timeline.selection is not None)
        selected = page.timeline.selection
        assert selected is not None
        assert shell.session.model is not None
        lo, hi = shell.session.model.extent(selected)
        await pilot.press("I")

        def title() -> str:
            titles = pilot.app.screen.query("#title")
            return str(titles.first(Static).content) if titles else ""

        await until_then(lambda: "Overlap" in title(), title)
        assert shell.session.window == (lo, max(hi, lo + 1))
