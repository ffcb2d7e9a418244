"""What is known of a kind of sensor in general, by the source that read it and the device it sits
in.

A source is asked by its own words, whole and from the first on (`ipmi DCMI`, then `ipmi`); a device
by whole words of its name. A "GPU 0" that some tool wrote is nobody's in particular: nothing is
assumed of it.
"""

from __future__ import annotations

import re

from powertui.data.model import Sensor
from powertui.value_types import dataclass

__all__ = ["Defaults", "defaults"]


@dataclass(frozen=True)
class Defaults:
    """s and fractions; None where nothing is known."""

    refresh_s: float | None = None
    window_s: float | None = None
    delay_s: float | None = None
    quantum_w: float | None = None
    gain: float | None = None


_UNKNOWN = Defaults()
# NVML's documentation and "Part-time Power Measurements": a mean over a second, on these devices
# and as "instant" over 25 ms.
_NVIDIA = Defaults(refresh_s=0.1, window_s=1.0, gain=0.05)
_NVIDIA_SHORT = Defaults(refresh_s=0.1, window_s=0.025, gain=0.05)
_SHORT_WINDOW_DEVICES = frozenset({"a100", "h100", "h200", "gh200", "instant"})
_COUNTER = Defaults(refresh_s=0.001)
_OCC = Defaults(refresh_s=0.04)
_DCMI = Defaults(refresh_s=1.0, quantum_w=1.0)
_BMC = Defaults(refresh_s=3.0, quantum_w=7.0)

_SOURCES = {
    "nvidia smi": _NVIDIA,
    "nvml": _NVIDIA,
    "dcgm": _NVIDIA,
    "nvidia": _NVIDIA,
    "rapl": _COUNTER,
    "perf stat": _COUNTER,
    "turbostat": _COUNTER,
    "power gadget": _COUNTER,
    "powercap": _COUNTER,
    "zeus": Defaults(refresh_s=0.1),
    "pm counters": Defaults(refresh_s=0.1, quantum_w=1.0),
    "occ amester": _OCC,
    "amester": _OCC,
    "ibmpowernv": _OCC,
    "hwmon": _OCC,
    "ipmi dcmi": _DCMI,
    "ipmitool dcmi": _DCMI,
    "dcmi": _DCMI,
    "powerboard": _BMC,
    "ipmi": _BMC,
    "ipmitool": _BMC,
    "bmc": _BMC,
    "powergraph": _BMC,
    "redfish": Defaults(refresh_s=5.0),
    "wall plug": Defaults(refresh_s=10.0),
    "pdu": Defaults(refresh_s=10.0),
    "plug": Defaults(refresh_s=10.0),
}
# An exporter's metric says which source the exporter asked.
_EXPORTERS = frozenset({"prometheus", "node"})


def defaults(sensor: Sensor) -> Defaults:
    """The defaults for this kind of sensor; all None for an unknown one."""
    source = _words(sensor.source)
    device = _words(sensor.name)
    while source and source[0] in _EXPORTERS:
        source = source[1:]
    usual = _of_source(source)
    if (
        usual is None and device and device[0] in ("nvidia", "nvml", "dcgm")
    ):  # a table that names the maker in its columns
        usual = _NVIDIA
    if (
        usual is _NVIDIA
        and _SHORT_WINDOW_DEVICES & {*source, *device}
        and "average" not in (*source, *device)
    ):
        return _NVIDIA_SHORT
    return usual or _UNKNOWN


def _of_source(words: list[str]) -> Defaults | None:
    """By as many of its first words as are known together."""
    for count in range(min(2, len(words)), 0, -1):
        usual = _SOURCES.get(" ".join(words[:count]))
        if usual is not None:
            return usual
    return None


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())
