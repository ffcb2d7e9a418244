"""What a step takes while nothing slows the machine, and what it draws while nothing else does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.bench_compare import groups_differ
from powertui.data import logdir
from powertui.data.compare import power_figures
from powertui.data.compare.part import ComparedPart, HostWindow
from powertui.data.compare.undisturbed import undisturbed_mean
from powertui.data.compare.values import Values
from powertui.data.training.training import Trainings
from tests.synthetic.power_world import SENSORS, write_power_log
from tests.synthetic.step_world import step_series, write_run

SENSOR = SENSORS["means of 1 s, read every 0.1 s"]


def test_steps_that_are_all_alike_are_what_they_are() -> None:
    assert undisturbed_mean(np.full(50, 0.1)) == pytest.approx(0.1)


def test_of_a_few_steps_the_shorter_ones_count() -> None:
    assert undisturbed_mean(np.array([1.0, 1.0, 9.0])) == 1.0


@pytest.mark.parametrize("slowed_steps", [20, 60, 110])
def test_a_stretch_that_something_slows_does_not_move_it(slowed_steps: int) -> None:
    steps = 1 + 0.05 * np.random.default_rng(slowed_steps).standard_normal(200)
    slowed = steps.copy()
    slowed[40 : 40 + slowed_steps] += 0.4
    assert undisturbed_mean(slowed) == pytest.approx(undisturbed_mean(steps), rel=0.015)
    assert slowed.mean() > 1.03 * steps.mean()


@pytest.mark.parametrize("apart", [5, 12, 60])
def test_regular_slow_steps_do_not_move_it(apart: int) -> None:
    steps = 1 + 0.05 * np.random.default_rng(apart).standard_normal(200)
    slowed = steps.copy()
    slowed[::apart] += 2
    assert undisturbed_mean(slowed) == pytest.approx(undisturbed_mean(steps), rel=0.01)


def test_what_all_steps_take_longer_it_takes_longer() -> None:
    steps = step_series("slowed", 200, np.random.default_rng(1))
    assert undisturbed_mean(1.03 * steps) == pytest.approx(1.03 * undisturbed_mean(steps))


def test_three_percent_are_found_where_something_slows_the_machine_for_a_while() -> None:
    rng = np.random.default_rng(33)
    # By the lower quartile alone 15.
    assert sum(groups_differ("slowed", 1.03, rng) for _ in range(24)) >= 19


def _power_values(folder: Path, kind: str, seed: int) -> Values:
    rng = np.random.default_rng(seed)
    steps = 0.1 * step_series("white", 120, rng)
    write_run(folder, steps, {"aten::mm": 0.9})
    write_power_log(folder, kind, steps, SENSOR, 1.0, rng)
    trainings = Trainings(logdir.scan(str(folder)))
    opened = trainings.opened(trainings.found.runs[0])
    part = ComparedPart("run", opened, tuple(map(HostWindow, opened.profiles)))
    return power_figures.power_values(part).values


def test_another_program_that_draws_power_meanwhile_does_not_move_the_undisturbed_power(
    tmp_path: Path,
) -> None:
    alone = _power_values(tmp_path / "alone", "steady", 0)
    beside = [_power_values(tmp_path / f"run{seed}", "neighbor", seed) for seed in range(2, 7)]
    mean_w = [values[power_figures.WATTS].value for values in beside]
    undisturbed_w = [values[power_figures.UNDISTURBED_WATTS].value for values in beside]
    assert undisturbed_w == pytest.approx(
        [alone[power_figures.UNDISTURBED_WATTS].value] * 5, rel=0.02
    )
    assert max(mean_w) > 1.05 * alone[power_figures.WATTS].value
    joules = beside[0][power_figures.UNDISTURBED_JOULES].value
    assert joules == pytest.approx(0.1 * undisturbed_w[0], rel=0.03)


def test_steps_with_pauses_all_around_have_no_undisturbed_power(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    steps = np.full(20, 0.1)  # two readings, both of which hold idle time
    write_run(tmp_path / "run", steps, {"aten::mm": 0.9})
    write_power_log(tmp_path / "run", "steady", steps, SENSOR, 1.0, rng)
    trainings = Trainings(logdir.scan(str(tmp_path)))
    opened = trainings.opened(trainings.found.runs[0])
    part = ComparedPart("run", opened, tuple(map(HostWindow, opened.profiles)))
    assert power_figures.UNDISTURBED_WATTS not in power_figures.power_values(part).values
