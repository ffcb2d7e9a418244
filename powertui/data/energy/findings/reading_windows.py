"""Where the windows of a sensor's readings lie, and how long they are: told by how well what ran
explains the readings.

What is known beforehand (`Unsure`) is the prior. A place that is wrong by a hundredth of a second
makes every reading of a fast sensor wrong, by +80 W here and by -80 W there: so the readings
themselves tell the place best, and what is left of the doubt is a few places and lengths with
weights. Bursts, which no place explains, are cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from powertui.data.energy.findings.noise import noise_of, spread
from powertui.data.model import Floats

_FREEDOM = 4.0  # of Student's t: a reading far off tells little
_REACH = 2.6  # sigmas to either side
_COARSE, _FINE = 13, 9  # places looked at
_LENGTHS = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)  # sigmas
_OTHERS, _PRICE = (
    (0.5, 0.7, 1.4, 2.0),
    4.0,
)  # times as long a window may be though its length seemed known, and what that costs
_SHORTEST = 0.1  # of the usual length
# of the weight stays where it was beforehand, whatever the readings say: what ran may be wrong, too
_STUBBORN = 0.2
_LEAST = 0.003  # of the weight: less is not kept
# logarithms of likelihood: what is likelier by less does not take the place of what was known
_DECISIVE = 2.0
_ROUGH = 0.1  # of what a reading may move by: no model of edges is better than that
_CARE = 2.0  # times fewer readings are believed to speak for themselves than their likeness says
_KINDS = 6  # figures that each fit takes from the readings
_LONGEST = 0.2  # weight beforehand of the longest that a window may be, against the usual one

Left = Callable[
    [float, float], tuple[Floats, Floats]
]  # (place, length) → residuals and what each may be off by on its own


class WindowPrior(NamedTuple):
    """One sigma of where the windows of readings lie (s), and of how long they are (as a share of
    it).
    """

    place: float
    window: float
    exact: bool = False  # nothing about the length is in question
    # times as long they may be all the same: a meter usually tells of all the time since it last
    # did
    longest: float = 1.0


class WindowVariant(NamedTuple):
    """One way in which the windows may lie: later by so many seconds, so many times as long."""

    place: float
    length: float
    weight: float = 1.0


class Windows(NamedTuple):
    """The likeliest, and all with their weights, which add up to 1."""

    best: WindowVariant
    all: tuple[WindowVariant, ...]

    @property
    def sigma(self) -> float:
        """What the place is uncertain by, s."""
        return float(
            np.sqrt(sum(one.weight * (one.place - self.best.place) ** 2 for one in self.all))
        )


def fit_windows(left: Left, unsure: WindowPrior, floor: float) -> Windows:
    """Places first, then lengths, then places around the best again."""
    judge = _Judge(left, unsure, floor)
    place, length = 0.0, 1.0
    places = (
        np.linspace(-_REACH, _REACH, _COARSE) * unsure.place if unsure.place > 0 else np.zeros(1)
    )
    judge.best([(0.0, 1.0)])
    place = judge.best([(float(p), length) for p in places])[0]
    lengths = _lengths(unsure)
    if len(lengths) > 1:
        judge.prices.update(lengths)
        # A place that was found with the wrong length is half the difference off.
        place, length = judge.best([(at, one) for at in sorted({place, 0.0}) for one, _ in lengths])
    if (place, length) != (0.0, 1.0) and judge.cost((0.0, 1.0)) - judge.cost(
        (place, length)
    ) < _DECISIVE:
        place, length = 0.0, 1.0
    if unsure.place > 0:
        step = float(places[1] - places[0])
        near = place + np.linspace(-1, 1, _FINE) * step
        best = judge.best([(float(p), length) for p in near])[0]
        place = (
            best if judge.cost((place, length)) - judge.cost((best, length)) > _DECISIVE else place
        )
    return judge.told(
        place,
        length,
        sorted({*places.tolist(), *(near.tolist() if unsure.place > 0 else [])}),
        lengths,
    )


def _lengths(unsure: WindowPrior) -> list[tuple[float, float]]:
    """The lengths that come into question, and what each costs beforehand."""
    found = {1.0: 0.0}
    if unsure.exact:
        return list(found.items())
    for by in _OTHERS:
        found[by] = _PRICE
    for by in _LENGTHS:
        length = 1 + by * unsure.window
        if length > _SHORTEST:
            found[length] = min(by * by / 2, found.get(length, np.inf))
    if unsure.longest > 1.0:
        found[unsure.longest] = min(-float(np.log(_LONGEST)), found.get(unsure.longest, np.inf))
    return sorted(found.items())


class _Judge:
    """Residuals of every way that was looked at, each once."""

    def __init__(self, left: Left, unsure: WindowPrior, floor: float) -> None:
        self.left, self.unsure, self.floor = left, unsure, floor
        self.prices: dict[float, float] = {1.0: 0.0}  # of a length, beforehand
        self.seen: dict[tuple[float, float], tuple[Floats, Floats]] = {}
        self.scale = np.inf
        self.rough: Floats | float = 0.0

    def best(self, ways: list[tuple[float, float]]) -> tuple[float, float]:
        for way in ways:
            if way not in self.seen:
                self.seen[way] = self.left(*way)
                residual, own = self.seen[way]
                sure = own <= np.quantile(own, 0.4) + 1e-12
                self.scale = max(min(self.scale, spread(residual[sure])), self.floor)
        moved = np.ptp([residual for residual, _ in self.seen.values()], axis=0)
        self.rough = _ROUGH * moved
        return min(ways, key=self.cost)

    def cost(self, way: tuple[float, float]) -> float:
        """Minus the logarithm of its likelihood, and of what was known beforehand."""
        residual, own = self.seen[way]
        sigma = np.sqrt(self.scale**2 + own**2 + self.rough**2)
        fits = (_FREEDOM + 1) / 2 * np.log1p((residual / sigma) ** 2 / _FREEDOM) + np.log(
            sigma / self.scale
        )
        before = (way[0] / self.unsure.place) ** 2 / 2 if self.unsure.place > 0 else 0.0
        free = max(len(residual) - _KINDS, 0) / len(residual)
        return float(fits.sum()) * free / (_CARE * self._alike(way)) + before + self.prices[way[1]]

    def _alike(self, way: tuple[float, float]) -> float:
        """How many readings stand for one: neighbours are alike, and any weight that forgets it is
        far too sure.
        """
        if not hasattr(self, "_kept"):
            residual = self.seen[way][0]
            self._kept = max(noise_of(residual, self.floor).alike, 1.5)
        return self._kept

    def told(
        self, place: float, length: float, places: list[float], lengths: list[tuple[float, float]]
    ) -> Windows:
        """Weights of all ways that share the best place or the best length."""
        del self._kept
        self.best([(p, length) for p in places])
        self._alike((place, length))
        best = self.cost((place, length))
        found: list[WindowVariant] = []
        if len(places) > 1:
            room = np.gradient(np.array(places))
            known = -((np.array(places) / self.unsure.place) ** 2) / 2
            weight = _mixed(np.array([best - self.cost((p, length)) for p in places]), known, room)
            found += [
                WindowVariant(p, length, float(w)) for p, w in zip(places, weight, strict=True)
            ]
        if len(lengths) > 1:
            self.best([(place, one) for one, _ in lengths])
            known = np.array([-price for _, price in lengths])
            weight = _mixed(
                np.array([best - self.cost((place, one)) for one, _ in lengths]),
                known,
                np.ones(len(lengths)),
            )
            found += [
                WindowVariant(place, one, float(w))
                for (one, _), w in zip(lengths, weight, strict=True)
            ]
        # The two were weighed each by itself: what they say of a stretch adds up.
        kept = tuple(one for one in found if one.weight >= _LEAST)
        return Windows(WindowVariant(place, length), kept or (WindowVariant(place, length),))


def _mixed(told: Floats, known: Floats, room: Floats) -> Floats:
    """Weights that add up to 1, from logarithms: what the readings told, and a part of what was
    known before.
    """
    parts = [np.exp(one - one.max()) * room for one in (told, known)]
    return np.asarray(
        (1 - _STUBBORN) * parts[0] / parts[0].sum() + _STUBBORN * parts[1] / parts[1].sum()
    )
