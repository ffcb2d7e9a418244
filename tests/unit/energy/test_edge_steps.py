"""Joules between two steps of power: what a mean says of both sides of a step is used."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import integrate, placing
from powertui.data.energy import sensor as sensors
from powertui.data.model import PS_PER_S, Badge, Figure, PowerKind, PowerSeries, Sensor

IDLE_W, WORK_W, BEGIN_S, END_S = 100.0, 300.0, 31.37, 94.71


def _joules(lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """The truth: idle, but for one stretch of work."""
    work = np.clip(np.minimum(hi, END_S) - np.maximum(lo, BEGIN_S), 0, None)
    return IDLE_W * (hi - lo) + (WORK_W - IDLE_W) * work


def _means(window_s: float, phase: float) -> PowerSeries:
    """A BMC that publishes the mean of the time since it last did, asked five times as often."""
    done = np.arange(window_s * (1 + phase), 130, window_s)
    published = np.round(_joules(done - window_s, done) / window_s)
    asked = np.arange(done[0] + window_s / 10, 128, window_s / 5)  # late by half a poll
    watts = published[np.searchsorted(done, asked, side="right") - 1]
    times = np.round(asked * 1e9).astype(np.int64)
    return sensors.describe(PowerSeries(Sensor("bmc", "csv"), times, watts, PowerKind.SAMPLED))


@pytest.mark.parametrize("window_s", [1.0, 3.0, 5.0])
def test_work_between_two_steps_has_its_joules(window_s: float) -> None:
    off = []
    for phase in np.linspace(0, 0.9, 10):
        power = placing.on_trace(_means(window_s, float(phase)), 0, 0, 0, "aligned", "here")
        lo, hi = round(BEGIN_S * PS_PER_S), round(END_S * PS_PER_S)
        found = integrate.energy(power, lo, hi)
        truth = float(_joules(np.array(BEGIN_S), np.array(END_S)))
        assert found.joules is not None
        assert found.lo is not None
        assert found.hi is not None
        assert found.lo <= truth <= found.hi
        off.append(found.joules - truth)
    # Straight lines lose two fifths of a window of the step, over both ends.
    assert abs(np.mean(off)) < (WORK_W - IDLE_W) * window_s / 8


def test_windows_still_add_up() -> None:
    power = placing.on_trace(_means(3.0, 0.4), 0, 0, 0, "aligned", "here")
    edges = np.round(np.linspace(12, 118, 14) * PS_PER_S).astype(np.int64)
    pieces = integrate.energies(power, edges[:-1], edges[1:])
    whole = integrate.energy(power, int(edges[0]), int(edges[-1]))
    assert pieces.joules.sum() == pytest.approx(whole.joules, rel=1e-12)


# ── readings of moments ──────────────────────────────────────────────────────────────────────────


def _moments(every_s: float, phase: float, swing_w: float = 0.0) -> PowerSeries:
    """What a server that asks so often sees of the power at each moment, in whole watts."""
    asked = np.arange(every_s * phase, 130, every_s)
    is_work = (asked >= BEGIN_S) & (asked < END_S)
    watts = np.where(is_work, WORK_W, IDLE_W) + swing_w * np.sin(asked * 1.9)
    times = np.round(asked * 1e9).astype(np.int64)
    sensor = Sensor("node", "prometheus")
    return sensors.describe(PowerSeries(sensor, times, np.round(watts), PowerKind.SAMPLED))


@pytest.mark.parametrize("every_s", [1.0, 3.0, 5.0])
@pytest.mark.parametrize("swing_w", [3.0, 6.0])
def test_work_between_two_readings_of_moments_has_its_joules(
    every_s: float, swing_w: float
) -> None:
    lo, hi = round(BEGIN_S * PS_PER_S), round(END_S * PS_PER_S)
    truth = float(_joules(np.array(BEGIN_S), np.array(END_S)))
    off = []
    for phase in np.linspace(0.05, 0.95, 10):
        series = _moments(every_s, float(phase), swing_w)
        found = integrate.energy(placing.on_trace(series, 0, 0, 0, "aligned", "here"), lo, hi)
        assert found.joules is not None
        assert found.lo is not None
        assert found.hi is not None
        assert found.lo <= truth <= found.hi
        off.append((found.joules - truth) / ((WORK_W - IDLE_W) * every_s))
    # In steps times the time between two readings: straight lines lose a third over both ends.
    assert abs(np.mean(off)) < 0.15
    assert np.abs(off).max() < 0.65


@pytest.mark.parametrize("every_s", [1.0, 3.0, 5.0])
def test_a_profile_that_begins_and_ends_with_the_work_has_all_of_its_joules(every_s: float) -> None:
    borders = round(BEGIN_S * PS_PER_S), round(END_S * PS_PER_S)
    truth = float(_joules(np.array(BEGIN_S), np.array(END_S)))
    off = []
    for phase in np.linspace(0.05, 0.95, 10):
        series = _moments(every_s, float(phase), 3.0)
        power = placing.on_trace(series, 0, 0, 0, "aligned", "here")
        found = integrate.energy(replace(power, borders=borders), *borders)
        assert found.joules is not None
        off.append((found.joules - truth) / ((WORK_W - IDLE_W) * every_s))
    # Also where a reading soon after an edge, taken for a mean, would lie before it.
    assert np.abs(off).max() < 0.1


@pytest.mark.parametrize("every_s", [1.0, 3.0, 5.0])
@pytest.mark.parametrize("early", [0.6, -0.6])
def test_a_step_with_a_reading_between_it_and_the_border_stays_where_readings_show_it(
    every_s: float, early: float
) -> None:
    """The profile begins earlier or later than the work, by more than readings leave open."""
    begin_s, end_s = BEGIN_S - early * every_s, 60.0
    lo, hi = round(begin_s * PS_PER_S), round(end_s * PS_PER_S)
    # A reading is half way between the border and the step.
    phase = (BEGIN_S / every_s - early / 2) % 1.0
    power = placing.on_trace(_moments(every_s, phase, 3.0), 0, 0, 0, "aligned", "here")
    at_border = integrate.energy(replace(power, borders=(lo, hi)), lo, hi)
    elsewhere = integrate.energy(power, lo, hi)
    truth = float(_joules(np.array(begin_s), np.array(end_s)))
    assert at_border.lo is not None
    assert at_border.hi is not None
    assert at_border.lo <= truth <= at_border.hi
    assert at_border.joules == pytest.approx(elsewhere.joules, rel=1e-9)


@pytest.mark.parametrize("phase", np.linspace(0.05, 0.95, 7).tolist())
def test_means_that_leave_time_between_them_have_all_joules_of_a_profile(phase: float) -> None:
    """Means over a second, asked for every other one: a step between two of them is in neither."""
    asked = np.arange(1.0 + 2 * phase, 130, 2.0)
    watts = np.round(_joules(asked - 1.0, asked) + 3.0 * np.sin(asked * 1.9))
    times = np.round(asked * 1e9).astype(np.int64)
    second = Figure(1.0, Badge.ASSUMED)
    sensor = Sensor("gpu", "prometheus", window_s=second)
    series = sensors.describe(PowerSeries(sensor, times, watts, PowerKind.SAMPLED))
    assert series.sensor.window_s == second
    borders = round(BEGIN_S * PS_PER_S), round(END_S * PS_PER_S)
    power = placing.on_trace(series, 0, 0, 0, "aligned", "here")
    found = integrate.energy(replace(power, borders=borders), *borders)
    truth = float(_joules(np.array(BEGIN_S), np.array(END_S)))
    assert found.joules is not None
    assert found.lo is not None
    assert found.hi is not None
    assert found.lo <= truth <= found.hi
    assert abs(found.joules - truth) < 0.1 * (WORK_W - IDLE_W)


def test_windows_of_moments_add_up_wherever_their_edges_are() -> None:
    power = placing.on_trace(_moments(3.0, 0.4, 6.0), 0, 0, 0, "aligned", "here")
    edges = np.round(np.r_[12.0, 20.0, BEGIN_S, 40.0, 60.0, END_S, 118.0] * PS_PER_S)
    pieces = integrate.energies(power, edges[:-1].astype(np.int64), edges[1:].astype(np.int64))
    whole = integrate.energy(power, int(edges[0]), int(edges[-1]))
    assert pieces.joules.sum() == pytest.approx(whole.joules, rel=1e-12)


def test_power_that_jumps_all_the_time_has_no_step_at_an_edge() -> None:
    """Up and down from reading to reading: nobody knows where between two of them."""
    asked = np.arange(0.0, 130.0, 2.0)
    watts = np.where(np.arange(len(asked)) % 2, WORK_W, IDLE_W)
    series = PowerSeries(
        Sensor("node", "prometheus"), np.round(asked * 1e9).astype(np.int64), watts
    )
    power = placing.on_trace(sensors.describe(series), 0, 0, 0, "aligned", "here")
    found = integrate.energy(power, round(21.0 * PS_PER_S), round(101.0 * PS_PER_S))
    assert found.joules == pytest.approx(80.0 * (WORK_W + IDLE_W) / 2, rel=1e-9)
