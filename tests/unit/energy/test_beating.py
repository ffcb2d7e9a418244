"""Steps that beat with a sensor of moments."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.energy import beating, integrate, placing, sensor
from powertui.data.model import NS_PER_S, PS_PER_S, Badge, Figure, PowerKind, PowerOnTrace, PowerSeries, Sensor, Steps


def _steps(length_s: float) -> Steps:
    """Twenty seconds of steps that take 10 % more or less."""
    each = length_s * np.exp(0.1 * np.random.default_rng(1).standard_normal(int(20 / length_s)))
    start = np.cumsum(each) - each
    ps = [np.round(values * PS_PER_S).astype(np.int64) for values in (start, each)]
    return Steps(np.arange(len(each)), ps[0], ps[1], np.full(len(each), -1, np.int32), ["train"] * len(each), "test")


def _read(steps: Steps, pace_s: float, kind: PowerKind = PowerKind.SAMPLED) -> PowerOnTrace:
    """Moments of a machine that draws 300 W for three fifths of each step, else 100 W."""
    at = np.arange(0.003, 19, pace_s)
    row = np.searchsorted(steps.start, at * PS_PER_S, side="right") - 1
    phase = (at * PS_PER_S - steps.start[row]) / steps.duration[row]
    watts = np.where(phase < 0.6, 300.0, 100.0) + np.random.default_rng(0).normal(0, 0.5, len(at))
    series = PowerSeries(
        Sensor("bench", "watts", window_s=Figure(0.0, Badge.ASSUMED)), np.round(at * NS_PER_S).astype(np.int64), watts, kind,
        joules=watts * pace_s if kind is PowerKind.INTERVAL else None,
    )  # fmt: skip
    return placing.on_trace(sensor.describe(series), 0, 0, 0, "aligned", "test")


def _sigmas(length_s: float, pace_s: float, kind: PowerKind = PowerKind.SAMPLED) -> tuple[float, float]:
    """One sigma of the sampling of ten seconds: as the readings tell it, and where the steps are known."""
    steps = _steps(length_s)
    power = _read(steps, pace_s, kind)
    found = integrate.energy(power, 5 * PS_PER_S, 15 * PS_PER_S)
    wider = beating.widened(found, power, steps)
    assert wider.joules == found.joules
    assert wider.hi - wider.lo >= found.hi - found.lo
    return found.sigma_sampling, wider.sigma_sampling


@pytest.mark.parametrize("length_s", [0.108, 0.117])
def test_readings_that_are_alike_because_steps_beat_with_them_tell_less(length_s: float) -> None:
    told, wider = _sigmas(length_s, 0.1)
    anywhere = 0.1 * 200 * (0.6 * 0.4 * 100) ** 0.5  # of a hundred readings, each anywhere in its step
    assert 0.6 * anywhere < wider < 1.2 * anywhere  # some of it a reading may be the mean of
    assert wider > 1.3 * told


def test_steps_that_are_seen_in_their_course_change_nothing() -> None:
    told, wider = _sigmas(1.03, 0.1)
    assert wider == told


def test_a_counter_sees_all_of_a_step() -> None:
    told, wider = _sigmas(0.12, 0.1, PowerKind.INTERVAL)
    assert wider == told


def test_without_steps_nothing_is_known_of_them() -> None:
    power = _read(_steps(0.12), 0.1)
    found = integrate.energy(power, 5 * PS_PER_S, 15 * PS_PER_S)
    assert beating.widened(found, power, _steps(30.0)) is found
