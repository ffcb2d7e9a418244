"""The live screen without a terminal, on recordings whose clock a test moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from textual.pilot import Pilot

from powertui.config import Config
from powertui.data.model import Clock, PowerSeries, Scope, Sensor
from powertui.feed import NS, ReplayFeed
from powertui.screens.help import page_lines
from powertui.screens.live import LiveScreen
from powertui.screens.session import Session
from powertui.screens.shell import Shell
from powertui.terminal import theme
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.launch import Display
from powertui.widgets.live_pane import LivePane

ZERO = 1_795_224_813 * NS
SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50)}


pytestmark = pytest.mark.usefixtures("utc")


class Stage:
    """A live screen whose readings come when a test says so."""

    def __init__(self, *channels: PowerSeries, color: str = "256", glyphs: str = "unicode") -> None:
        self.now = 0.0
        self.feed = ReplayFeed(channels, "three nodes", clock=lambda: self.now)
        capabilities = Capabilities(color=color, glyphs=glyphs)  # type: ignore[arg-type]
        screen = Display(capabilities, theme.get("dark", capabilities.color), Config())
        self.shell = Shell(Session(feed=self.feed), screen, first="live")
        self.feed.start()

    @property
    def page(self) -> LiveScreen:
        page = self.shell.page("live")
        assert isinstance(page, LiveScreen)
        return page

    def text(self, name: str) -> str:
        """What one pane says."""
        return "\n".join(
            "".join(part for part, _ in line)
            for line in self.page.query_one(f"#{name}", LivePane).lines
        )

    async def play_through(self, pilot: Pilot[Any], seconds: int) -> None:
        """Second after second, as a person sees it: the sum has a value for each."""
        for second in range(1, seconds):
            self.now = second
            self.page.tick()
        await self.play(pilot, seconds)

    async def play(self, pilot: Pilot[Any], seconds: float) -> None:
        self.now = seconds
        self.page.tick()
        await pilot.pause()
        await pilot.pause()


def series(host: str, watts: Callable[[int], float], count: int = 240) -> PowerSeries:
    times = (np.arange(count) * NS).astype(np.int64)
    values = np.array([watts(i) for i in range(count)])
    return PowerSeries(
        Sensor("power", "ipmi DCMI", Scope.NODE, host),
        times,
        values,
        clock=Clock(ZERO, ZERO, "absolute timestamps"),
    )


def nodes() -> tuple[PowerSeries, ...]:
    return (
        series("node9", lambda i: 240 + 30 * (i // 30 % 2)),
        series("node10", lambda i: float("nan") if 100 <= i < 120 else 250.0),
        series("node11", lambda i: 180 + i / 4),
    )


def one() -> PowerSeries:
    return series("bmc", lambda i: 240 + 30 * (i // 30 % 2))


@pytest.mark.parametrize("size", SIZES)
def test_one_channel(snap_compare: Any, size: str) -> None:
    stage = Stage(one())
    assert snap_compare(
        stage.shell,
        terminal_size=SIZES[size],
        run_before=lambda pilot: stage.play_through(pilot, 200),
    )


@pytest.mark.parametrize("size", SIZES)
def test_several_channels(snap_compare: Any, size: str) -> None:
    stage = Stage(*nodes())
    assert snap_compare(
        stage.shell,
        terminal_size=SIZES[size],
        run_before=lambda pilot: stage.play_through(pilot, 200),
    )


def test_without_colours_and_braille(snap_compare: Any) -> None:
    stage = Stage(*nodes(), color="none", glyphs="ascii")
    assert snap_compare(
        stage.shell, terminal_size=(80, 24), run_before=lambda pilot: stage.play(pilot, 200)
    )


async def test_the_sum_is_unknown_while_a_row_is() -> None:
    stage = Stage(*nodes())
    async with stage.shell.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        for second in range(111):
            await stage.play(pilot, second)
        assert "2 of 3 draw 478 W, 1 without a value" in stage.text("summary")
        assert "- W" not in stage.text("table")
        assert "no value was recorded" in stage.text("table")
        sums = stage.page.sum_history
        assert sums is not None
        assert np.isnan(sums.watts[-1])
        assert sums.watts[50] == 240 + 30 + 250 + 180 + 12.5


async def test_escape_leaves_help_for_the_live_page_and_the_live_page_for_nothing() -> None:
    stage = Stage(one())
    async with stage.shell.run_test(size=(100, 30)) as pilot:
        await stage.play(pilot, 20)
        await pilot.press("question_mark")
        await pilot.pause()
        help_page = stage.shell.current()
        assert help_page is not None
        assert help_page.NAME == "help"
        assert page_lines(stage.shell.before_help)[0][0].keys == "Live"
        for _ in range(2):
            await pilot.press("escape")
            await pilot.pause()
            assert stage.shell.current() is stage.page


async def test_keys_choose_channels_and_stretches() -> None:
    stage = Stage(*nodes())
    async with stage.shell.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        for second in range(0, 200, 4):
            await stage.play(pilot, second)
        assert "sum of 3" in stage.text("summary")
        await pilot.press("down")
        assert "sum of" not in stage.text("summary")
        assert stage.page.selected is not None
        assert stage.page.selected.source == "node9"
        await pilot.press("down", "down", "down")
        assert stage.page.selected.source == "node11"
        await pilot.press("pageup")
        assert stage.page.selected is None
        assert stage.page.view.span_s == 300
        await pilot.press("w")
        assert stage.page.view.span_s == 120
        await stage.play(pilot, 230)
        assert stage.page.view.span_s == 120, "once chosen, a length stays"
        await pilot.press("space")
        held = stage.text("chart")
        await stage.play(pilot, 236)
        assert stage.text("chart") == held
        await pilot.press("space")
        assert stage.page.view.follows
        await pilot.press("a")
        assert not stage.page.view.follows
        await pilot.press("d", "d")
        assert stage.page.view.follows


async def test_marks_stand_in_the_chart_and_in_the_log() -> None:
    stage = Stage(one())
    async with stage.shell.run_test(size=(120, 30)) as pilot:
        await stage.play(pilot, 60)
        await pilot.press("m")
        await stage.play(pilot, 80)
        assert "▼mark 1" in stage.text("chart")
        assert "mark: mark 1" in stage.text("log")


async def test_without_a_feed_it_says_how_to_get_one() -> None:
    stage = Stage(one())
    stage.shell.session.feed = None
    async with stage.shell.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert "powertui live --host" in stage.text("head")


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (200, 50)])
async def test_every_size(size: tuple[int, int]) -> None:
    stage = Stage(*nodes())
    async with stage.shell.run_test(size=size) as pilot:
        await stage.play(pilot, 100)
        assert stage.text("summary").strip()
        assert "node9" in stage.text("table")
        page = stage.page
        heights = {
            name: page.query_one(f"#{name}").size.height
            for name in ("head", "summary", "chart", "table", "log")
        }
        assert heights["chart"] >= 4
        assert sum(heights.values()) <= size[1] - 1
