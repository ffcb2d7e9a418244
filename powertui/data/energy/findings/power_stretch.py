"""One stretch of unexpected power, and how several tellings of it become one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy.findings.finding_rules import same_stretch
from powertui.data.model import Z95
from powertui.value_types import dataclass

_MAX_BREATH_SHARE = 0.1  # of a stretch: a pause no longer than this does not part it
# The height of one load over that of the other, where the two are one. Chosen, not measured.
_SAME_HEIGHT_RANGE = (0.6, 1.7)


@dataclass(frozen=True)
class Box:
    """One stretch of unexpected power."""

    start: float  # s on the trace
    end: float
    start_within: tuple[float, float]  # 95 % intervals
    end_within: tuple[float, float]
    watts: float
    lo_watts: float  # 95 % interval
    hi_watts: float
    joules: float
    lo_joules: float
    hi_joules: float
    p: float  # how often noise alone would show such a stretch anywhere

    @property
    def span(self) -> tuple[float, float]:
        """From when to when, s."""
        return self.start, self.end

    def moved(self, by: float) -> Box:
        """The same, later by so many seconds."""
        first = self.start_within
        last = self.end_within
        return replace(
            self,
            start=self.start + by,
            end=self.end + by,
            start_within=(first[0] + by, first[1] + by),
            end_within=(last[0] + by, last[1] + by),
        )

    def wider(self, sigma: float) -> Box:
        """The same, its place uncertain by so much more."""
        # Watts are those of this very stretch: laid beside the load by so much, it contains the
        # less of it.
        length = max(self.end - self.start, sigma, 1e-9)
        watts_off = Z95 * sigma * abs(self.watts) / length
        lo_watts, hi_watts = _widened(self.watts, (self.lo_watts, self.hi_watts), watts_off)
        return replace(
            self,
            start_within=_widened(self.start, self.start_within, Z95 * sigma),
            end_within=_widened(self.end, self.end_within, Z95 * sigma),
            lo_watts=lo_watts,
            hi_watts=hi_watts,
        )


def joined(weighted: Sequence[tuple[float, Box]]) -> Box:
    """One stretch as it was found several times: its figures are means by weight, its intervals
    contain all of them.
    """
    weights = [weight for weight, _ in weighted]
    boxes = [box for _, box in weighted]
    share = np.array(weights) / sum(weights)

    def mean(of_box: Callable[[Box], float]) -> float:
        return float(share @ np.asarray([of_box(box) for box in boxes]))

    heaviest = boxes[weights.index(max(weights))]
    return replace(
        heaviest,
        start=mean(lambda box: box.start),
        end=mean(lambda box: box.end),
        watts=mean(lambda box: box.watts),
        joules=mean(lambda box: box.joules),
        p=max(box.p for box in boxes),
        start_within=_hull([box.start_within for box in boxes]),
        end_within=_hull([box.end_within for box in boxes]),
        lo_watts=min(box.lo_watts for box in boxes),
        hi_watts=max(box.hi_watts for box in boxes),
        lo_joules=min(box.lo_joules for box in boxes),
        hi_joules=max(box.hi_joules for box in boxes),
    )


def _hull(intervals: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The interval that contains all of these."""
    return min(low for low, _ in intervals), max(high for _, high in intervals)


def _widened(value: float, interval: tuple[float, float], half: float) -> tuple[float, float]:
    """The interval of a value, with an error of that half width that is independent of it."""
    low, high = interval
    return value - math.hypot(value - low, half), value + math.hypot(high - value, half)


def same_load(first: Box, second: Box) -> bool:
    """Whether both are one stretch, and are off to the same side."""
    return first.watts * second.watts > 0 and same_stretch(first.span, second.span)


def bridged(boxes: list[Box]) -> list[Box]:
    """Boxes of much the same height with hardly a pause between them are one load that caught its
    breath.
    """
    loads: list[Box] = []
    for box in boxes:
        if loads and _goes_on(loads[-1], box):
            loads[-1] = _chained(loads[-1], box)
        else:
            loads.append(box)
    return loads


def _goes_on(before: Box, box: Box) -> bool:
    """Whether a box is as high as the one before it, and hardly apart from it."""
    lowest, highest = _SAME_HEIGHT_RANGE
    if not lowest < box.watts / before.watts < highest:
        return False
    return box.start - before.end <= _MAX_BREATH_SHARE * (box.end - before.start)


def _chained(first: Box, second: Box) -> Box:
    """One box from the start of the first to the end of the later one, with the energy of both; one
    may be inside the other.
    """
    later = second if second.end > first.end else first
    joules = first.joules + second.joules
    joules_half = (
        math.hypot(first.hi_joules - first.lo_joules, second.hi_joules - second.lo_joules) / 2
    )
    watts = joules / max(later.end - first.start, 1e-9)
    # Both stand on the same readings beside them: what these leave open does not average out.
    length = first.end - first.start + second.end - second.start
    watts_half = 0.0
    for box in (first, second):
        share = (box.end - box.start) / length
        watts_half += share * (box.hi_watts - box.lo_watts) / 2
    return replace(
        first,
        end=later.end,
        end_within=later.end_within,
        watts=watts,
        lo_watts=watts - watts_half,
        hi_watts=watts + watts_half,
        joules=joules,
        lo_joules=joules - joules_half,
        hi_joules=joules + joules_half,
        p=min(first.p, second.p),
    )
