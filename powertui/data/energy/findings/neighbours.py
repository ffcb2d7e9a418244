"""The third witness: steps against their own neighbors.

Stalls, shifts and drifts, with one epoch or none.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from powertui.data import wire
from powertui.data.energy import settings
from powertui.data.energy.expected_work import TRACING_STEP_FACTOR
from powertui.data.energy.findings import stretch_search
from powertui.data.energy.findings.finding_rules import MIN_STRETCH_SHARE
from powertui.data.energy.findings.readings import SensorReadings
from powertui.data.energy.findings.residual_noise import chance, true_runs
from powertui.data.energy.robust_stats import MEDIAN_TO_SIGMA
from powertui.data.model import PS_PER_S, Bools, Floats, Int64s, Steps
from powertui.data.quantiles import median_of_column, median_of_rows, quantile_of_column
from powertui.named_tuples import NamedTuple

# Steps that show what is usual. This and the others here are chosen, not measured.
_MIN_STEPS = settings.USUAL_STEPS
_MAX_CHANCE = 1e-3
_MAX_TRACING_STEPS = settings.USUAL_STEPS  # steps at the beginning that may still trace
MAX_STALLS = 100  # stalls that are looked at, the longest
# A step so many times as long as those around it holds something else.
_STALL_TIMES_USUAL = settings.LONG_TIMES_USUAL
# Steps that are looked at one by one: of more each reading is the mean of several.
_MAX_READINGS = 1000
_REACH_STEPS = 7  # steps on either side that tell what is usual around one


class Slow(NamedTuple):
    """Steps (rows, the second past the end) that took longer than those around them."""

    first: int
    last: int
    p: float


def seconds(steps: Steps) -> Floats:
    """The length of every step: to the next one's start."""
    return np.asarray(steps.stretch_lengths() / PS_PER_S, np.float64)


def groups(steps: Steps) -> list[Int64s]:
    """Rows of steps that follow one another: an epoch's, or all where no step belongs to one."""
    if not len(steps):
        return []
    return [np.flatnonzero(steps.epoch == number) for number in wire.distinct(steps.epoch)]


def regular(length: Floats) -> Bools:
    """Which steps of a group are not tracing, and not the last, whose end is its own."""
    if not len(length):
        return np.zeros(0, np.bool_)
    usual = median_of_column(length)
    slow = length > TRACING_STEP_FACTOR * usual
    slow[_MAX_TRACING_STEPS:] = False
    is_tracing = np.logical_and.accumulate(slow)
    good = ~is_tracing
    good[-1:] = False
    return np.asarray(good)


def slower_stretches(
    length: Floats,
    usual: Floats,
    usable: Bools,
    looks: int = 1,
) -> list[Slow]:
    """Stretches of steps (columns) that took longer than usual by more than noise and than nothing.

    They are found as stretches of readings are: each step is a reading of its own length. Of very
    many steps each reading is the mean of several. `looks`: at so many series like this one.
    """
    columns = np.flatnonzero(usable)
    column_count = len(columns)
    if column_count < settings.MIN_SAMPLE_VALUES:
        return []
    each = -(-column_count // _MAX_READINGS)
    starts = np.arange(0, column_count, each)
    counts = np.diff(np.append(starts, column_count))
    took = np.add.reduceat(length[columns], starts) / counts
    expected = np.add.reduceat(usual[columns], starts) / counts
    step_s = median_of_column(expected)
    ends = starts + counts
    readings = SensorReadings(
        lo=starts.astype(np.float64),
        hi=ends.astype(np.float64),
        watts=took,
        floor=expected,
        ceiling=expected,
        doubt=np.zeros(len(took)),
        judged=np.ones(len(took), np.bool_),
        quantum=settings.NEGLIGIBLE_SHARE * step_s * 12**0.5,
    )
    boxes, _ = stretch_search.find_stretches(readings, looks=looks, rivals=True)
    slower = []
    for box in boxes:
        # What is listed has to be worth a look.
        if box.watts <= MIN_STRETCH_SHARE * step_s or box.p * looks > _MAX_CHANCE:
            continue
        first = min(max(round(box.start), 0), column_count - 1)
        last = min(max(round(box.end), first + 1), column_count)
        slow = Slow(
            first=int(columns[first]),
            last=int(columns[last - 1]) + 1,
            p=box.p,
        )
        slower.append(slow)
    return slower


def time(steps: Steps) -> list[Slow]:
    """Stretches of steps that took longer than the usual step of their group: a slower pace, and
    stalls.
    """
    slower: list[Slow] = []
    stalls: list[_Stall] = []
    every = seconds(steps)
    for rows in groups(steps):
        length = every[rows]
        usable = regular(length)
        if usable.sum() < _MIN_STEPS:
            continue
        around = _around(length)
        stalled = usable & (length > _STALL_TIMES_USUAL * around)
        # A slower pace drowns in the stalls of a run (an evaluation every 80 steps), so it is
        # looked for without them.
        steady = usable & ~stalled
        if steady.sum() >= _MIN_STEPS:
            steady_s = median_of_column(length[steady])
            usual = np.full(len(length), steady_s)
            for slow in slower_stretches(length, usual, steady):
                slower.append(_slow_rows(rows, slow))
        stalls += _stalls(rows, length - around, stalled, steady)
    stalls.sort(key=lambda stall: -stall.longer_s)
    return slower + [stall.steps for stall in stalls[:MAX_STALLS]]


def _slow_rows(rows: Int64s, slow: Slow) -> Slow:
    """Slow steps of a group, by their rows among all steps."""
    return Slow(
        first=int(rows[slow.first]),
        last=int(rows[slow.last - 1]) + 1,
        p=slow.p,
    )


class _Stall(NamedTuple):
    """Steps that took much longer than those around them, and by how much the longest of them."""

    longer_s: float
    steps: Slow


def _stalls(
    rows: Int64s,
    longer: Floats,
    stalled: Bools,
    steady: Bools,
) -> list[_Stall]:
    """Steps, or a few that follow one another, that took so much longer (s) than those around them
    as noise never does.
    """
    if not steady.any():
        return []
    differences_s = np.abs(longer[steady])
    noise = max(
        MEDIAN_TO_SIGMA * median_of_column(differences_s),
        quantile_of_column(differences_s, 0.95) / 2,
        1e-12,
    )
    steady_count = float(steady.sum())
    freedom = max(steady_count - 2, 1.0)
    stalls = []
    for first, last in true_runs(stalled).tolist():
        more = float(longer[first:last].max())
        p = chance(more / noise, freedom, steady_count)
        if p <= _MAX_CHANCE:
            slow = _slow_rows(rows, Slow(first, last, p))
            stalls.append(_Stall(more, slow))
    return stalls


def _around(length: Floats) -> Floats:
    """What the steps around each of them took, it among them."""
    mode: Literal["reflect", "edge"] = "reflect" if len(length) > _REACH_STEPS else "edge"
    padded = np.pad(length, _REACH_STEPS, mode=mode)
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _REACH_STEPS + 1)
    return median_of_rows(windows)


def longer(length: Floats, usual: Floats) -> float:
    """Seconds that the steps of one stretch took longer than usual.

    In a long one stalls are left out: each is a finding of its own.
    """
    if len(length):
        length = np.where(stalling(length), median_of_column(length), length)
    return float((length - usual).sum())


def stalling(length: Floats) -> Bools:
    """Which steps of one stretch stall in it, though it is long: each is a finding of its own."""
    if len(length) < _MIN_STEPS:
        return np.zeros(len(length), np.bool_)
    return np.asarray(length > _STALL_TIMES_USUAL * median_of_column(length))
