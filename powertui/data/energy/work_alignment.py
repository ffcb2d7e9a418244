"""Where a power log lies on a profile by what ran there, whatever a machine draws in short pauses.

Nothing runs on a GPU between two steps, but its power may stay where it is: it lags, and so do
fans and supplies. A fit that takes the machine for idle there is wrong by as much in each step, and
one step beside the true place it may be less wrong. So a profile with many short pauses is fitted
once more with watts of their own for these. The fit that explains clearly more of the power is
right; where neither does, only what both agree on is sure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from powertui.data.energy import settings, signal_alignment
from powertui.data.energy.alignment_places import SURE_S, Fit, Where
from powertui.data.energy.log_alignment import AlignmentContext
from powertui.data.energy.samples import Samples

# Of the variation that one way leaves unexplained, what the other one must leave at most to be
# believed alone. Chosen: noise of some ten readings changes it by less.
_CLEARLY_LESS = settings.MAJORITY_SHARE
_MIN_LEFT_SHARE = settings.NEGLIGIBLE_SHARE  # less is left over by chance
# Where a fit that takes pauses for idling leaves more than this times the least noise, what ran
# hardly explains the steps, and costs decide by chance between places that are a step apart. Of
# eight recordings none leaves more than 1.0, of two logs that were sure and a step off both left
# 2.2 and 4.0.
_MAX_MISFIT = settings.MORE_THAN_ONE


def fit_by_work(
    data: Samples,
    context: AlignmentContext,
    within: tuple[float, float] | None = None,
) -> Fit | str:
    """The offset that explains the samples best, or why there is none."""
    fit = signal_alignment.search(
        data,
        context.shares(data.refresh),
        within=within,
        step_s=context.step_s,
    )
    if isinstance(fit, str):
        return fit
    sure_s = max(SURE_S, data.refresh / 10)
    chosen = fit
    shares = context.shares_with_pauses(data.refresh)
    if shares is not None:
        other = signal_alignment.search(data, shares, within=within, step_s=context.step_s)
        if not isinstance(other, str):
            chosen = _of_two(fit, other, sure_s)
    if fit.misfit > _MAX_MISFIT and chosen.aliases:
        return _with_aliases(chosen, sure_s)
    return chosen


def _of_two(fit: Fit, other: Fit, sure_s: float) -> Fit:
    """What the fits without and with watts for pauses say together."""
    unexplained = max(1 - fit.r2, _MIN_LEFT_SHARE)
    other_unexplained = max(1 - other.r2, _MIN_LEFT_SHARE)
    if other_unexplained < _CLEARLY_LESS * unexplained:
        return other
    if fit.ambiguous or unexplained < _CLEARLY_LESS * other_unexplained:
        return fit
    best = fit if unexplained <= other_unexplained else other
    distance_s = abs(fit.offset_s - other.offset_s)
    if other.ambiguous or distance_s > sure_s:
        return _either(fit, other, best, sure_s)
    # Where pauses end is a part of what is open.
    return replace(
        best,
        lo_s=min(fit.lo_s, other.lo_s),
        hi_s=max(fit.hi_s, other.hi_s),
    )


def _with_aliases(fit: Fit, sure_s: float) -> Fit:
    """A fit that may as well be at one of its aliases: half of the weight is theirs."""
    offsets = [offset for offset in fit.aliases if abs(offset - fit.offset_s) > sure_s]
    if not offsets:
        return fit
    half_s = sure_s / 2
    weight = 0.5 / len(offsets)
    aliases = [Where(offset, weight, half_s) for offset in offsets]
    nearest = min(offsets, key=lambda offset: abs(offset - fit.offset_s))
    reason = f"what ran explains nearly as much of the log at {nearest:.2f} s"
    return replace(
        fit,
        lo_s=min(fit.lo_s, min(offsets) - half_s),
        hi_s=max(fit.hi_s, max(offsets) + half_s),
        ambiguous=True,
        is_one_place=False,
        reasons=(*fit.reasons, reason),
        places=_merged([*_of_half_weight(fit.places), *aliases], sure_s),
    )


def _of_half_weight(places: Sequence[Where]) -> list[Where]:
    return [place._replace(weight=place.weight / 2) for place in places]


def _either(
    fit: Fit,
    other: Fit,
    best: Fit,
    sure_s: float,
) -> Fit:
    """The places of both, of which each is as likely."""
    places = _of_half_weight((*fit.places, *other.places))
    places.sort(key=lambda place: (place.offset_s != best.offset_s, -place.weight))
    reason = (
        "another place fits as well if the machine keeps drawing power in its short pauses: "
        f"{fit.offset_s:.2f} s or {other.offset_s:.2f} s"
    )
    reasons = (*fit.reasons, *other.reasons, reason)
    return replace(
        best,
        lo_s=min(fit.lo_s, other.lo_s),
        hi_s=max(fit.hi_s, other.hi_s),
        ambiguous=True,
        is_one_place=False,
        reasons=tuple(dict.fromkeys(reasons)),
        places=_merged(places, sure_s),
    )


def _merged(places: list[Where], sure_s: float) -> tuple[Where, ...]:
    """Places with those beside them, the first of each leads."""
    merged: list[Where] = []
    for place in places:
        row = _row_beside(merged, place, sure_s / 2)
        if row is None:
            merged.append(place)
            continue
        leading = merged[row]
        merged[row] = leading._replace(
            weight=leading.weight + place.weight,
            half_s=max(leading.half_s, place.half_s),
        )
    return tuple(merged)


def _row_beside(places: list[Where], place: Where, near_s: float) -> int | None:
    """The first of these places that is so near; None if none is."""
    for row, leading in enumerate(places):
        if abs(leading.offset_s - place.offset_s) < near_s:
            return row
    return None
