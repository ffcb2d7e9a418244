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
    if "NVSMILOG====" in head.replace(" ", ""):
        return 97
    return 0


# What tags and titles say of a GPU, and what it is called here.
_FACTS = {
    "product_name": "model",
    "uuid": "uuid",
    "minor_number": "minor",
    "pci_bus_id": "pci",
    "Product Name": "model",
    "GPU UUID": "uuid",
    "Minor Number": "minor",
    "Bus Id": "pci",
}


_MAX_DEPTH = 64  # of tags within tags; nvidia-smi writes six. Chosen, not measured


class _Reading:
    """One GPU as far as it was told of."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.facts: dict[str, str] = {}
        self.watts: list[tuple[str, str, str, int]] = []  # part, kind, cell, line

    def add_fact(self, written: str, value: str) -> None:
        """A line or tag that is no reading; of several the first that says something counts."""
        key = _FACTS.get(written)
        if key and not self.facts.get(key):
            self.facts[key] = devices.pci_address(value) if key == "pci" else value

    def name(self, is_complete: bool) -> str:
        """What the GPU is called: by its place where all that are attached are listed."""
        facts = self.facts
        if is_complete:
            return f"GPU {self.place}"
        return f"GPU {facts.get('minor') or facts.get('pci') or facts.get('uuid', '')}"


class _Answer:
    """One answer of nvidia-smi on its way to readings: its GPUs, added when its end is reached."""

    def __init__(self, collected: Collected) -> None:
        self.collected = collected
        self.gpus: list[_Reading] = []
        self.when = ""
        self.attached = ""  # how many GPUs the machine has, as it is written

    def end(self) -> None:
        """The end of the answer: another one may follow."""
        is_complete = not self.attached.isdigit() or int(self.attached) == len(self.gpus)
        for gpu in self.gpus:
            self._add(gpu, is_complete)
        self.gpus = []
        self.when = ""
        self.attached = ""

    def _add(self, gpu: _Reading, is_complete: bool) -> None:
        facts = gpu.facts
        device = Device(
            gpu.place if is_complete else None,
            facts.get("uuid", ""),
            facts.get("pci", ""),
            facts.get("model", ""),
        )
        for part, kind, cell, line in gpu.watts:
            if part and cell.strip() in ("N/A", "[N/A]"):
                continue  # most GPUs have no reading of their memory or module
            label = f"{gpu.name(is_complete)} {part}".strip()
            sensor = Sensor(
                f"{label} ({kind})" if kind else label,
                f"nvidia-smi {device.model}".strip(),
                Scope.RAIL if part else Scope.GPU,
                device=device,
            )
            self.collected.add(sensor, self.when, cell, line)


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


def _xml(text: str, collected: Collected) -> None:
    answer = _Answer(collected)
    stack: list[str] = []
    line = counted = 0
    for match in re.finditer(_TAG, text):
        closing, tag, attributes, content = match.groups()
        content = content.strip()
        if tag == "nvidia_smi_log":
            # At its begin, too: the one before may not have ended.
            answer.end()
            stack = []
        if closing:
            while stack and stack.pop() != tag:
                pass
            continue
        if tag in _KINDS and stack and stack[-1] in _PARTS:
            # Lines are counted only as far as they are needed: it takes a look at all of them.
            line += text.count("\n", counted, match.start())
            counted = match.start()
        if "mig_devices" not in stack:
            # Instances of a GPU have no power of their own.
            _add_tag(
                answer=answer,
                tag=tag,
                attributes=attributes,
                content=content,
                around=stack[-1] if stack else "",
                line=line + 1,
            )
        is_open = not attributes.endswith("/") and not attributes.startswith("?")
        if is_open and len(stack) < _MAX_DEPTH:
            stack.append(tag)
    answer.end()


def _add_tag(
    answer: _Answer,
    tag: str,
    attributes: str,
    content: str,
    around: str,
    line: int,
) -> None:
    """What one tag says; `around` is the tag that it is in."""
    if tag == "timestamp" and not answer.gpus:
        answer.when = content
    elif tag == "attached_gpus":
        answer.attached = content
    elif tag == "gpu":
        gpu = _Reading(len(answer.gpus))
        answer.gpus.append(gpu)
        if address := re.search(r'id="([^"]{1,40})"', attributes):
            gpu.facts["pci"] = devices.pci_address(address[1])
    elif answer.gpus and tag in _KINDS and around in _PARTS:
        answer.gpus[-1].watts.append((_PARTS[around], _KINDS[tag], content, line))
    elif answer.gpus:
        answer.gpus[-1].add_fact(tag, content)


def _text(text: str, collected: Collected) -> None:
    answer = _Answer(collected)
    part = ""
    for number, line in stamps.numbered_lines(text.split("\n")):
        if "NVSMI LOG" in line:
            answer.end()
            part = ""
            continue
        if address := re.fullmatch(r"GPU ([0-9A-Fa-f:.]{7,20})\s*", line):
            gpu = _Reading(len(answer.gpus))
            gpu.facts["pci"] = devices.pci_address(address[1])
            answer.gpus.append(gpu)
            part = "none"
            continue
        match = re.fullmatch(_LINE, line)
        if match is None:
            if re.match(r" {4}[^ ]", line):  # the title of a part of the GPU
                part = _PARTS.get(line.strip().lower().replace(" ", "_"), "none")
            continue
        key = match[1].strip()
        value = match[2].strip()
        if key == "Timestamp":
            answer.when = value
        elif key == "Attached GPUs":
            answer.attached = value
        elif answer.gpus and key.lower() in _KINDS and part != "none":
            answer.gpus[-1].watts.append((part, _KINDS[key.lower()], value, number))
        elif answer.gpus:
            answer.gpus[-1].add_fact(key, value)
    answer.end()
