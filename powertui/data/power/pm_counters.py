"""Cray's pm_counters: `245 W 1434567890123456 us`, with their paths (`grep .
/sys/cray/pm_counters/*`) or one file a counter.

The time is the controller's, in Unix microseconds. `energy` counts joules; a cap is no power.
"""

from __future__ import annotations

import re
from pathlib import Path

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import stamps, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "pm_counters"
UNITS_WRITTEN = True
_LINE = (
    r"(?:(?:\S{0,200}/)?([a-z][a-z0-9_]{2,40})[:=\s]{1,9})?\s*(\d{1,18}) ([WJ]) (\d{5,20}) us\s*"
)


def sniff(head: str, _path: str) -> int:
    """By its lines."""
    lines = [line for line in head.split("\n")[:60] if line.strip()]
    if sum(re.fullmatch(_LINE, line) is not None for line in lines) * 5 >= len(lines) > 0 and any(
        re.fullmatch(_LINE, line) for line in lines
    ):
        return 97
    return 0


def _name_of(path: str) -> str:
    """The counter that a file's own name tells ("node_power.txt", "accel0_power")."""
    match = re.search(
        r"((?:accel|gpu|cpu|memory|mem|node)?\d*_?(?:power|energy))", Path(path).name.lower()
    )
    if match:
        return match[1].replace("node_", "").replace("gpu", "accel")
    return "power"


def _sensor(name: str) -> Sensor | None:
    # power_cap and its like are limits.
    if "cap" in name or not name.endswith(("power", "energy")):
        return None
    part = re.sub(r"_?(?:power|energy)$", "", name)
    word = " (energy)" if name.endswith("energy") else ""
    if match := re.fullmatch(r"accel(\d*)", part):
        if match[1]:
            index = int(match[1])
        else:
            index = None
        device = Device(index) if index is not None else None
        return Sensor(
            f"GPU {index}{word}" if index is not None else f"GPUs{word}",
            NAME,
            Scope.GPU,
            device=device,
        )
    if part in ("", "node"):
        scope = Scope.NODE
    else:
        scope = units.scope_of(part)
    return Sensor(f"{part or 'node'}{word}", NAME, scope)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The node, its processors, memory and accelerators."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    counter = _name_of(source.path)
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        match = re.fullmatch(_LINE, line)
        if match is None:
            if re.match(r"\s*\d+ [WJ]\b", line):
                notes.drop(number, "is not a whole line of pm_counters")
            continue
        sensor = _sensor(match[1] or counter)
        if sensor is not None:
            collected.add(sensor, match[4], match[2], number, unit=units.UNITS[match[3]])
    return collected.log(NAME, options, "pm_counters: W and J, times of the controller")
