"""Tables as loggers, spreadsheets and dashboards leave them: read right, or left out with a
sentence, never wrong in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.model import Badge
from powertui.data.power import registry
from powertui.data.power.options import PowerLog
from powertui.errors import UnreadableFile

ZERO = 1_795_283_292.0
AT = ZERO + 0.5 * np.arange(60)
WATTS = 200 + 100.0 * (np.arange(60) // 10 % 2)


def read(tmp_path: Path, text: str, *, encoding: str = "utf-8") -> PowerLog:
    path = tmp_path / "power.csv"
    path.write_bytes(text.encode(encoding))
    return registry.load(str(path), LogColumns())


def rows(line: Callable[[float, float], str], first: int = 0, last: int = 60) -> str:
    return "".join(
        line(at, watts) + "\n"
        for at, watts in zip(AT[first:last].tolist(), WATTS[first:last].tolist(), strict=True)
    )


def holds(log: PowerLog, watts: np.ndarray = WATTS) -> None:
    (series,) = log.series
    np.testing.assert_allclose(series.watts, watts, atol=1e-6)
    assert (series.times[-1] - series.times[0]) / 1e9 == pytest.approx(
        0.5 * (len(watts) - 1), abs=0.01
    )


SAME = {
    "decimal commas, Unix time": (
        "time;power_w\n",
        lambda t, w: f"{t:.3f};{w:.2f}".replace(".", ","),
    ),
    "points between thousands": (
        "time;milliwatts\n",
        lambda t, w: f"{t:.3f};".replace(".", ",") + f"{w:.0f}.000,0",
    ),
    "the newest row first": None,
    "an epoch is no time": (
        "elapsed_s,epoch,watts\n",
        lambda t, w: f"{t - ZERO:.2f},{(t - ZERO) // 15:.0f},{w}",
    ),
    "units below the header": ("time,power\ns,kW\n", lambda t, w: f"{t:.3f},{w / 1000:.4f}"),
    "the same header again": ("time,watts\ntime,watts\n", lambda t, w: f"{t:.3f},{w}"),
}


@pytest.mark.parametrize("what", SAME)
def test_the_same_readings_written_otherwise(what: str, tmp_path: Path) -> None:
    if SAME[what] is None:
        lines = rows(lambda t, w: f"{t:.3f},{w}").splitlines()
        holds(read(tmp_path, "time,watts\n" + "\n".join(reversed(lines)) + "\n"))
    else:
        head, line = SAME[what]
        holds(read(tmp_path, head + rows(line)))


def test_columns_in_another_order_after_a_restart(tmp_path: Path) -> None:
    text = "time,watts,volts\n" + rows(lambda t, w: f"{t:.3f},{w},12.1", 0, 30)
    holds(read(tmp_path, text + "time,volts,watts\n" + rows(lambda t, w: f"{t:.3f},12.1,{w}", 30)))


def test_rows_below_another_header_are_left_out_and_told(tmp_path: Path) -> None:
    text = "time,power [W]\n" + rows(lambda t, w: f"{t:.3f},{w}", 0, 30)
    log = read(tmp_path, text + "time,power [kW]\n" + rows(lambda t, w: f"{t:.3f},{w / 1000}", 30))
    holds(log, WATTS[:30])
    assert any("another header (time, power [kW])" in str(words) for words in log.warnings)


def test_days_of_a_spreadsheet_are_no_seconds(tmp_path: Path) -> None:
    log = read(tmp_path, "time,watts\n" + rows(lambda t, w: f"{t / 86400 + 25569:.9f},{w}"))
    holds(log)
    assert "days of a spreadsheet" in log.guess


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("time;watts\n", "{:.0f};2.{:03d}"),  # nothing says what the point parts
        ("time;watts;temp\n", "{:.0f};2.{:03d};45.1"),
        ("time,watts\n", "{:.0f},2.{:03d}"),
    ],
)
def test_a_point_before_three_digits_parts_decimals_where_nothing_says_otherwise(
    text: str, factor: str, tmp_path: Path
) -> None:
    log = read(tmp_path, text + "".join(factor.format(ZERO + i, 10 * i) + "\n" for i in range(20)))
    (series,) = log.series
    np.testing.assert_allclose(series.watts, 2 + 0.01 * np.arange(20))
    asked = [str(words) for words in log.warnings if "1,000 times" in str(words)]
    assert bool(asked) == (text == "time;watts\n")
    if asked:
        assert series.sensor.scale is Badge.ASSUMED


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        (
            "time;watts;temp",
            ["2.000;45,1", "1.950;45,2", "2.010;45,3"],
        ),  # the other column parts decimals by a comma
        ("time;watts", ["2.000", "950", "1.010"]),  # who writes three decimals writes 950.000
        ("time;power_mw", ["200.000", "1.195.000", "210.000"]),
        ("time,watts", ['"2,000"', '"1,950"', '"2,010"']),
        ("time;watts;temp", ["2,000;45.1", "1,950;45.2", "2,010;45.3"]),
    ],
)
def test_thousands_with_a_sign_between_them(head: str, cells: list[str], tmp_path: Path) -> None:
    cut = "," if head[4] == "," else ";"
    log = read(
        tmp_path, head + "\n" + "".join(f"{ZERO + i:.0f}{cut}{cells[i % 3]}\n" for i in range(18))
    )
    said = [
        float(cell.split(";")[0].strip('"').replace(".", "").replace(",", "")) for cell in cells
    ]
    np.testing.assert_allclose(
        log.series[0].watts[:3], np.array(said) / (1000 if "mw" in head else 1)
    )
    assert any("separate thousands" in str(words) for words in log.warnings)


def test_a_date_that_may_be_two_is_told(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        "time,watts\n" + "".join(f"03/04/2026 10:00:{i:02d},{200 + i}\n" for i in range(20)),
    )
    assert any("03/04/2026 is read month first" in str(words) for words in log.warnings)
    for date in ("23/04/2026", "2026-03-04", "04/04/2026"):
        log = read(
            tmp_path,
            "time,watts\n" + "".join(f"{date} 10:00:{i:02d},{200 + i}\n" for i in range(20)),
        )
        assert not log.warnings


def test_days_since_1970_are_no_seconds(tmp_path: Path) -> None:
    log = read(tmp_path, "time,watts\n" + rows(lambda t, w: f"{t / 86400:.9f},{w}"))
    holds(log)
    assert "Unix days" in log.guess


def test_rows_that_are_swapped_are_put_in_order(tmp_path: Path) -> None:
    lines = rows(lambda t, w: f"{t:.3f},{w}").splitlines()
    holds(read(tmp_path, "time,watts\n" + "".join(f"{lines[i ^ 1]}\n" for i in range(len(lines)))))


def test_hexadecimal_numbers_are_no_noughts(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        read(tmp_path, "time,watts\n" + "".join(f"{ZERO + i:.0f},0xca\n" for i in range(20)))


@pytest.mark.parametrize("name", ["power_btu_h", "power_hp", "power_percent", "power_dbm"])
def test_other_units_are_never_watts(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        read(tmp_path, f"time,{name}\n" + rows(lambda t, w: f"{t:.3f},{w}"))


def test_rows_that_write_the_same_unit_in_two_ways_are_all_read(tmp_path: Path) -> None:
    lines = [
        f"{1_790_000_000 + t},{name},{watts},{unit}"
        for t in range(9)
        for name, watts, unit in (("cpu", 90 + t, "W"), ("board", 200 + t, "Watts"))
    ]
    path = tmp_path / "long.csv"
    path.write_text("time,sensor,value,unit\n" + "\n".join(lines) + "\n")
    log = registry.load(str(path))
    assert sorted((len(series), float(series.watts[0])) for series in log.series) == [
        (9, 90.0),
        (9, 200.0),
    ]
