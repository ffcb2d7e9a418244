"""LIKWID: the timeline of `likwid-perfctr -t` (one line an interval, metrics by core), and the
totals of a run that perfctr or powermeter prints.

A metric of a socket stands at its first core and as nothing at the others. Joules or watts of an
interval belong to the time before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Clock, PowerSeries, Scope, Sensor
from powertui.data.power import assemble, column_times, stamps, table, units
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "likwid"
UNITS_WRITTEN = True
# Versions name the same columns differently, and separate them by commas or bars.
_HEAD = (
    r"#?\s*(?:GID|GROUPID|ID)[|,](?:MetricsCount|NumMetrics)[|,](?:CpuCount|NumCPUs)[|,](?:Total "
    r")?[Rr]untime(?: \[s\])?[|,](.+)"
)
_METRIC = r"((?:Energy|Power)(?: [A-Za-z0-9]{1,20}){0,3}) \[([JW])\]"
_ROW = r"[\s|]{0,80}" + _METRIC + r"(?: STAT)?\s{0,40}[|,](.*)"
# LIKWID writes "-" and nan for a metric that a core does not have.
_NUMBER = re.compile(r"-?[\d.]+(?:e[-+]?\d+)?|nan|-nan|inf|-")
_MAX_CORES = 4096  # a line that counts more of them is damaged; chosen, not measured
_HINT = "Record it with: likwid-perfctr -f -t 500ms -g ENERGY -c 0 COMMAND"


def sniff(head: str, _path: str) -> int:
    """By the header of the timeline, or by its tables with a run time."""
    for line in head.split("\n")[:400]:
        match = re.fullmatch(_HEAD, line.strip())
        if match is not None and re.search(_METRIC, match[1]):
            return 97
    by_perfctr = (_METRIC + r"(?: STAT)?\s{0,40}[|,]", r"Runtime \(RDTSC\) \[s\]")
    by_powermeter = (r"Energy consumed: [\d.]+ Joules", r"Runtime: [\d.]+ s")
    for signs in (by_perfctr, by_powermeter):
        if all(re.search(sign, head) for sign in signs):
            return 96
    return 0


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


class _Value(NamedTuple):
    """A metric of one core in one interval."""

    end_s: float  # since the start
    value: float
    is_joules: bool


class _Header(NamedTuple):
    """What a header of the timeline says of the lines below it."""

    metrics: list[str]
    separator: str  # "," or white space, ""


def _header(line: str) -> _Header | None:
    match = re.fullmatch(_HEAD, line.strip())
    if match is None:
        return None
    names = match[1]
    if "," in line and "|" not in line:
        separator = ","
        cells = re.split(r"[|,]", names)
    else:
        separator = ""
        cells = names.split("|")
    stripped = map(str.strip, cells)
    return _Header(list(filter(None, stripped)), separator)


class _Line(NamedTuple):
    """A line of values, as the timeline counts them."""

    metrics: int
    cores: int
    end_s: float  # since the start
    values: list[str]  # metric by metric, core by core


def _cells(line: str, header: _Header) -> list[str]:
    """The cells of a line with values; none of any other line."""
    cells = line.split(header.separator or None)
    cells = [cell.strip() for cell in cells]
    if len(cells) < 5:
        return []
    if not all(map(_NUMBER.fullmatch, cells[:4])):
        return []
    return cells


def _values(names: list[str], line: _Line) -> Iterator[tuple[tuple[str, int, bool], float]]:
    """((metric, core, whether it is in joules), value) of power and energy in a line."""
    # The header names each metric once, or once for each core.
    metrics = names
    if len(names) != line.metrics:
        metrics = names[:: line.cores or 1]
    for row, metric in enumerate(metrics):
        match = re.match(_METRIC, metric)
        if match is None:
            continue
        name, unit = match.groups()
        first = row * line.cores
        by_core = line.values[first : first + line.cores]
        for core, text in enumerate(by_core):
            value = table.number(text)
            if _is_counted(value, core):
                yield (name, core, unit == "J"), value


def _is_counted(value: float, core: int) -> bool:
    """Whether a value says something: a metric of a socket is nothing at the other cores."""
    if not np.isfinite(value):
        return False
    return value != 0 or core == 0


def _counted_line(cells: list[str], *, is_last: bool) -> _Line | str:
    """A line of values; or why it is none, as words for a person."""
    count, cores, end_s = map(table.number, cells[1:4])
    are_numbers = np.isfinite([count, cores, end_s]).all()
    if not are_numbers or not 0 < cores < _MAX_CORES:
        return "is not a line of the timeline"
    values = cells[4:]
    expected = int(count) * int(cores)
    is_cut = is_last and table.was_cut(cells[-1], ["0.1"])
    if is_cut or len(values) < expected:
        return f"has {len(values)} values where {expected} were counted"
    return _Line(
        metrics=int(count),
        cores=int(cores),
        end_s=end_s,
        values=values,
    )


def _timeline_values(text: str, notes: Notes) -> dict[tuple[str, int], list[_Value]]:
    """All values of power and energy, by metric and core."""
    values: dict[tuple[str, int], list[_Value]] = {}
    header: _Header | None = None
    lines = text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if next_header := _header(line):
            header = next_header
            continue
        if header is None:
            continue
        cells = _cells(line, header)
        if not cells:
            continue
        counted = _counted_line(cells, is_last=number == len(lines))
        if isinstance(counted, str):
            notes.drop(number, counted)
            continue
        for (metric, core, is_joules), value in _values(header.metrics, counted):
            row = _Value(counted.end_s, value, is_joules)
            values.setdefault((metric, core), []).append(row)
    return values


def _timeline(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    """The power of each interval; of groups that count no power, their energy."""
    values = _timeline_values(source.text, notes)
    # likwid derives a metric "Power" from each "Energy": both would be one part twice.
    if any(name.startswith("Power") for name, _ in values):
        quantity = "Power"
    else:
        quantity = "Energy"
    series = []
    for (name, core), rows in values.items():
        if not name.startswith(quantity):
            continue
        channel = _intervals(name, core, rows, notes, options)
        if channel is not None:
            series.append(channel)
    if not series:
        raise UnreadableFile(
            source.path, "comes from likwid-perfctr, but no group in it counts energy", hint=_HINT
        )
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess="LIKWID timeline: means of each interval; seconds since start",
    )


def _in_order(rows: list[_Value]) -> list[_Value]:
    """The rows whose times rise, and are no damaged numbers."""
    ordered = []
    latest_s = 0.0
    for row in rows:
        if row.end_s > latest_s and row.end_s <= column_times.LONGEST_S:
            ordered.append(row)
        latest_s = max(latest_s, row.end_s)
    return ordered


def _part_of(metric: str) -> str:
    """ "DRAM" of "Energy DRAM"; "package" of a metric that names no part."""
    if " " in metric:
        return metric.split(" ", 1)[1]
    return "package"


def _intervals(
    name: str,
    core: int,
    rows: list[_Value],
    notes: Notes,
    options: LogColumns,
) -> PowerSeries | None:
    """One metric of one core. The first interval begins with the program."""
    rows = _in_order(rows)
    if not rows:
        return None
    ends_s = np.array([0.0, *(row.end_s for row in rows)])
    ns = np.round(ends_s * NS_PER_S).astype(np.int64)
    seconds = np.diff(ends_s)
    values = np.array([row.value for row in rows])
    if rows[0].is_joules:
        watts = values / seconds
    else:
        watts = values
    part = _part_of(name)
    sensor = Sensor(f"{part} (core {core})" if core else part, NAME, _scope(part), options.host)
    return assemble.power_series(
        sensor,
        ns,
        np.r_[np.nan, watts],
        clock=Clock(detail="seconds since likwid-perfctr was started"),
        notes=notes,
        joules=np.r_[np.nan, watts * seconds],
    )


def _run_time_s(text: str) -> float:
    """How long the run took, by perfctr's table or powermeter's line; NaN where none says so."""
    perfctr = re.search(r"Runtime \(RDTSC\) \[s\](?: STAT)?\s*[|,]\s*([\d.]+)", text)
    written = perfctr or re.search(r"Runtime: ([\d.]+) s", text)
    if written:
        return table.number(written[1])
    return float("nan")


def _totals(source: LogFile, notes: Notes, options: LogColumns) -> PowerLog:
    """One run as one interval of unknown place in time."""
    text = source.text
    seconds = _run_time_s(text)
    if not 0 < seconds < column_times.LONGEST_S:
        raise UnreadableFile(
            source.path, "comes from LIKWID, but does not say how long it ran", hint=_HINT
        )
    energies = _perfctr_energies(text)
    for place, joules in _powermeter_energies(text).items():
        energies.setdefault(place, joules)
    series = []
    ns = np.array([0, round(seconds * NS_PER_S)], np.int64)
    for (part, core), joules in energies.items():
        sensor = Sensor(f"{part} ({core})" if core else part, NAME, _scope(part), options.host)
        channel = assemble.power_series(
            sensor,
            ns,
            np.array([np.nan, joules / seconds]),
            clock=Clock(detail="one run, from its start"),
            notes=notes,
            joules=np.array([np.nan, joules]),
        )
        series.append(channel)
    if not series:
        raise UnreadableFile(source.path, "comes from LIKWID, but counts no energy", hint=_HINT)
    notes.say("one total of the whole run: no power within it is known")
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess="LIKWID: joules of one run",
    )


def _perfctr_energies(text: str) -> dict[tuple[str, int], float]:
    """Joules by part and core, from the table that likwid-perfctr prints."""
    energies: dict[tuple[str, int], float] = {}
    for line in text.split("\n"):
        match = re.match(_ROW, line)
        # The table of statistics below it holds sums and means of the same cores.
        if match is None or "STAT" in line:
            continue
        metric, unit, cell_text = match.groups()
        if unit != "J":
            continue
        part = _part_of(metric)
        cells = map(str.strip, re.split(r"[|,]", cell_text))
        for core, cell in enumerate(filter(None, cells)):
            value = table.number(cell)
            if np.isfinite(value) and (value > 0 or core == 0):
                energies.setdefault((part, core), value)
    return energies


def _powermeter_energies(text: str) -> dict[tuple[str, int], float]:
    """Joules by part and socket, from the lines that likwid-powermeter prints."""
    energies: dict[tuple[str, int], float] = {}
    socket = 0
    domain = ""
    for line in map(str.strip, text.split("\n")):
        if match := re.match(r"Measure for socket (\d{1,3})", line):
            socket = int(match[1])
        elif match := re.match(r"Domain ([A-Z0-9]{2,10}):", line):
            domain = match[1]
            if domain == "PKG":
                domain = "package"
        elif domain and (match := re.match(r"Energy consumed: ([\d.]+) Joules", line)):
            energies.setdefault((domain, socket), table.number(match[1]))
    return energies
