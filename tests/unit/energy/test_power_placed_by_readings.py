"""Joules of a log whose readings show when its power was: only that sum of offset and age counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

import powertui
from benchmarks.power_world import SENSORS, Taken, World, make, plan, record, write, write_log
from powertui.data.asked import Aligning
from powertui.data.energy import account, integrate, log_alignment
from powertui.data.energy.log_alignment import Placed
from powertui.data.energy.trace_account import Account

SEED = 0


class Recorded(NamedTuple):
    """A training that is profiled as a whole, and what a sensor's log says of it."""

    world: World
    taken: Taken
    account: Account

    @property
    def channel(self) -> Placed:
        return self.account.placed[self.account.counted[0]]


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> tuple[World, Path]:
    world = make(plan(SEED))
    return world, write(world, tmp_path_factory.mktemp("training"))


@pytest.fixture(params=["counter 0.1 s", "mean 1 s every 0.1 s"])
def recorded(request, training: tuple[World, Path], tmp_path: Path) -> Recorded:
    world, logs = training
    taken = record(world, SENSORS[request.param], SEED)
    log = write_log(taken, tmp_path / "power.csv", "wall")
    view = powertui.open(logs, power=log, tz="UTC")[0]
    return Recorded(world, taken, account.energy_account(view.opened.profiles[0], Aligning()))


def test_epochs_are_as_sure_as_the_work_of_the_profile_places_them(recorded: Recorded) -> None:
    """By the records of the training they were open to 10 J of a counter, 85 J of the means."""
    starts = [0.0, *(end for _, end in recorded.world.epochs)]
    for epoch, start, end in zip(recorded.account.epoch_energies, starts, starts[1:], strict=False):
        joules, lo, hi = epoch.energy.joules, epoch.energy.lo, epoch.energy.hi
        truth = recorded.taken.gain * float(recorded.world.joules(start, end))
        assert lo <= truth <= hi
        assert hi - joules < (8.0 if recorded.taken.model.counter else 35.0)


def test_power_that_is_moved_by_hand_is_no_longer_placed_by_its_readings(
    recorded: Recorded,
) -> None:
    power = recorded.channel.power
    span = recorded.account.trace.span
    assert power.power_sigma_s is not None
    by_hand = log_alignment.moved(recorded.channel, 0.01).power
    as_far_as_known = replace(power, power_sigma_s=None)
    assert by_hand.power_sigma_s is None
    assert log_alignment.shifted(power, 10**10).power_sigma_s is None
    sigma_j = integrate.energy(power, *span).sigma_timing
    assert sigma_j < integrate.energy(as_far_as_known, *span).sigma_timing
