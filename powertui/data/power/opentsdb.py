"""Answers of OpenTSDB's `/api/query`: metrics, each with its tags and its values by time.

[{"metric": "sys.power.watts", "tags": {"host": "node7"}, "dps": {"1714557600": 212.0}}]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Sensor
from powertui.data.power import groups, json_docs, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "opentsdb"


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per metric and set of tags."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    given = units.UNITS.get(options.unit or "")
    for document in json_docs.documents(source.text, notes):
        for metric in json_docs.records(document.value):
            name = str(metric.get("metric", ""))
            unit = given or units.power_unit(name)
            if unit is None:
                continue
            sensor = _sensor(name, metric.get("tags"))
            for when, value in _values(metric.get("dps")):
                collected.add(sensor, when, value, document.line, unit=unit)
    return collected.log(NAME, options, "OpenTSDB: a metric each, unit by its name")


def _sensor(name: str, tags: Any) -> Sensor:
    words = [name]
    host = ""
    for key, value in tags.items() if isinstance(tags, dict) else ():
        if key in groups.HOST_WORDS:
            host = str(value)
        else:
            words.append(str(value))
    return Sensor(" ".join(words), NAME, units.scope_of(name), host)


def _values(points: Any) -> Iterator[tuple[str, str]]:
    """Times and values, which stand as an object, or, where arrays are asked for, as pairs."""
    pairs = points.items() if isinstance(points, dict) else points
    if not isinstance(pairs, Iterable):
        return
    for pair in pairs:
        if isinstance(pair, (list, tuple)) and len(pair) == 2:
            yield str(pair[0]), str(pair[1])
