"""The target of a jump is outlined for a moment, where the line is quick and nobody forbade it."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from powertui.screens.loader import LoadingProgress
from powertui.screens.shell import Shell
from powertui.screens.status import StatusLine
from powertui.screens.timeline import TimelineScreen
from powertui.terminal.glyphs import ASCII, UNICODE, Glyphs
from powertui.terminal.pacing import PaintGate
from powertui.view.viewport import Viewport
from powertui.widgets import outline
from powertui.widgets.outline import JumpOutline
from tests.screens.conftest import Maker, loaded, settled
from tests.waiting import until_then

SIZE = (120, 36)


def view() -> Viewport:
    return Viewport((0, 2000), 20, height=10)


def drawn(shown: JumpOutline, row: int | None) -> str:
    strip = Strip([Segment("ab" + "." * 20)], 22)
    after = shown.over(strip, view(), start=2, row=row)
    assert after.cell_length == 22
    return after.text


@pytest.mark.parametrize(("glyphs", "side"), [(UNICODE, "┃"), (ASCII, "|")])
def test_a_stretch_gets_a_side_in_the_cells_beside_it(glyphs: Glyphs, side: str) -> None:
    cell = view().cell_ps
    shown = JumpOutline(5 * cell, 8 * cell, None, Style(), glyphs)
    assert drawn(shown, 3) == "ab...." + side + "..." + side + "." * 11
    assert drawn(shown, None) == drawn(shown, 3)


def test_an_event_gets_a_box_around_its_row() -> None:
    cell = view().cell_ps
    shown = JumpOutline(5 * cell, 8 * cell, 4, Style(), UNICODE)
    assert drawn(shown, 3) == "ab....┏━━━┓..........."
    assert drawn(shown, 4) == "ab....┃...┃..........."
    assert drawn(shown, 5) == "ab....┗━━━┛..........."
    assert drawn(shown, 6) == "ab...................."


def test_what_is_out_of_sight_has_no_side_there() -> None:
    cell = view().cell_ps
    assert drawn(JumpOutline(-9 * cell, 3 * cell, None, Style(), UNICODE), 1) == "ab...┃" + "." * 16
    assert drawn(JumpOutline(-9 * cell, -3 * cell, 1, Style(), UNICODE), 0) == "ab" + "." * 20


def test_nothing_moves_on_a_line_that_is_slow_or_unknown() -> None:
    assert not PaintGate().allows_motion
    assert PaintGate(acknowledged=True, rtt=0.02).allows_motion
    assert not PaintGate(acknowledged=True, rtt=0.3).allows_motion
    assert not PaintGate(acknowledged=True, rtt=0.02, level=1).allows_motion
    assert not PaintGate(acknowledged=False, rtt=0.02).allows_motion


def outlined(shell: Shell) -> bool:
    page = shell.screen
    assert isinstance(page, TimelineScreen)
    return page.timeline.outline is not None


def quick(shell: Shell) -> None:
    shell.gate.acknowledged = True
    shell.gate.rtt = 0.001


async def test_the_outline_of_a_finding_comes_and_goes(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline, "SHOWN_S", 3600)
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        quick(shell)
        await pilot.press("right_parenthesis")
        page = shell.screen
        assert isinstance(page, TimelineScreen)
        assert outlined(shell)
        sides = page.view.strips[0].render_line(0).text
        assert sides.count("┃") == 2
        # The next jump puts its own in place of it, for a time that ends soon.
        monkeypatch.setattr(outline, "SHOWN_S", 0.05)
        await pilot.press("left_parenthesis")
        await until_then(lambda: not outlined(shell), lambda: "the outline stays")
        await settled(pilot)
        assert "┃" not in page.view.strips[0].render_line(0).text


async def test_a_hit_of_a_search_is_outlined_in_its_row_alone(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline, "SHOWN_S", 3600)
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        quick(shell)
        await pilot.press("slash", *"conv", "enter")
        await settled(pilot)
        page = shell.screen
        assert isinstance(page, TimelineScreen)
        assert outlined(shell)
        assert page.timeline.outline is not None
        assert page.timeline.outline.row is not None
        assert page.view.strips[0].outline is None


@pytest.mark.parametrize(
    "key", ["right_parenthesis", "right_square_bracket", "right_curly_bracket"]
)
async def test_no_motion_is_none(make: Maker, key: str) -> None:
    from dataclasses import replace

    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press(key)
        assert not outlined(shell), "the line is not known to be quick"
        quick(shell)
        shell.capabilities = replace(shell.capabilities, motion=False)
        await pilot.press(key)
        assert not outlined(shell)


def test_the_time_left_is_told_where_it_is_known() -> None:
    assert "left" not in str(LoadingProgress(1, 2, 3))
    assert "left" not in str(LoadingProgress(1, 2, 3, 0.7))
    assert str(LoadingProgress(1, 2, 3, 12.4)).endswith(" · 12 s left")


async def test_the_event_under_the_pointer_is_named_where_the_line_is_quick(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        page = shell.screen
        assert isinstance(page, TimelineScreen)
        status = page.query_one("#status", StatusLine)
        row = next(y for y in range(30) if "C" in page.timeline.render_line(y).text)
        column = page.timeline.render_line(row).text.index("C") + 9
        hints = status.text
        await pilot.hover(page.timeline, offset=(column, row))
        await settled(pilot)
        assert status.text == hints, "the line is not known to be quick"
        quick(shell)
        await pilot.hover(page.timeline, offset=(column + 30, 0))
        await pilot.hover(page.timeline, offset=(column, row))
        await settled(pilot)
        assert " · " in status.text
        assert status.text.rstrip().endswith("ms")
        assert "zoom" in status.text, "what can be done is still said"
        await pilot.press("w")
        await settled(pilot)
        assert " ms" not in status.text
