"""What many small changes left on the screen is what one whole repaint shows, cell for cell,
whatever was typed.
"""

from __future__ import annotations

import random
import re
from contextlib import suppress

import pytest
from pyte.screens import Char

from .conftest import Opener
from .terminal import Terminal

pytestmark = pytest.mark.e2e

ROUNDS, KEYS = 12, 50
# At the foot: the run is read, and what it says is known.
READY = r"3: (all \d+|more)"
UNFILLED = re.compile(r"^\s*1 run( +1 still to be read)?$", re.MULTILINE)
LISTED = re.compile(r"^\s*1 run\b", re.MULTILINE)
# Power was moved, and what to conclude now is not counted yet.
UNCOUNTED = re.compile(r"3 Find(ings)?(?=[\s\]])")
REDRAW = "C-l"

# Of every page: mostly what moves things, some of what opens and closes them. None that leaves,
# writes a file or suspends.
VOCABULARY = (
    *"ddddaaaaDDAAwwwwssssWS",
    *"jjjjkkkkllhh",
    *"gGzZ0f",
    *"[]..,,",
    *"nm",
    *"tiv",
    *"12345678",
    "/conv\r",
    ":27s\r",
    "Up",
    "Down",
    "Left",
    "Right",
    "PgUp",
    "PgDn",
    "Home",
    "End",
    "Tab",
    "Enter",
    "?",
    "Esc",
    "Esc",
    "2",
)


def seen(cell: Char) -> Char:
    """What an eye can tell apart: an empty cell has no ink, unless a line goes through it or ink
    and paper are exchanged.
    """
    if cell.data != " " or cell.underscore or cell.strikethrough or cell.reverse or cell.blink:
        return cell
    return Char(" ", bg=cell.bg)


def cells(terminal: Terminal) -> list[list[Char]]:
    screen = terminal.screen
    return [[seen(screen.buffer[y][x]) for x in range(screen.columns)] for y in range(screen.lines)]


@pytest.mark.parametrize(
    ("term", "env", "size"),
    [
        ("xterm-256color", {}, (160, 45)),
        ("xterm-256color", {"COLORTERM": "truecolor"}, (100, 30)),
        ("screen", {}, (120, 30)),
        ("linux", {}, (80, 25)),
        ("vt220", {}, (80, 24)),
    ],
)
def test_what_changes_left_is_what_a_repaint_shows(
    start: Opener, term: str, env: dict[str, str], size: tuple[int, int]
) -> None:
    rng = random.Random(f"{term}{size}")
    # Without the outline of a jump's target: it goes by itself while the two are compared.
    terminal = start("demo", term=term, env={**env, "POWERTUI_MOTION": "0"}, size=size)
    terminal.wait_for(READY)
    # The list of runs is filled while it is in front: nothing is left to come in between two looks.
    terminal.press("8")
    terminal.wait_for(lambda text: bool(LISTED.search(text)) and not UNFILLED.search(text))
    terminal.press("2")
    terminal.wait_for(READY)
    terminal.settle()
    moved = 0
    for _ in range(ROUNDS):
        typed = rng.choices(VOCABULARY, k=KEYS)
        before = terminal.total
        terminal.press(*typed)
        terminal.settle()
        # The list of runs is filled by a timer, and conclusions are counted by one, with pauses in
        # which the program does nothing. Behind a dialog both may stay as they are: then there is
        # nothing to wait for.
        with suppress(AssertionError):
            terminal.wait_for(
                lambda text: not (UNFILLED.search(text) or UNCOUNTED.search(text)), limit=20
            )
        terminal.settle()
        left = cells(terminal)
        moved += terminal.raw.count(b"@", before)
        terminal.press(REDRAW)
        terminal.settle()
        whole = cells(terminal)
        # The bottom row is left out: any key, this one too, takes away what was said there.
        wrong = [y for y in range(size[1] - 1) if left[y] != whole[y]]
        assert not wrong, f"after {typed}: rows {wrong}\n" + "\n".join(
            "".join(cell.data for cell in row) for y in wrong for row in (left[y], whole[y])
        )
    assert moved  # rows were moved sideways, too
