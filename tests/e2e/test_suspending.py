"""Ctrl+Z as people press it: several times, before the terminal is ours again, on a machine that is
slow to answer.
"""

from __future__ import annotations

import signal
import termios
from pathlib import Path

from .conftest import Opener
from .processes import state
from .terminal import Terminal

READY = r"w/s zoom"
HELP = "Tab other pages"


def woken(terminal: Terminal, quiet: int = 5) -> None:
    """`fg` for as long as it stops."""
    awake = 0
    for _ in range(3000):
        terminal.run(0.05)
        if state(terminal.pid) == "T":
            awake = 0
            terminal.signal(signal.SIGCONT)
        else:
            awake += 1
            if awake > quiet:
                return
    raise AssertionError("it stops again and again")


def hears(terminal: Terminal) -> bool:
    """Whether it shows the help when it is asked for it.

    What is typed while it is stopped is for the shell.
    """
    for _ in range(20):
        woken(terminal)
        terminal.press("?")
        terminal.settle(1.0)  # until it has nothing more to do: stopped, it has not
        if HELP in terminal.text():
            return True
    return False


def test_ctrl_z_pressed_many_times_leaves_a_program_that_hears(
    start: Opener, profile: Path
) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    for _ in range(6):
        for _ in range(12):
            terminal.write(b"\x1a")
            terminal.run(0.01)
            if state(terminal.pid) == "T":
                terminal.signal(signal.SIGCONT)
        assert hears(terminal), terminal.text()
        terminal.press("Esc")
        terminal.wait_for(READY)
    terminal.press("q")
    assert terminal.wait_exit() == 0
    assert terminal.left_on() == []


def test_being_continued_without_having_stopped_changes_nothing(
    start: Opener, profile: Path
) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    for _ in range(5):
        terminal.signal(signal.SIGCONT)
        terminal.run(0.02)
    terminal.press("?")
    terminal.wait_for(HELP)
    terminal.press("q")
    assert terminal.wait_exit() == 0
    assert terminal.left_on() == []


def test_a_program_that_was_stopped_from_outside_takes_its_terminal_back(
    start: Opener, profile: Path
) -> None:
    """`kill -STOP` asks nobody: the shell takes the terminal, has it echo whole lines, and `fg`
    hands it back like that.
    """
    terminal = start(profile)
    terminal.wait_for(READY)
    for _ in range(3):
        terminal.signal(signal.SIGSTOP)
        terminal.wait_until(lambda: state(terminal.pid) == "T", "stopped")
        termios.tcsetattr(terminal.fd, termios.TCSANOW, terminal._settings)
        terminal.signal(signal.SIGCONT)
        terminal.wait_until(lambda: not terminal.as_before(), "the line is the program's again")
        terminal.press("?")
        terminal.wait_for(HELP)
        terminal.press("Esc")
        terminal.wait_for(READY)
    terminal.press("q")
    assert terminal.wait_exit() == 0
    assert terminal.left_on() == []
    assert terminal.as_before()
