"""Which rank comes last to collectives, beyond noise, and what the others wait for it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from powertui.data import wire
from powertui.data.model import PS_PER_US, Bools, Floats, Int64s
from powertui.data.opened import Opened
from powertui.data.run.rank_collectives import RankCalls, rank_calls
from powertui.data.run.rank_matching import MatchedCollectives, match_ranks
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Neighbors share what made them late, so calls are judged by means of blocks of neighbors. Chosen:
# blocks of 1/16 of the calls are longer than the steps that make neighbors alike.
_MAX_BLOCKS = 16
_MIN_BLOCKS = 8
# Of a run whose ranks are alike, one is named by chance in so many. Held by bench collectives.
_MAX_CHANCE = 0.005
# A rank that is less late holds nobody up, however sure it is: 1 % of the time between two
# collectives, and what a kernel's start on a device varies by. Chosen, not measured.
_MIN_SHARE = 0.01
_MIN_LATE_PS = 20 * PS_PER_US
# A wait beyond so many median waits is an event of its own. Chosen, not measured.
_LONG_WAIT_FACTOR = 5.0
_MIN_LONG_WAITS = 3
# Blocks more like the next one than this are of ranks whose pace wanders. Chosen: of independent
# calls the likeness of 16 blocks has a standard error of 0.25 a rank, about 0.1 in the median of
# eight.
_MAX_LIKENESS = 0.1
_MAX_COUNTED_LIKENESS = 0.9  # 16 blocks tell no more
# Ranks that show by their scatter what wandering does, and late ranks beside them. Chosen.
_MIN_ALIKE = 4
_MAX_APART = 8
_SIMPSON_INTERVALS = 200  # with them the tail of Student's t is exact to 1e-12


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
        return np.asarray(np.nanmax(self.arrivals, axis=1)[:, None] - self.arrivals, np.float64)

    @functools.cached_property
    def spread(self) -> Floats:
        """From the first arrival to the last, of each call."""
        return np.asarray(np.nanmax(self.waits, axis=1), np.float64)

    @functools.cached_property
    def held_up(self) -> Floats:
        """By how much each call would have begun earlier, had its last rank come with the one
        before.
        """
        in_order = np.sort(np.where(np.isnan(self.waits), np.inf, self.waits), axis=1)
        return np.asarray(in_order[:, 1], np.float64)

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
    def period_ps(self) -> float:
        """The median time from one call to the next."""
        begins = np.sort(np.nanmax(self.arrivals, axis=1))
        if len(begins) > 1:
            return float(np.median(np.diff(begins)))
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
        return np.asarray(np.nansum(self.waits, axis=1) / others, np.float64)

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
    others = (~np.isnan(times)).sum(axis=1)[:, None] - 1

    def nth(n: Int64s) -> Floats:
        """The n-th of the others: those from the cell's own place on are one further."""
        return np.asarray(np.take_along_axis(in_order, n + (n >= place), axis=1), np.float64)

    lower = np.broadcast_to((others - 1) // 2, times.shape)
    upper = np.broadcast_to(others // 2, times.shape)
    return np.asarray((nth(lower) + nth(upper)) / 2, np.float64)


def late_ranks(lateness: Lateness) -> list[LateRank]:
    """The ranks that hold the others up beyond noise, the worst first."""
    if len(lateness.matched) < _MIN_BLOCKS:
        return []
    steady = list(_always_late(lateness))
    named = {late.rank for late in steady}
    steady += [late for late in _sometimes_late(lateness) if late.rank not in named]
    return sorted(steady, key=lambda late: -late.late_ps * late.calls)


def _always_late(lateness: Lateness) -> Iterator[LateRank]:
    """Those whose mean lateness is beyond what blocks of calls vary by, or what ranks vary by."""
    paces = _paces(lateness)
    if not paces:
        return
    least_ps = max(_MIN_LATE_PS, _MIN_SHARE * lateness.period_ps)
    count = lateness.arrivals.shape[1]
    likeness = _likeness(paces)
    wanders = likeness > _MAX_LIKENESS
    enough = len(paces) >= _MIN_ALIKE + 1
    apart = _apart(paces) if enough else {}
    for pace in paces:
        # The error of the clocks is the same in all calls: no mean makes it smaller.
        clock_half = _clock_half(lateness, pace.rank)
        if pace.mean - clock_half <= least_ps:
            continue
        error, freedom = pace.error, pace.blocks - 1
        if wanders:
            # Blocks that are like their neighbors tell as much as fewer that are not.
            alike = max(0.0, min(_MAX_COUNTED_LIKENESS, max(likeness, pace.likeness)))
            error *= math.sqrt((1 + alike) / (1 - alike))
            freedom = max(1, int(freedom * (1 - alike) / (1 + alike)))
        beyond = pace.mean - clock_half >= _t_limit(freedom, count) * error
        if pace.rank not in apart and (not beyond or (wanders and enough)):
            continue
        half = t_quantile(freedom, 0.025) * error
        if wanders and pace.rank in apart:
            half = apart[pace.rank]
        yield LateRank(pace.rank, pace.mean, math.hypot(half, clock_half), pace.calls, always=True)


class Wander(NamedTuple):
    """The latest of ranks whose pace wanders so much that it may be late by chance."""

    rank: int
    late_ps: float  # its mean
    scatter_ps: float  # of the means of the other ranks


def wander(lateness: Lateness) -> Wander | None:
    """What makes a late rank hard to tell; None where pace does not wander or none is late."""
    paces = sorted(_paces(lateness), key=lambda pace: -pace.mean)
    if len(paces) < 3 or _likeness(paces) <= _MAX_LIKENESS:
        return None
    latest = paces[0]
    if latest.mean <= max(_MIN_LATE_PS, _MIN_SHARE * lateness.period_ps):
        return None
    scatter = float(np.std([pace.mean for pace in paces[1:]], ddof=1))
    return Wander(latest.rank, latest.mean, scatter)


class _Pace(NamedTuple):
    """How late a rank was on average, and what blocks of calls say of that."""

    rank: int
    mean: float
    error: float
    blocks: int
    calls: int
    likeness: float  # correlation of a block with the next one


def _paces(lateness: Lateness) -> list[_Pace]:
    """Those of the ranks that take part in enough calls."""
    paces = []
    for rank in range(lateness.arrivals.shape[1]):
        late = lateness.late[~np.isnan(lateness.arrivals[:, rank]), rank]
        if len(late) < _MIN_BLOCKS:
            continue
        blocks = np.array_split(late, min(_MAX_BLOCKS, len(late)))
        means = np.array([block.mean() for block in blocks])
        error = float(means.std(ddof=1)) / math.sqrt(len(means))
        off = means - means.mean()
        squares = float((off**2).sum())
        likeness = float((off[1:] * off[:-1]).sum()) / squares if squares else 0.0
        # Around their own mean, blocks that are not alike have -1 / blocks.
        likeness += 1 / len(means)
        paces.append(_Pace(rank, float(late.mean()), error, len(means), len(late), likeness))
    return paces


def _likeness(paces: list[_Pace]) -> float:
    """How alike neighboring blocks are on the ranks in general, one late in spells aside."""
    return float(np.median([pace.likeness for pace in paces]))


def _apart(paces: list[_Pace]) -> dict[int, float]:
    """The latest ranks whose means stand apart from those of the rest, with half of the 95 %
    interval. Means of ranks that are alike may change places, however much each of them wanders,
    so that their scatter tells what wandering alone does.
    """
    in_order = sorted(paces, key=lambda pace: -pace.mean)
    means = np.array([pace.mean for pace in in_order])
    count = len(means)
    for late in range(min(_MAX_APART, count - _MIN_ALIKE), 0, -1):
        rest = means[late:]
        scatter = float(rest.std(ddof=1)) * math.sqrt(1 + 1 / len(rest))
        freedom = len(rest) - 1
        limit = t_quantile(freedom, _MAX_CHANCE / math.comb(count, late))
        if means[late - 1] - float(rest.mean()) >= limit * scatter:
            half = t_quantile(freedom, 0.025) * scatter
            return {pace.rank: half for pace in in_order[:late]}
    return {}


def _sometimes_late(lateness: Lateness) -> Iterator[LateRank]:
    """Those that are last in nearly all of the calls that take unusually long."""
    spread = lateness.spread
    usual = float(np.median(spread))
    least_ps = max(_MIN_LATE_PS, _MIN_SHARE * lateness.period_ps, _LONG_WAIT_FACTOR * usual)
    is_long = lateness.held_up > least_ps
    # What holds up one step may show in several calls: those in a row count once.
    begins = is_long & ~np.concatenate([[False], is_long[:-1]])
    times = int(begins.sum())
    ranks = lateness.arrivals.shape[1]
    if times < _MIN_LONG_WAITS:
        return
    for rank in wire.distinct(lateness.last[begins]).tolist():
        of_rank = int((lateness.last[begins] == rank).sum())
        if of_rank < _MIN_LONG_WAITS or ranks * _tail(times, of_rank, 1 / ranks) > _MAX_CHANCE:
            continue
        calls = is_long & (lateness.last == rank)
        late = lateness.late[calls, rank]
        error = float(late.std(ddof=1)) / math.sqrt(len(late))
        half = math.hypot(2 * error, _clock_half(lateness, rank))
        yield LateRank(rank, float(late.mean()), half, len(late), always=False)


def _clock_half(lateness: Lateness, rank: int) -> float:
    """Half of the 95 % interval of a rank's clock against those of the others."""
    halves = [clock.half_ps for clock in lateness.matched.clocks]
    own = halves.pop(rank)
    return math.hypot(own, float(np.median(halves)) / math.sqrt(len(halves)))


def _t_limit(freedom: int, ranks: int) -> float:
    """Student's t that one of so many alike ranks exceeds in `_MAX_CHANCE` of the runs."""
    return t_quantile(freedom, _MAX_CHANCE / ranks)


@functools.lru_cache(maxsize=256)
def t_quantile(freedom: int, tail: float) -> float:
    """Where the upper tail of Student's t is so large, by halving."""
    low, high = 0.0, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        if _t_tail(middle, freedom) > tail:
            low = middle
        else:
            high = middle
    return high


def _t_tail(t: float, freedom: int) -> float:
    """The upper tail of Student's t, by Simpson's rule over the angle atan(t / √freedom)."""
    angle = math.atan(t / math.sqrt(freedom))
    # cos(θ)^(freedom - 1) integrates to the distribution.
    angles = np.linspace(angle, math.pi / 2, _SIMPSON_INTERVALS + 1)
    density = np.cos(angles) ** (freedom - 1)
    weights = np.ones(_SIMPSON_INTERVALS + 1)
    weights[1:-1:2] = 4
    weights[2:-1:2] = 2
    width = math.pi / 2 - angle
    integral = float((weights * density).sum()) * width / (3 * _SIMPSON_INTERVALS)
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    return integral * math.exp(log_scale) / math.sqrt(math.pi)


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
        return np.asarray(~np.isnan(lateness.arrivals[:, late.rank]))
    usual = float(np.median(lateness.spread))
    least_ps = max(_MIN_LATE_PS, _MIN_SHARE * lateness.period_ps, _LONG_WAIT_FACTOR * usual)
    return np.asarray((lateness.held_up > least_ps) & (lateness.last == late.rank))
