"""Places that may be the right one though they cost more than the best.

What no trace shows has a price by how likely it is to come, and to go on, and that price is a
guess. A place that leaves clearly less of the whole log to it than the best one does is a rival.
So is one close by that leaves hardly more of the same readings: an alias.
"""

from __future__ import annotations

import numpy as np

from powertui.data.energy import coarse_search, settings
from powertui.data.energy.alignment_places import SURE_S
from powertui.data.energy.offset_costs import OffsetChoices, OffsetCosts
from powertui.data.energy.offset_search import MAX_BASINS, NEGLIGIBLE_COST
from powertui.data.energy.other_stretches import MAX_LEFT, MAX_LEFT_SIGMAS
from powertui.data.model import Floats
from powertui.named_tuples import NamedTuple

# What half and twice of a value do to 27 logs stands in docs/energy-evidence.md.

# A place is looked at as a rival up to this times the negligible cost.
_RIVAL_COST_FACTOR = 4.0
# Standard errors by which a rival must explain more of the log: chance alone does so one time in
# twenty. Half: 1 lost. Twice: a cut log is sure and wrong. 1.64 was best with one recording left
# out at a time, each of 16 times.
_RIVAL_STANDARD_ERRORS = 1.64
# A place so near (a share of the profile) that it explains the same readings …
_MAX_ALIAS_SHARE = settings.MINOR_SHARE


class Rival(NamedTuple):
    """A place that costs more than the best, and explains more."""

    offset_s: float
    cost: float


def better_place(
    model: OffsetCosts,
    choices: OffsetChoices,
    best: int,
    near: float,
) -> Rival | None:
    """Another place at which clearly less power, of the whole log, is left to what no trace
    shows, though it costs more: how likely that is to come, and to go on, is a guess.
    """
    limit = _RIVAL_COST_FACTOR * NEGLIGIBLE_COST * model.like.alike
    is_rival = choices.cost - choices.cost[best] < limit
    is_rival[best] = True
    rivals = choices.rows(is_rival)
    centres = coarse_search.separated(rivals.offsets, rivals.cost, near, MAX_BASINS)
    unexplained = []
    for centre in centres.tolist():
        row = _cheapest_at(rivals, centre)
        unexplained.append(_unexplained(model, rivals, row))
    saved = unexplained[0] - np.array(unexplained)
    gained = saved.sum(axis=1)
    # Neighbors are alike, and so is what they leave.
    squares = (saved**2).sum(axis=1)
    error = np.sqrt(model.like.alike * squares)
    by_chance = _RIVAL_STANDARD_ERRORS * error
    winner = int(np.argmax(gained - by_chance))
    if gained[winner] <= by_chance[winner] + model.like.scale:
        return None
    offset = float(centres[winner])
    costs_there = rivals.cost[rivals.offsets == offset]
    return Rival(offset, float(costs_there.min()))


def _cheapest_at(choices: OffsetChoices, offset: float) -> int:
    """The row of the cheapest way of averaging at an offset."""
    # They differ by rounding alone.
    is_here = np.abs(choices.offsets - offset) < 1e-9
    cost = np.where(is_here, choices.cost, np.inf)
    return int(np.argmin(cost))


def _unexplained(model: OffsetCosts, choices: OffsetChoices, row: int) -> Floats:
    """What a fit leaves of each reading beyond an ordinary residual."""
    residual, _ = model.residuals(
        float(choices.offsets[row]),
        choices.watts[row],
        model.data,
        float(choices.way[row]),
    )
    size = np.abs(residual)
    return np.maximum(size - model.like.scale, 0.0)


def aliases(
    model: OffsetCosts,
    choices: OffsetChoices,
    best: int,
    near: float,
) -> tuple[float, ...]:
    """Other places close by that leave hardly more of the same readings."""
    first, last = model.shares.span
    distance = np.abs(choices.offsets - choices.offsets[best])
    least_s = max(SURE_S, model.data.refresh / 10, near)
    most_s = _MAX_ALIAS_SHARE * (last - first)
    is_close = (distance > least_s) & (distance < most_s)
    close = choices.rows(is_close)
    if not len(close.cost):
        return ()
    limit = MAX_LEFT * _mean_square_left(model, choices, best)
    offsets = coarse_search.separated(close.offsets, close.cost, least_s, MAX_BASINS)
    alike = []
    for offset in offsets.tolist():
        row = _cheapest_at(close, offset)
        if _mean_square_left(model, close, row) < limit:
            alike.append(offset)
    return tuple(alike)


def _mean_square_left(model: OffsetCosts, choices: OffsetChoices, row: int) -> float:
    """The mean square of what a fit leaves of the readings in the profile."""
    residual, is_inside = model.residuals(
        float(choices.offsets[row]),
        choices.watts[row],
        model.data,
        float(choices.way[row]),
    )
    most = MAX_LEFT_SIGMAS * model.like.scale
    size = np.minimum(np.abs(residual[is_inside]), most)
    if not len(size):
        return np.inf
    return float(np.mean(size**2))
