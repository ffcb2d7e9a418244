"""What an offset of a power log costs: how badly the work that ran explains its readings there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from powertui.data.energy import settings
from powertui.data.energy.placement_score import IDLE_SHARE, Likeness
from powertui.data.energy.robust_stats import MEDIAN_TO_SIGMA, rounding_sigma
from powertui.data.energy.samples import Samples, usual_pace_s, usual_window_s
from powertui.data.energy.window_shares import WindowShares
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column, percentile_of_column
from powertui.value_types import dataclass

# Costs are in units of the ordinary residual's (see placement_score), divided by how many
# neighboring residuals say the same. What half and twice of a value do to 27 logs stands in
# docs/energy-evidence.md, summed up here as "lost" (no longer sure) and "won" (now sure and right).

# ── how many readings make a fit. Chosen: with fewer than kinds of work every fit is exact ──
MIN_SAMPLES = settings.MIN_NOISE_READINGS  # different readings
MIN_READINGS_IN_PROFILE = settings.MIN_REPEATS

# ── noise ──
_POWER_DRIFT_SHARE = (
    settings.LEAST_NOISE_SHARE
)  # of the power: it drifts by that much whatever runs
_MIN_NOISE_OF_CHANGES = settings.MINOR_SHARE  # of the usual change from a reading to the next
# Residuals nearer to each other are wrong together, because work that no trace shows lasts.
# Half: 1 interval misses. Twice: 2 lost.
_CORRELATION_S = 0.5
_MAX_LAG = 0.99  # correlation of neighbors: at 1 all readings together would count for nothing
_ORDINARY_SIGMAS = settings.ORDINARY_SIGMAS  # larger residuals are bursts that no trace explains

# ── the idle machine ──
# The lowest reading is the idle machine's where another is within this share of the swing of it.
_IDLE_BAND_OF_SWING = 0.15
# Else idle power may be anywhere within this share of the swing of half a swing below it.
_UNSEEN_IDLE_SHARE = 0.35
MAX_FINE_SAMPLES = 2400  # in the finer passes: more are thinned evenly

# ── which way of averaging is looked at first: bounds of time but for the gain ──
_MIN_AVERAGING_GAIN = (
    settings.DECISIVE_COST
)  # cost that another way of averaging must save to be looked at first
SCALE_PLACES = 8  # places that are asked for the width of ordinary residuals
_PLACES_PER_AVERAGING = 3  # the same for each further way of averaging
_OFFSETS_PER_SIDE = 6  # of a coarse offset, that each way of averaging is tried at


@dataclass(frozen=True)
class OffsetChoices:
    """Offsets, each with a way of averaging, what it costs, and the watts of its fit."""

    # Where the log's zero is, for readings that are centered as the sensor's description says,
    # whatever the way.
    offsets: Floats
    # A window so many times as long; below zero: an exponential mean that forgets in so many
    # seconds.
    way: Floats
    cost: Floats  # of all samples there
    watts: Floats
    width: Floats  # how many of the finest steps each stands for

    def rows(self, rows: Bools) -> OffsetChoices:
        """Some of them."""
        columns = (getattr(self, field.name)[rows] for field in fields(self))
        return OffsetChoices(*columns)


def joined(first: OffsetChoices, second: OffsetChoices) -> OffsetChoices:
    columns = []
    for field in fields(OffsetChoices):
        parts = [getattr(first, field.name), getattr(second, field.name)]
        columns.append(np.concatenate(parts))
    return OffsetChoices(*columns)


def thinned_to(data: Samples, count: int) -> Samples:
    """At most `count` samples, evenly spread over all of them."""
    if len(data) <= count:
        return data
    return data[np.linspace(0, len(data) - 1, count).astype(np.int64)]


class OffsetCosts:
    """The readings, what could have filled their windows, and what each offset costs."""

    def __init__(
        self,
        data: Samples,
        shares: WindowShares,
        step_s: float | None,
        base_w: float,
    ) -> None:
        self.data = thinned_to(data, MAX_FINE_SAMPLES)
        self.shares = shares
        self.step_s = step_s
        self.middle = median_of_column(data.watts)
        pace = usual_pace_s(self.data, single=_CORRELATION_S)
        self.together = max(_CORRELATION_S / max(pace, 1e-9), 1.0)
        high_w = percentile_of_column(data.watts, 98)
        self.floor = self._smallest_noise(data, high_w - base_w)
        swing = max(high_w - base_w, self.floor)
        idle = IDLE_SHARE
        usual_w = 0.0
        near_lowest = data.watts < base_w + _IDLE_BAND_OF_SWING * swing
        if np.count_nonzero(near_lowest) < 2:
            # Seen once only, it is the mean of idling and something else: the idle machine may
            # stand far below.
            base_w = base_w - swing / 2
            idle = _UNSEEN_IDLE_SHARE
            usual_w = swing / 2
        self.like = Likeness(
            shares=shares,
            base_w=base_w,
            swing_w=swing,
            scale=self.floor,
            floor=self.floor,
            idle=idle,
            usual_w=usual_w,
        )
        self.length = usual_window_s(data)
        forgetful_ways = ((-forget_s, price) for forget_s, price in data.forgets)
        self.ways = ((1.0, 0.0), *data.windows, *forgetful_ways)
        self.main = 1.0  # the way that is looked at first
        self._averaged: tuple[Samples, float, Samples] | None = None

    def _smallest_noise(self, data: Samples, swing_w: float) -> float:
        """The smallest noise (W) that is credible: rounding, and what a handful of categories
        cannot say of a machine.
        """
        low_w = percentile_of_column(data.watts, 5)
        high_w = percentile_of_column(data.watts, 95)
        swing_w = max(high_w - low_w, swing_w)
        usual_change_w = median_of_column(np.abs(np.diff(self.data.watts)))
        return max(
            rounding_sigma(data.quantum),
            settings.SAME_LEVEL_SHARE * swing_w,
            _POWER_DRIFT_SHARE * abs(self.middle),
            _MIN_NOISE_OF_CHANGES * usual_change_w,
            1e-9,
        )

    def averaged_as(self, way: float, data: Samples) -> Samples:
        """The readings of a sensor that averages so."""
        if way == 1.0:
            return data
        # The last one is remembered: what `Likeness` remembers is of these readings themselves.
        last = self._averaged
        if last is not None and last[0] is data and last[1] == way:
            return last[2]
        if way > 0:
            averaged = data.scaled(way)
        else:
            averaged = data.forgetting(-way)
        self._averaged = data, way, averaged
        return averaged

    def shift(self, way: float) -> float:
        """How much later an offset is given than windows of this way are: the integrals center
        readings as they are described.
        """
        if way > 0:
            return (1 - way) * self.length / 2
        return self.data.centre_s + way

    def costs(
        self,
        offsets: Floats,
        data: Samples,
        way: float | None = None,
        *,
        exact: bool = True,
    ) -> tuple[Floats, Floats]:
        if way is None:
            way = self.main
        return self.like.costs(
            offsets - self.shift(way),
            self.averaged_as(way, data),
            exact=exact,
        )

    def residuals(
        self,
        offset: float,
        watts: Floats,
        data: Samples,
        way: float | None = None,
    ) -> tuple[Floats, Bools]:
        if way is None:
            way = self.main
        return self.like.residuals(
            offset - self.shift(way),
            watts,
            self.averaged_as(way, data),
        )

    def choose_scale(self, offsets: Floats, data: Samples) -> float:
        """The width of ordinary residuals where all is explained best with its own: a wide one
        makes every place alike.
        """
        scales = []
        for offset in offsets.tolist():
            inside = self.set_scale(offset, data)
            cost, _ = self.costs(np.array([offset]), data)
            price_of_width = float(np.log(self.like.scale / self.floor))
            total_cost = float(cost[0]) + float(inside.sum()) * price_of_width
            scales.append((total_cost, self.like.scale, self.like.alike))
        lowest_cost, self.like.scale, self.like.alike = min(scales)
        return lowest_cost

    def set_scale(self, offset: float, data: Samples) -> Bools:
        """The width of ordinary residuals, from the fit at an offset; which readings lie wholly
        inside the profile there.
        """
        averaged = self.averaged_as(self.main, data)
        widths = self.like.widths(data)
        for _ in range(2):
            residual, inside = self.like.left_over(offset - self.shift(self.main), averaged)
            width = widths
            if inside.sum() >= MIN_READINGS_IN_PROFILE:
                residual = residual[inside]
                width = widths[inside]
            deviation = median_of_column(np.abs(residual) / width)
            self.like.scale = max(self.floor, MEDIAN_TO_SIGMA * deviation)
            lag = self.lag(residual)
            self.like.alike = max((1 + lag) / (1 - lag), self.together)
        return inside

    def choose_way(
        self,
        offsets: Floats,
        data: Samples,
        reach: float,
        further_ways: Sequence[tuple[float, float]],
    ) -> None:
        """The way of averaging that explains most, and the width of ordinary residuals with it.

        Each way is judged at its own best offsets within `reach` of these: beside its place a long
        window, or one that forgets slowly, explains more than the true one.
        """
        like = self.like
        beside = self._best_beside(offsets[:SCALE_PLACES], data, reach)
        lowest_cost = self.choose_scale(beside, data)
        best_settings = (self.main, like.scale, like.alike)
        for way, price in further_ways:
            self.main = way
            beside = self._best_beside(offsets[:_PLACES_PER_AVERAGING], data, reach)
            cost = self.choose_scale(beside, data)
            cost += price * like.alike
            if cost < lowest_cost - _MIN_AVERAGING_GAIN * like.alike:
                lowest_cost = cost
                best_settings = (way, like.scale, like.alike)
        self.main, like.scale, like.alike = best_settings

    def _best_beside(
        self,
        offsets: Floats,
        data: Samples,
        reach: float,
    ) -> Floats:
        """For each of these the offset within `reach` that costs least."""
        beside = np.linspace(-reach, reach, 2 * _OFFSETS_PER_SIDE + 1)
        around = offsets[:, None] + beside
        cost, _ = self.costs(around.ravel(), data, exact=False)
        cheapest = np.argmin(cost.reshape(around.shape), axis=1)
        return np.asarray(around[np.arange(len(offsets)), cheapest])

    def lag(self, residual: Floats) -> float:
        """How alike neighboring residuals are, bursts that no trace explains left aside."""
        largest = _ORDINARY_SIGMAS * self.like.scale
        is_ordinary = np.abs(residual) < largest
        is_pair = is_ordinary[1:] & is_ordinary[:-1]
        if is_pair.sum() < MIN_SAMPLES:
            return 0.0
        first = residual[:-1][is_pair]
        second = residual[1:][is_pair]
        if np.ptp(first) == 0 or np.ptp(second) == 0:
            return 0.0
        correlations = np.corrcoef(first, second)
        correlation = float(correlations[0, 1])
        return min(max(correlation, 0.0), _MAX_LAG)
