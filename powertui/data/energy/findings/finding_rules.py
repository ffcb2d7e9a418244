"""The rules that all findings share: which stretches are one finding, and which findings matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from powertui.data.energy import settings
from powertui.data.model import PS_PER_S, Floats, PowerOnTrace

if TYPE_CHECKING:  # conclusions ask for the rules alone
    from powertui.data.energy.findings.finding import Finding

# A finding matters from these shares of the energy (or time) of its stretch and of the run on: the
# promise to the user. Half and twice: no change in docs/energy-evidence.md.
MIN_STRETCH_SHARE = settings.NOTABLE_SHARE
MIN_RUN_SHARE = settings.MIN_RUN_SHARE
# Of a long run 0.5 % is hours of somebody else's program: so this share of its own epoch is enough,
# too. Chosen, not measured.
_MIN_EPOCH_SHARE = settings.SLIGHT_SHARE
# What draws so much more than its stretch for so long (s) matters however long the run is. Only
# more counts: less is a pause. Chosen, not measured.
STRONG_SHARE = 0.08
MIN_STRONG_S = 10.0
# A smaller difference that is shorter is not listed: it may come out half as long as it was.
SHORTEST_S = 0.25
# Two stretches are one when at least this part of the shorter one is in both. At 0.5 a burst of
# which the log's clock was 0.7 s off (own/two_epochs_with_burst) was listed a second time as slower
# steps; otherwise chosen, not measured.
_MIN_SHARED_PART = settings.LESSER_SHARE
# Two heights have one cause where neither is less than this share of the other. Half and twice: no
# change in docs/energy-evidence.md.
MIN_ALIKE_HEIGHT = settings.ALIKE_SHARE

_Figures = TypeVar("_Figures", float, Floats)


def _shared_part(first: tuple[float, float], second: tuple[float, float]) -> float:
    """What two stretches have in common, as a part of the shorter one; below 0: they are apart."""
    first_start, first_end = first
    second_start, second_end = second
    both = min(first_end, second_end) - max(first_start, second_start)
    shorter = min(
        first_end - first_start,
        second_end - second_start,
    )
    return both / max(shorter, 1e-9)


def same_stretch(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Whether two stretches, each (start, end), are one that was found twice."""
    return _shared_part(first, second) >= _MIN_SHARED_PART


def joined_spans(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Spans by their start, those that overlap as one."""
    joined: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if joined:
            last_start, last_end = joined[-1]
            if start <= last_end:
                joined[-1] = (last_start, max(end, last_end))
                continue
        joined.append((start, end))
    return joined


def alike_heights(first: float, second: float) -> bool:
    """Whether two heights (W above what was expected) may be of one load."""
    return MIN_ALIKE_HEIGHT < first / second < 1 / MIN_ALIKE_HEIGHT


def _min_amount(of_stretch: float, of_run: float) -> float:
    """The joules, or seconds, from which on a finding matters, by those of its stretch and run."""
    by_stretch = MIN_STRETCH_SHARE * abs(of_stretch)
    by_run = MIN_RUN_SHARE * of_run
    return max(by_stretch, by_run)


def min_watts(expected: _Figures, share: float = MIN_STRETCH_SHARE) -> _Figures:
    """The watts above those expected from which on a load has this share of its own stretch."""
    return expected * share / (1 - share)


def _power_matters(
    more: float,
    of_stretch: float,
    of_run: float,
    *,
    seconds: float,
    of_epoch: float | None,
) -> bool:
    """Whether joules more (or less) than expected matter, by the joules of their stretch, of the
    run, and of their epoch where that is known. `seconds`: how long the stretch is.
    """
    of_stretch = abs(of_stretch)
    is_strong = more >= STRONG_SHARE * of_stretch
    if is_strong and seconds >= MIN_STRONG_S:
        return True
    if of_epoch is not None:
        epoch_limit = of_epoch * _MIN_EPOCH_SHARE / MIN_RUN_SHARE
        of_run = min(of_run, epoch_limit)
    return abs(more) >= _min_amount(of_stretch, of_run)


def expected_watts(ceiling: Floats) -> Floats:
    """What a load is added to, W; 0 where nothing is known to be expected."""
    return np.where(np.isfinite(ceiling), ceiling, 0.0)


_Span = tuple[int, int]  # ps


class RunTotals:
    """Joules and seconds of the whole run, as far as they are known."""

    def __init__(self, power: PowerOnTrace | None, span: _Span) -> None:
        lo, hi = span
        self._power = power
        self.seconds = (hi - lo) / PS_PER_S
        self.joules = 0.0
        if power is not None and len(power.times):
            begin = max(lo, int(power.times[0]))
            end = min(hi, int(power.times[-1]))
            if end > begin:
                self.joules = self._joules_between(begin, end)

    def matters(self, finding: Finding, epoch: _Span | None) -> bool:
        """Whether a finding is large enough for its stretch, and for the run or its epoch."""
        return self._joules_matter(finding, epoch) or self._seconds_matter(finding)

    def _joules_between(self, start: int, end: int) -> float:
        """The energy of a stretch; what no reading covers counts like the rest of it."""
        from powertui.data.energy import integrate

        assert self._power is not None
        energy = integrate.energies(self._power, [start], [end])
        coverage = max(float(energy.coverage[0]), 1e-9)
        return float(energy.covered_joules[0] / coverage)

    def _joules_matter(self, finding: Finding, epoch: _Span | None) -> bool:
        if finding.delta_joules is None or self._power is None or finding.may_be_nothing:
            return False
        start = finding.start_ps
        of_epoch = None
        if epoch is not None:
            of_epoch = self._joules_between(*epoch)
        return _power_matters(
            more=finding.delta_joules,
            of_stretch=self._joules_between(start, max(finding.end_ps, start + 1)),
            of_run=self.joules,
            seconds=(finding.end_ps - start) / PS_PER_S,
            of_epoch=of_epoch,
        )

    def _seconds_matter(self, finding: Finding) -> bool:
        if finding.delta_seconds is None or finding.kind == "power":
            return False
        length = (finding.end_ps - finding.start_ps) / PS_PER_S
        return abs(finding.delta_seconds) >= _min_amount(length, self.seconds)
