"""Eco2AI's emission.csv: one row per run (or epoch), with its start, its duration and the energy
since that start in kWh.

The energy lies behind the start, over the duration. Rows of one run (one id) count on from the same
start: each tells what was added since the row before. Older versions write the duration as a date,
of which only the time of day means something.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, PowerKind, Scope, Sensor
from powertui.data.power import table, times, windows
from powertui.data.power.assemble import make
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "eco2ai"
_JOULES = 3.6e6


def sniff(head: str | bytes, _path: str) -> int:
    """By its columns."""
    if isinstance(head, bytes):
        return 0
    first = head.split("\n", 1)[0]
    return (
        98
        if "start_time" in first and "power_consumption(kW" in first and "duration" in first
        else 0
    )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """Processor, memory and GPU together: mean watts of each run."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    rows = table.read(source, layout, notes) if layout is not None else None
    columns = (
        {name: _find(rows, name) for name in ("start_time", "duration", "power_consumption")}
        if rows is not None
        else {}
    )
    if rows is None or not len(rows) or None in columns.values():
        raise UnreadableFile(
            source.path,
            f"has Eco2AI's header, but no row that fits it ({notes.first_reason() or 'no row'})",
        )
    start, duration, energy = (
        columns[name] or 0 for name in ("start_time", "duration", "power_consumption")
    )
    column = times.in_zone(times.from_texts(rows.texts(start)), options.tz)
    notes.drop_all(rows.lines[~column.ok], "the start cannot be read")
    seconds = np.array([_seconds(text) for text in rows.texts(duration)])
    length, lasting = times.lengths(seconds)
    kwh, bad = rows.floats(energy)
    bad |= np.isnan(kwh)
    notes.drop_all(rows.lines[column.ok & ~lasting], "the duration is missing or not positive")
    notes.drop_all(rows.lines[column.ok & lasting & bad], "no energy")
    good = np.flatnonzero(column.ok & lasting & ~bad)
    if not len(good):
        raise UnreadableFile(
            source.path,
            f"has no row with a start, a duration and an energy ({notes.first_reason()})",
        )
    named = _find(rows, "id")
    ids = rows.texts(named) if named is not None else [""] * len(rows)
    zero = int(column.ns[good].min())
    starts, ends, joules = (
        column.ns[good] - zero,
        column.ns[good] + length[good] - zero,
        kwh[good] * _JOULES,
    )
    last: dict[tuple[str, int], tuple[int, float]] = {}
    for k in np.argsort(ends, kind="stable").tolist():
        key = (ids[good[k]], int(starts[k]))
        before = last.get(key)
        last[key] = (int(ends[k]), float(joules[k]))
        if key[0] and before is not None and before[0] < ends[k] and before[1] <= joules[k]:
            starts[k], joules[k] = before[0], joules[k] - before[1]
    ns, watts, joules = windows.rows(starts, ends, joules, rows.lines[good], notes)
    notes.say("Eco2AI's processor and memory are estimates of a model")
    sensor = Sensor(
        "processor, memory and GPU", NAME, Scope.UNKNOWN, options.host, scale=Badge.ESTIMATED
    )
    series = make(
        sensor,
        ns,
        watts,
        clock=times.clock(column, zero),
        path=source.path,
        notes=notes,
        kind=PowerKind.INTERVAL,
        joules=joules,
    )
    guess = f"Eco2AI: energies in kWh over `duration(s)`, from `start_time` on ({column.words})"
    return PowerLog(source.path, NAME, (series,), notes.warnings(), guess)


def _find(rows: table.FileCells, begin: str) -> int | None:
    return next(
        (i for i, name in enumerate(rows.names) if name.split("(", 1)[0].strip() == begin), None
    )


def _seconds(text: str) -> float:
    """ "60.5", or "1970-01-01 00:01:00" as early versions wrote it."""
    clock = re.fullmatch(r"1970-01-01 (\d\d):(\d\d):(\d\d)", text.strip())
    return (
        int(clock[1]) * 3600.0 + int(clock[2]) * 60 + int(clock[3]) if clock else table.number(text)
    )
