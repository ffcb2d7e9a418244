"""The second witness: the lengths of an epoch's steps against the same steps of the others.

First steps that traced are not compared. What an epoch draws is held against what the trace says
ran, as that of any other stretch (`expected_power`): held against the other epochs, too, it showed
nothing more (docs/energy-evidence.md).
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import fold as folding
from powertui.data.energy import scan, settings
from powertui.data.energy.findings import neighbours
from powertui.data.energy.findings.finding_rules import MIN_STRETCH_SHARE
from powertui.data.energy.fold import Folded
from powertui.data.energy.scan import ScannedStretch
from powertui.data.model import Bools, Floats
from powertui.named_tuples import NamedTuple


class Slower(NamedTuple):
    """Columns of one epoch whose steps took longer than in the others."""

    line: int
    stretch: ScannedStretch


def time(folded: Folded, rng: np.random.Generator) -> list[Slower]:
    """Steps that took longer than the same steps elsewhere."""
    slower = []
    epoch_count = len(folded.epochs)
    usual = folding.median(folded.seconds)
    good = np.isfinite(folded.seconds) & ~folded.tracing
    for line in range(epoch_count):
        difference = folded.seconds[line] - others(folded.seconds, good, line)
        usable = good[line] & np.isfinite(difference)
        usable[-1:] = False  # no next step: its end is its own
        for stretch in scan.stretches(
            difference=difference,
            usable=usable,
            block=1,
            least=1,
            floor=settings.NEGLIGIBLE_SHARE * usual,
            looks=epoch_count,
            rng=rng,
        ):
            is_long = stretch.mean > MIN_STRETCH_SHARE * usual
            if is_long and neighbours.sure(stretch, epoch_count):
                slower.append(Slower(line, stretch))
    return slower


def others(values: Floats, good: Bools, line: int) -> Floats:
    """Median of all other epochs at every step; NaN where none has it."""
    rest = np.where(good, values, np.nan)
    rest[line] = np.nan
    return folding.medians(rest)
