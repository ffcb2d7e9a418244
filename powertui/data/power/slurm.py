"""Slurm: `sacct` with ConsumedEnergy (joules from start to end of a job or step), the samples that
`sh5util` extracts from acct_gather profiles, and the watts of `scontrol show node`.

A step's energy is part of its job's, so of each job the one row that tells most is taken: its own,
else the largest step's.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Clock, PowerKind, PowerSeries, Scope, Sensor
from powertui.data.power import stamps, table, times, windows
from powertui.data.power.assemble import power_series
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "slurm"
_SUFFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_COLUMNS = {
    name.lower(): name
    for name in (
        "JobID",
        "JobIDRaw",
        "Start",
        "End",
        "Elapsed",
        "ElapsedRaw",
        "ConsumedEnergy",
        "ConsumedEnergyRaw",
        "NodeList",
    )
}
_MAX_KNOWN_J = 1e13  # Slurm writes 2^64 and near it for an energy that it does not know
_HINT = "Record it with: sacct -P -o JobID,Start,End,Elapsed,ConsumedEnergyRaw,NodeList"


def _head(line: str) -> list[str]:
    return [
        cell.strip()
        for cell in (
            line.split("|") if "|" in line else line.split(",") if "," in line else line.split()
        )
    ]


def sniff(head: str, _path: str) -> int:
    """By the columns of sacct or sh5util, or the words of scontrol."""
    first = next((line for line in head.split("\n") if line.strip()), "")
    names = _head(first)
    known = {name.lower() for name in names}
    if (
        known & {"consumedenergy", "consumedenergyraw"}
        and known & {"start", "end", "elapsed", "elapsedraw"}
        and len(names) > 2
    ):
        return 97
    if {"Node", "Series", "Power"} <= set(names):
        return 97
    return 95 if "NodeName=" in head and "CurrentWatts=" in head else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per node or set of nodes."""
    notes = Notes(source.path)
    first = next(line for line in source.head_text.split("\n") if line.strip())
    if "CurrentWatts=" in source.head_text:
        return _scontrol(source, notes, options)
    return (
        _series(source, notes, options)
        if "Series" in _head(first)
        else _sacct(source, notes, options)
    )


def _rows(source: LogFile, notes: Notes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Cells by the header's own separators, or by the widths that the line of dashes below it
    shows.
    """
    lines = source.text.split("\n")
    top = next(i for i, line in enumerate(lines) if line.strip())
    names = _head(lines[top])
    dashes = (
        lines[top + 1] if top + 1 < len(lines) and set(lines[top + 1].strip()) == {"-", " "} else ""
    )
    spans = [match.span() for match in re.finditer(r"-+", dashes)]
    out = []
    for number, line in enumerate(lines[top + 1 :], top + 2):
        if not line.strip() or set(line.strip()) <= {"-", " "}:
            continue
        cells = [line[a:b].strip() for a, b in spans] if spans else _head(line)
        if cells == names:
            continue
        if len(cells) == len(names) + 1 and not cells[-1]:
            cells.pop()
        if len(cells) != len(names):
            notes.drop(number, f"has {len(cells)} fields where the header names {len(names)}")
            continue
        out.append((number, cells))
    return names, out


def _joules(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)([KMGT]?)", text.strip())
    return table.number(match[1]) * _SUFFIXES[match[2]] if match else float("nan")


def _elapsed(text: str) -> float:
    """ "1-02:03:04", "02:03:04", or seconds."""
    match = re.fullmatch(r"(?:(\d{1,6})-)?(\d{1,6}):(\d\d):(\d\d)(?:\.\d+)?", text.strip())
    if match is None:
        return table.number(text)
    return ((int(match[1] or 0) * 24 + int(match[2])) * 60 + int(match[3])) * 60.0 + int(match[4])


def _sacct(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    names, rows = _rows(source, notes)
    at = {_COLUMNS.get(name.lower(), name): i for i, name in enumerate(names)}
    counted = at.get("ConsumedEnergyRaw", at.get("ConsumedEnergy", -1))
    found: list[
        tuple[int, str, str, str, float, float, str]
    ] = []  # line, job, start, end, seconds, joules, nodes
    for number, cells in rows:
        row = {name: cells[i] for name, i in at.items()}
        joules = _joules(cells[counted])
        if not np.isfinite(joules) or not 0 < joules < _MAX_KNOWN_J:
            notes.drop(number, "reports no energy")
            continue
        job = row.get("JobID", row.get("JobIDRaw", "")).split(".")[0]
        seconds = _elapsed(row.get("ElapsedRaw") or row.get("Elapsed") or "")
        found.append(
            (
                number,
                job,
                row.get("Start", ""),
                row.get("End", ""),
                seconds,
                joules,
                row.get("NodeList", ""),
            )
        )
    best: dict[str, tuple[int, str, str, str, float, float, str]] = {}
    for one in found:
        if one[1] not in best or one[5] > best[one[1]][5]:
            best[one[1]] = one
    chosen = list(best.values())
    if not chosen:
        raise UnreadableFile(
            source.path, "comes from sacct, but no job in it reports its energy", hint=_HINT
        )
    begun = times.in_zone(times.from_texts([one[2] for one in chosen]), options.tz)
    ended = times.in_zone(times.from_texts([one[3] for one in chosen]), options.tz)
    length, lasting = times.lengths(np.array([one[4] for one in chosen]))
    lines = np.array([one[0] for one in chosen])
    starts = np.where(begun.ok, begun.ns, ended.ns - length)
    ends = np.where(begun.ok & lasting, begun.ns + length, ended.ns)
    good = (begun.ok | ended.ok) & (lasting | (begun.ok & ended.ok)) & (ends > starts)
    if not {"Start", "End"} & at.keys() and len(chosen) == 1 and lasting[0]:
        return _alone(
            source,
            hosts_of=chosen[0][6],
            joules=chosen[0][5],
            length=int(length[0]),
            notes=notes,
            options=options,
        )
    notes.drop_all(lines[~good], "has no start and end")
    if not good.any():
        raise UnreadableFile(
            source.path, "comes from sacct, but no job in it has a start and an end", hint=_HINT
        )
    column = begun if begun.ok.any() else ended
    zero = int(starts[good].min())
    series: list[PowerSeries] = []
    nodes = np.array([one[6] for one in chosen])
    joules_all = np.array([one[5] for one in chosen])
    for host in dict.fromkeys(nodes[good].tolist()):
        mine = good & (nodes == host)
        ns, watts, energy = windows.interval_rows(
            starts[mine] - zero, ends[mine] - zero, joules_all[mine], lines[mine], notes
        )
        several = bool(re.search(r"[\[,]", host))
        sensor = Sensor(
            f"jobs on {host}" if host else "jobs",
            NAME,
            Scope.NODE,
            "" if several else host or options.host,
        )
        series.append(
            power_series(
                sensor,
                ns,
                watts,
                clock=times.clock(column, zero),
                path=source.path,
                notes=notes,
                kind=PowerKind.INTERVAL,
                joules=energy,
            )
        )
    notes.say("Slurm counts the energy of whole nodes, whoever else runs on them")
    return PowerLog(
        source.path,
        NAME,
        tuple(series),
        notes.warnings(),
        f"sacct: joules from Start to End ({column.words})",
    )


def _alone(
    source: LogFile, *, hosts_of: str, joules: float, length: int, notes: Notes, options: LogColumns
) -> PowerLog:
    """One job of which only its length is told: it lies nowhere in time."""
    several = bool(re.search(r"[\[,]", hosts_of))
    sensor = Sensor(
        f"jobs on {hosts_of}" if hosts_of else "jobs",
        NAME,
        Scope.NODE,
        "" if several else hosts_of or options.host,
    )
    watts = np.array([np.nan, joules / length * NS_PER_S])
    made = power_series(
        sensor,
        np.array([0, length], np.int64),
        watts,
        clock=Clock(detail="a job's length, without its start"),
        path=source.path,
        notes=notes,
        kind=PowerKind.INTERVAL,
        joules=np.array([np.nan, joules]),
    )
    return PowerLog(
        source.path,
        NAME,
        (made,),
        notes.warnings(),
        "sacct: joules of one job, whose start is not given",
    )


def _series(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    """What `sh5util -E` writes of the series Energy."""
    names, rows = _rows(source, notes)
    found = Collected(source.path, notes)
    when = next(
        (
            name
            for name in ("Date_Time", "EpochTime", "Epoch_Time", "Elapsed_Time", "ElapsedTime")
            if name in names
        ),
        "",
    )
    for number, cells in rows:
        row = dict(zip(names, cells, strict=True))
        if row["Series"].lower() in ("energy", "power", ""):
            found.add(
                Sensor("node power", NAME, Scope.NODE, row["Node"]),
                row.get(when, ""),
                row["Power"],
                number,
            )
    return found.log(NAME, options, "Slurm's acct_gather profile: Power in W")


def _scontrol(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    found = Collected(source.path, notes)
    when = node = ""
    for number, line in stamps.numbered_lines(source.text.split("\n")):
        when = stamps.time_of_line(line) or when
        if match := re.search(r"NodeName=(\S{1,100})", line):
            node = match[1]
        if match := re.search(r"CurrentWatts=(\d{1,9}|n/s|n/a)", line):
            found.add(
                Sensor("node power", NAME, Scope.NODE, node),
                when,
                match[1] if match[1] != "0" else "0 (not measured)",
                number,
            )
    return found.log(NAME, options, "scontrol: CurrentWatts")
