"""The second witness: the lengths of an epoch's steps against the same steps of the others.

First steps that traced are not compared. What an epoch draws is held against what the trace says
ran, as that of any other stretch (`expected_power`): held against the other epochs, too, it showed
nothing more (docs/energy-evidence.md).
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import fold as folding
from powertui.data.energy.findings import neighbours
from powertui.data.energy.findings.neighbours import Slow
from powertui.data.energy.fold import Folded
from powertui.data.model import Bools, Floats


def time(folded: Folded) -> list[tuple[int, Slow]]:
    """Steps that took longer than the same steps elsewhere: a line of `folded`, and its columns."""
    slower = []
    epoch_count = len(folded.epochs)
    good = np.isfinite(folded.seconds) & ~folded.tracing
    for line in range(epoch_count):
        elsewhere = others(folded.seconds, good, line)
        usable = good[line] & np.isfinite(elsewhere)
        usable[-1:] = False  # no next step: its end is its own
        for slow in neighbours.slower_stretches(
            folded.seconds[line], elsewhere, usable, epoch_count
        ):
            slower.append((line, slow))
    return slower


def others(values: Floats, good: Bools, line: int) -> Floats:
    """Median of all other epochs at every step; NaN where none has it."""
    rest = np.where(good, values, np.nan)
    rest[line] = np.nan
    return folding.medians(rest)
