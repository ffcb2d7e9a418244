"""Graphite's plain text, as programs send it and `nc` keeps it, and the CSV of its render API.

servers.node7.power.total_watts 212.0 1714557600
servers.node7.power.total_watts,2024-05-01 10:00:00,212.0
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

NAME = "graphite"
_PATH = r"([A-Za-z_][\w:%-]{0,80}(?:\.[\w:%-]{1,80}){1,20})(?:;[\w.;=:%-]{1,200})?"
_SENT = re.compile(rf"{_PATH}[ \t]{{1,4}}(\S{{1,30}})[ \t]{{1,4}}(\d{{9,10}}(?:\.\d{{1,9}})?)\s*")
_RENDERED = re.compile(rf"{_PATH},(\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d),(\S{{0,30}})\s*")


class _Value(NamedTuple):
    """What a metric was at one time; "" where it was not known."""

    path: str
    when: str
    value: str
    line: int


def sniff(head: str, _path: str) -> int:
    """By a metric that means power."""
    return 95 if any(_unit(value.path) is not None for value in _values(head)) else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per metric that means power."""
    given = units.UNITS.get(options.unit or "")
    collected = Collected(source.path, Notes(source.path))
    for path, when, value, line in _values(source.text):
        unit = _unit(path)
        if unit is not None and value:
            sensor = Sensor(path, NAME, units.scope_of(path))
            collected.add(sensor, when, value, line, unit=given or unit)
    return collected.log(NAME, options, "Graphite: a metric each, unit by its name")


def _values(text: str) -> Iterator[_Value]:
    for number, line in stamps.numbered_lines(text.split("\n")):
        if match := _SENT.fullmatch(line):
            yield _Value(match[1], match[3], match[2], number)
        elif match := _RENDERED.fullmatch(line):
            yield _Value(match[1], match[2], match[3], number)


def _unit(path: str) -> units.Unit | None:
    """The unit of a metric, by its last name, else by the one above it."""
    *_, above, name = path.split(".")
    if units.no_power(name) or units.no_power(above):  # "power_cap.watts"
        return None
    return units.power_unit(name) or units.power_unit(above)
