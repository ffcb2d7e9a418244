"""Look-ups in ascending columns that several tools need: which values are among them, which of
them began last, and the rows of many ranges at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.model import Bools, Int64s


def among(ascending: npt.NDArray[Any], values: npt.NDArray[Any]) -> Bools:
    """Which of the values are in the ascending column."""
    if not len(ascending):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(ascending.searchsorted(values), len(ascending) - 1)
    return np.asarray(ascending[place] == values)


def last_begun(starts: Int64s, moments: Int64s) -> tuple[Bools, Int64s]:
    """(whether anything began by each moment, the row of what began last; 0 where nothing did)."""
    place = wire.ranks(starts, moments, equal_too=True) - 1
    return np.asarray(place >= 0), np.maximum(place, 0)


def rows_of_ranges(first: Int64s, count: Int64s) -> tuple[Int64s, Int64s]:
    """(the range that each row belongs to, the rows), range after range.

    Each range has `count` rows from `first` on.
    """
    owner = np.repeat(np.arange(len(count)), count)
    rows_before = np.cumsum(count) - count
    offset = np.arange(len(owner)) - rows_before[owner]
    return owner, first[owner] + offset


def begins_run(*columns: npt.NDArray[Any]) -> Bools:
    """Which rows differ from the row before them in any of these columns; the first row does."""
    begins = np.zeros(len(columns[0]), np.bool_)
    begins[:1] = True
    for column in columns:
        begins[1:] |= column[1:] != column[:-1]
    return begins


def ends_run(column: npt.NDArray[Any]) -> Bools:
    """Which values differ from the one after them; the last one does."""
    ends = np.ones(len(column), np.bool_)
    ends[:-1] = column[1:] != column[:-1]
    return ends
