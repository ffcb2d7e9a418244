"""Cray's and HPE's power counters: /sys/cray/pm_counters, which every user of a node may read.

A file holds `245 W 1434567890123456 us`, or an energy in J: the node's, and where it has them those
of its processors, memory and accelerators. The node's controller renews all of them ten times a
second and counts that in `freshness`: values are read again where it moved meanwhile, so that they
belong together, and a value that was read before is marked as stale. Where it moves no more, the
controller has stopped: then there is no value. Nor is there one whose time is 0: it was never
measured. Energies are whole joules since the controller's start, which `startup` identifies; their
difference is recorded beside the watts.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from powertui.errors import AuthenticationFailed, NotSupported
from powertui.named_tuples import NamedTuple
from powertui.sampler.energy_counter import STANDSTILL_S
from powertui.sampler.limits import PowerLimit
from powertui.sampler.source import OK, STALE, Channel, Info, Options, Reading, Stamp, none
from powertui.sampler.sysfs import DENIED, FAULTS
from powertui.sampler.urls import Address

__all__ = ["NodePart", "PmCountersSource", "make"]

_FOLDER = "sys/cray/pm_counters"
_VALUE = re.compile(r"\s*(\d{1,18}) ([WJ])\b(?: (\d{1,20}) us)?")
_COUNT = re.compile(r"\s*(\d{1,18})\b")  # newer ones put the time behind it
_MAX_TEXT = 200  # characters; a value has fewer than 50
_MAX_TRIES = 3  # to read all values between two renewals
_STOPPED_PERIODS = 20  # without a renewal: the controller does not run. Chosen, not measured
_DEFAULT_SCAN_HZ = 10  # where raw_scan_hz does not say it; Cray's controllers do ten a second
_MAX_SCAN_HZ = 1000  # above it the file holds nonsense: chosen, a hundred times what nodes have


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
    parts = []
    for power in sorted(folder.glob("*power"), key=lambda path: (path.name != "power", path.name)):
        name = power.name[: -len("power")].rstrip("_")
        energy = power.with_name(f"{name}_energy" if name else "energy")
        accelerator = re.fullmatch(r"accel(\d*)", name)
        if accelerator:
            scope = "gpu"
        else:
            scope = {"": "node", "cpu": "package", "memory": "dram"}.get(name, "rail")
        parts.append(
            NodePart(
                name=name or "node",
                power=power,
                energy=energy if energy.exists() else None,
                scope=scope,
                number=int(accelerator[1]) if accelerator and accelerator[1] else None,
            )
        )
    return parts


class PmCountersSource:
    min_period = 0.1
    reconnects = 0

    def __init__(self, options: Options) -> None:
        self.name = "pm_counters"
        self._options = options
        self._folder = Path(options.root) / _FOLDER
        self.channels: tuple[Channel, ...] = ()
        self._parts: list[NodePart] = []
        self._first_joules: dict[str, int] = {}
        self._last_joules: dict[str, int] = {}
        self._freshness: int | None = None
        self._renewed = 0.0  # monotonic s
        self._startup: int | None = None

    def open(self) -> Info:
        self._parts = self._chosen_parts()
        first = self._parts[0]
        _, why = _value(first.power, "W")
        if why == DENIED:
            raise AuthenticationFailed(
                f"You may not read {first.power}.",
                hint="Ask the administrator to make it readable for everybody.",
            )
        self.min_period = self._scan_period_s()
        self.channels = tuple(self._channel(part) for part in self._parts)
        self._startup = self._count("startup")
        for part in self._parts:
            if part.energy:
                start_joules = _value(part.energy, "J")[0]
            else:
                start_joules = None
            if start_joules is not None:
                self._first_joules[part.name] = self._last_joules[part.name] = start_joules
        notes: tuple[str, ...] = ()
        included = [channel.name for channel in self.channels if channel.scope != "node"]
        if first.scope == "node" and included:
            notes = (f"The node includes {', '.join(included)}.",)
        facts = {"updated every": f"{self.min_period:g} s"}
        return Info(
            source="pm_counters",
            url="pm_counters:",
            host="",
            channels=self.channels,
            facts=facts,
            notes=notes,
        )

    def _chosen_parts(self) -> list[NodePart]:
        parts = _node_parts(self._options.root)
        if not parts:
            raise NotSupported(
                "There are no pm_counters here.",
                hint="Cray and HPE Cray nodes have them in /sys/cray.",
            )
        chosen = [part for part in parts if self._options.selects(part.name)]
        if not chosen:
            raise NotSupported(
                f"No pm_counters channel is called {' or '.join(self._options.sensors)}.",
                hint="The channels are: " + ", ".join(part.name for part in parts) + ".",
            )
        return chosen

    def _scan_period_s(self) -> float:
        """How often the controller renews its values. Not every node has the file."""
        hertz = self._count("raw_scan_hz")
        if not hertz or hertz > _MAX_SCAN_HZ:
            hertz = _DEFAULT_SCAN_HZ
        return 1.0 / hertz

    def _channel(self, part: NodePart) -> Channel:
        return Channel(
            name=part.name if part.number is None else f"GPU {part.number}",
            scope=part.scope,
            quantum_w=1.0,
            note="node controller" + (", with its energy counter" if part.energy else ""),
            period_s=self.min_period,
            index=part.number,
            running=part.scope != "rail",  # a rail may carry nothing
        )

    def read(self) -> list[Reading]:
        startup = self._count("startup")
        if startup != self._startup:  # it counts anew, however far it has come
            self._startup = startup
            self._first_joules = {}
            self._last_joules = {}
        after = self._count("freshness")
        for _ in range(_MAX_TRIES):
            before = after
            stale = before is not None and before == self._freshness
            readings = [
                self._read_one(part, channel.name, stale)
                for part, channel in zip(self._parts, self.channels, strict=True)
            ]
            after = self._count("freshness")
            if after == before:
                break
        now = time.monotonic()
        if before is None or before != self._freshness:
            self._freshness, self._renewed = before, now
        elif now - self._renewed > max(STANDSTILL_S, _STOPPED_PERIODS * self.min_period):
            why = none("the node controller does not update it")
            return [reading._replace(watts=None, joules=None, quality=why) for reading in readings]
        return readings

    def _count(self, name: str) -> int | None:
        """The number in one of the files that describe the others."""
        try:
            match = _COUNT.match((self._folder / name).read_text("ascii", "replace")[:_MAX_TEXT])
        except OSError:
            return None
        return int(match[1]) if match else None

    def _read_one(self, part: NodePart, name: str, stale: bool) -> Reading:
        stamp = Stamp.now()
        watts, why = _value(part.power, "W")
        if watts is None:
            return stamp.middle().gap(self.name, name, why)
        joules = self._joules(part)
        quality = STALE if stale else OK
        return stamp.middle().reading(self.name, name, float(watts), quality, joules)

    def _joules(self, part: NodePart) -> float | None:
        """The energy since the first look at it."""
        if part.energy is not None:
            count = _value(part.energy, "J")[0]
        else:
            count = None
        if count is None:
            return None
        if count < self._last_joules.get(part.name, count):  # the node's controller began again
            del self._first_joules[part.name]
        self._last_joules[part.name] = count
        return float(count - self._first_joules.setdefault(part.name, count))

    def limits(self) -> list[PowerLimit]:
        """The caps beside the counters; 0 W is none."""
        limits = []
        for part, channel in zip(self._parts, self.channels, strict=True):
            cap, _ = _value(part.power.with_name(f"{part.power.name}_cap"), "W")
            limits.append(PowerLimit(channel.name, float(cap) if cap else None))
        return limits

    def close(self) -> None:
        """Nothing is held between readings."""


def _value(path: Path, unit: str) -> tuple[int | None, str]:
    """The number in a counter's file, or why there is none."""
    try:
        text = path.read_text("ascii", "replace")[:_MAX_TEXT]
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
