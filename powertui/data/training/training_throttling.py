"""Where a training was held back outside its sessions: by a limit of power, or throttled, as its
power's recording tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from powertui.data.energy.findings import throttling
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.findings.throttling import ThrottledStretch
from powertui.data.model import PowerOnTrace

if TYPE_CHECKING:
    from powertui.data.training.training import Training
    from powertui.data.training.training_on_axis import TrainingOnAxis

_MOST = 20  # stretches, the longest, are listed


def throttled_in_training(
    training: Training, seen: TrainingOnAxis, power: Sequence[PowerOnTrace]
) -> tuple[ThrottledStretch, ...]:
    """Stretches in which it ran, by time. Within a session the profile tells, with its steps."""
    stretches = training.stretches
    if not len(stretches):
        return ()
    lo, hi = seen.at(int(stretches.start[0])), seen.at(int(stretches.end.max()))
    islands = [
        (one.start, one.end)
        for one in seen.islands
        if one.start is not None and one.end is not None
    ]
    return tuple(
        one
        for one in throttling.throttled_stretches(power)
        if one.end_ps > lo
        and one.start_ps < hi
        and not any(a <= one.start_ps and one.end_ps <= b for a, b in islands)
    )


def throttling_findings(
    training: Training, seen: TrainingOnAxis, back: Sequence[ThrottledStretch]
) -> list[tuple[Finding, ThrottledStretch]]:
    """The longest of them, by time, with the epoch that holds most of each."""
    longest = sorted(back, key=lambda one: one.start_ps - one.end_ps)[:_MOST]
    return [
        (_told(training, seen, one), one) for one in sorted(longest, key=lambda one: one.start_ps)
    ]


def _told(training: Training, seen: TrainingOnAxis, one: ThrottledStretch) -> Finding:
    made = throttling.bare_finding(one)
    best = 0
    for epoch in training.epochs:
        if epoch.start is None or epoch.end is None:
            continue
        lo, hi = seen.at(epoch.start.ns), seen.at(epoch.end.ns)
        a, b = max(lo, one.start_ps), min(hi, one.end_ps)
        if b - a > best:
            best = b - a
            made = replace(
                made, epoch=epoch.number, share=((a - lo) / (hi - lo), (b - lo) / (hi - lo))
            )
    return made
