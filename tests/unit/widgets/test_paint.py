"""Cells to coloured text: nothing is lost, budgets hold, names are safe, and every terminal can
tell kinds apart.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from powertui.data.category import CATEGORIES, Category
from powertui.terminal import theme as themes
from powertui.terminal.glyphs import ASCII, CONSOLE, UNICODE, Glyphs
from powertui.view.labels import INKS, SHADES, Labels, short
from powertui.view.paint import (
    BAR,
    CURSOR,
    FOUND,
    PLAIN,
    SELECTED,
    Cells,
    Painted,
    cropped,
    levels,
    paint,
    palette,
)
from tests.synthetic.traces import PlainNames

SETS = [UNICODE, CONSOLE, ASCII]
NAMES = [
    "dense/MatMul:MatMul",
    "volta_sgemm_128x64_nn",
    "Memcpy HtoD",
    "\x1b[2Jwipe",
    "[red]markup[/red]",
    "日本語のカーネル",
    "x",
]


def labels() -> Labels:
    return Labels(PlainNames(NAMES))


@st.composite
def screens(draw: st.DrawFn, full: int = 8) -> Cells:
    rows, width = draw(st.integers(1, 4)), draw(st.integers(1, 90))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    pieces = draw(st.integers(1, 30))
    event = np.sort(random.integers(0, pieces, (rows, width)), axis=1).astype(np.int64)
    level = random.integers(0, full + 1, (rows, width)).astype(np.uint8)
    level[random.random((rows, width)) < draw(st.floats(0, 1))] = full
    event[level == 0] = -1
    name = np.where(event >= 0, event % len(NAMES), 0)
    ink = (event % INKS).astype(np.uint8)
    ink[level == 0] = 0
    return Cells(level, ink, name, event, np.zeros((rows, width), np.uint8))


def text(painted: Painted, row: int, glyphs: Glyphs, depth: str = "256") -> str:
    look = palette(themes.get("dark", depth), glyphs)  # type: ignore[arg-type]
    return "".join(segment.text for segment in painted.segments(row, look))


@settings(max_examples=120, deadline=None)
@given(screens(), st.sampled_from(["true", "16", "none"]), st.integers(2, 60))
def test_every_cell_is_drawn_and_only_empty_cells_are_blank(
    cells: Cells, depth: str, budget: int
) -> None:
    look = palette(themes.get("dark", depth), UNICODE)  # type: ignore[arg-type]
    painted = paint(cells, labels(), look, budget=budget)
    bar = painted.key & (1 << 8) > 0
    for row in range(cells.level.shape[0]):
        drawn = text(painted, row, UNICODE, depth)
        assert cell_len(drawn) == cells.level.shape[1]
        blank = painted.chars[row] == ord(" ")
        np.testing.assert_array_equal(blank & ~bar[row], cells.level[row] == 0)
        assert "\x1b" not in drawn


@settings(max_examples=120, deadline=None)
@given(screens(), st.integers(6, 60), st.integers(-1000, 1000))
def test_rows_keep_to_their_budget_and_the_heights_stay_exact(
    cells: Cells, budget: int, cell0: int
) -> None:
    """Bars aside (each is a name that fits), ink changes at most `budget` times; glyphs never
    change with the budget.
    """
    look = palette(themes.get(), UNICODE)
    free = paint(cells, labels(), look, cell0=cell0)
    tight = paint(cells, labels(), look, cell0=cell0, budget=budget)
    for row in range(cells.level.shape[0]):
        bars = np.diff(np.r_[False, (tight.key[row] & (1 << 8)) > 0].astype(int))
        assert tight.runs(row) <= max(budget, 4) + 2 * int((bars == 1).sum())
        assert tight.runs(row) <= max(free.runs(row), budget)
    inked = (free.key & (1 << 8) == 0) & (tight.key & (1 << 8) == 0)
    codes = {ord(category.code) for category in CATEGORIES}
    same = (
        (free.chars == tight.chars)
        | np.isin(free.chars, list(codes))
        | np.isin(tight.chars, list(codes))
    )
    assert same[inked].all()


@settings(max_examples=60, deadline=None)
@given(screens(), st.sampled_from([2, 3, 8, 24]), st.integers(-500, 500), st.integers(1, 60))
def test_merged_colours_do_not_depend_on_where_the_screen_begins(
    cells: Cells, size: int, cell0: int, shift: int
) -> None:
    """After a pan each cell keeps its ink, but for the group that the edge cuts."""
    look = palette(themes.get(), UNICODE)
    plain_cells = replace(cells, event=np.full_like(cells.event, -1))  # no bars
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("powertui.view.paint._GROUPS", (size,))
        patched.setattr("powertui.view.paint.BAR", 1000)
        ours = paint(plain_cells, labels(), look, cell0=cell0, budget=0)
        panned = cropped(plain_cells, shift, cells.level.shape[1])
        theirs = paint(panned, labels(), look, cell0=cell0 + shift, budget=0)
    cut = -(cell0 + shift) % size
    is_drawn = panned.level[:, cut:] > 0
    ours_in_view = ours.key[:, shift + cut :][is_drawn]
    np.testing.assert_array_equal(ours_in_view, theirs.key[:, cut:][is_drawn])


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 10**17), st.data(), st.sampled_from(SETS))
def test_levels(cell: int, data: st.DataObject, glyphs: Glyphs) -> None:
    full = len(glyphs.levels)
    busy = np.array([[data.draw(st.integers(0, cell)) for _ in range(4)]], np.int64)
    level = levels(busy, np.ones((1, 4), np.int32), cell, full)
    assert (level >= 1).all(), "what happens is drawn, however short"
    wanted = [max(1, (b * 2 * full + cell) // (2 * cell)) for b in busy[0].tolist()]
    assert level[0].tolist() == wanted
    assert (levels(busy * 0, np.zeros((1, 4), np.int32), cell, full) == 0).all()


def one_row(level: list[int], name: list[int], *, full: int = 8) -> Cells:
    events = np.array([name], np.int64)
    filled = np.array([level], np.uint8)
    ink = labels().inks(np.maximum(events, 0))
    return Cells(filled, ink, np.maximum(events, 0), events, np.zeros_like(filled))


def test_a_long_event_is_a_bar_with_its_name() -> None:
    painted = paint(one_row([8] * 20, [1] * 20), labels(), palette(themes.get(), UNICODE))
    assert text(painted, 0, UNICODE) == "volta_sgemm_128x64_…" or text(
        painted, 0, UNICODE
    ).startswith("volta_sgemm_128x64")
    assert painted.runs(0) == 1


def test_names_are_cut_to_what_tells_them_apart() -> None:
    painted = paint(one_row([8] * 6, [0] * 6), labels(), palette(themes.get(), UNICODE))
    assert text(painted, 0, UNICODE) == "MatMul"
    assert short("void cutlass::Kernel<Sm80>(int)") == "Kernel"
    assert short("model/layer_1/MatMul:MatMul") == "MatMul"
    assert short("fusion.12") == "fusion.12"


def test_hostile_and_wide_names_take_exactly_their_cells() -> None:
    for name in (3, 4, 5):
        for width in range(BAR, 24):
            drawn = text(
                paint(
                    one_row([8] * width, [name] * width),
                    labels(),
                    palette(themes.get(), UNICODE),
                ),
                0,
                UNICODE,
            )
            assert cell_len(drawn) == width
            assert "\x1b" not in drawn
    assert "[red]markup" in text(
        paint(one_row([8] * 24, [4] * 24), labels(), palette(themes.get(), UNICODE)), 0, UNICODE
    )


def test_neighbours_of_one_colour_have_an_edge() -> None:
    cells = one_row([8] * 16, [1] * 16)
    split = Cells(
        cells.level, cells.ink, cells.name, np.array([[1] * 8 + [2] * 8], np.int64), cells.mark
    )
    drawn = text(paint(split, labels(), palette(themes.get(), UNICODE)), 0, UNICODE)
    assert drawn[8] == UNICODE.vertical


@pytest.mark.parametrize("glyphs", SETS)
@pytest.mark.parametrize("depth", ["true", "256", "16", "none"])
def test_kinds_are_told_apart_without_colour(glyphs: Glyphs, depth: str) -> None:
    """A long stretch of short events begins with the letter of its kind, at every depth; without
    colours already two cells do.
    """
    width = 30 if depth != "none" else 2
    full = len(glyphs.levels)
    events = np.arange(width, dtype=np.int64)[None, :]
    ink = np.full((1, width), CATEGORIES.index(CATEGORIES[0]) * SHADES, np.uint8)
    cells = Cells(
        np.full((1, width), full - 1, np.uint8),
        ink,
        np.zeros((1, width), np.int64),
        events,
        np.zeros((1, width), np.uint8),
    )
    painted = paint(cells, labels(), palette(themes.get("dark", depth), glyphs))  # type: ignore[arg-type]
    assert text(painted, 0, glyphs, depth)[0] == CATEGORIES[0].code


@pytest.mark.parametrize("glyphs", [CONSOLE, ASCII])
def test_plain_sets_use_only_their_characters(glyphs: Glyphs) -> None:
    full = len(glyphs.levels)
    cells = one_row([i % (full + 1) for i in range(60)], [i % 3 for i in range(60)], full=full)
    drawn = text(paint(cells, labels(), palette(themes.get(), glyphs)), 0, glyphs)
    letters = {category.code for category in CATEGORIES}
    assert set(drawn) <= set(glyphs.levels) | letters | {" "}
    if glyphs is ASCII:
        assert drawn.isascii()


@pytest.mark.parametrize("depth", ["true", "16", "none"])
def test_marks_stand_out_without_a_new_hue(depth: str) -> None:
    look = palette(themes.get("dark", depth), UNICODE)  # type: ignore[arg-type]
    for bar in (0, 1 << 8):
        plain, found, selected = (look.style(bar | mark << 9) for mark in (PLAIN, FOUND, SELECTED))
        assert found != plain
        assert selected not in (plain, found)
        for marked in (found, selected):
            assert (marked.color, marked.bgcolor) == (plain.color, plain.bgcolor)
            assert marked.bold
        assert look.style(bar | CURSOR << 9) not in (plain, found, selected)


def test_an_op_keeps_its_colour_and_its_instances_share_it() -> None:
    names = Labels(PlainNames(["fusion.1", "fusion.27", "fusion.1.2", "Memcpy HtoD"]))
    inks = names.inks(np.array([0, 1, 2, 3]))
    assert inks[0] == inks[1] == inks[2]
    assert inks[0] // SHADES != inks[3] // SHADES
    assert Labels(PlainNames(["z", "fusion.1"])).inks(np.array([1]))[0] == inks[0], (
        "whatever else is in the trace"
    )


def test_a_kind_that_is_told_while_a_name_is_looked_up_is_not_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The screen paints while what is in sight is counted beside it."""
    names = Labels(PlainNames(["nameless_kernel"]))
    look_up = Labels._ink

    def told_meanwhile(self: Labels, index: int) -> int:
        ink = look_up(self, index)
        names.adopt(launched)
        return ink

    launched = {0: Category.CONVOLUTION}
    monkeypatch.setattr(Labels, "_ink", told_meanwhile)
    assert names.kinds(np.array([0]))[0] == Category.CONVOLUTION.number
