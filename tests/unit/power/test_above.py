"""Titles, comments and second header rows: what the lines above a table say of its unit, its times
and its date counts.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.model import Badge
from powertui.data.power import counters, registry, times, titles
from powertui.data.power.options import PowerLog
from powertui.errors import UnreadableFile

ZERO = 1_795_283_292  # 2026-11-21 17:48:12 UTC
WATTS = 200 + 100.0 * (np.arange(60) // 10 % 2)


def read(tmp_path: Path, text: str, name: str = "power.csv") -> PowerLog:
    path = tmp_path / name
    path.write_text(text)
    return registry.load(str(path), LogColumns())


def rows(factor: float = 1.0, form: str = "{at},{watts:g}") -> str:
    return "".join(
        form.format(at=ZERO + k, watts=watts * factor) + "\n"
        for k, watts in enumerate(WATTS.tolist())
    )


HEADS = {
    "# unit: kW\ntime,power\n": 1e-3,
    "# Power in mW\ntime,power\n": 1e3,
    "# all values in mW\ntime,power\n": 1e3,
    "; units: kW\ntime,power\n": 1e-3,
    "// power: milliwatts\ntime,power\n": 1e3,
    "Units: kW\ntime,power\n": 1e-3,
    "# power in deciwatts\ntime,power\n": 10.0,
    "# supply: 1100 W, 2 kW limit\n# power [W]\ntime,power\n": 1.0,
    "Time,Power\n(s),(kW)\n": 1e-3,
    "s,mW\ntime,power\n": 1e3,
    "Report of rack 7\n\nTime,Power (W)\n": 1.0,
    "Model,WT310E\nSerial,C2XX\nCount,60\n\nTime,Power\ns,W\n": 1.0,
    "Time,Server\n,Power\n,W\n": 1.0,
}


@pytest.mark.parametrize("head", HEADS)
def test_lines_above_the_readings_tell_their_unit(head: str, tmp_path: Path) -> None:
    log = read(tmp_path, head + rows(HEADS[head]))
    (series,) = log.series
    np.testing.assert_allclose(series.watts, WATTS, rtol=1e-4)
    assert series.sensor.scale is Badge.MEASURED, log.warnings


@pytest.mark.parametrize(
    "head",
    [
        "# unit: kW\ntime,power_w\n",  # says another unit than the column
        "# energy in kWh\ntime,power\n",  # says nothing of power, but of a unit
        "# scale: 0.1\ntime,power_w\n",
        "# readings are multiplied by 10\ntime,power_w\n",
        "time,power (0.1 W)\n",
        "time,power (hundredths of kW)\n",
    ],
)
def test_a_unit_or_scale_that_is_in_doubt_is_asked_about(head: str, tmp_path: Path) -> None:
    log = read(tmp_path, head + rows())
    assert log.series[0].sensor.scale is Badge.ASSUMED
    assert any("--unit" in warning.cause for warning in log.warnings)


@pytest.mark.parametrize(
    "line",
    ["# scale: 1", "# power factor 0.98", "# 1100 W power supply", "# averaged over 100 W nominal"],
)
def test_other_lines_put_nothing_in_doubt(line: str, tmp_path: Path) -> None:
    (series,) = read(tmp_path, f"{line}\ntime,power\n" + rows()).series
    assert series.sensor.scale is Badge.MEASURED
    assert np.nanmean(series.watts) == pytest.approx(250)


def test_groups_stand_before_the_names_they_tell_apart(tmp_path: Path) -> None:
    text = "Time,PDU 1,,PDU 2,\n,Power (W),Current (A),Power (W),Current (A)\n" + rows(
        form="{at},{watts:g},1.2,100,0.5"
    )
    log = read(tmp_path, text)
    assert [series.sensor.channel for series in log.series] == ["PDU 1 Power", "PDU 2 Power"]
    assert [float(np.mean(series.watts)) for series in log.series] == [250.0, 100.0]


def test_energy_without_a_unit_is_asked_about_and_never_taken_for_power(tmp_path: Path) -> None:
    text = "time,energy\n" + "".join(f"{ZERO + k},{5000 + 250 * k}\n" for k in range(20))
    with pytest.raises(UnreadableFile, match="no unit for `energy`") as caught:
        read(tmp_path, text)
    assert "--unit J" in str(caught.value)
    (series,) = read(tmp_path, "# energy counter in Wh\n" + text).series
    assert series.watts[1:] == pytest.approx(250 * 3600)
    path = tmp_path / "power.csv"
    path.write_text(text)
    (series,) = registry.load(str(path), LogColumns(unit="J")).series
    assert series.watts[1:] == pytest.approx(250)


def test_a_column_that_nothing_calls_power_is_guessed(tmp_path: Path) -> None:
    (series,) = read(tmp_path, "epoch,value\n" + rows()).series
    assert series.sensor.scale is Badge.ASSUMED


def test_columns_without_a_unit_share_one(tmp_path: Path) -> None:
    """jtop's log: 12,500 is in mW by its size, and so is 2,500 beside it."""
    text = "time,Power TOT,Power SOC\n" + "".join(
        f"{ZERO + k},{12_500 + k},{2_500 + k}\n" for k in range(30)
    )
    assert [round(float(np.median(series.watts)), 1) for series in read(tmp_path, text).series] == [
        12.5,
        2.5,
    ]


def test_a_peak_is_no_reading_and_a_count_of_epochs_no_time(tmp_path: Path) -> None:
    text = "TIME|EPOCH_COUNT|CPU_POWER|Peak Power\n" + "".join(
        f"{k * 0.5}|{k // 7}|{100 + k}|400\n" for k in range(60)
    )
    log = read(tmp_path, text)
    assert [series.sensor.channel for series in log.series] == ["CPU_POWER"]
    assert log.series[0].times[-1] == 29_500_000_000


@pytest.mark.parametrize(
    ("text", "source", "seconds"),
    [
        (
            "# time in ms since start\ntime,power_w\n"
            + "".join(f"{k * 1000},200\n" for k in range(60)),
            "none",
            59,
        ),
        (
            "Time (UTC),power_w\n" + "".join(f"2026-11-21 17:48:{k},200\n" for k in range(12, 60)),
            times.ABSOLUTE,
            47,
        ),
        (
            "# timezone: UTC\ntime,power_w\n"
            + "".join(f"2026-11-21 17:48:{k},200\n" for k in range(12, 60)),
            times.ABSOLUTE,
            47,
        ),
        (
            "time,power_w\n" + "".join(f"21-Nov-2026 17:48:{k},200\n" for k in range(12, 60)),
            times.LOCAL,
            47,
        ),
    ],
)
def test_times_as_the_log_says_that_they_are(
    text: str, source: str, seconds: float, tmp_path: Path
) -> None:
    (series,) = read(tmp_path, text).series
    assert series.clock.source == source
    assert (series.times[-1] - series.times[0]) / 1e9 == seconds
    if source == times.ABSOLUTE:
        assert series.clock.mid_ns == ZERO * 10**9


OF_DAY = "time,power_w\n" + "".join(f"17:48:{k},200\n" for k in range(12, 60))


@pytest.mark.parametrize(
    ("name", "head", "place"),
    [
        ("power_2026-11-21.csv", "", "the file's name"),
        ("node1-20261121.csv", "", "the file's name"),
        ("power.csv", "# Date: 2026-11-21\n", "a line above the table"),
        ("power_2026-01-01.csv", "# recorded 2026/11/21\n", "a line above the table"),
    ],
)
def test_a_date_is_taken_from_elsewhere_and_said(
    name: str, head: str, place: str, tmp_path: Path
) -> None:
    log = read(tmp_path, head + OF_DAY, name)
    clock = log.series[0].clock
    assert clock.assumed == f"date 2026-11-21 assumed from {place}"
    assert clock.assumed in log.guess
    assert times.with_offset(clock, 0).mid_ns == ZERO * 10**9


def test_without_a_date_the_time_of_day_is_kept(tmp_path: Path) -> None:
    clock = read(tmp_path, OF_DAY).series[0].clock
    assert not clock.known
    assert clock.of_day_ns == ZERO * 10**9 % times.DAY


@pytest.mark.parametrize(
    "text",
    [
        "elapsed,power_w\n0:30:00,200\n0:30:01,201\n0:30:02,202\n",
        "time,power_w\n00:00:00,2\n00:00:01,3\n",
    ],
)
def test_hours_and_minutes_since_a_start_are_no_time_of_day(text: str, tmp_path: Path) -> None:
    clock = read(tmp_path, text, "power_2026-11-21.csv").series[0].clock
    assert not clock.known
    assert clock.of_day_ns is None


@pytest.mark.parametrize("every", [5, 20, 27])
def test_a_counter_that_starts_again_is_a_counter(every: int, tmp_path: Path) -> None:
    total, values = 0.0, []
    for k, watts in enumerate(WATTS.tolist()):
        total = watts if k % every == 0 else total + watts
        values.append(total)
    log = read(
        tmp_path,
        "time,energy_j\n" + "".join(f"{ZERO + k},{value}\n" for k, value in enumerate(values)),
    )
    (series,) = log.series
    known = np.isfinite(series.watts)
    np.testing.assert_allclose(series.watts[known], WATTS[known])
    assert len(WATTS) - known.sum() == len(
        range(0, 60, every)
    )  # the first row, and the interval of each new start
    assert any("was reset" in warning.cause for warning in log.warnings)


def test_joules_per_interval_are_no_counter() -> None:
    random = np.random.default_rng(5)
    assert not counters.looks_like_counter(WATTS)
    assert not counters.looks_like_counter(np.r_[np.arange(100.0, 110), np.arange(100.0, 110)])
    for spread in (1, 30, 150):
        assert not counters.looks_like_counter(200 + spread * random.random(500))
        assert not counters.looks_like_counter(np.maximum(0, spread * random.standard_normal(500)))


def test_a_date_that_cannot_be_is_none() -> None:
    assert titles.date_in("power_2026-13-21_2026-02-30.csv") is None
    assert titles.date_in("job120261121045.csv") is None


def test_a_date_a_time_and_a_reading_from_a_loop_in_a_shell(tmp_path: Path) -> None:
    (series,) = read(
        tmp_path, "".join(f"2026-11-21 17:48:{k} 2{k}\n" for k in range(12, 60))
    ).series
    assert series.watts[0] == 212
    assert series.clock.source == times.LOCAL
    (series,) = read(
        tmp_path, "".join(f"2026-11-21 17:48:{k} {k / 10} kW\n" for k in range(12, 60))
    ).series
    assert series.watts[0] == pytest.approx(1200)
