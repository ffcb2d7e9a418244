"""Round moments along an axis of time, and how they read."""

from __future__ import annotations

from powertui import units
from powertui.data.model import PS_PER_S

_MAX_TICKS = 8
# Round distances in seconds: below a second and above a day they go on by tens.
_ROUND_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)
_ROUND_HOURS = (1, 2, 3, 6, 12, 24)


def ticks(lo_ps: int, hi_ps: int) -> list[tuple[int, str]]:
    """(moment, words) of the round moments from `lo_ps` to `hi_ps`."""
    distance_ps = _distance_ps(hi_ps - lo_ps)
    first = -(-lo_ps // distance_ps)
    moments = [number * distance_ps for number in range(first, hi_ps // distance_ps + 1)]
    return [(moment, _words(moment, distance_ps)) for moment in moments]


def _distance_ps(length_ps: int) -> int:
    """The least round distance that leaves no more than `_MAX_TICKS`."""
    least_ps = max(1, length_ps // _MAX_TICKS)
    for seconds in (*_ROUND_S, *(3600 * hours for hours in _ROUND_HOURS)):
        if PS_PER_S <= least_ps <= seconds * PS_PER_S:
            return seconds * PS_PER_S
    size = 1 if least_ps < PS_PER_S else 86_400 * PS_PER_S
    while True:
        for factor in (1, 2, 5):
            if factor * size >= least_ps:
                return factor * size
        size *= 10


def _words(ps: int, distance_ps: int) -> str:
    """Seconds below a minute's distance, else minutes or hours."""
    if distance_ps < 60 * PS_PER_S:
        if abs(ps) < PS_PER_S or ps % PS_PER_S:
            return units.duration(ps)
        return f"{ps // PS_PER_S:,} s"
    sign = "-" if ps < 0 else ""
    minutes = abs(ps) // (60 * PS_PER_S)
    if distance_ps < 3600 * PS_PER_S:
        return f"{sign}{minutes} min"
    return f"{sign}{minutes // 60} h"
