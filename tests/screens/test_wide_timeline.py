"""What the view holds is beside the tracks on a wide page, and below them on a narrower one."""

from __future__ import annotations

import pytest

from powertui.screens import runs
from powertui.widgets.context_pane import ContextPane
from powertui.widgets.lines import LinesPane
from powertui.widgets.sight_pane import SightPane
from tests.waiting import until_then

from .conftest import Maker, loaded, settled, timeline_screen


def text_of(pane: LinesPane) -> str:
    return "\n".join("".join(words for words, _ in line) for line in pane.lines)


@pytest.fixture(autouse=True)
def _news_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)


async def test_a_wide_page_shows_findings_steps_and_ops_beside_the_tracks(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(200, 50)) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        below = page.query_one(SightPane)
        await until_then(lambda: "+59 W" in text_of(page.query_one(ContextPane)))
        beside = text_of(page.query_one(ContextPane))
        for title in ("At a glance", "Longest steps in view", "Top ops in view", "+59 W"):
            assert title in beside
            assert title not in text_of(below)
        assert len(text_of(below).splitlines()) <= 2  # the legend alone
        wide_rows = page.view.strips[0].size.height
        await pilot.press("c")  # the pane beside is closed: the lists go below the tracks
        await settled(pilot)
        assert "Top ops in view" in text_of(below)
        assert page.view.strips[0].size.height <= wide_rows


async def test_a_high_page_shows_them_beside_with_what_made_a_step_long(make: Maker) -> None:
    """They take rows that the pane beside the tracks has free, and power those below."""
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        await until_then(lambda: "At a glance" in text_of(page.query_one(ContextPane)))
        beside = text_of(page.query_one(ContextPane)).splitlines()
        titles = (
            "At a glance",
            "Longest steps in view, median 90.5 ms",
            "Top ops in view: share, mean",
            "Cursor",
        )
        assert [title for title in titles if title in beside] == list(titles)
        steps = beside.index(titles[1])
        assert beside[steps + 1].split() == ["epoch", "0", "step", "0", "1.52", "s", "+1582", "%"]
        assert beside[steps + 2].split() == ["tf.function-graph_building", "+639", "ms"]
        assert beside[steps + 3].startswith("epoch 1 step 74")
        assert beside[steps + 4].endswith("+18.7 ms")  # as `6` `↓` `i` says
        assert page.view.strips[0].size.height >= 9


async def test_a_low_page_has_no_room_for_them_beside_the_tracks(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 30)) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        assert "Longest steps in view" not in text_of(page.query_one(ContextPane))
        await pilot.resize_terminal(200, 50)
        await settled(pilot)
        assert "Top ops in view" in text_of(page.query_one(ContextPane))
        assert "Top ops in view" not in text_of(page.query_one(SightPane))


async def test_away_from_a_profile_nothing_is_said_of_a_view_that_is_gone(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(200, 50)) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        await pilot.press("0", "0")
        for _ in range(12):
            await pilot.press("s")
        await settled(pilot)
        if not page.view.sight.display:
            assert "Top ops in view" not in text_of(page.query_one(ContextPane))


async def test_nothing_moves_in_the_pane_as_the_cursor_does_and_what_is_selected_has_room(
    make: Maker,
) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        pane = page.query_one(ContextPane)
        await until_then(lambda: "At a glance" in text_of(pane))
        before = text_of(pane).splitlines()
        await pilot.press("right_square_bracket")
        await settled(pilot)
        after = text_of(pane).splitlines()
        cursor = before.index("Cursor")
        assert after[: cursor + 1] == before[: cursor + 1]
        assert after[cursor + 1] != before[cursor + 1]
        await pilot.press("down", "down", "right")  # an event
        await settled(pilot)
        selected = text_of(pane).splitlines()
        assert selected[0] == "At a glance"
        assert "Selected" in selected
        assert any(line.startswith(("self ", "duration")) for line in selected)
