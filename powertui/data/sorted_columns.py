"""Look-ups in ascending columns: which values are among them, what began last or is open at a
moment, where a run of equal values begins, and the rows of many ranges at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.model import Bools, Int64s


def places_among(ascending: npt.NDArray[Any], values: npt.NDArray[Any]) -> tuple[Int64s, Bools]:
    """(the place of each value in the ascending column, which of the values are there)."""
    if len(ascending) < 2:
        first_places = np.zeros(values.shape, np.int64)
        if not len(ascending):
            return first_places, np.zeros(values.shape, np.bool_)
        return first_places, np.asarray(values == ascending[0])
    if ascending.dtype == values.dtype == np.int64 and values.ndim == 1:
        place = wire.ranks(ascending, values)  # a tenth of the time where values ascend, too
    else:
        place = ascending.searchsorted(values)
    np.minimum(place, len(ascending) - 1, out=place)
    is_there = ascending.take(place) == values
    return place, np.asarray(is_there)


def among(ascending: npt.NDArray[Any], values: npt.NDArray[Any]) -> Bools:
    """Which of the values are in the ascending column."""
    _, is_there = places_among(ascending, values)
    return is_there


def are_among(values: npt.NDArray[Any], others: npt.NDArray[Any]) -> Bools:
    """Which of the values are in another column, in whatever order.

    What `numpy.isin` does, which imports numpy.ma as well and makes a table of a column's numbers.
    """
    return among(np.sort(others, kind="stable"), values)


def last_begun(starts: Int64s, moments: Int64s) -> tuple[Bools, Int64s]:
    """(whether anything began by each moment, the row of what began last; 0 where nothing did)."""
    place = wire.ranks(starts, moments, equal_too=True) - 1
    return np.asarray(place >= 0), np.maximum(place, 0)


def open_at(starts: Int64s, ends: Int64s, moments: Int64s) -> tuple[Bools, Int64s]:
    """(whether one of these stretches is open at each moment, the row of what began last).

    The stretches come by start and do not overlap; an end is no longer inside.
    """
    any_begun, row = last_begun(starts, moments)
    if not len(starts):
        return any_begun, row
    return np.asarray(any_begun & (moments < ends.take(row))), row


def places_in(order: Int64s) -> Int64s:
    """The place of each row in this order of all rows."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


def rows_of_ranges(first: Int64s, count: Int64s) -> tuple[Int64s, Int64s]:
    """(the range that each row belongs to, the rows), range after range.

    Each range has `count` rows from `first` on.
    """
    owner = np.repeat(np.arange(len(count)), count)
    rows_before = np.cumsum(count) - count
    rows = np.arange(len(owner))
    rows += (first - rows_before).take(owner)
    return owner, rows


def numbered(*columns: npt.NDArray[Any]) -> tuple[Int64s, Int64s]:
    """(a number for each row: equal where all columns are, ascending with them; the first row of
    each number).
    """
    order = np.lexsort(columns[::-1])
    in_order = [column[order] for column in columns]
    is_first = begins_run(*in_order)
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(is_first) - 1
    return number, order[is_first]


def counted(keys: Int64s, limit: int) -> tuple[Int64s, Int64s]:
    """(the keys that there are, in order; how often each is there). All are below the limit."""
    if limit > len(keys):  # a count of each would take longer than to sort them
        keys, counts = np.unique(keys, return_counts=True)
        return keys, counts
    counts = np.bincount(keys, minlength=limit)
    keys = np.flatnonzero(counts)
    return keys, counts[keys]


def looked_up(keys: Int64s, table_keys: Int64s, values: Int64s) -> Int64s:
    """The value of each key among the known ones (those from 0 on); -1 where there is none."""
    is_known = table_keys >= 0
    if not is_known.any():
        return np.full(len(keys), -1, np.int64)
    known_keys, first = np.unique(table_keys[is_known], return_index=True)
    known_values = values[is_known][first]
    place, matches = places_among(known_keys, keys)
    matches &= keys >= 0
    return np.where(matches, known_values[place], -1)


def rows_of_each(*columns: npt.NDArray[Any]) -> list[Int64s]:
    """The rows of each combination of values: the combinations ascend, and rows keep their order
    within one.
    """
    order = np.lexsort(columns[::-1])
    if not len(order):
        return []
    in_order = [column[order] for column in columns]
    first_places = np.flatnonzero(begins_run(*in_order))
    return np.split(order, first_places[1:])


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
