"""Rows by a number that each carries (its epoch, its turn, its id): one sort instead of a look at
all rows for each number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.model import Int32s, Int64s


class ByNumber:
    """`rows[n]` are the rows with number n, in their order; those with a number below 0 are in
    none.
    """

    def __init__(self, numbers: Int32s | Int64s, count: int) -> None:
        self._order = np.argsort(numbers, kind="stable")
        self._bounds = numbers[self._order].searchsorted(np.arange(count + 1))

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def __getitem__(self, number: int) -> Int64s:
        return self._order[self._bounds[number] : self._bounds[number + 1]]

    def __iter__(self) -> Iterator[Int64s]:
        return (self[number] for number in range(len(self)))
