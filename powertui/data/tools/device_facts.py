"""What a profile says of its devices: maker, name, cores, clock, memory, and what they can do at
most.

Collectors write a device's capabilities as stats of its plane. Peaks of GPUs are told by none of
them: they follow from the compute capability, as TensorBoard's profiler takes them. What is not
known is None, and no figure is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from powertui.data.model import Process, ProcessKind, Trace
from powertui.patterns import late_pattern
from powertui.value_types import dataclass

_T = TypeVar("_T")

_TPU = late_pattern(r"/device:TPU:(\d+)$")
_SPARSE_CORE = late_pattern(r"/device:TPU:\d+ SparseCore")

# FLOP per cycle of one multiprocessor, the most that any of its units does: (compute capability
# from here on, FLOP).
_NVIDIA_FLOP = (
    ((10, 0), 8192),
    ((9, 0), 4096),
    ((8, 9), 1024),
    ((8, 6), 1024),
    ((8, 0), 2048),
    ((7, 5), 1024),
    ((7, 0), 1024),
    ((6, 1), 256),
    ((6, 0), 256),
    ((5, 0), 256),
    ((3, 0), 384),
    ((2, 0), 64),
)
_AMD_FLOP = {"gfx908": 1024, "gfx90a": 1024, "gfx942": 2048, "gfx950": 4096}
_GENERATIONS = (
    ((10, 0), "Blackwell"),
    ((9, 0), "Hopper"),
    ((8, 9), "Ada"),
    ((8, 0), "Ampere"),
    ((7, 5), "Turing"),
    ((7, 0), "Volta"),
    ((6, 0), "Pascal"),
    ((5, 0), "Maxwell"),
    ((3, 0), "Kepler"),
    ((2, 0), "Fermi"),
)
_AMD_BY_CAPABILITY = {(9, 4): "gfx942", (9, 5): "gfx950"}


@dataclass(frozen=True)
class DeviceFacts:
    """One device of a trace, as far as its profile tells."""

    name: str  # of its plane: "/device:GPU:0"
    kind: str  # "GPU", "TPU", "sparse core", "" for another
    vendor: str = ""  # "Nvidia", "AMD", "Google"
    model: str = ""  # "NVIDIA H100 80GB HBM3", "TPU v6e"; "" where it is not known
    generation: str = ""  # "Turing", "gfx942"
    capability: tuple[int, int] | None = None
    cores: int | None = None  # multiprocessors or compute units
    clock_hz: float | None = None
    memory_bytes: int | None = None
    bandwidth: float | None = None  # B/s of its main memory
    peak_flops: float | None = None  # FLOP/s, of the unit that does most
    on_chip_bandwidth: float | None = None  # B/s of shared memory
    recorded: bool = True  # False: it was there, and nothing ran on it

    @property
    def label(self) -> str:
        """What a person calls it."""
        if self.model:
            return self.model
        if self.kind == "GPU":
            if self.vendor == "AMD":
                suffix = f" - {self.generation}"
            else:
                suffix = f" ({self.generation})"
            return f"{self.vendor} GPU".strip() + (suffix if self.generation else "")
        return self.kind


def device_facts(trace: Trace) -> tuple[DeviceFacts, ...]:
    """The devices of a trace, in the order of its planes."""
    return tuple(
        _of_plane(process) for process in trace.processes if process.kind is ProcessKind.DEVICE
    )


def _of_plane(process: Process) -> DeviceFacts:
    stats = {stat.name: stat.value for stat in process.stats}
    if _TPU.search(process.name) or _SPARSE_CORE.search(process.name):
        return _tpu(process, stats)
    major = _number(stats, "compute_cap_major", "computeMajor")
    minor = _number(stats, "compute_cap_minor", "computeMinor")
    if major is not None:
        capability = (int(major), int(minor or 0))
    else:
        capability = None
    model = _text(stats, "gpu_device_name", "device_name", "name")
    vendor = _text(stats, "device_vendor") or _vendor(model, process.name, capability)
    cores = _number(stats, "core_count", "numSms")
    khz = _number(stats, "clock_rate")
    clock_hz = khz * 1e3 if khz else None
    generation = _generation(vendor, model, capability)
    peak_flops = on_chip_bandwidth = None
    if cores and clock_hz:
        # What one core does in a cycle, on all cores.
        cycles = cores * clock_hz
        flop = _flop_per_cycle(vendor, generation, capability)
        peak_flops = cycles * flop if flop else None
        if capability or vendor == "AMD":
            on_chip_bandwidth = cycles * _shared_bytes_per_cycle(vendor, generation, capability)
    return DeviceFacts(
        name=process.name,
        kind="GPU" if "GPU" in process.name else "",
        vendor=vendor,
        model=model,
        generation=generation,
        capability=capability,
        cores=_whole(cores),
        clock_hz=clock_hz,
        memory_bytes=_whole(_number(stats, "memory_size", "totalGlobalMem")),
        bandwidth=_number(stats, "memory_bandwidth"),
        peak_flops=peak_flops,
        on_chip_bandwidth=on_chip_bandwidth,
        recorded=not process.empty and process.event_count > 0,
    )


def _flop_per_cycle(vendor: str, generation: str, capability: tuple[int, int] | None) -> int | None:
    if vendor == "AMD":
        return _AMD_FLOP.get(generation)
    return _at_least(_NVIDIA_FLOP, capability)


def _shared_bytes_per_cycle(
    vendor: str,
    generation: str,
    capability: tuple[int, int] | None,
) -> int:
    """Bytes of shared memory that one core moves in a cycle."""
    if vendor == "AMD":
        return 256 if generation == "gfx950" else 128
    is_fermi = capability is not None and capability[0] <= 2
    return 64 if is_fermi else 256


def _tpu(process: Process, stats: Mapping[str, object]) -> DeviceFacts:
    teraflops = _number(stats, "peak_teraflops_per_second")
    gigabytes = _number(stats, "peak_hbm_bw_gigabytes_per_second")
    if _SPARSE_CORE.search(process.name):
        kind = "sparse core"
    else:
        kind = "TPU"
    return DeviceFacts(
        name=process.name,
        kind=kind,
        vendor="Google",
        model=_text(stats, "device_type_string"),
        cores=1,
        memory_bytes=_whole(_number(stats, "memory_size")),
        bandwidth=gigabytes * 1e9 if gigabytes else None,
        peak_flops=teraflops * 1e12 if teraflops else None,
        recorded=not process.empty and process.event_count > 0,
    )


def _vendor(model: str, plane: str, capability: tuple[int, int] | None) -> str:
    low = model.lower()
    if "amd" in low or "instinct" in low or "radeon" in low:
        return "AMD"
    if low or capability is not None:
        return "Nvidia"  # collectors that name no maker knew no other
    return "Nvidia" if "CUDA" in plane else ""


def _generation(vendor: str, model: str, capability: tuple[int, int] | None) -> str:
    if vendor == "AMD":
        named = re.search(r"gfx[0-9a-f]{3,4}", model)
        if named is not None:
            return named[0]
        if capability is not None:
            return _AMD_BY_CAPABILITY.get(capability, "")
        return ""
    return _at_least(_GENERATIONS, capability) or ""


def _at_least(
    table: tuple[tuple[tuple[int, int], _T], ...],
    capability: tuple[int, int] | None,
) -> _T | None:
    """The value of the newest capability in the table that this one has."""
    if capability is None:
        return None
    for least, value in table:
        if capability >= least:
            return value
    return None


def _number(stats: Mapping[str, object], *names: str) -> float | None:
    """The first of these that is a number above 0: what a collector could not ask, it
    writes as 0.
    """
    for name in names:
        value = stats.get(name)
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                continue
        if isinstance(value, int | float) and 0 < value < float("inf"):
            return float(value)
        if isinstance(value, int) and value == 0 and name.endswith(("minor", "Minor")):
            return 0.0
    return None


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None else None


def _text(stats: Mapping[str, object], *names: str) -> str:
    """The first of these that is a text."""
    for name in names:
        value = stats.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def has_device(trace: Trace) -> bool:
    """Whether anything was recorded on a device."""
    return any(
        process.kind is ProcessKind.DEVICE and process.event_count for process in trace.processes
    )
