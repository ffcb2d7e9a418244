"""What shows that a column is time: its name, and that its cells ascend."""

from __future__ import annotations

import numpy as np

from powertui.data.power import column_times, units
from powertui.data.power.column_times import TimeColumn

_TIME_WORDS = {
    "time",
    "timestamp",
    "timestamps",
    "datetime",
    "date",
    "epoch",
    "unix",
    "elapsed",
    "ts",
    "clock",
    "t",
    "uhrzeit",
    "datum",
    "zeit",
    "seconds",
    "secs",
    "walltime",
    "utc",
    "unixtime",
    "timesec",
    "systemtime",
    "lastchanged",
    "lastupdated",
    "recordedat",
    "createdat",
    "sampledat",
    "collectedat",
}
# Shares of a column's rows, chosen, not measured.
_MIN_RISING_SHARE = 0.6  # a log may repeat a time for each of its channels, or repeat its tail
_MIN_FALLING_SHARE = 0.9


def is_time(name: str) -> bool:
    """Whether a name means time."""
    return time_score(name) > 0


def time_score(name: str) -> int:
    """How surely a name means time: 0 not at all, 3 as sure as can be."""
    words = units.tokens(name)
    if units.unit_of_name(name) is not None or "duration" in words:
        return 0
    if "".join(words) in _TIME_WORDS or not _TIME_WORDS.isdisjoint(words):
        if "unix" in words or "epoch" in words:
            return 3
        return 2
    if len(words) == 1 and words[0] in ("s", "sec", "ms"):
        return 1
    return 0


def counts_epochs(name: str) -> bool:
    """Whether a name means an epoch of the training, not of a clock: "epoch", "EPOCH_COUNT"."""
    return _TIME_WORDS & set(units.tokens(name)) == {"epoch"} and not column_times.unit_in(name)


def rises(read: TimeColumn) -> bool:
    """Whether times mostly ascend, or the newest row comes first."""
    steps = np.diff(read.ns[read.ok])
    return not len(steps) or bool((steps >= 0).mean() >= _MIN_RISING_SHARE) or falls(read)


def falls(read: TimeColumn) -> bool:
    """Whether rows with dates come newest first, as dashboards export them."""
    if read.kind not in ("local", "absolute"):
        return False
    steps = np.diff(read.ns[read.ok])
    if len(steps) < 2:
        return False
    return bool((steps <= 0).mean() >= _MIN_FALLING_SHARE) and bool((steps < 0).any())
