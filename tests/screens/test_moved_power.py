"""What is said of the power follows the power, whenever a person moves it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.strip import Strip

from powertui import demo
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import account
from powertui.data.model import PS_PER_S
from powertui.screens import loader, nudging, runs
from powertui.screens.open import OpenScreen
from powertui.screens.shell import Shell
from powertui.screens.top_line import TopLine
from tests.waiting import LIMIT_S, until_then

from .conftest import Maker, loaded, settled

SIZE = (120, 36)
MOVED_S = 2.0
PINNED_S = 20.0  # on the timeline; the nearest edge of the demo's log is 1.2 s later


class Held:
    """Work of a thread that begins when it is let through."""

    def __init__(self, work: Any) -> None:
        self.asked = threading.Event()
        self._open = threading.Event()
        self._work = work

    def __call__(self, *asked: Any) -> Any:
        self.asked.set()
        assert self._open.wait(LIMIT_S)
        return self._work(*asked)

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.clear()
        self.asked.clear()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """The energy and the findings of the training."""
    held = Held(loader.further)
    monkeypatch.setattr("powertui.screens.late_training.further", held)
    yield held
    held.open()


@pytest.fixture
def held_reading(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """The power of a run that is read."""
    held = Held(loader.training_model)
    monkeypatch.setattr(loader, "training_model", held)
    yield held
    held.open()


def found_s(shell: Shell) -> list[float]:
    """Where the timeline shows power that nothing explains, s."""
    model = shell.session.model
    assert model is not None
    return [span.lo / PS_PER_S for span in model.findings]


def listed_s(shell: Shell) -> list[float]:
    """What the page of findings lists."""
    profile = shell.session.profile
    assert profile is not None
    found = account.findings(profile, shell.session.aligning)
    return [finding.start_ps / PS_PER_S for finding in found.findings]


def first_reading_s(shell: Shell) -> float:
    return float(shell.session.power[0].times[0]) / PS_PER_S


def top(shell: Shell) -> str:
    return shell.screen.query_one(TopLine).text


def shown(shell: Shell) -> str:
    strips = shell.screen._compositor.render_strips()
    return "\n".join(Strip(strip).text for strip in strips)


async def followed(pilot: Any) -> None:
    """Until nothing more is worked out."""
    shell = pilot.app
    await until_then(lambda: not (shell.is_placing or shell.runs.awaits_training))
    await settled(pilot)


async def test_findings_come_though_the_power_was_moved_before_they_did(
    make: Maker, held: Held
) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await until_then(held.asked.is_set)
        assert found_s(shell) == []
        nudging.use(shell, replace(shell.session.aligning, mode="clock"))
        await until_then(lambda: not shell.is_placing)
        held.open()
        await followed(pilot)
        assert found_s(shell)


async def test_findings_lie_where_the_power_was_moved_to(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await followed(pilot)
        before = found_s(shell)
        assert before
        nudging.shift(shell, MOVED_S / 2)
        nudging.shift(shell, MOVED_S / 2)
        assert shell.runs.awaits_training, "keys for what was found wait"
        await followed(pilot)
        assert found_s(shell) == listed_s(shell) != before
        assert found_s(shell)[0] == pytest.approx(before[0] + MOVED_S, abs=0.3)
        nudging.undo(shell)
        await followed(pilot)
        assert found_s(shell) == before


async def test_without_a_profile_findings_follow_the_power_too(make: Maker, tmp_path: Path) -> None:
    shutil.copytree(demo.folder(), tmp_path / "runs")
    for profile in (tmp_path / "runs").rglob("*.xplane.pb.gz"):
        profile.unlink()
    shell = make(tmp_path / "runs")
    async with shell.run_test(size=SIZE) as pilot:
        await until_then(lambda: not isinstance(shell.screen, OpenScreen) or shell.screen.paths)
        await pilot.press("enter")
        await loaded(pilot)
        await followed(pilot)
        before = found_s(shell)
        beside = [begin - first_reading_s(shell) for begin in before]
        nudging.shift(shell, MOVED_S)
        await followed(pilot)
        assert found_s(shell) != before
        after = [begin - first_reading_s(shell) for begin in found_s(shell)]
        assert after == pytest.approx(beside, abs=0.1), "it lies where the watts do"
        nudging.undo(shell)
        await followed(pilot)
        assert first_reading_s(shell) == pytest.approx(0.0)
        assert found_s(shell) == before
        nudging.pin(shell, round(PINNED_S * PS_PER_S))
        await followed(pilot)
        (pin,) = shell.session.aligning.pins.pins
        assert first_reading_s(shell) + pin.log_s == pytest.approx(PINNED_S)
        assert found_s(shell)[0] == pytest.approx(before[0] + PINNED_S - pin.log_s, abs=0.1)


async def test_what_is_concluded_on_the_first_screen_is_of_where_the_power_lies(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count in the top line, and the lines below the tracks: as the page of findings has them."""
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        for moved_s in (0.0, MOVED_S):
            if moved_s:
                nudging.shift(shell, moved_s)
            await until_then(lambda: not shell.runs.awaits_news)
            await followed(pilot)
            opened = shell.session.opened
            assert opened is not None
            concluded = list(run_conclusions(opened, shell.session.aligning))
            assert f"3 Find·{len(concluded)}" in top(shell)
            assert concluded[0].sentence[:40] in shown(shell)


async def test_the_list_of_runs_tells_of_the_open_one_what_its_own_pages_tell(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "LOOK_FOR_NEWS_S", 0.1)
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        for moved_s in (0.0, MOVED_S):
            shell.show("timeline")
            await settled(pilot)
            if moved_s:
                nudging.shift(shell, moved_s)
            await until_then(lambda: not shell.runs.awaits_news)
            await followed(pilot)
            shell.show("open")
            opened = shell.session.opened
            assert opened is not None
            concluded = list(run_conclusions(opened, shell.session.aligning))
            await until_then(lambda told=concluded[0].sentence[:40]: told in shown(shell))
            assert "compute" in shown(shell), "what the list alone reads stays"


async def test_a_run_that_is_read_again_leaves_the_power_where_it_was_moved_to(
    make: Maker, held_reading: Held
) -> None:
    shell = make()
    held_reading.open()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await followed(pilot)
        before = first_reading_s(shell)
        held_reading.close()
        shell.runs.read_again()
        await until_then(held_reading.asked.is_set)
        nudging.shift(shell, MOVED_S)
        held_reading.open()
        await loaded(pilot)
        await followed(pilot)
        assert first_reading_s(shell) == pytest.approx(before + MOVED_S)
