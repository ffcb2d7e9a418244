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
from powertui.data.model import NS_PER_S

_ZONE_STEP_NS = 900 * NS_PER_S  # zones differ by multiples of a quarter of an hour
_WEST_NS = -12 * 3600 * NS_PER_S
_EAST_NS = 14 * 3600 * NS_PER_S
# An interval this long is the world's zones, no evidence of a moment.
_MAX_KNOWN_NS = 3600 * NS_PER_S

_Span = tuple[int, int]  # the first and the last moment of a training, Unix ns


def turns_of_sessions(runs: Sequence[RunEntry], spans: Sequence[_Span]) -> list[int]:
    """For each session the number of its training; of one that nothing dates the last."""
    moments = [_known_moment(run) for run in runs]
    local: dict[int, int] = {}  # local times by the number of the session
    for number, run in enumerate(runs):
        named = captured.local_ns(run)
        if moments[number] is None and named is not None:
            local[number] = named
    if local:
        zone = _zone(list(local.values()), spans)
        for number, named in local.items():
            moments[number] = named - zone
    last_turn = len(spans) - 1
    turns = []
    for moment in moments:
        if moment is None:
            turns.append(last_turn)
        else:
            turns.append(_turn_at(moment, spans))
    return turns


def _known_moment(run: RunEntry) -> int | None:
    """When a session was taken (Unix ns), where it says so itself."""
    interval = captured.when(run)
    if interval is None or interval.hi_ns - interval.lo_ns > _MAX_KNOWN_NS:
        return None
    if interval.exact:
        return (interval.lo_ns + interval.hi_ns) // 2
    return interval.hi_ns


def _distance(moment: int, span: _Span) -> int:
    first, last = span
    return max(0, first - moment, moment - last)


def _turn_at(moment: int, spans: Sequence[_Span]) -> int:
    """The training that ran at a moment: of several the one that began last, else the nearest."""

    def rank(turn: int) -> tuple[int, int]:
        began_ns = spans[turn][0]
        return _distance(moment, spans[turn]), -began_ns

    return min(range(len(spans)), key=rank)


def _zone(local: Sequence[int], spans: Sequence[_Span]) -> int:
    """The zone (ns east of UTC) in which these local times fit trainings best: of zones that fit
    alike this machine's, else the one nearest to UTC.
    """
    here = 0
    offset = datetime.fromtimestamp(local[0] / NS_PER_S).astimezone().utcoffset()
    if offset is not None:
        here = round(offset.total_seconds()) * NS_PER_S

    def cost(zone: int) -> tuple[int, bool, int]:
        misfit = 0
        for named in local:
            moment = named - zone
            misfit += min(_distance(moment, span) for span in spans)
        return misfit, zone != here, abs(zone)

    zones = range(_WEST_NS, _EAST_NS + 1, _ZONE_STEP_NS)
    return min(zones, key=cost)
