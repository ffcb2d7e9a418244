"""How likely each offset of a log is, by its clock and its readings together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.energy.alignment_places import Where, weighed_places, weighted_quantile
from powertui.data.energy.clock_kinds import ClockOffset
from powertui.data.energy.edge_matching import PLACE_STEPS, SHIFTS, OffsetWeights
from powertui.data.energy.robust_stats import normal_quantile
from powertui.data.energy.samples import Samples
from powertui.data.model import Z95, Floats
from powertui.value_types import dataclass

_MIN_ERROR_S = 0.05  # records are written late, and pauses not known better
_CLOCK_GRID_STEPS = (
    601  # offsets that stand for a clock of which readings say nothing: a bound of time
)


@dataclass(frozen=True)
class Posterior:
    """Weights of offsets, ascending."""

    offset_s: Floats
    weight: Floats
    newer_s: float  # readings may be so much newer or older than they are taken to be
    older_s: float

    def interval(self, tails: tuple[float, float]) -> tuple[float, float]:
        low = weighted_quantile(self.offset_s, self.weight, tails[0])
        high = weighted_quantile(self.offset_s, self.weight, tails[1])
        return low - self.newer_s, high + self.older_s

    def share(self, lo_s: float, hi_s: float) -> float:
        inside = (self.offset_s >= lo_s) & (self.offset_s <= hi_s)
        return float(self.weight[inside].sum())

    def between(self, lo_s: float, hi_s: float) -> Posterior:
        """The part between two offsets."""
        inside = (self.offset_s >= lo_s) & (self.offset_s <= hi_s)
        weight = self.weight[inside]
        return replace(self, offset_s=self.offset_s[inside], weight=weight / weight.sum())

    def place_around(self, offset_s: float, reach_s: float) -> Posterior:
        """The part that belongs to one place."""
        return self.between(offset_s - reach_s, offset_s + reach_s)

    def joined(self, offsets: Sequence[Floats], weights: Sequence[Floats]) -> Posterior:
        """All of these offsets with these weights."""
        offset_s = np.concatenate(offsets)
        weight = np.concatenate(weights)
        order = np.argsort(offset_s, kind="stable")
        return replace(self, offset_s=offset_s[order], weight=weight[order])

    @property
    def span(self) -> tuple[float, float]:
        return float(self.offset_s[0]), float(self.offset_s[-1])

    def share_of(self, part: Posterior) -> float:
        return self.share(*part.span)

    @property
    def densest(self) -> float:
        return float(self.offset_s[int(np.argmax(self.weight))])

    @property
    def median(self) -> float:
        return weighted_quantile(self.offset_s, self.weight, 0.5)

    def heaviest(self, reach_s: float) -> float:
        """The offset with most of the weight around it: a grid may be finer at the clock."""
        running = np.concatenate([[0.0], np.cumsum(self.weight)])
        first = self.offset_s.searchsorted(self.offset_s - reach_s, side="left")
        end = self.offset_s.searchsorted(self.offset_s + reach_s, side="right")
        around = running[end] - running[first]
        is_heaviest = around >= around.max() * (1 - 1e-9)
        middle = self.offset_s[is_heaviest]
        return float(middle[len(middle) // 2])

    def power_sigma_s(self, offset_s: float, common_s: float) -> float:
        """One sigma of when the power was that readings show, about an offset at which a log is
        put; `common_s`: by as much all edges may be off the same way.

        How old a reading may be makes no difference to that: its age and the offset of its log
        place the power by their sum, and that sum is what readings show.
        """
        squares_s2 = self.weight @ (self.offset_s - offset_s) ** 2
        return math.hypot(float(np.sqrt(squares_s2)), (_MIN_ERROR_S + common_s) / Z95)

    def places(self, width_s: float) -> tuple[Where, ...]:
        least_s = max(self.newer_s, self.older_s)
        return weighed_places(self.offset_s, self.weight, width_s, least_s)


def offset_posterior(
    clock: ClockOffset | None, readings: OffsetWeights | None, data: Samples
) -> Posterior:
    """How likely each offset is, by a clock and readings, or by one of them alone."""
    newer_s, older_s = reading_ages_s(readings, data)
    if readings is not None:
        readings = with_clock_on_grid(readings, clock)
        offsets = readings.offset_s
        log_weight = readings.log_weight
        width_s = readings.width_s
    else:
        assert clock is not None
        offsets = np.linspace(*clock.believed, _CLOCK_GRID_STEPS)
        log_weight = np.zeros(len(offsets))
        width_s = np.ones(len(offsets))
    if clock is not None:
        if clock.kind.late_share:
            # Such a clock is known better than the age of a reading.
            log_weight = _of_any_age(offsets, log_weight, newer_s, older_s)
            newer_s = older_s = 0.0
        prior = np.maximum(clock.prior(offsets), 1e-300)
        log_weight = log_weight + np.log(prior)
    weight = np.exp(log_weight - log_weight.max()) * width_s
    return Posterior(
        offset_s=offsets,
        weight=weight / weight.sum(),
        newer_s=newer_s,
        older_s=older_s,
    )


def reading_ages_s(readings: OffsetWeights | None, data: Samples) -> tuple[float, float]:
    """By how much readings may be newer or older than they are taken to be."""
    common_s = readings.common_s if readings is not None else 0.0
    spare_s = _MIN_ERROR_S + common_s
    return data.age_s + spare_s, max(data.age_s, data.older_s) + spare_s


def _of_any_age(offsets: Floats, log_weight: Floats, newer_s: float, older_s: float) -> Floats:
    """The weights of a log whose readings may be so much newer or older (95 % each)."""
    shares = (np.arange(SHIFTS) + 0.5) / SHIFTS
    sigmas = np.array([normal_quantile(share) for share in shares.tolist()])
    ages_s = sigmas / Z95 * np.where(sigmas < 0, newer_s, older_s)
    moved = [np.interp(offsets - age_s, offsets, log_weight) for age_s in ages_s.tolist()]
    return np.asarray(np.logaddexp.reduce(moved, axis=0) - np.log(SHIFTS))


def with_clock_on_grid(readings: OffsetWeights, clock: ClockOffset | None) -> OffsetWeights:
    """The same weights with offsets where the clock is believed.

    A grid of seconds has none within ±10 ms, and a clock that is on no point of it would count for
    nothing.
    """
    if clock is None or len(readings.offset_s) < 2:
        return readings
    at_clock = wire.distinct(
        [
            np.linspace(*clock.believed, PLACE_STEPS),
            np.linspace(*clock.prompt, PLACE_STEPS),
        ]
    )
    first_s = readings.offset_s[0]
    last_s = readings.offset_s[-1]
    inside = (at_clock >= first_s) & (at_clock <= last_s)
    offsets = wire.distinct(np.concatenate([readings.offset_s, at_clock[inside]]))
    log_weight = np.interp(offsets, readings.offset_s, readings.log_weight)
    return readings._replace(offset_s=offsets, log_weight=log_weight, width_s=np.gradient(offsets))
