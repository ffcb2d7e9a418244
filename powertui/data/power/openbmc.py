"""Sensors of OpenBMC, the firmware of IBM's POWER9 and later: its REST answers, `busctl` with an
object's path before the value, and the table of `openbmctool sensors print`.

    {"data": {"Scale": 0, "Unit": "xyz.openbmc_project.Sensor.Value.Unit.Watts", "Value": 212}}
    /xyz/openbmc_project/sensors/power/total_power d 212.5
    total_power | power | Watts | 212.0 | N/A

None of them tells a time, so each needs one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Sensor
from powertui.data.power import json_docs, stamps, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple

NAME = "openbmc"
UNITS_WRITTEN = True
# A folder of sensors has the unit that its name says.
_LINE = re.compile(
    r"\S{0,80}/xyz/openbmc_project/sensors/power/(?P<name>[\w.-]{1,80})\b[^|\n]{0,200}?"
    r"\s(?:d|x|t|i|u)\s(?P<value>-?[\d.]{1,20})\s*"
)
_TABLE_ROW = re.compile(
    r"(?P<name>[\w.-]{1,80})\s*\|\s*power\s*\|\s*Watts\s*\|\s*(?P<value>-?[\d.]{1,20})\s*\|.*"
)
_WATTS = ".Unit.Watts"
_MAX_DEPTH = 8  # of objects within an answer; it has three
_MAX_SCALE = 9  # a value is in units of 10 to this at most, and to minus this at least


class _Reading(NamedTuple):
    """What a sensor said, in watts."""

    name: str
    watts: str | float
    when: str
    line: int


def sniff(head: str, _path: str) -> int:
    """By its own names: a unit in watts, an object's path, or a row of the tool's table."""
    if _WATTS in head and '"Value"' in head:
        return 97
    return 96 if next(_of_lines(head), None) is not None else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per sensor in watts."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    is_json = '"Value"' in source.head_text
    readings = _of_answers(source.text, notes) if is_json else _of_lines(source.text)
    for name, watts, when, line in readings:
        if units.no_power(name):  # a cap is in watts as well
            continue
        collected.add(Sensor(name, NAME, units.scope_of(name)), when, watts, line)
    return collected.log(
        NAME,
        options,
        "OpenBMC: sensors in watts",
        hint="Write the time before each answer: date +%s.%N >> FILE; curl … >> FILE",
    )


def _of_lines(text: str) -> Iterator[_Reading]:
    for line in stamps.timed_lines(text):
        match = _LINE.fullmatch(line.text) or _TABLE_ROW.fullmatch(line.text.strip())
        if match is not None:
            yield _Reading(match["name"], match["value"], line.when, line.number)


def _of_answers(text: str, notes: Notes) -> Iterator[_Reading]:
    for document in json_docs.documents(text, notes):
        for name, watts in _sensors("", document.value, 0):
            yield _Reading(name or "power", watts, document.when, document.line)


def _sensors(name: str, value: Any, depth: int) -> Iterator[tuple[str, float]]:
    """The sensors in watts of an answer, by the last name of their paths; one that was asked for
    alone has none.
    """
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return
    reading = value.get("Value")
    if str(value.get("Unit", "")).endswith(_WATTS) and isinstance(reading, (int, float)):
        yield name, reading * 10.0 ** _scale(value.get("Scale"))
        return
    for key, member in value.items():
        below = key.rpartition("/")[2] if "/sensors/" in key else name
        yield from _sensors(below, member, depth + 1)


def _scale(written: Any) -> int:
    """The power of ten in which old firmware counts; 0 where it is none."""
    if isinstance(written, int) and abs(written) <= _MAX_SCALE:
        return written
    return 0
