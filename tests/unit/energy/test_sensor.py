"""What a sensor's samples tell of it, and what they cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.energy import distances, integrate, rounding_step, scopes, sensor
from powertui.data.model import Badge, Figure, PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import registry

S = 1_000_000_000


def series(
    times_s: np.ndarray,
    watts: np.ndarray,
    source: str = "csv",
    name: str = "power",
    **about: object,
) -> PowerSeries:
    kind = about.pop("kind", PowerKind.SAMPLED)
    return PowerSeries(
        Sensor(name, source, **about),
        np.round(np.asarray(times_s) * S).astype(np.int64),
        np.asarray(watts, float),
        kind,
    )  # type: ignore[arg-type]


def slow_sensor(
    seed: int = 1,
    refresh: float = 3.0,
    poll: float = 0.25,
    step: float = 7.0,
    length: float = 120.0,
) -> PowerSeries:
    """Polled with jitter, refreshed by its own clock, rounded to its step."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(poll * 0.8, poll * 1.2, int(length / poll)))
    level = rng.uniform(200, 320, int(length / refresh) + 3)
    watts = np.round(level[(times // refresh).astype(int)] / step) * step
    return series(times, watts)


def test_refresh_step_and_poll_are_measured_on_changes_not_on_polls() -> None:
    found = sensor.describe(slow_sensor()).sensor
    assert found.refresh_s is not None
    assert found.refresh_s.badge is Badge.MEASURED
    assert found.refresh_s.value == pytest.approx(3.0, rel=0.1)
    assert found.quantum_w == Figure(7.0, Badge.MEASURED)
    assert found.poll_s is not None
    assert found.poll_s.value == pytest.approx(0.25, rel=0.1)


def test_the_sentence_is_plain() -> None:
    times = np.arange(0.27, 60, 0.27)
    watts = 231 + 7 * ((times // 3.1).astype(int) % 5)
    assert (
        sensor.sentence(sensor.describe(series(times, watts)))
        == "polled every 0.27 s, changes every 3.1 s, in steps of 7 W"
    )


def test_a_window_that_is_only_usual_is_not_told() -> None:
    """As long as the refresh and known of no one: a guess.

    Of another length, or told by the source: it is said.
    """
    plain = Sensor(
        "power", "csv", refresh_s=Figure(2.0, Badge.MEASURED), window_s=Figure(2.0, Badge.ASSUMED)
    )
    assert sensor.window_is_guess(plain)
    assert not sensor.window_is_guess(replace(plain, window_s=Figure(5.0, Badge.ASSUMED)))
    assert not sensor.window_is_guess(replace(plain, window_s=Figure(2.0, Badge.ESTIMATED)))
    assert not sensor.window_is_guess(replace(plain, refresh_s=None))


def test_duplicates_are_not_samples() -> None:
    described = sensor.describe(slow_sensor())
    fresh = sensor.samples(described)
    changes = 1 + int((np.diff(described.watts) != 0).sum())
    assert changes <= fresh.sum() <= changes + 4  # a heartbeat for the rare run of equal readings
    assert fresh.sum() < len(described) / 8


def test_a_held_value_counts_again_after_three_refreshes() -> None:
    times = np.arange(0, 100, 0.5)
    watts = np.where(
        times < 20, 200 + 10 * (times // 2 % 2), 250.0
    )  # changes every 2 s, then holds for 80 s
    described = sensor.describe(series(times, watts))
    assert described.sensor.refresh_s is not None
    assert described.sensor.refresh_s.value == pytest.approx(2.0)
    held = sensor.samples(described)[times >= 20]
    assert 13 <= held.sum() <= 14  # 80 s / (3 * 2 s)
    gaps = np.diff(times[times >= 20][held])
    assert gaps.max() <= 6.0 + 0.5


def test_a_load_that_stands_still_does_not_make_a_sensor_slow() -> None:
    """Readings that change at 10, 15 and 40 s were published at most 5 s apart."""
    times = np.arange(0, 60, 0.5)
    watts = np.select([times < 10, times < 15, times < 40], [200.0, 500.0, 300.0], 200.0)
    refresh = sensor.describe(series(times, watts)).sensor.refresh_s
    assert refresh is not None
    assert refresh.value == pytest.approx(5.0, abs=0.5)


def test_a_fast_sensor_keeps_every_row() -> None:
    rng = np.random.default_rng(3)
    described = sensor.describe(series(np.arange(200), rng.normal(250, 5, 200)))
    assert sensor.samples(described).all()
    assert not sensor.slow(described.sensor)
    assert described.sensor.quantum_w is None
    assert "changes at every poll" in sensor.sentence(described)


def test_what_no_log_tells_is_assumed_by_source_and_says_so() -> None:
    constant = sensor.describe(
        series(np.arange(20), np.full(20, 231.0), source="powerboard", name="Total Power")
    )
    assert constant.sensor.refresh_s == Figure(3.0, Badge.ASSUMED)
    assert constant.sensor.quantum_w == Figure(7.0, Badge.ASSUMED)
    assert "(assumed)" in sensor.sentence(constant)
    unknown = sensor.describe(series(np.arange(20), np.full(20, 231.0)))
    assert unknown.sensor.refresh_s is None
    assert "never changes in this log" in sensor.sentence(unknown)
    once = sensor.describe(series(np.arange(20), np.r_[np.full(19, 231.0), 240.0]))
    assert once.sensor.refresh_s is None
    assert "too few changes to measure its refresh" in sensor.sentence(once)
    a100 = sensor.describe(
        series(np.arange(20), np.full(20, 60.0), source="nvidia-smi", name="GPU 0 NVIDIA A100")
    )
    assert a100.sensor.window_s == Figure(0.025, Badge.ASSUMED)
    other = sensor.describe(
        series(np.arange(20), np.full(20, 60.0), source="nvidia-smi", name="GPU 0")
    )
    assert other.sensor.window_s == Figure(1.0, Badge.ASSUMED)


NVIDIA, SHORT, NOTHING = (0.1, 1.0, 0.05), (0.1, 0.025, 0.05), (None, None, None)


@pytest.mark.parametrize(
    ("source", "name", "known"),
    [
        ("nvidia-smi", "GPU 0", NVIDIA),
        ("nvidia-smi Tesla T4", "GPU 0", NVIDIA),
        ("nvidia-smi NVIDIA H100 80GB HBM3", "GPU 0", SHORT),
        ("nvidia-smi", "GPU 0 (instant)", SHORT),
        ("nvidia-smi dmon", "GPU 3", NVIDIA),
        ("nvml", "GPU 0", NVIDIA),
        ("prometheus DCGM_FI_DEV_POWER_USAGE", "GPU 0", NVIDIA),
        ("csv", "nvidia gpu 0", NVIDIA),
        ("xpu-smi", "GPU 0", NOTHING),  # Intel's
        ("rocm-smi", "GPU 0", NOTHING),
        ("csv", "GPU 0", NOTHING),
        ("csv", "rack a100 instant power", NOTHING),
        ("ipmi sensor", "Instantaneous power reading", (3.0, None, None)),
        ("ipmi DCMI", "DCMI power", (1.0, None, None)),
        ("ipmi DCMI and sensors", "power", (1.0, None, None)),
        ("ipmitool sensor", "PSU GPU plug", (3.0, None, None)),
        ("hwmon amdgpu", "GPU", (0.04, None, None)),
        ("prometheus node_hwmon_power_average", "chip 0", (0.04, None, None)),
        ("prometheus ipmi_dcmi_power_consumption", "bmc1", (1.0, None, None)),
        ("redfish Power", "PSU 1", (5.0, None, None)),
        ("csv", "processor socket", NOTHING),
        ("", "", NOTHING),
    ],
)
def test_what_is_assumed_goes_by_source_and_device_not_by_parts_of_words(
    source: str, name: str, known: tuple[float | None, float | None, float | None]
) -> None:
    found = sensor.defaults(Sensor(name, source))
    assert (found.refresh_s, found.window_s, found.gain) == known


def test_another_makers_gpu_gets_no_window_and_no_gain() -> None:
    found = sensor.describe(
        series(np.arange(20), np.full(20, 60.0), source="xpu-smi", name="GPU 0")
    ).sensor
    assert (found.refresh_s, found.window_s, found.gain) == (None, None, None)


def test_what_a_reader_knows_is_kept() -> None:
    given_by_log = series(
        np.arange(20),
        np.full(20, 231.0),
        quantum_w=Figure(1.0, Badge.ASSUMED),
        window_s=Figure(0.5, Badge.ASSUMED),
    )
    found = sensor.describe(given_by_log).sensor
    assert found.quantum_w == Figure(1.0, Badge.ASSUMED)
    assert found.window_s == Figure(0.5, Badge.ASSUMED)


@pytest.mark.parametrize("step", [0.01, 0.25, 1.0, 4.0, 7.0, 8.5])
def test_the_step_is_found_among_many_levels(step: float) -> None:
    rng = np.random.default_rng(5)
    assert rounding_step.quantum(
        np.round(rng.uniform(100, 400, 500) / step) * step
    ) == pytest.approx(step)


def test_the_step_survives_a_few_strays_and_is_not_invented() -> None:
    watts = np.round(np.random.default_rng(6).uniform(200, 300, 600) / 7) * 7
    watts[100] += 3  # two of 600 differences are no multiples
    assert rounding_step.quantum(watts) == 7.0
    assert rounding_step.quantum(np.random.default_rng(7).normal(250, 10, 600)) is None
    assert rounding_step.quantum(np.array([200.0, 207.0])) is None
    assert (
        rounding_step.quantum(np.array([224.0, 224, 259, 259, 315, 259])) == 7.0
    )  # 35 and 56: their common measure


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=3, max_size=60), st.sampled_from([0.5, 1.0, 7.0]))
def test_all_differences_are_multiples_of_the_step(levels: list[int], step: float) -> None:
    watts = np.array(levels, float) * step
    found = rounding_step.quantum(watts)
    if found is not None:
        moved = np.abs(np.diff(watts))
        moved = moved[moved > 0]
        assert (
            np.abs(moved / found - np.round(moved / found)) < 1e-3
        ).mean() >= rounding_step.STEP_SHARE


def test_holes_are_pauses_and_missing_readings() -> None:
    times = np.r_[np.arange(10), np.arange(20, 30)].astype(float)
    watts = np.arange(20.0)
    watts[4] = np.nan
    described = sensor.describe(series(times, watts))
    holes = sensor.holes(described.times, described.watts, described.sensor)
    assert np.flatnonzero(holes).tolist() == [3, 4, 9]
    assert "3 gaps" in sensor.sentence(described)


def test_counters_tell_of_the_time_before_them() -> None:
    watts = np.array([np.nan, 50, 60, np.nan, 55])
    described = sensor.describe(
        series(np.array([0.0, 1, 2, 12, 13]), watts, source="rapl", kind=PowerKind.INTERVAL)
    )
    assert sensor.holes(
        described.times, described.watts, described.sensor, described.kind
    ).tolist() == [False, False, True, False]
    assert sensor.sentence(described) == "energy every 1 s, 1 gap"


def test_the_public_recording_says_what_its_sensor_can(shared_data) -> None:  # type: ignore[no-untyped-def]
    log = registry.load(str(shared_data / "public/powerboard_power_run195247/data/ipmi_data.csv"))
    described = sensor.describe(log.series[0])
    assert described.sensor.quantum_w == Figure(7.0, Badge.MEASURED)
    assert described.sensor.refresh_s is not None
    assert 2.6 <= described.sensor.refresh_s.value <= 3.4
    assert described.sensor.refresh_s.badge is Badge.MEASURED
    assert sensor.sentence(described) == "polled every 0.25 s, changes every 3.2 s, in steps of 7 W"


# ── which channels may be added ──────────────────────────────────────────────────────────────────


def channel(name: str, scope: Scope, host: str = "", rows: int = 10) -> PowerSeries:
    """10 W of a part; of what holds a whole machine, more than all its parts here draw."""
    watts = 100.0 if scope in (Scope.NODE, Scope.PLUG) else 10.0
    return series(np.arange(rows), np.full(rows, watts), name=name, scope=scope, host=host)


@pytest.mark.parametrize(
    ("channels", "picked"),
    [
        ([("Total", Scope.NODE), ("GPU 0", Scope.GPU), ("P0", Scope.PACKAGE)], ["Total"]),
        (
            [
                ("GPU 0", Scope.GPU),
                ("GPU 1", Scope.GPU),
                ("pkg", Scope.PACKAGE),
                ("core", Scope.CORE),
            ],
            ["GPU 0", "GPU 1", "pkg"],
        ),
        ([("GPU 0", Scope.GPU), ("GPU 0 (instant)", Scope.GPU)], ["GPU 0"]),
        ([("pkg", Scope.PACKAGE), ("dram", Scope.DRAM), ("fan", Scope.RAIL)], ["pkg", "dram"]),
        ([("plug", Scope.PLUG), ("GPU 0", Scope.GPU)], ["plug"]),
        ([("a", Scope.UNKNOWN), ("b", Scope.UNKNOWN)], ["a"]),
        ([("watts", Scope.UNKNOWN)], ["watts"]),
        ([], []),
    ],
)
def test_overlapping_scopes_are_never_added(
    channels: list[tuple[str, Scope]], picked: list[str]
) -> None:
    found = scopes.total([channel(name, scope) for name, scope in channels])
    assert [one.sensor.name for one in found.series] == picked
    if channels:
        assert found.text


def test_hosts_are_added_up() -> None:
    found = scopes.total(
        [
            channel("power", Scope.NODE, "a"),
            channel("power", Scope.NODE, "b"),
            channel("gpu", Scope.GPU, "b"),
        ]
    )
    assert found.indices == (0, 1)
    assert found.text == "a: power alone; b: power alone, which includes the other 1"


def test_differences_of_whole_watts_are_counted_as_all_others() -> None:
    moved = np.random.default_rng(4).integers(1, 900, 5000).astype(np.float64)
    for scale in (1.0, 0.5):
        levels, counts = rounding_step._counted(moved * scale)
        wanted = np.unique(moved * scale, return_counts=True)
        assert np.array_equal(levels, wanted[0])
        assert np.array_equal(counts, wanted[1])


# ── a moment, or a mean ──────────────────────────────────────────────────────────────────────────

_IDLE_W, _BUSY_W, _STEP_S = 100.0, 400.0, 90.0  # power steps once


def one_step(refresh: float, phase: float, *, is_mean: bool) -> PowerSeries:
    """Published every so often: the mean since the last time, or what is drawn at that moment."""
    published = np.arange(phase, 200.0, refresh)
    busy_share = np.clip((published - _STEP_S) / refresh, 0.0, 1.0)
    if not is_mean:
        busy_share = np.where(busy_share > 0, 1.0, 0.0)
    watts = _IDLE_W + (_BUSY_W - _IDLE_W) * busy_share + np.arange(len(published)) % 3
    asked = np.arange(published[0], 199.0, 0.5)
    return series(asked, watts[np.searchsorted(published, asked, side="right") - 1])


@pytest.mark.parametrize("is_mean", [True, False])
@pytest.mark.parametrize("refresh", [3.0, 5.0])
def test_joules_beside_a_step_hold_whatever_a_slow_reading_tells_of(
    refresh: float, is_mean: bool
) -> None:
    inside = 0
    phases = np.linspace(0.05, refresh, 20, endpoint=False)
    for phase in phases.tolist():
        log = sensor.describe(one_step(refresh, phase, is_mean=is_mean))
        power = integrate.own_clock(log)
        lo_s, hi_s = _STEP_S, _STEP_S + 60.0
        zero_ps = int(power.times[0]) - round(log.times[0] * 1000)
        window_ps = [round(at * 1e12) + zero_ps for at in (lo_s, hi_s)]
        measured = integrate.energy(power, *window_ps)
        assert measured.lo is not None
        assert measured.hi is not None
        inside += measured.lo <= (_BUSY_W + 1.0) * 60.0 <= measured.hi
    assert inside >= 19


def test_channels_that_share_their_times_measure_them_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The median distance of a log's rows and the longest one are the same for all its channels."""
    first = slow_sensor()
    channels = [first] + [replace(first, watts=first.watts + number) for number in range(1, 10)]
    counts = {"median": 0, "longest": 0}
    for name, made in (("median", distances._median), ("longest", distances._longest)):

        def make(times: np.ndarray, by: int, name: str = name, asked: Any = made._make) -> Any:
            counts[name] += 1
            return asked(times, by)

        monkeypatch.setattr(made, "_make", make)
    described = [sensor.describe(channel).sensor for channel in channels]
    assert counts == {"median": 1, "longest": 1}
    assert {found.poll_s for found in described} == {described[0].poll_s}
    assert {found.refresh_s for found in described} == {described[0].refresh_s}
