"""Power of GPUs as their makers' programs report it: `nvidia-smi:` and `amd-smi:`.

They need neither root nor a Python package.

A call takes a tenth of a second and more, so they come after the libraries and the kernel's own
files: two readings a second at most. The programs are found as all others are (programs.py), get no
secrets, and their answers are read as data alone.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from powertui.errors import NotSupported, SensorError
from powertui.named_tuples import NamedTuple
from powertui.sampler import programs
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp
from powertui.sampler.urls import Address

__all__ = ["Gpu", "GpuProgramSource", "gpus_from_amd_smi", "make_amd", "make_nvidia"]

_NUMBER = re.compile(r"\d{1,10}(\.\d{1,6})?")
_FIRST_CALL_S = 10.0  # at least allowed for the first call, which loads a driver
# What amd-smi calls it, from one of its versions to the next; the first that is there counts.
_AMD_POWER_KEYS = ("socket_power", "average_socket_power", "current_socket_power")


class Gpu(NamedTuple):
    """What one line of an answer says."""

    number: int
    watts: float | None
    model: str = ""
    uuid: str = ""
    pci: str = ""


class GpuProgram(NamedTuple):
    """One way of asking: the program, its arguments, and who reads its answer."""

    program: str
    arguments: tuple[str, ...]
    read: Callable[[str], list[Gpu]]


def _gpus_from_nvidia_smi(text: str) -> list[Gpu]:
    """Lines of `index, power, name, uuid, PCI address`. "[N/A]" is no value."""
    gpus = []
    for row in csv.reader(text.splitlines()):
        if len(row) >= 5 and row[0].strip().isdecimal():
            index, watts, model, uuid, pci = (part.strip() for part in row[:5])
            gpus.append(
                Gpu(
                    number=int(index),
                    watts=_number(watts),
                    model=model[:80],
                    uuid=uuid[:80],
                    pci=pci[:40],
                )
            )
    return gpus


def gpus_from_amd_smi(text: str) -> list[Gpu]:
    """`amd-smi metric --power --json`: a list, or the list under `gpu_data`."""
    data = json.loads(text)
    if isinstance(data, dict):
        entries = data.get("gpu_data", [])
    else:
        entries = data
    gpus = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        index = entry.get("gpu")
        power = entry.get("power")
        if isinstance(index, int) and isinstance(power, dict):
            key = next((key for key in _AMD_POWER_KEYS if key in power), "")
            gpus.append(Gpu(index, _in_watts(power.get(key))))
    return gpus


def _gpus_from_rocm_smi(text: str) -> list[Gpu]:
    """`rocm-smi --showpower --json`: an object for each card, whose keys name the unit."""
    data = json.loads(text)
    gpus = []
    for name, entry in data.items() if isinstance(data, dict) else ():
        match = re.fullmatch(r"card(\d{1,4})", name)
        if match and isinstance(entry, dict):
            power_keys = [key for key in entry if _is_rocm_power(key.casefold())]
            watts = entry[power_keys[0]] if power_keys else None
            gpus.append(Gpu(int(match[1]), _number(watts)))
    return gpus


def _is_rocm_power(key: str) -> bool:
    return "power (w)" in key and "max" not in key


def _in_watts(power: Any) -> float | None:
    """A number, or `{"value": 214, "unit": "W"}`; on a host of virtual machines the unit is µW.

    Another unit is not guessed at.
    """
    unit = "W"
    if isinstance(power, dict):
        power, unit = power.get("value"), str(power.get("unit", "W"))
    watts = _number(power)
    scale = {"W": 1.0, "mW": 1e-3, "uW": 1e-6}.get(unit)
    if watts is None or scale is None:
        return None
    return watts * scale


def _number(value: Any) -> float | None:
    if value is not None:
        match = _NUMBER.match(str(value).strip())
    else:
        match = None
    return float(match[0]) if match else None


_NVIDIA = (
    GpuProgram(
        "nvidia-smi",
        ("--query-gpu=index,power.draw,name,uuid,pci.bus_id", "--format=csv,noheader,nounits"),
        _gpus_from_nvidia_smi,
    ),
)
# amd-smi is AMD's newer program; older installations have rocm-smi alone.
_AMD = (
    GpuProgram("amd-smi", ("metric", "--power", "--json"), gpus_from_amd_smi),
    GpuProgram("rocm-smi", ("--showpower", "--json"), _gpus_from_rocm_smi),
)


class GpuProgramSource:
    """The first of the programs that is here and answers with a power."""

    min_period = 0.5
    reconnects = 0

    def __init__(self, scheme: str, ways: Sequence[GpuProgram], options: Options) -> None:
        self.name = scheme
        self._scheme = scheme
        self._ways = ways
        self._options = options
        self._way: GpuProgram | None = None
        self._path = ""
        self._asker = programs.Asker()
        self.channels: tuple[Channel, ...] = ()

    def open(self) -> Info:
        why = []
        for way in self._ways:
            program = programs.find(way.program)
            if not program.path:
                why.append(program.refused or f"There is no {way.program} here.")
                continue
            gpus, trouble = self._ask(way, program.path, max(self._options.timeout, _FIRST_CALL_S))
            measured = [gpu for gpu in gpus if gpu.watts is not None]
            if not measured:
                # The next program may know this GPU: drivers come with an old one and a new one.
                why.append(trouble or f"{way.program} reports no power.")
                continue
            chosen = self._chosen(measured)
            self._way = way
            self._path = program.path
            self.channels = tuple(_channel(gpu) for gpu in chosen)
            return Info(
                source=way.program,
                url=f"{self._scheme}:",
                host="",
                channels=self.channels,
                facts={"program": program.path},
            )
        raise NotSupported(" ".join(why), hint="Check that the driver's programs are in your PATH.")

    def _chosen(self, measured: list[Gpu]) -> list[Gpu]:
        chosen = [gpu for gpu in measured if self._selects(gpu)]
        if not chosen:
            names = ", ".join(f"GPU {gpu.number}" for gpu in measured)
            raise NotSupported(
                f"No GPU is called {' or '.join(self._options.sensors)}.",
                hint=f"The GPUs are: {names}.",
            )
        return chosen

    def _selects(self, gpu: Gpu) -> bool:
        return self._options.selects(f"gpu {gpu.number}", str(gpu.number), gpu.model, gpu.uuid)

    def _ask(self, way: GpuProgram, path: str, timeout: float) -> tuple[list[Gpu], str]:
        done = self._asker.run([path, *way.arguments], programs.environment(os.environ), timeout)
        if done.code:
            message = " ".join((done.err or done.out).split())[:120]
            return [], f"{way.program} failed ({message or f'exit code {done.code}'})."
        try:
            return way.read(done.out), ""
        except (ValueError, RecursionError):
            return [], f"{way.program} answered with something that is not understood."

    def read(self) -> list[Reading]:
        if self._way is None:
            raise SensorError(f"{self._scheme}: is not open.")
        stamp = Stamp.now()
        gpus, trouble = self._ask(self._way, self._path, self._options.timeout)
        answered = stamp.middle()
        watts_by_index: dict[int | None, float | None] = {gpu.number: gpu.watts for gpu in gpus}
        readings = []
        for channel in self.channels:
            watts = watts_by_index.get(channel.index)
            if watts is not None:
                readings.append(answered.reading(self.name, channel.name, watts))
                continue
            is_there = channel.index in watts_by_index
            why = "it has no value right now" if is_there else "the device is gone"
            readings.append(answered.gap(self.name, channel.name, trouble or why))
        return readings

    def close(self) -> None:
        """Nothing is held between readings."""


def _channel(gpu: Gpu) -> Channel:
    return Channel(
        name=f"GPU {gpu.number}",
        host="",
        scope="gpu",
        note=gpu.model,
        index=gpu.number,
        uuid=gpu.uuid,
        pci=gpu.pci,
        running=True,
    )


def make_nvidia(_address: Address, options: Options) -> GpuProgramSource:
    return GpuProgramSource("nvidia-smi", _NVIDIA, options)


def make_amd(_address: Address, options: Options) -> GpuProgramSource:
    return GpuProgramSource("amd-smi", _AMD, options)
