"""The hosts of a run side by side: which step of one is which of another, the run's steps, and who
holds the others up.

Steps are laid onto those of the chief, the host whose steps took least altogether, as TensorBoard's
profiler does: by the shift at which most of their time overlaps. Where the programs number their
steps, the numbers tell. A step of the run is as long as the longest of its hosts.

Who waits for the others spends the time in collectives: so hosts are compared by the rest of their
steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from powertui.data.asked import Compat
from powertui.data.model import Bools, Floats, Int64s, Steps
from powertui.data.opened import Opened
from powertui.data.tools import breakdown
from powertui.data.tools.breakdown import Breakdown
from powertui.data.tools.registry import Question

_Z = 3.5  # a modified z score beyond this is an outlier, as TensorBoard's suggestions take it
_MAD = 0.6745
_TWO = 0.9  # of two hosts, the slower one of this part of the steps …
_LEAST = 0.02  # … and by this part of a step, holds the other up
_FEW = 8  # steps: fewer tell nothing
_ODD = 3.0  # times the usual spread: a step that stands out
_MOST = 512  # shifts that are tried either way


@dataclass(frozen=True, eq=False)
class CommonSteps:
    """Common steps of several hosts. `rows[host][i]`: which of its steps the i-th common one is."""

    hosts: tuple[str, ...]
    steps: tuple[Breakdown, ...]
    rows: tuple[Int64s, ...]
    chief: int
    by: str  # "number" or "overlap"

    @property
    def count(self) -> int:
        """Common steps."""
        return len(self.rows[0]) if self.rows else 0

    def lengths(self) -> Int64s:
        """[common steps × hosts], ps."""
        return np.stack(
            [steps.length[rows] for steps, rows in zip(self.steps, self.rows, strict=True)], axis=1
        )

    def own(self) -> Int64s:
        """The same without collectives, in which whoever is early waits."""
        waits = [
            steps.category("collectives")[rows]
            for steps, rows in zip(self.steps, self.rows, strict=True)
        ]
        return self.lengths() - np.stack(waits, axis=1)

    def combined(self) -> Breakdown:
        """The run's steps: of each common one, that of the host that took longest."""
        longest = self.lengths().argmax(axis=1)
        at = [(int(host), int(self.rows[int(host)][i])) for i, host in enumerate(longest.tolist())]
        first = self.steps[self.chief]
        chief = self.rows[self.chief]
        return Breakdown(
            names=[first.names[i] for i in chief.tolist()],
            start=first.start[chief],
            length=np.array([self.steps[host].length[row] for host, row in at], np.int64),
            parts=np.array([self.steps[host].parts[row] for host, row in at], np.int64).reshape(
                len(at), -1
            ),
            compat=first.compat,
            has_device=any(steps.has_device for steps in self.steps),
            by=first.by,
        )


class Straggler(NamedTuple):
    """One that holds the others up: by how much on the mean, and in which of the common steps it
    stands out most.
    """

    member: int
    excess: float  # ps a step, over the median of all
    share: float  # of a step
    slowest: int  # steps in which it was the slowest
    worst: tuple[int, ...]  # common steps, the worst first


def together(opened: Opened, compat: Compat) -> CommonSteps | None:
    """The hosts of a run with steps; None where fewer than two have some, or none in common."""
    return opened.cached(("hosts", compat), lambda: _together(opened, compat))


def steps_of(question: Question) -> Breakdown:
    """The steps of the host that is asked, or of all of them together: of a step that of the host
    that took longest.
    """
    if not question.together:
        return breakdown.step_breakdown(question.profile, question.compat)
    found = together(question.opened, question.compat)
    if found is not None:
        return found.combined()
    every = [
        breakdown.step_breakdown(profile, question.compat) for profile in question.opened.profiles
    ]
    return next((steps for steps in every if len(steps)), every[0])


def _together(opened: Opened, compat: Compat) -> CommonSteps | None:
    found = [(profile, breakdown.step_breakdown(profile, compat)) for profile in opened.profiles]
    found = [(profile, steps) for profile, steps in found if len(steps)]
    if len(found) < 2:
        return None
    every = [steps for _, steps in found]
    chief = int(np.argmin([_span(steps) for steps in every]))
    numbers = [_numbers(steps, profile.steps) for profile, steps in found]
    rows = (
        _by_number(numbers)
        if compat == "corrected" and all(column is not None for column in numbers)
        else None
    )
    by = "number"
    if rows is None:
        rows, by = _by_overlap(every, chief), "overlap"
    if not len(rows[0]):
        return None
    return CommonSteps(
        tuple(profile.host for profile, _ in found), tuple(every), tuple(rows), chief, by
    )


def _span(steps: Breakdown) -> int:
    return int((steps.start + steps.length).max() - steps.start.min())


def _numbers(steps: Breakdown, known: Steps) -> Int64s | None:
    """Number and round of each step as one; None where not every step has a number of its own."""
    if len(steps) != len(known) or (known.number < 0).any():
        return None
    keys = known.number + (known.epoch.astype(np.int64) + 1) * (int(known.number.max()) + 1)
    return keys if len(np.unique(keys)) == len(keys) else None


def _by_number(numbers: Sequence[Int64s | None]) -> list[Int64s] | None:
    columns = [column for column in numbers if column is not None]
    common = columns[0]
    for column in columns[1:]:
        common = common[np.isin(common, column)]
    if len(common) * 2 < min(len(column) for column in columns):
        return None
    return [
        np.argsort(column, kind="stable")[np.sort(column).searchsorted(common)]
        for column in columns
    ]


def _by_overlap(every: Sequence[Breakdown], chief: int) -> list[Int64s]:
    lead = every[chief]
    shifts = [0 if host == chief else _shift(lead, steps) for host, steps in enumerate(every)]
    # Step i of the chief is step i + shift of the host: what all of them have.
    first = max(0, *(-shift for shift in shifts))
    last = min(len(steps) - shift for steps, shift in zip(every, shifts, strict=True))
    common = np.arange(first, max(first, last))
    return [common + shift for shift in shifts]


def _shift(lead: Breakdown, other: Breakdown) -> int:
    """The shift at which most of the steps' time overlaps; the first of equals, in the order 0, 1,
    2 …, -1, -2 …
    """
    best, most = 0, -1
    for shift in (*range(min(_MOST, len(other))), *range(-1, -min(_MOST, len(lead)), -1)):
        here, there = max(0, -shift), max(0, shift)
        count = min(len(lead) - here, len(other) - there)
        if count <= 0:
            continue
        a, b = slice(here, here + count), slice(there, there + count)
        ends = np.minimum(lead.start[a] + lead.length[a], other.start[b] + other.length[b])
        total = int(np.maximum(0, ends - np.maximum(lead.start[a], other.start[b])).sum())
        if total > most:
            best, most = shift, total
    return best


def devices(steps: Steps) -> tuple[tuple[str, ...], Int64s, Int64s] | None:
    """(names, rows of the steps that all of them ran, work [steps × devices]) of one host; None for
    fewer than two devices.
    """
    each = [
        one
        for one in steps.on
        if one.kind == "device" and (one.work >= 0).all() and len(np.unique(one.row)) == len(one)
    ]
    if len(each) < 2:
        return None
    common = each[0].row
    for one in each[1:]:
        common = common[np.isin(common, one.row)]
    if not len(common):
        return None
    columns = [
        one.work[np.argsort(one.row, kind="stable")[np.sort(one.row).searchsorted(common)]]
        for one in each
    ]
    return tuple(one.name for one in each), common, np.stack(columns, axis=1)


# ── who holds the others up ──────────────────────────────────────────────────────────────────────


def stragglers(own: Int64s) -> list[Straggler]:
    """Of times [steps × members]: the members that take longer than the others, the worst first."""
    count, members = own.shape
    if members < 2 or count < _FEW:
        return []
    usual = np.median(own, axis=1)
    excess = own - usual[:, None]
    means = own.mean(axis=0)
    whole = float(np.median(means))
    slowest = np.bincount(own.argmax(axis=1), minlength=members)
    out = []
    for member in np.flatnonzero(_slow(own, means)).tolist():
        mine = excess[:, member]
        worst = np.argsort(-mine, kind="stable")[:5]
        odd = mine > np.median(mine) + _ODD * max(
            1.0, float(np.median(np.abs(mine - np.median(mine))))
        )
        steps = tuple(i for i in worst.tolist() if odd[i])
        more = float(means[member] - _others(means, member))
        out.append(Straggler(member, more, more / max(1.0, whole), int(slowest[member]), steps))
    return sorted(out, key=lambda one: -one.excess)


def _others(means: Floats, member: int) -> float:
    return float(np.median(np.delete(means, member)))


def _slow(own: Int64s, means: Floats) -> Bools:
    members = len(means)
    least = _LEAST * float(np.median(means))
    if members == 2:
        slower = int(means.argmax())
        out = np.zeros(2, np.bool_)
        often = float((own[:, slower] > own[:, 1 - slower]).mean())
        out[slower] = often >= _TWO and abs(float(means[0] - means[1])) > least
        return out
    median = float(np.median(means))
    away = means - median
    spread = float(np.median(np.abs(away)))
    score = _MAD * away / spread if spread else np.where(away > 0, np.inf, 0.0)
    return np.asarray((score > _Z) & (away > least))
