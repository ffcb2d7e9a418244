"""How late each rank is on average, how far the pace of ranks wanders, and which ranks stand apart
from what that wandering brings about by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from powertui.data import student
from powertui.data.model import Floats
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

# Neighbors share what made them late, so calls are judged by means of blocks of neighbors. Chosen:
# blocks of 1/16 of the calls are longer than the steps that make neighbors alike.
_MAX_BLOCKS = 16
MIN_BLOCKS = 8
# Of a run whose ranks are alike, one is named by chance in so many. Held by bench collectives.
MAX_CHANCE = 0.005


@dataclass(frozen=True)
class _WanderRule:
    """When paces wander, and when a rank stands apart from ranks that do. Chosen on seeds 0 to 99
    of 21 ways to wander, 4 to 32 ranks each.
    """

    # Blocks more like the next one than this, and than one standard error more, are of ranks whose
    # pace wanders. At twice the value a walk is missed with 4 ranks, at half of it independent
    # calls of 4 ranks are called wandering.
    max_likeness: float = 0.1
    max_counted_likeness: float = 0.95  # 16 blocks tell no more
    # A rank's own blocks more like one another than this (two standard errors) tell of a change.
    max_own_likeness: float = 0.5
    least_alike: int = 2  # ranks that show by their scatter what wandering does
    most_apart: int = 8  # late ranks beside them
    # From the next rank, in standard errors. At 2, of 32 ranks with steps of exponential sizes one
    # is named in 27 % instead of 16 %; what is late by 10 % is found as often.
    least_gap: float = 3.0
    # A few long waits make no rank late on average: so many count no more than the next one.
    few_calls: int = 3
    few_share: float = 0.02


_RULE = _WanderRule()


class RankPace(NamedTuple):
    """How late a rank was on average, and what blocks of calls say of that."""

    rank: int
    mean: float
    firm_mean: float  # with its few longest waits cut to the next one
    error: float  # standard error, if blocks are independent
    blocks: int
    calls: int
    squares: float  # of the blocks around their own mean, summed
    products: float  # of each block and the next one around it, summed

    @property
    def likeness(self) -> float:
        """Correlation of a block with the next one."""
        return _likeness_of_blocks([self])


class Wandering(NamedTuple):
    """How far the pace of some ranks wanders."""

    likeness: float  # of a block and the next one
    block_ps: float  # standard deviation of blocks, over time and ranks
    mean_share: float  # … of a rank's mean, as a share of it
    informative_share: float  # of the blocks, as many independent ones tell as much
    ranks: int

    @property
    def wanders(self) -> bool:
        """Whether the next block is like the one before, beyond chance."""
        one_error = 1 / math.sqrt(_MAX_BLOCKS * self.ranks)
        return self.likeness > _RULE.max_likeness + one_error

    @property
    def mean_error(self) -> float:
        """What a rank's mean varies by, by what blocks do."""
        return self.block_ps * self.mean_share


class MeanError(NamedTuple):
    """A standard error and its degrees of freedom."""

    error: float
    freedom: int


def rank_paces(late: Floats, mean_late: Floats) -> list[RankPace]:
    """Those of the ranks that take part in enough calls, the latest first; `late`: [calls × ranks],
    NaN where a rank takes no part.
    """
    paces = []
    for rank, mean in enumerate(mean_late.tolist()):
        takes_part = ~np.isnan(late[:, rank])
        of_rank = late[takes_part, rank]
        if len(of_rank) >= MIN_BLOCKS:
            paces.append(_pace(rank, of_rank, mean))
    return sorted(paces, key=lambda pace: -pace.mean)


def _pace(rank: int, late: Floats, mean: float) -> RankPace:
    calls = len(late)
    blocks = np.array_split(late, min(_MAX_BLOCKS, calls))
    means = np.array([block.mean() for block in blocks])
    off = means - means.mean()
    few_calls = max(_RULE.few_calls, round(_RULE.few_share * calls))
    longest = np.sort(late)[-few_calls - 1 :]
    beyond_usual = longest - longest[0]
    deviation = float(means.std(ddof=1))
    products = off[1:] * off[:-1]
    return RankPace(
        rank=rank,
        mean=mean,
        firm_mean=mean - float(beyond_usual.sum()) / calls,
        error=deviation / math.sqrt(len(means)),
        blocks=len(means),
        calls=calls,
        squares=float((off**2).sum()),
        products=float(products.sum()),
    )


def _likeness_of_blocks(paces: Sequence[RankPace]) -> float:
    """Correlation of a block with the next one, of all these ranks together."""
    squares = sum(pace.squares for pace in paces)
    if not squares:
        return 0.0
    blocks = sum(pace.blocks for pace in paces) / len(paces)
    likeness = sum(pace.products for pace in paces) / squares
    # Around their own mean, few blocks look less alike than they are, by (1 + 4 × likeness) / n
    # (Kendall 1954).
    bias = 1 / blocks
    return (likeness + bias) / (1 - 4 / blocks)


def wandering_of(paces: Sequence[RankPace], *, cautious: bool = False) -> Wandering:
    """How far these ranks wander; cautious: their blocks may be more alike by a standard error."""
    count = len(paces)
    blocks = sum(pace.blocks for pace in paces) / count
    likeness = _likeness_of_blocks(paces)
    counted = likeness
    if cautious:
        standard_error = 1 / math.sqrt(_MAX_BLOCKS * count)
        counted += standard_error / (1 - 4 / blocks)
    alike = min(_RULE.max_counted_likeness, max(0.0, counted))
    squares = sum(pace.squares for pace in paces)
    variance = squares / sum(pace.blocks - 1 for pace in paces)
    if count > _RULE.least_alike:
        means = [pace.mean for pace in paces]
        variance += float(np.var(means))
    mean_variance_share = (1 + alike) / (1 - alike) / blocks
    return Wandering(
        likeness=likeness,
        block_ps=math.sqrt(variance),
        mean_share=math.sqrt(min(1.0, mean_variance_share)),
        informative_share=(1 - alike) / (1 + alike),
        ranks=count,
    )


def can_compare_ranks(paces: Sequence[RankPace]) -> bool:
    """Whether there are ranks enough beside a late one to show what wandering does."""
    return len(paces) > _RULE.least_alike


def changes_itself(pace: RankPace) -> bool:
    """Whether a rank's own pace changes, whatever the others' do."""
    return pace.likeness > _RULE.max_own_likeness


def ranks_apart(paces: Sequence[RankPace], *, in_pairs: bool) -> dict[int, MeanError]:
    """The latest ranks whose means stand apart from those of the rest, with the error of a mean.

    Means of ranks that are alike may change places, however much each of them wanders, so that
    their scatter tells what wandering alone does. Few ranks tell that badly: what their blocks say
    of it counts as much. `in_pairs`: of two ranks that only meet each other, one is as early as the
    other is late; both tell as much as one, and the partner of a late rank is not of the rest.
    """
    count = len(paces)
    partners = 2 if in_pairs else 1
    most = (count - _RULE.least_alike) // partners
    for late in range(min(_RULE.most_apart, most), 0, -1):
        if in_pairs:
            rest = paces[late : count - late]
            freedom = len(rest) // 2
        else:
            rest = paces[late:]
            freedom = 2 * (len(rest) - 1)
        means = [pace.mean for pace in rest]
        wandering = wandering_of(rest)
        scatter = float(np.var(means, ddof=1))
        variance = (scatter + wandering.mean_error**2) / 2
        error = math.sqrt(variance * (1 + 1 / len(rest)))
        # One late rank is likelier than two: each more has half of the chance of an error.
        chance = MAX_CHANCE / 2**late / math.comb(count, late)
        limit = student.upper_quantile(freedom, chance)
        late_paces = paces[:late]
        least = min(pace.firm_mean for pace in late_paces)
        gap = late_paces[-1].mean - rest[0].mean
        is_close = wandering.wanders and gap < _RULE.least_gap * error
        mean_of_rest = sum(means) / len(means)
        if least - mean_of_rest >= limit * error and not is_close:
            return {pace.rank: MeanError(error, freedom) for pace in late_paces}
    return {}
