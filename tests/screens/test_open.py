"""The list of runs, reading, stopping, and what cannot be read."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from textual.widgets import DataTable

from powertui.screens.open import OpenScreen, shorten
from powertui.screens.timeline import TimelineScreen

from .conftest import Maker, loaded, settled

SIZE = (130, 30)


async def looked(shell: object, rows: int) -> DataTable[object]:
    """Wait until every run has been looked into."""
    screen = shell.screen  # type: ignore[attr-defined]
    assert isinstance(screen, OpenScreen)
    table = screen.query_one("#runs", DataTable)
    for _ in range(600):
        cells = [str(cell) for row in table.rows for cell in table.get_row(row)]
        if table.row_count == rows and "…" not in cells:
            return table
        await asyncio.sleep(0.05)
    raise AssertionError("the runs were not looked into within half a minute")


async def test_the_list_fills_itself(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        assert shell.session.logdir is not None
        count = len(shell.session.logdir.runs)
        assert count > 1
        table = await looked(shell, count)
        rows = [" ".join(str(cell) for cell in table.get_row(row)) for row in table.rows]
        assert any("jax_cpu" in row and " 20 " in row for row in rows)


async def test_filter_and_open(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        table = shell.screen.query_one("#runs", DataTable)
        everything = table.row_count
        await pilot.press("slash", *"jax")
        assert 0 < table.row_count < everything
        await pilot.press("enter", "enter")
        await loaded(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        assert shell.session.entry is not None
        assert "jax_cpu" in shell.session.entry.path
        await pilot.press("backspace")
        assert isinstance(shell.screen, OpenScreen)
        await pilot.press("escape")  # closes the filter
        assert table.row_count == everything
        await pilot.press("escape")  # back to the run that is open
        assert isinstance(shell.screen, TimelineScreen)


async def test_looking_again_finds_what_came(make: Maker, data: Path, tmp_path: Path) -> None:
    shutil.copytree(data / "logdirs" / "jax_cpu", tmp_path / "one")
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)  # one run alone is opened at once
        shutil.copytree(data / "logdirs" / "trace_export", tmp_path / "two")
        await pilot.press("backspace", "r")
        await settled(pilot)
        assert shell.screen.query_one("#runs", DataTable).row_count == 2


async def test_a_folder_without_profiles_says_what_to_do(make: Maker, tmp_path: Path) -> None:
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        text = str(shell.screen.query_one("#problems").render())
        assert "No profile was found" in text
        assert "powertui doctor" in text
        await pilot.press("1")
        assert isinstance(shell.screen, OpenScreen)


async def test_a_file_that_cannot_be_read_is_said_and_the_list_stays(make: Maker, tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "profile" / "run1"
    folder.mkdir(parents=True)
    (folder / "host.xplane.pb").write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n")
    shell = make(tmp_path)
    async with shell.run_test(size=SIZE) as pilot:
        for _ in range(200):
            await asyncio.sleep(0.05)
            if isinstance(shell.screen, OpenScreen) and shell.screen.query_one("#status").message:  # type: ignore[attr-defined]
                break
        assert isinstance(shell.screen, OpenScreen)
        assert "git-lfs pointer" in shell.screen.query_one("#status").message  # type: ignore[attr-defined]
        await pilot.press("q")


async def test_escape_stops_reading(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await pilot.pause()
        for _ in range(200):
            if shell.session.entry is not None:
                break
            await asyncio.sleep(0.005)
        if shell.is_loading:
            await pilot.press("escape")
            await pilot.pause()
            assert not shell.is_loading
            message = shell.current().query_one("#status").message  # type: ignore[union-attr]
            assert "stopped" in message


def test_names_are_shortened_in_the_middle() -> None:
    name = "logs/Nfit/20261121/train/2026_11_21_01_34_05"
    assert shorten(name, 100) == name
    short = shorten(name, 30)
    assert len(short) == 30
    assert short.startswith("logs/")
    assert short.endswith("01_34_05")
