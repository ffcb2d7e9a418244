"""LIKWID: the timeline of `likwid-perfctr -t` (one line an interval, metrics by core), and the
totals of a run that perfctr or powermeter prints.

A metric of a socket stands at its first core and as nothing at the others. Joules or watts of an
interval belong to the time before.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Clock, PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, stamps, table, units
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "likwid"
UNITS_WRITTEN = True
_HEAD = (
    r"#?\s*(?:GID|GROUPID|ID)[|,](?:MetricsCount|NumMetrics)[|,](?:CpuCount|NumCPUs)[|,](?:Total "
    r")?[Rr]untime(?: \[s\])?[|,](.+)"
)
_METRIC = r"((?:Energy|Power)(?: [A-Za-z0-9]{1,20}){0,3}) \[([JW])\]"
_ROW = r"[\s|]{0,80}" + _METRIC + r"(?: STAT)?\s{0,40}[|,](.*)"
_HINT = "Record it with: likwid-perfctr -f -t 500ms -g ENERGY -c 0 COMMAND"


def sniff(head: str, _path: str) -> int:
    """By the header of the timeline, or by its tables with a run time."""
    for line in head.split("\n")[:400]:
        if (match := re.fullmatch(_HEAD, line.strip())) and re.search(_METRIC, match[1]):
            return 97
    if re.search(_METRIC + r"(?: STAT)?\s{0,40}[|,]", head) and re.search(
        r"Runtime \(RDTSC\) \[s\]", head
    ):
        return 96
    return (
        96
        if re.search(r"Energy consumed: [\d.]+ Joules", head)
        and re.search(r"Runtime: [\d.]+ s", head)
        else 0
    )


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """Packages, cores and memory."""
    notes = Notes(source.path)
    for line in source.head_text.split("\n"):
        if re.fullmatch(_HEAD, line.strip()):
            return _timeline(source, notes, options)
    return _totals(source, notes, options)


def _scope(name: str) -> Scope:
    scope = units.scope_of(name)
    return Scope.PACKAGE if scope is Scope.UNKNOWN else scope


def _timeline(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    names: list[str] = []
    comma = False
    points: dict[tuple[str, int], list[tuple[float, float, bool]]] = {}
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if match := re.fullmatch(_HEAD, line.strip()):
            comma = "," in line and "|" not in line
            names = [
                name.strip()
                for name in re.split(r"[|,]" if comma else r"\|", match[1])
                if name.strip()
            ]
            continue
        cells = [cell.strip() for cell in line.split(",")] if comma else line.split()
        if (
            not names
            or len(cells) < 5
            or not all(
                re.fullmatch(r"-?[\d.]+(?:e[-+]?\d+)?|nan|-nan|inf|-", cell) for cell in cells[:4]
            )
        ):
            continue
        counted, cores, when = (table.number(cell) for cell in cells[1:4])
        if (
            not np.isfinite(when)
            or not np.isfinite(cores)
            or not np.isfinite(counted)
            or not 0 < cores < 4096
        ):
            notes.drop(number, "is not a line of the timeline")
            continue
        width, values = int(cores), cells[4:]
        if len(values) < int(counted) * width or (
            number == len(lines) and line and table.was_cut(cells[-1], ["0.1"])
        ):
            notes.drop(
                number, f"has {len(values)} values where {int(counted) * width} were counted"
            )
            continue
        metrics = names if len(names) == int(counted) else names[:: width or 1]
        for k, name in enumerate(metrics):
            match = re.match(_METRIC, name)
            if match is None or k * width >= len(values):
                continue
            for core in range(width):
                value = table.number(values[k * width + core])
                if np.isfinite(value) and (value != 0 or core == 0):
                    points.setdefault((match[1], core), []).append((when, value, match[2] == "J"))
    series = []
    wanted = "Power" if any(name.startswith("Power") for name, _ in points) else "Energy"
    for (name, core), rows in points.items():
        if not name.startswith(wanted):
            continue
        made = _interval(name, core, rows, source.path, notes, options)
        if made is not None:
            series.append(made)
    if not series:
        raise UnreadableFile(
            source.path, "comes from likwid-perfctr, but no group in it counts energy", hint=_HINT
        )
    return PowerLog(
        source.path,
        NAME,
        tuple(series),
        notes.warnings(),
        "LIKWID timeline: means of each interval; seconds since start",
    )


def _interval(
    name: str,
    core: int,
    rows: list[tuple[float, float, bool]],
    path: str,
    notes: Notes,
    options: LogColumns,
) -> PowerSeries | None:
    """Each value tells of the time since the line before; the first since the start."""
    when = np.array([0.0] + [at for at, _, _ in rows])
    if not (np.diff(when) > 0).all() or when[-1] > 1e9:
        good = np.r_[True, np.diff(np.maximum.accumulate(when)) > 0] & (when <= 1e9)
        rows = [row for row, ok in zip(rows, good[1:], strict=True) if ok]
        when = when[good]
    if len(when) < 2:
        return None
    ns = np.round(when * NS_PER_S).astype(np.int64)
    seconds = np.diff(when)
    value = np.array([own for _, own, _ in rows])
    watts = value / seconds if rows[0][2] else value
    # perfctr's counters may count on from the start instead of in each interval: then the energies
    # only grow, as the time does
    part = name.split(" ", 1)[1] if " " in name else "package"
    sensor = Sensor(f"{part} (core {core})" if core else part, NAME, _scope(part), options.host)
    clock = Clock(detail="seconds since likwid-perfctr was started")
    return assemble.power_series(
        sensor,
        ns,
        np.r_[np.nan, watts],
        clock=clock,
        path=path,
        notes=notes,
        kind=PowerKind.INTERVAL,
        joules=np.r_[np.nan, watts * seconds],
    )


def _totals(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    """One run as one interval of unknown place in time."""
    text = source.text
    found: dict[tuple[str, int], float] = {}
    runtime = re.search(r"Runtime \(RDTSC\) \[s\](?: STAT)?\s*[|,]\s*([\d.]+)", text) or re.search(
        r"Runtime: ([\d.]+) s", text
    )
    seconds = table.number(runtime[1]) if runtime else float("nan")
    if not np.isfinite(seconds) or not 0 < seconds < 1e9:
        raise UnreadableFile(
            source.path, "comes from LIKWID, but does not say how long it ran", hint=_HINT
        )
    for line in text.split("\n"):
        match = re.match(_ROW, line)
        if match is None or match[2] != "J" or "STAT" in line:
            continue
        cells = [table.number(cell.strip()) for cell in re.split(r"[|,]", match[3]) if cell.strip()]
        part = match[1].split(" ", 1)[1] if " " in match[1] else "package"
        for core, value in enumerate(cells):
            if np.isfinite(value) and (value > 0 or core == 0):
                found.setdefault((part, core), value)
    socket, domain = 0, ""
    for line in text.split("\n"):
        if match := re.match(r"Measure for socket (\d{1,3})", line.strip()):
            socket = int(match[1])
        elif match := re.match(r"Domain ([A-Z0-9]{2,10}):", line.strip()):
            domain = {"PKG": "package"}.get(match[1], match[1])
        elif (match := re.match(r"Energy consumed: ([\d.]+) Joules", line.strip())) and domain:
            found.setdefault((domain, socket), table.number(match[1]))
    series = []
    clock = Clock(detail="one run, from its start")
    for (part, core), joules in found.items():
        sensor = Sensor(f"{part} ({core})" if core else part, NAME, _scope(part), options.host)
        ns = np.array([0, round(seconds * NS_PER_S)], np.int64)
        series.append(
            assemble.power_series(
                sensor,
                ns,
                np.array([np.nan, joules / seconds]),
                clock=clock,
                path=source.path,
                notes=notes,
                kind=PowerKind.INTERVAL,
                joules=np.array([np.nan, joules]),
            )
        )
    if not series:
        raise UnreadableFile(source.path, "comes from LIKWID, but counts no energy", hint=_HINT)
    notes.say("one total of the whole run: no power within it is known")
    return PowerLog(source.path, NAME, tuple(series), notes.warnings(), "LIKWID: joules of one run")
