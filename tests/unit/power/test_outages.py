"""Readings that say nothing of the power are found by the channel's own others, said, and cost only
themselves.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data.energy import integrate, sensor
from powertui.data.model import PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import outages, registry


def series(watts: np.ndarray, step_s: float = 0.25, **about: object) -> PowerSeries:
    times = np.round(np.arange(len(watts)) * step_s * 1e9).astype(np.int64)
    return PowerSeries(Sensor("power", "csv", Scope.NODE), times, np.asarray(watts, float), **about)  # type: ignore[arg-type]


def load(seed: int = 0, rows: int = 480) -> np.ndarray:
    """Idle, training, idle, as a sensor of 1 W reads them."""
    rng = np.random.default_rng(seed)
    at = np.arange(rows)
    return np.round(
        np.where(
            (at > rows // 8) & (at < rows - rows // 8),
            260 + 40 * rng.random(rows),
            150 + rng.normal(0, 1, rows),
        )
    )


def test_a_restart_of_a_bmc_is_a_gap_that_is_said() -> None:
    watts = load()
    watts[200:232] = 0.0
    found = outages.without_outages(series(watts))
    assert np.flatnonzero(np.isnan(found.watts)).tolist() == list(range(200, 232))
    assert (
        "32 readings of power are 0 W between readings that never come near it"
        in found.warnings[0].cause
    )
    assert "50.0 s after the log begins" in found.warnings[0].cause


def test_what_is_lost_with_a_restart_is_the_restart_alone() -> None:
    watts = load(3)
    whole = sensor.describe(series(watts))
    hurt = watts.copy()
    hurt[200:212] = 0.0
    mended = sensor.describe(outages.without_outages(series(hurt)))
    before, after = (
        integrate.energy(integrate.own_clock(one), 70 * 10**12, 118 * 10**12)
        for one in (whole, mended)
    )
    assert after.joules == pytest.approx(
        before.joules, rel=1e-3
    )  # what its window is, fewer readings tell a little otherwise
    assert after.badge is before.badge
    through = integrate.energy(integrate.own_clock(mended), 20 * 10**12, 100 * 10**12)
    truth = integrate.energy(integrate.own_clock(whole), 20 * 10**12, 100 * 10**12)
    assert through.joules is not None
    assert truth.joules is not None
    assert through.lo is not None
    assert through.hi is not None
    assert through.lo <= truth.joules <= through.hi
    assert through.badge.value == "estimated"


def test_a_machine_that_is_off_draws_nothing() -> None:
    watts = load(1, rows=8000)
    watts[3000:5800] = 0.0  # twelve minutes
    assert not outages.without_outages(series(watts)).warnings


@pytest.mark.parametrize(
    "watts",
    [
        np.tile([0.0, 40.0, 80.0, 12.0, 3.0], 60),  # a channel that comes near nothing by itself
        np.where(np.arange(300) % 2 == 0, 0.0, 200.0),  # and one that is off half of the time
        np.concatenate([np.linspace(0.5, 250, 200), np.zeros(10), np.linspace(1, 250, 100)]),
        np.full(300, 0.0),
        np.tile([0.0, 1.1, 0.9, 1.0], 50),
    ],
)
def test_what_may_be_true_stays(watts: np.ndarray) -> None:
    assert not outages.without_outages(series(watts)).warnings


def test_intervals_of_a_counter_may_hold_nothing() -> None:
    """A counter that was asked again before it counted on."""
    watts = load()
    watts[100:104] = 0.0
    assert not outages.without_outages(series(watts, kind=PowerKind.INTERVAL)).warnings


@pytest.mark.parametrize("mark", [65535.0, 65534.0, 6553.5, 32767.0, 4294967.295, 99999.0])
def test_marks_of_no_value_are_gaps(mark: float) -> None:
    watts = load(2)
    watts[[100, 101, 300]] = mark
    found = outages.without_outages(series(watts))
    assert np.flatnonzero(np.isnan(found.watts)).tolist() == [100, 101, 300]
    assert "as a sensor without a value reports" in found.warnings[0].cause


def test_eight_bits_of_a_sensor_that_counts_in_sevens() -> None:
    watts = np.round(load(2) / 7) * 7
    watts[100] = 255 * 7
    assert np.isnan(outages.without_outages(series(watts)).watts[100])


def test_a_short_high_load_is_no_mark() -> None:
    watts = np.full(400, 12.0) + np.random.default_rng(1).normal(0, 1, 400)
    watts[100:104] = [60.0, 95.0, 93.0, 55.0]
    assert not outages.without_outages(series(watts)).warnings


def test_a_sensor_that_hangs_is_found_and_a_steady_one_is_not() -> None:
    watts = load(5)
    watts[220:300] = watts[220]
    found = outages.without_outages(series(watts))
    assert np.flatnonzero(np.isnan(found.watts)).tolist() == list(range(221, 300))
    steady = np.round(load(6) / 50) * 50  # coarse steps stand still for long
    assert not outages.without_outages(series(steady)).warnings
    idle = np.where(np.arange(480) < 200, 150.0, load(7))
    assert not outages.without_outages(series(idle)).warnings


def test_a_log_with_a_restart_says_so_when_it_is_read(tmp_path: Path) -> None:
    watts = load(4)
    watts[200:232] = 0.0
    rows = "".join(f"{1.8e9 + i * 0.25:.3f},{w:.0f}\n" for i, w in enumerate(watts))
    (tmp_path / "power.csv").write_text("time_unix_s,watts\n" + rows)
    log = registry.load(str(tmp_path / "power.csv"))
    assert any("as a sensor that restarts reports" in w.cause for w in log.series[0].warnings)
    assert np.isnan(log.series[0].watts[200:232]).all()


@pytest.mark.parametrize("seed", range(60))
def test_runs_are_counted_exactly_where_one_is_long(seed: int) -> None:
    """Pairs of far readings show whether any value stayed for long, without counting every run."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 22 if seed % 2 else 19, 40)
    watts = np.repeat(100.0 + np.arange(40) % 3, lengths)
    longest = int(lengths.max())
    if seed % 3 == 0:
        watts[rng.random(len(watts)) < 0.02] = np.nan
        ends = np.flatnonzero(np.r_[True, watts[1:] != watts[:-1], True])
        longest = int(np.diff(ends).max())
    if longest >= 20:
        assert outages._may_hang(watts)
    if longest < 11:
        assert not outages._may_hang(watts)
    hung = outages._hangs(watts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outages, "_may_hang", lambda _: True)
        np.testing.assert_array_equal(hung, outages._hangs(watts))
