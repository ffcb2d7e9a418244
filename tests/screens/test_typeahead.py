"""Keys that come before what they are meant for: in order, to the right screen, and never to one
that is not there yet.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.css.query import NoMatches
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from powertui.data.model import Run
from powertui.screens import run_reader, typeahead
from powertui.screens.base import Dialog
from powertui.screens.open import OpenScreen
from powertui.screens.palette import Palette
from powertui.screens.shell import Shell
from powertui.screens.timeline import TimelineScreen
from powertui.screens.typeahead import MAX_WAIT_S
from powertui.view.navigation import Navigator
from powertui.view.timeline_model import TimelineModel
from powertui.widgets.table import TableView
from tests.monkey import play, script
from tests.monkey.worlds import worlds
from tests.waiting import until_then

from .conftest import Maker, loaded, press_at_once, settled

FOUND = [  # by the monkey, and shrunk: each ended in a traceback
    ("empty", "idle pagedown pageup enter r pageup enter"),
    ("live", "idle 5 ? q 5 : w"),
    ("demo", "idle q w w paste:x : 2"),
    ("runs", "enter w w w"),
    ("broken", "enter w w w"),
    ("hosts", "idle ? ctrl+c"),
    ("demo", "idle : escape escape : enter enter 2 down 3 down ? pagedown"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("monkey")


@pytest.mark.parametrize(("world", "words"), FOUND)
def test_what_the_monkey_found_stays_mended(folder: Path, world: str, words: str) -> None:
    for size in ((80, 24), (25, 5), (160, 50)):
        played = play.play(play.Episode(worlds(folder)[world], script.parse(words), size))
        assert not played.trouble, "\n".join(played.trouble)


async def until(pilot: Pilot[Any], done: Any) -> None:
    await until_then(done)


class Slow(Dialog):
    """A dialog that takes its time to come up."""

    def __init__(self) -> None:
        super().__init__()
        self.typed: list[str] = []
        self.up = asyncio.Event()

    def compose(self) -> ComposeResult:
        yield Input()

    async def on_mount(self) -> None:
        await self.up.wait()

    def key_x(self) -> None:
        assert self.up.is_set()
        self.typed.append("x")

    def key_down(self) -> None:
        self.query_one(Input)
        assert self.up.is_set()
        self.typed.append("down")


async def test_keys_wait_for_a_screen_however_long_it_takes(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        slow, said = Slow(), []
        shell.ask(slow, said.append)
        press_at_once(shell, "down", "x", "escape")
        await asyncio.sleep(MAX_WAIT_S * 1.5)
        assert shell.screen is slow
        assert not slow.typed
        slow.up.set()
        await until(pilot, lambda: said)
        assert said == [None]
        assert isinstance(shell.screen, TimelineScreen)


async def test_a_screen_that_is_asked_for_while_another_comes_up_comes_after_it(
    make: Maker,
) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        shell.show("help")
        shell.show("symmetry")
        shell.action_palette()
        shell.show("open")
        shell.say("the last word")
        await until(pilot, lambda: isinstance(shell.screen, OpenScreen) and shell.screen.is_there)
        await settled(pilot)
        assert len(shell.screen_stack) == 2
        assert shell.screen.query_one("#status").message == "the last word"  # type: ignore[attr-defined]


async def test_a_dialog_answers_once(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        dialog, said = Slow(), []
        dialog.up.set()
        shell.ask(dialog, said.append)
        await until(pilot, lambda: dialog.is_there)
        assert dialog.answer("first")
        assert not dialog.answer("second")
        await settled(pilot)
        assert said == ["first"]
        assert isinstance(shell.screen, TimelineScreen)


async def test_enter_that_nobody_acts_upon_does_not_hold_the_next_keys_up(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typeahead, "MAX_WAIT_S", 3600.0)  # nothing here needs a timer to run out
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        press_at_once(shell, "colon", *"zzz", "enter", "escape", "3")
        await until(pilot, lambda: getattr(shell.screen, "NAME", "") == "symmetry")


async def test_a_key_that_a_box_had_no_use_for_is_not_given_to_the_next_screen(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(shell.screen, OpenScreen) and shell.screen.is_there)
        press_at_once(shell, "slash", *"jax", "left", "enter", "enter")
        await loaded(pilot)
        timeline = shell.screen
        assert isinstance(timeline, TimelineScreen)
        assert timeline.timeline.selection is None


async def test_a_click_on_an_option_that_is_gone_chooses_nothing(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(100, 30)) as pilot:
        await loaded(pilot)
        await pilot.press("colon")
        assert isinstance(shell.screen, Palette)
        listed = shell.screen.query_one(OptionList)
        where = Offset(listed.region.x + 20, listed.region.bottom - 1)
        style = shell.screen.get_style_at(*where)
        assert style.meta["option"] > 2
        shell.screen.fill("zoom in")
        click = events.Click(listed, 1, 1, 0, 0, 1, False, False, False, *where, style=style)
        listed.post_message(click)
        await settled(pilot)
        assert isinstance(shell.screen, Palette)


async def test_a_click_on_a_row_that_is_gone_chooses_nothing(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=(200, 30)) as pilot:
        await until(pilot, lambda: isinstance(shell.screen, OpenScreen) and shell.screen.is_there)
        await settled(pilot)
        table = shell.screen.query_one(TableView)
        y = table.region.y + len(table.rows)  # the last row
        await pilot.press("slash", *"no such run")
        assert not len(table.rows)
        for _ in range(2):  # the first click takes the cursor there, the second opens
            table.post_message(
                events.Click(table, 5, y - table.region.y, 0, 0, 1, False, False, False, 5, y)
            )
        await settled(pilot)
        assert isinstance(shell.screen, OpenScreen)
        assert shell.session.entry is None


async def test_what_the_palette_answers_at_the_very_end_is_not_done_any_more(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        shell.exit(return_code=0)
    assert shell.current() is None
    await shell.run_command("do:pan-left")
    assert shell.return_code == 0


async def test_a_selection_in_one_host_s_profile_is_never_looked_up_in_another_s(
    make: Maker, folder: Path
) -> None:
    shell = make(Path(worlds(folder)["hosts"].arguments[1]))
    async with shell.run_test(size=(160, 40)) as pilot:
        await loaded(pilot)
        timeline = shell.screen
        assert isinstance(timeline, TimelineScreen)
        model = shell.session.model
        assert model is not None
        track = max(range(len(model.tracks)), key=lambda n: len(model.tracks[n].track.events))
        last = len(model.tracks[track].track.events) - 1
        await pilot.press("t", "3")
        await settled(pilot)
        timeline.timeline.move(
            Navigator.select, track, last
        )  # as the next host's profile arrives, behind another page
        run = shell.session.run
        assert run is not None
        shell.session.trace_index = next(
            i for i, trace in enumerate(run.traces) if trace.event_count < model.trace.event_count
        )
        other = TimelineModel.from_run(run, shell.session.trace_index)
        assert track >= len(other.tracks) or last >= len(other.tracks[track].track.events)
        shell.session.model = other
        timeline._context_stale = True
        assert len(list(timeline.before_frame())) == 1
        timeline.below.toggle_details()
        timeline.action_copy()
        await pilot.press("2")
        await settled(pilot)
        assert timeline.timeline.model is other


async def test_looking_into_runs_ends_with_its_page(make: Maker, folder: Path) -> None:
    failed: list[BaseException | None] = []
    before, threading.excepthook = threading.excepthook, lambda args: failed.append(args.exc_value)
    try:
        for _ in range(5):
            shell = make(Path(worlds(folder)["many"].arguments[1]))
            async with shell.run_test(size=(160, 40)) as pilot:
                await until(
                    pilot,
                    lambda shell=shell: (
                        isinstance(shell.screen, OpenScreen) and shell.screen.is_there
                    ),
                )
                listed = shell.screen
                assert isinstance(listed, OpenScreen)
                await until(pilot, lambda listed=listed: listed.reader.thread is not None)
                stop, listed.reader.stop = (
                    listed.reader.stop,
                    threading.Event(),
                )  # the word that it is the end comes late
                shell.exit(return_code=0)
            assert listed.reader.thread is not None
            await until(pilot, lambda listed=listed: len(listed.reader.from_files) > 1 or failed)
            stop.set()
            listed.reader.thread.join()
    finally:
        threading.excepthook = before
    assert not failed


async def test_the_reading_thread_may_outlive_its_page(
    make: Maker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, gate = threading.Event(), threading.Event()
    read = run_reader.load_run

    def late(*args: Any, **options: Any) -> Run:
        """The first file is long, and the page is gone when it has been read."""
        began.set()
        assert gate.wait(60)
        return read(*args, **options)

    monkeypatch.setattr(run_reader, "load_run", late)
    failed: list[BaseException | None] = []
    before, threading.excepthook = threading.excepthook, lambda args: failed.append(args.exc_value)
    try:
        shell = make(Path(worlds(folder)["many"].arguments[1]))
        async with shell.run_test(size=(160, 40)) as pilot:
            await until(pilot, began.is_set)
            listed = shell.screen
            assert isinstance(listed, OpenScreen)
            stop, listed.reader.stop = (
                listed.reader.stop,
                threading.Event(),
            )  # the word that it is the end comes late
            shell.exit(return_code=0)
        assert listed.reader.thread is not None
        assert listed.reader.thread.is_alive()
        gate.set()
        await until(
            pilot,
            lambda: (
                bool(listed.reader.from_files)
                or bool(failed)
                or not listed.reader.thread.is_alive()
            ),
        )
        stop.set()
        listed.reader.thread.join(60)
        assert not listed.reader.thread.is_alive()
    finally:
        gate.set()
        threading.excepthook = before
    assert not failed
    assert listed.reader.from_files, "what was read is known, though nobody asks any more"


async def other_host(timeline: TimelineScreen) -> tuple[TimelineModel, TimelineModel]:
    """The model that is shown, and that of the host with the fewest events."""
    run, model = timeline.session.run, timeline.timeline.model
    assert run is not None
    assert model is not None
    least = min(range(len(run.traces)), key=lambda n: run.traces[n].event_count)
    return model, TimelineModel.from_run(run, least)


async def test_an_op_counted_in_another_host_s_profile_is_not_looked_up(
    make: Maker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "powertui.screens.below.OPS_AFTER_S", 3600.0
    )  # the table stays that of the host before
    shell = make(Path(worlds(folder)["hosts"].arguments[1]))
    async with shell.run_test(size=(160, 40)) as pilot:
        await loaded(pilot)
        timeline = shell.screen
        assert isinstance(timeline, TimelineScreen)
        first, other = await other_host(timeline)
        await pilot.press("t")
        timeline.below._show_ops()
        await settled(pilot)
        ops = timeline.query_one("#ops", TableView)
        assert ops.table is not None
        assert len(ops.table) > 0
        shell.runs.show_trace(other.index)
        await settled(pilot)
        assert timeline.timeline.model is not first
        place = ops.table.place(0) if ops.table.place is not None else None
        assert place is not None
        assert place.event is not None
        timeline.on_table_view_chosen(TableView.Chosen(ops, 0, place))
        await settled(pilot)
        assert timeline.timeline.selection is None


async def test_what_a_search_found_in_another_host_s_profile_is_not_shown(
    make: Maker, folder: Path
) -> None:
    shell = make(Path(worlds(folder)["hosts"].arguments[1]))
    async with shell.run_test(size=(160, 40)) as pilot:
        await loaded(pilot)
        timeline = shell.screen
        assert isinstance(timeline, TimelineScreen)
        first, other = await other_host(timeline)
        await pilot.press("t", "2")
        await settled(pilot)
        # behind another page the timeline still shows the first host, while the session has the
        # next one's model already
        shell.session.trace_index, shell.session.model = other.index, other
        word = first.search("a")
        timeline.seeking.look_for("a")
        await settled(pilot)
        assert timeline.timeline.state is not None
        assert timeline.timeline.state.hits is not None
        assert len(timeline.timeline.state.hits) == len(word), "it is searched in what is shown"
        # and what was found in the first arrives when the next is shown
        shell.runs.show_trace(other.index)
        await pilot.press("2")
        await settled(pilot)
        timeline.timeline.move(Navigator.set_hits, None)
        timeline.seeking._found(first, "a", word)
        assert timeline.timeline.state.hits is None


async def test_a_page_that_comes_up_while_the_others_go_asks_for_widgets_in_vain(
    make: Maker, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program ends, and a page that had just been asked for is mounted in the middle of it:
    nobody sees an error.
    """
    app, during = make(folder), []
    take_away = App._close_all

    async def watched(self: Shell) -> None:
        during.append((len(self.screen_stack) > 0, self.is_leaving))
        self._handle_exception(NoMatches("No nodes match '#ops' on TimelineScreen()"))
        await take_away(self)

    monkeypatch.setattr(App, "_close_all", watched)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
    assert during == [(True, True)]
    assert app._exception is None
