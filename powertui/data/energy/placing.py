"""A power log's own time put on a trace's: the one place where nanoseconds become picoseconds."""

from __future__ import annotations

from typing import Literal

import numpy as np

from powertui.data.model import PS_PER_NS, PowerOnTrace, PowerSeries

_ROOM = (1 << 62) // PS_PER_NS  # ns that int64 ps hold, with room for sums of two of them


def fits(ns: int, offset_ps: int = 0) -> bool:
    """Whether int64 ps can hold a moment of a log whose zero lies at `offset_ps`."""
    return abs(ns + offset_ps // PS_PER_NS) < _ROOM


def on_trace(
    series: PowerSeries, offset_ps: int, lo_ps: int, hi_ps: int, status: Literal["aligned", "ambiguous", "none"], source: str
) -> PowerOnTrace:  # fmt: skip
    """The series with its zero at `offset_ps` (95 % interval `lo_ps` … `hi_ps`). Rows that int64 ps cannot hold are left out."""
    shift, rest = divmod(offset_ps, PS_PER_NS)
    moved = series.times + shift
    fits = np.abs(moved) < _ROOM
    rows = slice(None) if fits.all() else fits
    times = moved[rows] * PS_PER_NS + rest
    return PowerOnTrace(series, times, series.watts[rows], offset_ps, lo_ps, hi_ps, status, source)
