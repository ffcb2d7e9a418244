"""Joules against closed forms, and the budget against simulated sensors whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.energy import curve as curves
from powertui.data.energy import curve_building, integrate, placing, sensor
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import (
    PS_PER_S,
    Badge,
    Figure,
    Floats,
    PowerKind,
    PowerOnTrace,
    PowerSeries,
    Scope,
    Sensor,
)

S = 1_000_000_000


def ps(seconds: float) -> int:
    return round(seconds * PS_PER_S)


def placed(
    times_s: np.ndarray,
    watts: np.ndarray,
    *,
    kind: PowerKind = PowerKind.SAMPLED,
    spread_s: float = 0.0,
    status: str = "aligned",
    offset_s: float = 0.0,
    **about: object,
) -> PowerOnTrace:
    raw = PowerSeries(
        Sensor("power", "test", Scope.NODE, **about),  # type: ignore[arg-type]
        np.round(np.asarray(times_s) * S).astype(np.int64),
        np.asarray(watts, float),
        kind,
    )
    lo, hi = ps(offset_s - spread_s), ps(offset_s + spread_s)
    return placing.on_trace(sensor.describe(raw), ps(offset_s), lo, hi, status, "test")  # type: ignore[arg-type]


def noisy(seed: int = 0, rows: int = 200, step: float = 0.5) -> PowerOnTrace:
    rng = np.random.default_rng(seed)
    return placed(np.arange(rows) * step, rng.normal(250, 20, rows))


# ── exact ────────────────────────────────────────────────────────────────────────────────────────


def test_a_constant_is_power_times_time_with_both_ends_clipped() -> None:
    power = placed(np.arange(50), np.r_[np.full(25, 200.0), np.full(25, 200.5)])
    found = integrate.energy(power, ps(3.25), ps(17.5))
    assert found.joules == pytest.approx(200 * 14.25, rel=1e-12)
    assert found.mean_w == pytest.approx(200)
    assert found.coverage == 1
    assert found.badge is Badge.MEASURED
    assert found.resolved
    assert found.reason == ""


def test_a_ramp_is_integrated_exactly() -> None:
    times = np.arange(0, 100, 0.5)
    power = placed(times, 100 + 3 * times)
    found = integrate.energy(power, ps(10.125), ps(60.625))
    assert found.joules == pytest.approx(100 * 50.5 + 1.5 * (60.625**2 - 10.125**2), rel=1e-12)
    assert found.max_w == pytest.approx(100 + 3 * 60.625)


def brute(power: PowerOnTrace, lo: int, hi: int) -> float:
    """Trapezoids one by one."""
    total = 0.0
    times, watts = power.times, power.watts
    for i in range(len(times) - 1):
        a, b = max(lo, int(times[i])), min(hi, int(times[i + 1]))
        if b <= a:
            continue
        slope = (watts[i + 1] - watts[i]) / float(times[i + 1] - times[i])
        pa, pb = watts[i] + slope * float(a - times[i]), watts[i] + slope * float(b - times[i])
        total += (pa + pb) / 2 * (b - a) / PS_PER_S
    return float(total)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(0, 99), st.floats(0, 99))
def test_prefix_sums_equal_trapezoids_one_by_one(seed: int, a: float, b: float) -> None:
    power = noisy(seed % 7)
    lo, hi = ps(min(a, b)), ps(max(a, b))
    assert integrate.energy(power, lo, hi).covered_joules == pytest.approx(
        brute(power, lo, hi), rel=1e-9, abs=1e-6
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, ps(99)), min_size=2, max_size=30, unique=True))
def test_parts_add_up_to_the_whole(cuts: list[int]) -> None:
    power = noisy(2)
    edges = np.array(sorted(cuts))
    parts = integrate.energies(power, edges[:-1], edges[1:])
    whole = integrate.energy(power, int(edges[0]), int(edges[-1]))
    assert parts.covered_joules.sum() == pytest.approx(whole.covered_joules, rel=1e-9, abs=1e-9)


def test_many_windows_equal_one_by_one_and_many_channels_equal_each() -> None:
    rng = np.random.default_rng(4)
    power = noisy(3)
    los = np.sort(rng.integers(-ps(5), ps(100), 40))
    his = los + rng.integers(1, ps(20), 40)
    many = integrate.energies(power, los, his)
    for i in range(40):
        assert many[i] == integrate.energy(power, int(los[i]), int(his[i]))
    channels = [noisy(seed) for seed in range(5)] + [placed(np.array([1.0]), np.array([5.0]))]
    channels.append(
        placed(
            np.arange(60), np.where(np.arange(60) % 20 == 7, np.nan, 50.0), kind=PowerKind.INTERVAL
        )
    )
    assert integrate.across(channels, ps(5), ps(47)) == [
        integrate.energy(one, ps(5), ps(47)) for one in channels
    ]
    edge = float(ps(2))
    assert integrate.across(channels, ps(5), ps(47), edge_ps=edge) == [
        integrate.energy(one, ps(5), ps(47), edge_ps=edge) for one in channels
    ]
    assert integrate.across([], 0, 1) == []


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2000), st.integers(0, 2000))
def test_the_maximum_is_the_maximum(a: int, b: int) -> None:
    rng = np.random.default_rng(8)
    power = placed(np.arange(2000), rng.normal(250, 30, 2000))
    lo, hi = min(a, b), max(a, b)
    found = curve_building.power_curve(power).peak(lo, hi)
    assert math.isnan(found) if lo == hi else found == power.watts[lo:hi].max()


# ── counters ─────────────────────────────────────────────────────────────────────────────────────


def test_counter_intervals_are_exact_between_rows() -> None:
    joules = np.array([np.nan, 50.0, 70, 20, 90, 10, 10, 10])
    times = np.array([0.0, 1, 2, 4, 5, 6, 7, 8])
    watts = joules / np.diff(times, prepend=np.nan)
    found = integrate.energy(placed(times, watts, kind=PowerKind.INTERVAL), ps(1), ps(5))
    assert found.joules == pytest.approx(70 + 20 + 90, rel=1e-12)
    assert found.method == "interval"
    half = integrate.energy(placed(times, watts, kind=PowerKind.INTERVAL), ps(3), ps(6.5))
    assert half.joules == pytest.approx(10 + 90 + 10 + 5, rel=1e-12)
    assert half.other_joules is None


def test_a_reset_counter_leaves_a_hole() -> None:
    watts = np.full(40, 50.0)
    watts[20] = np.nan
    power = placed(np.arange(40), watts, kind=PowerKind.INTERVAL)
    found = integrate.energy(power, ps(10), ps(30))
    assert found.coverage == pytest.approx(0.95)
    assert found.covered_joules == pytest.approx(950)
    assert found.joules == pytest.approx(1000)
    assert found.is_filled
    assert found.badge is Badge.ESTIMATED


# ── gaps, coverage, resolvability ────────────────────────────────────────────────────────────────


def gapped(gap_s: float) -> PowerOnTrace:
    times = np.r_[np.arange(0, 50, 0.5), np.arange(50 + gap_s, 100, 0.5)]
    return placed(times, np.random.default_rng(1).normal(200, 5, len(times)))


def test_a_pause_is_bridged_where_the_window_can_bear_it() -> None:
    """Power that hardly moved before and after, and a fifth of the window: an estimate, as wide as
    the power elsewhere moves.
    """
    found = integrate.energy(gapped(20), 0, ps(99))
    assert found.coverage == pytest.approx((49.5 + 29) / 99, abs=1e-6)
    assert found.covered_joules == pytest.approx(200 * 78.5, rel=0.01)
    assert found.joules == pytest.approx(200 * 99, rel=0.01)
    assert found.badge is Badge.ESTIMATED
    assert found.is_filled


def test_a_pause_is_not_bridged_where_anything_may_have_been() -> None:
    within = integrate.energy(gapped(20), ps(45), ps(75))
    assert within.joules is None
    assert (
        within.reason
        == "not resolved: only 32 % of this window was sampled, and what is missing is one gap"
    )
    times = np.r_[np.arange(0, 50, 0.5), np.arange(60, 100, 0.5)]
    bursts = placed(
        times,
        np.where(times // 10 % 2 == 0, 100.0, 900.0)
        + np.random.default_rng(0).normal(0, 1, len(times)),
    )
    found = integrate.energy(bursts, ps(40), ps(75))
    assert found.joules is None
    assert found.reason == (
        "not resolved: 30 % of this window was not sampled, and the power may have changed "
        "too much meanwhile"
    )
    after = integrate.energy(gapped(5), ps(80), ps(115))
    assert after.joules is None
    assert after.reason == "not resolved: only 56 % of this window was sampled"


@pytest.mark.parametrize("rows", [6, 11, 30])
def test_a_logger_that_pauses_again_and_again_tells_what_its_windows_can_bear(rows: int) -> None:
    """0.2 s between rows and 1.1 s after so many of them: intervals hold, whatever share of the
    time is missing.
    """
    errors, halves = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        fine = np.repeat(rng.choice([150.0, 260.0, 320.0], 3000), rng.integers(1, 5, 3000))[
            :6000
        ]  # every 20 ms
        total = np.concatenate([[0.0], np.cumsum(fine)]) * 0.02
        at = np.arange(400) * 0.2 + np.arange(400) // rows * 1.1 + 0.5
        at = at[at < 118]
        power = placed(at, fine[(at / 0.02).astype(int)] + rng.normal(0, 0.3, len(at)))
        lo = rng.integers(100, 2500, 8)
        hi = lo + rng.integers(500, 2500, 8)
        found = integrate.energies(power, ps(0.02) * lo, ps(0.02) * hi)
        assert found.resolved.all()
        assert found[0].badge is Badge.ESTIMATED
        errors += (found.joules - (total[hi] - total[lo])).tolist()
        halves += ((found.hi - found.lo) / 2).tolist()
    assert np.mean(np.abs(errors) <= halves) >= 0.9
    assert np.sqrt(np.mean(np.square(halves))) <= 2 * 1.96 * np.sqrt(np.mean(np.square(errors)))


def test_a_small_gap_is_extrapolated_and_says_so() -> None:
    found = integrate.energy(gapped(5), 0, ps(99))
    assert found.is_filled
    assert found.badge is Badge.ESTIMATED
    assert found.joules == pytest.approx(200 * 99, rel=0.01)
    assert found.lo is not None
    assert found.hi is not None
    assert found.lo < found.joules < found.hi


def test_missing_readings_are_gaps() -> None:
    watts = np.random.default_rng(1).normal(200, 5, 100)
    watts[40:60] = np.nan
    found = integrate.energy(placed(np.arange(100.0), watts), 0, ps(99))
    assert found.coverage == pytest.approx(78 / 99)
    assert np.isnan(
        integrate.watts_at(placed(np.arange(100.0), watts), np.array([ps(50), ps(-1), ps(100)]))
    ).all()


def test_too_short_a_window_is_not_resolved_and_says_why() -> None:
    times = np.arange(0, 60, 0.25)
    power = placed(times, 200 + 14 * (times // 3 % 5))
    found = integrate.energy(power, ps(20), ps(24))
    assert found.joules is None
    assert found.lo is None
    assert found.reason == "not resolved: 4 s is too short, the sensor refreshes every 3 s"
    assert found.covered_joules > 0
    assert integrate.energy(power, ps(20), ps(26.5)).resolved


def test_an_averaging_window_limits_what_is_resolved() -> None:
    times = np.arange(0, 60, 0.1)
    power = placed(
        times, np.random.default_rng(2).normal(200, 5, 600), window_s=Figure(1.0, Badge.ASSUMED)
    )
    assert "averages over 1 s" in integrate.energy(power, ps(20), ps(21)).reason


@pytest.mark.parametrize(
    ("power", "reason"),
    [
        (noisy(), "nothing was sampled"),
        (
            placed(np.arange(50.0), np.arange(50.0), status="none"),
            "not aligned with this trace's clock",
        ),
        (placed(np.array([3.0]), np.array([100.0])), "fewer than two readings"),
        (placed(np.zeros(0), np.zeros(0)), "fewer than two readings"),
    ],
)
def test_reasons(power: PowerOnTrace, reason: str) -> None:
    lo = ps(1000) if reason.startswith("nothing") else ps(2)
    found = integrate.energy(power, lo, lo + ps(30))
    assert found.joules is None
    assert reason in found.reason


def test_an_ambiguous_place_makes_an_estimate() -> None:
    assert (
        integrate.energy(
            placed(np.arange(50.0), np.arange(50.0), status="ambiguous"), ps(2), ps(30)
        ).badge
        is Badge.ESTIMATED
    )


def test_zero_length_and_backward_windows_are_not_resolved() -> None:
    assert not integrate.energy(noisy(), ps(5), ps(5)).resolved
    assert not integrate.energy(noisy(), ps(9), ps(5)).resolved


# ── the two rules ────────────────────────────────────────────────────────────────────────────────


def test_both_rules_are_shown_when_they_differ() -> None:
    times = np.arange(0, 40, 0.25)
    watts = np.where(times < 20, 203.0, 406.0)
    watts[::24] += 7  # so that the refresh can be told
    power = placed(times, watts, refresh_s=None)
    agree = integrate.energy(noisy(rows=2000), ps(10), ps(900))
    assert agree.other_joules is None
    assert integrate.energy(power, ps(1), ps(18)).method == "trapezoid"


def test_a_held_value_is_not_a_ramp() -> None:
    """A slow sensor that holds 60 s and then jumps: the jump came within its last refresh, not over
    the whole minute.
    """
    times = np.arange(0, 140, 0.25)
    watts = np.select(
        [times < 10, times < 70, times < 80],
        [200 + 7 * (times // 2 % 2), np.full(560, 200.0), 207 - 7 * (times // 2 % 2)],
        400.0,
    )
    power = placed(times, watts)
    refresh = power.series.sensor.refresh_s
    assert refresh is not None
    assert refresh.value == pytest.approx(2.0)
    late = sensor.centre_s(power.series.sensor)
    found = integrate.energy(power, ps(20 - late), ps(65 - late))
    assert found.joules == pytest.approx(200 * 45, rel=1e-9)


def test_readings_lie_where_the_power_was() -> None:
    """A reading of a one-second mean, published 0.2 s late, tells of the second before."""
    times = np.arange(0, 30, 0.1)
    power = placed(
        times,
        100 + 2 * times,
        window_s=Figure(1.0, Badge.ASSUMED),
        delay_s=Figure(0.2, Badge.ASSUMED),
    )
    assert integrate.watts_at(power, np.array([ps(10 - 0.7)]))[0] == pytest.approx(120)


# ── budget ───────────────────────────────────────────────────────────────────────────────────────


def test_rounding_of_a_constant_does_not_average_out() -> None:
    watts = np.full(400, 231.0)
    long = integrate.energy(
        placed(np.arange(400) * 0.5, watts, quantum_w=Figure(7.0, Badge.ASSUMED)), ps(10), ps(110)
    )
    assert long.sigma_quantum == pytest.approx(7 / math.sqrt(12) * 100)
    assert long.joules is not None
    assert long.lo == pytest.approx(long.joules - 1.959964 * long.sigma)


def test_sampling_error_is_von_neumanns_where_power_is_anywhere_at_the_next_look() -> None:
    found = integrate.energy(noisy(rows=4000, step=1.0), ps(10), ps(3910))
    assert found.sigma_sampling == pytest.approx(math.sqrt(1.25 * 3900) * 20, rel=0.06)


def test_sampling_error_is_smaller_where_power_seldom_changes() -> None:
    """Levels that hold for twenty readings: a straight line takes the middle of two, and errs by a
    third of that.
    """
    rng = np.random.default_rng(3)
    watts = np.repeat(rng.normal(250, 30, 200), 20) + rng.normal(0, 0.1, 4000)
    found = integrate.energy(placed(np.arange(4000.0), watts), ps(10), ps(3910))
    moved = np.diff(watts)[10:3910]
    assert found.sigma_sampling == pytest.approx(math.sqrt(1.7 * (moved**2).sum() / 12), rel=0.2)


def test_the_same_two_places_of_every_step_tell_little_however_many_readings_there_are() -> None:
    watts = np.tile([200.0, 260.0], 100) + np.linspace(0, 1e-3, 200)
    found = integrate.energy(placed(np.arange(200.0), watts), ps(10), ps(110))
    assert found.sigma_sampling > math.sqrt(100 * 60**2 / 2)


def test_timing_error_follows_the_offset_and_the_difference_of_the_ends() -> None:
    times = np.arange(100.0)
    known = {"window_s": Figure(0.0, Badge.ASSUMED), "delay_s": Figure(0.0, Badge.ASSUMED)}
    power = placed(times, np.where(times < 50, 200.0, 300.0) + times * 1e-3, spread_s=0.5, **known)
    found = integrate.energy(power, ps(20), ps(80))
    assert found.sigma_timing == pytest.approx(0.5 / 1.959964 * 100.06, rel=1e-6)
    level = integrate.energy(power, ps(10), ps(40))
    assert level.sigma_timing < 0.02
    edges = integrate.energy(power, ps(10), ps(40), edge_ps=PS_PER_S * 0.1)
    assert edges.sigma_timing == pytest.approx(0.1 * math.hypot(200.01, 200.04), rel=1e-3)


def test_the_interval_contains_the_gain_and_tells_it_apart() -> None:
    power = placed(
        np.arange(100.0),
        np.random.default_rng(0).normal(200, 1, 100),
        gain=Figure(0.05, Badge.ASSUMED),
    )
    found = integrate.energy(power, ps(10), ps(60))
    assert found.joules is not None
    assert found.gain_j == pytest.approx(0.05 * found.joules)
    assert found.hi is not None
    assert found.half < 0.01 * found.joules
    assert found.hi - found.joules == pytest.approx(np.hypot(found.half, found.gain_j))
    assert integrate.energy(noisy(), ps(10), ps(60)).gain_j is None


def truth(t: np.ndarray) -> np.ndarray:
    """Energy of a training-like load from 0 to t: steps of 0.87 s, 60 % at 320 W, else 180 W."""
    period, busy, high, low = 0.8731, 0.54, 320.0, 180.0
    whole = np.floor(t / period)
    rest = t - whole * period
    return (
        whole * (busy * high + (period - busy) * low)
        + np.minimum(rest, busy) * high
        + np.maximum(rest - busy, 0) * low
    )


@pytest.mark.parametrize(
    ("refresh", "window", "step"),
    [(0.04, 0.0, 1.0), (1.0, 1.0, 1.0), (3.0, 3.0, 7.0), (0.1, 0.025, 0.1)],
)
def test_intervals_hold_the_truth(refresh: float, window: float, step: float) -> None:
    """Windows at random places under simulated sensors: the 95 % interval holds the true energy at
    least nine times of ten.
    """
    hits = total = 0
    bias = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        at = np.arange(5 + rng.uniform(0, refresh), 125, refresh)
        span = max(window, 1e-3)
        mean = (truth(at) - truth(at - span)) / span + rng.normal(0, 1, len(at))
        about = {"window_s": Figure(window, Badge.ASSUMED)} if window else {}
        power = placed(at, np.round(mean / step) * step, **about)
        los = rng.uniform(12, 60, 20)
        his = los + rng.uniform(max(12.0, 3 * refresh), 50, 20)
        exact = truth(his) - truth(los)
        found = integrate.energies(
            power,
            np.round(los * PS_PER_S).astype(np.int64),
            np.round(his * PS_PER_S).astype(np.int64),
        )
        assert found.resolved.all()
        hits += int(((found.lo <= exact) & (exact <= found.hi)).sum())
        total += len(los)
        bias.append(float((found.joules / exact - 1).mean()))
    assert hits / total >= 0.90
    assert abs(np.mean(bias)) < (0.002 if window >= refresh else 0.01)


# ── means of many steps ──────────────────────────────────────────────────────────────────────────


def test_the_mean_of_steps_is_the_span_over_their_number() -> None:
    power = noisy(5, rows=400)
    edges = np.arange(20, 180, 1.6) * PS_PER_S
    edges = edges.astype(np.int64)
    mean = integrate.mean_energy(power, edges[:-1], edges[1:])
    whole = integrate.energy(power, int(edges[0]), int(edges[-1]))
    count = len(edges) - 1
    assert mean is not None
    assert mean.joules is not None
    assert whole.joules is not None
    assert mean.joules == pytest.approx(whole.joules / count, rel=1e-12)
    assert mean.sigma == pytest.approx(whole.sigma / count, rel=1e-12)
    single = integrate.energies(power, edges[:-1], edges[1:])
    assert mean.sigma < 0.5 * np.sqrt((single.sigma_sampling**2).sum()) / count * 2
    assert mean.mean_w == whole.mean_w


def test_steps_too_short_for_the_sensor_have_a_mean() -> None:
    times = np.arange(0, 120, 0.25)
    power = placed(times, 200 + 14 * (times // 3 % 5))
    edges = (np.arange(20, 100, 0.5) * PS_PER_S).astype(np.int64)
    assert not integrate.energies(power, edges[:-1], edges[1:]).resolved.any()
    mean = integrate.mean_energy(power, edges[:-1], edges[1:])
    assert mean is not None
    assert mean.resolved
    assert mean.joules == pytest.approx(114, rel=0.1)


def test_stretches_apart_are_summed_and_the_pause_is_left_out() -> None:
    power = placed(
        np.arange(200.0),
        np.where((np.arange(200) >= 80) & (np.arange(200) < 120), 1000.0, 100.0)
        + np.arange(200) * 1e-4,
    )
    los = np.r_[np.arange(10, 60, 10), np.arange(130, 180, 10)]
    mean = integrate.mean_energy(power, los * PS_PER_S, (los + 10) * PS_PER_S)
    assert mean is not None
    assert mean.joules == pytest.approx(1000, rel=1e-3)
    assert integrate.mean_energy(power, [], []) is None


@pytest.mark.parametrize("gap_s", [20, 140])
def test_a_mean_over_several_stretches_says_that_a_gap_in_any_was_filled(gap_s: int) -> None:
    watts = np.random.default_rng(1).normal(200, 5, 200)
    watts[gap_s : gap_s + 6] = np.nan
    power = placed(np.arange(200.0), watts)
    los = np.array([10, 30, 130, 150]) * PS_PER_S
    his = los + ps(20)
    stretches = integrate.energies(power, los[::2], his[1::2])
    assert sorted(part.is_filled for part in stretches) == [False, True]
    mean = integrate.mean_energy(power, los, his)
    assert mean is not None
    assert mean.resolved
    assert mean.is_filled
    assert mean.badge is Badge.ESTIMATED


# ── clocks ───────────────────────────────────────────────────────────────────────────────────────


def test_rows_that_picoseconds_cannot_hold_are_left_out() -> None:
    days = np.array([0, 1, 200, 400]) * 86400.0
    power = placed(days, np.full(4, 100.0))
    assert len(power.times) == 2
    assert placed(np.arange(5.0), np.arange(5.0), offset_s=1.5).times[2] == ps(3.5)


def test_a_whole_log_on_its_own_clock() -> None:
    found = integrate.of_series(noisy().series)
    assert found.resolved
    assert found.duration_s == pytest.approx(99.5)


def test_a_slow_sensors_value_holds_until_a_refresh_before_the_next() -> None:
    """Polled four times as often as it changes: the bend lies at the last poll that is a whole
    refresh before the change.
    """
    times = np.arange(0, 30, 0.25)
    watts = np.where(times < 9, 200.0, np.where(times < 18, 300.0, 200.0))
    figures = {"refresh_s": Figure(3.0, Badge.MEASURED), "poll_s": Figure(0.25, Badge.MEASURED)}
    power = placing.on_trace(
        PowerSeries(
            Sensor("power", "test", Scope.NODE, **figures),
            np.round(times * S).astype(np.int64),
            watts,
        ),
        0,
        0,
        0,
        "aligned",
        "",
    )
    centre = ps(sensor.centre_s(power.series.sensor))
    assert ((curve_building.power_curve(power).knots + centre) / PS_PER_S).tolist() == [
        0.0,
        6.0,
        9.0,
        15.0,
        18.0,
        29.75,
    ]


def test_readings_asked_for_as_often_as_they_change_may_be_as_old_as_that() -> None:
    """A BMC that publishes means of a second, asked once a second: half a second to one and a half,
    the same for all of a log.
    """
    rng = np.random.default_rng(5)
    grid = np.arange(0, 60, 0.01)
    watts = np.where(grid < 12.3, 100.0, 220.0) + np.repeat(rng.normal(0, 3, 30), 200)
    sums = np.concatenate([[0.0], np.cumsum(watts) * 0.01])

    def total(at: np.ndarray | float) -> np.ndarray:
        return np.asarray(np.interp(at, np.arange(len(sums)) * 0.01, sums))

    held = 0
    for _ in range(40):
        at = rng.uniform(0, 1) + np.arange(3, 58)
        stale = rng.uniform(0, 1)
        power = placed(at, np.round(total(at - stale) - total(at - stale - 1)))
        found = integrate.energy(power, ps(5.0), ps(40.0))
        assert found.lo is not None
        assert found.hi is not None
        held += found.lo <= float(total(40.0) - total(5.0)) <= found.hi
    assert held >= 34


def rounded(watts: Floats, step: float, seconds: float = 1.0) -> Energy:
    power = placed(
        np.arange(len(watts)) * seconds,
        np.round(watts / step) * step,
        quantum_w=Figure(step, Badge.MEASURED),
    )
    return integrate.energy(power, ps(10 * seconds), ps((len(watts) - 10) * seconds))


def test_rounding_that_comes_back_does_not_average_out_either() -> None:
    """Work of 254 W with pauses of 60 W, read in steps of 10 W: it is told as 250 W each time,
    however often.
    """
    found = rounded(np.where(np.arange(400) % 20 < 2, 60.3, 254.0), 10)
    assert found.lo is not None
    assert found.hi is not None
    true = 380 * (0.9 * 254.0 + 0.1 * 60.3)
    assert found.lo <= true <= found.hi
    assert found.sigma_quantum > 0.6 * 10 / math.sqrt(12) * 380


def test_rounding_averages_out_where_power_moves_across_many_steps() -> None:
    rng = np.random.default_rng(1)
    moves = rounded(254 + np.cumsum(rng.normal(0, 8, 2000)) % 90, 10)
    assert moves.sigma_quantum < 0.2 * 10 / math.sqrt(12) * 1980
    flickers = rounded(
        255 + rng.normal(0, 2, 2000), 10
    )  # between two steps: the one as often as the other
    assert flickers.sigma_quantum < 0.2 * 10 / math.sqrt(12) * 1980


@pytest.mark.parametrize("apart", [0, 3, 400])
def test_the_maxima_of_many_windows_are_those_of_each(
    apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short ones that follow one another are gone through together; empty ones and those at the end
    of the log come with them.
    """
    found = curve_building.power_curve(noisy(rows=40_000))
    rng = np.random.default_rng(apart)
    first = np.cumsum(rng.integers(0, apart + 20, 90)) % len(found.power)
    ranges = [
        (at, min(at + size, len(found.power)))
        for at, size in zip(first.tolist(), rng.integers(0, 30, 90).tolist(), strict=True)
    ]
    ranges += [(len(found.power) - 9, len(found.power)), (7, 7), (9, 8)]
    expected = [found.peak(a, b) for a, b in ranges]
    np.testing.assert_array_equal(found.peaks_of(ranges), expected)
    np.testing.assert_array_equal(
        found.peaks_of([*ranges, (0, len(found.power))] * 2), [*expected, found.power.max()] * 2
    )
    asked: list[int] = []
    monkeypatch.setattr(curves.Curve, "peak", lambda self, a, b: asked.append(b - a) or np.nan)
    found.peaks_of([(row, row + 10) for row in range(0, 39_000, 10)])
    assert asked == []
