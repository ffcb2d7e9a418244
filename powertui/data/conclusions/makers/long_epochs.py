"""Epochs that took longer, or drew more, than every other epoch of the same steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.conclusions import words
from powertui.data.conclusions.conclusion import (
    Conclusion,
    Confidence,
    Cost,
    Evidence,
    Kind,
    Stretch,
)
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.energy import account
from powertui.data.energy.measured_energy import Energy
from powertui.data.model import PS_PER_S, Z95
from powertui.data.opened import Profile
from powertui.data.quantiles import median_of_column
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.training.training_energy import TrainingEnergy

# Of the largest of the other epochs, by which one has to exceed it. Chosen: of ten and of nineteen
# equal epochs of two recorded trainings (e4040) the longest exceeded the next by 3.5 % and 0.4 %.
_MIN_EXCESS_SHARE = 0.1
_MIN_LATER_EPOCHS = 2  # that are compared with; with fewer the first one counts, too
_SAME_STEPS_SHARE = 0.02  # epochs of numbers of steps that differ by more are not compared


@dataclass(frozen=True)
class _Epoch:
    """One epoch, with its length and energy between bounds."""

    number: int
    start_ps: int
    end_ps: int
    half_ps: float  # ± of its bounds
    steps: int  # in the profile
    energy: Energy | None
    # The profiler started or stopped in it: that alone takes seconds, and of its steps only some
    # were profiled. Others are compared with it, but it is never the long one.
    is_cut: bool = False

    @property
    def seconds(self) -> float:
        return (self.end_ps - self.start_ps) / PS_PER_S

    @property
    def seconds_between(self) -> tuple[float, float]:
        half_s = 2 * self.half_ps / PS_PER_S
        return self.seconds - half_s, self.seconds + half_s

    @property
    def joules_between(self) -> tuple[float, float] | None:
        """Without the sensor's gain, which is the same in all epochs."""
        if self.energy is None or self.energy.interval is None:
            return None
        gain = self.energy.gain_j or 0.0
        return self.energy.interval.lo + gain, self.energy.interval.hi - gain

    @property
    def joules(self) -> float:
        assert self.energy is not None
        assert self.energy.joules is not None
        return self.energy.joules


@dataclass(frozen=True)
class _LongEpoch:
    """An epoch that exceeds those that it is compared with."""

    epoch: _Epoch
    cost: Cost  # beyond the median of them
    against: str  # "the other epochs"


def long_epochs(inquiry: Inquiry) -> Iterator[Conclusion]:
    """The epochs of a profile that stick out."""
    profile = inquiry.profile
    if len(profile.epochs) < 2:
        return
    lo, hi = profile.trace.span
    for long_epoch in _unusual(_epochs_of(profile, inquiry)):
        cost = long_epoch.cost
        if long_epoch.epoch.start_ps < hi and long_epoch.epoch.end_ps > lo:
            cost = inquiry.cost(cost.seconds, cost.joules)
        yield _conclusion(long_epoch, cost, profile.index)


def long_training_epochs(energy: TrainingEnergy) -> Iterator[Conclusion]:
    """The same for a training that was never profiled."""
    epochs = [
        _Epoch(
            number=window.epoch if window.epoch is not None else -1,
            start_ps=window.start,
            end_ps=window.end,
            half_ps=window.half,
            steps=0,
            energy=window.energy,
        )
        for window in energy.epochs()
    ]
    for long_epoch in _unusual(epochs):
        yield _conclusion(long_epoch, long_epoch.cost, 0)


def _epochs_of(profile: Profile, inquiry: Inquiry) -> list[_Epoch]:
    profile_ends = profile.trace.span
    energies = account.energy_account(profile, inquiry.question.aligning).epoch_energies
    epochs = []
    for epoch in energies:
        half_ps = Z95 * epoch.edge
        sure_start = epoch.lo + half_ps
        sure_end = epoch.hi - half_ps
        epochs.append(
            _Epoch(
                number=epoch.number,
                start_ps=epoch.lo,
                end_ps=epoch.hi,
                half_ps=half_ps,
                steps=int((profile.steps.epoch == epoch.index).sum()),
                energy=epoch.energy,
                is_cut=any(sure_start < end < sure_end for end in profile_ends),
            )
        )
    return epochs


def _unusual(epochs: Sequence[_Epoch]) -> Iterator[_LongEpoch]:
    """The epochs that exceed every other one, with by how much. The first one compiles and fills
    caches: it is compared with only where there are few others.
    """
    for epoch in epochs[1:]:
        if epoch.is_cut:
            continue
        others = _comparable(epoch, epochs)
        if not others:
            continue
        cost = Cost(seconds=_longer_s(epoch, others), joules=_more_joules(epoch, others))
        if cost.seconds is not None or cost.joules is not None:
            against = "the other epochs"
            if len(others) == 1:
                against = f"epoch {others[0].number}"
            yield _LongEpoch(epoch, cost, against)


def _comparable(epoch: _Epoch, epochs: Sequence[_Epoch]) -> list[_Epoch]:
    """The epochs that one is compared with."""
    same_work = []
    for candidate in epochs:
        if candidate is not epoch and _is_same_work(epoch, candidate):
            same_work.append(candidate)
    later = [candidate for candidate in same_work if candidate is not epochs[0]]
    return later if len(later) >= _MIN_LATER_EPOCHS else same_work


def _longer_s(epoch: _Epoch, others: Sequence[_Epoch]) -> float | None:
    """By how much it is longer than usual, if it exceeds every other one."""
    longest_s = max(another.seconds_between[1] for another in others)
    if epoch.seconds_between[0] <= (1 + _MIN_EXCESS_SHARE) * longest_s:
        return None
    return epoch.seconds - _median([another.seconds for another in others])


def _more_joules(epoch: _Epoch, others: Sequence[_Epoch]) -> float | None:
    """How many joules more than usual it drew, if it exceeds every other one, and all of them are
    known.
    """
    if epoch.joules_between is None:
        return None
    highest = []
    for another in others:
        if another.joules_between is None:
            return None
        highest.append(another.joules_between[1])
    if epoch.joules_between[0] <= (1 + _MIN_EXCESS_SHARE) * max(highest):
        return None
    return epoch.joules - _median([another.joules for another in others])


def _median(values: Sequence[float]) -> float:
    return median_of_column(np.array(values, np.float64))


def _is_same_work(first: _Epoch, second: _Epoch) -> bool:
    if first.is_cut or second.is_cut:
        return True
    more = max(first.steps, second.steps)
    return more - min(first.steps, second.steps) <= _SAME_STEPS_SHARE * more


def _conclusion(long_epoch: _LongEpoch, cost: Cost, host: int) -> Conclusion:
    epoch = long_epoch.epoch
    longer = ""
    if cost.seconds is not None:
        longer = f"takes {words.seconds(cost.seconds)} longer"
    more = ""
    if cost.joules is not None:
        more = f"draws {words.joules(cost.joules).removeprefix('+')} more"
    amount = " and ".join(filter(None, (longer, more)))
    took = ""
    if longer:
        took = f" ({words.seconds(epoch.seconds)} in all)"
    return Conclusion(
        kind=Kind.LONG_EPOCH,
        sentence=f"Epoch {epoch.number} {amount} than {long_epoch.against}{took}.",
        short=_short(cost),
        confidence=Confidence.SURE if epoch.steps else Confidence.LIKELY,
        evidence=Evidence("epochs"),
        cost=cost,
        stretch=Stretch(host, epoch.start_ps, epoch.end_ps),
        next="See in the timeline what this epoch does besides: validation, a checkpoint, other "
        "jobs on the machine.",
        doubt=""
        if epoch.steps
        else "The profile does not show whether its steps do the same work.",
    )


def _short(cost: Cost) -> str:
    if cost.seconds is not None:
        return f"long epoch +{words.seconds(cost.seconds)}".replace(" ms", "ms").replace(" s", "s")
    return f"epoch {words.joules(cost.joules or 0.0)}"
