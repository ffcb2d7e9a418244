"""Where a log lies on epochs of which nothing within is known: where its epochs look most alike, and the machine idles around them.

At every offset in question each reading is held against the median of the readings at the same share of all epochs, and outside the
training against the idle machine. Whatever the program does within an epoch, it does in each: nothing need be known of it.
What starting took, the first epoch has more than the others, and it is left aside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.energy import signal
from powertui.data.energy.samples import Samples
from powertui.data.energy.signal import Where
from powertui.data.model import Floats, Int64s

LEAST = 3  # epochs: of two nobody knows which is as usual
_BEYOND = 4.0  # a reading speaks against an offset with no more than so many errors
_ROWS = 1500  # readings that all offsets are tried with
_OFFSETS = 3000
_OVERLAP = 0.6  # of the shorter of log and training
_SURE_S = 0.5  # or a third of the sensor's refresh: so near to it 95 % of the weight must lie
_SPARE_S, _SPARE = 0.15, 0.2  # s, and of the refresh: epochs are alike but for so much
_GAIN = 30.0  # how much better than a flat line: errors
_STARTS = 0.4  # of the first epoch: it begins otherwise than the others, and nothing tells for how long
_AROUND = 0.15  # of an epoch: other work may run so long before and after the training


class Fold(NamedTuple):
    """Where the log's zero lies (s), its 95 % interval, and all places in question."""

    offset_s: float
    lo_s: float
    hi_s: float
    ambiguous: bool
    places: tuple[Where, ...]
    words: str


def search(data: Samples, epochs: list[tuple[float, float]]) -> Fold | str:
    """The offset of a log on these epochs (s), or why there is none."""
    if len(epochs) < LEAST:
        return f"{len(epochs)} epochs without any record inside: nothing shows where the log lies on them"
    if len(data) < 4 * len(epochs):
        return f"only {len(data)} different samples"
    first, last = epochs[0][0], epochs[-1][1]
    length = float(data.hi[-1] - data.lo[0])
    least = _OVERLAP * min(last - first, length)
    lo, hi = first + least - float(data.hi[-1]), last - least - float(data.lo[0])
    if hi <= lo:
        return "log and training do not overlap enough at any offset"
    few = data.gathered(length / _ROWS) if len(data) > _ROWS else data
    step = max((hi - lo) / _OFFSETS, few.refresh / 4, 1e-3)
    offsets = np.arange(lo, hi + step, step)
    look = _Looking(few, epochs)
    cost = look.costs(offsets)
    for fine in (4.0, 16.0):
        best = offsets[cost <= cost.min() + max(20.0 * look.alike, 0.05 * float(cost.min()))]
        reach = max(step, few.refresh / 2)
        near = np.unique(np.round((best[:, None] + np.linspace(-reach, reach, 9)).ravel() / (step / fine)).astype(np.int64)) * (
            step / fine
        )
        if len(near) > _OFFSETS:
            near = near[np.linspace(0, len(near) - 1, _OFFSETS).astype(np.int64)]
        offsets = np.unique(np.concatenate([offsets, near]))
        cost = look.costs(offsets)
    flat = look.flat()
    at = int(np.argmin(cost))
    if (flat - float(cost[at])) / look.alike < _GAIN:
        return "the power does not follow the epochs"
    gaps = np.gradient(offsets) if len(offsets) > 1 else np.ones(1)
    weight = np.exp(-(cost - cost[at]) / look.alike) * gaps
    weight /= weight.sum()
    spare = data.age_s + step / 16 + _SPARE_S + _SPARE * data.refresh
    near_s = max(_SURE_S, data.refresh / 3)
    places = signal.weighed_places(offsets, weight, near_s, spare)
    low, high = (signal.weighted_quantile(offsets, weight, share) for share in (0.025, 0.975))
    at_s = places[0].offset_s
    elsewhere = float(weight[np.abs(offsets - at_s) > near_s].sum())
    sure = elsewhere < 0.05 and (high - low) / 2 + spare <= signal.SURE_S
    better = f"{len(few)} readings; {1 - cost[at] / flat:.0%} better than a flat line"
    words = f"the epochs look most alike there, and the machine idles around them ({better})"
    if elsewhere >= 0.05:
        words += f"; {elsewhere:.0%} of the weight lies at other places"
    return Fold(at_s, low - spare, high + spare, not sure, places if not sure else (), words)


class _Looking:
    """What an offset costs."""

    def __init__(self, data: Samples, epochs: list[tuple[float, float]]) -> None:
        self.middle, self.watts = (data.lo + data.hi) / 2, data.watts
        lengths = np.array([hi - lo for lo, hi in epochs])
        usual = float(np.median(lengths[1:]))
        self.begin, self.end = epochs[0][0], epochs[-1][1]
        self.start = np.array([max(lo, hi - usual) if n == 0 else lo for n, (lo, hi) in enumerate(epochs)])
        self.stop = np.array([hi for _, hi in epochs])
        pace = float(np.median(np.diff(data.hi)))
        self.bins = int(np.clip(usual / max(pace, 1e-9), 4, 200))
        self.margin = _AROUND * usual
        self.idle = float(np.percentile(self.watts, 5))
        spread = float(np.percentile(self.watts, 95)) - self.idle
        self.floor = max(0.03 * spread, data.quantum / 12**0.5, 1e-9)
        self.scale, self.alike = spread / 2, 1.0
        self.scale, self.alike = self._noise()

    def _noise(self) -> tuple[float, float]:
        """The width of ordinary residuals and how alike neighbours are, at the best of some offsets."""
        lo, hi = self.begin - float(self.middle[-1]), self.end - float(self.middle[0])
        tried = np.linspace(lo, hi, 200)
        best = min(tried.tolist(), key=lambda one: float(self._one(one)[0].sum()))
        rest = self.residuals(best)
        known = rest[np.isfinite(rest)]
        scale = max(1.4826 * float(np.median(np.abs(known))), self.floor) if len(known) else self.floor
        inner = known[np.abs(known) < 3 * scale]
        sides = inner[1:], inner[:-1]
        alike = len(inner) > 8 and all(np.ptp(side) > 0 for side in sides)
        lag = float(np.corrcoef(*sides)[0, 1]) if alike else 0.0
        lag = min(max(lag, 0.0), 0.95)
        return scale, (1 + lag) / (1 - lag)

    def costs(self, offsets: Floats) -> Floats:
        """Of each: how many errors its readings are off in all."""
        return np.array([float(self._one(offset)[0].sum()) for offset in offsets.tolist()])

    def flat(self) -> float:
        """What no course at all costs."""
        return float(np.minimum(np.abs(self.watts - np.median(self.watts)) / self.scale, _BEYOND).sum())

    def _one(self, offset: float) -> tuple[Floats, Floats]:
        rest = self.residuals(offset)
        known = np.isfinite(rest)
        cost = np.where(known, np.minimum(np.abs(np.where(known, rest, 0.0)) / self.scale, _BEYOND), 1.0)
        return cost, rest

    def residuals(self, offset: float) -> Floats:
        """How far each reading lies from the others at its share of an epoch, or from the idle machine; NaN: nothing tells."""
        at = self.middle + offset
        epoch = np.searchsorted(self.start, at, side="right") - 1
        inside = (epoch >= 0) & (at < self.stop[np.maximum(epoch, 0)])
        row = np.maximum(epoch, 0)
        share = (at - self.start[row]) / (self.stop[row] - self.start[row])
        bins: Int64s = np.where(inside, np.clip((share * self.bins).astype(np.int64), 0, self.bins - 1), self.bins)
        out = np.full(len(at), np.nan)
        rows = np.flatnonzero(inside)
        if len(rows):
            order = rows[np.lexsort((self.watts[rows], bins[rows]))]
            own = bins[order]
            edges = np.searchsorted(own, np.arange(self.bins + 1))
            counts = np.diff(edges)
            low, high = edges[:-1] + (counts - 1) // 2, edges[:-1] + counts // 2
            held = np.minimum(np.stack([low, high]), len(order) - 1)
            median = self.watts[order][held].mean(axis=0)
            out[rows] = self.watts[rows] - median[bins[rows]]
            out[rows] = np.where(counts[bins[rows]] >= 2, out[rows], np.nan)
            out[rows[(epoch[rows] == 0) & (share[rows] < _STARTS)]] = np.nan
        beside = (at < self.begin - self.margin) | (at >= self.end + self.margin)
        out[beside] = self.watts[beside] - self.idle
        near = ~inside & ~beside & (at >= self.end)
        out[near] = self.watts[near] - self.idle
        return out
