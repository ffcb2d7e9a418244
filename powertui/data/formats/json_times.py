"""Times of events in Chrome-like JSON traces: exact, from an origin, and none that cannot be."""

from __future__ import annotations

import math
import re

import numpy as np

from powertui.data.formats.file_warnings import FileWarnings
from powertui.data.formats.json_batch import EventBatch
from powertui.data.formats.json_pure import FAR_US
from powertui.data.formats.makers import TimeOrigin
from powertui.data.model import (
    PS_PER_US,
    Clock,
    Floats,
    Int64s,
)

__all__ = ["IMPOSSIBLE", "UNIX_US", "Impossible", "Origin", "clock_of", "in_reach", "picoseconds"]

IMPOSSIBLE = "events at impossible times were left out"
UNIX_US = (1e14, 4e15)  # a ts in here (three years … 2096) is Unix time in µs
_ORIGIN_NS = 1_000_000  # how well a profiler ties its own clock to the system's, once, at its start
_MAX_REFUSED_ORIGINS = 1000  # of times that cannot be
_REACH_US = 9e12  # from the first event: nothing that can be lies farther
_TS = re.compile(r'"ts"\s*:\s*"?(-?\d{1,17})(?:\.(\d{1,6}))?"?\s*[,}]')


def picoseconds(us: Floats, base: float = 0.0, digits: int = 6) -> Int64s:
    """µs as exact ps: the whole part and the fraction apart, because their product would lose
    digits after 2**53 ps.

    `digits`: decimals that the writer writes. With three (ns) a double of a far clock gives back
    exactly what was written.
    """
    whole_us = np.floor(us)
    grid = 10**digits
    fraction = np.rint((us - whole_us) * grid).astype(np.int64) * (PS_PER_US // grid)
    result: Int64s = (whole_us - base).astype(np.int64) * PS_PER_US + fraction
    return result


class Impossible(ValueError):
    """A time that no event can have."""


class Origin:
    """What the times of a trace are counted from while it is read: the whole µs before the first
    event.
    """

    def __init__(self, digits: int = 6) -> None:
        self.us: int | None = None
        self._refused: dict[
            int, tuple[int, int]
        ] = {}  # times too far from it: how many, and the first, by where they lie
        self.digits = digits  # decimals that the writer writes
        self._grid = 10**digits
        self._unit = 10 ** (6 - digits)
        self._inexact_us = FAR_US * self._unit

    def ps(self, ts: float, raw: str = "") -> int:
        """A time in µs as ps from the origin. Raises `Impossible` for one that cannot be.

        `raw` is the event's text: a double of a far clock is not what was written.
        """
        if not math.isfinite(ts):
            raise Impossible
        whole_us = math.floor(ts)
        part_ps = round((ts - whole_us) * self._grid) * self._unit
        if (
            abs(ts) > self._inexact_us
            and raw.count('"ts"') == 1
            and (match := _TS.search(raw)) is not None
        ):
            part_ps = int((match[2] or "").ljust(6, "0"))
            whole_us = int(match[1])
            if match[1][0] == "-":
                whole_us, part_ps = (
                    (whole_us - 1, PS_PER_US - part_ps) if part_ps else (whole_us, 0)
                )
        whole_us = int(whole_us)
        part_ps = int(part_ps)
        if self.us is None:
            self.us = whole_us
        if abs(whole_us - self.us) > _REACH_US:
            self.refuse(whole_us)
            raise Impossible
        return (whole_us - self.us) * PS_PER_US + part_ps

    def refuse(self, us: int) -> None:
        """A time lies too far from the origin."""
        where = us // int(_REACH_US)
        if where in self._refused or len(self._refused) < _MAX_REFUSED_ORIGINS:
            count, first = self._refused.get(where, (0, us))
            self._refused[where] = count + 1, min(first, us)

    def better(self, count_in_reach: int) -> int | None:
        """An origin from which more events than so many lie within reach; None where there
        is none.
        """
        count, first = max(self._refused.values(), default=(0, 0))
        return first if count > count_in_reach else None

    def length(self, us: float) -> int:
        """A duration in µs as ps."""
        if not abs(us) < _REACH_US:
            raise Impossible
        whole_us = math.floor(us)
        return int(whole_us) * PS_PER_US + int(round((us - whole_us) * self._grid) * self._unit)


def in_reach(
    batch: EventBatch,
    rows: Int64s,
    origin: Origin,
    findings: FileWarnings,
) -> tuple[Int64s, Int64s]:
    """(those of these rows whose times can be, their starts as ps from the origin)."""
    assert origin.us is not None
    distance_us = batch.us[rows] - origin.us
    good = np.abs(distance_us) <= _REACH_US
    if not good.all():
        findings.add(IMPOSSIBLE, count=int(len(good) - good.sum()))
        for us in batch.us[rows[~good]].tolist():
            origin.refuse(us)
    rows = rows[good]
    distance_us = distance_us[good]
    part = batch.ps[rows].astype(np.int64)
    if origin.digits == 3:
        part = (part + 500) // 1000 * 1000
    return rows, distance_us * PS_PER_US + part


def clock_of(base_us: float, origin: TimeOrigin | None) -> Clock:
    """Where a trace's zero lies in Unix time.

    `base_us`: the ts that is zero; `origin`: what ts count from, if that is said.
    """
    if origin is not None:
        zero = origin.unix_ns + int(base_us) * 1000
        return Clock(
            zero - _ORIGIN_NS,
            zero + _ORIGIN_NS,
            "absolute timestamps",
            f"ts counts from the file's {origin.member}",
        )
    if not UNIX_US[0] < base_us < UNIX_US[1]:
        return Clock()
    zero = int(base_us) * 1000
    # doubles near 2e15 µs resolve a quarter of a µs
    return Clock(zero - 500, zero + 500, "absolute timestamps", "ts is Unix time in µs")
