"""The page of steps: panels above the table where a window has room for them."""

from __future__ import annotations

import re

from textual.pilot import Pilot

from powertui.screens.shell import Shell
from powertui.screens.steps import StepsScreen
from powertui.widgets.lines import LinesPane
from tests.screens.conftest import Maker, loaded, settled


async def shown(shell: Shell, pilot: Pilot[int]) -> list[str]:
    """The lines above the table of steps."""
    await loaded(pilot)
    await pilot.press("6")
    await settled(pilot)
    assert isinstance(shell.screen, StepsScreen)
    lines = shell.screen.query_one("#facts", LinesPane).lines
    return ["".join(text for text, _ in line) for line in lines]


async def test_a_large_window_has_graph_ops_slowest_steps_and_energy_side_by_side(
    make: Maker,
) -> None:
    shell = make()
    async with shell.run_test(size=(200, 50)) as pilot:
        lines = await shown(shell, pilot)
        title = lines[0]
        parts = [title.index(words) for words in ("steps ", "top ops", "slowest steps", "energy")]
        assert parts == sorted(parts)
        text = "\n".join(lines)
        for words in ("Conv2D filter grad", "3.77 s", "epoch 1 step 74", "127 ms", "2,748 J"):
            assert words in text
        assert re.search(r"difference +\+131 J ± 27", text), "a difference has its sign and error"
        assert re.search(r"▲ 1.52 s", text), "how far a bar goes on is beside its mark"
        assert "▾ slow" in text
        legend = re.findall(r"[■] [\w ]+ [<\d.]+ %", text)
        assert len(legend) >= 6, "the legend has the rows that the lists beside it leave"
        assert all(len(line) < 200 for line in lines)
        assert "confidence sure" in lines[-1], "what marks the steps is still said"
        table = shell.screen.query_one("#rows")
        assert table.size.height >= 25


async def test_a_window_of_middle_size_has_the_graph_and_the_facts_below_it(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        lines = await shown(shell, pilot)
        assert "▾" in lines[0], "a row above the longest step has its mark"
        assert lines[1].strip().startswith("126.6 ms")
        assert "top ops" not in "".join(lines)
        text = " ".join(line.strip() for line in lines)
        assert "confidence sure" in text
        assert "a mean step draws 23.08 J ± 0.11" in text
        assert "device time by" not in text, "of a host alone nothing tells it"
        assert shell.screen.query_one("#rows").size.height >= 13


async def test_the_smallest_usual_window_has_a_low_graph_whose_legend_names_kinds(
    make: Maker,
) -> None:
    shell = make()
    async with shell.run_test(size=(80, 24)) as pilot:
        lines = await shown(shell, pilot)
        text = "\n".join(lines)
        assert "■■■ convolutions 81.1 %  ■ other ops 11.4 %" in text
        assert "a mean step draws 23.08 J" in text
        assert len(lines) <= 7
        assert shell.screen.query_one("#rows").size.height >= 11


async def test_a_small_window_keeps_the_facts_and_asks_for_nothing_more(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(80, 22)) as pilot:
        lines = await shown(shell, pilot)
        assert lines[0].strip().startswith("marked by")
        assert isinstance(shell.screen, StepsScreen)
        assert shell.screen._overview is None


async def test_a_window_that_grows_gets_the_panels(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 36)) as pilot:
        await shown(shell, pilot)
        await pilot.resize_terminal(200, 50)
        await settled(pilot)
        lines = shell.screen.query_one("#facts", LinesPane).lines
        assert "top ops" in "".join(text for text, _ in lines[0])
        await pilot.resize_terminal(100, 22)
        await settled(pilot)
        lines = shell.screen.query_one("#facts", LinesPane).lines
        assert "marked by" in "".join(text for text, _ in lines[0])
