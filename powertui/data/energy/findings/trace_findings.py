"""All witnesses heard, and what they say joined to one list of stretches, the largest energy first.

A stretch that several witnesses name is one finding. What is too little to matter
(`finding_rules`) is kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from powertui.data.energy import fold as folding
from powertui.data.energy import settings
from powertui.data.energy.findings import (
    epoch_differences,
    finding_texts,
    neighbours,
    rhythm,
    throttling,
)
from powertui.data.energy.findings.explained_findings import FindingExplainer
from powertui.data.energy.findings.finding import (
    EPOCHS,
    NEIGHBOURS,
    UNEXPLAINED,
    Against,
    Finding,
    Findings,
    Limits,
    Ops,
    Unopened,
    power_finding,
    time_finding,
)
from powertui.data.energy.findings.finding_rules import (
    MIN_STRETCH_SHARE,
    SHORTEST_S,
    RunTotals,
    same_stretch,
)
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import SensorReadings, held_against
from powertui.data.energy.findings.step_places import StepPlaces
from powertui.data.model import (
    PS_PER_S,
    Badge,
    Epochs,
    Int64s,
    PowerOnTrace,
    ScalarSeries,
    Steps,
    Trace,
)
from powertui.data.sorted_columns import are_among
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

if TYPE_CHECKING:
    from powertui.data.energy.findings.placed_search import FoundLoads

# Where the place of the log is open by more than ± this, nothing is promised. Chosen.
_MAX_PLACE_S = settings.FOREIGN_CLOCK_S


@dataclass(frozen=True, eq=False)
class FindingInputs:
    """What findings are made from."""

    trace: Trace
    steps: Steps
    epochs: Epochs
    power: PowerOnTrace | None
    scalars: Sequence[ScalarSeries] = ()
    training: tuple[int, int] | None = None
    held: tuple[throttling.ThrottledStretch, ...] = ()  # where a limit held it back
    # Its readings that are looked at, where somebody else looks at the rest.
    near: PowerOnTrace | None = None


def findings_in_trace(run: FindingInputs, ops: Ops | None = None) -> Findings:
    """Everything that stands out in one trace."""
    return _Joining(run, ops).all()


class _SlowerSteps(NamedTuple):
    """Steps (rows, the second past the end) that took longer, and which witness says so."""

    first: int
    last: int
    p: float
    witness: str


class _PowerAnswer(NamedTuple):
    """What the power of a trace shows."""

    findings: list[Finding]
    limits: Limits = Limits()
    could: str = ""
    against: Against | None = None


class _Joining:
    def __init__(self, run: FindingInputs, ops: Ops | None) -> None:
        self.run = run
        self.power = run.power
        if run.power is not None and run.power.status == "none":
            self.power = None
        folded = folding.fold(run.steps, run.epochs, self.power)
        if isinstance(folded, str):
            self.folded = None
            self.reason = folded
        else:
            self.folded = folded
            self.reason = ""
        self.places = StepPlaces(run.steps, run.epochs, self.folded)
        self.totals = RunTotals(self.power, self._bounds())
        self.explainer = FindingExplainer(self.places, run.trace.span, ops)

    def _bounds(self) -> tuple[int, int]:
        """From when to when the run is known to have worked: its trace, and the training."""
        begin, end = self.run.trace.span
        if self.run.training is None:
            return begin, end
        training_begin, training_end = self.run.training
        return min(begin, training_begin), max(end, training_end)

    def all(self) -> Findings:
        notes = list(self.folded.notes) if self.folded is not None else []
        if self.power is None:
            notes.append("there is no power on this trace: only times are compared")
            by_power = _PowerAnswer([])
        else:
            by_power = self._by_power(self.power, notes)
        findings = self._with_times(by_power.findings)
        findings = throttling.without(findings, self.run.held, self.run.trace.span)
        limited, findings = self._held_back(findings, notes)
        usual_stalls, stall_notes = rhythm.stalls(findings)
        notes += stall_notes
        mattering: list[Finding] = []
        smaller: list[Finding] = []
        for finding in findings:
            epoch = self.places.epoch_span(finding.epoch)
            if finding not in usual_stalls and self.totals.matters(finding, epoch):
                mattering.append(finding)
            elif finding.kind == "time" or _is_load(finding):
                smaller.append(finding)
        explained = [self.explainer.explained(finding) for finding in sorted(mattering, key=_size)]
        return Findings(
            folded=self.folded,
            findings=(*explained, *limited),
            smaller=Unopened(sorted(smaller, key=_size), self.explainer.explained),
            limits=by_power.limits.findings,
            could=by_power.could,
            notes=tuple(notes),
            reason=self.reason,
            seen=by_power.limits.seen,
            against=by_power.against,
            apart=by_power.limits.apart,
        )

    # ── power ────────────────────────────────────────────────────────────────────────────────────

    def _by_power(self, power: PowerOnTrace, notes: list[str]) -> _PowerAnswer:
        """What nothing in the trace explains."""
        from powertui.data.energy.findings import placed_search, unexplained

        if power.status == "ambiguous":
            notes.append(
                "the alignment of the power log is ambiguous: the start and end of a "
                "stretch are just as uncertain"
            )
        near = self.run.near if self.run.near is not None else power
        by_trace = unexplained.unexplained_power(
            self.run.trace, self.run.steps, near, self.run.scalars, self.run.training
        )
        findings = []
        if by_trace.boxes:
            log_ends = placed_search.log_ends(power)
            for box in by_trace.boxes:
                findings.append(self._from_box(box, power.badge, log_ends.cut(box)))
        if by_trace.doubtful:
            notes.append(finding_texts.doubtful_note(by_trace.doubtful))
        limits, could = self._could(by_trace, power)
        against = None
        if by_trace.expected is not None:
            against = held_against(by_trace.expected.readings)
        return _PowerAnswer(
            findings=findings,
            limits=limits,
            could=could,
            against=against,
        )

    def _from_box(
        self,
        box: Box,
        badge: Badge,
        cut: tuple[bool, bool],
    ) -> Finding:
        finding = power_finding(box, UNEXPLAINED, badge, cut)
        rows = self.places.rows_inside(finding.start_ps, finding.end_ps)
        finding = replace(finding, delta_seconds=self.places.extra_seconds(rows))
        return self.places.placed(finding, rows)

    def _could(self, by_trace: FoundLoads, power: PowerOnTrace) -> tuple[Limits, str]:
        """What would have been found, also in words, or why that is not known."""
        from powertui.data.energy.findings.could_find import detection_limits

        if by_trace.expected is None:
            return detection_limits(by_trace, (0.0, 0.0), self.totals.joules)
        half_s = _place_half_s(power)
        if half_s > _MAX_PLACE_S:
            return Limits(), (
                "what could have been found is not known: the log may be anywhere within "
                f"± {half_s:.2g} s; {_what_would_help(power)}"
            )
        span = self._promised_span(by_trace.expected.readings)
        return detection_limits(by_trace, span, self.totals.joules)

    def _promised_span(self, readings: SensorReadings) -> tuple[float, float]:
        """The seconds that limits speak of: the profile, or the training where no reading of the
        profile is judged.
        """
        begin, end = self.run.trace.span
        span = (begin / PS_PER_S, end / PS_PER_S)
        in_profile = readings.judged & (readings.lo < span[1]) & (readings.hi > span[0])
        if in_profile.any() or self.run.training is None:
            return span
        begin, end = self.run.training
        span = (begin / PS_PER_S, end / PS_PER_S)
        if self.run.near is None or not len(readings):
            return span
        return max(span[0], float(readings.lo[0])), min(span[1], float(readings.hi[-1]))

    # ── time ─────────────────────────────────────────────────────────────────────────────────────

    def _with_times(self, findings: list[Finding]) -> list[Finding]:
        """With steps that took longer: as part of a stretch that is listed, or by themselves."""
        joined = list(findings)
        ends = self.run.steps.ends()
        for slower in self._slower_steps():
            start = int(self.run.steps.start[slower.first])
            end = int(ends[slower.last - 1])
            rows = np.arange(slower.first, slower.last)
            finding = time_finding(
                start_ps=start,
                end_ps=end,
                witness=slower.witness,
                p=slower.p,
                badge=Badge.MEASURED,
            )
            finding = replace(finding, delta_seconds=self.places.extra_seconds(rows))
            finding = self.places.placed(finding, rows)
            same_row = self._row_of_same_stretch(finding, rows, joined)
            if same_row is not None:
                joined[same_row] = _also_seen_by(joined[same_row], slower.witness)
                continue
            # What takes as long in the other epochs is no news, however long it is beside its
            # neighbors.
            min_s = MIN_STRETCH_SHARE * (end - start) / PS_PER_S
            if slower.witness != NEIGHBOURS or (finding.delta_seconds or 0.0) >= min_s:
                joined.append(finding)
        return joined

    def _row_of_same_stretch(
        self,
        finding: Finding,
        steps: Int64s,
        listed: Sequence[Finding],
    ) -> int | None:
        """The finding that these slower steps are a part of, if there is one."""
        for row, candidate in enumerate(listed):
            is_same = same_stretch(candidate.span, finding.span)
            if is_same and not self.places.are_stalls_in(candidate, steps):
                return row
        return None

    def _slower_steps(self) -> list[_SlowerSteps]:
        slower_steps: list[_SlowerSteps] = []
        if self.folded is not None:
            for line, stretch in epoch_differences.time(self.folded):
                starts = self.folded.start[line, stretch.first : stretch.last]
                has_step = starts >= 0
                rows = np.flatnonzero(are_among(self.run.steps.start, starts[has_step]))
                if len(rows):
                    slower = _SlowerSteps(
                        first=int(rows[0]),
                        last=int(rows[-1]) + 1,
                        p=stretch.p,
                        witness=EPOCHS,
                    )
                    slower_steps.append(slower)
        for slow in neighbours.time(self.run.steps):
            slower = _SlowerSteps(
                first=slow.first,
                last=slow.last,
                p=slow.p,
                witness=NEIGHBOURS,
            )
            slower_steps.append(slower)
        return slower_steps

    def _held_back(
        self,
        findings: list[Finding],
        notes: list[str],
    ) -> tuple[list[Finding], list[Finding]]:
        """(stretches of this trace that a limit held back, the other findings).

        Steps that are long for that reason are not among the others.
        """
        lo, hi = self.run.trace.span
        here = [
            stretch for stretch in self.run.held if stretch.start_ps < hi and stretch.end_ps > lo
        ]
        longest_first = sorted(here, key=lambda stretch: stretch.start_ps - stretch.end_ps)
        listed = longest_first[: throttling.MAX_LISTED_STRETCHES]
        unlisted_count = len(here) - len(listed)
        if unlisted_count:
            notes.append(
                f"{unlisted_count} shorter stretches in which a limit held the run back: not listed"
            )
        limited: list[Finding] = []
        rest = findings
        for stretch in sorted(listed, key=lambda stretch: stretch.start_ps):
            rows = self.places.rows_inside(stretch.start_ps, stretch.end_ps)
            finding = throttling.finding(stretch, self.run.held, self.run.steps, rows)
            finding = self.places.placed(finding, rows)
            unlike: list[Finding] = []
            for candidate in rest:
                if candidate.kind == "time" and same_stretch(candidate.span, finding.span):
                    finding = _also_seen_by(finding, *candidate.witnesses)
                else:
                    unlike.append(candidate)
            rest = unlike
            where = finding_texts.where(finding)
            text = throttling.sentence(stretch, where, finding.delta_seconds, len(rows))
            limited.append(replace(finding, text=text))
        return limited, rest


def _place_half_s(power: PowerOnTrace) -> float:
    """How far off the log may be, where that is not sure: a load has to stand out at all of these
    places.
    """
    if power.status != "ambiguous":
        return 0.0
    return (power.offset_hi_ps - power.offset_lo_ps) / 2 / PS_PER_S


def _what_would_help(power: PowerOnTrace) -> str:
    """To know where the log is: a clock, or to believe the one that it has."""
    if power.series.clock.known:
        return "--align clock uses its clock, if that is right"
    return "wall times would help"


def _also_seen_by(finding: Finding, *witnesses: str) -> Finding:
    return replace(finding, witnesses=tuple(dict.fromkeys((*finding.witnesses, *witnesses))))


def _is_load(finding: Finding) -> bool:
    """Whether it is long enough to be a load: for moments any machine draws what no trace shows."""
    return finding.end_ps - finding.start_ps >= SHORTEST_S * PS_PER_S


def _size(finding: Finding) -> tuple[bool, float, float]:
    joules = finding.delta_joules or 0.0
    seconds = finding.delta_seconds or 0.0
    return finding.kind != "power", -abs(joules), -abs(seconds)
