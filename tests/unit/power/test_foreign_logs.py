"""Logs as strangers write them: clocks without seconds, autumn nights, dates of a BMC, words in an
index of SNMP.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.model import Badge
from powertui.data.power import registry
from powertui.data.power.options import PowerLog
from powertui.errors import UnreadableFile

START = 1_714_557_600  # 2024-05-01 10:00:00 UTC
WATTS = [200 + 60 * (8 <= second < 18) + second % 3 for second in range(30)]
MEAN = sum(WATTS) / len(WATTS)


def rows(form: Callable[[int, int], str]) -> str:
    """A piece of text for each second and its watts."""
    return "".join(form(second, watts) for second, watts in enumerate(WATTS))


def utc(second: float, form: str) -> str:
    return time.strftime(form, time.gmtime(START + second))


def read(folder: Path, name: str, text: str, **columns: str) -> PowerLog:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return registry.load(str(path), LogColumns(**columns))


def test_readings_of_one_minute_are_of_one_device_and_no_six(tmp_path: Path) -> None:
    text = "time,power_w\n" + rows(lambda s, w: f"{utc(60 * (s // 6), '%Y-%m-%d %H:%M')},{w}\n")
    (series,) = read(tmp_path, "minutes.csv", text, tz="UTC").series
    assert np.mean(series.watts) == pytest.approx(MEAN)
    assert series.sensor.scale is Badge.ASSUMED


def test_two_devices_that_a_minute_lists_stay_two(tmp_path: Path) -> None:
    text = "time,power_w\n" + rows(
        lambda s, w: f"{utc(60 * s, '%Y-%m-%d %H:%M')},{w}\n{utc(60 * s, '%Y-%m-%d %H:%M')},60\n"
    )
    channels = read(tmp_path, "minutes.csv", text, tz="UTC").series
    assert [round(float(np.mean(one.watts))) for one in channels] == [round(MEAN), 60]


def test_an_autumn_night_that_begins_just_before_its_hour_repeats(tmp_path: Path) -> None:
    begin = 1_729_990_500  # 2024-10-27 02:55 in Berlin, five minutes before clocks go back
    berlin = ZoneInfo("Europe/Berlin")

    def line(number: int, watts: int) -> str:
        at = datetime.fromtimestamp(begin + 240 * number, berlin)
        return f"{at:%Y-%m-%d %H:%M:%S},{watts}\n"

    log = read(tmp_path, "night.csv", "time,power_w\n" + rows(line))
    (series,) = log.series
    assert len(series) == 30
    assert (np.diff(series.times) == 240 * 10**9).all()
    assert any("repeat an hour" in str(warning) for warning in log.warnings)


def test_a_bmc_s_date_with_a_year_of_two_digits(tmp_path: Path) -> None:
    def answer(second: int, watts: int) -> str:
        stamp = utc(second + 7200, "%m/%d/%y %H:%M:%S")
        return (
            f"    Instantaneous power reading:                   {watts} Watts\n"
            f"    IPMI timestamp:                           {stamp} CEST    "
            "Sampling period:                          00065530 Seconds.\n"
            "    Power reading state is:                   activated\n\n"
        )

    (series,) = read(tmp_path, "dcmi.log", rows(answer)).series
    middle = (series.clock.lo_ns + series.clock.hi_ns) // 2  # type: ignore[operator]
    assert middle == START * 10**9
    assert np.mean(series.watts) == pytest.approx(MEAN)


def test_snmp_asks_for_the_unit_of_an_object_whose_index_is_a_word(tmp_path: Path) -> None:
    text = rows(
        lambda s, w: (
            f"{START + s}\n"
            f"PDU2-MIB::measurementsInletSensorValue.1.1.activePower = Gauge32: {w}\n"
            "PDU2-MIB::measurementsInletSensorValue.1.1.rmsVoltage = Gauge32: 230\n"
        )
    )
    with pytest.raises(UnreadableFile, match=r"(?s)unit of .*activePower.*--unit W"):
        read(tmp_path, "pdu.log", text)
    (series,) = read(tmp_path, "pdu.log", text, unit="W").series
    assert np.mean(series.watts) == pytest.approx(MEAN)


@pytest.mark.parametrize("name", ["power_pct", "gpu_power_percent", "Leistung (Prozent)"])
def test_a_share_of_the_power_is_no_power(tmp_path: Path, name: str) -> None:
    text = f"time,{name}\n" + rows(lambda s, w: f"{START + s},{w / 4}\n")
    with pytest.raises(UnreadableFile):
        read(tmp_path, "share.csv", text)


@pytest.mark.parametrize(("comma", "month"), [(",25", 5), (".25", 1)])
def test_where_decimals_have_a_comma_dates_are_day_first(
    tmp_path: Path, comma: str, month: int
) -> None:
    stamp = "%d/%m/%Y %H:%M:%S"
    text = "Horaire;Puissance (W)\n" + rows(lambda s, w: f"{utc(s, stamp)};{w}{comma}\n")
    log = read(tmp_path, "puissance.csv", text, tz="UTC")
    begin = log.series[0].clock.lo_ns
    assert begin is not None
    assert time.gmtime(begin // 10**9).tm_mon == month
    assert any("nothing in the log shows which" in str(warning) for warning in log.warnings)
