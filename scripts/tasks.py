"""Make docs/tasks.md from tests/tasks.py, and its pictures; with --check only say whether the page
is up to date.

python scripts/tasks.py                 the page and all pictures
python scripts/tasks.py drew-more …     the page, and the pictures of these tasks
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from powertui import demo  # noqa: E402
from powertui.config import Config  # noqa: E402
from powertui.data import logdir  # noqa: E402
from powertui.screens.session import Session  # noqa: E402
from powertui.screens.shell import Shell  # noqa: E402
from powertui.terminal import keymap, theme  # noqa: E402
from powertui.terminal.capabilities import Capabilities  # noqa: E402
from powertui.terminal.launch import Display  # noqa: E402
from tests.tasks import SIZES, TASKS, Task  # noqa: E402

PAGE = ROOT / "docs" / "tasks.md"
FOLDER = ROOT / "docs" / "pictures" / "tasks"
BEGIN, END = "<!-- tasks: made by scripts/tasks.py -->", "<!-- end of tasks -->"
SETTLED_S = 3.0  # findings are looked for once the first picture is there


def keys_of(task: Task) -> str:
    """The keys as a person reads them."""
    words: list[tuple[str, int]] = []
    for key in task.keys:
        if words and words[-1][0] == key:
            words[-1] = (key, words[-1][1] + 1)
        else:
            words.append((key, 1))
    shown = [
        (f"`{key[5:]}`" if key.startswith("type ") else f"`{keymap.shown(key)}`")
        + (f" ×{n}" if n > 1 else "")
        for key, n in words
    ]
    return " ".join(shown) or "none"


def table() -> str:
    """The table of docs/tasks.md."""
    lines = [
        "| task | keys | keystrokes | the answer | screens |",
        "| --- | --- | --- | --- | --- |",
    ]
    for task in TASKS:
        pictures = " · ".join(
            f"[{size.replace('x', '×')}](pictures/tasks/{task.id}-{size}.svg)" for size in SIZES
        )
        lines.append(
            f"| {task.title} | {keys_of(task)} | {task.count} | {task.told} | {pictures} |"
        )
    return "\n".join(lines)


def with_table(text: str) -> str:
    """The same page with the table between its marks."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} has no {BEGIN} … {END}")
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def folder_of(task: Task) -> Path:
    """What is opened."""
    return {
        "demo": demo.folder(),
        "power": demo.power_file(),
        "logdirs": ROOT / "tests" / "data" / "logdirs",
    }[task.opened]


async def picture(task: Task, size: str) -> None:
    """One screen, after its keys."""
    shell = Shell(
        Session(logdir=logdir.scan(folder_of(task))),
        Display(Capabilities(color="true"), theme.get("dark", "true"), Config()),
    )
    async with shell.run_test(size=SIZES[size]) as pilot:
        await pilot.pause(1.0)
        while task.opened != "logdirs" and not (shell.session.complete and shell.session.model):
            await asyncio.sleep(0.05)
        await shell.workers.wait_for_complete()
        await pilot.pause(SETTLED_S)
        for key in task.pressed():
            await pilot.press(key)
            if key in ("enter", "1", "3", "5", "6", "i", "t", "equals_sign"):
                await shell.workers.wait_for_complete()
                await pilot.pause()
        await pilot.pause(SETTLED_S)
        svg = shell.svg_of(shell.screen)
    path = FOLDER / f"{task.id}-{size}.svg"
    path.write_text(svg, encoding="utf-8")
    print(f"{path.name}: {len(svg):,} bytes")


def main() -> int:
    """Exit code 1 when --check finds another table."""
    text = PAGE.read_text(encoding="utf-8")
    wanted = with_table(text)
    if "--check" in sys.argv[1:]:
        if text != wanted:
            print("docs/tasks.md: the table differs from tests/tasks.py; run scripts/tasks.py")
        return int(text != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ["TZ"] = "UTC"
    time.tzset()
    with tempfile.TemporaryDirectory() as elsewhere:
        os.environ["XDG_STATE_HOME"] = elsewhere
        os.chdir(elsewhere)  # an export is written here
        for task in TASKS:
            if not sys.argv[1:] or task.id in sys.argv[1:]:
                for size in SIZES:
                    for made in Path(elsewhere).glob("*-samples.*"):
                        made.unlink()
                    asyncio.run(picture(task, size))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
