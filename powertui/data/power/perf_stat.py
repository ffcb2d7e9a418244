"""`perf stat -I`: joules per interval, by elapsed seconds, as a table (`-x,`) or as text, with
points or commas by locale.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import NS_PER_S, Clock, PowerSeries, Scope, Sensor
from powertui.data.power import stamps, table, times
from powertui.data.power.assemble import power_series
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.errors import UnreadableFile

NAME = "perf stat"
_SEP = r"[\s,;:|]{1,40}"
_LINE = re.compile(
    rf"\s*(\d{{1,18}}[.,]\d{{1,18}}){_SEP}(?:(S\d{{1,4}}(?:-\w{{1,20}}){{0,4}}){_SEP}\d{{1,9}}{_SEP})?"
    rf"([\d.,]{{0,40}}\d|<not counted>|<not supported>){_SEP}Joules{_SEP}([\w/-]{{1,120}})(.*)"
)
_JSON = re.compile(
    r'\s*\{"interval"\s*:\s*([\d.]{1,24}),\s*(?:"socket"\s*:\s*"(S\d{1,4}[^"]{0,20})",\s*"[\w-]{1,30}"\s*:\s*(\d{1,6}),\s*)?'
    r'"counter-value"\s*:\s*"([^"]{1,40})",\s*"unit"\s*:\s*"Joules",\s*"event"\s*:\s*"([\w/-]{1,80})"'
)
_STARTED = re.compile(r"#\s*started on (.+)")
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
    return 96 if any(_LINE.match(_plain(line)) for line in head.split("\n")) else 0


def _plain(line: str) -> str:
    """A line of `-j` as it stands without: `1.001 S0 1 19.63 Joules power/energy-pkg/`."""
    match = _JSON.match(line) if line.lstrip().startswith("{") else None
    if match is None:
        return line
    socket = f"{match[2]} {match[3]} " if match[2] else ""
    return f"{match[1]} {socket}{match[4]} Joules {match[5]} ;"


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per event (and socket)."""
    notes = Notes(source.path)
    counts: dict[str, list[tuple[int, float]]] = {}
    clock = Clock(detail="seconds since perf was started")
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        if match := _STARTED.match(line.strip()):
            stamp = times.parse(match[1])
            if stamp is not None and stamp.dated:
                column = times.TimeColumn(
                    np.array([stamp.ns]),
                    np.ones(1, np.bool_),
                    "local",
                    "`started on`, local time without a zone",
                )
                column = times.in_zone(column, options.tz)
                clock = times.clock(column, int(column.ns[0]))
            continue
        match = _LINE.match(_plain(line))
        if match is None or (number == len(lines) and not re.search(r"\s|[,;]", match[5])):
            if "Joules" in line:
                notes.drop(number, "is cut off or not understood")
            continue
        name = f"{match[4]} {match[2] or ''}".strip()
        value = _number(match[3])
        if value is None:
            notes.drop(number, f"{match[3]} instead of joules")
        passed = float(match[1].replace(",", "."))
        if not passed < times.LONGEST_S:
            notes.drop(number, "the time is not a time")
            continue
        counts.setdefault(name, []).append(
            (round(passed * NS_PER_S), float("nan") if value is None else value)
        )
    series: list[PowerSeries] = []
    for name, pairs in counts.items():
        ns = np.array([0, *(when for when, _ in pairs)], np.int64)  # perf counts from its own start
        joules = np.array([np.nan, *(value for _, value in pairs)])
        with np.errstate(divide="ignore", invalid="ignore"):
            watts = np.r_[np.nan, joules[1:] / (np.diff(ns) / NS_PER_S)]
        if not np.isfinite(watts).any():
            continue
        event = next((word for word in _SCOPES if f"energy-{word}" in name), "")
        sensor = Sensor(name, NAME, _SCOPES.get(event, Scope.UNKNOWN), options.host)
        series.append(
            power_series(
                sensor,
                ns,
                watts,
                clock=clock,
                notes=notes,
                joules=joules,
            )
        )
    if not series:
        raise UnreadableFile(
            source.path,
            f"comes from perf stat, but holds no joules ({notes.first_reason() or 'no row'})",
            hint=(
                "Reading RAPL needs root or CAP_PERFMON: perf stat -a -e power/energy-pkg/ -I 1000"
            ),
        )
    return PowerLog(
        source.path,
        NAME,
        tuple(series),
        notes.warnings(),
        "perf stat: joules per interval, elapsed seconds",
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
