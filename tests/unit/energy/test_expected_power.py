"""What a trace and a run's scalars let one expect of readings."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.power_world import SENSORS, Fault, make, plan, record, write, write_log
from powertui.data import logdir
from powertui.data.asked import ReadOptions
from powertui.data.energy import account
from powertui.data.energy.findings import expected_power
from powertui.data.model import Clock, ScalarSeries
from powertui.data.opened import Opened
from tests.synthetic.long_training import long_training


def scalars(wall_s: list[float], steps: list[int], group: str = "train") -> ScalarSeries:
    wall = np.array([round(1e9 * (1000 + t)) for t in wall_s], np.int64)
    return ScalarSeries(
        "x", group, "batch_loss", np.array(steps, np.int64), wall, np.zeros(len(steps))
    )


def test_training_goes_on_where_its_scalars_come_at_their_usual_pace() -> None:
    at = [float(t) for t in range(10)] + [
        float(t) for t in range(25, 35)
    ]  # nothing for sixteen seconds in the middle
    found = expected_power.training_pace(
        (scalars(at, list(range(0, 200, 10))),),
        Clock(lo_ns=1_000_000_000_000, hi_ns=1_000_000_000_000, source="test"),
    )
    lo = np.array([2.0, 8.5, 12.0, 24.5, 27.0])
    assert found.holds(lo, lo + 1).tolist() == [True, False, False, False, True]


def test_validation_and_an_unknown_clock_tell_no_pace() -> None:
    at, steps = [float(t) for t in range(20)], list(range(20))
    known = Clock(lo_ns=1_000_000_000_000, hi_ns=1_000_000_000_000, source="test")
    assert not len(expected_power.training_pace((scalars(at, steps, "validation"),), known).start)
    assert not len(expected_power.training_pace((scalars(at, steps),), Clock()).start)


def test_what_a_step_draws_in_its_course_is_learnt_from_where_readings_lie_in_it() -> None:
    start = np.arange(0, 60, 0.4)
    lo = np.arange(0, 59.9, 0.1)
    phase = ((lo + 0.005) % 0.4) / 0.4
    residual = np.where(phase < 0.5, 20.0, -20.0)
    told = expected_power.course_of_steps(residual, lo, lo + 0.01, start, start + 0.4)
    assert np.abs(residual - told).mean() < 2
    assert not expected_power.course_of_steps(
        residual, lo, lo + 1.0, start, start + 0.4
    ).any()  # a window longer than a step sees all of it


@pytest.mark.parametrize(
    ("seed", "sensor"), [(0, "mean 0.5 s, 1 W"), (5, "counter 0.1 s"), (2, "mean 1 s every 0.1 s")]
)
def test_checkpoints_and_compiling_are_no_foreign_load_and_no_throttling(
    tmp_path, seed: int, sensor: str
) -> None:
    world = make(plan(seed, quiet=True))
    logs = write(world, tmp_path / "logs")
    log = write_log(record(world, SENSORS[sensor], seed), tmp_path / "power.csv", "wall")
    (entry, *_) = logdir.scan(str(logs)).chosen(None)
    opened = Opened(entry, ReadOptions(power=(str(log),), find_power=False, tz="UTC"))
    found = account.findings(opened.profiles[0])
    assert [one.text for one in found.findings if one.kind == "power"] == []
    assert found.limits


@pytest.mark.parametrize("seed", [72, 160, 172])
def test_answers_that_are_told_twice_are_no_lower_power(tmp_path, seed: int) -> None:
    """What a sensor published before an epoch's end may be seen a row after it."""
    world = make(plan(seed, quiet=True))
    logs = write(world, tmp_path / "logs")
    taken = record(world, SENSORS["mean 0.5 s, 1 W"], seed, Fault(repeated=0.1, missed=0.05))
    (entry, *_) = logdir.scan(str(logs)).chosen(None)
    log = write_log(taken, tmp_path / "power.csv", "wall")
    opened = Opened(entry, ReadOptions(power=(str(log),), find_power=False, tz="UTC"))
    assert [
        one.text for one in account.findings(opened.profiles[0]).findings if one.kind == "power"
    ] == []


@pytest.mark.filterwarnings("error")
def test_a_session_of_two_seconds_beside_a_slow_sensor_is_not_judged(tmp_path) -> None:
    """Its few readings tell nothing; those of the training around it do."""
    long_training(tmp_path)
    for entry in logdir.scan(str(tmp_path)).chosen(None):
        opened = Opened(entry, ReadOptions(power=(str(tmp_path / "power.csv"),), find_power=False))
        assert [
            one
            for one in account.findings(opened.profiles[0]).findings
            if one.kind == "power" and one.step_lo is not None
        ] == []


def test_a_load_in_a_third_of_a_run_is_held_against_what_the_rest_reads(tmp_path) -> None:
    """The level was lowered by the height of the step between both, which the fit lay in the middle
    of: 59 W, and loads where none was.
    """
    world = make(plan(139))
    logs = write(world, tmp_path / "logs")
    log = write_log(record(world, SENSORS["moment 0.04 s"], 139), tmp_path / "power.csv", "wall")
    (entry, *_) = logdir.scan(str(logs)).chosen(None)
    opened = Opened(entry, ReadOptions(power=(str(log),), find_power=False, tz="UTC"))
    found = account.findings(opened.profiles[0])
    every = [one for one in (*found.findings, *found.smaller) if one.kind == "power"]
    # The pause to save draws less: the trace says so, and it is no load.
    (one,) = (one for one in every if (one.delta_watts or 0.0) > 0)
    assert one.lo_watts < 49.4 < one.hi_watts
    assert one.delta_watts == pytest.approx(49.4, abs=3)
