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

    facts = [facts for trace in run.traces for facts in device_facts(trace) if facts.recorded]
    if not facts:
        return "CPU" if run.traces else ""
    names = dict.fromkeys(short_model(_name(device)) for device in facts)
    name = next(iter(names))
    if len(names) > 1:
        return f"{name} +{len(facts) - 1}"
    return name if len(facts) == 1 else f"{name} ×{len(facts)}"


def _name(device: DeviceFacts) -> str:
    match = _PLANE_KIND.match(device.name)
    return device.model or device.label or (match.group(1) if match else "")


def short_model(label: str) -> str:
    """A device without its maker, its memory and its socket: "NVIDIA H100 80GB HBM3" is "H100"."""
    words = [
        word
        for word in plain(label, 80).replace("(", " ").replace(")", " ").split()
        if word.lower() not in _MAKER_WORDS and not _MEMORY_WORD.fullmatch(word)
    ]
    name = words[0].split("-")[0] if words else ""
    return name[:_MAX_MODEL_CELLS] or ("GPU" if "gpu" in label.lower() else "device")
