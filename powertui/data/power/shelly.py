"""Shelly plugs and meters as JSON: status of the first generation (`meters`, `emeters`), of the
later ones (`switch:0` with `apower`, `em:0` with `total_act_power`), and their notifications.

The plug's own clock is taken where it has Unix time, else the time that whoever polled it wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import json_docs
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "shelly"
UNITS_WRITTEN = True
_MAX_DEPTH = 20  # answers nest three deep; chosen, not measured
_COMPONENT = re.compile(r"(?:switch|em1?|pm1|cover|light):\d{1,2}")
# What a status names as its `source`, when it was switched so.
_CAUSES = ("init", "http", "SHC", "timer")
_HINT = (
    "Write the time before each answer: date +%s >> FILE; curl "
    "http://PLUG/rpc/Switch.GetStatus?id=0 >> FILE"
)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per outlet or phase."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    for doc in json_docs.documents(source.text, notes):
        for entry in doc.value if isinstance(doc.value, list) else [doc.value]:
            _walk(
                value=entry,
                when=_clock(entry, doc.when),
                line=doc.line,
                name="",
                collected=collected,
                depth=0,
            )
    return collected.log(NAME, options, "Shelly: W", hint=_HINT)


def _clock(value: Any, default: str) -> str:
    """What whoever polled wrote, else the plug's Unix time (0 while it has none)."""
    if not isinstance(value, dict):
        return default
    stamp = json_docs.when_in(value, default)
    if stamp and stamp == default:
        return stamp
    unix_time = _unix_time(value)
    if unix_time:
        return unix_time
    # A status of the first generation has the plug's time of day, without a date or seconds.
    return default if re.fullmatch(r"\d\d:\d\d", stamp) else stamp


def _unix_time(value: dict[str, Any]) -> str:
    """The plug's own Unix time; "" where it has none."""
    parts = [value]
    for name in ("sys", "params", "result"):
        part = value.get(name)
        if isinstance(part, dict):
            parts.append(part)
    for part in parts:
        for key in ("unixtime", "ts"):
            time = part.get(key)
            if isinstance(time, (int, float)) and time > 1e9:
                return str(time)
    return ""


def _walk(value: Any, when: str, line: int, name: str, collected: Collected, depth: int) -> None:
    """All readings of an answer, or of a part of one that is called `name`."""
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return
    name = name or _device_name(value)
    for label, reading in (*_meters(value, name), *_component(value, name)):
        _add(collected, label, when, reading, line)
    for key, member in value.items():
        if isinstance(member, dict):
            part = key.replace(":", " ") if _COMPONENT.fullmatch(key) else name
            _walk(
                value=member,
                when=_clock(member, when),
                line=line,
                name=part,
                collected=collected,
                depth=depth + 1,
            )


def _meters(value: dict[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """(label, watts) of each meter of a status of the first generation."""
    name = name or "plug"
    for key in ("meters", "emeters"):
        meters = value.get(key)
        if not isinstance(meters, list):
            continue
        for number, meter in enumerate(meters):
            if isinstance(meter, dict) and meter.get("is_valid", True):
                label = f"{name} {number}" if len(meters) > 1 else name
                yield label, meter.get("power")


def _component(value: dict[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """(label, watts) of a component of the later generations; nothing of any other object."""
    number = value.get("id", 0)
    for key, default in (
        ("apower", f"switch {number}"),
        ("total_act_power", "meter"),
        ("act_power", f"meter {number}"),
    ):
        if value.get(key) is not None:
            yield name or default, value[key]
            return


def _device_name(value: dict[str, Any]) -> str:
    """What an object calls itself; "" where that is what switched it ("http", "timer")."""
    for key in ("name", "source", "src", "device"):
        name = value.get(key)
        if isinstance(name, str):
            is_cause = name in _CAUSES
            return "" if is_cause else name
    return ""


def _add(
    collected: Collected,
    name: str,
    when: str,
    value: Any,
    line: int,
) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return
    sensor = Sensor(name, NAME, Scope.PLUG)
    collected.add(sensor, when, str(value), line)
