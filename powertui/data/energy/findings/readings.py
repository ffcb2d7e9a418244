"""A sensor's readings on a trace, with what is explained of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from powertui.data.model import Bools, Floats, Int64s


@dataclass(frozen=True, eq=False)
class Readings:
    """A sensor's readings on the trace, and what was expected of each."""

    lo: Floats  # the window that each is a mean over, s on the trace
    hi: Floats
    watts: Floats
    floor: Floats  # the least that is explained …
    ceiling: Floats  # … and the most: equal where the trace tells exactly what ran
    doubt: Floats  # one sigma of these two; shared by neighbours, so that it does not average out
    judged: Bools  # False where nothing can be said
    quantum: float

    def __len__(self) -> int:
        return len(self.watts)

    def beyond(self, foreign: Floats | float = 0.0) -> Floats:
        """How far each reading lies above (or below) what is explained, with so much foreign power in it."""
        rest = self.watts - foreign
        return np.where(rest > self.ceiling, rest - self.ceiling, np.minimum(rest - self.floor, 0.0))


def covered(readings: Readings, start: float, end: float) -> Floats:
    """The share of each reading's window that lies between two moments."""
    over = np.minimum(readings.hi, end) - np.maximum(readings.lo, start)
    return np.asarray(np.clip(over, 0.0, None) / np.maximum(readings.hi - readings.lo, 1e-12))


def some(readings: Readings, rows: Bools | Int64s) -> Readings:
    """These rows alone."""
    return Readings(
        readings.lo[rows], readings.hi[rows], readings.watts[rows], readings.floor[rows], readings.ceiling[rows],
        readings.doubt[rows], readings.judged[rows], readings.quantum,
    )  # fmt: skip
