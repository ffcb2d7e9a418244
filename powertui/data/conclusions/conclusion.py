"""A conclusion: one sentence about a run, what it costs, how sure it is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from enum import Enum

from powertui.data.energy.findings.finding import Finding
from powertui.value_types import dataclass


class Kind(str, Enum):
    """What a conclusion is about. The values are in the JSON: they stay."""

    COMPUTE = "compute"  # computing, on devices or on the host: what the run is for
    INPUT = "input"
    LAUNCH = "launch"
    IDLE_DEVICE = "idle_device"
    COLLECTIVES = "collectives"
    COPIES = "copies"
    OUTPUT = "output"
    EAGER = "eager_ops"
    PYTHON = "python"
    UNKNOWN_TIME = "unknown_time"  # time in which nothing was recorded
    WAITING = "waiting"  # the program waits: it sleeps, or needs a lock
    BETWEEN_STEPS = "between_steps"  # what the program does after each step
    LOGGING = "logging"
    STRAGGLER = "straggler"
    SLOW_STEPS = "slow_steps"
    COMPILATION = "compilation"
    RECOMPILATION = "recompilation"
    VALIDATION = "validation"
    CHECKPOINT = "checkpoint"
    GARBAGE_COLLECTION = "garbage_collection"
    PAUSE = "pause"  # a stretch in which no thread ran anything
    LONG_EPOCH = "long_epoch"
    THROTTLING = "throttling"
    SLOWER_MACHINE = "slower_machine"
    BUSY_CORES = "busy_cores"  # other processes or threads use the cores
    POWER = "unexplained_power"
    CLOCK = "wrong_clock"
    MEMORY = "memory_pressure"
    PRECISION = "precision"  # ops that leave the tensor cores unused


class Confidence(str, Enum):
    """How sure a conclusion is."""

    SURE = "sure"
    LIKELY = "likely"
    UNSURE = "unsure"


@dataclass(frozen=True)
class Cost:
    """What a conclusion costs the run. None: it is not known, or it costs nothing of the kind."""

    seconds: float | None = None
    share: float | None = None  # of the run's time
    joules: float | None = None
    joules_share: float | None = None  # of the run's energy
    # Of a step, where that is what the sentence says. What lies between the steps is no part of
    # one, so that it is a little more than the share of the run.
    step_share: float | None = None
    # Of the run: the part of `share` in which operations waited for a core that others used.
    waiting_share: float = 0.0

    @property
    def largest_share(self) -> float:
        """Of the run's time or energy: what conclusions are compared by."""
        return max(abs(self.share or 0.0), abs(self.joules_share or 0.0))

    @property
    def own_share(self) -> float:
        """The same of what is left where nobody else uses the cores."""
        return self.largest_share - self.waiting_share


@dataclass(frozen=True)
class Stretch:
    """Where in the run: one host's profile, or a part of it."""

    host: int  # index of the profile
    start_ps: int
    end_ps: int

    @property
    def span(self) -> tuple[int, int]:
        """From when to when, ps."""
        return self.start_ps, self.end_ps

    def host_among(self, hosts: Sequence[str]) -> str | None:
        """The host whose profile it is; None where nobody profiled the training."""
        if self.host >= len(hosts):
            return None
        return hosts[self.host]


@dataclass(frozen=True)
class Evidence:
    """A tool that shows what a conclusion stands on."""

    tool: str  # its name in the registry; "timeline" where the picture shows it
    text: str = ""  # what to look at there
    rows: tuple[str, ...] = ()  # the names of the rows, where the tool has such


@dataclass(frozen=True)
class Conclusion:
    """One thing to know of a run."""

    kind: Kind
    sentence: str  # for a person, complete in itself
    short: str  # the same in at most three words, for a list of runs: "idle 84 %", "+60 W"
    confidence: Confidence
    evidence: Evidence
    cost: Cost = field(default_factory=Cost)
    stretch: Stretch | None = None  # None: it is about the run as a whole
    repeats: tuple[Stretch, ...] = ()  # all the stretches, where it is about several
    next: str = ""  # what to do: a change in the program, a page or a command
    doubt: str = ""  # why it might be wrong
    finding: Finding | None = None  # of power or time, with its curves


@dataclass(frozen=True)
class Conclusions:
    """What to conclude from one run."""

    items: tuple[Conclusion, ...]  # the most important first: `ranking` has the order
    looked_at: str  # a sentence: what was looked at, and found usual where there is no item

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Conclusion]:
        return iter(self.items)

    @property
    def first(self) -> Conclusion | None:
        """The most important one."""
        return self.items[0] if self.items else None

    @property
    def headline(self) -> str:
        """The first sentence, or that there is nothing to say."""
        return self.items[0].sentence if self.items else self.looked_at
