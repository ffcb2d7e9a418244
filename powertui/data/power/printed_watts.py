"""Reads what tools print for a person, asked again and again into one file, each answer below its
time: the dialects that are a row of `dialects` (`dialects.PrintedWatts`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import stamps
from powertui.data.power.collected import Collected
from powertui.data.power.dialects import PrintedReading, PrintedWatts
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile


def load(dialect: PrintedWatts, source: LogFile, options: LogColumns) -> PowerLog:
    """One channel for each reading that an answer contains."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    owner = re.compile(dialect.owner) if dialect.owner else None
    lines = list(stamps.timed_lines(source.text))
    readings = _first_that_match(dialect.readings, [line.text for line in lines])
    of_owner = ""
    for line in lines:
        if owner is not None and (match := owner.search(line.text)):
            of_owner = match[1]
        for reading in readings:
            if (match := re.search(reading.pattern, line.text)) is None:
                continue
            label = reading.label.format(of_owner, **match.groupdict())
            sensor = Sensor(
                label, dialect.name, reading.scope, options.host, device=_device(label, reading)
            )
            collected.add(sensor, line.when, match["watts"], line.number)
    return collected.log(dialect.name, options, f"{dialect.program}: watts", hint=dialect.hint)


def _first_that_match(
    groups: Sequence[tuple[PrintedReading, ...]],
    lines: Sequence[str],
) -> tuple[PrintedReading, ...]:
    """The first readings of which the log has any: those after them are parts of it."""
    for readings in groups:
        if any(re.search(reading.pattern, line) for reading in readings for line in lines):
            return readings
    return ()


def _device(label: str, reading: PrintedReading) -> Device | None:
    """The accelerator that a label names by its number."""
    number = label.rpartition(" ")[2]
    if reading.scope is not Scope.GPU or not number.isdigit():
        return None
    return Device(int(number), "", "", label)
