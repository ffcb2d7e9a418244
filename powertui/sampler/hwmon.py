"""Power that the kernel's hardware monitor shows: /sys/class/hwmon.

hwmonN is numbered anew at every boot, so chips are found by their name and values by their label. Files are in µW (power) and
µJ (energy). A counter of energy is exact where a sample of power is a moment, so it is taken in the place of the power file with
the same label, unless it stands still. On POWER the chip is `ibmpowernv`: it counts power in whole watts, whatever its files'
unit, and its readings may fail for a moment while the on-chip controllers reset.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from powertui.errors import AuthenticationFailed, NotSupported
from powertui.sampler import limits
from powertui.sampler.energy_counter import EnergyCounter, standing
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, none, reason_of
from powertui.sampler.sysfs import DENIED, number_in, read_number
from powertui.sampler.urls import Address

__all__ = ["AMD_CHIPS", "Chip", "HwmonSource", "Meter", "make", "make_amd"]

AMD_CHIPS = ("amdgpu",)
_NODE_CHIPS = ("acpi_power_meter", "power_meter", "ibmaem", "ibmpex")
_VALUE = re.compile(r"(power|energy)(\d+)_(input|average)")
_WHOLE_WATTS = ("ibmpowernv",)  # the driver reads watts as an integer and multiplies them by a million
_RUNNING = ("node", "package", "dram", "gpu")  # what draws something while it is switched on; a rail may carry nothing
_LIVES_S = 1.0  # the slowest count whole joules
_PART_OF_SOCKET = re.compile(r"Ecore\d+")  # amd_energy counts each core, and the sockets that hold them


class Meter(NamedTuple):
    """One power or energy file and what it is called."""

    chip: str
    label: str
    path: Path
    scope: str
    averaged: bool = False
    counts: bool = False  # energy in µJ, running up
    sampled: Path | None = None  # of a counter: the power file with its label

    @property
    def quantum_w(self) -> float | None:
        """The step of its values, where the driver is known."""
        return 1.0 if self.chip in _WHOLE_WATTS and not self.counts else None

    def as_samples(self) -> Meter | None:
        """The power file in the place of a counter; None where there is none."""
        if self.sampled is None:
            return None
        return self._replace(path=self.sampled, averaged=self.sampled.name.endswith("_average"), counts=False, sampled=None)

    @property
    def kind(self) -> str:
        """As `Channel` says it."""
        return "interval" if self.counts else "sampled"

    @property
    def note(self) -> str:
        """What a person should know of it."""
        how = (
            "; energy counter, watts are the mean since the last reading"
            if self.counts
            else ", averaged by the chip" * self.averaged
        )
        return f"{self.chip} {self.path.name}{how}"


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
    if re.fullmatch(r"(chip|p|proc|processor|cpu|esocket) ?\d* ?(power)?", name):
        return "package"
    return "dram" if "mem" in name or "centaur" in name else "rail" if label else "unknown"


def _chips(root: str) -> list[Chip]:
    """Every chip that has power or energy files, in a stable order, whatever its number is today."""
    found: list[Chip] = []
    base = Path(root) / "sys/class/hwmon"
    for folder in sorted(base.glob("hwmon*"), key=lambda p: int(re.sub(r"\D", "", p.name) or 0)):
        name = _text(folder / "name") or folder.name
        meters = _meters(folder, name)
        if meters:
            found.append(Chip(name, folder, tuple(meters)))
    return found


def _meters(folder: Path, chip: str) -> list[Meter]:
    """The power and energy files of one chip. Of two with one label the energy counter stays."""
    files: dict[tuple[str, int], tuple[Path, str]] = {}
    for path in sorted(folder.glob("[pe][on]*")):  # input wins over average
        if match := _VALUE.fullmatch(path.name):
            files[match[1], int(match[2])] = (path, match[3])
    powers: list[Meter] = []
    counters: dict[str, Meter] = {}
    for (what, index), (path, kind) in sorted(files.items(), key=lambda item: (item[0][0] != "power", item[0][1])):
        label = _text(folder / f"{what}{index}_label")
        meter = Meter(chip, label or f"{what}{index}", path, _scope(chip, label), kind == "average", what == "energy")
        if what == "power":
            powers.append(meter)
        elif not _PART_OF_SOCKET.fullmatch(label):
            counters.setdefault(label or f"power{index}", meter)
    kept = [counters.pop(meter.label)._replace(sampled=meter.path) if meter.label in counters else meter for meter in powers]
    return kept + list(counters.values())


def _without_dead(meters: dict[str, Meter]) -> Iterator[tuple[str, Meter]]:
    """Samples in the place of counters that stand still; nothing where there are none."""
    dead = standing({n: partial(number_in, m.path) for n, m in meters.items() if m.counts}, _LIVES_S)
    for name, meter in meters.items():
        if name not in dead:
            yield name, meter
        elif sampled := meter.as_samples():
            yield name, sampled


def _is_partition(root: str) -> bool:
    """Whether this is a guest on POWER (PowerVM, KVM), where `ibmpowernv` has nothing to read: OPAL is not below it."""
    return (Path(root) / "proc/ppc64/lparcfg").exists() and not (Path(root) / "sys/firmware/opal").exists()


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
        self._counters: dict[str, EnergyCounter] = {}

    def open(self) -> Info:
        every = _chips(self._options.root)
        wanted = [c for c in every if not self._only or any(fnmatch.fnmatch(c.name, o) for o in self._only)]
        if not wanted:
            if not every and _is_partition(self._options.root):
                raise NotSupported(
                    "This is a partition of a POWER server: the hypervisor shows it no power.",
                    hint="The server's own: from its BMC (--host; Redfish from POWER10 on), or from what its HMC records.",
                )
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
                if value is None and why == DENIED:
                    denied = str(meter.path)
                    continue
                self._meters[name] = meter
        if not self._meters:
            if denied:
                raise AuthenticationFailed(f"You may not read {denied}.", hint="Run as root, or allow it with a udev rule.")
            raise NotSupported(f"No power sensor here is called {' or '.join(self._options.sensors)}.")
        named = self._meters
        self._meters = dict(_without_dead(named))
        if not self._meters:
            raise NotSupported(
                f"The energy counters of {' and '.join(dict.fromkeys(m.chip for m in named.values()))} stand still.",
                hint="This is common in virtual machines.",
            )
        self.channels = tuple(
            Channel(name, "", m.scope, m.quantum_w, m.kind, m.note, running=m.scope in _RUNNING and not m.counts)
            for name, m in self._meters.items()
        )
        self._counters = {name: EnergyCounter(m.path, self.name, name) for name, m in self._meters.items() if m.counts}
        for counter in self._counters.values():
            counter.read()  # the first difference needs a start
        notes = [f"{denied} is left out, because you may not read it."] if denied else []
        if left_out := [name for name in named if name not in self._meters]:
            notes.append(f"Left out, because they stand still: {', '.join(left_out)}.")
        chips_read = ", ".join(dict.fromkeys(c.name for c in wanted))
        return Info("hwmon " + chips_read, self._url, "", self.channels, {}, tuple(notes))

    def read(self) -> list[Reading]:
        found = [self._read_one(name, meter) for name, meter in self._meters.items()]
        return [reading for reading in found if reading is not None]

    def _read_one(self, name: str, meter: Meter) -> Reading | None:
        if meter.counts:
            reading = self._counters[name].read()
            if reading is not None and "gone" in reason_of(reading.quality):
                self._find_again(name, meter)
            return reading
        stamp = Stamp.now()
        value, why = read_number(meter.path)
        if value is None and "gone" in why:
            self._find_again(name, meter)
        t, mono, rtt = stamp.middle()
        watts = None if value is None else value / 1e6
        return Reading(t, mono, watts, rtt, self.name, name, none(why) if value is None else OK)

    def limits(self) -> list[PowerLimit]:
        """What the chips are held to; on POWER the machine's cap, which OPAL keeps."""
        shown = {name: meter.sampled if meter.counts else meter.path for name, meter in self._meters.items()}
        found = [PowerLimit(name, limits.of_hwmon(path) if path else None) for name, path in shown.items()]
        node = next((name for name, meter in self._meters.items() if meter.scope == "node"), None)
        cap = limits.of_opal(self._options.root)
        return [one._replace(watts=cap) if one.channel == node and cap is not None else one for one in found]

    def _find_again(self, name: str, meter: Meter) -> None:
        """A driver that was loaded anew has another number."""
        for chip in _chips(self._options.root):
            for other in chip.meters:
                same = other if other.counts == meter.counts else other.as_samples()
                if same is not None and (same.chip, same.label, same.counts) == (meter.chip, meter.label, meter.counts):
                    self._meters[name] = same
                    if same.counts:
                        self._counters[name] = EnergyCounter(same.path, self.name, name)

    def close(self) -> None:
        """Nothing is held between readings."""


def make(address: Address, options: Options) -> HwmonSource:
    return HwmonSource([address.path] if address.path else (), options, path=address.path)


def make_amd(_address: Address, options: Options) -> HwmonSource:
    return HwmonSource(AMD_CHIPS, options, "amd")
