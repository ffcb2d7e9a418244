"""The ground that everything stands on: frozen columns for traces, steps and power.

Time inside a profile is int64 **picoseconds since that profile's own zero** (106 days fit). Wall time is
never mixed in: a `Clock` says where the zero lies, as an interval in Unix nanoseconds, and on what
evidence. A power log is int64 **nanoseconds since its own zero** (a year of a rack's log must fit, and no
sensor resolves less), with a `Clock` of the same kind. `PowerOnTrace` is the one place where both meet.

Nothing here reads a file, draws, or computes an answer.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from powertui.data.packed import packs
from powertui.data.wire.stored import FileState
from powertui.data.wire.types import Bools as Bools
from powertui.data.wire.types import Int32s as Int32s
from powertui.data.wire.types import Int64s as Int64s
from powertui.data.wire.types import UInt8s as UInt8s
from powertui.data.wire.types import UInt32s as UInt32s
from powertui.data.wire.types import UInt64s as UInt64s

if TYPE_CHECKING:
    from powertui.data.texts import Texts

Floats: TypeAlias = npt.NDArray[np.float64]

PS_PER_NS = 1_000
PS_PER_US = 1_000_000
PS_PER_S = 1_000_000_000_000
NS_PER_S = 1_000_000_000


class Badge(str, enum.Enum):
    """How far a number can be trusted. Every figure that reaches a person carries one."""

    MEASURED = "measured"  # counted or integrated from samples
    ESTIMATED = "estimated"  # a model, with its interval
    ASSUMED = "assumed"  # a default or a convention


class Figure(NamedTuple):
    """One number with its badge."""

    value: float
    badge: Badge


@dataclass(frozen=True)
class Warn:
    """Something that could not be read or believed. Counted, shown, never raised."""

    file: str
    where: str  # "byte 1234", "row 7", "plane /host:CPU"; "" when it is the whole file
    cause: str
    count: int = 1

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        times = f", {self.count} times" if self.count > 1 else ""
        file = "standard input" if self.file == "-" else self.file
        return f"{file}{place}: {self.cause}{times}"


# ── clock ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Clock:
    """Where a zero lies in Unix time: an interval in ns, and the evidence for it.

    `source` names the evidence: for a profile a rung of the ladder in `data/run/clocks.py` ("task environment" …
    "file time"), for a power log how its times were read, and "none". Without evidence both ends are None:
    relative time only.
    """

    lo_ns: int | None = None
    hi_ns: int | None = None
    source: str = "none"
    detail: str = ""  # one clause for a person: which file, which rule
    utc_offset_s: int | None = None  # of the profiled machine, when the evidence tells

    @property
    def known(self) -> bool:
        return self.lo_ns is not None and self.hi_ns is not None

    @property
    def mid_ns(self) -> int:
        """The middle of the interval. Ask `known` first."""
        assert self.lo_ns is not None
        assert self.hi_ns is not None
        return (self.lo_ns + self.hi_ns) // 2

    @property
    def half_ns(self) -> int:
        """Half the width of the interval: the ± of every wall time derived from this clock."""
        assert self.lo_ns is not None
        assert self.hi_ns is not None
        return (self.hi_ns - self.lo_ns) // 2


# ── stats: what a profile says of one event ──────────────────────────────────────────────────────

StatKind = Literal["double", "uint64", "int64", "str", "bytes", "ref"]


class Stat(NamedTuple):
    """One name-value pair. Names may repeat within one event: keep the order, do not make a dict."""

    name: str
    value: int | float | str | bytes
    kind: StatKind


@dataclass(frozen=True, eq=False)
class StatColumn:
    """One named stat for many events. Row i of the request has it iff `present[i]`.

    The type is unstable within one file (int64 turns into uint64, double into int64 when it is zero),
    so each row keeps the kind that was found: ask for the view that is needed.
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
        return str(int(self.ints[row])) if value == int(self.ints[row]) else repr(float(value))


class StatSource(Protocol):
    """Decodes stats when someone asks. Each process (plane) has its own: names are numbered per plane."""

    def of(self, position: int) -> tuple[Stat, ...]:
        """All stats of the event at this position, in file order."""
        ...

    def columns(self, positions: UInt64s, names: Sequence[str]) -> dict[str, StatColumn]:
        """The first value of each named stat for each of these events, in one pass over the bytes."""
        ...


# ── trace ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Events:
    """Events as four parallel columns: 24 bytes each (28 where `place` has to be wide), and not one byte copied that can be
    pointed at."""

    start: Int64s  # ps since the profile's zero
    duration: Int64s  # ps; zero-duration events are events
    name: UInt32s  # index into Trace.names
    place: UInt32s | UInt64s  # the position, counted from `origin`
    origin: int = 0

    def __len__(self) -> int:
        return len(self.start)

    @property
    def position(self) -> UInt64s:
        """Where each event lies in its source; hand it to Process.source. A new array: of some rows ask `positions`."""
        return self.positions(slice(None))

    def positions(self, rows: slice | npt.NDArray[Any]) -> UInt64s:
        """The positions of these rows."""
        wide: UInt64s = self.place[rows].astype(np.uint64) + np.uint64(self.origin)
        return wide

    def position_of(self, row: int) -> int:
        """The position of one event."""
        return int(self.place[row]) + self.origin

    @property
    def end(self) -> Int64s:
        """start + duration (a new array)."""
        return self.start + self.duration

    def __getitem__(self, rows: slice | npt.NDArray[Any]) -> Events:
        return Events(self.start[rows], self.duration[rows], self.name[rows], self.place[rows], self.origin)


@dataclass(frozen=True, eq=False)
class Aggregates:
    """Events that say only how often something ran (num_occurrences): in tables, never in the timeline."""

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

    Within a lane nothing overlaps (zero-duration events may coincide), so a lane can be searched and
    summed; an event of lane d+1 lies inside an event of lane d wherever the file nests properly.
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

    def lane(self, depth: int) -> Events:
        """The events of one nesting depth, by start."""
        return self.events[slice(int(self.lanes[depth]), int(self.lanes[depth + 1]))]

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
        return sum(len(track.events) for track in self.tracks)


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
        """Many full names at once; or the short ones, each empty where viewers show the full one."""
        ...


@dataclass(frozen=True, eq=False)
class Counter:
    """A quantity that a trace recorded beside its events: memory in use, a clock rate, the energy of a supply rail."""

    name: str
    unit: str  # "bytes", "W", "J"; "" where the trace does not tell
    process: str  # the name of the process that it belongs to; "" for the machine
    times: Int64s  # ps since the profile's zero, ascending
    values: Floats  # what holds from each time on

    def __len__(self) -> int:
        return len(self.times)


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
    hostnames: tuple[str, ...] = ()  # as the file itself says: copies and containers make them wrong
    counters: tuple[Counter, ...] = ()
    told: tuple[Steps, Epochs] | None = None  # as an earlier reading had them: in a trace that powertui itself exported

    def tracks(self) -> Iterator[tuple[Process, Track]]:
        """All lines with their planes, in drawing order."""
        for process in self.processes:
            for track in process.tracks:
                yield process, track

    @property
    def devices(self) -> tuple[str, ...]:
        """The device planes, with those that recorded nothing."""
        return tuple(p.name for p in self.processes if p.kind is ProcessKind.DEVICE)


# ── steps and epochs ─────────────────────────────────────────────────────────────────────────────

UNKNOWN = -1  # a time that nothing tells: never 0, which is a time


def _unknown() -> Int64s:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Step:
    """One step, for a person. `number` is the program's own; -1 where it has none. A time that nothing tells is None."""

    index: int
    number: int
    name: str
    start: int
    duration: int  # of the stretch that it is drawn as
    start_to_start: int | None  # to the next step of the same epoch; None for the last, and before a hole
    epoch: int | None  # index into Epochs
    host: int | None = None  # how long its marker was open: the dispatch
    device: int | None = None  # device work that belongs to it, each moment once
    step: int | None = None  # by TensorFlow's rule

    until: int | None = None  # where other work begins before the next step

    @property
    def end(self) -> int:
        """Where it ends: see `Steps.ends`."""
        return max(self.start + (self.start_to_start or self.duration), self.until or self.start)


@dataclass(frozen=True, eq=False)
class StepsOn:
    """The steps of one device, or of one of several replicas on a host: which of the run's steps each is, and where it lies."""

    name: str  # "/device:GPU:4", "python/4711"
    kind: Literal["device", "replica"]
    row: Int64s  # of the run's steps
    start: Int64s
    duration: Int64s
    work: Int64s  # its work, each moment once; UNKNOWN where nothing tells

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True)
class Marker:
    """Something that could mark the steps, and how it was judged."""

    name: str  # for a person: "events named Profiled batch with a step_num"
    pattern: str  # what --step-marker takes to choose it
    count: int  # of its steps
    score: float  # 0 … 1
    why: str  # what the score is made of


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of one trace as columns, by start, and what marked them.

    A step has three times. `host` is how long the program's marker was open (the dispatch); `device` the device work that belongs
    to it, each moment once, gaps between devices left out; `step` what TensorFlow's profiler calls its time: the longest step line
    of a device, unless the host's marker holds that. `start` and `duration` are the stretch that it lies in: where several devices
    overlap, from the first to the last of them.
    """

    number: Int64s
    start: Int64s
    duration: Int64s
    epoch: Int32s  # index into the run's epochs, -1 for none
    names: Sequence[str]
    source: str  # for a person: "events named `Profiled batch` with a step_num"
    asynchronous: bool = False  # the marker ends before the work does: judge by device time and start to start
    host: Int64s = field(default_factory=_unknown)  # ps, UNKNOWN where no marker of a host tells
    device: Int64s = field(default_factory=_unknown)  # ps, UNKNOWN where no device tells
    step: Int64s = field(default_factory=_unknown)  # ps; left out: the duration
    hole: Bools = field(default_factory=lambda: np.empty(0, np.bool_))  # the next step does not follow at once: numbers are missing
    until: Int64s = field(default_factory=_unknown)  # where other work begins before the next step: a validation; UNKNOWN for none
    device_by: str = ""  # how work was given to steps: "launch", "run id", "group id", "device step line", "time"; "" without any
    inferred: bool = False  # nothing marks these steps: they are launches that repeat
    confidence: str = ""  # in words: how far to trust them, and what would tell more
    on: tuple[StepsOn, ...] = ()  # the steps of each device, and of each replica where several run side by side
    markers: tuple[Marker, ...] = ()  # what was judged: the chosen one first
    notes: tuple[str, ...] = ()  # what a person should know of them, a sentence each

    def __post_init__(self) -> None:
        count = len(self.start)
        for name, left_out in (("host", UNKNOWN), ("device", UNKNOWN), ("hole", False), ("until", UNKNOWN)):
            column = getattr(self, name)
            if len(column) != count:
                object.__setattr__(self, name, np.full(count, left_out, column.dtype))
        if len(self.step) != count:
            object.__setattr__(self, "step", self.duration)

    def __len__(self) -> int:
        return len(self.start)

    def start_to_start(self) -> Int64s:
        """Distance to the next step's start; -1 for the last of an epoch, and before missing numbers or other work."""
        out = np.full(len(self.start), -1, np.int64)
        if len(out) > 1:
            follows = (self.epoch[1:] == self.epoch[:-1]) & ~self.hole[:-1] & (self.until[:-1] == UNKNOWN)
            out[:-1] = np.where(follows, np.diff(self.start), -1)
        return out

    def ends(self) -> Int64s:
        """Where each step ends: where the next one of its epoch starts, or a validation begins; where its own stretch ends before
        missing numbers and at the end of an epoch.

        The one rule for everything that counts by steps: energies, windows, exports, the lane of steps. A marker may end before the
        work does (asynchronous dispatch), and what runs between two markers belongs to the first.
        """
        gaps = self.start_to_start()
        ends = self.start + np.where(gaps > 0, gaps, self.duration)
        if len(ends) > 1:
            inside = (self.epoch[1:] == self.epoch[:-1]) & ~self.hole[:-1]
            ends[:-1] = np.where(inside, np.maximum(ends[:-1], self.until[:-1]), ends[:-1])
        return ends

    def __getitem__(self, index: int) -> Step:
        index = range(len(self))[index]
        gap: int | None = None
        until = None
        if index + 1 < len(self) and self.epoch[index + 1] == self.epoch[index] and not self.hole[index]:
            until = _known(self.until[index])
            if until is None:
                gap = int(self.start[index + 1] - self.start[index])
        epoch = int(self.epoch[index])
        return Step(
            index, int(self.number[index]), self.names[index], int(self.start[index]),
            int(self.duration[index]), gap, epoch if epoch >= 0 else None,
            _known(self.host[index]), _known(self.device[index]), _known(self.step[index]), until,
        )  # fmt: skip

    def __iter__(self) -> Iterator[Step]:
        return (self[i] for i in range(len(self)))

    @classmethod
    def none(cls, why: str = "") -> Steps:
        """No step was found; `why` says it in a sentence."""
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, np.empty(0, np.int32), (), why)


def _known(ps: np.int64) -> int | None:
    return int(ps) if ps != UNKNOWN else None


@dataclass(frozen=True)
class Epoch:
    """One pass over the data, in trace time (ps). A bound that nothing tells is None.

    `slack` is the ± of the bounds in ps: wall times from tfevents carry the clock's interval.
    """

    number: int  # the program's own, from 0
    start: int | None
    end: int | None
    source: str
    slack: int = 0
    scalars: tuple[tuple[str, float], ...] = ()  # ("epoch_loss", 0.41) as logged at its end


@dataclass(frozen=True)
class Phase:
    """A stretch that is neither step nor epoch but has a name: a validation run, tracing."""

    name: str
    start: int
    end: int
    epoch: int | None
    source: str


@dataclass(frozen=True)
class Epochs:
    """The epochs of a run, by number, and the named stretches between them."""

    epochs: tuple[Epoch, ...] = ()
    phases: tuple[Phase, ...] = ()
    source: str = ""

    def __len__(self) -> int:
        return len(self.epochs)

    def bounds(self, index: int, steps: Steps, mine: Int64s | None = None) -> tuple[int, int] | None:
        """Where an epoch lies: what it says itself, else from its first step to the end of its last. None when neither tells.

        `mine` are the rows of its steps, where the caller has those of all epochs at hand.
        """
        epoch = self.epochs[index]
        lo, hi = epoch.start, epoch.end
        if lo is None or hi is None:
            mine = np.flatnonzero(steps.epoch == index) if mine is None else mine
            if len(mine):
                lo = int(steps.start[mine].min()) if lo is None else lo
                hi = int(steps.ends()[mine].max()) if hi is None else hi
        return (lo, hi) if lo is not None and hi is not None and hi > lo else None

    def __getitem__(self, index: int) -> Epoch:
        return self.epochs[index]

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)


@packs("steps", "wall_ns", "values")
@dataclass(frozen=True, eq=False)
class ScalarSeries:
    """One tag of one tfevents file."""

    path: str
    group: str  # "train", "validation", or "" at the top
    tag: str
    steps: Int64s
    wall_ns: Int64s
    values: Floats


# ── power ────────────────────────────────────────────────────────────────────────────────────────


class Scope(str, enum.Enum):
    """What a power figure covers. Scopes nest: NODE holds all others, PACKAGE holds CORE."""

    NODE = "node"
    PACKAGE = "package"
    CORE = "core"
    DRAM = "dram"
    GPU = "gpu"
    RAIL = "rail"  # one supply rail or component: fans, PCIe …
    PLUG = "plug"  # a wall plug or PDU outlet: at least the node
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Device:
    """Which device of its host a channel speaks of, as the log names it. What the log does not tell is None or empty."""

    index: int | None = None  # as its driver counts (0, 1 …): CUDA_VISIBLE_DEVICES may reorder it
    uuid: str = ""  # "GPU-8f6e2a54-…"
    pci: str = ""  # "0000:3b:00.0": lower case, four digits of domain
    model: str = ""  # "NVIDIA H100 80GB HBM3"


@dataclass(frozen=True)
class Sensor:
    """What is known, or was measured, of one channel. None where nothing is known."""

    name: str  # "Total Power"
    source: str  # the dialect or sampler: "powerboard", "nvidia-smi", "ipmi DCMI"
    scope: Scope = Scope.UNKNOWN
    host: str = ""
    poll_s: Figure | None = None  # how often it was asked
    refresh_s: Figure | None = None  # how often its value really changes
    quantum_w: Figure | None = None  # the step of its readings
    window_s: Figure | None = None  # what one reading averages over
    delay_s: Figure | None = None  # from the end of that window to publication
    gain: Figure | None = None  # systematic error, as a fraction
    window_err_s: float | None = None  # one sigma of `window_s`, where nobody but the readings tells it
    device: Device | None = None  # the accelerator, where the log names it
    logged_on: str = ""  # the machine that wrote the log, where it says so
    # How sure these are watts: ASSUMED where unit or scale is a guess, ESTIMATED of a model. No figure made of them says more.
    scale: Badge = Badge.MEASURED

    @property
    def label(self) -> str:
        """Host and sensor, so that two hosts' channels are never called the same."""
        name = self.name or self.source or "power"
        return name if not self.host or name.casefold().startswith(self.host.casefold()) else f"{self.host} {name}"

    @property
    def channel(self) -> str:
        """The sensor without its host, where its name begins with that (a recording's "bmc-17 DCMI power")."""
        name = self.name or self.source or "power"
        own = name[len(self.host) :].strip(" :") if self.host and name.casefold().startswith(self.host.casefold()) else ""
        return own or name


@dataclass(frozen=True)
class Mark:
    """What a recording names: a stretch of time, or (without an end) a moment. Times count as those of its series."""

    name: str
    start_ns: int
    end_ns: int | None = None


class PowerKind(str, enum.Enum):
    SAMPLED = "sampled"  # watts at a moment (or averaged over the sensor's own window)
    INTERVAL = "interval"  # mean watts since the previous row: counters and J per interval


class PowerCap(NamedTuple):
    """A limit that holds from a moment on."""

    start_ns: int  # since the series' own zero
    watts: float  # NaN: no limit any more


@packs("watts", "joules")
@dataclass(frozen=True, eq=False)
class PowerSeries:
    """One channel of one sensor. NaN watts are a gap: nothing is drawn or integrated across it.

    `joules`, when it is there, is the energy since the previous row (PowerKind.INTERVAL).
    """

    sensor: Sensor
    times: Int64s  # ns since the series' own zero, ascending
    watts: Floats
    kind: PowerKind = PowerKind.SAMPLED
    clock: Clock = field(default_factory=Clock)
    path: str = ""
    joules: Floats | None = None
    warnings: tuple[Warn, ...] = ()
    marks: tuple[Mark, ...] = ()  # of the whole log: each of its channels has them all
    limits: tuple[PowerCap, ...] = ()  # what it was held to, by time
    parted_s: float = 0.0  # by so much some of its rows may lie later than others, for its clock may have been set

    def __len__(self) -> int:
        return len(self.times)


class LogPlace(NamedTuple):
    """One place where a power log may lie on a trace, and how likely that is."""

    offset_ps: int  # trace time at which the series' own zero lies
    weight: float  # the weights of all places add up to 1
    half_ps: int  # half of its own 95 % interval


@packs("watts")
@dataclass(frozen=True, eq=False)
class PowerOnTrace:
    """A power series placed on a trace's clock: what the timeline draws and the integrals take.

    `times` and `offset_ps` are those of the likeliest place. Where several come into question, what is computed has to hold over
    all of `places` (`energy.mixture`), never at the likeliest alone.
    """

    series: PowerSeries
    times: Int64s  # ps on the trace's clock, ascending; only rows that int64 ps can hold
    watts: Floats
    offset_ps: int  # trace time at which the series' own zero lies
    offset_lo_ps: int  # its 95 % interval
    offset_hi_ps: int
    status: Literal["aligned", "ambiguous", "none"]
    source: str  # "wall clocks of both", "by signal", "pinned by hand" …
    places: tuple[LogPlace, ...] = ()  # the likeliest first; one of weight 1 when it is sure, which is made where none is given
    device: str = ""  # the device of the trace whose power it is, as far as that is known

    def __post_init__(self) -> None:
        if not self.places:
            only = LogPlace(self.offset_ps, 1.0, (self.offset_hi_ps - self.offset_lo_ps) // 2)
            object.__setattr__(self, "places", (only,))


# ── run ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Run:
    """What a person means by "that run": the profiles of all its hosts, its scalars, its power."""

    name: str
    path: str
    traces: tuple[Trace, ...]
    steps: tuple[Steps, ...]  # one per trace
    epochs: tuple[Epochs, ...]  # one per trace: each trace has its own zero
    scalars: tuple[ScalarSeries, ...] = ()
    power: tuple[PowerSeries, ...] = ()
    warnings: tuple[Warn, ...] = ()
    power_hosts: tuple[tuple[str, str], ...] = ()  # (a name in the power logs, the host it was said to be)

    @property
    def event_count(self) -> int:
        return sum(trace.event_count for trace in self.traces)
