"""Logs as scripts and spreadsheets of others write them: logfmt, years of two digits, merged cells,
rows of stretches.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from powertui.data.energy import integrate, sensor
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_S
from powertui.data.power import registry
from powertui.data.power.written_times import parse
from powertui.errors import UnreadableFile

NOON = datetime(2025, 11, 21, 12, tzinfo=timezone.utc)
ROWS = 60


def watts(row: int) -> float:
    return (100.0 if row < 20 else 300.0) + row % 7


def moments() -> list[tuple[int, datetime]]:
    return [(row, NOON + timedelta(seconds=row)) for row in range(ROWS)]


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.parametrize(
    "line",
    [
        'ts={:%Y-%m-%dT%H:%M:%SZ} level=info msg="a sample" watts={:.1f}\n',
        "time={:%Y-%m-%dT%H:%M:%SZ} node_watts={:.1f}\n",
        "{:%Y-%m-%dT%H:%M:%SZ} INFO meter: gpu_power_w={:.1f} max_power_w=400.0\n",
    ],
)
def test_logfmt_says_the_unit_in_its_key(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(at, watts(row)) for row, at in moments())
    (series,) = registry.load(written(tmp_path, "meter.log", text)).series
    assert series.watts.tolist() == [watts(row) for row in range(ROWS)]


def test_a_year_of_two_digits_is_read_where_nothing_else_can_be_meant(tmp_path: Path) -> None:
    for form in ("%d.%m.%y %H:%M:%S", "%m/%d/%y %H:%M:%S"):
        text = "when;watt\n" + "".join(f"{at:{form}};{watts(row)}\n" for row, at in moments())
        log = registry.load(written(tmp_path, "meter.csv", text))
        assert len(log.series[0]) == ROWS
    for either in ("25/11/21 12:00:00", "05/11/21 12:00:00", "21-11-25 12:00:00"):
        assert parse(either) is None
    assert parse("21.11.25 12:00:00") == parse("21.11.2025 12:00:00")
    assert parse("11/21/25 12:00:00") == parse("11/21/2025 12:00:00")


def test_a_year_that_may_be_a_day_is_asked_about(tmp_path: Path) -> None:
    rows = (f"{at:%y/%m/%d %H:%M:%S};{watts(row)}\n" for row, at in moments())
    with pytest.raises(UnreadableFile, match="no column that can be read as time"):
        registry.load(written(tmp_path, "meter.csv", "when;watt\n" + "".join(rows)))


def test_the_date_of_merged_cells_is_that_of_all_rows_below(tmp_path: Path) -> None:
    rows = (
        f"{f'{at:%Y-%m-%d}' if row in (0, 30) else ''},{at:%H:%M:%S},{watts(row)}\n"
        for row, at in moments()
    )
    text = "date,time,power (W)\n" + "".join(rows)
    log = registry.load(written(tmp_path, "meter.csv", text))
    assert len(log.series[0]) == ROWS
    assert "local time without a zone" in log.guess


def test_a_midnight_among_merged_cells_is_not_guessed(tmp_path: Path) -> None:
    late = [(row, at + timedelta(hours=11, minutes=59, seconds=30)) for row, at in moments()]
    rows = (
        f"{f'{at:%Y-%m-%d}' if row == 0 else ''},{at:%H:%M:%S},{watts(row)}\n" for row, at in late
    )
    text = "date,time,power (W)\n" + "".join(rows)
    log = registry.load(written(tmp_path, "meter.csv", text))
    assert "time of day, without a date" in log.guess


def test_the_energy_of_a_stretch_was_drawn_until_its_end(tmp_path: Path) -> None:
    """Rows of minutes: the load rises with the minute that begins at 12:20."""
    rows = []
    for row in range(ROWS):
        begin = NOON + timedelta(minutes=row)
        end = begin + timedelta(minutes=1)
        rows.append(f"{begin:%Y-%m-%dT%H:%M:%SZ},{end:%Y-%m-%dT%H:%M:%SZ},{watts(row) / 60}\n")
    text = "start,end,energy_wh\n" + "".join(rows)
    (series,) = registry.load(written(tmp_path, "meter.csv", text)).series
    begun = series.times[:-1][series.watts[1:] > 250]
    # The log's zero is where its first stretch began.
    assert NOON + timedelta(microseconds=int(begun[0]) // 1000) == NOON + timedelta(minutes=20)


def _stretches(rows: list[tuple[int, int, float]]) -> str:
    """A table of (begin, end, joules), in Unix seconds."""
    begin_s = int(NOON.timestamp())
    lines = (f"{begin_s + start},{begin_s + end},{joules}\n" for start, end, joules in rows)
    return "start,end,energy_j\n" + "".join(lines)


def _energy(text: str, folder: Path) -> Energy:
    (series,) = registry.load(written(folder, "meter.csv", text)).series
    return integrate.of_series(sensor.describe(series))


def test_the_first_stretch_counts_and_a_pause_between_two_does_not(tmp_path: Path) -> None:
    rows = [(0, 5, 1000.0), (5, 10, 900.0), (10, 15, 1100.0), (75, 80, 950.0), (80, 85, 1050.0)]
    (series,) = registry.load(written(tmp_path, "meter.csv", _stretches(rows))).series
    assert np.nansum(series.joules) == pytest.approx(5000)
    assert series.times[0] == 0
    assert np.nanmax(series.watts) == pytest.approx(220)
    assert np.isnan(series.watts[series.times == 75 * 10**9]).all()


def test_energies_of_stretches_that_grow_by_chance_are_no_counter(tmp_path: Path) -> None:
    """A machine that warms up: ten stretches of 5 s, each a joule more than the one before."""
    rows = [(5 * row, 5 * row + 5, 1000.0 + row) for row in range(10)]
    energy = _energy(_stretches(rows), tmp_path)
    assert energy.joules == pytest.approx(10_045)
    assert energy.hi_ps - energy.lo_ps == 50 * PS_PER_S


def test_a_total_that_grows_from_its_first_stretch_is_a_counter(tmp_path: Path) -> None:
    rows = [(5 * row, 5 * row + 5, 1000.0 * (row + 1)) for row in range(10)]
    energy = _energy(_stretches(rows), tmp_path)
    assert energy.mean_w == pytest.approx(200)
