"""Captures of one folder: when each ended by the local time that names it, and whose end a tfevents
file tells.

A run folder is named when its capture ends, in local time. Keras writes the tfevents of all
captures of a training into one folder: what ended at a Unix second is the capture whose name shows
that second in the machine's zone, and nobody's in doubt.
"""

from __future__ import annotations

import functools
import os
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from powertui.data.run import zones

RUN_TIME = re.compile(r"^(\d{4})[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)[_-](\d\d)(?:[_-](\d\d))?$")
# a large capture takes longer to write: further than this from the folder's name an end is another
# run's
_NEAR_S = 120


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
    place: Path | None, name: str, seconds: Sequence[int], tz: str | None
) -> frozenset[int]:
    """Which of the ends of captures that tfevents tell can be those of the capture of this name;
    none that another fits as well.

    `place` is the folder that it lies in with others, None where it lies alone. A capture whose
    name tells no time gets what the others left, if it is the only such one.
    """
    if not seconds:
        return frozenset()
    local = local_time(name)
    times, others = _named(place) if place is not None else ((), 0)
    local_second = int(local.timestamp()) if local is not None else None
    owners = _owners(
        times or (local_second,) if local_second is not None else times,
        tuple(sorted(set(seconds))),
        tz,
    )
    if local_second is not None:
        return frozenset(second for second, owner in owners.items() if owner == local_second)
    return frozenset(seconds) - owners.keys() if others <= 1 else frozenset()


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
    names = os.listdir(place)  # noqa: PTH208
    times = [time for name in names if (time := local_time(name)) is not None]
    return tuple(sorted({int(time.timestamp()) for time in times})), len(names) - len(times)


@functools.lru_cache(maxsize=4)
def _owners(captures: tuple[int, ...], seconds: tuple[int, ...], tz: str | None) -> dict[int, int]:
    """For each end (Unix second) the capture (local second) that it belongs to, where that can be
    told.

    Where nobody told the zone, several captures may fit an end, each in a zone of its own: that
    counts in which most ends fit.
    """
    ends = np.array(seconds, np.int64)
    names = np.array(captures, np.int64)
    tried = [(offset, names - offset, names) for offset in zones.REAL_OFFSETS]
    if tz is not None:
        zone_offsets = (
            (
                name,
                zones.offsets_at(
                    tz, datetime.fromtimestamp(name, timezone.utc).replace(tzinfo=None)
                ),
            )
            for name in captures
        )
        moments = sorted(
            (name - offset, name) for name, offsets in zone_offsets for offset in offsets
        )
        tried = [
            (
                0,
                np.array([at for at, _ in moments], np.int64),
                np.array([name for _, name in moments], np.int64),
            )
        ]
    fits: list[tuple[int, int, int]] = []  # zone, row of the end, capture
    for zone, named, who in tried:
        if not len(named):
            continue
        after = np.minimum(named.searchsorted(ends), len(named) - 1)
        before = np.maximum(after - 1, 0)
        nearest = np.where(
            np.abs(named[after] - ends) < np.abs(named[before] - ends), after, before
        )
        rows = np.flatnonzero(np.abs(named[nearest] - ends) <= _NEAR_S)
        fits += [(zone, row, int(who[nearest[row]])) for row in rows.tolist()]
    votes = Counter(zone for zone, _, _ in fits)
    best: dict[
        int, dict[int, int]
    ] = {}  # of each end: capture, and how many ends fit some capture in that zone
    for zone, row, capture in fits:
        of_end = best.setdefault(row, {})
        of_end[capture] = max(votes[zone], of_end.get(capture, 0))
    out = {}
    for row, of_end in best.items():
        likeliest = [capture for capture, count in of_end.items() if count == max(of_end.values())]
        if len(likeliest) == 1:
            out[int(ends[row])] = likeliest[0]
    return out
