"""One profile as read: planes, their lines, lanes of events, and what the profile says of each
event.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from powertui.data.model.arrows import Arrows
from powertui.data.model.ground import Badge, Bools, Clock, Floats, Int64s, UInt32s, UInt64s, Warn
from powertui.data.wire.stored import FileState
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.model.allocations import AllocatorLog
    from powertui.data.model.steps import Epochs, Steps
    from powertui.data.texts import Texts


StatKind = Literal["double", "uint64", "int64", "str", "bytes", "ref"]


class Stat(NamedTuple):
    """One name-value pair.

    Names may repeat within one event: keep the order, do not make a dict.
    """

    name: str
    value: int | float | str | bytes
    kind: StatKind


@dataclass(frozen=True, eq=False)
class StatColumn:
    """One named stat for many events. Row i of the request has it iff `present[i]`.

    The type is unstable within one file (int64 turns into uint64, double into int64 when it is
    zero), so each row keeps the kind that was found: ask for the view that is needed.
    """

    present: Bools
    ints: Int64s  # 0 where absent or not a whole number; uint64 values wrap
    floats: Floats  # NaN where absent or not a number
    texts: Sequence[str | None] | None  # decoded only when some row holds text; None for the others

    def __len__(self) -> int:
        return len(self.present)

    def text(self, row: int) -> str | None:
        """The value of one row as a person would read it."""
        if not self.present[row]:
            return None
        if self.texts is not None and self.texts[row] is not None:
            return self.texts[row]
        value = self.floats[row]
        if value == int(self.ints[row]):
            return str(int(self.ints[row]))
        return repr(float(value))


class StatSource(Protocol):
    """Decodes stats when someone asks.

    Each process (plane) has its own: names are numbered per plane.
    """

    def event_stats(self, position: int) -> tuple[Stat, ...]:
        """All stats of the event at this position, in file order."""
        ...

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """The first value of each named stat for each of these events, in one pass over the
        bytes.
        """
        ...


@dataclass(frozen=True, eq=False)
class Events:
    """Events as four parallel columns: 24 bytes each (28 where `place` has to be wide), and not one
    byte copied that can be pointed at.
    """

    start: Int64s  # ps since the profile's zero
    duration: Int64s  # ps; zero-duration events are events
    name: UInt32s  # index into Trace.names
    place: UInt32s | UInt64s  # the position, counted from `origin`
    origin: int = 0

    def __len__(self) -> int:
        return len(self.start)

    @property
    def position(self) -> UInt64s:
        """Where each event lies in its source; hand it to Process.source.

        A new array: of some rows ask `positions`.
        """
        return self.positions(slice(None))

    def positions(self, rows: slice | npt.NDArray[Any]) -> UInt64s:
        """The positions of these rows."""
        wide: UInt64s = self.place[rows].astype(np.uint64)
        wide += np.uint64(self.origin)
        return wide

    def position_of(self, row: int) -> int:
        """The position of one event."""
        return int(self.place[row]) + self.origin

    @property
    def end(self) -> Int64s:
        """start + duration (a new array)."""
        return self.start + self.duration

    def __getitem__(self, rows: slice | npt.NDArray[Any]) -> Events:
        return Events(
            start=self.start[rows],
            duration=self.duration[rows],
            name=self.name[rows],
            place=self.place[rows],
            origin=self.origin,
        )


@dataclass(frozen=True, eq=False)
class Aggregates:
    """Events that say only how often something ran (num_occurrences): in tables, never in the
    timeline.
    """

    name: UInt32s
    occurrences: Int64s
    duration: Int64s
    position: UInt64s

    def __len__(self) -> int:
        return len(self.name)


class TrackKind(str, enum.Enum):
    """What a line of the profile stands for."""

    THREAD = "thread"  # a host thread
    STREAM = "stream"  # a device stream or engine: real work
    STEPS = "steps"
    MODULES = "modules"
    OPS = "ops"  # framework or XLA ops drawn from other lines
    SCOPE = "scope"  # name scopes, source lines
    COUNTER = "counter"
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class Track:
    """One line of the profile. Its events are kept lane by lane: lane 0 first, each lane by start.

    Within a lane nothing overlaps (zero-duration events may coincide), so a lane can be searched
    and summed; an event of lane d+1 lies inside an event of lane d wherever the file nests
    properly.
    """

    key: int  # the line's id as found: not unique, not ordered, sometimes negative
    name: str
    kind: TrackKind
    derived: bool  # drawn from other lines by the collector: never add it to the lines it came from
    events: Events
    lanes: Int64s  # lane d is events[lanes[d]:lanes[d + 1]]
    aggregates: Aggregates | None = None

    @property
    def lane_count(self) -> int:
        return len(self.lanes) - 1

    @property
    def event_count(self) -> int:
        """How many events it has; known where they are not at hand."""
        return len(self.events)

    def lane(self, depth: int) -> Events:
        """The events of one nesting depth, by start."""
        return self.events[self.rows_of_lane(depth)]

    def rows_of_lane(self, depth: int) -> slice:
        """Where the events of one nesting depth are among all of the line."""
        first = int(self.lanes[depth])
        after_last = int(self.lanes[depth + 1])
        return slice(first, after_last)

    def depth_of(self, row: int) -> int:
        """The lane that holds this row of `events`."""
        return int(np.searchsorted(self.lanes, row, side="right")) - 1


class ProcessKind(str, enum.Enum):
    HOST = "host"
    DEVICE = "device"
    META = "meta"  # holds no time: task environment, HLO protos
    OTHER = "other"


@dataclass(frozen=True, eq=False)
class Process:
    """One plane of the profile: a host or a device, with its lines."""

    name: str
    kind: ProcessKind
    tracks: tuple[Track, ...]
    stats: tuple[Stat, ...]  # capabilities of a device, start and stop of a session
    source: StatSource
    empty: bool = False  # a device that is there but recorded nothing: counted, not drawn

    @property
    def event_count(self) -> int:
        return sum(track.event_count for track in self.tracks)

    @property
    def recorded_tracks(self) -> list[Track]:
        """The lines that hold events, without those that a collector drew from other lines."""
        return [track for track in self.tracks if not track.derived and len(track.events)]


class Names(Protocol):
    """The event names of a trace. Index i is what `Events.name` holds; texts may repeat."""

    def __len__(self) -> int: ...
    def full(self, index: int) -> str:
        """The name as recorded ("gradient_tape/dense/MatMul:MatMul")."""
        ...

    def display(self, index: int) -> str:
        """The short name that viewers show; the full one where there is none."""
        ...

    def stats(self, index: int) -> tuple[Stat, ...]:
        """Stats that hold for every event of this name (the HLO text, flops …)."""
        ...

    def texts(self, indices: Int64s, *, display: bool = False) -> Texts:
        """Many full names at once; or the short ones, each empty where viewers show the
        full one.
        """
        ...


class CountedEvents(NamedTuple):
    """What was counted from the start to the end of each of some events, by start."""

    start: Int64s  # ps
    end: Int64s
    value: Floats


@dataclass(frozen=True, eq=False)
class Counter:
    """A quantity that a trace recorded beside its events: memory in use, a clock rate, the energy
    of a supply rail.
    """

    name: str
    unit: str  # "bytes", "W", "J"; "" where the trace does not tell
    process: str  # the name of the process that it belongs to; "" for the machine
    times: Int64s  # ps since the profile's zero, ascending
    values: Floats  # what holds from each time on
    counted: CountedEvents | None = None  # where it was counted over events, with 0 between them
    scale: Badge = Badge.MEASURED  # ASSUMED where its unit is a guess

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class ProcessLaunch:
    """How a launcher started a process, as far as its trace says: numbers from 0."""

    rank: int | None = None
    local_rank: int | None = None  # among the processes of its machine
    local_size: int | None = None  # how many processes its machine has
    world_size: int | None = None  # how many processes the job has
    node: int | None = None  # of its machine among those of the job


@dataclass(frozen=True, eq=False)
class Trace:
    """One profile of one host, as read."""

    path: str
    host: str  # from the file's name: the names inside files are not to be trusted
    format: str  # the reader that made it: "xplane", "trace_json"
    processes: tuple[Process, ...]
    names: Names
    clock: Clock
    span: tuple[int, int]  # first start and last end in ps; (0, 0) when nothing happened
    event_count: int  # every event in the file, aggregates included
    warnings: tuple[Warn, ...] = ()
    complete: bool = True  # False while it is still loading, or when reading was broken off
    stop_ns: int | None = None  # Unix ns of the profile's end, when the file says so
    size: int = 0  # bytes of the file
    stamp: FileState | None = None  # the state of the file that was read; None for a pipe
    # As the file itself says; wrong in copies and in containers.
    hostnames: tuple[str, ...] = ()
    # The host that the profiled process ran on; "" where its profiler does not write that.
    machine: str = ""
    # How its process was started; None where the profile's file is named after its host.
    launch: ProcessLaunch | None = None
    # Of the access tokens and passwords that the file holds beside its events.
    secret_names: tuple[str, ...] = ()
    # What of a cut or damaged file could not be read, where it may be what took the time; "" of a
    # whole one. It goes on after "The profile is incomplete: ".
    missing: str = ""
    # The indices of names that lay in the missing part of such a file: of no known kind.
    lost_names: range = range(0)
    counters: tuple[Counter, ...] = ()
    # What allocators took and gave back, where the trace recorded it.
    allocators: Sequence[AllocatorLog] = ()
    # The bytes in use by these logs, where a reader leaves both to whoever asks; else the trace's
    # counters hold them.
    memory_counters: Sequence[Counter] = ()
    arrows: Arrows | None = None  # from one event to another, where the trace draws any
    # Steps and epochs as they were when powertui exported this trace; None for all other traces.
    exported_steps: tuple[Steps, Epochs] | None = None

    def with_clock(self, clock: Clock) -> Trace:
        """The same on another clock."""
        return replace(self, clock=clock)

    def prepared(self, key: Hashable) -> Any:
        """An answer about this host that came with it; None where there is none."""
        return None

    def on_dropped(self, listener: Callable[[int], None]) -> None:
        """Call `listener` with the number of a host whose events are let go of. Those of a trace
        that was read whole never are.
        """

    def all_counters(self) -> tuple[Counter, ...]:
        """The counters with those of memory, which are read for it if nobody asked before."""
        return (*self.memory_counters, *self.counters)

    def tracks(self) -> Iterator[tuple[Process, Track]]:
        """All lines with their planes, in drawing order."""
        for process in self.processes:
            for track in process.tracks:
                yield process, track

    def track_numbers(self) -> dict[int, int]:
        """The number of each line over `tracks()`, by the `id` of the line."""
        return {id(track): number for number, (_, track) in enumerate(self.tracks())}

    def threads(self) -> Iterator[tuple[int, Process, Track]]:
        """The lines of hosts with events of their own, each with its number over `tracks()`."""
        for number, (process, track) in enumerate(self.tracks()):
            if process.kind is ProcessKind.HOST and not track.derived and len(track.events):
                yield number, process, track

    def track(self, number: int) -> Track:
        """The line of this number, over `tracks()`."""
        return list(self.tracks())[number][1]

    @property
    def devices(self) -> tuple[str, ...]:
        """The device planes, with those that recorded nothing."""
        return tuple(p.name for p in self.processes if p.kind is ProcessKind.DEVICE)
