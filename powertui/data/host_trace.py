"""The profiles of a run of many hosts: what is small of each stays, its events are read when asked
for, and let go of when others need the room.

Whoever asks a line for its events, or a trace for its names, does not notice: they are read again
from the file, which has to be the one that was read before.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import fields
from typing import Any, TypeVar

from powertui.data.formats import registry
from powertui.data.limits import MemoryLimit
from powertui.data.model import Clock, Process, Trace, Track
from powertui.data.wire.stored import FileState
from powertui.errors import FileChanged
from powertui.value_types import dataclass

_T = TypeVar("_T")

# Columns of events that are kept, of all hosts of a run together. Half of the memory that a page of
# 512 hosts may take is for what is worked out of them. At 256 MiB, 40 hosts of 200,000 events stay;
# at 1 GiB, 160.
_HELD_BYTES = 512 << 20


class HeldEvents:
    """The events of the hosts that were asked for last."""

    def __init__(self, max_bytes: int = _HELD_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.RLock()
        self._traces: OrderedDict[int, tuple[Trace, int]] = OrderedDict()  # by host
        self._bytes = 0
        self._listeners: list[weakref.WeakMethod[Callable[[int], None]]] = []
        self.reads = 0  # how often a host was read again

    def listen(self, on_dropped: Callable[[int], None]) -> None:
        """Tell this method of each host whose events are let go of, as long as its object lives."""
        self._listeners.append(weakref.WeakMethod(on_dropped))

    def put(self, host: int, trace: Trace) -> None:
        """The events of a host, just read."""
        dropped = []
        with self._lock:
            self._forget(host)
            size = _event_bytes(trace)
            self._traces[host] = (trace, size)
            self._bytes += size
            while self._bytes > self._max_bytes and len(self._traces) > 1:
                oldest = next(iter(self._traces))
                self._forget(oldest)
                dropped.append(oldest)
        for reference in list(self._listeners) if dropped else ():
            listener = reference()
            if listener is not None:
                for number in dropped:
                    listener(number)

    def events(self, host: int, read: Callable[[], Trace]) -> Trace:
        """A host with its events."""
        with self._lock:
            held = self._traces.get(host)
            if held is not None:
                self._traces.move_to_end(host)
                return held[0]
            self.reads += 1
            trace = read()  # whoever else asks for this host waits for it
        self.put(host, trace)
        return trace

    def _forget(self, host: int) -> None:
        _, size = self._traces.pop(host, (None, 0))
        self._bytes -= size


def _event_bytes(trace: Trace) -> int:
    """Memory that the columns of a trace take."""
    total = 0
    for _, track in trace.tracks():
        events = track.events
        columns = (events.start, events.duration, events.name, events.place, track.lanes)
        total += sum(column.nbytes for column in columns)
    return total + sum(counter.times.nbytes + counter.values.nbytes for counter in trace.counters)


@dataclass(frozen=True, eq=False)
class FileOfEvents:
    """Where the events of one host are read again."""

    path: str
    stamp: FileState
    limit: MemoryLimit
    host: int  # in its run
    held: HeldEvents

    def events(self) -> Trace:
        """The host with its events. Raises `FileChanged` if the file is another one now."""
        return self.held.events(self.host, self._read)

    def _read(self) -> Trace:
        *_, trace = registry.load(self.path, limit=self.limit)
        if trace.stamp != self.stamp:
            raise FileChanged(self.path, "changed since it was read")
        return trace


class _ReadAgain:
    """A field that is read when asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(
        self,
        owner: HostTrace | _HostProcess | _HostTrack | None,
        kind: object = None,
    ) -> Any:
        return self if owner is None else getattr(owner.read(), self._name)


class _HostTrack(Track):
    """A line of the profile of one host of many."""

    file: FileOfEvents
    process: int
    number: int  # in its process
    _event_count: int

    def read(self) -> Track:
        """The line with its events."""
        return self.file.events().processes[self.process].tracks[self.number]

    @property
    def event_count(self) -> int:
        """How many events it has."""
        return self._event_count


class _HostProcess(Process):
    """A plane of the profile of one host of many."""

    file: FileOfEvents
    number: int

    def read(self) -> Process:
        """The plane with its events."""
        return self.file.events().processes[self.number]


class HostTrace(Trace):
    """The profile of one host of many."""

    file: FileOfEvents
    _prepared: dict[Hashable, Any]

    def read(self) -> Trace:
        """The profile with its events."""
        return self.file.events()

    def prepared(self, key: Hashable) -> Any:
        """An answer about this host that came with it; None where there is none."""
        return self._prepared.get(key)

    def on_dropped(self, listener: Callable[[int], None]) -> None:
        """Call `listener` with the number of each host of its run whose events are let go of."""
        self.file.held.listen(listener)

    def with_clock(self, clock: Clock) -> Trace:
        """The same on another clock."""
        return _made(HostTrace, {**self.__dict__, "clock": clock})


# What grows with the events, or refers to what does.
_READ_AGAIN: dict[type, tuple[str, ...]] = {
    _HostTrack: ("events", "lanes", "aggregates"),
    _HostProcess: ("source",),
    HostTrace: (
        "names",
        "counters",
        "memory_counters",
        "allocators",
        "arrows",
        "exported_steps",
    ),
}
for _kind, _names in _READ_AGAIN.items():
    for _name in _names:
        setattr(_kind, _name, _ReadAgain(_name))


def _made(kind: type[_T], values: dict[str, Any]) -> _T:
    """An object of these fields; all others are read again."""
    made = kind.__new__(kind)
    made.__dict__.update(values)
    return made


def _small(kind: type, value: Any) -> dict[str, Any]:
    names = [field.name for field in fields(value)]
    return {name: getattr(value, name) for name in names if name not in _READ_AGAIN[kind]}


def small_fields(trace: Trace) -> dict[str, Any]:
    """What stays of a trace without its events; it can be sent."""
    small = _small(HostTrace, trace)
    small["processes"] = [
        {
            **_small(_HostProcess, process),
            "tracks": [
                {**_small(_HostTrack, track), "_event_count": track.event_count}
                for track in process.tracks
            ],
        }
        for process in trace.processes
    ]
    return small


def host_trace(
    small: dict[str, Any],
    file: FileOfEvents,
    answers: dict[Hashable, Any],
) -> HostTrace:
    """A trace from what `small_fields` gave, and what is known of its host already."""
    processes = []
    for number, process in enumerate(small["processes"]):
        tracks = [
            _made(_HostTrack, {**track, "file": file, "process": number, "number": place})
            for place, track in enumerate(process["tracks"])
        ]
        values = {**process, "tracks": tuple(tracks), "file": file, "number": number}
        processes.append(_made(_HostProcess, values))
    values = {**small, "processes": tuple(processes), "stamp": file.stamp, "file": file}
    return _made(HostTrace, {**values, "_prepared": answers})
