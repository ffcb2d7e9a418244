"""A training that was never profiled: what its power shows beside its epochs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from powertui.data.conclusions.conclusion import Conclusion, Cost, Stretch
from powertui.data.conclusions.makers import stretches

if TYPE_CHECKING:
    from powertui.data.training.training_energy import TrainingEnergy


def unprofiled_stretches(energy: TrainingEnergy) -> Iterator[Conclusion]:
    """Every finding of the training, on its own axis."""
    drawn = energy.whole().energy
    joules = drawn.joules if drawn is not None and drawn.resolved else None
    for finding in energy.findings.findings:
        share = None
        if joules and finding.delta_joules is not None:
            share = finding.delta_joules / joules
        cost = Cost(joules=finding.delta_joules, joules_share=share)
        where = Stretch(0, finding.start_ps, finding.end_ps)
        made = stretches.conclusion(finding, where, cost, outside=True)
        yield stretches.with_doubt(made, energy.account.alignment)
