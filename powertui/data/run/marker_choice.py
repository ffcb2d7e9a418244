"""Which candidate marks the steps: scored by what it covers, how regular it is, how it is numbered
and what it lies in.

Coverage is the share of the devices' work that was launched while a mark was open, or ran in its
line; where no device tells, the share of time that marks hold. Work that is asked for between a
mark and the next counts half: dispatch may return at once. So a helper that runs once a step, and
numbers itself, does not win over the step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from powertui.data import wire
from powertui.data.model import Marker
from powertui.data.run.candidates import NONE, Candidate, inside
from powertui.data.run.device_intervals import Work, covered

_COVERS, _REGULAR, _NUMBERS, _OUTERMOST = 0.40, 0.15, 0.25, 0.20
_NAMED = 0.5  # share of the devices' drawn steps that marks of the host name
_NESTED = 0.8  # share of marks inside another's: it is a detail of that
LITTLE = 0.05  # of the work: what covers less is a helper
CONVINCING = 0.55

STEP_NAMES = re.compile(
    r"^(train|TraceContext|Profiled batch|ProfilerStep|train_step|step)\b", re.IGNORECASE
)
_BESIDES = re.compile(
    r"(data|read|load|input|fetch|next|log|metric|callback|summary)(?![a-z])", re.IGNORECASE
)
_AROUND = re.compile(r"(epoch|fit|loop|session)(?![a-z])", re.IGNORECASE)
_NAME = 0.05


@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate with its score."""

    candidate: Candidate
    score: float
    covers: float
    why: str

    def marker(self, count: int) -> Marker:
        """The same, for a person."""
        return Marker(
            self.candidate.title, self.candidate.pattern, count, round(self.score, 3), self.why
        )


def judge(candidates: Sequence[Candidate], work: Work | None) -> list[Judged]:
    """All of them, the best first."""
    if not candidates:
        return []
    lo = min(int(one.marks.start[0]) for one in candidates)
    hi = max(int((one.marks.start + one.marks.duration).max()) for one in candidates)
    judged = [_judged(one, candidates, work, max(1, hi - lo)) for one in candidates]
    return sorted(judged, key=lambda one: (-one.score, int(one.candidate.marks.start[0])))


def _judged(one: Candidate, among: Sequence[Candidate], work: Work | None, span: int) -> Judged:
    covers, how = _coverage(one, work, span)
    drawn = next((other for other in among if other.device and not other.inferred), None)
    if (
        drawn is not None and not one.device and not one.inferred
    ):  # the collector drew on devices what this marks on the host
        covers = max(covers, 0.5 * covers + 0.5 * _same_steps(one, drawn))
    regular = _regularity(one)
    outer, nests = _nesting(one, among)
    score = _COVERS * covers + _REGULAR * regular + _NUMBERS * one.numbering + _OUTERMOST * outer
    kind = one.marks.kinds[0] if one.marks.kinds else ""
    if STEP_NAMES.search(kind):
        score += _NAME
    if not one.device and _BESIDES.search(kind):
        score -= 2 * _NAME
    if covers < LITTLE or _marked_on_host(one, among):
        score *= 0.5
    numbers = "numbered" if one.numbering > NONE else "counted"
    why = (
        f"covers {covers:.0%} {how}; {'regular' if regular > 0.5 else 'irregular'}; "
        f"{numbers}{nests}"
    )
    return Judged(one, min(1.0, max(0.0, score)), covers, why)


def _coverage(one: Candidate, work: Work | None, span: int) -> tuple[float, str]:
    """(share of the work, of what it is the share)."""
    marks = one.marks
    if work is not None and one.device:
        held = inside(
            marks, work.start
        )  # a step line is drawn around its device's work: whose hardly matters
        return _share(work, held), "of the devices' work"
    if work is not None and work.launched.mean() > 0.5:
        stretch = work.launched & (work.launch >= marks.start[0]) & (work.launch < _last(one))
        return max(
            _share(work, work.launched & inside(marks, work.launch)), 0.5 * _share(work, stretch)
        ), "of the devices' work"
    zero = np.zeros(len(marks), np.int64)
    held_ps = int(covered(zero, marks.start, marks.start + marks.duration, 1)[0])
    reach = min(span, _last(one) - int(marks.start[0]))
    return max(held_ps / span, 0.5 * reach / span), "of the time"


def _marked_on_host(one: Candidate, among: Sequence[Candidate]) -> bool:
    """Whether these are lines of devices, of steps that marks on the host name, too: those tell of
    host and device.
    """
    if not one.device or one.inferred:
        return False
    return any(
        not other.device and not other.inferred and _same_steps(other, one) > _NAMED
        for other in among
    )


def _same_steps(one: Candidate, drawn: Candidate) -> float:
    """The share of the devices' drawn steps that carry the group, or the number, of one of these
    marks.
    """
    for column in ("group", "number"):
        theirs, ours = getattr(drawn.marks, column), getattr(one.marks, column)
        if (theirs >= 0).any() and (ours >= 0).any():
            return float((np.isin(theirs, ours) & (theirs >= 0)).mean())
    return 0.0


def _share(work: Work, rows: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    total = int(work.duration.sum())
    return int(work.duration[rows].sum()) / total if total else 0.0


def _last(one: Candidate) -> int:
    """Where the last of them ends, with as much after it as usually lies between two."""
    start = one.marks.start
    end = int((start + one.marks.duration).max())
    return max(end, int(start[-1]) + int(wire.median(np.diff(start)))) if len(start) > 1 else end


def _regularity(one: Candidate) -> float:
    gaps = np.diff(one.marks.start)
    if len(gaps) < 2:
        return 0.5
    middle = wire.median(gaps)
    return 1.0 - min(1.0, wire.median(np.abs(gaps - middle)) / middle) if middle > 0 else 0.0


def _nesting(one: Candidate, among: Sequence[Candidate]) -> tuple[float, str]:
    """(1 for what lies in no other numbered candidate, in words)."""
    if one.device and not one.inferred:
        return 0.0, "; drawn by the collector"  # after the marks of the host, where it knew of any
    for other in among:
        if other is one or other.device or other.numbering < one.numbering or len(other.marks) < 2:
            continue
        if _lies_in(one, other) and not _around(other):
            return 0.3, f"; inside {other.marks.kinds[0][:60]}"
    if _around(one) and any(other is not one and _lies_in(other, one) for other in among):
        return 0.0, "; around other marks"
    return 1.0, ""


def _around(one: Candidate) -> bool:
    return bool(one.marks.kinds) and _AROUND.search(one.marks.kinds[0]) is not None


def _lies_in(one: Candidate, other: Candidate) -> bool:
    marks = one.marks
    if len(marks) < len(other.marks) * 0.5:
        return False
    middle = marks.start + marks.duration // 2
    within = inside(other.marks, marks.start) & inside(other.marks, middle)
    longer = float(np.median(other.marks.duration)) > float(np.median(marks.duration))
    return bool(within.mean() > _NESTED) and longer
