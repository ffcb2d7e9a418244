"""The pictures of docs/ that show the demo say what the screen says. `make screenshots` draws them."""

from __future__ import annotations

import pytest

from powertui import demo
from powertui.config import Config
from powertui.data.power import registry
from powertui.feed import ReplayFeed
from powertui.screens import frame, runs
from powertui.screens.session import Session
from powertui.screens.shell import Shell
from powertui.terminal import theme
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.launch import Display
from tests.waiting import until_then

from .conftest import DocPicture, Maker, loaded, settled

pytestmark = pytest.mark.usefixtures("utc")
SIZE = (120, 34)
# Name of the picture, which a page of docs/ shows → keys that lead there.
PICTURES = {"timeline": (), "help": ("question_mark",), "symmetry": ("3",)}


@pytest.mark.parametrize("name", PICTURES)
async def test_a_page_of_the_demo(
    make: Maker, doc_picture: DocPicture, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = make("demo", color="true")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await until_then(lambda: frame.known_conclusions(shell.session) is not None)
        await settled(pilot)
        await pilot.press(*PICTURES[name])
        await settled(pilot)
        doc_picture(shell, name)


async def test_the_live_page_at_the_end_of_the_power_log_of_the_demo(
    doc_picture: DocPicture,
) -> None:
    now = 0.0
    channels = registry.load(str(demo.power_file())).series
    title = "replay of the demo (a simulated sensor)"
    feed = ReplayFeed(channels, title, clock=lambda: now)
    feed.start()
    look = Display(Capabilities(color="true"), theme.get("dark", "true"), Config())
    shell = Shell(Session(feed=feed), look, first="live")
    async with shell.run_test(size=SIZE) as pilot:
        now = 1e6  # seconds: far beyond the end of the log
        shell.page("live").tick()
        await settled(pilot)
        doc_picture(shell, "live")
