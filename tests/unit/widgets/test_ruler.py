"""Round moments, labels that never meet, and lanes of stretches."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.style import Style

from powertui.units import parse_time
from powertui.view.viewport import Viewport
from powertui.widgets.ruler import tick_step, ticks
from powertui.widgets.stretches import LabelledStretch, draw


@settings(max_examples=200)
@given(st.integers(1, 10**16), st.integers(8, 250), st.integers(0, 120), st.data())
def test_labels_never_meet_and_say_where_they_stand(
    length: int, width: int, deep: int, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, length - 1))
    view = Viewport.whole_of((0, length), width).zoom(deep, at).reveal(at)
    made = ticks(view)
    end = -1
    for tick in made:
        assert tick.column > end
        end = tick.column + len(tick.text) if tick.text else tick.column
    for tick in made:
        if tick.text and not tick.text.startswith("+"):
            ps = parse_time(tick.text)
            assert ps is not None
            assert view.column(ps) == tick.column
    assert all(len(tick.text) <= 24 for tick in made)


@given(st.integers(1, 10**15), st.integers(1, 100))
def test_tick_steps_are_round_and_not_too_small(cell: int, cells: int) -> None:
    step = tick_step(cell, cells)
    assert cell * cells <= step <= cell * cells * 5 // 2 + 5
    assert str(step).rstrip("0") in ("1", "2", "5")


@settings(max_examples=120)
@given(
    st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 400)), max_size=12), st.integers(3, 90)
)
def test_every_stretch_in_sight_covers_its_cells(pairs: list[tuple[int, int]], width: int) -> None:
    view = Viewport.whole_of((0, 1001), width)
    style = {"step": Style(bold=True)}
    stretches = [
        LabelledStretch(lo, lo + length, (f"step {i}", str(i)), "step")
        for i, (lo, length) in enumerate(pairs)
    ]
    segments = draw(stretches, view, style, "…")
    text = "".join(segment.text for segment in segments)
    assert len(text) == width
    covered = [False] * width
    for lo, length in pairs:
        for column in range(
            view.column(lo), min(width - 1, view.column(max(lo, lo + length - 1))) + 1
        ):
            covered[column] = True
    drawn = [segment.style == style["step"] for segment in segments for _ in segment.text]
    assert drawn == covered
