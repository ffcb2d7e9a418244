"""The tracks of a Perfetto trace: a tree of descriptors.

Each event names its track by the number (uuid) of a descriptor.
"""

from __future__ import annotations

import zlib
from collections import Counter
from functools import cached_property
from typing import Any

from powertui.data.formats.json_stats import clean
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

_MAX_PARENTS = 32  # above a track; more of them are a circle
_UINT64_MASK = (1 << 64) - 1  # a uuid is an unsigned number, read here as a signed one
_COUNTER_NAMES = {1: "thread time", 2: "instructions"}
_COUNTER_UNITS = {1: ("s", 1e-9), 2: ("", 1.0), 3: ("bytes", 1.0)}  # nanoseconds, a count, bytes


class Counting(NamedTuple):
    """How a counter's readings are to be taken."""

    unit: str
    scale: float
    incremental: bool


class TrackTarget(NamedTuple):
    """Where the events of one track go."""

    code: int
    process: str
    key: int
    name: str
    counter: Counting | None


@dataclass
class _Track:
    parent: int = 0
    name: str = ""
    pid: int | None = None
    tid: int | None = None
    thread_name: str = ""
    counter: Counting | None = None
    is_process: bool = False


class Tracks:
    """All tracks, and the names of processes and threads."""

    def __init__(self) -> None:
        self.rails: list[str] = []  # by number
        self._tracks: dict[int, _Track] = {}
        self._processes: dict[int, str] = {}  # names by pid
        self._threads: dict[tuple[int, int], str] = {}  # names by pid and tid
        self._sequences: dict[int, _Track] = {}
        self._rails: dict[tuple[int, int], int] = {}

    # ── what the trace says ──

    def describe(self, uuid: int, message: Any) -> None:
        """A track descriptor. Later ones add to it."""
        track = self._tracks.setdefault(uuid, _Track())
        parent = message.parent_uuid
        if parent >> 63:
            parent -= 1 << 64
        track.parent = parent or track.parent
        track.name = clean(message.name or message.static_name or message.atrace_name) or track.name
        if message.HasField("process"):
            track.is_process = True
            track.pid = message.process.pid
            self.process(message.process)
        if message.HasField("thread"):
            track.pid = message.thread.pid
            track.tid = message.thread.tid
            if message.thread.thread_name:
                self._threads[track.pid, track.tid] = clean(message.thread.thread_name)
        if message.HasField("counter"):
            track.name = track.name or _COUNTER_NAMES.get(message.counter.type, "")
            track.counter = _counting(message.counter)

    def process(self, message: Any) -> None:
        """A process descriptor."""
        name = message.process_name or (message.cmdline[0] if message.cmdline else "")
        if name:
            self._processes[message.pid] = clean(name)

    def tree(self, _packet: int, _sequence: int, message: Any) -> None:
        """The names of the processes and threads that ran on the machine."""
        for process in message.processes:
            if process.cmdline and process.cmdline[0]:
                self._processes.setdefault(process.pid, clean(process.cmdline[0]))
        for thread in message.threads:
            if thread.name:
                self._threads.setdefault((thread.tgid, thread.tid), clean(thread.name))

    def of_sequence(self, sequence: int, message: Any) -> None:
        """The thread that all events of a sequence are on, as old writers describe it."""
        self._sequences[sequence] = _Track(pid=message.pid, tid=message.tid)
        if message.thread_name:
            self._threads[message.pid, message.tid] = clean(message.thread_name)

    def rail(self, sequence: int, index: int, name: str, part: str) -> None:
        """A supply rail's name."""
        number = self.rail_number(sequence, index)
        self.rails[number] = clean(name or part) or self.rails[number]

    def rail_number(self, sequence: int, index: int) -> int:
        """Which of `rails` it is."""
        number = self._rails.setdefault((sequence, index), len(self.rails))
        if number == len(self.rails):
            self.rails.append(f"rail {index}")
        return number

    # ── where events go ──

    def place(self, code: int, key: int, *, by_uuid: bool) -> TrackTarget:
        """The line for this track (or, without a track, for this sequence of packets)."""
        if by_uuid:
            track = self._tracks.get(key)
            number = f"track {key & _UINT64_MASK}"
        else:
            track = self._sequences.get(key)
            number = f"sequence {key}"
        if track is None:
            name = number if key else "events"
            return TrackTarget(
                code=code,
                process="trace",
                key=_line_number(key),
                name=name,
                counter=None,
            )
        pid, tid = self._owner(track)
        process = self._process(pid)
        if track.tid is not None and track.pid is not None and not track.counter:
            name = self._threads.get((track.pid, track.tid)) or track.name or f"thread {track.tid}"
            return TrackTarget(
                code=code,
                process=process,
                key=track.tid,
                name=name,
                counter=None,
            )
        name = track.name
        if not name:
            name = "process" if track.is_process else f"track {key & _UINT64_MASK}"
        if track.counter is not None and tid is not None:
            thread = self._threads.get((pid or 0, tid)) or f"thread {tid}"
            name = f"{thread} {name}"
        return TrackTarget(
            code=code,
            process=process,
            key=_line_number(key),
            name=name,
            counter=track.counter,
        )

    @cached_property
    def _name_counts(self) -> Counter[str]:
        """How many processes have each name; used once all names are known."""
        return Counter(self._processes.values())

    def _owner(self, track: _Track) -> tuple[int | None, int | None]:
        """Process and thread of the nearest track above that has them."""
        tid = track.tid
        for _ in range(_MAX_PARENTS):
            if track.pid is not None:
                if tid is None:
                    tid = track.tid
                return track.pid, tid
            if track.parent:
                above = self._tracks.get(track.parent)
            else:
                above = None
            if above is None:
                break
            track = above
        return None, tid

    def _process(self, pid: int | None) -> str:
        if pid is None:
            return "trace"
        name = self._processes.get(pid)
        if not name:
            return f"process {pid}"
        if self._name_counts[name] > 1:
            return f"{name} {pid}"
        return name


def _counting(counter: Any) -> Counting:
    unit, scale = _COUNTER_UNITS.get(counter.unit, ("", 1.0))
    if counter.unit_name:
        unit = clean(counter.unit_name)
        scale = 1.0
    return Counting(unit, scale * (counter.unit_multiplier or 1), counter.is_incremental)


def _line_number(key: int) -> int:
    """The number of a line from its uuid: a short one, because people read it."""
    if 0 <= key < 1 << 31:
        return key
    return zlib.crc32(key.to_bytes(8, "little", signed=True))
