"""A power log's own time put on a trace's: the one place where nanoseconds become picoseconds."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from powertui.data.model import PS_PER_NS, Bools, Int64s, LogPlace, PowerOnTrace, PowerSeries
from powertui.named_tuples import NamedTuple

# ps on either side that int64 holds, with room for sums of two of them: farther than any trace.
FARTHEST_PS = 1 << 62


def fits(ns: int, offset_ps: int = 0) -> bool:
    """Whether int64 ps can hold a moment of a log whose zero lies at `offset_ps`."""
    return abs(ns + offset_ps // PS_PER_NS) < FARTHEST_PS // PS_PER_NS


def on_trace(
    series: PowerSeries,
    offset_ps: int,
    lo_ps: int,
    hi_ps: int,
    status: Literal["aligned", "ambiguous", "none"],
    source: str,
    places: Sequence[LogPlace] = (),
) -> PowerOnTrace:
    """The series with its zero at `offset_ps` (95 % interval `lo_ps` … `hi_ps`).

    Rows that int64 ps cannot hold are left out.
    """
    times, rows = _moved(series.times, offset_ps)
    watts = series.watts  # the same column, packed once
    if len(times) != len(series):
        watts = watts[rows]
    return PowerOnTrace(
        series=series,
        times=times,
        watts=watts,
        offset_ps=offset_ps,
        offset_lo_ps=lo_ps,
        offset_hi_ps=hi_ps,
        status=status,
        source=source,
        places=tuple(places),
    )


class _Moved(NamedTuple):
    """Times that were put on an axis: the channels of one log share them there as they do in the
    log.
    """

    of: weakref.ref[Int64s]
    offset_ps: int
    times: weakref.ref[Int64s]
    rows: slice | Bools


_lately: list[_Moved] = []
_MAX_CACHED = 8  # times of logs that were moved, so that channels of one log share them


def _moved(times: Int64s, offset_ps: int) -> tuple[Int64s, slice | Bools]:
    """The times in ps on an axis on which the log's zero is at `offset_ps`, and which rows int64
    ps can hold.
    """
    for entry in tuple(_lately):
        if (
            entry.of() is times
            and entry.offset_ps == offset_ps
            and (cached := entry.times()) is not None
        ):
            return cached, entry.rows
    shift, rest = divmod(offset_ps, PS_PER_NS)
    moved = times + shift
    fits = np.abs(moved) < FARTHEST_PS // PS_PER_NS
    rows: slice | Bools = slice(None) if fits.all() else fits
    made = moved[rows] * PS_PER_NS + rest
    _lately.append(_Moved(weakref.ref(times), offset_ps, weakref.ref(made), rows))
    del _lately[:-_MAX_CACHED]
    return made, rows


def shifted(power: PowerOnTrace, by_ps: int, **changes: object) -> PowerOnTrace:
    """The same, so much later, all of its places with it."""
    return replace(
        power,
        times=power.times + by_ps,
        offset_ps=power.offset_ps + by_ps,
        offset_lo_ps=power.offset_lo_ps + by_ps,
        offset_hi_ps=power.offset_hi_ps + by_ps,
        places=tuple(p._replace(offset_ps=p.offset_ps + by_ps) for p in power.places),
        **changes,  # type: ignore[arg-type]
    )


def _at(power: PowerOnTrace, place: LogPlace) -> PowerOnTrace:
    """The series as it lies if this place is the true one: sure but for the place's own error."""
    by_ps = place.offset_ps - power.offset_ps
    times = power.times
    if by_ps:
        times = times + by_ps
    return replace(
        power,
        times=times,
        offset_ps=place.offset_ps,
        offset_lo_ps=place.offset_ps - place.half_ps,
        offset_hi_ps=place.offset_ps + place.half_ps,
        places=(place._replace(weight=1.0),),
    )


def within(
    power: PowerOnTrace,
    lo_ps: int,
    hi_ps: int,
    least: int = 0,
) -> PowerOnTrace:
    """The readings that may lie between two moments at any of its places, and on each side as many
    as make it `least`; all of it where that leaves out little.
    """
    times = power.times
    if len(times) != len(power.series) or not len(times):
        return power
    latest = max(place.offset_ps + place.half_ps for place in power.places) - power.offset_ps
    earliest = min(place.offset_ps - place.half_ps for place in power.places) - power.offset_ps
    begin_ps = max(lo_ps - latest, -FARTHEST_PS)
    end_ps = min(hi_ps - earliest, FARTHEST_PS)
    first = int(np.searchsorted(times, begin_ps))
    end = int(np.searchsorted(times, end_ps, side="right"))
    middle = (first + end) // 2
    first = max(0, min(first, middle - least))
    end = min(len(times), max(end, middle + least))
    if 2 * (end - first) > len(times):
        return power
    rows = slice(first, end)
    series = power.series
    joules = series.joules
    if joules is not None:
        joules = joules[rows]
    part = replace(
        series,
        times=series.times[rows].copy(),
        watts=series.watts[rows].copy(),
        joules=joules,
    )
    return replace(
        power,
        series=part,
        times=times[rows].copy(),
        watts=power.watts[rows].copy(),
    )


_everywhere: weakref.WeakKeyDictionary[PowerOnTrace, tuple[PowerOnTrace, ...]] = (
    weakref.WeakKeyDictionary()
)


def everywhere(power: PowerOnTrace) -> tuple[PowerOnTrace, ...]:
    """The series at each of its places, in their order; itself where there is but one.

    Made once.
    """
    if len(power.places) < 2:
        return (power,)
    at_places = _everywhere.get(power)
    if at_places is None:
        at_places = tuple(_at(power, place) for place in power.places)
        _everywhere[power] = at_places
    return at_places
