"""Typing fast and typing slowly end in the same place, however late answers come.

Each script is typed twice: key by key, each when all is done that the last one asked for; and in
one piece, before the run is read, on a machine whose threads begin late and answer late. What the
page then shows and what is chosen on it is the same.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import Input

from powertui.data.tools import op_table
from powertui.errors import PowertuiError
from powertui.screens.shell import Shell
from powertui.screens.status import StatusLine
from powertui.screens.symmetry import SymmetryScreen
from powertui.screens.timeline import TimelineScreen
from powertui.screens.tool import ToolScreen
from powertui.screens.typeahead import MAX_HELD_KEYS
from powertui.terminal import keymap
from powertui.widgets import background
from tests.monkey.late import late
from tests.waiting import LIMIT_S, until_then

from .conftest import Maker, loaded, settled

SIZE = (120, 36)
SCRIPTS = (
    "6 s",
    "5 g",
    "1 enter",
    "3 enter",
    "6 s enter",
    "5 g enter down enter",
    "/ d o t enter i",
    "/ d o t enter n n i",
    ": e p o c h space 1 enter t",
    "3 down enter",
    "t o",
    "t F d o t enter down",
    "5 / d o t enter down",
    "t down down enter",
    "/ d o t enter b down enter",
    "m d d m 5 o",
    "m d d m t down enter",
    "6 down i",
    "5 right o",
    "5 d",
    "5 x",
    "7 ] ] o",
    ") i",
    ") ) t",
    "} } t",
    "T down enter escape",
    "2 w w d t o o",
    "/ d o t enter 6 s 2 n",
    "4 down enter 2",
    "4 right right enter 2 t",
    "1 pagedown enter",
    "6 down down",
    "J i",
    "5 g g o",
    ": 3 0 m s - 3 1 m s enter t down",
    "/ n o t h i n g enter t",
    "6 o o down down enter i",
    "5 down down y 6 s",
    "t g",
    "3 t down",
    "t i n g",
    "> > 3 enter",
    "> 6 s",
    "p 3 down",
)


def press(shell: Shell, *keys: str) -> None:
    """What a slow line delivers in one piece."""
    assert shell._driver is not None
    for key in keys:
        name = keymap_name(key)
        shell._driver.process_message(
            events.Key(name, key if len(key) == 1 else " " if key == "space" else None)
        )


def keymap_name(key: str) -> str:
    """As Textual names a key."""
    if len(key) > 1 or key.isalnum():
        return key
    return (
        next(name for name, shown in keymap._SHOWN.items() if shown == key)
        if key in keymap._SHOWN.values()
        else "minus"
    )


def state(shell: Shell) -> dict[str, Any]:
    """What is shown and what is chosen."""
    page = shell.current()
    told: dict[str, Any] = {
        "screen": type(shell.screen).__name__,
        "page": page.page_name if page is not None else "",
    }
    told["window"] = shell.session.window
    strips = shell.screen._compositor.render_strips()
    told["text"] = [Strip(strip).text for strip in strips][
        1:-1
    ]  # the top line may have news, the bottom line the last sentence
    if isinstance(page, ToolScreen | TimelineScreen):
        table = page.table if isinstance(page, ToolScreen) else page.below.table
        if table.table is not None:
            told["table"] = (table.table.id, table.order, table.cursor, table.rows.tolist())
    if isinstance(page, TimelineScreen):
        timeline = page.timeline.state
        assert timeline is not None
        hits = timeline.hits
        told["timeline"] = (
            timeline.viewport,
            timeline.cursor_ps,
            timeline.cursor_row,
            timeline.selection,
            timeline.window,
        )
        told["hits"] = (hits.pattern, len(hits), timeline.hit) if hits is not None else None
        told["below"] = page.below.open
    if isinstance(page, SymmetryScreen):
        told["chosen"] = (page._chosen, page._is_unfolded, page._times, page._line)
    return told


async def done(pilot: Pilot[Any]) -> None:
    """All that was typed and all that it asked for."""
    shell = pilot.app
    assert isinstance(shell, Shell)
    quiet = 0
    while quiet < 3:
        await settled(pilot)
        runs, page = shell.runs, shell.current()
        behind = (
            runs.awaits_training
            or shell.is_placing
            or runs.profiles.is_reaching
            or shell.holds_keys
        )
        if isinstance(page, TimelineScreen):
            behind = (
                behind
                or page.below.is_behind
                or background.is_under_way(page, "search")
                or page.surrounding.is_waiting
            )
        if page is not None and shell.screen is page:
            behind = behind or page.awaits("row-show")
        quiet = 0 if behind else quiet + 1


async def typed(
    make: Maker, path: str | Path, script: list[str], seed: int | None
) -> dict[str, Any]:
    """How things stand in the end; with a seed typed in one piece while everything is late."""
    with late(seed is not None, seed or 0):
        shell = make(path)
        async with shell.run_test(size=SIZE) as pilot:
            if seed is not None:
                press(shell, *script)
                await loaded(pilot)
            else:
                await loaded(pilot)
                for key in script:
                    await done(pilot)
                    press(shell, key)
            await done(pilot)
            return state(shell)


@pytest.mark.parametrize("script", SCRIPTS)
async def test_typing_fast_ends_where_typing_slowly_does(make: Maker, script: str) -> None:
    keys = script.split()
    slowly = await typed(make, "demo", keys, None)
    fast = await typed(make, "demo", keys, seed=len(script))
    assert fast == slowly


@pytest.mark.parametrize("seed", range(6))
async def test_random_keys_typed_fast_end_where_they_do_slowly(make: Maker, seed: int) -> None:
    rng = random.Random(seed)
    keys = [key for _ in range(4) for key in rng.choice(SCRIPTS).split()]
    slowly = await typed(make, "demo", keys, None)
    fast = await typed(make, "demo", keys, seed)
    assert fast == slowly, keys


# ── leaving, and answers that never come ─────────────────────────────────────────────────────────


class Gate:
    """An answer that comes when it is let through, or fails."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked, self._open, self.fails = threading.Event(), threading.Event(), False
        ask = ToolScreen.ask

        def late_answer(page: ToolScreen, tool: Any, question: Any) -> Any:
            self.asked.set()
            assert self._open.wait(LIMIT_S)
            if self.fails:
                raise PowertuiError("The table could not be counted", hint="Try another page.")
            return ask(page, tool, question)

        monkeypatch.setattr(ToolScreen, "ask", late_answer)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.open()  # a thread that still waits ends


async def waits(shell: Shell, gate: Gate, *keys: str) -> ToolScreen:
    """Until these keys wait for the table of steps."""
    press(shell, "6", *keys)
    await until_then(
        lambda: gate.asked.is_set() and len(shell._held) >= len(keys) and shell._awaited
    )
    page = shell.current()
    assert isinstance(page, ToolScreen)
    return page


async def test_keys_wait_for_the_table_and_follow_in_order(make: Maker, gate: Gate) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        page = await waits(shell, gate, "s", "down", "down", "o")
        assert shell._awaited == "the table"
        await until_then(
            lambda: "Waiting for the table" in page.query_one("#status", StatusLine).message
        )
        assert page.table.table is None
        gate.open()
        await until_then(lambda: not shell.holds_keys)
        await done(pilot)
        assert page.table.cursor == 2
        assert page.table.order.column != "step"


async def test_esc_drops_what_waits_and_leads_back(make: Maker, gate: Gate) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        page = await waits(shell, gate, "s", "down")
        press(shell, "escape")
        await until_then(lambda: isinstance(shell.screen, TimelineScreen) and shell.screen.is_there)
        assert not shell.holds_keys
        gate.open()
        await done(pilot)
        assert page.table.cursor == 0


async def test_q_quits_at_once_though_keys_wait(make: Maker, gate: Gate) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await waits(shell, gate, "s")
        press(shell, "q")
        await until_then(lambda: shell._exit)
        gate.open()
    assert shell.return_code == 0


async def test_ctrl_c_quits_at_once_though_keys_wait(make: Maker, gate: Gate) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await waits(shell, gate, "s", "/", "q")
        press(shell, "ctrl+c")
        await until_then(lambda: shell._exit)
        gate.open()
    assert shell.return_code == 130


async def test_q_behind_a_key_that_opens_a_box_is_a_letter(make: Maker, gate: Gate) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        page = await waits(shell, gate, "s", "/", "q")
        gate.open()
        await until_then(lambda: not shell.holds_keys)
        await done(pilot)
        assert not shell._exit
        assert page.query_one("#filter", Input).value == "q"


async def test_an_answer_that_fails_drops_the_keys_and_says_so(make: Maker, gate: Gate) -> None:
    shell = make()
    gate.fails = True
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        page = await waits(shell, gate, "s", "down", "2")
        gate.open()
        await until_then(lambda: not shell.holds_keys)
        await done(pilot)
        assert shell.current() is page, "the 2 behind them is dropped too"
        assert "the keys you typed were dropped" in page.query_one("#status", StatusLine).message
        assert "could not be counted" in page.table.waiting


async def test_no_more_keys_wait_than_a_person_can_mean(make: Maker, gate: Gate) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        page = await waits(shell, gate, "s")
        press(shell, *["down"] * (MAX_HELD_KEYS + 10))
        await until_then(
            lambda: any("they were dropped" in message.text for message in shell.messages)
        )
        assert len(shell._held) < MAX_HELD_KEYS
        gate.open()
        await until_then(lambda: not shell.holds_keys)
        assert page.table.cursor < MAX_HELD_KEYS


async def test_moving_waits_for_no_table(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = threading.Event()
    result = op_table.result

    def late_result(*args: Any) -> Any:
        assert opened.wait(LIMIT_S)
        return result(*args)

    monkeypatch.setattr(op_table, "result", late_result)
    shell = make()
    try:
        async with shell.run_test(size=SIZE) as pilot:
            await loaded(pilot)
            page = shell.screen
            assert isinstance(page, TimelineScreen)
            before = page.timeline.viewport
            press(shell, "t", "w", "w")
            await until_then(lambda: page.timeline.viewport != before)
            assert not shell.holds_keys
            press(shell, "down", "w")  # the first is for the table, and the second is behind it
            await until_then(lambda: shell._awaited == "the table")
            assert len(shell._held) == 2
            opened.set()
            await until_then(lambda: not shell.holds_keys)
    finally:
        opened.set()
