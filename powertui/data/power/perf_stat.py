"""`perf stat -I`: joules per interval, by elapsed seconds, as a table (`-x,`) or as text, with
points or commas by locale.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Clock, PowerSeries, Scope, Sensor
from powertui.data.power import column_times, stamps, table, times, written_times
from powertui.data.power.assemble import power_series
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile
from powertui.named_tuples import NamedTuple

NAME = "perf stat"
_SEP = r"[\s,;:|]{1,40}"
# perf writes the decimal sign of the locale, and with -x any separator.
_LINE = re.compile(
    rf"\s*(\d{{1,18}}[.,]\d{{1,18}}){_SEP}(?:(S\d{{1,4}}(?:-\w{{1,20}}){{0,4}}){_SEP}\d{{1,9}}{_SEP})?"
    rf"([\d.,]{{0,40}}\d|<not counted>|<not supported>){_SEP}Joules{_SEP}([\w/-]{{1,120}})(.*)"
)
_JSON = re.compile(
    r'\s*\{"interval"\s*:\s*([\d.]{1,24}),\s*(?:"socket"\s*:\s*"(S\d{1,4}[^"]{0,20})",\s*"[\w-]{1,30}"\s*:\s*(\d{1,6}),\s*)?'
    r'"counter-value"\s*:\s*"([^"]{1,40})",\s*"unit"\s*:\s*"Joules",\s*"event"\s*:\s*"([\w/-]{1,80})"'
)
_STARTED = re.compile(r"#\s*started on (.+)")
# Events of perf's `power` unit: energy-pkg, energy-ram …
_SCOPES = {
    "pkg": Scope.PACKAGE,
    "cores": Scope.CORE,
    "ram": Scope.DRAM,
    "gpu": Scope.RAIL,
    "psys": Scope.NODE,
}


def sniff(head: str, _path: str) -> int:
    """By a row of joules with a time before it."""
    if "Joules" not in head:
        return 0
    if any(_LINE.match(_plain(line)) for line in head.split("\n")):
        return 96
    return 0


def _plain(line: str) -> str:
    """A line of `-j` as it stands without: `1.001 S0 1 19.63 Joules power/energy-pkg/`."""
    if line.lstrip().startswith("{"):
        match = _JSON.match(line)
    else:
        match = None
    if match is None:
        return line
    if match[2]:
        socket = f"{match[2]} {match[3]} "
    else:
        socket = ""
    return f"{match[1]} {socket}{match[4]} Joules {match[5]} ;"


class _Count(NamedTuple):
    """A row of joules."""

    end_ns: int  # since perf was started
    joules: float  # NaN where the event was not counted


def _counts(text: str, notes: Notes) -> dict[str, list[_Count]]:
    """The rows of each event, and of each socket where they are apart."""
    counts: dict[str, list[_Count]] = {}
    lines = text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if _STARTED.match(line.strip()):
            continue
        match = _LINE.match(_plain(line))
        # The event is last but in text, where it may be cut.
        is_cut = match is not None and number == len(lines) and not re.search(r"[\s,;]", match[5])
        if match is None or is_cut:
            if "Joules" in line:
                notes.drop(number, "is cut off or not understood")
            continue
        elapsed, socket, written, event, _ = match.groups()
        joules = _number(written)
        if joules is None:
            notes.drop(number, f"{written} instead of joules")
            joules = float("nan")
        elapsed_s = float(elapsed.replace(",", "."))
        if not elapsed_s < column_times.LONGEST_S:
            notes.drop(number, "the time cannot be read")
            continue
        name = f"{event} {socket or ''}".strip()
        counts.setdefault(name, []).append(_Count(round(elapsed_s * NS_PER_S), joules))
    return counts


def _clock(text: str, tz: str | None) -> Clock:
    """When perf was started, where the log says so."""
    clock = Clock(detail="seconds since perf was started")
    for line in text.split("\n"):
        if "started on" in line:
            started = _STARTED.match(line.strip())
        else:
            started = None
        if started:
            stamp = written_times.parse(started[1])
        else:
            stamp = None
        if stamp is not None and stamp.dated:
            words = "`started on`, local time without a zone"
            ns = np.array([stamp.ns])
            is_known = np.ones(1, np.bool_)
            column = times.in_zone(column_times.TimeColumn(ns, is_known, "local", words), tz)
            clock = times.clock(column, int(column.ns[0]))
    return clock


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per event (and socket)."""
    notes = Notes(source.path)
    clock = _clock(source.text, options.tz)
    series: list[PowerSeries] = []
    for name, counts in _counts(source.text, notes).items():
        # perf counts from its own start.
        ns = np.array([0, *(count.end_ns for count in counts)], np.int64)
        joules = np.array([np.nan, *(count.joules for count in counts)])
        with np.errstate(divide="ignore", invalid="ignore"):
            watts = np.r_[np.nan, joules[1:] / (np.diff(ns) / NS_PER_S)]
        if not np.isfinite(watts).any():
            continue
        event = next((word for word in _SCOPES if f"energy-{word}" in name), "")
        sensor = Sensor(name, NAME, _SCOPES.get(event, Scope.UNKNOWN), options.host)
        series.append(power_series(sensor, ns, watts, clock=clock, notes=notes, joules=joules))
    if not series:
        raise UnreadableFile(
            source.path,
            f"comes from perf stat, but holds no joules ({notes.first_reason() or 'no row'})",
            hint=(
                "Reading RAPL needs root or CAP_PERFMON: perf stat -a -e power/energy-pkg/ -I 1000"
            ),
        )
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess="perf stat: joules per interval, elapsed seconds",
    )


def _number(text: str) -> float | None:
    if text.startswith("<"):
        return None
    if "," in text and "." in text:  # 1,234.56, or 1.234,56
        text = text.replace("," if text.rfind(".") > text.rfind(",") else ".", "")
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if abs(value) <= table.MAX_READING else None
