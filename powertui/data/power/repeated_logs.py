"""Channels that two logs hold alike: a recording that lies beside its copy in another form is one
channel, and read once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.model import NS_PER_S, PowerSeries, Warn

# Fewer readings, or values, may be alike by chance. Chosen, not measured.
_MIN_READINGS = 8
_MIN_VALUES = 3
_MAX_APART_NS = NS_PER_S  # by which times may differ: one log writes whole seconds


def without_repeats(
    power: Sequence[PowerSeries],
) -> tuple[tuple[PowerSeries, ...], tuple[Warn, ...]]:
    """The channels without those whose readings another log holds, too, and what is said of them.

    The one whose clock is known stays; of equals the first.
    """
    by_size: dict[int, list[int]] = {}
    for row, series in enumerate(power):
        by_size.setdefault(len(series), []).append(row)
    left_out: dict[int, int] = {}  # by its row that of the channel that stays
    for size, rows in by_size.items():
        if size >= _MIN_READINGS and len({power[row].path for row in rows}) > 1:
            left_out |= _repeats(power, sorted(rows, key=lambda row: not power[row].clock.known))
    files = dict.fromkeys((power[row].path, power[first].path) for row, first in left_out.items())
    warnings = tuple(
        Warn(path, "", f"holds the readings of {first}, which is read instead")
        for path, first in files
    )
    return tuple(series for row, series in enumerate(power) if row not in left_out), warnings


def _repeats(power: Sequence[PowerSeries], rows: Sequence[int]) -> dict[int, int]:
    """By each row that repeats an earlier one that one."""
    kept: dict[tuple[float, ...], list[int]] = {}
    found: dict[int, int] = {}
    for row in rows:
        watts = power[row].watts
        # What differs here need not be compared as a whole.
        places = kept.setdefault(tuple(np.nan_to_num(watts[:: len(watts) // 4]).tolist()), [])
        first = next((other for other in places if _is_same(power[other], power[row])), None)
        if first is None:
            places.append(row)
        else:
            found[row] = first
    return found


def _is_same(first: PowerSeries, second: PowerSeries) -> bool:
    hosts = {first.sensor.host.casefold(), second.sensor.host.casefold()} - {""}
    if first.path == second.path or len(hosts) > 1:
        return False
    apart = (first.times - first.times[0]) - (second.times - second.times[0])
    if np.abs(apart).max() > _MAX_APART_NS or not _clocks_agree(first, second):
        return False
    known = first.watts[np.isfinite(first.watts)]
    return bool(
        np.array_equal(first.watts, second.watts, equal_nan=True)
        and len(np.unique(known)) >= _MIN_VALUES
    )


def _clocks_agree(first: PowerSeries, second: PowerSeries) -> bool:
    """Whether both may begin at one moment."""
    if not (first.clock.known and second.clock.known):
        return True
    starts = [series.clock.mid_ns + int(series.times[0]) for series in (first, second)]
    return abs(starts[0] - starts[1]) <= first.clock.half_ns + second.clock.half_ns + _MAX_APART_NS
