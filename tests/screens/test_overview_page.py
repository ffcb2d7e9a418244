"""The overview as page 1 of a run: the sentence first, the graph, the tables below, at
every size.
"""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from powertui.screens.overview import OverviewScreen
from powertui.widgets.lines import LinesPane
from powertui.widgets.table import TableView

from .conftest import Maker, loaded, settled

SIZES = {"80x24": (80, 24), "120x36": (120, 36), "200x50": (200, 50)}


def _said(pilot: Pilot[Any]) -> list[str]:
    return [
        "".join(text for text, _ in line)
        for line in pilot.app.screen.query_one("#facts", LinesPane).lines
    ]


async def test_the_conclusions_come_first_and_figures_below(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        shell.show("overview")
        await settled(pilot)
        said = _said(pilot)
        assert said[0].startswith(" Epoch 1, steps 46-71: +59 W")
        assert any(line.startswith(" Computing on the host takes") for line in said)
        energy = " ".join(
            said[next(y for y, line in enumerate(said) if line.startswith(" energy")) :]
        )
        assert (
            energy.index("epoch 0") < energy.index("epoch 1 less epoch 0") < energy.index("a step")
        )
        table = shell.screen.query_one("#rows", TableView).table
        assert table is not None
        assert table.id == "summary"


async def test_lines_that_would_be_empty_hold_the_top_ops(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(200, 50)) as pilot:
        await loaded(pilot)
        shell.show("overview")
        await settled(pilot)
        said = _said(pilot)
        title = next(y for y, line in enumerate(said) if line.startswith(" top ops ─"))
        assert said[title].endswith("self time")
        assert said[title + 1].endswith(" 3.77 s"), "as the sentence says"
        assert said[title + 1].startswith(" conv2d_1_2")
        assert len(said) - title == 11, "the title and ten ops"
        view = shell.screen.query_one("#rows", TableView)
        for _ in range(10):
            await pilot.press("right")
            await settled(pilot)
            if view.table is not None and view.table.id == "top_ops":
                break
        else:
            pytest.fail("the overview has no table of top ops")
        assert not any(line.startswith(" top ops ─") for line in _said(pilot)), "they are below"


async def test_a_smaller_window_keeps_the_sentence_and_the_table(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(200, 50)) as pilot:
        await loaded(pilot)
        shell.show("overview")
        await settled(pilot)
        before = len(_said(pilot))
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        said = _said(pilot)
        assert "+59 W for 2.52 s" in " ".join(said[:2])
        assert len(said) < before
        assert all(len(line) <= 80 for line in said if "each column" not in line)
        assert shell.screen.query_one("#rows", TableView).size.height >= 4


@pytest.mark.parametrize("size", SIZES)
def test_the_overview(snap_compare: Any, make: Maker, size: str) -> None:
    """Without power: what findings say in which words is not this page's."""

    async def before(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        pilot.app.show("overview")  # type: ignore[attr-defined]
        await settled(pilot)

    assert snap_compare(make("demo", "--no-power"), terminal_size=SIZES[size], run_before=before)


async def test_i_shows_by_which_rules_the_numbers_are_counted(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("1")
        await settled(pilot)

        def notes() -> str:
            pane = shell.screen.query_one("#notes", LinesPane)
            return "\n".join("".join(text for text, _ in line) for line in pane.lines)

        assert "rules" not in notes()
        await pilot.press("i")
        assert "Numbers by TensorFlow's rules" in notes()
        await pilot.press("i")
        assert "rules" not in notes()


async def test_without_colors_the_parts_of_a_step_have_letters(make: Maker) -> None:
    """Three blocks of one ink would all look alike."""
    for color, mark in (("256", "■ Conv2D filter grad"), ("none", "c Conv2D filter grad")):
        shell = make(color=color)
        async with shell.run_test(size=(120, 36)) as pilot:
            await loaded(pilot)
            shell.show("overview")
            await settled(pilot)
            assert any(mark in line for line in _said(pilot))


async def test_all_parts_of_a_step_are_in_sight_whatever_notes_there_are(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The graph and the top ops take what is empty, and no row of the table."""
    for count in (1, 4, 6):
        monkeypatch.setattr(OverviewScreen, "notes_shown", lambda *_, n=count: ["A note."] * n)
        shell = make()
        async with shell.run_test(size=(120, 36)) as pilot:
            await loaded(pilot)
            shell.show("overview")
            await settled(pilot)
            table = shell.screen.query_one(TableView)
            assert table.rows_visible >= len(table.rows) == 4
