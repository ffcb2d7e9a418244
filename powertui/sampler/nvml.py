"""Power of NVIDIA GPUs through the driver's library (package nvidia-ml-py).

From Volta on the driver counts energy, in mJ: where it does, watts are the mean since the previous reading. Else the sampled
power is taken, which newer boards average over a second.
"""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

from powertui.errors import NotSupported
from powertui.sampler import limits
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.urls import Address

__all__ = ["NvmlSource", "make"]


SHORTEST = 0.1


class _Gpu:
    def __init__(self, handle: Any, name: str, counts: bool) -> None:
        self.handle, self.name, self.counts = handle, name, counts
        self.first: int | None = None
        self.last: tuple[int, float] | None = None  # (mJ, mono)


class NvmlSource:
    min_period = 0.05
    reconnects = 0

    def __init__(self, options: Options) -> None:
        self.name = "nvml"
        self._options = options
        self.channels: tuple[Channel, ...] = ()
        self._library: Any = None
        self._gpus: list[_Gpu] = []

    def open(self) -> Info:
        try:
            library = importlib.import_module("pynvml")
        except ImportError:
            raise NotSupported(
                "The package nvidia-ml-py is not installed.", hint="Run pip install nvidia-ml-py (or powertui[nvml])."
            ) from None
        try:
            library.nvmlInit()
        except library.NVMLError as error:
            raise NotSupported(f"No NVIDIA driver answers here ({error}).", hint="Check that nvidia-smi works.") from None
        self._library = library
        channels, facts = [], {}
        with contextlib.suppress(library.NVMLError):
            facts["driver"] = _text(library.nvmlSystemGetDriverVersion())
        for index in range(library.nvmlDeviceGetCount()):
            try:
                handle = library.nvmlDeviceGetHandleByIndex(index)
                model = _text(library.nvmlDeviceGetName(handle))
                name = f"GPU {index}"
                if self._options.sensors and not {name, str(index), model} & set(self._options.sensors):
                    continue
                counts = self._counts(handle)
                if not counts:
                    library.nvmlDeviceGetPowerUsage(handle)
            except library.NVMLError:
                continue  # no power reading on this board
            self._gpus.append(_Gpu(handle, name, counts))
            note = f"{model}, " + ("energy counter" if counts else "sampled power")
            kind, quantum = ("interval", None) if counts else ("sampled", 0.001)
            uuid, pci = self._identity(handle)
            channels.append(Channel(name, "", "gpu", quantum, kind, note, index=index, uuid=uuid, pci=pci))
        if not channels:
            self.close()
            raise NotSupported("No NVIDIA GPU here reports its power.")
        self.channels = tuple(channels)
        self.read()
        return Info("nvml", "nvml:", "", self.channels, facts)

    def _identity(self, handle: Any) -> tuple[str, str]:
        """UUID and PCI address: they tell this board from the others whatever order a program saw them in."""
        uuid = pci = ""
        with contextlib.suppress(self._library.NVMLError, AttributeError):
            uuid = _text(self._library.nvmlDeviceGetUUID(handle))
        with contextlib.suppress(self._library.NVMLError, AttributeError):
            pci = _text(self._library.nvmlDeviceGetPciInfo(handle).busId)
        return uuid, pci

    def _counts(self, handle: Any) -> bool:
        try:
            return int(self._library.nvmlDeviceGetTotalEnergyConsumption(handle)) > 0
        except self._library.NVMLError:
            return False

    def read(self) -> list[Reading]:
        return [reading for gpu in self._gpus if (reading := self._read_one(gpu)) is not None]

    def _read_one(self, gpu: _Gpu) -> Reading | None:
        stamp = Stamp.now()
        watts: float | None = None
        joules: float | None = None
        why = "the counter's first reading"
        try:
            if gpu.counts:
                energy = int(self._library.nvmlDeviceGetTotalEnergyConsumption(gpu.handle))
            else:
                watts = self._library.nvmlDeviceGetPowerUsage(gpu.handle) / 1000
        except self._library.NVMLError as error:
            t, mono, rtt = stamp.middle()
            return Reading(t, mono, None, rtt, self.name, gpu.name, none(str(error)))
        t, mono, rtt = stamp.middle()
        if gpu.counts:
            if gpu.last is not None and 0 <= mono - gpu.last[1] < SHORTEST:
                return None  # the counter moves a few ten times a second
            if gpu.last is not None and energy < gpu.last[0]:
                gpu.first, gpu.last, why = None, None, "the counter was set back"
            gpu.first = energy if gpu.first is None else gpu.first
            joules = (energy - gpu.first) / 1000
            if gpu.last is not None and mono > gpu.last[1]:
                watts = (energy - gpu.last[0]) / 1000 / (mono - gpu.last[1])
            gpu.last = (energy, mono)
        return Reading(t, mono, watts, rtt, self.name, gpu.name, none(why) if watts is None else OK, joules)

    def limits(self) -> list[PowerLimit]:
        """What the boards are held to, and what holds them back."""
        return [PowerLimit(gpu.name, *limits.of_nvml(self._library, gpu.handle)) for gpu in self._gpus]

    def close(self) -> None:
        if self._library is not None:
            with contextlib.suppress(self._library.NVMLError):
                self._library.nvmlShutdown()
            self._library = None
            self._gpus = []


def _text(value: Any) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return "".join(c for c in text if c.isprintable())


def make(_address: Address, options: Options) -> NvmlSource:
    return NvmlSource(options)
