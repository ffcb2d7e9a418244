"""Bursts added, in thought, to the readings of a run: how clearly each would show, and how many
watts it needs to matter.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy.findings import stretch_search
from powertui.data.energy.findings.readings import SensorReadings, covered_share
from powertui.data.energy.findings.residual_noise import ResidualNoise
from powertui.data.model import Bools, Floats, Int64s
from powertui.named_tuples import NamedTuple

# A reading counts as part of a burst from this share of its window on: each is tried, and the one
# counts with which the burst shows best. Chosen, not measured.
_MIN_COVERED_SHARES = (0.02, 0.3, 0.6, 0.95)


class StrongBurst(NamedTuple):
    """A burst that matters however long the run is: so many watts (at each reading), for so
    long.
    """

    watts: Floats
    seconds: float


class Mattering(NamedTuple):
    """What a burst must have to be a finding; one that is `strong` always is."""

    watts: Floats  # at each reading
    joules: float
    strong: StrongBurst | None = None

    def strong_watts(self, seconds: float) -> Floats | None:
        """What makes a burst of so many seconds strong; None where nothing does."""
        if self.strong is None or seconds < self.strong.seconds:
            return None
        return self.strong.watts


class BurstMoments(NamedTuple):
    """Bursts of one length at many moments."""

    # Errors per watt of the stretch that would be looked at; 0 where it shows in no reading.
    strength: Floats
    least_w: Floats  # that it needs to matter


class AddedBursts:
    """Bursts added to the readings that are judged."""

    def __init__(
        self,
        readings: SensorReadings,
        judged: Int64s,
        noise: ResidualNoise,
        looks: int,
    ) -> None:
        self.noise = noise
        self.rows = judged
        self.lo = readings.lo[judged]
        self.hi = readings.hi[judged]
        doubt = readings.doubt[judged]
        variance = noise.single**2 + doubt**2
        self.weight = 1.0 / variance
        # Running sums: of the weight, then of each doubt times the weight.
        columns: list[Floats] = [np.ones(len(judged)), readings.blunt[judged]]
        if readings.ways.size:
            columns += list(readings.ways[:, judged])
        self.sums = np.zeros((len(columns), len(judged) + 1))
        for running, column in zip(self.sums, columns, strict=True):
            np.cumsum(column * self.weight, out=running[1:])
        chance = stretch_search.ALPHA / looks
        self.min_errors = max(
            stretch_search.MIN_ERRORS,
            noise.errors_of_chance(chance),
        )

    def at(
        self,
        starts: Floats,
        length: float,
        mattering: Mattering,
    ) -> BurstMoments:
        """Bursts that begin at these moments."""
        first = np.searchsorted(self.hi, starts)
        last = np.searchsorted(self.lo, starts + length)
        most_rows = int((last - first).max(initial=0))
        if not most_rows:
            return BurstMoments(
                strength=np.zeros(len(starts)),
                least_w=np.full(len(starts), np.inf),
            )
        rows = self._rows_from(first, most_rows)
        share = self._covered_shares(rows, starts, length)
        is_beyond_burst = first[:, None] + np.arange(most_rows) >= last[:, None]
        share[is_beyond_burst] = 0.0
        strength = self._best_strength(share, first)
        shows = share > _MIN_COVERED_SHARES[0]
        run_rows = self.rows[rows]
        watts = np.maximum(
            _median_of_lines(mattering.watts[run_rows], shows),
            mattering.joules / length,
        )
        strong_w = mattering.strong_watts(length)
        if strong_w is not None:
            strong_median_w = _median_of_lines(strong_w[run_rows], shows)
            watts = np.minimum(watts, strong_median_w)
        return BurstMoments(
            strength=strength,
            least_w=np.where(strength > 0, watts, np.inf),
        )

    def _rows_from(self, first: Int64s, count: int) -> Int64s:
        """[bursts, readings]: so many rows from the first one of each burst on."""
        rows = first[:, None] + np.arange(count)
        last_row = len(self.lo) - 1
        return np.asarray(np.minimum(rows, last_row))

    def _covered_shares(
        self,
        rows: Int64s,
        starts: Floats,
        length: float,
    ) -> Floats:
        """[bursts, readings]: the share of each reading's window that a burst covers."""
        begin = starts[:, None]
        return covered_share(
            self.lo[rows],
            self.hi[rows],
            begin,
            begin + length,
        )

    def _best_strength(self, share: Floats, first: Int64s) -> Floats:
        """Errors per watt of each burst, with the readings with which it shows best."""
        strength = np.zeros(len(share))
        for least_share in _MIN_COVERED_SHARES:
            inside = share > least_share
            strength = np.maximum(strength, self._strength(share, inside, first))
        shortest = self.noise.shortest
        if shortest > 1:
            half_covered = (share > 0.5).sum(axis=1)
            strength[half_covered < shortest] = 0.0
        return strength

    def _strength(self, share: Floats, inside: Bools, first: Int64s) -> Floats:
        """Errors per watt of bursts that show in these readings by these shares: of each burst,
        neighbors.
        """
        count = inside.sum(axis=1)
        begin = first + inside.argmax(axis=1)
        end = np.minimum(begin + count, len(self.weight))
        total, *doubts = self.sums[:, end] - self.sums[:, begin]
        total = np.maximum(total, 1e-300)
        rows = self._rows_from(first, share.shape[1])
        share_inside = np.where(inside, share, 0.0)
        weighted = share_inside * self.weight[rows]
        shown = weighted.sum(axis=1) / total
        noise = self.noise.over(np.maximum(count, 1))
        by_noise = noise**2
        shared = sum((doubt / total) ** 2 for doubt in doubts)
        error = np.sqrt(by_noise + shared)
        return np.where(count > 0, shown / error, 0.0)


def _median_of_lines(values: Floats, rows: Bools) -> Floats:
    """The median of some of each line; inf for a line of nothing."""
    count = rows.sum(axis=1)
    chosen = np.where(rows, values, np.inf)
    ordered = np.sort(chosen, axis=1)
    line = np.arange(len(values))
    lower_middle = np.maximum(count - 1, 0) // 2
    lower = ordered[line, lower_middle]
    upper = ordered[line, count // 2]
    return np.asarray((lower + upper) / 2)
