"""What the painter sends, drawn by a terminal emulator, is what was wanted: whatever came before,
in however many pieces.
"""

from __future__ import annotations

import random

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color_triplet import ColorTriplet
from rich.segment import Segment
from rich.style import Style

from powertui.terminal.painter import Painter
from powertui.terminal.sgr import Pens
from tests.emulated_screen import EmulatedScreen

STYLES = [
    None,
    Style(bold=True),
    Style(color="#ff0000", bgcolor="#121212"),
    Style(reverse=True, dim=True),
    Style(bgcolor="#5f87d7", color="#000000"),
    Style(bold=True, dim=True, underline=True),
]
WIDTH, HEIGHT = 60, 8


class Glass:
    """A terminal emulator that is fed frames."""

    def __init__(self) -> None:
        self.screen = EmulatedScreen(WIDTH, HEIGHT)
        self._stream = pyte.Stream(self.screen)
        self._stream.feed("\x1b[?7l")  # as Textual sets it

    def show(self, painter: Painter, limit: int = 1 << 30) -> int:
        count = 0
        while painter.dirty:
            frame = painter.frame(limit)
            count += len(frame)
            self._stream.feed(frame)
        return count

    def cells(self) -> list[list[object]]:
        return [[seen(self.screen.buffer[y][x]) for x in range(WIDTH)] for y in range(HEIGHT)]


def seen(cell: pyte.screens.Char) -> pyte.screens.Char:
    """What an eye can tell apart: an empty cell has no ink, unless a line goes through it or ink
    and paper are exchanged.
    """
    if cell.data != " " or cell.underscore or cell.strikethrough or cell.reverse or cell.blink:
        return cell
    return pyte.screens.Char(" ", bg=cell.bg)


def afresh(painter: Painter) -> Glass:
    """The same picture, sent whole to another terminal."""
    other = Painter(painter.pens.color)
    other.resize(WIDTH, HEIGHT)
    other.pens = painter.pens
    other._clusters = painter._clusters
    other.wanted = painter.wanted.copy()
    other.invalidate()
    glass = Glass()
    glass.show(other)
    return glass


def text_row(rng: random.Random, alphabet: str, width: int) -> list[Segment]:
    row: list[Segment] = []
    while sum(len(part.text) for part in row) < width:
        row.append(
            Segment(
                "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 9))), rng.choice(STYLES)
            )
        )
    return row


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_any_sequence_of_changes_shows_what_was_wanted(seed: int, clears_in_color: bool) -> None:
    rng = random.Random(seed)
    painter = Painter("256", clears_in_color=clears_in_color)
    painter.resize(WIDTH, HEIGHT)
    glass = Glass()
    base = [text_row(rng, "abcdef ▁▂█", 200) for _ in range(HEIGHT)]
    offset = 50
    for _ in range(8):
        what = rng.random()
        if what < 0.5:  # a pan, with panes beside it that stand still
            offset = max(0, min(140, offset + rng.choice([-17, -10, -3, 3, 10, 17])))
            for y, row in enumerate(base):
                cells = [Segment(char, part.style) for part in row for char in part.text]
                painter.put(y, 5, cells[offset : offset + 45])
                painter.put(y, 50, [Segment(f"pane {rng.randint(0, 3)}   ", STYLES[4])])
        elif what < 0.85:
            for y in range(HEIGHT):
                painter.put(y, rng.randint(-3, 10), text_row(rng, "xyz漢字e\u0301 ", WIDTH))
        else:
            painter.invalidate()
        glass.show(painter, rng.choice([100, 1000, 1 << 30]))
        assert glass.cells() == afresh(painter).cells()


def test_empty_cells_of_the_page_come_with_the_clearing_where_that_has_a_color() -> None:
    paper = Style(bgcolor="#121212", color="#eeeeee")
    counts = []
    for clears_in_color in (False, True):
        painter = Painter("256", clears_in_color=clears_in_color)
        painter.resize(WIDTH, HEIGHT)
        for y in range(HEIGHT):
            painter.put(y, 0, [Segment("word" if y % 2 else "", paper), Segment(" " * 60, paper)])
        glass = Glass()
        counts.append(glass.show(painter))
        assert glass.cells() == afresh(painter).cells()
        assert glass.screen.buffer[0][30].bg == "121212"
        for y in range(HEIGHT):  # what is emptied later is written, whatever it was cleared with
            painter.put(y, 0, [Segment(" " * 60)])
        glass.show(painter)
        assert glass.cells() == afresh(painter).cells()
    assert counts[1] < counts[0] / 3


def test_a_page_of_lines_without_words_is_not_taken_for_empty() -> None:
    painter = Painter("256", clears_in_color=True)
    painter.resize(WIDTH, HEIGHT)
    for y in range(HEIGHT):
        painter.put(y, 0, [Segment(" " * 60, Style(underline=True, bgcolor="#5f87d7"))])
    glass = Glass()
    glass.show(painter)
    assert glass.cells() == afresh(painter).cells()
    assert glass.screen.buffer[0][0].underscore


def dense(painter: Painter, offset: int) -> None:
    rng = random.Random(1)
    for y in range(HEIGHT):
        line = [Segment(rng.choice("abc▁▂█"), STYLES[2 + (x // 3) % 3]) for x in range(200)]
        painter.put(y, 10, line[offset : offset + 40])
        painter.put(y, 50, [Segment("context   ")])


@pytest.mark.parametrize("by", [10, -10])
def test_a_pan_sends_the_new_columns_only(by: int) -> None:
    painter, blind = Painter("256"), Painter("256", shift=False)
    counts = []
    for each in (painter, blind):
        each.resize(WIDTH, HEIGHT)
        glass = Glass()
        dense(each, 50)
        glass.show(each)
        dense(each, 50 + by)
        counts.append(glass.show(each))
        assert glass.cells() == afresh(each).cells()
        assert all(glass.screen.display[y].endswith("context   ") for y in range(HEIGHT))
    assert counts[0] < counts[1] / 2


def test_a_pan_sends_the_new_columns_only_while_the_pane_beside_it_changes() -> None:
    """What moved is found among columns that change as well: the facts of a cursor, the time of a
    step.
    """
    counts = []
    for shift in (True, False):
        painter = Painter("256", shift=shift)
        painter.resize(WIDTH, HEIGHT)
        glass = Glass()
        for offset, facts in ((50, "10.48 s   "), (59, "10.66 s   ")):
            dense(painter, offset)
            for y in range(HEIGHT):
                painter.put(y, 50, [Segment(facts)])
            count = glass.show(painter)
        counts.append(count)
        assert glass.cells() == afresh(painter).cells()
    assert counts[0] < counts[1] / 2


def test_the_ink_of_a_space_is_not_worth_a_byte() -> None:
    painter = Painter("256")
    painter.resize(WIDTH, HEIGHT)
    painter.put(
        0,
        0,
        [
            Segment("one", Style(color="#ff0000")),
            Segment(" " * 9, Style(color="#ff0000", bold=True)),
            Segment("two"),
        ],
    )
    glass = Glass()
    glass.show(painter)
    painter.put(0, 3, [Segment(" " * 9, Style(color="#00ff00"))])
    assert not painter.dirty
    assert painter.frame() == ""
    painter.put(0, 3, [Segment(" " * 9, Style(color="#00ff00", underline=True))])
    glass.show(painter)
    assert glass.screen.buffer[0][5].underscore
    assert glass.screen.buffer[0][5].fg == "00ff00"
    painter.put(0, 3, [Segment(" " * 9, Style(bgcolor="#00ff00"))])
    glass.show(painter)
    assert glass.cells() == afresh(painter).cells()


def test_a_gap_is_hopped_over_where_writing_it_again_costs_more() -> None:
    """An equal cell between two changed ones: of the same look it is one byte, of another it would
    be two changes of colour.
    """
    counts = []
    for between in (STYLES[2], STYLES[4]):
        painter = Painter("256")
        painter.resize(WIDTH, HEIGHT)
        glass = Glass()
        for left, right in (("a", "b"), ("c", "d")):
            painter.put(
                1, 4, [Segment(left, STYLES[2]), Segment("=", between), Segment(right, STYLES[2])]
            )
            frame = painter.frame()
            glass._stream.feed(frame)
        assert glass.cells() == afresh(painter).cells()
        counts.append(("=" in frame, "\x1b[C" in frame))
    assert counts == [(True, False), (False, True)]


def test_a_terminal_without_shifts_never_gets_one() -> None:
    painter = Painter("256", shift=False)
    painter.resize(WIDTH, HEIGHT)
    dense(painter, 50)
    painter.frame()
    dense(painter, 60)
    frame = painter.frame()
    assert "P" not in frame
    assert "@" not in frame


def test_nothing_changed_sends_nothing() -> None:
    painter = Painter("256")
    painter.resize(WIDTH, HEIGHT)
    dense(painter, 50)
    painter.frame()
    dense(painter, 50)
    assert not painter.dirty
    assert painter.frame() == ""


def test_one_changed_cell_costs_a_few_bytes() -> None:
    painter = Painter("256")
    painter.resize(WIDTH, HEIGHT)
    dense(painter, 50)
    painter.frame()
    painter.put(3, 20, [Segment("!", STYLES[1])])
    assert len(painter.frame()) < 40


def test_hostile_text_never_reaches_the_terminal() -> None:
    painter = Painter("256")
    painter.resize(WIDTH, HEIGHT)
    painter.put(0, 0, [Segment("a\x1b[2Jb\rc\x07d\x9b31me\u202efg\u200b\x00\U000e0041")])
    frame = painter.frame()
    body = frame.replace("\x1b[0m", "").replace("\x1b[2J", "", 1)
    assert "\x1b[2J" not in body
    assert not set("\r\x07\x9b\u202e\u200b\x00\U000e0041") & set(frame)


@pytest.mark.parametrize(
    ("glyphs", "encoding"),
    [("ascii", "utf-8"), ("console", "utf-8"), ("unicode", "latin-1"), ("ascii", "ascii")],
)
def test_every_glyph_set_keeps_to_its_characters(glyphs: str, encoding: str) -> None:
    painter = Painter("16", glyphs, encoding=encoding)
    painter.resize(WIDTH, HEIGHT)
    everything = "▁▂▃▄▅▆▇█▏▕─│┌╭▶◀▾▸…×±µ°⣿⠁漢é✓→"
    painter.put(0, 0, [Segment(everything)])
    frame = painter.frame()
    frame.encode(encoding)
    if glyphs == "ascii":
        assert frame.isascii()
    if glyphs == "console":
        assert not set("▁▂▃▄▅▆▇⣿") & set(frame)
        assert "█" in frame
    glass = Glass()
    painter.invalidate()
    glass.show(painter)
    assert len(glass.screen.display[0].rstrip()) >= len(everything) - 1


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("2.617 kJ ±16 J    next", "2.617 kJ +-16 J   next"),
        ("3,479 J ± 16  7 s", "3,479 J +- 16 7 s"),
        ("±  ±   x", "+- +-  x"),
        ("5 kJ ±23 J · a step 23 J ±120 mJ · x   y", "5 kJ +-23 J . a step 23 J +-120 mJ . x y"),
        ("7.73±0.12 kJ │ other  panel", "7.73+-0.12 kJ| other  panel"),
        ("energy ± 95 %│", "energy +-95 %|"),
        ("energy ±95 %│", "energy+-95 %|"),
        ("(±5 s by clock)│", "(+-5s by clock)|"),
        ("±", "+-"),
        ("│±│", "|+|"),
    ],
)
def test_plus_minus_is_two_signs_in_ascii(line: str, shown: str) -> None:
    painter = Painter("16", "ascii")
    painter.resize(len(line) + (line == "±"), 1)
    painter.put(0, 0, [Segment(line)])
    painter.frame()
    glass = pyte.Screen(painter.size[0], 1)
    painter.invalidate()
    pyte.Stream(glass).feed(painter.frame())
    assert glass.display[0].rstrip() == shown


def test_a_part_drawn_again_leaves_plus_minus_as_it_was() -> None:
    painter = Painter("16", "ascii")
    painter.resize(30, 1)
    glass = pyte.Screen(30, 1)
    stream = pyte.Stream(glass)
    painter.put(0, 0, [Segment("2.617 kJ ±16 J    steady")])
    stream.feed(painter.frame())
    painter.put(0, 10, [Segment("94 J")])
    stream.feed(painter.frame())
    assert glass.display[0].rstrip() == "2.617 kJ +-94 J   steady"


def test_colours_can_be_reduced_while_running() -> None:
    painter = Painter("true")
    painter.resize(WIDTH, HEIGHT)
    dense(painter, 50)
    assert "38;2;" in painter.frame()
    painter.set_color("16")
    frame = painter.frame()
    assert "38;2;" not in frame
    assert "38;5;" not in frame
    assert "\x1b[" in frame
    glass = Glass()
    painter.invalidate()
    glass.show(painter)
    assert glass.screen.display[0][50:57] == "context"


def test_without_colours_a_highlighted_background_becomes_reverse_video() -> None:
    pens = Pens("none", ColorTriplet(18, 18, 18))
    page, row = Style(bgcolor="#121212"), Style(bgcolor="#5fafff", color="#000000")
    assert pens.number(page) == 0
    assert pens.change(0, pens.number(row)) == "\x1b[;7m" or "7" in pens.change(0, pens.number(row))
    assert "38" not in pens.change(0, pens.number(row))


@settings(max_examples=100)
@given(st.integers(0, len(STYLES) - 1), st.integers(0, len(STYLES) - 1))
def test_a_change_of_pen_leads_to_the_new_look_from_any_old_one(old: int, new: int) -> None:
    pens = Pens("256")
    a, b = pens.number(STYLES[old]), pens.number(STYLES[new])
    screens = []
    for way in (pens.change(0, a) + "x" + pens.change(a, b) + "y", pens.change(0, b) + "xy"):
        screen = pyte.Screen(4, 1)
        pyte.Stream(screen).feed(way)
        screens.append(screen.buffer[0][1])
    assert screens[0] == screens[1]


def test_a_smaller_window_keeps_what_still_fits() -> None:
    painter = Painter("256")
    painter.resize(WIDTH, HEIGHT)
    painter.put(0, 0, [Segment("hello")])
    painter.frame()
    painter.resize(20, 4)
    assert painter.dirty
    assert "hello" in painter.frame()
