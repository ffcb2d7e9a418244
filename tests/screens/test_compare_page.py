"""`=`: two runs, or two epochs of one, on a page. The sentence is in sight at 80×24."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from textual.widgets import OptionList

from powertui.data.compare.comparison import Comparison, compare
from powertui.data.compare.part import AskedSide
from powertui.screens.compare import CompareScreen
from powertui.screens.compare_dialog import CompareDialog
from powertui.screens.shell import Shell
from powertui.screens.status import StatusLine
from tests.waiting import until_then

from .conftest import Maker, loaded, settled
from .test_tasks import shown

SMALL = (80, 24)


def page_of(shell: Shell) -> CompareScreen:
    page = shell.current()
    assert isinstance(page, CompareScreen)
    return page


NARROW = (80, 40)  # as narrow as a page may be, with rows for more than the figures


def copies(data: Path, folder: Path, *names: str) -> Path:
    """Runs of these names in a folder: the two recordings in turn."""
    for number, name in enumerate(names):
        recording = ("jax_cpu", "trace_export")[number % 2]
        shutil.copytree(data / "logdirs" / recording, folder / name)
    return folder


async def test_two_open_runs_are_compared_and_r_turns_them_round(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await pilot.press("space", "space", "enter")
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        assert "3.484 ms in A, 3.619 ms in B" in shown(shell)
        assert "A: trace_export" in shown(shell)
        assert "Configuration differs in: steps compared" in shown(shell)
        assert "cannot tell" in shown(shell), "the verdict is a word"
        footer = shown(shell).splitlines()[-1]
        assert "→ next table" in footer, "80 columns have room for what most people need next"
        assert "Enter show in timeline" in footer
        await pilot.press("R")
        await settled(pilot)
        assert "3.619 ms in A, 3.484 ms in B" in shown(shell)
        await pilot.press("R", "escape")
        await settled(pilot)
        page = shell.current()
        assert page is not None
        assert page.page_name == "timeline"


@pytest.mark.parametrize("size", [NARROW, (160, 40)])
async def test_rows_that_the_figures_leave_free_show_where_the_difference_comes_from(
    make: Maker, size: tuple[int, int]
) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("space", "space", "enter")
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        lines = shown(shell).splitlines()
        (category,) = (n for n, line in enumerate(lines) if "comes from, by category" in line)
        (op,) = (n for n, line in enumerate(lines) if "comes from, by op" in line)
        assert (op == category) == (size != NARROW), "beside each other where both have room"
        more, less = lines[category + 1], lines[category + 2]
        assert more.lstrip().startswith("Between steps")
        assert less.lstrip().startswith("Host compute")
        assert "│━" in more
        assert "│━" in less
        assert any("7 figures" in line for line in lines[:category]), "the table is whole above it"
        await pilot.press("right")
        await settled(pilot)
        assert "comes from, by op" not in shown(shell), "only the figures leave it out"


async def test_every_table_is_shown_and_a_row_leads_to_its_place(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SMALL) as pilot:
        await loaded(pilot)
        await pilot.press("6", "equals_sign")
        await settled(pilot)
        assert "89.93 ms in A, 95.9 ms in B" in shown(shell), "epoch 0 against epoch 1"
        titles = []
        for _ in range(6):
            table = page_of(shell).table.table
            assert table is not None
            titles.append(table.id)
            await pilot.press("right")
        assert titles == [
            "figures",
            "causes_by_category",
            "causes_by_op",
            "ops",
            "configuration",
            "unmatched",
        ]
        await pilot.press("enter")
        await settled(pilot)
        epoch = shell.session.epochs.bounds(0, shell.session.steps)
        assert epoch is not None
        assert shell.session.window is not None
        lo, hi = shell.session.window
        assert epoch[0] <= lo < hi <= epoch[1], "the steps compared are those of epoch 0"
        await pilot.press("escape", "escape")  # the marked window first
        await settled(pilot)
        page_of(shell)


async def test_an_op_leads_to_its_longest_call(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SMALL) as pilot:
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        await pilot.press("right", "right", "right")
        table = page_of(shell).table.table
        assert table is not None
        assert table.id == "ops"
        place = table.place(0)
        assert place is not None
        assert place.event is not None
        await pilot.press("enter")
        await settled(pilot)
        assert shell.session.window == (place.lo, place.hi)


async def test_numbers_are_copied_as_numbers(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SMALL) as pilot:
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        await pilot.press("o", "y")
        titles, first, *_ = shell._clipboard.splitlines()
        row = dict(zip(titles.split(","), first.split(","), strict=True))
        assert row["unit"] in ("s", "J", "W")
        assert float(row["difference"]) == pytest.approx(float(row["b"]) - float(row["a"]))


async def test_names_that_are_markup_are_words(make: Maker, data: Path, tmp_path: Path) -> None:
    folder = copies(data, tmp_path / "runs", "[red]a", "[/b]", "[link=x]c")
    shell = make(folder)
    async with shell.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await pilot.press("enter")
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        assert isinstance(shell.screen, CompareDialog), "two other runs: a list"
        front = shell.session.entry
        assert front is not None
        listed = shell.screen.query_one(OptionList)
        assert listed.option_count == 2
        await pilot.press("[", "enter")
        await settled(pilot)
        assert f"A: {front.name[:6]}" in shown(shell)
        assert "B: [" in shown(shell)


async def test_letters_that_nothing_has_choose_nothing(
    make: Maker, data: Path, tmp_path: Path
) -> None:
    shell = make(copies(data, tmp_path / "runs", "a", "b", "c"))
    async with shell.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await pilot.press("enter")
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        await pilot.press("z", "q", "enter")
        assert "Nothing to compare with matches these letters." in shown(shell)
        await pilot.press("escape")
        await settled(pilot)
        page = shell.current()
        assert page is not None
        assert page.page_name == "timeline"


async def test_a_run_that_vanished_is_named(make: Maker, data: Path, tmp_path: Path) -> None:
    folder = copies(data, tmp_path / "runs", "a", "b")
    shell = make(folder)
    async with shell.run_test(size=SMALL) as pilot:
        await settled(pilot)
        await pilot.press("enter")
        await loaded(pilot)
        entry = shell.session.entry
        assert entry is not None
        gone = folder / ("b" if entry.name.startswith("a") else "a")
        shutil.rmtree(gone)
        await pilot.press("equals_sign")
        await settled(pilot)
        page = page_of(shell)
        assert page.table.table is None
        assert str(gone.name) in page.table.waiting
        assert not page.is_behind


async def test_esc_leaves_while_it_is_computed(
    make: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()

    def slow(a: AskedSide, b: AskedSide) -> Comparison:
        may_end.wait(20)
        return compare(a, b)

    monkeypatch.setattr("powertui.screens.compare.compare", slow)
    shell = make()
    async with shell.run_test(size=SMALL) as pilot:
        await loaded(pilot)
        await pilot.press("equals_sign")
        await until_then(lambda: "Comparing …" in shown(shell), lambda: shown(shell))
        await pilot.press("escape")
        page = shell.current()
        assert page is not None
        assert page.page_name == "timeline"
        may_end.set()
        await settled(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        assert "89.93 ms in A, 95.9 ms in B" in shown(shell)


async def test_nothing_to_compare_is_said(make: Maker) -> None:
    shell = make("logdirs/jax_cpu")
    async with shell.run_test(size=(200, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("equals_sign")
        message = shell.screen.query_one("#status", StatusLine).message
        assert message.startswith("There is nothing to compare this run with.")


async def test_without_a_run_one_has_to_be_opened(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=(200, 24)) as pilot:
        await settled(pilot)
        await pilot.press("equals_sign")
        message = shell.screen.query_one("#status", StatusLine).message
        assert message == "Mark two runs with Space first, or open one with Enter."
