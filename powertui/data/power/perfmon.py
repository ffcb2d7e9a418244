r"""Windows' counters as CSV: `typeperf`, Performance Monitor's logs, VMware's esxtop in batch mode.

A column is `\\HOST\Object(instance)\Counter`, and the first one says the zone of its local times in
minutes from them to UTC: `(PDH-CSV 4.0) (W. Europe Standard Time)(-60)`. The counter `Power` of
`Power Meter` and of `Energy Meter` is in milliwatts, which nothing in the file says.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    time_name, *counter_names = rows.names
    host = _only_host(rows.names)
    names = ["time"]
    for counter_name in counter_names:
        names.append(_name(counter_name, is_one_host=bool(host)))
    zone = _MINUTES_TO_UTC.search(time_name)
    if zone is not None and options.tz is None:
        seconds_east = -60 * int(zone[1])
        options = replace(options, tz=times.offset_words(seconds_east))
    if host and not options.host:
        options = replace(options, host=host)
    named_rows = table.FileCells(
        names=tuple(names),
        lines=rows.lines,
        columns=rows.columns,
        either=rows.either,
    )
    form = TableForm(label=NAME)
    return generic_csv.from_table(source.path, named_rows, options, notes, form)


def _only_host(names: Sequence[str]) -> str:
    """The machine of all counters; "" where they are of several."""
    hosts = set()
    for name in names:
        match = _COLUMN.fullmatch(name)
        if match is not None:
            hosts.add(match[1])
    if len(hosts) == 1:
        return hosts.pop()
    return ""


def _name(column: str, *, is_one_host: bool) -> str:
    """What a column is called without its host, where the log has one alone, and with its unit."""
    match = _COLUMN.fullmatch(column)
    if match is None:
        return column
    host, counted, counter = match.groups()
    name = f"{counted} {counter}"
    if not is_one_host:
        name = f"{host} {name}"
    if counter == "Power" and _IN_MILLIWATTS.fullmatch(counted):
        name += " (mW)"
    return name
