"""Rows that lead further: a card with all that is known of a row, the page of a program, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.widgets import Static

from powertui.screens.row_card import CardDialog
from powertui.widgets.lines import LinesPane
from powertui.widgets.table import TableView

from .conftest import Maker, loaded, settled

JAX = "own/jax_cpu/plugins/profile/2026_11_21_00_50_50"


def lines(shell: Any) -> list[str]:
    strips = shell.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def rows(shell: Any) -> TableView:
    return shell.screen.query_one("#rows", TableView)  # type: ignore[no-any-return]


def fact(shell: Any, label: str) -> str:
    pane = shell.screen.query_one("#facts", LinesPane)
    text = ["".join(words for words, _ in line) for line in pane.lines]
    (line,) = (line for line in text if line.split("  ")[0].strip() == label)
    return line.split(maxsplit=len(label.split()))[-1]


async def test_a_buffer_has_a_card_that_leads_into_the_timeline(
    make: Maker, shared_data: Path
) -> None:
    shell = make(shared_data / JAX)
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        shell.session.choices["memory_viewer"] = "jit_step"
        await shell.run_command("tool:memory_viewer")
        await settled(pilot)
        assert fact(shell, "program") == "jit_step(28)"
        chart = shell.screen.query_one("#chart", LinesPane)
        assert "5.949 MB" in "".join(words for words, _ in chart.lines[0])
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, CardDialog)
        seen = [" ".join(line.split()) for line in lines(shell)]
        assert any("shape f32[784,512]{1,0}" in line for line in seen)
        assert any("source /home/train/scripts/gen_jax.py:10" in line for line in seen)
        await pilot.press("enter")
        await settled(pilot)
        assert shell.current().NAME == "timeline"  # type: ignore[union-attr]
        assert shell.session.window is not None


async def test_a_program_is_chosen_in_its_list_and_esc_comes_back(
    make: Maker, shared_data: Path
) -> None:
    shell = make(shared_data / JAX)
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await shell.run_command("tool:memory_viewer")
        await settled(pilot)
        assert fact(shell, "program").startswith("jit__normal(10)")
        await pilot.press("right", "right", "down", "enter")
        await settled(pilot)
        assert fact(shell, "program").startswith("jit_step(28)")
        table = rows(shell).table
        assert table is not None
        assert table.id == "at_peak"
        await pilot.press("escape")
        await settled(pilot)
        assert fact(shell, "program").startswith("jit__normal(10)")
        assert "Memory of a program" in str(shell.screen.query_one("#title", Static).content)
        await pilot.press("escape")
        await settled(pilot)
        assert shell.current().NAME == "timeline"  # type: ignore[union-attr]


async def test_an_op_of_op_profile_has_a_card_that_scrolls(make: Maker, shared_data: Path) -> None:
    shell = make(shared_data / JAX)
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await shell.run_command("tool:op_profile")
        await settled(pilot)
        await pilot.press("slash", *"ynn_fusion.4", "enter", "enter")
        await settled(pilot)
        seen = [" ".join(line.split()) for line in lines(shell)]
        assert any("self time 14.19 ms" in line for line in seen)
        assert not any("expression" in line for line in seen)
        await pilot.press("pagedown")
        await settled(pilot)
        seen = [" ".join(line.split()) for line in lines(shell)]
        assert any("fused ops dot_general.4" in line for line in seen)
        assert any("source /home/train/scripts/gen_jax.py:10" in line for line in seen)
        assert any(
            "expression %ynn_fusion.4 = f32[64,512]{1,0} fusion(%x.1," in line for line in seen
        )
        await pilot.press("enter")
        await settled(pilot)
        assert shell.current().NAME == "timeline"  # type: ignore[union-attr]


async def test_a_graph_is_walked_from_an_event_of_the_timeline_and_back(
    make: Maker, shared_data: Path
) -> None:
    shell = make(shared_data / JAX)
    async with shell.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("slash", *"compare_select_fusion", "enter")
        await settled(pilot)
        await pilot.press("X")
        await settled(pilot)
        first = fact(shell, "op")
        assert first.startswith("compare_select_fusion")
        await pilot.press("down", "enter")
        await settled(pilot)
        assert fact(shell, "op") != first
        await pilot.press("c")
        await settled(pilot)
        assert isinstance(shell.screen, CardDialog)
        await pilot.press("escape", "escape")
        await settled(pilot)
        assert fact(shell, "op") == first
        await pilot.press("t")
        await settled(pilot)
        assert shell.current().NAME == "timeline"  # type: ignore[union-attr]
