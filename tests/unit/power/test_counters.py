"""Energy counters and units of energy: the counter's own range, and what a written unit is in
joules.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from powertui.data.power import counters, registry, units, windows
from powertui.data.power.notes import Notes
from powertui.verbs import common

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("name", "quantity", "joules"),
    [
        ("energy [mWh]", "energy", 3.6),
        ("energy [Wh]", "energy", 3600.0),
        ("energy [kWh]", "energy", 3.6e6),
        ("energy_mj", "energy", 1e-3),
        ("energy_uj", "energy", 1e-6),
        ("power [kW]", "power", 1e3),
        ("power [mW]", "power", 1e-3),
        ("power_uw", "power", 1e-6),
    ],
)
def test_a_unit_in_joules_or_watts(name: str, quantity: str, joules: float) -> None:
    unit = units.unit_of_name(name)
    assert unit is not None
    assert (unit.quantity, unit.factor) == (quantity, joules)


def test_every_unit_can_be_named_on_the_command_line() -> None:
    assert tuple(units.UNITS) == common.UNITS


def test_a_counter_wraps_at_the_range_that_its_log_tells() -> None:
    """1000 J is nobody's usual range: without the log's word a fall from 990 to 20 would be a
    reset.
    """
    ns = np.arange(5, dtype=np.int64) * SECOND
    values = np.array([930.0, 960.0, 990.0, 20.0, 50.0])
    told = Notes("x.csv")
    energy, watts = counters.intervals(ns, values, told, "package-0", 1000.0)
    assert energy[1:].tolist() == [30.0, 30.0, 30.0, 30.0]
    assert watts[1:].tolist() == [30.0, 30.0, 30.0, 30.0]
    unknown, _ = counters.intervals(ns, values, Notes("x.csv"), "package-0", None)
    assert np.isnan(unknown).tolist() == [True, False, False, True, False]


def test_a_dump_of_sysfs_wraps_at_its_own_range(tmp_path: Path) -> None:
    zone = "intel-rapl/intel-rapl:0"
    lines = [
        f"1700000000.0 {zone}/name: package-0",
        f"1700000000.0 {zone}/max_energy_range_uj: 1000000000",
    ]
    lines += [
        f"{1700000000 + i}.0 {zone}/energy_uj: {(930 + 30 * i) % 1000}000000" for i in range(8)
    ]
    path = tmp_path / "rapl.txt"
    path.write_text("\n".join(lines) + "\n")
    (series,) = registry.load(str(path)).series
    assert series.joules is not None
    assert series.joules[1:] == pytest.approx(30.0)


def test_a_counter_that_is_read_once_a_minute_wraps_too() -> None:
    """3 kJ between two readings are nothing unusual then: 50 W.

    As much within a second would be a reset.
    """
    values = np.array(
        [50_000.0, 53_000.0, 56_000.0, 59_000.0, 62_000.0, 65_000.0, 68_000.0 - 65_532.610987]
    )
    slow, _ = counters.intervals(np.arange(7, dtype=np.int64) * 60 * SECOND, values, Notes("x.csv"))
    assert slow[1:] == pytest.approx(3000.0)


def test_windows_that_nearly_touch_are_one_course() -> None:
    """Begin and length are written with a rounding each: only what lies further apart than that is
    a hole.
    """
    starts = np.array(
        [
            0,
            SECOND + windows.MAX_TOUCHING_NS,
            2 * SECOND + windows.MAX_TOUCHING_NS + 1 + windows.MAX_TOUCHING_NS,
        ],
        np.int64,
    )
    ends = np.array([SECOND, 2 * SECOND + windows.MAX_TOUCHING_NS, 4 * SECOND], np.int64)
    ns, _, joules = windows.interval_rows(
        starts, ends, np.array([100.0, 90.0, 80.0]), np.arange(3), Notes("x.csv")
    )
    assert ns.tolist() == [
        0,
        SECOND,
        2 * SECOND + windows.MAX_TOUCHING_NS,
        int(starts[2]),
        4 * SECOND,
    ]
    assert np.isnan(joules).tolist() == [True, False, False, True, False]
