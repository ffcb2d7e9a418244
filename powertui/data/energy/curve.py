"""A placed power series as a curve with prefix sums: what integration, maxima and drawing look up.

Afterwards any window costs a binary search. Between two knots the power runs straight; counters
hold their mean over each interval. Holes carry neither energy nor coverage. `curve_building` makes
it, in a few passes over the rows of a series.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from powertui.data.energy.bridge import Bridges
from powertui.data.energy.rounding import Steady
from powertui.data.model import PS_PER_S, Bools, Floats, Int32s, Int64s, PowerKind, Sensor
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

BLOCK_ROWS = 256  # knots per block of the maxima
# Ranges from which their maxima are looked up in one pass. A bound of time only.
_MIN_GROUPED_RANGES = 32
# Readings of a counter around an edge whose changes are compared one by one. A bound of time only:
# 16 refreshes have as many, more where rows come unevenly.
_MAX_COMPARED_READINGS = 64
_PS_PER_S_FLOAT = float(PS_PER_S)  # so that numpy need not convert it


class Spot(NamedTuple):
    """Where some times are among knots.

    Channels that were read together share their knots, and so their spots.
    """

    row: Int64s  # the segment; the nearest one outside
    inside: Int64s  # the time, clipped to the knots
    start: Int64s
    end: Int64s
    since: Floats  # s from the first knot to that start


def spot(knots: Int64s, times: Int64s) -> Spot:
    """Where the times are."""
    inside = np.minimum(np.maximum(times, knots[0]), knots[-1])
    row = np.minimum(knots.searchsorted(inside, side="right"), len(knots) - 1) - 1
    start = knots[row]
    end = knots[row + 1]
    return Spot(
        row=row,
        inside=inside,
        start=start,
        end=end,
        since=(start - knots[0]) / _PS_PER_S_FLOAT,
    )


class CurveEntries(NamedTuple):
    """Raw entries of a curve at some times: what `place` needs.

    Entries of several curves may be stacked.
    """

    inside: Int64s
    start: Int64s
    end: Int64s
    left: Floats
    right: Floats
    energy: Floats
    covered: Floats
    known: Bools

    def shaped(self, *shape: int) -> CurveEntries:
        """The same entries as a table."""
        columns: list[Any] = [column.reshape(shape) for column in self]
        return CurveEntries(*columns)


class CurveValues(NamedTuple):
    """A curve at some times."""

    energy: Floats  # J from the first knot
    covered: Floats  # s of knowledge from the first knot
    watts: Floats


def place(entries: CurveEntries) -> CurveValues:
    """Energy, coverage and power at each time. Nothing is added outside the knots."""
    since_start = (entries.inside - entries.start) / _PS_PER_S_FLOAT
    segment_s = np.maximum((entries.end - entries.start) / _PS_PER_S_FLOAT, 1e-12)
    rise = (entries.right - entries.left) * (since_start / segment_s)
    known_s = entries.known * since_start
    return CurveValues(
        energy=entries.energy + known_s * (entries.left + rise / 2),
        covered=entries.covered + known_s,
        watts=entries.left + rise,
    )


@dataclass(frozen=True, eq=False)
class Curve:
    """Knots in trace time (ps) and everything summed up to each of them.

    Columns are views of the series wherever they can be: a day of a rack has a hundred of these.
    """

    # ── power from knot to knot ──
    knots: Int64s
    left: Floats  # power at the start of segment i (between knot i and i+1)
    right: Floats  # and at its end
    known: Bools  # segment i holds knowledge
    whole: bool  # every one does
    power: Floats  # power at knot i
    peaks: Floats  # maximum of every `BLOCK_ROWS` knots

    # ── what is summed up to each knot ──
    energy: Floats  # J from the first knot to knot i
    covered: Floats | None  # s of known segments to knot i; None when all are known
    bridges: Bridges | None  # over its holes and pauses; None when it has neither
    # W²: what a part of a counter's long interval may have drawn beside its share; None when none
    # is long.
    cut: Floats | None
    squares: Floats  # sum of squared differences of neighboring readings to knot i
    turns: Floats  # and of each difference times the one before it
    # Squared differences over the averaging window (or a refresh), around knot i, summed to it: W²
    # times `steep_s`.
    steep: Floats
    steep_s: float
    changes: Int32s  # how often the reading had changed up to knot i

    # ── each reading held for one refresh, centered on it ──
    hold_at: Int64s  # from here on (ps) …
    hold_power: Floats
    hold_energy: Floats  # … with so many joules before
    hold_end: int  # the last reading holds until here

    # ── the sensor ──
    refresh_s: float  # 0 when unknown
    window_s: float
    smears_s: float  # the same, as long as it may be where it is a guess
    # The shortest stretch that the sensor can tell apart: the longer one of its refresh and its
    # window, or the refresh alone where the window is a guess.
    resolves_s: float
    averaged: float  # share of the time between two readings that they average over, at the least
    # Its readings are means over more than a refresh, which only they themselves show.
    guessed: bool
    late_s: float  # one sigma of where all readings together are in time
    poll_s: float  # of a sensor that is asked more often than it changes; else 0
    quantum_w: float
    step_j: float  # by how much a counter's readings may be off; 0 where that is not known
    # How long it read each of its steps; None of a sensor that is fine, or has too many.
    steps: Steady | None
    gain: float | None
    kind: PowerKind
    sensor: Sensor

    # ── what its readings show as a whole ──
    turn: float  # correlation of neighboring differences over the whole curve
    # Readings until they meet the same part of a repeating load again, and for how long they go on
    # to.
    beat: tuple[float, float]
    spread_w: float  # standard deviation of the power over the whole curve
    noise_w: float  # of one reading, where the power is quiet; 0 for counters

    @functools.cached_property
    def smeared_s(self) -> float:
        """Over how long a step of power is smeared: the sensor's refresh, or the window it averages
        over.
        """
        return max(self.refresh_s, self.window_s)

    def read(self, at: Spot) -> CurveEntries:
        """The entries there: lookups only, no arithmetic worth the name (a window costs one of
        these per channel).
        """
        row = at.row
        covered = at.since if self.covered is None else self.covered[row]
        return CurveEntries(
            inside=at.inside,
            start=at.start,
            end=at.end,
            left=self.left[row],
            right=self.right[row],
            energy=self.energy[row],
            covered=covered,
            known=self.known[row],
        )

    def held_at(self, times: Int64s) -> tuple[Int64s, Floats]:
        """(reading, seconds since it) at each time: which reading holds. For `held`."""
        at = spot(self.hold_at, times)
        is_after_last = times >= self.hold_at[-1]
        row = at.row + is_after_last
        until_end = np.minimum(times, self.hold_end)
        inside = np.where(is_after_last, until_end, at.inside)
        since_ps = inside - self.hold_at[row]
        return row, since_ps / _PS_PER_S_FLOAT

    def held(self, row: Int64s, seconds: Floats) -> Floats:
        """Energy to there under the rule that every reading holds."""
        energy: Floats = self.hold_energy[row] + self.hold_power[row] * seconds
        return energy

    def bridged(self, at: Spot, count: int) -> tuple[Floats, Floats, Floats]:
        """J that holes up to each of the first so many times are taken to hold, its variance, and
        s² of these holes.
        """
        bridges = self.bridges
        if bridges is None:
            nothing = _zeros(count)
            return nothing, nothing, nothing
        row = at.row[:count]
        start = at.start[:count]
        since_start = (at.inside[:count] - start) / _PS_PER_S_FLOAT
        segment_s = (at.end[:count] - start) / _PS_PER_S_FLOAT
        joules = bridges.joules[row] + bridges.watts[row] * since_start
        variance = bridges.variance[row] + bridges.spread[row] * since_start
        is_hole = ~self.known[row]
        squares = bridges.squares[row] + since_start * segment_s * is_hole
        return joules, variance, squares

    def cuts(self, at: Spot, count: int) -> Floats:
        """What the first so many times leave open of a long interval that they cut: W², 0 where
        they cut none.
        """
        if self.cut is None:
            return _zeros(count)
        return self.cut[at.row[:count]]

    def isolated(self, first: Int64s, last: Int64s) -> Floats:
        """What the two largest changes between each two knots are, of all that `steep` sums up
        there; 0 of readings that are no counter's.
        """
        count = int((last - first).max(initial=0))
        is_counter = self.kind is PowerKind.INTERVAL
        if not is_counter or not 2 < count <= _MAX_COMPARED_READINGS:
            return _zeros(len(first))
        largest = np.zeros(len(first))
        second = np.zeros(len(first))
        for step in range(count):
            # Past its last knot a range goes on with a change of nothing.
            before = np.minimum(first + step, last)
            after = np.minimum(before + 1, last)
            change = self.steep[after] - self.steep[before]
            second = np.maximum(second, np.minimum(largest, change))
            largest = np.maximum(largest, change)
        return largest + second

    def peaks_of(self, ranges: Sequence[tuple[int, int]]) -> list[float]:
        """The maximum of each range: where they are short, all of them in one pass."""
        covered_knots = sum(last - first for first, last in ranges)
        is_short = covered_knots <= len(ranges) * 2 * BLOCK_ROWS
        if len(ranges) >= _MIN_GROUPED_RANGES and is_short:
            maxima = self._peaks_in_one_pass(ranges)
            if maxima is not None:
                return maxima
        return [self.peak(first, last) for first, last in ranges]

    def _peaks_in_one_pass(self, ranges: Sequence[tuple[int, int]]) -> list[float] | None:
        """The maximum of each range; None where one pass would look at far more than them."""
        bounds = np.array(ranges, np.int64)
        first, last = bounds.T
        in_order = (first < last) & (last < len(self.power))
        if not in_order.any():
            return None
        flat = bounds[in_order].ravel()
        # What is between two of them is gone through as well: where they follow one another it
        # is little.
        gone_through = np.maximum(np.diff(flat), 0).sum()
        if int(gone_through) > 2 * len(self.power):
            return None
        of_pieces = np.maximum.reduceat(self.power, flat)
        maxima = np.full(len(ranges), np.nan)
        maxima[in_order] = of_pieces[::2]
        for row in np.flatnonzero(~in_order).tolist():
            maxima[row] = self.peak(*ranges[row])
        peaks: list[float] = maxima.tolist()
        return peaks

    def peak(self, first: int, last: int) -> float:
        """Maximum power over knots first … last-1; NaN when there is none."""
        if last <= first:
            return float("nan")
        if last - first <= 2 * BLOCK_ROWS:
            return _largest(self.power[first:last])
        first_block = -(-first // BLOCK_ROWS)
        last_block = last // BLOCK_ROWS
        best = _largest(self.peaks[first_block:last_block])
        before_blocks = self.power[first : first_block * BLOCK_ROWS]
        after_blocks = self.power[last_block * BLOCK_ROWS : last]
        for knots in (before_blocks, after_blocks):
            if len(knots):
                best = max(best, _largest(knots))
        return best


def _largest(watts: Floats) -> float:
    return float(np.maximum.reduce(watts))


@functools.lru_cache(maxsize=8)
def _zeros(count: int) -> Floats:
    nothing = np.zeros(count)
    nothing.flags.writeable = False
    return nothing
