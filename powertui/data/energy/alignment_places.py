"""Where a power log may lie: places with weights, and the fit that they come from."""

from __future__ import annotations

from collections import Counter

import numpy as np

from powertui.data.model import Z95, Floats
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass

MAX_PLACES = 32  # places that are listed; further ones have next to no weight
# Half of the 95 % interval of a sure place, s. Chosen, not measured: what lasts a moment
# (`settings.MOMENT_S`) and longer is then told within its own length. Of a slow sensor see
# `clock_check.sure_refreshes`.
SURE_S = 0.3
_MIN_PEAK_SHARE = 1e-4  # of the heaviest offset's weight: lower ones make no place


class Where(NamedTuple):
    """One place in question: an offset (s), how likely it is, and half of its own 95 % interval."""

    offset_s: float
    weight: float
    half_s: float


@dataclass(frozen=True)
class Fit:
    """An offset (s, trace time of the log's zero) found by signal, and how far to believe it."""

    offset_s: float
    lo_s: float
    hi_s: float
    ambiguous: bool
    reasons: tuple[str, ...]  # why it is ambiguous
    r2: float  # share of the watts' variation on the profile and at its ends that the fit explains
    watts: tuple[tuple[str, float], ...]  # idle machine first, then what each kind of work adds
    runner_up_s: float | None  # the second-best separated offset
    elsewhere: float  # weight of all places but the best
    window_s: float  # averaging window that fitted best
    samples: int  # inside the profile
    effective: float  # of them, independent
    ppm: float = 0.0  # drift of the log's clock against the trace's, when the data ask for one
    # All that come into question, the best first; their weights add up to 1.
    places: tuple[Where, ...] = ()
    # What is left over of an ordinary reading, in the least that noise leaves.
    misfit: float = 1.0
    # Places close by that explain the same readings nearly as well, however likely they are.
    aliases: tuple[float, ...] = ()
    # Whether it is this place or none, though it may be too wide to be sure.
    is_one_place: bool = False


def weighed_places(
    offsets: Floats,
    weight: Floats,
    width: float,
    least: float,
) -> tuple[Where, ...]:
    """The weight of ordered offsets, gathered in places no wider than `width`; the heaviest
    first.
    """
    places: list[Where] = []
    remaining = weight.copy()
    negligible = _MIN_PEAK_SHARE * weight.max()
    while remaining.max() > negligible:
        heaviest = offsets[int(np.argmax(remaining))]
        distance = np.abs(offsets - heaviest)
        in_place = (distance <= width / 2) & (remaining > 0)
        places.append(_place(offsets[in_place], remaining[in_place], least))
        remaining[in_place] = 0.0
    best_s = _heaviest(places).offset_s
    places = _thinned(places)
    total = sum(place.weight for place in places)
    places.sort(key=lambda place: (place.offset_s != best_s, -place.weight))
    return tuple(place._replace(weight=place.weight / total) for place in places)


def _heaviest(places: list[Where]) -> Where:
    return max(places, key=lambda place: place.weight)


def _place(offsets: Floats, weight: Floats, least: float) -> Where:
    middle = float(np.average(offsets, weights=weight))
    variance = np.average((offsets - middle) ** 2, weights=weight)
    return Where(
        offset_s=middle,
        weight=float(weight.sum()),
        half_s=Z95 * float(np.sqrt(variance)) + least,
    )


def _thinned(places: list[Where]) -> list[Where]:
    """No more than are listed, standing for all of them: those at which even shares of the whole
    weight are reached, and the best.
    """
    if len(places) <= MAX_PLACES:
        return places
    ordered = sorted(places)
    best = _heaviest(ordered)
    running = np.cumsum([place.weight for place in ordered])
    total = running[-1]
    count = MAX_PLACES - 1
    share = total / count
    middles_of_shares = (np.arange(count) + 0.5) / count * total
    rows = np.searchsorted(running, middles_of_shares)
    shares_of_row = Counter(rows.tolist())
    chosen = []
    for row, shares in shares_of_row.items():
        weight = float(shares * share)
        chosen.append(ordered[row]._replace(weight=weight))
    if all(place.offset_s != best.offset_s for place in chosen):
        chosen.append(best)
    return chosen


def weighted_quantile(offsets: Floats, weight: Floats, share: float) -> float:
    """The offset below which this share of the weight is."""
    running = np.cumsum(weight)
    reached = np.searchsorted(running, share * running[-1])
    row = min(int(reached), len(offsets) - 1)
    return float(offsets[row])
