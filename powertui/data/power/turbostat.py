"""turbostat: a header again and again, a summary row with `-`, package columns only on each
package's first row.

There is no time unless `Time_Of_Day_Seconds` was asked for: then the default of 5 s an interval is
assumed, and said.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import table, times
from powertui.data.power.assemble import power_series, zeroed
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "turbostat"
PERIOD_S = 5  # turbostat's own default
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
    names = line.split()
    return (
        names if any(name in _COLUMNS for name in names) and not re.search(r"\d+\.\d", line) else []
    )


def sniff(head: str, _path: str) -> int:
    """By a header with its column names."""
    return (
        96
        if any(name in head for name in _COLUMNS)
        and any(_header(line) for line in head.split("\n"))
        else 0
    )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per power column; per package when there are several."""
    notes = Notes(source.path)
    names: list[str] = []
    rounds = -1
    summary: dict[str, list[tuple[int, float, float]]] = {}
    packages: dict[tuple[str, str], list[tuple[int, float, float]]] = {}
    now = float("nan")
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        if header := _header(line):
            names = header
            continue
        cells = line.split()
        if not names or not cells or len(cells) > len(names):
            continue
        if not all(re.fullmatch(r"-|[-\d.:]+|\(?neg\)?", cell) for cell in cells):
            continue  # debug lines between the tables
        if number == len(lines) and line:
            notes.drop(number, "the last line may be cut")
            continue
        at = dict(zip(names, cells, strict=False))
        is_summary = at.get("CPU", at.get("Core", "-")) == "-"
        if is_summary:
            rounds += 1
            now = table.number(at.get(_TIME, ""))
        for name in at.keys() & _COLUMNS.keys():
            value = table.number(at[name])
            if not np.isfinite(value):
                notes.drop(number, f"{name} is not a number")
                continue
            if is_summary:
                summary.setdefault(name, []).append((rounds, now, value))
            elif "Package" in at:
                packages.setdefault((name, at["Package"]), []).append((rounds, now, value))
    many = len({package for _, package in packages}) > 1
    chosen: dict[tuple[str, str], list[tuple[int, float, float]]] = (
        packages
        if many and rounds >= 0
        else {(name, ""): points for name, points in summary.items()}
    )
    if not chosen:
        raise UnreadableFile(
            source.path,
            "comes from turbostat, but holds no watts",
            hint=(
                "Record with: turbostat --quiet --Summary --show "
                "Time_Of_Day_Seconds,PkgWatt,RAMWatt -i 1"
            ),
        )
    timed = any(np.isfinite(when) for points in chosen.values() for _, when, _ in points)
    if not timed:
        notes.say(
            f"no time in the log: {PERIOD_S} s per interval is assumed, turbostat's default "
            f"(record {_TIME})"
        )
    series: list[PowerSeries] = []
    for (name, package), points in sorted(
        chosen.items(), key=lambda item: (list(_COLUMNS).index(item[0][0]), item[0][1])
    ):
        values = np.array([value for _, _, value in points])
        if timed:
            column = times.from_numbers(np.array([when for _, when, _ in points]), _TIME)
        else:
            since = np.array([i + 1 for i, _, _ in points], np.int64) * PERIOD_S * times.S
            column = times.TimeColumn(since, np.ones(len(points), np.bool_), "elapsed", "assumed")
        ns, clock = zeroed(column, column.ok, keep_zero=not timed)
        values = values[column.ok]
        seconds = np.r_[np.nan, np.diff(ns) / NS_PER_S]
        with np.errstate(divide="ignore", invalid="ignore"):
            watts = (
                values if name.endswith("Watt") else np.where(seconds > 0, values / seconds, np.nan)
            )
        sensor = Sensor(
            f"{name} package {package}" if package else name, NAME, _COLUMNS[name], options.host
        )
        series.append(
            power_series(
                sensor,
                ns,
                watts,
                clock=clock,
                path=source.path,
                notes=notes,
                kind=PowerKind.INTERVAL,
                joules=watts * seconds,
            )
        )
    when_words = "Unix seconds" if timed else f"{PERIOD_S} s per interval, assumed"
    return PowerLog(
        source.path,
        NAME,
        tuple(series),
        notes.warnings(),
        f"turbostat: mean watts per interval; time: {when_words}",
    )
