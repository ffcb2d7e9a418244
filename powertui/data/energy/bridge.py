"""What is taken for the power where a log has a hole, and how far it may be off: for windows that
can bear it.

A hole holds the mean of what was read as long before it and after it. How much the power may have
differed meanwhile is told by the means of so long stretches all over the log, one against the next.
A pause that is no hole is drawn as a straight line; what it leaves open beyond one usual distance
of readings is told in the same way.
"""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.model import PS_PER_S, Bools, Floats, Int64s
from powertui.named_tuples import NamedTuple

_PS_PER_S_FLOAT = float(PS_PER_S)  # so that numpy need not convert it
# ── shares that were tuned on simulated trainings; half and twice of them are not recorded ──
_MAX_STRETCHES = 4096  # that are compared with one another
_MIN_READ_SHARE = settings.LESSER_SHARE  # of a stretch, so that its mean counts
_MIN_DIFFERENCES = settings.MIN_SPREAD_VALUES  # with fewer the spread of the whole log is taken
# Share of the variance that a cut interval leaves open, because power that moves seldom leaves less
# open than even noise.
_CUT_INTERVAL_SHARE = 0.65
PAUSE_INTERVALS = 1.6  # usual intervals: a longer one is a pause


class Bridges(NamedTuple):
    """Per segment between two knots: what a hole is taken to hold, and how far that may be off.

    Nothing where all is known.
    """

    watts: Floats
    spread: Floats  # J² per s: the variance of the hole's energy, spread evenly over it
    joules: Floats  # summed up to each knot
    variance: Floats
    squares: Floats  # s² of holes, summed up to each knot


class _Read:
    """What was read of a curve, as far as it is known."""

    def __init__(
        self,
        knots: Int64s,
        left: Floats,
        right: Floats,
        is_read: Bools,
        energy: Floats,
        covered: Floats,
    ) -> None:
        self.knots = knots
        self.left = left
        self.right = right
        self.is_read = is_read
        self.energy = energy
        self.covered = covered
        self.seconds = np.diff(knots) / _PS_PER_S_FLOAT
        self.usual = float(energy[-1] / covered[-1]) if covered[-1] > 0 else 0.0

    def _upto(self, times: Int64s) -> tuple[Floats, Floats]:
        """(J, s that are known) from the first knot to each time."""
        knots = self.knots
        inside = np.clip(times, knots[0], knots[-1])
        knot_after = knots.searchsorted(inside, side="right")
        row = np.minimum(knot_after, len(knots) - 1) - 1
        since_knot_s = (inside - knots[row]) / _PS_PER_S_FLOAT
        read_s = np.where(self.is_read[row], since_knot_s, 0.0)
        left_w = self.left[row]
        right_w = self.right[row]
        segment_s = np.maximum(self.seconds[row], 1e-12)
        rise_w = (right_w - left_w) * read_s / segment_s
        mean_w = left_w + rise_w / 2
        joules = self.energy[row] + read_s * mean_w
        return joules, self.covered[row] + read_s

    def mean(self, lo: Int64s, hi: Int64s, least: Floats) -> Floats:
        """Mean power of stretches of which more than `least` seconds are known; NaN of others."""
        lo_j, lo_s = self._upto(lo)
        hi_j, hi_s = self._upto(hi)
        known_s = hi_s - lo_s
        with np.errstate(divide="ignore", invalid="ignore"):
            mean_w = (hi_j - lo_j) / known_s
        return np.asarray(np.where(known_s > least, mean_w, np.nan))

    def beside(self, begin: Int64s, end: Int64s) -> tuple[Floats, Floats]:
        """Mean power of as long as each stretch, before and after it."""
        length = end - begin
        no_least = np.zeros(len(begin))
        before = self.mean(begin - length, begin, no_least)
        after = self.mean(end, end + length, no_least)
        return before, after

    def varies(self, length: Floats) -> Floats:
        """Half the mean square of the differences between neighboring means over such
        lengths (s).
        """
        out = np.empty(len(length))
        octaves = np.log2(np.maximum(length, 1e-6))
        half_octaves = np.round(octaves * 2).astype(np.int64)
        for half_octave in wire.distinct(half_octaves).tolist():
            length_s = 2.0 ** (half_octave / 2)
            variance = self._variance_of_means(round(length_s * PS_PER_S))
            out[half_octaves == half_octave] = variance
        return out

    def _variance_of_means(self, length_ps: int) -> float:
        begin = self.knots[0]
        stretches = int((self.knots[-1] - begin) // length_ps)
        count = min(_MAX_STRETCHES, stretches)
        numbers = np.arange(count + 1, dtype=np.int64)
        edges = begin + numbers * length_ps
        least_s = _MIN_READ_SHARE * length_ps / _PS_PER_S_FLOAT
        means = self.mean(
            lo=edges[:-1],
            hi=edges[1:],
            least=np.full(count, least_s),
        )
        differences = np.diff(means)
        differences = differences[np.isfinite(differences)]
        if len(differences) < _MIN_DIFFERENCES:
            return self._spread**2
        return float((differences**2).mean()) / 2

    @functools.cached_property
    def _spread(self) -> float:
        """How far the power strays (W)."""
        if self.covered[-1] <= 0:
            return 0.0
        weights = np.where(self.is_read, self.seconds, 0.0)
        squares = (self.left - self.usual) ** 2
        variance = np.average(squares, weights=weights)
        return float(np.sqrt(variance))


def within(
    knots: Int64s,
    level: Floats,
    is_counted: Bools,
    usual_s: float,
) -> Floats | None:
    """Per interval of a counter: W² of what a part of one may have drawn beside its share, times
    the lengths of both parts.

    What was counted across a pause is known, but not when of it. 0 for intervals of the usual
    length, None where all are.
    """
    seconds = np.diff(knots) / _PS_PER_S_FLOAT
    is_long = is_counted & (seconds > PAUSE_INTERVALS * usual_s)
    rows = np.flatnonzero(is_long)
    if not len(rows):
        return None
    is_short = is_counted & ~is_long
    energy = summed_up(np.where(is_short, level * seconds, 0.0))
    covered = summed_up(np.where(is_short, seconds, 0.0))
    read = _Read(
        knots=knots,
        left=level,
        right=level,
        is_read=is_short,
        energy=energy,
        covered=covered,
    )
    level_of_rows = level[rows]
    around = read.beside(knots[rows], knots[rows + 1])
    squares = [(level_of_rows - mean) ** 2 for mean in around]
    from_beside = np.nansum(squares, axis=0)
    by_log = 2 * read.varies(seconds[rows] / 2)
    variance = np.maximum(by_log, from_beside)
    # No power is negative: of what was counted any share, but no more than all, is on either side.
    out = np.zeros(len(is_counted))
    out[rows] = np.minimum(
        _CUT_INTERVAL_SHARE * variance / 4,
        level_of_rows**2 / 3,
    )
    return out


def build(
    knots: Int64s,
    left: Floats,
    right: Floats,
    known: Bools,
    energy: Floats,
    covered: Floats,
    paused_s: Floats,
) -> Bridges:
    """The bridges over all holes of a curve.

    `paused_s`: of other segments, what goes beyond a usual distance of readings.
    """
    rows = np.flatnonzero(~known | (paused_s > 0))
    seconds = np.diff(knots) / _PS_PER_S_FLOAT
    seconds_of_rows = seconds[rows]
    is_hole = ~known[rows]
    read = _Read(
        knots=knots,
        left=left,
        right=right,
        is_read=known,
        energy=energy,
        covered=covered,
    )
    before, after = read.beside(knots[rows], knots[rows + 1])
    mean_w = _mean_of_known(before, after, read.usual)
    has_both = ~(np.isnan(before) | np.isnan(after))
    step = np.where(has_both, before - after, mean_w - read.usual)
    length = np.where(is_hole, seconds_of_rows, paused_s[rows])
    varies = read.varies(length)
    moved = right[rows] - left[rows]
    of_hole = varies + step**2 / 4
    of_pause = varies / 2 + moved**2 / 12
    variance = np.where(is_hole, of_hole, of_pause)

    watts, spread, squares = np.zeros((3, len(known)))
    watts[rows] = np.where(is_hole, mean_w, 0.0)
    spread[rows] = length**2 * variance / seconds_of_rows
    squares[rows] = np.where(is_hole, length, 0.0) ** 2
    return Bridges(
        watts=watts,
        spread=spread,
        joules=summed_up(watts * ~known * seconds),
        variance=summed_up(spread * seconds),
        squares=summed_up(squares),
    )


def _mean_of_known(before: Floats, after: Floats, usual: float) -> Floats:
    """The mean of both, the one that is known, or what is usual."""
    has_no_after = np.isnan(after)
    after_or_usual = np.where(has_no_after, usual, after)
    both_mean = (before + after) / 2
    before_or_mean = np.where(has_no_after, before, both_mean)
    return np.where(np.isnan(before), after_or_usual, before_or_mean)


def between_stretches(
    bridges: Bridges,
    knots: Int64s,
    is_read: Bools,
) -> Bridges:
    """The same for a log of stretches that somebody asked for: between two of them the machine may
    have drawn anything from nothing to twice as much as in them.
    """
    seconds = np.diff(knots) / _PS_PER_S_FLOAT
    between = seconds * bridges.watts**2 / 3
    least = np.where(is_read, 0.0, between)
    spread = np.maximum(bridges.spread, least)
    return bridges._replace(
        spread=spread,
        variance=summed_up(spread * seconds),
    )


def summed_up(values: Floats) -> Floats:
    """Up to each place, from 0."""
    out = np.zeros(len(values) + 1)
    np.cumsum(values, out=out[1:])
    return out


def room_for_two(count: int) -> tuple[npt.NDArray[np.complex128], Floats, Floats]:
    """Two columns of a 0 and `count` numbers side by side, and both as one: summed up together,
    they take half the time.
    """
    sums = np.empty(count + 1, np.complex128)
    sums[0] = 0.0
    return sums, sums.real, sums.imag
