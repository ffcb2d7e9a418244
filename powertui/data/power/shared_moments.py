"""Unequal readings of one moment: several devices that nothing names, or one sensor that was polled
faster than its times resolve.
"""

from __future__ import annotations

import numpy as np

from powertui.data.model import NS_PER_S, Bools, Floats, Int64s

_MINUTE = 60 * NS_PER_S
_MIN_MOMENTS = 3  # with several readings: fewer may be a slip of the logger
# Shares of all moments. Chosen, not measured: at half of the first, copies of a buffer whose last
# digit was rounded anew would be devices; at 0.99 of the second, one lost row would hide them.
_MIN_UNEQUAL_SHARE = 0.05
_MIN_WHOLE_SHARE = 0.9
# Of a device's change between moments to its distance from its neighbor; as in `turns`.
_MAX_CHANGE_RATIO = 0.5


def split_by_device(ns: Int64s, watts: Floats) -> list[Int64s]:
    """The rows of each device, in the order in which each moment lists them; empty where the
    readings are of one device, or nothing shows of how many.
    """
    if not len(ns):
        return []
    row_count = len(ns)
    order = np.argsort(ns, kind="stable")
    times = ns[order]
    readings = watts[order]
    begins_moment = np.ones(row_count, np.bool_)
    begins_moment[1:] = np.diff(times) > 0
    starts = np.flatnonzero(begins_moment)
    if len(starts) == row_count or not _are_unequal(starts, readings):
        return []
    sizes = np.diff(starts, append=row_count)
    count = int(np.bincount(sizes).argmax())
    is_whole = sizes == count
    if count < 2 or is_whole.mean() < _MIN_WHOLE_SHARE:
        return []
    whole_starts = starts[is_whole]
    places = np.arange(count)
    rounds = readings[whole_starts[:, np.newaxis] + places]
    if _may_be_polls(times[starts]) and not _keep_their_places(rounds):
        return []
    place = np.arange(row_count) - np.repeat(starts, sizes)
    is_in_whole: Bools = np.repeat(is_whole, sizes)
    rows_by_device = []
    for number in range(count):
        is_device = is_in_whole & (place == number)
        rows_by_device.append(np.sort(order[is_device]))
    return rows_by_device


def _are_unequal(starts: Int64s, readings: Floats) -> bool:
    is_finite = np.isfinite(readings)
    filled = np.where(is_finite, readings, 0.0)
    lowest = np.minimum.reduceat(filled, starts)
    highest = np.maximum.reduceat(filled, starts)
    unequal_count = int((lowest != highest).sum())
    min_count = max(_MIN_MOMENTS, _MIN_UNEQUAL_SHARE * len(starts))
    return unequal_count >= min_count


def _may_be_polls(moments: Int64s) -> bool:
    """Whether one sensor's polls may share a time because that is cut to whole seconds, or to
    whole minutes.

    A logger that is slower than its times resolve has no such polls.
    """
    gaps = np.diff(moments)
    if not len(gaps):
        return False
    typical_gap = np.median(gaps)
    if typical_gap <= NS_PER_S:
        return not (gaps % NS_PER_S).any() or not (moments % _MINUTE).any()
    return bool(typical_gap <= _MINUTE) and not (moments % _MINUTE).any()


def _keep_their_places(rounds: Floats) -> bool:
    """Whether the readings of each place are more alike than those of one moment."""
    between = np.abs(np.diff(rounds, axis=0))
    beside = np.abs(np.diff(rounds, axis=1))
    for differences in (between, beside):
        if not np.isfinite(differences).any():
            return False
    max_between = _MAX_CHANGE_RATIO * np.nanmean(beside)
    return bool(np.nanmean(between) < max_between)
