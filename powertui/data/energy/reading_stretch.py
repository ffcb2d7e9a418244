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
        return ReadingStretch(
            level=np.pad(self.level, pad, mode="edge"),
            drawn=np.pad(self.drawn, pad, mode="edge"),
            swing=self.swing,
        )

    def is_read(self, first: Int64s, last: Int64s) -> Bools:
        """Whether all readings from one to another were."""
        is_read: Bools = self.drawn[last + 1] == self.drawn[first]
        return is_read


def liveliest(watts: Floats) -> ReadingStretch:
    """The longest stretch without a gap, or its liveliest part when it is very long.

    Where pauses leave none that is long, the longest with no more than short ones.
    """
    is_read = np.isfinite(watts)
    if not is_read.any():
        return ReadingStretch(watts[:0], np.zeros(1), 0.0)
    rows = _stretch_rows(watts, is_read)
    level = watts[rows]
    level_read = is_read[rows]
    if not level_read.all():
        level = _drawn_straight(level, level_read)
    if len(level) > MAX_READINGS:
        start = _liveliest_start(level)
        end = start + MAX_READINGS
        level = level[start:end]
        level_read = level_read[start:end]
    low_w, high_w = percentiles_of_column(watts[is_read], (1, 99))
    drawn = np.cumsum(~level_read)
    return ReadingStretch(
        level=level,
        drawn=np.concatenate(([0.0], drawn)),
        swing=float(high_w - low_w),
    )


def _stretch_rows(watts: Floats, is_read: Bools) -> slice:
    """The longest run of readings, across short pauses only where that more than doubles it."""
    run = _liveliest_run(watts, is_read)
    readings = run.stop - run.start
    if readings >= min(_PLENTY_READINGS, is_read.sum()):
        return run
    bridged = _liveliest_run(watts, _short_pauses_closed(is_read))
    if is_read[bridged].sum() > 2 * readings:
        return bridged
    return run


def _drawn_straight(level: Floats, is_read: Bools) -> Floats:
    """The same readings, with straight lines across the pauses between them."""
    rows = np.flatnonzero(is_read)
    every_row = np.arange(len(level))
    return np.interp(every_row, rows, level[is_read])


def _short_pauses_closed(is_read: Bools) -> Bools:
    rows = np.flatnonzero(is_read)
    is_short = np.diff(rows) <= _MAX_PAUSE_READINGS
    pause_starts = rows[:-1][is_short]
    pause_ends = rows[1:][is_short]
    depth = np.zeros(len(is_read) + 1, np.int64)
    depth[pause_starts] += 1
    depth[pause_ends] -= 1
    is_inside: Bools = np.cumsum(depth)[:-1] > 0
    return is_inside | is_read


def _liveliest_start(level: Floats) -> int:
    """Where the part of `MAX_READINGS` begins in which power moves most."""
    squares = np.diff(level) ** 2
    moved = np.concatenate(([0.0], np.cumsum(squares)))
    starts = len(moved) - MAX_READINGS + 1
    moved_within = moved[MAX_READINGS - 1 :] - moved[:starts]
    return int(np.argmax(moved_within))


def _liveliest_run(watts: Floats, is_read: Bools) -> slice:
    """The rows of readings that follow one another.

    Of the runs that are half as long as the longest, the one in which most happens.
    """
    read = np.concatenate(([0], is_read.astype(np.int8), [0]))
    edges = np.flatnonzero(np.diff(read))
    first = edges[::2]
    last = edges[1::2]
    squares = np.nan_to_num(np.diff(watts)) ** 2
    moved = np.concatenate(([0.0], np.cumsum(squares), [0.0]))
    length = last - first
    is_long = length >= length.max() / 2
    moved_within = moved[last - 1] - moved[first]
    best = int(np.where(is_long, moved_within, -1.0).argmax())
    return slice(int(first[best]), int(last[best]))
