"""The simulator that energy is judged by: its sensors say what their descriptions say, and its
files are read as what they are.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import benchmarks.power_world
import powertui
from benchmarks.power_world import (
    SENSORS,
    Burst,
    Fault,
    Model,
    make,
    plan,
    record,
    write,
    write_log,
)
from benchmarks.power_world.training import TICK


@pytest.fixture(scope="module")
def world():
    return make(plan(3))


def test_it_shares_no_code_with_what_it_judges() -> None:
    for path in Path(benchmarks.power_world.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else [a.name for a in getattr(node, "names", ())]
            )
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert not [name for name in names if name.split(".")[0] == "powertui"], path


def test_the_watts_are_those_of_what_ran(world) -> None:
    idle = world.power(np.arange(world.begin, -world.plan.startup_s - 0.1, TICK))
    assert idle.mean() == pytest.approx(world.plan.base_w, rel=0.02)
    steps = [
        s for s in world.steps if not any(s[2] < b.end and s[3] > b.start for b in world.bursts)
    ][10:60]
    each = [float(world.joules(lo, hi)) / (hi - lo) for _, _, lo, hi in steps]
    assert np.mean(each) > world.plan.base_w + 0.6 * world.plan.core_w
    assert float(world.joules(world.begin, world.end)) == pytest.approx(world.watts.sum() * TICK)


def test_a_quiet_world_is_the_same_world_without_its_bursts(world) -> None:
    quiet = make(plan(3, quiet=True))
    assert not quiet.bursts
    assert not quiet.foreign.any()
    np.testing.assert_allclose(quiet.watts, world.watts - world.foreign)
    burst = world.bursts[0]
    assert float(world.joules(burst.start, burst.end, foreign=True)) == pytest.approx(
        burst.watts * burst.seconds, rel=0.05
    )


@pytest.mark.parametrize("model", [m for m in SENSORS.values() if m.window_s], ids=lambda m: m.name)
def test_an_averaging_sensor_says_the_mean_of_its_window(world, model: Model) -> None:
    taken = record(world, model, 5)
    at = taken.unix - world.plan.unix_s
    off = []
    for t, value in list(zip(at, taken.values, strict=True))[::7]:
        ends = np.linspace(
            t - taken.delay_s - 1.02 * model.refresh_s, t - taken.delay_s, 200
        )  # it published at one of these
        means = taken.gain * world.joules(ends - model.window_s, ends) / model.window_s
        off.append(max(float(means.min()) - value, value - float(means.max()), 0.0))
    assert np.max(off) <= model.quantum / 2 + 5 * model.noise_w


def test_a_counter_counts_every_joule_and_wraps(world) -> None:
    model = Model("counter", 0.001, 0.0, 0.1, quantum=61e-6, counter=True, wrap_j=1000.0)
    taken = record(world, model, 1)
    told = np.diff(taken.values) % 1000.0
    at = taken.unix - world.plan.unix_s
    assert (np.diff(taken.values) < 0).any()
    assert told.sum() == pytest.approx(taken.gain * float(world.joules(at[0], at[-1])), rel=1e-3)


def test_faults_are_in_the_log_and_nowhere_else(world) -> None:
    model = SENSORS["mean 0.5 s, 1 W"]
    clean = record(world, model, 2, Fault(missed=0))
    zero = record(world, model, 2, Fault(missed=0, restart=(20.0, 2.0)))
    at = clean.unix - world.plan.unix_s
    assert (zero.values[(at >= 20) & (at < 22)] == 0).all()
    assert (zero.values[(at < 20) | (at >= 22)] == clean.values[(at < 20) | (at >= 22)]).all()
    stepped = record(world, model, 2, Fault(missed=0, clock_step=(20.0, 0.4)))
    np.testing.assert_allclose(stepped.unix - clean.unix, np.where(at >= 20, 0.4, 0.0), atol=1e-6)
    paused = record(world, model, 2, Fault(missed=0, pause=(11, 1.1)))
    assert (np.diff(paused.unix) > 1.1).sum() == pytest.approx(len(paused.unix) / 11, abs=2)
    assert record(world, model, 2, Fault(cut=30.0)).unix[-1] < world.plan.unix_s + 30


@pytest.mark.parametrize("seed", range(6))
def test_the_program_reads_a_world_as_what_it_is(seed: int, tmp_path: Path) -> None:
    made = make(plan(seed))
    logs = write(made, tmp_path)
    run = powertui.open(logs)[0]
    steps, epochs = run.steps, run.epochs
    assert len(steps) == len(made.steps)
    np.testing.assert_allclose(steps.start_s, [s[2] for s in made.steps], atol=1e-6)
    assert len(epochs) == len(made.epochs)
    for (_, row), (_, end) in zip(epochs.iterrows(), made.epochs, strict=True):
        assert row.end_s == pytest.approx(end, abs=0.05)


@pytest.mark.parametrize("form", ["wall", "relative", "labelled"])
@pytest.mark.parametrize("model", SENSORS.values(), ids=lambda m: m.name)
def test_every_log_is_read(world, model: Model, form, tmp_path: Path) -> None:
    taken = record(world, model, 0)
    path = write_log(taken, tmp_path / "power.csv", form)
    found = powertui.open(write(world, tmp_path), power=path, tz="UTC")[0].power
    rows = found.watts.notna().sum()
    assert rows >= len(taken.unix) - 1
    assert found.watts.mean() == pytest.approx(
        float(world.joules(world.begin, world.end)) / (world.end - world.begin), rel=0.05
    )


def test_a_burst_may_be_put_where_it_is_wanted() -> None:
    made = make(replace(plan(4), bursts=(Burst(5.0, 1.0, 30.0),)))
    assert float(made.joules(5.0, 6.0, foreign=True)) == pytest.approx(30.0, rel=0.1)
    assert float(made.joules(6.0, 9.0, foreign=True)) == pytest.approx(0.0, abs=0.1)
