"""What the profiler stored itself, on the page of the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from powertui.screens.tool import ToolScreen
from powertui.widgets.table import TableView
from tests.waiting import until_then

from .conftest import Maker, loaded


def titled(pilot: Pilot[Any]) -> str:
    """The title of the page in front, once it has one."""
    titles = pilot.app.screen.query("#title")
    return str(titles.first(Static).content) if titles else ""


async def test_r_leads_from_ours_to_the_recorded_page_and_its_differences(
    make: Maker, shared_data: Path
) -> None:
    shell = make(shared_data / "public" / "e4040_hd2551")
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        shell.show_tool("framework_op_stats")
        for key, title, rows in (
            ("", "Ops, with idle time (table 1 of 2)", 186),
            ("r", "With idle time (recorded) (table 1 of 2)", 185),
            ("r", "Cells that differ (table 1 of 2)", 97),
            ("r", "Ops, with idle time (table 1 of 2)", 186),
        ):
            if key:
                await pilot.press(key)

            def shown() -> str:
                return titled(pilot)

            def is_shown(title: str = title) -> bool:
                page = pilot.app.screen
                return isinstance(page, ToolScreen) and title in shown()

            await until_then(is_shown, shown)
            table = pilot.app.screen.query_one("#rows", TableView).table
            assert table is not None
            assert len(table) == rows


async def test_a_run_without_a_profile_says_where_its_recorded_pages_are(
    make: Maker, shared_data: Path
) -> None:
    shell = make(shared_data / "public" / "tpu_v2_json_tools")
    async with shell.run_test(size=(120, 36)) as pilot:
        await until_then(lambda: bool(pilot.app.screen.query("#title")))
        await pilot.press("enter")  # nothing in it has times: the list of runs is in front
        await until_then(lambda: shell.session.complete)
        await pilot.press("1")
        await until_then(lambda: "recorded" in titled(pilot), lambda: titled(pilot))
        await pilot.press("r")  # there is no profile to hold it against
        await until_then(
            lambda: any("stored no result" in message.text for message in shell.messages)
        )
