"""Where a training was held back outside its sessions: by a limit of power, or throttled, as its
power's recording tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from powertui.data.energy.findings import throttling
from powertui.data.energy.findings.finding import Finding
from powertui.data.energy.findings.throttling import ThrottledStretch
from powertui.data.model import PowerOnTrace
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_on_axis import TrainingOnAxis


def throttled_in_training(
    training: PlacedTraining,
    axis: TrainingOnAxis,
    power: Sequence[PowerOnTrace],
) -> tuple[ThrottledStretch, ...]:
    """Stretches in which it ran, by time. Within a session the profile tells, with its steps."""
    stretches = training.stretches
    if not len(stretches):
        return ()
    lo = axis.at(int(stretches.start[0]))
    hi = axis.at(int(stretches.end.max()))
    islands = [
        (stretch.start, stretch.end)
        for stretch in axis.islands
        if stretch.start is not None and stretch.end is not None
    ]
    return tuple(
        stretch
        for stretch in throttling.throttled_stretches(power)
        if stretch.end_ps > lo
        and stretch.start_ps < hi
        and not any(a <= stretch.start_ps and stretch.end_ps <= b for a, b in islands)
    )


def throttling_findings(
    training: PlacedTraining,
    axis: TrainingOnAxis,
    back: Sequence[ThrottledStretch],
) -> list[tuple[Finding, ThrottledStretch]]:
    """The longest of them, by time, with the epoch that holds most of each."""
    longest = sorted(back, key=lambda stretch: stretch.start_ps - stretch.end_ps)[
        : throttling.MAX_LISTED_STRETCHES
    ]
    return [
        (_told(training, axis, stretch), stretch)
        for stretch in sorted(longest, key=lambda stretch: stretch.start_ps)
    ]


def _told(training: PlacedTraining, axis: TrainingOnAxis, stretch: ThrottledStretch) -> Finding:
    made = throttling.bare_finding(stretch)
    best = 0
    for epoch in training.epochs:
        if epoch.start is None or epoch.end is None:
            continue
        lo = axis.at(epoch.start.ns)
        hi = axis.at(epoch.end.ns)
        a = max(lo, stretch.start_ps)
        b = min(hi, stretch.end_ps)
        if b - a > best:
            best = b - a
            made = replace(
                made,
                epoch=epoch.number,
                share=((a - lo) / (hi - lo), (b - lo) / (hi - lo)),
            )
    return made
