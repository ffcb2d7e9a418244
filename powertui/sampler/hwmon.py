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
from powertui.sampler.hwmon_chips import AMD_CHIPS, Meter, chips, is_partition
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import OK, Channel, Info, Options, Reading, Stamp, none, reason_of
from powertui.sampler.sysfs import DENIED, number_in, read_number
from powertui.sampler.urls import Address

__all__ = ["HwmonSource", "make", "make_amd"]

_ALWAYS_POWERED = (
    "node",
    "package",
    "dram",
    "gpu",
)  # what draws something while it is switched on; a rail may carry nothing
_STANDSTILL_TEST_S = 1.0  # the slowest count whole joules


def _without_dead(meters: dict[str, Meter]) -> Iterator[tuple[str, Meter]]:
    """Samples in the place of counters that stand still; nothing where there are none."""
    dead = motionless(
        {n: partial(number_in, m.path) for n, m in meters.items() if m.counts}, _STANDSTILL_TEST_S
    )
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
        self, only: Sequence[str], options: Options, scheme: str = "hwmon", path: str = ""
    ) -> None:
        self._only, self._options = only, options
        self._url = f"{scheme}:{path}"
        self.name = scheme
        self.channels: tuple[Channel, ...] = ()
        self._meters: dict[str, Meter] = {}
        self._counters: dict[str, EnergyCounter] = {}

    def open(self) -> Info:
        every = chips(self._options.root)
        chosen = [
            c
            for c in every
            if not self._only or any(fnmatch.fnmatch(c.name, o) for o in self._only)
        ]
        if not chosen:
            if not every and is_partition(self._options.root):
                raise NotSupported(
                    "This is a partition of a POWER server: the hypervisor shows it no power.",
                    hint=(
                        "Read the whole server's power from its BMC (--host; Redfish from "
                        "POWER10 on), or from its HMC."
                    ),
                )
            names = ", ".join(sorted({c.name for c in every}))
            raise NotSupported(
                (
                    "No hardware monitor here measures "
                    f"power{' as ' + ' or '.join(self._only) if self._only else ''}."
                ),
                hint=f"These measure power: {names}."
                if names
                else "On POWER: modprobe ibmpowernv. Virtual machines have none.",
            )
        several = len(chosen) > 1
        denied = ""
        for chip in chosen:
            for meter in chip.meters:
                name = f"{chip.name} {meter.label}" if several else meter.label
                number = sum(1 for n in self._meters if n == name or n.startswith(name + " #"))
                name = f"{name} #{number + 1}" if number else name
                if self._options.sensors and not any(
                    fnmatch.fnmatch(name.casefold(), s.casefold()) for s in self._options.sensors
                ):
                    continue
                value, why = read_number(meter.path)
                if value is None and why == DENIED:
                    denied = str(meter.path)
                    continue
                self._meters[name] = meter
        if not self._meters:
            if denied:
                raise AuthenticationFailed(
                    f"You may not read {denied}.", hint="Run as root, or allow it with a udev rule."
                )
            raise NotSupported(
                f"No power sensor here is called {' or '.join(self._options.sensors)}."
            )
        named = self._meters
        self._meters = dict(_without_dead(named))
        if not self._meters:
            raise NotSupported(
                (
                    "The energy counters of "
                    f"{' and '.join(dict.fromkeys(m.chip for m in named.values()))} stand still."
                ),
                hint="This is common in virtual machines.",
            )
        self.channels = tuple(
            Channel(
                name,
                "",
                m.scope,
                m.quantum_w,
                m.kind,
                m.note,
                running=m.scope in _ALWAYS_POWERED and not m.counts,
            )
            for name, m in self._meters.items()
        )
        self._counters = {
            name: EnergyCounter(m.path, self.name, name)
            for name, m in self._meters.items()
            if m.counts
        }
        for counter in self._counters.values():
            counter.read()  # the first difference needs a start
        notes = [f"{denied} is left out, because you may not read it."] if denied else []
        if left_out := [name for name in named if name not in self._meters]:
            notes.append(f"Left out, because they stand still: {', '.join(left_out)}.")
        chips_read = ", ".join(dict.fromkeys(c.name for c in chosen))
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
        shown = {
            name: meter.sampled if meter.counts else meter.path
            for name, meter in self._meters.items()
        }
        shown_limits = [
            PowerLimit(name, limits.hwmon_limit_w(path) if path else None)
            for name, path in shown.items()
        ]
        node = next((name for name, meter in self._meters.items() if meter.scope == "node"), None)
        cap = limits.opal_limit_w(self._options.root)
        return [
            limit._replace(watts=cap) if limit.channel == node and cap is not None else limit
            for limit in shown_limits
        ]

    def _find_again(self, name: str, meter: Meter) -> None:
        """A driver that was loaded anew has another number."""
        for chip in chips(self._options.root):
            for candidate in chip.meters:
                same = candidate if candidate.counts == meter.counts else candidate.as_samples()
                if same is not None and (same.chip, same.label, same.counts) == (
                    meter.chip,
                    meter.label,
                    meter.counts,
                ):
                    self._meters[name] = same
                    if same.counts:
                        self._counters[name] = EnergyCounter(same.path, self.name, name)

    def close(self) -> None:
        """Nothing is held between readings."""


def make(address: Address, options: Options) -> HwmonSource:
    return HwmonSource([address.path] if address.path else (), options, path=address.path)


def make_amd(_address: Address, options: Options) -> HwmonSource:
    return HwmonSource(AMD_CHIPS, options, "amd")
