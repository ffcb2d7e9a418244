"""Any JSON whose objects hold a time and a power by name: a list, one a line, or one after the
other; read as a table.

Power Gadget's rows as JSON end in that reader. What the table reader guesses and asks for holds
here, too.
"""

from __future__ import annotations

import re
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


def sniff(head: str, _path: str) -> int:
    """Low on purpose, as for tables: 55 where some member means power and another is a time, 70 for
    a Power Gadget's rows.
    """
    first_line, _, rest = head.lstrip().partition("\n")
    is_timed = bool(stamps.time_of_line(first_line))
    head = rest if is_timed else head
    if head.lstrip()[:1] not in ("{", "["):
        return 0
    if '"traceEvents"' in head or '"schemaVersion"' in head or '"ph"' in head:  # a trace
        return 0
    keys = dict.fromkeys(re.findall(r'"((?:[^"\\]|\\.){1,80})"\s*:', head[:16384]))
    for names in re.findall(r'"columns"\s{0,9}:\s{0,9}\[([^\[\]{}]{1,2000})\]', head[:16384]):
        keys |= dict.fromkeys(re.findall(r'"([^"\\]{1,80})"', names))
    if any(power_gadget.is_column(key) for key in keys):
        return 70
    power = any(units.unit_of_name(key) is not None or units.means_power(key) for key in keys)
    if not power and any(
        long_tables.is_value(key) for key in keys
    ):  # what was read is named by a cell
        power = any(
            long_tables.is_power(cell)
            for cell in dict.fromkeys(re.findall(r':\s*"([^"\\]{3,60})"', head[:16384]))
        )
    return (
        55
        if power
        and (is_timed or any(time_signs.is_time(key) for key in keys))
        and re.search(r"[:\[]\s*\"?-?\d", head)
        else 0
    )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The members of the objects as columns."""
    notes = Notes(source.path)
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    for doc in json_docs.documents(source.text, notes):
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
    names = list(dict.fromkeys(name for row in rows[:1000] for name in row))
    if not names or len(names) > groups.MAX_CHANNELS:
        raise UnreadableFile(
            source.path,
            "is JSON without objects of members",
            hint="powertui reads objects that hold a time and a power.",
        )
    cells = table.FileCells(
        tuple(names),
        np.array(lines, np.int64),
        [[_text(row.get(name)) for row in rows] for name in names],
    )
    if any(power_gadget.is_column(name) for name in names):
        return power_gadget.from_table(source.path, cells, options, notes)
    form = TableForm(label=NAME)
    return generic_csv.from_table(source.path, cells, options, notes, form)


def _text(cell: Any) -> str:
    return "" if cell is None or isinstance(cell, bool) else str(cell)
