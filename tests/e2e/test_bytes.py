"""Bytes are what a slow line costs, and they do not depend on the machine: so they have limits, and
the limits are tested.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from powertui.terminal.pacing import LOST_S

from .conftest import Opener
from .terminal import Terminal

pytestmark = pytest.mark.e2e

FIRST_FRAME = 28_000
PAN = 5_000
ZOOM = 15_000
CURSOR = 2_000
# At the foot: the run is read, and what it says is known.
READY = r"3: (all \d+|more)"


def cost(terminal: Terminal, key: str) -> int:
    """Bytes that one key causes."""
    before = terminal.total
    terminal.press(key)
    terminal.settle()
    return terminal.total - before


def test_budgets_on_the_demo(start: Opener) -> None:
    terminal = start("demo", size=(200, 50))
    terminal.wait_for(READY)
    terminal.settle(1.0)
    assert 0 < terminal.total <= FIRST_FRAME
    terminal.press("Z", "z")
    terminal.settle()
    terminal.press("z")
    terminal.settle()
    for _ in range(4):
        assert cost(terminal, "w") <= ZOOM
    for key in ("d", "a", "D", "A"):
        assert 0 < cost(terminal, key) <= PAN
    for key in ("j", "k", "l", "h", "Down", "Right", "S-Right"):
        assert cost(terminal, key) <= CURSOR, key
    assert terminal.run(2.0) == 0  # nothing is sent while nothing changes


def test_idle_costs_nothing_on_any_page(start: Opener, logdir: Path) -> None:
    terminal = start(logdir, size=(120, 30))
    terminal.wait_for("Enter open")
    terminal.settle(1.5)
    assert terminal.run(1.5) == 0
    terminal.press("?")
    terminal.wait_for("First run")
    terminal.settle()
    assert terminal.run(1.5) == 0
    terminal.press(":")
    terminal.wait_for("Rescan")
    terminal.settle()
    assert terminal.run(1.5) == 0


def test_keys_that_change_nothing_cost_nothing(start: Opener, profile: Path) -> None:
    terminal = start(profile)
    terminal.wait_for(READY)
    terminal.settle()
    terminal.press("0")
    terminal.settle()
    assert cost(terminal, "0") == 0
    assert cost(terminal, "Z") <= 200


def test_a_terminal_that_never_answers_still_gets_frames(start: Opener, profile: Path) -> None:
    terminal = start(profile, answers=False)
    terminal.wait_for(READY)
    terminal.settle(1.0)
    before = terminal.text()
    terminal.press("w", "w", "d")
    terminal.settle(1.5)
    assert terminal.text() != before
    terminal.press("?", "Tab")
    terminal.wait_for("does not answer")
    terminal.press("q")
    assert terminal.wait_exit() == 0


def test_frames_wait_for_the_terminal(start: Opener, profile: Path) -> None:
    """While the terminal has not acknowledged a frame, no other is sent: the newest state follows
    when it has.
    """
    terminal = start(profile, size=(120, 30))
    terminal.wait_for(READY)
    terminal.settle()
    terminal.hold_answers()
    before = terminal.questions
    terminal.press("w")
    terminal.wait_until(lambda: terminal.questions > before, "a frame")
    questions, held, since = terminal.questions, terminal.total, time.monotonic()
    for key in "wwwdddaaa":
        terminal.press(key)
    terminal.settle(limit=5.0)
    # An answer that is missing for so long is given up: on a machine that needed that time, nothing
    # was shown.
    assert terminal.total == held or time.monotonic() - since >= LOST_S
    terminal.give_answers()
    terminal.settle()
    # Nine keys, one frame (two if one was already being rendered).
    assert terminal.questions - questions <= 2 + (time.monotonic() - since) // LOST_S
