"""Captures of one folder: when each ended by the local time that names it, and whose end a tfevents
file tells.

A run folder is named when its capture ends, in local time. Keras writes the tfevents of all
captures of a training into one folder: what ended at a Unix second is the capture whose name shows
that second in the machine's zone, and nobody's in doubt.
"""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from powertui.data.model import Int64s
from powertui.data.run import zones
from powertui.named_tuples import NamedTuple
from powertui.patterns import late_pattern

RUN_TIME = late_pattern(
    r"^(\d{4})[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)(?:[_-](\d\d))?$"
)
# A large capture takes longer to write: further than this from the folder's name an end is another
# run's. Chosen, not measured.
_MAX_DISTANCE_S = 120


class _Fit(NamedTuple):
    """An end that a capture may have, if its machine was in this zone."""

    zone: int  # seconds east of UTC; 0 where the zone is known
    end_row: int
    capture: int  # its local second


class _CaptureMoments(NamedTuple):
    """When captures ended, if their machine was in one zone: ascending."""

    zone: int
    unix_s: Int64s
    capture: Int64s


def local_time(run_folder: str) -> datetime | None:
    """The run folder's name as a time. AWS' profiler writes the minute twice."""
    match = RUN_TIME.match(run_folder)
    if match is None:
        return None
    parts = [int(part) for part in match.groups() if part is not None]
    if len(parts) == 7:
        del parts[5]
    try:
        return datetime(*parts[:6], tzinfo=timezone.utc)  # type: ignore[misc,arg-type]
    except ValueError:
        return None


def own_ends(
    place: Path | None,
    name: str,
    seconds: Sequence[int],
    tz: str | None,
) -> frozenset[int]:
    """Which of the ends of captures that tfevents report can be those of the capture of this name;
    none that another fits as well.

    `place` is the folder that it is in with others, None where it is alone. A capture whose name
    holds no time gets what the others left, if it is the only such one.
    """
    if not seconds:
        return frozenset()
    ends = tuple(sorted(set(seconds)))
    local = local_time(name)
    captures, unnamed_count = _named(place) if place is not None else ((), 0)
    if local is None:
        owners = _owners(captures, ends, tz)
        if unnamed_count <= 1:
            return frozenset(ends) - owners.keys()
        return frozenset()
    capture = int(local.timestamp())
    owners = _owners(captures or (capture,), ends, tz)
    return frozenset(second for second, owner in owners.items() if owner == capture)


def _named(place: Path) -> tuple[tuple[int, ...], int]:
    """(the local times by which captures in a folder are named, how many there have another
    name).
    """
    try:
        return _listed(str(place), place.stat().st_mtime_ns)
    except OSError:
        return (), 0


@functools.lru_cache(maxsize=4)
def _listed(place: str, _: int) -> tuple[tuple[int, ...], int]:
    """Kept as long as nothing is added there: a place may have thousands, and each of them asks."""
    seconds = set()
    unnamed_count = 0
    for name in os.listdir(place):  # noqa: PTH208
        time = local_time(name)
        if time is not None:
            seconds.add(int(time.timestamp()))
        else:
            unnamed_count += 1
    return tuple(sorted(seconds)), unnamed_count


@functools.lru_cache(maxsize=4)
def _owners(captures: tuple[int, ...], seconds: tuple[int, ...], tz: str | None) -> dict[int, int]:
    """For each end (Unix second) the capture (local second) that it belongs to, where that is
    clear.

    Where the zone is not known, several captures may fit an end, each in a zone of its own: the
    zone in which most ends fit decides.
    """
    ends = np.array(seconds, np.int64)
    fits: list[_Fit] = []
    for moments in _moments(captures, tz):
        if len(moments.unix_s):
            fits += _near_ends(moments, ends)
    ends_that_fit = Counter(fit.zone for fit in fits)
    # Of each end: which captures fit it, and how many ends fit some capture in the same zone.
    votes_of_end: dict[int, Counter[int]] = {}
    for fit in fits:
        votes = votes_of_end.setdefault(fit.end_row, Counter())
        votes[fit.capture] = max(votes[fit.capture], ends_that_fit[fit.zone])
    owners = {}
    for row, votes in votes_of_end.items():
        most_votes = max(votes.values())
        likeliest = [capture for capture, count in votes.items() if count == most_votes]
        if len(likeliest) == 1:
            owners[int(ends[row])] = likeliest[0]
    return owners


def _moments(captures: tuple[int, ...], tz: str | None) -> list[_CaptureMoments]:
    """When the captures ended: in the named zone, or in each that there is."""
    if tz is None:
        local = np.array(captures, np.int64)
        return [_CaptureMoments(offset, local - offset, local) for offset in zones.REAL_OFFSETS]
    moments = []
    for capture in captures:
        shown = datetime.fromtimestamp(capture, timezone.utc).replace(tzinfo=None)
        for offset in zones.offsets_at(tz, shown):
            moments.append((capture - offset, capture))
    moments.sort()
    unix_s, capture_of = np.array(moments, np.int64).reshape(-1, 2).T
    return [_CaptureMoments(zone=0, unix_s=unix_s, capture=capture_of)]


def _near_ends(moments: _CaptureMoments, ends: Int64s) -> list[_Fit]:
    """Each end with the nearest of these moments, where that is near enough."""
    unix_s = moments.unix_s
    last = len(unix_s) - 1
    after = np.minimum(unix_s.searchsorted(ends), last)
    before = np.maximum(after - 1, 0)
    distance_after = np.abs(unix_s[after] - ends)
    distance_before = np.abs(unix_s[before] - ends)
    nearest = np.where(distance_after < distance_before, after, before)
    distance = np.minimum(distance_after, distance_before)
    is_near = distance <= _MAX_DISTANCE_S
    fits = []
    for row in np.flatnonzero(is_near).tolist():
        capture = int(moments.capture[nearest[row]])
        fits.append(_Fit(moments.zone, row, capture))
    return fits
