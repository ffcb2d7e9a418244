"""`dcgmi dmon`: columns under `#Entity`, a line of units below, entities of two words (`GPU 0`), no
time of its own.

A time before each line (`ts`, a wrapper) or before each round is taken. Values that mean "not
there" (N/A, huge blanks) are none.
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import stamps, table, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "dcgmi dmon"
PERIOD_S = 1.0  # dcgmi's own default
# By the short names that dcgmi prints for its fields; TOTEC is a counter of energy.
_COLUMNS = {
    "POWER": ("", "W"),
    "PWR": ("", "W"),
    "POWER_USAGE": ("", "W"),
    "POWINST": ("instant", "W"),
    "POWERINST": ("instant", "W"),
    "PWRINST": ("instant", "W"),
    "TOTEC": ("energy", "mJ"),
}
_BLANK = 1e13  # DCGM writes 0x7ffffff0 and up to 2^63 for values that it does not have
_BLANKS = frozenset({2147483632.0, 2147483633.0, 2147483634.0, 2147483635.0})


def _header(line: str) -> list[str]:
    """The columns that a header names, without the entity."""
    rest = stamps.split_time(line)[1].strip()
    if not rest.startswith("#"):
        return []
    words = rest.lstrip("# ").split()
    if words[:1] == ["Entity"]:
        return words[1:]
    return []


def sniff(head: str, _path: str) -> int:
    """By its header."""
    for line in head.split("\n")[:60]:
        if any(name.upper() in _COLUMNS for name in _header(line)):
            return 98
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per GPU, and its energy counter as a second way to read it."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    names: list[str] = []
    units_below: dict[str, str] = {}
    for line in stamps.timed_lines(source.text):
        if header := _header(line.written):
            names = header
            continue
        cells = line.text.split()
        if cells[0].startswith("#"):
            continue
        if cells[0].upper() == "ID":
            is_whole = len(cells) == len(names) + 1
            if is_whole:
                units_below = dict(zip(names, cells[1:], strict=False))
            else:
                units_below = {}
            continue
        gpu = re.match(r"GPU\s+(\d{1,3})\s", line.text.strip() + " ")
        if gpu is None:
            # Other entities have no power: instances of GPUs, processors, links.
            if re.match(r"(GPU-I|GPU-CI|CPU|CORE|Switch|Link|NIC)\b", line.text.strip()) is None:
                notes.drop(line.number, "is not a row of the table")
            continue
        misfit = _misfit(cells, len(names), is_last=line.is_last)
        if misfit:
            notes.drop(line.number, misfit)
            continue
        for name, cell in zip(names, cells[2:], strict=True):
            if name.upper() in _COLUMNS:
                _add(
                    collected=collected,
                    line=line,
                    gpu=int(gpu[1]),
                    name=name,
                    cell=cell,
                    written_unit=units_below.get(name),
                )
    return collected.log(NAME, options, "dcgmi dmon: POWER in W, TOTEC in mJ", period_s=PERIOD_S)


def _misfit(cells: list[str], width: int, *, is_last: bool) -> str:
    """Why a row does not fit its header; "" where it does. An entity is two words."""
    if len(cells) != width + 2:
        return f"has {len(cells) - 2} values where the header names {width}"
    if is_last and table.was_cut(cells[-1], ["0.1"]):
        return "the last line may be cut"
    return ""


def _add(
    collected: Collected,
    line: stamps.TimedLine,
    gpu: int,
    name: str,
    cell: str,
    written_unit: str | None,
) -> None:
    """One cell of a column of power or energy."""
    kind, usual_unit = _COLUMNS[name.upper()]
    value = table.number(cell)
    if abs(value) > _BLANK or (usual_unit == "W" and value in _BLANKS):
        cell = "blank"
    if kind:
        label = f"GPU {gpu} ({kind})"
    else:
        label = f"GPU {gpu}"
    sensor = Sensor(label, f"dcgm {kind}".strip(), Scope.GPU, device=Device(gpu))
    unit = units.unit_of_symbol(written_unit or usual_unit) or units.UNITS[usual_unit]
    collected.add(sensor, line.when, cell, line.number, unit=unit)
