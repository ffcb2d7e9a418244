"""Any JSON whose objects hold a time and a power by name: a list, one a line, or one after the
other; read as a table.

Power Gadget's rows as JSON end in that reader. What the table reader guesses and asks for holds
here, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.power import (
    generic_csv,
    groups,
    json_docs,
    long_tables,
    power_gadget,
    stamps,
    table,
    time_signs,
    units,
)
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.table_form import TableForm
from powertui.errors import UnreadableFile

NAME = "json"
TAKES_OPTIONS = True
_MAX_OBJECTS = 1_000_000  # objects of one log


_MAX_PROBED_CHARS = 16_384  # of a log, in which names of members are looked for


_TRACE_SIGNS = ('"traceEvents"', '"schemaVersion"', '"ph"')


# How sure it is that objects hold a time and a power, and of Power Gadget's own members.
_SCORE = 55


_POWER_GADGET_SCORE = 70


def sniff(head: str, _path: str) -> int:
    """Low on purpose, as for tables: 55 where some member means power and another is a time, 70 for
    a Power Gadget's rows.
    """
    first_line, _, rest = head.lstrip().partition("\n")
    is_timed = bool(stamps.time_of_line(first_line))
    head = rest if is_timed else head
    if head.lstrip()[:1] not in ("{", "[") or any(sign in head for sign in _TRACE_SIGNS):
        return 0
    probe = head[:_MAX_PROBED_CHARS]
    names = _names_in(probe)
    if any(map(power_gadget.is_column, names)):
        return _POWER_GADGET_SCORE
    is_timed = is_timed or any(map(time_signs.is_time, names))
    has_number = re.search(r"[:\[]\s*\"?-?\d", head)
    if not is_timed or not has_number:
        return 0
    if units.any_power(names) or _names_power_in_cells(names, probe):
        return _SCORE
    return 0


def _names_in(probe: str) -> list[str]:
    """The members of objects, and the names of columns where those are in a list."""
    names = dict.fromkeys(re.findall(r'"((?:[^"\\]|\\.){1,80})"\s*:', probe))
    for listed in re.findall(r'"columns"\s{0,9}:\s{0,9}\[([^\[\]{}]{1,2000})\]', probe):
        names |= dict.fromkeys(re.findall(r'"([^"\\]{1,80})"', listed))
    return list(names)


def _names_power_in_cells(names: Sequence[str], probe: str) -> bool:
    """Whether what was read is named by a cell, as in {"field": "power", "value": 3}."""
    if not any(map(long_tables.is_value, names)):
        return False
    cells = dict.fromkeys(re.findall(r':\s*"([^"\\]{3,60})"', probe))
    return any(map(long_tables.is_power, cells))


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The members of the objects as columns."""
    notes = Notes(source.path)
    rows, lines = _rows(source.text, notes)
    names = list(dict.fromkeys(name for row in rows[:1000] for name in row))
    if not names or len(names) > groups.MAX_CHANNELS:
        raise UnreadableFile(
            source.path,
            "is JSON without objects of members",
            hint="powertui reads objects that hold a time and a power.",
        )
    columns = [[_text(row.get(name)) for row in rows] for name in names]
    cells = table.FileCells(tuple(names), np.array(lines, np.int64), columns)
    if any(map(power_gadget.is_column, names)):
        return power_gadget.from_table(source.path, cells, options, notes)
    form = TableForm(label=NAME)
    return generic_csv.from_table(source.path, cells, options, notes, form)


def _rows(text: str, notes: Notes) -> tuple[list[dict[str, Any]], list[int]]:
    """The objects of a log with joined names, and the line of each."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    for doc in json_docs.documents(text, notes):
        records = json_docs.records(doc.value)
        for place, record in enumerate(records):
            row = json_docs.flat(record)
            if doc.when and not json_docs.when_in(row):
                row = {"time": doc.when, **row}
                if len(records) > 1:  # devices of one moment, in their order
                    row.setdefault("index", place)
            rows.append(row)
            lines.append(doc.line)
        if len(rows) > _MAX_OBJECTS:
            notes.say(f"more than {_MAX_OBJECTS:,} objects; the rest is not read")
            break
    return rows, lines


def _text(cell: Any) -> str:
    if cell is None or isinstance(cell, bool):
        return ""
    return str(cell)
