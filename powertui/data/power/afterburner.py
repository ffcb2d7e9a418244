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
        if kind == "02" and names and cells[1:] != names:
            notes.drop(number, "other sensors begin here; what follows is not read")
            break
        if kind == "02":
            names = cells[1:]
        elif kind == "03" and len(cells) > 2 and cells[1].isdigit():
            units_of[int(cells[1])] = cells[2]
        elif kind == "80" and len(cells) == len(names) + 1:
            rows.append(cells)
            lines.append(number)
        elif kind == "80":
            notes.drop(number, f"has {len(cells) - 1} readings of {len(names)} sensors")
    if not rows:
        raise UnreadableFile(source.path, "has MSI Afterburner's header, but no readings")
    called = ["time", *(_name(name, units_of.get(place, "")) for place, name in enumerate(names))]
    columns = [list(column) for column in zip(*rows, strict=True)]
    table_rows = table.FileCells(tuple(called), np.array(lines, np.int64), columns)
    form = TableForm(label=NAME, day_first=True)
    return generic_csv.from_table(source.path, table_rows, options, notes, form)


def _name(name: str, unit: str) -> str:
    if name == "Power":
        name = "GPU power"
    return f"{name} [{unit}]" if unit else name
