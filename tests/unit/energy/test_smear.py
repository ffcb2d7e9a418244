"""What the readings themselves tell of the window that each of them is the mean of, and what
follows for their joules.
"""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.power_world import FORGETFUL, SENSORS, make, plan, record
from powertui.data.energy import averaging_window, integrate, placing, sensor, step_rise
from powertui.data.energy.reading_stretch import ReadingStretch, liveliest
from powertui.data.energy.step_readings import has_lone_step
from powertui.data.model import Badge, PowerKind, PowerSeries, Scope, Sensor

TICK = 0.001


def training(seed: int) -> np.ndarray:
    """The power of every millisecond: idle, then unlike steps of a host's and a device's part, then
    idle.
    """
    rng = np.random.default_rng(seed)
    period, duty = rng.uniform(0.15, 0.7), rng.uniform(0.4, 0.9)
    parts = [np.full(int(rng.uniform(8, 15) / TICK), 120.0)]
    for _ in range(int(40 / period)):
        length = int(period * rng.normal(1, 0.05) / TICK)
        parts += [
            np.full(int(length * (1 - duty)), 150.0),
            np.full(int(length * duty), 300.0 + rng.normal(0, 4)),
        ]
    parts.append(np.full(int(rng.uniform(8, 15) / TICK), 120.0))
    watts = np.concatenate(parts)
    return watts + np.repeat(rng.normal(0, 1, len(watts) // 20 + 1), 20)[: len(watts)]


def read(
    watts: np.ndarray, seed: int, refresh: float, window: float, step: float
) -> tuple[np.ndarray, np.ndarray]:
    """(seconds, readings) of a mean over `window` (0: of a moment), published every `refresh`."""
    rng = np.random.default_rng([seed, 1])
    total = np.concatenate([[0.0], np.cumsum(watts)]) * TICK
    at = np.arange(window + rng.uniform(0, refresh), len(watts) * TICK - TICK, refresh)
    rows = np.round(at / TICK).astype(int)
    wide = max(1, round(window / TICK))
    said = (
        (total[rows] - total[np.maximum(rows - wide, 0)]) / (wide * TICK) if window else watts[rows]
    )
    return at, np.round((said + rng.normal(0, 0.1, len(at))) / step) * step


def series(at: np.ndarray, watts: np.ndarray, source: str = "csv") -> PowerSeries:
    return sensor.describe(
        PowerSeries(Sensor("power", source, Scope.NODE), np.round(at * 1e9).astype(np.int64), watts)
    )


@pytest.mark.parametrize(("refresh", "window"), [(0.1, 1.0), (0.1, 0.5), (0.25, 2.0), (0.04, 0.4)])
def test_a_mean_over_many_refreshes_is_known_by_the_gaps_in_its_spectrum(
    refresh: float, window: float
) -> None:
    found = [
        averaging_window.look(read(training(seed), seed, refresh, window, 0.1)[1], refresh)
        for seed in range(12)
    ]
    told = [one.window_s for one in found if one is not None and one.by == "gaps"]
    assert len(told) >= 8
    assert np.mean(np.abs(np.array(told) / window - 1) < 0.11) >= 0.9
    assert all(0.6 * window < one.window_s < 1.4 * window for one in found if one is not None)


@pytest.mark.parametrize("refresh", [0.04, 0.1, 0.2])
def test_the_power_of_a_moment_is_never_taken_for_a_long_mean(refresh: float) -> None:
    for seed in range(12):
        found = averaging_window.look(read(training(seed), seed, refresh, 0.0, 0.1)[1], refresh)
        assert found is not None
        assert found.by in ("steps", "nothing")
        assert found.window_s < refresh


@pytest.mark.parametrize("pause", [1.0, 2.0, 2.1])
def test_a_pause_of_two_windows_is_not_taken_for_one(pause: float) -> None:
    """Its own spectrum has gaps half-way between those of the mean; but steps rise too fast for a
    mean so long.
    """
    for seed in range(8):
        rng = np.random.default_rng(seed)
        lead, rest = (np.full(int(seconds / TICK), 300.0) for seconds in (2.0, pause))
        work = [
            np.where(np.arange(int(rng.uniform(15, 20) / TICK)) % 22 < 8, 440.0, 500.0)
            for _ in range(2)
        ]
        power = np.concatenate(
            [
                np.full(int(9 / TICK), 255.0),
                lead,
                work[0],
                rest * 0.88,
                work[1],
                np.full(int(11 / TICK), 255.0),
            ]
        )
        power += np.repeat(rng.normal(0, 0.6, len(power) // 250 + 1), 250)[: len(power)]
        found = averaging_window.look(read(power, seed, 0.1, 1.0, 0.01)[1], 0.1)
        assert found is not None
        assert abs(found.window_s - 1.0) < max(0.15, 2 * found.sd_s)


@pytest.mark.parametrize("seed", [68, 134, 1322])
def test_a_window_whose_steps_rise_more_slowly_than_it_lets_them_is_not_known_well(
    seed: int,
) -> None:
    said = record(make(plan(seed)), SENSORS["mean 1 s every 0.1 s"], seed).values
    found = averaging_window.look(said, 0.1)
    assert found is not None
    assert abs(found.window_s - 1.0) < 3 * found.sd_s


def test_dips_of_one_length_are_not_taken_for_a_mean_where_power_steps_at_once() -> None:
    """Validation of half a second after each epoch: its dips have the spectrum of such a mean."""
    rng = np.random.default_rng(7)
    watts = 650 + np.convolve(rng.normal(0, 20, 900), np.ones(5) / 5, "same")
    for start in range(120, 850, 90):
        watts[start : start + 5] -= 130
    watts[:60] = 60 + rng.normal(0, 0.5, 60)
    stretch = liveliest(np.round(watts, 1))
    assert has_lone_step(stretch, 5.0)
    mean = np.convolve(np.concatenate([watts[:1].repeat(4), watts]), np.ones(5) / 5, "valid")
    assert not has_lone_step(liveliest(np.round(mean, 1)), 5.0)
    # A burst enters a mean at once, and leaves it a window later.
    mean[300:305] += 400
    assert not has_lone_step(liveliest(mean), 5.0)


def test_too_few_readings_and_readings_that_never_change_tell_nothing() -> None:
    assert averaging_window.look(np.arange(10.0), 1.0) is None
    found = averaging_window.look(np.full(500, 231.0), 1.0)
    assert found is not None
    assert found.by == "nothing"


def test_one_burst_of_power_is_no_window() -> None:
    """Its spectrum has gaps at the multiples of 1 / 1.5 s, as that of a mean over 1.5 s has; but it
    begins and ends at once.
    """
    rng = np.random.default_rng(2)
    watts = 150 + rng.normal(0, 0.7, 300)
    watts[40:200] += 60
    watts[120:135] += 60
    found = averaging_window.look(np.round(watts, 1), 0.1)
    assert found is not None
    assert found.by != "gaps"
    assert found.window_s < 0.15


def test_steps_that_meet_the_readings_alike_again_and_again_are_one() -> None:
    """A program of 6 s, rises and falls 3 s apart, read by means over a second: all happen to show
    at once, and were taken for 38 steps that did: a window of 0 ± 0.06 s.
    """
    length = 120.0
    watts = np.full(int(length / TICK), 150.0)
    for begin in np.arange(4.02, length - 4, 6.0).tolist():
        watts[int(begin / TICK) : int((begin + 3) / TICK)] = 300.0
    total = np.concatenate([[0.0], np.cumsum(watts)]) * TICK
    rows = np.round(np.arange(1.0, length - 0.01, 1.0) / TICK).astype(int)
    found = averaging_window.look(np.round(total[rows] - total[rows - 1000]), 1.0)
    assert found is not None
    assert found.sd_s >= 0.19
    assert abs(found.window_s - 1.0) < 4.5 * found.sd_s


def test_a_gap_in_the_log_is_no_step() -> None:
    _, watts = read(training(3), 3, 0.1, 1.0, 0.1)
    whole = averaging_window.look(watts, 0.1)
    watts[60:90] = np.nan
    parted = averaging_window.look(watts, 0.1)
    assert whole is not None
    assert parted is not None
    assert parted.window_s == pytest.approx(whole.window_s, rel=0.03)


def test_a_source_whose_readings_contradict_its_usual_window_is_not_believed() -> None:
    """A GPU that nobody named: the driver's mean of a second is assumed, unless its readings jump
    from one to the next.
    """
    at, watts = read(training(1), 1, 0.1, 1.0, 0.1)
    assert series(at, watts, "nvidia-smi").sensor.window_s == (1.0, Badge.ASSUMED)
    at, watts = read(training(1), 1, 0.1, 0.025, 0.1)
    found = series(at, watts, "nvidia-smi").sensor
    assert found.window_s is not None
    assert found.window_s.badge is Badge.ESTIMATED
    assert found.window_s.value < 0.1


@pytest.mark.parametrize(
    ("refresh", "window", "step"),
    [(0.1, 1.0, 0.1), (0.1, 1.0, 1.0), (0.5, 0.5, 1.0), (0.1, 0.025, 0.01)],
)
def test_joules_of_a_log_that_says_nothing_of_its_sensor_hold(
    refresh: float, window: float, step: float
) -> None:
    """Trainings and windows at random places: the interval holds nine of ten, and is not much wider
    than it must be.
    """
    errors, halves, estimated = [], [], []
    for seed in range(20):
        watts = training(seed)
        total = np.concatenate([[0.0], np.cumsum(watts)]) * TICK
        power = placing.on_trace(
            series(*read(watts, seed, refresh, window, step)), 0, 0, 0, "aligned", "truth"
        )
        rng = np.random.default_rng([seed, 2])
        begin = rng.uniform(3, 40, 10)
        lo = np.round(begin / TICK).astype(int)
        hi = np.minimum(
            lo + np.round(rng.uniform(3, 20, 10) / TICK).astype(int), len(watts) - round(2 / TICK)
        )
        found = integrate.energies(power, lo * 10**9, hi * 10**9)
        assert found.resolved.all()
        errors += (found.joules - (total[hi] - total[lo])).tolist()
        halves += ((found.hi - found.lo) / 2).tolist()
        estimated.append(found[0].badge is Badge.ESTIMATED)
    assert np.mean(estimated) == (window > refresh)
    needed = 1.96 * float(np.sqrt(np.mean(np.square(errors))))
    assert np.mean(np.abs(errors) <= halves) >= 0.9
    assert np.sqrt(np.mean(np.square(halves))) <= 2.5 * needed


@pytest.mark.parametrize("name", ["forgets in 0.7 s, 0.25 s", "forgets in 1 s, 0.5 s"])
def test_how_far_a_meter_that_forgets_lags_is_not_told_too_surely(name: str) -> None:
    """Where its readings do not show it, the interval of joules has to hold it all the same."""
    model, held = FORGETFUL[name], 0
    for seed in range(600, 610):
        taken = record(make(plan(seed)), model, seed)
        one = series(taken.unix - taken.unix[0], taken.values).sensor
        lag = model.forget_s + (model.poll_s / 2 if sensor.slow(one) else 0.0)
        held += abs(lag - sensor.centre_s(one)) <= 1.96 * sensor.centre_err_s(
            one, PowerKind.SAMPLED
        )
    assert held >= 9


@pytest.mark.parametrize("width", [1, 2, 3, 7, 9, 16, 17, 33, 400])
def test_ranges_are_those_of_every_window(width: int) -> None:
    """Also of windows that were asked for in any order, and of every so many of them."""
    level = np.random.default_rng(width).normal(size=400)
    ranges = step_rise.Ranges(level)
    for asked in (9, width, 2):
        windows = np.lib.stride_tricks.sliding_window_view(level, asked)
        for step in (1, 5):
            found = ranges.spans(asked, slice(None, None, step))
            assert np.array_equal(found, np.ptp(windows, axis=1)[::step])


def test_the_rise_of_steps_asks_only_spans_that_may_be_sharp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is what a look at each span says, in order; but of those in which nothing moves so far no
    window is looked at.
    """
    rng = np.random.default_rng(5)
    whole, asked = step_rise.sharpest_share, []

    def counted(
        seen: ReadingStretch,
        ranges: step_rise.Ranges,
        span: int,
        large: float,
        which: int,
    ) -> float:
        asked.append(span)
        return whole(seen, ranges, span, large, which)

    monkeypatch.setattr(step_rise, "sharpest_share", counted)
    for takes in (1, 2, 5, 20, 60):
        steps = np.repeat(rng.permutation(np.arange(0, 240, 10)), 200).astype(float)
        level = np.convolve(steps, np.ones(takes) / takes, "valid") + rng.normal(
            0, 0.5, len(steps) - takes + 1
        )
        drawn = np.zeros(len(level) + 1)
        drawn[700:] = 1  # one of them was not read
        for seen in (
            ReadingStretch(level, np.zeros(len(level) + 1), 240.0),
            ReadingStretch(level, drawn, 240.0),
        ):
            ranges, large, span, before, expected = (
                step_rise.Ranges(level),
                step_rise.RISING_STEP_SHARE * seen.swing,
                1,
                None,
                np.nan,
            )
            while 8 * span < len(level):
                share = whole(seen, ranges, span, large, 3)
                if share >= step_rise.SHARP_SHARE:
                    at, was = before or (span, 0.0)
                    expected = at + (span - at) * (step_rise.SHARP_SHARE - was) / max(
                        share - was, 1e-9
                    )
                    break
                before, span = (span, share), max(span + 1, round(span * 1.4))
            asked.clear()
            assert step_rise.sharpest_rise(seen) == expected
            assert len(asked) <= 4, asked  # of up to 15


def test_a_log_in_which_nothing_rises_fast_may_be_that_of_a_filter() -> None:
    """Short logs of a filter that forgets in 2 s: its lag is within what is told of it. Joules of
    epochs that are hardly longer hold in seven of ten.
    """
    lagged, hold = [], []
    for seed in range(20):
        rng = np.random.default_rng([seed, 3])
        parts = [np.full(1500, 150.0)]
        for _ in range(3):
            parts += [
                np.full(int(rng.uniform(2500, 4500)), rng.uniform(220, 300)),
                np.full(int(rng.uniform(300, 900)), 165.0),
            ]
        watts = np.concatenate([*parts, np.full(3000, 150.0)])
        shown, now = np.empty(len(watts)), watts[0]
        for row, one in enumerate(watts.tolist()):
            now += TICK / 2.0 * (one - now)
            shown[row] = now
        at = np.arange(0.5, len(watts) * TICK - 0.1, 0.5)
        power = series(at, np.round(shown[np.round(at / TICK).astype(int)]))
        window, error = power.sensor.window_s, power.sensor.window_err_s
        assert error is not None
        lagged.append(abs((window.value if window else 0.0) - 4.0) < 2.2 * error)
        total = np.concatenate([[0.0], np.cumsum(watts)]) * TICK
        edges = np.cumsum([0, *(len(part) for part in parts)])[1::2]
        placed = placing.on_trace(power, 0, 0, 0, "aligned", "truth")
        found = integrate.energies(placed, edges[:-1] * 10**9, edges[1:] * 10**9)
        true = total[edges[1:]] - total[edges[:-1]]
        hold += ((found.lo <= true) & (true <= found.hi))[found.resolved].tolist()
    assert np.mean(lagged) >= 0.8
    assert np.mean(hold) >= 0.7


def test_a_sensor_that_publishes_every_few_seconds_is_no_slow_filter() -> None:
    """It can show nothing that rises faster than itself."""
    level = 200 + 50 * np.sin(np.arange(60) / 4)
    for refresh, by in ((0.25, "slow"), (1.0, "nothing"), (3.0, "nothing")):
        found = averaging_window.look(level, refresh, held=True)
        assert found is not None
        assert found.by == by
        assert found.sd_s <= max(refresh, 2.3)
