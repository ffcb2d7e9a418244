"""Logs whose logger paused: what their windows can bear is told, with an interval that holds; the
truth is known at 1 ms.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from powertui.data.energy import averaging_window, integrate, placing, sensor
from powertui.data.model import Badge, PowerKind, PowerOnTrace, PowerSeries, Scope, Sensor

TICK = 0.001
Pauses = Literal[
    "none",
    "1.1 s every 11 rows",
    "5 polls every 20 rows",
    "10 polls every 40 rows",
    "now and then",
    "one of 6 s",
]


def training(seed: int) -> np.ndarray:
    """Watts of every millisecond: idle, epochs of unlike steps with pauses between them, idle."""
    rng = np.random.default_rng([seed, 11])
    period, duty, high = rng.uniform(0.1, 0.8), rng.uniform(0.5, 0.95), rng.uniform(50, 250)
    parts = [np.full(int(rng.uniform(6, 12) / TICK), 130.0)]
    for _ in range(3):
        for _ in range(int(rng.uniform(8, 15) / period)):
            length = int(period * rng.normal(1, 0.05) / TICK)
            parts += [
                np.full(int(length * (1 - duty)), 160.0),
                np.full(int(length * duty), 130.0 + high),
            ]
        parts.append(np.full(int(rng.uniform(0.5, 3) / TICK), 145.0))
    parts.append(np.full(int(rng.uniform(6, 12) / TICK), 130.0))
    watts = np.concatenate(parts)
    return watts + np.repeat(rng.normal(0, 1, len(watts) // 50 + 1), 50)[: len(watts)]


def asked(seconds: float, poll: float, pauses: Pauses, rng: np.random.Generator) -> np.ndarray:
    """When the logger asked."""
    apart = np.full(int(seconds / poll) + 1, poll)
    rows = np.arange(len(apart))
    if pauses == "1.1 s every 11 rows":
        apart[rows % 11 == 10] += 1.1
    elif pauses == "5 polls every 20 rows":
        apart[rows % 20 == 7] += 4 * poll
    elif pauses == "10 polls every 40 rows":
        apart[rows % 40 == 17] += 9 * poll
    elif pauses == "now and then":
        apart += np.where(rng.random(len(apart)) < 0.03, rng.exponential(8 * poll, len(apart)), 0.0)
    at = 1.2 + rng.uniform(0, poll) + np.cumsum(apart) + rng.exponential(0.02 * poll, len(apart))
    if pauses == "one of 6 s":
        begin = rng.uniform(0.3, 0.6) * seconds
        at = at[(at < begin) | (at > begin + 6)]
    return np.asarray(at[at < seconds - 0.1])


def logged(
    watts: np.ndarray,
    seed: int,
    refresh: float,
    window: float,
    poll: float,
    step: float,
    pauses: Pauses,
    *,
    counter: bool = False,
) -> PowerOnTrace:
    """A log of means over `window` (0: of moments), published every `refresh` and asked every
    `poll`, or of what was counted.
    """
    rng = np.random.default_rng([seed, 12])
    total = np.concatenate([[0.0], np.cumsum(watts)]) * TICK
    at = asked(len(watts) * TICK, poll, pauses, rng)
    if counter:
        counted = total[np.floor(at / TICK).astype(int)]
        said, kind = np.concatenate([[np.nan], np.diff(counted) / np.diff(at)]), PowerKind.INTERVAL
    else:
        done = np.arange(window + rng.uniform(0, refresh), len(watts) * TICK - TICK, refresh)
        rows, wide = np.round(done / TICK).astype(int), max(1, round(window / TICK))
        means = (total[rows] - total[np.maximum(rows - wide, 0)]) / (wide * TICK) + rng.normal(
            0, 0.2, len(done)
        )
        said = (np.round(means / step) * step)[
            np.maximum(np.searchsorted(done, at, side="right") - 1, 0)
        ]
        kind = PowerKind.SAMPLED
    raw = PowerSeries(
        Sensor("power", "csv", Scope.NODE), np.round(at * 1e9).astype(np.int64), said, kind
    )
    return placing.on_trace(sensor.describe(raw), 0, 0, 0, "aligned", "truth")


def held(power: PowerOnTrace, watts: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> list[bool]:
    """Of the windows that are resolved, which hold the truth."""
    total = np.concatenate([[0.0], np.cumsum(watts)]) * TICK
    rows = [np.round(edge / TICK).astype(int) for edge in (lo, hi)]
    found = integrate.energies(power, rows[0] * 10**9, rows[1] * 10**9)
    true = total[rows[1]] - total[rows[0]]
    return [
        bool(a <= t <= b)
        for a, t, b, known in zip(found.lo, true, found.hi, found.resolved, strict=True)
        if known
    ]


@pytest.mark.parametrize(
    "pauses",
    [
        "none",
        "1.1 s every 11 rows",
        "5 polls every 20 rows",
        "10 polls every 40 rows",
        "now and then",
    ],
)
@pytest.mark.parametrize(
    ("refresh", "window", "poll", "step"),
    [(0.1, 0.1, 0.1, 0.1), (0.1, 1.0, 0.1, 0.1), (0.5, 0.5, 0.2, 1.0), (1.0, 1.0, 0.5, 1.0)],
)
def test_joules_of_a_log_with_pauses_hold(
    refresh: float, window: float, poll: float, step: float, pauses: Pauses
) -> None:
    hold, resolved, asked_for = [], 0, 0
    for seed in range(10):
        watts = training(seed)
        power = logged(watts, seed, refresh, window, poll, step, pauses)
        rng = np.random.default_rng([seed, 13])
        lo = rng.uniform(3, len(watts) * TICK / 2, 8)
        hi = lo + rng.uniform(5, len(watts) * TICK / 2 - 4, 8)
        got = held(power, watts, lo, hi)
        hold += got
        resolved, asked_for = resolved + len(got), asked_for + len(lo)
    assert np.mean(hold) >= 0.9
    assert resolved >= 0.7 * asked_for


@pytest.mark.parametrize(
    "pauses", ["5 polls every 20 rows", "10 polls every 40 rows", "now and then", "one of 6 s"]
)
def test_what_a_counter_counted_across_a_pause_may_lie_on_either_side_of_a_windows_end(
    pauses: Pauses,
) -> None:
    """Every window begins or ends within a pause."""
    hold: list[bool] = []
    for seed in range(25):
        watts = training(seed)
        power = logged(watts, seed, 0.001, 0.0, 0.1, 0.1, pauses, counter=True)
        at = power.series.times / 1e9
        rng = np.random.default_rng([seed, 14])
        inside = np.flatnonzero((np.diff(at) > 0.25) & (at[:-1] > 3) & (at[1:] < at[-1] - 12))
        edge = np.concatenate([rng.uniform(at[inside], at[inside + 1])] * 2)[:12]
        hold += held(power, watts, edge, edge + rng.uniform(3, 11, len(edge)))
    assert len(hold) > 30
    assert np.mean(hold) >= 0.9


def test_a_window_of_which_a_counter_tells_too_little_is_not_resolved_and_says_why() -> None:
    watts = training(3)
    power = logged(watts, 3, 0.001, 0.0, 0.1, 0.1, "one of 6 s", counter=True)
    at = power.series.times
    row = int(np.argmax(np.diff(at)))
    middle = int(at[row] + at[row + 1]) // 2 * 1000
    found = integrate.energy(power, middle, middle + 10**12)
    assert not found.resolved
    assert "begins or ends within a pause of the log" in found.reason


def test_a_window_is_read_from_the_readings_between_pauses_or_left_open() -> None:
    """Runs of twenty readings are too short for it, each for itself."""
    for seed in range(12):
        described = logged(
            training(seed), seed, 0.1, 1.0, 0.1, 0.1, "5 polls every 20 rows"
        ).series.sensor
        window, error = (
            described.window_s.value if described.window_s else 0.0,
            described.window_err_s,
        )
        assert error is not None
        assert abs(window - 1.0) < 2 * error
        assert window == 0.0 or abs(window - 1.0) < 0.5


def test_noise_of_a_quiet_stretch_is_no_step() -> None:
    rng = np.random.default_rng(5)
    quiet = 150 + rng.normal(0, 0.3, 300)
    busy = np.repeat(rng.choice([150.0, 300.0], 40), 5)
    found = averaging_window.look(
        np.concatenate([quiet, [np.nan] * 30, np.convolve(busy, np.ones(10) / 10, "same")]), 0.1
    )
    assert found is not None
    assert found.window_s == pytest.approx(1.0, rel=0.35)
    only = averaging_window.look(np.concatenate([quiet, [np.nan] * 30, [300.0] * 10]), 0.1)
    assert only is not None
    assert only.by == "nothing"
    assert only.sd_s >= averaging_window.UNSEEN_S


def test_a_refresh_is_not_read_from_runs_in_which_nobody_asked() -> None:
    rng = np.random.default_rng(6)
    at = np.concatenate([start + np.arange(0, 15, 0.3) for start in range(0, 400, 40)])
    said = np.round((200 + 40 * rng.standard_normal(200))[(at / 3.0).astype(int)])
    raw = PowerSeries(Sensor("power", "csv", Scope.NODE), np.round(at * 1e9).astype(np.int64), said)
    found = sensor.describe(raw).sensor.refresh_s
    assert found is not None
    assert found.value == pytest.approx(3.0, rel=0.11)


@pytest.mark.parametrize(
    ("watts", "step"), [(147.0, 7.0), (150.0, 10.0), (149.0, 1.0), (150.5, 0.7), (88.25, 0.05)]
)
def test_readings_that_never_change_are_not_exact(watts: float, step: float) -> None:
    raw = PowerSeries(Sensor("power", "csv", Scope.NODE), np.arange(60) * 10**9, np.full(60, watts))
    described = sensor.describe(raw)
    assert described.sensor.quantum_w is not None
    assert described.sensor.quantum_w.value == pytest.approx(step)
    assert described.sensor.quantum_w.badge is Badge.ASSUMED
    found = integrate.energy(
        placing.on_trace(described, 0, 0, 0, "aligned", "truth"), 10**13, 3 * 10**13
    )
    assert found.lo is not None
    assert found.hi is not None
    assert found.hi - found.lo > 20 * step
