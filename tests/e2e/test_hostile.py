"""Names come from elsewhere: whatever they contain is shown, never obeyed."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest

from tests.synthetic.xplane import Event, Line, Plane, encode

from .conftest import Opener

pytestmark = pytest.mark.e2e

MS = 10**9
NAMES = [
    "a\x1b[2Jb",
    "title\x1b]0;owned\x07",
    "clip\x1b]52;c;b3duZWQ=\x07",
    "c1\x9b31mred",
    "line\r\nfeed",
    "over\u202eride",
    "[bold red]markup[/bold red] [@click=app.quit]x[/]",
    "wide 漢字 \U0001f525 e\u0301",
    "nul\x00bell\x07",
    "x" * 5000,
]
# What must never come out of the program by itself, in any place where names are shown.
OWNED = (b"\x1b]0;", b"]52;c;b3duZWQ", b"\x9b31m", "\u202e".encode(), b"\x00", b"\x07")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A run in which everything has a hostile name."""
    events = [
        Event(name, i * 20 * MS, 15 * MS, {"stat\x1b[31m" + name[:20]: name[:300]})
        for i, name in enumerate(NAMES)
    ]
    steps = [
        Event(f"train\x1b[5m {i}", i * 20 * MS, 18 * MS, {"step_num": i, "_r": 1})
        for i in range(10)
    ]
    planes = [
        Plane(
            "/host:CPU\x1b[7m",
            [Line("thread\x1b[2J\r", events, 1), Line("[red]python[/red]", steps, 2)],
        )
    ]
    folder = tmp_path / "plugins" / "profile" / "run[bold]"
    folder.mkdir(parents=True)
    (folder / "host\x1b[8m.xplane.pb").write_bytes(encode(planes))
    return tmp_path


def test_hostile_names_are_shown_and_not_obeyed(start: Opener, hostile: Path) -> None:
    terminal = start(hostile, size=(140, 40))
    terminal.wait_for("whole run")
    terminal.settle()
    for key in ("j", "j", "l", "i", "l", "l", "l", "l", "l", "l", "l", "x", "Esc", "t"):
        terminal.press(key)
        terminal.settle(0.2)
    terminal.press("Esc", "/")
    terminal.write(b"/./\r")
    terminal.settle()
    terminal.press("n", "n", "Backspace")
    terminal.wait_for("Enter open")
    output = bytes(terminal.raw)
    for sequence in OWNED:
        assert sequence not in output
    assert output.count(b"\x1b[2J") <= 2  # the program's own first clear
    assert (
        re.search(rb"\x1b\[[578]m", output) is None or b"\x1b[7m" in output
    )  # no blinking, no hidden text
    assert b"\x1b[5m" not in output
    assert b"\x1b[8m" not in output


def test_markup_is_text(start: Opener, hostile: Path) -> None:
    terminal = start(hostile, size=(140, 40))
    terminal.wait_for("whole run")
    terminal.press("/")
    terminal.write(b"markup\r")
    terminal.settle()
    terminal.press("i")
    terminal.wait_for(r"\[bold red\]markup")
    assert not terminal.eof


def test_what_is_copied_cannot_break_out_of_its_sequence(start: Opener, hostile: Path) -> None:
    terminal = start(hostile, size=(140, 40))
    terminal.wait_for("whole run")
    terminal.press("/")
    terminal.write(b"title\r")
    terminal.settle()
    terminal.press("y")
    terminal.settle()
    assert len(terminal.clipboard) == 1
    text = base64.b64decode(terminal.clipboard[0]).decode()
    assert "event: title\\x1b]0;owned\\x07" in text
    assert "\x1b" not in text
