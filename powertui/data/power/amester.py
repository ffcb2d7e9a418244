"""IBM Amester's traces of the on-chip controller: `#` comments, then `PWR…` columns over a counter
of milliseconds.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Clock, PowerSeries, Scope, Sensor
from powertui.data.power import column_times, table
from powertui.data.power.assemble import power_series
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "amester"
_TICKS = re.compile(r"PWR\w*rcnt", re.IGNORECASE)
_POWER = re.compile(r"PWR\w*", re.IGNORECASE)
# Columns beside a sensor's: its minimum and maximum, its sum, how often it was read.
_NO_POWER = re.compile(r"(rcnt|counter|count|_acc|_min|_max|_status|_sample)$", re.IGNORECASE)
_COUNTER_RANGE = 1 << 32  # the counter has 32 bits
_TICK_NS = 1_000_000


def sniff(head: str, _path: str) -> int:
    """By a header with the counter of its samples."""
    first = next(
        (line for line in head.split("\n") if line.strip() and not line.startswith("#")), ""
    )
    if _TICKS.search(first.split(",")[0]) or ("oca_counter" in first and "PWR" in first):
        return 97
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per power sensor of the controller."""
    notes = Notes(source.path)
    rows = table.read_dialect(source, "Amester", notes)
    tick = next((i for i, name in enumerate(rows.names) if _TICKS.fullmatch(name.strip())), None)
    if tick is None:
        raise UnreadableFile(
            source.path,
            "comes from Amester, but without the counter PWR1MS_rcnt",
            hint="Name the column with the time: --time-col NAME.",
        )
    ticks, bad = rows.floats(tick)
    bad |= ~(np.abs(ticks) < column_times.MOST_NS / _TICK_NS)
    notes.drop_all(rows.lines[bad], "the counter is not a number")
    ms = ticks[~bad].astype(np.int64)
    # 32 bits of milliseconds are full after seven weeks.
    ms += np.r_[0, np.cumsum(np.diff(ms) < -_COUNTER_RANGE // 2)] * _COUNTER_RANGE
    ns = (ms - (int(ms[0]) if len(ms) else 0)) * _TICK_NS
    series: list[PowerSeries] = []
    for at, name in enumerate(rows.names):
        short = name.strip()
        if at == tick or not _POWER.fullmatch(short) or _NO_POWER.search(short):
            continue
        watts, wrong = rows.floats(at)
        wrong |= np.isnan(watts)
        notes.drop_all(rows.lines[wrong & ~bad], f"{short} is not a number")
        good = ~wrong[~bad]
        if good.any():
            sensor = Sensor(short, "occ amester", _scope(short), options.host)
            clock = Clock(detail="the controller's milliseconds")
            series.append(
                power_series(sensor, ns[good], watts[~bad][good], clock=clock, notes=notes)
            )
    if not series:
        raise UnreadableFile(
            source.path,
            f"comes from Amester, but holds no power ({notes.first_reason() or 'no PWR column'})",
        )
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=f"Amester: `{rows.names[tick]}` in ms, {len(series)} power sensors in W",
    )


def _scope(name: str) -> Scope:
    upper = name.upper()
    for pattern, scope in (
        (r"GPU", Scope.GPU),
        (r"MEM|DIMM", Scope.DRAM),
        (r"FAN|IO|STOR|PCIE|VDD|VCS|VIO", Scope.RAIL),
        (r"PROC|P\d", Scope.PACKAGE),
    ):
        if re.search(pattern, upper.removeprefix("PWR")):
            return scope
    return Scope.NODE
