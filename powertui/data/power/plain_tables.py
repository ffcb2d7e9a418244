"""Reads the tables of watts whose dialect is a row of `dialects` (`dialects.PlainTable`)."""

from __future__ import annotations

from dataclasses import replace

from powertui.data.asked import LogColumns
from powertui.data.power import generic_csv, table, titles
from powertui.data.power.dialects import PlainTable
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.table_form import TableForm
from powertui.errors import UnreadableFile


def load(dialect: PlainTable, source: LogFile, options: LogColumns) -> PowerLog:
    """Read a log of a dialect that is a table of watts."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    if layout is None:
        raise UnreadableFile(source.path, f"has {dialect.program}'s header, but no rows")
    rows = table.read(source, layout, notes)
    form = TableForm(
        label=dialect.name,
        day_first=dialect.day_first,
        above=titles.read_titles(layout.above),
    )
    log = generic_csv.from_table(source.path, rows, options, notes, form)
    series = tuple(
        replace(channel, sensor=replace(channel.sensor, scope=dialect.scope))
        for channel in log.series
    )
    return replace(log, series=series)
