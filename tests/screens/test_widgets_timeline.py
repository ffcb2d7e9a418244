"""The timeline and its lanes in a real (headless) Textual application."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.strip import Strip

from powertui import demo
from powertui.data import loading, logdir
from powertui.data.model import Mark, PowerCap
from powertui.terminal import theme as themes
from powertui.view.navigation import Navigator
from powertui.view.timeline_model import TimelineModel
from powertui.view.timeline_rows import RowKind
from powertui.widgets.power_strip import PowerStrip
from powertui.widgets.timeline import Timeline
from powertui.widgets.view import TimelineView
from tests.synthetic import traces
from tests.synthetic.traces import MS

MODEL = TimelineModel.from_run(traces.training())
SIZES = [(60, 15), (80, 24), (120, 30), (200, 50)]


class Stage(App[None]):
    """Nothing but the view."""

    def __init__(
        self,
        model: TimelineModel = MODEL,
        depth: str = "256",
        glyphs: str = "unicode",
        power: Any = (),
    ) -> None:
        super().__init__()
        self.model, self.power = model, power
        self.view = TimelineView(theme=themes.get("dark", depth), glyphs=glyphs)  # type: ignore[arg-type]
        self.seen: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.show(self.model, self.power)
        self.view.timeline.focus()

    def on_timeline_cursor_moved(self, message: Timeline.CursorMoved) -> None:
        self.seen.append(message)

    def on_timeline_selection_changed(self, message: Timeline.SelectionChanged) -> None:
        self.seen.append(message)

    def on_timeline_window_marked(self, message: Timeline.WindowMarked) -> None:
        self.seen.append(message)

    def on_timeline_viewport_changed(self, message: Timeline.ViewportChanged) -> None:
        self.seen.append(message)


async def settle(pilot: Pilot[None]) -> None:
    for _ in range(3):
        await pilot.pause()


def screen(app: App[None]) -> list[str]:
    """What stands on the screen, line by line."""
    return [Strip(strip).text for strip in app.screen._compositor.render_strips()]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("depth", "glyphs"), [("true", "unicode"), ("16", "console"), ("none", "ascii")]
)
async def test_every_size_and_terminal_shows_the_run(
    size: tuple[int, int], depth: str, glyphs: str
) -> None:
    power = traces.power(np.arange(0, 260, 2, dtype=np.int64) * MS, [200.0 + i for i in range(130)])
    app = Stage(depth=depth, glyphs=glyphs, power=(power,))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        lines = screen(app)
        whole = "\n".join(lines)
        assert "GPU:0" in whole
        assert "epoch 0" in whole
        assert "whole run" in whole
        assert {len(line) for line in lines} == {size[0]}
        if glyphs == "ascii":
            assert whole.isascii()
        if glyphs == "console":
            assert not set(whole) & set("▁▂▃▄▅▆▇")
            assert not any(0x2800 <= ord(char) < 0x2900 for char in whole)
        shown = [strip for strip in app.view.strips if strip.display]
        assert len(shown) == 1, "the power goes last"


async def test_keys_and_messages() -> None:
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        timeline = app.view.timeline
        row = next(i for i, r in enumerate(timeline.rows) if r.label.startswith("Stream #13"))
        app.seen.clear()
        timeline.move(Navigator.move_track, row)
        timeline.move(Navigator.start)
        timeline.move(Navigator.move_event, 1)
        await settle(pilot)
        kinds = [type(message).__name__ for message in app.seen]
        assert "CursorMoved" in kinds
        assert "SelectionChanged" in kinds
        assert "ViewportChanged" not in kinds, "the view did not move"
        assert timeline.selection is not None
        timeline.move(Navigator.mark)
        timeline.move(Navigator.move_time, 5)
        timeline.move(Navigator.mark)
        await settle(pilot)
        assert isinstance(app.seen[-1], Timeline.WindowMarked)
        assert app.seen[-1].window == timeline.window
        assert timeline.move(Navigator.clear)
        timeline.move(Navigator.zoom)
        await settle(pilot)
        assert isinstance(app.seen[-1], Timeline.ViewportChanged) or any(
            isinstance(m, Timeline.ViewportChanged) for m in app.seen
        )


async def test_moving_the_cursor_asks_the_forest_nothing_and_keeps_other_rows() -> None:
    app = Stage()
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        timeline = app.view.timeline
        timeline.move(Navigator.move_track, 1)
        await settle(pilot)
        assert timeline.scene is not None
        queries, before = timeline.scene.queries, list(timeline._strips)
        timeline.move(Navigator.move_track, 1)
        await settle(pilot)
        assert timeline.scene.queries == queries
        after = timeline._strips
        changed = [y for y, (a, b) in enumerate(zip(before, after, strict=True)) if a is not b]
        assert len(changed) == 2, "the row that was left and the row that was entered"
        frames = timeline.frames
        await settle(pilot)
        assert timeline.frames == frames, "nothing is drawn while nothing changes"


async def test_a_pan_asks_only_for_the_columns_that_come_in() -> None:
    app = Stage()
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        timeline = app.view.timeline
        timeline.move(Navigator.zoom, 9)
        await settle(pilot)
        scene = timeline.scene
        assert scene is not None
        for cells in (7, -3, 20, -40):
            asked, cell0 = scene.columns, timeline.viewport.cell0  # type: ignore[union-attr]
            timeline.move(Navigator.pan, cells)
            await settle(pilot)
            assert scene.columns - asked == abs(timeline.viewport.cell0 - cell0)  # type: ignore[union-attr]
            kept = [strip.text for strip in timeline._strips]
            scene.forget()
            timeline._redraw()
            await settle(pilot)
            assert [strip.text for strip in timeline._strips] == kept, "the same as asked anew"


async def test_a_lone_event_of_no_length_is_visible() -> None:
    lines = {
        ("/device:GPU:0", "Stream #1"): [(500 * MS, 0, "blip")],
        ("/host:CPU", "main"): [(0, 10**15, "all")],
    }
    app = Stage(TimelineModel.from_run(traces.run(traces.trace(lines))))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        timeline = app.view.timeline
        row = next(i for i, r in enumerate(timeline.rows) if r.label == "Stream #1")
        assert timeline._strips[row].text.strip() == "▁"


async def test_hostile_names_reach_the_screen_as_text() -> None:
    app = Stage()
    async with app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        timeline = app.view.timeline
        quiet = [i for i, r in enumerate(timeline.rows) if r.kind is RowKind.MORE]
        for row in reversed(quiet):
            timeline.move(Navigator.move_track, row - timeline.state.cursor_row)  # type: ignore[union-attr]
            timeline.move(Navigator.fold)
        timeline.move(Navigator.set_hits, app.model.search("evil"))
        timeline.move(Navigator.next_hit, 1)
        timeline.move(Navigator.fit)
        await settle(pilot)
        whole = "\n".join(screen(app))
        assert "\x1b" not in whole
        assert "evil [link=x]name[/]" in whole
        assert "\\x1b[31m" in whole


async def test_the_pointer_clicks_drags_and_zooms() -> None:
    app = Stage()
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        timeline = app.view.timeline
        row = next(i for i, r in enumerate(timeline.rows) if r.label.startswith("Stream #13"))
        column = timeline.viewport.column(8 * MS)  # type: ignore[union-attr]
        await pilot.click(timeline, offset=(column, row))
        assert timeline.selection is not None
        assert app.model.facts(timeline.selection).name == "volta_sgemm_128x64_nn"
        await pilot.mouse_down(timeline, offset=(10, row))
        await pilot.hover(timeline, offset=(30, row))
        await pilot.mouse_up(timeline, offset=(30, row))
        view = timeline.viewport
        assert view is not None
        assert timeline.window == (view.time(10), view.time(31))
        anchor = view.time(20) + view.cell_ps // 2
        await pilot._post_mouse_events(
            [events.MouseScrollUp], timeline, offset=(20, row), control=True
        )
        await settle(pilot)
        closer = timeline.viewport
        assert closer is not None
        assert closer.rung < view.rung
        assert closer.column(anchor) == 20


async def test_the_overview_is_clicked_and_dragged() -> None:
    app = Stage()
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        timeline, overview = app.view.timeline, app.view.overview
        timeline.move(Navigator.zoom, 12)
        await settle(pilot)
        await pilot.mouse_down(overview, offset=(overview.label_width + 2, 0))
        await settle(pilot)
        left = timeline.viewport.t0  # type: ignore[union-attr]
        await pilot.hover(overview, offset=(118, 0))
        await settle(pilot)
        await pilot.mouse_up(overview, offset=(118, 0))
        assert timeline.viewport.t0 > left  # type: ignore[union-attr]


async def test_the_visible_part_on_the_overview_is_moved_where_it_is_held_and_its_ends_change_its_length() -> (
    None
):
    app = Stage()
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        timeline, overview = app.view.timeline, app.view.overview
        whole = timeline.viewport
        assert whole is not None

        async def drag(first: int, last: int) -> None:
            await pilot.mouse_down(overview, offset=(overview.label_width + first, 0))
            await pilot.hover(overview, offset=(overview.label_width + last, 0))
            await pilot.mouse_up(overview, offset=(overview.label_width + last, 0))
            await settle(pilot)

        await drag(20, 59)  # all is in sight: what is drawn is shown
        shown = timeline.viewport
        assert shown is not None
        assert shown.t0 <= whole.time(20) < shown.t0 + 3 * whole.cell_ps
        assert whole.time(60) <= shown.t1 < whole.time(60) + 12 * whole.cell_ps
        await drag(40, 45)
        moved = timeline.viewport
        assert moved is not None
        assert moved.cell_ps == shown.cell_ps
        assert abs(moved.t0 - shown.t0 - 5 * whole.cell_ps) <= moved.cell_ps
        last = whole.covered(moved.t0, moved.t1)[-1]
        await drag(last, last - 20)
        shorter = timeline.viewport
        assert shorter is not None
        assert shorter.cell_ps < moved.cell_ps
        assert shorter.t0 <= moved.t0 + whole.cell_ps
        await drag(whole.covered(shorter.t0, shorter.t1)[0], 0)
        assert timeline.viewport is not None
        assert timeline.viewport.t0 <= whole.t0 + whole.cell_ps


async def test_the_wheel_zooms_at_the_pointer_where_nothing_scrolls() -> None:
    app = Stage()
    async with app.run_test(size=(120, 60)) as pilot:
        await settle(pilot)
        timeline, ruler = app.view.timeline, app.view.ruler
        for where, column in ((timeline, 20), (ruler, 30), (app.view.overview, 40)):
            view = timeline.viewport
            assert view is not None
            x = column + (0 if where is timeline else ruler.label_width)
            await pilot._post_mouse_events([events.MouseScrollUp], where, offset=(x, 0))
            await settle(pilot)
            closer = timeline.viewport
            assert closer is not None
            assert closer.rung < view.rung
            if where is not app.view.overview:
                assert closer.column(view.time(column) + view.cell_ps // 2) == column
        view = timeline.viewport
        assert view is not None
        await pilot._post_mouse_events(
            [events.MouseScrollDown], ruler, offset=(ruler.label_width + 5, 0), shift=True
        )
        await settle(pilot)
        assert timeline.viewport is not None
        assert timeline.viewport.rung == view.rung
        assert timeline.viewport.cell0 > view.cell0


async def test_the_wheel_scrolls_where_rows_are_hidden() -> None:
    app = Stage()
    async with app.run_test(size=(120, 11)) as pilot:
        await settle(pilot)
        timeline = app.view.timeline
        assert len(timeline.rows) > timeline.size.height
        before = timeline.viewport
        assert before is not None
        await pilot._post_mouse_events([events.MouseScrollDown], timeline, offset=(20, 1))
        await settle(pilot)
        assert timeline.viewport is not None
        assert timeline.viewport.rung == before.rung
        assert timeline.viewport.row0 > before.row0


async def test_a_drag_on_the_ruler_marks_and_a_click_there_moves_the_cursor() -> None:
    app = Stage()
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        timeline, ruler = app.view.timeline, app.view.ruler
        left = ruler.label_width
        view = timeline.viewport
        assert view is not None
        await pilot.mouse_down(ruler, offset=(left + 12, 0))
        await pilot.hover(ruler, offset=(left + 25, 0))
        await pilot.mouse_up(ruler, offset=(left + 25, 0))
        await settle(pilot)
        assert timeline.window == (view.time(12), view.time(26))
        await pilot.click(ruler, offset=(left + 40, 0))
        await settle(pilot)
        assert timeline.cursor_ps == view.time(40)
        assert timeline.window == (view.time(12), view.time(26))


async def test_a_double_click_fits_the_event() -> None:
    app = Stage()
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        timeline = app.view.timeline
        row = next(i for i, r in enumerate(timeline.rows) if r.label.startswith("Stream #13"))
        column = timeline.viewport.column(8 * MS)  # type: ignore[union-attr]
        await pilot.click(timeline, offset=(column, row), times=2)
        await settle(pilot)
        assert timeline.selection is not None
        assert timeline.viewport is not None
        lo, hi = app.model.extent(timeline.selection)
        assert timeline.viewport.t0 <= lo < hi <= timeline.viewport.t1
        assert len(timeline.viewport.covered(lo, hi)) > timeline.viewport.width // 2


async def test_labels_fold() -> None:
    app = Stage()
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        rows = len(app.view.timeline.rows)
        await pilot.click(app.view.row_labels, offset=(3, 0))
        await settle(pilot)
        assert len(app.view.timeline.rows) < rows
        assert app.view.timeline.rows[0].folded


async def test_a_trace_that_grows_under_the_screen() -> None:
    first, grown = (
        TimelineModel.from_run(traces.training(6)),
        TimelineModel.from_run(traces.training(12)),
    )
    app = Stage(first)
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        app.view.timeline.move(Navigator.move_track, 2)
        app.view.show(grown)
        await settle(pilot)
        assert app.view.timeline.model is grown
        assert (
            "12"
            in screen(app)[
                next(i for i, line in enumerate(screen(app)) if line.startswith("steps"))
            ]
        )


async def test_resizing_again_and_again() -> None:
    app = Stage()
    async with app.run_test(size=(200, 50)) as pilot:
        for size in ((60, 15), (120, 40), (10, 3), (1, 1), (80, 24), (200, 50)):
            await pilot.resize_terminal(*size)
            await settle(pilot)
        assert "/device:GPU:0" in "\n".join(screen(app))
        assert app.view.timeline.viewport.width == app.view.timeline.size.width  # type: ignore[union-attr]


async def test_the_power_strip_shows_axis_value_gap_and_how_sure_it_is() -> None:
    watts = [200.0 + 50 * (i % 20 > 9) for i in range(260)]
    watts[120:140] = [float("nan")] * 20
    power = traces.power(np.arange(0, 260, dtype=np.int64) * MS, watts, slack_ps=20 * MS)
    app = Stage(power=(power,))
    async with app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        strip: PowerStrip = app.view.strips[0]
        assert strip.curve is not None
        app.view.timeline.move(
            Navigator.goto,
            next(t for t in range(20 * MS, 100 * MS, MS) if strip.curve.value(t) == 250.0),
        )
        await settle(pilot)
        lines = [strip.render_line(y).text for y in range(strip.size.height)]
        assert "Total Power" in lines[0]
        assert lines[0][: strip.label_width].endswith(" W▁"), "the tick of its row"
        assert "250 W" in lines[1][: strip.label_width]
        assert "±20 ms" in lines[-1][: strip.label_width]
        whole = "".join(lines)
        assert "├" in whole
        assert "┤" in whole
        assert "░" in lines[-1], "the gap"
        assert "█" in whole


async def test_a_limit_is_a_line_above_the_curve_and_one_far_away_is_none() -> None:
    """It is drawn from the moment on that it holds, and moves nothing but the scale."""
    watts = [200.0 + 50 * (i % 20 > 9) for i in range(260)]
    power = traces.power(np.arange(0, 260, dtype=np.int64) * MS, watts)
    for limit, drawn in ((300.0, True), (5000.0, False)):
        caps = (PowerCap(0, float("nan")), PowerCap(100 * MS // 1000, limit))
        app = Stage(power=(replace(power, series=replace(power.series, limits=caps)),))
        async with app.run_test(size=(120, 40)) as pilot:
            await settle(pilot)
            strip: PowerStrip = app.view.strips[0]
            lines = [
                strip.render_line(y).text[strip.label_width :] for y in range(strip.size.height)
            ]
            assert any("limit 300 W" in line for line in lines) is drawn
            assert (strip.scale.hi >= 300) is drawn
            if drawn:
                line = next(line for line in lines if "limit 300 W" in line)
                first = next(at for at, char in enumerate(line) if char == "l")
                assert "─" not in line[:first], "before it holds there is none"
                assert "─" in line[first:]


async def test_other_colours_and_glyphs_at_once() -> None:
    app = Stage()
    async with app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        app.view.restyle(themes.get("light", "16"), "ascii")
        await settle(pilot)
        assert "\n".join(screen(app)).isascii()


def marked(glyphs: str = "unicode") -> Stage:
    power = traces.power(np.arange(0, 260, 2, dtype=np.int64) * MS, [200.0 + i for i in range(130)])
    ns = MS // 1000
    named = (
        Mark("[b]warm\x1b[2Jup", 0, 100 * ns),
        Mark("inner", 20 * ns, 60 * ns),
        Mark("saved", 150 * ns),
    )
    return Stage(glyphs=glyphs, power=(replace(power, series=replace(power.series, marks=named)),))


@pytest.mark.parametrize("glyphs", ["unicode", "ascii"])
async def test_windows_and_marks_of_a_recording_have_a_lane(glyphs: str) -> None:
    app = marked(glyphs)
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        (line,) = [line for line in screen(app) if line.startswith("windows")]
        assert "[b]warm" in line, "text from a file is no markup"
        assert "\x1b" not in line
        first, inner, saved = line.index("[b]warm"), line.index("inner"), line.index("saved")
        assert saved > inner
        view = app.view.timeline.viewport
        assert view is not None
        assert line[saved - 1] == app.view.marks.glyphs.vertical
        assert saved - 1 == app.view.marks.label_width + view.column(150 * MS)
        assert app.view.marks.label_width <= min(first, inner)
        if glyphs == "ascii":
            assert line.isascii()


async def test_without_marks_no_row_is_given_away() -> None:
    app = Stage(
        power=(
            traces.power(
                np.arange(0, 260, 2, dtype=np.int64) * MS, [200.0 + i for i in range(130)]
            ),
        )
    )
    async with app.run_test(size=(120, 30)) as pilot:
        await settle(pilot)
        assert not app.view.marks.display


@pytest.mark.parametrize("width", [80, 120, 200])
async def test_the_steps_lane_has_numbers_everywhere_and_they_stand_apart(width: int) -> None:
    """Across the bound of an epoch, where numbers begin anew, and where two digits hardly fit a
    step's cells. Round numbers are equally far apart: 0, 10, 30, 50 read as steps of two lengths.
    """
    run = loading.load_run(logdir.scan(demo.folder()).runs[0])
    model = TimelineModel.from_run(run)
    app = Stage(model)
    async with app.run_test(size=(width, 40)) as pilot:
        await settle(pilot)
        assert app.view.timeline.state is not None
        for lo, hi in (
            (0.0, 20.0),
            (10.3, 21.8),
            (9.0, 12.5),
            (15.6, 18.3),
            (15.6, 16.3),
            (10.8, 11.9),
        ):
            app.view.timeline.move(Navigator.show_window, round(lo * 1e12), round(hi * 1e12))
            await settle(pilot)
            line = next(line for line in screen(app) if line.startswith("steps"))
            told = re.findall(r"(?<![\d.])\d+(?![\d.])", line[line.index("200") + 3 :])
            assert told, f"{lo} to {hi} s: {line}"
            assert all(len(number) <= 2 for number in told), f"{lo} to {hi} s: {line}"
            if hi - lo < 3:
                continue  # each step has its cells: a number stands where it fits
            epochs: list[list[int]] = [[]]
            for number in map(int, told):
                if epochs[-1] and number < epochs[-1][-1]:
                    epochs.append([])
                epochs[-1].append(number)
            for numbers in epochs:
                apart = set(np.diff(numbers).tolist())
                assert len(apart) <= 1, f"{lo} to {hi} s: {line}"
