"""Joules where it is not sure where the log lies on the trace: over all places in question, never
at the likeliest alone.

Each place gives an energy with its own normal error. The answer is the mixture of these by the
places' weights: its mean, and the interval from its 2.5 % to its 97.5 % point. Where a place that
counts leaves the window without enough readings, nothing is told. With one place everything here is
what `integrate` says.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui import units
from powertui.data.energy import placing, settings
from powertui.data.energy.measured_energy import (
    Energies,
    Energy,
    interval_with_gain,
    intervals_with_gain,
)
from powertui.data.energy.robust_stats import TAILS
from powertui.data.model import Bools, Floats, Int64s, PowerOnTrace, worst_badge
from powertui.named_tuples import NamedTuple

# Places with so much of the weight together have to resolve a window. Chosen, not measured.
MIN_RESOLVED_WEIGHT = settings.SURE_WEIGHT
_MAX_WORLDS = 1024  # combinations of the places of several logs: a bound of time
_SIGMA_COLUMNS = ("sigma_quantum", "sigma_sampling", "sigma_edges", "sigma_timing")
_HALVINGS = 40  # each halves what is open: 40 leave 1e-12 of it


def worlds(powers: Sequence[PowerOnTrace]) -> list[tuple[float, tuple[PowerOnTrace, ...]]]:
    """All channels together, at each of the places in question, with its weight.

    Channels of one log have their places in common; those of different logs are independent. Empty
    when there are too many.
    """
    groups = _groups_by_log(powers)
    counts = [len(powers[group[0]].places) for group in groups]
    if int(np.prod(counts, dtype=np.float64)) > _MAX_WORLDS:
        return []
    combinations = []
    numbers_of_groups = [range(count) for count in counts]
    for numbers in itertools.product(*numbers_of_groups):
        weight = 1.0
        placed = list(powers)
        for group, number in zip(groups, numbers, strict=True):
            weight *= powers[group[0]].places[number].weight
            for index in group:
                places = placing.everywhere(powers[index])
                placed[index] = places[number]
        combinations.append((weight, tuple(placed)))
    return combinations


def _groups_by_log(powers: Sequence[PowerOnTrace]) -> list[list[int]]:
    """The channels that have their places in common: those of a log that are weighed alike."""
    logs: dict[str, list[int]] = {}
    for index, power in enumerate(powers):
        log = power.series.path or str(index)
        logs.setdefault(log, []).append(index)
    groups: list[list[int]] = []
    for members in logs.values():
        weights = _weights(powers[members[0]])
        together = [index for index in members if _weights(powers[index]) == weights]
        groups.append(together)
        groups += [[index] for index in members if index not in together]
    return groups


def _weights(power: PowerOnTrace) -> list[float]:
    """Of the places where a channel may be."""
    return [place.weight for place in power.places]


def energy(
    power: PowerOnTrace,
    lo_ps: int,
    hi_ps: int,
    *,
    edge_ps: float = 0.0,
) -> Energy:
    """One window of one channel."""
    # A first picture measures no window: what integrates is imported here.
    from powertui.data.energy import integrate

    parts = []
    for placed in placing.everywhere(power):
        part = integrate.energy(placed, lo_ps, hi_ps, edge_ps=edge_ps)
        parts.append(part)
    return mixed(_weights(power), parts)


def across(
    powers: Sequence[PowerOnTrace],
    lo_ps: int,
    hi_ps: int,
    *,
    edge_ps: float = 0.0,
) -> list[Energy]:
    """One window of many channels, each for itself."""
    if all(len(power.places) < 2 for power in powers):
        from powertui.data.energy import integrate

        return integrate.across(powers, lo_ps, hi_ps, edge_ps=edge_ps)
    return [energy(power, lo_ps, hi_ps, edge_ps=edge_ps) for power in powers]


def energies(
    power: PowerOnTrace,
    los: Sequence[int] | Int64s,
    his: Sequence[int] | Int64s,
    *,
    edge_ps: float = 0.0,
) -> Energies:
    """Many windows of one channel."""
    from powertui.data.energy import integrate

    parts = []
    for placed in placing.everywhere(power):
        part = integrate.energies(placed, los, his, edge_ps=edge_ps)
        parts.append(part)
    if len(parts) < 2 or not len(parts[0]):
        return parts[0]
    weight = np.array(_weights(power))

    def at_places(name: str) -> Floats:
        """A figure at each place: [places, windows]."""
        return np.array([getattr(part, name) for part in parts])

    is_resolved = at_places("resolved").astype(np.bool_)
    resolved = _enough(weight, is_resolved)
    shares = np.where(is_resolved, weight[:, None], 0.0)
    shares /= np.maximum(shares.sum(axis=0), 1e-300)

    def mean(values: Floats) -> Floats:
        """Over the places, each as far as it counts."""
        weighted = shares * np.nan_to_num(values)
        return np.asarray(weighted.sum(axis=0))

    def if_resolved(values: Floats) -> Floats:
        return np.where(resolved, values, np.nan)

    sigmas = {name: at_places(name) for name in _SIGMA_COLUMNS}
    mixture = _moments(
        shares=shares,
        joules=at_places("joules"),
        sigmas=list(sigmas.values()),
    )
    lo, hi = intervals_with_gain(
        mixture.mean,
        mixture.lo,
        mixture.hi,
        parts[0].curve.gain or 0.0,
    )
    # What the place makes uncertain is in `timing` already.
    columns = {}
    for name in _SIGMA_COLUMNS[:3]:
        variance = (shares * sigmas[name] ** 2).sum(axis=0)
        columns[name] = np.sqrt(variance)
    coverage = at_places("coverage")
    mean_coverage = (shares * coverage).sum(axis=0)
    held_joules = at_places("other_joules")
    has_held = (np.isfinite(held_joules) | ~is_resolved).all(axis=0)
    return replace(
        parts[0],
        joules=if_resolved(mixture.mean),
        lo=if_resolved(lo),
        hi=if_resolved(hi),
        mean_w=if_resolved(mean(at_places("mean_w"))),
        max_w=np.fmax.reduce(at_places("max_w")),
        covered_joules=weight @ at_places("covered_joules"),
        coverage=np.where(resolved, mean_coverage, coverage.min(axis=0)),
        resolved=resolved,
        other_joules=np.where(resolved & has_held, mean(held_joules), np.nan),
        sigma_timing=mixture.timing,
        power=power,
        **columns,
    )


def mixed(weights: Sequence[float], parts: Sequence[Energy]) -> Energy:
    """One energy out of those at every place."""
    if len(parts) == 1:
        return parts[0]
    weight = np.array(weights)
    is_resolved = np.array([part.resolved and part.joules is not None for part in parts])
    is_enough = _enough(weight, is_resolved[:, None])
    if is_enough[0]:
        energy = _resolved_mix(weight, parts, is_resolved)
    else:
        energy = _unresolved_mix(weight, parts, is_resolved)
    covered = float(weight @ [part.covered_joules for part in parts])
    return replace(energy, covered_joules=covered)


def _unresolved_mix(
    weight: Floats,
    parts: Sequence[Energy],
    is_resolved: Bools,
) -> Energy:
    """Not resolved, for the reason at the first place of that kind."""
    first = parts[int(np.argmin(is_resolved))]
    unresolved_weight = weight[~is_resolved].sum()
    unresolved_share = float(unresolved_weight / weight.sum())
    reason = first.reason
    if unresolved_share <= 1 - settings.NEGLIGIBLE_WEIGHT:
        share = units.percent(unresolved_share)
        reason = f"{first.reason} at {share} of the possible places of the log"
    return replace(
        first,
        reason=reason,
        coverage=min(part.coverage for part in parts),
    )


def _resolved_mix(
    weight: Floats,
    parts: Sequence[Energy],
    is_resolved: Bools,
) -> Energy:
    """The mean over the places where it is resolved; what differs from place to place widens the
    interval.
    """
    resolved = [part for part, is_known in zip(parts, is_resolved, strict=True) if is_known]
    weight_resolved = weight[is_resolved]
    share = weight_resolved / weight_resolved.sum()

    def mean(name: str) -> float | None:
        values = [getattr(part, name) for part in resolved]
        if all(value is not None for value in values):
            return float(share @ values)
        return None

    def column(name: str) -> Floats:
        return np.array([[getattr(part, name)] for part in resolved])

    def sigma(column: Floats) -> float:
        variance = share @ column[:, 0] ** 2
        return float(np.sqrt(variance))

    sigmas = [column(name) for name in _SIGMA_COLUMNS]
    quantum, sampling, edges, _ = sigmas
    mixture = _moments(
        shares=share[:, None],
        joules=column("joules"),
        sigmas=sigmas,
    )
    joules = float(mixture.mean[0])
    gain_j = mean("gain_j")
    lo, hi = interval_with_gain(
        joules,
        float(mixture.lo[0]),
        float(mixture.hi[0]),
        gain_j,
    )
    peaks = [part.max_w for part in resolved if part.max_w is not None]
    return replace(
        resolved[0],
        joules=joules,
        lo=lo,
        hi=hi,
        mean_w=mean("mean_w"),
        gain_j=gain_j,
        max_w=max(peaks, default=None),
        other_joules=mean("other_joules"),
        coverage=float(share @ [part.coverage for part in resolved]),
        is_filled=any(part.is_filled for part in resolved),
        badge=worst_badge(part.badge for part in resolved),
        sigma_quantum=sigma(quantum),
        sigma_sampling=sigma(sampling),
        sigma_edges=sigma(edges),
        sigma_timing=float(mixture.timing[0]),
    )


def withheld(measured: Energy) -> Energy:
    """The same window without a number: its logs may lie in more ways than can be looked at."""
    return replace(
        measured,
        resolved=False,
        reason=(
            "not resolved: the places of several logs on this trace are uncertain; place "
            "them by hand"
        ),
        joules=None,
        lo=None,
        hi=None,
        mean_w=None,
        gain_j=None,
        other_joules=None,
        idle_joules=None,
        active_joules=None,
    )


def _enough(weight: Floats, resolved: Bools) -> Bools:
    """Whether the places at which a window is resolved are all that count."""
    unresolved_weight = weight @ ~resolved
    is_enough: Bools = unresolved_weight <= (1 - MIN_RESOLVED_WEIGHT) * weight.sum()
    return is_enough


class _Mixture(NamedTuple):
    """Mixtures of normals, one for each window."""

    mean: Floats
    timing: Floats  # one sigma of the place
    lo: Floats  # the 95 % interval
    hi: Floats


def _moments(
    shares: Floats,
    joules: Floats,
    sigmas: Sequence[Floats],
) -> _Mixture:
    """Of normals at all places: [places, windows]."""
    counts = shares > 0
    values = np.where(counts, joules, 0.0)
    variance_within = sum(np.where(counts, sigma, 0.0) ** 2 for sigma in sigmas)
    within = np.sqrt(variance_within)
    mean = (shares * values).sum(axis=0)
    timing_at_places = np.where(counts, sigmas[-1], 0.0)
    variance_at_places = (shares * timing_at_places**2).sum(axis=0)
    variance_between = (shares * (values - mean) ** 2).sum(axis=0)
    lo, hi = _tail_points(shares, values, np.maximum(within, 1e-12))
    return _Mixture(
        mean=mean,
        timing=np.sqrt(variance_at_places + variance_between),
        lo=lo,
        hi=hi,
    )


def _tail_points(
    shares: Floats,
    values: Floats,
    sigma: Floats,
) -> tuple[Floats, Floats]:
    """Where the mixture's distribution reaches each of `TAILS`, by halving.

    Both at once: a single window costs as much as its numpy calls, and so half as many.
    """
    has_weight = shares > 0
    reach = 6 * sigma
    lowest = np.where(has_weight, values - reach, np.inf).min(axis=0)
    highest = np.where(has_weight, values + reach, -np.inf).max(axis=0)
    # Without any weight nothing is known, and 0 is the answer.
    lowest = np.where(np.isfinite(lowest), lowest, 0.0)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    tails = np.array(TAILS)[:, None]
    low = np.repeat(lowest[None], len(TAILS), axis=0)
    high = np.repeat(highest[None], len(TAILS), axis=0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        sigmas_off = (middle[:, None] - values) / sigma
        weighted = shares * _normal(sigmas_off)
        is_below = weighted.sum(axis=1) < tails
        low = np.where(is_below, middle, low)
        high = np.where(is_below, high, middle)
    lo, hi = (low + high) / 2
    return lo, hi


def _normal(z: Floats) -> Floats:
    """The normal distribution to 1e-7 (Abramowitz and Stegun 26.2.17); numpy has no error
    function.
    """
    x = np.abs(z)
    t = 1 / (1 + 0.2316419 * x)
    poly = t * (
        0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    )
    upper = np.exp(-(np.minimum(x, 40.0) ** 2) / 2) * 0.3989422804014327 * poly
    return np.where(z > 0, 1 - upper, upper)
