"""Whether the offsets of a search are an answer, and how sure it is."""

from __future__ import annotations

import numpy as np

from powertui import units
from powertui.data import wire
from powertui.data.energy import coarse_search, settings
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
from powertui.data.energy.offset_search import MAX_BASINS, NEGLIGIBLE_COST, SearchedOffsets
from powertui.data.energy.other_stretches import (
    MAX_LEFT,
    MAX_LEFT_SIGMAS,
    beside,
    explained_share,
    other_stretches,
    with_stretches,
)
from powertui.data.energy.robust_stats import TAILS
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

# Costs are in units of the ordinary residual's (see placement_score), divided by how many
# neighbouring residuals say the same. What half and twice of a value do to 27 logs stands in
# docs/energy-evidence.md, summed up here as "lost" (no longer sure) and "won" (now sure and right).

# ── when a fit is an answer ──
# Cost that a fit must save against a flat line. Noise alone saves some where every offset is tried.
# Half: no change. Twice: 1 without a place.
_MIN_FIT_GAIN = 8.0
# The same of the readings in the profile alone, from which the share of their variation follows
# that a fit must explain. Chosen: half of that of all readings.
_MIN_PROFILE_FIT_GAIN = 4.0
# Never ask for more: few readings have wide intervals anyway.
_MAX_REQUIRED_R2 = settings.MAJORITY_SHARE
# Of the power: a log that moves less shows no edge to align by.
_FLAT_POWER_SHARE = settings.NEGLIGIBLE_SHARE
# A value that toggles between two steps of the sensor is no edge.
_FLAT_QUANTA = settings.TOGGLING_QUANTA
# Windows of a reading, and seconds, around a profile in which its ends are edges like any other.
_MARGIN_WINDOWS, _MIN_MARGIN_S = 3, settings.MOMENT_S
# Of the power of the idle machine, or of a sensor's step: work that draws less draws nothing.
_MIN_WORK_SHARE, _MIN_WORK_QUANTA = settings.MIN_RUN_SHARE, 0.5

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
# A place is looked at as a rival up to this times the negligible cost.
_RIVAL_COST_FACTOR = 4.0
# Standard errors by which a rival must explain more of the log: chance alone does so one time in
# twenty. Half: 1 lost. Twice: a cut log is sure and wrong. 1.64 was best with one recording left
# out at a time, each of 16 times.
_RIVAL_STANDARD_ERRORS = 1.64
# A rival then counts as if it cost no more than this. From one cut log.
# Half: no change. Twice: 1 interval misses.
_RIVAL_COST = 3.0
# A place so near (a share of the profile) that it explains the same readings …
_MAX_ALIAS_SHARE = settings.MINOR_SHARE


class _Rival(NamedTuple):
    """A place that costs more than the best, and explains more."""

    offset_s: float
    cost: float


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
    doubts: list[str]

    @property
    def offset(self) -> float:
        """The best place."""
        return self.places[0].offset_s


def fit(model: OffsetCosts, searched: SearchedOffsets) -> Fit | str:
    """The answer of a search, or why there is none."""
    choices, near = searched.choices, searched.near
    best = _best(model, choices)
    if best.samples < MIN_READINGS_IN_PROFILE:
        return f"only {best.samples} samples fall into the profile at the best offset"
    r2 = _explained_share(model, best, near)
    if isinstance(r2, str):
        return r2
    age = model.data.age_s
    rival = _better(model, choices, best.row, near)
    weighed = _weighed(model, searched, best, rival)
    reasons = list(weighed.doubts)
    others = other_stretches(
        model,
        choices.rows(np.arange(len(choices.cost)) == best.row),
        searched.stretches,
        margin_s=_margin_s(near),
        least_share=_least_share(model, best),
        half_s=near + age,
    )
    listed = others.possible
    if weighed.elsewhere < 1 - _MIN_SURE_WEIGHT and rival is None:
        listed = others.alike
    if others.alike and not reasons:
        reasons.append(others.doubt)
    independent = best.samples / model.like.alike
    if independent < _MIN_INDEPENDENT_READINGS:
        reasons.append(
            f"only {independent:.0f} readings that are independent of each other are in the profile"
        )
    # What the fit leaves open and what its window does add up (the one moves with the other),
    # though either is narrow enough.
    sure_s = max(SURE_S, model.data.refresh / 10)
    too_wide = not reasons and weighed.fit_half_s + model.data.centre_err_s > sure_s
    if age > _MAX_READING_AGE_S or too_wide:
        reasons.append(f"the age of a reading is known to ±{age:.2g} s only")
    apart = np.abs(choices.offsets - weighed.offset) > near
    runner_up = None
    if apart.any():
        runner_up = float(choices.offsets[apart][np.argmin(choices.cost[apart])])
    elsewhere_s = [place.offset_s for place in listed]
    return Fit(
        offset_s=weighed.offset,
        lo_s=min(weighed.low, *elsewhere_s, weighed.offset) - (searched.step + age),
        hi_s=max(weighed.high, *elsewhere_s, weighed.offset)
        + (searched.step + max(age, model.data.older_s)),
        ambiguous=bool(reasons),
        reasons=tuple(reasons),
        r2=r2,
        watts=tuple(zip(model.shares.names, (float(w) for w in best.watts), strict=False)),
        runner_up_s=runner_up,
        elsewhere=weighed.elsewhere,
        window_s=median_of_column(best.data.hi - best.data.lo),
        samples=best.samples,
        effective=independent,
        ppm=searched.ppm,
        places=with_stretches(weighed.places, listed),
        misfit=model.like.scale / model.like.floor,
        aliases=_aliases(model, choices, best, near),
    )


def _best(model: OffsetCosts, choices: OffsetChoices) -> _Best:
    row = int(np.argmin(choices.cost))
    offset, way, watts = float(choices.offsets[row]), float(choices.way[row]), choices.watts[row]
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
    data, alike = best.data, model.like.alike
    if (model.like.flat(data, model.middle) - best.cost) / alike < _MIN_FIT_GAIN:
        return "the power does not follow anything in the profile"
    margin = _margin_s(near)
    at = best.offset - model.shift(best.way)
    near_by = beside(model, data, at, margin)
    if is_flat(float(np.ptp(data.watts[near_by])), data):
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
    independent = max(best.samples / model.like.alike, 1.0)
    of_chance = 1 - float(np.exp(-2 * _MIN_PROFILE_FIT_GAIN / independent))
    return min(of_chance, _MAX_REQUIRED_R2)


def _weighed(
    model: OffsetCosts,
    searched: SearchedOffsets,
    best: _Best,
    rival: _Rival | None,
) -> _Weighed:
    """The places: by their costs alone, and where they are not sure, by less of these."""
    sure = _weighed_by(model, searched, best, 1.0)
    if not sure.doubts and rival is None:
        return sure
    divisor = _UNSURE_COST_DIVISOR
    if rival is not None:
        divisor = max(divisor, (rival.cost - best.cost) / (model.like.alike * _RIVAL_COST))
    reasons = sure.doubts
    if not reasons and rival is not None:
        reasons = [f"what ran explains more of the log at {rival.offset_s:.2f} s"]
    return _weighed_by(model, searched, best, divisor)._replace(doubts=reasons)


def _weighed_by(
    model: OffsetCosts,
    searched: SearchedOffsets,
    best: _Best,
    divisor: float,
) -> _Weighed:
    """The places with all costs divided by this; 1: as they are."""
    choices, near, step = searched.choices, searched.near, searched.step
    offsets, alike = choices.offsets, model.like.alike
    cost = (choices.cost - best.cost) / (alike * divisor) + _beforehand(model, choices.way)
    weight = choices.width * np.exp(-cost)
    weight /= weight.sum()
    interval_weight = weight
    if divisor != 1.0:
        weight = _weighed_again(model, choices, weight, cost, alike * divisor)
        # What is left over of few readings comes out small: of so many as are independent, each
        # fitted figure takes one. So few readings leave more places open.
        independent = best.samples / alike
        few_factor = independent / max(independent - len(best.watts), 1.0)
        interval_weight = choices.width * np.exp(-cost / few_factor)
    order = np.argsort(offsets, kind="stable")
    least = step + model.data.age_s
    places = weighed_places(offsets[order], weight[order], max(SURE_S, near / 4), least)
    offset = places[0].offset_s
    low, high = _interval(offsets, interval_weight)
    half_s = max(high - offset, offset - low) + step
    zero_low, zero_high = _interval(_zeros(model, choices), interval_weight)
    low, high = min(low, zero_low), max(high, zero_high)
    sure_s = max(SURE_S, model.data.refresh / 10)
    elsewhere = float(weight[np.abs(offsets - offset) > sure_s].sum())
    width_s = 2 * (max(high - offset, offset - low) + step)
    doubts = _doubts(model, elsewhere, width_s, near, best.watts)
    return _Weighed(places, low, high, half_s, elsewhere, doubts)


def _interval(offsets: Floats, weight: Floats) -> tuple[float, float]:
    """The 95 % interval of weighted offsets."""
    order = np.argsort(offsets, kind="stable")
    in_order, weight = offsets[order], weight[order]
    low, high = (weighted_quantile(in_order, weight, tail) for tail in TAILS)
    return low, high


def _zeros(model: OffsetCosts, choices: OffsetChoices) -> Floats:
    """Where the log's zero is at each offset.

    Offset and window cannot be told apart. Joules need the offset at which the power lies right;
    where the log's zero really lies depends on the way of averaging, and the interval holds both.
    """
    later = np.array([model.shift(way) for way in choices.way])
    is_longer = (choices.way > 0) & (choices.way != 1.0)
    by_length = max(model.length / 2 - model.data.centre_s, 0.0) * is_longer
    return np.asarray(choices.offsets - later + by_length)


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
    ended = np.zeros(len(cost))
    for way in wire.distinct(choices.way[rows]).tolist():
        same_way = rows[choices.way[rows] == way]
        ended[same_way] = model.like.ended(
            choices.offsets[same_way] - model.shift(way),
            choices.watts[same_way],
            model.averaged_as(way, model.data),
        )
    if not ended.any():
        return weight
    common = cost - ended / unit
    common_weight = choices.width * np.exp(common.min() - common)
    return np.asarray((weight + common_weight / common_weight.sum()) / 2)


def _better(model: OffsetCosts, choices: OffsetChoices, best: int, near: float) -> _Rival | None:
    """Another place at which clearly less power, of the whole log, is left to what no trace
    shows, though it costs more: how likely that is to come, and to go on, is a guess.
    """
    above_best = choices.cost - choices.cost[best]
    is_rival = above_best < _RIVAL_COST_FACTOR * NEGLIGIBLE_COST * model.like.alike
    is_rival[best] = True
    rivals = choices.rows(is_rival)
    centres = coarse_search.separated(rivals.offsets, rivals.cost, near, MAX_BASINS)
    unexplained = []
    for centre in centres.tolist():
        is_here = np.abs(rivals.offsets - centre) < 1e-9
        row = int(np.argmin(np.where(is_here, rivals.cost, np.inf)))
        residual, _ = model.residuals(
            float(rivals.offsets[row]), rivals.watts[row], model.data, float(rivals.way[row])
        )
        unexplained.append(np.maximum(np.abs(residual) - model.like.scale, 0.0))
    saved = unexplained[0] - np.array(unexplained)
    gained = saved.sum(axis=1)
    # Neighbours are alike, and so is what they leave.
    error = np.sqrt(model.like.alike * (saved**2).sum(axis=1))
    winner = int(np.argmax(gained - _RIVAL_STANDARD_ERRORS * error))
    if gained[winner] <= _RIVAL_STANDARD_ERRORS * error[winner] + model.like.scale:
        return None
    offset = float(centres[winner])
    return _Rival(offset, float(rivals.cost[rivals.offsets == offset].min()))


def _aliases(
    model: OffsetCosts,
    choices: OffsetChoices,
    best: _Best,
    near: float,
) -> tuple[float, ...]:
    """Other places close by that leave hardly more of the same readings."""
    first, last = model.shares.span
    distance = np.abs(choices.offsets - best.offset)
    least_s = max(SURE_S, model.data.refresh / 10, near)
    is_close = (distance > least_s) & (distance < _MAX_ALIAS_SHARE * (last - first))
    close = choices.rows(is_close)
    if not len(close.cost):
        return ()
    limit = MAX_LEFT * _left(model, best.offset, best.watts, best.way)
    aliases = []
    for offset in coarse_search.separated(close.offsets, close.cost, least_s, MAX_BASINS).tolist():
        is_here = np.abs(close.offsets - offset) < 1e-9
        row = int(np.argmin(np.where(is_here, close.cost, np.inf)))
        if _left(model, offset, close.watts[row], float(close.way[row])) < limit:
            aliases.append(offset)
    return tuple(aliases)


def _left(model: OffsetCosts, offset: float, watts: Floats, way: float) -> float:
    """The mean square of what a fit leaves of the readings in the profile."""
    residual, is_inside = model.residuals(offset, watts, model.data, way)
    most = MAX_LEFT_SIGMAS * model.like.scale
    left = np.minimum(np.abs(residual[is_inside]), most)
    return float(np.mean(left**2)) if len(left) else np.inf


def _beforehand(model: OffsetCosts, ways: Floats) -> Floats:
    """What each way of averaging costs beforehand."""
    price_of_way = np.zeros(len(ways))
    for way, price in model.ways:
        price_of_way[ways == way] = price
    return price_of_way


def _doubts(
    model: OffsetCosts,
    elsewhere: float,
    width: float,
    near: float,
    fitted: Floats,
) -> list[str]:
    reasons = []
    is_elsewhere = elsewhere >= 1 - _MIN_SURE_WEIGHT
    if is_elsewhere:
        reasons.append(f"{units.percent(elsewhere)} of the weight is at other places")
    limit = 2 * max(SURE_S, model.data.refresh / 10)
    if model.step_s is not None and model.step_s >= 2 * near:
        # This sensor could tell one step from the next, so it has to.
        limit = min(limit, model.step_s / 2)
    if width > limit and not is_elsewhere:
        reasons.append(f"the interval is {width:.3g} s wide")
    idle_w, strongest_w = float(fitted[0]), float(fitted[1:].max(initial=0.0))
    if strongest_w < max(_MIN_WORK_QUANTA * model.data.quantum, _MIN_WORK_SHARE * idle_w):
        reasons.append("no kind of work draws more than the idle machine")
    return reasons


def is_flat(spread: float, data: Samples) -> bool:
    """Whether watts that differ by so much show nothing of what ran."""
    usual_w = abs(median_of_column(data.watts))
    return spread <= max(_FLAT_QUANTA * data.quantum, _FLAT_POWER_SHARE * usual_w)
