"""Forms of logs that nothing was tuned on: dates in many languages, signs between thousands, and
tables of programs that write sensors inside a machine beside its voltages.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.model import Scope
from powertui.data.power import registry, units, written_times
from powertui.data.power.cells import number
from powertui.data.power.options import PowerLog

START = 1_795_224_814  # 2026-11-21 01:33:34 UTC
WATTS = [200 + 60 * (4 <= second < 10) + second % 3 for second in range(16)]
MEAN = sum(WATTS) / len(WATTS)


def rows(form: Callable[[int, int], str]) -> str:
    return "".join(form(second, watts) for second, watts in enumerate(WATTS))


def utc(second: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    return time.strftime(form, time.gmtime(START + second))


def read(folder: Path, name: str, text: str, **columns: str) -> PowerLog:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return registry.load(str(path), LogColumns(**columns))


@pytest.mark.parametrize(
    ("text", "utc_text"),
    [
        ("Sa 21. Nov 01:33:34 UTC 2026", "2026-11-21 01:33:34"),
        ("So 3. Mai 2026 01:33:34 CEST", "2026-05-02 23:33:34"),
        ("Di 3. Mär 2026 01:33:34 CET", "2026-03-03 00:33:34"),
        ("sam. 21 nov. 2026 01:33:34 UTC", "2026-11-21 01:33:34"),
        ("jeu. 02 juil. 2026 01:33:34 CEST", "2026-07-01 23:33:34"),
        ("jeu. 04 juin 2026 01:33:34 CEST", "2026-06-03 23:33:34"),
        ("sáb 21 nov 2026 01:33:34 UTC", "2026-11-21 01:33:34"),
        ("sab 21 nov 2026, 01:33:34, UTC", "2026-11-21 01:33:34"),
        ("za 21 mrt 2026 01:33:34 UTC", "2026-03-21 01:33:34"),
        ("21 paź 2026, 01:33:34", "2026-10-21 01:33:34"),
        ("2026年 11月 21日 土曜日 01:33:34 UTC", "2026-11-21 01:33:34"),
        ("2026年11月21日 星期六 01:33:34 UTC", "2026-11-21 01:33:34"),
        ("2026年11月21日 09时33分34秒", "2026-11-21 09:33:34"),
        ("2026. 11. 21. (토) 01:33:34 KST", "2026-11-20 16:33:34"),
    ],
)
def test_dates_in_other_languages(text: str, utc_text: str) -> None:
    written = written_times.parse(text)
    assert written is not None
    moment = time.gmtime(written.ns // 10**9 - (written.offset_s or 0))
    assert time.strftime("%Y-%m-%d %H:%M:%S", moment) == utc_text


@pytest.mark.parametrize(
    "text", ["12 servers 2026 10:00:00", "21 foo 2026 10:00:00", "3 max 10:00:00"]
)
def test_words_that_are_no_months_are_no_dates(text: str) -> None:
    assert written_times.parse(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("184\u202f000,5", 184000.5),
        ("184\u00a0000 mW", 184000),
        ("1'184'000.5", 1184000.5),
        ("184\u2019000", 184000),
        ("12'34", np.nan),
        ("184 000", np.nan),  # two cells where blanks part cells
    ],
)
def test_signs_that_part_thousands_alone(text: str, value: float) -> None:
    assert number(text) == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize(
    "name",
    [
        "Leistung",
        "Puissance active",
        "Potencia",
        "Potência",
        "Potenza",
        "Vermogen",
        "功率",
        "消費電力",
    ],
)
def test_power_in_other_languages(name: str) -> None:
    assert units.means_power(name)


@pytest.mark.parametrize(
    "name",
    [
        "Scheinleistung",
        "Blindleistung",
        "Nennleistung",
        "Leistungsfaktor",
        "Leistungsgrenze",
        "Puissance réactive",
        "Facteur de puissance",
        "Potencia aparente",
        "功率因数",
        "额定功率",
        "最大電力",
    ],
)
def test_what_is_no_power_in_other_languages(name: str) -> None:
    assert not units.means_power(name)


@pytest.mark.parametrize(
    ("name", "unit"), [("Мощность, Вт", "W"), ("Мощность (кВт)", "kW"), ("Энергия, кВт·ч", "kWh")]
)
def test_units_in_cyrillic(name: str, unit: str) -> None:
    found = units.unit_of_name(name)
    assert found is not None
    assert found.name == unit


def test_sensors_inside_a_machine_are_no_wall_plug(tmp_path: Path) -> None:
    text = (
        "        Date        , GPU Load [%] , Board Power Draw [W] , GPU Chip Power Draw [W] , "
        "PWR_SRC Voltage [V] , GPU Voltage [V] ,\n"
    ) + rows(lambda s, w: f"{utc(s)} ,  12  ,  {w}.0  ,  {w * 0.6:.1f} ,  12.1 , 0.9 ,\n")
    board, chip = read(tmp_path, "GPU-Z Sensor Log.txt", text, tz="UTC").series
    assert (board.sensor.scope, chip.sensor.scope) == (Scope.GPU, Scope.CORE)
    assert np.mean(board.watts) == pytest.approx(MEAN)


def test_scalars_that_tensorboard_saved(tmp_path: Path) -> None:
    text = "Wall time,Step,Value\n" + rows(lambda s, w: f"{START + s}.25,{s},{w}\n")
    (series,) = read(tmp_path, "gpu_power_watts.csv", text).series
    assert (series.sensor.scope, np.mean(series.watts)) == (Scope.GPU, pytest.approx(MEAN))
    long = "run,tag,step,value,wall_time\n" + rows(
        lambda s, w: (
            f"train,power/gpu0_watts,{s},{w},{START + s}.1\ntrain,loss,{s},0.5,{START + s}\n"
        )
    )
    (series,) = read(tmp_path, "scalars.csv", long).series
    assert np.mean(series.watts) == pytest.approx(MEAN)


def test_a_german_table_with_a_column_of_units(tmp_path: Path) -> None:
    text = "sep=;\nZeit;Leistung;Einheit\n" + rows(
        lambda s, w: f"{utc(s, '%d.%m.%Y %H:%M:%S')};{w},00;W\n"
    )
    (series,) = read(tmp_path, "plug.csv", text, tz="UTC").series
    assert np.mean(series.watts) == pytest.approx(MEAN)
