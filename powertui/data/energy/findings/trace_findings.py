"""All witnesses heard, and what they say joined to one list of stretches, the largest energy first.

A stretch that several witnesses name is one finding. It matters when it is at least 5 % of the
energy (or time) of its own stretch and 0.5 % of the run's; what is less is kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    Against,
    Finding,
    Findings,
    LongerOp,
    Ops,
    Unopened,
)
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import covered_share
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

_OF_STRETCH = 0.05
_OF_RUN = 0.005
_SAME = 0.3  # of the shorter of two stretches: they are one
_OPS = 3
_OPEN_S = 2.0  # ± of a place: where more is open, nothing is promised
_HELD = 20  # stretches that a limit held back, the longest, are listed


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
        self.badge = (
            Badge.MEASURED
            if self.power is not None and self.power.status == "aligned"
            else Badge.ESTIMATED
        )

    def all(self) -> Findings:
        notes = list(self.folded.notes) if self.folded is not None else []
        found: list[Finding] = []
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
            seen = unexplained.unexplained_power(
                self.run.trace, self.run.steps, near, self.run.scalars, self.run.training
            )
            found += [self._of_box(box, UNEXPLAINED) for box in seen.boxes]
            found = self._with_epochs(found, seen)
            limits, could = self._could(seen)
            against = _against(seen)
            self.doubtful += seen.doubtful
            if self.doubtful:
                many = "stretches stand" if self.doubtful > 1 else "stretch stands"
                notes.append(
                    f"{self.doubtful} {many} out only at some of the places where the power "
                    "log may lie: not listed"
                )
        found = throttling.without(self._with_times(found), self.run.held, self.run.trace.span)
        limited, found = self._held_back(found, notes)
        usual, said = rhythm.stalls(found)
        notes += said
        matter = [one for one in found if one not in usual and self._matters(one)]
        # That epochs differ a little is no news: what stands out against them alone is told when it
        # matters.
        smaller = [
            one for one in found if one not in matter and (one.kind == "time" or _is_load(one))
        ]
        return Findings(
            self.folded,
            (*(self._finished(one) for one in sorted(matter, key=_size)), *limited),
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

    def _of_box(self, box: Box, witness: str) -> Finding:
        start, end = round(box.start * PS_PER_S), round(box.end * PS_PER_S)
        within = [
            (round(a * PS_PER_S), round(b * PS_PER_S))
            for a, b in (box.start_within, box.end_within)
        ]
        rows = _inside(self.run.steps, start, end)
        return self._at(
            Finding(
                "power",
                (witness,),
                start,
                end,
                within[0],
                within[1],
                None,
                None,
                None,
                (),
                box.watts,
                box.lo_watts,
                box.hi_watts,
                box.joules,
                box.lo_joules,
                box.hi_joules,
                self._longer(rows),
                box.p,
                self.badge,
            ),
            rows,
        )

    def _with_epochs(self, found: list[Finding], seen: Unexplained) -> list[Finding]:
        """Stretches that are unlike the other epochs: the same as one that nothing explains, its
        mirror, or new.
        """
        if self.folded is None or self.power is None:
            return found
        out = list(found)
        new: list[tuple[epoch_differences.Unlike, Finding]] = []
        for unlike in epoch_differences.power(self.folded, self.power):
            line, box = unlike
            one = self._of_box(box, EPOCHS)
            one = replace(one, epoch=self.folded.epochs[line])
            same = next(
                (
                    i
                    for i, f in enumerate(out)
                    if _overlap(f, one) >= _SAME and (f.delta_watts or 0) * box.watts > 0
                ),
                None,
            )
            if same is not None:
                out[same] = replace(
                    out[same], witnesses=tuple(dict.fromkeys((*out[same].witnesses, EPOCHS)))
                )
            elif not any(_mirrored(f, one) for f in found) and _credible(one, seen):
                new.append((unlike, one))
        kept = epoch_differences.at_nearly_all_places(
            [unlike for unlike, _ in new], self.run.steps, self.run.epochs, self.power
        )
        self.doubtful += len(new) - len(kept)
        return out + [one for unlike, one in new if unlike in kept]

    def _with_times(self, found: list[Finding]) -> list[Finding]:
        """Steps that took longer: part of a stretch that is told already, or a finding of their
        own.
        """
        out = list(found)
        rows: list[tuple[int, int, float, str]] = []
        if self.folded is not None:
            for line, stretch in epoch_differences.time(self.folded, self.rng):
                columns = np.arange(stretch.first, stretch.last)
                there = self.folded.start[line, columns]
                at = np.flatnonzero(np.isin(self.run.steps.start, there[there >= 0]))
                if len(at):
                    rows.append((int(at[0]), int(at[-1]) + 1, stretch.p, EPOCHS))
        rows += [
            (one.first, one.last, one.p, NEIGHBOURS)
            for one in neighbours.time(self.run.steps, self.rng)
        ]
        ends = self.run.steps.ends()
        for first, last, p, witness in rows:
            start, end = int(self.run.steps.start[first]), int(ends[last - 1])
            at = np.arange(first, last)
            one = self._at(
                Finding(
                    "time",
                    (witness,),
                    start,
                    end,
                    (start, start),
                    (end, end),
                    None,
                    None,
                    None,
                    (),
                    None,
                    None,
                    None,
                    None,
                    None,
                    None,
                    self._longer(at),
                    p,
                    Badge.MEASURED,
                ),
                at,
            )
            same = next(
                (
                    i
                    for i, f in enumerate(out)
                    if _overlap(f, one) >= _SAME and not self._stalls_in(f, at)
                ),
                None,
            )
            if same is None:
                # What takes as long in the other epochs is no news, however long it is beside its
                # neighbors.
                if (
                    witness != NEIGHBOURS
                    or (one.delta_seconds or 0.0) >= _OF_STRETCH * (end - start) / PS_PER_S
                ):
                    out.append(one)
            elif witness not in out[same].witnesses and (
                out[same].kind == "time" or _overlap(out[same], one) >= 0.5
            ):
                out[same] = replace(out[same], witnesses=(*out[same].witnesses, witness))
        return out

    def _stalls_in(self, one: Finding, rows: Int64s) -> bool:
        """Whether these steps stall in a stretch of slower ones that is told without them."""
        if one.kind != "time":
            return False
        inside = _inside(self.run.steps, one.start_ps, one.end_ps)
        apart = inside[neighbours.told_apart(self.lengths[inside])]
        return bool(len(rows) and np.isin(rows, apart).all())

    def _held_back(
        self, found: list[Finding], notes: list[str]
    ) -> tuple[list[Finding], list[Finding]]:
        """(stretches of this trace that a limit held back, the rest without the steps that are long
        for that reason).
        """
        lo, hi = self.run.trace.span
        limited: list[Finding] = []
        rest = found
        here = [one for one in self.run.held if one.start_ps < hi and one.end_ps > lo]
        longest = sorted(here, key=lambda one: one.start_ps - one.end_ps)[:_HELD]
        if len(here) > _HELD:
            notes.append(
                f"{len(here) - _HELD} shorter stretches in which a limit held the run back: "
                "not listed"
            )
        for one in sorted(longest, key=lambda one: one.start_ps):
            rows = _inside(self.run.steps, one.start_ps, one.end_ps)
            made = self._at(throttling.finding(one, self.run.held, self.run.steps, rows), rows)
            same = [
                other for other in rest if other.kind == "time" and _overlap(other, made) >= 0.5
            ]
            rest = [other for other in rest if other not in same]
            names = (name for other in same for name in other.witnesses)
            made = replace(made, witnesses=tuple(dict.fromkeys((*made.witnesses, *names))))
            limited.append(
                replace(
                    made,
                    text=throttling.sentence(
                        one, finding_texts.where(made), made.delta_seconds, len(rows)
                    ),
                )
            )
        return limited, rest

    def _could(self, seen: Unexplained) -> tuple[could_find.Limits, str]:
        if seen.expected is None or seen.noise is None:
            return could_find.Limits(
                (), ()
            ), f"no burst could have been found: {seen.reason}" if seen.reason else ""
        half_s = self._place_s()
        if half_s > _OPEN_S:
            where = f"the log may lie anywhere within ± {half_s:.2g} s"
            return could_find.Limits(
                (), ()
            ), f"what could have been found cannot be told: {where}; wall times would tell"
        readings = seen.expected.readings
        span = (self.run.trace.span[0] / PS_PER_S, self.run.trace.span[1] / PS_PER_S)
        judged = readings.judged
        if (
            not (judged & (readings.lo < span[1]) & (readings.hi > span[0])).any()
            and self.run.training is not None
        ):
            span = (self.run.training[0] / PS_PER_S, self.run.training[1] / PS_PER_S)
            if self.run.near is not None and len(readings):
                span = (max(span[0], float(readings.lo[0])), min(span[1], float(readings.hi[-1])))
        joules = _OF_RUN * self._run()[0]
        least = (
            np.where(np.isfinite(readings.ceiling), readings.ceiling, 0.0)
            * _OF_STRETCH
            / (1 - _OF_STRETCH)
        )
        apart = could_find.doubtful(readings, span, least)
        found = could_find.limits(readings, seen.noise, span, least, joules, apart=apart)
        return found, could_find.sentence(found, span[1] - span[0])

    def _place_s(self) -> float:
        """How far off the log may lie, where that is not sure: a load has to stand out at all of
        these places.
        """
        if self.power is None or self.power.status != "ambiguous":
            return 0.0
        return (self.power.offset_hi_ps - self.power.offset_lo_ps) / 2 / PS_PER_S

    # ── what is told of one ──────────────────────────────────────────────────────────────────────

    def _at(self, one: Finding, rows: Int64s) -> Finding:
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
                one,
                epoch=self._number(epoch),
                step_lo=number[0],
                step_hi=number[1],
                elsewhere=self._like(mine, one),
            )
        for index in range(len(self.run.epochs)):
            bounds = self.run.epochs.bounds(index, steps)
            if bounds is not None and bounds[0] <= (one.start_ps + one.end_ps) // 2 < bounds[1]:
                return replace(one, epoch=self._number(index))
        return one

    def _number(self, epoch: int) -> int | None:
        if epoch < 0:
            return None
        return self.run.epochs[epoch].number if epoch < len(self.run.epochs) else epoch

    def _like(self, rows: Int64s, one: Finding) -> tuple[tuple[int | None, int, int], ...]:
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
                found = []
                for other, number in enumerate(self.folded.epochs):
                    have = columns[self.folded.start[other, columns] >= 0]
                    if other != line and len(have):
                        found.append(
                            (
                                number,
                                int(self.folded.start[other, have[0]]),
                                int(self.folded.end[other, have[-1]]),
                            )
                        )
                if found:
                    return tuple(found)
        count, first, last = len(rows), int(rows[0]), int(rows[-1])
        sides = [(first - count, first), (last + 1, last + 1 + count)]
        return tuple(
            (None, int(steps.start[a]), int(ends[b - 1]))
            for a, b in sides
            if a >= 0 and b <= len(steps)
        )

    def _longer(self, rows: Int64s) -> float | None:
        """Seconds that steps took longer than usual."""
        known = rows[np.isfinite(self.usual[rows])] if len(rows) else rows
        return neighbours.longer(self.lengths[known], self.usual[known]) if len(known) else None

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
        found = integrate.energies(self.power, [lo], [hi])
        return float(found.covered_joules[0] / max(float(found.coverage[0]), 1e-9))

    def _matters(self, one: Finding) -> bool:
        joules, seconds = self._run()
        if one.delta_joules is not None and self.power is not None and not one.may_be_nothing:
            stretch = self._joules(one.start_ps, max(one.end_ps, one.start_ps + 1))
            if abs(one.delta_joules) >= max(_OF_STRETCH * abs(stretch), _OF_RUN * joules):
                return True
        if one.delta_seconds is None or one.kind == "power":
            return False
        length = (one.end_ps - one.start_ps) / PS_PER_S
        return abs(one.delta_seconds) >= max(_OF_STRETCH * length, _OF_RUN * seconds)

    def _finished(self, one: Finding) -> Finding:
        """The same, with the ops that ran longer there, and a sentence."""
        lo, hi = self.run.trace.span
        outside = one.end_ps <= lo or one.start_ps >= hi
        ops = self._more(one) if self.ops is not None and not outside else ()
        explained = bool(ops) and UNEXPLAINED not in one.witnesses
        if one.kind == "time":
            explained = sum(op.more_s for op in ops) >= 0.5 * abs(one.delta_seconds or 0.0)
        one = replace(one, ops=ops, explained=explained)
        return replace(
            one, text=finding_texts.sentence(one, asked=self.ops is not None, outside=outside)
        )

    def _more(self, one: Finding) -> tuple[LongerOp, ...]:
        """Ops whose self time differs from that elsewhere by more than 2 % of the stretch and a
        fifth of itself.
        """
        if self.ops is None or not one.elsewhere:
            return ()
        steps, ends = self.run.steps, self.run.steps.ends()
        rows = _inside(steps, one.start_ps, one.end_ps)
        if not len(rows):
            return ()
        start, end = int(steps.start[rows[0]]), int(ends[rows[-1]])
        ran_there = self.ops(
            start, end, [(a, b) for _, a, b in one.elsewhere], 0.02 * (end - start)
        )
        found = []
        for name, (ran, others) in ran_there.items():
            usual = float(np.median(others))
            if ran - usual > max(0.02 * (end - start), 0.2 * usual):
                found.append(
                    LongerOp(name, (ran - usual) / PS_PER_S, usual / PS_PER_S, ran / PS_PER_S)
                )
        return tuple(sorted(found, key=lambda op: -op.more_s)[:_OPS])


def _against(seen: Unexplained) -> Against | None:
    if seen.expected is None:
        return None
    readings = seen.expected.readings
    known = readings.judged & np.isfinite(readings.ceiling)
    return Against(
        readings.lo, readings.hi, readings.watts, np.where(known, readings.ceiling, np.nan)
    )


def _is_load(one: Finding) -> bool:
    """Long enough to be a load: for moments any machine draws what no trace shows.

    Epochs alone tell what matters.
    """
    return (
        one.witnesses != (EPOCHS,) and one.end_ps - one.start_ps >= could_find.SHORTEST_S * PS_PER_S
    )


def _size(one: Finding) -> tuple[bool, float, float]:
    return one.kind != "power", -abs(one.delta_joules or 0.0), -abs(one.delta_seconds or 0.0)


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


def _overlap(one: Finding, other: Finding) -> float:
    both = min(one.end_ps, other.end_ps) - max(one.start_ps, other.start_ps)
    return both / max(min(one.end_ps - one.start_ps, other.end_ps - other.start_ps), 1)


def _mirrored(one: Finding, other: Finding) -> bool:
    """Whether the second only shows, in another epoch, that the first is unlike it."""
    return (
        any(
            number == other.epoch and start < other.end_ps and end > other.start_ps
            for number, start, end in one.elsewhere
        )
        and (one.delta_watts or 0.0) * (other.delta_watts or 0.0) < 0
    )


def _credible(one: Finding, seen: Unexplained) -> bool:
    """Whether the trace allows that an epoch is unlike the others there: other work ran, or it
    cannot tell what to expect.

    Where the trace tells exactly what ran, and that the same ran elsewhere, only the sensor's
    sampling is left to differ.
    """
    if seen.expected is None or one.delta_watts is None:
        return True
    readings, watts = seen.expected.readings, one.delta_watts
    there = readings.judged & (
        covered_share(readings, one.start_ps / PS_PER_S, one.end_ps / PS_PER_S) > 0.5
    )
    if not there.any():
        return True
    usual = np.zeros(len(readings), np.bool_)
    for _, start, end in one.elsewhere:
        usual |= readings.judged & (covered_share(readings, start / PS_PER_S, end / PS_PER_S) > 0.5)
    ran = (
        float(readings.ceiling[there].mean() - readings.ceiling[usual].mean())
        if usual.any()
        else 0.0
    )
    rest = float(readings.beyond()[there].mean())
    return bool(readings.doubt[there].mean() > abs(watts) / 3 or (ran + rest) / watts >= 0.5)
