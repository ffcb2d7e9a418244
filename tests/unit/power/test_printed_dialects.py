"""What tools print for a person, again and again into one file: Huawei's npu-smi, NUT's upsc,
Dell's racadm, Intel's pcm-power, and Slurm's `sacct --json`.

The readings are written from each tool's documentation and printed examples.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from powertui.data.asked import LogColumns
from powertui.data.model import PowerKind, Scope
from powertui.data.power import registry
from powertui.data.power.options import PowerLog
from powertui.errors import UnreadableFile

START = 1_714_557_600  # 2024-05-01 10:00:00 UTC
WATTS = [200 + 50 * (3 <= second < 7) + second % 3 for second in range(12)]
MEAN = round(sum(WATTS) / len(WATTS), 2)


def npu_table(second: int, watts: int) -> str:
    return (
        f"{START + second}.25\n"
        "+------------------------------------------------------------------------------------+\n"
        "| npu-smi 24.1.0                   Version: 24.1.0                                   |\n"
        "+---------------------------+---------------+----------------------------------------+\n"
        "| NPU   Name                | Health        | Power(W)    Temp(C)  Hugepages-Usage(page)|\n"
        "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)           |\n"
        "+===========================+===============+========================================+\n"
        f"| 0     910B                | OK            | {watts}.0       34       0    / 0    |\n"
        "| 0                         | 0000:C1:00.0  | 7           1197 / 13553               |\n"
        "+===========================+===============+========================================+\n"
        "| 1     910B                | Warning       | 66.9        34       0    / 0          |\n"
        "| 0                         | 0000:81:00.0  | 0           2411 / 15665               |\n"
        "+===========================+===============+========================================+\n"
        "| No running processes found in NPU 0                                                |\n"
    )


def npu_power(second: int, watts: int) -> str:
    return (
        f"{START + second}\n"
        "\tNPU ID                         : 0\n\tChip Count                     : 1\n\n"
        f"\tPower Dissipation(W)           : {watts}.0\n\tChip ID                        : 0\n"
        f"\tNPU ID                         : 3\n\tNPU Real-time Power(W)         : {watts + 5}.0\n"
        "\tRated Power Dissipation(W)     : 310.0\n"
    )


def upsc(second: int, watts: int) -> str:
    stamp = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(START + second))
    return (
        f"{stamp}\nbattery.charge: 100\noutlet.1.realpower: 20\nups.load: 18\nups.power: 164\n"
        f"ups.realpower: {watts}\nups.realpower.nominal: 525\nups.status: OL\n"
    )


def outlets(second: int, watts: int) -> str:
    return f"{START + second}\noutlet.1.realpower: {watts}\noutlet.2.realpower: 20\n"


def racadm(second: int, watts: int) -> str:
    return (
        f"{START + 5 * second}\nSensor Type : CURRENT\n"
        "<Sensor Name>                 <Status> <Reading> <lc> <uc>  <lnc>[R/W]  <unc>[R/W]\n"
        "[Key = iDRAC.Embedded.1#SystemBoardPwrConsumption]\n"
        f"System Board Pwr Consumption  Ok      {watts}Watts NA   980Watts 0Watts [N]  896Watts [Y]\n"
        "PS1 Current 1                 Ok      1.0Amps  NA   NA       0Amps [N]      0Amps [N]\n"
    )


def pcm(second: int, watts: int) -> str:
    """As `ts '%.s'` writes it."""
    at = f"{START + second}.5 "
    return (
        f"{at}S0; PCUClocks: 19972702313; Freq band 0/1/2 cycles: 0.00%; 0.00%; 0.00%\n"
        f"{at}S0; Consumed energy units: 21940672; Consumed Joules: {2 * watts}.00; "
        f"Watts: {watts}.00; Thermal headroom below TjMax: 37\n"
        f"{at}S0; Consumed DRAM energy units: 30697043; Consumed DRAM Joules: 47.08; "
        "DRAM Watts: 23.54\n"
    )


PRINTED: list[tuple[str, Callable[[int, int], str], list[tuple[str, Scope, float]]]] = [
    ("npu-smi", npu_table, [("NPU 0", Scope.GPU, MEAN), ("NPU 1", Scope.GPU, 66.9)]),
    (
        "npu-smi",
        npu_power,
        [("NPU 0", Scope.GPU, MEAN), ("NPU 3", Scope.GPU, round(MEAN + 5, 2))],
    ),
    ("upsc", upsc, [("UPS", Scope.PLUG, MEAN)]),
    ("upsc", outlets, [("outlet 1", Scope.PLUG, MEAN), ("outlet 2", Scope.PLUG, 20.0)]),
    ("racadm", racadm, [("System Board Pwr Consumption", Scope.NODE, MEAN)]),
    ("pcm-power", pcm, [("package 0", Scope.PACKAGE, MEAN), ("DRAM 0", Scope.DRAM, 23.54)]),
]


def read(folder: Path, text: str) -> PowerLog:
    path = folder / "power.txt"
    path.write_text(text, encoding="utf-8")
    return registry.load(str(path), LogColumns(tz="UTC"))


@pytest.mark.parametrize(
    ("dialect", "form", "channels"), PRINTED, ids=[form.__name__ for _, form, _ in PRINTED]
)
def test_each_reading_is_a_channel_of_its_scope(
    tmp_path: Path,
    dialect: str,
    form: Callable[[int, int], str],
    channels: list[tuple[str, Scope, float]],
) -> None:
    log = read(tmp_path, "".join(form(second, watts) for second, watts in enumerate(WATTS)))
    assert log.dialect == dialect
    found = [
        (channel.sensor.name, channel.sensor.scope, round(float(np.nanmean(channel.watts)), 2))
        for channel in log.series
    ]
    assert found == channels
    assert all(len(channel) == len(WATTS) for channel in log.series)
    assert log.series[0].clock.source == "absolute timestamps"


def test_accelerators_keep_their_number(tmp_path: Path) -> None:
    log = read(tmp_path, "".join(npu_table(second, 90) for second in range(5)))
    assert [channel.sensor.device and channel.sensor.device.index for channel in log.series] == [
        0,
        1,
    ]


def test_an_accelerator_without_a_reading_is_left_out(tmp_path: Path) -> None:
    text = "".join(npu_table(second, 90).replace("66.9", "NA  ") for second in range(5))
    assert [channel.sensor.name for channel in read(tmp_path, text).series] == ["NPU 0"]


# ── sacct --json ─────────────────────────────────────────────────────────────────────────────────


def sacct(*energies: tuple[str, object], end: int = START + 600) -> str:
    steps = [
        {"step": {"id": f"38113.{name}"}, "statistics": {"energy": {"consumed": energy}}}
        for name, energy in energies
    ]
    moments = {"elapsed": 600, "start": START, "end": end, "submission": START - 9}
    job = {"account": "a", "job_id": 38113, "nodes": "node07", "time": moments, "steps": steps}
    return json.dumps({"jobs": [job], "meta": {"plugin": {"name": "Slurm OpenAPI slurmdbd"}}})


NEWER = {"set": True, "infinite": False, "number": 150_000}


@pytest.mark.parametrize("energy", [150_000, NEWER])
def test_a_job_draws_what_its_batch_step_counted(tmp_path: Path, energy: object) -> None:
    log = read(tmp_path, sacct(("batch", energy), ("0", 90_000)))
    (channel,) = log.series
    assert log.dialect == "slurm"
    assert channel.kind is PowerKind.INTERVAL
    assert channel.sensor.host == "node07"
    assert channel.watts[1] == pytest.approx(250.0)


def test_a_running_job_ends_where_its_length_says(tmp_path: Path) -> None:
    (channel,) = read(tmp_path, sacct(("batch", NEWER), end=0)).series
    assert channel.watts[1] == pytest.approx(250.0)


@pytest.mark.parametrize("energy", [0, {"set": False, "number": 0}, 2**64 - 2, None])
def test_an_energy_that_slurm_does_not_know_is_none(tmp_path: Path, energy: object) -> None:
    with pytest.raises(UnreadableFile, match="no job in it reports its energy"):
        read(tmp_path, sacct(("batch", energy)))


def test_a_cut_answer_is_refused_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="cut or no JSON"):
        read(tmp_path, sacct(("batch", NEWER))[:-30])
