"""Rows of FreeIPMI's `ipmi-sensors`, with its header or without, as a loop gathers them.

    54  | Total_Power | Power Supply | Nominal | 210.00 | W | 'OK'
    54,Total_Power,Power Supply,Nominal,210.00,W,'OK'
    54: Total_Power (Power Supply): 210.00 W (0.00/1785.00): [OK]

The last is `--legacy-output`. A state is there where it was asked for. The first number is the
sensor's id, and no reading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from powertui.data.asked import LogColumns
from powertui.data.model import Sensor
from powertui.data.power import stamps, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple

NAME = "ipmi-sensors"
UNITS_WRITTEN = True
_WATTS = ("W", "Watts")
_LEGACY_ROW = re.compile(
    r"\s{0,9}(?P<id>\d{1,5}): (?P<name>[^()|]{1,60}?) \([^()]{1,60}\): "
    r"(?P<reading>-?\d{1,6}(?:\.\d{1,6})?) W\b.{0,200}"
)


class _SensorRow(NamedTuple):
    """A sensor in watts and what it reports; "N/A" where it does not answer."""

    sensor_id: str
    name: str
    reading: str


class _TimedRow(NamedTuple):
    """A row, the time before it or above it, and its line."""

    row: _SensorRow
    when: str
    line: int


def sniff(head: str, _path: str) -> int:
    """By rows of an id, a name, a kind, a reading and watts."""
    return 97 if next(_timed_rows(head), None) is not None else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per sensor in watts; those of one name by their ids."""
    rows = list(_timed_rows(source.text))
    ids_of_name: dict[str, set[str]] = {}
    for row, _, _ in rows:
        ids_of_name.setdefault(row.name, set()).add(row.sensor_id)
    collected = Collected(source.path, Notes(source.path))
    for row, when, line in rows:
        is_alone = len(ids_of_name[row.name]) == 1
        name = row.name if is_alone else f"{row.name} {row.sensor_id}"
        sensor = Sensor(name, NAME, units.scope_of(row.name))
        collected.add(sensor, when, row.reading, line)
    return collected.log(
        NAME,
        options,
        "FreeIPMI: watts",
        hint="Record it with: while sleep 1; do date +%s.%N; ipmi-sensors; done >> FILE",
    )


def _timed_rows(text: str) -> Iterator[_TimedRow]:
    for line in stamps.timed_lines(text):
        when = line.when
        written = line.text
        # In CSV a comma ends the time, and does not begin its fraction.
        first, _, rest = line.written.partition(",")
        if first_time := stamps.time_of_line(first):
            when = first_time
            written = rest
        row = _row(written)
        if row is not None and not units.no_power(row.name):  # a cap is in watts as well
            yield _TimedRow(row, when, line.number)


def _row(line: str) -> _SensorRow | None:
    """The sensor of a row in watts; None for all others, and for what is no row."""
    if match := _LEGACY_ROW.fullmatch(line):
        return _SensorRow(match["id"], match["name"], match["reading"])
    delimiter = "|" if "|" in line else ","
    cells = [cell.strip() for cell in line.split(delimiter)]
    if not re.fullmatch(r"\d{1,5}", cells[0]):
        return None
    # Before the unit are the id, a name, a kind, perhaps a state, and the reading.
    for place in (4, 5):
        if place < len(cells) and cells[place] in _WATTS and _is_reading(cells[place - 1]):
            return _SensorRow(cells[0], cells[1], cells[place - 1])
    return None


def _is_reading(cell: str) -> bool:
    return re.fullmatch(r"-?\d{1,6}(?:\.\d{1,6})?|N/A", cell) is not None
