"""The pages that compare epochs and lay power on the trace, with the recorded demo."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from benchmarks import power_world
from powertui import demo, units
from powertui.data.conclusions.run_conclusions import run_conclusions
from powertui.data.energy import pins
from powertui.screens.alignment import AlignmentScreen
from powertui.screens.asking import QuestionDialog
from powertui.screens.shell import Shell
from powertui.screens.symmetry import SymmetryScreen
from powertui.screens.timeline import TimelineScreen
from powertui.screens.tool import ToolScreen
from powertui.terminal import marked
from powertui.view.context import Context
from powertui.view.navigation import Navigator
from powertui.widgets.alignment_chart import AlignmentChart
from powertui.widgets.folded_chart import FoldedChart
from powertui.widgets.lines import LinesPane

from .conftest import Maker, loaded, settled

SIZE = (120, 36)


def words(shell: Shell, pane: str) -> str:
    lines = shell.screen.query_one(pane, LinesPane).lines
    return "\n".join("".join(text for text, _ in line) for line in lines)


def chart_text(widget: FoldedChart | AlignmentChart) -> str:
    return "\n".join(
        "".join(s.text for s in widget.render_line(y)) for y in range(widget.size.height)
    )


async def test_symmetry_finds_the_burst_and_goes_there(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        assert isinstance(shell.screen, SymmetryScreen)
        text = words(shell, "#findings")
        assert text.count("+149 J") == 1
        assert text.startswith(" >     2.9 %  ╸───────  Epoch 1, steps 46-71: +59 W for 2.52 s")
        assert "Computing on the host takes" in text
        assert "▸ 1 smaller difference" in text
        assert "would have been found" in text
        assert "nothing in the profile explains" in text
        picture = chart_text(shell.screen.query_one("#folded", FoldedChart))
        assert "Mean power of each step: epoch 1 over epoch 0" in picture
        assert "├" in picture
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        viewport = shell.screen.timeline.viewport
        assert viewport is not None
        assert 13e12 < viewport.t0 < 15.8e12 < 18.2e12 < viewport.t1 < 21e12


async def test_smaller_differences_are_one_line_until_somebody_asks(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        assert "▸ 1 smaller difference" in words(shell, "#findings")
        listed = words(shell, "#findings").count("longer than")
        await pilot.press("down", "down", "down", "enter")
        await settled(pilot)
        assert isinstance(shell.screen, SymmetryScreen)
        assert "smaller difference" not in words(shell, "#findings")
        assert words(shell, "#findings").count("longer than") > listed
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, TimelineScreen)


async def test_without_epochs_a_finding_is_drawn_against_what_was_expected(
    make: Maker, shared_data: Path
) -> None:
    shell = make(shared_data / "own" / "bursts" / "jax_no_epochs_100ms")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        picture = chart_text(shell.screen.query_one("#folded", FoldedChart))
        assert "Power: measured over what the trace explains" in picture
        assert "Power that nothing in the trace explains" in picture
        assert "├" in picture
        assert "Epochs were not compared: the steps belong to no epoch" in words(shell, "#findings")
        assert "Steps 110-131: +60 W" in words(shell, "#findings")
        await pilot.press("enter")
        await settled(pilot)
        assert isinstance(shell.screen, TimelineScreen)
        viewport = shell.screen.timeline.viewport
        assert viewport is not None
        assert viewport.t0 < 8.3e12 < 9.8e12 < viewport.t1


@pytest.mark.parametrize("profiled", [True, False])
async def test_what_was_not_profiled_is_drawn_on_the_axis_of_the_training(
    make: Maker, shared_data: Path, tmp_path: Path, profiled: bool
) -> None:
    folder = shared_data / "own" / "long_training"
    if not profiled:
        copied = shutil.copytree(folder / "logs", tmp_path / "logs")
        shutil.rmtree(copied / "train" / "plugins")
        shutil.copy(folder / "power.csv", copied)
        folder = tmp_path
    shell = make(folder)
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        # The sentence names both epochs, so it breaks in the middle.
        findings = " ".join(words(shell, "#findings").split())
        assert "no profile shows what ran then" in findings
        chart = shell.screen.query_one("#folded", FoldedChart)
        picture = chart_text(chart)
        assert "Power: measured over the usual level of training" in picture
        assert "Power beyond the usual level of training" in picture
        assert "├" in picture
        if profiled:  # of what is inside the profile, its own readings are drawn
            await pilot.press("down")
            await settled(pilot)
            assert "what the trace explains" in chart_text(chart)


async def test_symmetry_turns_to_other_epochs_and_to_times(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        chart = shell.screen.query_one("#folded", FoldedChart)
        await pilot.press("right")
        assert "epoch 0 over epoch 1" in chart_text(chart)
        await pilot.press("t")
        assert "Length of each step" in chart_text(chart)
        assert " ms" in chart_text(chart)
        await pilot.press("t", "left")
        assert "epoch 1 over epoch 0" in chart_text(chart)
        await pilot.press("down", "up")
        assert "steps 46-71" in words(shell, "#findings")


async def test_alignment_shows_every_way_with_its_evidence(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("4")
        await settled(pilot)
        assert isinstance(shell.screen, AlignmentScreen)
        text = words(shell, "#ways")
        for way in ("The best evidence", "Wall clocks", "By signal", "Not at all"):
            assert way in text
        assert "wall clocks of both: -10.300 s" in text
        assert "the profile's zero is at Unix" in text
        picture = chart_text(shell.screen.query_one("#placed", AlignmentChart))
        assert "below it, what ran" in picture
        await pilot.press("down", "down")
        assert "what ran explains" in words(shell, "#ways")


async def test_the_page_of_a_session_places_power_as_every_other_page_does(
    make: Maker, shared_data: Path
) -> None:
    shell = make(shared_data / "own" / "long_training")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("4")
        await settled(pilot)
        text = " ".join(words(shell, "#ways").split())
        best = text[: text.index("Wall clocks")]
        (power, *_) = shell.session.power
        half = units.duration((power.offset_hi_ps - power.offset_lo_ps) // 2, 3)
        assert f"± {half}" in best
        assert "aligned" in best
        assert "nothing confirms it" not in text


async def test_a_way_that_is_taken_moves_the_power_everywhere(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        before = shell.session.power[0].offset_ps
        await pilot.press("4")
        await settled(pilot)
        await pilot.press("right", "right", "enter")
        await settled(pilot)
        moved = shell.session.power[0]
        assert moved.offset_ps - before == pytest.approx(0.1e12, abs=2e9)
        assert moved.source == "set by hand"
        assert "shifted by hand by +0.10" in words(shell, "#ways")
        await pilot.press("0", "enter")
        await settled(pilot)
        assert shell.session.power[0].offset_ps == before
        await pilot.press("down", "down", "down", "down", "enter")
        await settled(pilot)
        assert shell.session.power == ()


async def test_the_timelines_keys_shift_and_pin_and_keep_it_in_the_file(
    make: Maker, tmp_path: Path
) -> None:
    side = tmp_path / "my.pins"
    shell = make("demo", "--pins", str(side))
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        before = shell.session.power[0].offset_ps
        await pilot.press("greater_than_sign")
        await settled(pilot)
        assert shell.session.power[0].offset_ps - before == pytest.approx(0.05e12, abs=1e9)
        assert pins.read(str(side)).nudge_s == pytest.approx(0.05, abs=1e-3)
        shell.session.cursor_ps = int(15.65e12)
        await pilot.press("p")
        await settled(pilot)
        assert isinstance(shell.screen, QuestionDialog), (
            "the power lies by clock: that is better than an eye on a screen"
        )
        await pilot.press("escape")
        await settled(pilot)
        assert not shell.session.aligning.pins.pins
        await pilot.press("p", "enter")
        await settled(pilot)
        kept = pins.read(str(side))
        assert len(kept.pins) == 1
        assert kept.nudge_s == 0
        assert shell.session.power[0].source == "pinned by hand"
        strip = shell.screen.query_one("#view").strips[0]  # type: ignore[attr-defined]
        top = "".join(segment.text for segment in strip.cells(0))
        assert strip.glyphs.cursor in top, "what was pinned is shown where the watts are"
        assert "pinned by hand" in "".join(segment.text for segment in strip.label(2))
        assert shell.session.power[0].offset_ps == pytest.approx(before, abs=0.5e12)
        await pilot.press("4")
        await settled(pilot)
        assert "By hand" in words(shell, "#ways")
        assert "pins (log = trace)" in words(shell, "#ways")
        await pilot.press("u")
        await settled(pilot)
        assert pins.read(str(side)).pins == ()
        assert shell.session.power[0].offset_ps - before == pytest.approx(0.05e12, abs=1e9), (
            "the shift before the pin stands"
        )
        await pilot.press("6", "u")
        await settled(pilot)
        assert shell.session.power[0].offset_ps == before, "undone on a page that shows no power"
        await pilot.press("u")
        await settled(pilot)
        assert "nothing to undo" in next(iter(shell.messages)).text


async def test_where_no_epochs_can_be_compared_the_steps_stand_below_the_findings(
    make: Maker, tmp_path: Path
) -> None:
    events = []
    for step in range(9):
        begin_us = 1e6 + 1000 * step
        for name, length_us in ((f"ProfilerStep#{step}", 900), ("aten::mm", 700)):
            event = {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1}
            events.append({**event, "ts": begin_us, "dur": length_us})
    (tmp_path / "torch.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    shell = make(tmp_path / "torch.pt.trace.json", "--no-power")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        assert not shell.screen.query_one("#folded", FoldedChart).display
        assert "Time of each step by kind of work" in words(shell, "#findings")
        assert "of a step  " in words(shell, "#findings")


async def test_without_power_both_pages_say_so(make: Maker, tmp_path: Path) -> None:
    shutil.copytree(demo.folder(), tmp_path / "bare", ignore=shutil.ignore_patterns("*.csv"))
    shell = make(tmp_path / "bare", "--no-power")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("4")
        await settled(pilot)
        assert "No power log was found" in chart_text(
            shell.screen.query_one("#placed", AlignmentChart)
        )
        await pilot.press("3")
        await settled(pilot)
        assert "only times are compared" in words(shell, "#findings")


@pytest.mark.parametrize(
    ("size", "glyphs"), [((60, 15), "ascii"), ((200, 60), "console"), ((40, 10), "unicode")]
)
async def test_both_pages_draw_in_any_size_with_any_characters(
    make: Maker, size: tuple[int, int], glyphs: str
) -> None:
    shell = make("demo", glyphs=glyphs)
    async with shell.run_test(size=size) as pilot:
        await loaded(pilot)
        for key, chart in (("3", FoldedChart), ("4", AlignmentChart)):
            await pilot.press(key)
            await settled(pilot)
            text = chart_text(shell.screen.query_one(chart))
            if glyphs == "ascii":
                assert text.replace("…", "~").isascii()


async def test_a_marked_window_is_kept_for_export(make: Maker) -> None:
    shell = make()
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        screen = shell.screen
        assert isinstance(screen, TimelineScreen)
        screen.timeline.move(Navigator.set_window, int(2e12), int(3e12))
        await settled(pilot)
        assert shell.session.trace is not None
        assert marked.load(shell.session.trace.path) == (int(2e12), int(3e12))
        await pilot.press("escape")
        await settled(pilot)
        assert marked.load(shell.session.trace.path) is None


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=("80x24", "120x36"))
@pytest.mark.parametrize(
    ("page", "pressed"),
    [("symmetry", ("3",)), ("alignment", ("4", "down", "down"))],
    ids=("symmetry", "alignment"),
)
def test_pictures(
    snap_compare: Any, make: Maker, page: str, pressed: tuple[str, ...], size: tuple[int, int]
) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await loaded(pilot)
        for key in pressed:
            await pilot.press(key)
            await settled(pilot)

    assert snap_compare(make(), terminal_size=size, run_before=before)


async def test_the_better_of_two_logs_leads_on_every_page_and_the_context_says_so(
    make: Maker, tmp_path: Path
) -> None:
    """The one that is named first ends in the middle of the training."""
    world = power_world.make(power_world.plan(3, quiet=True))
    logs = power_world.write(world, tmp_path)
    bmc, cut = power_world.SENSORS["mean 0.5 s, 1 W"], power_world.Fault(cut=15.0)
    bad = power_world.write_log(
        power_world.record(world, bmc, 1, cut), tmp_path / "bad.csv", "wall"
    )
    good = power_world.write_log(power_world.record(world, bmc, 2), tmp_path / "good.csv", "wall")
    shell = make(logs, "--power", str(bad), "--power", str(good))
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        assert [Path(one.series.path).name for one in shell.session.power] == [
            "good.csv",
            "bad.csv",
        ]
        context = Context.for_state(
            shell.session.model, shell.screen.timeline.state, shell.session.power
        )  # type: ignore[arg-type,attr-defined]
        assert any(
            "good.csv is the main log, not bad.csv" in fact.value
            for section in context.sections
            for fact in section.facts
        )
        await pilot.press("4")
        await settled(pilot)
        assert isinstance(shell.screen, AlignmentScreen)
        assert shell.screen._shown is not None
        assert Path(shell.screen._shown.power.series.path).name == "good.csv"


async def test_the_foot_of_the_timeline_has_the_first_conclusion_once_it_is_known(
    make: Maker,
) -> None:
    shell = make("logdirs/jax_cpu")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        foot = shell.screen.query_one("#conclusion", LinesPane)
        assert foot.display  # its row is kept: nothing moves when the conclusion comes
        assert foot.lines == ((),)
        opened = shell.session.opened
        assert opened is not None
        conclusions = run_conclusions(opened, shell.session.aligning)
        shell.runs.tell_news()
        await settled(pilot)
        assert foot.display
        assert conclusions.headline[:60] in words(shell, "#conclusion")
        first, _, _ = words(shell, "#conclusion").partition("\n")
        assert first.rstrip().endswith("3: more")


async def test_a_conclusion_about_all_of_the_run_leads_to_the_table_that_shows_it(
    make: Maker,
) -> None:
    shell = make("logdirs/jax_cpu")
    async with shell.run_test(size=SIZE) as pilot:
        await loaded(pilot)
        await pilot.press("3")
        await settled(pilot)
        opened = shell.session.opened
        assert opened is not None
        first = run_conclusions(opened, shell.session.aligning).first
        assert first is not None
        await pilot.press("enter")
        await settled(pilot)
        page = shell.current()
        assert isinstance(page, ToolScreen)
        assert page.tool.name == first.evidence.tool
