"""MSI Afterburner's monitoring log (`.hml`): lines of a kind, a time and cells.

    02, 21-11-2026 01:33:34, GPU temperature ,GPU usage ,Power
    03, 21-11-2026 01:33:34, 2 , W , 0.000 , 300.000 , 10 , , , %.3f
    80, 21-11-2026 01:33:35, 45.000 ,99.000 ,132.500

Line 02 names the sensors, each line 03 tells the unit of one by its place, 80 are the readings.
`Power` is the GPU's, in watts or in percent of its limit.
"""

from __future__ import annotations

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.power import generic_csv, table
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.table_form import TableForm
from powertui.errors import UnreadableFile

NAME = "afterburner"
TAKES_OPTIONS = True


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The readings as a table; below another line of names the sensors may be others."""
    notes = Notes(source.path)
    names: list[str] = []
    units_of: dict[int, str] = {}
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(source.text.split("\n"), 1):
        kind, *cells = [cell.strip() for cell in line.split(",")]
        if kind == "02":
            if names and cells[1:] != names:
                notes.drop(number, "other sensors begin here; what follows is not read")
                break
            names = cells[1:]
        elif kind == "03" and len(cells) > 2:
            digits, unit = cells[1:3]
            if digits.isdigit():
                units_of[int(digits)] = unit
        elif kind == "80":
            reading_count = len(cells) - 1
            if reading_count == len(names):
                rows.append(cells)
                lines.append(number)
            else:
                notes.drop(number, f"has {reading_count} readings of {len(names)} sensors")
    if not rows:
        raise UnreadableFile(source.path, "has MSI Afterburner's header, but no readings")
    column_names = ["time"]
    for place, name in enumerate(names):
        column_names.append(_name(name, units_of.get(place, "")))
    table_rows = table.FileCells(
        names=tuple(column_names),
        lines=np.array(lines, np.int64),
        columns=list(map(list, zip(*rows, strict=True))),
    )
    form = TableForm(label=NAME, day_first=True)
    return generic_csv.from_table(source.path, table_rows, options, notes, form)


def _name(name: str, unit: str) -> str:
    if name == "Power":
        name = "GPU power"
    return f"{name} [{unit}]" if unit else name
