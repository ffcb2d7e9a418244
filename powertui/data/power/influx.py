"""InfluxDB's line protocol, as Telegraf and Slurm write it: measurement, tags, fields, a time in ns
(or coarser, by its size).
"""

from __future__ import annotations

import re

import numpy as np

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import devices, stamps, times, units
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "influx"
_KEY = r"(?:\\.|[^,= \\]){1,200}"
_FIELD = rf"{_KEY}=(?:\"(?:\\.|[^\"\\]){{0,2000}}\"|[^, ]{{1,60}})"
_TAGS = rf"(?:,{_KEY}=(?:\\.|[^,= \\]){{0,500}}){{0,60}}"
_LINE = rf"((?:\\.|[^, \\]){{1,200}})({_TAGS}) ({_FIELD}(?:,{_FIELD}){{0,200}})(?: (-?\d{{1,20}}))?"
_HOSTS = ("host", "hostname", "node", "server", "instance")
_DEVICES = ("uuid", "pci_bus_id", "index", "gpu", "gpu_id", "device", "card")
_MODELS = ("nvidia_smi", "amd_rocm_smi", "intel_powerstat")


def sniff(head: str, _path: str) -> int:
    """By lines whose fields mean power."""
    for line in [
        line for line in head.split("\n") if line.strip() and not line.startswith(("#", "{", "["))
    ][:200]:
        if "=" not in line or (match := re.fullmatch(_LINE, line.strip())) is None:
            return 0
        if match[4] and any(
            _unit(match[1], key, _tags(match[2])) is not None for key, _ in _fields(match[3])
        ):
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
    if key in ("value", "gauge", "counter", "reading", "reading_watts"):
        if (named := units.unit_of_symbol(tags.get("unit", tags.get("units", "")))) is not None:
            return None if units.no_power(tags.get("name", "")) else named
        if tags.get("unit"):
            return None
        return (
            (units.METRICS.get(measurement) and units.UNITS[units.METRICS[measurement]])
            or units.unit_of_name(measurement)
            or (units.UNITS["W"] if units.means_power(measurement) else None)
        )
    if key in units.METRICS:
        return units.UNITS[units.METRICS[key]]
    unit = units.unit_of_name(key)
    return unit or (units.UNITS["W"] if units.means_power(key) else None)


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per measurement, set of tags and field."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    lines = source.text.split("\n")
    for number, line in stamps.numbered_lines(lines):
        bare = line.strip()
        if not bare or bare.startswith("#") or stamps.time_of_line(bare):
            continue
        match = re.fullmatch(_LINE, bare)
        if match is None or (number == len(lines) and line):
            notes.drop(
                number,
                "is not a point of the line protocol"
                if match is None
                else "the last line may be cut",
            )
            continue
        measurement, tags = _plain(match[1]), _tags(match[2])
        for key, value in _fields(match[3]):
            unit = units.UNITS.get(options.unit or "") or _unit(measurement, key, tags)
            if unit is None or value.startswith('"') or _unit(measurement, key, tags) is None:
                continue
            collected.add(
                _sensor(measurement, key, tags),
                _when(match[4]),
                value.rstrip("iu"),
                number,
                unit=unit,
            )
    return collected.log(
        NAME, options, "line protocol: unit and channel by measurement, tags and field"
    )


def _when(text: str | None) -> str:
    """Coarser times as ns are told by their size, as everywhere."""
    if not text:
        return ""
    column = times.from_numbers(np.array([float(text)]))
    return text if column.kind == "absolute" else ""


def _sensor(measurement: str, key: str, tags: dict[str, str]) -> Sensor:
    host = next((tags[name] for name in _HOSTS if tags.get(name)), "")
    device: Device | None = None
    for name in _DEVICES:
        if tags.get(name):
            device = devices.joined_device(
                device,
                devices.device_named(
                    tags[name], tags.get("name", "") if measurement in _MODELS else ""
                ),
            )
    sensor_name = tags.get("name", "") if measurement not in _MODELS else ""
    scope = units.scope_of(f"{sensor_name} {key} {measurement.replace('_', ' ')}")
    if (
        device is not None
        and device.index is not None
        and (measurement in _MODELS[:2] or scope is Scope.GPU)
    ):
        return Sensor(
            f"GPU {device.index}", f"{NAME} {measurement}", Scope.GPU, host, device=device
        )
    rest = [
        value
        for name, value in tags.items()
        if name not in (*_HOSTS, "unit", "units", "name", "entity_id", "status_code", "status_desc")
    ]
    word = "" if key in ("value", "gauge", "counter", "reading") else key
    label = " ".join(
        dict.fromkeys(part for part in (sensor_name or measurement, *rest, word) if part)
    )
    return Sensor(
        label, f"{NAME} {measurement}", scope, host, device=device if scope is Scope.GPU else None
    )
