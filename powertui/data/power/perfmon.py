r"""Windows' counters as CSV: `typeperf`, Performance Monitor's logs, VMware's esxtop in batch mode.

A column is `\\HOST\Object(instance)\Counter`, and the first one says the zone of its local times in
minutes from them to UTC: `(PDH-CSV 4.0) (W. Europe Standard Time)(-60)`. The counter `Power` of
`Power Meter` and of `Energy Meter` is in milliwatts, which nothing in the file says.
"""

from __future__ import annotations

from dataclasses import replace

from powertui.data.asked import LogColumns
from powertui.data.power import generic_csv, table, times
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.table_form import TableForm
from powertui.patterns import late_pattern

NAME = "Windows counters"
TAKES_OPTIONS = True
_COLUMN = late_pattern(r"\\\\([^\\]+)\\(.+)\\([^\\]+)")
_IN_MILLIWATTS = late_pattern(r"(?:Power|Energy) Meter(?:\([^\\]*\))?")
_MINUTES_TO_UTC = late_pattern(r"\)\s?\((-?\d{1,4})\)\s*$")


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per counter of power."""
    notes = Notes(source.path)
    rows = table.read_dialect(source, NAME, notes)
    hosts = {match[1] for name in rows.names if (match := _COLUMN.fullmatch(name))}
    names = [_name(name, is_one_host=len(hosts) == 1) for name in rows.names]
    zone = _MINUTES_TO_UTC.search(rows.names[0])
    names[0] = "time"
    if zone is not None and options.tz is None:
        options = replace(options, tz=times.offset_words(-60 * int(zone[1])))
    if len(hosts) == 1 and not options.host:
        options = replace(options, host=hosts.pop())
    rows = table.FileCells(tuple(names), rows.lines, rows.columns, rows.either)
    return generic_csv.from_table(source.path, rows, options, notes, TableForm(label=NAME))


def _name(column: str, *, is_one_host: bool) -> str:
    """What a column is called without its host, where the log has one alone, and with its unit."""
    match = _COLUMN.fullmatch(column)
    if match is None:
        return column
    host, counted, counter = match.groups()
    name = f"{counted} {counter}" if is_one_host else f"{host} {counted} {counter}"
    is_power = counter == "Power" and _IN_MILLIWATTS.fullmatch(counted) is not None
    return f"{name} (mW)" if is_power else name
