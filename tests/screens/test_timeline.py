"""Every key of the timeline does what its line in help says."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from powertui.screens import SCREENS
from powertui.screens.export import ExportDialog
from powertui.screens.help import HelpScreen
from powertui.screens.open import OpenScreen
from powertui.screens.palette import Palette
from powertui.screens.shell import Shell
from powertui.screens.timeline import TimelineScreen
from powertui.terminal import keymap
from powertui.terminal.pacing import LEVELS
from powertui.widgets.table import TableView

from .conftest import Maker, loaded, settled, timeline_screen

SIZE = (120, 36)


def test_every_action_is_a_call_or_a_method_of_its_screen() -> None:
    classes = {
        entry.name: getattr(
            importlib.import_module(entry.target.split(":")[0]), entry.target.split(":")[1]
        )
        for entry in SCREENS
    }
    panes = {name for names in keymap.PANES.values() for name in names}
    assert all(action.do is not None for action in keymap.ACTIONS if panes & set(action.screens))
    for action in keymap.ACTIONS:
        for name in set(action.screens) - panes:
            owner = Shell if name == "*" else classes[name]
            method = getattr(owner, f"action_{action.method}", None)
            assert action.do is not None or callable(method), f"{action.id} on {name}"
            assert action.do is None or f"action_{action.method}" not in vars(owner), (
                f"{action.id} does two things on {name}"
            )


async def test_what_an_action_carries_is_there(make: Maker) -> None:
    """No call in the table of actions names something that its page does not have."""
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        for page in ("timeline", "tool", "symmetry", "alignment"):
            for action in keymap.ACTIONS:
                if page in action.screens and action.do is not None:
                    shell.show(page)
                    await settled(pilot)
                    assert page == shell.current().NAME  # type: ignore[union-attr]
                    await shell.run_command(f"do:{action.id}")
                    await settled(pilot)
        shell.action_act("runs")
        await settled(pilot)
        assert shell.current().NAME == "open"  # type: ignore[union-attr]


async def test_a_slow_line_gets_fewer_colours_and_runs_and_one_hint(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        shell.capabilities = replace(shell.capabilities, remote=True)
        shell.gate.level = len(LEVELS) - 1
        shell.quality_changed(shell.gate.quality)
        await pilot.pause()
        assert shell.look.depth == "16"
        assert timeline_screen(shell).timeline.run_budget == LEVELS[-1].runs
        assert "ssh -C" in timeline_screen(shell).query_one("#status").message  # type: ignore[attr-defined]
        timeline_screen(shell).say("")
        shell.quality_changed(shell.gate.quality)
        assert timeline_screen(shell).query_one("#status").message == ""  # type: ignore[attr-defined]
        shell.gate.level = 0
        shell.quality_changed(shell.gate.quality)
        assert shell.look.depth == "256"
        assert timeline_screen(shell).timeline.run_budget == LEVELS[0].runs


async def test_moving_in_time(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        timeline = timeline_screen(shell).timeline

        async def after(*keys: str) -> tuple[int, int]:
            await pilot.press(*keys)
            viewport = timeline.viewport
            assert viewport is not None
            return viewport.t0, viewport.t1

        whole = await after("0")
        near = await after("w", "w", "w", "w")
        assert whole[0] < near[0] < near[1] < whole[1]
        assert timeline.viewport is not None
        assert timeline.viewport.shows(timeline.cursor_ps)
        right = await after("d")
        assert right[0] > near[0]
        left = await after("a", "a")
        assert left[0] < right[0]
        assert (await after("s"))[1] - (await after())[0] > left[1] - left[0]
        model = timeline.model
        assert model is not None
        lo, hi = model.span
        assert (await after("g"))[0] <= lo
        assert (await after("G"))[1] >= hi
        assert await after("0") == whole
        await after("w", "w", "w", "w")
        for key, back in (
            ("W", "S"),
            ("plus", "minus"),
            ("D", "A"),
            ("home", "end"),
        ):
            one = await after(key)
            assert await after(back) != one


async def test_cursor_selection_and_steps(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        timeline = timeline_screen(shell).timeline
        rows = []
        for key in ("down", "j", "j"):
            await pilot.press(key)
            assert timeline.state is not None
            rows.append(timeline.state.cursor_row)
        assert rows == [rows[0], rows[0] + 1, rows[0] + 2]
        await pilot.press("up", "k")
        assert timeline.state is not None
        assert timeline.state.cursor_row == rows[0]
        await pilot.press("right")
        first = timeline.selection
        assert first is not None
        await pilot.press("l")
        assert timeline.selection != first
        await pilot.press("h")
        assert timeline.selection == first
        await pilot.press("full_stop")
        assert timeline.selection is not None
        await pilot.press("comma")
        assert timeline.selection is not None
        await pilot.press("escape")
        assert timeline.selection is None
        before = timeline.cursor_ps
        await pilot.press("right_square_bracket")
        step = timeline.cursor_ps
        assert step > before
        await pilot.press("left_square_bracket")
        assert timeline.cursor_ps < step
        await pilot.press("g")
        start = timeline.cursor_ps
        await pilot.press("right_curly_bracket", "right_curly_bracket")
        epoch = timeline.cursor_ps
        assert epoch > start
        await pilot.press("left_curly_bracket")
        assert timeline.cursor_ps < epoch
        viewport = timeline.viewport
        assert viewport is not None
        moved = viewport.column(timeline.cursor_ps)
        await pilot.press("shift+right", "L")
        assert viewport.column(timeline.cursor_ps) == moved + 2
        await pilot.press("shift+left", "H")
        assert viewport.column(timeline.cursor_ps) == moved
        await pilot.press("pagedown")
        assert timeline.state.cursor_row > 0
        await pilot.press("pageup", "pageup")
        assert timeline.state is not None
        assert timeline.state.cursor_row == 0


async def test_folding(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        timeline = timeline_screen(shell).timeline
        rows = len(timeline.rows)
        await pilot.press("enter")
        assert len(timeline.rows) < rows
        await pilot.press("space")
        assert len(timeline.rows) == rows
        await pilot.press("z")
        folded = len(timeline.rows)
        await pilot.press("z")
        assert len(timeline.rows) != folded


async def test_search_says_how_many_and_goes_round(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        screen = timeline_screen(shell)
        await pilot.press("slash", *"relu", "enter")
        await settled(pilot)
        assert "events that match relu" in screen.query_one("#status").message  # type: ignore[attr-defined]
        first = screen.timeline.selection
        await pilot.press("n")
        second = screen.timeline.selection
        assert second != first
        await pilot.press("N")
        assert screen.timeline.selection == first
        model, view = screen.timeline.model, screen.timeline.viewport
        assert model is not None
        assert first is not None
        assert view is not None
        lo, hi = model.extent(first)
        assert 3 * view.cell_ps <= hi - lo <= view.t1 - view.t0, "the hit can be seen"
        await pilot.press("b")
        await settled(pilot)
        table = screen.query_one("#ops", TableView)
        state = screen.timeline.state
        assert table.table is not None
        assert state is not None
        assert state.hits is not None
        assert sum(table.table["count"].values) == len(state.hits)
        await pilot.press("enter")
        await settled(pilot)
        where = table.table.place(int(table.rows[0]))
        assert where is not None
        assert screen.timeline.selection is not None
        assert (screen.timeline.selection.track, screen.timeline.selection.row) == (
            where.track,
            where.event,
        )
        await pilot.press("slash", *"/Conv2D.*Filter/", "enter")
        await settled(pilot)
        assert "events that match" in screen.query_one("#status").message  # type: ignore[attr-defined]
        await pilot.press("slash", *"/(/", "enter")
        await settled(pilot)
        assert "not a regular expression" in screen.query_one("#status").message  # type: ignore[attr-defined]
        await pilot.press("slash", *"no such name", "enter")
        await settled(pilot)
        assert "No event name matches" in screen.query_one("#status").message  # type: ignore[attr-defined]


async def test_a_window_by_keys_and_by_mouse(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        screen = timeline_screen(shell)
        await pilot.press("m", "shift+right", "shift+right", "shift+right", "m")
        assert screen.timeline.window is not None
        lo, hi = screen.timeline.window
        assert hi > lo
        assert shell.session.window == (lo, hi)
        await pilot.press("f")
        assert screen.timeline.viewport is not None
        assert screen.timeline.viewport.t1 - screen.timeline.viewport.t0 < 20 * (hi - lo)
        await pilot.press("0")
        await pilot.mouse_down(screen.timeline, offset=(10, 3))
        await pilot.hover(screen.timeline, offset=(30, 3))
        await pilot.mouse_up(screen.timeline, offset=(30, 3))
        dragged = screen.timeline.window
        assert dragged is not None
        assert dragged[1] - dragged[0] > hi - lo
        await pilot.press("escape")
        assert screen.timeline.window is None
        assert shell.session.window is None


async def test_a_click_selects(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        screen = timeline_screen(shell)
        await pilot.click(screen.timeline, offset=(40, 1))
        assert screen.timeline.selection is not None


async def test_panes(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        screen = timeline_screen(shell)
        context, details, ops = (
            screen.query_one(name) for name in ("#context", "#details", "#ops")
        )
        assert (context.display, details.display, ops.display) == (True, False, False)
        await pilot.press("c")
        assert not context.display
        await pilot.press("c", "down", "right", "i")
        assert context.display
        assert details.display
        await pilot.press("x")
        await pilot.press("t")
        await settled(pilot)
        assert not details.display
        assert ops.display
        assert ops.has_focus
        await pilot.press("o", "F", *"conv", "enter")
        await settled(pilot)
        before = screen.timeline.selection
        await pilot.press("enter")  # the longest occurrence of the first op
        await settled(pilot)
        assert screen.timeline.selection != before
        assert screen.timeline.has_focus
        await pilot.press("tab")
        assert not screen.timeline.has_focus
        await pilot.press("shift+tab")
        assert screen.timeline.has_focus
        await pilot.press("escape")
        assert not ops.display
        await pilot.press("v")
        assert "only one host" in screen.query_one("#status").message  # type: ignore[attr-defined]


async def test_copy(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("down", "right", "y")
        assert "event: " in shell.clipboard
        assert "duration: " in shell.clipboard
        await pilot.press("escape", "m", "shift+right", "shift+right", "m", "y")
        assert "window: " in shell.clipboard
        assert "energy (" in shell.clipboard


async def test_help_palette_and_back(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        for key in ("question_mark", "f1"):
            await pilot.press(key)
            assert isinstance(shell.screen, HelpScreen)
            await pilot.press("escape")
            assert isinstance(shell.screen, TimelineScreen)
        for key in ("colon", "ctrl+p"):
            await pilot.press(key)
            assert isinstance(shell.screen, Palette)
            await pilot.press("escape")
            assert isinstance(shell.screen, TimelineScreen)
        await pilot.press("colon", *"mark a", "enter")
        await settled(pilot)
        timeline = timeline_screen(shell).timeline
        assert timeline.state is not None
        assert timeline.state.mark is not None
        await pilot.press("backspace")
        assert isinstance(shell.screen, OpenScreen)
        await pilot.press("2")
        assert isinstance(shell.screen, TimelineScreen)
        await pilot.press("ctrl+l")


async def test_a_place_that_is_typed_is_the_window(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        timeline = timeline_screen(shell).timeline
        for text in ("epoch 1 step 10-20", "step 3", "12.5s-14s"):
            before = timeline.viewport, timeline.window
            await pilot.press("colon", *text, "enter")
            await settled(pilot)
            viewport = timeline.viewport
            assert viewport is not None
            assert viewport != before[0]
            assert timeline.window is not None
            assert timeline.window != before[1]
            assert viewport.t0 <= timeline.window[0] < timeline.window[1] <= viewport.t1
        assert timeline.window == (round(12.5e12), round(14e12))


async def test_quitting(make: Maker) -> None:
    for key, code in (("q", 0), ("ctrl+c", 130)):
        shell = make()
        async with shell.run_test(size=SIZE) as pilot:
            await loaded(pilot)
            await pilot.press(key)
            await pilot.pause()
        assert shell.return_code == code


@pytest.mark.parametrize("size", [(200, 50), (99, 30), (80, 24), (60, 15)])
async def test_panes_fold_away_as_space_shrinks(make: Maker, size: tuple[int, int]) -> None:
    shell = make()
    async with shell.run_test(size=size) as pilot:
        await loaded(pilot)
        screen = timeline_screen(shell)
        assert screen.query_one("#context").display == (size[0] >= 100)
        assert screen.timeline.size.height >= 5
        await pilot.press("t")
        await settled(pilot)
        assert screen.query_one("#ops").size.height >= 4
        assert screen.timeline.size.height >= 4 or not screen.view.display
        await pilot.press("escape")
        assert screen.view.display


async def test_export_writes_a_file_and_never_over_another_unasked(
    make: Maker, tmp_path: Path
) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("m", *["shift+right"] * 8, "m", "e")
        assert isinstance(shell.screen, ExportDialog)
        assert shell.screen.what == "samples"
        await pilot.press("down")
        assert shell.screen.what == "steps"
        box = shell.screen.query_one(Input)
        assert box.value.endswith("-steps.csv")
        target = tmp_path / "steps.csv"
        box.value = str(target)
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        assert "Wrote" in shell.screen.query_one("#status").message  # type: ignore[attr-defined]
        written = target.read_text()
        assert "step" in written
        target.write_text("mine")
        await pilot.press("e")
        assert isinstance(shell.screen, ExportDialog)
        shell.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, ExportDialog)
        assert target.read_text() == "mine"
        await pilot.press("enter")  # asked again: replaces it
        await settled(pilot)
        assert target.read_text() != "mine"
        target.unlink()  # the file that says what the columns are is still there
        await pilot.press("e")
        assert isinstance(shell.screen, ExportDialog)
        shell.screen.query_one(Input).value = str(target)
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, ExportDialog)
        said = str(shell.screen.query_one("#export-message", Static).render())
        assert said == f"{target}.about.json already exists. Press Enter again to replace it."
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        assert "unix_s" in target.read_text()
        await pilot.press("e", "escape")
        assert isinstance(shell.screen, TimelineScreen)


@pytest.mark.parametrize("name", ["x" * 5000, "~no such user/x.csv", "a\0b"])
async def test_a_name_that_no_file_can_have_is_a_sentence(make: Maker, name: str) -> None:
    shell = make("logdirs/jax_cpu")
    async with shell.run_test(size=(120, 30)) as pilot:
        await loaded(pilot)
        await pilot.press("e", "down")
        await settled(pilot)
        box = shell.screen.query_one(Input)
        box.value = name
        await pilot.press("enter")
        await settled(pilot)
        said = str(shell.screen.query_one("#export-message", Static).render())
        assert "cannot be written" in said
        assert len(said) < 400
