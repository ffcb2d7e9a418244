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
    order = np.argsort(ns, kind="stable")
    times = ns[order]
    readings = watts[order]
    starts = np.flatnonzero(np.r_[True, np.diff(times) > 0])
    if len(starts) == len(times) or not _are_unequal(starts, readings):
        return []
    sizes = np.diff(np.r_[starts, len(times)])
    count = int(np.bincount(sizes).argmax())
    is_whole = sizes == count
    if count < 2 or is_whole.mean() < _MIN_WHOLE_SHARE:
        return []
    whole_starts = starts[is_whole]
    rounds = readings[whole_starts[:, np.newaxis] + np.arange(count)]
    if _may_be_polls(times[starts]) and not _keep_their_places(rounds):
        return []
    place = np.arange(len(times)) - np.repeat(starts, sizes)
    is_in_whole: Bools = np.repeat(is_whole, sizes)
    return [np.sort(order[is_in_whole & (place == number)]) for number in range(count)]


def _are_unequal(starts: Int64s, readings: Floats) -> bool:
    filled = np.where(np.isfinite(readings), readings, 0.0)
    lowest = np.minimum.reduceat(filled, starts)
    highest = np.maximum.reduceat(filled, starts)
    unequal_count = int((lowest != highest).sum())
    return unequal_count >= max(_MIN_MOMENTS, _MIN_UNEQUAL_SHARE * len(starts))


def _may_be_polls(moments: Int64s) -> bool:
    """Whether one sensor's polls may share a time because that is cut to whole seconds, or to
    whole minutes.

    A logger that is slower than its times resolve has no such polls.
    """
    gaps = np.diff(moments)
    if not len(gaps):
        return False
    is_cut_to_seconds = (gaps % NS_PER_S == 0).all() and np.median(gaps) <= NS_PER_S
    is_cut_to_minutes = (moments % _MINUTE == 0).all() and np.median(gaps) <= _MINUTE
    return bool(is_cut_to_seconds or is_cut_to_minutes)


def _keep_their_places(rounds: Floats) -> bool:
    """Whether the readings of each place are more alike than those of one moment."""
    between = np.abs(np.diff(rounds, axis=0))
    beside = np.abs(np.diff(rounds, axis=1))
    if not np.isfinite(between).any() or not np.isfinite(beside).any():
        return False
    return bool(np.nanmean(between) < _MAX_CHANGE_RATIO * np.nanmean(beside))
