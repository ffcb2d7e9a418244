"""What each offset of a power log costs by the edges of a training and by the levels between them.

Each jump of power is at one of the edges, or anything else (somebody else's work, a checkpoint that
no record shows), which may happen at any time: so a burst costs the same at all offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from powertui.data import wire
from powertui.data.energy import edge_rivals, settings
from powertui.data.energy.alignment_places import SURE_S
from powertui.data.energy.edge_rivals import EdgeEvidence
from powertui.data.energy.level_fit import LevelCosts
from powertui.data.energy.power_jumps import PowerJumps
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats, Int64s
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.value_types import dataclass

BORDER, START, END = range(3)  # kinds of expected edges


@dataclass(frozen=True)
class _MatchingRules:
    """What jumps and edges are worth. Chosen on the worlds of `benchmarks.clock_answers`."""

    known_share: float = 0.6  # of a log's jumps, those that a record of the training explains
    sign_share: float = 0.85  # of edges with a known direction, those that keep it
    exact_share: float = 0.75  # of jumps at a border, those that are as exact as both are known
    inexact_sigmas: float = settings.FAR_SIGMAS  # the others are so many times less exact ...
    inexact_s: float = 0.2  # ... and so much more
    refresh_share: float = (
        settings.MINOR_SHARE
    )  # of the refresh: by as much a jump seems early or late
    start_spread_s: float = 2.0  # a program begins to work so long before or after its first record
    end_spread_s: float = 0.7  # a program ends so long after its last record
    exact_start_share: float = 0.4
    exact_end_share: float = 0.5
    # Jumps at an edge before they may overrule a clock by seconds: so many, or this share of all.
    # Logs of other runs that met half of a training matched 2 of 8 and were "corrected" by 42 s;
    # another one without a clock matched 4 of 15, which chance does as well, and was sure.
    min_matched: int = settings.MIN_REPEATS
    min_matched_share: float = settings.MAX_DOUBT_SHARE
    # Edges that a log without a clock must contain.
    min_edges_inside: int = edge_rivals.MIN_EDGES
    max_chance_places: float = 0.05  # as many jumps at edges, if jumps were anywhere: of 95 %
    # A log of another run met 4 of 15 jumps, a sensor that averages over ten of its readings jumps
    # 58 times, 9 of them at edges: by chance as many would be at 0.2 places.
    max_chance_places_of_owner: float = settings.MAJORITY_SHARE
    # Or so many changes from a reading to the next, where levels and not jumps place a log: as many
    # independent readings as a place by the work of a profile needs.
    min_changes: int = settings.MIN_INDEPENDENT_READINGS
    chance_offsets: int = 400  # tried to know how often a jump is at an edge by chance
    # Costs count by this part: jumps and levels are of the same readings. At 0.6 7 of 128 right
    # clocks were "corrected"; at 0.5 24 more of 189 wrong ones were noticed (seeds 700 to 715), but
    # of 100 logs of a second simulator no more, and one was sure and wrong.
    temper: float = 0.35


RULES = _MatchingRules()
_CHUNK_CELLS = 400_000  # of jumps and offsets that are compared at once: a bound of memory
ROOT_2PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class ExpectedEdges:
    """Moments at which a training changes what it does (s), by time."""

    at: Floats
    half_s: Floats  # the ± of each
    sign: Floats  # 1: power rises as a rule; -1: it falls; 0: either
    kind: Int64s  # BORDER, START or END
    # Whether borders are the ends of validations of which nobody knows when they began.
    ends_validation: bool = False

    def __len__(self) -> int:
        return len(self.at)

    @property
    def span(self) -> tuple[float, float]:
        return float(self.at[0]), float(self.at[-1])

    def rows(self, rows: Int64s) -> ExpectedEdges:
        """Some of them, in any shape."""
        return ExpectedEdges(
            at=self.at[rows],
            half_s=self.half_s[rows],
            sign=self.sign[rows],
            kind=self.kind[rows],
        )


def sorted_edges(moments: Sequence[tuple[float, float, float, int]]) -> ExpectedEdges:
    """From (moment, ±, sign, kind) in any order."""
    columns = np.array(sorted(moments), np.float64).reshape(-1, 4)
    kind = columns[:, 3].astype(np.int64)
    return ExpectedEdges(
        at=columns[:, 0],
        half_s=columns[:, 1],
        sign=columns[:, 2],
        kind=kind,
    )


class EdgeCosts:
    """What each offset costs."""

    def __init__(
        self,
        data: Samples,
        jumps: PowerJumps,
        edges: ExpectedEdges,
        levels: LevelCosts,
    ) -> None:
        self.jumps, self.edges = jumps, edges
        self.refresh = data.refresh
        self.length = max(float(data.hi[-1] - data.lo[0]), 1.0)
        self.sigma = np.hypot(jumps.sigma_s, RULES.refresh_share * data.refresh)
        self.levels = levels

    def at(self, offsets: Floats, coarse_step: float) -> Floats:
        """The costs of these offsets; of a coarse grid with what lies between its points."""
        cost = self.levels.at(offsets)
        chunk = max(1, _CHUNK_CELLS // max(len(self.jumps), 1))
        for first in range(0, len(offsets), chunk):
            part = slice(first, first + chunk)
            likelihood = self._likelihood(offsets[part], coarse_step)
            cost[part] -= np.log(likelihood).sum(axis=0)
        return cost

    def matched(self, offset: float) -> int:
        """How many jumps happen at an edge."""
        return int((self.likelihood(offset) > 1.0).sum())

    def edges_inside(self, data: Samples, offset: float) -> int:
        """How many edges have readings before and after them."""
        return int(np.count_nonzero(self.is_inside(data, offset)))

    def is_inside(self, data: Samples, offset: float) -> Bools:
        """Which edges have them."""
        begin = float(data.lo[0]) + offset + self.refresh
        end = float(data.hi[-1]) + offset - self.refresh
        return np.asarray((self.edges.at > begin) & (self.edges.at < end))

    def chance_places(self, offset: float, range_s: tuple[float, float]) -> float:
        """How many places have as many jumps at edges as this one, if jumps happen at any time.

        A place is made by a pair of a jump and an edge; the other jumps agree by chance.
        """
        at_edge = self.likelihood(offset) > 1.0
        nearest = np.abs(self.edges.at - (self.jumps.at[at_edge, None] + offset)).argmin(axis=1)
        agreeing = len(wire.distinct(nearest))
        if agreeing < 2:
            return np.inf
        tried = np.linspace(*range_s, RULES.chance_offsets)
        share = float((self._likelihood(tried, 0.0) > 1.0).mean())
        others = len(self.jumps) - 1
        chance = 0.0
        for count in range(agreeing - 1, others + 1):
            chance += comb(others, count) * share**count * (1 - share) ** (others - count)
        pairs = len(self.jumps) * len(self.edges)
        return pairs / agreeing * chance

    def likelihood(self, offset: float) -> Floats:
        """How many times likelier each jump is there than anywhere."""
        return self._likelihood(np.array([offset]), 0.0)[:, 0]

    def _likelihood(self, offsets: Floats, coarse_step: float) -> Floats:
        """[jumps, offsets]: how many times likelier a jump is there than anywhere."""
        at = self.jumps.at[:, None] + offsets
        edge_after = np.searchsorted(self.edges.at, at)
        density = np.zeros(at.shape)
        for edge in (edge_after - 1, edge_after):
            density += self._density(at, edge, coarse_step)
        matched_share = RULES.known_share
        unmatched_share = 1 - matched_share
        return np.asarray(unmatched_share + matched_share * density * self.length / len(self.edges))

    def _density(self, at: Floats, edge: Int64s, coarse_step: float) -> Floats:
        """The density (1/s) of jumps beside an edge each; 0 where there is no such edge."""
        last_edge = len(self.edges) - 1
        exists = (edge >= 0) & (edge <= last_edge)
        edges = self.edges.rows(np.clip(edge, 0, last_edge))
        jump_sigma_s = self.sigma[:, None]
        edge_sigma_s = edges.half_s / 2
        sigma = np.sqrt(jump_sigma_s**2 + edge_sigma_s**2 + coarse_step**2)
        by_time = _kernel(at - edges.at, sigma, edges.kind)
        by_sign = _sign_factor(edges.sign, np.sign(self.jumps.watts)[:, None])
        return np.asarray(exists * by_time * by_sign)


class EdgePlaces:
    """What the readings of a log say of each place, edge by edge."""

    def __init__(self, costs: EdgeCosts, data: Samples, range_s: tuple[float, float]) -> None:
        self.costs, self.data, self.range_s = costs, data, range_s
        first, last = costs.edges.span
        self.length_s = last - first
        self.apart_s = max(2 * SURE_S, data.refresh)
        self.temper = RULES.temper

    @property
    def turn_s(self) -> float:
        """Where only the ends of epochs are recorded, power may go up or down there, and the same
        change may be anywhere else in an epoch.
        """
        edges = self.costs.edges
        if edges.sign[edges.kind == BORDER].any():
            return 0.0
        return median_of_column(np.diff(edges.at))

    def meetings(self) -> tuple[Floats, float]:
        jumps, edges = self.costs.jumps, self.costs.edges
        if not len(jumps):
            return np.empty(0), 0.0
        offsets = (edges.at - jumps.at[:, None]).ravel()
        lo, hi = self.range_s
        return offsets[(offsets > lo) & (offsets < hi)], 2 * median_of_column(self.costs.sigma)

    def by_edge(self, offset: float) -> EdgeEvidence:
        """Of the jumps that are nearest to an edge the best one is of it, and the others are of
        something else.
        """
        edges = self.costs.edges
        at = self.costs.jumps.at + offset
        likelihood = np.log(self.costs.likelihood(offset))
        first, last = edges.span
        is_near = (likelihood > 0) | ((at >= first) & (at <= last))
        if not is_near.any():
            nothing = np.zeros(len(edges))
            return EdgeEvidence(nothing, nothing, self.costs.is_inside(self.data, offset))
        at = at[is_near]
        nearest = np.abs(edges.at - at[:, None]).argmin(axis=1)
        # By edge, and for each edge by likelihood: the last row of an edge is its best jump.
        order = np.lexsort((likelihood[is_near], nearest))
        best = np.full(len(edges), -1)
        best[nearest[order]] = order
        jumps = np.bincount(nearest, minlength=len(edges))
        of_others = np.log(1 - RULES.known_share) * (jumps - 1)
        has_jump = best >= 0
        return EdgeEvidence(
            log_likelihood=np.where(has_jump, likelihood[is_near][best] + of_others, 0.0),
            late_s=np.where(has_jump, at[best] - edges.at, 0.0),
            is_inside=self.costs.is_inside(self.data, offset),
        )

    def level_cost(self, offset: float) -> float:
        return float(self.costs.levels.at(np.array([offset]))[0])

    def cut_meetings(self) -> Floats:
        first, last = self.costs.edges.span
        jumps = self.costs.jumps
        at_end = last - jumps.at[jumps.watts < 0]
        at_start = first - jumps.at[jumps.watts > 0]
        begins_within = float(self.data.lo[0]) + at_end > first
        ends_within = float(self.data.hi[-1]) + at_start < last
        offsets = np.concatenate([at_end[begins_within], at_start[ends_within]])
        lo, hi = self.range_s
        return offsets[(offsets > lo) & (offsets < hi)]

    def is_at_work(self, best_s: float, offset: float) -> bool:
        data = self.data
        first, last = self.costs.edges.span
        begin = max(first, float(data.lo[0]) + offset)
        end = min(last, float(data.hi[-1]) + offset)
        here = self._watts_within(begin, end, best_s)
        there = self._watts_within(begin, end, offset)
        if min(len(here), len(there)) < settings.MIN_REPEATS:
            return False
        work_w = float(here.mean() - percentile_of_column(data.watts, 2))
        return abs(float(here.mean() - there.mean())) < settings.MINOR_SHARE * work_w

    def _watts_within(self, begin: float, end: float, offset: float) -> Floats:
        """The readings of a log that is at this offset, all of whose windows are within."""
        begins_within = self.data.lo + offset > begin
        ends_within = self.data.hi + offset < end
        return self.data.watts[begins_within & ends_within]

    def is_by_chance(self, offset: float) -> bool:
        chance_places = self.costs.chance_places(offset, self.range_s)
        return chance_places > RULES.max_chance_places_of_owner


def _sign_factor(edge_sign: Floats, jump_sign: Floats) -> Floats:
    """How many times likelier a jump is by its direction; 1 where an edge may have either."""
    agrees = edge_sign * jump_sign
    sign_share = np.where(agrees > 0, RULES.sign_share, 1 - RULES.sign_share)
    return np.where(agrees == 0, 1.0, 2 * sign_share)


def _kernel(late: Floats, sigma: Floats, kind: Int64s) -> Floats:
    """The density (1/s) of a jump that is so late after an edge of its kind."""
    exact = normal_density(late, sigma)
    inexact = normal_density(late, RULES.inexact_sigmas * sigma + RULES.inexact_s)
    border = _mixed(exact, inexact, RULES.exact_share)

    # A program begins to work at any time around its first record ...
    spread = RULES.start_spread_s
    around_start = np.exp(-np.abs(late) / spread) / (2 * spread)
    start = _mixed(exact, around_start, RULES.exact_start_share)

    # ... but ends only after its last one.
    spread = RULES.end_spread_s
    decay = np.exp(-np.maximum(late, 0.0) / spread) / spread
    after_end = np.where(late > -sigma, decay, 0.0)
    end = _mixed(exact, after_end, RULES.exact_end_share)
    return np.asarray(np.select([kind == BORDER, kind == START], [border, start], end))


def _mixed(exact: Floats, inexact: Floats, exact_share: float) -> Floats:
    return exact_share * exact + (1 - exact_share) * inexact


def normal_density(late: Floats, sigma: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * (late / sigma) ** 2) / (ROOT_2PI * sigma))
