"""Moments at which power jumps, in the readings of a meter that is asked more often than it
publishes.
"""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import averaging_window, power_jumps, samples, sensor
from powertui.data.model import NS_PER_S, PowerKind, PowerSeries, Scope, Sensor

TICK_S = 0.01
TURN_S = 15.7  # of one epoch: steps, validation, pause
VALIDATION_S, PAUSE_S = 2.6, 4.0
LEVELS_W = (590.0, 495.0, 380.0)
LEAD_S, EPOCHS = 20.0, 9


def power() -> np.ndarray:
    """Watts every 10 ms: before, and epochs with a fall to validation and one to a pause."""
    at = np.arange(0, LEAD_S + EPOCHS * TURN_S + LEAD_S, TICK_S)
    into = (at - LEAD_S) % TURN_S
    steps_s = TURN_S - VALIDATION_S - PAUSE_S
    choices = [into < steps_s, into < steps_s + VALIDATION_S]
    watts = np.select(choices, LEVELS_W[:2], LEVELS_W[2])
    watts[(at < LEAD_S) | (at >= LEAD_S + EPOCHS * TURN_S)] = LEVELS_W[2]
    return np.asarray(watts)


def log(refresh_s: float, poll_s: float, seed: int) -> PowerSeries:
    """Means over a refresh, in whole watts, held until the next one."""
    rng = np.random.default_rng(seed)
    total = np.concatenate([[0.0], np.cumsum(power())]) * TICK_S
    grid = np.arange(len(total)) * TICK_S
    done = np.arange(refresh_s * 1.3, grid[-1], refresh_s)
    means = (np.interp(done, grid, total) - np.interp(done - refresh_s, grid, total)) / refresh_s
    means = np.round(means + rng.normal(0, 1.5, len(means)))
    polls = np.arange(done[0] + 0.1, grid[-1], poll_s) + rng.exponential(0.005, 1)
    watts = means[done.searchsorted(polls, side="right") - 1]
    channel = PowerSeries(
        sensor=Sensor("node", "csv", Scope.NODE),
        times=(polls * NS_PER_S).astype(np.int64),
        watts=watts,
        kind=PowerKind.SAMPLED,
    )
    return sensor.describe(channel)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("refresh_s", "poll_s"), [(0.996, 0.2987), (1.0, 0.25)])
def test_two_falls_in_a_row_are_two_jumps(refresh_s: float, poll_s: float, seed: int) -> None:
    """Polls of a held value are nearer to one another than its publications now and then, which
    made windows look longer than their distance. Each pair was one jump, a second before a record.
    """
    jumps = power_jumps.find_jumps(samples.power_samples(log(refresh_s, poll_s, seed)), 4.0)
    ends = LEAD_S + np.arange(1, EPOCHS) * TURN_S - PAUSE_S
    falls = np.concatenate([ends, ends - VALIDATION_S])
    late_s = np.abs(jumps.at[:, None] - falls).min(axis=0)
    assert late_s.max() < 0.45


def steps_of_a_fast_meter() -> np.ndarray:
    """Pauses and a load of ten readings each, and a program that begins within two readings."""
    rng = np.random.default_rng(3)
    watts = np.concatenate([np.full(23, 190.0), np.full(460, 680.0)])
    watts[14:23] = 385.0
    watts[23] = 490.0
    for begin in (135, 250, 400):
        watts[begin : begin + 11] = 580.0
    watts[320:330] = 1035.0
    return np.asarray(watts + rng.normal(0, 4, len(watts)))


def test_loads_of_one_length_are_no_window_where_a_program_begins_within_two_readings() -> None:
    smear = averaging_window.look(steps_of_a_fast_meter(), 0.5, held=True)
    assert smear is not None
    assert smear.window_s < 1.0
