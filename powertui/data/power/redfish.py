"""Redfish as JSON: Chassis Power, PowerSubsystem, EnvironmentMetrics, Sensors, and MetricReports of
telemetry services.

A report tells the time of each value. The other answers hold none and need one before them, or
around them from whoever polled.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from urllib.parse import unquote

from powertui.data.asked import LogColumns
from powertui.data.model import Scope, Sensor
from powertui.data.power import json_docs, table, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple

NAME = "redfish"
UNITS_WRITTEN = True
# The power of a chassis or a supply, and what is said behind its name.
_MEMBERS = {
    "PowerConsumedWatts": "",
    "PowerInputWatts": "input",
    "PowerOutputWatts": "output",
    "LastPowerOutputWatts": "output",
}
_HINT = "Write the time before each answer: date +%s >> FILE; curl … >> FILE"
_MAX_DEPTH = 40  # answers nest ten deep; a deeper one is no answer. Chosen, not measured
# Members that hold limits, or statistics of what another member reports.
_NOT_READINGS = ("PowerLimit", "PowerMetrics", "PowerLimitWatts")


def sniff(head: str, _path: str) -> int:
    """By the members that Redfish names."""
    if re.search(r'"(?:PowerConsumedWatts|PowerInputWatts|PowerWatts)"\s{0,9}:', head):
        return 96
    if "@odata" in head and re.search(r'"ReadingUnits"\s*:\s*"W"', head):
        return 96
    if '"MetricValues"' in head and re.search(r"power|watt", head, re.IGNORECASE):
        return 96
    return 0


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per chassis, supply, sensor or metric."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    for document in json_docs.documents(source.text, notes):
        place = _Place(document.when, document.line)
        _walk(document.value, place, collected)
    return collected.log(
        NAME,
        options,
        "Redfish: power in W",
        hint=_HINT,
        bmc='"MetricValues"' in source.head_text,
    )


class _Place(NamedTuple):
    """Where in an answer a value stands."""

    when: str  # the time around it
    line: int
    chassis: str = ""
    part: str = ""  # the member that holds it: "PowerSupplies", "Voltages"
    number: str = ""  # of a member of a list, where others in it have the same name
    depth: int = 0


def _numbers(members: list[Any]) -> list[str]:
    """What distinguishes members of one name: the bay, the member's id or its place; "" of a name
    that is the only one.

    Each supply of an iLO is called HpeServerPowerSupply.
    """
    names = []
    for member in members:
        is_object = isinstance(member, dict)
        names.append(str(member.get("Name", "")) if is_object else "")
    counts = Counter(names)
    numbers = []
    for place, (name, member) in enumerate(zip(names, members, strict=True)):
        if counts[name] < 2 or not isinstance(member, dict):
            numbers.append("")
            continue
        member_id = member.get("MemberId") or place
        numbers.append(_bay(member) or str(member_id))
    return numbers


def _bay(member: dict[str, Any]) -> str:
    """The bay of a supply, which HPE writes among the maker's own members; "" where there is
    none.
    """
    makers = member.get("Oem")
    if not isinstance(makers, dict):
        return ""
    for maker in makers.values():
        if not isinstance(maker, dict):
            continue
        bay = maker.get("BayNumber")
        if isinstance(bay, int):
            return str(bay)
    return ""


def _labeled(*words: str) -> str:
    return " ".join(filter(None, words))


def _chassis(value: dict[str, Any], default: str) -> str:
    """The chassis or system that an answer's address names, where it is not one of many names of
    the only one.
    """
    address = str(value.get("@odata.id", ""))
    match = re.search(r"/(?:Chassis|Systems)/([^/\s]{1,60})", address)
    name = unquote(match[1]) if match else default
    if name in ("1", "Self", "System.Embedded.1", "chassis", "system"):
        return ""
    return name


def _walk(value: Any, place: _Place, collected: Collected) -> None:
    """All readings of an answer, or of a part of one."""
    if isinstance(value, list):
        below = place._replace(depth=place.depth + 1)
        for number, entry in zip(_numbers(value), value, strict=True):
            _walk(entry, below._replace(number=number), collected)
        return
    if not isinstance(value, dict) or place.depth > _MAX_DEPTH:
        return
    place = place._replace(
        when=json_docs.when_in(value, place.when),
        chassis=_chassis(value, place.chassis),
    )
    metrics = [value] if "MetricValue" in value else value.get("MetricValues")
    if isinstance(metrics, list):
        for metric in metrics:
            _metric(metric, place, collected)
        return
    _add_readings(value, place, collected)
    for key, member in value.items():
        reading = None
        if key == "PowerWatts" and isinstance(member, dict):
            reading = member.get("Reading")
        if reading is not None:
            _add_environment(value, reading, place, collected)
        else:
            _walk_member(key, member, place, collected)


def _walk_member(key: str, member: Any, place: _Place, collected: Collected) -> None:
    """The readings of a member, where it may hold any."""
    if key.startswith("@") or key in _NOT_READINGS:
        return
    if isinstance(member, list):
        part = key
    elif isinstance(member, dict):
        part = place.part or key
    else:
        return
    inside = place._replace(depth=place.depth + 1, part=part)
    _walk(member, inside, collected)


def _add_readings(value: dict[str, Any], place: _Place, collected: Collected) -> None:
    """The power that an object reports of itself."""
    if place.part == "PowerControl":
        default = "PowerControl"
    else:
        default = value.get("MemberId") or place.part
    written_name = unquote(str(value.get("Name") or default))
    name = _labeled(written_name, place.number)
    # An iLO 4 repeats beside its only control what that reports.
    if "PowerControl" not in value:
        _add_members(value, name, place, collected)
    reading = value.get("Reading")
    if value.get("ReadingUnits") != "W" or reading is None:
        return
    context = value.get("PhysicalContext", "")
    _add(
        collected,
        _labeled(place.chassis, name or "power"),
        _scope(f"{name} {context}", place.part),
        place,
        reading,
    )


def _add_members(
    value: dict[str, Any],
    name: str,
    place: _Place,
    collected: Collected,
) -> None:
    """The readings that have a member of their own: drawn, taken, given."""
    label = name or "power"
    if place.part == "PowerControl":
        label = name.replace("PowerControl", "power")
    for key, kind in _MEMBERS.items():
        reading = value.get(key)
        if reading is None:
            continue
        is_supply = place.part == "PowerSupplies" or bool(kind)
        _add(
            collected,
            _labeled(place.chassis, label, kind),
            Scope.RAIL if is_supply else _scope(name, place.part),
            place,
            reading,
        )


def _add_environment(
    metrics: dict[str, Any],
    reading: Any,
    place: _Place,
    collected: Collected,
) -> None:
    """The power in EnvironmentMetrics: of a processor or another part, else of the chassis."""
    address = str(metrics.get("@odata.id", ""))
    owner = re.search(r"/(Processors|Memory|Drives)/([^/\s]{1,60})", address)
    label = "power"
    scope = Scope.NODE
    if owner:
        label = owner[2]
        scope = _scope(label, "")
    _add(collected, _labeled(place.chassis, label), scope, place, reading)


def _scope(name: str, part: str) -> Scope:
    """What a reading covers, by its name and by the member that holds it."""
    if part == "PowerSupplies":
        return Scope.RAIL
    words = re.sub(r"(?<=[a-z])(?=\d)", " ", name)
    scope = units.scope_of(words)
    if scope is Scope.UNKNOWN and part in ("PowerControl", ""):
        return Scope.NODE
    return scope


def _metric(metric: Any, place: _Place, collected: Collected) -> None:
    """A value of a MetricReport, where it is one of power."""
    if not isinstance(metric, dict):
        return
    address = str(metric.get("MetricProperty", ""))
    _, _, last_part = address.rpartition("/")
    name = unquote(str(metric.get("MetricId") or last_part))
    # The last one is the narrowest: /Chassis/1/Sensors/power_total.
    owners = re.findall(r"/(?:Chassis|Systems|Processors|Sensors)/([^/#\s]{1,60})", address)
    owner = unquote(owners[-1]) if owners else ""
    unit = units.unit_of_name(name)
    if not _is_power_metric(name, owner, unit):
        return
    words = dict.fromkeys((place.chassis, owner, name))
    words.pop("Reading", None)
    label = _labeled(*words)
    place = place._replace(when=json_docs.when_in(metric, place.when))
    _add(
        collected=collected,
        name=label,
        scope=units.scope_of(label),
        place=place,
        value=metric.get("MetricValue"),
        unit=unit,
    )


def _is_power_metric(name: str, owner: str, unit: units.Unit | None) -> bool:
    # kWh of a supply's life come in steps far too large to be power.
    if re.search("energy", name, re.IGNORECASE):
        return False
    if unit is not None:
        return unit.quantity != "energy"
    return units.means_power(name) or units.means_power(owner)


def _add(
    collected: Collected,
    name: str,
    scope: Scope,
    place: _Place,
    value: Any,
    unit: units.Unit | None = None,
) -> None:
    if isinstance(value, (dict, list, bool)):
        return
    if value is not None:
        number = table.number(str(value))
    else:
        number = float("nan")
    sensor = Sensor(name, NAME, scope)
    collected.add(sensor, place.when, number, place.line, unit=unit or units.UNITS["W"])
