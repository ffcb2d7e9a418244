"""The same screens on many terminals: layout stays, and only what the terminal has is sent."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from .conftest import Opener

pytestmark = pytest.mark.e2e

# At the foot: the run is read, and what it says is known.
READY = r"3: (all \d+|more)"
SGR = re.compile(rb"\x1b\[([0-9;]*)m")

TRUE, MANY, FEW, NONE = "24 bit", "256", "16", "none"


def depth(raw: bytes) -> str:
    """The richest colours in a byte stream."""
    found = b" ".join(SGR.findall(raw))
    if re.search(rb"[34]8;2;", found):
        return TRUE
    if re.search(rb"[34]8;5;", found):
        return MANY
    return FEW if re.search(rb"(^|[ ;])(3[0-7]|4[0-7]|9[0-7]|10[0-7])", found) else NONE


@pytest.mark.parametrize(
    ("term", "env", "colors", "ascii_only"),
    [
        ("xterm-256color", {"COLORTERM": "truecolor"}, TRUE, False),
        ("xterm-256color", {}, MANY, False),
        ("tmux-256color", {}, MANY, False),
        ("screen", {}, FEW, False),
        ("xterm", {}, FEW, False),  # PuTTY
        ("linux", {}, FEW, False),
        ("vt100", {}, NONE, True),
        ("xterm-256color", {"NO_COLOR": "1"}, NONE, False),
        ("xterm-256color", {"LANG": "C"}, MANY, False),
        ("xterm-256color", {"LANG": "en_US.ISO-8859-1"}, MANY, True),
        ("xterm-256color", {"PYTHONIOENCODING": "latin-1"}, MANY, True),
    ],
)
def test_terminal(
    start: Opener, profile: Path, term: str, env: dict[str, str], colors: str, ascii_only: bool
) -> None:
    terminal = start(profile, term=term, env=env, size=(100, 30))
    terminal.wait_for(READY)
    terminal.settle()
    assert depth(bytes(terminal.raw)) == colors
    if ascii_only:
        assert bytes(terminal.raw).isascii()
    if term == "linux":
        assert not set("▁▂▃▄▅▆▇⣿▏") & set(terminal.text())
        assert set("░▒█") & set(terminal.text())
    lines = terminal.text().splitlines()
    assert "help" in lines[-1]
    terminal.press("w", "w", "d", "?")
    terminal.wait_for("Zoom in")
    terminal.press("Esc", "q")
    assert terminal.wait_exit() == 0
    assert terminal.left_on() == []


@pytest.mark.parametrize(
    ("flag", "check"),
    [
        (["--glyphs", "ascii"], lambda raw: raw.isascii()),
        (["--glyphs", "console"], lambda raw: "▁".encode() not in raw and "█".encode() in raw),
        (["--color", "none"], lambda raw: depth(raw) == NONE),
        (["--color", "16"], lambda raw: depth(raw) == FEW),
        (["--color", "true"], lambda raw: depth(raw) == TRUE),
        (
            ["--no-mouse"],
            lambda raw: b"?1000h" not in raw and b"?1002h" not in raw and b"?1003h" not in raw,
        ),
    ],
)
def test_flags_force_it(start: Opener, profile: Path, flag: list[str], check: object) -> None:
    terminal = start(profile, *flag)
    terminal.wait_for(READY)
    terminal.settle()
    assert check(bytes(terminal.raw))  # type: ignore[operator]


def test_the_event_under_the_pointer_is_named_and_a_pointer_that_rests_costs_nothing(
    start: Opener, profile: Path
) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.settle()
    assert b"?1002h" in terminal.raw
    assert b"?1003h" in terminal.raw, "the line is quick"
    lines = terminal.text().splitlines()
    row = next(y for y, line in enumerate(lines) if "Execu" in line)
    column = lines[row].index("Execu")
    terminal.write(b"\x1b[<35;%d;%dM" % (column + 1, row + 1))
    terminal.wait_for(r"Execute.* · [\d.]+ [mµ]s *$")
    terminal.settle()
    terminal.write(b"\x1b[<35;%d;%dM" % (column + 2, row + 1))  # of the same event
    assert terminal.settle() == 0
    terminal.press("q")
    assert terminal.wait_exit() == 0
    assert terminal.left_on() == []


def test_the_config_file_is_read(start: Opener, profile: Path, tmp_path: Path) -> None:
    (tmp_path / "powertui").mkdir()
    (tmp_path / "powertui" / "config.toml").write_text('color = "16"\nglyphs = "ascii"\n')
    terminal = start(profile, env={"XDG_CONFIG_HOME": str(tmp_path)})
    terminal.wait_for(READY)
    terminal.settle()
    assert depth(bytes(terminal.raw)) == FEW
    assert bytes(terminal.raw).isascii()


def test_a_mistake_in_the_config_file_is_told_before_any_screen(
    start: Opener, profile: Path, tmp_path: Path
) -> None:
    (tmp_path / "powertui").mkdir()
    (tmp_path / "powertui" / "config.toml").write_text('\ncolour = "16"\n')
    terminal = start(profile, env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert terminal.wait_exit() == 2
    text = terminal.text().replace("\n", "")
    assert "config.toml:2" in text
    assert "Did you mean color" in text


@pytest.mark.parametrize("size", [(200, 50), (120, 30), (80, 24), (60, 15)])
def test_sizes(start: Opener, profile: Path, size: tuple[int, int]) -> None:
    terminal = start(profile, size=size)
    terminal.wait_for("whole run")
    terminal.settle()
    terminal.press("t")
    terminal.settle()
    terminal.press("Esc", "i", "Esc", "w", "d", "j")
    terminal.settle()
    assert "whole run" in terminal.text()


@pytest.mark.parametrize("size", [(59, 15), (60, 14), (20, 5), (1, 1)])
def test_a_window_that_is_too_small_gets_a_message_and_can_grow(
    start: Opener, profile: Path, size: tuple[int, int]
) -> None:
    terminal = start(profile, size=size)
    if size[0] >= 20:
        terminal.wait_for(lambda text: "too small" in " ".join(text.split()))
    terminal.settle()
    terminal.resize(100, 30)
    terminal.wait_for(READY)
    terminal.press("q")
    assert terminal.wait_exit() == 0


def test_a_size_that_comes_back_before_the_program_looks(start: Opener, profile: Path) -> None:
    """A busy program learns of the last of several sizes alone, and the terminal may have cut what
    it showed in between.
    """
    terminal = start(profile, size=(100, 30))
    terminal.wait_for(READY)
    terminal.settle()
    before = terminal.text()
    terminal.signal(signal.SIGSTOP)
    terminal.resize(40, 10)
    terminal.resize(100, 30)
    assert terminal.text() != before
    terminal.signal(signal.SIGCONT)
    terminal.wait_for(lambda text: text == before)


def test_a_storm_of_resizes(start: Opener, profile: Path) -> None:
    terminal = start(profile, size=(120, 40))
    terminal.wait_for(READY)
    for round_ in range(12):
        for columns, rows in ((120, 40), (40, 10), (200, 50), (10, 3), (61, 16), (1, 1), (100, 30)):
            terminal.resize(columns, rows)
            terminal.read(0.005)
            if round_ % 4 == 0:
                terminal.press("d")
    terminal.resize(100, 30)
    terminal.wait_for("whole run")  # a busy machine is still drawing an earlier size
    terminal.settle(0.6)
    stormy = terminal.text()
    assert "whole run" in stormy
    terminal.press("C-l")
    terminal.settle()
    assert terminal.text() == stormy  # nothing was left over from another size
    terminal.press("q")
    assert terminal.wait_exit() == 0
