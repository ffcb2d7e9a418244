"""What is known of the late ranks of a run: who they are, and what the others wait and draw for
them.
"""

from __future__ import annotations

import functools

import numpy as np

from powertui import units
from powertui.data.energy.wait_energy import (
    WaitEnergy,
    WaitSum,
    resolved,
    wait_energies,
)
from powertui.data.model import PS_PER_S, Int64s
from powertui.data.tools.rank_causes import LateCause, late_cause
from powertui.data.tools.rank_lateness import (
    Lateness,
    LateRank,
    late_in,
    late_ranks,
    run_lateness,
)
from powertui.data.tools.registry import Question
from powertui.value_types import dataclass


@dataclass(frozen=True, eq=False)
class Late:
    """What is known of late ranks in one run."""

    question: Question
    lateness: Lateness

    @functools.cached_property
    def ranks(self) -> list[LateRank]:
        """Those that hold the others up, the worst first."""
        return late_ranks(self.lateness)

    @functools.cached_property
    def energies(self) -> tuple[WaitEnergy, ...]:
        """What every machine drew while waiting."""
        return wait_energies(self.question.opened, self.lateness, self.question.aligning)

    @functools.cached_property
    def cause(self) -> LateCause | None:
        """What the worst of them does longer than the others."""
        if not self.ranks:
            return None
        return late_cause(self.question.opened, self.lateness, self.ranks[0])

    def name(self, rank: int) -> str:
        """Of a rank."""
        return self.lateness.matched.ranks[rank].name

    def caused_s(self, late: LateRank) -> float:
        """What all others together waited for it, s."""
        calls = self._caused(late)
        return float(np.nansum(self.lateness.waits[calls])) / PS_PER_S

    def held_up_s(self, late: LateRank) -> float:
        """By how much the run would have been shorter, had it come with the one before, s."""
        return float(self.lateness.held_up[self._caused(late)].sum()) / PS_PER_S

    def caused_joules(self, late: LateRank) -> WaitSum | None:
        """What all others together drew while they waited for it; None where not known."""
        waits_of_calls = self.lateness.waits[self._caused(late)]
        joules = 0.0
        squares = 0.0
        for energy in self.energies:
            waits = waits_of_calls[:, list(energy.ranks)]
            wait_s = float(np.nansum(waits)) / len(energy.ranks) / PS_PER_S
            if energy.watts is None:
                if wait_s > 0:
                    return None
                continue
            joules += energy.watts.watts * wait_s
            squares += (energy.watts.half * wait_s) ** 2
        return resolved(WaitSum(joules, squares**0.5))

    def _caused(self, late: LateRank) -> Int64s:
        """The calls that waited for it."""
        is_late = late_in(self.lateness, late) & (self.lateness.last == late.rank)
        return np.flatnonzero(is_late)


def known_late(question: Question) -> Late | None:
    """What is known of late ranks; None where no collectives match. Worked out once."""

    def make() -> Late | None:
        lateness = run_lateness(question.opened)
        return None if lateness is None else Late(question, lateness)

    return question.opened.cached(("late ranks", question.aligning), make)


def joules_text(joules: WaitSum) -> str:
    """Joules with half of their interval: "41.2 kJ ± 6.0"."""
    lo = joules.joules - joules.half
    hi = joules.joules + joules.half
    return units.energy_interval(joules.joules, lo, hi)
