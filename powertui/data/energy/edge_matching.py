"""Where a power log is on a training, by the moments at which power jumps.

A training's records contain moments at which what the machine does changes: its start and end, the
ends of its epochs, validation, pauses. At the true offset of the log many of its jumps happen at
these moments. Each jump is either one of them or anything else (somebody else's work, a checkpoint
that no record shows), which may happen at any time: so a burst costs the same at all offsets. What
slow sensors show of levels instead of jumps is added (`level_fit`).

The result is a weight for every offset of a grid. What is known of the log's clock beforehand is
not in it: see `clock_check`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from powertui.data.energy import alignment_verdict, level_fit, power_jumps
from powertui.data.energy.alignment_places import Where
from powertui.data.energy.expected_work import WindowShares
from powertui.data.energy.level_fit import LevelCosts
from powertui.data.energy.power_jumps import PowerJumps
from powertui.data.energy.samples import Samples
from powertui.data.model import Z95, Floats, Int64s
from powertui.value_types import dataclass

BORDER, START, END = range(3)  # kinds of expected edges


@dataclass(frozen=True)
class _MatchingRules:
    """What jumps and edges are worth. Chosen on the worlds of `benchmarks.clock_answers`."""

    known_share: float = 0.6  # of a log's jumps, those that a record of the training explains
    sign_share: float = 0.85  # of edges with a known direction, those that keep it
    exact_share: float = 0.75  # of jumps at a border, those that are as exact as both are known
    inexact_sigmas: float = 4.0  # the others are so many times less exact ...
    inexact_s: float = 0.2  # ... and so much more
    refresh_share: float = 0.1  # of the refresh: by as much a jump seems early or late
    start_spread_s: float = 2.0  # a program begins to work so long before or after its first record
    end_spread_s: float = 0.7  # a program ends so long after its last record
    exact_start_share: float = 0.4
    exact_end_share: float = 0.5
    temper: float = 0.35  # costs count by this part: at 0.6 7 of 128 right clocks were "corrected"


_RULES = _MatchingRules()
_MAX_COARSE_OFFSETS = 6000
_FINE_PEAKS = 12  # of the coarse grid that are looked at closely
_FINE_STEPS = 41  # of each
_CHUNK_CELLS = 400_000
_PLACE_STEPS = 81  # offsets that stand for one place
_MIN_PLACE_SIGMA_S = 0.01
_ROOT_2PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class ExpectedEdges:
    """Moments at which a training changes what it does (s), by time."""

    at: Floats
    half_s: Floats  # the ± of each
    sign: Floats  # 1: power rises as a rule; -1: it falls; 0: either
    kind: Int64s  # BORDER, START or END

    def __len__(self) -> int:
        return len(self.at)

    @property
    def span(self) -> tuple[float, float]:
        return float(self.at[0]), float(self.at[-1])


class OffsetWeights(NamedTuple):
    """How likely each offset is by the readings alone."""

    offset_s: Floats  # ascending, unevenly spaced
    log_weight: Floats  # 0 at the best
    width_s: Floats  # that each stands for
    jumps: int  # of the log
    matched: int  # of them, those that happen at an edge of the training at the best offset
    # By as much all edges may be off the same way.
    common_s: float = 0.0


def sorted_edges(
    moments: Sequence[tuple[float, float, float, int]],
) -> ExpectedEdges:
    """From (moment, ±, sign, kind) in any order."""
    columns = np.array(sorted(moments), np.float64).reshape(-1, 4)
    return ExpectedEdges(
        columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3].astype(np.int64)
    )


def offset_weights(
    data: Samples,
    edges: ExpectedEdges,
    shares: WindowShares,
    range_s: tuple[float, float],
    longest_mean_s: float,
) -> OffsetWeights | str:
    """The weights of all offsets in a range, or why the readings do not tell."""
    if len(edges) < 2 or range_s[1] <= range_s[0]:
        return "log and training do not overlap at any offset"
    if alignment_verdict.is_flat(float(np.ptp(np.percentile(data.watts, (1, 99)))), data):
        return "the power hardly changes, so there is no edge to align by"
    jumps = power_jumps.find_jumps(data, longest_mean_s)
    levels = level_fit.level_costs(data, shares, range_s)
    costs = _OffsetCosts(data, jumps, edges, levels)
    lo, hi = range_s
    finest = float(jumps.sigma_s.min(initial=data.refresh / 4))
    step = max(finest, (hi - lo) / _MAX_COARSE_OFFSETS)
    coarse = np.arange(lo, hi + step, step)
    cost = costs.at(coarse, step)
    fine_step = finest / 2
    peaks = coarse[_lowest(cost, _FINE_PEAKS)]
    fine = [
        np.arange(peak - step, peak + step + fine_step / 2, fine_step) for peak in peaks.tolist()
    ]
    offsets = np.unique(np.concatenate([coarse, *fine]))
    cost = costs.at(offsets, 0.0)
    width = np.gradient(offsets) if len(offsets) > 1 else np.ones(1)
    log_weight = -_RULES.temper * cost
    best = int(np.argmax(log_weight))
    return OffsetWeights(
        offsets,
        log_weight - float(log_weight[best]),
        width,
        len(jumps),
        costs.matched(float(offsets[best])),
        float(np.median(edges.half_s)),
    )


def weights_of_places(places: Sequence[Where], age_s: float) -> OffsetWeights:
    """The same of places that something else found; `age_s` is in their intervals already."""
    sigma = np.array([max((place.half_s - age_s) / Z95, _MIN_PLACE_SIGMA_S) for place in places])
    middle = np.array([place.offset_s for place in places])
    weight = np.array([place.weight for place in places])
    offsets = np.unique(middle[:, None] + sigma[:, None] * np.linspace(-4, 4, _PLACE_STEPS))
    each = weight * _normal(offsets[:, None] - middle, sigma)
    density = np.maximum(each.sum(axis=1), 1e-300)
    width = np.gradient(offsets) if len(offsets) > 1 else np.ones(1)
    return OffsetWeights(offsets, np.log(density / density.max()), width, 0, 0)


def _lowest(cost: Floats, count: int) -> Int64s:
    """The rows of the lowest local minima."""
    is_low = np.ones(len(cost), np.bool_)
    is_low[1:] &= cost[1:] <= cost[:-1]
    is_low[:-1] &= cost[:-1] <= cost[1:]
    rows = np.flatnonzero(is_low)
    return np.asarray(rows[np.argsort(cost[rows], kind="stable")[:count]], np.int64)


class _OffsetCosts:
    """What each offset costs."""

    def __init__(
        self, data: Samples, jumps: PowerJumps, edges: ExpectedEdges, levels: LevelCosts
    ) -> None:
        self.jumps, self.edges = jumps, edges
        self.refresh = data.refresh
        self.length = max(float(data.hi[-1] - data.lo[0]), 1.0)
        self.sigma = np.hypot(jumps.sigma_s, _RULES.refresh_share * data.refresh)
        self.levels = levels

    def at(self, offsets: Floats, coarse_step: float) -> Floats:
        """The costs of these offsets; of a coarse grid with what lies between its points."""
        cost = self.levels.at(offsets)
        chunk = max(1, _CHUNK_CELLS // max(len(self.jumps), 1))
        for first in range(0, len(offsets), chunk):
            part = offsets[first : first + chunk]
            cost[first : first + chunk] -= np.log(self._likely(part, coarse_step)).sum(axis=0)
        return cost

    def matched(self, offset: float) -> int:
        """How many jumps happen at an edge."""
        return int((self._likely(np.array([offset]), 0.0)[:, 0] > 1.0).sum())

    def _likely(self, offsets: Floats, coarse_step: float) -> Floats:
        """[jumps, offsets]: how many times likelier a jump is there than anywhere."""
        edges, jumps = self.edges, self.jumps
        at = jumps.at[:, None] + offsets
        after = np.searchsorted(edges.at, at)
        density = np.zeros(at.shape)
        for row in (after - 1, after):
            is_edge = (row >= 0) & (row < len(edges))
            row = np.clip(row, 0, len(edges) - 1)
            late = at - edges.at[row]
            sigma = np.sqrt(
                self.sigma[:, None] ** 2 + (edges.half_s[row] / 2) ** 2 + coarse_step**2
            )
            near = _kernel(late, sigma, edges.kind[row])
            agrees = edges.sign[row] * np.sign(jumps.watts)[:, None]
            share = np.where(agrees > 0, _RULES.sign_share, 1 - _RULES.sign_share)
            density += is_edge * near * np.where(agrees == 0, 1.0, 2 * share)
        known = _RULES.known_share
        return np.asarray(1 - known + known * density * self.length / len(edges))


def _kernel(late: Floats, sigma: Floats, kind: Int64s) -> Floats:
    """The density (1/s) of a jump that is so late after an edge of its kind."""
    exact = _normal(late, sigma)
    wide = _normal(late, _RULES.inexact_sigmas * sigma + _RULES.inexact_s)
    border = _RULES.exact_share * exact + (1 - _RULES.exact_share) * wide
    spread = _RULES.start_spread_s
    around_start = np.exp(-np.abs(late) / spread) / (2 * spread)
    start = _RULES.exact_start_share * exact + (1 - _RULES.exact_start_share) * around_start
    after = np.exp(-np.maximum(late, 0.0) / _RULES.end_spread_s) / _RULES.end_spread_s
    after_end = np.where(late > -sigma, after, 0.0)
    end = _RULES.exact_end_share * exact + (1 - _RULES.exact_end_share) * after_end
    return np.asarray(np.select([kind == BORDER, kind == START], [border, start], end))


def _normal(late: Floats, sigma: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * (late / sigma) ** 2) / (_ROOT_2PI * sigma))
