"""Keys that arrive in one piece, as they do over a slow line, do what they would do one by one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from powertui.terminal.pacing import LOST_S

from .conftest import Opener
from .terminal import Terminal

pytestmark = pytest.mark.e2e

# At the foot: the run is read, and what it says is known.
READY = r"3: (all \d+|more)"


def ready(start: Opener, profile: Path) -> Terminal:
    terminal = start(profile, size=(120, 30))
    terminal.wait_for(READY)
    terminal.settle()
    return terminal


def test_a_search_in_one_burst(start: Opener, profile: Path) -> None:
    terminal = ready(start, profile)
    terminal.write(b"/dot\rnn")
    terminal.wait_for(r"[\d,]+ of [\d,]+ events that match dot")


def test_a_place_in_one_burst(start: Opener, profile: Path) -> None:
    terminal = ready(start, profile)
    terminal.write(b":30ms-31ms\rww")
    terminal.settle(0.6)
    assert "0.030" in terminal.text().splitlines()[1]


def test_screens_in_one_burst(start: Opener, profile: Path) -> None:
    terminal = ready(start, profile)
    terminal.write(b"?2t")
    terminal.wait_for(r"self")
    terminal.write(b"q")
    assert terminal.wait_exit() == 0


def test_a_burst_of_moves_is_one_frame_or_two(start: Opener, profile: Path) -> None:
    """The line is slow: the answer to the first frame comes when all keys have been handled."""
    terminal = ready(start, profile)
    before, since = terminal.questions, time.monotonic()
    terminal.hold_answers()
    terminal.write(b"wwwwww" + b"d" * 20 + b"a" * 10)
    terminal.settle(limit=5.0)
    held = (
        time.monotonic() - since
    )  # an answer that is missing for long enough is given up, and the next frame is sent
    terminal.give_answers()
    terminal.settle()
    assert 1 <= terminal.questions - before <= 3 + held // LOST_S
