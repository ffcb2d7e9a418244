"""How long steps take, and what of it is compute, input, launching and waiting."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from powertui.data.compare.drift import block_edges
from powertui.data.compare.figure import LEAST_MEASURED, Family
from powertui.data.compare.part import (
    ComparedPart,
    HostWindow,
    comparable_seconds,
    comparable_steps,
    shows_each_step,
    step_bounds,
)
from powertui.data.compare.undisturbed import undisturbed_mean
from powertui.data.compare.values import ComparedValue, ValueKey, Values, mean_of_steps
from powertui.data.model import PS_PER_S, Floats
from powertui.data.opened import Profile
from powertui.data.quantiles import median_of_column, quantile_of_column
from powertui.data.run.steps import dispatched_step_ps
from powertui.data.tools import breakdown

STEP = ValueKey(Family.TIME, "time per step", "s")
TYPICAL_STEP = ValueKey(Family.TIME, "median step", "s")
# What disturbs a machine only ever makes steps longer: of the shorter ones runs are more alike. Of
# 60 simulated pairs of five runs, 3 % apart, that something slows for a while, the mean showed 4,
# the median 34 and the lower quartile 45.
FAST_STEP = ValueKey(Family.TIME, "lower quartile step", "s")
UNDISTURBED_STEP = ValueKey(Family.TIME, "undisturbed step", "s")
WINDOW = ValueKey(Family.TIME, "window", "s")  # where there are no steps
BETWEEN = "Between steps"


def time_values(window: HostWindow) -> Values:
    """How long its steps take, in four ways; the window's length where it has no steps."""
    rows = window.rows
    if not len(rows):
        lo, hi = window.bounds
        if hi <= lo:
            return {}  # a file without events has no length
        return {WINDOW: ComparedValue((hi - lo) / PS_PER_S)}
    profile = window.profile
    if not shows_each_step(profile):
        # Only all steps together show how long their work took.
        with_work_ps = dispatched_step_ps(profile.trace, profile.steps)
        if with_work_ps is None or not window.has_all_steps:
            return {}
        return {STEP: ComparedValue(with_work_ps / PS_PER_S)}
    series = comparable_seconds(profile)
    places = window.places
    seconds = series[places]
    return {
        STEP: mean_of_steps(series, places),
        TYPICAL_STEP: ComparedValue(*_with_blocks(seconds, median_of_column), series),
        FAST_STEP: ComparedValue(*_with_blocks(seconds, _lower_quartile), series),
        UNDISTURBED_STEP: ComparedValue(*_with_blocks(seconds, undisturbed_mean), series),
    }


def _with_blocks(
    seconds: Floats,
    figure: Callable[[Floats], float],
) -> tuple[float, tuple[float, ...]]:
    """A figure of all steps, and of each block of them."""
    edges = block_edges(len(seconds)).tolist()
    of_blocks = []
    for lo, hi in itertools.pairwise(edges):
        block = seconds[lo:hi]
        of_blocks.append(figure(block))
    return figure(seconds), tuple(of_blocks)


def _lower_quartile(seconds: Floats) -> float:
    return quantile_of_column(seconds, 0.25)


def category_values(window: HostWindow) -> Values:
    """The categories of the step breakdown and what lies between steps: they add up to a step."""
    profile = window.profile
    if not len(window.rows) or not shows_each_step(profile):
        return {}
    parts = _category_seconds(profile)
    places = window.places
    values: Values = {}
    for at, (_, label, _, _) in enumerate(breakdown.CATEGORIES):
        seconds = parts[:, at]
        if seconds[places].any():
            key = ValueKey(Family.CATEGORY, label, "s")
            values[key] = mean_of_steps(seconds, places)
    between = comparable_seconds(profile) - parts.sum(axis=1)
    # Where steps follow each other without a gap, the rounding of the files is all there is: two
    # groups of runs differed in it, by 0 s.
    mean_between = between[places].mean()
    if abs(mean_between) <= LEAST_MEASURED["s"]:
        between = np.zeros_like(between)
    key = ValueKey(Family.CATEGORY, BETWEEN, "s")
    values[key] = mean_of_steps(between, places)
    return values


def rank_values(part: ComparedPart) -> Values:
    """The mean step of every host, where there are several."""
    if len(part.windows) < 2:
        return {}
    values: Values = {}
    for number, window in enumerate(part.windows):
        if len(window.rows):
            name = _rank_name(window, number)
            key = ValueKey(Family.RANK, name, "s")
            seconds = comparable_seconds(window.profile)
            values[key] = mean_of_steps(seconds, window.places)
    return values


def _rank_name(window: HostWindow, number: int) -> str:
    """The rank that the profile names, else the host's place among the hosts of its run."""
    for process in window.profile.trace.processes:
        for stat in process.stats:
            if stat.name == "rank":
                return f"rank {stat.value!s}"
    return window.profile.host or f"host {number}"


def _category_seconds(profile: Profile) -> Floats:
    """[steps × categories] of all steps that can be compared."""
    starts, _ = step_bounds(profile)
    by_step = breakdown.step_breakdown(profile, "corrected")
    columns = []
    for _, _, _, kinds in breakdown.CATEGORIES:
        columns.append(by_step.time_by_type(kinds))
    times = np.stack(columns, axis=1) / PS_PER_S
    # The breakdown's steps may be others than ours: each belongs to the one that holds its middle.
    middle = by_step.start + by_step.length // 2
    step = np.searchsorted(starts, middle, side="right") - 1
    inside = step >= 0
    shape = (len(starts), len(columns))
    out = np.zeros(shape, np.float64)
    np.add.at(out, step[inside], times[inside])
    comparable = comparable_steps(profile)
    return np.asarray(out[comparable])
