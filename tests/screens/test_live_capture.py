"""P on the live page: a profile of the program that is watched opens with the power that is being
recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from powertui.config import parse
from powertui.screens.capturing import ServerDialog
from tests.profiler_server import ProfilerServer
from tests.screens.test_live import Stage, nodes
from tests.waiting import until_then


async def until(pilot: Pilot[Any], true: Callable[[], bool]) -> None:
    """What surely comes."""
    await until_then(true)
    await pilot.pause()


def stage(logdir: Path | None, server: str = "") -> Stage:
    made = Stage(*nodes())
    made.shell.session.watched = str(logdir) if logdir else None
    made.shell.session.profile_server = server
    return made


async def test_p_captures_and_opens_the_profile(tmp_path: Path) -> None:
    with ProfilerServer() as server:
        one = stage(tmp_path, server.address)
        async with one.shell.run_test(size=(120, 30)) as pilot:
            await one.play(pilot, 30)
            await pilot.press("P")
            await until(pilot, lambda: one.shell.page("timeline").is_current)
            await until(pilot, lambda: one.shell.session.complete)
            assert one.shell.session.run is not None
            assert one.shell.session.run.traces[0].path.startswith(str(tmp_path))
        assert any(mark.name == "profile" for mark in one.feed.marks)


async def test_the_address_is_asked_for_once(tmp_path: Path) -> None:
    with ProfilerServer(hold=True) as server:
        one = stage(tmp_path)
        async with one.shell.run_test(size=(120, 30)) as pilot:
            await one.play(pilot, 30)
            await pilot.press("P")
            await until(pilot, lambda: isinstance(one.shell.screen, ServerDialog))
            await pilot.press(*"nowhere", "enter")
            assert isinstance(one.shell.screen, ServerDialog), (
                "what is no address is asked for again"
            )
            for _ in "nowhere":
                await pilot.press("backspace")
            await pilot.press(*server.address, "enter")
            await until(pilot, server.began.is_set)
            await pilot.press("P")  # ends it early
            await until(pilot, server.terminated.is_set)
            await until(pilot, lambda: not one.page.capture.runs)
        assert one.shell.session.profile_server == server.address


async def test_what_goes_wrong_is_said_on_the_page(tmp_path: Path) -> None:
    with ProfilerServer(status=13, said="Another profiling session active.") as server:
        one = stage(tmp_path, server.address)
        async with one.shell.run_test(size=(120, 30)) as pilot:
            await one.play(pilot, 30)
            await pilot.press("P")
            await until(
                pilot,
                lambda: any(
                    "taking another profile already" in line.text for line in one.page.log_lines
                ),
            )


async def test_without_a_logdir_it_says_what_is_missing() -> None:
    one = stage(None)
    async with one.shell.run_test(size=(120, 30)) as pilot:
        await one.play(pilot, 30)
        await pilot.press("P")
        await pilot.pause()
        assert not one.page.capture.runs


def test_the_config_file_can_name_the_server() -> None:
    assert parse('profile_server = "node7:9012"', "config.toml").profile_server == "node7:9012"
