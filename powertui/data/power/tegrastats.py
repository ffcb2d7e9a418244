"""NVIDIA Jetson's tegrastats: one line a round, rails as `NAME now/average` in milliwatts, and a
date from JetPack 5 on.

`VDD_IN`, `POM_5V_IN` and `VIN` are the whole board. AGX Orin and Xavier have none of these: there
the rails of the module are added up. Old versions write no unit (`VDD_IN 3012/3012`): mW, too.
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import stamps
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.units import UNITS

NAME = "tegrastats"
UNITS_WRITTEN = True
PERIOD_S = 1.0  # tegrastats' own default
_RAIL = r"(?<![\w@])([A-Z][A-Z0-9_]{1,30}) (\d{1,7})(?:mW)?/(\d{1,7})(mW)?(?:/\d{1,7}mW)?(?![\w.])"
_BOARD_RAILS = frozenset({"VDD_IN", "POM_5V_IN", "VIN", "VDD_MUX"})
_XAVIER_RAILS = frozenset({"GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"})  # Xavier's rails
# Beside the rails of GPU and CPU, what feeds the rest of a module: engines, memory and its ports.
# The 5 V rail of AGX Orin feeds its memory, so VDDQ_VDD2_1V8AO is a part of VIN_SYS_5V0 (NVIDIA's
# developer guide for Jetson Linux, on software-based power consumption modeling).
_REST_OF_MODULE = {
    "VIN_SYS_5V0": Scope.DRAM,
    "SYS5V": Scope.DRAM,
    "VDDRQ": Scope.DRAM,
    "SOC": Scope.PACKAGE,
    "CV": Scope.PACKAGE,
}
# Memory and clocks, which are written much as rails are.
_NO_RAIL = frozenset({"RAM", "SWAP", "IRAM", "MTS", "EMC_FREQ", "GR3D_FREQ", "CPU_FREQ", "NC"})


def sniff(head: str, _path: str) -> int:
    """By memory beside rails on one line."""
    for line in head.split("\n")[:40]:
        if re.search(r"\bRAM \d+/\d+MB", line) and _rails(line):
            return 98
    return 0


def _rails(line: str) -> list[tuple[str, str]]:
    """(name, milliwatts) of each rail in a line: memory and clocks are written alike."""
    has_unit = "mW" in line
    rails = []
    for name, now, _, mean_unit in re.findall(_RAIL, line):
        # Without units only names of the kind that rails have are some.
        is_named_so = "_" in name or name in _XAVIER_RAILS
        if has_unit:
            is_rail = bool(mean_unit)
        else:
            is_rail = is_named_so or bool(mean_unit)
        if is_rail and name not in _NO_RAIL:
            rails.append((name, now))
    return rails


def _scope(name: str, is_board: bool) -> Scope:
    if name in _BOARD_RAILS:
        return Scope.NODE if is_board else Scope.RAIL
    if "GPU" in name:
        # Boards of the Orin family have one rail for both.
        return Scope.PACKAGE if "CPU" in name else Scope.GPU
    if "CPU" in name:
        return Scope.PACKAGE
    if name in _REST_OF_MODULE:
        return _REST_OF_MODULE[name]
    if re.search(r"DDR|DRAM|MEM", name):
        return Scope.DRAM
    return Scope.RAIL


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per rail."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    board_rail = ""
    for line in stamps.timed_lines(source.text):
        if "RAM " not in line.written and "mW" not in line.written:
            notes.drop(line.number, "is not a line of tegrastats")
            continue
        if line.is_last and not line.written.rstrip().endswith(("mW", "C")):
            notes.drop(line.number, "the last line may be cut")
            continue
        for name, now in _rails(line.written):
            if name in _BOARD_RAILS:
                board_rail = board_rail or name
            sensor = Sensor(name, NAME, _scope(name, name == board_rail))
            collected.add(sensor, line.when, now, line.number, unit=UNITS["mW"])
    return collected.log(NAME, options, "tegrastats: rails in mW", period_s=PERIOD_S)
