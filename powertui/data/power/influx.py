"""InfluxDB's line protocol, as Telegraf and Slurm write it: measurement, tags, fields, a time in ns
(or coarser, by its size).
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import column_times, devices, stamps, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile
from powertui.named_tuples import NamedTuple

NAME = "influx"
_KEY = r"(?:\\.|[^,= \\]){1,200}"
_FIELD = rf"{_KEY}=(?:\"(?:\\.|[^\"\\]){{0,2000}}\"|[^, ]{{1,60}})"
_TAGS = rf"(?:,{_KEY}=(?:\\.|[^,= \\]){{0,500}}){{0,60}}"
_LINE = rf"((?:\\.|[^, \\]){{1,200}})({_TAGS}) ({_FIELD}(?:,{_FIELD}){{0,200}})(?: (-?\d{{1,20}}))?"
# Telegraf adds `host` to each point.
_HOSTS = ("host", "hostname", "node", "server", "instance")
# Plugins that ask other machines: `host` is where Telegraf runs, this tag is what it asked.
_ASKED = {"ipmi_sensor": "server", "snmp": "agent_host"}
_DEVICES = ("uuid", "pci_bus_id", "index", "gpu", "gpu_id", "device", "card")
# Plugins of Telegraf whose tag `name` is the model of a device.
_MODELS = ("nvidia_smi", "amd_rocm_smi", "intel_powerstat")


_MAX_PROBED_LINES = 200  # in which a field of power is looked for; chosen, not measured


# Fields that say nothing of what they count: the measurement does, or a tag.
_BARE_FIELDS = ("value", "gauge", "counter", "reading")


_TAGS_OF_NO_CHANNEL = frozenset(
    {*_HOSTS, "unit", "units", "name", "entity_id", "status_code", "status_desc"}
)


class Point(NamedTuple):
    """What a measurement was at one time."""

    measurement: str
    tags: dict[str, str]
    fields: dict[str, str]  # texts in their quotes
    when: str
    line: int  # of the log


def sniff(head: str, _path: str) -> int:
    """By lines whose fields mean power."""
    lines = []
    for line in head.split("\n"):
        if line.strip() and not line.startswith(("#", "{", "[")):
            lines.append(line.strip())
    for line in lines[:_MAX_PROBED_LINES]:
        if "=" not in line:
            return 0
        match = re.fullmatch(_LINE, line)
        if match is None:
            return 0
        measurement, tags_text, fields, when = match.groups()
        if not when:
            continue
        tags = _tags(tags_text)
        for key, _ in _fields(fields):
            if _unit(measurement, key, tags) is not None:
                return 95
    return 0


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _tags(text: str) -> dict[str, str]:
    tags = {}
    for key, value in re.findall(rf",({_KEY})=((?:\\.|[^,= \\])*)", text):
        tags[_plain(key)] = _plain(value)
    return tags


def _fields(text: str) -> list[tuple[str, str]]:
    fields = []
    for key, value in re.findall(rf"({_KEY})=(\"(?:\\.|[^\"\\])*\"|[^, ]+)", text):
        fields.append((_plain(key), value))
    return fields


def _unit(measurement: str, key: str, tags: dict[str, str]) -> units.Unit | None:
    """What a field counts: by its own name, or as the value of a measurement whose unit a tag or a
    name tells.
    """
    if (measurement, key) == ("nvidia_smi", "power_draw"):
        return units.UNITS["W"]
    if key not in (*_BARE_FIELDS, "reading_watts"):
        return units.power_unit(key)
    symbol = tags.get("unit", tags.get("units", ""))
    tagged = units.unit_of_symbol(symbol)
    if tagged is not None:
        is_no_power = units.no_power(tags.get("name", ""))
        return None if is_no_power else tagged
    if tags.get("unit"):
        return None
    return units.power_unit(measurement)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per measurement, set of tags and field."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    given = units.UNITS.get(options.unit or "")
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        bare = line.strip()
        if bare.startswith("#") or stamps.time_of_line(bare):
            continue
        match = re.fullmatch(_LINE, bare)
        if match is None:
            notes.drop(number, "is not a point of the line protocol")
            continue
        if number == len(lines):
            notes.drop(number, "the last line may be cut")
            continue
        name, tags_text, fields, time = match.groups()
        fields_of_name = dict(_fields(fields))
        point = Point(_plain(name), _tags(tags_text), fields_of_name, _when(time), number)
        add_point(point, collected, given)
    return collected.log(
        NAME, options, "line protocol: unit and channel by measurement, tags and field"
    )


def add_point(point: Point, collected: Collected, given: units.Unit | None) -> None:
    """What a point says of power; `given` is the unit that a person named."""
    for key, value in point.fields.items():
        unit = _unit(point.measurement, key, point.tags)
        is_text = value.startswith('"')
        if unit is None or is_text:
            continue
        collected.add(
            _sensor(point.measurement, key, point.tags),
            point.when,
            value.rstrip("iu"),  # how the protocol marks whole numbers
            point.line,
            unit=given or unit,
        )


def _when(text: str | None) -> str:
    """Coarser times as ns are told by their size, as everywhere."""
    if not text:
        return ""
    number = np.array([float(text)])
    if column_times.from_numbers(number).kind == "absolute":
        return text
    return ""


def _sensor(measurement: str, key: str, tags: dict[str, str]) -> Sensor:
    sensor_name = tags.get("name", "")
    model = ""
    # Plugins for GPUs write the model of the device where others write the name of a sensor.
    if measurement in _MODELS:
        model = sensor_name
        sensor_name = ""
    device = _device(tags, model)
    subject = measurement.replace("_", " ")
    scope = units.scope_of(f"{sensor_name} {key} {subject}")
    is_gpu = measurement in _MODELS[:2] or scope is Scope.GPU
    if is_gpu and device is not None and device.index is not None:
        scope = Scope.GPU
        label = f"GPU {device.index}"
    else:
        label = _label(sensor_name or measurement, key, tags)
    return Sensor(
        label,
        source=f"{NAME} {measurement}",
        scope=scope,
        host=_host(measurement, tags),
        device=device if scope is Scope.GPU else None,
    )


def _host(measurement: str, tags: dict[str, str]) -> str:
    """The machine that was asked, or that reports."""
    asked = _ASKED.get(measurement, "")
    for name in (asked, *_HOSTS):
        if tags.get(name):
            return tags[name]
    return ""


def _label(name: str, key: str, tags: dict[str, str]) -> str:
    """What a channel is called: by its sensor or measurement, its tags and its field."""
    words = [name]
    for tag, value in tags.items():
        if tag not in _TAGS_OF_NO_CHANNEL:
            words.append(value)
    if key not in _BARE_FIELDS:
        words.append(key)
    each_once = dict.fromkeys(filter(None, words))
    return " ".join(each_once)


def _device(tags: dict[str, str], model: str) -> Device | None:
    """The device that the tags name."""
    device: Device | None = None
    for name in _DEVICES:
        tag = tags.get(name)
        if tag:
            named = devices.device_named(tag, model)
            device = devices.joined_device(device, named)
    return device
