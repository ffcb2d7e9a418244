"""Who is called late where the pace of ranks varies in ways that no normal noise has. The arrivals
are drawn here, call by call; nothing of the answers is used for them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from powertui.data.model import Floats
from powertui.data.run.rank_clocks import ClockDifference
from powertui.data.run.rank_collectives import CollectiveKey, RankCalls
from powertui.data.run.rank_matching import MatchedCollectives
from powertui.data.tools.rank_lateness import Lateness, late_ranks

CALLS = 200
STEP_PS = 1e11
KEY = CollectiveKey("allreduce", "", "", "", -1)


def lateness_of(arrivals: Floats) -> Lateness:
    """[calls × ranks] in ps; NaN where a rank takes no part."""
    ranks = []
    rows = np.full(arrivals.shape, -1, np.int64)
    for rank, times in enumerate(arrivals.T):
        start = np.rint(times[~np.isnan(times)]).astype(np.int64)
        rows[~np.isnan(times), rank] = np.arange(len(start))
        zeros = np.zeros(len(start), np.int64)
        ranks.append(
            RankCalls(
                name=f"rank{rank}",
                host=rank,
                start=start,
                end=start + 1,
                key=zeros,
                keys=(KEY,),
                sequence=zeros - 1,
                line=zeros,
                event=zeros,
                zero_ps=0,
                on_clock=True,
                left_out=0,
            )
        )
    clocks = tuple(ClockDifference(0.0, 1e6, 1e6, CALLS) for _ in ranks)
    keys = (KEY,) * len(arrivals)
    return Lateness(MatchedCollectives(tuple(ranks), clocks, rows, keys, (), 0))


def together(work: Floats) -> Lateness:
    """All ranks meet after each of their parts, which are [calls × ranks] in steps."""
    ends = np.cumsum(work.max(axis=1) + 0.03)
    begins = np.concatenate([[0], ends[:-1]])
    return lateness_of((begins[:, None] + work) * STEP_PS)


def in_pairs(work: Floats) -> Lateness:
    """Ranks 0 and 1 meet, 2 and 3 do, and so on."""
    calls, count = work.shape
    arrivals = np.full((calls, count // 2, count), np.nan)
    for first in range(0, count, 2):
        ends = np.cumsum(work[:, first : first + 2].max(axis=1) + 0.03)
        begins = np.concatenate([[0], ends[:-1]])
        pair = slice(first, first + 2)
        arrivals[:, first // 2, pair] = begins[:, None] + work[:, pair]
    arrivals = arrivals.reshape(-1, count)
    order = np.argsort(np.nanmin(arrivals, axis=1), kind="stable")
    return lateness_of(arrivals[order] * STEP_PS)


def lognormal(rng: np.random.Generator, ranks: int) -> Floats:
    """Now and then a call of any rank takes long."""
    return 0.8 + rng.lognormal(-4, 1, (CALLS, ranks))


def jumps(rng: np.random.Generator, ranks: int) -> Floats:
    """The pace of each rank changes once."""
    is_after = np.arange(CALLS)[:, None] / CALLS >= rng.uniform(0.1, 0.9, ranks)
    noise = rng.normal(0, 0.005, (CALLS, ranks))
    return np.asarray(0.8 + noise + rng.normal(0, 0.05, ranks) * is_after)


def slow_waves(rng: np.random.Generator, ranks: int) -> Floats:
    """The pace of each rank comes and goes, slowly."""
    time = np.arange(CALLS)[:, None] / CALLS
    turns = time * rng.uniform(0.3, 4, ranks) + rng.random(ranks)
    return np.asarray(0.8 + rng.normal(0, 0.005, (CALLS, ranks)) + 0.03 * np.sin(2 * np.pi * turns))


@pytest.mark.parametrize("ranks", [2, 4, 8, 32])
@pytest.mark.parametrize("alike", [lognormal, jumps, slow_waves])
@pytest.mark.parametrize("meet", [together, in_pairs])
def test_ranks_that_are_alike_are_not_named(
    ranks: int,
    alike: Callable[[np.random.Generator, int], Floats],
    meet: Callable[[Floats], Lateness],
) -> None:
    named = 0
    for seed in range(12):
        named += bool(late_ranks(meet(alike(np.random.default_rng(seed), ranks))))
    assert named <= 1


@pytest.mark.parametrize("ranks", [4, 8, 32])
def test_two_late_ranks_are_named_with_what_each_is_late_by(ranks: int) -> None:
    held = 0
    for seed in range(20):
        work = np.random.default_rng(seed).normal(0.8, 0.005, (CALLS, ranks))
        work[:, 1] += 0.10
        work[:, 2] += 0.07
        late = {one.rank: one for one in late_ranks(together(work))}
        assert sorted(late) == [1, 2]
        for rank, steps in ((1, 0.10), (2, 0.07)):
            held += abs(late[rank].late_ps - steps * STEP_PS) <= late[rank].half_ps
    assert held >= 34


def test_an_early_rank_makes_no_other_one_late() -> None:
    for seed in range(20):
        work = np.random.default_rng(seed).normal(0.8, 0.02, (CALLS, 8))
        work[:, 3] -= 0.10
        assert late_ranks(together(work)) == []


def test_a_rank_that_is_late_in_spells_is_named_where_ranks_meet_in_pairs() -> None:
    work = np.random.default_rng(3).normal(0.8, 0.005, (CALLS, 8))
    for first in range(20, CALLS, 50):
        work[first : first + 12, 5] += 0.10
    (late,) = late_ranks(in_pairs(work))
    assert late.rank == 5
