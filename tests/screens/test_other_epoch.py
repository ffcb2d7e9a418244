"""`E`: the same batches in the other epoch. And what `J` says while it looks."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from powertui.data.model import Epoch
from powertui.data.tools import arrows
from powertui.screens.help import page_lines
from powertui.screens.status import StatusLine
from powertui.terminal import keymap
from powertui.view.epoch_window import EpochShift, marked_part, next_epoch_with_bounds
from powertui.view.timeline_model import TimelineModel
from tests.screens.conftest import Maker, loaded, settled, timeline_screen
from tests.synthetic import traces
from tests.synthetic.traces import MS
from tests.waiting import until_then


def two_epochs(*, numbered_on: bool) -> TimelineModel:
    """Epoch 0 has four steps of 10 ms, epoch 1 four of 20 ms that begin at 100 ms."""
    bounds = [(10 * MS * n, 10 * MS) for n in range(4)]
    bounds += [(100 * MS + 20 * MS * n, 20 * MS) for n in range(4)]
    marks = traces.steps(*bounds, epoch=[0] * 4 + [1] * 4)
    marks.number[:] = np.arange(8) if numbered_on else [0, 1, 2, 3] * 2
    epochs = [Epoch(0, 0, 50 * MS, "made"), Epoch(1, 100 * MS, 190 * MS, "made")]
    made = traces.trace({("/host:CPU", "python"): [(0, 190 * MS, "op")]})
    return TimelineModel.from_run(traces.run(made, marks, epochs))


@pytest.mark.parametrize("numbered_on", [False, True])
def test_a_moment_keeps_its_step_and_its_place_in_it(numbered_on: bool) -> None:
    model = two_epochs(numbered_on=numbered_on)
    shift = EpochShift(model, 0, 1)
    assert shift.moved(10 * MS) == 120 * MS
    assert shift.moved(25 * MS) == 150 * MS, "half of the third step"
    assert shift.moved(45 * MS) == 185 * MS, "behind the last step as far as there"
    assert EpochShift(model, 1, 0).moved(150 * MS) == 25 * MS
    assert next_epoch_with_bounds(model, 0) == 1
    assert next_epoch_with_bounds(model, 1) == 0


async def test_the_window_goes_to_the_same_steps_of_the_other_epoch_and_back(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("right_parenthesis")
        await settled(pilot)
        page = timeline_screen(shell)
        model, before = page.timeline.model, page.timeline.window
        assert model is not None
        assert before is not None

        def steps_in(window: tuple[int, int] | None) -> tuple[int, list[int]]:
            assert window is not None
            steps = model.steps  # type: ignore[union-attr]
            rows = np.flatnonzero((steps.start < window[1] - MS) & (steps.ends() > window[0] + MS))
            return int(steps.epoch[rows[0]]), steps.number[rows].tolist()

        epoch, numbers = steps_in(before)
        await pilot.press("E")
        await settled(pilot)
        assert steps_in(page.timeline.window) == (1 - epoch, numbers)
        viewport = page.timeline.viewport
        assert viewport is not None
        assert page.timeline.window is not None
        assert viewport.t0 <= page.timeline.window[0] < page.timeline.window[1] <= viewport.t1
        await pilot.press("E")
        await settled(pilot)
        back = page.timeline.window
        assert back is not None
        assert abs(back[0] - before[0]) < MS
        assert abs(back[1] - before[1]) < MS


async def test_braces_keep_marked_batches_and_stop_at_the_first_and_last_epoch(
    make: Maker,
) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        timeline = page.timeline
        model = timeline.model
        assert model is not None

        async def window_after(key: str) -> tuple[int, int]:
            await pilot.press(key)
            await settled(pilot)
            assert timeline.window is not None
            return timeline.window

        found = await window_after("right_parenthesis")
        epoch = marked_part(model, found)
        assert epoch == 1, "a finding inside of the second epoch"
        before = await window_after("left_curly_bracket")
        assert marked_part(model, before) == 0
        assert before == tuple(map(EpochShift(model, 1, 0).moved, found))
        assert await window_after("left_curly_bracket") == before, "there is none before it"
        again = await window_after("right_curly_bracket")
        assert abs(again[0] - found[0]) < MS
        await pilot.press("escape", "escape", "g")
        whole = await window_after("right_curly_bracket")
        assert marked_part(model, whole) is None
        assert marked_part(model, await window_after("left_curly_bracket")) is None


async def test_a_jump_that_takes_long_says_that_it_looks(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    tied_events = arrows.tied_events

    def slow(profile: Any) -> Any:
        go_on.wait(60)
        return tied_events(profile)

    monkeypatch.setattr(arrows, "tied_events", slow)
    shell = make("logdirs/jax_cpu")
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        page = timeline_screen(shell)
        await pilot.press("down", "down", "right", "J")
        status = page.query_one("#status", StatusLine)
        await until_then(lambda: status.message == "Looking up links …")
        go_on.set()
        await settled(pilot)
        assert status.message != "Looking up links …"


def test_help_begins_with_the_twelve_keys_that_do_most_of_the_work() -> None:
    assert len(set(keymap.MOST_USED)) == 12
    first = page_lines("timeline")[0]
    assert [line.keys for line in first[1:]] == list("wsad[])mt/e:")
    assert page_lines("live")[0][0].keys == "Live"
