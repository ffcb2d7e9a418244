"""A tool is one file and one line: a toy one, found in every place where tools stand; and what its
page looks like.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

import powertui
from powertui import cli, demo
from powertui.data.tools import registry
from powertui.data.tools.registry import Tool
from powertui.screens import heading, palette
from powertui.widgets.table import TableView
from tests.answers import told

from .conftest import Maker, loaded, settled
from .test_pictures import SIZES

TOY = """
import numpy as np
from powertui.data.model import PS_PER_US
from powertui.data.table import Fact, Place, Result, Table
from powertui.data.columns import Column, text_column

NAMES = ["volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "void cudnn::bn_bw_1C11_kernel_new<float, float>(int)",
         "volta_sgemm_128x64_nt", "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<long> >(long)", "=cmd|'/c calc'!A1"]

OPS = ["sequential_3/conv2d_13/Conv2D", "bn/FusedBatchNormGradV3", "dense/MatMul", "relu/Relu", ""]

def answer(question):
    lo, hi = question.window
    total = np.array([651, 554, 256, 190, 3]) * PS_PER_US
    columns = (
        text_column("kernel", "kernel", NAMES, weight=9),
        text_column("op", "op", OPS, weight=5),
        Column("count", "count", "integer", np.array([1, 12, 1200, 7, 1]), weight=7),
        Column("total_s", "total", "duration", total, weight=9),
        Column("share", "share", "share", total / total.sum(), weight=8),
        Column("longest_s", "longest", "duration", total // 2, weight=4),
        Column("registers", "registers", "integer", np.array([126, 38, 122, 16, 0]), weight=2),
    )
    def place(row):
        return Place(question.opened.name, question.host, lo + row * (hi - lo) // 5, lo + (row + 1) * (hi - lo) // 5)
    table = Table("toys", "Toy kernels", columns, place, ("total_s", True), key=("kernel",), noun="kernel")
    facts = (Fact("all", "device time", int(total.sum()), "duration"),)
    return Result("toy_stats", "Toy kernels", (table,), facts, notes=("Made for a test.",))
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """One file, one line."""
    (tmp_path / "toy_stats_of_a_test.py").write_text(TOY)
    monkeypatch.syspath_prepend(tmp_path)
    tool = Tool("toy_stats", "Toy kernels", "A tool of a test.", "toy_stats_of_a_test:answer")
    monkeypatch.setattr(registry, "TOOLS", (*registry.TOOLS, tool))
    return tool


@pytest.mark.usefixtures("toy")
def test_a_tool_is_in_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*argv: str) -> str:
        assert cli.main(["report", *argv]) == 0
        return capsys.readouterr().out

    path = str(demo.folder())
    assert "toy_stats" in said(path, "--tool", "list")
    assert "device time" in said(path, "--tool", "toy_stats")
    rows = told(json.loads(said(path, "--tool", "toy_stats", "--json")), "toys")
    assert [row["count"] for row in rows] == [1, 12, 1200, 7, 1]
    assert rows[0]["total_s"] == 651e-6
    table = list(csv.DictReader(io.StringIO(said(path, "--tool", "toy_stats", "--csv"))))
    assert table[0]["total_s"] == "0.000651000000"
    assert table[4]["kernel"].startswith("'=")
    assert "| kernel" in said(path, "--tool", "toy_stats", "--markdown")


@pytest.mark.usefixtures("toy")
def test_a_tool_is_in_the_palette_of_every_page() -> None:
    for page in ("timeline", "open", "tool", "symmetry"):
        found = [entry for entry in palette.entries(page) if entry.command == "tool:toy_stats"]
        assert [entry.title for entry in found] == ["Tool: Toy kernels"]


@pytest.mark.usefixtures("toy")
async def test_a_tool_has_a_page_and_its_rows_lead_into_the_timeline(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 30)) as pilot:
        await loaded(pilot)
        await pilot.press("colon", *"toy", "enter")
        await settled(pilot)
        view = shell.screen.query_one("#rows", TableView)
        assert view.table is not None
        assert view.table.id == "toys"
        assert "Toy kernels" in str(shell.screen.query_one("#title", Static).content)
        await pilot.press("down", "enter")
        await settled(pilot)
        assert shell.current().NAME == "timeline"  # type: ignore[union-attr]
        viewport = shell.screen.timeline.viewport  # type: ignore[attr-defined]
        place = view.table.place(1)
        assert place is not None
        assert viewport.t0 <= place.lo <= place.hi <= viewport.t1


@pytest.mark.usefixtures("toy")
async def test_a_run_that_was_read_again_is_asked_again(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(120, 30)) as pilot:
        await loaded(pilot)
        await shell.run_command("tool:toy_stats")
        await settled(pilot)
        before = shell.screen.query_one("#rows", TableView).table
        shell.show("timeline")
        await settled(pilot)
        shell.runs.read_again()
        await loaded(pilot)
        shell.show("tool")
        await settled(pilot)
        after = shell.screen.query_one("#rows", TableView).table
        assert before is not None
        assert after is not None
        assert after is not before


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("size", SIZES)
def test_the_page_of_a_tool(snap_compare: Any, make: Maker, size: str) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        await pilot.app.run_command("tool:toy_stats")  # type: ignore[attr-defined]
        await settled(pilot)
        await pilot.press("down")
        await settled(pilot)

    assert snap_compare(make(), terminal_size=SIZES[size], run_before=before)


@pytest.mark.usefixtures("toy")
def test_a_tool_is_in_the_python_api() -> None:
    answer = powertui.open(demo.folder())[0].tool("toy_stats")
    assert answer.frame["count"].tolist() == [1, 12, 1200, 7, 1]


async def test_the_steps_page_puts_the_slowest_first_and_says_what_took_longer(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(140, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("6")
        await settled(pilot)
        view = shell.screen.query_one("#rows", TableView)
        await pilot.press("s")
        await settled(pilot)
        assert view.order.column == "step_s"
        assert view.table is not None
        assert view.table["over_usual_s"].value(view.row) == max(view.table["over_usual_s"].values)
        title = str(shell.screen.query_one("#title", Static).content)
        assert "whole profile: 20.96 s, 200 steps, host vm" in title
        first = view.place
        assert first is not None
        await pilot.press("i")
        await settled(pilot)
        assert shell.session.tool == "step_ops"
        assert shell.session.window == (first.lo, first.hi)
        assert "step 0" in str(shell.screen.query_one("#title", Static).content)
        await pilot.press("escape")
        await settled(pilot)
        assert len(shell.screen.query_one("#rows", TableView).rows) == 200, (
            "a window does not leave steps out of their list"
        )
        await pilot.press("enter")
        await settled(pilot)
        assert shell.current().NAME == "timeline"  # type: ignore[union-attr]
        assert shell.screen.timeline.window == (first.lo, first.hi)  # type: ignore[attr-defined]


async def test_rows_are_put_together_unfold_and_add_up(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=(140, 36)) as pilot:
        await loaded(pilot)
        await pilot.press("5")
        await settled(pilot)
        view = shell.screen.query_one("#rows", TableView)
        assert "18 wrappers hidden (3.1 %)" in view.summary()
        listed = len(view.rows)
        await pilot.press("x")
        await settled(pilot)
        assert len(view.rows) == listed + 18
        await pilot.press("x", "g")
        await settled(pilot)
        assert view.order.group == "type"
        groups = len(view.lines)
        assert view.group is not None
        count = len(view.group.rows)
        await pilot.press("enter")
        await settled(pilot)
        assert len(view.lines) == groups + count
        await pilot.press("down")
        assert view.place is not None
        await pilot.press("up", "enter")
        await settled(pilot)
        assert len(view.lines) == groups
        await pilot.press("slash", *"conv2d_1_2", "enter")
        await settled(pilot)
        text = [
            "".join(segment.text for segment in strip)
            for strip in shell.screen._compositor.render_strips()
        ]
        assert any("total of what is listed" in line for line in text)


async def test_the_heading_of_a_table_loses_words_and_no_figure(make: Maker) -> None:
    shell = make("demo")
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        profile = shell.session.profile
        assert profile is not None
        lo = profile.trace.span[0] + 1_234_567_890_123
        for cells in range(40, 180):
            told = heading.table_heading(profile, (lo, lo + 2_345_678_901_234), cells)
            assert len(told) <= cells
            assert "…" not in told
            assert told.startswith("1.235s to 3.580s: 2.346 s"), told
            if cells >= 78:
                assert "parts of 24 steps, host vm; events" in told, "some lie across its ends"
        assert (
            heading.table_heading(profile, None, 180)
            == "whole profile: 20.96 s, 200 steps, host vm"
        )
