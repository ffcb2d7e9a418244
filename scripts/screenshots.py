"""Draw the pictures of docs/ and README from the demo: `make screenshots`.

They change only with the code.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
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

# Name of the picture → keys that lead there.
PICTURES: dict[str, tuple[str, ...]] = {
    "timeline": ("w", "w", "w", "w", "down", "down", "right"),
    "whole-run": ("0",),
    "window": ("w", "w", "m", *["shift+right"] * 12, "m"),
    "op-table": ("t",),
    "details": ("w", "w", "w", "w", "w", "down", "down", "right", "i"),
    "search": ("slash", *"Conv2D", "enter"),
    "palette": ("colon", *"step"),
    "help": ("question_mark",),
    "overview": ("1",),
    "symmetry": ("3",),
    "alignment": ("4",),
    "steps": ("6",),
}


# The moving picture of README: what a person does in the first minute. Caption → keys that lead
# from the frame before.
WALK: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("powertui demo: power, epochs, steps and threads on one clock", ("0",)),
    (") goes to the finding: 60 W that the trace does not explain", ("right_parenthesis",)),
    ("w zooms in, d moves on", ("w", "w", "d")),
    ("t: the ops of this window", ("t",)),
    ("3: all findings, with their joules", ("escape", "3")),
    ("1: what limits the run, and joules of each epoch", ("1",)),
)
FRAME_S = 3  # long enough to read a caption twice
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_CAPTION_HEIGHT = 44


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
        await pilot.press(*keys)
        await shell.workers.wait_for_complete()
        await pilot.pause(1.0)
        svg = shell.export_screenshot(title="powertui", simplify=True)
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
        svg = shell.export_screenshot(title="powertui", simplify=True)
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(f"{name}.svg: {len(svg):,} bytes")


async def walk(name: str) -> None:
    """Several pictures of one session, one after the other, in one file."""
    shell = Shell(Session(logdir=logdir.scan(demo.folder())), screen())
    frames = []
    async with shell.run_test(size=SIZE) as pilot:
        while not (shell.session.complete and shell.session.model):
            await asyncio.sleep(0.05)
        for caption, keys in WALK:
            await pilot.pause()
            await pilot.press(*keys)
            await shell.workers.wait_for_complete()
            await pilot.pause(1.0)
            frames.append((caption, shell.export_screenshot(title="powertui", simplify=True)))
    svg = animation(frames)
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(f"{name}.svg: {len(svg):,} bytes")


def animation(frames: list[tuple[str, str]]) -> str:
    """The frames in turns, each with its caption below.

    Style sheets alone move them: a page that shows pictures runs no script.
    """
    view = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', frames[0][1])
    assert view is not None
    width, height = float(view[1]), float(view[2])
    whole_s = FRAME_S * len(frames)
    shown = 100 / len(frames)
    parts = [
        (
            f'<svg viewBox="0 0 {width:g} {height + _CAPTION_HEIGHT:g}" '
            'xmlns="http://www.w3.org/2000/svg">'
        ),
        "<style>",
        (
            f"@keyframes turn {{ 0% {{ opacity: 1 }} {shown:.3f}% {{ opacity: 0 }} 100% {{ "
            f"opacity: 0 }} }}"
        ),
        f".frame {{ opacity: 0; animation: turn {whole_s}s step-end infinite }}",
        ".caption { font: 22px monospace; fill: #8a8a8a }",
        "</style>",
    ]
    for row, (caption, svg) in enumerate(frames):
        parts.append(f'<g class="frame" style="animation-delay: {row * FRAME_S}s">')
        sized = svg.replace("<svg ", f'<svg width="{width:g}" height="{height:g}" ', 1)
        parts.append(_FONT.sub("", sized).strip())
        parts.append(
            f'<text class="caption" x="20" y="{height + 28:g}">{html.escape(caption)}</text></g>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """All pictures, or those named on the command line."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ["TZ"] = "UTC"
    time.tzset()
    for name in sys.argv[1:] or [*PICTURES, "live", "walk"]:
        if name == "live":
            asyncio.run(live(name))
        elif name == "walk":
            asyncio.run(walk(name))
        else:
            asyncio.run(picture(name, PICTURES[name]))


if __name__ == "__main__":
    main()
