"""One stretch of unexpected power, and how several tellings of it become one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy.findings.finding_rules import same_stretch
from powertui.data.model import Z95
from powertui.value_types import dataclass

_MAX_BREATH_SHARE = 0.1  # of a stretch: a pause no longer than this does not part it


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
        first, last = self.start_within, self.end_within
        return replace(
            self,
            start=self.start + by,
            end=self.end + by,
            start_within=(first[0] + by, first[1] + by),
            end_within=(last[0] + by, last[1] + by),
        )

    def wider(self, sigma: float) -> Box:
        """The same, its place uncertain by so much more."""

        def around(at: float, within: tuple[float, float]) -> tuple[float, float]:
            return at - math.hypot(at - within[0], Z95 * sigma), at + math.hypot(
                within[1] - at, Z95 * sigma
            )

        # Watts are told of this very stretch: laid beside the load by so much, it holds the less of
        # it.
        beside = Z95 * sigma * abs(self.watts) / max(self.end - self.start, sigma, 1e-9)
        return replace(
            self,
            start_within=around(self.start, self.start_within),
            end_within=around(self.end, self.end_within),
            lo_watts=self.watts - math.hypot(self.watts - self.lo_watts, beside),
            hi_watts=self.watts + math.hypot(self.hi_watts - self.watts, beside),
        )


def joined(weighted: Sequence[tuple[float, Box]]) -> Box:
    """One stretch as it was found several times: its figures are means by weight, its intervals
    hold all of them.
    """
    share = np.array([weight for weight, _ in weighted]) / sum(weight for weight, _ in weighted)

    def mean(values: Sequence[float]) -> float:
        return float(share @ np.asarray(values))

    all_ = [box for _, box in weighted]
    lead = max(weighted, key=lambda pair: pair[0])[1]
    return replace(
        lead,
        start=mean([b.start for b in all_]),
        end=mean([b.end for b in all_]),
        watts=mean([b.watts for b in all_]),
        joules=mean([b.joules for b in all_]),
        p=max(b.p for b in all_),
        start_within=(min(b.start_within[0] for b in all_), max(b.start_within[1] for b in all_)),
        end_within=(min(b.end_within[0] for b in all_), max(b.end_within[1] for b in all_)),
        lo_watts=min(b.lo_watts for b in all_),
        hi_watts=max(b.hi_watts for b in all_),
        lo_joules=min(b.lo_joules for b in all_),
        hi_joules=max(b.hi_joules for b in all_),
    )


def same_load(first: Box, second: Box) -> bool:
    """Whether both are one stretch, and are off to the same side."""
    return first.watts * second.watts > 0 and same_stretch(first.span, second.span)


def bridged(boxes: list[Box]) -> list[Box]:
    """Boxes of much the same height with hardly a pause between them are one load that caught its
    breath.
    """
    out: list[Box] = []
    for box in boxes:
        before = out[-1] if out else None
        if before is not None and 0.6 < box.watts / before.watts < 1.7:
            pause = box.start - before.end
            if pause <= _MAX_BREATH_SHARE * (box.end - before.start):
                out[-1] = _chained(before, box)
                continue
        out.append(box)
    return out


def _chained(first: Box, second: Box) -> Box:
    """One box from the start of the first to the end of the later one, with the energy of both; one
    may lie on the other.
    """
    later = second if second.end > first.end else first
    length = later.end - first.start
    joules = first.joules + second.joules

    def half(low: float, high: float, more_low: float, more_high: float) -> float:
        return math.hypot(high - low, more_high - more_low) / 2

    wide = half(first.lo_joules, first.hi_joules, second.lo_joules, second.hi_joules)
    shares = [
        (box.end - box.start) / (first.end - first.start + second.end - second.start)
        for box in (first, second)
    ]
    # Both stand on the same readings beside them: what these leave open does not average out.
    spread = sum(
        share * (box.hi_watts - box.lo_watts) / 2
        for share, box in zip(shares, (first, second), strict=True)
    )
    watts = joules / max(length, 1e-9)
    return replace(
        first,
        end=later.end,
        end_within=later.end_within,
        watts=watts,
        lo_watts=watts - spread,
        hi_watts=watts + spread,
        joules=joules,
        lo_joules=joules - wide,
        hi_joules=joules + wide,
        p=min(first.p, second.p),
    )
