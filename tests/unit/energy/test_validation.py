"""Against a known truth: offsets, their intervals, ambiguity, energies and their intervals.

A reduced number of seeds of what `benchmarks/bench_energy.py` runs in full: enough to notice that a
method broke.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from powertui.data.energy import integrate, sensor
from powertui.data.energy.alignment_places import MAX_PLACES, Fit
from tests.synthetic import SENSORS, Burst, Plan
from tests.synthetic.placed import make, search, sensed, truly_placed

SHORT = Plan(seconds=30)
SEEDS = range(6)


@pytest.fixture(scope="module")
def made():
    """Workloads are shared by all sensors: building and reading them is most of the cost."""
    return [make(seed, SHORT) for seed in SEEDS]


@pytest.fixture(scope="module")
def minute():
    """Long enough for the edges of the span to weigh little."""
    return [make(seed, Plan(seconds=90, step_s=0.3)) for seed in SEEDS]


@pytest.fixture(scope="module")
def long():
    return [make(seed, Plan(seconds=200, step_s=0.5)) for seed in range(3)]


@pytest.mark.parametrize("name", ["nvml-1s", "nvml-25/100", "occ-40ms", "ipmi-3s/7W", "rapl"])
def test_signal_finds_the_offset_and_knows_how_well(made, name: str) -> None:
    tolerance = max(SENSORS[name].refresh_s / 2, 0.01)
    errors, covered, sure = [], [], []
    for seed in SEEDS:
        offset = float(np.random.default_rng(seed).uniform(-20, 20))
        found, taken = sensed(made[seed], name, seed, offset_s=offset, drop=0.02)
        fit = search(made[seed], found)
        assert isinstance(fit, Fit), fit
        errors.append(abs(fit.offset_s - taken.offset_s))
        covered.append(fit.lo_s <= taken.offset_s <= fit.hi_s)
        sure.append(not fit.ambiguous)
    assert not any(sure) or np.mean(np.array(errors)[sure] <= tolerance) >= 0.95
    assert np.mean(covered) >= 0.8
    if SENSORS[name].refresh_s <= 1:
        assert np.mean(sure) >= 0.5  # idle before and after: the edges break the tie


def test_signal_works_for_a_slow_pdu(long) -> None:
    for seed, one in enumerate(long):
        found, taken = sensed(one, "pdu-10s", seed, offset_s=3.0)
        fit = search(one, found)
        assert isinstance(fit, Fit), fit
        assert fit.lo_s <= taken.offset_s <= fit.hi_s
        assert fit.ambiguous or abs(fit.offset_s - taken.offset_s) <= 5


PERIODIC = Plan(seconds=24, jitter=0.0, warmup=False, validation_s=0.0, epochs=1, around="steps")


def test_periodic_steps_have_a_set_of_places_one_step_apart() -> None:
    """Equal steps look alike: every whole step is a place, the true one among them, and none of
    them weighs nearly all.
    """
    one = make(0, PERIODIC)
    found, taken = sensed(one, "nvml-25/100", 1, offset_s=-4.0)
    fit = search(one, found)
    if isinstance(fit, str):
        pytest.skip(fit)
    at = np.array([place.offset_s for place in fit.places])
    weight = np.array([place.weight for place in fit.places])
    assert weight.sum() == pytest.approx(1)
    assert weight.max() < 0.95
    assert fit.offset_s == at[0]
    assert len(at) <= MAX_PLACES
    assert np.abs(at - taken.offset_s).min() <= 2 * PERIODIC.step_s, (
        "they stand for the true place, too"
    )
    assert np.ptp(at) > 10 * PERIODIC.step_s


@pytest.mark.parametrize("name", ["nvml-1s", "nvml-25/100", "occ-40ms", "ipmi-3s/7W", "rapl"])
def test_exactly_periodic_steps_are_never_called_aligned(name: str) -> None:
    one = make(0, PERIODIC)
    for seed in range(4):
        found, _ = sensed(one, name, seed, offset_s=-4.0)
        fit = search(one, found)
        assert isinstance(fit, str) or fit.ambiguous


def test_what_the_trace_does_not_show_does_not_move_the_offset() -> None:
    """A foreign burst as large as the work itself."""
    for seed in range(3):
        one = make(seed, Plan(seconds=30, bursts=(Burst(1, 20, 45, 150.0),)))
        found, taken = sensed(one, "nvml-1s", seed, offset_s=5.0)
        fit = search(one, found)
        assert isinstance(fit, Fit)
        assert abs(fit.offset_s - taken.offset_s) <= 0.5
        assert fit.lo_s - 0.1 <= taken.offset_s <= fit.hi_s + 0.1


def test_power_that_follows_nothing_is_not_aligned() -> None:
    one = make(1, SHORT)
    found, _ = sensed(one, "nvml-1s", 1)
    rng = np.random.default_rng(0)
    noise = replace(found, watts=200 + rng.normal(0, 1, len(found)))
    fit = search(one, noise)
    assert isinstance(fit, str) or fit.ambiguous


def test_drift_is_told_of_long_recordings_only() -> None:
    one = make(2, Plan(seconds=700, epochs=5, step_s=1.0))
    for ppm in (0.0, 120.0):
        found, taken = sensed(one, "nvml-1s", 3, offset_s=-5.0, ppm=ppm)
        fit = search(one, found)
        assert isinstance(fit, Fit)
        assert abs(fit.ppm - ppm) <= 25
        assert (fit.ppm == 0) == (ppm == 0)
        assert abs(fit.offset_s - taken.offset_s) < 0.1


def test_a_clock_that_is_known_narrows_the_search(made) -> None:
    found, taken = sensed(made[0], "nvml-1s", 0, offset_s=7.0)
    fit = search(made[0], found, within=(6.0, 8.0))
    assert isinstance(fit, Fit)
    assert abs(fit.offset_s - taken.offset_s) < 0.1
    away = search(made[0], found, within=(-30.0, -28.0))
    assert isinstance(away, str) or not -28 < away.offset_s < 8


# ── energy ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("nvml-1s", 0.002),
        ("nvml-25/100", 0.02),
        ("occ-40ms", 0.02),
        ("rapl", 0.002),
        ("ipmi-3s/7W", 0.01),
    ],
)
def test_energy_of_the_span_is_unbiased_and_covered(minute, name: str, most: float) -> None:
    ratios, covered = [], []
    for seed in SEEDS:
        found, taken = sensed(minute[seed], name, seed)
        lo, hi = minute[seed].work.span
        energy = integrate.energy(truly_placed(found, taken), round(lo * 1e12), round(hi * 1e12))
        assert energy.resolved, energy.reason
        truth = float(minute[seed].work.energy(lo, hi))
        ratios.append(energy.joules / truth - 1)
        covered.append(energy.lo <= truth <= energy.hi)
    assert abs(np.mean(ratios)) < most
    # All of them idle at one level, so that steps of 7 W round nearly all of each the same way:
    # these are hardly six tries.
    assert np.mean(covered) >= (0.6 if name == "ipmi-3s/7W" else 0.8)


@pytest.mark.parametrize("name", ["nvml-1s", "rapl", "ipmi-3s/7W"])
def test_windows_side_by_side_add_up_to_the_whole(minute, name: str) -> None:
    found, taken = sensed(minute[0], name, 0)
    power = truly_placed(found, taken)
    lo, hi = (round(x * 1e12) for x in minute[0].work.span)
    cuts = np.linspace(lo, hi, 38).astype(np.int64)
    parts = integrate.energies(power, cuts[:-1], cuts[1:])
    whole = integrate.energy(power, lo, hi)
    assert abs(parts.covered_joules.sum() - whole.covered_joules) <= 1e-9 * whole.covered_joules


def test_epochs_are_covered_and_single_short_steps_are_not_resolved(minute) -> None:
    covered = []
    for seed in SEEDS:
        found, taken = sensed(minute[seed], "nvml-1s", seed)
        power = truly_placed(found, taken)
        for lo, hi in minute[seed].work.epochs:
            energy = integrate.energy(power, round(lo * 1e12), round(hi * 1e12))
            covered.append(energy.lo <= float(minute[seed].work.energy(lo, hi)) <= energy.hi)
        step = minute[seed].steps[5]
        single = integrate.energy(power, step.start, step.start + step.duration)
        assert single.joules is None
        assert "not resolved" in single.reason
    assert np.mean(covered) >= 0.8


def test_repeated_polls_do_not_shrink_the_interval(minute) -> None:
    """A BMC asked eleven times per refresh knows no more than one asked once: its repeats are no
    samples.
    """
    found, taken = sensed(minute[0], "ipmi-3s/7W", 3)
    assert found.sensor.refresh_s.value > 5 * found.sensor.poll_s.value
    naive = replace(
        found, sensor=replace(found.sensor, refresh_s=found.sensor.poll_s, window_s=None)
    )
    honest, sure = (
        integrate.energy(truly_placed(s, taken), *(round(x * 1e12) for x in minute[0].work.span))
        for s in (found, naive)
    )
    assert honest.sigma > sure.sigma
    assert honest.hi - honest.lo > sure.hi - sure.lo
    # Beside the rounding, which is the same for both: one step is read for most of the time,
    # however often.
    beside = [np.hypot(one.sigma_sampling, one.sigma_edges) for one in (honest, sure)]
    assert beside[0] > 1.1 * beside[1]


def test_a_day_of_log_is_searched_whole(made) -> None:
    """Half a minute of training somewhere in a day of readings, by nothing but the signal."""
    found, taken = sensed(made[1], "nvml-1s", 1, offset_s=-8.0)
    rng = np.random.default_rng(5)
    before, after = 50_000, 36_000
    watts = np.concatenate(
        [90 + rng.normal(0, 1, before), found.watts, 90 + rng.normal(0, 1, after)]
    )
    day = sensor.describe(replace(found, times=np.arange(len(watts)) * 10**9, watts=watts))
    fit = search(made[1], day)
    assert isinstance(fit, Fit), fit
    assert fit.offset_s == pytest.approx(found.times[0] / 1e9 + taken.offset_s - before, abs=0.5)
