"""Logs that were once read wrongly without a word: several channels as one, energy in the wrong
place, a unit that cannot be.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.energy import integrate, sensor
from powertui.data.model import Badge, Device, PowerSeries, Scope
from powertui.data.power import registry
from powertui.data.power.options import PowerLog
from powertui.errors import UnreadableFile

START = 1_714_557_600
Written = Callable[[str], PowerLog]


@pytest.fixture
def log(tmp_path: Path) -> Written:
    def read(text: str, options: LogColumns | None = None) -> PowerLog:
        path = tmp_path / "log.csv"
        path.write_text(text)
        return registry.load(str(path), options)

    return read


def means(log: PowerLog) -> list[float]:
    return [round(float(np.nanmean(series.watts))) for series in log.series]


def said(log: PowerLog) -> str:
    return " ".join(
        str(warning)
        for warning in (*log.warnings, *(w for series in log.series for w in series.warnings))
    )


# ── several channels in one column ───────────────────────────────────────────────────────────────


def rounds(row: Callable[[str, int, float], str], count: int = 8, seconds: int = 20) -> str:
    rng = random.Random(1)
    return "".join(
        row(f"2024/05/01 10:00:{t:02}.{100 + 3 * g}", g, 600 + 5 * g + rng.random()) + "\n"
        for t in range(seconds)
        for g in range(count)
    )


UUIDS = [f"GPU-8f6e2a54-0000-0000-0000-00000000000{g}" for g in range(8)]


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("timestamp, gpu, power.draw [W]\n", lambda when, g, w: f"{when}, {g}, {w:.2f} W"),
        (
            "timestamp, gpu_id, name, power.draw\n",
            lambda when, g, w: f"{when}, {g}, NVIDIA H100, {w:.2f}",
        ),
        (
            "timestamp, power.draw [W], pci.bus_id\n",
            lambda when, g, w: f"{when}, {w:.2f} W, 00000000:{0x1B + g:02X}:00.0",
        ),
        (
            "timestamp, uuid, index, power.draw [W]\n",
            lambda when, g, w: f"{when}, {UUIDS[g]}, {g}, {w:.2f} W",
        ),
        (
            "timestamp, name, power.draw [W], memory.used [MiB]\n",
            lambda when, g, w: f"{when}, H100, {w:.2f} W, {70000 + g} MiB",
        ),
        ("timestamp, name, power.draw [W]\n", lambda when, g, w: f"{when}, NVIDIA H100, {w:.2f} W"),
        ("", lambda when, g, w: f"{when}, {w:.2f} W, 97 %"),
        ("", lambda when, g, w: f"{when}, {g}, {w:.2f} W, 97 %"),
        ("", lambda when, g, w: f"{when}, {UUIDS[g]}, {w:.2f} W, 97 %"),
    ],
    ids=[
        "gpu",
        "gpu_id",
        "pci",
        "uuid",
        "turns by memory",
        "turns by time",
        "no header",
        "no header, index",
        "no header, uuid",
    ],
)
def test_eight_gpus_are_never_one(
    log: Written, head: str, row: Callable[[str, int, float], str]
) -> None:
    found = log(head + rounds(row))
    assert found.dialect == "nvidia-smi"
    assert [len(series) for series in found.series] == [20] * 8
    assert sorted(means(found)) == pytest.approx([600 + 5 * g for g in range(8)], abs=1)
    assert len({series.sensor.name for series in found.series}) == 8


def test_devices_are_known_by_all_that_the_log_tells(log: Written) -> None:
    found = log(
        "timestamp, index, uuid, pci.bus_id, name, host, power.draw [W]\n"
        + "".join(
            (
                f"2024/05/01 10:00:{t:02}.100, {g}, {UUIDS[g]}, 00000000:{0x1B + g:02X}:00.0, "
                f"NVIDIA H100, {host}, {600 + g} W\n"
            )
            for t in range(5)
            for host in ("a", "b")
            for g in range(2)
        )
    )
    assert [(s.sensor.host, s.sensor.name, s.sensor.device) for s in found.series] == [
        (host, f"GPU {g}", Device(g, UUIDS[g], f"0000:{0x1B + g:02x}:00.0", "NVIDIA H100"))
        for host in ("a", "b")
        for g in range(2)
    ]


def test_two_nameless_channels_are_two(log: Written) -> None:
    """The fewest that can take turns."""
    found = log(
        "timestamp, power [W]\n"
        + "".join(
            f"2024/05/01 10:00:{t:02}.{g}, {(300, 90)[g]}\n" for t in range(20) for g in (0, 1)
        )
    )
    assert [series.watts.tolist() for series in found.series] == [[300.0] * 20, [90.0] * 20]


def test_a_nameless_column_of_several_channels_is_taken_apart_and_its_unit_is_a_guess(
    log: Written,
) -> None:
    found = log(rounds(lambda when, g, w: f"{when}, {w:.2f}"))
    assert [len(series) for series in found.series] == [20] * 8
    assert "8 of them take turns" in said(found)
    assert {series.sensor.scale for series in found.series} == {Badge.ASSUMED}


def test_a_sensor_polled_faster_than_its_times_resolve_stays_one(log: Written) -> None:
    rng, watts, lines = random.Random(2), 300, []
    for i in range(240):
        watts += rng.choice((-7, 0, 0, 7))
        lines.append(f"{START + i // 4},{watts}\n")
    found = log("time,power_w\n" + "".join(lines))
    assert len(found.series) == 1


def test_a_column_named_gpu_that_holds_its_load_parts_nothing(log: Written) -> None:
    rng = random.Random(3)
    found = log(
        "time,power_w,gpu\n"
        + "".join(f"{START + i},{250 + i},{rng.choice((0, 97, 98, 99, 100))}\n" for i in range(60))
    )
    assert [len(series) for series in found.series] == [60]


# ── long tables ──────────────────────────────────────────────────────────────────────────────────


def test_a_long_table_of_sensors_gives_those_in_watts(log: Written) -> None:
    found = log(
        "Timestamp,Sensor_Name,Value,Unit\n"
        + "".join(
            f"2024-05-01T10:00:{t:02}Z,{name},{value},{unit}\n"
            for t in range(20)
            for name, value, unit in (
                ("CPU Temp", 40, "degrees C"),
                ("Total_Power", 300, "Watts"),
                ("CPU Power", 120, "Watts"),
                ("Power Limit", 900, "Watts"),
                ("GPU rail", 45000, "mW"),
                ("FAN1", 4000, "RPM"),
            )
        )
    )
    assert [(s.sensor.name, s.sensor.scope) for s in found.series] == [
        ("Total_Power", Scope.NODE),
        ("CPU Power", Scope.PACKAGE),
        ("GPU rail", Scope.GPU),
    ]
    assert means(found) == [300, 120, 45]


@pytest.mark.parametrize(
    ("head", "power", "energy", "other"),
    [
        (
            "timestamp,gpu,Field,Value",
            "DCGM_FI_DEV_POWER_USAGE",
            "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
            "DCGM_FI_DEV_GPU_TEMP",
        ),
        ("timestamp,gpuId,fieldId,value", "155", "156", "150"),
    ],
)
def test_a_long_table_of_dcgm_fields(
    log: Written, head: str, power: str, energy: str, other: str
) -> None:
    found = log(
        head
        + "\n"
        + "".join(
            f"{START + t},{g},{field},{value}\n"
            for t in range(20)
            for g in range(4)
            for field, value in (
                (other, 40),
                (power, 300 + g),
                (energy, 1_000_000 * (g + 1) + 300_000 * t),
            )
        )
    )
    assert [s.sensor.name for s in found.series[:4]] == [f"GPU {g}" for g in range(4)]
    assert all(
        s.sensor.name.startswith(f"GPU {g} (") for g, s in enumerate(found.series[4:])
    )  # the same device: counted once
    assert [s.sensor.device and s.sensor.device.index for s in found.series] == [0, 1, 2, 3] * 2
    assert means(found) == [300, 301, 302, 303, 300, 300, 300, 300]


def test_a_powerboard_log_of_several_sensors_keeps_them_apart(log: Written) -> None:
    found = log(
        "Sensor_Name,Sensor_Reading,Time_elapsed\n"
        + "".join(
            f"{name},{value},{t / 2}\n"
            for t in range(20)
            for name, value in (("Total Power", 300), ("Mem0 Power", 40), ("Ambient Temp", 24))
        )
    )
    assert [(s.sensor.name, s.sensor.scope, len(s)) for s in found.series] == [
        ("Total Power", Scope.NODE, 20),
        ("Mem0 Power", Scope.DRAM, 20),
    ]
    assert "left out" in said(found)


# ── energy of a stretch ──────────────────────────────────────────────────────────────────────────

ECO = (
    "id,project_name,experiment_description,epoch,start_time,duration(s),power_consumption(kWh),CO2_emissions(kg),CPU_name,"
    "GPU_name,OS,region/country,cost\n"
)


def test_eco2ai_energy_lies_behind_its_start(log: Written) -> None:
    tail = "0.0001,CPU/1 device(s),GPU 1 device(s),Linux,DE,0.1\n"
    found = log(
        ECO
        + f"a1,p,d,epoch: 0,2024-05-01 10:00:00,60,0.0005,{tail}"
        + f"a1,p,d,epoch: 1,2024-05-01 10:00:00,100,0.0009,{tail}"
        + f"b2,p,d,N/A,2024-05-01 11:00:00,120,0.0015,{tail}"
    )
    series = found.series[0]
    assert (series.times / 1e9).tolist() == [0, 60, 100, 3600, 3720]
    assert series.joules is not None
    assert series.joules[[1, 2, 4]] == pytest.approx([1800, 1440, 5400])
    assert np.isnan(series.joules[[0, 3]]).all()
    assert series.sensor.scale is Badge.ESTIMATED


def test_codecarbon_of_one_run_copied_without_its_last_line_end(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "emissions.csv"
    path.write_text("\n".join((data / "power" / "codecarbon.csv").read_text().splitlines()[:2]))
    found = registry.load(str(path)).series
    assert [(s.sensor.name, len(s)) for s in found] == [("CPU", 2), ("GPU", 2), ("RAM", 2)]
    for series in found:  # one interval of ten minutes is known as well as two of five
        energy = integrate.of_series(sensor.describe(series))
        assert series.joules is not None
        assert energy.joules == pytest.approx(float(series.joules[1]))


# ── what cannot be ───────────────────────────────────────────────────────────────────────────────


def wide(name: str, value: Callable[[int], float]) -> str:
    return f"time,{name}\n" + "".join(f"{START + t},{value(t):g}\n" for t in range(40))


def badge(series: PowerSeries) -> Badge:
    return integrate.of_series(sensor.describe(series)).badge


@pytest.mark.parametrize(
    ("name", "watts", "words"),
    [
        ("power", 0.004, "perhaps these are kilowatts"),
        ("power_w", 0.004, "perhaps these are kilowatts"),
        ("jetson_power_w", 6400, "perhaps these are milliwatts"),
        ("gpu0_power_w", 6400, "more than a GPU draws"),
        ("cpu_power_w", 4.5e7, "perhaps these are microwatts"),
        ("power", 4400, "unit guessed"),
        ("power", 3.0, "unit guessed"),
        ("gpu_power", 45000, "unit guessed"),
    ],
)
def test_a_unit_that_cannot_be_is_never_measured(
    log: Written, name: str, watts: float, words: str
) -> None:
    found = log(wide(name, lambda t: watts * (1 + t / 1000)))
    assert words in said(found)
    assert found.series[0].sensor.scale is Badge.ASSUMED
    assert badge(found.series[0]) is Badge.ASSUMED


@pytest.mark.parametrize(
    ("name", "watts"), [("power", 250), ("power_w", 4), ("node_power_w", 9000), ("gpu_power", 70)]
)
def test_what_can_be_stays_measured(log: Written, name: str, watts: float) -> None:
    found = log(wide(name, lambda t: watts * (1 + t / 1000)))
    assert found.series[0].sensor.scale is Badge.MEASURED
    assert badge(found.series[0]) is Badge.MEASURED


def test_a_unit_that_a_person_names_is_not_questioned(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(wide("power", lambda t: 0.004))
    found = registry.load(str(path), LogColumns(unit="kW"))
    assert means(found) == [4]
    assert found.series[0].sensor.scale is Badge.MEASURED


def test_power_below_zero_is_no_power(log: Written) -> None:
    with pytest.raises(UnreadableFile, match="below zero in most rows"):
        log(wide("power_w", lambda t: -250 + t))
    once = log(wide("power_w", lambda t: -1 if t == 7 else 250 + t))
    assert np.flatnonzero(np.isnan(once.series[0].watts)).tolist() == [7]
    assert "1 reading of power is below zero" in said(once)


def test_one_reading_that_cannot_be_is_a_gap(log: Written) -> None:
    found = log(wide("gpu0_power_w", lambda t: 65535 if t == 3 else 300 + t))
    assert np.flatnonzero(np.isnan(found.series[0].watts)).tolist() == [3]
    assert found.series[0].sensor.scale is Badge.MEASURED


def test_columns_that_say_nothing_of_power_are_asked_about_by_their_names(log: Written) -> None:
    rows = "".join(f"{START + row},{3000 + row},node 1,{210 + row}\n" for row in range(9))
    text = f"ts,P_node,where,fan speed\n{rows}"
    with pytest.raises(UnreadableFile) as refused:
        log(text)
    assert (
        "If P_node is the power in W, add: --watts-col P_node --time-col ts --unit W"
        in refused.value.hint
    )
    read = log(text, LogColumns(time_col="ts", watts_col="P_node", unit="W"))
    assert means(read) == [3004]


def test_a_column_in_kilowatts_is_proposed_in_kilowatts(log: Written) -> None:
    """Its times cannot be read, so that it is asked about."""
    rows = "".join(f"32.13.2026 {row},{0.4 + row / 100}\n" for row in range(9))
    with pytest.raises(UnreadableFile) as refused:
        log(f"Zeit,Leistung Rack 7 (kW)\n{rows}")
    assert "is the power in kW" in refused.value.hint
    assert refused.value.hint.endswith("--time-col Zeit --unit kW (and --tz for local times)")


@pytest.mark.parametrize("name", ["power (hp)", "rx power dBm", "power limit W", "heat btu/h"])
def test_a_column_of_another_measure_is_not_proposed_as_watts(log: Written, name: str) -> None:
    rows = "".join(f"{START + row},{3 + row}\n" for row in range(9))
    with pytest.raises(UnreadableFile) as refused:
        log(f"ts,{name}\n{rows}")
    assert "is the power in W" not in refused.value.hint
    assert name in refused.value.hint
