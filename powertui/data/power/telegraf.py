"""Telegraf's JSON (`data_format = "json"`): points of the line protocol as objects, one a line or
in batches below "metrics".

    {"fields":{"value":212},"name":"ipmi_sensor","tags":{"unit":"watts"},"timestamp":1714557600}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.power import influx, json_docs, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "telegraf json"


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """The channels of the same points in the line protocol."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    given = units.UNITS.get(options.unit or "")
    for document in json_docs.documents(source.text, notes):
        for value in _points(document.value):
            point = influx.Point(
                measurement=str(value.get("name", "")),
                tags=_texts(value.get("tags")),
                fields=_numbers(value.get("fields")),
                when=str(value.get("timestamp", document.when)),
                line=document.line,
            )
            influx.add_point(point, collected, given)
    return collected.log(NAME, options, "Telegraf: unit and channel by measurement, tags and field")


def _points(value: Any) -> Iterator[dict[str, Any]]:
    """The objects with fields: a point, or those of a batch."""
    if isinstance(value, list):
        for member in value:
            yield from _points(member)
    elif isinstance(value, dict) and isinstance(value.get("metrics"), list):
        yield from _points(value["metrics"])
    elif isinstance(value, dict) and isinstance(value.get("fields"), dict):
        yield value


def _texts(members: Any) -> dict[str, str]:
    if not isinstance(members, dict):
        return {}
    return {key: value for key, value in members.items() if isinstance(value, str)}


def _numbers(members: Any) -> dict[str, str]:
    numbers = {}
    for key, value in members.items() if isinstance(members, dict) else ():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers[key] = str(value)
    return numbers
