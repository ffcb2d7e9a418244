"""RAPL through the kernel's performance counters: `perf:`, for whom /sys/class/powercap is closed
and perf is not.

The kernel adds the processor's counters up to 64 bits, so nothing wraps. Where it had to share them
with others' events, it says for how long it counted: what it missed is unknown, and shown as a gap.
It takes either the right CAP_PERFMON or a system whose administrator has set
kernel.perf_event_paranoid to 0 or less: `perf stat -a -e power/energy-pkg/` works there, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import re
import struct
from functools import partial
from pathlib import Path

from powertui.errors import AuthenticationFailed, NotSupported
from powertui.named_tuples import NamedTuple
from powertui.sampler.energy_counter import CountedEnergy, motionless
from powertui.sampler.source import Channel, Info, Options, Reading, Stamp
from powertui.sampler.sysfs import FAULTS, read_number
from powertui.sampler.urls import Address

__all__ = ["PerfEvent", "PerfSource", "events", "make", "open_event"]

_FOLDER = "sys/bus/event_source/devices/power"
_SYSCALL = {"x86_64": 298, "AMD64": 298}  # perf_event_open; only these processors have the events
# type, size, config, sample_period, sample_type, read_format: the rest of perf_event_attr is 0.
_ATTR = struct.Struct("<IIQQQQ")
_ATTR_SIZE = 64  # bytes of its first version
# psys last: it is taken only where none of the parts that it includes was found.
_EVENT_PARTS = {
    "energy-pkg": ("package", "package"),
    "energy-ram": ("dram", "dram"),
    "energy-psys": ("psys", "plug"),
}
_CLOEXEC = 8  # PERF_FLAG_FD_CLOEXEC
_STANDSTILL_TEST_S = 0.2  # the processor renews them every millisecond
_WITH_TIMES = 1 | 2  # read_format: for how long the event was enabled, and was counted (ns)
_READ = struct.Struct("<qQQ")  # count, ns enabled, ns counted


class PerfEvent(NamedTuple):
    """One counter of one socket."""

    name: str  # "package-0"
    scope: str
    kind: int  # of the device that counts it
    config: int
    cpu: int  # one of the socket's
    joules: float  # of one count


def events(root: str) -> list[PerfEvent]:
    """The events that share no joule, for every socket.

    The platform's event is given where there is no other.
    """
    folder = Path(root) / _FOLDER
    kind, _ = read_number(folder / "type")
    if kind is None:
        return []
    cpus = [int(cpu) for cpu in re.findall(r"\d+", _text(folder / "cpumask"))] or [0]
    found_events: list[PerfEvent] = []
    for name, (part, scope) in _EVENT_PARTS.items():
        path = folder / "events" / name
        match = re.fullmatch(r"event=(0x[0-9a-fA-F]{1,8}|\d{1,9})", _text(path))
        scale = re.fullmatch(r"\d(\.\d+)?(e[-+]?\d{1,2})?", _text(path.with_name(f"{name}.scale")))
        unit = _text(path.with_name(f"{name}.unit"))
        if not match or not scale or unit != "Joules":
            continue
        if part == "psys" and found_events:  # the platform includes the others
            continue
        config = int(match[1], 0)
        joules = float(scale[0])
        for socket, cpu in enumerate(cpus):
            found_events.append(
                PerfEvent(
                    name=f"{part}-{socket}",
                    scope=scope,
                    kind=kind,
                    config=config,
                    cpu=cpu,
                    joules=joules,
                )
            )
    return found_events


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()[:200]
    except OSError:
        return ""


def open_event(event: PerfEvent) -> int:
    """A file that yields the count. Raises OSError."""
    fields = _ATTR.pack(event.kind, _ATTR_SIZE, event.config, 0, 0, _WITH_TIMES)
    library = ctypes.CDLL(None, use_errno=True)
    descriptor: int = library.syscall(
        ctypes.c_long(_SYSCALL[platform.machine()]),
        ctypes.c_char_p(fields.ljust(_ATTR_SIZE, b"\0")),
        ctypes.c_int(-1),  # of every process
        ctypes.c_int(event.cpu),
        ctypes.c_int(-1),  # in no group of events
        ctypes.c_ulong(_CLOEXEC),
    )
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return descriptor


class PerfSource:
    min_period = 0.05
    reconnects = 0

    def __init__(self, options: Options) -> None:
        self.name = "perf"
        self._options = options
        self.channels: tuple[Channel, ...] = ()
        self._open: list[tuple[PerfEvent, int]] = []
        self._counters: dict[str, CountedEnergy] = {}
        self._missed: dict[str, int] = {}  # ns in which the kernel did not count

    def open(self) -> Info:
        self._open_events(self._chosen_events())
        self._close_motionless()
        if not self._open:
            raise NotSupported(
                "The energy counters that perf offers here do not change.",
                hint="This is common in virtual machines.",
            )
        self._counters = {event.name: CountedEnergy(event.joules) for event, _ in self._open}
        note = "energy counter; watts are the mean since the last reading"
        self.channels = tuple(
            Channel(
                name=event.name,
                host="",
                scope=event.scope,
                quantum_w=None,
                kind="interval",
                note=note,
            )
            for event, _ in self._open
        )
        self.read()  # the first difference needs a start
        return Info("perf", "perf:", "", self.channels)

    def _chosen_events(self) -> list[PerfEvent]:
        every = events(self._options.root)
        if not every or platform.machine() not in _SYSCALL:
            raise NotSupported(
                "The kernel offers no energy counters to perf here.",
                hint="Intel and AMD processors have them.",
            )
        sensors = self._options.sensors
        chosen = [event for event in every if not sensors or event.name in sensors]
        if not chosen:
            raise NotSupported(
                f"No counter is called {' or '.join(sensors)}.",
                hint="The counters are: " + ", ".join(event.name for event in every) + ".",
            )
        return chosen

    def _close_motionless(self) -> None:
        counts = {event: partial(_peek, file) for event, file in self._open}
        dead = motionless(counts, _STANDSTILL_TEST_S)
        for event, file in list(self._open):
            if event in dead:
                self._open.remove((event, file))
                os.close(file)

    def _open_events(self, chosen: list[PerfEvent]) -> None:
        try:
            for event in chosen:
                self._open.append((event, open_event(event)))
        except OSError as error:
            self.close()
            if error.errno in (errno.EACCES, errno.EPERM):
                raise AuthenticationFailed(
                    "You may not read the energy counters through perf.",
                    hint="Ask the administrator for kernel.perf_event_paranoid=0.",
                ) from None
            raise NotSupported(f"perf cannot count {event.name}: {error.strerror}.") from None

    def read(self) -> list[Reading]:
        return [
            reading
            for event, file in self._open
            if (reading := self._read_one(event, file)) is not None
        ]

    def _read_one(self, event: PerfEvent, file: int) -> Reading | None:
        stamp = Stamp.now()
        try:
            count, missed = _count(file)
        except (OSError, struct.error) as error:
            why = FAULTS.get(getattr(error, "errno", 0) or 0, "it cannot be read")
            return stamp.middle().gap(self.name, event.name, why)
        answered = stamp.middle()
        if missed != self._missed.setdefault(event.name, missed):
            self._missed[event.name] = missed
            self._counters[event.name].forget()
            return answered.gap(self.name, event.name, "the kernel counted only a part of the time")
        counted = self._counters[event.name].take(count, answered.mono)
        if counted is None:
            return None
        return counted.reading(answered, self.name, event.name)

    def close(self) -> None:
        for _, file in self._open:
            with contextlib.suppress(OSError):
                os.close(file)
        self._open = []


def _count(file: int) -> tuple[int, int]:
    """(the count, the ns in which it was not counted)."""
    count, enabled_ns, running_ns = _READ.unpack(os.read(file, _READ.size))
    return count, enabled_ns - running_ns


def _peek(file: int) -> int | None:
    try:
        return _count(file)[0]
    except (OSError, struct.error):
        return None


def make(_address: Address, options: Options) -> PerfSource:
    return PerfSource(options)
