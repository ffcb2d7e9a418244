"""What took some of the time of a profile, and what several finders of such causes need."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from powertui.data.conclusions.conclusion import Kind
from powertui.data.conclusions.makers.blame import NOBODY, Blame
from powertui.data.conclusions.makers.purposes import Purpose
from powertui.data.model import Int64s
from powertui.data.tools.activity import ActivityKind
from powertui.data.tools.covered_time import NO_TIME, CoveredTime
from powertui.data.tools.wall_time import RunPart
from powertui.value_types import dataclass

# Share of the profile from which on a cause is looked at closer, to name who took the time.
# Chosen, not measured.
MIN_NAMED_SHARE = 0.02

SILENT = (ActivityKind.NOTHING, ActivityKind.WAITING)
INPUT = (ActivityKind.INPUT, ActivityKind.INPUT_AHEAD, ActivityKind.INPUT_PYTHON)
KIND_OF_PURPOSE = {
    Purpose.GARBAGE: Kind.GARBAGE_COLLECTION,
    Purpose.CHECKPOINT: Kind.CHECKPOINT,
    Purpose.VALIDATION: Kind.VALIDATION,
    Purpose.LOGGING: Kind.LOGGING,
    Purpose.INPUT: Kind.INPUT,
    Purpose.WAIT: Kind.WAITING,
}


@dataclass(frozen=True, eq=False)
class TimeCause:
    """What took some of the time of a profile."""

    kind: Kind
    ps: int
    part: RunPart
    activities: tuple[ActivityKind, ...] = ()
    blame: Blame = NOBODY
    slow: Int64s = field(default_factory=lambda: np.empty(0, np.int64))  # periods, if few took it
    stretches: CoveredTime = NO_TIME
    lacks_backward: bool = False  # what few steps compute, where a backward pass trains in all
    has_same_calls: bool = False  # the few steps call what all do, and it takes longer

    @property
    def is_of_few(self) -> bool:
        """Whether a few steps took this time, and the others did not."""
        return len(self.slow) > 0


def largest_first(times: Int64s, activities: tuple[ActivityKind, ...]) -> tuple[ActivityKind, ...]:
    """Those of these activities that took any time, by how much they took."""
    going_on = [kind for kind in activities if times[kind] > 0]
    return tuple(sorted(going_on, key=lambda kind: -int(times[kind])))
