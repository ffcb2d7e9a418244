"""Several profiles of a training in sight: the tracks of each stand where it lies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from powertui.data.model import PS_PER_S
from powertui.screens.export import ExportDialog, offered
from powertui.screens.session import MAX_OPEN_RUNS
from powertui.screens.shell import Shell
from powertui.view.navigation import Navigator
from tests.synthetic.long_training import long_training

from .conftest import Maker, settled, timeline_screen
from .test_many_sessions import held
from .test_training import SIZE, until, whole


async def both_in_sight(
    pilot: Pilot[Any], shell: Shell, lo_s: float, hi_s: float, count: int = 1
) -> None:
    """Show a stretch of the training (s after the first session begins) until the other profiles in
    it are drawn.
    """
    await whole(pilot)
    await pilot.press("P")
    await until(
        lambda: shell.session.entry.name.endswith("session_0") and shell.session.complete,
        "the first one is open",
    )  # type: ignore[union-attr]
    await settled(pilot)
    timeline_screen(shell).timeline.move(
        Navigator.show_window, round(lo_s * PS_PER_S), round(hi_s * PS_PER_S)
    )
    await until(
        lambda: len(timeline_screen(shell).timeline.neighbors) == count, "the other one is read"
    )
    await settled(pilot)
    await pilot.pause()


def drawn(shell: Shell, y: int) -> str:
    return timeline_screen(shell).timeline.render_line(y).text


def column(shell: Shell, seconds: float) -> int:
    viewport = timeline_screen(shell).timeline.viewport
    assert viewport is not None
    return viewport.column(round(seconds * PS_PER_S))


async def test_two_profiles_stand_in_the_same_rows_each_in_its_own_place(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(long_training(tmp_path, sessions=(40.0, 46.0)))
    async with shell.run_test(size=SIZE) as pilot:
        await both_in_sight(pilot, shell, -1, 10)
        lanes = [y for y, row in enumerate(timeline_screen(shell).timeline.rows) if row.lanes]
        assert len(lanes) == 2
        for y in lanes:
            text = drawn(shell, y)
            for begin in (0.0, 6.0):
                cells = text[column(shell, begin) : column(shell, begin + 1.9)]
                assert cells.strip() == cells, "the profile's own stretch is full"
                assert cells
            gap = text[column(shell, 2.2) : column(shell, 5.8)]
            assert gap.strip() in ("", "not profiled")
        assert "not profiled" in drawn(shell, lanes[0])
        assert not timeline_screen(shell).timeline.below
        assert len(held(tmp_path)) <= MAX_OPEN_RUNS


async def test_profiles_that_overlap_stand_below_each_other_under_their_names(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(long_training(tmp_path, sessions=(40.0, 41.0)))
    async with shell.run_test(size=SIZE) as pilot:
        await both_in_sight(pilot, shell, -1, 4)
        timeline = timeline_screen(shell).timeline
        assert [line.label for line in timeline.below] == ["train/session_1", "worker", "python"]
        first = len(timeline.rows)
        assert "ran at the same time" in drawn(shell, first)
        gutter = timeline_screen(shell).view.row_labels
        assert gutter.render_line(first).text.startswith("train/session_1")
        text = drawn(shell, first + 1)
        assert not text[: column(shell, 0.9)].strip()
        assert text[column(shell, 1.1) : column(shell, 2.9)].strip()
        own = drawn(shell, next(y for y, row in enumerate(timeline.rows) if row.lanes))
        assert not own[column(shell, 2.2) : column(shell, 2.9)].strip(), (
            "what the other did is not among its own"
        )


async def test_all_that_are_in_sight_are_drawn_with_their_step_numbers(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(long_training(tmp_path, sessions=(40.0, 43.0, 46.0)))
    async with shell.run_test(size=SIZE) as pilot:
        await both_in_sight(pilot, shell, -0.2, 8.2, count=2)
        row = next(y for y, row in enumerate(timeline_screen(shell).timeline.rows) if row.lanes)
        numbers = "".join(segment.text for segment in timeline_screen(shell).view.steps.cells(0))
        for begin in (0.0, 3.0, 6.0):
            columns = slice(column(shell, begin), column(shell, begin + 1.9))
            assert len(drawn(shell, row)[columns].strip()) >= columns.stop - columns.start - 1, (
                "a guest lies to half a cell"
            )
            assert re.search(r"10[01]\d", numbers[columns]), (
                f"no step number of the profile at {begin} s in {numbers!r}"
            )
            assert "~" not in numbers[columns]
        timeline_screen(shell).timeline.move(Navigator.show_window, PS_PER_S // -2, 5 * PS_PER_S)
        await until(
            lambda: len(timeline_screen(shell).timeline.neighbors) == 1,
            "the others are out of sight",
        )
        await settled(pilot)
        assert len(held(tmp_path)) <= MAX_OPEN_RUNS + 1, "and they go"


async def test_no_more_profiles_are_kept_than_memory_bears(
    make: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("powertui.screens.training_profiles.MAX_NEIGHBOR_EVENTS", 1)
    shell = make(long_training(tmp_path, sessions=(40.0, 43.0, 46.0, 49.0)))
    async with shell.run_test(size=SIZE) as pilot:
        await both_in_sight(pilot, shell, -1, 12)
        for _ in range(3):
            await pilot.press("P")
            await settled(pilot)
            timeline_screen(shell).timeline.move(Navigator.show_window, -3 * PS_PER_S, 9 * PS_PER_S)
            await settled(pilot)
            assert len(held(tmp_path)) <= MAX_OPEN_RUNS + 1, (
                "the one in front, one beside it, and what is on its way"
            )
        assert len(timeline_screen(shell).timeline.neighbors) <= MAX_OPEN_RUNS - 1


async def test_the_profile_that_the_cursor_goes_to_is_in_front_and_the_other_stays(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(long_training(tmp_path, sessions=(40.0, 46.0)))
    async with shell.run_test(size=SIZE) as pilot:
        await both_in_sight(pilot, shell, -1, 10)
        before = drawn(shell, 1)
        timeline = timeline_screen(shell).timeline
        assert timeline.viewport is not None
        timeline.navigator.click(1, column(shell, 7.0))  # type: ignore[union-attr]
        timeline.move(Navigator.pan, 1)
        await until(lambda: shell.session.entry.name.endswith("session_1"), "it is in front")  # type: ignore[union-attr]
        await until(
            lambda: [one.name for one in timeline.neighbors] == ["train/session_0"],
            "the other is drawn beside it",
        )
        await settled(pilot)
        after = drawn(shell, 1)
        bars = [sum(text.count(char) for char in "▆▇█") for text in (before, after)]
        assert bars[0] == pytest.approx(bars[1], abs=3), "what is in sight is the same"


async def test_one_that_is_on_no_axis_but_its_own_is_left_alone(
    make: Maker, tmp_path: Path
) -> None:
    folder = long_training(tmp_path, sessions=(40.0, 46.0))
    (folder / "train" / "plugins" / "profile" / "session_1" / "vm.xplane.pb").write_bytes(
        b"\x0a\x01x"
    )
    shell = make(folder)
    async with shell.run_test(size=SIZE) as pilot:
        await whole(pilot)
        timeline_screen(shell).timeline.move(Navigator.show_window, -1 * PS_PER_S, 10 * PS_PER_S)
        await settled(pilot)
        assert not timeline_screen(shell).timeline.neighbors


async def test_an_epoch_never_shows_joules_without_their_interval(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(long_training(tmp_path))
    async with shell.run_test(size=(80, 24)) as pilot:
        await whole(pilot)
        seen = set()
        for width in range(20, 300, 4):
            timeline_screen(shell).timeline.move(Navigator.show_window, 0, width * PS_PER_S)
            await pilot.pause()
            text = "".join(segment.text for segment in timeline_screen(shell).view.epochs.cells(0))
            seen.add(text)
            for number in re.finditer(r"[\d.]+(?= [kM]?J)", text):
                assert "±" in text[max(0, number.start() - 6) : number.end() + 6], text
        assert any("±" in text for text in seen)
        assert any(re.search(r"\d k?J±\d", text) for text in seen), (
            "in one unit, where there is less room"
        )


async def test_export_offers_what_is_there(make: Maker, tmp_path: Path) -> None:
    shell = make(long_training(tmp_path, sessions=()) / "power.csv")
    async with shell.run_test(size=SIZE) as pilot:
        await until(
            lambda: shell.session.complete and shell.session.model is not None, "the log is read"
        )
        await settled(pilot)
        assert offered(shell.session) == ("samples", "openmetrics")
        await pilot.press("e")
        await until(lambda: isinstance(shell.screen, ExportDialog), "the form")
        shell.screen.query_one(Input).value = str(tmp_path / "out.csv")
        await pilot.press("enter")
        await until(lambda: (tmp_path / "out.csv").exists(), "the samples of a log alone")
        await settled(pilot)
    assert (tmp_path / "out.csv").read_text().count("\n") > 100
    shell = make("logdirs/trace_export")
    async with shell.run_test(size=SIZE) as pilot:
        await until(
            lambda: shell.session.complete and shell.session.model is not None,
            "the profile is read",
        )
        assert "samples" not in offered(shell.session)
        assert {"ops", "events", "perfetto"} <= set(offered(shell.session))
