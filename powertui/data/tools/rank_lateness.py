"""Which rank comes last to collectives, beyond noise, and what the others wait for it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from powertui.data import student, wire
from powertui.data.model import PS_PER_US, Bools, Floats, Int64s
from powertui.data.opened import Opened
from powertui.data.quantiles import median_of_column
from powertui.data.run.rank_collectives import RankCalls, rank_calls
from powertui.data.run.rank_matching import MatchedCollectives, match_ranks
from powertui.data.tools.rank_paces import (
    MAX_CHANCE,
    MIN_BLOCKS,
    MeanError,
    RankPace,
    can_compare_ranks,
    changes_itself,
    rank_paces,
    ranks_apart,
    wandering_of,
)
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# A rank that is less late holds nobody up, however sure it is: 1 % of the time between two
# collectives, and what a kernel's start on a device varies by. Chosen, not measured.
_MIN_SHARE = 0.01
_MIN_LATE_PS = 20 * PS_PER_US
# A wait beyond so many median waits is an event of its own. Chosen, not measured.
_LONG_WAIT_FACTOR = 5.0
_MIN_LONG_WAITS = 3
# Long waits so few calls apart are one: what holds up one step may show in several. Chosen.
_CALLS_OF_ONE_WAIT = 3
_SEEMS_LATE_ERRORS = 2.0  # of a rank that is not named: what a person would take for late
# Fewer ask for a lateness of 13 and more times what stretches of the run vary by. Chosen.
_MIN_FREEDOM = 3
_FEW_RANKS = 3  # too few to tell by their scatter what wandering does


def run_calls(opened: Opened) -> tuple[RankCalls, ...]:
    """The collectives of every rank of a run. Read once."""
    return opened.cached("rank calls", lambda: tuple(rank_calls(opened.run.traces)))


def run_lateness(opened: Opened) -> Lateness | None:
    """Arrivals at the collectives that the ranks of a run share; None where there are none."""

    def make() -> Lateness | None:
        matched = match_ranks(run_calls(opened))
        if matched is not None and len(matched):
            return Lateness(matched)
        return None

    return opened.cached("lateness", make)


class LateRank(NamedTuple):
    """A rank that holds the others up."""

    rank: int
    late_ps: float  # after the median of the others: in every call, or in those it was late to
    half_ps: float  # half of the 95 % interval
    calls: int  # that it is late to
    always: bool  # False: now and then, and like the others in between


@dataclass(frozen=True, eq=False)
class Lateness:
    """Arrivals at collectives of all ranks, [calls × ranks], ps; NaN where a rank takes no part."""

    matched: MatchedCollectives

    @functools.cached_property
    def arrivals(self) -> Floats:
        """On one clock."""
        return self.matched.arrivals()

    @functools.cached_property
    def last(self) -> Int64s:
        """The rank that arrived last at each call."""
        return np.asarray(np.nanargmax(self.arrivals, axis=1), np.int64)

    @functools.cached_property
    def waits(self) -> Floats:
        """How long each rank waited for the last in each call."""
        last_arrival = np.nanmax(self.arrivals, axis=1)[:, None]
        return np.asarray(last_arrival - self.arrivals, np.float64)

    @functools.cached_property
    def spread(self) -> Floats:
        """From the first arrival to the last, of each call."""
        return np.asarray(np.nanmax(self.waits, axis=1), np.float64)

    @functools.cached_property
    def held_up(self) -> Floats:
        """By how much each call would have begun earlier, had its last rank come with the one
        before.
        """
        is_absent = np.isnan(self.waits)
        waits = np.where(is_absent, np.inf, self.waits)
        in_order = np.sort(waits, axis=1)
        shortest_but_one = in_order[:, 1]
        return np.asarray(shortest_but_one, np.float64)

    @property
    def unsure(self) -> int:
        """Calls whose last two arrived within the error of the clocks."""
        half = max(clock.half_ps for clock in self.matched.clocks)
        return int((self.held_up < half).sum())

    @functools.cached_property
    def late(self) -> Floats:
        """How long after the median of the others each rank arrived at each call."""
        return self.arrivals - medians_of_others(self.arrivals)

    @functools.cached_property
    def mean_late(self) -> Floats:
        """How long after the others each rank arrived on average; NaN where it took part in none.

        Times are averaged before ranks are compared: where now and then a call takes long, whatever
        its rank, each rank's mean would be above the median of the others, though all are alike.
        """
        ranks = self.arrivals.shape[1]
        sums = np.zeros(ranks)
        counts = np.zeros(ranks)
        for is_in, calls in self.groups:
            arrivals = self.arrivals[calls][:, is_in]
            after_first_rank = arrivals - arrivals[:, :1]
            means = after_first_rank.mean(axis=0)[None, :]
            late = (means - medians_of_others(means))[0]
            sums[is_in] += late * len(calls)
            counts[is_in] += len(calls)
        means_of_all = sums / np.maximum(counts, 1)
        return np.where(counts > 0, means_of_all, np.nan)

    @functools.cached_property
    def groups(self) -> list[tuple[Bools, Int64s]]:
        """The groups of ranks that meet: which ranks, and their calls in order."""
        groups, group_of_call = np.unique(self.matched.is_in, axis=0, return_inverse=True)
        group_of_call = group_of_call.reshape(-1)
        calls_by_group = []
        for number, is_in in enumerate(groups):
            calls = np.flatnonzero(group_of_call == number)
            calls_by_group.append((is_in, calls))
        return calls_by_group

    @functools.cached_property
    def paces(self) -> list[RankPace]:
        """How late ranks are on average, the latest first."""
        return rank_paces(self.late, self.mean_late)

    @functools.cached_property
    def period_ps(self) -> float:
        """The median time from one call to the next."""
        begins = np.sort(np.nanmax(self.arrivals, axis=1))
        if len(begins) > 1:
            return median_of_column(np.diff(begins))
        return 0.0

    def caused(self) -> Floats:
        """For each rank, what all others together waited in the calls it was last to, ps."""
        sums = np.nansum(self.waits, axis=1)
        sums_by_rank = np.bincount(self.last, weights=sums, minlength=self.arrivals.shape[1])
        return np.asarray(sums_by_rank, np.float64)

    @property
    def mean_waits(self) -> Floats:
        """How long the others waited in each call, on average, ps."""
        others = self.matched.is_in.sum(axis=1) - 1
        waits = np.nansum(self.waits, axis=1)
        return np.asarray(waits / others, np.float64)

    def waited(self) -> Floats:
        """What each rank waited in all calls, ps."""
        return np.asarray(np.nansum(self.waits, axis=0), np.float64)


def medians_of_others(times: Floats) -> Floats:
    """For each cell of a table the median of the other ones in its row that are not NaN; every row
    has two of them. One sort does for all ranks.
    """
    order = np.argsort(times, axis=1, kind="stable")  # NaN is last
    in_order = np.take_along_axis(times, order, axis=1)
    place = np.argsort(order, axis=1, kind="stable")
    is_there = ~np.isnan(times)
    others = is_there.sum(axis=1)[:, None] - 1

    def nth(n: Int64s) -> Floats:
        """The n-th of the others: those from the cell's own place on are one further."""
        place_in_row = n + (n >= place)
        values = np.take_along_axis(in_order, place_in_row, axis=1)
        return np.asarray(values, np.float64)

    lower = np.broadcast_to((others - 1) // 2, times.shape)
    upper = np.broadcast_to(others // 2, times.shape)
    both = nth(lower) + nth(upper)
    return np.asarray(both / 2, np.float64)


def late_ranks(lateness: Lateness) -> list[LateRank]:
    """The ranks that hold the others up beyond noise, the worst first."""
    # A block holds a call at least.
    if len(lateness.matched) < MIN_BLOCKS:
        return []
    late_ones = list(_always_late(lateness))
    named = {late.rank for late in late_ones}
    late_ones += [late for late in _sometimes_late(lateness) if late.rank not in named]
    return sorted(late_ones, key=lambda late: -late.late_ps * late.calls)


def _always_late(lateness: Lateness) -> Iterator[LateRank]:
    """Those whose mean lateness is beyond what blocks of calls vary by, or what ranks vary by."""
    paces = lateness.paces
    least_ps = max(_MIN_LATE_PS, _MIN_SHARE * lateness.period_ps)
    members = lateness.matched.is_in.sum(axis=1)
    in_pairs = int(members.max()) == 2
    apart = ranks_apart(paces, in_pairs=in_pairs)
    limit_of_chance = MAX_CHANCE / lateness.arrivals.shape[1]
    for pace in paces:
        # The error of the clocks is the same in all calls: no mean makes it smaller.
        clock_half = _clock_half(lateness, pace.rank)
        if pace.mean - clock_half <= least_ps:
            continue
        others = [other for other in paces if other is not pace]
        wanders = wandering_of(others if can_compare_ranks(paces) else paces).wanders
        error, freedom = _steady_error(pace, paces, others)
        if pace.rank in apart:
            # Where nobody wanders, a rank's own blocks tell its error better.
            if wanders:
                error, freedom = apart[pace.rank]
        else:
            if can_compare_ranks(paces) and (wanders or changes_itself(pace)):
                continue
            if pace.mean - clock_half < student.upper_quantile(freedom, limit_of_chance) * error:
                continue
        half = math.hypot(student.upper_quantile(freedom, 0.025) * error, clock_half)
        yield LateRank(
            rank=pace.rank,
            late_ps=pace.mean,
            half_ps=half,
            calls=pace.calls,
            always=True,
        )


def _steady_error(pace: RankPace, paces: list[RankPace], others: list[RankPace]) -> MeanError:
    """What the mean of a rank varies by, by its own blocks and those of the others."""
    freedom = pace.blocks - 1
    if len(paces) > _FEW_RANKS:
        # A rank that happened to have no long wait says too little of them.
        usual = median_of_column([other.error for other in others])
        return MeanError(max(pace.error, usual), freedom)
    # Two or three ranks cannot show whether they wander.
    wandering = wandering_of(paces, cautious=True)
    own_block_ps = pace.error * math.sqrt(pace.blocks)
    block_ps = max(own_block_ps, wandering.block_ps)
    error = block_ps * wandering.mean_share
    informative = round(freedom * wandering.informative_share)
    return MeanError(error, max(_MIN_FREEDOM, informative))


class Wander(NamedTuple):
    """The latest of ranks whose pace wanders so much that it may be late by chance."""

    rank: int
    late_ps: float  # its mean
    scatter_ps: float  # of the means of the other ranks; of two ranks, of stretches of the run
    of_stretches: bool


def wander(lateness: Lateness) -> Wander | None:
    """What makes a late rank hard to tell; None where pace does not wander or none is late."""
    paces = lateness.paces
    if len(paces) < 2:
        return None
    latest = paces[0]
    least_ps = max(_MIN_LATE_PS, _MIN_SHARE * lateness.period_ps)
    if latest.mean <= least_ps:
        return None
    if not can_compare_ranks(paces):
        if latest.mean < _SEEMS_LATE_ERRORS * latest.error:
            return None
        of_stretches = latest.error * math.sqrt(latest.blocks)
        return Wander(
            rank=latest.rank,
            late_ps=latest.mean,
            scatter_ps=of_stretches,
            of_stretches=True,
        )
    earlier = paces[1:]
    if not wandering_of(earlier).wanders:
        return None
    means = [pace.mean for pace in earlier]
    scatter = float(np.std(means, ddof=1))
    return Wander(
        rank=latest.rank,
        late_ps=latest.mean,
        scatter_ps=scatter,
        of_stretches=False,
    )


def _sometimes_late(lateness: Lateness) -> Iterator[LateRank]:
    """Those that are last in nearly all of the calls that take unusually long."""
    is_long = _takes_long(lateness)
    begins = _begins_of_waits(lateness, is_long)
    is_in = lateness.matched.is_in
    sizes = is_in.sum(axis=1)
    ranks = lateness.arrivals.shape[1]
    for rank in wire.distinct(lateness.last[begins]).tolist():
        # Only calls that it takes part in may find it last, and of two ranks one always is.
        of_group = begins & is_in[:, rank]
        times = int(of_group.sum())
        is_last = lateness.last[of_group] == rank
        of_rank = int(is_last.sum())
        if of_rank < _MIN_LONG_WAITS:
            continue
        chances = 1 / sizes[of_group]
        chance = float(chances.mean())
        if ranks * _tail(times, of_rank, chance) > MAX_CHANCE:
            continue
        calls = is_long & (lateness.last == rank)
        late = lateness.late[calls, rank]
        deviation = float(late.std(ddof=1))
        error = deviation / math.sqrt(len(late))
        clock_half = _clock_half(lateness, rank)
        half = math.hypot(2 * error, clock_half)
        yield LateRank(
            rank=rank,
            late_ps=float(late.mean()),
            half_ps=half,
            calls=len(late),
            always=False,
        )


def _begins_of_waits(lateness: Lateness, is_long: Bools) -> Bools:
    """The first call of each long wait. What holds up one step may show in several calls of its
    ranks: those in a row, or nearly so, count once.
    """
    begins = np.zeros(len(is_long), np.bool_)
    for _, calls in lateness.groups:
        of_group = is_long[calls]
        first = of_group.copy()
        for calls_before in range(1, _CALLS_OF_ONE_WAIT + 1):
            first[calls_before:] &= ~of_group[:-calls_before]
        begins[calls] = first
    return begins


def _clock_half(lateness: Lateness, rank: int) -> float:
    """Half of the 95 % interval of a rank's clock against those of the others."""
    halves = [clock.half_ps for clock in lateness.matched.clocks]
    own = halves.pop(rank)
    usual = median_of_column(halves)
    return math.hypot(own, usual / math.sqrt(len(halves)))


def _tail(count: int, least: int, chance: float) -> float:
    """The chance of at least so many of `count` tries."""
    return sum(
        math.comb(count, n) * chance**n * (1 - chance) ** (count - n)
        for n in range(least, count + 1)
    )


def shown_calls(lateness: Lateness, most: int) -> Int64s:
    """The calls with the longest waits, the longest first."""
    return np.argsort(-lateness.spread, kind="stable")[:most]


def late_in(lateness: Lateness, late: LateRank) -> Bools:
    """The calls that a late rank is late to."""
    if late.always:
        arrivals = lateness.arrivals[:, late.rank]
        return np.asarray(~np.isnan(arrivals))
    is_last = lateness.last == late.rank
    return np.asarray(_takes_long(lateness) & is_last)


def _takes_long(lateness: Lateness) -> Bools:
    """The calls that take unusually long because of one rank."""
    usual = median_of_column(lateness.spread)
    least_ps = max(
        _MIN_LATE_PS,
        _MIN_SHARE * lateness.period_ps,
        _LONG_WAIT_FACTOR * usual,
    )
    return lateness.held_up > least_ps
