"""How long steps take, and what of it is compute, input, launching and waiting."""

from __future__ import annotations

import itertools

import numpy as np

from powertui.data.compare.drift import block_edges
from powertui.data.compare.figure import Family
from powertui.data.compare.part import HostWindow, Part, step_seconds
from powertui.data.compare.values import Key, Value, Values, mean_of_steps
from powertui.data.model import PS_PER_S, Floats
from powertui.data.tools import breakdown

STEP = Key(Family.TIME, "time per step", "s")
TYPICAL_STEP = Key(Family.TIME, "median step", "s")
WINDOW = Key(Family.TIME, "window", "s")  # where there are no steps
BETWEEN = "Between steps"


def time_values(window: HostWindow) -> Values:
    """The mean and the median step; the length of the window where it has no steps."""
    rows = window.rows
    if not len(rows):
        lo, hi = window.bounds
        return {WINDOW: Value((hi - lo) / PS_PER_S)}
    seconds = step_seconds(window.profile)[rows]
    blocks = itertools.pairwise(block_edges(len(seconds)).tolist())
    medians = [float(np.median(seconds[lo:hi])) for lo, hi in blocks]
    return {
        STEP: mean_of_steps(seconds),
        TYPICAL_STEP: Value(float(np.median(seconds)), tuple(medians)),
    }


def category_values(window: HostWindow) -> Values:
    """The categories of the step breakdown and what lies between steps: they add up to a step."""
    rows = window.rows
    if not len(rows):
        return {}
    parts = _category_seconds(window)
    between = step_seconds(window.profile)[rows] - parts.sum(axis=1)
    labels = [label for _, label, _, _ in breakdown.CATEGORIES]
    values = {
        Key(Family.CATEGORY, label, "s"): mean_of_steps(parts[:, at])
        for at, label in enumerate(labels)
        if parts[:, at].any()
    }
    values[Key(Family.CATEGORY, BETWEEN, "s")] = mean_of_steps(between)
    return values


def rank_values(part: Part) -> Values:
    """The mean step of every host, where there are several."""
    if len(part.windows) < 2:
        return {}
    values: Values = {}
    for number, window in enumerate(part.windows):
        rows = window.rows
        if len(rows):
            seconds = step_seconds(window.profile)[rows]
            values[Key(Family.RANK, _rank_name(window, number), "s")] = mean_of_steps(seconds)
    return values


def _rank_name(window: HostWindow, number: int) -> str:
    """The rank that the profile names, else the host's place among the hosts of its run."""
    for process in window.profile.trace.processes:
        for stat in process.stats:
            if stat.name == "rank":
                return f"rank {stat.value!s}"
    return window.profile.host or f"host {number}"


def _category_seconds(window: HostWindow) -> Floats:
    """[steps × categories] of the window's steps."""
    steps, rows = window.profile.steps, window.rows
    by_step = breakdown.step_breakdown(window.profile, "corrected")
    columns = [by_step.time_by_type(kinds) for _, _, _, kinds in breakdown.CATEGORIES]
    times = np.stack(columns, axis=1) / PS_PER_S
    # The breakdown's steps may be others than ours: each belongs to the one that holds its middle.
    middle = by_step.start + by_step.length // 2
    step = np.searchsorted(steps.start, middle, side="right") - 1
    inside = step >= 0
    out = np.zeros((len(steps), len(columns)), np.float64)
    np.add.at(out, step[inside], times[inside])
    return np.asarray(out[rows])
