"""The box behind a stretch of readings: from when to when the load was there, and how high it
stood.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.power_stretch import Box
from powertui.data.energy.findings.readings import SensorReadings, covered_share, readings_subset
from powertui.data.energy.findings.residual_noise import ResidualNoise
from powertui.data.energy.robust_stats import TAILS
from powertui.data.energy.samples import usual_pace_s, usual_window_s
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column, quantiles_of_column
from powertui.named_tuples import NamedTuple

# Places of each edge that are weighed. Chosen, not measured.
_EDGE_PLACES = 40
# They are laid closer around those that count, in so many rounds, until more than so many of either
# edge count; a place counts with this share of the largest weight. Chosen, not measured.
_EDGE_ROUNDS = 3
_MIN_COUNTING_PLACES = 10
_MIN_PLACE_WEIGHT = 1e-3
# The height and what is explained depend on each other: fitted in so many rounds. Chosen.
_HEIGHT_ROUNDS = 3
# Boxes that are drawn at random for the intervals. Chosen, not measured.
_DRAWS = 4000
# Share of a load: no box is known better than this, for loads are no boxes. Chosen.
_MIN_BOX_ERROR = settings.SLIGHT_SHARE
# Errors: readings farther from the middle of theirs say less of it. Chosen, not measured.
_FAR_ERRORS = settings.FAR_SIGMAS
# How far from the stretch's mean watts to the load's the reported watts are: loads that an edge cut
# come out too high. Chosen, not measured.
_LOAD_SHARE = settings.MAX_DOUBT_SHARE
# Readings beside a box that show the level there. Chosen, not measured.
_MIN_LEVEL_READINGS = settings.MIN_LEVEL_READINGS
# No reading speaks against a box with more squared errors. Half and twice: no change in
# docs/energy-evidence.md.
_MAX_SQUARED_ERROR = settings.OUTLIER_SIGMAS**2


def box(
    readings: SensorReadings,
    first: int,
    last: int,
    noise: ResidualNoise,
    foreign: Floats,
    p: float,
) -> Box | None:
    """The box behind a stretch of readings: every pair of edges near it, weighed by how well it
    explains them.
    """
    width = usual_window_s(readings)
    pace = usual_pace_s(readings, single=width)
    reach = max(width, pace)
    lo = float(readings.lo[first])
    hi = float(readings.hi[last - 1])
    finite = np.isfinite(readings.floor + readings.watts)
    beside = max(3 * reach, 0.75 * (hi - lo))
    is_near = (readings.hi > lo - beside) & (readings.lo < hi + beside)
    near = np.flatnonzero(is_near & finite)
    local = readings_subset(readings, near)
    local = replace(local, watts=local.watts - foreign[near])
    noise_of_level = noise.mean_error(2 * max(last - first, 1))
    neighbourhood = _Neighbourhood(
        local=local,
        noise=noise,
        level_error=max(noise_of_level, _level(local, lo, hi)),
        shortest_s=reach / 8,
    )
    # A load begins by the end of the first reading, and ends after the start of the last one.
    latest_start = min(float(readings.hi[first]) + reach, hi)
    earliest_end = max(float(readings.lo[last - 1]) - reach, lo)
    starts = np.linspace(lo - reach, latest_start, _EDGE_PLACES)
    ends = np.linspace(earliest_end, hi + reach, _EDGE_PLACES)
    weighed = neighbourhood.refined(starts, ends)
    if weighed is None:
        return None
    return _figures(weighed, min(width, pace), p)


def _figures(weighed: _WeighedBoxes, shortest_s: float, p: float) -> Box:
    """The bounds, watts and joules that the weighed boxes show, with their intervals."""
    rng = np.random.default_rng(47)
    # Among boxes shorter than a window short ones are many, because they fit in many places. So the
    # likeliest length comes from giving each length its weight, and the intervals contain what
    # either way comes out.
    flat = _drawn(weighed, weighed.weights, rng)
    likely = _drawn(weighed, weighed.weights * np.maximum(weighed.length, 0.0), rng)
    start = _interval(flat.start, likely.start)
    end = _interval(flat.end, likely.end)
    joules = _interval(flat.joules, likely.joules)
    resolved = end.middle - start.middle >= shortest_s
    start, end = _no_shorter_than(shortest_s, start, end)
    # There are two figures of watts: those of the load, and the mean over the stretch that is
    # listed, which is less wherever that is beside the load. Where the edges are known they are
    # one. What is listed is between them, and the interval contains both.
    stretch = (start.middle, end.middle)
    mean = _interval(flat.watts * _share(flat, *stretch), likely.watts * _share(likely, *stretch))
    load = _interval(flat.watts, likely.watts)
    height = mean.middle
    if resolved:
        height += _LOAD_SHARE * (load.middle - mean.middle)
    watts = _Interval(min(mean.low, load.low), height, max(mean.middle, load.high))
    watts = _no_better_than(watts, _MIN_BOX_ERROR * abs(watts.middle))
    joules = _no_better_than(joules, _MIN_BOX_ERROR * abs(joules.middle))
    return Box(
        start=start.middle,
        end=end.middle,
        start_within=(start.low, start.high),
        end_within=(end.low, end.high),
        watts=watts.middle,
        lo_watts=watts.low,
        hi_watts=watts.high,
        joules=joules.middle,
        lo_joules=joules.low,
        hi_joules=joules.high,
        p=p,
    )


class _Interval(NamedTuple):
    """A figure, and the 95 % interval around it."""

    low: float
    middle: float
    high: float


def _level(local: SensorReadings, lo: float, hi: float) -> float:
    """How far off, the other way than a stretch itself, the readings beside it are: a fit with a
    long load in it is too high there. What is off the same way may be more of the load.
    """
    beside = local.judged & ((local.hi <= lo) | (local.lo >= hi))
    if beside.sum() < _MIN_LEVEL_READINGS:
        return 0.0
    beyond = local.beyond()
    inside = local.judged & ~beside
    sign = 1.0
    if inside.any() and median_of_column(beyond[inside]) < 0:
        sign = -1.0
    return max(-sign * median_of_column(beyond[beside]), 0.0)


def _interval(flat: Floats, likely: Floats) -> _Interval:
    """The likeliest value of one figure, and the interval that contains what either way comes
    out.
    """
    low, high = quantiles_of_column(flat, TAILS)
    likely_low, middle, likely_high = quantiles_of_column(likely, (TAILS[0], 0.5, TAILS[1]))
    return _Interval(min(low, likely_low), middle, max(high, likely_high))


def _no_shorter_than(
    shortest_s: float,
    start: _Interval,
    end: _Interval,
) -> tuple[_Interval, _Interval]:
    """A stretch as long as what one reading reports on: a mean does not say whether half of that
    time drew twice as much, and the watts of a shorter stretch would be a guess.
    """
    middle = (start.middle + end.middle) / 2
    half = max(shortest_s, end.middle - start.middle) / 2
    first = middle - half
    last = middle + half
    return (
        _Interval(min(start.low, first), first, start.high),
        _Interval(end.low, last, max(end.high, last)),
    )


def _share(drawn: _Drawn, begin: float, end: float) -> Floats:
    """The share of a stretch that each box covers."""
    overlap = np.minimum(drawn.end, end) - np.maximum(drawn.start, begin)
    return np.asarray(np.clip(overlap, 0.0, None) / max(end - begin, 1e-9))


def _no_better_than(figure: _Interval, half: float) -> _Interval:
    """An interval, widened by something of that half width that is independent of it."""
    low, middle, high = figure
    lower_half = math.hypot(middle - low, half)
    upper_half = math.hypot(high - middle, half)
    return _Interval(middle - lower_half, middle, middle + upper_half)


class _Drawn(NamedTuple):
    """Boxes drawn at random."""

    start: Floats
    end: Floats
    watts: Floats
    joules: Floats


def _drawn(boxes: _WeighedBoxes, weights: Floats, rng: np.random.Generator) -> _Drawn:
    """Boxes at random, each as often as it weighs."""
    chosen = rng.choice(weights.size, _DRAWS, p=weights.ravel() / weights.sum())
    errors = boxes.errors.ravel()[chosen] * rng.standard_normal(_DRAWS)
    watts = boxes.watts.ravel()[chosen] + errors
    row, column = np.unravel_index(chosen, weights.shape)
    joules = watts * boxes.length.ravel()[chosen]
    return _Drawn(start=boxes.starts[row], end=boxes.ends[column], watts=watts, joules=joules)


def _closer(places: Floats, weight: Floats) -> Floats:
    """The same number of places around those that count."""
    counting = _counting(weight)
    step = float(places[1] - places[0])
    first = places[counting[0]] - step
    last = places[counting[-1]] + step
    return np.linspace(first, last, len(places))


def _counting(weight: Floats) -> Int64s:
    """The places whose weight is worth a look."""
    return np.flatnonzero(weight > _MIN_PLACE_WEIGHT * weight.max())


class _WeighedBoxes(NamedTuple):
    """Boxes by their start and their end: [starts, ends] in all but the first two."""

    starts: Floats  # s
    ends: Floats
    weights: Floats
    watts: Floats  # that explain the readings best
    errors: Floats  # of these
    length: Floats  # s


class _Neighbourhood:
    """The readings around a stretch, which every pair of edges is held against.

    `level_error`: by how much the expectation may be off all over the neighbourhood, one sigma.
    What is beside the box shows it. `shortest_s`: no box is shorter.
    """

    def __init__(
        self,
        local: SensorReadings,
        noise: ResidualNoise,
        level_error: float,
        shortest_s: float,
    ) -> None:
        self.local = local
        self.noise = noise
        self.level_error = level_error
        self.shortest_s = shortest_s
        self.inverse = 1.0 / (noise.single**2 + local.doubt**2) / noise.alike

    def refined(self, starts: Floats, ends: Floats) -> _WeighedBoxes | None:
        """The boxes between these starts and ends, closer and closer around those that count."""
        for turn in range(_EDGE_ROUNDS):
            boxes = self._weighed(starts, ends)
            if not boxes.weights.any():
                return None
            by_start = boxes.weights.sum(axis=1)
            by_end = boxes.weights.sum(axis=0)
            fewest = min(len(_counting(by_start)), len(_counting(by_end)))
            if turn == _EDGE_ROUNDS - 1 or fewest > _MIN_COUNTING_PLACES:
                break
            starts = _closer(starts, by_start)
            ends = _closer(ends, by_end)
        return boxes

    def _weighed(self, starts: Floats, ends: Floats) -> _WeighedBoxes:
        """For every pair of edges: its weight, the height that fits best, and its error."""
        covered = self._covered(starts, ends)
        sums = _weighted_sums(covered, self.level_error)
        fit = _fitted(covered, sums)
        length = ends[None, :] - starts[:, None]
        # Nothing draws less than nothing.
        ceilings = self.local.ceiling
        highest_w = float(ceilings[np.isfinite(ceilings)].max(initial=0.0))
        is_shown = sums.squares > 1e-9 * sums.total
        possible = (length >= self.shortest_s) & is_shown & (fit.height > -highest_w)
        cost = np.where(possible, _costs(covered, fit, self.level_error), np.inf)
        return _WeighedBoxes(
            starts=starts,
            ends=ends,
            weights=_weights(cost),
            watts=fit.height,
            errors=np.sqrt(1.0 / sums.free + _shared_error(covered, sums.shares)),
            length=length,
        )

    def _covered(self, starts: Floats, ends: Floats) -> _Covered:
        """How much of each reading every pair of edges covers."""
        local = self.local
        covered_by_all = (local.lo >= starts[-1]) & (local.hi <= ends[0])
        beside = (local.hi <= starts[0]) | (local.lo >= ends[-1])
        at_edges = ~covered_by_all & ~beside
        noise_w = self.noise.single
        ending = readings_subset(local, at_edges)
        begin = starts[:, None, None]
        end = ends[None, :, None]
        return _Covered(
            inner=_Sums(local=local, inverse=self.inverse, rows=covered_by_all, noise_w=noise_w),
            outer=_Sums(
                local=local,
                inverse=self.inverse,
                rows=beside,
                noise_w=noise_w,
                max_offset_w=2 * self.level_error,
            ),
            ending=ending,
            inverse=self.inverse[at_edges],
            share=covered_share(ending.lo, ending.hi, begin, end),
        )


class _Covered(NamedTuple):
    """The readings around a stretch, for pairs of edges: [starts, ends, readings at edges].

    Readings that every pair covers whole, or none covers, say the same to all of them: of these
    there are sums.
    """

    inner: _Sums  # covered by every pair
    outer: _Sums  # covered by none
    ending: SensorReadings  # at the edges: covered by some, or in part
    inverse: Floats  # weight of each of those
    share: Floats  # covered of each of those


class _WeightedSums(NamedTuple):
    """Sums of the least squares, for every pair: a reading is `height · share + offset`."""

    shares: Floats  # Σ w s
    squares: Floats  # Σ w s²
    total: float  # Σ w, with what is known of the offset beforehand
    # What is left to show the height when the offset of the level is fitted, too.
    free: Floats


def _weighted_sums(covered: _Covered, level_error: float) -> _WeightedSums:
    inner, outer = covered.inner, covered.outer
    shares = covered.share @ covered.inverse + inner.weight
    squares = (covered.share**2) @ covered.inverse + inner.weight
    total = float(covered.inverse.sum()) + inner.weight + outer.weight + 1.0 / level_error**2
    return _WeightedSums(
        shares=shares,
        squares=squares,
        total=total,
        free=np.maximum(squares - shares**2 / total, 1e-12),
    )


class _FittedBoxes(NamedTuple):
    """The box that fits best, for every pair of edges."""

    height: Floats  # W
    offset: Floats  # W, of the level around it
    beyond: Floats  # W, of each reading at the edges, that the expectation leaves unexplained


def _fitted(covered: _Covered, sums: _WeightedSums) -> _FittedBoxes:
    """The weighted least squares of height and offset.

    What is explained is a range for some readings: how much of it they use depends on the height,
    so that both are found in turns.
    """
    ending, share = covered.ending, covered.share
    beyond: Floats = np.broadcast_to(ending.beyond(), share.shape)
    height = np.zeros(share.shape[:2])
    offset = np.zeros(share.shape[:2])
    for turn in range(_HEIGHT_ROUNDS):
        if turn:
            rest = ending.watts - height[..., None] * share
            beyond = ending.watts - np.clip(rest, ending.floor, ending.ceiling)
        by_share = np.einsum("abi,abi,i->ab", share, beyond, covered.inverse)
        by_share = by_share + covered.inner.beyond
        by_all = beyond @ covered.inverse
        by_all = by_all + covered.inner.beyond + covered.outer.beyond
        height = (by_share - sums.shares * by_all / sums.total) / sums.free
        offset = (by_all - height * sums.shares) / sums.total
    return _FittedBoxes(height=height, offset=offset, beyond=beyond)


def _costs(covered: _Covered, fit: _FittedBoxes, level_error: float) -> Floats:
    """What the best box of every pair leaves: squared errors, of each reading up to a limit."""
    height, offset = fit.height, fit.offset
    left = fit.beyond - height[..., None] * covered.share - offset[..., None]
    at_edges = np.minimum(left**2 * covered.inverse, _MAX_SQUARED_ERROR).sum(axis=-1)
    cost = at_edges + covered.inner.cost(height + offset) + covered.outer.cost(offset)
    return np.asarray(cost + (offset / level_error) ** 2)


def _weights(cost: Floats) -> Floats:
    """How likely each pair is, by its cost: together 1, or nothing where none is possible."""
    best = float(cost.min())
    weights = np.zeros_like(cost)
    if math.isfinite(best):
        weights = np.exp(-(cost - best) / 2)
    return weights / max(float(weights.sum()), 1e-300)


def _shared_error(covered: _Covered, shares: Floats) -> Floats:
    """What all readings of a box may be off by together, squared."""
    total: Floats | float = 0.0
    at_edges = [covered.ending.blunt, *covered.ending.ways]
    within = [covered.inner.blunt, *covered.inner.ways]
    for way, way_within in zip(at_edges, within, strict=True):
        off_by = covered.share @ (covered.inverse * way) + way_within
        off = off_by / np.maximum(shares, 1e-12)
        total = total + off**2
    return np.asarray(total)


class _Sums:
    """Readings that are all in a box, or all beside it, as sums."""

    def __init__(
        self,
        local: SensorReadings,
        inverse: Floats,
        rows: Bools,
        noise_w: float,
        max_offset_w: float = math.inf,
    ) -> None:
        """`max_offset_w`: that their middle may be off; what is farther off is another stretch.

        `noise_w`: noise of a reading.
        """
        watts = local.watts[rows]
        floor = local.floor[rows]
        ceiling = local.ceiling[rows]
        rest = watts - np.clip(watts, floor, ceiling)
        judged_rest = rest[local.judged[rows]]
        usual = median_of_column(judged_rest) if len(judged_rest) else 0.0
        usual = min(max(usual, -max_offset_w), max_offset_w)
        beyond = watts - np.clip(watts - usual, floor, ceiling)
        # A fast sensor meets moments in which the machine paused, or did what no trace shows.
        far_w = _FAR_ERRORS * np.hypot(noise_w, local.doubt[rows])
        nearness = np.minimum(1.0, far_w / np.maximum(np.abs(beyond - usual), 1e-9))
        weight = inverse[rows] * nearness**2
        self.weight = float(weight.sum())
        self.beyond = float(weight @ beyond)
        self._squares = float(weight @ beyond**2)
        self.blunt = float(weight @ local.blunt[rows])
        self.ways = local.ways[:, rows] @ weight if local.ways.size else np.empty(0)

    def cost(self, height: Floats) -> Floats:
        """Squared errors when they were to be so high."""
        return np.asarray(self._squares - 2 * height * self.beyond + height**2 * self.weight)
