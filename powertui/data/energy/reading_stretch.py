"""The stretch of a log that shows most of its sensor, its short pauses drawn straight."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import percentiles_of_column
from powertui.named_tuples import NamedTuple

MAX_READINGS = 4096  # the liveliest part of a longer log: a bound of time
_PLENTY_READINGS = 128  # without a pause: then no pause needs to be bridged
_MAX_PAUSE_READINGS = 17  # nothing is read across a longer pause


class ReadingStretch(NamedTuple):
    """Readings that follow one another.

    Short pauses between them are drawn straight, and nothing is read from what crosses one.
    """

    level: Floats
    drawn: Floats  # up to each reading, how many are drawn instead of read
    # W from the lowest to the highest, of all of the log: what hardly moves there may be noise
    swing: float

    @property
    def is_complete(self) -> bool:
        """Every reading was read."""
        return bool(self.drawn[-1] == 0)

    def extended(self) -> ReadingStretch:
        """The same with its first and last reading going on, so that steps near the ends of a short
        log are looked at, too.
        """
        pad = len(self.level)
        level = np.pad(self.level, pad, mode="edge")
        return self._replace(level=level, drawn=np.pad(self.drawn, pad, mode="edge"))

    def is_read(self, first: Int64s, last: Int64s) -> Bools:
        """Whether all readings from one to another were."""
        return np.asarray(self.drawn[last + 1] == self.drawn[first])


def liveliest(watts: Floats) -> ReadingStretch:
    """The longest stretch without a gap, or its liveliest part when it is very long.

    Where pauses leave none that is long, the longest with no more than short ones.
    """
    is_read = np.isfinite(watts)
    if not is_read.any():
        return ReadingStretch(watts[:0], np.zeros(1), 0.0)
    first, last = _liveliest_run(watts, is_read)
    if last - first < min(_PLENTY_READINGS, is_read.sum()):
        bridged_first, bridged_last = _liveliest_run(watts, _short_pauses_closed(is_read))
        if is_read[bridged_first:bridged_last].sum() > 2 * (last - first):
            first, last = bridged_first, bridged_last
    level = watts[first:last]
    level_read = is_read[first:last]
    if not level_read.all():
        rows = np.flatnonzero(level_read)
        level = np.interp(np.arange(len(level)), rows, level[level_read])
    if len(level) > MAX_READINGS:
        start = _liveliest_start(level)
        level = level[start : start + MAX_READINGS]
        level_read = level_read[start : start + MAX_READINGS]
    low, high = percentiles_of_column(watts[is_read], (1, 99))
    drawn = np.concatenate(([0.0], np.cumsum(~level_read)))
    return ReadingStretch(level, drawn, float(high - low))


def _short_pauses_closed(is_read: Bools) -> Bools:
    rows = np.flatnonzero(is_read)
    is_short = np.diff(rows) <= _MAX_PAUSE_READINGS
    pause_starts = rows[:-1][is_short]
    pause_ends = rows[1:][is_short]
    depth = np.zeros(len(is_read) + 1, np.int64)
    depth[pause_starts] += 1
    depth[pause_ends] -= 1
    is_inside = np.cumsum(depth)[:-1] > 0
    return np.asarray(is_inside | is_read)


def _liveliest_start(level: Floats) -> int:
    """Where the part of `MAX_READINGS` begins in which power moves most."""
    moved = np.concatenate(([0.0], np.cumsum(np.diff(level) ** 2)))
    starts = len(moved) - MAX_READINGS + 1
    return int(np.argmax(moved[MAX_READINGS - 1 :] - moved[:starts]))


def _liveliest_run(watts: Floats, is_read: Bools) -> tuple[int, int]:
    """From where to where readings follow one another.

    Of the runs that are half as long as the longest, the one in which most happens.
    """
    edges = np.diff(np.concatenate(([0], is_read.astype(np.int8), [0])))
    runs = np.flatnonzero(edges).reshape(-1, 2)
    first = runs[:, 0]
    last = runs[:, 1]
    squares = np.nan_to_num(np.diff(watts)) ** 2
    moved = np.concatenate(([0.0], np.cumsum(squares), [0.0]))
    length = last - first
    is_long = length >= length.max() / 2
    moved_within = moved[last - 1] - moved[first]
    best = int(np.where(is_long, moved_within, -1.0).argmax())
    return int(first[best]), int(last[best])
