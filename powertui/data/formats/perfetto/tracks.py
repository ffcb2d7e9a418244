"""The tracks of a Perfetto trace: a tree of descriptors, of which each event names one by its
number (uuid).
"""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from powertui.data.formats.json_stats import clean

_FAR = 32  # parents above a track; more is a circle
_TYPES = {1: "thread time", 2: "instructions"}
_UNITS = {1: ("s", 1e-9), 2: ("", 1.0), 3: ("bytes", 1.0)}  # nanoseconds, a count, bytes


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
    """What is known of all tracks."""

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
        track.parent = (
            message.parent_uuid - (1 << 64)
            if message.parent_uuid >> 63
            else message.parent_uuid or track.parent
        )
        track.name = clean(message.name or message.static_name or message.atrace_name) or track.name
        if message.HasField("process"):
            track.is_process, track.pid = True, message.process.pid
            self.process(message.process)
        if message.HasField("thread"):
            track.pid, track.tid = message.thread.pid, message.thread.tid
            if message.thread.thread_name:
                self._threads[track.pid, track.tid] = clean(message.thread.thread_name)
        if message.HasField("counter"):
            told = message.counter
            unit, scale = (
                (clean(told.unit_name), 1.0) if told.unit_name else _UNITS.get(told.unit, ("", 1.0))
            )
            track.name = track.name or _TYPES.get(told.type, "")
            track.counter = Counting(unit, scale * (told.unit_multiplier or 1), told.is_incremental)

    def process(self, message: Any) -> None:
        """A process descriptor."""
        name = message.process_name or (message.cmdline[0] if message.cmdline else "")
        if name:
            self._processes[message.pid] = clean(name)

    def tree(self, _packet: int, _sequence: int, message: Any) -> None:
        """What ran on the machine."""
        for one in message.processes:
            if one.cmdline and one.cmdline[0]:
                self._processes.setdefault(one.pid, clean(one.cmdline[0]))
        for one in message.threads:
            if one.name:
                self._threads.setdefault((one.tgid, one.tid), clean(one.name))

    def of_sequence(self, sequence: int, message: Any) -> None:
        """Old writers: all events of a sequence are on this thread."""
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
        track = (self._tracks if by_uuid else self._sequences).get(key)
        if track is None:
            what = (
                f"track {key & (1 << 64) - 1}"
                if by_uuid and key
                else f"sequence {key}"
                if not by_uuid and key
                else "events"
            )
            return TrackTarget(code, "trace", _short(key), what, None)
        pid, tid = self._owner(track)
        process = self._process(pid)
        if track.tid is not None and track.pid is not None and not track.counter:
            return TrackTarget(
                code,
                process,
                track.tid,
                self._threads.get((track.pid, track.tid)) or track.name or f"thread {track.tid}",
                None,
            )
        name = track.name or ("process" if track.is_process else f"track {key & (1 << 64) - 1}")
        if track.counter is not None and tid is not None:
            name = f"{self._threads.get((pid or 0, tid)) or f'thread {tid}'} {name}"
        return TrackTarget(code, process, _short(key), name, track.counter)

    @cached_property
    def _name_counts(self) -> Counter[str]:
        """How many processes have each name. Asked for when all are known."""
        return Counter(self._processes.values())

    def _owner(self, track: _Track) -> tuple[int | None, int | None]:
        """Process and thread of the nearest track above that has them."""
        tid = track.tid
        for _ in range(_FAR):
            if track.pid is not None:
                return track.pid, tid if tid is not None else track.tid
            above = self._tracks.get(track.parent) if track.parent else None
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
        return f"{name} {pid}" if self._name_counts[name] > 1 else name


def _short(key: int) -> int:
    """A line's number from a uuid: any 63 bits would do, but people read it."""
    return key if 0 <= key < 1 << 31 else zlib.crc32(key.to_bytes(8, "little", signed=True))
