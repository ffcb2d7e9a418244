"""Viewport arithmetic: integers, anchors, bounds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.view.accelerate import HeldKey
from powertui.view.viewport import FACTOR_TWO, LADDER, Viewport, rung_for

spans = st.tuples(st.integers(-(10**15), 10**15), st.integers(1, 10**16)).map(
    lambda p: (p[0], p[0] + p[1])
)
widths = st.integers(1, 300)


def inside(view: Viewport) -> None:
    """The view shows only the run, as far as the run is longer than the view."""
    cell, (lo, hi) = view.cell_ps, view.span
    assert view.t0 >= lo // cell * cell
    assert view.t1 <= max(-(-hi // cell) * cell, (lo // cell + view.width) * cell)
    assert view.rung <= view.widest


def test_the_ladder_rises_by_an_eighth_and_six_rungs_double() -> None:
    assert LADDER[0] == 1
    assert list(LADDER) == sorted(set(LADDER))
    coarse = LADDER[LADDER.index(100) :]
    for low, high in pairwise(coarse):
        assert 1.1 <= high / low <= 1.15
    for low, high in zip(coarse, coarse[FACTOR_TWO:], strict=False):
        assert 1.93 <= high / low <= 2.02


@given(spans, widths)
def test_whole_shows_everything_and_wastes_little(span: tuple[int, int], width: int) -> None:
    view = Viewport.whole_of(span, width)
    inside(view)
    assert view.t0 <= span[0]
    assert view.t1 >= span[1] or width == 1
    if view.rung and width > 2:
        finer = LADDER[view.rung - 1]
        assert (span[1] - span[0]) > finer * (width - 1), "a finer rung would have done"


@settings(max_examples=200)
@given(spans, widths, st.data())
def test_every_move_stays_inside(span: tuple[int, int], width: int, data: st.DataObject) -> None:
    view = Viewport.whole_of(span, width)
    for _ in range(6):
        move = data.draw(st.sampled_from(["zoom", "pan", "fit", "reveal", "resize"]))
        at = data.draw(st.integers(span[0], span[1] - 1))
        if move == "zoom":
            view = view.zoom(data.draw(st.integers(-9, 9)), at)
        elif move == "pan":
            view = view.pan(data.draw(st.integers(-(10**7), 10**7)))
        elif move == "fit":
            view = view.fit(
                at, data.draw(st.integers(at, span[1])), margin=data.draw(st.booleans())
            )
        elif move == "reveal":
            view = view.reveal(at)
            assert view.shows(at)
        else:
            view = view.resized(data.draw(widths), 10)
        inside(view)
        assert isinstance(view.cell0, int)
        assert isinstance(view.t0, int)


@given(spans, st.integers(10, 300), st.integers(0, 60), st.integers(1, 9), st.data())
def test_zoom_keeps_the_anchor_in_its_column(
    span: tuple[int, int], width: int, deep: int, rungs: int, data: st.DataObject
) -> None:
    view = Viewport.whole_of(span, width)
    anchor = data.draw(st.integers(span[0], span[1] - 1))
    view = view.zoom(deep, anchor).reveal(anchor)
    column = view.column(anchor)
    closer = view.zoom(rungs, anchor)
    assert closer.shows(anchor)
    lo, hi = span[0] // closer.cell_ps, -(-span[1] // closer.cell_ps)
    at_an_end = closer.cell0 in (lo, max(lo, hi - width))
    assert closer.column(anchor) == column or at_an_end
    back = closer.zoom(closer.rung - view.rung, anchor)
    assert back.rung == view.rung
    if not at_an_end and back.column(anchor) == column:
        assert back == view, "in and out again is where one was"


@given(spans, st.integers(10, 300), st.integers(-500, 500), st.integers(3, 40))
def test_a_pan_moves_by_whole_cells(
    span: tuple[int, int], width: int, cells: int, deep: int
) -> None:
    view = Viewport.whole_of(span, width).zoom(deep, (span[0] + span[1]) // 2)
    moved = view.pan(cells)
    shift = moved.cell0 - view.cell0
    assert shift == cells or moved.pan(cells) == moved, "less only at the end of the run"
    ours, theirs = view.edges(), moved.edges()
    if 0 <= shift < width:
        np.testing.assert_array_equal(ours[shift:], theirs[: width + 1 - shift])


@given(spans, widths, st.integers(-(10**15), 10**16))
def test_columns_and_times_agree(span: tuple[int, int], width: int, ps: int) -> None:
    view = Viewport.whole_of(span, width)
    column = view.column(ps)
    assert view.time(column) <= ps < view.time(column + 1)


def test_fit_puts_a_window_in_the_middle() -> None:
    view = Viewport.whole_of((0, 10**12), 100).fit(5 * 10**11, 6 * 10**11)
    assert view.t0 <= 5 * 10**11
    assert view.t1 >= 6 * 10**11
    left, right = view.column(5 * 10**11), view.width - 1 - view.column(6 * 10**11 - 1)
    assert abs(left - right) <= 1


def test_a_whole_view_stays_whole_when_the_screen_or_the_run_grows() -> None:
    view = Viewport.whole_of((0, 10**12), 80)
    assert view.resized(200, 40) == Viewport.whole_of((0, 10**12), 200, 40)
    assert view.on((0, 5 * 10**12)) == Viewport.whole_of((0, 5 * 10**12), 80)
    near = view.zoom(12, 5 * 10**11)
    assert near.on((0, 5 * 10**12)).cell0 == near.cell0


def test_rows_scroll_no_further_than_the_last() -> None:
    view = Viewport.whole_of((0, 100), 80, 10)
    assert view.scrolled(50, 30).row0 == 20
    assert view.scrolled(-5, 30).row0 == 0
    assert view.scrolled(5, 8).row0 == 0


def test_the_finest_rung_shows_single_picoseconds() -> None:
    view = Viewport.whole_of((0, 10**13), 100)
    for _ in range(100):
        view = view.zoom(FACTOR_TWO, 123456789)
    assert view.cell_ps == 1
    assert view.shows(123456789)
    assert rung_for(10, 100) == 0


def test_a_held_key_goes_faster_and_a_new_press_starts_again() -> None:
    held = HeldKey()
    steps = [held.cells(1, 160, now / 20) for now in range(60)]
    assert steps[0] == 10
    assert steps == sorted(steps)
    assert steps[-1] == 80
    assert held.cells(-1, 160, 3.0) == -10, "the other way begins slowly"
    assert held.cells(-1, 160, 9.0) == -10, "so does a press after a pause"
    assert HeldKey().cells(1, 3, 0) == 1, "even a narrow view moves"
    twice = HeldKey()
    moved = [twice.cells(1, 160, now) for now in (0.0, 0.24)]
    assert moved == [10, 10], "two presses move twice as far as one, however late the second comes"


@given(spans, widths, st.data())
def test_covered_is_what_is_in_sight_of_a_stretch(
    span: tuple[int, int], width: int, data: st.DataObject
) -> None:
    view = Viewport.whole_of(span, width).zoom(
        data.draw(st.integers(0, 60)), data.draw(st.integers(*span))
    )
    lo = data.draw(
        st.integers(view.t0 - 3 * width * view.cell_ps, view.t1 + 3 * width * view.cell_ps)
    )
    hi = lo + data.draw(st.integers(0, 5 * width * view.cell_ps))
    touched = [
        x
        for x in range(width)
        if x == view.column(lo) or (view.time(x) < hi and view.time(x + 1) > lo)
    ]
    assert list(view.covered(lo, hi)) == touched
    assert 0 <= view.covered(lo, hi).start <= view.covered(lo, hi).stop <= width


def test_the_ladder_ends_where_times_do() -> None:
    assert LADDER[-1] == 10**17
