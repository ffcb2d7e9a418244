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


def sniff(head: str, _path: str) -> int:
    """By lines whose fields mean power."""
    lines = [
        line for line in head.split("\n") if line.strip() and not line.startswith(("#", "{", "["))
    ]
    for line in lines[:_MAX_PROBED_LINES]:
        if "=" in line:
            match = re.fullmatch(_LINE, line.strip())
        else:
            match = None
        if match is None:
            return 0
        measurement, tags, fields, when = match.groups()
        units_of_fields = (_unit(measurement, key, _tags(tags)) for key, _ in _fields(fields))
        if when and any(unit is not None for unit in units_of_fields):
            return 95
    return 0


def _plain(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _tags(text: str) -> dict[str, str]:
    return {
        _plain(key): _plain(value)
        for key, value in re.findall(rf",({_KEY})=((?:\\.|[^,= \\])*)", text)
    }


def _fields(text: str) -> list[tuple[str, str]]:
    return [
        (_plain(key), value)
        for key, value in re.findall(rf"({_KEY})=(\"(?:\\.|[^\"\\])*\"|[^, ]+)", text)
    ]


def _unit(measurement: str, key: str, tags: dict[str, str]) -> units.Unit | None:
    """What a field counts: by its own name, or as the value of a measurement whose unit a tag or a
    name tells.
    """
    if (measurement, key) == ("nvidia_smi", "power_draw"):
        return units.UNITS["W"]
    if key not in (*_BARE_FIELDS, "reading_watts"):
        return _unit_of_name(key)
    tagged = units.unit_of_symbol(tags.get("unit", tags.get("units", "")))
    if tagged is not None:
        if units.no_power(tags.get("name", "")):
            return None
        return tagged
    return None if tags.get("unit") else _unit_of_name(measurement)


def _unit_of_name(name: str) -> units.Unit | None:
    """The unit of a measurement or a field: watts where it only means power."""
    unit = units.unit_of_name(name)
    if unit is None and units.means_power(name):
        return units.UNITS["W"]
    return unit


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
        measurement = _plain(match[1])
        tags = _tags(match[2])
        when = _when(match[4])
        for key, value in _fields(match[3]):
            unit = _unit(measurement, key, tags)
            is_text = value.startswith('"')
            if unit is not None and not is_text:
                reading = value.rstrip("iu")  # how the protocol marks whole numbers
                sensor = _sensor(measurement, key, tags)
                collected.add(sensor, when, reading, number, unit=given or unit)
    return collected.log(
        NAME, options, "line protocol: unit and channel by measurement, tags and field"
    )


def _when(text: str | None) -> str:
    """Coarser times as ns are told by their size, as everywhere."""
    if not text:
        return ""
    column = column_times.from_numbers(np.array([float(text)]))
    return text if column.kind == "absolute" else ""


def _sensor(measurement: str, key: str, tags: dict[str, str]) -> Sensor:
    asked = tags.get(_ASKED.get(measurement, ""), "")
    host = asked or next((tags[name] for name in _HOSTS if tags.get(name)), "")
    source = f"{NAME} {measurement}"
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
        return Sensor(f"GPU {device.index}", source, Scope.GPU, host, device=device)
    if scope is not Scope.GPU:
        device = None
    label = _label(sensor_name or measurement, key, tags)
    return Sensor(label, source, scope, host, device=device)


def _label(name: str, key: str, tags: dict[str, str]) -> str:
    """What a channel is called: by its sensor or measurement, its tags and its field."""
    words = [name]
    words += [value for tag, value in tags.items() if tag not in _TAGS_OF_NO_CHANNEL]
    if key not in _BARE_FIELDS:
        words.append(key)
    return " ".join(dict.fromkeys(filter(None, words)))


def _device(tags: dict[str, str], model: str) -> Device | None:
    """The device that the tags name."""
    device: Device | None = None
    for name in _DEVICES:
        if tags.get(name):
            named = devices.device_named(tags[name], model)
            device = devices.joined_device(device, named)
    return device
