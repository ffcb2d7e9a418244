"""Redfish as JSON: Chassis Power, PowerSubsystem, EnvironmentMetrics, Sensors, and MetricReports of
telemetry services.

A report tells the time of each value. The other answers hold none and need one before them, or
around them from whoever polled.
"""

from __future__ import annotations

import re
from typing import Any

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import json_docs, table, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "redfish"
UNITS_WRITTEN = True
_MEMBERS = {
    "PowerConsumedWatts": "",
    "PowerInputWatts": "input",
    "PowerOutputWatts": "output",
    "LastPowerOutputWatts": "output",
}
_HINT = "Write the time before each answer: date +%s >> FILE; curl … >> FILE"
_DEPTH = 40


def sniff(head: str, _path: str) -> int:
    """By the members that Redfish names."""
    if re.search(r'"(?:PowerConsumedWatts|PowerInputWatts|PowerWatts)"\s{0,9}:', head):
        return 96
    if "@odata" in head and re.search(r'"ReadingUnits"\s*:\s*"W"', head):
        return 96
    return 96 if '"MetricValues"' in head and re.search(r"power|watt", head, re.IGNORECASE) else 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per chassis, supply, sensor or metric."""
    notes = Notes(source.path)
    found = Collected(source.path, notes)
    for doc in json_docs.documents(source.text, notes):
        _walk(doc.value, doc.when, doc.line, "", "", found, 0)
    return found.log(
        NAME, options, "Redfish: power in W", hint=_HINT, bmc='"MetricValues"' in source.head_text
    )


def _chassis(value: dict[str, Any], default: str) -> str:
    """The chassis or system that an answer's address names, where it is not one of many names of
    the only one.
    """
    match = re.search(r"/(?:Chassis|Systems)/([^/\s]{1,60})", str(value.get("@odata.id", "")))
    name = match[1] if match else default
    return "" if name in ("1", "Self", "System.Embedded.1", "chassis", "system") else name


def _walk(
    value: Any, when: str, line: int, chassis: str, part: str, found: Collected, depth: int
) -> None:
    if isinstance(value, list):
        for one in value:
            _walk(one, when, line, chassis, part, found, depth + 1)
        return
    if not isinstance(value, dict) or depth > _DEPTH:
        return
    when = json_docs.when_in(value, when)
    chassis = _chassis(value, chassis)
    name = str(value.get("Name") or value.get("MemberId") or part)
    if "MetricValue" in value:
        _metric(value, when, line, chassis, found)
        return
    if isinstance(value.get("MetricValues"), list):
        for metric in value["MetricValues"]:
            _metric(metric, when, line, chassis, found)
        return
    for key, kind in _MEMBERS.items():
        if value.get(key) is not None:
            supply = part == "PowerSupplies" or bool(kind)
            label = " ".join(
                word
                for word in (chassis, name if name and name != "PowerControl" else "power", kind)
                if word
            )
            _add(found, label, Scope.RAIL if supply else _scope(name, part), when, value[key], line)
    if value.get("ReadingUnits") == "W" and value.get("Reading") is not None:
        context = str(value.get("PhysicalContext", ""))
        label = " ".join(word for word in (chassis, name or "power") if word)
        _add(found, label, _scope(f"{name} {context}", part), when, value["Reading"], line)
    for key, own in value.items():
        if key == "PowerWatts" and isinstance(own, dict) and own.get("Reading") is not None:
            where = re.search(
                r"/(Processors|Memory|Drives)/([^/\s]{1,60})", str(value.get("@odata.id", ""))
            )
            label = " ".join(word for word in (chassis, where[2] if where else "power") if word)
            _add(
                found,
                label,
                _scope(where[2], "") if where else Scope.NODE,
                when,
                own["Reading"],
                line,
            )
        elif (
            isinstance(own, (dict, list))
            and not key.startswith("@")
            and key not in ("PowerLimit", "PowerMetrics", "PowerLimitWatts")
        ):
            _walk(
                own,
                when,
                line,
                chassis,
                key if isinstance(own, list) else part or key,
                found,
                depth + 1,
            )


def _scope(name: str, part: str) -> Scope:
    if part == "PowerSupplies":
        return Scope.RAIL
    scope = units.scope_of(re.sub(r"(?<=[a-z])(?=\d)", " ", name))
    return Scope.NODE if scope is Scope.UNKNOWN and part in ("PowerControl", "") else scope


def _metric(metric: Any, when: str, line: int, chassis: str, found: Collected) -> None:
    if not isinstance(metric, dict):
        return
    name = str(metric.get("MetricId") or str(metric.get("MetricProperty", "")).rsplit("/", 1)[-1])
    owner = re.search(
        r"/(?:Chassis|Systems|Processors|Sensors)/([^/#\s]{1,60})",
        str(metric.get("MetricProperty", "")),
    )
    unit = units.unit_of_name(name)
    if not (unit is not None or units.means_power(name) or (owner and units.means_power(owner[1]))):
        return
    if (unit is not None and unit.quantity == "energy") or re.search("energy", name, re.IGNORECASE):
        return  # kWh of a supply's life, in steps far too large to be power
    label = " ".join(
        dict.fromkeys(
            word
            for word in (chassis, owner[1] if owner else "", name)
            if word and word != "Reading"
        )
    )
    _add(
        found,
        label,
        units.scope_of(label),
        json_docs.when_in(metric, when),
        metric.get("MetricValue"),
        line,
        unit,
    )


def _add(
    found: Collected,
    name: str,
    scope: Scope,
    when: str,
    value: Any,
    line: int,
    unit: units.Unit | None = None,
) -> None:
    if isinstance(value, (dict, list, bool)):
        return
    number = table.number(str(value)) if value is not None else float("nan")
    found.add(Sensor(name, NAME, scope), when, number, line, unit=unit or units.UNITS["W"])
