"""The tracks are drawn before the power beside them has its place: nothing moves when it comes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from powertui.screens import loader
from powertui.screens.timeline import TimelineScreen
from tests.waiting import until_then

from .conftest import Maker, loaded

SIZES = [(80, 24), (120, 36), (200, 50)]


@pytest.mark.parametrize("size", SIZES)
async def test_the_tracks_stand_where_they_will_be_while_the_power_is_placed(
    make: Maker, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    may_place = threading.Event()
    place = loader.training_model

    def once_allowed(*arguments: Any) -> loader.LoadedPart:
        may_place.wait(60)
        return place(*arguments)

    monkeypatch.setattr(loader, "training_model", once_allowed)
    shell = make()
    async with shell.run_test(size=size) as pilot:

        def drawn() -> bool:
            page = shell.screen
            if not isinstance(page, TimelineScreen) or not page.is_there:
                return False
            model = page.view.timeline.model
            return model is not None and page.view.timeline.size.height > 0

        try:
            await until_then(drawn, lambda: "no tracks were drawn")
            await pilot.pause()
            page = shell.screen
            assert isinstance(page, TimelineScreen)
            model = page.view.timeline.model
            assert model is not None
            assert model.unplaced == 1
            assert not shell.session.complete
            corner_before = page.view.timeline.region.offset
            waiting = page.view.strips[0].render_line(0).text
            assert "looking for the place of the power" in waiting
        finally:
            may_place.set()
        await loaded(pilot)
        model = page.view.timeline.model
        assert model is not None
        assert model.unplaced == 0
        assert page.view.timeline.region.offset == corner_before
        assert "looking for" not in page.view.strips[0].render_line(0).text


async def test_keys_wait_until_what_was_read_last_is_on_the_screen(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = make()
    kept = []
    deliver = shell.from_thread

    def held_back(function: Any, *arguments: Any) -> None:
        is_last = any(getattr(argument, "complete", False) for argument in arguments)
        if is_last and isinstance(arguments[0], loader.Loader):
            kept.append((function, arguments))
        else:
            deliver(function, *arguments)

    monkeypatch.setattr(shell, "from_thread", held_back)
    async with shell.run_test(size=(80, 24)) as pilot:
        await until_then(lambda: bool(kept), lambda: "the run was not read")
        reading = kept[0][1][0]
        await until_then(lambda: not reading.running, lambda: "the thread did not end")
        assert not shell.session.complete
        assert shell.runs.awaited == "the run"
        function, arguments = kept.pop()
        deliver(function, *arguments)
        await loaded(pilot)
        assert shell.runs.awaited == ""


async def test_power_that_nobody_looks_for_any_more_says_so(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_place = threading.Event()
    place = loader.training_model

    def once_allowed(*arguments: Any) -> loader.LoadedPart:
        may_place.wait(60)
        return place(*arguments)

    monkeypatch.setattr(loader, "training_model", once_allowed)
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        try:
            await until_then(
                lambda: shell.session.model is not None and shell.screen.is_mounted,
                lambda: "no tracks were drawn",
            )
            await pilot.pause()
            await pilot.press("escape")
            await pilot.pause()
            page = shell.screen
            assert isinstance(page, TimelineScreen)
            assert not any(strip.display for strip in page.view.strips)
            assert "r reads the run again" in page.view.note.render_line(0).text
        finally:
            may_place.set()
        await pilot.press("r")
        await loaded(pilot)
        assert page.view.strips[0].display
        assert not page.view.note.display


async def test_a_page_that_is_never_drawn_does_not_hold_the_power_back(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader.Loader, "was_drawn", lambda _: None)
    monkeypatch.setattr(loader, "_MAX_DRAWING_S", 0.01)
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        assert shell.session.complete
