"""`t` on a comparison: two timelines, step laid on step, and what moves one moves the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data.model import Epoch
from powertui.errors import UsageError
from powertui.screens.compare_choices import compare_choices
from powertui.screens.pair import PairScreen
from powertui.screens.shell import Shell
from powertui.view.laid_steps import LaidSteps
from powertui.view.navigation import Navigator
from powertui.view.timeline_model import TimelineModel
from tests.screens.conftest import Maker, loaded, settled, timeline_screen
from tests.screens.test_tasks import shown
from tests.synthetic import traces
from tests.synthetic.traces import MS
from tests.unit.many_hosts import write_hosts


def model_of(numbers: list[int], took: int) -> TimelineModel:
    """Steps of these numbers one after the other, each of so many ms."""
    marks = traces.steps(*((took * MS * n, took * MS) for n in range(len(numbers))))
    marks.number[:] = numbers
    end = took * MS * len(numbers)
    made = traces.trace({("/host:CPU", "python"): [(0, end, "op")]})
    return TimelineModel.from_run(traces.run(made, marks, [Epoch(0, 0, end, "made")]))


def test_steps_are_laid_by_number_else_by_place() -> None:
    a, b = model_of([3, 4, 5], 10), model_of([4, 5, 6], 20)
    laid = LaidSteps((a, b), (a.span, b.span))
    assert laid.moved(10 * MS, 0) == 0, "step 4 begins B"
    assert laid.moved(25 * MS, 0) == 25 * MS, "5 ms into step 5"
    assert laid.moved(25 * MS, 1) == 25 * MS
    assert laid.words(21 * MS, 0) == ("step 5", "step 5")
    other = model_of([7, 8], 20)
    laid = LaidSteps((a, other), (a.span, other.span))
    assert laid.moved(10 * MS, 0) == 20 * MS
    assert laid.words(29 * MS, 0) == ("step 4", "step 8")
    with pytest.raises(UsageError, match="Both timelines need steps"):
        LaidSteps((a, other), (a.span, (0, 0)))


def pair_of(shell: Shell) -> PairScreen:
    page = shell.current()
    assert isinstance(page, PairScreen)
    return page


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_two_epochs_are_laid_on_each_other_and_move_together(
    make: Maker, size: tuple[int, int]
) -> None:
    shell = make()
    async with shell.run_test(size=size) as pilot:
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        await pilot.press("t")
        await settled(pilot)
        page = pair_of(shell)
        first, second = (view.timeline for view in page._views)
        model = first.model
        assert model is not None
        steps = model.steps
        for key in ("right_square_bracket", "right_square_bracket", "w", "d", "m", "L", "m"):
            await pilot.press(key)
            await settled(pilot)
            assert first.viewport is not None
            assert second.viewport is not None
            assert first.viewport.cell_ps == second.viewport.cell_ps
            rows = [
                int(np.searchsorted(steps.start, each.cursor_ps, side="right")) - 1
                for each in (first, second)
            ]
            assert steps.number[rows[0]] == steps.number[rows[1]]
            assert (steps.epoch[rows[0]], steps.epoch[rows[1]]) == (0, 1)
            columns = [each.viewport.column(each.cursor_ps) for each in (first, second)]
            assert abs(columns[0] - columns[1]) <= 1
        assert first.window is not None
        assert second.window is not None
        number = int(steps.number[rows[0]])
        assert f"epoch 0 step {number}: " in shown(shell)
        assert f"epoch 1 step {number}: " in shown(shell)
        assert page._views[0].strips[0].display, "each has its power"
        assert page._views[1].strips[0].display
        before = first.viewport.t0
        await pilot.press("tab", "a")
        await settled(pilot)
        assert first.viewport.t0 < before, "moving B moves A"
        await pilot.press("escape", "escape")
        await settled(pilot)
        assert first.window is None
        assert shell.current().page_name == "compare"  # type: ignore[union-attr]


async def test_two_runs_are_laid_on_each_other(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("space", "space", "enter")
        await loaded(pilot)
        await pilot.press("equals_sign")
        await settled(pilot)
        await pilot.press("t")
        await settled(pilot)
        first, second = (view.timeline.model for view in pair_of(shell)._views)
        assert first is not None
        assert second is not None
        assert first.trace.path != second.trace.path


async def test_e_marks_the_same_steps_in_the_other_run(make: Maker) -> None:
    shell = make("logdirs")
    async with shell.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await pilot.press("space", "space", "enter")
        await loaded(pilot)
        timeline = timeline_screen(shell).timeline
        assert timeline.model is not None
        steps = timeline.model.steps
        path = timeline.model.trace.path
        timeline.move(Navigator.set_window, int(steps.start[3]), int(steps.ends()[5]))
        numbers = [int(steps.number[3]), int(steps.number[5])]
        await pilot.press("E")
        await settled(pilot)
        await loaded(pilot)
        other = timeline.model
        assert other is not None
        assert other.trace.path != path
        place = other.destination(f"step {numbers[0]}-{numbers[1]}")
        assert timeline.window == (place.lo, place.hi)


async def test_the_host_in_view_is_offered_against_every_other_one(
    make: Maker, tmp_path: Path
) -> None:
    shell = make(write_hosts(tmp_path, hosts=70))
    async with shell.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("colon", *"host", "space", *"node05", "enter")
        await settled(pilot)
        assert shell.session.trace_index == 5
        names = [choice.name for choice in compare_choices(shell)]
        assert len(names) == 69
        assert names[:2] == ["host node05 against node00", "host node05 against node01"]
        assert names[-1] == "host node05 against node69"
