"""Times as loggers, BMCs and people write them."""

from __future__ import annotations

import numpy as np
import pytest

from powertui.data.model import Clock
from powertui.data.power import column_times, times, units, written_times
from powertui.data.power.times import S

NOON = 1_604_836_278  # 2020-11-08 11:51:18 UTC


@pytest.mark.parametrize(
    ("text", "ns", "offset"),
    [
        ("2020-11-08 11:51:18", NOON * S, None),
        ("2020/11/08 11:51:18.250", NOON * S + 250_000_000, None),
        ("2020-11-08T11:51:18.123456789Z", NOON * S + 123_456_789, 0),
        ("2020-11-08T13:51:18+02:00", (NOON + 7200) * S, 7200),
        ("2020-11-08 11:51:18 UTC", NOON * S, 0),
        ("Sun Nov  8 11:51:18 2020", NOON * S, None),
        ("Sun Nov  8 11:51:18 UTC 2020", NOON * S, 0),
        ("Sun  8 Nov 11:51:18 CET 2020", NOON * S, 3600),
        ("Sun, 08 Nov 2020 11:51:18 +0000", NOON * S, 0),
        ("11/08/2020 11:51:18 UTC", NOON * S, 0),
        ("11/08/2020 11:51:18 AM EDT", NOON * S, -14400),
        ("11/08/2020 12:51:18 AM", (NOON - 11 * 3600) * S, None),
        ("08.11.2020 11:51", (NOON - 18) * S, None),
        ("20201108 11:51:18", NOON * S, None),
        ("11:51:18:250", (11 * 3600 + 51 * 60 + 18) * S + 250_000_000, None),
        ("5:07:09", (5 * 3600 + 7 * 60 + 9) * S, None),
    ],
)
def test_stamps(text: str, ns: int, offset: int | None) -> None:
    found = written_times.parse(text)
    assert found is not None
    assert (found.ns, found.offset_s) == (ns, offset)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2020-13-40 10:00:00",
        "2021-02-30",
        "99:99:99",
        "Sun Foo 8 11:51:18 2020",
        "12",
        "1/2/3",
        "2020-11-08 11:51:18 XYZT",
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert written_times.parse(text) is None


def test_the_day_comes_first_when_it_must_or_by_default() -> None:
    assert written_times.parse("25/12/2020 10:00:00") == written_times.parse("2020-12-25 10:00:00")
    first = written_times.parse("03/04/2024 10:00", day_first=True)
    assert first == written_times.parse("2024-04-03 10:00")
    assert written_times.parse("03/04/2024 10:00") == written_times.parse("2024-03-04 10:00")
    assert written_times.parse("12/13/2024 10:00", day_first=True) == written_times.parse(
        "2024-12-13 10:00"
    ), "no year has 13 months"


@pytest.mark.parametrize(
    ("value", "name", "kind", "ns"),
    [
        (1_700_000_000.25, "t", "absolute", 1_700_000_000_250_000_000),
        (1_700_000_000_250.0, "t", "absolute", 1_700_000_000_250_000_000),
        (1_700_000_000_250_000.0, "t", "absolute", 1_700_000_000_250_000_000),
        (1.70000000025e18, "t", "absolute", 1_700_000_000_250_000_000),
        (13_588_420.801, "start_time", "elapsed", 13_588_420_801_000_000),
        (1500.0, "t_ms", "elapsed", 1_500_000_000),
        (1500.0, "Elapsed Time (sec)", "elapsed", 1_500_000_000_000),
        (2.5, "time (min)", "elapsed", 150_000_000_000),
    ],
)
def test_numbers_as_time(value: float, name: str, kind: str, ns: int) -> None:
    found = column_times.from_numbers(np.array([value]), name)
    assert found.kind == kind
    assert abs(int(found.ns[0]) - ns) <= 300


def test_midnight_passes() -> None:
    found = column_times.from_texts(["23:59:58", "23:59:59", "0:00:00".zfill(8), "00:00:01"])
    assert (np.diff(found.ns) == S).all()
    assert found.kind == "time of day"


def test_an_autumn_night_with_two_hours_of_the_same_name() -> None:
    texts = [
        f"2024-10-27 {h:02}:{m:02}:00"
        for h, m in [(1, 30), (2, 0), (2, 30), (2, 59), (2, 0), (2, 30), (3, 0)]
    ]
    try:
        found = times.in_zone(column_times.from_texts(texts), "Europe/Berlin")
    except Exception as error:  # a machine without zone files says so
        pytest.skip(str(error))
    assert (np.diff(found.ns) // (60 * S)).tolist() == [30, 30, 29, 1, 30, 30]


def autumn(*hours: tuple[int, int]) -> column_times.TimeColumn:
    """Stamps of the night in which Berlin's clocks showed the time from 2 to 3 twice; 02:00 was at
    00:00 and at 01:00 UTC.
    """
    return times.in_zone(
        column_times.from_texts([f"2024-10-27 {h:02}:{m:02}:00" for h, m in hours]), "Europe/Berlin"
    )


TWO_O_CLOCK = 1_729_987_200 * S  # 00:00 UTC


def test_a_log_inside_the_hour_that_comes_twice_may_be_of_either() -> None:
    found = autumn((2, 0), (2, 10), (2, 20))
    clock = times.clock(found, int(found.ns[0]))
    assert (clock.lo_ns, clock.hi_ns) == (TWO_O_CLOCK, TWO_O_CLOCK + 3600 * S)
    assert "twice" in clock.detail
    assert clock.utc_offset_s is None


def test_a_log_that_goes_on_after_that_hour_was_written_the_second_time_round() -> None:
    found = autumn((2, 40), (2, 50), (3, 0), (3, 10))
    assert found.ns.tolist() == [TWO_O_CLOCK + minutes * 60 * S for minutes in (100, 110, 120, 130)]
    assert found.later_ns == 0


def test_a_log_that_falls_inside_that_hour_was_there_both_times() -> None:
    found = autumn((2, 40), (2, 50), (2, 0), (2, 10))
    assert found.ns.tolist() == [TWO_O_CLOCK + minutes * 60 * S for minutes in (40, 50, 60, 70)]
    assert found.later_ns == 0


def test_times_that_a_zone_never_showed_are_not_of_that_zone() -> None:
    """Berlin's clocks went from 02:00 to 03:00 on 31 March 2024."""
    found = times.in_zone(
        column_times.from_texts(["2024-03-31 02:30:00", "2024-03-31 02:31:00"]), "Europe/Berlin"
    )
    assert found.kind == "local"
    clock = times.clock(found, int(found.ns[0]))
    assert clock.half_ns == 13 * 3600 * S  # any zone
    assert "never showed" in clock.detail


def test_a_clock_without_a_zone_is_resolved_once() -> None:
    column = column_times.from_texts(["2024-03-01 10:00:00", "2024-03-01 10:00:01"])
    naive = times.clock(column, int(column.ns[0]))
    assert naive.half_ns == 13 * 3600 * S
    exact = times.with_offset(naive, -10800)
    assert exact.lo_ns == exact.hi_ns == int(column.ns[0]) + 10800 * S
    assert exact.detail == "local time at UTC-03:00"
    assert times.with_offset(exact, 3600) == exact
    assert times.with_offset(Clock(), 3600) == Clock()
    assert times.bmc(exact).half_ns == times.BMC_SLACK
    assert times.bmc(naive).source == times.LOCAL


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("UTC", 0),
        ("+02:00", 7200),
        ("-0330", -12600),
        ("UTC+1", 3600),
        ("EDT", -14400),
        ("nowhere", None),
    ],
)
def test_zone_names(name: str, seconds: int | None) -> None:
    assert written_times.zone_offset(name) == seconds


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("power.draw [W]", "W"),
        ("Actual Consumption/W", "W"),
        ("Processor Power_0(Watt)", "W"),
        ("cpu_power_mw", "mW"),
        ("GPU 0 (uW)", "uW"),
        ("energy_uj", "uJ"),
        ("Cumulative Processor Energy_0(mWh)", "mWh"),
        ("gpu0_energy_j", "J"),
        ("node_rapl_package_joules_total", "J"),
        ("nvidia_gpu_power_usage_milliwatts", "mW"),
        ("watts", "W"),
        ("W", "W"),
        ("Average Graphics Package Power (W)", "W"),
        ("Current Socket Graphics Package Power (W)", "W"),
        ("power.limit [W]", None),
        ("Package Power Limit_0(Watt)", None),
        ("Voltage/V", None),
        ("Current/A", None),
        ("temperature", None),
        ("window", None),
        ("j", None),
        ("utilization.gpu [%]", None),
        ("max_energy_range_uj", None),
    ],
)
def test_units_of_names(name: str, unit: str | None) -> None:
    found = units.unit_of_name(name)
    assert (found.name if found else None) == unit


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("Total Power", "node"),
        ("total_power", "node"),
        ("Pwr Consumption", "node"),
        ("ipmi_dcmi_power_consumption", "node"),
        ("p0_power", "package"),
        ("Proc0 Power", "package"),
        ("package-0", "package"),
        ("PkgWatt", "package"),
        ("CPU", "package"),
        ("Mem Proc0 Pwr", "dram"),
        ("p0_mem_power", "dram"),
        ("DRAM Power_0", "dram"),
        ("RAMWatt", "dram"),
        ("p0_io_power", "rail"),
        ("fan_disk_power", "rail"),
        ("ps0_input_power", "rail"),
        ("PCIE Proc0 Pwr", "rail"),
        ("Mem Cache Power", "dram"),
        ("GPU0", "gpu"),
        ("Average Graphics Package Power (W)", "gpu"),
        ("DCGM_FI_DEV_POWER_USAGE", "gpu"),
        ("core", "core"),
        ("IA Power_0", "core"),
        ("CorWatt", "core"),
        ("watts", "unknown"),
        ("a", "unknown"),
    ],
)
def test_scopes_of_names(name: str, scope: str) -> None:
    assert units.scope_of(name).value == scope
