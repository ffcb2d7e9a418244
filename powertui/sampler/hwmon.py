"""Power that the kernel's hardware monitor shows (hwmon_chips.py): energy counters, unless they
stand still, and samples.

On POWER the chip is `ibmpowernv`: it counts power in whole watts, whatever its files' unit, and its
readings may fail for a moment while the on-chip controllers reset.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from functools import partial

from powertui.errors import AuthenticationFailed, NotSupported
from powertui.sampler import limits
from powertui.sampler.energy_counter import EnergyCounter, motionless
from powertui.sampler.hwmon_chips import AMD_CHIPS, Chip, Meter, chips, is_partition
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp, reason_of
from powertui.sampler.sysfs import DENIED, number_in, read_number
from powertui.sampler.urls import Address

__all__ = ["HwmonSource", "make", "make_amd"]

# Scopes that draw something while they are switched on; a rail may carry nothing.
_ALWAYS_POWERED = ("node", "package", "dram", "gpu")
_STANDSTILL_TEST_S = 1.0  # the slowest counters have steps of whole joules


def _without_dead(meters: dict[str, Meter]) -> Iterator[tuple[str, Meter]]:
    """Samples in the place of counters that stand still; nothing where there are none."""
    counts = {
        name: partial(number_in, meter.path) for name, meter in meters.items() if meter.counts
    }
    dead = motionless(counts, _STANDSTILL_TEST_S)
    for name, meter in meters.items():
        if name not in dead:
            yield name, meter
        elif sampled := meter.as_samples():
            yield name, sampled


class HwmonSource:
    """The power files of one chip, or of all."""

    min_period = 0.05
    reconnects = 0

    def __init__(
        self,
        only: Sequence[str],
        options: Options,
        scheme: str = "hwmon",
        path: str = "",
    ) -> None:
        self._only, self._options = only, options
        self._url = f"{scheme}:{path}"
        self.name = scheme
        self.channels: tuple[Channel, ...] = ()
        self._meters: dict[str, Meter] = {}
        self._counters: dict[str, EnergyCounter] = {}

    def open(self) -> Info:
        chosen = self._chosen_chips()
        denied = self._take_meters(chosen)
        readable = self._meters
        self._meters = dict(_without_dead(readable))
        if not self._meters:
            chip_names = dict.fromkeys(meter.chip for meter in readable.values())
            raise NotSupported(
                f"The energy counters of {' and '.join(chip_names)} do not change.",
                hint="This is common in virtual machines.",
            )
        self.channels = tuple(_channel(name, meter) for name, meter in self._meters.items())
        for name, meter in self._meters.items():
            if meter.counts:
                counter = self._counters[name] = EnergyCounter(meter.path, self.name, name)
                counter.read()  # the first difference needs a start
        notes = [f"{denied} is left out, because you may not read it."] if denied else []
        if left_out := [name for name in readable if name not in self._meters]:
            notes.append(f"Left out, because they do not change: {', '.join(left_out)}.")
        chips_read = ", ".join(dict.fromkeys(chip.name for chip in chosen))
        return Info(
            source="hwmon " + chips_read,
            url=self._url,
            host="",
            channels=self.channels,
            facts={},
            notes=tuple(notes),
        )

    def _chosen_chips(self) -> list[Chip]:
        """The chips that are asked for; raises where there is none."""
        measuring = chips(self._options.root)
        chosen = [chip for chip in measuring if not self._only or self._is_asked_for(chip)]
        if chosen:
            return chosen
        if not measuring and is_partition(self._options.root):
            raise NotSupported(
                "This is a partition of a POWER server: the hypervisor shows it no power.",
                hint=(
                    "Read the whole server's power from its BMC (--host; Redfish from "
                    "POWER10 on), or from its HMC."
                ),
            )
        hint = "On POWER: modprobe ibmpowernv. Virtual machines have none."
        if measuring:
            names = ", ".join(sorted({chip.name for chip in measuring}))
            hint = f"These measure power: {names}."
        if self._only:
            asked = " as " + " or ".join(self._only)
        else:
            asked = ""
        raise NotSupported(f"No hardware monitor here measures power{asked}.", hint=hint)

    def _is_asked_for(self, chip: Chip) -> bool:
        return any(fnmatch.fnmatch(chip.name, pattern) for pattern in self._only)

    def _take_meters(self, chosen: list[Chip]) -> str:
        """Take the meters that are asked for and can be read; returns one that cannot."""
        denied = ""
        for chip in chosen:
            for meter in chip.meters:
                if len(chosen) > 1:
                    name = f"{chip.name} {meter.label}"
                else:
                    name = meter.label
                name = self._unique_name(name)
                if not self._options.selects(name):
                    continue
                value, why = read_number(meter.path)
                if value is None and why == DENIED:
                    denied = str(meter.path)
                else:
                    self._meters[name] = meter
        if self._meters:
            return denied
        if denied:
            raise AuthenticationFailed(
                f"You may not read {denied}.", hint="Run as root, or allow it with a udev rule."
            )
        raise NotSupported(f"No power sensor here is called {' or '.join(self._options.sensors)}.")

    def _unique_name(self, name: str) -> str:
        number = sum(used == name or used.startswith(f"{name} #") for used in self._meters)
        if number:
            return f"{name} #{number + 1}"
        return name

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
        microwatts, why = read_number(meter.path)
        if microwatts is None and "gone" in why:
            self._find_again(name, meter)
        answered = stamp.middle()
        if microwatts is None:
            return answered.gap(self.name, name, why)
        return answered.reading(self.name, name, microwatts / 1e6)

    def limits(self) -> list[PowerLimit]:
        """What the chips are held to; on POWER the machine's cap, which OPAL keeps."""
        machine_cap = limits.opal_limit_w(self._options.root)
        power_limits = []
        for name, meter in self._meters.items():
            path = meter.sampled if meter.counts else meter.path
            watts = limits.hwmon_limit_w(path) if path else None
            if meter.scope == "node" and machine_cap is not None:
                watts, machine_cap = machine_cap, None  # of the first node alone
            power_limits.append(PowerLimit(name, watts))
        return power_limits

    def _find_again(self, name: str, meter: Meter) -> None:
        """A driver that was loaded anew has another number."""
        for chip in chips(self._options.root):
            for candidate in chip.meters:
                if (candidate.chip, candidate.label) != (meter.chip, meter.label):
                    continue
                if candidate.counts == meter.counts:
                    same: Meter | None = candidate
                else:
                    same = candidate.as_samples()
                if same is not None and same.counts == meter.counts:
                    self._meters[name] = same
                    if same.counts:
                        self._counters[name] = EnergyCounter(same.path, self.name, name)

    def close(self) -> None:
        """Nothing is held between readings."""


def _channel(name: str, meter: Meter) -> Channel:
    return Channel(
        name=name,
        scope=meter.scope,
        quantum_w=meter.quantum_w,
        kind=meter.kind,
        note=meter.note,
        running=meter.scope in _ALWAYS_POWERED and not meter.counts,
    )


def make(address: Address, options: Options) -> HwmonSource:
    return HwmonSource([address.path] if address.path else (), options, path=address.path)


def make_amd(_address: Address, options: Options) -> HwmonSource:
    return HwmonSource(AMD_CHIPS, options, "amd")
