"""Logs of a machine of 300 W as tools write them that nothing was tuned on: what of them is counted.

Each is written from its tool's documentation, source or printed output; what a person would count
stands beside it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import powertui
from powertui import cli
from powertui.data.energy import scopes
from powertui.data.model import Scope
from powertui.data.power import registry

DEMO = Path(powertui.__file__).parent / "demo" / "data"
START = 1_795_224_814  # 2026-11-21 01:33:34 UTC
SECONDS = range(24)


def rows(form: Callable[[int], str]) -> str:
    return "".join(form(second) for second in SECONDS)


def counted(folder: Path, name: str, text: str) -> tuple[float, str]:
    """The mean watts that are counted, and the words for them."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    total = scopes.of_one(registry.load(str(path)).series)
    return sum(float(np.nanmean(series.watts)) for series in total.series), total.text


def energibridge(second: int) -> str:
    joules = 300 * second
    return (
        f"1000,{(START + second) * 1000},2208,11.3,{2493 + 0.1 * joules},{150_000},60,"
        f"{31249.5 + 0.4 * joules},{28983.7 + 0.2 * joules},{23 + 0.05 * joules}\n"
    )


ENERGIBRIDGE = (
    "Delta,Time,CPU_FREQUENCY_0,CPU_USAGE_0,DRAM_ENERGY (J),GPU0_POWER (mWatts),GPU0_TEMPERATURE,"
    "PACKAGE_ENERGY (J),PP0_ENERGY (J),PP1_ENERGY (J)\n" + rows(energibridge)
)

ALUMET = "metric;timestamp;value;resource_kind;resource_id;consumer_kind;domain\n" + rows(
    lambda s: (
        f"rapl_consumed_energy_J;2026-11-21T01:33:{34 + s}Z;240;cpu_package;0;local_machine;package\n"
        f"rapl_consumed_energy_J;2026-11-21T01:33:{34 + s}Z;60;dram;0;local_machine;dram\n"
        f"rapl_consumed_energy_J;2026-11-21T01:33:{34 + s}Z;240;local_machine;;local_machine;"
        "package_total\n"
    )
)

WANDB = rows(
    lambda s: (
        json.dumps(
            {
                "system.gpu.0.gpu": 100,
                "system.gpu.0.powerWatts": 180,
                "system.gpu.0.powerPercent": 60,
                "system.gpu.1.gpu": 100,
                "system.gpu.1.powerWatts": 120,
                "_timestamp": START + s,
            }
        )
        + "\n"
    )
)

ORIN = rows(
    lambda s: (
        f"11-21-2026 01:33:{34 + s} RAM 4541/30536MB (lfb 5843x4MB) CPU [1%@729,off] tj@46C "
        "VDD_GPU_SOC 180000mW/180000mW VDD_CPU_CV 90000mW/90000mW VIN_SYS_5V0 30000mW/30000mW "
        "VDDQ_VDD2_1V8AO 12000mW/12000mW\n"
    )
)

XAVIER = rows(
    lambda s: (
        f"11-21-2026 01:33:{34 + s} RAM 2/30536MB (lfb 5843x4MB) CPU [1%@729,off] "
        "GPU 90000mW/9mW CPU 60000mW/9mW SOC 60000mW/9mW CV 15000mW/9mW VDDRQ 15000mW/9mW "
        "SYS5V 60000mW/9mW\n"
    )
)


def module(number: int) -> str:
    return (
        f" [SlaveAddress = 7{number}h] [Module {number}]\n"
        " Item                           |                Value\n"
        " AC Input Voltage               |                230.0 V\n"
        " DC 12V Output Power            |                140 W\n"
        " AC Input Power                 |                150 W\n"
    )


SUPERMICRO = rows(lambda s: f"2026-11-21 01:33:{34 + s} UTC\n{module(1)}{module(2)}\n")

ILO = rows(
    lambda s: (
        f"2026-11-21 01:33:{34 + s} UTC\n/system1/oemhp_power1\n    oemhp_pwrcap=0 Watts\n"
        f"    oemhp_PresentPower={300} Watts\n    oemhp_AvgPower=200 Watts\n"
        "    oemhp_MaxPower=401 Watts\n"
    )
)

PMBUS = "time,PSU1_PIN,PSU1_POUT,PSU2_PIN,PSU2_POUT\n" + rows(
    lambda s: f"{START + s},150,{138 + s % 2},150,139\n"
)

KEPT_BACK = {
    "energibridge.csv": (ENERGIBRIDGE, "GPU0_POWER (mWatts) + DRAM_ENERGY + PACKAGE_ENERGY"),
    "alumet.csv": (ALUMET, "resource 0 package rapl_consumed + resource 0 dram rapl_consumed"),
    "wandb-events.jsonl": (WANDB, "system.gpu.0.powerWatts + system.gpu.1.powerWatts"),
    "orin.log": (ORIN, "VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0 (1 overlapping"),
    "xavier.log": (XAVIER, "GPU + CPU + SOC + CV + 2 more"),
    "supermicro.txt": (SUPERMICRO, "AC Input Power 1 + AC Input Power 2"),
    "ilo.txt": (ILO, "oemhp_PresentPower alone"),
    "pmbus.csv": (PMBUS, "PSU1_PIN + PSU2_PIN"),
}


@pytest.mark.parametrize("name", KEPT_BACK)
def test_what_draws_power_is_counted_once(name: str, tmp_path: Path) -> None:
    text, words = KEPT_BACK[name]
    watts, told = counted(tmp_path, name, text)
    assert watts == pytest.approx(300, rel=0.01)
    assert told.startswith(words)


def test_joules_of_what_watts_tell_already_are_not_added(tmp_path: Path) -> None:
    text = "Timestamp,DeviceId,GPU Power (W),GPU Energy Consumed (J)\n" + rows(
        lambda s: f"{START + s},0,300,{1000 + 300 * s}\n"
    )
    assert counted(tmp_path, "xpu.csv", text)[0] == pytest.approx(300)


def test_a_nominal_power_is_no_reading(tmp_path: Path) -> None:
    text = rows(
        lambda s: (
            f"DATE     : 2026-11-21 01:33:{34 + s} +0000\nLOADPCT  : 22.0 Percent\n"
            "NOMPOWER : 1000 Watts\n"
        )
    )
    path = tmp_path / "apcaccess.txt"
    path.write_text(text)
    with pytest.raises(Exception, match="apcaccess"):
        registry.load(str(path))


def test_a_log_of_zeros_measured_nothing(tmp_path: Path) -> None:
    text = "time,power_w\n" + rows(lambda s: f"{START + s},0\n")
    watts, words = counted(tmp_path, "zeros.csv", text)
    assert watts == 0
    assert words == "none: every reading is 0 W, so nothing was measured"


def test_channels_that_a_person_names_one_by_one_are_added_up(tmp_path: Path) -> None:
    path = tmp_path / "devices.csv"
    path.write_text(
        "timestamp_ns,power_watts,device_id\n"
        + rows(lambda s: f"{START + s}000000000,180,0\n{START + s}000000000,120,1\n")
    )
    series = registry.load(str(path)).series
    assert scopes.of_one(series).text.startswith("none: it is not known which of the 2 channels")
    total = scopes.of_one(series, single=(0, 1))
    assert math.isclose(sum(float(one.watts.mean()) for one in total.series), 300)


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("package_total", Scope.PACKAGE),
        ("cpu_total", Scope.PACKAGE),
        ("total_power", Scope.NODE),
        ("PP1_ENERGY (J)", Scope.RAIL),
        ("GT Cores Power [W]", Scope.RAIL),
        ("GFXWatt", Scope.RAIL),
        ("socket graphics power", Scope.GPU),
    ],
)
def test_scopes_of_totals_and_of_graphics_inside_a_package(name: str, scope: Scope) -> None:
    from powertui.data.power.units import scope_of

    assert scope_of(name) is scope


@pytest.mark.parametrize("verb", ["report", "energy"])
def test_a_log_of_zeros_is_refused_with_its_reason(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "zeros.csv"
    recorded = registry.load(str(DEMO / "power.csv")).series[0]
    zero_s = recorded.clock.mid_ns / 1e9
    log.write_text(
        "time,power_w\n" + "".join(f"{zero_s + t / 1e9:.3f},0\n" for t in recorded.times.tolist())
    )
    assert cli.main([verb, str(DEMO / "logs"), "--power", str(log)]) == 0
    assert "every reading is 0 W, so nothing was measured" in capsys.readouterr().out
