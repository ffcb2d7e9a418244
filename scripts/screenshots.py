"""Draw the pictures of docs/ from the demo: `make screenshots`.

They change only with the code.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui import demo  # noqa: E402
from powertui.config import Config  # noqa: E402
from powertui.data import logdir  # noqa: E402
from powertui.data.power import registry  # noqa: E402
from powertui.feed import ReplayFeed  # noqa: E402
from powertui.screens.session import Session  # noqa: E402
from powertui.screens.shell import Shell  # noqa: E402
from powertui.terminal import theme  # noqa: E402
from powertui.terminal.capabilities import Capabilities  # noqa: E402
from powertui.terminal.launch import Display  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
SIZE = (120, 34)
SETTLED_S = 3.0  # findings are looked for once the first picture is there

# Name of the picture, which a page of docs/ shows → keys that lead there.
PICTURES: dict[str, tuple[str, ...]] = {
    "timeline": (),  # the first screen
    "help": ("question_mark",),
    "symmetry": ("3",),
}


def screen() -> Display:
    """A terminal that can show everything."""
    return Display(Capabilities(color="true"), theme.get("dark", "true"), Config())


async def picture(name: str, keys: tuple[str, ...]) -> None:
    """One picture."""
    shell = Shell(Session(logdir=logdir.scan(demo.folder())), screen())
    async with shell.run_test(size=SIZE) as pilot:
        while not (shell.session.complete and shell.session.model):
            await asyncio.sleep(0.05)
        await pilot.pause()
        await pilot.pause(SETTLED_S)
        await pilot.press(*keys)
        await shell.workers.wait_for_complete()
        await pilot.pause(SETTLED_S)
        svg = shell.svg_of(shell.screen)
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(f"{name}.svg: {len(svg):,} bytes")


async def live(name: str) -> None:
    """The live screen, playing the demo's power log to its end."""
    now = 0.0
    feed = ReplayFeed(
        registry.load(str(demo.power_file())).series,
        "replay of the demo (a simulated sensor)",
        clock=lambda: now,
    )
    feed.start()
    shell = Shell(Session(feed=feed), screen(), first="live")
    async with shell.run_test(size=SIZE) as pilot:
        now = 1e6
        await pilot.pause(1.5)
        svg = shell.svg_of(shell.screen)
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(f"{name}.svg: {len(svg):,} bytes")


def main() -> None:
    """All pictures, or those named on the command line."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ["TZ"] = "UTC"
    time.tzset()
    for name in sys.argv[1:] or [*PICTURES, "live"]:
        if name == "live":
            asyncio.run(live(name))
        else:
            asyncio.run(picture(name, PICTURES[name]))


if __name__ == "__main__":
    main()
