"""CodeCarbon's emissions.csv: one row per run (or per flush of a run), written at its end, in kWh
and local time.

The energies are what counts; the power columns are one moment's. Rows of one run that flush a
growing total become the intervals between the flushes.
"""

from __future__ import annotations

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Badge, PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import table, times, windows
from powertui.data.power.assemble import make
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "codecarbon"
_PARTS = (
    ("cpu_energy", "CPU", Scope.PACKAGE),
    ("gpu_energy", "GPU", Scope.GPU),
    ("ram_energy", "RAM", Scope.DRAM),
)
_JOULES = 3.6e6
_SAME = 3.0  # s by which a flush's time and duration may disagree (stamps have whole seconds)


def sniff(head: str | bytes, _path: str) -> int:
    """By its columns."""
    if isinstance(head, bytes):
        return 0
    first = head.split("\n", 1)[0]
    return 98 if "emissions" in first and "cpu_energy" in first and "duration" in first else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """Processor, GPU and memory: mean watts of each run."""
    notes = Notes(source.path)
    layout = table.shape(source.head_text)
    rows = table.read(source, layout, notes) if layout is not None else None
    needed = ("timestamp", "duration")
    if rows is None or not len(rows) or any(rows.find(name) is None for name in needed):
        raise UnreadableFile(
            source.path,
            (
                "has CodeCarbon's header, but no row that fits it "
                f"({notes.first_reason() or 'no row'})"
            ),
        )
    stamp, duration, run = rows.find("timestamp"), rows.find("duration"), rows.find("run_id")
    assert stamp is not None
    assert duration is not None
    column = times.in_zone(times.from_texts(rows.texts(stamp)), options.tz)
    notes.drop_all(rows.lines[~column.ok], "the time cannot be read")
    seconds = rows.floats(duration)[0]
    length, lasting = times.lengths(seconds)
    notes.drop_all(rows.lines[column.ok & ~lasting], "the duration is missing or not positive")
    good = column.ok & lasting
    runs = rows.texts(run) if run is not None else [""] * len(rows)
    if not good.any():
        raise UnreadableFile(
            source.path, f"has no row with a time and a duration ({notes.first_reason()})"
        )
    zero = int((column.ns[good] - length[good]).min())
    clock = times.clock(column, zero)
    series: list[PowerSeries] = []
    for name, label, scope in _PARTS:
        at = rows.find(name)
        if at is None:
            continue
        kwh, bad = rows.floats(at)
        missing = good & (bad | np.isnan(kwh))
        notes.drop_all(rows.lines[missing], f"no {name}")
        usable = np.flatnonzero(good & ~missing)
        if not len(usable) or not (kwh[usable] > 0).any():
            continue
        starts, joules = _flushes(column.ns, seconds, kwh * _JOULES, runs, usable)
        ns, watts, energy = windows.rows(
            starts - zero, column.ns[usable] - zero, joules, rows.lines[usable], notes
        )
        scale = Badge.MEASURED if scope is Scope.GPU else Badge.ESTIMATED
        sensor = Sensor(label, NAME, scope, options.host, scale=scale)
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
        raise UnreadableFile(source.path, "has CodeCarbon's columns, but no energy in any row")
    notes.say("CodeCarbon's memory (and processors without a counter) are estimates of a model")
    return PowerLog(
        source.path,
        NAME,
        tuple(series),
        notes.warnings(),
        f"CodeCarbon: energies in kWh over `duration`, ending at `timestamp` ({column.words})",
    )


def _flushes(
    ns: np.ndarray, seconds: np.ndarray, joules: np.ndarray, runs: list[str], usable: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(start, joules) of every usable row: since the run's last flush where there was one, else
    since its start.
    """
    starts, energy = np.zeros(len(usable), np.int64), np.zeros(len(usable))
    last: dict[str, int] = {}
    for k, row in enumerate(usable.tolist()):
        start, own = int(ns[row] - round(seconds[row] * times.S)), float(joules[row])
        before = last.get(runs[row]) if runs[row] else None
        if before is not None and seconds[row] > seconds[before] and joules[row] >= joules[before]:
            passed = (ns[row] - ns[before]) / times.S
            if abs(passed - (seconds[row] - seconds[before])) <= _SAME:
                start, own = int(ns[before]), own - float(joules[before])
        last[runs[row]] = row
        starts[k], energy[k] = start, own
    return starts, energy
