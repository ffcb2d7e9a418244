"""One channel of one sensor, and the same placed on a trace's clock."""

from __future__ import annotations

import enum
from dataclasses import field
from typing import Literal

from powertui.data.model.ground import (
    Badge,
    Clock,
    Figure,
    Floats,
    Int64s,
    Warn,
    worst_badge,
)
from powertui.data.packed import packs
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


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
    """Which device of its host a channel is about, as the log names it.

    What the log does not tell is None or empty.
    """

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
    host: str = ""  # as the log names it
    poll_s: Figure | None = None  # how often it was asked
    refresh_s: Figure | None = None  # how often its value really changes
    quantum_w: Figure | None = None  # the step of its readings
    window_s: Figure | None = None  # what one reading averages over
    delay_s: Figure | None = None  # from the end of that window to publication
    gain: Figure | None = None  # systematic error, as a fraction
    window_err_s: float | None = (
        None  # one sigma of `window_s`, where nobody but the readings tells it
    )
    # Of a counter: by how much its readings may be off, as the step that it counts in, and what is
    # counted between two looks at a value that it holds.
    step_j: Figure | None = None
    device: Device | None = None  # the accelerator, where the log names it
    # the address of the BMC that a recording of ours asked: `host` may be a name of the config file
    asked_at: str = ""
    logged_on: str = ""  # the machine that wrote the log, where it says so
    # Whether a clock that is never set stamped each reading beside the wall clock.
    is_steadily_stamped: bool = False
    # How sure these are watts: ASSUMED where unit or scale is a guess, ESTIMATED of a model,
    # SIMULATED where nothing was measured. No figure made of them says more.
    scale: Badge = Badge.MEASURED
    called: str = ""  # the host, as a person calls it on the command line or in the config file

    @property
    def shown_host(self) -> str:
        """The name of its host for a person."""
        return self.called or self.host

    @property
    def label(self) -> str:
        """Host and sensor, so that two hosts' channels are never called the same."""
        if self.called:
            return f"{self.called} {self.channel}"
        name = self.name or self.source or "power"
        return (
            name
            if not self.host or name.casefold().startswith(self.host.casefold())
            else f"{self.host} {name}"
        )

    @property
    def channel(self) -> str:
        """The sensor without its host, where its name begins with that (a recording's "bmc-17 DCMI
        power").
        """
        name = self.name or self.source or "power"
        own = (
            name[len(self.host) :].strip(" :")
            if self.host and name.casefold().startswith(self.host.casefold())
            else ""
        )
        return own or name


@dataclass(frozen=True)
class Mark:
    """What a recording names: a stretch of time, or (without an end) a moment.

    Times count as those of its series.
    """

    name: str
    start_ns: int
    end_ns: int | None = None


# The source of a sensor whose readings a trace recorded itself, on its own clock.
IN_TRACE = "recorded in the trace"


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
    # How much later some of its rows may be than others, because its clock may have been set.
    parted_s: float = 0.0
    # Each row is a stretch that somebody asked for. Between two stretches nobody looked, and the
    # readings do not show what was drawn.
    in_stretches: bool = False
    # Where its clock was set: the zeros of the clocks before and after, that of most rows first.
    clocks_ns: tuple[int, ...] = ()

    def __len__(self) -> int:
        return len(self.times)


class LogPlace(NamedTuple):
    """One place where a power log may lie on a trace, and how likely that is."""

    offset_ps: int  # trace time at which the series' own zero lies
    weight: float  # the weights of all places add up to 1
    half_ps: int  # half of its own 95 % interval


# Before any time on a trace.
_NO_BORDERS = (-(1 << 62), -(1 << 62))


@packs("watts")
@dataclass(frozen=True, eq=False)
class PowerOnTrace:
    """A power series placed on a trace's clock: what the timeline draws and the integrals take.

    `times` and `offset_ps` are those of the likeliest place. Where several come into question, what
    is computed has to hold over all of `places` (`energy.mixture`), never at the likeliest alone.
    """

    series: PowerSeries
    times: Int64s  # ps on the trace's clock, ascending; only rows that int64 ps can hold
    watts: Floats
    offset_ps: int  # trace time at which the series' own zero lies
    offset_lo_ps: int  # its 95 % interval
    offset_hi_ps: int
    status: Literal["aligned", "ambiguous", "none"]
    source: str  # "wall clocks of both", "by signal", "pinned by hand" …
    # The likeliest first. A sure place is one of weight 1, which is made where none is given.
    places: tuple[LogPlace, ...] = ()
    device: str = ""  # the device of the trace whose power it is, as far as that is known
    # Where the profile begins and ends: with it begins and ends all work that is known.
    borders: tuple[int, int] = _NO_BORDERS
    # One sigma of when its power was, where the readings show that more closely than the place of
    # the log and their age do.
    power_sigma_s: float | None = None

    def __post_init__(self) -> None:
        if not self.places:
            only = LogPlace(self.offset_ps, 1.0, (self.offset_hi_ps - self.offset_lo_ps) // 2)
            object.__setattr__(self, "places", (only,))

    @property
    def badge(self) -> Badge:
        """The best that any figure from these watts can be.

        Watts in a guessed unit make assumed figures, however well the log is aligned; an uncertain
        place makes estimated ones.
        """
        of_place = Badge.MEASURED if self.status == "aligned" else Badge.ESTIMATED
        return worst_badge((self.series.sensor.scale, of_place))
