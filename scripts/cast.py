"""Record the demo for README: `make cast`.

What a person does in the first twenty seconds: see the finding, ask why, export a picture. The
frames are the program's own screens. They become an animated SVG, an asciicast v2 made of the bytes
that the program's painter would send, and a digest of what they show: a test draws the frames anew
and fails when the screens changed and the cast did not.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rich.segment import Segment
from rich.style import Style

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui import demo  # noqa: E402
from powertui.config import Config  # noqa: E402
from powertui.data import logdir  # noqa: E402
from powertui.screens.frame import known_conclusions  # noqa: E402
from powertui.screens.session import Session  # noqa: E402
from powertui.screens.shell import Shell  # noqa: E402
from powertui.terminal import theme  # noqa: E402
from powertui.terminal.capabilities import Capabilities  # noqa: E402
from powertui.terminal.launch import Display  # noqa: E402
from powertui.terminal.painter import Painter  # noqa: E402
from powertui.terminal.svg_picture import SvgPage  # noqa: E402

FOLDER = ROOT / "docs" / "pictures"
ANIMATION, CAST, DIGESTS = FOLDER / "demo.svg", FOLDER / "demo.cast", FOLDER / "demo.json"
COLUMNS, ROWS = 120, 34  # without the caption below
MAX_BYTES = 300_000  # of the animation
_STILL_S = 0.6  # a frame that stays the same for so long is taken
_MAX_WAIT_S = 120.0  # the demo is read and concluded from in 3 s
_LOOK = theme.get("dark", "256")


@dataclass(frozen=True)
class Scene:
    """Keys that lead from the scene before, how long one looks, and what one is told."""

    keys: tuple[str, ...]
    seconds: float
    caption: str


SCENES = (
    Scene((), 3.5, "$ powertui demo     power, epochs, steps and threads on one clock"),
    Scene((")",), 3.5, ")   the next finding: 59 W that nothing in the trace explains"),
    Scene(("t",), 3, "t   what ran in this window"),
    Scene(("escape", "3"), 4, "3   all findings: how sure each is, and what to do"),
    Scene(("1",), 2.5, "1   what limits the run, and the joules of each epoch"),
    Scene(("e",), 1.5, "e   a picture of the page, or its data"),
    Scene(("enter",), 2, "Enter   written"),
)
_KEYS = {")": "right_parenthesis"}


class Frame(NamedTuple):
    """A scene and the rows of the screen at its end, the caption below."""

    scene: Scene
    rows: list[list[Segment]]


async def record() -> list[Frame]:
    """The scenes, one after the other, in one run of the program."""
    display = Display(Capabilities(color="256"), _LOOK, Config())
    shell = Shell(Session(logdir=logdir.scan(demo.folder())), display)
    frames = []
    async with shell.run_test(size=(COLUMNS, ROWS)) as pilot:
        while not (shell.session.complete and shell.session.model):
            await asyncio.sleep(0.02)
        for scene in SCENES:
            for key in scene.keys:
                await pilot.press(_KEYS.get(key, key))
                await pilot.pause()
            frames.append(Frame(scene, [*await _still_rows(shell, pilot), _caption(scene)]))
    return frames


async def _still_rows(shell: Shell, pilot: Any) -> list[list[Segment]]:
    """What the screen shows once nothing more comes to it."""
    rows: list[list[Segment]] = []
    since = begin = time.monotonic()
    while time.monotonic() - since < _STILL_S:
        if time.monotonic() - begin > _MAX_WAIT_S:
            raise TimeoutError("The screen did not come to rest.")
        await pilot.pause(0.02)
        now = [list(strip) for strip in shell.drawn_rows(shell.screen)]
        works = any(not worker.is_finished for worker in shell.workers)
        if (
            now != rows
            or works
            or getattr(shell.screen, "is_behind", False)
            or not _concluded(shell)
        ):
            rows, since = now, time.monotonic()
    return rows


def _concluded(shell: Shell) -> bool:
    """Whether the top line counts what there is to conclude."""
    return known_conclusions(shell.session) is not None


def _caption(scene: Scene) -> list[Segment]:
    keys, words = scene.caption.split("   ", 1)
    rest = f"  {words.strip()}".ljust(COLUMNS - len(keys) - 1)
    return [
        Segment(f" {keys}", Style.parse("bold black on white")),
        Segment(rest, Style.parse("black on white")),
    ]


def page_of_frames() -> SvgPage:
    """The picture that all frames are drawn into."""
    ink, paper = theme.hex_of(_LOOK.foreground), theme.hex_of(_LOOK.background)
    return SvgPage(COLUMNS, ROWS + 1, ink, paper)


def digests(frames: Sequence[Frame]) -> list[dict[str, str]]:
    """What each frame shows, in a few letters, and how one comes there."""
    page = page_of_frames()
    return [
        {
            "keys": " ".join(frame.scene.keys),
            "shows": hashlib.sha256(page.drawn(frame.rows).encode()).hexdigest()[:16],
        }
        for frame in frames
    ]


def animation(frames: Sequence[Frame]) -> str:
    """The frames in turns. Style sheets alone move them: a page with pictures runs no script."""
    page = page_of_frames()
    whole_s = sum(frame.scene.seconds for frame in frames)
    rules, groups, at = [], [], 0.0
    for number, frame in enumerate(frames):
        start, end = 100 * at / whole_s, 100 * (at + frame.scene.seconds) / whole_s
        at += frame.scene.seconds
        before = "0%{opacity:0}" if number else ""
        rules.append(
            f"@keyframes f{number}{{{before}{start:.3f}%{{opacity:1}}{end:.3f}%{{opacity:0}}"
            f"100%{{opacity:0}}}}#f{number}{{animation:f{number} {whole_s:g}s step-end infinite}}"
        )
        hidden = ' opacity="0"' if number else ""
        groups.append(f'<g id="f{number}"{hidden}>\n{page.drawn(frame.rows)}</g>\n')
    still = "@media (prefers-reduced-motion:reduce){g{animation:none!important}}"
    return page.whole("".join(groups), "".join(rules) + still)


def asciicast(frames: Sequence[Frame]) -> str:
    """The frames as an asciicast v2: in each line the bytes that lead from one to the next."""
    painter = Painter("256")
    painter.resize(COLUMNS, ROWS + 1)
    header = {"version": 2, "width": COLUMNS, "height": ROWS + 1, "title": "powertui demo"}
    lines, at = [json.dumps(header)], 0.0
    for frame in frames:
        for y, row in enumerate(frame.rows):
            painter.put(y, 0, row)
        lines.append(json.dumps([round(at, 3), "o", painter.frame() + "\x1b[?25l"]))
        at += frame.scene.seconds
    return "\n".join([*lines, json.dumps([round(at, 3), "o", ""]), ""])


def main() -> int:
    """Write the three files."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    with tempfile.TemporaryDirectory() as elsewhere:
        os.environ["XDG_STATE_HOME"] = elsewhere
        os.chdir(elsewhere)  # the export is written here
        frames = asyncio.run(record())
    drawn = animation(frames)
    if len(drawn.encode()) > MAX_BYTES:
        print(f"{ANIMATION.name}: {len(drawn.encode()):,} bytes are more than {MAX_BYTES:,}")
        return 1
    ANIMATION.write_text(drawn, encoding="utf-8")
    CAST.write_text(asciicast(frames), encoding="utf-8")
    DIGESTS.write_text(json.dumps(digests(frames), indent=1) + "\n", encoding="utf-8")
    for path in (ANIMATION, CAST, DIGESTS):
        print(f"{path.name}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
