"""`7`, the list of tools, and `v`, the list of hosts and devices."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input, OptionList

from powertui.data import logdir
from powertui.data.opened import Opened
from powertui.data.tools import registry
from powertui.data.tools.missing_data import missing_data
from powertui.data.tools.registry import Question
from powertui.screens.run_parts import RunPartsDialog
from powertui.screens.shell import Shell
from powertui.screens.timeline import TimelineScreen
from powertui.screens.tools import ToolsScreen
from powertui.view.fuzzy import fuzzy_rank
from tests.screens.conftest import Maker, loaded, settled
from tests.synthetic import gpus
from tests.unit.tools.test_hosts_page import host

SIZE = (120, 36)


def lines(shell: Shell) -> list[str]:
    listed = shell.screen.query_one(OptionList)
    return [str(option.prompt) for option in listed.options]


async def test_tools_are_listed_with_why_they_are_empty_found_by_letters_and_opened(
    make: Maker,
) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("7")
        await settled(pilot)
        assert isinstance(shell.screen, ToolsScreen)
        assert [line.split("  ")[0].strip() for line in lines(shell)] == [
            tool.title for tool in registry.TOOLS
        ]
        kernels = next(line for line in lines(shell) if "GPU kernels" in line)
        assert kernels.endswith("This profile describes no device.")
        opened = shell.session.opened
        assert opened is not None
        full = sum(not missing_data(tool.name, opened, 0) for tool in registry.TOOLS)
        assert 10 < full < len(registry.TOOLS)
        title = str(shell.screen.query_one("#title").content)  # type: ignore[attr-defined]
        assert f"{full} of {len(registry.TOOLS)} have data" in title
        await pilot.press("slash", *"evs")
        assert shell.screen.listed[0].name == "event_sets"
        await pilot.press("enter")
        await settled(pilot)
        page = shell.current()
        assert page is not None
        assert page.page_name == "tool"
        assert shell.session.tool == "event_sets"
        await pilot.press("escape")
        await settled(pilot)
        assert isinstance(shell.screen, ToolsScreen), "Esc leads back to the list"


@pytest.mark.parametrize("name", ["jax_cpu", "trace_export"])
def test_no_reason_is_given_where_a_tool_has_rows(data: Path, name: str) -> None:
    for entry in logdir.scan(data / "logdirs" / name).runs:
        opened = Opened(entry)
        for tool in registry.TOOLS:
            reason = missing_data(tool.name, opened, 0)
            if reason and tool.name != "energy":  # whose rows say that there is no power
                tables = tool.answer(Question(opened)).tables
                assert not any(len(table) for table in tables), f"{tool.name}: {reason}"


def test_letters_in_order_fit_and_the_beginning_of_a_name_fits_best() -> None:
    assert fuzzy_rank("", ("Steps",)) == 0
    assert fuzzy_rank("ker", ("GPU kernels", "kernel_stats")) == 0
    assert fuzzy_rank("nels", ("GPU kernels", "kernel_stats")) == 1
    assert fuzzy_rank("count", ("Ops",), "count and total") == 2
    assert fuzzy_rank("kst", ("GPU kernels", "kernel_stats")) == 3
    assert fuzzy_rank("evs", ("Event sets",)) == 3
    assert fuzzy_rank("evs", ("Collectives",)) == 4
    assert fuzzy_rank("tsk", ("GPU kernels", "kernel_stats")) is None


@pytest.fixture
def many_hosts(tmp_path: Path) -> Path:
    """One run of twelve hosts."""
    folder = tmp_path / "logs" / "plugins" / "profile" / "2026_11_21_00_50_50"
    folder.mkdir(parents=True)
    for number in range(12):
        profile = gpus.make(1, (0,), steps=4, seed=number).xplane()
        (folder / f"node{number:02}.xplane.pb").write_bytes(profile)
    return tmp_path / "logs"


async def test_v_lists_many_hosts_and_the_palette_goes_to_one(
    make: Maker, many_hosts: Path
) -> None:
    shell = make(many_hosts)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("v")
        await settled(pilot)
        assert isinstance(shell.screen, RunPartsDialog)
        assert len(lines(shell)) == 12
        assert lines(shell)[0].endswith("in front")
        shell.screen.query_one(Input).value = "e07"
        await settled(pilot)
        assert len(lines(shell)) == 1
        await pilot.press("enter")
        await loaded(pilot)
        assert shell.session.trace is not None
        assert shell.session.trace.host == "node07"
        await pilot.press("colon", *"host node10", "enter")
        await loaded(pilot)
        assert shell.session.trace.host == "node10"


async def test_the_slowest_of_64_hosts_is_three_keys_away(make: Maker, tmp_path: Path) -> None:
    """`v`, Tab and Enter, typed at once, on a terminal of 80×24."""
    folder = tmp_path / "logs" / "plugins" / "profile" / "2026_11_21_00_50_50"
    folder.mkdir(parents=True)
    for number in range(64):
        name = f"node{number:02}"
        profile = host(name, 60, 10 if number == 41 else 30)
        (folder / f"{name}.xplane.pb").write_bytes(profile)
    shell = make(tmp_path / "logs")
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("v", "tab", "enter")
        await settled(pilot)
        await loaded(pilot)
        assert shell.session.trace is not None
        assert shell.session.trace.host == "node41"
        await pilot.press("v")
        await settled(pilot)
        await pilot.press("tab")
        await settled(pilot)
        assert len(lines(shell)) == 64
        assert "node41" in lines(shell)[0]
        assert "a step" in lines(shell)[0]


async def test_v_lists_the_devices_of_one_host(make: Maker, tmp_path: Path) -> None:
    shell = make(gpus.make(4, (0, 1, 2, 3), steps=4).write(tmp_path))
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("v")
        await settled(pilot)
        assert isinstance(shell.screen, RunPartsDialog)
        assert sum("/device:GPU" in line for line in lines(shell)) == 4
        shell.screen.query_one(Input).value = "gpu:3"
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        navigator = shell.screen.timeline.navigator
        assert navigator is not None
        assert navigator.row is not None
        trace = shell.session.trace
        assert trace is not None
        assert trace.processes[navigator.row.process].name == "/device:GPU:3"
