"""Power of NVIDIA GPUs through the driver's library (package nvidia-ml-py).

From Volta on the driver counts energy, in mJ: where it does, watts are the mean since the previous
reading. Else, and where the counter does not change, the sampled power is taken, which newer boards
average over a second.
"""

from __future__ import annotations

import contextlib
import importlib
from functools import partial
from typing import Any

from powertui.errors import NotSupported
from powertui.sampler import limits
from powertui.sampler.energy_counter import CountedEnergy, motionless
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp
from powertui.sampler.urls import Address

__all__ = ["NvmlSource", "make"]


# The counter moves a few ten times a second: over less, whether one more step fits in decides.
_MIN_STEP_S = 0.1
_STANDSTILL_TEST_S = 0.3  # so long a counter that works moves several times


class _Gpu:
    def __init__(self, handle: Any, index: int, counts: bool) -> None:
        self.handle = handle
        self.index = index
        self.name = f"GPU {index}"
        self.counter = CountedEnergy(1e-3, min_step_s=_MIN_STEP_S) if counts else None


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
        self._library = library = _initialized_library()
        facts = {}
        with contextlib.suppress(library.NVMLError):
            facts["driver"] = _text(library.nvmlSystemGetDriverVersion())
        boards = self._chosen_boards()
        counting = {index: partial(self._energy, handle) for index, (handle, _) in boards.items()}
        # All boards at once: the test takes its time once, not once for each of eight.
        dead = motionless(
            {index: count for index, count in counting.items() if count()}, _STANDSTILL_TEST_S
        )
        channels = []
        for index, (handle, model) in boards.items():
            counts = bool(counting[index]()) and index not in dead
            if not counts and not self._samples_power(handle):
                continue
            self._gpus.append(_Gpu(handle, index, counts))
            channels.append(self._channel(handle, index, model, counts))
        if not channels:
            self.close()
            raise NotSupported("No NVIDIA GPU here reports its power.")
        self.channels = tuple(channels)
        self.read()  # the counters start here: the first reading a caller gets has watts
        return Info(
            source="nvml",
            url="nvml:",
            host="",
            channels=self.channels,
            facts=facts,
        )

    def _chosen_boards(self) -> dict[int, tuple[Any, str]]:
        """Index → handle and model, of those that answer and were asked for."""
        library = self._library
        boards: dict[int, tuple[Any, str]] = {}
        for index in range(library.nvmlDeviceGetCount()):
            # One that fell off the bus must not cost the others.
            with contextlib.suppress(library.NVMLError):
                handle = library.nvmlDeviceGetHandleByIndex(index)
                model = _text(library.nvmlDeviceGetName(handle))
                names = {f"GPU {index}", str(index), model}
                if not self._options.sensors or names & set(self._options.sensors):
                    boards[index] = (handle, model)
        return boards

    def _samples_power(self, handle: Any) -> bool:
        try:
            self._library.nvmlDeviceGetPowerUsage(handle)
        except self._library.NVMLError:
            return False
        return True

    def _channel(self, handle: Any, index: int, model: str, counts: bool) -> Channel:
        uuid, pci = self._identity(handle)
        return Channel(
            name=f"GPU {index}",
            scope="gpu",
            quantum_w=None if counts else 0.001,  # the driver's power is in mW
            kind="interval" if counts else "sampled",
            note=f"{model}, " + ("energy counter" if counts else "sampled power"),
            index=index,
            uuid=uuid,
            pci=pci,
            running=True,
        )

    def _identity(self, handle: Any) -> tuple[str, str]:
        """UUID and PCI address.

        They identify this board, whatever the order in which a program saw the boards.
        """
        uuid = pci = ""
        with contextlib.suppress(self._library.NVMLError, AttributeError):
            uuid = _text(self._library.nvmlDeviceGetUUID(handle))
        with contextlib.suppress(self._library.NVMLError, AttributeError):
            pci = _text(self._library.nvmlDeviceGetPciInfo(handle).busId)
        return uuid, pci

    def _energy(self, handle: Any) -> int | None:
        """The counter, in mJ; None where there is none."""
        try:
            return int(self._library.nvmlDeviceGetTotalEnergyConsumption(handle))
        except self._library.NVMLError:
            return None

    def read(self) -> list[Reading]:
        return [reading for gpu in self._gpus if (reading := self._read_one(gpu)) is not None]

    def _read_one(self, gpu: _Gpu) -> Reading | None:
        stamp = Stamp.now()
        try:
            if gpu.counter is None:
                watts = self._library.nvmlDeviceGetPowerUsage(gpu.handle) / 1000
            else:
                energy = int(self._library.nvmlDeviceGetTotalEnergyConsumption(gpu.handle))
        except self._library.NVMLError as error:
            return stamp.middle().gap(self.name, gpu.name, str(error))
        answered = stamp.middle()
        if gpu.counter is None:
            return answered.reading(self.name, gpu.name, watts)
        counted = gpu.counter.take(energy, answered.mono)
        if counted is None:
            return None
        return counted.reading(answered, self.name, gpu.name)

    def limits(self) -> list[PowerLimit]:
        """What the boards are held to, and what holds them back."""
        return [
            PowerLimit(gpu.name, *limits.nvml_limit(self._library, gpu.handle))
            for gpu in self._gpus
        ]

    def close(self) -> None:
        if self._library is not None:
            with contextlib.suppress(self._library.NVMLError):
                self._library.nvmlShutdown()
            self._library = None
            self._gpus = []


def _initialized_library() -> Any:
    try:
        library = importlib.import_module("pynvml")
    except ImportError:
        raise NotSupported(
            "The package nvidia-ml-py is not installed.",
            hint="Run pip install nvidia-ml-py.",
        ) from None
    try:
        library.nvmlInit()
    except library.NVMLError as error:
        raise NotSupported(
            f"No NVIDIA driver answers here ({error}).", hint="Check that nvidia-smi works."
        ) from None
    return library


def _text(value: Any) -> str:
    """Older versions of the package return bytes."""
    if isinstance(value, bytes):
        text = value.decode(errors="replace")
    else:
        text = str(value)
    return "".join(c for c in text if c.isprintable())


def make(_address: Address, options: Options) -> NvmlSource:
    return NvmlSource(options)
