"""How long named stretches between steps take: a validation run, a checkpoint."""

from __future__ import annotations

from collections import defaultdict

from powertui.data.compare.figure import Family
from powertui.data.compare.part import HostWindow
from powertui.data.compare.values import ComparedValue, ValueKey, Values
from powertui.data.model import PS_PER_S


def phase_values(window: HostWindow) -> Values:
    """The seconds of each phase that begins in the window, all of one name together."""
    lo, hi = window.lo, window.hi
    totals: dict[str, int] = defaultdict(int)
    for phase in window.profile.epochs.phases:
        is_early = lo is not None and phase.start < lo
        is_late = hi is not None and phase.start >= hi
        if not is_early and not is_late:
            totals[phase.name] += phase.end - phase.start
    values: Values = {}
    for name, length_ps in totals.items():
        key = ValueKey(Family.PHASE, name, "s")
        values[key] = ComparedValue(length_ps / PS_PER_S)
    return values
