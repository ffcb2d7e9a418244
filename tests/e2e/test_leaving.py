"""However the program ends, the terminal is as it was, and the exit code says how it ended."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from .conftest import Opener, python_env
from .processes import state
from .terminal import Terminal

pytestmark = pytest.mark.e2e

# At the foot: the run is read, and what it says is known.
READY = r"3: (all \d+|more)"


@pytest.mark.parametrize(
    ("key", "code"),
    [("q", 0), ("C-c", 130)],
)
def test_keys_that_leave(start: Opener, profile: Path, key: str, code: int) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.settle()
    assert "alternate screen" in terminal.left_on()
    terminal.press(key)
    assert terminal.wait_exit() == code
    assert terminal.left_on() == []


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)],
)
def test_signals(start: Opener, profile: Path, number: int, code: int) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.signal(number)
    assert terminal.wait_exit() == code
    assert terminal.left_on() == []


def test_escape_never_leaves(start: Opener, profile: Path) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.press("Esc", "Esc", "Esc", "Esc")
    terminal.settle()
    assert not terminal.eof
    assert "whole run" in terminal.text()


def test_ctrl_c_leaves_from_a_dialog_too(start: Opener, profile: Path) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.press(":")
    terminal.wait_for("Show: Overview")
    terminal.press("C-c")
    assert terminal.wait_exit() == 130
    assert terminal.left_on() == []


def test_a_terminal_that_is_closed_ends_the_program(start: Opener, profile: Path) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.hang_up()
    assert terminal.wait_exit() == 129


# What is broken, and the key that leads to it: in the screen's own thread, and in one beside it.
BROKEN = {
    "a key": ("powertui.widgets.timeline:Timeline.zoom_key", "w"),
    "a table": ("powertui.screens.tool:ToolScreen.ask", "6"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_crash_restores_the_terminal_and_prints_where_to_report(profile: Path, what: str) -> None:
    place, key = BROKEN[what]
    module, _, function = place.partition(":")
    code = (
        "import importlib, sys, powertui.cli\n"
        "from powertui.terminal import launch\n"
        "prepare = launch.prepare\n"
        "def prepared(*asked):\n"
        "    found = prepare(*asked)\n"
        "    def broken(*asked):\n"
        "        secret = 'hunter' + '2'\n"
        "        raise RuntimeError('on purpose')\n"
        f"    kind, name = {function!r}.split('.')\n"
        f"    setattr(getattr(importlib.import_module({module!r}), kind), name, broken)\n"
        "    return found\n"
        "launch.prepare = prepared\n"
        "sys.exit(powertui.cli.main(sys.argv[1:]))\n"
    )
    with Terminal(
        [sys.executable, "-c", code, str(profile)], size=(120, 40), env=python_env()
    ) as terminal:
        terminal.wait_for(READY)
        terminal.press(key)
        assert terminal.wait_exit() == 1
        assert terminal.left_on() == []
        printed = terminal.raw.decode(errors="replace").rpartition("\x1b[?1049l")[2]
        assert "Traceback" in printed
        assert "RuntimeError: on purpose" in printed
        assert "in broken" in printed  # the line that failed, not who told of it
        assert "report it" in printed
        assert "hunter2" not in printed  # no values of local variables


def test_suspend_gives_the_terminal_back_and_resume_draws_everything(
    start: Opener, profile: Path
) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.settle()
    before = terminal.text()
    terminal.press("C-z")
    terminal.wait_until(lambda: state(terminal.pid) == "T", "stopped")
    terminal.settle()
    assert terminal.left_on() == []
    terminal.screen.reset()
    terminal.signal(signal.SIGCONT)
    terminal.wait_for(READY)
    terminal.settle()
    assert terminal.text() == before
    terminal.press("q")
    assert terminal.wait_exit() == 0


def test_ctrl_l_draws_everything_again(start: Opener, profile: Path) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.settle()
    before = terminal.text()
    terminal.screen.reset()  # a stray write has destroyed the picture
    terminal.press("C-l")
    terminal.settle()
    assert terminal.text() == before


@pytest.mark.parametrize(
    ("env", "part"),
    [({"TERM": "dumb"}, "TERM=dumb"), ({"TERM": ""}, "not set")],
)
def test_terminals_without_a_screen_are_refused(
    start: Opener, profile: Path, env: dict[str, str], part: str
) -> None:
    terminal = start(profile, env=env)
    assert terminal.wait_exit() == 2
    assert part in terminal.text()
    assert "powertui report" in terminal.text().replace("\n", " ")
    assert terminal.left_on() == []


def test_pipes_are_refused(profile: Path) -> None:
    import subprocess

    command = [sys.executable, "-m", "powertui", str(profile)]
    result = subprocess.run(
        command,
        env=python_env(),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert "not a terminal" in result.stderr
    assert "powertui report" in result.stderr
