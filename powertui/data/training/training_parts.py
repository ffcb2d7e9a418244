"""What a training is made of, in Unix ns.

Where wall time is not known, ns since the first log's own zero stand for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.model import NS_PER_S, Floats, Int64s
from powertui.data.packed import packed_column, packs
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.logdir import RunEntry

TRUSTED = "trusted"
NO_PLACE = "not aligned"
NOT_BELIEVED = "not believed"


class Moment(NamedTuple):
    """A moment and the ± of it."""

    ns: int
    half_ns: int = 0


@dataclass(frozen=True)
class PlacedSession:
    """One profile of one host, and where it lies. Nothing of it is read for that."""

    entry: RunEntry
    host: str
    index: int  # which of the entry's profiles
    start: Moment | None  # None: nothing places it, or what does is not believed
    end: Moment | None
    evidence: str  # for a person, a clause
    status: str = (
        TRUSTED  # or "not aligned: why", "not believed: its clock is 1 h behind the scalars"
    )
    said: Moment | None = None  # where its own clock would put its start, when that is not believed

    @property
    def trusted(self) -> bool:
        """Whether it lies where its clock says."""
        return self.status == TRUSTED


@dataclass(frozen=True)
class TrainedEpoch:
    """One epoch of the training. A bound that is not known is None."""

    number: int
    start: Moment | None
    end: Moment | None
    validation: tuple[Moment, Moment] | None  # from when to when; None where it is not known
    steps: tuple[int, int] | None  # of the rate's numbers: done when it began, done when it ended
    source: str
    scalars: tuple[tuple[str, float], ...] = ()


def bounded_epochs(
    epochs: Sequence[TrainedEpoch],
) -> Iterator[tuple[TrainedEpoch, Moment, Moment]]:
    """The epochs both of whose bounds are known, each with its start and its end."""
    for epoch in epochs:
        if epoch.start is not None and epoch.end is not None:
            yield epoch, epoch.start, epoch.end


class StepsDone(NamedTuple):
    """How many steps were done at a moment: at least, most likely, at most."""

    fewest: int
    likeliest: float
    most: int


@packs("at_ns", "step")
@dataclass(frozen=True, eq=False)
class Rate:
    """How many steps were done when: one row for every record that tells.

    Between two rows steps are numbered by interpolation.
    """

    at_ns: Int64s  # ascending
    step: Int64s  # done by then, as the program counts them
    goes_on: np.ndarray[
        tuple[int, ...], np.dtype[np.bool_]
    ]  # the row before is of the same turn: steps went on from there
    source: str  # for a person: "batch_loss, every 10 batches"
    every: int  # steps from one record to the next, as a rule
    half_ns: int = 0  # ± of all its times
    within: tuple[
        tuple[int, int], ...
    ] = ()  # sessions that it comes from: of other times it tells nothing; () for records of all

    def __len__(self) -> int:
        return len(packed_column(self, "at_ns"))

    def part(self, first: int, last: int) -> Rate:
        """Rows first … last - 1 alone."""
        rows = slice(first, last)
        goes_on = self.goes_on[rows].copy()
        goes_on[:1] = False
        return replace(self, at_ns=self.at_ns[rows], step=self.step[rows], goes_on=goes_on)

    def tells(self, lo_ns: int, hi_ns: int) -> bool:
        """Whether no step between two moments can lie outside what it comes from."""
        return not self.within or any(
            a - self.half_ns <= lo_ns and hi_ns <= b + self.half_ns for a, b in self.within
        )

    @property
    def per_s(self) -> Floats:
        """Steps a second from each row to the next (one less than rows); NaN where they do not go
        on.
        """
        length = np.diff(self.at_ns) / NS_PER_S
        with np.errstate(divide="ignore", invalid="ignore"):
            per_s = np.diff(self.step) / length
        return np.where(self.goes_on[1:] & (length > 0), per_s, np.nan)

    def step_at(self, ns: int) -> StepsDone | None:
        """Steps done at a moment. None before the first record and after the last."""
        done = self._step_at(ns)
        if done is None or not self.half_ns:
            return done
        at = packed_column(self, "at_ns")
        first_ns = int(at[0])
        last_ns = int(at[-1])
        earlier = self._step_at(max(ns - self.half_ns, first_ns)) or done
        later = self._step_at(min(ns + self.half_ns, last_ns)) or done
        return StepsDone(
            fewest=min(earlier.fewest, done.fewest),
            likeliest=done.likeliest,
            most=max(later.most, done.most),
        )

    def _step_at(self, ns: int) -> StepsDone | None:
        """The same by the records alone, as if their clock were exact."""
        at = packed_column(self, "at_ns")
        step = packed_column(self, "step")
        row = int(at.searchsorted(ns, side="right")) - 1
        if row < 0:
            return None
        begin = int(at[row])
        first = int(step[row])
        if row + 1 >= len(self):
            return StepsDone(fewest=first, likeliest=first, most=first) if ns == begin else None
        if not self.goes_on[row + 1]:
            return None
        end = int(at[row + 1])
        last = int(step[row + 1])
        share = (ns - begin) / max(1, end - begin)
        return StepsDone(
            fewest=first,
            likeliest=first + share * (last - first),
            most=last,
        )

    def ns_at(self, step: float, lo_ns: int, hi_ns: int) -> int | None:
        """When so many steps were done, between two moments.

        A number may come again when training starts over.
        """
        at = packed_column(self, "at_ns")
        every = packed_column(self, "step")
        lo = int(at.searchsorted(lo_ns))
        hi = int(at.searchsorted(hi_ns, side="right"))
        row = lo + int(np.searchsorted(every[lo:hi], step))
        if row >= hi:
            return None
        end = int(at[row])
        if row == lo:
            return end if every[row] == step else None
        begin = int(at[row - 1])
        first = float(every[row - 1])
        last = float(every[row])
        share = (step - first) / max(last - first, 1e-9)
        return begin + round(share * (end - begin))


def steps_of_each_epoch(epochs: Sequence[TrainedEpoch], rate: Rate) -> tuple[int, int] | None:
    """The fewest and the most steps that an epoch may have, if all have as many: by the records
    before the ends of all epochs. None where they do not, or where that is not known.
    """
    if not epochs or not len(rate) or rate.within or rate.every < 1:
        return None
    if not rate.goes_on[1:].all() or rate.step[0] > 2 * rate.every:
        return None
    low = 0.0
    high = np.inf
    for count, epoch in enumerate(epochs, 1):
        if epoch.end is None or epoch.number != epochs[0].number + count - 1:
            return None
        row = int(np.searchsorted(rate.at_ns, epoch.end.ns, side="right")) - 1
        if row < 0:
            return None
        done = int(rate.step[row])
        low = max(low, done / count)
        high = min(high, (done + rate.every) / count)
    fewest = int(np.ceil(low - 1e-9))
    most = int(np.ceil(high - 1e-9)) - 1
    return (fewest, most) if 0 < fewest <= most else None


@packs("at_ns", "step", "values")
@dataclass(frozen=True, eq=False)
class ScalarStrip:
    """One tag of the scalars over the whole training."""

    group: str  # "train", "validation", or "" at the top
    tag: str
    at_ns: Int64s  # ascending
    step: Int64s  # in the tag's own unit
    values: Floats
    unit: str  # what its steps count: "steps", "epochs", or "" where it is not known

    @property
    def label(self) -> str:
        """Its name among all strips."""
        return (
            f"{self.group}/{self.tag}"
            if self.group and self.group not in ("train", "training")
            else self.tag
        )


NO_RATE = Rate(
    at_ns=np.empty(0, np.int64),
    step=np.empty(0, np.int64),
    goes_on=np.empty(0, np.bool_),
    source="",
    every=0,
)
