"""How often a difference of held-out runs could be found at best: by one who knows how the runs of
a kind differ, only not what chance made of it.

It weighs how likely the runs are with the difference, on either side, and without it, summed over
the level that nobody knows, and over everything that the kind draws (`tests/synthetic/held_out_runs.py`). No test with as few false
alarms finds it more often (Neyman and Pearson).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.synthetic.held_out_runs import held_out_values
from tests.synthetic.step_world import Floats

_DRAWS = 600  # without and with the difference
_ALARM_SHARE = 0.05
_SHARED, _OWN = 0.8, 0.6  # of the two scatters of one figure
_SPEEDS = 3.0  # between two of them
_SPEED_SIGMA = 0.1
# Levels that are summed over, around a value near which they lie: (farthest, apart).
_LEVELS = {
    "heavy tails": (8.0, 0.1),
    "one bad run": (4.0, 0.1),
    "two speeds": (4.4, 0.05),
    "at a ceiling": (0.4, 0.01),
}
_GRID = np.arange(-60, 60, 0.01)  # of a density that has no formula

_LogDensity = Callable[[Floats], Floats]  # [draws × runs] → [draws]


def share_found_at_best(kind: str, of_b: Floats, change: float, rng: np.random.Generator) -> float:
    """Of pairs whose B is longer by so much, at 5 % false alarms."""
    log_density = _log_density(kind, of_b)

    def evidence(values: Floats) -> Floats:
        longer, shorter = (log_density(values - sign * change * of_b) for sign in (1, -1))
        return np.logaddexp(longer, shorter) - log_density(values)

    alike = _drawn(kind, of_b, rng)
    least = np.quantile(evidence(alike), 1 - _ALARM_SHARE)
    return float((evidence(_drawn(kind, of_b, rng) + change * of_b) > least).mean())


def _drawn(kind: str, of_b: Floats, rng: np.random.Generator) -> Floats:
    return np.array([held_out_values(kind, of_b, 1, rng)[:, 0] for _ in range(_DRAWS)])


def _log_density(kind: str, of_b: Floats) -> _LogDensity:
    hours = np.linspace(0, 1, len(of_b))
    if kind == "A varies five times as much":
        return _beside_drifts(np.zeros((1, len(of_b))), np.where(of_b > 0, 1.0, 5.0))
    if kind == "doubling scatter":
        return _beside_drifts(np.zeros((1, len(of_b))), 2 ** (2 * hours))
    if kind == "a slower day":
        powers = hours ** np.linspace(0.5, 2, 16)[:, np.newaxis]
        slopes = np.linspace(-4, 4, 81)
        drifts = (slopes[:, np.newaxis, np.newaxis] * powers).reshape(-1, len(of_b))
        return _beside_drifts(drifts, np.ones(len(of_b)))
    if kind == "a restless day":
        turns, phases = np.meshgrid(np.linspace(1, 9, 65), np.linspace(0, 6, 49))
        waves = np.sin(turns.reshape(-1, 1) * hours + phases.reshape(-1, 1))
        return _beside_drifts(1.5 * waves + 2 * hours, np.ones(len(of_b)))
    densities = {
        "heavy tails": _independent(_heavy_tails),
        "at a ceiling": _independent(_at_a_ceiling),
        "one bad run": _one_bad_run,
        "two speeds": _two_speeds,
    }
    return _at_any_level(densities[kind], kind)


def _at_any_level(density: _LogDensity, kind: str) -> _LogDensity:
    farthest, apart = _LEVELS[kind]
    levels = np.arange(-farthest, farthest + apart, apart)

    def log_density(values: Floats) -> Floats:
        # At a ceiling the highest run is near it; else the level is near the middle.
        near = values.max(axis=1) if kind == "at a ceiling" else np.median(values, axis=1)
        total = np.full(len(values), -np.inf)
        for level in levels:
            total = np.logaddexp(total, density(values - (near + level)[:, np.newaxis]))
        return total

    return log_density


def _beside_drifts(drifts: Floats, sigmas: Floats) -> _LogDensity:
    """Normal runs at any level beside one of these drifts, each as likely."""
    weights = sigmas**-2 / (sigmas**-2).sum()

    def log_density(values: Floats) -> Floats:
        total = np.full(len(values), -np.inf)
        for drift in drifts:
            rest = values - drift
            rest -= (rest @ weights)[:, np.newaxis]
            total = np.logaddexp(total, -((rest / sigmas) ** 2).sum(axis=1) / 2)
        return total

    return log_density


def _independent(density: Callable[[Floats], Floats]) -> _LogDensity:
    """Runs of which each is drawn alike: the sum of a shared and an own part of this density."""
    shared, own = (density(_GRID / part) / part for part in (_SHARED, _OWN))
    step = _GRID[1] - _GRID[0]
    both = np.fft.irfft(np.fft.rfft(shared) * np.fft.rfft(np.fft.ifftshift(own))) * step
    logs = np.log(np.maximum(both, 1e-12))
    return lambda values: np.interp(values, _GRID, logs).sum(axis=1)


def _heavy_tails(values: Floats) -> Floats:
    """Student's with two degrees of freedom."""
    return np.asarray((2 + values**2) ** -1.5)


def _at_a_ceiling(values: Floats) -> Floats:
    """Half of all runs at the ceiling, beside noise of 0.02; the others as they come."""
    at_it = np.exp(-((values / 0.02) ** 2) / 2) / (0.02 * math.sqrt(2 * math.pi)) / 2
    return at_it + np.where(values < 0, _normal(values), 0.0)


def _normal(values: Floats) -> Floats:
    return np.asarray(np.exp(-(values**2) / 2) / math.sqrt(2 * math.pi))


def _one_bad_run(values: Floats) -> Floats:
    """Normal runs; one has 4 to 20 more of the shared scatter, one of the own, maybe the same."""
    runs = values.shape[1]
    excess = np.linspace(4, 20, 33)
    shared = _log_likelier(values, _SHARED * excess)
    own = _log_likelier(values, _OWN * excess)
    both = np.add.outer(_SHARED * excess[::2], _OWN * excess[::2]).ravel()
    together = _log_likelier(values, both)
    total = np.full(len(values), -np.inf)
    for bad in range(runs):
        for bad_of_own in range(runs):
            way = shared[:, bad] + own[:, bad_of_own] if bad != bad_of_own else together[:, bad]
            total = np.logaddexp(total, way)
    return np.asarray(total - (values**2).sum(axis=1) / 2)


def _log_likelier(values: Floats, excess: Floats) -> Floats:
    """How much likelier each value is with one of these excesses, each as likely, than without."""
    total = np.full(values.shape, -np.inf)
    for more in excess:
        total = np.logaddexp(total, more * values - more**2 / 2)
    return np.asarray(total - math.log(len(excess)))


def _two_speeds(values: Floats) -> Floats:
    """Each scatter is at one of two speeds; how often, is drawn for all runs."""
    total = np.full(len(values), -np.inf)
    shares = np.linspace(0.2, 0.8, 4)
    noise = _SPEED_SIGMA * math.hypot(_SHARED, _OWN)
    for slow in shares:
        for slow_own in shares:
            density = np.full_like(values, 1e-300)
            for shared, own in ((0, 0), (0, 1), (1, 0), (1, 1)):
                weight = (slow if shared else 1 - slow) * (slow_own if own else 1 - slow_own)
                level = _SPEEDS * (_SHARED * shared + _OWN * own)
                density += weight * _normal((values - level) / noise)
            total = np.logaddexp(total, np.log(density).sum(axis=1))
    return total
