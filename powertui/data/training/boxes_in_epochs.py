"""Stretches of unexpected power in a training as findings: in which epoch and batches each is, and
whether it matters.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings import placed_search
from powertui.data.energy.findings.finding import UNEXPLAINED, Finding, power_finding
from powertui.data.energy.findings.finding_rules import RunTotals
from powertui.data.energy.findings.placed_search import LogEnds
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.trace_account import Account
from powertui.data.model import NS_PER_S, PowerOnTrace
from powertui.data.training import training_finding_words as words
from powertui.data.training.epoch_parts import EpochPart, EpochParts
from powertui.data.training.placed_training import PlacedTraining
from powertui.data.training.training_on_axis import TrainingOnAxis

# Records that the usual length of a step is taken from: more cost time and change nothing.
_MAX_STEP_RECORDS = 100_000
# Of a stretch that drew less: its steps took so much longer where it is a pause. Chosen.
_MIN_PAUSED_SHARE = settings.MAJORITY_SHARE
# Of all places: in fewer of them the epoch is not known. Chosen, not measured.
_MIN_SAME_EPOCH_WEIGHT = settings.NEARLY_ALL_SHARE
# With no more records than these, only the epochs are known.
MAX_EPOCH_RECORDS = 2


class FindingsFromBoxes:
    """Boxes as findings: which epoch and batches they are in, and whether they matter."""

    def __init__(
        self,
        training: PlacedTraining,
        axis: TrainingOnAxis,
        account: Account,
        power: PowerOnTrace,
    ) -> None:
        self.training = training
        self.axis = axis
        self.power = power
        self.idle_w = account.idle.value if account.idle is not None else None
        self.parts = EpochParts(
            training=training,
            axis=axis,
            power=power,
            idle_w=self.idle_w,
        )
        stretches = training.stretches
        span = (axis.at(int(stretches.start[0])), axis.at(int(stretches.end.max())))
        self.totals = RunTotals(power, span)

    def from_box(self, box: Box, shifts: Sequence[tuple[float, float]]) -> Finding:
        """The box as a finding, in the epoch that contains most of it.

        `shifts`: the places where it may be as well, each (weight, by how many s later).
        """
        parts = list(self.parts.of_box(box))
        if not self._same_epochs_everywhere(box, parts, shifts):
            parts = [EpochPart(epoch=None, start=box.start, end=box.end)]
        main = max(parts, key=lambda part: part.end - part.start)
        finding = replace(
            power_finding(box, UNEXPLAINED, self.power.badge, self._log_ends.cut(box)),
            epoch=main.epoch,
            epochs=tuple(part.epoch for part in parts if part.epoch is not None),
            step_lo=main.first,
            step_hi=main.last,
            step_half=main.half if main.first is not None else None,
            share=main.share,
            elsewhere=self.parts.elsewhere(main),
            delta_seconds=self._extra_seconds(parts),
            crossing=words.from_to(parts[0], parts[-1]) if len(parts) > 1 else "",
        )
        where = finding.crossing or words.where(finding)
        return replace(finding, text=words.sentence(finding, where))

    def _extra_seconds(self, parts: Sequence[EpochPart]) -> float | None:
        """Seconds that its batches took longer; None where no part of it shows that."""
        seconds = []
        for part in parts:
            extra_s = self.parts.extra_seconds(part)
            if extra_s is not None:
                seconds.append(extra_s)
        return sum(seconds) if seconds else None

    def _same_epochs_everywhere(
        self,
        box: Box,
        parts: Sequence[EpochPart],
        shifts: Sequence[tuple[float, float]],
    ) -> bool:
        """Whether the box is in one of the same epochs at nearly all places of the log."""
        epochs = {part.epoch for part in parts}
        agreeing: float = 0
        for weight, shift_s in shifts:
            epochs_there = {part.epoch for part in self.parts.of_box(box.moved(shift_s))}
            if epochs & epochs_there:
                agreeing += weight
        total = sum(weight for weight, _ in shifts)
        return agreeing >= _MIN_SAME_EPOCH_WEIGHT * total

    def matters(self, finding: Finding) -> bool:
        """Whether it is large enough for its stretch, and for the run or its epoch."""
        epoch = next((e for e in self.training.epochs if e.number == finding.epoch), None)
        if epoch is None or epoch.start is None or epoch.end is None:
            return self.totals.matters(finding, None)
        span = (self.axis.at(epoch.start.ns), self.axis.at(epoch.end.ns))
        return self.totals.matters(finding, span)

    def is_pause(self, finding: Finding) -> bool:
        """Whether it drew less because its steps took longer, by half of it or more.

        The records show such a pause already.
        """
        if (finding.delta_watts or 0.0) >= 0:
            return False
        # A pause shorter than a reading shows in all of it: by its joules it may be so short.
        least_w = min(finding.lo_watts or 0.0, finding.delta_watts or 0.0)
        shortest_ns = NS_PER_S * (finding.delta_joules or 0.0) / min(least_w, -1e-9)
        span_ns = self.axis.unix_ns(finding.end_ps) - self.axis.unix_ns(finding.start_ps)
        return self._longer_ns(finding) >= _MIN_PAUSED_SHARE * min(span_ns, shortest_ns) > 0

    def is_slower_work(self, finding: Finding, usual_w: float) -> bool:
        """Whether it drew less because it did less: its steps took longer, and each took as much
        energy above idle as elsewhere.

        Then the dip is no larger than the share of the time that the steps took longer.
        """
        if (finding.delta_watts or 0.0) >= 0 or finding.hi_watts is None or self.idle_w is None:
            return False
        span_ns = self.axis.unix_ns(finding.end_ps) - self.axis.unix_ns(finding.start_ps)
        share = min(self._longer_ns(finding) / max(span_ns, 1), 1.0)
        return -finding.hi_watts <= share * max(usual_w - self.idle_w, 0.0)

    def _longer_ns(self, finding: Finding) -> float:
        """By how much longer its steps took than usual, as the records around it show; 0 where they
        show nothing.
        """
        rate = self.training.records
        if len(rate) <= MAX_EPOCH_RECORDS:
            return 0.0
        start = self.axis.unix_ns(finding.start_ps)
        end = self.axis.unix_ns(finding.end_ps)
        first = max(int(rate.at_ns.searchsorted(start, side="right")) - 1, 0)
        last = min(int(rate.at_ns.searchsorted(end)), len(rate) - 1)
        steps = max(int(rate.step[last] - rate.step[first]), 0)
        return max(float(rate.at_ns[last] - rate.at_ns[first]) - self._step_ns * steps, 0.0)

    @functools.cached_property
    def _log_ends(self) -> LogEnds:
        return placed_search.log_ends(self.power)

    @functools.cached_property
    def _step_ns(self) -> float:
        """How long a step usually takes, by the records."""
        rate = self.training.records
        every = max(1, len(rate) // _MAX_STEP_RECORDS)
        return NS_PER_S / float(np.nanmedian(rate.per_s[::every]))
