"""Power that the kernel's hardware monitor shows: /sys/class/hwmon.

hwmonN is numbered anew at every boot, so chips are found by their name and values by their label. Files are in µW (power) and
µJ (energy). A counter of energy is better than a sample of power: watts are then the mean since the last reading.
On POWER the chip is `ibmpowernv`; its readings may fail for a moment while the on-chip controllers reset.
"""

from __future__ import annotations

import errno
import fnmatch
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from powertui.errors import AuthenticationFailed, NotSupported
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.urls import Address

__all__ = ["AMD_CHIPS", "Chip", "HwmonSource", "Meter", "chips", "make", "make_amd", "read_number"]

AMD_CHIPS = ("amdgpu",)
_NODE_CHIPS = ("acpi_power_meter", "power_meter", "ibmaem", "ibmpex")
_VALUE = re.compile(r"power(\d+)_(input|average)")
_FAULTS = {
    errno.EIO: "the sensor cannot be read right now",
    errno.ENODATA: "the sensor has no value right now",
    errno.EAGAIN: "the sensor is busy",
    errno.EBUSY: "the sensor is busy",
    errno.ETIMEDOUT: "the sensor did not answer in time",
    errno.ENODEV: "the device is gone",
    errno.ENOENT: "the device is gone",
    errno.EACCES: "it may not be read by you",
    errno.EPERM: "it may not be read by you",
}


def read_number(path: Path) -> tuple[int | None, str]:
    """The whole number in a file of /sys, or why there is none."""
    try:
        return int(path.read_text("ascii", "replace").strip()), ""
    except OSError as error:
        return None, _FAULTS.get(error.errno or 0, (error.strerror or "it cannot be read").lower())
    except ValueError:
        return None, "its content is not a number"


class Meter(NamedTuple):
    """One power file and what it is called."""

    chip: str
    label: str
    path: Path
    scope: str
    averaged: bool


class Chip(NamedTuple):
    name: str
    folder: Path
    meters: tuple[Meter, ...]


def _text(path: Path) -> str:
    try:
        return "".join(c for c in path.read_text("utf-8", "replace").strip() if c.isprintable())[:80]
    except OSError:
        return ""


def _scope(chip: str, label: str) -> str:
    name = label.casefold()
    if chip in AMD_CHIPS or "gpu" in name:
        return "gpu"
    if chip in _NODE_CHIPS or name in ("system", "total power", "system power"):
        return "node"
    if re.fullmatch(r"(chip|p|proc|processor|cpu) ?\d* ?(power)?", name):
        return "package"
    return "dram" if "mem" in name or "centaur" in name else "rail" if label else "unknown"


def chips(root: str) -> list[Chip]:
    """Every chip that has power files, in a stable order, whatever its number is today."""
    found: list[Chip] = []
    base = Path(root) / "sys/class/hwmon"
    for folder in sorted(base.glob("hwmon*"), key=lambda p: int(re.sub(r"\D", "", p.name) or 0)):
        name = _text(folder / "name") or folder.name
        meters = []
        files = {
            m[1]: (p, m[2]) for p in sorted(folder.glob("power*")) if (m := _VALUE.fullmatch(p.name))
        }  # input wins over average
        for index, (path, kind) in sorted(files.items(), key=lambda item: int(item[0])):
            label = _text(folder / f"power{index}_label")
            meters.append(Meter(name, label or f"power{index}", path, _scope(name, label), kind == "average"))
        if meters:
            found.append(Chip(name, folder, tuple(meters)))
    return found


class HwmonSource:
    """The power files of one chip, or of all."""

    min_period = 0.05
    reconnects = 0

    def __init__(self, only: Sequence[str], options: Options, scheme: str = "hwmon", path: str = "") -> None:
        self._only, self._options = only, options
        self._url = f"{scheme}:{path}"
        self.name = scheme
        self.channels: tuple[Channel, ...] = ()
        self._meters: dict[str, Meter] = {}

    def open(self) -> Info:
        every = chips(self._options.root)
        wanted = [c for c in every if not self._only or any(fnmatch.fnmatch(c.name, o) for o in self._only)]
        if not wanted:
            names = ", ".join(sorted({c.name for c in every}))
            raise NotSupported(
                f"No hardware monitor here measures power{' as ' + ' or '.join(self._only) if self._only else ''}.",
                hint=f"These measure power: {names}." if names else "On POWER: modprobe ibmpowernv. Virtual machines have none.",
            )
        several = len(wanted) > 1
        denied = ""
        for chip in wanted:
            for meter in chip.meters:
                name = f"{chip.name} {meter.label}" if several else meter.label
                number = sum(1 for n in self._meters if n == name or n.startswith(name + " #"))
                name = f"{name} #{number + 1}" if number else name
                if self._options.sensors and not any(fnmatch.fnmatch(name.casefold(), s.casefold()) for s in self._options.sensors):
                    continue
                value, why = read_number(meter.path)
                if value is None and "may not be read" in why:
                    denied = str(meter.path)
                    continue
                self._meters[name] = meter
        if not self._meters:
            if denied:
                raise AuthenticationFailed(f"You may not read {denied}.", hint="Run as root, or allow it with a udev rule.")
            raise NotSupported(f"No power sensor here is called {' or '.join(self._options.sensors)}.")
        self.channels = tuple(
            Channel(name, "", m.scope, 1e-6, note=f"{m.chip} {m.path.name}" + (", averaged by the chip" if m.averaged else ""))
            for name, m in self._meters.items()
        )
        notes = (f"{denied} is left out, because you may not read it.",) if denied else ()
        return Info("hwmon " + ", ".join(dict.fromkeys(c.name for c in wanted)), self._url, "", self.channels, {}, notes)

    def read(self) -> list[Reading]:
        out = []
        for name, meter in self._meters.items():
            stamp = Stamp.now()
            value, why = read_number(meter.path)
            if value is None and "gone" in why:
                self._find_again(name, meter)
            t, mono, rtt = stamp.middle()
            watts = None if value is None else value / 1e6
            out.append(Reading(t, mono, watts, rtt, self.name, name, none(why) if value is None else OK))
        return out

    def _find_again(self, name: str, meter: Meter) -> None:
        """A driver that was loaded anew has another number."""
        for chip in chips(self._options.root):
            for other in chip.meters:
                if (other.chip, other.label) == (meter.chip, meter.label):
                    self._meters[name] = other

    def close(self) -> None:
        """Nothing is held between readings."""


def make(address: Address, options: Options) -> HwmonSource:
    return HwmonSource([address.path] if address.path else (), options, path=address.path)


def make_amd(_address: Address, options: Options) -> HwmonSource:
    return HwmonSource(AMD_CHIPS, options, "amd")
