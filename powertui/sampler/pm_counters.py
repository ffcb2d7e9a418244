"""Cray's and HPE's power counters: /sys/cray/pm_counters, which every user of a node may read.

A file holds `245 W 1434567890123456 us`, or an energy in J: the node's, and where it has them those
of its processors, memory and accelerators. The node's controller renews all of them ten times a
second and counts that in `freshness`: values are taken again where it moved meanwhile, so that they
belong together, and a value that was read before is an old one, and is told as such. Where it moves
no more, the controller has stopped: then there is no value. Nor is there one whose time is 0: it
was never measured. Energies are whole joules since the controller's start, which `startup` tells:
beside the watts stands their difference.
"""

from __future__ import annotations

import fnmatch
import re
import time
from pathlib import Path
from typing import NamedTuple

from powertui.errors import AuthenticationFailed, NotSupported
from powertui.sampler.energy_counter import STANDSTILL_S
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import OK, STALE, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.sysfs import DENIED, FAULTS
from powertui.sampler.urls import Address

__all__ = ["NodePart", "PmCountersSource", "make"]

_FOLDER = "sys/cray/pm_counters"
_VALUE = re.compile(r"\s*(\d{1,18}) ([WJ])\b(?: (\d{1,20}) us)?")
_COUNT = re.compile(r"\s*(\d{1,18})\b")  # newer ones put the time behind it
_MAX_TRIES = 3
_STOPPED_PERIODS = 20
_DEFAULT_SCAN_HZ = 10.0  # where raw_scan_hz does not say it


class NodePart(NamedTuple):
    """One part of the node that is measured."""

    name: str  # "node", "cpu", "memory", "accel0"
    power: Path
    energy: Path | None
    scope: str
    number: int | None = None  # of an accelerator


def _node_parts(root: str) -> list[NodePart]:
    """Every power file with the energy file of its name, the node first.

    Caps are limits, not power.
    """
    folder = Path(root) / _FOLDER
    found = []
    for power in sorted(folder.glob("*power"), key=lambda path: (path.name != "power", path.name)):
        part = power.name[: -len("power")].rstrip("_")
        match = re.fullmatch(r"accel(\d*)", part)
        scope = (
            "node"
            if not part
            else "gpu"
            if match
            else {"cpu": "package", "memory": "dram"}.get(part, "rail")
        )
        energy = power.with_name(f"{part}_energy" if part else "energy")
        found.append(
            NodePart(
                part or "node",
                power,
                energy if energy.exists() else None,
                scope,
                int(match[1]) if match and match[1] else None,
            )
        )
    return found


class PmCountersSource:
    min_period = 0.1
    reconnects = 0

    def __init__(self, options: Options) -> None:
        self.name = "pm_counters"
        self._options = options
        self._folder = Path(options.root) / _FOLDER
        self.channels: tuple[Channel, ...] = ()
        self._counters: list[NodePart] = []
        self._first: dict[str, int] = {}
        self._last: dict[str, int] = {}
        self._fresh: int | None = None
        self._renewed = 0.0  # monotonic s
        self._startup: int | None = None

    def open(self) -> Info:
        every = _node_parts(self._options.root)
        if not every:
            raise NotSupported(
                "There are no pm_counters here.",
                hint="Cray and HPE Cray nodes have them in /sys/cray.",
            )
        asked = [one.casefold() for one in self._options.sensors]
        self._counters = [
            one
            for one in every
            if not asked or any(fnmatch.fnmatch(one.name, name) for name in asked)
        ]
        if not self._counters:
            raise NotSupported(
                f"No pm_counters channel is called {' or '.join(self._options.sensors)}.",
                hint="The channels are: " + ", ".join(one.name for one in every) + ".",
            )
        _, why = _value(self._counters[0].power, "W")
        if why == DENIED:
            raise AuthenticationFailed(
                f"You may not read {self._counters[0].power}.",
                hint="Ask the administrator to make it readable for everybody.",
            )
        hertz = self._count("raw_scan_hz")
        period = 1.0 / (hertz if hertz and 0 < hertz <= 1000 else _DEFAULT_SCAN_HZ)
        self.channels = tuple(
            Channel(
                f"GPU {one.number}" if one.number is not None else one.name,
                "",
                one.scope,
                1.0,
                note="node controller" + (", with its energy counter" if one.energy else ""),
                period_s=period,
                index=one.number,
                running=one.scope != "rail",
            )
            for one in self._counters
        )
        self.min_period = period
        self._startup = self._count("startup")
        for one in self._counters:
            if one.energy and (start := _value(one.energy, "J")[0]) is not None:
                self._first[one.name] = self._last[one.name] = start
        shared = (
            [one.name for one in self.channels if one.scope != "node"]
            if self._counters[0].scope == "node"
            else []
        )
        notes = (f"The node includes {', '.join(shared)}.",) if shared else ()
        return Info(
            "pm_counters",
            "pm_counters:",
            "",
            self.channels,
            {"updated every": f"{period:g} s"},
            notes,
        )

    def read(self) -> list[Reading]:
        startup = self._count("startup")
        if startup != self._startup:  # it counts anew, however far it has come
            self._startup, self._first, self._last = startup, {}, {}
        after = self._count("freshness")
        for _ in range(_MAX_TRIES):
            fresh = after
            old = fresh is not None and fresh == self._fresh
            found = [
                self._read_one(one, channel.name, old)
                for one, channel in zip(self._counters, self.channels, strict=True)
            ]
            after = self._count("freshness")
            if after == fresh:
                break
        now = time.monotonic()
        if fresh is None or fresh != self._fresh:
            self._fresh, self._renewed = fresh, now
        elif now - self._renewed > max(STANDSTILL_S, _STOPPED_PERIODS * self.min_period):
            return [
                one._replace(
                    watts=None, joules=None, quality=none("the node controller does not update it")
                )
                for one in found
            ]
        return found

    def _count(self, name: str) -> int | None:
        """The number in one of the files that tell of the others."""
        try:
            match = _COUNT.match((self._folder / name).read_text("ascii", "replace")[:200])
        except OSError:
            return None
        return int(match[1]) if match else None

    def _read_one(self, one: NodePart, name: str, old: bool) -> Reading:
        stamp = Stamp.now()
        watts, why = _value(one.power, "W")
        joules = None
        if one.energy is not None and watts is not None:
            count, _ = _value(one.energy, "J")
            if count is not None:
                if count < self._last.get(one.name, count):  # the node's controller began again
                    del self._first[one.name]
                self._last[one.name] = count
                joules = float(count - self._first.setdefault(one.name, count))
        t, mono, rtt = stamp.middle()
        quality = none(why) if watts is None else STALE if old else OK
        return Reading(
            t, mono, None if watts is None else float(watts), rtt, self.name, name, quality, joules
        )

    def limits(self) -> list[PowerLimit]:
        """The caps beside the counters; 0 W is none."""
        caps = [
            _value(one.power.with_name(f"{one.power.name}_cap"), "W")[0] for one in self._counters
        ]
        return [
            PowerLimit(channel.name, float(cap) if cap else None)
            for channel, cap in zip(self.channels, caps, strict=True)
        ]

    def close(self) -> None:
        """Nothing is held between readings."""


def _value(path: Path, unit: str) -> tuple[int | None, str]:
    """The number in a counter's file, or why there is none."""
    try:
        text = path.read_text("ascii", "replace")[:200]
    except OSError as error:
        return None, FAULTS.get(error.errno or 0, "it cannot be read")
    match = _VALUE.match(text)
    if match is None or match[2] != unit:
        return None, f"its content is not a number of {unit}"
    if match[3] is not None and int(match[3]) == 0:
        return None, "it was never measured"
    return int(match[1]), ""


def make(_address: Address, options: Options) -> PmCountersSource:
    return PmCountersSource(options)
