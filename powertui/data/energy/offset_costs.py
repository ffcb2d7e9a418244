"""What an offset of a power log costs: how badly the work that ran explains its readings there."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from powertui.data.energy.expected_work import WindowShares
from powertui.data.energy.placement_score import IDLE_SHARE, Likeness
from powertui.data.energy.samples import Samples
from powertui.data.model import Bools, Floats
from powertui.value_types import dataclass

# Costs are in units of the ordinary residual's (see placement_score), divided by how many
# neighbouring residuals say the same. What half and twice of a value do to 27 logs stands in
# docs/energy-evidence.md, summed up here as "lost" (no longer sure) and "won" (now sure and right).

MIN_SAMPLES = 6  # different readings; chosen, not measured
MIN_READINGS_IN_PROFILE = 3  # chosen, not measured

# ── noise ──
# Smallest believable residual, as a share of the power's swing: what a handful of kinds of work
# leaves open anyway. Half: 3 won, 1 lost. Twice: 4 lost, 1 won.
_MIN_NOISE_OF_SWING = 0.03
_POWER_DRIFT_SHARE = 0.004  # of the power: it drifts by that much whatever runs
# Residuals nearer to each other are wrong together, because work that no trace shows lasts.
# Half: 1 interval misses. Twice: 2 lost.
_CORRELATION_S = 0.5
# The lowest reading is the idle machine's where another is within this share of the swing of it.
_IDLE_BAND_OF_SWING = 0.15
MAX_FINE_SAMPLES = 2400  # in the finer passes: more are thinned evenly


@dataclass(frozen=True)
class OffsetChoices:
    """Offsets, each with a way of averaging, what it costs, and the watts of its fit."""

    # at which readings taken to be centred as the sensor's description says lie right, whatever the
    # way
    offsets: Floats
    # a window so many times as long; below zero: an exponential mean that forgets in so many
    # seconds
    way: Floats
    cost: Floats  # of all samples there
    watts: Floats
    width: Floats  # how many of the finest steps each stands for

    def rows(self, rows: Bools) -> OffsetChoices:
        """Some of them."""
        return OffsetChoices(*(getattr(self, field.name)[rows] for field in fields(self)))


def joined(first: OffsetChoices, second: OffsetChoices) -> OffsetChoices:
    return OffsetChoices(
        *(
            np.concatenate([getattr(part, field.name) for part in (first, second)])
            for field in fields(OffsetChoices)
        )
    )


def thinned_to(data: Samples, count: int) -> Samples:
    """At most `count` samples, evenly spread over all of them."""
    if len(data) <= count:
        return data
    return data[np.linspace(0, len(data) - 1, count).astype(np.int64)]


class OffsetCosts:
    """The readings, what could have filled their windows, and what each offset costs."""

    def __init__(
        self, data: Samples, shares: WindowShares, step_s: float | None, base_w: float
    ) -> None:
        self.data = thinned_to(data, MAX_FINE_SAMPLES)
        self.shares = shares
        self.step_s = step_s
        self.middle = float(np.median(data.watts))
        gaps = np.abs(np.diff(self.data.watts))
        pace = float(np.median(np.diff(self.data.hi))) if len(self.data) > 1 else _CORRELATION_S
        self.together = max(_CORRELATION_S / max(pace, 1e-9), 1.0)
        # The smallest noise that is credible: rounding, and what a handful of categories cannot say
        # of a machine.
        swing = float(np.percentile(data.watts, 98)) - base_w
        spread = max(float(np.percentile(data.watts, 95) - np.percentile(data.watts, 5)), swing)
        self.floor = max(
            data.quantum / np.sqrt(12),
            _MIN_NOISE_OF_SWING * spread,
            _POWER_DRIFT_SHARE * abs(self.middle),
            0.1 * float(np.median(gaps)),
            1e-9,
        )
        swing = max(swing, self.floor)
        idle, usual_w = IDLE_SHARE, 0.0
        if np.count_nonzero(data.watts < base_w + _IDLE_BAND_OF_SWING * swing) < 2:
            # Seen once only, it is the mean of idling and something else: the idle machine may
            # stand far below.
            base_w, idle, usual_w = base_w - swing / 2, 0.35, swing / 2
        self.like = Likeness(
            shares, base_w, swing, self.floor, self.floor, idle=idle, usual_w=usual_w
        )
        self.length = float(np.median(data.hi - data.lo))
        self.ways = (
            (1.0, 0.0),
            *data.windows,
            *((-forget, price) for forget, price in data.forgets),
        )
        self.main = 1.0  # the way that is looked at first

    def averaged_as(self, way: float, data: Samples) -> Samples:
        """The readings of a sensor that averages so."""
        if way == 1.0:
            return data
        return data.scaled(way) if way > 0 else data.forgetting(-way)

    def shift(self, way: float) -> float:
        """How much later an offset is told than windows of this way lie: the integrals centre
        readings as they are described.
        """
        return (1 - way) * self.length / 2 if way > 0 else self.data.centre_s + way

    def costs(
        self, offsets: Floats, data: Samples, way: float | None = None, *, exact: bool = True
    ) -> tuple[Floats, Floats]:
        way = self.main if way is None else way
        return self.like.costs(offsets - self.shift(way), self.averaged_as(way, data), exact=exact)

    def residuals(
        self, offset: float, watts: Floats, data: Samples, way: float | None = None
    ) -> tuple[Floats, Bools]:
        way = self.main if way is None else way
        return self.like.residuals(offset - self.shift(way), watts, self.averaged_as(way, data))

    def choose_scale(self, offsets: Floats, data: Samples) -> float:
        """The width of ordinary residuals where all is explained best with its own: a wide one
        makes every place alike.
        """
        candidates = []
        for offset in offsets:
            single = np.array([offset])
            self.set_scale(single, data)
            cost, watts = self.costs(single, data)
            _, inside = self.residuals(float(offset), watts[0], data)
            cost_of_best = float(cost[0]) + float(inside.sum()) * float(
                np.log(self.like.scale / self.floor)
            )
            candidates.append((cost_of_best, self.like.scale, self.like.alike))
        cost_of_best, self.like.scale, self.like.alike = min(candidates)
        return cost_of_best

    def set_scale(self, offsets: Floats, data: Samples) -> None:
        """The width of ordinary residuals, from the best of these offsets."""
        for _ in range(2):
            cost, watts = self.costs(offsets, data)
            best = int(np.argmin(cost))
            residual, inside = self.residuals(float(offsets[best]), watts[best], data)
            if inside.sum() >= MIN_READINGS_IN_PROFILE:
                residual = residual[inside]
            wide = (
                self.like.widths(data)[inside]
                if inside.sum() >= MIN_READINGS_IN_PROFILE
                else self.like.widths(data)
            )
            self.like.scale = max(self.floor, 1.4826 * float(np.median(np.abs(residual) / wide)))
            lag = self.lag(residual)
            self.like.alike = max((1 + lag) / (1 - lag), self.together)

    def lag(self, residual: Floats) -> float:
        """How alike neighbouring residuals are, bursts that no trace explains left aside."""
        usual = np.abs(residual) < 3 * self.like.scale
        pair = usual[1:] & usual[:-1]
        first, second = residual[:-1][pair], residual[1:][pair]
        if pair.sum() < MIN_SAMPLES or np.ptp(first) == 0 or np.ptp(second) == 0:
            return 0.0
        return min(max(float(np.corrcoef(first, second)[0, 1]), 0.0), 0.99)
