"""Intel Power Gadget: mean watts per interval with their cumulative joules, elapsed seconds, time
of day with `:` before the ms.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Clock, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, table, times
from powertui.data.power.assemble import power_series
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "power gadget"
_POWER = re.compile(
    r"(Processor|IA|GT|DRAM|Package|PSYS) Power[_ ]?(\d*)\s*\(W(?:atts?)?\)", re.IGNORECASE
)
_SCOPES = {
    "processor": Scope.PACKAGE,
    "package": Scope.PACKAGE,
    "ia": Scope.CORE,
    "gt": Scope.RAIL,
    "dram": Scope.DRAM,
    "psys": Scope.NODE,
}
_NAMES = {
    "processor": "Processor",
    "package": "Package",
    "ia": "IA cores",
    "gt": "graphics",
    "dram": "DRAM",
    "psys": "platform",
}


def is_column(name: str) -> bool:
    """A column of Power Gadget's watts."""
    return _POWER.fullmatch(name.strip()) is not None


def sniff(head: str, _path: str) -> int:
    """By its header."""
    first = head.split("\n", 1)[0]
    return (
        98
        if re.search(r"Elapsed Time|System Time|RDTSC", first)
        and not first.startswith(("{", "["))
        and _POWER.search(first)
        else 0
    )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """Processor, cores, graphics and memory, each with its own counter."""
    notes = Notes(source.path)
    rows = table.read_dialect(source, "Power Gadget", notes, end="Total Elapsed Time")
    return from_table(source.path, rows, options, notes)


def from_table(path: str, rows: table.FileCells, options: LogColumns, notes: Notes) -> PowerLog:
    """The same, of a table that something else has cut into columns."""
    when = next(
        (i for i, name in enumerate(rows.names) if name.strip().startswith("Elapsed Time")), None
    )
    of_day = rows.find("System Time")
    if when is not None:
        column = times.from_numbers(rows.floats(when)[0].copy(), rows.names[when])
        clock = Clock(detail="seconds since Power Gadget was started")
    elif of_day is not None:
        column = times.in_zone(times.from_texts(rows.texts(of_day)), options.tz)
        clock = assemble.zeroed(column, column.ok)[1]
    elif len(rows) == 1:
        column = times.TimeColumn(
            np.zeros(1, np.int64), np.ones(1, np.bool_), "elapsed", "a mean without a time"
        )
        clock = Clock(detail=column.words)
    else:
        raise UnreadableFile(
            path,
            "comes from Power Gadget, but without its times",
            hint="Keep the column Elapsed Time (sec).",
        )
    if when is None and column.ok.any():
        column = replace(column, ns=column.ns - int(column.ns[column.ok].min()))
    notes.drop_all(rows.lines[~column.ok], "the time is not a number")
    series: list[PowerSeries] = []
    for at, title in enumerate(rows.names):
        match = _POWER.fullmatch(title.strip())
        if match is None:
            continue
        watts, bad = rows.floats(at)
        notes.drop_all(rows.lines[bad & column.ok], f"{title} is not a number")
        good = column.ok & ~bad & np.isfinite(watts)
        if not good.any():
            continue
        ns, mean = column.ns[good], watts[good]
        joules = _joules(rows, match[1], match[2], good)
        if joules is None:
            joules = np.r_[np.nan, mean[1:] * np.diff(ns) / NS_PER_S]
        if len(ns) == 1 and when is not None and ns[0] > 0:  # one row: the mean since the start
            ns, mean, joules = (
                np.r_[0, ns],
                np.r_[np.nan, mean],
                np.r_[np.nan, mean * ns / NS_PER_S],
            )
        kind = match[1].lower()
        number = f" {match[2]}" if match[2] else ""
        sensor = Sensor(f"{_NAMES[kind]}{number}", NAME, _SCOPES[kind], options.host)
        series.append(
            power_series(
                sensor,
                ns,
                mean,
                clock=clock,
                notes=notes,
                joules=joules,
            )
        )
    if not series:
        raise UnreadableFile(path, "has Power Gadget's columns, but no watts in any row")
    words = "elapsed seconds" if when is not None else column.words
    return PowerLog(
        path,
        NAME,
        tuple(series),
        notes.warnings(),
        f"Power Gadget: mean watts per interval, {words}",
    )


def _joules(rows: table.FileCells, what: str, number: str, good: np.ndarray) -> np.ndarray | None:
    """Joules since the row before, from the counter beside the watts."""
    at = rows.find(f"Cumulative {what} Energy_{number}(Joules)")
    if at is None:
        return None
    total = rows.floats(at)[0][good]
    steps = np.diff(total)
    return np.concatenate(([np.nan], np.where(steps >= 0, steps, np.nan)))
