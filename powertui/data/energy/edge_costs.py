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
from powertui.data.energy.robust_stats import ROOT_2PI
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
    inexact_s: float = settings.LATE_S  # ... and so much more
    refresh_share: float = (
        settings.MINOR_SHARE
    )  # of the refresh: by as much a jump seems early or late
    start_spread_s: float = 2.0  # a program begins to work so long before or after its first record
    end_spread_s: float = 0.7  # a program ends so long after its last record
    exact_start_share: float = 0.4
    exact_end_share: float = settings.MAJORITY_SHARE
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
        first = float(self.at[0])
        last = float(self.at[-1])
        return first, last

    def rows(self, rows: Int64s) -> ExpectedEdges:
        """Some of them, in any shape."""
        return ExpectedEdges(
            at=self.at[rows],
            half_s=self.half_s[rows],
            sign=self.sign[rows],
            kind=self.kind[rows],
        )

    def nearest_row(self, moments_s: Floats) -> Int64s:
        """For each moment the row of the edge that is nearest to it."""
        distance_s = np.abs(self.at - moments_s[:, None])
        nearest: Int64s = distance_s.argmin(axis=1)
        return nearest


def sorted_edges(moments: Sequence[tuple[float, float, float, int]]) -> ExpectedEdges:
    """From (moment, ±, sign, kind) in any order."""
    rows = np.array(sorted(moments), np.float64).reshape(-1, 4)
    at, half_s, sign, kind = rows.T
    return ExpectedEdges(
        at=at,
        half_s=half_s,
        sign=sign,
        kind=kind.astype(np.int64),
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
        self.jumps = jumps
        self.edges = edges
        self.levels = levels
        self.refresh = data.refresh
        length_s = float(data.hi[-1] - data.lo[0])
        self.length = max(length_s, 1.0)
        by_refresh_s = RULES.refresh_share * data.refresh
        self.sigma = np.hypot(jumps.sigma_s, by_refresh_s)

    @property
    def temper(self) -> float:
        """The part of the costs that counts: twice as much where no jump counts beside the levels.

        Of 286 clocks off beside a sensor of 10 s 114 were noticed so, 96 without, none sure and
        wrong in 792 answers; at all of it one more of 48 right ones was doubted.
        """
        if len(self.jumps):
            return RULES.temper
        return 2 * RULES.temper

    def at(self, offsets: Floats, coarse_step: float) -> Floats:
        """The costs of these offsets; of a coarse grid with what lies between its points."""
        cost = self.levels.at(offsets)
        chunk = max(1, _CHUNK_CELLS // max(len(self.jumps), 1))
        for first in range(0, len(offsets), chunk):
            part = slice(first, first + chunk)
            likelihood = self._likelihood(offsets[part], coarse_step)
            by_jump = np.log(likelihood)
            cost[part] -= by_jump.sum(axis=0)
        return cost

    def matched(self, offset: float) -> int:
        """How many jumps happen at an edge."""
        return int(self.is_at_edge(offset).sum())

    def is_at_edge(self, offset: float) -> Bools:
        """Which jumps do: they are likelier there than anywhere."""
        at_edge: Bools = self.likelihood(offset) > 1.0
        return at_edge

    def edges_inside(self, data: Samples, offset: float) -> int:
        """How many edges have readings before and after them."""
        is_inside = self.is_inside(data, offset)
        return int(np.count_nonzero(is_inside))

    def is_inside(self, data: Samples, offset: float) -> Bools:
        """Which edges have them."""
        begin = float(data.lo[0]) + offset + self.refresh
        end = float(data.hi[-1]) + offset - self.refresh
        at = self.edges.at
        is_inside: Bools = (at > begin) & (at < end)
        return is_inside

    def chance_places(self, offset: float, range_s: tuple[float, float]) -> float:
        """How many places have as many jumps at edges as this one, if jumps happen at any time.

        A place is made by a pair of a jump and an edge; the other jumps agree by chance.
        """
        jumps_s = self.jumps.at[self.is_at_edge(offset)] + offset
        nearest = self.edges.nearest_row(jumps_s)
        agreeing = len(wire.distinct(nearest))
        if agreeing < 2:
            return np.inf
        tried = np.linspace(*range_s, RULES.chance_offsets)
        is_match = self._likelihood(tried, 0.0) > 1.0
        share = float(is_match.mean())
        others = len(self.jumps) - 1
        chance = _chance_of(agreeing - 1, others, share)
        pairs = len(self.jumps) * len(self.edges)
        return pairs / agreeing * chance

    def likelihood(self, offset: float) -> Floats:
        """How many times likelier each jump is there than anywhere."""
        of_offset = self._likelihood(np.array([offset]), 0.0)
        return of_offset[:, 0]

    def _likelihood(self, offsets: Floats, coarse_step: float) -> Floats:
        """[jumps, offsets]: how many times likelier a jump is there than anywhere."""
        at = self.jumps.at[:, None] + offsets
        edge_after = np.searchsorted(self.edges.at, at)
        density = np.zeros(at.shape)
        for edge in (edge_after - 1, edge_after):
            density += self._density(at, edge, coarse_step)
        matched_share = RULES.known_share
        unmatched_share = 1 - matched_share
        likelihood: Floats = unmatched_share + matched_share * density * self.length / len(
            self.edges
        )
        return likelihood

    def _density(
        self,
        at: Floats,
        edge: Int64s,
        coarse_step: float,
    ) -> Floats:
        """The density (1/s) of jumps beside an edge each; 0 where there is no such edge."""
        last_edge = len(self.edges) - 1
        exists = (edge >= 0) & (edge <= last_edge)
        row = np.clip(edge, 0, last_edge)
        edges = self.edges.rows(row)
        jump_sigma_s = self.sigma[:, None]
        jump_sign = np.sign(self.jumps.watts)[:, None]
        edge_sigma_s = edges.half_s / 2
        variance = jump_sigma_s**2 + edge_sigma_s**2 + coarse_step**2
        by_time = _kernel(
            late=at - edges.at,
            sigma=np.sqrt(variance),
            kind=edges.kind,
        )
        by_sign = _sign_factor(edges.sign, jump_sign)
        density: Floats = exists * by_time * by_sign
        return density


class EdgePlaces:
    """What the readings of a log say of each place, edge by edge."""

    def __init__(
        self,
        costs: EdgeCosts,
        data: Samples,
        range_s: tuple[float, float],
    ) -> None:
        self.costs = costs
        self.data = data
        self.range_s = range_s
        self.first_s, self.last_s = costs.edges.span
        self.length_s = self.last_s - self.first_s
        self.apart_s = max(2 * SURE_S, data.refresh)
        self.temper = costs.temper

    @property
    def turn_s(self) -> float:
        """Where only the ends of epochs are recorded, power may go up or down there, and the same
        change may be anywhere else in an epoch.
        """
        edges = self.costs.edges
        border_signs = edges.sign[edges.kind == BORDER]
        if border_signs.any():
            return 0.0
        return median_of_column(np.diff(edges.at))

    def meetings(self) -> tuple[Floats, float]:
        jumps = self.costs.jumps
        if not len(jumps):
            return np.empty(0), 0.0
        offsets = self.costs.edges.at - jumps.at[:, None]
        width_s = 2 * median_of_column(self.costs.sigma)
        return self._in_range(offsets.ravel()), width_s

    def _in_range(self, offsets: Floats) -> Floats:
        lo, hi = self.range_s
        return offsets[(offsets > lo) & (offsets < hi)]

    def by_edge(self, offset: float) -> EdgeEvidence:
        """Of the jumps that are nearest to an edge the best one is of it, and the others are of
        something else.
        """
        edges = self.costs.edges
        is_inside = self.costs.is_inside(self.data, offset)
        at = self.costs.jumps.at + offset
        likelihood = np.log(self.costs.likelihood(offset))
        is_in_training = (at >= self.first_s) & (at <= self.last_s)
        is_near = (likelihood > 0) | is_in_training
        if not is_near.any():
            nothing = np.zeros(len(edges))
            return EdgeEvidence(nothing, nothing, is_inside)
        at = at[is_near]
        likelihood = likelihood[is_near]
        nearest = edges.nearest_row(at)
        # By edge, and for each edge by likelihood: the last row of an edge is its best jump.
        order = np.lexsort((likelihood, nearest))
        best = np.full(len(edges), -1)
        best[nearest[order]] = order
        jumps = np.bincount(nearest, minlength=len(edges))
        of_others = np.log(1 - RULES.known_share) * (jumps - 1)
        has_jump = best >= 0
        by_jumps = likelihood[best] + of_others
        late_s = at[best] - edges.at
        return EdgeEvidence(
            log_likelihood=np.where(has_jump, by_jumps, 0.0),
            late_s=np.where(has_jump, late_s, 0.0),
            is_inside=is_inside,
        )

    def level_cost(self, offset: float) -> float:
        costs = self.costs.levels.at(np.array([offset]))
        return float(costs[0])

    def cut_meetings(self) -> Floats:
        first_s = self.first_s
        last_s = self.last_s
        jumps = self.costs.jumps
        falls = jumps.at[jumps.watts < 0]
        rises = jumps.at[jumps.watts > 0]
        at_end = last_s - falls
        at_start = first_s - rises
        log_begin = float(self.data.lo[0])
        log_end = float(self.data.hi[-1])
        begins_within = log_begin + at_end > first_s
        ends_within = log_end + at_start < last_s
        offsets = np.concatenate([at_end[begins_within], at_start[ends_within]])
        return self._in_range(offsets)

    def is_at_work(self, best_s: float, offset: float) -> bool:
        here = self._watts_at_work(best_s, offset)
        there = self._watts_at_work(offset, offset)
        readings = min(len(here), len(there))
        if readings < settings.MIN_REPEATS:
            return False
        idle_w = percentile_of_column(self.data.watts, 2)
        work_w = float(here.mean() - idle_w)
        differs_w = abs(float(here.mean() - there.mean()))
        return differs_w < settings.MINOR_SHARE * work_w

    def _watts_at_work(self, offset: float, covering: float) -> Floats:
        """The readings of a log that is at this offset, all of whose windows are within the
        training, and within the time that the log would cover at the offset `covering`.
        """
        data = self.data
        begin = max(self.first_s, float(data.lo[0]) + covering)
        end = min(self.last_s, float(data.hi[-1]) + covering)
        begins_within = data.lo + offset > begin
        ends_within = data.hi + offset < end
        return data.watts[begins_within & ends_within]

    def is_by_chance(self, offset: float) -> bool:
        chance_places = self.costs.chance_places(offset, self.range_s)
        return chance_places > RULES.max_chance_places_of_owner


def _chance_of(count: int, jumps: int, share: float) -> float:
    """The chance that so many jumps or more are at edges, when each is with this share."""
    chance = 0.0
    for agreeing in range(count, jumps + 1):
        elsewhere = jumps - agreeing
        ways = comb(jumps, agreeing)
        chance += ways * share**agreeing * (1 - share) ** elsewhere
    return chance


def _sign_factor(edge_sign: Floats, jump_sign: Floats) -> Floats:
    """How many times likelier a jump is by its direction; 1 where an edge may have either."""
    agreement = edge_sign * jump_sign
    sign_share = np.where(agreement > 0, RULES.sign_share, 1 - RULES.sign_share)
    return np.where(agreement == 0, 1.0, 2 * sign_share)


def _kernel(late: Floats, sigma: Floats, kind: Int64s) -> Floats:
    """The density (1/s) of a jump that is so late after an edge of its kind."""
    exact = normal_density(late, sigma)
    border = _mixed(
        exact,
        _wide_density(late, sigma),
        RULES.exact_share,
    )
    start = _mixed(
        exact,
        _density_around_start(late),
        RULES.exact_start_share,
    )
    end = _mixed(
        exact,
        _density_after_end(late, sigma),
        RULES.exact_end_share,
    )
    return np.select([kind == BORDER, kind == START], [border, start], end)


def _wide_density(late: Floats, sigma: Floats) -> Floats:
    """Of jumps that are less exact than they and the border are known."""
    wide_sigma = RULES.inexact_sigmas * sigma + RULES.inexact_s
    return normal_density(late, wide_sigma)


def _density_around_start(late: Floats) -> Floats:
    """A program begins to work at any time around its first record."""
    spread_s = RULES.start_spread_s
    density: Floats = np.exp(-np.abs(late) / spread_s) / (2 * spread_s)
    return density


def _density_after_end(late: Floats, sigma: Floats) -> Floats:
    """A program ends only after its last record."""
    spread_s = RULES.end_spread_s
    late_s = np.maximum(late, 0.0)
    decay = np.exp(-late_s / spread_s) / spread_s
    return np.where(late > -sigma, decay, 0.0)


def _mixed(exact: Floats, inexact: Floats, exact_share: float) -> Floats:
    return exact_share * exact + (1 - exact_share) * inexact


def normal_density(late: Floats, sigma: Floats) -> Floats:
    in_sigmas = late / sigma
    density: Floats = np.exp(-0.5 * in_sigmas**2) / (ROOT_2PI * sigma)
    return density
