"""The box behind a stretch of readings: from when to when the load was there, and how high it
stood.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings.noise import Noise
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import SensorReadings, readings_subset
from powertui.data.model import Bools, Floats, Int64s

# Places of each edge that are weighed. Chosen, not measured.
_EDGE_PLACES = 40
# Boxes that are drawn at random for the intervals. Chosen, not measured.
_DRAWS = 4000
# Share of a load: no box is known better than this, for loads are no boxes. Chosen.
_MIN_BOX_ERROR = 0.02
# Errors: readings farther from the middle of theirs say less of it. Chosen, not measured.
_FAR_ERRORS = 4.0
# How far from the stretch's mean watts to the load's the reported watts are: loads that an edge cut
# come out too high. Chosen, not measured.
_LOAD_SHARE = 1 / 3
# Readings beside a box that show the level there. Chosen, not measured.
_MIN_LEVEL_READINGS = 5
# No reading speaks against a box with more squared errors. Half and twice: no change in
# docs/energy-evidence.md.
_MAX_SQUARED_ERROR = 25.0


def box(
    readings: SensorReadings, first: int, last: int, noise: Noise, foreign: Floats, p: float
) -> Box | None:
    """The box behind a stretch of readings: every pair of edges near it, weighed by how well it
    explains them.
    """
    width = float(np.median(readings.hi - readings.lo))
    pace = float(np.median(np.diff(readings.hi))) if len(readings) > 1 else width
    reach = max(width, pace)
    lo, hi = float(readings.lo[first]), float(readings.hi[last - 1])
    finite = np.isfinite(readings.floor + readings.watts)
    beside = max(3 * reach, 0.75 * (hi - lo))
    near = np.flatnonzero((readings.hi > lo - beside) & (readings.lo < hi + beside) & finite)
    local = readings_subset(readings, near)
    local = replace(local, watts=local.watts - foreign[near])
    around = max(noise.mean_error(2 * max(last - first, 1)), _level(local, lo, hi))
    starts = np.linspace(lo - reach, min(float(readings.hi[first]) + reach, hi), _EDGE_PLACES)
    ends = np.linspace(max(float(readings.lo[last - 1]) - reach, lo), hi + reach, _EDGE_PLACES)
    for turn in range(3):
        weights, watts, errors, length = _weighed(local, starts, ends, reach / 8, noise, around)
        if not weights.any():
            return None
        at, until = weights.sum(axis=1), weights.sum(axis=0)
        if turn == 2 or min((at > 1e-3 * at.max()).sum(), (until > 1e-3 * until.max()).sum()) > 10:
            break
        starts, ends = _closer(starts, at), _closer(ends, until)
    rng = np.random.default_rng(47)
    # Among boxes shorter than a window short ones are many, because they fit in many places: the
    # likeliest length is told by giving each length its weight, the intervals hold what either way
    # comes out.
    flat, likely = (
        _drawn(w, watts, errors, length, rng) for w in (weights, weights * np.maximum(length, 0.0))
    )
    start, end, joules = (
        _told(*pair)
        for pair in (
            (starts[flat.row], starts[likely.row]),
            (ends[flat.column], ends[likely.column]),
            (flat.joules, likely.joules),
        )
    )
    resolved = end[1] - start[1] >= min(width, pace)
    start, end = _no_shorter_than(min(width, pace), start, end)
    # Of the watts there are two: those of the load, and the mean over the stretch that is told,
    # which is less wherever that lies beside the load. Where the edges are known they are one. What
    # is told lies between them, the interval holds both.
    low, mean, _ = _told(
        *(
            pair.watts * _share(starts[pair.row], ends[pair.column], start[1], end[1])
            for pair in (flat, likely)
        )
    )
    least, load, most = _told(flat.watts, likely.watts)
    height = (
        min(low, least),
        mean + _LOAD_SHARE * (load - mean) if resolved else mean,
        max(mean, most),
    )
    height = _no_better_than(height, _MIN_BOX_ERROR * abs(height[1]))
    joules = _no_better_than(joules, _MIN_BOX_ERROR * abs(joules[1]))
    return Box(
        float(start[1]),
        float(end[1]),
        (float(start[0]), float(start[2])),
        (float(end[0]), float(end[2])),
        float(height[1]),
        float(height[0]),
        float(height[2]),
        float(joules[1]),
        float(joules[0]),
        float(joules[2]),
        p,
    )


def _level(local: SensorReadings, lo: float, hi: float) -> float:
    """How far off, the other way than a stretch itself, the readings beside it lie: a fit with a
    long load in it is too high there. What lies off the same way may be more of the load.
    """
    beside = local.judged & ((local.hi <= lo) | (local.lo >= hi))
    if beside.sum() < _MIN_LEVEL_READINGS:
        return 0.0
    beyond = local.beyond()
    inside = local.judged & ~beside
    sign = -1.0 if inside.any() and float(np.median(beyond[inside])) < 0 else 1.0
    return max(-sign * float(np.median(beyond[beside])), 0.0)


def _told(flat: Floats, likely: Floats) -> tuple[float, float, float]:
    """What is told of one figure, and the interval that holds what either way comes out."""
    low, high = np.percentile(flat, [2.5, 97.5])
    least, middle, most = np.percentile(likely, [2.5, 50, 97.5])
    return min(float(low), float(least)), float(middle), max(float(high), float(most))


def _no_shorter_than(
    least: float, start: tuple[float, float, float], end: tuple[float, float, float]
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """A stretch as long as what one reading tells of: a mean does not say whether half of that time
    drew twice as much, and the watts of a shorter stretch would be a guess.
    """
    middle = (start[1] + end[1]) / 2
    half = max(least, end[1] - start[1]) / 2
    first, last = middle - half, middle + half
    return (min(start[0], first), first, start[2]), (end[0], last, max(end[2], last))


def _share(start: Floats, end: Floats, from_: float, to: float) -> Floats:
    """The share of a stretch that each box meets."""
    return np.asarray(
        np.clip(np.minimum(end, to) - np.maximum(start, from_), 0.0, None) / max(to - from_, 1e-9)
    )


def _no_better_than(figure: tuple[float, float, float], half: float) -> tuple[float, float, float]:
    """An interval, widened by something of that half width that is independent of it."""
    low, middle, high = figure
    return middle - math.hypot(middle - low, half), middle, middle + math.hypot(high - middle, half)


class _Drawn(NamedTuple):
    row: Int64s
    column: Int64s
    watts: Floats
    joules: Floats


def _drawn(
    weights: Floats, watts: Floats, errors: Floats, length: Floats, rng: np.random.Generator
) -> _Drawn:
    """Boxes at random, each as often as it weighs."""
    at = rng.choice(weights.size, _DRAWS, p=weights.ravel() / weights.sum())
    height = watts.ravel()[at] + errors.ravel()[at] * rng.standard_normal(_DRAWS)
    row, column = np.unravel_index(at, weights.shape)
    return _Drawn(row, column, height, height * length.ravel()[at])


def _closer(at: Floats, weight: Floats) -> Floats:
    """The same number of places around those that count."""
    some = np.flatnonzero(weight > 1e-3 * weight.max())
    step = float(at[1] - at[0])
    return np.linspace(at[some[0]] - step, at[some[-1]] + step, len(at))


def _weighed(
    local: SensorReadings, starts: Floats, ends: Floats, least: float, noise: Noise, around: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """For every pair of edges: its weight, the height that fits best, its error, and the length.

    `around`: by how much the expectation may be off all over this neighbourhood, one sigma. What
    lies beside the box tells.
    """
    length = ends[None, :] - starts[:, None]
    inverse = 1.0 / (noise.one**2 + local.doubt**2) / noise.alike
    # Readings that every pair covers whole, or none covers, say the same to all of them.
    covered_by_all = (local.lo >= starts[-1]) & (local.hi <= ends[0])
    beside = (local.hi <= starts[0]) | (local.lo >= ends[-1])
    inner, outer = (
        _Sums(local, inverse, covered_by_all, noise.one),
        _Sums(local, inverse, beside, noise.one, 2 * around),
    )
    ending = readings_subset(local, ~covered_by_all & ~beside)
    inverse = inverse[~covered_by_all & ~beside]
    over = np.minimum(ending.hi, ends[None, :, None]) - np.maximum(ending.lo, starts[:, None, None])
    share = np.clip(over, 0.0, None) / np.maximum(ending.hi - ending.lo, 1e-12)
    once, twice = share @ inverse + inner.weight, (share**2) @ inverse + inner.weight
    every = float(inverse.sum()) + inner.weight + outer.weight + 1.0 / around**2
    free = np.maximum(
        twice - once**2 / every, 1e-12
    )  # what is left to tell the height when the offset is told, too
    beyond: Floats = np.broadcast_to(ending.beyond(), share.shape)
    height = np.zeros_like(length)
    offset = np.zeros_like(length)
    # What is explained is a range for some readings: how much of it they use depends on the height.
    for turn in range(3):
        if turn:
            rest = ending.watts - height[..., None] * share
            beyond = ending.watts - np.clip(rest, ending.floor, ending.ceiling)
        covered_, all_ = (
            np.einsum("abi,abi,i->ab", share, beyond, inverse) + inner.beyond,
            beyond @ inverse,
        )
        all_ = all_ + inner.beyond + outer.beyond
        height = (covered_ - once * all_ / every) / free
        offset = (all_ - height * once) / every
    misfit = (beyond - height[..., None] * share - offset[..., None]) ** 2 * inverse
    cost = (
        np.minimum(misfit, _MAX_SQUARED_ERROR).sum(axis=-1)
        + inner.cost(height + offset)
        + outer.cost(offset)
        + (offset / around) ** 2
    )
    most = float(local.ceiling[np.isfinite(local.ceiling)].max(initial=0.0))
    possible = (
        (length >= least) & (twice > 1e-9 * every) & (height > -most)
    )  # nothing draws less than nothing
    cost = np.where(possible, cost, np.inf)
    best = float(cost.min())
    weights = np.exp(-(cost - best) / 2) if math.isfinite(best) else np.zeros_like(cost)
    parts = zip([ending.blunt, *ending.ways], [inner.blunt, *inner.ways], strict=True)
    shared = sum(
        ((share @ (inverse * way) + within) / np.maximum(once, 1e-12)) ** 2 for way, within in parts
    )
    return weights / max(float(weights.sum()), 1e-300), height, np.sqrt(1.0 / free + shared), length


class _Sums:
    """Readings that all lie in a box, or all beside it, as sums."""

    def __init__(
        self,
        local: SensorReadings,
        inverse: Floats,
        rows: Bools,
        noise_w: float,
        most: float = math.inf,
    ) -> None:
        """`most`: watts that their middle may lie off; what is farther off is another stretch.

        `one`: noise of a reading.
        """
        weight = inverse[rows]
        rest = local.watts[rows] - np.clip(
            local.watts[rows], local.floor[rows], local.ceiling[rows]
        )
        judged_rest = rest[local.judged[rows]]
        usual = float(np.median(judged_rest)) if len(judged_rest) else 0.0
        usual = min(max(usual, -most), most)
        foreign = local.watts[rows] - usual
        beyond = local.watts[rows] - np.clip(foreign, local.floor[rows], local.ceiling[rows])
        # A fast sensor meets moments in which the machine paused, or did what no trace shows.
        weight = (
            weight
            * np.minimum(
                1.0,
                _FAR_ERRORS
                * np.hypot(noise_w, local.doubt[rows])
                / np.maximum(np.abs(beyond - usual), 1e-9),
            )
            ** 2
        )
        self.weight = float(weight.sum())
        self.beyond = float(weight @ beyond)
        self._squares = float(weight @ beyond**2)
        self.blunt = float(weight @ local.blunt[rows])
        self.ways = local.ways[:, rows] @ weight if local.ways.size else np.empty(0)

    def cost(self, height: Floats) -> Floats:
        """Squared errors when they were to lie so high."""
        return np.asarray(self._squares - 2 * height * self.beyond + height**2 * self.weight)
