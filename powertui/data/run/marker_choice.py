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

import numpy as np

from powertui.data import wire
from powertui.data.model import Marker
from powertui.data.run.candidates import NONE, Candidate, in_marks
from powertui.data.run.device_intervals import DeviceWork, covered_ps
from powertui.value_types import dataclass

_COVERS, _REGULAR, _NUMBERS, _OUTERMOST = 0.40, 0.15, 0.25, 0.20
# Of the devices' drawn steps that marks of the host name. Chosen, not measured.
_MIN_NAMED_SHARE = 0.5
# Of marks that are inside another's: from there on they are details of it. Chosen, not measured.
_MIN_NESTED_SHARE = 0.8
MIN_COVERED = 0.05  # of the work: what covers less is a helper
# From this score on, of at most 1, nothing else is looked for: looking through all names for what
# repeats takes longer than all the rest. Chosen, not measured.
CONVINCING_SCORE = 0.55

STEP_NAMES = re.compile(
    r"^(train|TraceContext|Profiled batch|ProfilerStep|train_step|step)\b", re.IGNORECASE
)
BESIDES = re.compile(
    r"(data|read|load|input|fetch|next|log|metric|callback|summary)(?![a-z])", re.IGNORECASE
)
AROUND = re.compile(r"(epoch|fit|loop|session)(?![a-z])", re.IGNORECASE)
# What a telling name adds to a score, or takes from it. Chosen, not measured.
_NAME_SCORE = 0.05
# What the gradients in its program add to a score: a validation that runs longer than the training
# loses by it. Chosen, not measured.
_TRAINING_SCORE = 0.2


@dataclass(frozen=True, eq=False)
class JudgedCandidate:
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


def judge(candidates: Sequence[Candidate], work: DeviceWork | None) -> list[JudgedCandidate]:
    """All of them, the best first."""
    if not candidates:
        return []
    lo = min(int(candidate.marks.start[0]) for candidate in candidates)
    hi = max(
        int((candidate.marks.start + candidate.marks.duration).max()) for candidate in candidates
    )
    judged = [_judged(candidate, candidates, work, max(1, hi - lo)) for candidate in candidates]
    return sorted(
        judged, key=lambda candidate: (-candidate.score, int(candidate.candidate.marks.start[0]))
    )


def _judged(
    candidate: Candidate, among: Sequence[Candidate], work: DeviceWork | None, span: int
) -> JudgedCandidate:
    covers, how = _coverage(candidate, work, span)
    drawn = next((rival for rival in among if rival.device and not rival.inferred), None)
    if (
        drawn is not None and not candidate.device and not candidate.inferred
    ):  # the collector drew on devices what this marks on the host
        covers = max(covers, 0.5 * covers + 0.5 * _same_steps(candidate, drawn))
    regular = _regularity(candidate)
    outer, nests = _nesting(candidate, among)
    score = (
        _COVERS * covers + _REGULAR * regular + _NUMBERS * candidate.numbering + _OUTERMOST * outer
    )
    if candidate.trains:
        score += _TRAINING_SCORE
    kind = candidate.marks.kinds[0] if candidate.marks.kinds else ""
    if STEP_NAMES.search(kind):
        score += _NAME_SCORE
    if not candidate.device and BESIDES.search(kind):
        score -= 2 * _NAME_SCORE
    if covers < MIN_COVERED or _marked_on_host(candidate, among):
        score *= 0.5
    numbers = "numbered" if candidate.numbering > NONE else "counted"
    trains = "; computes gradients" if candidate.trains else ""
    why = (
        f"covers {covers:.0%} {how}; {'regular' if regular > 0.5 else 'irregular'}; "
        f"{numbers}{nests}{trains}"
    )
    return JudgedCandidate(candidate, min(1.0, max(0.0, score)), covers, why)


def _coverage(candidate: Candidate, work: DeviceWork | None, span: int) -> tuple[float, str]:
    """(share of the work, of what it is the share)."""
    marks = candidate.marks
    if work is None and candidate.share is not None:
        return candidate.share, "of XLA's work"
    if work is not None and candidate.device:
        held = in_marks(
            marks, work.start
        )  # a step line is drawn around its device's work: whose hardly matters
        return _share(work, held), "of the devices' work"
    if work is not None and work.launched.mean() > 0.5:
        stretch = work.launched & (work.launch >= marks.start[0]) & (work.launch < _last(candidate))
        return max(
            _share(work, work.launched & in_marks(marks, work.launch)), 0.5 * _share(work, stretch)
        ), "of the devices' work"
    zero = np.zeros(len(marks), np.int64)
    held_ps = int(covered_ps(zero, marks.start, marks.start + marks.duration, 1)[0])
    reach = min(span, _last(candidate) - int(marks.start[0]))
    return max(held_ps / span, 0.5 * reach / span), "of the time"


def _marked_on_host(candidate: Candidate, among: Sequence[Candidate]) -> bool:
    """Whether these are lines of devices, of steps that marks on the host name, too: those tell of
    host and device.
    """
    if not candidate.device or candidate.inferred:
        return False
    return any(
        not drawn.device and not drawn.inferred and _same_steps(drawn, candidate) > _MIN_NAMED_SHARE
        for drawn in among
    )


def _same_steps(candidate: Candidate, drawn: Candidate) -> float:
    """The share of the devices' drawn steps that carry the group, or the number, of one of these
    marks.
    """
    for column in ("group", "number"):
        theirs, ours = getattr(drawn.marks, column), getattr(candidate.marks, column)
        if (theirs >= 0).any() and (ours >= 0).any():
            return float((np.isin(theirs, ours) & (theirs >= 0)).mean())
    return 0.0


def _share(work: DeviceWork, rows: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    total = int(work.duration.sum())
    return int(work.duration[rows].sum()) / total if total else 0.0


def _last(candidate: Candidate) -> int:
    """Where the last of them ends, with as much after it as usually lies between two."""
    start = candidate.marks.start
    end = int((start + candidate.marks.duration).max())
    return max(end, int(start[-1]) + int(wire.median(np.diff(start)))) if len(start) > 1 else end


def _regularity(candidate: Candidate) -> float:
    marks = candidate.marks
    if candidate.apart:  # devices draw the same steps at the same times
        line = marks.lines[0]
        gaps = np.diff(marks.start[marks.lines == line])
    else:
        gaps = np.diff(marks.start)
    if len(gaps) < 2:
        return 0.5
    middle = wire.median(gaps)
    return 1.0 - min(1.0, wire.median(np.abs(gaps - middle)) / middle) if middle > 0 else 0.0


def _nesting(candidate: Candidate, among: Sequence[Candidate]) -> tuple[float, str]:
    """(1 for what lies in no other numbered candidate, in words)."""
    if candidate.device and not candidate.inferred:
        return 0.0, "; drawn by the collector"  # after the marks of the host, where it knew of any
    for rival in among:
        if (
            rival is candidate
            or rival.device
            or rival.by_kind
            or rival.numbering < candidate.numbering
            or len(rival.marks) < 2
        ):
            continue
        if _lies_in(candidate, rival) and not _around(rival):
            return 0.3, f"; inside {rival.marks.kinds[0][:60]}"
    if _around(candidate) and any(
        rival is not candidate and _lies_in(rival, candidate) for rival in among
    ):
        return 0.0, "; around other marks"
    return 1.0, ""


def _around(candidate: Candidate) -> bool:
    return bool(candidate.marks.kinds) and AROUND.search(candidate.marks.kinds[0]) is not None


def _lies_in(inner: Candidate, outer: Candidate) -> bool:
    marks = inner.marks
    if len(marks) < len(outer.marks) * 0.5:
        return False
    middle = marks.start + marks.duration // 2
    within = in_marks(outer.marks, marks.start) & in_marks(outer.marks, middle)
    longer = float(np.median(outer.marks.duration)) > float(np.median(marks.duration))
    return bool(within.mean() > _MIN_NESTED_SHARE) and longer
