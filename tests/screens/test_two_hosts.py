"""A run of two hosts with their power on the screen: each host's own, by its name, and none of the
other's.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from powertui.data.energy import account
from powertui.screens.status import StatusLine
from powertui.screens.timeline import TimelineScreen
from powertui.view.navigation import Navigator
from powertui.widgets.context_pane import ContextPane
from tests.screens.conftest import Maker, loaded, settled
from tests.synthetic import gpus, hosts
from tests.synthetic.hosts import Hosts


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Hosts:
    return hosts.two(tmp_path_factory.mktemp("two"))


def gutter(timeline: TimelineScreen, row: int) -> str:
    return "".join(segment.text for segment in timeline.view.strips[0].label(row))


def said(timeline: TimelineScreen) -> str:
    return timeline.query_one("#status", StatusLine).message


def context(timeline: TimelineScreen) -> list[str]:
    shown = timeline.query_one(ContextPane).context
    assert shown is not None
    return [f"{fact.name}: {fact.value}" for section in shown.sections for fact in section.facts]


async def test_v_changes_the_host_and_its_power_together(
    make: Maker, made: Hosts, tmp_path: Path
) -> None:
    log = made.long_csv(tmp_path / "all.csv", {"host-a": "host-a", "host-b": "host-b"})
    shell = make(made.logdir, "--power", str(log))
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        timeline = shell.screen
        assert isinstance(timeline, TimelineScreen)
        for host, other, key in (
            ("host-a", "host-b", "v"),
            ("host-b", "host-a", "v"),
            ("host-a", "host-b", ""),
        ):
            assert [one.series.sensor.host for one in shell.session.power] == [host]
            assert timeline.timeline.model is shell.session.model
            assert shell.session.model is not None
            assert shell.session.model.trace.host == host
            assert gutter(timeline, 0).startswith("watts ")
            assert gutter(timeline, 1).startswith(f"{host} ")
            assert not timeline.view.strips[1].display
            lines = context(timeline)
            assert any(line.startswith(f"{host} watts: ") for line in lines)
            assert not any(other in line for line in lines)
            if key:
                await pilot.press(key)
                await settled(pilot)


async def test_power_stays_with_the_profile_that_is_shown(
    make: Maker, made: Hosts, tmp_path: Path
) -> None:
    log = made.long_csv(tmp_path / "all.csv", {"host-a": "host-a", "host-b": "host-b"})
    shell = make(made.logdir, "--power", str(log))
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        timeline = shell.screen
        assert isinstance(timeline, TimelineScreen)
        opened = shell.session.opened
        assert opened is not None
        await pilot.press("3")
        await settled(pilot)
        # behind another page the timeline still shows host-a, while the session has the next host's
        # power already
        shell.session.trace_index, shell.session.power = (
            1,
            account.energy_account(opened.profiles[1]).drawn,
        )
        timeline._context_stale = True
        assert len(list(timeline.before_frame())) == 1
        assert not any("host-b" in line for line in context(timeline))
        assert any(line.startswith("host-a watts: ") for line in context(timeline))


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_host_without_power_says_whose_there_is(
    make: Maker, made: Hosts, tmp_path: Path, size: tuple[int, int]
) -> None:
    log = made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a", "bmc-host-b": "host-b"})
    shell = make(made.logdir, "--power", str(log))
    async with shell.run_test(size=size) as pilot:
        await loaded(pilot)
        timeline = shell.screen
        assert isinstance(timeline, TimelineScreen)
        assert shell.session.power == ()
        assert said(timeline).startswith("No power belongs to host-a: the log names bmc-17.")
        await pilot.press("v")
        await settled(pilot)
        assert [one.series.sensor.host for one in shell.session.power] == ["bmc-host-b"]
        assert said(timeline) == "Host host-b (2 of 2)."
        assert "DCMI" in gutter(timeline, 0) + gutter(timeline, 1)
        await pilot.press("v")
        await settled(pilot)
        assert said(timeline).startswith("Host host-a (1 of 2). No power belongs to host-a")


async def test_what_was_said_of_power_holds_on_every_page(
    make: Maker, made: Hosts, tmp_path: Path
) -> None:
    log = made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a", "bmc-18": "host-b"})
    shell = make(
        made.logdir,
        "--power",
        str(log),
        "--power-host",
        "bmc-17=host-b",
        "--power-host",
        "bmc-18=host-a",
    )
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        assert [one.series.sensor.host for one in shell.session.power] == ["bmc-18"]
        await pilot.press("4")
        await settled(pilot)
        await pilot.press("enter", "2", "v")
        await settled(pilot)
        assert [one.series.sensor.host for one in shell.session.power] == ["bmc-17"]


async def test_o_gives_power_without_a_host_to_the_one_that_is_looked_at(
    make: Maker, made: Hosts, tmp_path: Path
) -> None:
    log = made.recording(tmp_path / "bmc.csv", {"bmc-17": "host-a", "bmc-18": "host-b"})
    shell = make(made.logdir, "--power", str(log))
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("4")
        await settled(pilot)
        taken = []
        for _ in range(4):
            await pilot.press("o")
            await settled(pilot)
            taken.append([one.series.sensor.host for one in shell.session.power])
        assert taken == [["bmc-17"], ["bmc-18"], [], ["bmc-17"]]
        # the next host is offered what is left, and each keeps its own
        await pilot.press("2", "v")
        await settled(pilot)
        assert shell.session.power == ()
        await pilot.press("4")
        await settled(pilot)
        await pilot.press("o")
        await settled(pilot)
        assert [one.series.sensor.host for one in shell.session.power] == ["bmc-18"]
        await pilot.press("2", "v")
        await settled(pilot)
        assert [one.series.sensor.host for one in shell.session.power] == ["bmc-17"]
        run = shell.session.run
        assert run is not None
        assert set(run.power_hosts) == {("bmc-17", "host-a"), ("bmc-18", "host-b")}


@pytest.mark.parametrize("size", [(120, 36)])
async def test_of_many_gpus_the_one_that_is_looked_at_is_told(
    make: Maker, tmp_path: Path, size: tuple[int, int]
) -> None:
    made = gpus.make(8, (5, 2, 7), steps=8, step_s=4.0)
    shell = make(
        made.write(tmp_path), "--power", str(made.smi(tmp_path / "smi.csv")), "--tz", "UTC"
    )
    async with shell.run_test(size=size) as pilot:
        await loaded(pilot)
        timeline = shell.screen
        assert isinstance(timeline, TimelineScreen)
        navigator = timeline.timeline.navigator
        assert navigator is not None
        # the GPUs of the trace are drawn first, and the pane tells of the one whose row has the
        # cursor
        assert [one.series.sensor.name for one in shell.session.power[:3]] == [
            "GPU 2",
            "GPU 5",
            "GPU 7",
        ]
        for device, gpu in (
            ("/device:GPU:0", "GPU 5"),
            ("/device:GPU:1", "GPU 2"),
            ("/device:GPU:2", "GPU 7"),
        ):
            rows = timeline.timeline.rows
            row = next(i for i, one in enumerate(rows) if one.label.startswith(device))
            timeline.timeline.move(Navigator.move_track, row - navigator.state.cursor_row)
            await settled(pilot)
            told = [line for line in context(timeline) if "GPU " in line.split(":")[0]]
            assert told
            assert all(gpu in line.split(":")[0] for line in told)
        row = next(
            i for i, one in enumerate(timeline.timeline.rows) if one.label.startswith("/host")
        )
        timeline.timeline.move(Navigator.move_track, row - navigator.state.cursor_row)
        await settled(pilot)
        assert any(line.startswith("8 channels: ") for line in context(timeline))
