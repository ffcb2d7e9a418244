"""Tables as loggers, spreadsheets and dashboards leave them: read right, or left out with a sentence, never wrong in silence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
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
    return "".join(line(at, watts) + "\n" for at, watts in zip(AT[first:last].tolist(), WATTS[first:last].tolist(), strict=True))


def holds(log: PowerLog, watts: np.ndarray = WATTS) -> None:
    (series,) = log.series
    np.testing.assert_allclose(series.watts, watts, atol=1e-6)
    assert (series.times[-1] - series.times[0]) / 1e9 == pytest.approx(0.5 * (len(watts) - 1), abs=0.01)


SAME = {
    "decimal commas, Unix time": ("time;power_w\n", lambda t, w: f"{t:.3f};{w:.2f}".replace(".", ",")),
    "points between thousands": ("time;milliwatts\n", lambda t, w: f"{t:.3f};".replace(".", ",") + f"{w:.0f}.000,0"),
    "the newest row first": None,
    "an epoch is no time": ("elapsed_s,epoch,watts\n", lambda t, w: f"{t - ZERO:.2f},{(t - ZERO) // 15:.0f},{w}"),
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


@pytest.mark.parametrize("name", ["power_btu_h", "power_hp", "power_percent", "power_dbm"])
def test_other_units_are_never_watts(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        read(tmp_path, f"time,{name}\n" + rows(lambda t, w: f"{t:.3f},{w}"))
