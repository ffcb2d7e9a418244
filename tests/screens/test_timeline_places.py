"""Findings and launches that keys follow, counters as strips, and a log that lies nowhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from powertui import demo
from powertui.screens.strips import StripsDialog
from tests.synthetic.launches import launches

from .conftest import Maker, loaded, settled, timeline_screen
from .test_training import until

SIZE = (120, 36)


async def test_keys_walk_the_findings_and_mark_exactly_their_stretch(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await until(
            lambda: (
                shell.session.model.surroundings is not None
                and shell.session.model.surroundings.findings
            ),
            "what was found",
        )  # type: ignore[union-attr]
        await settled(pilot)
        found = shell.session.model.surroundings.findings  # type: ignore[union-attr]
        await pilot.press("right_parenthesis")
        await settled(pilot)
        timeline = timeline_screen(shell).timeline
        assert timeline.window == (found[0].lo, found[0].hi)
        assert timeline.viewport is not None
        assert timeline.viewport.t0 <= found[0].lo < found[0].hi <= timeline.viewport.t1
        assert found[0].texts[0] in next(iter(shell.messages)).text
        context = timeline_screen(shell).query_one("#context").context  # type: ignore[attr-defined]
        told = {fact.name: fact.value for section in context.sections for fact in section.facts}
        assert told["found"] == found[0].texts[0]
        await pilot.press("escape", "left_parenthesis")
        await settled(pilot)
        assert timeline.window == (found[-1].lo, found[-1].hi)


async def test_a_key_leads_from_a_kernel_to_its_launch_and_back(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(launches(tmp_path / "host.pt.trace.json"))
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        timeline = timeline_screen(shell).timeline
        await pilot.press("J")
        await settled(pilot)
        assert "First select a kernel" in next(iter(shell.messages)).text
        await pilot.press("slash", *"gemm_1", "enter")
        await settled(pilot)
        assert timeline.model is not None
        kernel = timeline.selection
        assert kernel is not None
        for expected in ("cudaLaunchKernel", "gemm_1"):
            await pilot.press("J")
            await settled(pilot)
            assert timeline.selection is not None
            assert timeline.model.facts(timeline.selection).name == expected
        assert timeline.selection == kernel
        await pilot.press("slash", *"lost", "enter")
        await settled(pilot)
        await pilot.press("J")
        await settled(pilot)
        assert "Nothing in this profile ties this event" in next(iter(shell.messages)).text


async def test_counters_of_a_trace_are_strips_that_can_be_chosen(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(launches(tmp_path / "host.pt.trace.json"))
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        view, model = timeline_screen(shell).view, timeline_screen(shell).timeline.model
        assert model is not None
        (counter,) = model.trace.counters
        assert [strip.name for strip in model.strips] == [counter.name]
        await pilot.press("T")
        await settled(pilot)
        assert isinstance(shell.screen, StripsDialog)
        await pilot.press("enter", "escape")
        await settled(pilot)
        (strip,) = view.chosen
        assert view.values[0].display
        for at, value in zip(counter.times.tolist(), counter.values.tolist(), strict=True):
            assert strip.value(at) == value


async def test_a_log_that_lies_nowhere_says_so_and_what_to_do(make: Maker, tmp_path: Path) -> None:
    shutil.copytree(demo.folder(), tmp_path / "run", ignore=shutil.ignore_patterns("*.csv"))
    rows = "\n".join(f"Total Power,215.0,Unknown,180,ok,{i / 4}" for i in range(40))
    (tmp_path / "run" / "ipmi_data.csv").write_text(
        f"Sensor_ID,Entity_ID,Sensor_Type_Threshold_,Sensor_Reading,Status,Time_elapsed\n{rows}\n"
    )
    shell = make(tmp_path / "run")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        view = timeline_screen(shell).view
        assert shell.session.power == ()
        assert view.note.display
        assert "ipmi_data.csv cannot be aligned here" in "".join(
            segment.text for segment in view.note.cells(0)
        )
        context = timeline_screen(shell).query_one("#context").context  # type: ignore[attr-defined]
        assert any(
            "--offset" in fact.value for section in context.sections for fact in section.facts
        )
    other = make()
    async with other.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        assert not timeline_screen(other).view.note.display


SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50)}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("what", ["host", "device"])
def test_pictures_of_the_timeline(
    snap_compare: Any, make: Maker, tmp_path: Path, size: str, what: str
) -> None:
    """A profile of a host with its power, and one of a device."""
    shell = make() if what == "host" else make(launches(tmp_path / "host.pt.trace.json", 40))

    async def before(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        if what == "host":
            await until(
                lambda: (
                    shell.session.model.surroundings is not None
                    and shell.session.model.surroundings.findings
                ),
                "what was found",
            )  # type: ignore[union-attr]
        await settled(pilot)
        shell.say("")
        await settled(pilot)

    assert snap_compare(shell, terminal_size=SIZES[size], run_before=before)
