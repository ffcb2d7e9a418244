"""`y` prints a command, and that command opens exactly the same place again."""

from __future__ import annotations

import random
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui import cli
from powertui.config import Config
from powertui.screens.shell import Shell
from powertui.screens.timeline import TimelineScreen
from powertui.terminal import theme
from powertui.terminal.capabilities import Capabilities
from powertui.terminal.launch import Display
from powertui.verbs import common
from powertui.verbs import open as open_verb
from powertui.view.navigation import Navigator
from tests.screens.conftest import Maker, loaded, settled, timeline_screen
from tests.synthetic import hosts

SIZE = (120, 36)


def opened_by(command: str) -> Shell:
    """The application of a command, as a shell would start it."""
    program, *words = shlex.split(command)
    assert program == "powertui"
    args = cli.build_parser("open").parse_args(cli.normalise(words))
    paths = common.sort_out(args)
    scanned, rest = open_verb._scan(paths, args.run, whole=True)
    assert rest is None
    from powertui.screens.session import Session

    capabilities = Capabilities(color="256", glyphs="unicode")
    session = Session(common.reading_of(args), common.aligning_of(args), logdir=scanned)
    display = Display(capabilities, theme.get("dark", "256"), Config())
    return Shell(session, display, place=open_verb._place(args))


async def copied(pilot: Any, shell: Shell) -> str:
    """The last line of what `y` copies."""
    await pilot.press("y")
    await settled(pilot)
    return shell._clipboard.splitlines()[-1]


async def comes_back(command: str, before: TimelineScreen) -> None:
    """Run a command: window, view, cursor and host are what they were."""
    shell = opened_by(command)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await settled(pilot)
        now = timeline_screen(shell).timeline
        assert now.window == before.timeline.window, command
        assert now.model is not None
        assert before.timeline.model is not None
        assert now.model.trace.path == before.timeline.model.trace.path
        assert now.model.index == before.timeline.model.index
        if now.window is None:
            assert now.viewport == before.timeline.viewport, command
            assert now.cursor_ps == before.timeline.cursor_ps, command
        assert await copied(pilot, shell) == command


@pytest.mark.parametrize("seed", range(2))
async def test_what_y_prints_opens_exactly_that_window_again(make: Maker, seed: int) -> None:
    shell = make()
    chance = random.Random(seed)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        model = page.timeline.model
        assert model is not None
        begin, end = model.span
        for kind in ("window", "view", "steps"):
            lo, hi = sorted(chance.randrange(begin, end) for _ in range(2))
            if chance.random() < 0.5:
                hi = min(end, lo + chance.randrange(1, 10**6))  # as short as a kernel
            if kind == "steps":
                first, last = sorted(chance.randrange(len(model.steps)) for _ in range(2))
                rows = np.arange(first, last + 1)
                lo = int(model.steps.start[rows].min())
                hi = int(model.steps.ends()[rows].max())
            if kind == "view":
                await pilot.press("escape", "escape")
                page.timeline.move(Navigator.show_window, lo, max(hi, lo + 1))
                page.timeline.move(Navigator.goto, chance.randrange(lo, max(hi, lo + 1)))
            else:
                page.timeline.move(Navigator.set_window, lo, hi)
            await settled(pilot)
            command = await copied(pilot, shell)
            assert ("view" in command) == (page.timeline.window is None)
            await comes_back(command, page)


async def test_steps_of_an_epoch_are_named_by_their_numbers(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("colon", *"epoch 1 step 45-71", "enter")
        await settled(pilot)
        command = await copied(pilot, shell)
        assert command.endswith("/demo/data --at 'epoch 1 step 45-71'")
        assert shell._clipboard.startswith("run: ")
        await comes_back(command, timeline_screen(shell))


async def test_the_host_is_named_where_there_are_several(make: Maker, tmp_path: Path) -> None:
    shell = make(hosts.two(tmp_path).logdir)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        shell.runs.show_trace(1)
        await settled(pilot)
        await pilot.press("w")
        command = await copied(pilot, shell)
        assert ", host " in command
        await comes_back(command, timeline_screen(shell))
