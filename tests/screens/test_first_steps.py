"""Where there is nothing to open, the next step is a key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from powertui.errors import SensorError
from powertui.screens import first_steps
from powertui.screens.capturing import ServerDialog
from powertui.screens.shell import Shell
from powertui.screens.status import StatusLine
from tests.bmc.rmcpplus import Bmc
from tests.screens.conftest import Maker, loaded, settled
from tests.waiting import until_then

WAYS_ON = ("D demo", "T record this machine", "P capture a program")


def footer(shell: Shell) -> StatusLine:
    return shell.screen.query_one("#status", StatusLine)


async def all_listed(shell: Shell, pilot: Pilot[Any]) -> None:
    await until_then(lambda: shell.session.logdir is not None and shell.session.logdir.complete)
    await settled(pilot)


async def test_an_empty_folder_offers_the_demo(make: Maker, tmp_path: Path) -> None:
    shell = make(tmp_path)
    async with shell.run_test(size=(100, 24)) as pilot:
        await all_listed(shell, pilot)
        assert all(way in footer(shell).text for way in WAYS_ON)
        await pilot.press("D")
        await loaded(pilot)
        page = shell.current()
        assert page is not None
        assert page.page_name == "timeline"
        assert len(shell.session.steps) == 200


async def test_a_refused_file_offers_the_same(make: Maker, tmp_path: Path) -> None:
    refused = tmp_path / "notes.txt"
    refused.write_text("no profile at all")
    shell = make(refused)
    async with shell.run_test(size=(100, 24)):
        box = shell.screen.query_one("#problems", Static)
        await until_then(lambda: "D opens a recorded run" in str(box.content))
        assert "no format that powertui reads" in footer(shell).message


async def test_a_folder_of_runs_offers_to_open_them(make: Maker, data: Path) -> None:
    shell = make(data / "logdirs")
    async with shell.run_test(size=(100, 24)) as pilot:
        await all_listed(shell, pilot)
        assert "Enter open" in footer(shell).text
        assert "demo" not in footer(shell).text


@pytest.fixture
def bmc(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bmc]:
    with Bmc() as machine:
        monkeypatch.setenv("POWERTUI_SOURCE", f"ipmi://viewer@127.0.0.1:{machine.port}")
        monkeypatch.setenv("IPMI_PASSWORD", "pw-viewer")
        yield machine


@pytest.mark.usefixtures("bmc")
async def test_the_power_of_this_machine_is_recorded_and_opened(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_steps, "RECORDED_S", 2.5)
    shell = make(tmp_path)
    async with shell.run_test(size=(100, 24)) as pilot:
        await all_listed(shell, pilot)
        await pilot.press("T")
        await until_then(lambda: "Esc ends it" in footer(shell).message)
        await until_then(lambda: shell.session.run is not None and bool(shell.session.run.power))
        (written,) = tmp_path.glob("power-*.csv")
        assert ",245," in written.read_text()


async def test_a_list_of_refused_sensors_has_its_heading_at_the_foot(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_arguments: object, **_named: object) -> None:
        raise SensorError(
            "No power can be read:\n  hwmon: no chip\n  rapl: no counter", hint="Name a BMC."
        )

    monkeypatch.setattr("powertui.sampler.session.record", refused)
    shell = make(tmp_path)
    async with shell.run_test(size=(60, 24)) as pilot:
        await all_listed(shell, pilot)
        await pilot.press("T")
        await until_then(lambda: "No power can be read" in footer(shell).message)
        assert footer(shell).text.strip() == "No power can be read. Name a BMC."
        assert footer(shell).message == (
            "No power can be read:    hwmon: no chip    rapl: no counter Name a BMC."
        )


async def test_what_cannot_be_recorded_or_captured_is_a_sentence(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERTUI_SOURCE", "nosuch:")
    shell = make(tmp_path)
    async with shell.run_test(size=(100, 24)) as pilot:
        await all_listed(shell, pilot)
        await pilot.press("T")
        await until_then(lambda: "nosuch" in footer(shell).message)
        assert list(tmp_path.iterdir()) == []
        await pilot.press("P")
        assert isinstance(shell.screen, ServerDialog)
        shell.screen.query_one(Input).value = "127.0.0.1:1"
        await pilot.press("enter")
        await until_then(lambda: "127.0.0.1:1" in footer(shell).message)
