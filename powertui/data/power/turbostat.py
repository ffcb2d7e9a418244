"""turbostat: a header again and again, a summary row with `-`, package columns only on each
package's first row.

There is no time unless `Time_Of_Day_Seconds` was asked for: then the default of 5 s an interval is
assumed, and said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, PowerSeries, Scope, Sensor
from powertui.data.power import column_times, stamps, table, times
from powertui.data.power.assemble import power_series, zeroed
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "turbostat"
PERIOD_S = 5  # turbostat's own default
# Watts by default; joules of each interval with --Joules.
_COLUMNS = {
    "PkgWatt": Scope.PACKAGE,
    "CorWatt": Scope.CORE,
    "GFXWatt": Scope.RAIL,
    "RAMWatt": Scope.DRAM,
    "SysWatt": Scope.NODE,
    "Pkg_J": Scope.PACKAGE,
    "Cor_J": Scope.CORE,
    "GFX_J": Scope.RAIL,
    "RAM_J": Scope.DRAM,
    "Sys_J": Scope.NODE,
}
_TIME = "Time_Of_Day_Seconds"


def _header(line: str) -> list[str]:
    """The columns that a header names; none of any other line."""
    names = line.split()
    if _COLUMNS.keys().isdisjoint(names):
        return []
    if re.search(r"\d+\.\d", line):
        return []
    return names


def sniff(head: str, _path: str) -> int:
    """By a header with its column names."""
    first_line, _, _ = head.lstrip().partition("\n")
    if _TIME not in head and stamps.time_of_line(first_line):
        return 0  # tables below times: `stamped_rows` reads them
    has_names = any(name in head for name in _COLUMNS)
    if has_names and any(map(_header, head.split("\n"))):
        return 96
    return 0


class _Reading(NamedTuple):
    """A cell of a column of power or energy."""

    round: int  # from 0: how many summary rows came before
    when: float  # Unix seconds, NaN where the log has no times
    value: float


# Readings by column and package; "" is the summary.
_Readings = dict[tuple[str, str], list[_Reading]]


def _rows(text: str, notes: Notes) -> Iterator[tuple[int, dict[str, str]]]:
    """(line, cells by column) of every row below a header."""
    names: list[str] = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if header := _header(line):
            names = header
            continue
        cells = line.split()
        if not cells or len(cells) > len(names):
            continue
        if not all(map(_CELL.fullmatch, cells)):
            continue  # debug lines between the tables
        if number == len(lines):
            notes.drop(number, "the last line may be cut")
            continue
        yield number, dict(zip(names, cells, strict=False))


_CELL = re.compile(r"-|[-\d.:]+|\(?neg\)?")


def _readings(text: str, notes: Notes) -> _Readings:
    """Readings of each package where there are several, else of the summary rows."""
    readings: _Readings = {}
    rounds = -1
    now = float("nan")
    for number, cells in _rows(text, notes):
        package = cells.get("Package")
        if cells.get("CPU", cells.get("Core", "-")) == "-":
            package = ""  # a row that sums up a round
            rounds += 1
            now = table.number(cells.get(_TIME, ""))
        for name in cells.keys() & _COLUMNS.keys():
            value = table.number(cells[name])
            if not np.isfinite(value):
                notes.drop(number, f"{name} is not a number")
            elif package is not None:
                reading = _Reading(rounds, now, value)
                readings.setdefault((name, package), []).append(reading)
    packages = {package for _, package in readings}
    packages.discard("")
    has_several = len(packages) > 1 and rounds >= 0
    picked = {}
    for (name, package), rows in readings.items():
        if bool(package) == has_several:
            picked[name, package] = rows
    return picked


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per power column; per package when there are several."""
    notes = Notes(source.path)
    readings = _readings(source.text, notes)
    if not readings:
        raise UnreadableFile(
            source.path,
            "comes from turbostat, but holds no watts",
            hint=(
                "Record with: turbostat --quiet --Summary --show "
                "Time_Of_Day_Seconds,PkgWatt,RAMWatt -i 1"
            ),
        )
    has_times = any(np.isfinite(row.when) for rows in readings.values() for row in rows)
    if not has_times:
        notes.say(
            f"no time in the log: {PERIOD_S} s per interval is assumed, turbostat's default "
            f"(record {_TIME})"
        )
    series: list[PowerSeries] = []
    columns = list(_COLUMNS)
    for name, package in sorted(readings, key=lambda key: (columns.index(key[0]), key[1])):
        rows = readings[name, package]
        column = _times(rows, has_times=has_times)
        ns, clock = zeroed(column, column.ok, keep_zero=not has_times)
        values = np.array([row.value for row in rows])[column.ok]
        seconds = np.r_[np.nan, np.diff(ns) / NS_PER_S]
        watts = values
        if not name.endswith("Watt"):
            with np.errstate(divide="ignore", invalid="ignore"):
                watts = np.where(seconds > 0, values / seconds, np.nan)
        if package:
            label = f"{name} package {package}"
        else:
            label = name
        sensor = Sensor(label, NAME, _COLUMNS[name], options.host)
        joules = watts * seconds
        series.append(power_series(sensor, ns, watts, clock=clock, notes=notes, joules=joules))
    when_words = "Unix seconds" if has_times else f"{PERIOD_S} s per interval, assumed"
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=f"turbostat: mean watts per interval; time: {when_words}",
    )


def _times(rows: Sequence[_Reading], *, has_times: bool) -> column_times.TimeColumn:
    """When these readings were written; without times in the log, one round after the other."""
    if has_times:
        seconds = np.array([row.when for row in rows])
        return column_times.from_numbers(seconds, _TIME)
    rounds = np.array([row.round for row in rows], np.int64)
    return column_times.TimeColumn(
        ns=(rounds + 1) * PERIOD_S * times.S,
        ok=np.ones(len(rows), np.bool_),
        kind="elapsed",
        words="assumed",
    )
