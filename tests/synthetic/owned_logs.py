"""Processes and logs of the cases of power with known owners, as tools write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

from .owned import BEGIN, Gpu, Rank, moments, watts


def gpu(number: int = 0, **stats: str) -> Gpu:
    return Gpu(number, tuple(stats.items()))


def uuid(gpu: int) -> str:
    return f"GPU-{gpu:08x}-1111-2222-3333-444444444444"


def pci(gpu: int) -> str:
    return f"00000000:{0x10 + gpu:02X}:00.0"


def ranks(*about: dict[str, Any]) -> tuple[Rank, ...]:
    """PyTorch's ranks with a GPU each; what their traces say beside that."""
    return tuple(
        Rank(f"trace_rank{number}", number=number, gpus=(gpu(number),), about=tuple(facts.items()))
        for number, facts in enumerate(about)
    )


def _utc(at: float, form: str) -> str:
    return datetime.fromtimestamp(at, timezone.utc).strftime(form)


def nvidia_smi(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """nvidia-smi --query-gpu=timestamp,…,power.draw --format=csv, in UTC."""
    lines = [", ".join(["timestamp", *names, "power.draw [W]"])]
    for k, at in moments():
        for row, (*cells, level) in enumerate(rows):
            stamp = _utc(at, "%Y/%m/%d %H:%M:%S") + f".{row:03d}"
            lines.append(", ".join([stamp, *map(str, cells), f"{watts(level, k, row):.2f} W"]))
    return "\n".join(lines) + "\n"


def amd_smi(levels: Sequence[float]) -> str:
    """amd-smi metric --power --csv -w 1."""
    lines = ["timestamp,gpu,socket_power"]
    for k, at in moments():
        lines += [f"{int(at)},{gpu},{watts(level, k, gpu):.0f}" for gpu, level in enumerate(levels)]
    return "\n".join(lines) + "\n"


def redfish(supplies: Sequence[float]) -> str:
    """An iLO's answers: all of its supplies have one name."""
    lines = []
    for k, at in moments():
        listed = [
            {"Name": "HpeServerPowerSupply", "PowerInputWatts": round(watts(level, k, row), 1)}
            for row, level in enumerate(supplies)
        ]
        answer = {"@odata.type": "#Power.v1_3_0.Power", "Id": "Power", "PowerSupplies": listed}
        lines += [_utc(at, "%Y-%m-%dT%H:%M:%SZ"), json.dumps(answer)]
    return "\n".join(lines) + "\n"


def nameless(levels: Sequence[float]) -> str:
    """Readings of several things at one moment, and no word of which is which."""
    lines = ["time_unix_s,watts"]
    for k, at in moments():
        moment = at + 0.137 * k % 1
        lines += [f"{moment:.3f},{watts(level, k, row):.2f}" for row, level in enumerate(levels)]
    return "\n".join(lines) + "\n"


def recording(host: str, channels: Sequence[tuple[str, str, float]]) -> str:
    """What `powertui record --host HOST` writes on another machine."""
    about = {
        "name": "bmc",
        "source": "ipmi DCMI",
        "url": f"ipmi://{host}",
        "host": host,
        "channels": [
            {
                "name": name,
                "host": host,
                "scope": scope,
                "quantum_w": None,
                "kind": "sampled",
                "note": "",
            }
            for name, scope, _ in channels
        ],
    }
    lines = ["# powertui recording 1", "# host: head", f"# source: {json.dumps(about)}"]
    lines.append("time_unix_s,mono_s,source,channel,watts,joules,rtt_s,quality,reason,mark")
    for k, at in moments():
        lines += [
            f"{at:.6f},{k + 100:.6f},bmc,{name},{watts(level, k, row):.2f},,0.001,ok,,"
            for row, (name, _, level) in enumerate(channels)
        ]
    return "\n".join(lines) + "\n"


def code_carbon(runs: Sequence[tuple[str, float, float]]) -> str:
    """CodeCarbon's emissions.csv: a row of 110 W for each run (id, end since BEGIN, seconds)."""
    names = "timestamp,project_name,run_id,duration,emissions,emissions_rate,cpu_power,gpu_power"
    lines = [f"{names},ram_power,cpu_energy,gpu_energy,ram_energy,energy_consumed"]
    for run, end, seconds in runs:
        cpu, ram = (level * seconds / 3.6e6 for level in (100, 10))
        stamp = _utc(BEGIN + end, "%Y-%m-%dT%H:%M:%S")
        lines.append(f"{stamp},p,{run},{seconds},0.1,0.01,100,0,10,{cpu},0,{ram},{cpu + ram}")
    return "\n".join(lines) + "\n"
