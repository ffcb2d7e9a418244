"""Lanes draw whatever is marked, selected or named, wherever it lies: in sight, left of it, right
of it, across it.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from textual.strip import Strip
from textual.widget import Widget

from powertui.view.time_navigation import State
from powertui.view.timeline_model import Selected, TimelineModel
from powertui.view.viewport import LADDER
from tests.synthetic import traces
from tests.synthetic.traces import MS

from .conftest import Maker, loaded, timeline_screen
from .test_widgets_timeline import Stage, settle

MODEL = TimelineModel.from_run(traces.training())


def any_state(rng: random.Random, state: State) -> State:
    """Any view of the run with anything marked and selected."""
    lo, hi = MODEL.span

    def moment() -> int:
        return rng.randint(lo, hi - 1)

    view = (
        state.viewport.zoom(rng.randint(-len(LADDER), len(LADDER)), moment())
        .reveal(moment())
        .pan(rng.randint(-999, 999))
    )
    if rng.random() < 0.2:  # a resize that the lanes learn of before the timeline does, or after it
        view = view.resized(rng.choice([1, 2, 3, view.width + 40]), view.height)
    ends = sorted((moment(), moment()))
    track = rng.choice([info.number for info in MODEL.tracks if len(info.track.events)])
    selection = Selected(track, rng.randrange(len(MODEL.tracks[track].track.events)))
    return replace(
        state,
        viewport=view,
        cursor_ps=moment(),
        window=rng.choice([None, (ends[0], ends[1] + 1), (lo, hi), (ends[0], ends[0] + 1)]),
        mark=rng.choice([None, moment()]),
        selection=rng.choice([None, selection]),
    )


def line(widget: Widget, y: int = 0) -> Strip:
    strip: Strip = widget.render_line(y)  # type: ignore[attr-defined]
    return strip


@pytest.mark.parametrize("size", [(13, 9), (25, 12), (80, 24), (300, 60)])
async def test_lanes_draw_any_window_over_any_view(size: tuple[int, int]) -> None:
    power = traces.power(
        np.arange(0, 260, 2, dtype=np.int64) * MS, [200.0 + i for i in range(130)], slack_ps=7 * MS
    )
    app = Stage(model=MODEL, power=(power,))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        view, rng = app.view, random.Random(size[0])
        first = view.timeline.state
        assert first is not None
        assert view.timeline.scene is not None
        for _ in range(300):
            state = any_state(rng, first)
            for lane in view.lanes:
                lane.update_state(MODEL, state)
                for y in range(lane.size.height):
                    assert line(lane, y).cell_length == lane.size.width, (lane, state)
            assert len(view.strips[0]._draw(state.viewport, rng.randint(1, 9))) > 0
            cells = view.timeline.scene.cells(state, view.timeline.rows)
            assert cells.mark.shape == (len(view.timeline.rows), state.viewport.width)


async def test_a_window_left_of_the_screen_is_not_drawn(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press(*"wwwwwwm", "right_square_bracket", "m", *["right_square_bracket"] * 14)
        timeline = timeline_screen(shell).timeline
        assert timeline.window is not None
        assert timeline.viewport is not None
        assert timeline.window[1] < timeline.viewport.t0
        assert (
            line(timeline_screen(shell).view.ruler).cell_length
            == timeline_screen(shell).view.ruler.size.width
        )


async def test_a_window_dragged_with_the_mouse_may_leave_the_screen_on_both_sides(
    make: Maker,
) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press(*"wwwwww")
        timeline, ruler, overview = (
            timeline_screen(shell).timeline,
            timeline_screen(shell).view.ruler,
            timeline_screen(shell).view.overview,
        )
        await pilot.mouse_down(timeline, offset=(20, 2))
        await pilot.hover(timeline, offset=(30, 2))
        await pilot.mouse_up(timeline, offset=(30, 2))
        assert timeline.window is not None
        assert timeline.viewport is not None
        beyond = {"left": False, "right": False}
        for x in range(
            ruler.label_width, overview.size.width
        ):  # the overview moves the view by less than a screen each time
            await pilot.click(overview, offset=(x, 0))
            beyond["left"] |= timeline.window[1] <= timeline.viewport.t0
            beyond["right"] |= timeline.window[0] >= timeline.viewport.t1
            assert line(ruler).cell_length == ruler.size.width
        assert beyond == {"left": True, "right": True}
