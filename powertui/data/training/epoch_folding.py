"""Where a log lies on epochs of which nothing within is known: where power rises and falls once for
as long as they took, else where its epochs look most alike, and the machine idles around them. How
far around such a place it may lie, its ends tell (`ends`).

At every offset in question each reading is held against the median of the readings at the same
share of all epochs, and outside the training against the idle machine. Whatever the program does
within an epoch, it does in each: nothing need be known of it. What starting took, the first epoch
has more than the others, and it is left aside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from powertui.data.energy import signal_alignment
from powertui.data.energy.samples import Samples
from powertui.data.energy.signal_alignment import Where
from powertui.data.model import Floats, Int64s
from powertui.data.training import training_edges
from powertui.data.training.training_edges import PowerEdges

_LEAST = 3  # epochs: of two nobody knows which is as usual
_BEYOND = 4.0  # a reading speaks against an offset with no more than so many errors
_ROWS = 1500  # readings that all offsets are tried with
_OFFSETS = 3000
_OVERLAP = 0.6  # of the shorter of log and training
_SPARE_S, _SPARE = 0.15, 0.2  # s, and of the refresh: no finer are places told apart
_SURE = 0.005  # of an epoch: nearer than that nothing changes
_OPEN = 0.6  # of an epoch: where an end is not in the log, the place may be so far off
_AFTER_S, _AFTER = (
    0.5,
    0.02,
)  # s, and of an epoch: how long a program goes on after its last record, as a rule
_EVENLY = 0.2  # of the interval: no nearer to the likeliest of its offsets it is
_PLACES = 5  # in question around each one that stands out
_CELL = 0.02  # of the weight: places of less are not looked at
_GAIN = 30.0  # how much better than a flat line: errors
_STARTS = 0.4  # of the first epoch: it begins otherwise than the others, for how long is not known
_AROUND = 0.15  # of an epoch: so long before the training its program reads data, as a rule


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
    found = training_edges.find_power_edges(data, epochs)
    fitting = training_edges.offset_of_only_run(found, epochs) if found is not None else None
    if fitting is not None:
        words = "power rises and falls as the training begins and ends, and at no other time"
        return _within(data, epochs, found, [(fitting, 1.0)], words)
    cells = _cells(data, epochs)
    if isinstance(cells, str):
        return cells
    places, words = cells
    return _within(data, epochs, found, places, words)


def offset_range_of_only_run(
    data: Samples, epochs: list[tuple[float, float]]
) -> tuple[float, float] | None:
    """Between which offsets all that the log saw running is this training; None: it is more or
    less, or has no end.

    Half an epoch more on both sides: what a program does before its first step and after its last
    one was only guessed at.
    """
    found = training_edges.find_power_edges(data, epochs)
    at = training_edges.offset_of_only_run(found, epochs) if found is not None else None
    here = (
        training_edges.offset_bounds(data, found, epochs, at)
        if found is not None and at is not None
        else None
    )
    if here is None or here.lo is None or here.hi is None or here.lo >= here.hi:
        return None
    spare = training_edges.usual_epoch_s(epochs) / 2
    return here.lo - spare, here.hi + spare


def _within(
    data: Samples,
    epochs: list[tuple[float, float]],
    found: PowerEdges | None,
    cells: list[tuple[float, float]],
    words: str,
) -> Fold:
    """All that the ends of the training leave in question around these places (offset, weight)."""
    usual = training_edges.usual_epoch_s(epochs)
    least = data.age_s + _SPARE_S + _SPARE * data.refresh
    every: list[Where] = []
    known = True
    for at, weight in cells:
        here = (
            training_edges.offset_bounds(data, found, epochs, at)
            if found is not None
            else training_edges.OffsetBounds(None, None, None)
        )
        known &= here.known
        lo = here.lo if here.lo is not None else at - _OPEN * usual
        hi = here.hi if here.hi is not None else at + _OPEN * usual
        lo, hi = min(lo, hi, at), max(lo, hi, at)
        likely = at if here.likely is None else here.likely
        count = int(np.clip((hi - lo) / (2 * least), 1, _PLACES))
        middles = lo + (np.arange(count) + 0.5) * (hi - lo) / count
        share = 1 / (
            1 + np.abs(middles - likely) / (_AFTER_S + _AFTER * usual + _EVENLY * (hi - lo))
        )
        share *= weight / share.sum()
        half = (hi - lo) / count / 2
        every += [Where(*one, half) for one in zip(middles.tolist(), share.tolist(), strict=True)]
    every.sort(key=lambda one: -one.weight)
    lo, hi = (
        min(one.offset_s - one.half_s for one in every),
        max(one.offset_s + one.half_s for one in every),
    )
    sure = (
        known and len(cells) == 1 and (hi - lo) / 2 <= max(signal_alignment.SURE_S, _SURE * usual)
    )
    if sure:
        return Fold((lo + hi) / 2, lo, hi, False, (), words)
    if not known:
        words += "; not both ends of the training are in the log"
    elif len(cells) == 1:
        words += (
            f"; what the program did before and after leaves its place uncertain by {hi - lo:.1f} s"
        )
    return Fold(every[0].offset_s, lo, hi, True, tuple(every), words)


def _cells(
    data: Samples, epochs: list[tuple[float, float]]
) -> tuple[list[tuple[float, float]], str] | str:
    """The places (offset, weight), none nearer than half an epoch to another, at which epochs look
    alike.
    """
    if len(epochs) < _LEAST:
        return (
            f"{len(epochs)} epochs without any record inside: nothing shows where the log "
            "lies on them"
        )
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
    flat = look.flat()
    at = int(np.argmin(cost))
    if (flat - float(cost[at])) / look.alike < _GAIN:
        return "the power does not follow the epochs"
    weight = np.exp(-(cost - cost[at]) / look.alike)
    weight /= weight.sum()
    usual = training_edges.usual_epoch_s(epochs)
    cells: list[tuple[float, float]] = []
    while weight.max() > 0:
        at = int(np.argmax(weight))
        mine = np.abs(offsets - offsets[at]) <= usual / 2
        share = float(weight[mine].sum())
        if cells and share < _CELL:
            break
        cells.append((float(offsets[at]), share))
        weight[mine] = 0.0
    words = (
        f"the epochs look most alike there, and the machine idles around them ({len(few)} readings)"
    )
    if len(cells) > 1:
        words += f"; {1 - cells[0][1]:.0%} of the weight lies at other places"
    return cells, words


class _Looking:
    """What an offset costs."""

    def __init__(self, data: Samples, epochs: list[tuple[float, float]]) -> None:
        self.middle, self.watts = (data.lo + data.hi) / 2, data.watts
        lengths = np.array([hi - lo for lo, hi in epochs])
        usual = float(np.median(lengths[1:]))
        self.begin, self.end = epochs[0][0], epochs[-1][1]
        self.start = np.array(
            [max(lo, hi - usual) if n == 0 else lo for n, (lo, hi) in enumerate(epochs)]
        )
        self.stop = np.array([hi for _, hi in epochs])
        pace = float(np.median(np.diff(data.hi)))
        self.bins = int(np.clip(usual / max(pace, 1e-9), 4, 200))
        self.margin = _AROUND * usual
        self.idle = float(np.percentile(self.watts, 5))
        spread = float(np.percentile(self.watts, 95)) - self.idle
        self.floor = max(0.03 * spread, data.quantum / 12**0.5, 1e-9)
        self.scale, self.alike = max(spread / 2, self.floor), 1.0
        self.scale, self.alike = self._noise()

    def _noise(self) -> tuple[float, float]:
        """The width of ordinary residuals and how alike neighbours are, at the best of some
        offsets.
        """
        lo, hi = self.begin - float(self.middle[-1]), self.end - float(self.middle[0])
        tried = np.linspace(lo, hi, 200)
        best = min(tried.tolist(), key=lambda one: float(self._one(one)[0].sum()))
        rest = self.residuals(best)
        known = rest[np.isfinite(rest)]
        scale = (
            max(1.4826 * float(np.median(np.abs(known))), self.floor) if len(known) else self.floor
        )
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
        return float(
            np.minimum(np.abs(self.watts - np.median(self.watts)) / self.scale, _BEYOND).sum()
        )

    def _one(self, offset: float) -> tuple[Floats, Floats]:
        rest = self.residuals(offset)
        known = np.isfinite(rest)
        cost = np.where(
            known, np.minimum(np.abs(np.where(known, rest, 0.0)) / self.scale, _BEYOND), 1.0
        )
        return cost, rest

    def residuals(self, offset: float) -> Floats:
        """How far each reading lies from the others at its share of an epoch, or from the idle
        machine; NaN: not known.
        """
        at = self.middle + offset
        epoch = np.searchsorted(self.start, at, side="right") - 1
        inside = (epoch >= 0) & (at < self.stop[np.maximum(epoch, 0)])
        row = np.maximum(epoch, 0)
        share = (at - self.start[row]) / (self.stop[row] - self.start[row])
        bins: Int64s = np.where(
            inside, np.clip((share * self.bins).astype(np.int64), 0, self.bins - 1), self.bins
        )
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
        beside = (at < self.begin - self.margin) | (at >= self.end)
        out[beside] = self.watts[beside] - self.idle
        return out
