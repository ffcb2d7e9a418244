"""What a late rank does longer than the others before a collective: the kind of work that explains
its lateness, if one does.

Between two collectives every rank does its part of a step. All leave the first together, so what a
rank takes longer until the next is its lateness, and adds up over the kinds of work.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import Floats, Int64s
from powertui.data.opened import Opened
from powertui.data.tools.activity import ActivityKind, activity_timeline
from powertui.data.tools.rank_lateness import Lateness, LateRank, late_in, medians_of_others
from powertui.named_tuples import NamedTuple

# A kind of work is named as the cause where it explains so much of the wait.
_MIN_CAUSE_SHARE = 0.8
_NOTHING = "nothing that was recorded"
_KINDS = (
    ("work on its device", (ActivityKind.DEVICE_COMPUTING,)),
    ("copies", (ActivityKind.DEVICE_COPYING, ActivityKind.COPYING)),
    ("its input", (ActivityKind.INPUT, ActivityKind.INPUT_AHEAD, ActivityKind.INPUT_PYTHON)),
    ("Python", (ActivityKind.PYTHON, ActivityKind.CALLED_PYTHON)),
    ("the framework's calls", (ActivityKind.RUNTIME, ActivityKind.SMALL_OPS)),
    (
        "work on its host",
        (ActivityKind.COMPUTING, ActivityKind.PROGRAM, ActivityKind.SHORT_OPS),
    ),
    ("compilation", (ActivityKind.COMPILING,)),
    ("waits of its host", (ActivityKind.WAITING,)),
    ("other collectives", (ActivityKind.COLLECTIVE, ActivityKind.WAITING_FOR_REPLICA)),
    (_NOTHING, (ActivityKind.NOTHING,)),
)


class CauseShare(NamedTuple):
    """How much of a rank's lateness one kind of work explains."""

    kind: str
    late_ps: float  # over all its calls
    share: float


class LateCause(NamedTuple):
    """What a late rank does longer than the others."""

    shares: tuple[CauseShare, ...]  # the largest first
    why_unknown: str = ""  # where it cannot be told

    @property
    def kind(self) -> str:
        """The one kind of work that explains the lateness; "" where none does."""
        if not self.shares or self.shares[0].share < _MIN_CAUSE_SHARE:
            return ""
        if self.shares[0].kind == _NOTHING:
            return ""
        return self.shares[0].kind

    @property
    def sentence(self) -> str:
        """The same for a person."""
        if not self.shares:
            return self.why_unknown
        first = self.shares[0]
        if self.kind:
            return f"{self.kind} explains {_percent(first.share)} of it"
        if first.kind == _NOTHING and first.share >= _MIN_CAUSE_SHARE:
            share = _percent(first.share)
            return f"the cause is not in the trace: nothing was recorded in {share} of it"
        parts = []
        for part in self.shares[:3]:
            if part.share > 0:
                parts.append(f"{part.kind} {_percent(part.share)}")
        return f"no one kind of work explains 80 % of it: {', '.join(parts)}"


def late_cause(opened: Opened, lateness: Lateness, late: LateRank) -> LateCause:
    """What the late rank does longer than the others before the calls that it is late to."""
    matched = lateness.matched
    hosts = [rank.host for rank in matched.ranks]
    if len(set(hosts)) < len(hosts):
        why = "the cause is unknown: several ranks share one profile"
        return LateCause((), why)
    before = _calls_before(matched.is_in)
    is_late = late_in(lateness, late)
    calls = np.flatnonzero(is_late & (before >= 0))
    if not len(calls):
        return LateCause((), "the cause is unknown: no collective came before")
    shape = (len(calls), len(hosts), len(_KINDS))
    parts = np.full(shape, np.nan)
    for number, rank in enumerate(matched.ranks):
        rows = matched.rows[calls, number]
        rows_before = matched.rows[before[calls], number]
        takes_part = (rows >= 0) & (rows_before >= 0)
        lo = rank.end[rows_before[takes_part]]
        hi = rank.start[rows[takes_part]]
        timeline = activity_timeline(opened.profiles[rank.host])
        hi = np.maximum(lo, hi)
        timeline = activity_timeline(opened.profiles[rank.host])
        by_activity = timeline.parts(lo, hi)
        parts[takes_part, number] = _by_kind(by_activity)
    late_calls = lateness.late[calls, late.rank]
    total = float(late_calls.sum())
    shares = []
    for (kind, _), times in zip(_KINDS, np.moveaxis(parts, 2, 0), strict=True):
        excess = (times - medians_of_others(times))[:, late.rank]
        late_ps = float(np.nansum(excess))
        shares.append(CauseShare(kind, late_ps, late_ps / total))
    shares.sort(key=lambda share: -share.late_ps)
    return LateCause(tuple(shares))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _by_kind(by_activity: Int64s) -> Floats:
    """[calls × kinds] of [calls × activities]."""
    columns = []
    for _, activities in _KINDS:
        times = by_activity[:, list(activities)]
        columns.append(times.sum(axis=1))
    return np.stack(columns, axis=1).astype(np.float64)


def _calls_before(is_in: np.ndarray) -> Int64s:
    """For each call the one before it of the same ranks; -1 for their first."""
    before = np.full(len(is_in), -1, np.int64)
    latest: dict[bytes, int] = {}
    for call, ranks in enumerate(is_in):
        key = ranks.tobytes()
        before[call] = latest.get(key, -1)
        latest[key] = call
    return before
