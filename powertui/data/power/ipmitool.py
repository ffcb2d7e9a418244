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
from powertui.data.power import assemble, column_times, stamps, table, times
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.data.power.units import scope_of
from powertui.errors import UnreadableFile
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

NAME = "ipmitool"
_DCMI = "DCMI power"
_MIN_BMC_NS = 946_684_800 * times.S  # 2000: a BMC that says 1970 has no clock

# ipmitool and FreeIPMI name the same field differently.
_INSTANT = late_pattern(
    r"(?:Instantaneous power reading\s*:|Current Power\s*:(?=\s*\S+\s+Watts))"
    r"\s*(\S+)\s*(?:Watts?)?",
    re.IGNORECASE,
)
# ipmitool prints the BMC's time and the sampling period in one line, or in two.
_TIME = late_pattern(
    r"(?:IPMI timestamp|Time Stamp)\s*:\s*(.*?)\s*(?:Sampling period\s*:.*)?$", re.IGNORECASE
)
_STATE = late_pattern(r"(?:Power reading state is|Power Measurement)\s*:\s*(\w+)", re.IGNORECASE)
_GET_ID = late_pattern(r"Sensor ID\s*:\s*(.+?)\s*(?:\(0x[0-9a-fA-F]+\))?\s*$")
_GET_VALUE = late_pattern(r"Sensor Reading\s*:\s*(\S+)\s*(?:\(\+/-\s*[\d.]+\))?\s*(\w*)")
# ipmitool writes the date as its locale does: 10/12/23 in most, which is never the year first.
_SHORT_YEAR = late_pattern(r"^(\d\d/\d\d)/(\d\d)(?= )")
# What sensors without a reading are printed as.
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
    if re.search(r"^.*\|\s*(?:-?[\d.]+\s*\|\s*Watts\b|[\d.]+ Watts\b)", head, re.MULTILINE):
        return 95
    if not re.search(r"^[ \t]{0,40}Sensor ID\s*:", head, re.MULTILINE):
        return 0
    if re.search(r"Sensor Reading\s*:.*Watts", head):
        return 95
    return 0


# One reading with its watts.
_Reported = tuple[_Reading, float]


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One series per sensor."""
    notes = Notes(source.path)
    readings = _readings(source.text, notes)
    by_name = _measured(_by_sensor(readings, notes), notes)
    if not by_name:
        reason = notes.first_reason() or "no sensor in watts"
        raise UnreadableFile(
            source.path,
            f"comes from ipmitool, but holds no power ({reason})",
            hint="Try: ipmitool dcmi power reading; or ipmitool sensor get 'Total Power'.",
        )
    series: list[PowerSeries] = []
    time_words: set[str] = set()
    for name, reported in by_name.items():
        column, by_bmc = _times(source.path, name, reported)
        column = times.in_zone(column, options.tz)
        lines = np.array([reading.line for reading, _ in reported])
        notes.drop_all(lines[~column.ok], "has no time that can be read")
        is_elapsed = column.kind == "elapsed"
        ns, clock = assemble.zeroed(column, column.ok, keep_zero=is_elapsed)
        words = column.words
        if by_bmc:
            clock = times.bmc(clock)
            words = f"the BMC's clock, {words}"
        time_words.add(words)
        sensor = Sensor(
            name,
            source="ipmi DCMI" if name == _DCMI else "ipmi sensor",
            scope=_scope(name),
            host=options.host,
        )
        watts = np.array([value for _, value in reported])
        channel = assemble.power_series(
            sensor,
            ns,
            watts[column.ok],
            clock=clock,
            notes=notes,
        )
        series.append(channel)
    return PowerLog(
        path=source.path,
        dialect=NAME,
        series=tuple(series),
        warnings=notes.warnings(),
        guess=f"ipmitool: watts; time: {'; '.join(sorted(time_words))}",
    )


def _by_sensor(readings: list[_Reading], notes: Notes) -> dict[str, list[_Reported]]:
    """The readings in watts by sensor."""
    by_name: dict[str, list[_Reported]] = {}
    for reading in readings:
        value = _watts(reading, notes)
        if value is None:
            continue
        reported = by_name.setdefault(reading.name, [])
        reported.append((reading, value))
    return by_name


def _measured(by_name: dict[str, list[_Reported]], notes: Notes) -> dict[str, list[_Reported]]:
    """The sensors without those of whole machines that only ever report 0 W."""
    measured: dict[str, list[_Reported]] = {}
    for name, reported in by_name.items():
        is_silent = all(value == 0 for _, value in reported)
        if is_silent and _scope(name) is Scope.NODE:
            notes.drop_all(
                (reading.line for reading, _ in reported),
                f"{name} is 0 W in every reading, so this BMC does not measure it",
            )
        else:
            measured[name] = reported
    return measured


def _scope(name: str) -> Scope:
    if name == _DCMI:
        return Scope.NODE
    return scope_of(name)


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
            self._now = stamp
            self._dcmi = None
            return
        when, line = stamps.split_time(line)
        self._now = when or self._now
        self._add_dcmi(number, line)
        if match := _GET_ID.search(line):
            self._sensor = match[1]
        elif match := _GET_VALUE.search(line):
            reading, unit = match.groups()
            if self._is_in_watts(unit):
                self._add_reading(self._sensor, number, reading)
        elif "|" in line:
            cells = line.split("|")
            named = _row([cell.strip() for cell in cells])
            if named is not None:
                name, reading = named
                self._add_reading(name, number, reading)

    def _is_in_watts(self, unit: str) -> bool:
        """Whether the reading of `sensor get` is one of power; some BMCs write no unit."""
        if unit:
            return unit.lower().startswith("watt")
        return re.search(r"power|pwr", self._sensor, re.IGNORECASE) is not None

    def _add_reading(self, name: str, number: int, text: str) -> _Reading:
        reading = _Reading(name, number, text, self._now)
        self.readings.append(reading)
        return reading

    def _add_dcmi(self, number: int, line: str) -> None:
        """A line of `dcmi power reading`: its reading, the BMC's time, or its state."""
        if match := _INSTANT.search(line):
            self._dcmi = self._add_reading(_DCMI, number, match[1])
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
        is_last = number == len(lines)
        if is_last and line and not re.search(r"(Watts|ok|activated|\|)\s*$", line):
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
    name, *values = cells
    if len(values) >= 3 and values[1].lower() == "watts":
        return name, values[0]
    for value in values:
        match = re.fullmatch(r"(-?[\d.]+) Watts", value)
        if match:
            return name, match[1]
    if len(values) < 3:
        return None
    if not re.search(r"power|pwr", name, re.IGNORECASE):
        return None
    # A sensor of power that does not answer has no unit either.
    reading, unit = map(str.lower, values[:2])
    if reading == "na" and unit in ("na", "watts"):
        return name, "na"
    return None


def _watts(reading: _Reading, notes: Notes) -> float | None:
    value = table.number(reading.text)
    if not np.isfinite(value):
        is_placeholder = reading.text.lower() in _EMPTY
        reason = "the reading is not a number"
        if is_placeholder:
            reason = f"{reading.text!r} instead of a reading"
        notes.drop(reading.line, reason)
        return None
    if value == 0 and reading.state == "deactivated":
        notes.drop(reading.line, "0 W from a BMC that reports its power reading as deactivated")
        return None
    return value


def _times(path: str, name: str, readings: list[_Reported]) -> tuple[column_times.TimeColumn, bool]:
    """Times of one sensor's readings, and whether they are the BMC's own."""
    if any(reading.host_time for reading, _ in readings):
        return column_times.from_texts([reading.host_time for reading, _ in readings]), False
    if any(reading.bmc_time for reading, _ in readings):
        column = column_times.from_texts(
            [_SHORT_YEAR.sub(r"\1/20\2", reading.bmc_time) for reading, _ in readings]
        )
        is_set = column.ok & (column.ns > _MIN_BMC_NS)
        if column.kind != "time of day" and is_set.any():
            column = column_times.TimeColumn(
                ns=column.ns,
                ok=is_set,
                kind=column.kind,
                words=column.words,
                offset_s=column.offset_s,
            )
            return column, True
    if len(readings) == 1:
        zero = np.zeros(1, np.int64)
        is_known = np.ones(1, np.bool_)
        words = "a single reading without a time"
        return column_times.TimeColumn(zero, is_known, "elapsed", words), False
    raise UnreadableFile(
        path,
        f"holds {len(readings)} readings of {name} and no usable time",
        hint=(
            "Put the time before each: while sleep 1; do date +%s.%N; ipmitool dcmi power "
            "reading; done >> power.txt"
        ),
    )
