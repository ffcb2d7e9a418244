"""Where a log may lie when only its power tells: what is sure is right, and what is not sure holds
the truth.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import powertui
from benchmarks.power_world import SENSORS, Fault, make, plan, record, write, write_log
from powertui.data.asked import Aligning
from powertui.data.energy import account, integrate, reading_noise, samples, sensor
from powertui.data.model import NS_PER_S, Badge, Figure, PowerSeries, Sensor

SAMPLED = Sensor("bench", "watts")


def laid(seed: int, name: str, folder: Path):
    """The alignment of a relative log of a simulated training, and where it truly lies (lowest,
    highest).
    """
    slow = "PDU" in name
    world = make(plan(seed, long=slow))
    logs = write(world, folder)
    taken = record(world, SENSORS[name], seed)
    view = powertui.open(logs, power=write_log(taken, folder / "relative.csv", "relative"))[0]
    placed = account.energy_account(view.opened.profiles[0], Aligning()).placed
    return placed[0].alignment, taken.offset_s - taken.delay_s, taken.offset_s


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        (31, "25 ms of 0.1 s"),  # training went on unprofiled, with a burst in it
        (52, "25 ms of 0.1 s"),  # it did so after the end that its scalars tell
        (32, "moment 0.04 s"),
        (4, "mean 0.5 s, 1 W"),
    ],
)
def test_training_that_goes_on_beside_the_profile_moves_no_log_away(
    seed: int, name: str, tmp_path: Path
) -> None:
    found, low, high = laid(seed, name, tmp_path)
    assert found.status == "ambiguous" or low - 0.3 <= found.offset_s <= high + 0.3


@pytest.mark.parametrize("seed", [4, 128, 145])
def test_training_may_go_on_for_long_where_nobody_profiled_it(seed: int, tmp_path: Path) -> None:
    """Each second of it cost as much as the one before, so that the end of the log's work had to be
    the end of the profile.
    """
    found, low, high = laid(seed, "25 ms of 0.1 s", tmp_path)
    assert found.status == "ambiguous"
    assert found.lo_s <= high
    assert found.hi_s >= low


@pytest.mark.parametrize("seed", [44, 155])
def test_ways_of_averaging_are_compared_each_at_its_own_best_place(
    seed: int, tmp_path: Path
) -> None:
    """A quarter of a second beside its place, a mean that forgets slowly explained more than the
    true window: sure, 0.4 s off.
    """
    found, low, high = laid(seed, "mean 0.5 s, 1 W", tmp_path)
    assert found.status == "aligned"
    assert low - 0.2 <= found.offset_s <= high + 0.2
    assert found.fit.window_s == pytest.approx(0.5, abs=0.02)


def test_a_place_at_which_the_power_hardly_changes_is_none(tmp_path: Path) -> None:
    """Readings of 7 W every 3 s that are all equal where the log fits best: it was laid 10 s away,
    with an interval that missed. The log ends before a reading of 7 W less.
    """
    world = make(plan(205))
    logs = write(world, tmp_path)
    taken = record(world, SENSORS["mean 3 s, 7 W"], 205, Fault(cut=world.end - 4.5))
    view = powertui.open(logs, power=write_log(taken, tmp_path / "relative.csv", "relative"))[0]
    found = account.energy_account(view.opened.profiles[0], Aligning())
    assert found.alignment.status == "none"
    assert "its power hardly changes" in " ".join(found.alignment.evidence)


def test_where_nothing_stands_out_all_places_are_in_question(tmp_path: Path) -> None:
    """A meter of moments that beats with the steps: hardly any offset is worse than another."""
    found, low, high = laid(2, "moment 0.04 s", tmp_path)
    assert found.status == "ambiguous"
    assert found.lo_s <= high
    assert found.hi_s >= low


def test_an_idle_machine_that_was_never_seen_may_draw_less_than_any_reading(tmp_path: Path) -> None:
    """Its log begins in the training and ends with a reading that is half idle."""
    found, low, high = laid(38, "mean 10 s (PDU)", tmp_path)
    assert found.lo_s <= high
    assert found.hi_s >= low


@pytest.mark.parametrize("seed", [62, 131])
def test_few_readings_leave_more_places_open(seed: int, tmp_path: Path) -> None:
    """Seven independent readings and four watts fitted to them: what is left over comes out small
    wherever the log is laid.
    """
    found, low, high = laid(seed, "mean 10 s (PDU)", tmp_path)
    assert found.status == "ambiguous"
    assert found.lo_s <= high
    assert found.hi_s >= low


def series(at_s, watts) -> PowerSeries:
    return sensor.describe(
        PowerSeries(
            SAMPLED,
            np.round(np.asarray(at_s) * NS_PER_S).astype(np.int64),
            np.asarray(watts, float),
        )
    )


def test_of_a_slow_meter_nobody_knows_when_its_first_reading_was_published() -> None:
    watts = np.repeat([200.0, 210.0, 230.0, 220.0, 240.0, 215.0, 205.0, 260.0], 10)[7:]
    data = samples.power_samples(series(np.arange(len(watts)), watts))
    assert data.watts.tolist() == [210.0, 230.0, 220.0, 240.0, 215.0, 205.0, 260.0]


def test_a_held_meter_whose_window_seems_shorter_by_chance_tells_of_a_refresh() -> None:
    """Steps that fall between two publications say little when they are few."""
    rng = np.random.default_rng(0)
    for lucky in range(4):
        level = np.repeat(np.tile([150.0, 210.0], 6), 6) + np.arange(72) % 3
        edges = np.flatnonzero(np.diff(level)) + 1
        between = np.ones(len(edges), bool)
        between[rng.permutation(len(edges))[:lucky]] = False
        level[edges[between]] = 150 + 60 * rng.uniform(0.25, 0.75, int(between.sum()))
        found = series(np.arange(2 * len(level)) * 0.25, np.round(np.repeat(level, 2))).sensor
        assert found.refresh_s.value == pytest.approx(0.5)
        assert found.window_s.value == pytest.approx(0.5, abs=0.05)
        assert found.window_err_s < 0.2


def test_rounding_is_no_noise_and_neither_is_power_that_never_rests() -> None:
    rng = np.random.default_rng(4)
    quiet = np.round(200 + 0.02 * np.arange(600) + rng.normal(0, 0.02, 600))
    assert reading_noise.sensor_noise_w(np.diff(quiet), 1.0) < 0.2
    restless = np.cumsum(
        np.where(np.arange(300) % 4 == 0, rng.normal(0, 40, 300), rng.normal(0, 0.5, 300))
    )
    assert reading_noise.sensor_noise_w(np.diff(restless), 0.0) < 5
    noisy = 200 + rng.normal(0, 3.0, 3000)
    assert reading_noise.sensor_noise_w(np.diff(noisy), 0.0) == pytest.approx(3.0, rel=0.2)


def test_means_are_charged_for_what_they_have_not_seen_only() -> None:
    """A mean over all of the time between two readings leaves less open than a look now and
    then.
    """
    rng = np.random.default_rng(1)
    at = np.arange(0, 120, 0.5)
    watts = np.repeat(rng.uniform(150, 300, 60), 4)
    log = series(at, np.round(watts + rng.normal(0, 1, len(at))))
    look, mean = (integrate.own_clock(replaced) for replaced in (log, with_window(log, 0.5)))
    lo, hi = round(10.2e12), round(61.3e12)
    assert integrate.energy(mean, lo, hi).sigma < 0.4 * integrate.energy(look, lo, hi).sigma


def with_window(log: PowerSeries, seconds: float) -> PowerSeries:
    return replace(
        log, sensor=replace(log.sensor, window_s=Figure(seconds, Badge.MEASURED), window_err_s=None)
    )


@pytest.mark.parametrize("step", [0.4, -0.4])
@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_log_whose_clock_was_set_lies_by_one_clock_or_the_other(
    step: float, share: float, tmp_path: Path
) -> None:
    """It was laid between them, where no clock ever put it."""
    world = make(plan(28, quiet=True))
    at = share * world.span[1]
    fault = Fault(missed=0.0, clock_step=(at, step))
    taken = record(world, SENSORS["counter 0.1 s"], 28, fault)
    view = powertui.open(
        write(world, tmp_path), power=write_log(taken, tmp_path / "power.csv", "wall")
    )[0]
    found = account.energy_account(view.opened.profiles[0], Aligning()).placed[0]
    right = taken.unix[0] - world.plan.unix_s  # by the clock before it was set
    first = found.power.series.times[0] / NS_PER_S
    begins = [place.offset_ps / 1e12 + first for place in found.power.places]
    assert sorted(begins) == pytest.approx(sorted([right, right + step]), abs=0.03)
    assert [place.weight for place in found.power.places] == [0.5, 0.5]
    most = (
        right + step if np.mean(taken.unix - world.plan.unix_s >= at) > 0.5 else right
    )  # the clock of most rows
    assert begins[0] == pytest.approx(most, abs=0.03)
    assert found.alignment.offset_s == pytest.approx(begins[0] - first)
    assert found.alignment.lo_s < min(begins) - first < max(begins) - first < found.alignment.hi_s
    part = view.energy(start=at / 2, end=at / 2 + 1.5).iloc[0]
    assert part["lo"] <= taken.gain * float(world.joules(at / 2, at / 2 + 1.5)) <= part["hi"]


@pytest.mark.parametrize("seed", [4, 32, 89])
def test_joules_hold_where_something_like_training_may_have_followed_its_told_end(
    seed: int, tmp_path: Path
) -> None:
    """That weighed next to nothing, so that the right place, at which the compiling lies in the
    first epoch, did not count.
    """
    world = make(plan(seed))
    taken = record(world, SENSORS["25 ms of 0.1 s"], seed)
    view = powertui.open(
        write(world, tmp_path), power=write_log(taken, tmp_path / "relative.csv", "relative")
    )[0]
    table = view.energy()
    first = table[table["window"] == "epoch 0"].iloc[0]
    assert first["lo"] <= taken.gain * float(world.joules(*world.epochs[0])) <= first["hi"]
