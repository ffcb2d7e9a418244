"""Which step of one host is which of another: by the numbers that the programs gave them, else by
the shift at which most of their time overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.model import Int64s, Steps
from powertui.data.tools.breakdown import Breakdown

_MAX_SHIFT = 512  # steps by which two hosts may be apart, either way


def step_numbers(measured: Breakdown, steps: Steps) -> Int64s | None:
    """Number and round of each step as one; None where not every step has a number of its own."""
    if len(measured) != len(steps):
        return None
    has_no_number = steps.number < 0
    if has_no_number.any():
        return None
    numbers_per_epoch = int(steps.number.max()) + 1
    epoch = steps.epoch.astype(np.int64) + 1  # -1 outside epochs
    keys = steps.number + epoch * numbers_per_epoch
    if len(wire.distinct(keys)) < len(keys):
        return None
    return keys


def rows_by_number(numbers: Sequence[Int64s | None]) -> list[Int64s] | None:
    """The rows of the common numbers in each column.

    None where a host has no numbers, or where fewer than half are common: those are not one
    training's numbers.
    """
    columns = [column for column in numbers if column is not None]
    if len(columns) < len(numbers):
        return None
    common = common_values(columns)
    fewest = min(len(column) for column in columns)
    if 2 * len(common) < fewest:
        return None
    return [rows_of_values(common, column) for column in columns]


def common_values(columns: Sequence[Int64s]) -> Int64s:
    """The values that are in every column, as the first one has them."""
    common = columns[0]
    for column in columns[1:]:
        is_in_column = np.isin(common, column)
        common = common[is_in_column]
    return common


def rows_of_values(values: Int64s, column: Int64s) -> Int64s:
    """Where each of these values is in a column that holds them all."""
    order = np.argsort(column, kind="stable")
    place = column[order].searchsorted(values)
    return order[place]


def rows_by_overlap(every: Sequence[Breakdown], chief: int) -> list[Int64s]:
    """The rows of the common steps of each host: step i of the chief is step i + shift of a host.

    Common are the steps that every host has.
    """
    shifts = []
    ends = []
    for host, steps in enumerate(every):
        shift = 0
        if host != chief:
            shift = _shift(every[chief], steps)
        shifts.append(shift)
        ends.append(len(steps) - shift)
    first = max(0, -min(shifts))
    after_last = max(first, min(ends))
    common = np.arange(first, after_last)
    return [common + shift for shift in shifts]


def _shift(chief: Breakdown, host: Breakdown) -> int:
    """The shift at which most of the steps' time overlaps; the first of equals, in the order 0, 1,
    2 …, -1, -2 …
    """
    best_shift = 0
    best_overlap_ps = -1
    most_forward = min(_MAX_SHIFT, len(host))
    most_backward = min(_MAX_SHIFT, len(chief))
    shifts = [*range(most_forward), *range(-1, -most_backward, -1)]
    for shift in shifts:
        overlap_ps = _overlap_ps(chief, host, shift)
        if overlap_ps is not None and overlap_ps > best_overlap_ps:
            best_shift = shift
            best_overlap_ps = overlap_ps
    return best_shift


def _overlap_ps(chief: Breakdown, host: Breakdown, shift: int) -> int | None:
    """How long steps run on both hosts at once by a shift; None where no step meets another."""
    chief_first = max(0, -shift)
    host_first = max(0, shift)
    chief_count = len(chief) - chief_first
    host_count = len(host) - host_first
    count = min(chief_count, host_count)
    if count <= 0:
        return None
    chief_rows = slice(chief_first, chief_first + count)
    host_rows = slice(host_first, host_first + count)
    chief_start = chief.start[chief_rows]
    host_start = host.start[host_rows]
    chief_end = chief_start + chief.length[chief_rows]
    host_end = host_start + host.length[host_rows]
    start = np.maximum(chief_start, host_start)
    end = np.minimum(chief_end, host_end)
    overlaps_ps = np.maximum(0, end - start)
    return int(overlaps_ps.sum())
