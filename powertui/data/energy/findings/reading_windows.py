"""Where the windows of a sensor's readings are, and how long they are.

That shows in how well what ran explains the readings. What is known beforehand (`WindowPrior`) is
the prior. A place that is wrong by a hundredth of a second makes every reading of a fast sensor
wrong, by +80 W here and by -80 W there: so the readings themselves show the place best, and what
remains of the doubt is a few places and lengths with weights. Bursts, which no place explains, are
cut off.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.findings.residual_noise import residual_noise
from powertui.data.energy.robust_stats import spread
from powertui.data.model import Floats
from powertui.data.quantiles import quantile_of_column
from powertui.named_tuples import NamedTuple
from powertui.value_types import dataclass


@dataclass(frozen=True)
class _FitRules:
    """How windows are tried and weighed.

    `prior_share`, `care` and `decisive` were tuned on simulated worlds (docs/energy-evidence.md):
    at half of `prior_share` and at twice `care` one simulated burst is not found; half and twice of
    `decisive` change nothing. The other values are chosen, not measured.
    """

    freedom: float = 4.0  # of Student's t: a reading far off says little
    reach_sigmas: float = 2.6  # how far to either side places are tried
    coarse_places: int = 13
    fine_places: int = 9  # around the best of the coarse ones
    length_sigmas: tuple[float, ...] = (-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5)
    # A window may be so many times as long although its length seemed known, at this cost.
    other_lengths: tuple[float, ...] = (0.5, 0.7, 1.4, 2.0)
    other_length_cost: float = 4.0
    min_length: float = settings.MINOR_SHARE  # of the usual one
    longest_weight: float = 0.2  # beforehand of the longest possible window, against the usual one
    # So much of the weight stays where the prior put it: what ran may be wrong, too.
    prior_share: float = 0.2
    min_weight: float = 0.003
    # Logarithms of likelihood: what is likelier by less does not replace what was known.
    decisive: float = settings.DECISIVE_COST
    rough_share: float = (
        settings.MINOR_SHARE
    )  # of what a reading may move by: no model of edges is better
    # Readings speak for themselves so many times less than their likelihood says.
    care: float = 2.0
    fitted_figures: int = 6  # that each fit takes from the readings


_RULES = _FitRules()

_Variant = tuple[float, float]  # (place, length) of all windows
# For a place and a length: the residuals, and what each may be off by on its own.
Residuals = Callable[[float, float], tuple[Floats, Floats]]


class WindowPrior(NamedTuple):
    """One sigma of where the windows of readings are (s), and of their length (as a share)."""

    place: float
    window: float
    exact: bool = False  # nothing about the length is in question
    # So many times as long they may be all the same: a meter usually reports on all the time since
    # its last reading.
    longest: float = 1.0


class WindowVariant(NamedTuple):
    """One way in which the windows may lie: later by so many seconds, so many times as long."""

    place: float
    length: float
    weight: float = 1.0


class Windows(NamedTuple):
    """The likeliest windows, and all variants with their weights, which add up to 1."""

    best: WindowVariant
    all: tuple[WindowVariant, ...]

    @property
    def sigma(self) -> float:
        """What the place is uncertain by, s."""
        best = self.best.place
        variance = sum(variant.weight * (variant.place - best) ** 2 for variant in self.all)
        return float(np.sqrt(variance))


def fit_windows(
    residuals: Residuals,
    prior: WindowPrior,
    floor: float,
) -> Windows:
    """The windows that explain the readings best: places, then lengths, then places around those.

    `floor`: no reading is known better than this, W.
    """
    judge = _Judge(residuals, prior, floor)
    usual: _Variant = (0.0, 1.0)
    coarse = np.zeros(1)
    if prior.place > 0:
        reach_sigmas = _RULES.reach_sigmas
        coarse = np.linspace(-reach_sigmas, reach_sigmas, _RULES.coarse_places) * prior.place
    judge.best([usual])
    coarse_places: list[float] = coarse.tolist()
    place, length = judge.best([(at, 1.0) for at in coarse_places])
    costs_of_length = _costs_of_length(prior)
    if len(costs_of_length) > 1:
        judge.costs_of_length.update(costs_of_length)
        # A place that was found with the wrong length is half the difference off.
        variants: list[_Variant] = []
        for at in sorted({place, 0.0}):
            variants += [(at, tried) for tried, _ in costs_of_length]
        place, length = judge.best(variants)
    if (place, length) != usual:
        gain = judge.cost(usual) - judge.cost((place, length))
        if gain < _RULES.decisive:
            place, length = usual
    places = set(coarse_places)
    if prior.place > 0:
        step = float(coarse[1] - coarse[0])
        fine = place + np.linspace(-1, 1, _RULES.fine_places) * step
        fine_places: list[float] = fine.tolist()
        best, _ = judge.best([(at, length) for at in fine_places])
        gain = judge.cost((place, length)) - judge.cost((best, length))
        if gain > _RULES.decisive:
            place = best
        places |= set(fine_places)
    return judge.weighed(
        place=place,
        length=length,
        places=sorted(places),
        costs_of_length=costs_of_length,
    )


def _costs_of_length(prior: WindowPrior) -> list[tuple[float, float]]:
    """The lengths that come into question, and what each costs beforehand."""
    costs = {1.0: 0.0}
    if prior.exact:
        return list(costs.items())
    for length in _RULES.other_lengths:
        costs[length] = _RULES.other_length_cost
    for sigmas in _RULES.length_sigmas:
        length = 1 + sigmas * prior.window
        if length > _RULES.min_length:
            cost = sigmas * sigmas / 2
            costs[length] = min(cost, costs.get(length, np.inf))
    if prior.longest > 1.0:
        cost = -float(np.log(_RULES.longest_weight))
        costs[prior.longest] = min(cost, costs.get(prior.longest, np.inf))
    return sorted(costs.items())


class _Judge:
    """Weighs variants of the windows. The residuals of each are made once."""

    def __init__(
        self,
        residuals: Residuals,
        prior: WindowPrior,
        floor: float,
    ) -> None:
        self.residuals = residuals
        self.prior = prior
        self.floor = floor
        self.costs_of_length: dict[float, float] = {1.0: 0.0}  # beforehand
        self.tried: dict[_Variant, tuple[Floats, Floats]] = {}
        self.scale = np.inf  # the smallest spread of sure readings so far
        self.rough: Floats | float = 0.0
        self.alike: float | None = None  # how many readings count as one

    def best(self, variants: list[_Variant]) -> _Variant:
        """The variant that costs least."""
        for variant in variants:
            if variant not in self.tried:
                self._try(variant)
        residuals = [residual for residual, _ in self.tried.values()]
        moved = np.ptp(residuals, axis=0)
        self.rough = _RULES.rough_share * moved
        return min(variants, key=self.cost)

    def _try(self, variant: _Variant) -> None:
        """Learn the residuals of a variant, and from them how much sure readings spread."""
        residual, doubt = self.residuals(*variant)
        self.tried[variant] = residual, doubt
        max_doubt = quantile_of_column(doubt, settings.STEADY_SHARE) + 1e-12
        spread_w = spread(residual[doubt <= max_doubt])
        self.scale = max(min(self.scale, spread_w), self.floor)

    def cost(self, variant: _Variant) -> float:
        """Minus the logarithm of its likelihood, and of what was known beforehand."""
        place, length = variant
        residual, doubt = self.tried[variant]
        variance = self.scale**2 + doubt**2 + self.rough**2
        sigma = np.sqrt(variance)
        # Student's t, whose tails let a reading far off say little.
        freedom = _RULES.freedom
        squares = (residual / sigma) ** 2 / freedom
        tails = (freedom + 1) / 2 * np.log1p(squares)
        misfit = tails + np.log(sigma / self.scale)
        free_readings = max(len(residual) - _RULES.fitted_figures, 0)
        free_share = free_readings / len(residual)
        care = _RULES.care * self._alike(variant)
        readings_cost = float(misfit.sum()) * free_share / care
        prior_cost = 0.0
        if self.prior.place > 0:
            prior_cost = (place / self.prior.place) ** 2 / 2
        return readings_cost + prior_cost + self.costs_of_length[length]

    def _alike(self, variant: _Variant) -> float:
        """How many readings count as one, by the first variant that is asked for.

        Neighbors are alike, and a weight that forgets it is far too sure.
        """
        if self.alike is None:
            residual, _ = self.tried[variant]
            noise = residual_noise(residual, self.floor)
            self.alike = max(noise.alike, 1.5)
        return self.alike

    def weighed(
        self,
        place: float,
        length: float,
        places: list[float],
        costs_of_length: list[tuple[float, float]],
    ) -> Windows:
        """The best variant, and the weights of all that share its place or its length."""
        # How alike neighbors are is learned again, from the first of these places.
        self.alike = None
        self.best([(at, length) for at in places])
        best = self.cost((place, length))

        def mixed(
            tried: list[_Variant],
            before: Floats,
            room: Floats,
        ) -> list[WindowVariant]:
            gains = np.array([best - self.cost(variant) for variant in tried])
            weights: list[float] = _mixed(gains, before, room).tolist()
            return [
                WindowVariant(*variant, weight)
                for variant, weight in zip(tried, weights, strict=True)
            ]

        variants: list[WindowVariant] = []
        if len(places) > 1:
            at_places = np.array(places)
            variants += mixed(
                tried=[(at, length) for at in places],
                before=-((at_places / self.prior.place) ** 2) / 2,
                room=np.gradient(at_places),
            )
        if len(costs_of_length) > 1:
            of_lengths = [(place, tried) for tried, _ in costs_of_length]
            self.best(of_lengths)
            variants += mixed(
                tried=of_lengths,
                before=np.array([-cost for _, cost in costs_of_length]),
                room=np.ones(len(of_lengths)),
            )
        # Places and lengths were weighed each by itself: their effects on a stretch add up.
        heavy = tuple(variant for variant in variants if variant.weight >= _RULES.min_weight)
        likeliest = WindowVariant(place, length)
        return Windows(likeliest, heavy or (likeliest,))


def _mixed(by_readings: Floats, before: Floats, room: Floats) -> Floats:
    """Weights that add up to 1, from logarithms: by the readings, with a part of the prior."""
    likely = np.exp(by_readings - by_readings.max()) * room
    prior = np.exp(before - before.max()) * room
    share = _RULES.prior_share
    of_readings = (1 - share) * likely / likely.sum()
    of_prior = share * prior / prior.sum()
    return np.asarray(of_readings + of_prior)
