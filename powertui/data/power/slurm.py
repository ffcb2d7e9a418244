"""Slurm: `sacct` with ConsumedEnergy (joules from start to end of a job or step) or its JSON, the
samples that `sh5util` extracts from acct_gather profiles, and the watts of `scontrol show node`.

A step's energy is part of its job's, so of each job the one row that counts most is read: its own,
else the largest step's.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Bools, Clock, Int64s, PowerSeries, Scope, Sensor
from powertui.data.power import column_times, stamps, table, times, windows
from powertui.data.power.assemble import power_series
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "slurm"
# sacct rounds ConsumedEnergy for a person: 1.25M are joules.
_SUFFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
# sacct takes names of columns in any case, and prints them as it was asked.
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
# Of the names that sh5util gives a sample's time, the surest first.
_SAMPLE_TIMES = ("Date_Time", "EpochTime", "Epoch_Time", "Elapsed_Time", "ElapsedTime")
_MAX_KNOWN_J = 1e13  # Slurm writes 2^64 and near it for an energy that it does not know
# A job of `sacct --json` begins with its account, and its times have an "elapsed".
_JSON_SIGN = re.compile(r'\{\s*"jobs": ?\[\s*\{|"plugin": ?\{[^}]{0,300}[Ss]lurm')
_HINT = "Record it with: sacct -P -o JobID,Start,End,Elapsed,ConsumedEnergyRaw,NodeList"


def _head(line: str) -> list[str]:
    """The cells of a line, by the separator that it has."""
    for separator in ("|", ","):
        if separator in line:
            return [cell.strip() for cell in line.split(separator)]
    return line.split()


def sniff(head: str, _path: str) -> int:
    """By the columns of sacct or sh5util, or the words of scontrol."""
    if _JSON_SIGN.search(head):
        return 97
    first = next((line for line in head.split("\n") if line.strip()), "")
    names = _head(first)
    if _are_of_sacct(names) or {"Node", "Series", "Power"} <= set(names):
        return 97
    if "NodeName=" in head and "CurrentWatts=" in head:
        return 95
    return 0


def _are_of_sacct(names: list[str]) -> bool:
    """Whether a header is sacct's: an energy, and some time of a job."""
    lowered = {name.lower() for name in names}
    has_energy = bool(lowered & {"consumedenergy", "consumedenergyraw"})
    has_time = bool(lowered & {"start", "end", "elapsed", "elapsedraw"})
    return has_energy and has_time and len(names) > 2


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per node or set of nodes."""
    notes = Notes(source.path)
    if "CurrentWatts=" in source.head_text:
        return _scontrol(source, notes, options)
    if _JSON_SIGN.search(source.head_text):
        return _of_jobs(source.path, _json_jobs(source, notes), notes, options, has_times=True)
    first = next(line for line in source.head_text.split("\n") if line.strip())
    if "Series" in _head(first):
        return _series(source, notes, options)
    return _sacct(source, notes, options)


def _rows(source: LogFile, notes: Notes) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """(the columns' names, the cells of each row with its line)"""
    lines = source.text.split("\n")
    top = next(i for i, line in enumerate(lines) if line.strip())
    names = _head(lines[top])
    if top + 1 < len(lines):
        spans = _spans_of_dashes(lines[top + 1])
    else:
        spans = []
    rows = []
    for number, line in enumerate(lines[top + 1 :], top + 2):
        if set(line.strip()) <= {"-", " "}:
            continue
        if spans:
            cells = [line[a:b].strip() for a, b in spans]
        else:
            cells = _head(line)
        if cells == names:
            continue  # sacct was asked again, into the same file
        if len(cells) == len(names) + 1 and not cells[-1]:
            cells.pop()  # `sacct -p` ends each line with the separator
        if len(cells) != len(names):
            notes.drop(number, f"has {len(cells)} fields where the header names {len(names)}")
            continue
        rows.append((number, cells))
    return names, rows


def _spans_of_dashes(line: str) -> list[tuple[int, int]]:
    """Where each column begins and ends, by the line of dashes that sacct prints below its header;
    none where it is another line.
    """
    if set(line.strip()) != {"-", " "}:
        return []
    return [match.span() for match in re.finditer(r"-+", line)]


def _joules(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)([KMGT]?)", text.strip())
    if match is None:
        return float("nan")
    return table.number(match[1]) * _SUFFIXES[match[2]]


def _elapsed(text: str) -> float:
    """ "1-02:03:04", "02:03:04", or seconds."""
    match = re.fullmatch(r"(?:(\d{1,6})-)?(\d{1,6}):(\d\d):(\d\d)(?:\.\d+)?", text.strip())
    if match is None:
        return table.number(text)
    days, hours, minutes, seconds = (int(digits or 0) for digits in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60.0 + seconds


class _Spans(NamedTuple):
    """From when to when each job ran, as far as sacct says."""

    starts: Int64s
    ends: Int64s
    is_known: Bools
    column: column_times.TimeColumn  # that the clock is taken from


def _spans(jobs: list[_Job], tz: str | None) -> _Spans:
    """The stretches of jobs by two of three: start, end and length."""
    start_column = column_times.from_texts([job.start for job in jobs])
    end_column = column_times.from_texts([job.end for job in jobs])
    elapsed_s = np.array([job.elapsed_s for job in jobs])
    begun = times.in_zone(start_column, tz)
    ended = times.in_zone(end_column, tz)
    length, has_length = column_times.lengths(elapsed_s)
    starts = np.where(begun.ok, begun.ns, ended.ns - length)
    ends = np.where(begun.ok & has_length, begun.ns + length, ended.ns)
    known_count = begun.ok.astype(int) + ended.ok + has_length
    is_known = (known_count >= 2) & (ends > starts)
    clock = begun if begun.ok.any() else ended
    return _Spans(starts, ends, is_known, clock)


class _Job(NamedTuple):
    """The energy of a job, or of one of its steps, as sacct writes it."""

    line: int
    id: str
    start: str
    end: str
    elapsed_s: float
    joules: float
    nodes: str


def _sensor(nodes: str, host: str) -> Sensor:
    """The nodes that some energy is of; `host` where the log names none."""
    has_several = bool(re.search(r"[\[,]", nodes))
    name = f"jobs on {nodes}" if nodes else "jobs"
    return Sensor(name, NAME, Scope.NODE, "" if has_several else nodes or host)


def _jobs(names: list[str], rows: list[tuple[int, list[str]]], notes: Notes) -> list[_Job]:
    """All jobs with an energy: of each the row that counts most, its own or its largest step's."""
    columns = {_COLUMNS.get(name.lower(), name): column for column, name in enumerate(names)}
    jobs: dict[str, _Job] = {}
    for line, cells in rows:
        row = {name: cells[column] for name, column in columns.items()}
        # The raw column is not rounded.
        joules = _joules(row.get("ConsumedEnergyRaw", row.get("ConsumedEnergy", cells[-1])))
        if not 0 < joules < _MAX_KNOWN_J:
            notes.drop(line, "reports no energy")
            continue
        job = _Job(
            line=line,
            id=row.get("JobID", row.get("JobIDRaw", "")).split(".")[0],
            start=row.get("Start", ""),
            end=row.get("End", ""),
            elapsed_s=_elapsed(row.get("ElapsedRaw") or row.get("Elapsed") or ""),
            joules=joules,
            nodes=row.get("NodeList", ""),
        )
        if job.id not in jobs or joules > jobs[job.id].joules:
            jobs[job.id] = job
    return list(jobs.values())


def _sacct(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    """The joules of jobs, from their start to their end."""
    names, rows = _rows(source, notes)
    has_times = {"Start", "End"} & {_COLUMNS.get(name.lower(), name) for name in names}
    return _of_jobs(
        source.path, _jobs(names, rows, notes), notes, options, has_times=bool(has_times)
    )


def _json_jobs(source: LogFile, notes: Notes) -> list[_Job]:
    """All jobs of `sacct --json` with an energy, which their steps have."""
    try:
        document = json.loads(source.text)
    except ValueError as error:
        raise UnreadableFile(source.path, f"is cut or no JSON ({error})") from error
    jobs = []
    for number, job in enumerate(_items(document, "jobs"), 1):
        joules = [_json_joules(step) for step in _items(job, "steps")]
        total = max([one for one in joules if 0 < one < _MAX_KNOWN_J], default=0.0)
        if not total:
            notes.drop(number, "reports no energy")
            continue
        moments = job.get("time", {})
        jobs.append(
            _Job(
                line=number,
                id=str(job.get("job_id", "")),
                start=_json_text(moments.get("start")),
                end=_json_text(moments.get("end")),
                elapsed_s=_json_number(moments.get("elapsed")),
                joules=total,
                nodes=str(job.get("nodes", "")),
            )
        )
    return jobs


def _items(document: object, name: str) -> list[dict[str, Any]]:
    """The objects of a list; none where it is something else."""
    items = document.get(name) if isinstance(document, dict) else None
    if not isinstance(items, list):
        return []
    return [item for item in items if isinstance(item, dict)]


def _json_joules(step: dict[str, Any]) -> float:
    for name in ("statistics", "energy", "consumed"):
        inner = step.get(name)
        if name == "consumed":
            return _json_number(inner)
        if not isinstance(inner, dict):
            return float("nan")
        step = inner
    return float("nan")


def _json_number(value: object) -> float:
    """A number, or what newer versions write: `{"set": true, "infinite": false, "number": 5}`."""
    if isinstance(value, dict):
        is_known = value.get("set", True) is True and not value.get("infinite")
        value = value.get("number") if is_known else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return float("nan")
    return float(value)


def _json_text(value: object) -> str:
    """Seconds since 1970 as text; "" where a job has not begun, or not ended."""
    seconds = _json_number(value)
    return f"{seconds:.0f}" if seconds > 0 else ""


def _of_jobs(
    path: str,
    jobs: list[_Job],
    notes: Notes,
    options: LogColumns,
    *,
    has_times: bool,
) -> PowerLog:
    """The joules of jobs, from their start to their end."""
    if not jobs:
        raise UnreadableFile(
            path, "comes from sacct, but no job in it reports its energy", hint=_HINT
        )
    if not has_times and len(jobs) == 1:
        length, has_length = column_times.lengths(np.array([jobs[0].elapsed_s]))
        if has_length[0]:
            return _unplaced(path, jobs[0], int(length[0]), notes, options)
    spans = _spans(jobs, options.tz)
    good = spans.is_known
    lines = np.array([job.line for job in jobs])
    notes.drop_all(lines[~good], "has no start and end")
    if not good.any():
        raise UnreadableFile(
            path, "comes from sacct, but no job in it has a start and an end", hint=_HINT
        )
    zero = int(spans.starts[good].min())
    clock = times.clock(spans.column, zero)
    nodes = np.array([job.nodes for job in jobs])
    joules = np.array([job.joules for job in jobs])
    series: list[PowerSeries] = []
    for of_nodes in dict.fromkeys(nodes[good].tolist()):
        mine = good & (nodes == of_nodes)
        starts = spans.starts[mine] - zero
        ends = spans.ends[mine] - zero
        ns, watts, energy = windows.interval_rows(starts, ends, joules[mine], lines[mine], notes)
        sensor = _sensor(of_nodes, options.host)
        series.append(power_series(sensor, ns, watts, clock=clock, notes=notes, joules=energy))
    notes.say("Slurm counts the energy of whole nodes, whoever else runs on them")
    return PowerLog(
        path=path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=f"sacct: joules from Start to End ({spans.column.words})",
    )


def _unplaced(path: str, job: _Job, length_ns: int, notes: Notes, options: LogColumns) -> PowerLog:
    """One job of which only the length is known: nothing says when it ran."""
    channel = power_series(
        _sensor(job.nodes, options.host),
        np.array([0, length_ns], np.int64),
        np.array([np.nan, job.joules / length_ns * NS_PER_S]),
        clock=Clock(detail="a job's length, without its start"),
        notes=notes,
        joules=np.array([np.nan, job.joules]),
    )
    return PowerLog(
        path=path,
        dialect=NAME,
        series=(channel,),
        warnings=notes.warnings(),
        guess="sacct: joules of one job, whose start is not given",
    )


def _series(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    """What `sh5util -E` writes of the series Energy."""
    names, rows = _rows(source, notes)
    collected = Collected(source.path, notes)
    when = next((name for name in _SAMPLE_TIMES if name in names), "")
    for number, cells in rows:
        row = dict(zip(names, cells, strict=True))
        if row["Series"].lower() in ("energy", "power", ""):
            sensor = Sensor("node power", NAME, Scope.NODE, row["Node"])
            collected.add(sensor, row.get(when, ""), row["Power"], number)
    return collected.log(NAME, options, "Slurm's acct_gather profile: Power in W")


def _scontrol(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    collected = Collected(source.path, notes)
    when = node = ""
    for number, line in stamps.numbered_lines(source.text.split("\n")):
        when = stamps.time_of_line(line) or when
        if match := re.search(r"NodeName=(\S{1,100})", line):
            node = match[1]
        if match := re.search(r"CurrentWatts=(\d{1,9}|n/s|n/a)", line):
            # Slurm writes 0 where nothing measures the node.
            if match[1] != "0":
                reading = match[1]
            else:
                reading = "0 (not measured)"
            collected.add(Sensor("node power", NAME, Scope.NODE, node), when, reading, number)
    return collected.log(NAME, options, "scontrol: CurrentWatts")
