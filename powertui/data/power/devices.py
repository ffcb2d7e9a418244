"""Which device a written name refers to: an index, a UUID, a PCI address.

Every reader that has one asks here.
"""

from __future__ import annotations

import re
from pathlib import PurePath

from powertui.data.model import Device
from powertui.patterns import late_pattern

_UUID = late_pattern(
    r"(?:GPU|MIG)-[0-9a-fA-F][0-9a-fA-F-]{6,40}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
)
_PCI = late_pattern(
    r"(?:0x)?(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-9a-fA-F])"
)
_NUMBERED = late_pattern(
    r"(?:gpu|card|device|dev|nvidia|cuda|accel|aiu|npu)?[\s:#_/-]*(\d{1,4})(?:\.0)?", re.IGNORECASE
)
_OF_COLUMN = late_pattern(
    r"(?<![a-z])(?:gpu|cuda|card|accel|npu)[ _.:#-]?(0|[1-9]\d{0,2})(?!\d)", re.IGNORECASE
)
# Zeus writes a file for each GPU.
_ZEUS_FILE = late_pattern(r"(?:.*[+_-])?gpu(\d{1,2})\.power\.csv")


def pci_address(text: str) -> str:
    """ "0000:3b:00.0" of any of the ways in which tools write an address; "" when it is none."""
    match = _PCI.fullmatch(text.strip())
    if match is None:
        return ""
    domain = (match[1] or "0")[-4:].rjust(4, "0")  # some tools write it with eight digits
    _, bus, device, function = match.groups()
    return f"{domain}:{bus}:{device}.{function}".lower()


def device_named(text: str, model: str = "") -> Device | None:
    """The device that a cell names; None when it names none (the name of a model, a host)."""
    text = text.strip()
    if address := pci_address(text):
        return Device(None, "", address, model)
    if _UUID.fullmatch(text):
        return Device(None, text, "", model)
    match = _NUMBERED.fullmatch(text)
    if match:
        return Device(int(match[1]), "", "", model)
    return None


def joined_device(first: Device | None, second: Device | None) -> Device | None:
    """What both tell together."""
    if first is None or second is None:
        return first or second
    index = first.index if first.index is not None else second.index
    return Device(
        index, first.uuid or second.uuid, first.pci or second.pci, first.model or second.model
    )


def device_of_file(path: str) -> Device | None:
    """The GPU that a file is about, as Zeus names the files of its monitor: gpu1.power.csv."""
    match = _ZEUS_FILE.fullmatch(PurePath(path).name)
    return Device(int(match[1])) if match else None


def device_of_column(name: str) -> Device | None:
    """The device that a column's own name refers to ("GPU0", "system.gpu.1.powerWatts"); None when
    it names none.

    "gpu01" is what nodes of a cluster are called: no tool writes a device's number with a zero.
    """
    match = _OF_COLUMN.search(name)
    if match:
        return Device(int(match[1]))
    return None
