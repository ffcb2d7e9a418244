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
from powertui.data.power.slurm_tables import SlurmTable, header, read_table
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
_ENERGY_COLUMNS = ("consumedenergy", "consumedenergyraw")
_TIME_COLUMNS = ("start", "end", "elapsed", "elapsedraw")
# Of the names that sh5util gives a sample's time, the surest first.
_SAMPLE_TIMES = ("Date_Time", "EpochTime", "Epoch_Time", "Elapsed_Time", "ElapsedTime")
_MAX_KNOWN_J = 1e13  # Slurm writes 2^64 and near it for an energy that it does not know
# A job of `sacct --json` begins with its account, and its times have an "elapsed".
_JSON_SIGN = re.compile(r'\{\s*"jobs": ?\[\s*\{|"plugin": ?\{[^}]{0,300}[Ss]lurm')
_HINT = "Record it with: sacct -P -o JobID,Start,End,Elapsed,ConsumedEnergyRaw,NodeList"


def sniff(head: str, _path: str) -> int:
    """By the columns of sacct or sh5util, or the words of scontrol."""
    if _JSON_SIGN.search(head):
        return 97
    names = header(head)
    are_of_sh5util = {"Node", "Series", "Power"} <= set(names)
    if are_of_sh5util or _are_of_sacct(names):
        return 97
    return 95 if re.search(r"\bCurrentWatts=\d", head) else 0


def _are_of_sacct(names: list[str]) -> bool:
    """Whether a header is sacct's: an energy, and some time of a job."""
    if len(names) <= 2:
        return False
    lowered = set(map(str.lower, names))
    if lowered.isdisjoint(_ENERGY_COLUMNS):
        return False
    return not lowered.isdisjoint(_TIME_COLUMNS)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per node or set of nodes."""
    notes = Notes(source.path)
    head = source.head_text
    if "CurrentWatts=" in head:
        return _scontrol(source, notes, options)
    if _JSON_SIGN.search(head):
        jobs = _json_jobs(source, notes)
        return _of_jobs(source.path, jobs, notes, options, has_times=True)
    if "Series" in header(head):
        return _series(source, notes, options)
    return _sacct(source, notes, options)


def _joules(text: str) -> float:
    match = re.fullmatch(r"([\d.]+)([KMGT]?)", text.strip())
    if match is None:
        return float("nan")
    digits, suffix = match.groups()
    return table.number(digits) * _SUFFIXES[suffix]


def _elapsed(text: str) -> float:
    """ "1-02:03:04", "02:03:04", or seconds."""
    match = re.fullmatch(r"(?:(\d{1,6})-)?(\d{1,6}):(\d\d):(\d\d)(?:\.\d+)?", text.strip())
    if match is None:
        return table.number(text)
    parts = match.groups(default="0")
    days, hours, minutes, seconds = map(int, parts)
    hours += days * 24
    minutes += hours * 60
    return minutes * 60.0 + seconds


class _Spans(NamedTuple):
    """From when to when each job ran, as far as sacct says."""

    starts: Int64s
    ends: Int64s
    is_known: Bools
    column: column_times.TimeColumn  # that the clock is taken from


def _spans(jobs: list[_Job], tz: str | None) -> _Spans:
    """The stretches of jobs by two of three: start, end and length."""
    begun = _times_of_jobs([job.start for job in jobs], tz)
    ended = _times_of_jobs([job.end for job in jobs], tz)
    elapsed_s = np.array([job.elapsed_s for job in jobs])
    length, has_length = column_times.lengths(elapsed_s)
    starts = np.where(
        begun.ok,
        begun.ns,
        ended.ns - length,
    )
    ends = np.where(
        begun.ok & has_length,
        begun.ns + length,
        ended.ns,
    )
    known_count = begun.ok.astype(int)
    known_count += ended.ok
    known_count += has_length
    is_known = (known_count >= 2) & (ends > starts)
    return _Spans(
        starts=starts,
        ends=ends,
        is_known=is_known,
        column=begun if begun.ok.any() else ended,
    )


class _Job(NamedTuple):
    """The energy of a job, or of one of its steps, as sacct writes it."""

    line: int
    id: str
    start: str
    end: str
    elapsed_s: float
    joules: float
    nodes: str


def _times_of_jobs(texts: list[str], tz: str | None) -> column_times.TimeColumn:
    column = column_times.from_texts(texts)
    return times.in_zone(column, tz)


def _sensor(nodes: str, host: str) -> Sensor:
    """The nodes that some energy is of; `host` where the log names none."""
    if not nodes:
        return Sensor("jobs", NAME, Scope.NODE, host)
    has_several = re.search(r"[\[,]", nodes)
    return Sensor(
        name=f"jobs on {nodes}",
        source=NAME,
        scope=Scope.NODE,
        host="" if has_several else nodes,
    )


def _known_name(name: str) -> str:
    """A column's name as Slurm's manual spells it."""
    return _COLUMNS.get(name.lower(), name)


def _jobs(printed: SlurmTable, notes: Notes) -> list[_Job]:
    """All jobs with an energy: of each the row that counts most, its own or its largest step's."""
    names = [_known_name(name) for name in printed.names]
    jobs: dict[str, _Job] = {}
    for line, cells in printed.rows:
        row = dict(zip(names, cells, strict=True))
        # The raw column is not rounded.
        rounded_energy = row.get("ConsumedEnergy", cells[-1])
        joules = _joules(row.get("ConsumedEnergyRaw", rounded_energy))
        if not 0 < joules < _MAX_KNOWN_J:
            notes.drop(line, "reports no energy")
            continue
        step_id = row.get("JobID", row.get("JobIDRaw", ""))
        elapsed = row.get("ElapsedRaw") or row.get("Elapsed") or ""
        job = _Job(
            line=line,
            id=step_id.split(".")[0],
            start=row.get("Start", ""),
            end=row.get("End", ""),
            elapsed_s=_elapsed(elapsed),
            joules=joules,
            nodes=row.get("NodeList", ""),
        )
        largest = jobs.get(job.id)
        if largest is None or joules > largest.joules:
            jobs[job.id] = job
    return list(jobs.values())


def _sacct(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    """The joules of jobs, from their start to their end."""
    printed = read_table(source, notes)
    names = map(_known_name, printed.names)
    return _of_jobs(
        source.path,
        _jobs(printed, notes),
        notes,
        options,
        has_times=not {"Start", "End"}.isdisjoint(names),
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
    if not isinstance(document, dict):
        return []
    items = document.get(name)
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
        is_set = value.get("set", True) is True
        if not is_set or value.get("infinite"):
            return float("nan")
        value = value.get("number")
    if isinstance(value, bool):
        return float("nan")
    if not isinstance(value, (int, float)):
        return float("nan")
    return float(value)


def _json_text(value: object) -> str:
    """Seconds since 1970 as text; "" where a job has not begun, or not ended."""
    seconds = _json_number(value)
    if seconds > 0:
        return f"{seconds:.0f}"
    return ""


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
        (job,) = jobs
        length, has_length = column_times.lengths(np.array([job.elapsed_s]))
        if has_length[0]:
            return _unplaced(path, job, int(length[0]), notes, options)
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
        ns, watts, energy = windows.interval_rows(
            starts=spans.starts[mine] - zero,
            ends=spans.ends[mine] - zero,
            joules=joules[mine],
            lines=lines[mine],
            notes=notes,
        )
        channel = power_series(
            _sensor(of_nodes, options.host),
            ns,
            watts,
            clock=clock,
            notes=notes,
            joules=energy,
        )
        series.append(channel)
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
    printed = read_table(source, notes)
    collected = Collected(source.path, notes)
    time_column = next(filter(printed.names.__contains__, _SAMPLE_TIMES), "")
    for number, cells in printed.rows:
        row = dict(zip(printed.names, cells, strict=True))
        if row["Series"].lower() not in ("energy", "power", ""):
            continue
        collected.add(
            _node_sensor(row["Node"]),
            when=row.get(time_column, ""),
            value=row["Power"],
            line=number,
        )
    return collected.log(NAME, options, "Slurm's acct_gather profile: Power in W")


def _node_sensor(node: str) -> Sensor:
    return Sensor("node power", NAME, Scope.NODE, node)


def _scontrol(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    collected = Collected(source.path, notes)
    node = ""
    for line in stamps.timed_lines(source.text):
        if match := re.search(r"NodeName=(\S{1,100})", line.text):
            node = match[1]
        if match := re.search(r"\bCurrentWatts=(\d{1,9}|n/s|n/a)", line.text):
            reading = match[1]
            # Slurm writes 0 where nothing measures the node.
            if reading == "0":
                reading = "0 (not measured)"
            collected.add(_node_sensor(node), line.when, reading, line.number)
    return collected.log(NAME, options, "scontrol: CurrentWatts")
