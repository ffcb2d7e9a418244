"""Where a power log is on a training, by the moments at which power jumps.

A training's records contain moments at which what the machine does changes: its start and end, the
ends of its epochs, validation, pauses. At the true offset of the log many of its jumps happen at
these moments (`edge_costs`). What slow sensors show of levels instead of jumps is added
(`level_fit`).

The result is a weight for every offset of a grid. What is known of the log's clock beforehand is
not in it: see `clock_check`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data import wire
from powertui.data.energy import (
    alignment_verdict,
    edge_costs,
    edge_rivals,
    level_fit,
    power_jumps,
    settings,
)
from powertui.data.energy.alignment_places import Where
from powertui.data.energy.edge_costs import RULES, EdgeCosts, EdgePlaces, ExpectedEdges
from powertui.data.energy.samples import Samples
from powertui.data.energy.window_shares import WindowShares
from powertui.data.model import Z95, Floats, Int64s
from powertui.data.quantiles import median_of_column, percentiles_of_column
from powertui.named_tuples import NamedTuple

# ── how much is tried: bounds of time ──
_MAX_COARSE_OFFSETS = 6000
_FINE_PEAKS = 12  # of the coarse grid that are looked at closely
SHIFTS = 31  # that stand for a stretch within which a place is open
# Offsets that stand for one place, and how far they reach: of a normal distribution next to nothing
# is beyond four sigmas.
PLACE_STEPS = 81
_PLACE_SIGMAS = settings.FAR_SIGMAS
_MIN_PLACE_SIGMA_S = settings.SAME_CLOCK_S  # as exact as any two clocks agree


class OffsetWeights(NamedTuple):
    """How likely each offset is by the readings alone."""

    offset_s: Floats  # ascending, unevenly spaced
    log_weight: Floats  # 0 at the best
    width_s: Floats  # that each stands for
    jumps: int  # of the log
    matched: int  # of them, those that happen at an edge of the training at the best offset
    # By as much all edges may be off the same way.
    common_s: float = 0.0
    # Whether they would place a log that has no clock: else they may not overrule one by much.
    may_overrule: bool = True
    # Whether they are more than one figure, the offset, fits by chance.
    is_confirmed: bool = True
    # Whether it is this training's power that jumps: else only a clock shows whose the log is.
    is_of_training: bool = True
    # Whether no two jumps are at edges there, so that levels alone speak for the place.
    is_by_levels: bool = False
    # Other offsets whose edges explain their jumps about as well as those of the best one do.
    rivals: tuple[float, ...] = ()

    def or_anywhere(self) -> OffsetWeights:
        """The same where what places the log is as likely to be of something else."""
        weight = np.exp(self.log_weight)
        weight /= float((weight * self.width_s).sum())
        anywhere = 1 / float(self.width_s.sum())
        either = (weight + anywhere) / 2
        log_weight = np.log(either)
        return self._replace(log_weight=log_weight - log_weight.max())


def offset_weights(
    data: Samples,
    edges: ExpectedEdges,
    shares: WindowShares,
    range_s: tuple[float, float],
    longest_mean_s: float,
) -> OffsetWeights | str:
    """The weights of all offsets in a range, or why the readings do not tell."""
    if len(edges) < 2 or range_s[1] <= range_s[0]:
        return "log and training do not overlap at any offset"
    low_w, high_w = percentiles_of_column(data.watts, (1, 99))
    swing_w = float(high_w - low_w)
    if alignment_verdict.is_flat(swing_w, data):
        return "the power hardly changes, so there is no edge to align by"
    jumps = power_jumps.find_jumps(data, longest_mean_s)
    # Not its borders: with those open, too, a log that was 0.5 s late was no longer corrected.
    at_ends = edges.kind != edge_costs.BORDER
    open_to = level_fit.open_times(edges.at[at_ends], edges.half_s[at_ends])
    levels = level_fit.level_costs(data, shares, open_to, range_s)
    costs = EdgeCosts(data, jumps, edges, levels)
    places = EdgePlaces(costs, data, range_s)
    meeting_places = edge_rivals.meeting_places(places)
    finest_s = float(jumps.sigma_s.min(initial=data.refresh / 4))
    offsets = _offsets_to_weigh(costs, range_s, finest_s)
    log_weight = -costs.temper * costs.at(offsets, 0.0)
    best = int(np.argmax(log_weight))
    best_s = float(offsets[best])
    matched = costs.matched(best_s)
    large_part = RULES.min_matched_share * len(jumps)
    is_of_training = matched >= large_part or not places.is_by_chance(best_s)
    below_best = log_weight - log_weight[best]
    log_weight = _opened(offsets, below_best, _low_stretch_s(costs, best_s))
    return OffsetWeights(
        offset_s=offsets,
        log_weight=log_weight - float(log_weight.max()),
        width_s=_widths(offsets),
        jumps=len(jumps),
        matched=matched,
        common_s=_common_error_s(costs, best_s),
        may_overrule=matched >= min(RULES.min_matched, large_part),
        is_confirmed=_is_confirmed(costs, data, best_s, range_s),
        is_of_training=is_of_training,
        is_by_levels=matched < RULES.min_edges_inside,
        rivals=edge_rivals.rivals(places, best_s, meeting_places),
    )


def _common_error_s(costs: EdgeCosts, offset: float) -> float:
    """By how much a place is off if all edges are off the same way, each as far as it may be.

    Edges that are known well hold it where it is, as they count for more. Fewer than two that have
    a jump show nothing of that.
    """
    half_s = costs.edges.half_s
    is_at_edge = costs.is_at_edge(offset)
    jumps_s = costs.jumps.at[is_at_edge] + offset
    nearest = costs.edges.nearest_row(jumps_s)
    if len(wire.distinct(nearest)) < edge_rivals.MIN_EDGES:
        return median_of_column(half_s)
    edge_sigma_s = half_s[nearest] / 2
    variance = costs.sigma[is_at_edge] ** 2 + edge_sigma_s**2
    return float(np.average(half_s[nearest], weights=1 / variance))


def _is_confirmed(
    costs: EdgeCosts,
    data: Samples,
    offset: float,
    range_s: tuple[float, float],
) -> bool:
    """Whether more than one figure, the offset, follows from the readings at this place.

    Any jump fits some edge at some offset, and any two levels fit work and idling.
    """
    if costs.edges_inside(data, offset) < RULES.min_edges_inside:
        return False
    changes = int(np.count_nonzero(np.diff(data.watts)))
    if changes >= RULES.min_changes:
        return True
    return costs.chance_places(offset, range_s) <= RULES.max_chance_places


def _offsets_to_weigh(
    costs: EdgeCosts,
    range_s: tuple[float, float],
    finest_s: float,
) -> Floats:
    """An even grid, and a finer one around the offsets that cost least on it."""
    lo, hi = range_s
    step = max(finest_s, (hi - lo) / _MAX_COARSE_OFFSETS)
    coarse = np.arange(lo, hi + step, step)
    coarse_cost = costs.at(coarse, step)
    peaks = coarse[_lowest(coarse_cost, _FINE_PEAKS)]
    fine_step = finest_s / 2
    grids = [coarse]
    for peak in peaks.tolist():
        end = peak + step + fine_step / 2
        grids.append(np.arange(peak - step, end, fine_step))
    return wire.distinct(np.concatenate(grids))


def _widths(offsets: Floats) -> Floats:
    """How much of the range each offset stands for."""
    if len(offsets) < 2:
        return np.ones(1)
    return np.asarray(np.gradient(offsets))


# ── where in a turn the records of epochs are ────────────────────────────────────────────────────
#
# Some programs log an epoch when its validation has ended, and nothing says when that began. If it
# draws as little as the pause after it, power falls once in an epoch, when validation begins: at a
# place where the falls are at the records the log is a validation too late, and nothing else
# differs. If it draws as much as the steps, the falls are at the records indeed. So where each
# epoch has one fall, a log may be anywhere from where its falls are at the records to where its
# rises are.

# Beforehand, that validation draws as the pause does. Chosen: nothing shows which.
_LOW_VALIDATION_SHARE = settings.MAJORITY_SHARE


def _low_stretch_s(costs: EdgeCosts, offset: float) -> float:
    """From the falls that are at the records to the rises after them, usually; 0 where most epochs
    have another fall before, so that it is known which of the two is at the record.
    """
    if not costs.edges.ends_validation:
        return 0.0
    at = costs.jumps.at + offset
    falls = costs.jumps.watts < 0
    falls_at_edge = falls & costs.is_at_edge(offset)
    matched = int(falls_at_edge.sum())
    lengths: list[float] = []
    for row in np.flatnonzero(falls_at_edge).tolist():
        if row and falls[row - 1]:
            continue
        next_row = row + 1
        rises = np.flatnonzero(~falls[next_row:])
        if len(rises):
            rise_s = at[next_row + rises[0]]
            lengths.append(float(rise_s - at[row]))
    if len(lengths) < settings.MIN_REPEATS or len(lengths) < settings.MAJORITY_SHARE * matched:
        return 0.0
    return median_of_column(np.array(lengths))


def _opened(offsets: Floats, log_weight: Floats, low_s: float) -> Floats:
    """The weights where a record may be at any moment of a low stretch."""
    if not low_s:
        return log_weight
    shifts = (np.arange(SHIFTS) + 0.5) / SHIFTS * low_s
    moved = [np.interp(offsets + shift, offsets, log_weight) for shift in shifts.tolist()]
    earlier = np.logaddexp.reduce(moved, axis=0) - np.log(SHIFTS)
    at_records = log_weight + np.log(1 - _LOW_VALIDATION_SHARE)
    before_records = earlier + np.log(_LOW_VALIDATION_SHARE)
    either: Floats = np.logaddexp(at_records, before_records)
    return either


# ── places that something else found ─────────────────────────────────────────────────────────────


def weights_of_places(
    places: Sequence[Where],
    age_s: float,
    *,
    may_overrule: bool,
) -> OffsetWeights:
    """The weights of places that something else found; `age_s` is in their intervals already."""
    middle = np.array([place.offset_s for place in places])
    weight = np.array([place.weight for place in places])
    half_s = np.array([place.half_s for place in places])
    sigma = np.maximum((half_s - age_s) / Z95, _MIN_PLACE_SIGMA_S)
    sigmas_away = np.linspace(-_PLACE_SIGMAS, _PLACE_SIGMAS, PLACE_STEPS)
    around_each = middle[:, None] + sigma[:, None] * sigmas_away
    offsets = wire.distinct(around_each)
    by_place = weight * edge_costs.normal_density(offsets[:, None] - middle, sigma)
    density = np.maximum(by_place.sum(axis=1), 1e-300)
    return OffsetWeights(
        offset_s=offsets,
        log_weight=np.log(density / density.max()),
        width_s=_widths(offsets),
        jumps=0,
        matched=0,
        may_overrule=may_overrule,
    )


def _lowest(cost: Floats, count: int) -> Int64s:
    """The rows of the lowest local minima."""
    is_minimum = power_jumps.is_local_maximum(-cost)
    rows = np.flatnonzero(is_minimum)
    by_cost = np.argsort(cost[rows], kind="stable")
    return rows[by_cost[:count]]
