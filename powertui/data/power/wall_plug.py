"""Wall plugs and PDUs: semicolons, `Voltage/V` beside `Actual Consumption/W`, the day first in
dates, often whole minutes.
"""

from __future__ import annotations

import re
from dataclasses import replace

from powertui.data.asked import LogColumns
from powertui.data.model import Scope
from powertui.data.power import generic_csv, table, titles
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "wall plug"
_COLUMN = re.compile(
    (
        r"(consumption|power|leistung|active power|wirkleistung)[^;,\t]{0,80}?[/\[( "
        r"](m|k)?W[\])]?\s*(?=[;,\t]|$)"
    ),
    re.IGNORECASE,
)
_BESIDE = re.compile(r"(voltage|spannung)[^;,\t]{0,80}[/\[( ]V", re.IGNORECASE)


def sniff(head: str, _path: str) -> int:
    """By watts beside volts in the header."""
    first = next(
        (line for line in head.split("\n") if line.strip() and not line.startswith("#")), ""
    )
    return 93 if _COLUMN.search(first) and _BESIDE.search(first) else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per outlet; each at least the whole node."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    if layout is None:
        raise UnreadableFile(source.path, "has a plug's header, but no rows")
    rows = table.read(source, layout, notes)
    form = generic_csv.TableForm(label=NAME, day_first=True, above=titles.read_titles(layout.above))
    log = generic_csv.from_table(source.path, rows, options, notes, form)
    outlets = tuple(
        replace(series, sensor=replace(series.sensor, scope=Scope.PLUG)) for series in log.series
    )
    return replace(log, series=outlets)
