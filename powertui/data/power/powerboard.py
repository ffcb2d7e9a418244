"""PowerBoard's recordings: `ipmi_data.csv`, its pre-release form, and the SQLite database behind
both.

All of them hold seconds since `start()` and no wall time at all; ours adds `Time_epoch` as the last
column. The pre-release writer put the elapsed time after every value, so that its rows have 29
fields under a header of 16. The database repeats its last buffer, out of order. Readings come in
steps of the BMC's sensor (7 W).
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Bools, Clock, Floats, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, column_times, table, times
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import SQLITE, LogFile
from powertui.data.power.units import means_power, scope_of
from powertui.data.quantiles import median_of_column
from powertui.errors import UnreadableFile

NAME = "powerboard"
_SOURCE = "powerboard"
_ELAPSED = "Time_elapsed"
_EPOCH = "Time_epoch"
_READING = "Sensor_Reading"
_VALUES = 15  # fields of a reading, without the time


def sniff(head: str | bytes, _path: str) -> int:
    """By the header's own names, or by the database's table."""
    if isinstance(head, bytes):
        has_table = b"SensorData" in head and b"sensorRead" in head
        is_powerboard = has_table and head.startswith(SQLITE)
    else:
        header, _, _ = head.lstrip("\ufeff").partition("\n")
        has_time = _ELAPSED in header or _EPOCH in header
        is_powerboard = has_time and _READING in header
    return 100 if is_powerboard else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per sensor named in the log (nearly always one: Total Power)."""
    if source.head.startswith(SQLITE):
        return _database(source, options)
    return _csv(source, options)


def _sensor(name: str, host: str, *, alone: bool = True) -> Sensor:
    scope = scope_of(name)
    if scope is Scope.UNKNOWN and alone:
        scope = Scope.NODE
    return Sensor(name, _SOURCE, scope, host)


def _of_power(names: Iterable[str], notes: Notes) -> list[str]:
    """Of several sensors in one log those that read power; a temperature beside them is none."""
    listed = list(names)
    power = list(filter(means_power, listed))
    other_count = len(listed) - len(power)
    if not power or not other_count:
        return listed
    notes.say(f"{other_count} sensors whose names do not mention power are left out")
    return power


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────


# What libipmi and PowerBoard write where a sensor did not answer.
_NO_VALUE = frozenset({"", "na", "n/a", "nan", "none", "null"})


def _without_readings(path: str) -> UnreadableFile:
    return UnreadableFile(
        path,
        "is a recording without readings",
        hint="Check that the source answers: powertui sensors",
    )


def _csv(source: LogFile, options: LogColumns) -> PowerLog:
    notes = Notes(source.path)
    rows = _table(source, notes)
    watts, is_bad = _watts(source.path, rows)
    notes.drop_all(rows.lines[is_bad], "the reading is not a number")
    column, uses_epoch = _times(rows)
    notes.drop_all(rows.lines[~column.ok & ~is_bad], "the time is not a number")
    good = ~is_bad & column.ok & np.isfinite(watts)
    if not good.any():
        raise UnreadableFile(
            source.path,
            "has no row with both a time and a reading",
            hint="Name the columns: --time-col NAME --watts-col NAME",
        )
    elapsed = rows.find(_ELAPSED)
    if uses_epoch and elapsed is not None:
        elapsed_s, _ = rows.floats(elapsed)
        ns, clock = _both(column, elapsed_s, good)
    else:
        ns, clock = assemble.zeroed(column, good, keep_zero=not uses_epoch)
    watts = watts[good]
    labels = np.array(_labels(rows))[good]
    names = _of_power(dict.fromkeys(labels.tolist()), notes)
    series: list[PowerSeries] = []
    for name in names:
        mine = labels == name
        channel = assemble.power_series(
            _sensor(name, options.host, alone=len(names) == 1),
            ns[mine],
            watts[mine],
            clock=clock,
            notes=notes,
        )
        series.append(channel)
    guess = "PowerBoard: `Sensor_Reading` in W, `Time_elapsed` in seconds since start()"
    if uses_epoch:
        guess = "PowerBoard: `Sensor_Reading` in W, `Time_epoch` in Unix seconds"
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=guess,
    )


def _table(source: LogFile, notes: Notes) -> table.FileCells:
    """The rows of a log. Raises `UnreadableFile` where none fits the header."""
    layout = table.shape(source.head_text)
    if layout is None:
        raise UnreadableFile(
            source.path,
            "has PowerBoard's header, but no rows",
            hint="Either stop() was never called, or the sensor never answered.",
        )
    if _is_interleaved(source.text, layout):
        rows = _interleaved(source, layout, notes)
    else:
        rows = table.read(source, layout, notes)
    if not len(rows) and not notes.first_reason():
        raise _without_readings(source.path)
    has_time = rows.find(_ELAPSED) is not None or rows.find(_EPOCH) is not None
    if rows.find(_READING) is None or not has_time or not len(rows):
        reason = notes.first_reason() or "a column is missing"
        raise UnreadableFile(
            source.path,
            f"has PowerBoard's header, but its rows do not fit it ({reason})",
            hint=(
                "Its columns are shifted. Record it again, or name the columns with "
                "--time-col and --watts-col."
            ),
        )
    return rows


def _is_interleaved(text: str, layout: table.Shape) -> bool:
    """Whether the pre-release writer wrote it: 29 fields in a row under a header of 16."""
    if len(layout.names) != _VALUES + 1:
        return False
    first = layout.first
    lines = text.split("\n", first + 1)
    if len(lines) <= first + 1:
        return False
    first_row = table.fields(lines[first], ",")
    return len(first_row) == 2 * _VALUES - 1


def _watts(path: str, rows: table.FileCells) -> tuple[Floats, Bools]:
    """The readings, and which of them are no numbers. Raises `UnreadableFile` when all are none."""
    reading = rows.find(_READING)
    assert reading is not None
    watts, is_bad = rows.floats(reading)
    if np.isfinite(watts).any():
        return watts, is_bad
    texts = [text for text in rows.texts(reading) if text.strip().lower() not in _NO_VALUE]
    if not texts:
        raise _without_readings(path)
    raise UnreadableFile(
        path,
        f"has {texts[0]!r} as every reading: its columns are shifted",
        hint=(
            "Check the column Sensor_Reading, or name other columns with --time-col and "
            "--watts-col."
        ),
    )


def _times(rows: table.FileCells) -> tuple[column_times.TimeColumn, bool]:
    """The times, and whether they are Unix times: those of `Time_epoch`, where it holds some."""
    elapsed = rows.find(_ELAPSED)
    epoch = rows.find(_EPOCH)
    if epoch is not None:
        unix_s, _ = rows.floats(epoch)
        column = column_times.from_numbers(unix_s, rows.names[epoch])
        if column.kind == "absolute" or elapsed is None:
            return column, True
    assert elapsed is not None
    elapsed_s, _ = rows.floats(elapsed)
    return column_times.from_numbers(elapsed_s, _ELAPSED), False


def _labels(rows: table.FileCells) -> Sequence[str]:
    """The sensor of each row."""
    for name in ("Sensor_ID", "Sensor_Name", "Sensor"):
        column = rows.find(name)
        if column is not None:
            return rows.texts(column)
    return ["Total Power"] * len(rows)


def _both(
    epoch: column_times.TimeColumn,
    elapsed: np.ndarray,
    good: np.ndarray,
) -> tuple[np.ndarray, Clock]:
    """Rows timed by the wall clock, on a zero that stays start(): the median of the differences is
    when that was.
    """
    ns = epoch.ns[good]
    elapsed_s = elapsed[good]
    is_possible = np.abs(elapsed_s) < column_times.LONGEST_S
    zero = int(ns.min())
    if is_possible.any():
        elapsed_ns = np.round(elapsed_s[is_possible] * times.S).astype(np.int64)
        start_ns = ns[is_possible] - elapsed_ns
        zero = int(median_of_column(start_ns))
    return ns - zero, times.clock(epoch, zero)


def _interleaved(source: LogFile, layout: table.Shape, notes: Notes) -> table.FileCells:
    """Rows of name, then (value, elapsed) fourteen times: every copy of the elapsed time but one is
    taken out.
    """
    width = 2 * _VALUES - 1
    places = tuple(map(str, range(width)))
    raw = table.read(source, layout, notes, names=places)
    elapsed_copies = [raw.texts(column) for column in range(2, width, 2)]
    are_equal = np.ones(len(raw), np.bool_)
    for row, cells in enumerate(zip(*elapsed_copies, strict=True)):
        are_equal[row] = len(set(cells)) == 1
    notes.drop_all(raw.lines[~are_equal], "the elapsed times within the row differ")
    notes.say(
        "written by a pre-release PowerBoard: the elapsed time follows every value; read by "
        "position"
    )
    picked = (0, *range(1, width, 2), width - 1)
    columns = [raw.columns[column] for column in picked]
    rows = table.FileCells(layout.names, raw.lines, columns)
    return rows.take(are_equal)


# ── database ─────────────────────────────────────────────────────────────────────────────────────

_READ = re.compile(r"Sensor Reading\s*:\s*(\S+)(?:\s*\(\+/-\s*[\d.]+\))?\s*(\S*)")
_ID = re.compile(r"Sensor ID\s*:\s*(.+?)\s*(?:\(0x[0-9a-fA-F]+\))?\s*(?:\\n|\n|$)")


def _database(source: LogFile, options: LogColumns) -> PowerLog:
    """The answers of the sensor that the database keeps."""
    notes = Notes(source.path)
    source.check()
    rows = _stored_answers(source.path)
    readings: dict[str, list[tuple[float, float]]] = {}  # (elapsed s, W) by sensor
    for row, answer, when in rows:
        text = str(answer)
        reading = _READ.search(text)
        named = _ID.search(text)
        watts = table.number(reading[1]) if reading else float("nan")
        if not isinstance(when, (int, float)) or not np.isfinite(when):
            notes.drop(row, "the time is not a number")
        elif not np.isfinite(watts):
            notes.drop(row, "the sensor did not give a number")
        else:
            name = named[1] if named else "Total Power"
            pair = (float(when), watts)
            readings.setdefault(name, []).append(pair)
    if not readings:
        reason = notes.first_reason() or "empty"
        raise UnreadableFile(
            source.path, f"holds {len(rows)} rows and no reading among them ({reason})"
        )
    series = []
    for name, pairs in readings.items():
        elapsed_s, watts_read = np.array(pairs).T
        column = column_times.from_numbers(elapsed_s, _ELAPSED)
        is_elapsed = column.kind == "elapsed"
        ns, clock = assemble.zeroed(column, column.ok, keep_zero=is_elapsed)
        channel = assemble.power_series(
            _sensor(name, options.host),
            ns,
            watts_read[column.ok],
            clock=clock,
            notes=notes,
        )
        series.append(channel)
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess="PowerBoard's database: readings in W, seconds since start()",
    )


def _stored_answers(path: str) -> list[tuple[int, Any, Any]]:
    """(row, answer of the sensor, elapsed time) of all rows."""
    # immutable: no lock, no journal beside the data
    address = f"file:{quote(str(Path(path).resolve()))}?mode=ro&immutable=1"
    try:
        connection = sqlite3.connect(address, uri=True)
        try:
            connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            return connection.execute(
                "SELECT rowid, sensorRead, dataTime FROM SensorData ORDER BY rowid"
            ).fetchall()
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise UnreadableFile(
            path,
            f"is a SQLite database that cannot be read ({error})",
            hint="Copy it again while nothing writes to it.",
        ) from None
