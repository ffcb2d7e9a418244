"""Steps in which the same operations take longer, every one of them: the machine was slower."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data.conclusions.conclusion import (
    Conclusion,
    Confidence,
    Cost,
    Evidence,
    Kind,
    Stretch,
)
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.words import percent, whole_percent
from powertui.data.model import PS_PER_S, Bools, Floats, Int64s
from powertui.data.opened import Profile
from powertui.data.quantiles import median_of_column, median_of_rows, quantile_of_column
from powertui.data.tools import wall_time as account
from powertui.data.tools.activity import ACTIVITIES, ActivityKind
from powertui.data.tools.wall_time import Periods

# Slow steps, and others to compare them with. Chosen, not measured.
_MIN_STEPS = 4
# Steps that are smoothed together: one slow step is no slow machine.
_SMOOTHED_STEPS = 5
# A slower stretch takes so many times the time of the fastest steps. Programs that were recorded
# while others worked had 1.6 and 1.7 by chance, one whose core five others shared 2.6 (make causes:
# tf_gan, torch_resnet_requests, torch_shared_core).
_MIN_SLOWDOWN = 1.8
_FASTEST_SHARE = 0.2  # of the steps: what those take is the time without a disturbance
# Of all operations together: with less, other steps are longer for another reason. Chosen, not
# measured; an evaluation of the same operations after every sixth step had 1.3.
_MIN_SLOWDOWN_OF_WORK = 1.5
# A machine that is slower in more stretches is slow by chance, or by the program's own turns.
_MAX_STRETCHES = 3
# Of what the slow steps took longer, the part in which something ran: with less, they waited, and a
# slower machine is no reason to wait for input or a lock. Chosen, not measured.
_MIN_RUNNING_PART = 0.5
# Share of the time from which on it has a sentence. TensorBoard's threshold for input.
_MIN_SHARE = 0.05
# An operation is slower from so many times its usual length on. Chosen, not measured.
_MIN_OP_SLOWDOWN = 1.2
# Share of the operations that have to be slower: larger inputs leave the update of weights as it
# is. Chosen, not measured.
_MIN_SLOWER_OPS = 0.9
# Operations with less of the time tell nothing: a few microseconds are slower by chance.
_MIN_OP_SHARE = 0.005
_MIN_OPS = 5
# The same work has as many calls a step, up to this share. Chosen, not measured: an operation that
# ends in the next step counts there.
_MAX_COUNT_DIFFERENCE = 0.1

# In these the process waits, or nobody knows what it does.
_NOT_RUNNING = (
    ActivityKind.NOTHING,
    ActivityKind.WAITING,
    ActivityKind.INPUT,
    ActivityKind.INPUT_AHEAD,
    ActivityKind.COLLECTIVE,
    ActivityKind.WAITING_FOR_REPLICA,
)


def slower_machine(inquiry: Inquiry) -> Iterator[Conclusion]:
    """For each host the steps in which everything takes longer."""
    for profile in inquiry.profiles:
        wall = account.wall_time(profile)
        slow = _slower_steps(wall.periods)
        if slow is None:
            continue
        slowdown = _slowdown(profile, wall.periods, slow)
        if slowdown is None:
            continue
        longer_ps, running_ps = _longer(wall, slow)
        if running_ps < _MIN_RUNNING_PART * longer_ps or running_ps < _MIN_SHARE * wall.length:
            continue
        yield _conclusion(profile, wall, slow, slowdown, running_ps)


def _slower_steps(periods: Periods) -> Bools | None:
    """Which steps are in slower stretches; None where there is no such stretch."""
    length = (periods.end - periods.start).astype(np.float64)
    if len(length) < 2 * _MIN_STEPS:
        return None
    smooth = _rolling_median(length)
    slow = np.asarray(smooth > _MIN_SLOWDOWN * quantile_of_column(smooth, _FASTEST_SHARE))
    count = int(slow.sum())
    stretches = int((np.diff(slow.astype(np.int8), prepend=0) == 1).sum())
    if count < _MIN_STEPS or count > len(slow) - _MIN_STEPS or stretches > _MAX_STRETCHES:
        return None
    return slow


def _rolling_median(values: Floats) -> Floats:
    half = _SMOOTHED_STEPS // 2
    before = values[:half][::-1]
    after = values[-half:][::-1]
    padded = np.concatenate((before, values, after))
    windows = np.lib.stride_tricks.sliding_window_view(padded, _SMOOTHED_STEPS)
    return median_of_rows(windows)


def _slowdown(profile: Profile, periods: Periods, slow: Bools) -> float | None:
    """How many times as long the operations take in the slow steps, if these do the same work and
    nearly all of it is slower; else None.
    """
    from powertui.data.conclusions.makers.step_operations import step_operations  # a few runs

    usual = step_operations(profile, periods, ~slow)
    slower = step_operations(profile, periods, slow)
    matters = (usual.ps >= _MIN_OP_SHARE * usual.ps.sum()) & (usual.count > 0)
    if matters.sum() < _MIN_OPS or not slower.ps.sum():
        return None
    difference = np.abs(slower.count - usual.count)
    same = matters & (difference <= _MAX_COUNT_DIFFERENCE * usual.count)
    usual_ps = usual.ps[same]
    slower_ps = slower.ps[same]
    if slower_ps.sum() < _MIN_SLOWER_OPS * slower.ps.sum():
        return None
    usual_call_ps = usual_ps / usual.count[same]
    slower_call_ps = slower_ps / slower.count[same]
    is_slower = slower_call_ps / usual_call_ps >= _MIN_OP_SLOWDOWN
    if np.mean(is_slower) < _MIN_SLOWER_OPS:
        return None
    slowdown = float(slower_ps.sum() / usual_ps.sum())
    return slowdown if slowdown >= _MIN_SLOWDOWN_OF_WORK else None


def _longer(wall: account.WallTime, slow: Bools) -> tuple[float, float]:
    """(what the slow steps took longer, as much of it as something ran in), ps."""
    periods = wall.periods
    by_activity = wall.timeline.parts(periods.start, periods.end)
    is_running = np.ones(ACTIVITIES, np.bool_)
    is_running[list(_NOT_RUNNING)] = False
    longer = _beyond_usual(periods.end - periods.start, slow)
    running = _beyond_usual(by_activity[:, is_running].sum(axis=1), slow)
    return longer, min(longer, running)


def _beyond_usual(lengths: Int64s, slow: Bools) -> float:
    usual_ps = median_of_column(lengths[~slow])
    return float(np.maximum(lengths[slow] - usual_ps, 0).sum())


def _conclusion(
    profile: Profile,
    wall: account.WallTime,
    slow: Bools,
    slowdown: float,
    longer_ps: float,
) -> Conclusion:
    periods = wall.periods
    share = longer_ps / wall.length
    rows = np.flatnonzero(slow)
    stretch = Stretch(profile.index, int(periods.start[rows[0]]), int(periods.end[rows[-1]]))
    return Conclusion(
        kind=Kind.SLOWER_MACHINE,
        sentence=f"A slower machine takes {percent(share)} of the time: {_where(slow)} every "
        f"operation takes {slowdown:.1f} times as long as in the others.",
        short=f"slower machine {whole_percent(share)}",
        confidence=Confidence.LIKELY,
        evidence=Evidence("op_stats"),
        cost=Cost(seconds=longer_ps / PS_PER_S, share=share),
        stretch=stretch,
        next="See what else ran on this machine then, its clock frequency and its power limit.",
        doubt="Larger inputs look alike where every operation depends on their size.",
    )


def _where(slow: Bools) -> str:
    """Which steps: "from step 13 on,", "in steps 4 to 30,", "in 20 of 48 steps,"."""
    rows = np.flatnonzero(slow)
    first = int(rows[0])
    last = int(rows[-1])
    count = f"{len(rows):,}"
    total = f"{len(slow):,}"
    if len(rows) != last - first + 1:
        return f"in {count} of {total} steps"
    if last == len(slow) - 1:
        return f"in the last {count} of {total} steps"
    if first == 0:
        return f"in the first {count} of {total} steps"
    return f"in {count} steps in a row, after the first {first:,},"
