"""Rows of joules add up, level by level; a loop without epochs has its joules a step; a training
holds its first epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui.data import logdir
from powertui.data.asked import Aligning, ReadOptions
from powertui.data.energy import account, energy_rows
from powertui.data.energy.energy_rows import EnergyRow
from powertui.data.training.training import Trainings
from powertui.data.training.training_energy import training_energy
from tests.synthetic import Plan, build, xplane
from tests.synthetic.tfevents import write_scalars

BEGIN = 1_700_000_000.0
OWN = ("two_epochs_with_burst", "long_training", "bursts/keras_1ep", "bursts/jax_no_epochs_100ms")


def _adds_up(rows: Sequence[EnergyRow]) -> None:
    """Every level of rows against the row that it is part of."""
    *parts, whole = rows
    _equal(whole, [row for row in parts if row.level == 0])
    for level in (1, 2):
        for at, row in enumerate(parts):
            if row.level != level - 1:
                continue
            inner = []
            for below in parts[at + 1 :]:
                if below.level < level:
                    break
                if below.level == level:
                    inner.append(below)
            _equal(row, inner)


def _equal(whole: EnergyRow, parts: Sequence[EnergyRow]) -> None:
    if not parts or whole.energy is None or whole.energy.joules is None:
        return
    joules = [row.energy.joules for row in parts if row.energy is not None]
    if len(joules) < len(parts) or None in joules:
        return  # what the sensor does not resolve is said in its row
    assert sum(row.length for row in parts) == whole.length
    assert sum(joules) == pytest.approx(whole.energy.joules, rel=1e-3), whole.name


@pytest.mark.parametrize("name", OWN)
def test_rows_of_a_recording_add_up(shared_data: Path, name: str) -> None:
    folder = shared_data / "own" / name
    for run in powertui.open(folder):
        for profile in run.opened.profiles:
            rows = energy_rows.profile_rows(account.energy_account(profile))
            assert len(rows) >= 1
            _adds_up(rows)
    trainings = Trainings(logdir.scan(str(folder)), ReadOptions(), Aligning())
    for training in trainings.chosen(trainings.found.chosen(None), True):
        rows = training_energy(training.seen_from()).parts()
        assert rows[-1].kind == "whole"
        _adds_up(rows)


def test_a_loop_without_epochs_has_joules_a_step(tmp_path: Path) -> None:
    """Steps of 46 ms beside a BMC of 1 s: no step is resolved, their mean is."""
    work = build(5, Plan(seconds=12, step_s=0.046, epochs=1))
    profile = tmp_path / "plugins" / "profile" / "2024_01_01_00_00_00" / "host.xplane.pb"
    profile.parent.mkdir(parents=True)
    profile.write_bytes(work.xplane())
    at = np.arange(-7.0, work.edges[-1] + 4, 1.0)
    watts = [float(work.energy(moment - 1.0, moment)) for moment in at]
    lines = [f"{BEGIN + t:.3f},{w:.0f}\n" for t, w in zip(at, watts, strict=True)]
    (tmp_path / "power.csv").write_text("time_unix_s,watts\n" + "".join(lines))
    (run,) = powertui.open(tmp_path, power=tmp_path / "power.csv")
    seen = account.energy_account(run.opened.profiles[0])
    assert not any(step.resolved for step in seen.step_energies)
    mean = seen.per_step(None)
    assert mean is not None
    assert mean.joules is not None
    starts, ends = seen.steps.start / 1e12, seen.steps.ends() / 1e12
    usual = (ends - starts) <= 2.5 * np.median(ends - starts)
    truth = np.mean(
        [float(work.energy(a, b)) for a, b in zip(starts[usual], ends[usual], strict=True)]
    )
    assert mean.lo <= truth <= mean.hi
    assert mean.half < 0.1 * truth


def test_one_step_beside_a_start_up_is_a_row_of_its_own(tmp_path: Path) -> None:
    second = 10**12
    moments = {"profile_start_time": int(BEGIN * 1e9), "profile_stop_time": int(BEGIN + 30) * 10**9}
    events = [
        xplane.Event("load", 0, 12 * second),
        xplane.Event("train", 12 * second, 18 * second, {"step_num": 0}),
    ]
    planes = [
        xplane.Plane("/host:CPU", [xplane.Line("python", events, 1)]),
        xplane.Plane("Task Environment", stats=moments),
    ]
    (tmp_path / "host.xplane.pb").write_bytes(xplane.encode(planes, hosts=["host"]))
    lines = [f"{BEGIN + half / 2:.1f},{200 + half % 2}\n" for half in range(-20, 80)]
    (tmp_path / "power.csv").write_text("time_unix_s,watts\n" + "".join(lines))
    (run,) = powertui.open(tmp_path / "host.xplane.pb", power=tmp_path / "power.csv")
    rows = energy_rows.profile_rows(account.energy_account(run.opened.profiles[0]))
    assert [row.name for row in rows][:2] == ["start-up", "the rest, 1 step"]
    _adds_up(rows)


@pytest.mark.parametrize("tag", ["epoch_loss", "loss"])
@pytest.mark.parametrize("opened_s", [0.0, -300.0], ids=["opened at once", "opened long before"])
def test_a_training_holds_its_first_epoch(tmp_path: Path, opened_s: float, tag: str) -> None:
    """A loop that logs one scalar at the end of each of four epochs of 10 s."""
    ends = [10.0, 20.0, 30.0, 40.0]
    rows = [(BEGIN + end, number, tag, 1.0) for number, end in enumerate(ends)]
    write_scalars(
        tmp_path / "train" / "events.out.tfevents.1700000000.vm.77.0.v2", rows, BEGIN + opened_s
    )
    at = np.arange(-20.0, 60.0, 0.5)
    watts = np.where((at > 0) & (at <= 40), 200, 100)
    lines = [f"{BEGIN + t:.2f},{w}\n" for t, w in zip(at.tolist(), watts.tolist(), strict=True)]
    (tmp_path / "power.csv").write_text("time_unix_s,watts\n" + "".join(lines))
    trainings = Trainings(
        logdir.scan(str(tmp_path)), ReadOptions(power=(str(tmp_path / "power.csv"),)), Aligning()
    )
    (training,) = trainings.chosen(trainings.found.chosen(None), True)
    energy = training_energy(training.seen_from())
    whole = energy.training()
    assert whole is not None
    assert whole.energy is not None
    assert whole.energy.joules == pytest.approx(8000, rel=0.03)
    if tag == "epoch_loss":
        assert [epoch.epoch for epoch in energy.epochs()] == [0, 1, 2, 3]
    _adds_up(energy.parts())
