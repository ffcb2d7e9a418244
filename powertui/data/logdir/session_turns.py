"""Which of several trainings that used one folder in turn a session belongs to.

A session that says when it was taken, or exported, is of the training that ran then. Of others the
folder's name is all there is: its local time, in a zone that nothing names. One zone is taken for
all of them, that in which they fit the trainings best.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from powertui.data.logdir import captured
from powertui.data.logdir.entries import RunEntry

_S = 1_000_000_000
_ZONE_STEP_NS = 900 * _S  # zones differ by multiples of a quarter of an hour
_WEST_NS, _EAST_NS = -12 * 3600 * _S, 14 * 3600 * _S
# An interval this long is the world's zones, no evidence of a moment.
_MAX_KNOWN_NS = 3600 * _S

_Span = tuple[int, int]  # the first and the last moment of a training, Unix ns


def turns_of_sessions(runs: Sequence[RunEntry], spans: Sequence[_Span]) -> list[int]:
    """For each session the number of its training; of one that nothing dates the last."""
    moments: list[int | None] = []
    local: dict[int, int] = {}  # local times by the number of the session
    for number, run in enumerate(runs):
        at = captured.when(run)
        named = captured.local_ns(run)
        if at is not None and at.hi_ns - at.lo_ns <= _MAX_KNOWN_NS:
            moments.append((at.lo_ns + at.hi_ns) // 2 if at.exact else at.hi_ns)
            continue
        moments.append(None)
        if named is not None:
            local[number] = named
    if local:
        zone = _zone(list(local.values()), spans)
        for number, named in local.items():
            moments[number] = named - zone
    return [len(spans) - 1 if moment is None else _turn_at(moment, spans) for moment in moments]


def _distance(moment: int, span: _Span) -> int:
    return max(0, span[0] - moment, moment - span[1])


def _turn_at(moment: int, spans: Sequence[_Span]) -> int:
    """The training that ran at a moment: of several the one that began last, else the nearest."""
    return min(
        range(len(spans)), key=lambda turn: (_distance(moment, spans[turn]), -spans[turn][0])
    )


def _zone(local: Sequence[int], spans: Sequence[_Span]) -> int:
    """The zone (ns east of UTC) in which these local times fit trainings best: of zones that fit
    alike this machine's, else the one nearest to UTC.
    """

    def cost(zone: int) -> tuple[int, bool, int]:
        misfit = sum(min(_distance(named - zone, span) for span in spans) for named in local)
        return misfit, zone != here, abs(zone)

    offset = datetime.fromtimestamp(local[0] / _S).astimezone().utcoffset()
    here = round(offset.total_seconds()) * _S if offset is not None else 0
    return min(range(_WEST_NS, _EAST_NS + 1, _ZONE_STEP_NS), key=cost)
