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
    return words[1:] if words[:1] == ["Entity"] else []


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
    written: dict[str, str] = {}
    above = ""
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if header := _header(line):
            names = header
            continue
        if when := stamps.time_of_line(line):
            above = when
            continue
        when, rest = stamps.split_time(line)
        cells = rest.split()
        if not cells or cells[0].startswith("#"):
            continue
        if cells[0].upper() == "ID":
            written = (
                dict(zip(names, cells[1:], strict=False)) if len(cells) == len(names) + 1 else {}
            )
            continue
        match = re.match(r"(GPU)\s+(\d{1,3})\s", rest.strip() + " ")
        if match is None:
            if re.match(r"(GPU-I|GPU-CI|CPU|CORE|Switch|Link|NIC)\b", rest.strip()) is None:
                notes.drop(number, "is not a row of the table")
            continue
        if len(cells) != len(names) + 2 or (
            number == len(lines) and line and table.was_cut(cells[-1], ["0.1"])
        ):
            short = len(cells) != len(names) + 2
            why = (
                f"has {len(cells) - 2} values where the header names {len(names)}"
                if short
                else "the last line may be cut"
            )
            notes.drop(number, why)
            continue
        for name, cell in zip(names, cells[2:], strict=True):
            if name.upper() not in _COLUMNS:
                continue
            kind, unit = _COLUMNS[name.upper()]
            value = table.number(cell)
            if abs(value) > _BLANK or (unit == "W" and value in _BLANKS):
                cell = "blank"
            gpu = int(match[2])
            sensor = Sensor(
                f"GPU {gpu} ({kind})" if kind else f"GPU {gpu}",
                f"dcgm {kind}".strip(),
                Scope.GPU,
                device=Device(gpu),
            )
            collected.add(
                sensor,
                when or above,
                cell,
                number,
                unit=units.unit_of_symbol(written.get(name, unit)) or units.UNITS[unit],
            )
    return collected.log(NAME, options, "dcgmi dmon: POWER in W, TOTEC in mJ", period_s=PERIOD_S)
