"""A run in one row of a list: its bars, its devices, its columns on screen."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from powertui.data.logdir import RunEntry
from powertui.data.model import PS_PER_S, PowerOnTrace, PowerSeries, Sensor, Steps
from powertui.data.table import Table
from powertui.plain import width
from powertui.report import run_curve, run_devices, run_table
from powertui.report.runs import KnownRun
from powertui.terminal import glyphs
from powertui.view import run_columns, table_rows


def power(watts: list[float], interval_s: float = 1.0) -> PowerOnTrace:
    times_s = interval_s * np.arange(len(watts))
    series = PowerSeries(
        Sensor("node", "test"), (times_s * 1e9).astype(np.int64), np.array(watts, np.float64)
    )
    times = (times_s * PS_PER_S).astype(np.int64)
    return PowerOnTrace(series, times, series.watts, 0, 0, 0, "aligned", "test")


def test_a_burst_of_a_tenth_is_one_high_bar_on_a_level_floor() -> None:
    watts = [200.0] * 100
    watts[40:50] = [260.0] * 10
    bars = run_curve.power_bars(power(watts), 0, 100 * PS_PER_S)
    assert bars == (3, 3, 3, 3, 7, 3, 3, 3, 3, 3)


def test_a_ripple_of_two_percent_is_no_storm() -> None:
    watts = [200.0 + 4 * (-1) ** (at // 10) for at in range(100)]
    assert set(run_curve.power_bars(power(watts), 0, 100 * PS_PER_S)) == {3}


def test_a_gap_in_a_log_is_blank_and_a_slow_sensor_holds_its_reading() -> None:
    watts = [200.0] * 100
    watts[50:70] = [float("nan")] * 20
    bars = run_curve.power_bars(power(watts), 0, 100 * PS_PER_S)
    assert bars[5:7] == (0, 0)
    assert 0 not in bars[:5]
    slow = run_curve.power_bars(power([200.0, 200.0, 200.0, 200.0], 30.0), 0, 100 * PS_PER_S)
    assert slow == (3,) * 10
    assert run_curve.power_bars(power([200.0]), 0, PS_PER_S) == ()


def test_the_slowest_step_is_never_averaged_away() -> None:
    lengths = np.full(1000, 10_000_000, np.int64)
    lengths[777] *= 3
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    epochs = np.full(1000, -1, np.int32)
    steps = Steps(np.arange(1000), starts, lengths, epochs, [""] * 1000, "test")
    assert run_curve.step_bars(steps) == (3, 3, 3, 3, 3, 3, 3, 7, 3, 3)
    assert run_curve.step_bars(Steps.none()) == ()


@pytest.mark.parametrize(
    ("label", "short"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA A100-SXM4-40GB", "A100"),
        ("Tesla V100-SXM2-16GB", "V100"),
        ("AMD Instinct MI300X", "MI300X"),
        ("Nvidia GPU (Turing)", "Turing"),
        ("AMD GPU - gfx942", "gfx942"),
        ("GPU", "GPU"),
        ("TPU v6e", "TPU"),
        ("", "device"),
    ],
)
def test_a_device_has_a_short_name(label: str, short: str) -> None:
    assert run_devices.short_model(label) == short


RUNS = (
    KnownRun(
        placed=1_795_000_000.0,
        began=1_795_000_000.0,
        when="2026-11-18",
        model="H100 ×8",
        framework="TensorFlow",
        health="unusual",
        bound="not recorded 91 %",
        bound_kind="unknown_time",
        unusual="slow steps +51.1ms",
        bars=(3,) * 9 + (7,),
        readable=True,
        joules=855.0,
    ),
    KnownRun(placed=1_700_000_000.0, when="2023", readable=True, steps=1, health="well"),
    KnownRun(placed=1_600_000_000.0, by_file=True),
    KnownRun(unseen=True, device="training of 2 sessions"),
)
NAMES = (
    "home/fit/2026_11_18_11_33_20",
    "jax/2026_11_18_11_33_21",
    "jax/2026_11_18_11_33_22",
    "archive/a_very_long_folder_name_of_a_run/logs/train",
)


def table() -> Table:
    entries = [RunEntry(path=f"/runs/{name}", name=name) for name in NAMES]
    listed = run_table.table(entries, RUNS)
    known = {entry.path: facts for entry, facts in zip(entries, RUNS, strict=True)}
    return run_columns.screen_table(listed, known, glyphs.UNICODE)


def test_what_is_unknown_is_never_zero() -> None:
    shown = table()
    assert [shown["joules"].text(row) for row in range(4)] == ["855 J", "", "", ""]
    assert table_rows.cell(shown["joules"], 1, 8) == "       –"
    assert [shown["bound"].text(row).strip() for row in range(4)] == [
        "unrecorded  91 %",
        "–",
        "",
        "open to see",
    ]
    assert [shown["bars"].text(row) for row in range(4)] == ["▃▃▃▃▃▃▃▃▃▇ s", "one step", "", ""]


def test_folders_that_all_runs_have_are_left_out_of_names_that_stay_different() -> None:
    assert list(table()["run"].values) == [
        "home",
        "jax/2026_11_18_11_33_21",
        "jax/2026_11_18_11_33_22",
        "archive/a_very_long_folder_name_of_a_run",
    ]


def test_a_long_name_is_shown_by_the_folder_that_no_other_run_has() -> None:
    names = ["own/bursts/keras_1ep", "own/bursts/keras_2ep", "a/two_epochs_with_burst/x"]
    parts = run_columns.name_parts(names)
    short = [run_columns.fitting_name(name, parts, 18, "…") for name in names]
    assert short[:2] == ["…/keras_1ep", "…/keras_2ep"]
    assert width(short[2]) <= 18
    assert "two_ep" in short[2]


@pytest.mark.parametrize(
    ("room", "gone"),
    [
        (78, {"joules", "device", "framework", "steps", "step_s"}),
        (118, {"steps", "step_s", "took_s"}),
    ],
)
def test_what_says_whether_a_run_is_well_stays_in_a_narrow_window(
    room: int, gone: set[str]
) -> None:
    fit = table_rows.fit(table(), room, ("when",), 0.2)
    shown = {column.id for column in fit.columns}
    assert {"health", "run", "when", "bound", "bars", "unusual"} <= shown
    assert not shown & gone


@pytest.fixture
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as zone:
        zone.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("utc")
def test_all_times_are_in_one_zone() -> None:
    assert [table()["when"].text(row) for row in range(3)] == [
        "Nov 18 11:06",
        "Nov 14  2023",
        "",
    ]
    assert run_columns.zone_words(1_795_000_000.0, RUNS) == "times in UTC"


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as zone:
        zone.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_times_of_logs_without_a_zone_stay_as_they_are_written() -> None:
    log = KnownRun(when="2025-11-21 12:00:00 local", placed=1_763_726_400.0)
    with_zone = KnownRun(when="2025-11-21 12:00:00 UTC", placed=1_763_726_400.0)
    column = run_columns._moments(table()["when"], [log, with_zone])
    assert [column.text(row) for row in range(2)] == ["Nov 21 12:00", "Nov 21 21:00"]
    words = [run_columns.zone_words(1_795_000_000.0, runs) for runs in ([log], [log, with_zone])]
    assert words == [
        "times as in the logs, which name no zone",
        "times in JST, or as in logs without a zone",
    ]


def test_marks_differ_by_shape_and_are_counted() -> None:
    assert run_columns.health_counts(RUNS, glyphs.UNICODE) == "▲ 1 unusual  ● 1 nothing unusual"
    assert run_columns.health_counts(RUNS, glyphs.ASCII) == "! 1 unusual  . 1 nothing unusual"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (KnownRun(health="look", conclusion="! idle 84 %"), "idle"),
        (KnownRun(health="look", conclusion="! not recorded 91 %"), "unrecorded"),
        (KnownRun(health="look", conclusion="! incomplete profile"), "incomplete"),
        (KnownRun(health="well", conclusion="compute 91 %"), ""),
        (
            KnownRun(health="unusual", conclusion="! +59 W", unusual="+58 W outside"),
            "+58 W outside",
        ),
        (
            KnownRun(health="unusual", conclusion="! idle 84 %", unusual="straggler 8 %"),
            "straggler",
        ),
    ],
)
def test_each_mark_but_that_of_a_run_that_is_well_has_a_word(facts: KnownRun, words: str) -> None:
    entry = RunEntry(path="/runs/one", name="one")
    listed = run_table.table([entry], [facts])
    shown = run_columns.screen_table(listed, {entry.path: facts}, glyphs.UNICODE)
    assert shown["unusual"].text(0) == words
    assert len(words) <= shown["unusual"].cells
