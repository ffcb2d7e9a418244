"""Channels that two logs hold alike: a recording that lies beside its copy in another form is one
channel, and read once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data import elsewhere, wire
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
        if size < _MIN_READINGS:
            continue
        paths = {power[row].path for row in rows}
        if len(paths) > 1:
            rows.sort(key=lambda row: not power[row].clock.known)
            left_out |= _repeats(power, rows)
    files = [(power[row].path, power[first_row].path) for row, first_row in left_out.items()]
    warnings = []
    for path, first_path in dict.fromkeys(files):
        cause = f"holds the readings of {elsewhere.shown(first_path)}, which is read instead"
        warnings.append(Warn(path, "", cause))
    unrepeated = [series for row, series in enumerate(power) if row not in left_out]
    return tuple(unrepeated), tuple(warnings)


def _repeats(power: Sequence[PowerSeries], rows: Sequence[int]) -> dict[int, int]:
    """By each row that repeats an earlier one that one."""
    by_probe: dict[tuple[float, ...], list[int]] = {}
    first_of: dict[int, int] = {}
    for row in rows:
        # Channels that differ in these few readings need not be compared as a whole.
        watts = power[row].watts
        step = len(watts) // 4
        probe = np.nan_to_num(watts[::step])
        candidates = by_probe.setdefault(tuple(probe.tolist()), [])
        for candidate in candidates:
            if _is_same(power[candidate], power[row]):
                first_of[row] = candidate
                break
        else:
            candidates.append(row)
    return first_of


def _is_same(first: PowerSeries, second: PowerSeries) -> bool:
    if first.path == second.path:
        return False
    hosts = {first.sensor.host.casefold(), second.sensor.host.casefold()}
    hosts.discard("")
    if len(hosts) > 1:
        return False
    first_since_start = first.times - first.times[0]
    second_since_start = second.times - second.times[0]
    apart = np.abs(first_since_start - second_since_start)
    if apart.max() > _MAX_APART_NS or not _clocks_agree(first, second):
        return False
    if not np.array_equal(first.watts, second.watts, equal_nan=True):
        return False
    readings = first.watts[np.isfinite(first.watts)]
    return len(wire.distinct(readings)) >= _MIN_VALUES


def _clocks_agree(first: PowerSeries, second: PowerSeries) -> bool:
    """Whether both may begin at one moment."""
    if not (first.clock.known and second.clock.known):
        return True
    apart_ns = abs(_start_ns(first) - _start_ns(second))
    max_apart_ns = first.clock.half_ns + second.clock.half_ns
    max_apart_ns += _MAX_APART_NS
    return apart_ns <= max_apart_ns


def _start_ns(series: PowerSeries) -> int:
    """When a channel begins, by its own clock."""
    return series.clock.mid_ns + int(series.times[0])
