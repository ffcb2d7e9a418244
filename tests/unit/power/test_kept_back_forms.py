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
from powertui.errors import UnreadableFile

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


def pdh(bias: str) -> str:
    header = (
        f'"(PDH-CSV 4.0) {bias}","\\\\NODE7\\Power Meter(_Total)\\Power",'
        '"\\\\NODE7\\Power Meter(_Total)\\Power Budget","\\\\NODE7\\Memory\\Machine MBytes"\n'
    )
    return header + rows(
        lambda s, w: f'"{utc(s + 3600, "%m/%d/%Y %H:%M:%S")}.512","{w * 1000}.0","0","262144"\n'
    )


def test_windows_counters_are_milliwatts_of_the_host_in_their_names(tmp_path: Path) -> None:
    log = read(tmp_path, "power.csv", pdh("(W. Europe Standard Time)(-60)"))
    (series,) = log.series
    assert (series.sensor.host, series.sensor.scope) == ("NODE7", Scope.NODE)
    assert np.mean(series.watts) == pytest.approx(MEAN)
    assert series.clock.lo_ns == START * 10**9 + 512_000_000


def test_windows_counters_without_a_zone_are_local_times(tmp_path: Path) -> None:
    (series,) = read(tmp_path, "power.csv", pdh("")).series
    assert series.clock.lo_ns != series.clock.hi_ns


def test_afterburner_tells_units_apart_from_names(tmp_path: Path) -> None:
    at = "21-11-2026 01:33:34"
    text = (
        f"00, {at}, Hardware monitoring log v1.6 \r\n01, {at}, Radeon RX 560 Series\r\n"
        f"02, {at}, GPU usage           ,Power               ,CPU power           \r\n"
        f"03, {at}, 0   , %  , 0.000 , 100.000 , 10 ,  ,  , %.3f \r\n"
        f"03, {at}, 1   , W  , 0.000 , 300.000 , 10 ,  ,  , %.3f \r\n"
        f"03, {at}, 2   , W  , 0.000 , 300.000 , 10 ,  ,  , %.3f \r\n"
    ) + rows(lambda s, w: f"80, {utc(s, '%d-%m-%Y %H:%M:%S')}, 99.000 ,{w}.000 ,{w / 2:.3f}\r\n")
    log = read(tmp_path, "HardwareMonitoring.hml", text, tz="UTC")
    assert log.dialect == "afterburner"
    gpu, cpu = log.series
    assert (gpu.sensor.scope, cpu.sensor.scope) == (Scope.GPU, Scope.PACKAGE)
    assert np.mean(gpu.watts) == pytest.approx(MEAN)
    assert gpu.clock.lo_ns == START * 10**9


def test_titles_with_a_colon_are_no_header(tmp_path: Path) -> None:
    text = (
        '"Title:","node7 - Power"\n"Vertical Label:","Watts"\n"Start Date:","2026-11-21 01:33:34"\n'
        '"Step:","1"\n"Total Rows:","16"\n\n"Date","Power"\n'
    ) + rows(lambda s, w: f'"{utc(s)}","{w}.0000"\n')
    (series,) = read(tmp_path, "cacti.csv", text, tz="UTC").series
    assert np.mean(series.watts) == pytest.approx(MEAN)


def test_one_reading_in_three_units_is_one_channel(tmp_path: Path) -> None:
    text = "time,P (W),P (mW),P (kW)\n" + rows(
        lambda s, w: f"{START + s},{w},{w * 1000},{w / 1000}\n"
    )
    log = read(tmp_path, "units.csv", text)
    (series,) = log.series
    assert np.mean(series.watts) == pytest.approx(MEAN)
    assert any("in another unit" in str(warning) for warning in log.warnings)


def test_gaudi_s_rows_without_a_header(tmp_path: Path) -> None:
    text = rows(
        lambda s, w: (
            f"{utc(s, '%a %b %d %H:%M:%S UTC %Y')}, 0, AM4100, 0000:19:00.0, 900 MiB, 40 C, 0 %, {w} W\n"
            f"{utc(s, '%a %b %d %H:%M:%S UTC %Y')}, 1, AM4101, 0000:20:00.0, 901 MiB, 40 C, 0 %, 90 W\n"
        )
    )
    first, second = read(tmp_path, "hl-smi.log", text).series
    assert (np.mean(first.watts), np.mean(second.watts)) == (pytest.approx(MEAN), 90)
    assert first.clock.lo_ns == START * 10**9


def test_the_zone_in_the_name_of_a_column(tmp_path: Path) -> None:
    text = "Time Bucket (America/New_York),Server (kWatts)\n" + rows(
        lambda s, w: f"{utc(s - 5 * 3600, '%m/%d/%Y %H:%M:%S')},{w / 1000}\n"
    )
    (series,) = read(tmp_path, "emporia.csv", text).series
    assert series.clock.lo_ns == series.clock.hi_ns == START * 10**9


@pytest.mark.parametrize(
    ("name", "text", "says", "never"),
    [
        (
            "monsoon.csv",
            "Time(s),Main(mA),Main Voltage(V)\n" + rows(lambda s, w: f"{s},{w},12.0\n"),
            "By their names none is power",
            "--watts-col 'Main(mA)'",
        ),
        (
            "pmon.txt",
            "# gpu pid type sm mem command\n# Idx # C/G % % name\n"
            + rows(lambda s, w: f"0 1234 C {s} 12 python\n"),
            "By their names none is power",
            "--watts-col '#'",
        ),
        (
            "neuron.jsonl",
            rows(lambda s, w: '{"neuron_runtime_data": [{"pid": 1}], "period": 1.0}\n'),
            "is JSON without objects that hold a time and a power",
            "columns are",
        ),
    ],
)
def test_a_refusal_never_names_another_quantity_as_power(
    name: str, text: str, says: str, never: str, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableFile) as refused:
        read(tmp_path, name, text)
    told = f"{refused.value} {refused.value.hint}"
    assert says in told
    assert never not in told
