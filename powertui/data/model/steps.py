"""Steps, epochs and other named stretches of a trace, as columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Literal

import numpy as np

from powertui.data.model.ground import Bools, Int32s, Int64s
from powertui.data.quantiles import median_of_column
from powertui.value_types import dataclass

UNKNOWN = -1  # a time that is not known: never 0, which is a time


def _unknown() -> Int64s:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Step:
    """One step, for a person.

    `number` is the program's own; -1 where it has none. A time that is not known is None.
    """

    index: int
    number: int
    name: str
    start: int
    duration: int  # of the stretch that it is drawn as
    start_to_start: (
        int | None
    )  # to the next step of the same epoch; None for the last, and before a hole
    epoch: int | None  # index into Epochs
    host: int | None = None  # how long its marker was open: the dispatch
    device: int | None = None  # device work that belongs to it, each moment once
    step: int | None = None  # by TensorFlow's rule

    until: int | None = None  # where other work begins before the next step

    @property
    def end(self) -> int:
        """Where it ends: see `Steps.ends`."""
        return max(self.start + (self.start_to_start or self.duration), self.until or self.start)

    @property
    def mark_end(self) -> int:
        """Where its own stretch ends, which may be before the next step starts."""
        return self.start + self.duration


@dataclass(frozen=True, eq=False)
class StepsOn:
    """The steps of one device, or of one of several replicas on a host: which of the run's steps
    each is, and where it lies.
    """

    name: str  # "/device:GPU:4", "python/4711"
    kind: Literal["device", "replica"]
    row: Int64s  # of the run's steps
    start: Int64s
    duration: Int64s
    work: Int64s  # its work, each moment once; UNKNOWN where it is not known

    def __len__(self) -> int:
        return len(self.row)

    @property
    def end(self) -> Int64s:
        return self.start + self.duration


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

    A step has three times. `host` is how long the program's marker was open (the dispatch);
    `device` the device work that belongs to it, each moment once, gaps between devices left out;
    `step` what TensorFlow's profiler calls its time: the longest step line of a device, unless the
    host's marker holds that. `start` and `duration` are the stretch that it lies in: where several
    devices overlap, from the first to the last of them.
    """

    number: Int64s
    start: Int64s
    duration: Int64s
    epoch: Int32s  # index into the run's epochs, -1 for none
    names: Sequence[str]
    source: str  # for a person: "events named `Profiled batch` with a step_num"
    asynchronous: bool = (
        False  # the marker ends before the work does: judge by device time and start to start
    )
    host: Int64s = field(default_factory=_unknown)  # ps, UNKNOWN where no marker of a host tells
    device: Int64s = field(default_factory=_unknown)  # ps, UNKNOWN where no device tells
    step: Int64s = field(default_factory=_unknown)  # ps; left out: the duration
    hole: Bools = field(
        default_factory=lambda: np.empty(0, np.bool_)
    )  # the next step does not follow at once: numbers are missing
    until: Int64s = field(
        default_factory=_unknown
    )  # where other work begins before the next step: a validation; UNKNOWN for none
    # how work was given to steps: "launch", "run id", "group id", "device step line", "time"; ""
    # without any
    device_by: str = ""
    inferred: bool = False  # nothing marks these steps: they are launches that repeat
    confidence: str = ""  # in words: how far to trust them, and what would tell more
    on: tuple[
        StepsOn, ...
    ] = ()  # the steps of each device, and of each replica where several run side by side
    markers: tuple[Marker, ...] = ()  # what was judged: the chosen one first
    notes: tuple[str, ...] = ()  # what a person should know of them, a sentence each

    def __post_init__(self) -> None:
        count = len(self.start)
        for name, left_out in (
            ("host", UNKNOWN),
            ("device", UNKNOWN),
            ("hole", False),
            ("until", UNKNOWN),
        ):
            column = getattr(self, name)
            if len(column) != count:
                object.__setattr__(self, name, np.full(count, left_out, column.dtype))
        if len(self.step) != count:
            object.__setattr__(self, "step", self.duration)

    def __len__(self) -> int:
        return len(self.start)

    @property
    def lost(self) -> Bools:
        """Which steps were dispatched ahead to a device whose work for them is not in the file:
        how long they took is not known.
        """
        if not self.asynchronous or not (self.device >= 0).any():
            return np.zeros(len(self.start), np.bool_)
        return np.asarray((self.step == UNKNOWN) & (self.device == UNKNOWN))

    def is_own_mark(self, name: str) -> bool:
        """Whether events of this name only say that a step runs: they are as long as it is."""
        if self.inferred or not self.markers:
            return False
        return re.search(self.markers[0].pattern, name) is not None

    def start_to_start(self) -> Int64s:
        """Distance to the next step's start; -1 for the last of an epoch, and before missing
        numbers or other work, or where a step's own work is not in the file.
        """
        out = np.full(len(self.start), -1, np.int64)
        if len(out) > 1:
            follows = (
                (self.epoch[1:] == self.epoch[:-1]) & ~self.hole[:-1] & (self.until[:-1] == UNKNOWN)
            )
            if self.asynchronous:
                lost = self.lost
                follows &= ~lost[1:] & ~lost[:-1]
            out[:-1] = np.where(follows, self.start[1:] - self.start[:-1], -1)
        return out

    def ends(self) -> Int64s:
        """Where each step ends: where the next one of its epoch starts, or a validation begins;
        where its own stretch ends before missing numbers and at the end of an epoch.

        The one rule for everything that counts by steps: energies, windows, exports, the lane of
        steps. A marker may end before the work does (asynchronous dispatch), and what runs between
        two markers belongs to the first.
        """
        gaps = self.start_to_start()
        ends = self.start + np.where(gaps > 0, gaps, self.duration)
        if len(ends) > 1:
            goes_on = (self.epoch[1:] == self.epoch[:-1]) & ~self.hole[:-1]
            all_but_last = ends[:-1]
            all_but_last[goes_on] = np.maximum(all_but_last, self.until[:-1])[goes_on]
        return ends

    def mark_ends(self) -> Int64s:
        """Where the own stretch of each step ends: its mark, or its work on a device.

        For what reads or writes the marks themselves, such as clocks and exports to other programs.
        """
        return self.start + self.duration

    def lengths(self) -> Int64s:
        """How long each step took: its step time where its mark holds its work, else to its end;
        UNKNOWN where its work is not in the file.
        """
        if self.asynchronous or self.inferred:
            return np.where(self.lost, UNKNOWN, self.stretch_lengths())
        return np.where(self.step != UNKNOWN, self.step, self.stretch_lengths())

    def stretch_lengths(self) -> Int64s:
        """From the start of each step to where it ends (`ends`): all that ran in this time, and
        every joule, is that step's. Longer than `lengths` where a pause follows the mark, and known
        of every step.
        """
        return self.ends() - self.start

    def begin_outside(self, stretch: tuple[int, int] | None) -> Bools:
        """Which steps do not begin in a stretch, as that of tracing; all where none is left."""
        if stretch is None:
            return np.ones(len(self), np.bool_)
        lo, hi = stretch
        is_outside: Bools = (self.start < lo) | (self.start >= hi)
        return is_outside if is_outside.any() else ~is_outside

    def usual_distance(self, min_count: int) -> float | None:
        """Median ps from one start to the next; None with fewer such distances than `min_count`."""
        gaps = self.start_to_start()
        gaps = gaps[gaps > 0]
        if len(gaps) >= min_count:
            return median_of_column(gaps)
        return None

    def __getitem__(self, index: int) -> Step:
        index = range(len(self))[index]
        gap: int | None = None
        until = None
        if (
            index + 1 < len(self)
            and self.epoch[index + 1] == self.epoch[index]
            and not self.hole[index]
        ):
            until = _known(self.until[index])
            is_lost = self.asynchronous and self.lost[index : index + 2].any()
            if until is None and not is_lost:
                gap = int(self.start[index + 1] - self.start[index])
        epoch = int(self.epoch[index])
        return Step(
            index=index,
            number=int(self.number[index]),
            name=self.names[index],
            start=int(self.start[index]),
            duration=int(self.duration[index]),
            start_to_start=gap,
            epoch=epoch if epoch >= 0 else None,
            host=_known(self.host[index]),
            device=_known(self.device[index]),
            step=_known(self.step[index]),
            until=until,
        )

    def __iter__(self) -> Iterator[Step]:
        return (self[i] for i in range(len(self)))

    @classmethod
    def none(cls, why: str = "") -> Steps:
        """No step was found; `why` says it in a sentence."""
        empty = np.empty(0, np.int64)
        return cls(
            number=empty,
            start=empty,
            duration=empty,
            epoch=np.empty(0, np.int32),
            names=(),
            source=why,
        )


def _known(ps: np.int64) -> int | None:
    return int(ps) if ps != UNKNOWN else None


@dataclass(frozen=True)
class Epoch:
    """One pass over the data, in trace time (ps). A bound that is not known is None.

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

    @property
    def tracing(self) -> tuple[int, int] | None:
        """When the first step was traced and compiled: what was then is like no other step."""
        for phase in self.phases:
            if phase.name == "tracing":
                return phase.start, phase.end
        return None

    def bounds(
        self,
        index: int,
        steps: Steps,
        mine: Int64s | None = None,
    ) -> tuple[int, int] | None:
        """Where an epoch lies: what it says itself, else from its first step to the end of its
        last. None when neither tells.

        `mine` are the rows of its steps, where the caller has those of all epochs at hand.
        """
        epoch = self.epochs[index]
        lo, hi = epoch.start, epoch.end
        if lo is None or hi is None:
            if mine is None:
                mine = np.flatnonzero(steps.epoch == index)
            if len(mine):
                if lo is None:
                    lo = int(steps.start[mine].min())
                if hi is None:
                    hi = int(steps.ends()[mine].max())
        if lo is not None and hi is not None and hi > lo:
            return (lo, hi)
        return None

    def __getitem__(self, index: int) -> Epoch:
        return self.epochs[index]

    def __iter__(self) -> Iterator[Epoch]:
        return iter(self.epochs)
