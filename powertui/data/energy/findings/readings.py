"""A sensor's readings on a trace, with what is explained of each."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.finding import Against
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats, Int64s
from powertui.value_types import dataclass

# A window is inside the profile, or the training, with this share of itself. Chosen, not measured.
MIN_INSIDE_SHARE = settings.WHOLE_SHARE
# What one kind of work, or one that was hardly seen, may draw more or less than another, as a share
# of the power of work. From compiling in recordings; at twice this, one simulated burst is not
# found (docs/energy-evidence.md).
UNLIKE_SHARE = settings.UNLIKE_POWER_SHARE
# One sigma, as a share of the power of work, where nothing is known of what ran. Chosen.
ELSEWHERE_DOUBT_SHARE = settings.UNKNOWN_SHARE
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
    # [ways, readings]: parts of the doubt that have a sign.
    ways: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def __len__(self) -> int:
        return len(self.watts)

    @property
    def blunt(self) -> Floats:
        """The part of the doubt that has no sign: it does not average out over a stretch, whatever
        is in it.
        """
        if not self.ways.size:
            return self.doubt
        signed = (self.ways**2).sum(axis=0)
        return np.asarray(np.sqrt(np.maximum(self.doubt**2 - signed, 0.0)))

    def shared(self, weight: Floats) -> float:
        """One sigma of the weighted mean of these readings' expectation: what is off by +1 here and
        by -1 there cancels.
        """
        total = max(float(weight.sum()), 1e-300)
        blunt = float(weight @ self.blunt) / total
        if not self.ways.size:
            return blunt
        signed = self.ways @ weight / total
        return float(np.sqrt(blunt**2 + (signed**2).sum()))

    def beyond(self) -> Floats:
        """How far each reading is above (or below) what is explained."""
        above = self.watts - self.ceiling
        below = np.minimum(self.watts - self.floor, 0.0)
        return np.where(above > 0, above, below)


def unjudged_readings(data: Samples, lo: Floats, hi: Floats) -> SensorReadings:
    """Readings of which nothing can be said."""
    flat = np.zeros(len(data))
    return SensorReadings(
        lo=lo,
        hi=hi,
        watts=data.watts,
        floor=flat,
        ceiling=flat,
        doubt=flat,
        judged=np.zeros(len(data), np.bool_),
        quantum=data.quantum,
    )


@dataclass(frozen=True, eq=False)
class Expectation:
    """Readings with what is explained of them, or why nothing can be told."""

    readings: SensorReadings
    watts: tuple[tuple[str, float], ...]  # of each kind of work
    reason: str = ""
    # One sigma of where the windows are, s, as far as the readings do not show it.
    place_s: float = 0.0


def covered_share(
    lo: Floats,
    hi: Floats,
    start: float | Floats,
    end: float | Floats,
) -> Floats:
    """The share of each window, from `lo` to `hi`, that is between two moments."""
    overlap = np.minimum(hi, end) - np.maximum(lo, start)
    length = np.maximum(hi - lo, 1e-12)
    return np.asarray(np.clip(overlap, 0.0, None) / length)


def readings_subset(readings: SensorReadings, rows: Bools | Int64s) -> SensorReadings:
    """These rows alone."""
    return SensorReadings(
        lo=readings.lo[rows],
        hi=readings.hi[rows],
        watts=readings.watts[rows],
        floor=readings.floor[rows],
        ceiling=readings.ceiling[rows],
        doubt=readings.doubt[rows],
        judged=readings.judged[rows],
        quantum=readings.quantum,
        ways=readings.ways[:, rows] if readings.ways.size else readings.ways,
    )


def held_against(readings: SensorReadings) -> Against:
    """What is drawn of them: each reading, and the most that was expected of it. Of very many rows
    each is the mean of several.
    """
    usable = readings.judged & np.isfinite(readings.ceiling)
    expected = np.where(usable, readings.ceiling, np.nan)
    each = -(-len(readings) // _MAX_DRAWN_READINGS)
    if each < 2:
        return Against(
            lo=readings.lo,
            hi=readings.hi,
            watts=readings.watts,
            expected=expected,
        )
    firsts = np.arange(0, len(readings), each)
    counts = np.diff(np.append(firsts, len(readings)))
    lasts = firsts + counts - 1
    return Against(
        lo=readings.lo[firsts],
        hi=readings.hi[lasts],
        watts=np.add.reduceat(readings.watts, firsts) / counts,
        expected=np.add.reduceat(expected, firsts) / counts,
    )
