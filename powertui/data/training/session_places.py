"""Where the sessions of a training lie: by their own clocks, and whether those are to be
believed.
"""

from __future__ import annotations

from dataclasses import replace

from powertui.data.energy import settings
from powertui.data.logdir import RunEntry
from powertui.data.logdir.captured import Captured, when
from powertui.data.model import NS_PER_S, PS_PER_NS, Trace
from powertui.data.opened import Profile
from powertui.data.run.zones import HALF_HOUR_S
from powertui.data.training.training_parts import (
    NO_PLACE,
    NOT_BELIEVED,
    TRUSTED,
    Moment,
    PlacedSession,
)

_HALF_HOUR = HALF_HOUR_S * NS_PER_S
# Of a whole half hour: a clock in another zone, or with summer time. Before and after its scalars a
# program may well be profiled, too.
_NEAR_NS = settings.MAX_CAPTURE_S * NS_PER_S


def unread(entry: RunEntry) -> tuple[PlacedSession, ...]:
    """The islands of a session that nobody has read, one for each host."""
    return tuple(
        _island(entry, file.host, index, when(entry, index))
        for index, file in enumerate(entry.profiles)
    )


def _island(entry: RunEntry, host: str, index: int, at: Captured | None) -> PlacedSession:
    if at is None:
        return PlacedSession(
            entry=entry,
            host=host,
            index=index,
            start=None,
            end=None,
            evidence="",
            status=f"{NO_PLACE}: nothing ties it to wall time",
        )
    if at.exact:
        return PlacedSession(
            entry=entry,
            host=host,
            index=index,
            start=Moment(at.lo_ns, 1_000_000),
            end=Moment(at.hi_ns, 1_000_000),
            evidence=at.evidence,
        )
    middle = (at.lo_ns + at.hi_ns) // 2
    half = (at.hi_ns - at.lo_ns) // 2
    return PlacedSession(
        entry=entry,
        host=host,
        index=index,
        start=Moment(middle, half),
        end=Moment(middle, half),
        evidence=at.evidence,
    )


def read(entry: RunEntry, index: int, trace: Trace) -> PlacedSession:
    """The same, once it was read."""
    clock = trace.clock
    if not clock.known:
        return PlacedSession(
            entry=entry,
            host=trace.host,
            index=index,
            start=None,
            end=None,
            evidence=clock.detail,
            status=f"{NO_PLACE}: {clock.detail or 'nothing ties it to wall time'}",
        )
    start, end = (Moment(clock.mid_ns + ps // PS_PER_NS, clock.half_ns) for ps in trace.span)
    return PlacedSession(
        entry=entry,
        host=trace.host,
        index=index,
        start=start,
        end=end,
        evidence=f"{clock.source}: {clock.detail}" if clock.detail else clock.source,
    )


def believed(profile: Profile, training: tuple[int, int] | None) -> bool:
    """Whether a profile lies where its clock says, by the clock that was read of it: what its
    file's name or time told before may be wrong. `training` is from the first to the last record of
    its scalars.
    """
    return judged(read(profile.opened.entry, profile.index, profile.trace), training).said is None


def judged(island: PlacedSession, training: tuple[int, int] | None) -> PlacedSession:
    """Whether its clock agrees with the scalars of the training: a session lies between their first
    and last record, or near.
    """
    if island.start is None or island.end is None or training is None or not island.trusted:
        return island
    first, last = training
    slack = _NEAR_NS + (last - first) // 10
    off = _off(island, first, last)
    if abs(off) <= slack:
        return island
    hours = round(off / _HALF_HOUR)
    shifted = off - hours * _HALF_HOUR
    # By whole half hours into the training: a clock in another zone.
    length = last - first
    for tried in (
        hours,
        hours - 1,
        hours + 1,
        *(range(hours - length // _HALF_HOUR - 1, hours) if off > 0 else ()),
    ):
        moved = _moved(island, -tried * _HALF_HOUR)
        if tried and abs(_off(moved, first, last)) <= _NEAR_NS:
            shifted = 0
            hours = tried
            break
    words = _long(off if shifted else hours * _HALF_HOUR)
    way = "ahead of" if off > 0 else "behind"
    return replace(
        island,
        start=None,
        end=None,
        said=island.start,
        status=f"{NOT_BELIEVED}: its clock is {words} {way} the training's scalars",
    )


def _off(island: PlacedSession, first: int, last: int) -> int:
    """How far it lies outside the training: after it, or (less than 0) before; its own ± in its
    favour.
    """
    assert island.start is not None
    assert island.end is not None
    if island.start.ns - island.start.half_ns > last:
        return island.start.ns - island.start.half_ns - last
    if island.end.ns + island.end.half_ns < first:
        return island.end.ns + island.end.half_ns - first
    return 0


def _moved(island: PlacedSession, by_ns: int) -> PlacedSession:
    assert island.start is not None
    assert island.end is not None
    return replace(
        island,
        start=Moment(island.start.ns + by_ns, island.start.half_ns),
        end=Moment(island.end.ns + by_ns, island.end.half_ns),
    )


def _long(ns: int) -> str:
    seconds = abs(ns) / NS_PER_S
    if seconds >= 5400 * 16:
        return f"{seconds / 86400:.1f} days"
    if seconds >= 5000:
        hours = seconds / 3600
        if abs(hours - round(hours)) < 0.05:
            return f"{hours:.0f} hours"
        return f"{hours:.1f} hours"
    if abs(seconds - 3600) < 120:
        return "an hour"
    return f"{seconds / 60:.0f} minutes"


__all__ = ["TRUSTED", "believed", "judged", "read", "unread"]
