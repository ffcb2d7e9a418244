"""Tasmota's telemetry: `{"Time":…,"ENERGY":{"Power":…}}` as its MQTT topics, console and status
commands write it.
"""

from __future__ import annotations

import re
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import json_docs
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "tasmota"
UNITS_WRITTEN = True


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per plug (by its topic) and outlet."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    lines = source.text.split("\n")
    for doc in json_docs.documents(source.text, notes):
        if doc.line <= len(lines):
            topic = re.search(r"(?:tele|stat)/([^/\s]{1,60})/", lines[doc.line - 1])
        else:
            topic = None
        for entry in doc.value if isinstance(doc.value, list) else [doc.value]:
            _walk(entry, doc.when, doc.line, topic[1] if topic else "plug", collected)
    return collected.log(NAME, options, "Tasmota: Power in W")


def _walk(
    value: Any,
    when: str,
    line: int,
    name: str,
    collected: Collected,
    depth: int = 0,
) -> None:
    if not isinstance(value, dict) or depth > 8:
        return
    when = json_docs.when_in(value, when)
    energy = value.get("ENERGY")
    if isinstance(energy, dict):
        power = energy.get("Power")
        # A strip of outlets reports a list.
        outlets = power if isinstance(power, list) else [power]
        for k, cell in enumerate(outlets):
            if isinstance(cell, (int, float, str)) and not isinstance(cell, bool):
                sensor = Sensor(f"{name} {k}" if len(outlets) > 1 else name, NAME, Scope.PLUG)
                collected.add(sensor, when, str(cell), line)
        return
    for member in value.values():
        _walk(
            value=member,
            when=when,
            line=line,
            name=name,
            collected=collected,
            depth=depth + 1,
        )
