"""Where a power log may lie: places with weights, and the fit that they come from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.model import Z95, Floats
from powertui.value_types import dataclass

MAX_PLACES = 32  # places that are listed; further ones have next to no weight
SURE_S = 0.3  # half-width of a sure place, or a tenth of a slow sensor's refresh


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
    places: tuple[
        Where, ...
    ] = ()  # all that come into question, the best first; their weights add up to 1


def weighed_places(
    offsets: Floats, weight: Floats, width: float, least: float
) -> tuple[Where, ...]:
    """The weight of ordered offsets, gathered in places no wider than `width`; the heaviest
    first.
    """
    places: list[Where] = []
    remaining = weight.copy()
    while remaining.max() > 1e-4 * weight.max():
        heaviest = int(np.argmax(remaining))
        in_place = (np.abs(offsets - offsets[heaviest]) <= width / 2) & (remaining > 0)
        share = remaining[in_place]
        middle = float(np.average(offsets[in_place], weights=share))
        spread = float(np.sqrt(np.average((offsets[in_place] - middle) ** 2, weights=share)))
        places.append(Where(middle, float(share.sum()), Z95 * spread + least))
        remaining[in_place] = 0.0
    best = max(places, key=lambda place: place.weight)
    places = _thinned(places)
    total = sum(place.weight for place in places)
    places.sort(key=lambda place: (place.offset_s != best.offset_s, -place.weight))
    return tuple(place._replace(weight=place.weight / total) for place in places)


def _thinned(places: list[Where]) -> list[Where]:
    """No more than are told, standing for all of them: those at which even shares of the whole
    weight are reached, and the best.
    """
    if len(places) <= MAX_PLACES:
        return places
    ordered = sorted(places)
    best = max(ordered, key=lambda place: place.weight)
    running = np.cumsum([place.weight for place in ordered])
    drawn = np.searchsorted(
        running, (np.arange(MAX_PLACES - 1) + 0.5) / (MAX_PLACES - 1) * running[-1]
    )
    share = running[-1] / (MAX_PLACES - 1)
    rows, counts = np.unique(drawn, return_counts=True)
    chosen = [
        ordered[row]._replace(weight=float(count * share))
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True)
    ]
    return chosen if any(place.offset_s == best.offset_s for place in chosen) else [*chosen, best]


def weighted_quantile(offsets: Floats, weight: Floats, share: float) -> float:
    """The offset below which this share of the weight lies."""
    running = np.cumsum(weight)
    return float(offsets[min(int(np.searchsorted(running, share * running[-1])), len(offsets) - 1)])
