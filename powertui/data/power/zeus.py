"""Zeus' energy monitor: one row per window, joules per GPU, start on the machine's uptime clock
(not Unix time).
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Clock, PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import groups, table, times, windows
from powertui.data.power.assemble import make
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "zeus"
_ENERGY = re.compile(r"(gpu|cpu|dram|soc)(\d*)_energy")
_SCOPES = {"gpu": Scope.GPU, "cpu": Scope.PACKAGE, "dram": Scope.DRAM, "soc": Scope.NODE}


def sniff(head: str | bytes, _path: str) -> int:
    """By its header."""
    if isinstance(head, bytes):
        return 0
    return 99 if head.startswith("start_time,window_name,elapsed_time") else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per GPU, an interval per window."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    rows = table.read(source, layout, notes) if layout is not None else None
    if rows is None or not len(rows) or len(rows.names) < 3:
        raise UnreadableFile(
            source.path,
            f"has Zeus' header, but no row that fits it ({notes.first_reason() or 'no row'})",
        )
    begun, (length, lasting) = rows.floats(0)[0], times.lengths(rows.floats(2)[0])
    column = times.from_numbers(np.where(lasting, begun, np.nan), "start_time (s)")
    bad = ~(column.ok & lasting)
    notes.drop_all(rows.lines[bad], "start or length is not a number")
    absolute = column.kind == "absolute"
    zero = int(column.ns[~bad].min()) if (~bad).any() else 0
    clock = (
        times.clock(column, zero)
        if absolute
        else Clock(detail="start_time counts from the machine's boot")
    )
    series: list[PowerSeries] = []
    for at, name in enumerate(rows.names):
        match = _ENERGY.fullmatch(name.strip())
        if match is None:
            continue
        joules, wrong = rows.floats(at)
        wrong |= np.isnan(joules)
        notes.drop_all(rows.lines[wrong & ~bad], f"{name} is not a number")
        usable = ~bad & ~wrong
        starts = column.ns[usable] - zero
        ends = starts + length[usable]
        ns, watts, energy = windows.rows(starts, ends, joules[usable], rows.lines[usable], notes)
        if len(ns):
            label = f"{match[1].upper()} {match[2]}".strip()
            sensor = Sensor(
                label, NAME, _SCOPES[match[1]], options.host, device=groups.of_column(label)
            )
            series.append(
                make(
                    sensor,
                    ns,
                    watts,
                    clock=clock,
                    path=source.path,
                    notes=notes,
                    kind=PowerKind.INTERVAL,
                    joules=energy,
                )
            )
    if not series:
        raise UnreadableFile(
            source.path,
            f"holds no window with energy ({notes.first_reason() or 'no energy column'})",
        )
    when = "Unix seconds" if absolute else "seconds since boot, not Unix time"
    return PowerLog(
        source.path,
        NAME,
        tuple(series),
        notes.warnings(),
        f"Zeus: windows in J; start_time in {when}",
    )
