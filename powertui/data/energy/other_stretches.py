"""Other stretches of a log at which a profile may have run as well.

The cost of an offset counts every reading of a log, also those far from the profile, and in a log
of hours these are most of it. They are of other work, which that fit prices by its own levels: a
program that drew 1 W more than the profile decided between two stretches of an hour, and where
nothing was sure all places that were listed were of one long stretch, with joules 20 % off. So the
stretches that a coarse look names are judged here by their own readings alone:

    alike      explains its readings as well as the best place does: that one is not sure
    possible   explains more of them than chance does: it is a place where none is sure
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.alignment_places import MAX_PLACES, Where
from powertui.data.energy.offset_costs import (
    MIN_READINGS_IN_PROFILE,
    OffsetChoices,
    OffsetCosts,
)
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats
from powertui.named_tuples import NamedTuple

_HUBER_SIGMAS = 1.345  # residuals from which on they weigh less: 95 % as exact as least squares
# A place is as good as the best while it leaves no more than this times what that does. Chosen: of
# two of 240 simulated logs that were sure and one step off the true place left at most 1.1 times as
# much; by noise alone 100 independent readings leave up to 1.2 times as much.
MAX_LEFT = 1.2
MAX_LEFT_SIGMAS = settings.OUTLIER_SIGMAS  # what is left of one reading counts up to this
# … and if the work explains at least this part of what it explains at the best one. Chosen: of a
# stretch that hardly changes nothing is left whatever it is.
_MIN_EXPLAINED_PART = settings.MAJORITY_SHARE
# Of the readings in the profile at the best one: with fewer, most of it is outside the log.
_MIN_READINGS_PART = settings.LARGE_SHARE


class OtherStretches(NamedTuple):
    """Their places, each with the weight that it has where no place is sure."""

    alike: tuple[Where, ...]
    possible: tuple[Where, ...]

    @property
    def doubt(self) -> str:
        """Why a place is not sure beside those that are alike."""
        nearest = min(self.alike, key=lambda place: abs(place.offset_s))
        return f"what ran explains another stretch of the log as well, at {nearest.offset_s:.2f} s"


class _Explained(NamedTuple):
    """What a fit explains of the readings on and around a profile: in W², and as a share."""

    readings: int  # in the profile
    left: float
    explained: float
    share: float


def beside(
    model: OffsetCosts,
    data: Samples,
    offset: float,
    margin: float,
    span: tuple[float, float] | None = None,
) -> Bools:
    """The samples on the profile (or another span) and a little around it: its ends are edges
    like any other.
    """
    first, last = span or model.shares.span
    begin = data.lo + offset
    end = data.hi + offset
    is_beside: Bools = (begin > first - margin) & (end < last + margin)
    return is_beside


def explained_share(
    model: OffsetCosts,
    rows: Bools,
    data: Samples,
    residual: Floats,
) -> float:
    """The share of these readings' variation that the fit explains, single odd ones
    left aside.
    """
    watts = data.watts[rows]
    residual = residual[rows]
    ordinary_w = _HUBER_SIGMAS * model.like.scale
    trust = 1 / np.maximum(1.0, np.abs(residual) / ordinary_w)
    centre = float(np.average(watts, weights=trust))
    variation = float((trust * (watts - centre) ** 2).sum())
    if variation <= 0:
        return 0.0
    unexplained = float((trust * residual**2).sum())
    return 1 - unexplained / variation


def other_stretches(
    model: OffsetCosts,
    best: OffsetChoices,
    stretches: OffsetChoices,
    *,
    margin_s: float,
    least_share: float,
    half_s: float,
) -> OtherStretches:
    """Those that come into question beside the best offset.

    `least_share`: of their variation, what chance may explain. `half_s`: how well each is known.
    """
    alike: list[Where] = []
    possible: list[Where] = []
    here = _explained(model, best, 0, margin_s)
    for row in range(len(stretches.cost)):
        there = _explained(model, stretches, row, margin_s)
        if here is None or there is None or there.share < least_share:
            continue
        if there.readings < _MIN_READINGS_PART * here.readings:
            continue
        # Each weighs more than lies beyond the end of a 95 % interval.
        place = Where(float(stretches.offsets[row]), 1 / MAX_PLACES, half_s)
        possible.append(place)
        is_explained = there.explained >= _MIN_EXPLAINED_PART * here.explained
        if is_explained and there.left <= MAX_LEFT * here.left:
            alike.append(place)
    return OtherStretches(tuple(alike), tuple(possible))


def with_stretches(places: Sequence[Where], others: Sequence[Where]) -> tuple[Where, ...]:
    """The places, the best first, with those of other stretches, no more than are listed.

    A search looks closely at fewer stretches (`MAX_BASINS`) than places are listed, so the best
    places always keep some weight.
    """
    listed = list(places)
    most = max(MAX_PLACES - len(others), 1)
    if len(listed) > most:
        rows = np.linspace(0, len(listed) - 1, most).astype(np.int64)
        listed = [listed[row] for row in rows.tolist()]
    rest = 1 - sum(place.weight for place in others)
    total = sum(place.weight for place in listed)
    weighed = []
    for place in listed:
        weight = place.weight / total * rest
        weighed.append(place._replace(weight=weight))
    return (*weighed, *others)


def _explained(
    model: OffsetCosts,
    choices: OffsetChoices,
    row: int,
    margin_s: float,
) -> _Explained | None:
    """None where hardly a reading is in the profile."""
    offset = float(choices.offsets[row])
    way = float(choices.way[row])
    residual, is_inside = model.residuals(offset, choices.watts[row], model.data, way)
    readings = int(is_inside.sum())
    if readings < MIN_READINGS_IN_PROFILE:
        return None
    data = model.averaged_as(way, model.data)
    rows = beside(model, data, offset - model.shift(way), margin_s)
    most = MAX_LEFT_SIGMAS * model.like.scale
    size = np.minimum(np.abs(residual[rows]), most)
    left = float(np.mean(size**2))
    variance = float(np.var(data.watts[rows]))
    return _Explained(
        readings=readings,
        left=left,
        explained=variance - left,
        share=explained_share(model, rows, data, residual),
    )
