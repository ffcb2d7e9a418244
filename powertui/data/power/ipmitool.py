"""Texts of ipmitool (and FreeIPMI's ipmi-dcmi), one call after the other in one file.

`dcmi power reading` in its three ways of writing the BMC's time (two fields may share a line),
`sensor`, `sensor get`, `sdr` and `sdr type` rows. A line with nothing but a time (from `date`) or a
time before a row stamps what follows, and is better than the BMC's own clock. Zero watts of a BMC
that calls itself deactivated is no reading.
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import PowerSeries, Scope, Sensor
from powertui.data.power import assemble, stamps, table, times
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.units import scope_of
from powertui.errors import UnreadableFile
from powertui.value_types import dataclass

NAME = "ipmitool"
_DCMI = "DCMI power"
_MIN_BMC_NS = 946_684_800 * times.S  # 2000: a BMC that says 1970 has no clock

_INSTANT = re.compile(
    r"(?:Instantaneous power reading\s*:|Current Power\s*:(?=\s*\S+\s+Watts))"
    r"\s*(\S+)\s*(?:Watts?)?",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"(?:IPMI timestamp|Time Stamp)\s*:\s*(.*?)\s*(?:Sampling period\s*:.*)?$", re.IGNORECASE
)
_STATE = re.compile(r"(?:Power reading state is|Power Measurement)\s*:\s*(\w+)", re.IGNORECASE)
_GET_ID = re.compile(r"Sensor ID\s*:\s*(.+?)\s*(?:\(0x[0-9a-fA-F]+\))?\s*$")
_GET_VALUE = re.compile(r"Sensor Reading\s*:\s*(\S+)\s*(?:\(\+/-\s*[\d.]+\))?\s*(\w*)")
_EMPTY = ("na", "n/a", "ns", "no", "disabled", "unknown", "")


@dataclass
class _Reading:
    name: str
    line: int
    text: str
    host_time: str
    bmc_time: str = ""
    state: str = ""


def sniff(head: str, _path: str) -> int:
    """By its own phrases and rows."""
    if _INSTANT.search(head):
        return 97
    if (
        re.search(r"^.*\|\s*(?:-?[\d.]+\s*\|\s*Watts\b|[\d.]+ Watts\b)", head, re.MULTILINE)
        and "|" in head
    ):
        return 95
    if re.search(r"^[ \t]{0,40}Sensor ID\s*:", head, re.MULTILINE) and re.search(
        r"Sensor Reading\s*:.*Watts", head
    ):
        return 95
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per sensor."""
    notes = Notes(source.path)
    readings = _readings(source.text, notes)
    by_name: dict[str, list[tuple[_Reading, float]]] = {}
    for reading in readings:
        value = _watts(reading, notes)
        if value is not None:
            by_name.setdefault(reading.name, []).append((reading, value))
    for name, of_sensor in list(by_name.items()):
        if all(value == 0 for _, value in of_sensor) and _scope(name) is Scope.NODE:
            notes.drop_all(
                (reading.line for reading, _ in of_sensor),
                f"{name} is 0 W in every reading, so this BMC does not measure it",
            )
            del by_name[name]
    if not by_name:
        why = notes.first_reason()
        raise UnreadableFile(
            source.path,
            f"comes from ipmitool, but holds no power ({why or 'no sensor in watts'})",
            hint="Try: ipmitool dcmi power reading; or ipmitool sensor get 'Total Power'.",
        )
    series: list[PowerSeries] = []
    words: set[str] = set()
    for name, of_sensor in by_name.items():
        column, by_bmc = _times(source.path, name, of_sensor)
        column = times.in_zone(column, options.tz)
        notes.drop_all(
            (of_sensor[i][0].line for i in np.flatnonzero(~column.ok)),
            "has no time that can be read",
        )
        ns, clock = assemble.zeroed(column, column.ok, keep_zero=column.kind == "elapsed")
        words.add(f"the BMC's clock, {column.words}" if by_bmc else column.words)
        sensor = Sensor(
            name, "ipmi DCMI" if name == _DCMI else "ipmi sensor", _scope(name), options.host
        )
        watts = np.array([value for _, value in of_sensor])[column.ok]
        series.append(
            assemble.power_series(
                sensor,
                ns,
                watts,
                clock=times.bmc(clock) if by_bmc else clock,
                notes=notes,
            )
        )
    return PowerLog(
        source.path,
        NAME,
        tuple(series),
        notes.warnings(),
        f"ipmitool: watts; time: {'; '.join(sorted(words))}",
    )


def _scope(name: str) -> Scope:
    by_name = scope_of(name)
    return Scope.NODE if name == _DCMI else by_name


class _Answers:
    """Answers of ipmitool on their way to readings, line by line."""

    def __init__(self) -> None:
        self.readings: list[_Reading] = []
        self._now = ""  # the time that whoever polled wrote
        self._dcmi: _Reading | None = None  # the answer of `dcmi power reading` that goes on
        self._sensor = ""  # the one that `sensor get` is about

    def add(self, number: int, line: str) -> None:
        """One line, without blanks around it."""
        if stamp := stamps.time_of_line(line):
            self._now, self._dcmi = stamp, None
            return
        when, line = stamps.split_time(line)
        self._now = when or self._now
        self._add_dcmi(number, line)
        if match := _GET_ID.search(line):
            self._sensor = match[1]
        elif match := _GET_VALUE.search(line):
            means_power = re.search(r"power|pwr", self._sensor, re.IGNORECASE) is not None
            if match[2].lower().startswith("watt") or (not match[2] and means_power):
                self.readings.append(_Reading(self._sensor, number, match[1], self._now))
        elif "|" in line:
            named = _row([cell.strip() for cell in line.split("|")])
            if named is not None:
                self.readings.append(_Reading(named[0], number, named[1], self._now))

    def _add_dcmi(self, number: int, line: str) -> None:
        """A line of `dcmi power reading`: its reading, the BMC's time, or its state."""
        if match := _INSTANT.search(line):
            self._dcmi = _Reading(_DCMI, number, match[1], self._now)
            self.readings.append(self._dcmi)
        if self._dcmi is None:
            return
        if match := _TIME.search(line):
            self._dcmi.bmc_time = re.sub(r"\s+-\s+", " ", match[1])
        if match := _STATE.search(line):
            self._dcmi.state = match[1].lower()


def _readings(text: str, notes: Notes) -> list[_Reading]:
    """All readings of power, however ipmitool was asked for them."""
    answers = _Answers()
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if number == len(lines) and line and not re.search(r"(Watts|ok|activated|\|)\s*$", line):
            if "|" in line or ":" in line:
                notes.drop(number, "the last line may be cut")
            break
        if line.strip():
            answers.add(number, line.strip())
    return answers.readings


def _row(cells: list[str]) -> tuple[str, str] | None:
    """(name, reading) of a `sensor`, `sdr` or `sdr type` row that is in watts; None for all the
    others.
    """
    if len(cells) >= 4 and cells[2].lower() == "watts":
        return cells[0], cells[1]
    for cell in cells[1:]:
        match = re.fullmatch(r"(-?[\d.]+) Watts", cell)
        if match:
            return cells[0], match[1]
    if (
        len(cells) >= 4
        and cells[1].lower() == "na"
        and re.search(r"power|pwr", cells[0], re.IGNORECASE)
        and cells[2].lower() in ("na", "watts")
    ):
        return cells[0], "na"
    return None


def _watts(reading: _Reading, notes: Notes) -> float | None:
    value = table.number(reading.text)
    if not np.isfinite(value):
        is_placeholder = reading.text.lower() in _EMPTY
        notes.drop(
            reading.line,
            f"{reading.text!r} instead of a reading"
            if is_placeholder
            else "the reading is not a number",
        )
        return None
    if value == 0 and reading.state == "deactivated":
        notes.drop(reading.line, "0 W from a BMC that reports its power reading as deactivated")
        return None
    return value


def _times(
    path: str, name: str, readings: list[tuple[_Reading, float]]
) -> tuple[times.TimeColumn, bool]:
    """Times of one sensor's readings, and whether they are the BMC's own."""
    if any(reading.host_time for reading, _ in readings):
        return times.from_texts([reading.host_time for reading, _ in readings]), False
    if any(reading.bmc_time for reading, _ in readings):
        column = times.from_texts([reading.bmc_time for reading, _ in readings])
        useful = (
            column.ok & (column.ns > _MIN_BMC_NS)
            if column.kind != "time of day"
            else np.zeros(len(readings), np.bool_)
        )
        if useful.any():
            return times.TimeColumn(
                column.ns, useful, column.kind, column.words, column.offset_s
            ), True
    if len(readings) == 1:
        return times.TimeColumn(
            np.zeros(1, np.int64),
            np.ones(1, np.bool_),
            "elapsed",
            "a single reading without a time",
        ), False
    raise UnreadableFile(
        path,
        f"holds {len(readings)} readings of {name} and no usable time",
        hint=(
            "Put the time before each: while sleep 1; do date +%s.%N; ipmitool dcmi power "
            "reading; done >> power.txt"
        ),
    )
