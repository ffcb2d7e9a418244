"""Energy counters of Intel and AMD processors: /sys/class/powercap/intel-rapl:*.

The counters run up in µJ and begin again at `max_energy_range_uj` (after some 15 minutes at 300 W).
Watts are the mean since the previous reading; the energy itself is recorded too. Domains nest: a
package holds its cores, so `core` and `uncore` below a package are not offered beside it, and
`psys` (the whole platform) holds all packages. Since Linux 5.10 the counters belong to root alone.
In virtual machines they may be there and stand still: those are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from powertui.errors import AuthenticationFailed, NotSupported
from powertui.named_tuples import NamedTuple
from powertui.sampler import limits
from powertui.sampler.energy_counter import EnergyCounter, motionless
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import Channel, Info, Options, Reading
from powertui.sampler.sysfs import DENIED, number_in, read_number
from powertui.sampler.urls import Address

__all__ = ["RaplSource", "Zone", "make"]

_ZONE = re.compile(r"intel-rapl:(\d+)(?::(\d+))?")
_STANDSTILL_TEST_S = 0.2  # the processor renews them every millisecond
_SCOPES = {"package": "package", "dram": "dram", "psys": "plug", "core": "core", "uncore": "rail"}


class Zone(NamedTuple):
    name: str  # "package-0", "package-0 dram"
    path: Path
    scope: str
    parent: str  # "" for a top zone
    limit: int | None  # the counter's largest value, µJ, where it is told


def _zones(root: str) -> list[Zone]:
    """All zones of the first interface.

    powercap shows the same counters again under intel-rapl-mmio.
    """
    zones: list[Zone] = []
    base = Path(root) / "sys/class/powercap"
    package_names: dict[str, str] = {}
    for folder in sorted(base.glob("intel-rapl:*"), key=_zone_numbers):
        matched = _ZONE.fullmatch(folder.name)
        if not matched or not (folder / "energy_uj").exists():
            continue
        package = matched[1]
        subzone = matched[2]
        name = _zone_name(folder)
        limit, _ = read_number(folder / "max_energy_range_uj")
        parent = ""
        if subzone is None:
            package_names[package] = name
        else:
            parent = package_names.get(package, "")
        if parent:
            full = f"{parent} {name}"
        else:
            full = name
        scope = next((s for key, s in _SCOPES.items() if name.startswith(key)), "unknown")
        zones.append(
            Zone(
                name=full,
                path=folder / "energy_uj",
                scope=scope,
                parent=parent,
                limit=limit or None,
            )
        )
    return zones


def _zone_numbers(folder: Path) -> list[int]:
    """By number, so that intel-rapl:10 comes after intel-rapl:9, and a package before its parts."""
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def _zone_name(folder: Path) -> str:
    try:
        return (folder / "name").read_text("utf-8", "replace").strip()
    except OSError:
        return folder.name


class RaplSource:
    min_period = 0.05
    max_period = 10.0  # asked less often, a small counter (65 kJ) might wrap twice unseen
    name = "rapl"
    reconnects = 0

    def __init__(self, options: Options) -> None:
        self.name = "rapl"
        self._options = options
        self.channels: tuple[Channel, ...] = ()
        self._zones: list[Zone] = []
        self._counters: list[EnergyCounter] = []

    def open(self) -> Info:
        every = _zones(self._options.root)
        readable = self._readable(self._chosen(every))
        counts = {zone: partial(number_in, zone.path) for zone in readable}
        dead = motionless(counts, _STANDSTILL_TEST_S)
        self._zones = [zone for zone in readable if zone not in dead]
        if not self._zones:
            raise NotSupported(
                "The RAPL counters here do not change.", hint="This is common in virtual machines."
            )
        self._counters = [
            EnergyCounter(zone.path, self.name, zone.name, zone.limit) for zone in self._zones
        ]
        notes = []
        if left_out := [zone for zone in every if zone not in self._zones and zone not in dead]:
            why = "others include them or you may not read them"
            notes.append(f"Left out, because {why}: {_zone_names(left_out)}.")
        if dead:
            names = _zone_names(zone for zone in readable if zone in dead)
            notes.append(f"Left out, because they do not change: {names}.")
        note = "energy counter; watts are the mean since the last reading"
        self.channels = tuple(
            Channel(zone.name, scope=zone.scope, kind="interval", note=note) for zone in self._zones
        )
        self.read()  # the first difference needs a start
        return Info(
            source="rapl",
            url="rapl:",
            host="",
            channels=self.channels,
            facts={},
            notes=tuple(notes),
        )

    def _chosen(self, every: list[Zone]) -> list[Zone]:
        """The zones that are asked for, else those that share no joule."""
        if not every:
            raise NotSupported(
                "There are no RAPL counters here.",
                hint=(
                    "Intel and AMD processors have them (modprobe intel_rapl_msr); most "
                    "virtual machines do not."
                ),
            )
        sensors = self._options.sensors
        if not sensors:
            return _disjoint(every)
        chosen = [zone for zone in every if zone.name in sensors]
        if not chosen:
            raise NotSupported(
                f"No RAPL zone is called {' or '.join(sensors)}.",
                hint=f"The zones are: {_zone_names(every)}.",
            )
        return chosen

    def _readable(self, chosen: list[Zone]) -> list[Zone]:
        readable = [zone for zone in chosen if read_number(zone.path)[1] != DENIED]
        if not readable:
            path = chosen[0].path
            raise AuthenticationFailed(
                f"{path} belongs to root (since Linux 5.10, CVE-2020-8694).",
                hint="Run as root, or: sudo chmod a+r "
                f"{path.parent.parent / 'intel-rapl:*/energy_uj'}",
            )
        return readable

    def read(self) -> list[Reading]:
        return [reading for counter in self._counters if (reading := counter.read()) is not None]

    def limits(self) -> list[PowerLimit]:
        """What the zones are held to."""
        return [
            PowerLimit(zone.name, limits.rapl_limit_w(zone.path.parent)) for zone in self._zones
        ]

    def close(self) -> None:
        """Nothing is held between readings."""


def _zone_names(zones: Iterable[Zone]) -> str:
    return ", ".join(zone.name for zone in zones)


def _disjoint(every: list[Zone]) -> list[Zone]:
    """Packages and their DRAM: zones that share no joule.

    psys alone where there is nothing else.
    """
    chosen = []
    for zone in every:
        if zone.scope == "dram" if zone.parent else zone.scope != "plug":
            chosen.append(zone)
    return chosen or every[:1]


def make(_address: Address, options: Options) -> RaplSource:
    return RaplSource(options)
