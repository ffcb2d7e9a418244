"""Where a log lies on epochs of which nothing within is known.

Its place is where power rises and falls once for as long as the epochs took, else where the epochs
look most alike and the machine idles around them. How far around such a place the log may lie, its
ends tell (`training_edges`).

At every offset in question each reading is compared with the median of the readings at the same
share of all epochs, and outside the training with the idle machine. Whatever the program does
within an epoch, it does in each: nothing need be known of it. The first epoch also holds what
starting took, so its beginning is left aside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from powertui.data.energy.alignment_places import SURE_S, Where
from powertui.data.energy.samples import Samples
from powertui.data.model import Floats, Int64s
from powertui.data.training import training_edges
from powertui.data.training.training_edges import PowerEdges


@dataclass(frozen=True)
class _FoldingRules:
    """How epochs are laid over each other. All values were chosen; none was measured."""

    min_epochs: int = 3  # of two nobody knows which one is as usual
    max_errors: float = 4.0  # a reading speaks against an offset with no more than so many errors
    max_readings: int = 1500  # that all offsets are tried with
    max_offsets: int = 3000
    min_overlap: float = 0.6  # of the shorter one of log and training
    # Places nearer to each other than spare_s and spare_refreshes are not distinguished.
    spare_s: float = 0.15
    spare_refreshes: float = 0.2
    sure_epochs: float = 0.005  # within this of an epoch, no answer changes
    open_epochs: float = 0.6  # where an end is not in the log, the place may be so far off
    # How long a program usually goes on after its last record: the sum of both.
    after_s: float = 0.5
    after_epochs: float = 0.02
    even_share: float = 0.2  # of the interval: within this of the likeliest, all offsets are alike
    max_places: int = 5  # in question around each cell
    min_cell_weight: float = 0.02
    min_gain: float = 30.0  # errors that a course must explain better than a flat line
    starting_share: float = 0.4  # of the first epoch: it begins unlike the others
    reading_share: float = 0.15  # of an epoch: a program usually reads its data so long before


_RULES = _FoldingRules()


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
    edges = training_edges.find_power_edges(data, epochs)
    if edges is not None:
        offset = training_edges.offset_of_only_run(edges, epochs)
        if offset is not None:
            words = "power rises and falls as the training begins and ends, and at no other time"
            return _within(data, epochs, edges, [(offset, 1.0)], words)
    cells = _cells(data, epochs)
    if isinstance(cells, str):
        return cells
    places, words = cells
    return _within(data, epochs, edges, places, words)


def offset_range_of_only_run(
    data: Samples, epochs: list[tuple[float, float]]
) -> tuple[float, float] | None:
    """Between which offsets all that the log saw running is this training.

    None: it is more or less, or has no end. The range is half an epoch wider on both sides: what a
    program does before its first step and after its last one is only a guess.
    """
    edges = training_edges.find_power_edges(data, epochs)
    if edges is None:
        return None
    offset = training_edges.offset_of_only_run(edges, epochs)
    if offset is None:
        return None
    bounds = training_edges.offset_bounds(data, edges, epochs, offset)
    if bounds.lo is None or bounds.hi is None or bounds.lo >= bounds.hi:
        return None
    spare = training_edges.usual_epoch_s(epochs) / 2
    return bounds.lo - spare, bounds.hi + spare


def _within(
    data: Samples,
    epochs: list[tuple[float, float]],
    edges: PowerEdges | None,
    cells: list[tuple[float, float]],
    words: str,
) -> Fold:
    """All that the ends of the training leave in question around these cells (offset, weight)."""
    usual = training_edges.usual_epoch_s(epochs)
    resolution = data.age_s + _RULES.spare_s + _RULES.spare_refreshes * data.refresh
    places: list[Where] = []
    complete = True
    for offset, weight in cells:
        bounds = training_edges.OffsetBounds(None, None, None)
        if edges is not None:
            bounds = training_edges.offset_bounds(data, edges, epochs, offset)
        complete &= bounds.complete
        lo = bounds.lo if bounds.lo is not None else offset - _RULES.open_epochs * usual
        hi = bounds.hi if bounds.hi is not None else offset + _RULES.open_epochs * usual
        lo, hi = min(lo, hi, offset), max(lo, hi, offset)
        likely = offset if bounds.likely is None else bounds.likely
        count = int(np.clip((hi - lo) / (2 * resolution), 1, _RULES.max_places))
        middles = lo + (np.arange(count) + 0.5) * (hi - lo) / count
        scale = _RULES.after_s + _RULES.after_epochs * usual + _RULES.even_share * (hi - lo)
        share = 1 / (1 + np.abs(middles - likely) / scale)
        share *= weight / share.sum()
        half = (hi - lo) / count / 2
        for middle, place_weight in zip(middles.tolist(), share.tolist(), strict=True):
            places.append(Where(middle, place_weight, half))
    places.sort(key=lambda place: -place.weight)
    lo = min(place.offset_s - place.half_s for place in places)
    hi = max(place.offset_s + place.half_s for place in places)
    sure_s = max(SURE_S, _RULES.sure_epochs * usual)
    if complete and len(cells) == 1 and (hi - lo) / 2 <= sure_s:
        return Fold((lo + hi) / 2, lo, hi, False, (), words)
    if not complete:
        words += "; not both ends of the training are in the log"
    elif len(cells) == 1:
        words += (
            f"; what the program did before and after leaves its place uncertain by {hi - lo:.1f} s"
        )
    return Fold(places[0].offset_s, lo, hi, True, tuple(places), words)


def _cells(
    data: Samples, epochs: list[tuple[float, float]]
) -> tuple[list[tuple[float, float]], str] | str:
    """The places (offset, weight) at which epochs look alike, in words; or why there is none.

    No place is nearer than half an epoch to another.
    """
    if len(epochs) < _RULES.min_epochs:
        return (
            f"{len(epochs)} epochs without any record inside: nothing shows where the log "
            "is on them"
        )
    if len(data) < 4 * len(epochs):
        return f"only {len(data)} different samples"
    first, last = epochs[0][0], epochs[-1][1]
    length = float(data.hi[-1] - data.lo[0])
    min_overlap = _RULES.min_overlap * min(last - first, length)
    lo = first + min_overlap - float(data.hi[-1])
    hi = last - min_overlap - float(data.lo[0])
    if hi <= lo:
        return "log and training do not overlap enough at any offset"
    fewer = data.gathered(length / _RULES.max_readings) if len(data) > _RULES.max_readings else data
    step = max((hi - lo) / _RULES.max_offsets, fewer.refresh / 4, 1e-3)
    offsets = np.arange(lo, hi + step, step)
    costs = _OffsetCosts(fewer, epochs)
    cost = costs.at(offsets)
    best = int(np.argmin(cost))
    if (costs.flat() - float(cost[best])) / costs.alike < _RULES.min_gain:
        return "the power does not follow the epochs"
    weight = np.exp(-(cost - cost[best]) / costs.alike)
    weight /= weight.sum()
    usual = training_edges.usual_epoch_s(epochs)
    cells: list[tuple[float, float]] = []
    while weight.max() > 0:
        heaviest = int(np.argmax(weight))
        in_cell = np.abs(offsets - offsets[heaviest]) <= usual / 2
        share = float(weight[in_cell].sum())
        if cells and share < _RULES.min_cell_weight:
            break
        cells.append((float(offsets[heaviest]), share))
        weight[in_cell] = 0.0
    words = (
        f"the epochs look most alike there, and the machine idles around them "
        f"({len(fewer)} readings)"
    )
    if len(cells) > 1:
        words += f"; {1 - cells[0][1]:.0%} of the weight is at other places"
    return cells, words


class _OffsetCosts:
    """What each offset of a log on these epochs costs."""

    def __init__(self, data: Samples, epochs: list[tuple[float, float]]) -> None:
        self.middle, self.watts = (data.lo + data.hi) / 2, data.watts
        usual = float(np.median([hi - lo for lo, hi in epochs[1:]]))
        self.begin, self.end = epochs[0][0], epochs[-1][1]
        starts = [lo for lo, _ in epochs]
        # The first epoch counts from when its usual work began: before that the program started.
        starts[0] = max(epochs[0][0], epochs[0][1] - usual)
        self.start = np.array(starts)
        self.stop = np.array([hi for _, hi in epochs])
        pace = float(np.median(np.diff(data.hi)))
        self.bins = int(np.clip(usual / max(pace, 1e-9), 4, 200))
        self.margin = _RULES.reading_share * usual
        self.idle = float(np.percentile(self.watts, 5))
        spread = float(np.percentile(self.watts, 95)) - self.idle
        self.floor = max(0.03 * spread, data.quantum / 12**0.5, 1e-9)
        # The noise is learned at the best of some offsets, which a rough scale finds.
        self.scale = max(spread / 2, self.floor)
        self.scale, self.alike = self._noise()

    def _noise(self) -> tuple[float, float]:
        """(the width of ordinary residuals, how many neighboring readings count as one)."""
        lo, hi = self.begin - float(self.middle[-1]), self.end - float(self.middle[0])
        best = min(np.linspace(lo, hi, 200).tolist(), key=self._cost)
        residuals = self.residuals(best)
        residuals = residuals[np.isfinite(residuals)]
        scale = self.floor
        if len(residuals):
            median = float(np.median(np.abs(residuals)))
            scale = max(1.4826 * median, self.floor)
        ordinary = residuals[np.abs(residuals) < 3 * scale]
        after, before = ordinary[1:], ordinary[:-1]
        lag = 0.0
        if len(ordinary) > 8 and np.ptp(after) > 0 and np.ptp(before) > 0:
            lag = float(np.corrcoef(after, before)[0, 1])
        lag = min(max(lag, 0.0), 0.95)
        return scale, (1 + lag) / (1 - lag)

    def at(self, offsets: Floats) -> Floats:
        """Of each offset: how many errors its readings are off in all."""
        return np.array([self._cost(offset) for offset in offsets.tolist()])

    def flat(self) -> float:
        """What a flat line costs."""
        errors = np.abs(self.watts - np.median(self.watts)) / self.scale
        return float(np.minimum(errors, _RULES.max_errors).sum())

    def _cost(self, offset: float) -> float:
        residuals = self.residuals(offset)
        finite = np.isfinite(residuals)
        errors = np.abs(np.where(finite, residuals, 0.0)) / self.scale
        # A reading that cannot be compared costs what an ordinary one does.
        return float(np.where(finite, np.minimum(errors, _RULES.max_errors), 1.0).sum())

    def residuals(self, offset: float) -> Floats:
        """How far each reading lies from the others at its share of an epoch; NaN: not known.

        Outside the training: from the idle machine.
        """
        at = self.middle + offset
        epoch = np.searchsorted(self.start, at, side="right") - 1
        row = np.maximum(epoch, 0)
        inside = (epoch >= 0) & (at < self.stop[row])
        share = (at - self.start[row]) / (self.stop[row] - self.start[row])
        in_epoch = np.clip((share * self.bins).astype(np.int64), 0, self.bins - 1)
        bins: Int64s = np.where(inside, in_epoch, self.bins)
        out = np.full(len(at), np.nan)
        rows = np.flatnonzero(inside)
        if len(rows):
            # Medians of all bins at once: sorted by bin and watts, each is in the middle of its
            # run.
            order = rows[np.lexsort((self.watts[rows], bins[rows]))]
            edges = np.searchsorted(bins[order], np.arange(self.bins + 1))
            counts = np.diff(edges)
            low, high = edges[:-1] + (counts - 1) // 2, edges[:-1] + counts // 2
            middles = np.minimum(np.stack([low, high]), len(order) - 1)
            median = self.watts[order][middles].mean(axis=0)
            out[rows] = self.watts[rows] - median[bins[rows]]
            out[rows] = np.where(counts[bins[rows]] >= 2, out[rows], np.nan)
            starting = (epoch[rows] == 0) & (share[rows] < _RULES.starting_share)
            out[rows[starting]] = np.nan
        outside = (at < self.begin - self.margin) | (at >= self.end)
        out[outside] = self.watts[outside] - self.idle
        return out
