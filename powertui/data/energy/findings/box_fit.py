"""Every pair of edges near a stretch, weighed by how well a box between them explains readings."""

from __future__ import annotations

import math

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.readings import SensorReadings, covered_share, readings_subset
from powertui.data.energy.findings.residual_noise import ResidualNoise
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

# Places are laid closer around those that count, in so many rounds, until more than so many of
# either edge count; a place counts with this share of the largest weight. Chosen, not measured.
_EDGE_ROUNDS = 3
_MIN_COUNTING_PLACES = 10
_MIN_PLACE_WEIGHT = settings.NEGLIGIBLE_WEIGHT
# The height and what is explained depend on each other: fitted in so many rounds. Chosen.
_HEIGHT_ROUNDS = 3
# Errors: readings farther from the middle of theirs say less of it. Chosen, not measured.
_FAR_ERRORS = settings.FAR_SIGMAS
# No reading speaks against a box by more errors. Half and twice: no change in
# docs/energy-evidence.md.
_MAX_ERRORS = settings.OUTLIER_SIGMAS


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


class WeighedBoxes(NamedTuple):
    """Boxes by their start and their end: [starts, ends] in all but the first two."""

    starts: Floats  # s
    ends: Floats
    weights: Floats
    watts: Floats  # that explain the readings best
    errors: Floats  # of these
    length: Floats  # s


class Neighbourhood:
    """The readings around a stretch, which every pair of edges is held against.

    `level_error`: by how much the expectation may be off all over the neighborhood, one sigma.
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

    def refined(self, starts: Floats, ends: Floats) -> WeighedBoxes | None:
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

    def _weighed(self, starts: Floats, ends: Floats) -> WeighedBoxes:
        """For every pair of edges: its weight, the height that fits best, and its error."""
        covered = self._covered(starts, ends)
        sums = _weighted_sums(covered, self.level_error)
        fit = _fitted(covered, sums)
        length = ends[None, :] - starts[:, None]
        # Nothing draws less than nothing.
        ceilings = self.local.ceiling
        finite_ceilings = ceilings[np.isfinite(ceilings)]
        highest_w = float(finite_ceilings.max(initial=0.0))
        is_shown = sums.squares > 1e-9 * sums.total
        is_long_enough = length >= self.shortest_s
        is_possible = is_long_enough & is_shown & (fit.height > -highest_w)
        cost = _costs(covered, fit, self.level_error)
        variance = 1.0 / sums.free + _shared_error(covered, sums.shares)
        return WeighedBoxes(
            starts=starts,
            ends=ends,
            weights=_weights(np.where(is_possible, cost, np.inf)),
            watts=fit.height,
            errors=np.sqrt(variance),
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
            inner=_Sums(
                local=local,
                inverse=self.inverse,
                rows=covered_by_all,
                noise_w=noise_w,
            ),
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
    ending = covered.ending
    share = covered.share
    beyond: Floats = np.broadcast_to(ending.beyond(), share.shape)
    height = np.zeros(share.shape[:2])
    offset = np.zeros(share.shape[:2])
    for turn in range(_HEIGHT_ROUNDS):
        if turn:
            rest = ending.watts - height[..., None] * share
            explained = np.clip(rest, ending.floor, ending.ceiling)
            beyond = ending.watts - explained
        by_share = np.einsum("abi,abi,i->ab", share, beyond, covered.inverse)
        by_share = by_share + covered.inner.beyond
        by_all = beyond @ covered.inverse
        by_all = by_all + covered.inner.beyond + covered.outer.beyond
        height = (by_share - sums.shares * by_all / sums.total) / sums.free
        offset = (by_all - height * sums.shares) / sums.total
    return _FittedBoxes(
        height=height,
        offset=offset,
        beyond=beyond,
    )


def _costs(covered: _Covered, fit: _FittedBoxes, level_error: float) -> Floats:
    """What the best box of every pair leaves: squared errors, of each reading up to a limit."""
    height = fit.height
    offset = fit.offset
    of_box = height[..., None] * covered.share
    rest = fit.beyond - of_box - offset[..., None]
    squares = np.minimum(rest**2 * covered.inverse, _MAX_ERRORS**2)
    inner = covered.inner.cost(height + offset)
    outer = covered.outer.cost(offset)
    cost = squares.sum(axis=-1) + inner + outer
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
        off_at_edges = covered.share @ (covered.inverse * way)
        off_by = off_at_edges + way_within
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
        off_w = np.maximum(np.abs(beyond - usual), 1e-9)
        nearness = np.minimum(1.0, far_w / off_w)
        weight = inverse[rows] * nearness**2
        self.weight = float(weight.sum())
        self.beyond = float(weight @ beyond)
        self._squares = float(weight @ beyond**2)
        self.blunt = float(weight @ local.blunt[rows])
        self.ways = np.empty(0)
        if local.ways.size:
            self.ways = local.ways[:, rows] @ weight

    def cost(self, height: Floats) -> Floats:
        """Squared errors when they were to be so high."""
        return np.asarray(self._squares - 2 * height * self.beyond + height**2 * self.weight)
