"""What is taken for the power where a log has a hole, and how far it may be off: for windows that
can bear it.

A hole holds the mean of what was read as long before it and after it. How much the power may have
differed meanwhile is told by the means of so long stretches all over the log, one against the next.
A pause that is no hole is drawn as a straight line; what it leaves open beyond one usual distance
of readings is told in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from powertui.data.model import PS_PER_S, Bools, Floats, Int64s

_PS_PER_S_FLOAT = float(PS_PER_S)  # so that numpy need not convert it
# The shares were tuned on simulated trainings; half and twice of them are not recorded.
_MAX_STRETCHES = 4096  # that are compared with one another
_MIN_READ_SHARE = 0.3  # of a stretch, so that its mean counts
_MIN_DIFFERENCES = 4  # with fewer the spread of the whole log is taken
# Share of the variance that a cut interval leaves open, because power that moves seldom leaves less
# open than even noise.
_CUT_INTERVAL_SHARE = 0.65
_PAUSE_INTERVALS = 1.6  # usual intervals: a longer one is a pause


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
        known: Bools,
        energy: Floats,
        covered: Floats,
    ) -> None:
        self.knots, self.left, self.right, self.known, self.energy, self.covered = (
            knots,
            left,
            right,
            known,
            energy,
            covered,
        )
        self.seconds = np.diff(knots) / _PS_PER_S_FLOAT
        self.usual = float(energy[-1] / covered[-1]) if covered[-1] > 0 else 0.0

    def _upto(self, times: Int64s) -> tuple[Floats, Floats]:
        """(J, s that are known) from the first knot to each time."""
        knots = self.knots
        inside = np.clip(times, knots[0], knots[-1])
        row = np.minimum(knots.searchsorted(inside, side="right"), len(knots) - 1) - 1
        since_knot = (inside - knots[row]) / _PS_PER_S_FLOAT
        known_s = np.where(self.known[row], since_knot, 0.0)
        left_w = self.left[row]
        length = np.maximum(self.seconds[row], 1e-12)
        rise = (self.right[row] - left_w) * known_s / length
        joules = self.energy[row] + known_s * (left_w + rise / 2)
        return joules, self.covered[row] + known_s

    def mean(self, lo: Int64s, hi: Int64s, least: Floats) -> Floats:
        """Mean power of stretches of which more than `least` seconds are known; NaN of others."""
        (e0, c0), (e1, c1) = self._upto(lo), self._upto(hi)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(c1 - c0 > least, (e1 - e0) / (c1 - c0), np.nan))

    def varies(self, length: Floats) -> Floats:
        """Half the mean square of the differences between neighbouring means over such
        lengths (s).
        """
        weights = np.where(self.known, self.seconds, 0.0)
        spread = (
            float(np.sqrt(np.average((self.left - self.usual) ** 2, weights=weights)))
            if self.covered[-1] > 0
            else 0.0
        )
        out = np.empty(len(length))
        scale = np.round(np.log2(np.maximum(length, 1e-6)) * 2).astype(np.int64)
        for octave in np.unique(scale).tolist():
            wide = round(2.0 ** (octave / 2) * PS_PER_S)
            count = min(_MAX_STRETCHES, int((self.knots[-1] - self.knots[0]) // wide))
            edges = self.knots[0] + np.arange(count + 1, dtype=np.int64) * wide
            means = self.mean(
                edges[:-1], edges[1:], np.full(count, _MIN_READ_SHARE * wide / _PS_PER_S_FLOAT)
            )
            differences = np.diff(means)
            differences = differences[np.isfinite(differences)]
            out[scale == octave] = (
                float((differences**2).mean()) / 2
                if len(differences) >= _MIN_DIFFERENCES
                else spread**2
            )
        return out


def within(knots: Int64s, level: Floats, known: Bools, usual_s: float) -> Floats | None:
    """Per interval of a counter: W² of what a part of one may have drawn beside its share, times
    the lengths of both parts.

    What was counted across a pause is known, but not when of it. 0 for intervals of the usual
    length, None where all are.
    """
    seconds = np.diff(knots) / _PS_PER_S_FLOAT
    is_long = known & (seconds > _PAUSE_INTERVALS * usual_s)
    rows = np.flatnonzero(is_long)
    if not len(rows):
        return None
    is_short = known & ~is_long
    energy, covered = (
        summed_up(np.where(is_short, level * seconds, 0.0)),
        summed_up(np.where(is_short, seconds, 0.0)),
    )
    read = _Read(knots, level, level, is_short, energy, covered)
    begin, end = knots[rows], knots[rows + 1]
    no_least = np.zeros(len(rows))
    around = [
        read.mean(begin - (end - begin), begin, no_least),
        read.mean(end, end + (end - begin), no_least),
    ]
    beside = np.nansum([(level[rows] - mean) ** 2 for mean in around], axis=0)
    out = np.zeros(len(known))
    # No power is negative: of what was counted any share, but no more than all, lies on either
    # side.
    out[rows] = np.minimum(
        _CUT_INTERVAL_SHARE * np.maximum(2 * read.varies(seconds[rows] / 2), beside) / 4,
        level[rows] ** 2 / 3,
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
    holes = np.flatnonzero(~known | (paused_s > 0))
    seconds = np.diff(knots) / _PS_PER_S_FLOAT
    missing = ~known[holes]
    read = _Read(knots, left, right, known, energy, covered)
    mean = read.mean

    begin, end = knots[holes], knots[holes + 1]
    length = np.where(missing, seconds[holes], paused_s[holes])
    no_least = np.zeros(len(holes))
    before, after = (
        mean(begin - (end - begin), begin, no_least),
        mean(end, end + (end - begin), no_least),
    )
    usual = read.usual
    filled = np.where(
        np.isnan(before),
        np.where(np.isnan(after), usual, after),
        np.where(np.isnan(after), before, (before + after) / 2),
    )
    step = np.where(np.isnan(before) | np.isnan(after), filled - usual, before - after)
    varies = read.varies(length)
    moved = right[holes] - left[holes]
    varies = np.where(missing, varies + step**2 / 4, varies / 2 + moved**2 / 12)
    out = np.zeros((3, len(known)))
    out[0, holes] = np.where(missing, filled, 0.0)
    out[1, holes] = length**2 * varies / seconds[holes]
    out[2, holes] = np.where(missing, length, 0.0) ** 2
    return Bridges(
        out[0],
        out[1],
        summed_up(out[0] * ~known * seconds),
        summed_up(out[1] * seconds),
        summed_up(out[2]),
    )


def between_stretches(bridges: Bridges, knots: Int64s, known: Bools) -> Bridges:
    """The same for a log of stretches that somebody asked for: between two of them the machine may
    have drawn anything from nothing to twice as much as in them.
    """
    seconds = np.diff(knots) / _PS_PER_S_FLOAT
    least = np.where(known, 0.0, seconds * bridges.watts**2 / 3)
    spread = np.maximum(bridges.spread, least)
    return bridges._replace(spread=spread, variance=summed_up(spread * seconds))


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
