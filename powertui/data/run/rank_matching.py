"""The same collective on all ranks of a run, on one clock: which calls are one, and how far the
clocks of the ranks are apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np

from powertui.data.model import PS_PER_US, Bools, Floats, Int64s
from powertui.data.run.rank_clocks import (
    ClockDifference,
    ends_on_axis,
    nearest_places,
    pair_difference,
    starts_on_axis,
)
from powertui.data.run.rank_collectives import CollectiveKey, RankCalls
from powertui.value_types import dataclass

# Ends of one collective differ by so many standard deviations at the most, once the clocks are
# known, and by 20 µs where those are tiny. Chosen: 1 in 10⁹ of normal ends is further away.
_MAX_SIGMAS_APART = 6.0
_MIN_APART_PS = 20 * PS_PER_US


@dataclass(frozen=True, eq=False)
class MatchedCollectives:
    """The collectives that all ranks of their group have, by time; of each the row in every rank's
    calls.
    """

    ranks: tuple[RankCalls, ...]  # those whose clocks are tied to the first one's
    clocks: tuple[ClockDifference, ...]  # of each rank against the first
    rows: Int64s  # [calls × ranks]; -1 where a rank is not in the call's group
    keys: tuple[CollectiveKey, ...]  # of each call
    untied: tuple[str, ...]  # ranks that share too few collectives with the others
    unmatched: int  # calls of tied ranks that not all of their group have

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_in(self) -> Bools:
        """[calls × ranks]: whether the rank takes part."""
        return self.rows >= 0

    def arrivals(self) -> Floats:
        """[calls × ranks]: when each rank arrived, ps on the first one's clock from the first
        arrival on; NaN where it does not take part.
        """
        return self._on_first_clock([starts_on_axis(rank) for rank in self.ranks])

    def departures(self) -> Floats:
        """The same of when each left."""
        return self._on_first_clock([ends_on_axis(rank) for rank in self.ranks])

    def _on_first_clock(self, times: Sequence[Int64s]) -> Floats:
        origin = min(int(starts_on_axis(rank)[0]) for rank in self.ranks)
        moments = np.full(self.rows.shape, np.nan)
        for number, times_of_rank in enumerate(times):
            rows = self.rows[:, number]
            takes_part = rows >= 0
            since_origin = times_of_rank[rows[takes_part]] - origin
            ahead = self.clocks[number].ahead_ps
            moments[takes_part, number] = since_origin - ahead
        return moments


def match_ranks(ranks: Sequence[RankCalls]) -> MatchedCollectives | None:
    """The collectives that ranks share; None for fewer than two ranks that do."""
    if len(ranks) < 2:
        return None
    clocks = _tied_clocks(ranks)
    if len(clocks) < 2:
        return None
    numbers = sorted(clocks)
    tied = [ranks[number] for number in numbers]
    differences = [clocks[number] for number in numbers]
    rows, keys = _matched_rows(tied, differences)
    order = np.argsort(_first_starts(tied, rows), kind="stable")
    total = sum(len(rank) for rank in tied)
    return MatchedCollectives(
        ranks=tuple(tied),
        clocks=tuple(differences),
        rows=rows[order],
        keys=tuple(keys[place] for place in order.tolist()),
        untied=tuple(rank.name for number, rank in enumerate(ranks) if number not in clocks),
        unmatched=total - int((rows >= 0).sum()),
    )


def _tied_clocks(ranks: Sequence[RankCalls]) -> dict[int, ClockDifference]:
    """Of each rank that collectives tie to the first, directly or by way of others, how far its
    clock is ahead.
    """
    clocks = {
        0: ClockDifference(
            ahead_ps=0.0,
            half_ps=0.0,
            spread_ps=0.0,
            matches=0,
        )
    }
    waiting = deque([0])
    while waiting:
        tied = waiting.popleft()
        for number, rank in enumerate(ranks):
            if number in clocks:
                continue
            difference = pair_difference(ranks[tied], rank)
            if difference is None:
                continue
            by_way = clocks[tied]
            clocks[number] = ClockDifference(
                ahead_ps=by_way.ahead_ps + difference.ahead_ps,
                half_ps=float(np.hypot(by_way.half_ps, difference.half_ps)),
                spread_ps=max(by_way.spread_ps, difference.spread_ps),
                matches=difference.matches,
                moved_ps=by_way.moved_ps + difference.moved_ps,
            )
            waiting.append(number)
    return clocks


def _first_starts(ranks: Sequence[RankCalls], rows: Int64s) -> Int64s:
    """When each call began on the first rank that takes part, for their order."""
    starts = np.full(len(rows), np.iinfo(np.int64).max)
    for number, rank in enumerate(ranks):
        takes_part = rows[:, number] >= 0
        moments = starts_on_axis(rank)[rows[takes_part, number]]
        starts[takes_part] = np.minimum(starts[takes_part], moments)
    return starts


def _matched_rows(
    ranks: Sequence[RankCalls],
    clocks: Sequence[ClockDifference],
) -> tuple[Int64s, list[CollectiveKey]]:
    """[calls × ranks] and the key of each call."""
    members: dict[CollectiveKey, list[int]] = {}
    for number, rank in enumerate(ranks):
        for key in rank.keys:
            members.setdefault(key, []).append(number)
    parts = [np.empty((0, len(ranks)), np.int64)]
    keys: list[CollectiveKey] = []
    for key, numbers in members.items():
        if len(numbers) < 2:
            continue
        rows = _rows_of_key(ranks, clocks, key, numbers)
        parts.append(rows)
        keys += [key] * len(rows)
    return np.concatenate(parts), keys


def _rows_of_key(
    ranks: Sequence[RankCalls],
    clocks: Sequence[ClockDifference],
    key: CollectiveKey,
    numbers: Sequence[int],
) -> Int64s:
    """[calls × ranks]: the calls of one operation that all these ranks have."""
    rows_of_rank = {}
    for number in numbers:
        rank = ranks[number]
        is_key = rank.key == rank.keys.index(key)
        rows_of_rank[number] = np.flatnonzero(is_key)
    lead = max(numbers, key=lambda number: len(rows_of_rank[number]))
    lead_rows = rows_of_rank[lead]
    rows = np.full((len(lead_rows), len(ranks)), -1, np.int64)
    rows[:, lead] = lead_rows
    is_complete = np.ones(len(lead_rows), np.bool_)
    for number in numbers:
        if number == lead:
            continue
        places = _partners(
            lead=ranks[lead],
            other=ranks[number],
            lead_rows=lead_rows,
            other_rows=rows_of_rank[number],
            lead_clock=clocks[lead],
            other_clock=clocks[number],
        )
        rows[:, number] = places
        is_complete &= places >= 0
    return rows[is_complete]


def _partners(
    lead: RankCalls,
    other: RankCalls,
    lead_rows: Int64s,
    other_rows: Int64s,
    lead_clock: ClockDifference,
    other_clock: ClockDifference,
) -> Int64s:
    """For each call of one rank the same call of another; -1 where that lacks it."""
    partners = np.full(len(lead_rows), -1, np.int64)
    mine = lead.sequence[lead_rows]
    others = other.sequence[other_rows]
    ahead = round(other_clock.ahead_ps - lead_clock.ahead_ps)
    spread = max(other_clock.spread_ps, lead_clock.spread_ps)
    apart = max(_MIN_APART_PS, _MAX_SIGMAS_APART * spread)
    lead_ends = ends_on_axis(lead)[lead_rows]
    other_ends = ends_on_axis(other)[other_rows] - ahead
    if (mine >= 0).all() and (others >= 0).all():
        _, at_mine, at_others = np.intersect1d(mine, others, return_indices=True)
        if lead_clock.moved_ps or other_clock.moved_ps:
            # Of a clock that was set only the calls count in which it is as it is taken to be.
            distance = np.abs(other_ends[at_others] - lead_ends[at_mine])
            is_near = distance <= apart
            at_mine = at_mine[is_near]
            at_others = at_others[is_near]
        partners[at_mine] = other_rows[at_others]
        return partners
    places = nearest_places(other_ends, lead_ends)
    lead_places = nearest_places(lead_ends, other_ends)
    is_mutual = lead_places[places] == np.arange(len(lead_rows))
    distance = np.abs(other_ends[places] - lead_ends)
    is_same = is_mutual & (distance <= apart)
    partners[is_same] = other_rows[places[is_same]]
    return partners
