"""What a run ran on and with, in a few cells of a list: "H100 ×8", "PyTorch"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from powertui.data.model import Run
from powertui.plain import plain

if TYPE_CHECKING:
    from powertui.data.tools.device_facts import DeviceFacts

# Words of a device's name that do not tell it from others.
_MAKER_WORDS = frozenset(
    ("nvidia", "amd", "intel", "google", "tesla", "instinct", "geforce", "quadro", "gpu", "-")
)
_MEMORY_WORD = re.compile(r"\d+[GT]i?B|HBM\w*|PCIe|SXM\d*|OAM", re.IGNORECASE)
_PLANE_KIND = re.compile(r"/device:([A-Z]+)\b")
_MAX_MODEL_CELLS = 10


def framework_name(run: Run) -> str:
    """The framework that its program is written with; "" where the profile does not show it."""
    # Imported here: a list that reads nothing needs none of it.
    from powertui.data.tools import framework

    names = (framework.framework_of(trace).value for trace in run.traces)
    return next(filter(None, names), "")


def model_names(run: Run) -> str:
    """The devices by the shortest name that tells them apart, and how many there are."""
    from powertui.data.tools.device_facts import device_facts

    labels = []
    for trace in run.traces:
        for device in device_facts(trace):
            if device.recorded:
                labels.append(short_model(_name(device)))
    if not labels:
        return "CPU" if run.traces else ""
    names = dict.fromkeys(labels)
    name = next(iter(names))
    if len(names) > 1:
        return f"{name} +{len(labels) - 1}"
    if len(labels) > 1:
        return f"{name} ×{len(labels)}"
    return name


def _name(device: DeviceFacts) -> str:
    """The model of a device, else its label, else the kind in the name of its plane."""
    if device.model or device.label:
        return device.model or device.label
    match = _PLANE_KIND.match(device.name)
    return match.group(1) if match else ""


def short_model(label: str) -> str:
    """A device without its maker, its memory and its socket: "NVIDIA H100 80GB HBM3" is "H100"."""
    name = ""
    for word in plain(label, 80).replace("(", " ").replace(")", " ").split():
        if word.lower() not in _MAKER_WORDS and not _MEMORY_WORD.fullmatch(word):
            name = word.split("-")[0][:_MAX_MODEL_CELLS]
            break
    if name:
        return name
    return "GPU" if "gpu" in label.lower() else "device"
