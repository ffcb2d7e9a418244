"""Choosing what marks the steps."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import OptionList, Static

from powertui.screens.markers import MarkerDialog
from powertui.screens.timeline import TimelineScreen
from tests.synthetic.xplane import Event, Line, Plane, encode

from .conftest import Maker, loaded, settled

MS = 10**9


def two_markers(folder: Path) -> Path:
    """A step reads its data, then trains: both say the step's number."""
    events = []
    for n in range(8):
        events.append(Event("training_data_read", n * 10 * MS, MS, {"step_num": n}))
        events.append(Event("Profiled batch", n * 10 * MS + 2 * MS, 8 * MS, {"step_num": n}))
    place = folder / "plugins" / "profile" / "2026_11_21_12_00_00"
    place.mkdir(parents=True)
    (place / "vm.xplane.pb").write_bytes(
        encode([Plane("/host:CPU", [Line("python", events, key=1)])])
    )
    return folder


async def test_a_marker_is_chosen_from_all_that_could_mark_steps(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(two_markers(tmp_path))
    async with shell.run_test(size=(130, 30)) as pilot:
        await loaded(pilot)
        assert "Profiled batch" in shell.session.steps.source
        await pilot.press("M")
        await settled(pilot)
        assert isinstance(shell.screen, MarkerDialog)
        listed = shell.screen.query_one(OptionList)
        assert [
            str(listed.get_option_at_index(i).prompt).split("named ")[1]
            for i in range(listed.option_count)
        ] == [
            "Profiled batch with a step_num",
            "training_data_read with a step_num",
        ]
        assert "covers" in str(shell.screen.query_one("#markers-note", Static).render())
        await pilot.press("down", "enter")
        await settled(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        await loaded(pilot)
        assert "training_data_read" in shell.session.steps.source
        assert int(shell.session.steps.step[0]) == MS
        await pilot.press("M", "escape")
        await settled(pilot)
        assert "training_data_read" in shell.session.steps.source


async def test_without_a_second_marker_it_is_said(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(130, 30)) as pilot:
        await loaded(pilot)
        await pilot.press("M")
        await settled(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        assert "Nothing else could mark the steps" in shell.screen.query_one("#status").message  # type: ignore[attr-defined]
