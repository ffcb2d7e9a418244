"""All witnesses heard, and what they say joined to one list of stretches, the largest energy first.

A stretch that several witnesses name is one finding. What is too little to matter
(`finding_rules`) is kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import fold as folding
from powertui.data.energy import integrate
from powertui.data.energy.findings import (
    could_find,
    epoch_differences,
    finding_texts,
    neighbours,
    rhythm,
    throttling,
    unexplained,
)
from powertui.data.energy.findings.finding import (
    EPOCHS,
    NEIGHBOURS,
    UNEXPLAINED,
    Finding,
    Findings,
    LongerOp,
    Ops,
    Unopened,
)
from powertui.data.energy.findings.finding_rules import (
    MIN_RUN_SHARE,
    MIN_STRETCH_SHARE,
    expected_watts,
    min_amount,
    min_watts,
    same_stretch,
)
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import covered_share, held_against
from powertui.data.energy.findings.unexplained import Unexplained
from powertui.data.energy.fold import Folded
from powertui.data.model import (
    PS_PER_S,
    Badge,
    Epochs,
    Floats,
    Int64s,
    PowerOnTrace,
    ScalarSeries,
    Steps,
    Trace,
)
from powertui.value_types import dataclass

_MAX_OPS = 3  # listed in a finding
# Where the place of the log is open by more than ± this, nothing is promised. Chosen.
_MAX_PLACE_S = 2.0
_MAX_LIMITED_STRETCHES = 20  # that a limit held back, the longest, are listed


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
    near: PowerOnTrace | None = (
        None  # its readings that are looked at, where somebody else looks at the rest
    )


def findings_in_trace(run: FindingInputs, ops: Ops | None = None, *, seed: int = 0) -> Findings:
    """Everything that stands out in one trace."""
    return _Joining(run, ops, np.random.default_rng([43, seed])).all()


class _Joining:
    def __init__(self, run: FindingInputs, ops: Ops | None, rng: np.random.Generator) -> None:
        self.run, self.ops, self.rng = run, ops, rng
        self.power = run.power if run.power is not None and run.power.status != "none" else None
        folded = folding.fold(run.steps, run.epochs, self.power)
        self.folded: Folded | None = None if isinstance(folded, str) else folded
        self.reason = folded if isinstance(folded, str) else ""
        self.lengths = neighbours.seconds(run.steps)
        self.usual = _usual(run.steps, self.lengths, self.folded)
        self.doubtful = 0  # stretches that stand out at some places of the log only
        self.badge = self.power.badge if self.power is not None else Badge.ESTIMATED

    def all(self) -> Findings:
        notes = list(self.folded.notes) if self.folded is not None else []
        findings: list[Finding] = []
        limits = could_find.Limits((), ())
        could, against = "", None
        if self.power is None:
            notes.append("there is no power on this trace: only times are compared")
        else:
            if self.power.status == "ambiguous":
                notes.append(
                    "the alignment of the power log is ambiguous: the start and end of a "
                    "stretch are just as uncertain"
                )
            near = self.run.near if self.run.near is not None else self.power
            by_trace = unexplained.unexplained_power(
                self.run.trace, self.run.steps, near, self.run.scalars, self.run.training
            )
            findings += [self._from_box(box, UNEXPLAINED) for box in by_trace.boxes]
            findings = self._with_epochs(findings, by_trace)
            limits, could = self._could(by_trace)
            if by_trace.expected is not None:
                against = held_against(by_trace.expected.readings)
            self.doubtful += by_trace.doubtful
            if self.doubtful:
                notes.append(finding_texts.doubtful_note(self.doubtful))
        findings = throttling.without(
            self._with_times(findings), self.run.held, self.run.trace.span
        )
        limited, findings = self._held_back(findings, notes)
        usual, stall_notes = rhythm.stalls(findings)
        notes += stall_notes
        matter = [
            finding for finding in findings if finding not in usual and self._matters(finding)
        ]
        # That epochs differ a little is no news: what stands out against them alone is told when it
        # matters.
        smaller = [
            finding
            for finding in findings
            if finding not in matter and (finding.kind == "time" or _is_load(finding))
        ]
        return Findings(
            self.folded,
            (*(self._finished(finding) for finding in sorted(matter, key=_size)), *limited),
            Unopened(sorted(smaller, key=_size), self._finished),
            limits.findings,
            could,
            tuple(notes),
            self.reason,
            limits.seen,
            against,
            limits.apart,
        )

    # ── the witnesses ────────────────────────────────────────────────────────────────────────────

    def _from_box(self, box: Box, witness: str) -> Finding:
        start, end = round(box.start * PS_PER_S), round(box.end * PS_PER_S)
        rows = _inside(self.run.steps, start, end)
        finding = Finding(
            kind="power",
            witnesses=(witness,),
            start_ps=start,
            end_ps=end,
            start_within=_in_ps(box.start_within),
            end_within=_in_ps(box.end_within),
            epoch=None,
            step_lo=None,
            step_hi=None,
            elsewhere=(),
            delta_watts=box.watts,
            lo_watts=box.lo_watts,
            hi_watts=box.hi_watts,
            delta_joules=box.joules,
            lo_joules=box.lo_joules,
            hi_joules=box.hi_joules,
            delta_seconds=self._longer(rows),
            p=box.p,
            badge=self.badge,
        )
        return self._at(finding, rows)

    def _with_epochs(self, findings: list[Finding], by_trace: Unexplained) -> list[Finding]:
        """With stretches that are unlike the other epochs.

        Such a stretch is the same as one that nothing explains, its mirror, or new.
        """
        if self.folded is None or self.power is None:
            return findings
        out = list(findings)
        new: list[tuple[epoch_differences.Unlike, Finding]] = []
        for unlike in epoch_differences.power(self.folded, self.power):
            line, box = unlike
            finding = self._from_box(box, EPOCHS)
            finding = replace(finding, epoch=self.folded.epochs[line])
            rows = (row for row, listed in enumerate(out) if _same_load(listed, finding))
            same = next(rows, None)
            if same is not None:
                witnesses = tuple(dict.fromkeys((*out[same].witnesses, EPOCHS)))
                out[same] = replace(out[same], witnesses=witnesses)
                continue
            is_mirror = any(_mirrored(candidate, finding) for candidate in findings)
            if not is_mirror and _credible(finding, by_trace):
                new.append((unlike, finding))
        sure = epoch_differences.at_nearly_all_places(
            [unlike for unlike, _ in new], self.run.steps, self.run.epochs, self.power
        )
        self.doubtful += len(new) - len(sure)
        return out + [finding for unlike, finding in new if unlike in sure]

    def _with_times(self, findings: list[Finding]) -> list[Finding]:
        """With steps that took longer: as part of a stretch that is listed, or by themselves."""
        out = list(findings)
        ends = self.run.steps.ends()
        for first, last, p, witness in self._slower_steps():
            start, end = int(self.run.steps.start[first]), int(ends[last - 1])
            rows = np.arange(first, last)
            finding = self._slower(rows, start, end, p, witness)
            same = None
            for row, candidate in enumerate(out):
                is_same = same_stretch(candidate.span, finding.span)
                if is_same and not self._stalls_in(candidate, rows):
                    same = row
                    break
            if same is None:
                # What takes as long in the other epochs is no news, however long it is beside its
                # neighbors.
                min_s = MIN_STRETCH_SHARE * (end - start) / PS_PER_S
                if witness != NEIGHBOURS or (finding.delta_seconds or 0.0) >= min_s:
                    out.append(finding)
                continue
            listed = out[same]
            if witness not in listed.witnesses:
                out[same] = replace(listed, witnesses=(*listed.witnesses, witness))
        return out

    def _slower_steps(self) -> list[tuple[int, int, float, str]]:
        """Steps that took longer: rows of the first and past the last, p, and the witness."""
        rows: list[tuple[int, int, float, str]] = []
        if self.folded is not None:
            for line, stretch in epoch_differences.time(self.folded, self.rng):
                columns = np.arange(stretch.first, stretch.last)
                starts = self.folded.start[line, columns]
                steps = np.flatnonzero(np.isin(self.run.steps.start, starts[starts >= 0]))
                if len(steps):
                    rows.append((int(steps[0]), int(steps[-1]) + 1, stretch.p, EPOCHS))
        for slow in neighbours.time(self.run.steps, self.rng):
            rows.append((slow.first, slow.last, slow.p, NEIGHBOURS))
        return rows

    def _slower(self, rows: Int64s, start: int, end: int, p: float, witness: str) -> Finding:
        """Steps that took longer, as a finding."""
        finding = Finding(
            kind="time",
            witnesses=(witness,),
            start_ps=start,
            end_ps=end,
            start_within=(start, start),
            end_within=(end, end),
            epoch=None,
            step_lo=None,
            step_hi=None,
            elsewhere=(),
            delta_watts=None,
            lo_watts=None,
            hi_watts=None,
            delta_joules=None,
            lo_joules=None,
            hi_joules=None,
            delta_seconds=self._longer(rows),
            p=p,
            badge=Badge.MEASURED,
        )
        return self._at(finding, rows)

    def _stalls_in(self, finding: Finding, rows: Int64s) -> bool:
        """Whether these steps stall in a stretch of slower ones that is told without them."""
        if finding.kind != "time":
            return False
        inside = _inside(self.run.steps, finding.start_ps, finding.end_ps)
        apart = inside[neighbours.stalling(self.lengths[inside])]
        return bool(len(rows) and np.isin(rows, apart).all())

    def _held_back(
        self, findings: list[Finding], notes: list[str]
    ) -> tuple[list[Finding], list[Finding]]:
        """(stretches of this trace that a limit held back, the other findings).

        Steps that are long for that reason are not among the others.
        """
        lo, hi = self.run.trace.span
        limited: list[Finding] = []
        rest = findings
        here = [
            stretch for stretch in self.run.held if stretch.start_ps < hi and stretch.end_ps > lo
        ]
        longest = sorted(here, key=lambda stretch: stretch.start_ps - stretch.end_ps)
        longest = longest[:_MAX_LIMITED_STRETCHES]
        if len(here) > len(longest):
            notes.append(
                f"{len(here) - len(longest)} shorter stretches in which a limit held the run back: "
                "not listed"
            )
        for stretch in sorted(longest, key=lambda stretch: stretch.start_ps):
            rows = _inside(self.run.steps, stretch.start_ps, stretch.end_ps)
            made = self._at(throttling.finding(stretch, self.run.held, self.run.steps, rows), rows)
            same = [
                finding
                for finding in rest
                if finding.kind == "time" and same_stretch(finding.span, made.span)
            ]
            rest = [finding for finding in rest if finding not in same]
            witnesses = dict.fromkeys(made.witnesses)
            for finding in same:
                witnesses.update(dict.fromkeys(finding.witnesses))
            made = replace(made, witnesses=tuple(witnesses))
            where = finding_texts.where(made)
            text = throttling.sentence(stretch, where, made.delta_seconds, len(rows))
            limited.append(replace(made, text=text))
        return limited, rest

    def _could(self, by_trace: Unexplained) -> tuple[could_find.Limits, str]:
        if by_trace.expected is None or by_trace.noise is None:
            return could_find.Limits(
                (), ()
            ), f"no burst could have been found: {by_trace.reason}" if by_trace.reason else ""
        half_s = self._place_s()
        if half_s > _MAX_PLACE_S:
            where = f"the log may be anywhere within ± {half_s:.2g} s"
            return could_find.Limits(
                (), ()
            ), f"what could have been found is not known: {where}; wall times would help"
        readings = by_trace.expected.readings
        span = (self.run.trace.span[0] / PS_PER_S, self.run.trace.span[1] / PS_PER_S)
        judged = readings.judged
        if (
            not (judged & (readings.lo < span[1]) & (readings.hi > span[0])).any()
            and self.run.training is not None
        ):
            span = (self.run.training[0] / PS_PER_S, self.run.training[1] / PS_PER_S)
            if self.run.near is not None and len(readings):
                span = (max(span[0], float(readings.lo[0])), min(span[1], float(readings.hi[-1])))
        joules = MIN_RUN_SHARE * self._run()[0]
        least = min_watts(expected_watts(readings.ceiling))
        apart = could_find.doubtful(readings, span, least)
        limits = could_find.limits(readings, by_trace.noise, span, least, joules, apart=apart)
        return limits, could_find.sentence(limits, span)

    def _place_s(self) -> float:
        """How far off the log may lie, where that is not sure: a load has to stand out at all of
        these places.
        """
        if self.power is None or self.power.status != "ambiguous":
            return 0.0
        return (self.power.offset_hi_ps - self.power.offset_lo_ps) / 2 / PS_PER_S

    # ── what is told of one ──────────────────────────────────────────────────────────────────────

    def _at(self, finding: Finding, rows: Int64s) -> Finding:
        """The same, with the epoch and the steps that it lies in."""
        steps = self.run.steps
        if len(rows):
            inside = steps.epoch[rows]
            epoch = int(np.bincount(inside[inside >= 0]).argmax()) if (inside >= 0).any() else -1
            mine = rows[inside == epoch]
            number = [
                int(steps.number[i]) if steps.number[i] >= 0 else int(i - mine[0])
                for i in (mine[0], mine[-1])
            ]
            return replace(
                finding,
                epoch=self._number(epoch),
                step_lo=number[0],
                step_hi=number[1],
                elsewhere=self._like(mine, finding),
            )
        for index in range(len(self.run.epochs)):
            bounds = self.run.epochs.bounds(index, steps)
            if (
                bounds is not None
                and bounds[0] <= (finding.start_ps + finding.end_ps) // 2 < bounds[1]
            ):
                return replace(finding, epoch=self._number(index))
        return finding

    def _number(self, epoch: int) -> int | None:
        if epoch < 0:
            return None
        return self.run.epochs[epoch].number if epoch < len(self.run.epochs) else epoch

    def _like(self, rows: Int64s, finding: Finding) -> tuple[tuple[int | None, int, int], ...]:
        """The same steps of other epochs; without these as many steps before and behind."""
        steps, ends = self.run.steps, self.run.steps.ends()
        if self.folded is not None:
            line = next(
                (
                    i
                    for i in range(len(self.folded.epochs))
                    if np.isin(self.folded.start[i], steps.start[rows]).any()
                ),
                None,
            )
            if line is not None:
                columns = np.flatnonzero(np.isin(self.folded.start[line], steps.start[rows]))
                elsewhere = []
                for other_line, number in enumerate(self.folded.epochs):
                    have = columns[self.folded.start[other_line, columns] >= 0]
                    if other_line != line and len(have):
                        elsewhere.append(
                            (
                                number,
                                int(self.folded.start[other_line, have[0]]),
                                int(self.folded.end[other_line, have[-1]]),
                            )
                        )
                if elsewhere:
                    return tuple(elsewhere)
        count, first, last = len(rows), int(rows[0]), int(rows[-1])
        sides = [(first - count, first), (last + 1, last + 1 + count)]
        return tuple(
            (None, int(steps.start[a]), int(ends[b - 1]))
            for a, b in sides
            if a >= 0 and b <= len(steps)
        )

    def _longer(self, rows: Int64s) -> float | None:
        """Seconds that steps took longer than usual."""
        usual_rows = rows[np.isfinite(self.usual[rows])] if len(rows) else rows
        return (
            neighbours.longer(self.lengths[usual_rows], self.usual[usual_rows])
            if len(usual_rows)
            else None
        )

    def _run(self) -> tuple[float, float]:
        """Joules and seconds of the whole run, as far as it is known."""
        lo, hi = self.run.trace.span
        if self.run.training is not None:
            lo, hi = min(lo, self.run.training[0]), max(hi, self.run.training[1])
        if self.power is None or not len(self.power.times):
            return 0.0, (hi - lo) / PS_PER_S
        a, b = max(lo, int(self.power.times[0])), min(hi, int(self.power.times[-1]))
        if b <= a:
            return 0.0, (hi - lo) / PS_PER_S
        return self._joules(a, b), (hi - lo) / PS_PER_S

    def _joules(self, lo: int, hi: int) -> float:
        assert self.power is not None
        energy = integrate.energies(self.power, [lo], [hi])
        return float(energy.covered_joules[0] / max(float(energy.coverage[0]), 1e-9))

    def _matters(self, finding: Finding) -> bool:
        joules, seconds = self._run()
        if (
            finding.delta_joules is not None
            and self.power is not None
            and not finding.may_be_nothing
        ):
            stretch = self._joules(finding.start_ps, max(finding.end_ps, finding.start_ps + 1))
            if abs(finding.delta_joules) >= min_amount(stretch, joules):
                return True
        if finding.delta_seconds is None or finding.kind == "power":
            return False
        length = (finding.end_ps - finding.start_ps) / PS_PER_S
        return abs(finding.delta_seconds) >= min_amount(length, seconds)

    def _finished(self, finding: Finding) -> Finding:
        """The same, with the ops that ran longer there, and a sentence."""
        lo, hi = self.run.trace.span
        outside = finding.end_ps <= lo or finding.start_ps >= hi
        ops = self._more(finding) if self.ops is not None and not outside else ()
        explained = bool(ops) and UNEXPLAINED not in finding.witnesses
        if finding.kind == "time":
            explained = sum(op.more_s for op in ops) >= 0.5 * abs(finding.delta_seconds or 0.0)
        finding = replace(finding, ops=ops, explained=explained)
        return replace(
            finding,
            text=finding_texts.sentence(finding, asked=self.ops is not None, outside=outside),
        )

    def _more(self, finding: Finding) -> tuple[LongerOp, ...]:
        """Ops whose self time differs from that elsewhere by more than 2 % of the stretch and a
        fifth of itself.
        """
        if self.ops is None or not finding.elsewhere:
            return ()
        steps, ends = self.run.steps, self.run.steps.ends()
        rows = _inside(steps, finding.start_ps, finding.end_ps)
        if not len(rows):
            return ()
        start, end = int(steps.start[rows[0]]), int(ends[rows[-1]])
        ran_there = self.ops(
            start, end, [(a, b) for _, a, b in finding.elsewhere], 0.02 * (end - start)
        )
        longer_ops = []
        for name, (ran, others) in ran_there.items():
            if steps.is_own_mark(name):
                continue
            usual = float(np.median(others))
            if ran - usual > max(0.02 * (end - start), 0.2 * usual):
                longer_ops.append(
                    LongerOp(name, (ran - usual) / PS_PER_S, usual / PS_PER_S, ran / PS_PER_S)
                )
        return tuple(sorted(longer_ops, key=lambda op: -op.more_s)[:_MAX_OPS])


def _same_load(first: Finding, second: Finding) -> bool:
    """Whether two findings overlap, and are off to the same side."""
    same_side = (first.delta_watts or 0) * (second.delta_watts or 0) > 0
    return same_side and same_stretch(first.span, second.span)


def _in_ps(within: tuple[float, float]) -> tuple[int, int]:
    return round(within[0] * PS_PER_S), round(within[1] * PS_PER_S)


def _is_load(finding: Finding) -> bool:
    """Whether it is long enough to be a load: for moments any machine draws what no trace shows.

    What only differs between epochs is listed when it matters.
    """
    length_ps = finding.end_ps - finding.start_ps
    return finding.witnesses != (EPOCHS,) and length_ps >= could_find.SHORTEST_S * PS_PER_S


def _size(finding: Finding) -> tuple[bool, float, float]:
    return (
        finding.kind != "power",
        -abs(finding.delta_joules or 0.0),
        -abs(finding.delta_seconds or 0.0),
    )


def _inside(steps: Steps, start: int, end: int) -> Int64s:
    """Steps at least half of which lie in a stretch, or that hold half of it."""
    if not len(steps):
        return np.empty(0, np.int64)
    ends = steps.ends()
    over = np.minimum(ends, end) - np.maximum(steps.start, start)
    return np.flatnonzero(2 * over >= np.maximum(np.minimum(ends - steps.start, end - start), 1))


def _usual(steps: Steps, lengths: Floats, folded: Folded | None) -> Floats:
    """How long each step usually takes: as in the other epochs, else as the others of its group.

    NaN where it traced.
    """
    usual = np.full(len(steps), np.nan)
    for rows in neighbours.groups(steps):
        good = neighbours.regular(lengths[rows])
        if good.any():
            usual[rows[good]] = float(np.median(lengths[rows][good]))
    if folded is not None:
        where = {int(at): row for row, at in enumerate(steps.start)}
        for line in range(len(folded.epochs)):
            good = np.isfinite(folded.seconds) & ~folded.tracing
            rest = epoch_differences.others(folded.seconds, good, line)
            for column in np.flatnonzero(good[line] & np.isfinite(rest)):
                row = where[int(folded.start[line, column])]
                usual[row] = rest[column] if np.isfinite(usual[row]) else np.nan
    return usual


def _mirrored(finding: Finding, candidate: Finding) -> bool:
    """Whether the second only shows, in another epoch, that the first is unlike it."""
    return (
        any(
            number == candidate.epoch and start < candidate.end_ps and end > candidate.start_ps
            for number, start, end in finding.elsewhere
        )
        and (finding.delta_watts or 0.0) * (candidate.delta_watts or 0.0) < 0
    )


def _credible(finding: Finding, by_trace: Unexplained) -> bool:
    """Whether the trace allows that an epoch is unlike the others there: other work ran, or it
    cannot tell what to expect.

    Where the trace tells exactly what ran, and that the same ran elsewhere, only the sensor's
    sampling is left to differ.
    """
    if by_trace.expected is None or finding.delta_watts is None:
        return True
    readings, watts = by_trace.expected.readings, finding.delta_watts
    there = readings.judged & (
        covered_share(readings, finding.start_ps / PS_PER_S, finding.end_ps / PS_PER_S) > 0.5
    )
    if not there.any():
        return True
    usual = np.zeros(len(readings), np.bool_)
    for _, start, end in finding.elsewhere:
        usual |= readings.judged & (covered_share(readings, start / PS_PER_S, end / PS_PER_S) > 0.5)
    ran = (
        float(readings.ceiling[there].mean() - readings.ceiling[usual].mean())
        if usual.any()
        else 0.0
    )
    rest = float(readings.beyond()[there].mean())
    return bool(readings.doubt[there].mean() > abs(watts) / 3 or (ran + rest) / watts >= 0.5)
