"""The offsets that come into question for a power log, from coarse to fine.

Three passes, so that an hour of log costs little more than a minute of it: all offsets on a coarse
grid with plain least squares (`coarse_search`); the best of them, and their neighbors one step
time away, robustly; the best of those to a fraction of the sensor's refresh.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.energy import clock_drift, coarse_search, settings
from powertui.data.energy.offset_costs import (
    MAX_FINE_SAMPLES,
    MIN_SAMPLES,
    SCALE_PLACES,
    OffsetChoices,
    OffsetCosts,
    joined,
    thinned_to,
)
from powertui.data.energy.samples import Samples, usual_window_s
from powertui.data.model import Bools, Floats
from powertui.data.quantiles import median_of_column
from powertui.named_tuples import NamedTuple

NEGLIGIBLE_COST = 12.0  # above the best: such a place has no weight (e to the -12)
MAX_BASINS = 24  # separate minima that are looked at closely

# ── how much is tried: bounds of time; what they cost in answers was not measured ──
_PROMISING_COST = 5.0  # above the best: such a coarse offset is looked at closely, too
_MAX_CENTERS = 48  # of minima and their aliases, after a look at each
_MAX_REFINED_OFFSETS = 160  # whose neighborhood is looked at most closely
_MAX_ALIASES = 120  # offsets a number of steps away
_MAX_ROBUST_CELLS = 1_000_000  # readings times offsets, up to which all are tried robustly
_GRID_CELLS = 400_000  # the same of the grid that is only weighed
_MIN_GRID_READINGS = 200  # readings that this grid keeps at least
_EXTRA_PASSES = 2  # further close looks while they find a better place
_SWEPT_FITS = 2  # fits whose watts are swept over all offsets
_SWEEP_STEPS_PER_READING = 4
_MAX_SWEPT_OFFSETS = 8000
_MAX_SWEPT_CELLS = 1_500_000  # readings times offsets
_STEPS_PER_COARSE = 4  # of the offsets that each stretch of a log is looked at with
_MIN_STEP_S = 1e-3  # between the finest offsets: no clock is known to better

# ── which offsets are the same, by how long a reading's window is ──
_FIRST_FRACTION, _LAST_FRACTION = 6, 24  # of it, from one offset to the next in the fine passes
_MIN_ALIAS_WINDOWS = (
    settings.VISIBLE_SHARE
)  # step times below this part of it leave no aliases to be told apart
_MIN_SWEPT_WINDOWS = 2  # longer steps than this leave the right place between coarse offsets


class OffsetRange(NamedTuple):
    """The offsets (s) that are looked at."""

    lo: float
    hi: float

    def clip(self, offsets: Floats) -> Floats:
        """The same offsets, those outside at the ends."""
        return np.clip(offsets, self.lo, self.hi)

    def wider(self, by_s: float) -> OffsetRange:
        """A range that reaches farther on both sides."""
        return OffsetRange(self.lo - by_s, self.hi + by_s)

    def every(self, step: float) -> Floats:
        """All of them in steps."""
        return np.arange(self.lo, self.hi + step, step)


class SearchedOffsets(NamedTuple):
    """The offsets that come into question, and how finely they were looked at."""

    choices: OffsetChoices
    step: float  # s between the finest offsets
    near: float  # s: offsets nearer to each other are one place
    ppm: float  # drift of the log's clock
    # The best offset of each stretch of the log that the coarse look named, wherever that is.
    stretches: OffsetChoices


class _Grid(NamedTuple):
    """The steps (s) of the passes."""

    near: float  # offsets nearer to each other are one place
    coarse_step: float
    step: float
    reach: float  # around a coarse offset


def _away(offsets: Floats, others: Floats, least: float) -> Bools:
    """Which offsets are farther than `least` from all others."""
    ascending = np.sort(others)
    last = len(ascending) - 1
    row = np.clip(np.searchsorted(ascending, offsets), 1, max(last, 1))
    lower = ascending[row - 1]
    higher = ascending[np.minimum(row, last)]
    nearest = np.minimum(np.abs(offsets - lower), np.abs(offsets - higher))
    is_away: Bools = nearest > least
    return is_away


def _around(
    centres: Floats,
    reach: float,
    step: float,
    bounds: OffsetRange,
) -> Floats:
    """An even grid around every center. Grids of centers that are close share their points."""
    count = np.ceil(reach / step)
    steps = np.arange(-count, count + 1) * step
    offsets = (centres[:, None] + steps).ravel()
    half_step = step / 2
    half_steps = np.round(offsets / half_step).astype(np.int64)
    on_grid: Floats = wire.distinct(half_steps) * half_step
    is_inside = (on_grid >= bounds.lo - reach) & (on_grid <= bounds.hi + reach)
    return on_grid[is_inside]


class OffsetSearch(OffsetCosts):
    """The two finer passes over one set of samples."""

    def run(self, rough: Floats, bounds: OffsetRange) -> SearchedOffsets | str:
        """The offsets that come into question, from rough ones within `bounds`."""
        data = self.data
        near = max(data.refresh, usual_window_s(data))
        grid = self._grid(near)
        centres = self._centres(rough, grid, bounds)
        choices, step = self._fine(centres, near, data, bounds)
        if not len(choices.cost):
            return f"no offset puts {MIN_SAMPLES} samples inside the profile"
        ppm = clock_drift.drift_ppm(self, choices, data, near)
        if ppm:
            stretch = 1 + ppm * 1e-6
            late_s = (stretch - 1) * median_of_column(data.hi)
            data = replace(data, lo=data.lo * stretch, hi=data.hi * stretch)
            self.data = data
            centres = bounds.clip(centres - late_s)
            choices, step = self._fine(centres, near, data, bounds.wider(near))
        choices = self._with_grid(choices, step, grid, bounds)
        return SearchedOffsets(
            choices=choices,
            step=step,
            near=near,
            ppm=ppm,
            stretches=self._stretches(rough, choices, grid, bounds),
        )

    def _grid(self, near: float) -> _Grid:
        """The steps of the passes, by how long a reading's window is."""
        length = self._length_s()
        longest = near / 2
        if self.data.refresh < 2 * settings.INSTANT_S:
            longest = settings.INSTANT_S
        coarse_step = max(min(near, longest), length / 1500)
        step = min(near / 8, coarse_step / 3)
        return _Grid(
            near=near,
            coarse_step=coarse_step,
            step=max(step, coarse_step / 12),
            reach=max(coarse_step, 0.6 * coarse_search.apart(self.data, length)),
        )

    def _length_s(self) -> float:
        """Of the profile."""
        first, last = self.shares.span
        return last - first

    def _centres(
        self,
        rough: Floats,
        grid: _Grid,
        bounds: OffsetRange,
    ) -> Floats:
        """The best offsets of a coarse look, and those that are steps away from the very best."""
        near = grid.near
        thinned = thinned_to(self.data, MAX_FINE_SAMPLES // 4)
        further_ways = self.ways[1:]
        if clock_drift.looks_like_memory(thinned):
            further_ways = ()
        self.choose_way(rough, thinned, grid.reach, further_ways)
        rough = self._everywhere(rough, thinned, grid, bounds)
        if self.step_s is not None and self.step_s > _MIN_SWEPT_WINDOWS * near:
            swept = self._swept(rough[:_SWEPT_FITS], thinned, near, bounds)
            rough = np.concatenate([rough, swept])
        offsets = _around(rough, grid.reach, grid.step, bounds)
        self.choose_scale(rough[:SCALE_PLACES], thinned)
        cost, _ = self.costs(offsets, thinned, exact=False)
        centres = coarse_search.separated(offsets, cost, near, MAX_BASINS)
        if self._has_aliases(near):
            centres = self._with_steps_beside(centres, near)
        best = float(centres[0])
        self.set_scale(best, self.data)
        aliases = self._aliases(best, near, bounds)
        centres = np.concatenate([centres, aliases])
        cost, _ = self.costs(centres, self.data)
        ranked = np.argsort(cost, kind="stable")[:_MAX_CENTERS]
        above_best = cost[ranked] - cost.min()
        is_likely = above_best < 2 * NEGLIGIBLE_COST * self.like.alike
        likely = centres[ranked[is_likely]]
        return bounds.clip(likely)  # grids reach beyond

    def _stretches(
        self,
        rough: Floats,
        choices: OffsetChoices,
        grid: _Grid,
        bounds: OffsetRange,
    ) -> OffsetChoices:
        """The best offset at each rough one that lays the profile on other readings than the best
        of all does.
        """
        best = int(np.argmin(choices.cost))
        distance = np.abs(rough - choices.offsets[best])
        others = rough[distance > self._length_s()]
        if not len(others):
            none = np.zeros(len(choices.cost), np.bool_)
            return choices.rows(none)
        step = grid.coarse_step / _STEPS_PER_COARSE
        offsets = _around(others, grid.coarse_step, step, bounds)
        way = float(choices.way[best])
        cost, watts = self.costs(offsets, self.data, way, exact=False)
        nearest = np.abs(offsets[:, None] - others).argmin(axis=1)
        rows = []
        for number in range(len(others)):
            here = np.flatnonzero(nearest == number)
            if len(here):
                cheapest = np.argmin(cost[here])
                rows.append(int(here[cheapest]))
        chosen = np.array(rows, np.int64)
        return OffsetChoices(
            offsets=offsets[chosen],
            way=np.full(len(chosen), way),
            cost=cost[chosen],
            watts=watts[chosen],
            width=np.ones(len(chosen)),
        )

    def _with_steps_beside(self, centres: Floats, near: float) -> Floats:
        """The offsets, with those that are one and two steps away from the very best."""
        assert self.step_s is not None
        aliases = centres[0] + self.step_s * np.array([-2.0, -1.0, 1.0, 2.0])
        distance = np.abs(centres[:, None] - aliases).min(axis=0)
        is_new = distance > _MIN_ALIAS_WINDOWS * near
        return np.concatenate([centres, aliases[is_new]])

    def _with_grid(
        self,
        choices: OffsetChoices,
        step: float,
        grid: _Grid,
        bounds: OffsetRange,
    ) -> OffsetChoices:
        """With the offsets of the coarse grid, looked at closely where one may be better."""
        beside = self._beside_these(choices, step, grid.coarse_step, bounds)
        for _ in range(_EXTRA_PASSES):
            best = float(choices.cost.min())
            above_best = beside.cost - best
            likely = beside.rows(above_best < _PROMISING_COST * self.like.alike)
            if not len(likely.cost):
                break
            centres = coarse_search.separated(
                likely.offsets,
                likely.cost,
                grid.near,
                MAX_BASINS,
            )
            offsets = _around(centres, grid.near / 2, step, bounds)
            more = self._windows(offsets, self.data, several=False)
            choices = joined(choices, more)
            is_away = _away(beside.offsets, more.offsets, grid.coarse_step / 2)
            beside = beside.rows(is_away)
            if more.cost.min() > best:
                break
        return joined(choices, beside)

    def _everywhere(
        self,
        rough: Floats,
        thinned: Samples,
        grid: _Grid,
        bounds: OffsetRange,
    ) -> Floats:
        """The best offsets of all, robustly, where there are few enough to try each; else those of
        plain least squares.
        """
        every = bounds.every(grid.coarse_step)
        if len(every) * len(thinned) > _MAX_ROBUST_CELLS:
            return rough
        offsets = np.concatenate([rough, every])
        cost, _ = self.costs(offsets, thinned, exact=False)
        return coarse_search.separated(
            offsets,
            cost,
            max(grid.near, 4 * grid.coarse_step),
            coarse_search.MAX_CANDIDATES,
        )

    def _swept(
        self,
        levels: Floats,
        thinned: Samples,
        near: float,
        bounds: OffsetRange,
    ) -> Floats:
        """The best of all offsets in fine steps, with the watts of the fits at `levels`.

        Where steps are much longer than a reading's window, the right place is between the offsets
        of a coarse grid.
        """
        range_s = bounds.hi - bounds.lo
        step = max(near / _SWEEP_STEPS_PER_READING, range_s / _MAX_SWEPT_OFFSETS)
        offsets = bounds.every(step)
        readings = _MAX_SWEPT_CELLS // max(len(offsets), 1)
        data = self.averaged_as(self.main, thinned_to(thinned, readings))
        _, watts = self.costs(levels, thinned, exact=False)
        shifted = offsets - self.shift(self.main)
        costs_by_fit = [self.like.sweep(shifted, fit_watts, data) for fit_watts in watts]
        if not costs_by_fit:
            return np.empty(0)
        lowest = np.min(costs_by_fit, axis=0)
        return coarse_search.separated(offsets, lowest, near, MAX_BASINS)

    def _fine(
        self,
        centres: Floats,
        near: float,
        data: Samples,
        bounds: OffsetRange,
    ) -> tuple[OffsetChoices, float]:
        """An even grid around every center, finer around those that are left; the scale of the
        noise settles on the way.
        """
        step = max(near / _FIRST_FRACTION, _MIN_STEP_S)
        offsets = _around(centres, near, step, bounds)
        choices = self._windows(offsets, data, several=False)
        if not len(choices.cost):  # nothing is left within the bounds
            return choices, step
        # The last pass keeps the scale that it was looked at with.
        best = int(np.argmin(choices.cost))
        self.set_scale(float(choices.offsets[best]), data)
        above_best = choices.cost - choices.cost[best]
        ranked = np.argsort(choices.cost, kind="stable")[:_MAX_REFINED_OFFSETS]
        is_close = above_best[ranked] < 2 * NEGLIGIBLE_COST * self.like.alike
        centres = wire.distinct(choices.offsets[ranked[is_close]])
        reach = step / 2
        step = max(near / _LAST_FRACTION, _MIN_STEP_S)
        offsets = _around(centres, reach, step, bounds)
        return self._windows(offsets, data, several=True), step

    def _has_aliases(self, near: float) -> bool:
        """Whether steps are long enough for a place one step away to be another one."""
        return self.step_s is not None and self.step_s >= _MIN_ALIAS_WINDOWS * near

    def _aliases(
        self,
        at: float,
        near: float,
        bounds: OffsetRange,
    ) -> Floats:
        """Every offset that lies whole steps away: equal steps look alike, and the set of places
        has to say so.
        """
        if self.step_s is None or not self._has_aliases(near):
            return np.empty(0)
        first = np.ceil((bounds.lo - at) / self.step_s)
        last = np.floor((bounds.hi - at) / self.step_s)
        steps = np.arange(first, last + 1)
        if len(steps) > _MAX_ALIASES:
            evenly = np.linspace(0, len(steps) - 1, _MAX_ALIASES)
            steps = steps[evenly.astype(np.int64)]
        whole_steps = steps[steps != 0]
        return np.asarray(at + self.step_s * whole_steps, np.float64)

    def _windows(
        self,
        offsets: Floats,
        data: Samples,
        *,
        several: bool,
    ) -> OffsetChoices:
        """Every offset with every window that the sensor may have: a dialect rarely says over what
        it averages.
        """
        ways = [self.main]
        if several:
            ways = [way for way, _ in self.ways]
        costs = []
        watts = []
        for way in ways:
            way_cost, way_watts = self.costs(offsets, data, way)
            costs.append(way_cost)
            watts.append(way_watts)
        rows = len(ways) * len(offsets)
        return OffsetChoices(
            offsets=np.tile(offsets, len(ways)),
            way=np.repeat(np.array(ways, np.float64), len(offsets)),
            cost=np.concatenate(costs),
            watts=np.concatenate(watts),
            width=np.ones(rows),
        )

    def _beside_these(
        self,
        choices: OffsetChoices,
        step: float,
        coarse_step: float,
        bounds: OffsetRange,
    ) -> OffsetChoices:
        """The coarse offsets within the bounds that were not looked at closely.

        Where no place is better than the rest, they weigh more than the few that were.
        """
        grid = bounds.every(coarse_step)
        offsets = grid[_away(grid, choices.offsets, coarse_step / 2)]
        best = int(np.argmin(choices.cost))
        best_offset = choices.offsets[best : best + 1]
        way = float(choices.way[best])
        count = max(_MIN_GRID_READINGS, _GRID_CELLS // max(len(offsets), 1))
        thinned = thinned_to(self.data, count)
        best_and_grid = np.concatenate([best_offset, offsets])
        cost, watts = self.costs(best_and_grid, thinned, way, exact=False)
        # Fewer readings cost less. The best offset is among them, so that the others can be told
        # by how much more they cost.
        readings_ratio = len(self.data) / len(thinned)
        above_best = np.maximum(cost[1:] - cost[0], 0.0) * readings_ratio
        return OffsetChoices(
            offsets=offsets,
            way=np.full(len(offsets), way),
            cost=choices.cost[best] + above_best,
            watts=watts[1:],
            width=np.full(len(offsets), coarse_step / step),
        )
