"""What is taken for the power where a log has a hole, and how far it may be off: for windows that can bear it.

A hole holds the mean of what was read as long before it and after it. How much the power may have differed meanwhile is told
by the means of so long stretches all over the log, one against the next. A pause that is no hole is drawn as a straight line; what
it leaves open beyond one usual distance of readings is told in the same way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import PS_PER_S, Bools, Floats, Int64s

_S = float(PS_PER_S)
_MOST = 4096  # stretches that are compared
_HALF = 0.3  # of a stretch must have been read, that its mean counts
_FEW = 4


class Bridges(NamedTuple):
    """Per segment between two knots: what a hole is taken to hold, and how far that may be off. Nothing where all is known."""

    watts: Floats
    spread: Floats  # J² per s: the variance of the hole's energy, spread evenly over it
    joules: Floats  # summed up to each knot
    variance: Floats
    squares: Floats  # s² of holes, summed up to each knot


def build(
    knots: Int64s, left: Floats, right: Floats, known: Bools, energy: Floats, covered: Floats, paused_s: Floats
) -> Bridges:  # fmt: skip
    """The bridges over all holes of a curve. `paused_s`: of other segments, what goes beyond a usual distance of readings."""
    holes = np.flatnonzero(~known | (paused_s > 0))
    seconds = np.diff(knots) / _S
    missing = ~known[holes]

    def upto(times: Int64s) -> tuple[Floats, Floats]:
        inside = np.clip(times, knots[0], knots[-1])
        row = np.minimum(knots.searchsorted(inside, side="right"), len(knots) - 1) - 1
        dt = np.where(known[row], (inside - knots[row]) / _S, 0.0)
        rise = (right[row] - left[row]) * dt / np.maximum(seconds[row], 1e-12)
        return energy[row] + dt * (left[row] + rise / 2), covered[row] + dt

    def mean(lo: Int64s, hi: Int64s, least: Floats) -> Floats:
        (e0, c0), (e1, c1) = upto(lo), upto(hi)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.where(c1 - c0 > least, (e1 - e0) / (c1 - c0), np.nan))

    begin, end = knots[holes], knots[holes + 1]
    length = np.where(missing, seconds[holes], paused_s[holes])
    none = np.zeros(len(holes))
    before, after = mean(begin - (end - begin), begin, none), mean(end, end + (end - begin), none)
    usual = float(energy[-1] / covered[-1]) if covered[-1] > 0 else 0.0
    filled = np.where(
        np.isnan(before), np.where(np.isnan(after), usual, after), np.where(np.isnan(after), before, (before + after) / 2)
    )
    step = np.where(np.isnan(before) | np.isnan(after), filled - usual, before - after)
    spread = float(np.sqrt(np.average((left - usual) ** 2, weights=np.where(known, seconds, 0.0)))) if covered[-1] > 0 else 0.0
    varies = np.empty(len(holes))
    scale = np.round(np.log2(np.maximum(length, 1e-6)) * 2).astype(np.int64)
    for one in np.unique(scale).tolist():
        wide = round(2.0 ** (one / 2) * PS_PER_S)
        count = min(_MOST, int((knots[-1] - knots[0]) // wide))
        edges = knots[0] + np.arange(count + 1, dtype=np.int64) * wide
        means = mean(edges[:-1], edges[1:], np.full(count, _HALF * wide / _S))
        apart = np.diff(means)
        apart = apart[np.isfinite(apart)]
        varies[scale == one] = float((apart**2).mean()) / 2 if len(apart) >= _FEW else spread**2
    moved = right[holes] - left[holes]
    varies = np.where(missing, varies + step**2 / 4, varies / 2 + moved**2 / 12)
    out = np.zeros((3, len(known)))
    out[0, holes] = np.where(missing, filled, 0.0)
    out[1, holes] = length**2 * varies / seconds[holes]
    out[2, holes] = np.where(missing, length, 0.0) ** 2
    return Bridges(out[0], out[1], summed_up(out[0] * ~known * seconds), summed_up(out[1] * seconds), summed_up(out[2]))


def summed_up(values: Floats) -> Floats:
    """Up to each place, from 0."""
    out = np.zeros(len(values) + 1)
    np.cumsum(values, out=out[1:])
    return out
