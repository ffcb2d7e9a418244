"""`nvidia-smi -q`, as XML (`-x`) or as text, once or again and again in one file.

The XML is looked at tag by tag, with no parser of documents: what is cut, or follows another
document, is read all the same, and no entity is ever expanded. GPUs stand in the order of their
index where all that are attached are listed.
"""

from __future__ import annotations

import re

from powertui.data.asked import LogColumns
from powertui.data.model import Device, Scope, Sensor
from powertui.data.power import devices, stamps
from powertui.data.power.collected import Collected
from powertui.data.power.notes import Notes
from powertui.data.power.options import PowerLog
from powertui.data.power.source import LogFile

NAME = "nvidia-smi -q"
UNITS_WRITTEN = True
_TAG = r"<(/?)([A-Za-z_][\w.:-]{0,80})([^<>]{0,400})>([^<]{0,400})"
_LINE = r"\s*([A-Z][A-Za-z0-9 /.]{1,40}?)\s*:\s?(.{0,200})"
_KINDS = {
    "power_draw": "",
    "average_power_draw": "average",
    "instant_power_draw": "instant",
    "average power draw": "average",
    "power draw": "",
    "instantaneous power draw": "instant",
    "instant power draw": "instant",
}
_PARTS = {"power_readings": "", "gpu_power_readings": "", "module_power_readings": "module",
          "gpu_memory_power_readings": "memory"}  # fmt: skip
_HINT = "Older or virtual GPUs do not report their power."


def sniff(head: str, _path: str) -> int:
    """By the name of the document, or the banner of the text."""
    if "<nvidia_smi_log" in head or "nvsmi_device" in head:
        return 97
    return 97 if "NVSMILOG====" in head.replace(" ", "") else 0


class _Reading:
    """One GPU as far as it was told of."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.facts: dict[str, str] = {}
        self.watts: list[tuple[str, str, str, int]] = []  # part, kind, cell, line


def load(source: LogFile, options: LogColumns) -> PowerLog:
    """One channel per GPU, and per kind of reading where average and instant are both told."""
    notes = Notes(source.path)
    collected = Collected(source.path, notes)
    if "<nvidia_smi_log" in source.head_text or "<gpu" in source.head_text:
        _xml(source.text, collected)
        how = "XML"
    else:
        _text(source.text, collected)
        how = "text"
    return collected.log(NAME, options, f"nvidia-smi -q ({how}): power in W", hint=_HINT)


def _flush(gpus: list[_Reading], when: str, attached: str, collected: Collected) -> None:
    """The GPUs of one answer, told when its end (or that of the file) is reached."""
    is_complete = not attached.isdigit() or int(attached) == len(gpus)
    for gpu in gpus:
        pci, uuid, minor = (
            gpu.facts.get("pci", ""),
            gpu.facts.get("uuid", ""),
            gpu.facts.get("minor", ""),
        )
        device = Device(gpu.place if is_complete else None, uuid, pci, gpu.facts.get("model", ""))
        name = f"GPU {gpu.place}" if is_complete else f"GPU {minor or pci or uuid}"
        for part, kind, cell, line in gpu.watts:
            if part and cell.strip() in ("N/A", "[N/A]"):
                continue
            label = f"{name} {part}".strip()
            sensor = Sensor(
                f"{label} ({kind})" if kind else label,
                f"nvidia-smi {device.model}".strip(),
                Scope.RAIL if part else Scope.GPU,
                device=device,
            )
            collected.add(sensor, when, cell, line)


def _xml(text: str, collected: Collected) -> None:
    stack: list[str] = []
    gpus: list[_Reading] = []
    when = attached = ""
    line = counted = 0
    for match in re.finditer(_TAG, text):
        closing, tag, attributes, content = match.groups()
        content = content.strip()
        if closing:
            if tag == "nvidia_smi_log":
                _flush(gpus, when, attached, collected)
                gpus, when, attached, stack = [], "", "", []
            while stack and stack.pop() != tag:
                pass
            continue
        if tag == "nvidia_smi_log":  # again, though the one before did not end
            _flush(gpus, when, attached, collected)
            gpus, when, attached, stack = [], "", "", []
        elif tag == "timestamp" and not gpus:
            when = content
        elif tag == "attached_gpus":
            attached = content
        elif tag == "gpu" and "mig_devices" not in stack:
            gpus.append(_Reading(len(gpus)))
            if address := re.search(r'id="([^"]{1,40})"', attributes):
                gpus[-1].facts["pci"] = devices.pci_address(address[1])
        elif gpus and "mig_devices" not in stack:
            if tag in _KINDS and stack and stack[-1] in _PARTS:
                line += text.count("\n", counted, match.start())
                counted = match.start()
                gpus[-1].watts.append((_PARTS[stack[-1]], _KINDS[tag], content, line + 1))
            else:
                _fact(
                    gpus[-1],
                    {
                        "product_name": "model",
                        "uuid": "uuid",
                        "minor_number": "minor",
                        "pci_bus_id": "pci",
                    }.get(tag),
                    content,
                )
        if not attributes.endswith("/") and not attributes.startswith("?") and len(stack) < 64:
            stack.append(tag)
    _flush(gpus, when, attached, collected)


def _fact(gpu: _Reading, key: str | None, value: str) -> None:
    if key and not gpu.facts.get(key):
        gpu.facts[key] = devices.pci_address(value) if key == "pci" else value


def _text(text: str, collected: Collected) -> None:
    gpus: list[_Reading] = []
    when = attached = part = ""
    keys = {"Product Name": "model", "GPU UUID": "uuid", "Minor Number": "minor", "Bus Id": "pci"}
    for number, line in stamps.numbered_lines(text.split("\n")):
        if "NVSMI LOG" in line:
            _flush(gpus, when, attached, collected)
            gpus, when, attached, part = [], "", "", ""
            continue
        if address := re.fullmatch(r"GPU ([0-9A-Fa-f:.]{7,20})\s*", line):
            gpus.append(_Reading(len(gpus)))
            gpus[-1].facts["pci"] = devices.pci_address(address[1])
            part = "none"
            continue
        match = re.fullmatch(_LINE, line)
        if match is None:
            title = line.strip().lower().replace(" ", "_")
            part = (
                _PARTS.get(title, "none")
                if title and line.startswith("    ") and not line.startswith("     ")
                else part
            )
            continue
        key, value = match[1].strip(), match[2].strip()
        if key == "Timestamp":
            when = value
        elif key == "Attached GPUs":
            attached = value
        elif gpus and key.lower() in _KINDS and part != "none":
            gpus[-1].watts.append((part, _KINDS[key.lower()], value, number))
        elif gpus:
            _fact(gpus[-1], keys.get(key), value)
    _flush(gpus, when, attached, collected)
