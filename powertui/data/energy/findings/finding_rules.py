"""The rules that all findings share: which stretches are one finding, and which findings matter."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from powertui.data.model import Floats

# A finding matters from these shares of the energy (or time) of its stretch and of the run on: the
# promise to the user. Half and twice: no change in docs/energy-evidence.md.
MIN_STRETCH_SHARE = 0.05
MIN_RUN_SHARE = 0.005
# Of a long run 0.5 % is hours of somebody else's program: so this share of its own epoch is enough,
# too. Chosen, not measured.
_MIN_EPOCH_SHARE = 0.02
# What draws so much more than its stretch for so long (s) matters however long the run is. Only
# more counts: less is a pause. Chosen, not measured.
STRONG_SHARE = 0.08
MIN_STRONG_S = 10.0
# Two stretches are one when at least this part of the shorter one is in both. At 0.5 a burst of
# which the log's clock was 0.7 s off (own/two_epochs_with_burst) was listed a second time as slower
# steps; otherwise chosen, not measured.
_MIN_SHARED_PART = 0.3

_Figures = TypeVar("_Figures", float, Floats)


def _shared_part(first: tuple[float, float], second: tuple[float, float]) -> float:
    """What two stretches have in common, as a part of the shorter one; below 0: they are apart."""
    first_start, first_end = first
    second_start, second_end = second
    both = min(first_end, second_end) - max(first_start, second_start)
    shorter = min(first_end - first_start, second_end - second_start)
    return both / max(shorter, 1e-9)


def same_stretch(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Whether two stretches, each (start, end), are one that was found twice."""
    return _shared_part(first, second) >= _MIN_SHARED_PART


def min_amount(of_stretch: float, of_run: float) -> float:
    """The joules, or seconds, from which on a finding matters, by those of its stretch and run."""
    return max(MIN_STRETCH_SHARE * abs(of_stretch), MIN_RUN_SHARE * of_run)


def min_watts(expected: _Figures, share: float = MIN_STRETCH_SHARE) -> _Figures:
    """The watts above those expected from which on a load has this share of its own stretch."""
    return expected * share / (1 - share)


def power_matters(
    more: float, of_stretch: float, of_run: float, *, seconds: float, of_epoch: float | None = None
) -> bool:
    """Whether joules more (or less) than expected matter, by the joules of their stretch, of the
    run, and of their epoch where that is known. `seconds`: how long the stretch is.
    """
    of_stretch = abs(of_stretch)
    if more >= STRONG_SHARE * of_stretch and seconds >= MIN_STRONG_S:
        return True
    if of_epoch is not None:
        of_run = min(of_run, of_epoch * _MIN_EPOCH_SHARE / MIN_RUN_SHARE)
    return abs(more) >= min_amount(of_stretch, of_run)


def expected_watts(ceiling: Floats) -> Floats:
    """What a load is added to, W; 0 where nothing is known to be expected."""
    return np.where(np.isfinite(ceiling), ceiling, 0.0)
