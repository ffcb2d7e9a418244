"""The times of a table's rows, channel by channel."""

from __future__ import annotations

import numpy as np

from powertui.data.model import Bools, Int64s
from powertui.data.power import steps_of_clock
from powertui.data.power.steps_of_clock import Joined


class RowTimes:
    """The times of some rows of a table.

    Those that were asked for last are kept: a hundred channels share them.
    """

    def __init__(self, every: Int64s) -> None:
        self._every = every
        self._rows: Bools = np.empty(0, np.bool_)
        self._times: Int64s = every[:0]
        self._joined: Joined | None = None

    def times_for(self, rows: Bools) -> Int64s:
        """The times of these rows."""
        if not np.array_equal(rows, self._rows):
            self._rows = rows
            self._times = self._every[rows]
            self._joined = None
        return self._times

    @property
    def joined(self) -> Joined:
        """What the times that were asked for last show of their clock."""
        if self._joined is None:
            self._joined = steps_of_clock.join_rows(self._times)
        return self._joined
