"""Channels that take turns row by row in a table that does not name them: how many there are, and
which row is whose.

Two things show it: rows that share a time or come close together with a pause after each round, and
a column (memory used, a limit) that repeats from round to round while neighbors differ. A sensor
that is only polled faster than its times resolve looks like the first; its neighbors are alike, and
so the readings themselves decide.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from powertui.data.model import Bools, Floats, Int32s, Int64s
from powertui.data.quantiles import percentile_of_column

# All of these were chosen, not measured.
MAX_TURN_CHANNELS = 16  # channels that may take turns
_MIN_PAUSE_RATIO = 5.0  # of the pause after a round to the distance of rows within it
_MIN_WHOLE_SHARE = 0.7  # of the rounds: as many are whole
_MAX_CHANGE_RATIO = 0.5  # of a reading's change over a round to its distance from its neighbor
_MIN_REPEATED_SHARE = 0.9  # of the cells of a column that repeats from round to round
_MAX_EQUAL_SHARE = 0.5  # of neighbors in such a column


def _pause(gaps: Int64s) -> float:
    """The distance that separates the pauses between rounds from those within; infinite when there
    are no rounds.
    """
    ordered = np.sort(gaps[gaps >= 0])
    if len(ordered) < 3:
        return float("inf")
    within = max(1e5, percentile_of_column(ordered, 5))
    between = percentile_of_column(ordered, 95)
    if between / within < _MIN_PAUSE_RATIO:
        return float("inf")
    product = within * between
    return float(product**0.5)


def _opens_round(gaps: Int64s, min_pause: float) -> Bools:
    """The rows that begin a round: the first, and those after a pause."""
    opens = np.ones(len(gaps) + 1, np.bool_)
    opens[1:] = gaps > min_pause
    return opens


def count_by_pause(ns: Int64s) -> int:
    """How many rows make a round, by the pauses between them; 1 when there are no rounds."""
    gaps = np.diff(ns)
    min_pause = _pause(gaps)
    if not np.isfinite(min_pause):
        return 1
    starts = np.flatnonzero(_opens_round(gaps, min_pause))
    sizes = np.diff(starts, append=len(ns))
    commonest_size = int(np.bincount(sizes).argmax())
    whole_share = (sizes == commonest_size).mean()
    if commonest_size > MAX_TURN_CHANNELS or whole_share < _MIN_WHOLE_SHARE:
        return 1
    return commonest_size


def takes_turns(texts: Sequence[str], count: int) -> bool:
    """Nearly every cell is what it was one round before."""
    pairs = zip(texts[count:], texts, strict=False)
    equal_count = sum(cell == before for cell, before in pairs)
    pair_count = max(1, len(texts) - count)
    return equal_count >= _MIN_REPEATED_SHARE * pair_count


def count_by_column(texts: Sequence[str]) -> int:
    """How many rows make a round, by a column that repeats from round to round while neighbors
    differ; 1 when it does not.
    """
    if len(texts) < 4:
        return 1
    neighbors = itertools.pairwise(texts)
    equal_neighbors = sum(first == second for first, second in neighbors)
    if equal_neighbors > _MAX_EQUAL_SHARE * (len(texts) - 1):
        return 1
    max_count = min(MAX_TURN_CHANNELS, len(texts) // 3)
    for count in range(2, max_count + 1):
        if takes_turns(texts, count):
            return count
    return 1


def places(ns: Int64s, count: int) -> tuple[Int32s, Bools]:
    """The place of each row in its round, and which rows belong to a round that is not whole, so
    that theirs is unknown.
    """
    gaps = np.diff(ns)
    opens = _opens_round(gaps, _pause(gaps))
    rows = np.arange(len(ns))
    opening_rows = np.where(opens, rows, 0)
    place = rows - np.maximum.accumulate(opening_rows)
    rounds = np.cumsum(opens) - 1
    round_sizes = np.bincount(rounds)
    sizes = round_sizes[rounds]
    # The log may end within a round: what is there of it began as the others do.
    is_last = rounds == rounds[-1]
    is_last_and_short = is_last & (sizes < count)
    is_torn: Bools = (sizes != count) & ~is_last_and_short
    return place.astype(np.int32), is_torn


def count_by_values(ns: Int64s, values: Floats) -> int:
    """How many nameless channels take turns in one column of readings; 1 when it is one channel.

    The rows must come in rounds, and each reading must be nearer to the one a round earlier than to
    its neighbor.
    """
    count = count_by_pause(ns)
    if count < 2 or len(values) < 3 * count:
        return 1
    with np.errstate(invalid="ignore"):
        to_neighbor = _mean_change(values, 1, default=0.0)
        to_round_before = _mean_change(values, count, default=np.inf)
    if to_round_before < _MAX_CHANGE_RATIO * to_neighbor:
        return count
    return 1


def _mean_change(values: Floats, rows_apart: int, default: float) -> float:
    """How much readings so many rows apart differ; `default` where none is known."""
    later = values[rows_apart:]
    earlier = values[:-rows_apart]
    changes = np.abs(later - earlier)
    if not np.isfinite(changes).any():
        return default
    return float(np.nanmean(changes))
