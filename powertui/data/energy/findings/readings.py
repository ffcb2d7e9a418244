"""A sensor's readings on a trace, with what is explained of each."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from powertui.data.energy.findings.finding import Against
from powertui.data.model import Bools, Floats, Int64s
from powertui.value_types import dataclass

# Kept of a log for its picture, however long it is: some megabytes. Chosen, not measured.
_MAX_DRAWN_READINGS = 100_000


@dataclass(frozen=True, eq=False)
class SensorReadings:
    """A sensor's readings on the trace, and what was expected of each."""

    lo: Floats  # the window that each is a mean over, s on the trace
    hi: Floats
    watts: Floats
    floor: Floats  # the least that is explained …
    ceiling: Floats  # … and the most: equal where the trace tells exactly what ran
    doubt: Floats  # one sigma of these two, all in all
    judged: Bools  # False where nothing can be said
    quantum: float
    ways: Floats = field(
        default_factory=lambda: np.empty((0, 0))
    )  # [ways, readings]: parts of the doubt that have a sign

    def __len__(self) -> int:
        return len(self.watts)

    @property
    def blunt(self) -> Floats:
        """The part of the doubt that has no sign: it does not average out over a stretch, whatever
        lies in it.
        """
        if not self.ways.size:
            return self.doubt
        return np.asarray(np.sqrt(np.maximum(self.doubt**2 - (self.ways**2).sum(axis=0), 0.0)))

    def shared(self, weight: Floats) -> float:
        """One sigma of the weighted mean of these readings' expectation: what is off by +1 here and
        by -1 there cancels.
        """
        total = max(float(weight.sum()), 1e-300)
        blunt = float(weight @ self.blunt) / total
        return (
            float(np.sqrt(blunt**2 + ((self.ways @ weight / total) ** 2).sum()))
            if self.ways.size
            else blunt
        )

    def beyond(self, foreign: Floats | float = 0.0) -> Floats:
        """How far each reading lies above (or below) what is explained, with so much foreign power
        in it.
        """
        rest = self.watts - foreign
        return np.where(
            rest > self.ceiling, rest - self.ceiling, np.minimum(rest - self.floor, 0.0)
        )


def covered_share(readings: SensorReadings, start: float, end: float) -> Floats:
    """The share of each reading's window that lies between two moments."""
    over = np.minimum(readings.hi, end) - np.maximum(readings.lo, start)
    return np.asarray(np.clip(over, 0.0, None) / np.maximum(readings.hi - readings.lo, 1e-12))


def readings_subset(readings: SensorReadings, rows: Bools | Int64s) -> SensorReadings:
    """These rows alone."""
    return SensorReadings(
        readings.lo[rows],
        readings.hi[rows],
        readings.watts[rows],
        readings.floor[rows],
        readings.ceiling[rows],
        readings.doubt[rows],
        readings.judged[rows],
        readings.quantum,
        readings.ways[:, rows] if readings.ways.size else readings.ways,
    )


def held_against(readings: SensorReadings) -> Against:
    """What is drawn of them: each reading, and the most that was expected of it. Of very many rows
    each is the mean of several.
    """
    usable = readings.judged & np.isfinite(readings.ceiling)
    expected = np.where(usable, readings.ceiling, np.nan)
    each = -(-len(readings) // _MAX_DRAWN_READINGS)
    if each < 2:
        return Against(readings.lo, readings.hi, readings.watts, expected)
    firsts = np.arange(0, len(readings), each)
    counts = np.diff(np.append(firsts, len(readings)))
    lasts = firsts + counts - 1
    watts, expected = (
        np.add.reduceat(column, firsts) / counts for column in (readings.watts, expected)
    )
    return Against(readings.lo[firsts], readings.hi[lasts], watts, expected)
