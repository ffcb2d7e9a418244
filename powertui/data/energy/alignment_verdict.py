"""Whether the offsets of a search are an answer, and how sure it is."""

from __future__ import annotations

import numpy as np

from powertui import units
from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.energy.alignment_places import (
    SURE_S,
    Fit,
    Where,
    weighed_places,
    weighted_quantile,
)
from powertui.data.energy.offset_costs import (
    MIN_READINGS_IN_PROFILE,
    OffsetChoices,
    OffsetCosts,
)
from powertui.data.energy.offset_search import NEGLIGIBLE_COST, SearchedOffsets
from powertui.data.energy.other_stretches import (
    OtherStretches,
    beside,
    explained_share,
    other_stretches,
    with_stretches,
)
from powertui.data.energy.rival_places import Rival, aliases, better_place
from powertui.data.energy.robust_stats import TAILS
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

# Costs are in units of the ordinary residual's (see placement_score), divided by how many
# neighboring residuals say the same. What half and twice of a value do to 27 logs stands in
# docs/energy-evidence.md, summed up here as "lost" (no longer sure) and "won" (now sure and right).

# ── when a fit is an answer ──
# Cost that a fit must save against a flat line. Noise alone saves some where every offset is tried.
# Half: no change. Twice: 1 without a place.
_MIN_FIT_GAIN = 8.0
# Of the readings in the profile alone it is half, from which the share of their variation follows
# that a fit must explain. Chosen.
# Never ask for more: few readings have wide intervals anyway.
_MAX_REQUIRED_R2 = settings.MAJORITY_SHARE
# Of the power: a log that moves less shows no edge to align by.
_FLAT_POWER_SHARE = settings.NEGLIGIBLE_SHARE
# A value that toggles between two steps of the sensor is no edge.
_FLAT_QUANTA = settings.MORE_THAN_ONE
# Windows of a reading, and seconds, around a profile in which its ends are edges like any other.
_MARGIN_WINDOWS, _MIN_MARGIN_S = settings.HOLE_REFRESHES, settings.MOMENT_S
# Of the power of the idle machine: work that draws less, or that the sensor rounds away, draws
# nothing.
_MIN_WORK_SHARE = settings.MIN_RUN_SHARE

# ── when an answer is sure ──
# In one place, as the 95 % interval promises; half and twice: no change.
_MIN_SURE_WEIGHT = settings.SURE_WEIGHT
# Costs of a place that is not sure are divided by this, so that errors of the model count, too.
# Half and twice: no change.
_UNSURE_COST_DIVISOR = 1.6
# Independent readings in the profile: fewer fit many a place by accident. From one cut log.
# Half: no change. Twice: 4 lost.
_MIN_INDEPENDENT_READINGS = settings.MIN_INDEPENDENT_READINGS
# How well the age of a reading must be known: meters that publish and are asked every 0.5 s leave
# 0.35 s open, and still count.
_MAX_READING_AGE_S = 0.36

# ── rivals of the best place ──
# A rival (`rival_places`) counts as if it cost no more than this. From one cut log.
# Half: no change. Twice: 1 interval misses.
_RIVAL_COST = 3.0


class _Best(NamedTuple):
    """The cheapest of all offsets, and what its fit leaves of the readings."""

    row: int
    offset: float
    way: float
    cost: float
    watts: Floats
    data: Samples  # the readings of a sensor that averages this way
    residual: Floats
    inside: Bools  # the readings in the profile

    @property
    def samples(self) -> int:
        """Readings in the profile."""
        return int(self.inside.sum())


class _Weighed(NamedTuple):
    """The places by their weights, and the interval of the best one."""

    places: tuple[Where, ...]
    low: float
    high: float
    fit_half_s: float  # half of the interval that the fit alone leaves
    elsewhere: float  # weight of all places but the best
    doubts: list[str]  # which of the places it is
    width_doubts: list[str]  # how wide the best one is

    @property
    def offset(self) -> float:
        """The best place."""
        return self.places[0].offset_s


def fit(model: OffsetCosts, searched: SearchedOffsets) -> Fit | str:
    """The answer of a search, or why there is none."""
    choices = searched.choices
    near = searched.near
    best = _best(model, choices)
    if best.samples < MIN_READINGS_IN_PROFILE:
        return f"only {best.samples} samples fall into the profile at the best offset"
    r2 = _explained_share(model, best, near)
    if isinstance(r2, str):
        return r2
    rival = better_place(model, choices, best.row, near)
    weighed = _weighed(model, searched, best, rival)
    others = _other_stretches(model, searched, best)
    listed = others.possible
    if rival is None and not _is_elsewhere(weighed.elsewhere):
        listed = others.alike
    doubts = _all_doubts(model, best, weighed, others)
    width_doubts = _all_width_doubts(model, weighed, has_doubts=bool(doubts))
    age = model.data.age_s
    older = max(age, model.data.older_s)
    elsewhere_s = [place.offset_s for place in listed]
    low = min(weighed.low, *elsewhere_s, weighed.offset)
    high = max(weighed.high, *elsewhere_s, weighed.offset)
    watts = [float(w) for w in best.watts]
    return Fit(
        offset_s=weighed.offset,
        lo_s=low - (searched.step + age),
        hi_s=high + (searched.step + older),
        ambiguous=bool(doubts or width_doubts),
        reasons=(*doubts, *width_doubts),
        is_one_place=not doubts,
        r2=r2,
        watts=tuple(zip(model.shares.names, watts, strict=False)),
        runner_up_s=_runner_up(choices, weighed.offset, near),
        elsewhere=weighed.elsewhere,
        window_s=median_of_column(best.data.hi - best.data.lo),
        samples=best.samples,
        effective=_independent_readings(model, best),
        ppm=searched.ppm,
        places=with_stretches(weighed.places, listed),
        misfit=model.like.scale / model.like.floor,
        aliases=aliases(model, choices, best.row, near),
    )


def _independent_readings(model: OffsetCosts, best: _Best) -> float:
    """How many readings of the profile are independent of each other."""
    return best.samples / model.like.alike


def _runner_up(choices: OffsetChoices, offset: float, near: float) -> float | None:
    """The best offset that is another place; None where there is none."""
    is_apart = np.abs(choices.offsets - offset) > near
    if not is_apart.any():
        return None
    cheapest = np.argmin(choices.cost[is_apart])
    return float(choices.offsets[is_apart][cheapest])


def _other_stretches(model: OffsetCosts, searched: SearchedOffsets, best: _Best) -> OtherStretches:
    choices = searched.choices
    is_best = np.arange(len(choices.cost)) == best.row
    return other_stretches(
        model,
        choices.rows(is_best),
        searched.stretches,
        margin_s=_margin_s(searched.near),
        least_share=_least_share(model, best),
        half_s=searched.near + model.data.age_s,
    )


def _all_doubts(
    model: OffsetCosts,
    best: _Best,
    weighed: _Weighed,
    others: OtherStretches,
) -> list[str]:
    """Why it may be another place, the weightiest first."""
    reasons = list(weighed.doubts)
    if others.alike and not reasons:
        reasons.append(others.doubt)
    independent = _independent_readings(model, best)
    if independent < _MIN_INDEPENDENT_READINGS:
        reasons.append(
            f"only {independent:.0f} readings that are independent of each other are in the profile"
        )
    return reasons


def _all_width_doubts(model: OffsetCosts, weighed: _Weighed, *, has_doubts: bool) -> list[str]:
    """Why the place is too wide to be sure."""
    reasons = list(weighed.width_doubts)
    age = model.data.age_s
    # What the fit leaves open and what its window does add up (the one moves with the other),
    # though either is narrow enough.
    is_too_wide = weighed.fit_half_s + model.data.centre_err_s > _sure_s(model)
    if age > _MAX_READING_AGE_S or (is_too_wide and not has_doubts and not reasons):
        reasons.append(f"the age of a reading is known to ±{age:.2g} s only")
    return reasons


def _sure_s(model: OffsetCosts) -> float:
    """Half of the widest interval of a sure place."""
    return max(SURE_S, model.data.refresh / 10)


def _best(model: OffsetCosts, choices: OffsetChoices) -> _Best:
    row = int(np.argmin(choices.cost))
    offset = float(choices.offsets[row])
    way = float(choices.way[row])
    watts = choices.watts[row]
    residual, inside = model.residuals(offset, watts, model.data, way)
    return _Best(
        row=row,
        offset=offset,
        way=way,
        cost=float(choices.cost[row]),
        watts=watts,
        data=model.averaged_as(way, model.data),
        residual=residual,
        inside=inside,
    )


def _explained_share(model: OffsetCosts, best: _Best, near: float) -> float | str:
    """The share of the watts' variation that the best offset explains; or why it is no answer."""
    data = best.data
    saved = model.like.flat(data, model.middle) - best.cost
    if saved / model.like.alike < _MIN_FIT_GAIN:
        return "the power does not follow anything in the profile"
    margin = _margin_s(near)
    at = best.offset - model.shift(best.way)
    near_by = beside(model, data, at, margin)
    spread_w = float(np.ptp(data.watts[near_by]))
    if is_flat(spread_w, data):
        return (
            "where the log fits best, its power hardly changes, so nothing shows that "
            "it belongs there"
        )
    r2 = explained_share(model, near_by, data, best.residual)
    least = _least_share(model, best)
    if r2 < least:
        in_training = beside(model, data, at, margin, model.shares.training)
        r2 = explained_share(model, in_training, data, best.residual)
    if r2 < least:
        return (
            f"what ran explains {units.percent(max(r2, 0.0))} of its changes where it fits best: "
            "no more than chance may"
        )
    return r2


def _margin_s(near: float) -> float:
    """How far around a profile its ends are edges like any other."""
    return max(_MARGIN_WINDOWS * near, _MIN_MARGIN_S)


def _least_share(model: OffsetCosts, best: _Best) -> float:
    """The share of the variation that a fit must explain.

    Readings around what is known to have run may be anything, and so may all of a log of something
    else: those in it, and at its ends, have to be explained.
    """
    independent = max(_independent_readings(model, best), 1.0)
    of_chance = 1 - float(np.exp(-_MIN_FIT_GAIN / independent))
    return min(of_chance, _MAX_REQUIRED_R2)


def _weighed(
    model: OffsetCosts,
    searched: SearchedOffsets,
    best: _Best,
    rival: Rival | None,
) -> _Weighed:
    """The places: by their costs alone, and where they are not sure, by less of these."""
    sure = _weighed_by(model, searched, best, 1.0)
    if not sure.doubts and not sure.width_doubts and rival is None:
        return sure
    divisor = _UNSURE_COST_DIVISOR
    reasons = sure.doubts
    if rival is not None:
        above_best = rival.cost - best.cost
        divisor = max(divisor, above_best / (model.like.alike * _RIVAL_COST))
        if not reasons:
            reasons = [f"what ran explains more of the log at {rival.offset_s:.2f} s"]
    unsure = _weighed_by(model, searched, best, divisor)
    return unsure._replace(doubts=reasons, width_doubts=sure.width_doubts)


def _weighed_by(
    model: OffsetCosts,
    searched: SearchedOffsets,
    best: _Best,
    divisor: float,
) -> _Weighed:
    """The places with all costs divided by this; 1: as they are."""
    choices = searched.choices
    near = searched.near
    step = searched.step
    offsets = choices.offsets
    unit = model.like.alike * divisor
    cost = (choices.cost - best.cost) / unit + _beforehand(model, choices.way)
    weight = choices.width * np.exp(-cost)
    weight /= weight.sum()
    interval_weight = weight
    if divisor != 1.0:
        weight = _weighed_again(model, choices, weight, cost, unit)
        # What is left over of few readings comes out small: of so many as are independent, each
        # fitted figure takes one. So few readings leave more places open.
        independent = _independent_readings(model, best)
        few_factor = independent / max(independent - len(best.watts), 1.0)
        interval_weight = choices.width * np.exp(-cost / few_factor)
    order = np.argsort(offsets, kind="stable")
    places = weighed_places(
        offsets[order],
        weight[order],
        width=max(SURE_S, near / 4),
        least=step + model.data.age_s,
    )
    offset = places[0].offset_s
    low, high = _interval(offsets, interval_weight)
    fit_half_s = max(high - offset, offset - low) + step
    zero_low, zero_high = _interval(_zeros(model, choices), interval_weight)
    low = min(low, zero_low)
    high = max(high, zero_high)
    half_s = max(high - offset, offset - low) + step
    is_elsewhere = np.abs(offsets - offset) > _sure_s(model)
    elsewhere = float(weight[is_elsewhere].sum())
    return _Weighed(
        places=places,
        low=low,
        high=high,
        fit_half_s=fit_half_s,
        elsewhere=elsewhere,
        doubts=_doubts(model, elsewhere, best.watts),
        width_doubts=_width_doubts(model, elsewhere, 2 * half_s, near),
    )


def _interval(offsets: Floats, weight: Floats) -> tuple[float, float]:
    """The 95 % interval of weighted offsets."""
    order = np.argsort(offsets, kind="stable")
    in_order = offsets[order]
    weight = weight[order]
    low, high = (weighted_quantile(in_order, weight, tail) for tail in TAILS)
    return low, high


def _zeros(model: OffsetCosts, choices: OffsetChoices) -> Floats:
    """Where the log's zero is at each offset.

    Offset and window cannot be told apart. Joules need the offset at which the power lies right;
    where the log's zero really lies depends on the way of averaging, and the interval holds both.
    """
    later = np.array([model.shift(way) for way in choices.way])
    is_longer = (choices.way > 0) & (choices.way != 1.0)
    off_centre_s = max(model.length / 2 - model.data.centre_s, 0.0)
    zeros: Floats = choices.offsets - later + off_centre_s * is_longer
    return zeros


def _weighed_again(
    model: OffsetCosts,
    choices: OffsetChoices,
    weight: Floats,
    cost: Floats,
    unit: float,
) -> Floats:
    """The weights where places are not sure. How often something like training follows its told
    end nobody knows (programs evaluate, predict, train again): that it is rare and that it is
    common weigh in alike.
    """
    rows = np.flatnonzero(cost < 2 * NEGLIGIBLE_COST)
    way_of_row = choices.way[rows]
    ended = np.zeros(len(cost))
    for way in wire.distinct(way_of_row).tolist():
        same_way = rows[way_of_row == way]
        ended[same_way] = model.like.ended(
            choices.offsets[same_way] - model.shift(way),
            choices.watts[same_way],
            model.averaged_as(way, model.data),
        )
    if not ended.any():
        return weight
    common = cost - ended / unit
    common_weight = choices.width * np.exp(common.min() - common)
    both: Floats = weight + common_weight / common_weight.sum()
    return both / 2


def _beforehand(model: OffsetCosts, ways: Floats) -> Floats:
    """What each way of averaging costs beforehand."""
    price_of_way = np.zeros(len(ways))
    for way, price in model.ways:
        price_of_way[ways == way] = price
    return price_of_way


def _doubts(model: OffsetCosts, elsewhere: float, fitted: Floats) -> list[str]:
    """Why the best place may not be the true one."""
    reasons = []
    if _is_elsewhere(elsewhere):
        reasons.append(f"{units.percent(elsewhere)} of the weight is at other places")
    idle_w = float(fitted[0])
    strongest_w = float(fitted[1:].max(initial=0.0))
    least_w = max(model.data.quantum / 2, _MIN_WORK_SHARE * idle_w)
    if strongest_w < least_w:
        reasons.append("no kind of work draws more than the idle machine")
    return reasons


def _width_doubts(model: OffsetCosts, elsewhere: float, width: float, near: float) -> list[str]:
    """Why the best place is too wide, where it is the only one."""
    limit = 2 * _sure_s(model)
    if model.step_s is not None and model.step_s >= 2 * near:
        # This sensor could tell one step from the next, so it has to.
        limit = min(limit, model.step_s / 2)
    is_wide = width > limit and not _is_elsewhere(elsewhere)
    return [f"the interval is {width:.3g} s wide"] if is_wide else []


def _is_elsewhere(weight: float) -> bool:
    """Whether so much weight at other places puts the best one in question."""
    return weight >= 1 - _MIN_SURE_WEIGHT


def is_flat(spread: float, data: Samples) -> bool:
    """Whether watts that differ by so much show nothing of what ran."""
    usual_w = abs(median_of_column(data.watts))
    flat_w = max(_FLAT_QUANTA * data.quantum, _FLAT_POWER_SHARE * usual_w)
    return spread <= flat_w
