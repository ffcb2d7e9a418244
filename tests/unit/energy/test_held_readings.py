"""Means that are held while their readings differ by noise: found, and no clock is corrected by
their age.
"""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import sensor, settings
from powertui.data.energy.held_readings import held_readings
from powertui.data.energy.reading_stretch import liveliest
from powertui.data.energy.samples import power_samples
from powertui.data.model import NS_PER_S, Clock, Floats, PowerKind, PowerSeries, Sensor
from powertui.data.power import times

TICK_S = 0.01
LEVELS_W = (120.0, 400.0, 260.0)


def blocks_of_work(seed: int, length_s: float = 600.0) -> Floats:
    """Work, less work and pauses of 10 to 60 s."""
    rng = np.random.default_rng(seed)
    watts: list[Floats] = []
    total_s = 0.0
    while total_s < length_s:
        block_s = float(rng.uniform(10, 60))
        watts.append(np.full(int(block_s / TICK_S), LEVELS_W[len(watts) % len(LEVELS_W)]))
        total_s += block_s
    joined = np.concatenate(watts)
    return joined + np.repeat(rng.normal(0, 3.0, len(joined) // 10 + 1), 10)[: len(joined)]


def held_under_noise(watts: Floats, window_s: float, poll_s: float, seed: int) -> Floats:
    """Means over a time for which each is held, asked more often, each time with some noise."""
    rng = np.random.default_rng([seed, 8])
    rows = int(window_s / TICK_S)
    published = watts[: len(watts) // rows * rows].reshape(-1, rows).mean(axis=1).round()
    at = np.arange(window_s + rng.uniform(0, poll_s), window_s * len(published), poll_s)
    held = published[(at / window_s).astype(np.int64) - 1]
    return np.asarray(held + rng.normal(0, 0.5, len(at)))


def moments(watts: Floats, poll_s: float) -> Floats:
    return np.asarray(watts[:: int(poll_s / TICK_S)].round(1))


def series_of(readings: Floats, poll_s: float) -> PowerSeries:
    at = (np.arange(len(readings)) * poll_s * NS_PER_S).astype(np.int64)
    clock = Clock(0, 0, times.ABSOLUTE)
    return sensor.described(
        PowerSeries(Sensor("power", "csv"), at, readings, PowerKind.SAMPLED, clock)
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("window_s", "poll_s"), [(2.0, 0.5), (3.0, 0.5), (5.0, 0.5), (10.0, 1.0)])
def test_readings_of_a_held_mean_may_be_as_old_as_it_is(
    window_s: float, poll_s: float, seed: int
) -> None:
    readings = held_under_noise(blocks_of_work(seed), window_s, poll_s, seed)

    samples = power_samples(series_of(readings, poll_s))

    assert samples.older_s == pytest.approx(1.5 * window_s, rel=0.1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("poll_s", [0.5, 1.0])
def test_readings_of_moments_are_no_older_than_before(poll_s: float, seed: int) -> None:
    samples = power_samples(series_of(moments(blocks_of_work(seed), poll_s), poll_s))

    assert samples.older_s <= settings.REPEATING_POLLS * poll_s


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("up", "down"), [(3, 6), (4, 4), (5, 10), (2, 6)])
def test_work_that_repeats_regularly_is_not_held(up: int, down: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn = np.concatenate([np.full(up, 300.0), np.full(down, 120.0)])
    readings = np.tile(turn, 60) + rng.normal(0, 0.5, 60 * len(turn))

    assert held_readings(liveliest(readings)) is None
