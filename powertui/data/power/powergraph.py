"""powergraph's daily CSV: time of day and watts, both quoted, the date only in the file's name,
often no header.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import assemble, column_times, stamps, table, times, titles
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "powergraph"
_ROW = re.compile(r'"?(\d{1,2}:\d{1,2}:\d{1,2})"?\s*,\s*"?([^",]*)"?\s*')
_HEADER = re.compile(r'"?date"?\s*,\s*"?consumption"?\s*', re.IGNORECASE)


def sniff(head: str, _path: str) -> int:
    """By the header `date,consumption`, or by rows of exactly two such fields."""
    lines = [line for line in head.split("\n")[:20] if line.strip()]
    if not lines:
        return 0
    if _HEADER.fullmatch(lines[0]):
        rows = lines[1:]
    else:
        rows = lines
    if rows and all(_ROW.fullmatch(line) for line in rows):
        if len(rows) < len(lines) or lines[0].startswith('"'):
            return 95
        return 60
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel: the node's power."""
    notes = Notes(source.path)
    clocks, watts = _rows(source.text, notes)
    if not clocks:
        raise UnreadableFile(
            source.path, f"holds no reading ({notes.first_reason() or 'only a header'})"
        )
    column = column_times.from_texts(clocks)
    date = titles.date_in(Path(source.path).name)
    guess = "powergraph: watts, time of day"
    if date is not None:
        year, month, day = date
        column = times.in_zone(column_times.with_date(column, *date, "the file's name"), options.tz)
        guess += f" on {year}-{month:02}-{day:02} (from the file's name)"
    else:
        notes.say("the file's name holds no date: only the time of day is known")
    ns, clock = assemble.zeroed(column, column.ok)
    sensor = Sensor("power", NAME, Scope.NODE, options.host)
    series = assemble.power_series(sensor, ns, np.array(watts)[column.ok], clock=clock, notes=notes)
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=(series,),
        warnings=notes.warnings(),
        guess=guess,
    )


def _rows(text: str, notes: Notes) -> tuple[list[str], list[float]]:
    """(times of day, watts) of all rows."""
    clocks: list[str] = []
    watts: list[float] = []
    lines = text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if _HEADER.fullmatch(line):
            continue
        match = _ROW.fullmatch(line)
        is_cut = number == len(lines) and not line.endswith('"')
        if match is None or is_cut:
            notes.drop(number, "is not a time and a reading")
            continue
        value = table.number(match[2])
        if not np.isfinite(value):
            notes.drop(number, "the reading is not a number")
            continue
        # It writes 7:5:9 for what others write as 07:05:09.
        clocks.append(":".join(part.zfill(2) for part in match[1].split(":")))
        watts.append(value)
    return clocks, watts
