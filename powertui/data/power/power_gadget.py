"""Intel Power Gadget: mean watts per interval with their cumulative joules, elapsed seconds, time
of day with `:` before the ms.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Clock, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, column_times, table, times
from powertui.data.power.assemble import power_series
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "power gadget"
_POWER = re.compile(
    r"(Processor|IA|GT|DRAM|Package|PSYS) Power[_ ]?(\d*)\s*\(W(?:atts?)?\)", re.IGNORECASE
)
# IA and GT are Intel's words for the cores and the graphics of a processor.
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
    first, _, _ = head.partition("\n")
    if first.startswith(("{", "[")) or not _POWER.search(first):
        return 0
    if re.search(r"Elapsed Time|System Time|RDTSC", first):
        return 98
    return 0


class _Times(NamedTuple):
    """The times of the rows, and the clock of their zero."""

    column: column_times.TimeColumn
    clock: Clock
    words: str
    is_elapsed: bool  # since Power Gadget was started


def _times(path: str, rows: table.FileCells, tz: str | None) -> _Times:
    for place, name in enumerate(rows.names):
        if name.strip().startswith("Elapsed Time"):
            elapsed_s, _ = rows.floats(place)
            column = column_times.from_numbers(elapsed_s.copy(), name)
            clock = Clock(detail="seconds since Power Gadget was started")
            return _Times(column, clock, "elapsed seconds", is_elapsed=True)
    time_of_day = rows.find("System Time")
    if time_of_day is not None:
        written = column_times.from_texts(rows.texts(time_of_day))
        column = times.in_zone(written, tz)
        _, clock = assemble.zeroed(column, column.ok)
    elif len(rows) == 1:
        column = column_times.TimeColumn(
            ns=np.zeros(1, np.int64),
            ok=np.ones(1, np.bool_),
            kind="elapsed",
            words="a mean without a time",
        )
        clock = Clock(detail=column.words)
    else:
        raise UnreadableFile(
            path,
            "comes from Power Gadget, but without its times",
            hint="Keep the column Elapsed Time (sec).",
        )
    if column.ok.any():
        first_ns = int(column.ns[column.ok].min())
        column = replace(column, ns=column.ns - first_ns)
    return _Times(column, clock, column.words, is_elapsed=False)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """Processor, cores, graphics and memory, each with its own counter."""
    notes = Notes(source.path)
    rows = table.read_dialect(source, "Power Gadget", notes, end="Total Elapsed Time")
    return from_table(source.path, rows, options, notes)


def from_table(
    path: str,
    rows: table.FileCells,
    options: LogColumns,
    notes: Notes,
) -> PowerLog:
    """The same, of a table that something else has cut into columns."""
    read_times = _times(path, rows, options.tz)
    column = read_times.column
    notes.drop_all(rows.lines[~column.ok], "the time is not a number")
    series: list[PowerSeries] = []
    for place, title in enumerate(rows.names):
        match = _POWER.fullmatch(title.strip())
        if match is None:
            continue
        watts, is_bad = rows.floats(place)
        notes.drop_all(rows.lines[is_bad & column.ok], f"{title} is not a number")
        good = column.ok & ~is_bad & np.isfinite(watts)
        if not good.any():
            continue
        ns = column.ns[good]
        mean = watts[good]
        joules = _joules(rows, match[1], match[2], good)
        if joules is None:
            drawn = mean[1:] * np.diff(ns) / NS_PER_S
            joules = np.r_[np.nan, drawn]
        if len(ns) == 1 and read_times.is_elapsed and ns[0] > 0:
            # One row: the mean since the start.
            drawn = mean * ns / NS_PER_S
            joules = np.r_[np.nan, drawn]
            ns = np.r_[0, ns]
            mean = np.r_[np.nan, mean]
        channel = power_series(
            _sensor(match, options.host),
            ns,
            mean,
            clock=read_times.clock,
            notes=notes,
            joules=joules,
        )
        series.append(channel)
    if not series:
        raise UnreadableFile(path, "has Power Gadget's columns, but no watts in any row")
    return PowerLog(
        path=path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=f"Power Gadget: mean watts per interval, {read_times.words}",
    )


def _sensor(title: re.Match[str], host: str) -> Sensor:
    """What a column of watts is of; numbered where a machine has several processors."""
    kind = title[1].lower()
    if title[2]:
        number = f" {title[2]}"
    else:
        number = ""
    return Sensor(f"{_NAMES[kind]}{number}", NAME, _SCOPES[kind], host)


def _joules(
    rows: table.FileCells,
    what: str,
    number: str,
    good: np.ndarray,
) -> np.ndarray | None:
    """Joules since the row before, from the counter beside the watts."""
    counter = rows.find(f"Cumulative {what} Energy_{number}(Joules)")
    if counter is None:
        return None
    totals, _ = rows.floats(counter)
    # A counter that falls was started anew: what was counted meanwhile is not known.
    steps = np.diff(totals[good], prepend=np.nan)
    return np.where(steps >= 0, steps, np.nan)
