"""What a few steps took longer than the others: by where, and by what went on there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from powertui.data import wire
from powertui.data.conclusions.conclusion import Kind
from powertui.data.conclusions.makers.blame import NOBODY, Blame, blame, dispatched
from powertui.data.conclusions.makers.purposes import Purpose
from powertui.data.conclusions.makers.time_cause import (
    INPUT,
    KIND_OF_PURPOSE,
    MIN_NAMED_SHARE,
    SILENT,
    TimeCause,
    largest_first,
)
from powertui.data.model import Int64s
from powertui.data.opened import Profile
from powertui.data.run.functions import function_key, shares_of_functions
from powertui.data.tools.activity import WORK, ActivityKind
from powertui.data.tools.covered_time import CoveredTime, joined
from powertui.data.tools.wall_time import RunPart, WallTime

# The slow steps that hold this share of the extra time are told; the others are slow by chance.
_MAIN_SHARE = 0.9
# Those that take nearly as much as the least of them are told with them: of ten equal ones nine
# hold nine tenths. Chosen, not measured.
_MIN_LIKE_THE_MAIN = 0.5
# Where the next one takes less than this share of the one before, and those before hold most of the
# time, the others are slow for reasons of their own. Chosen, not measured: four sleeps of 300 ms
# stood beside five steps of 50 ms on a busy machine.
_MAX_AFTER_GAP = 0.3
# Slow steps have a cause of their own where they take so many times as long for it as usual ones do
# for the same; else chance made them slow. Chosen, not measured.
_MIN_TIMES_USUAL = 2.0
# Extra time of one kind of activity is told apart from the others from this share of it on.
_MIN_OWN_SHARE = 0.3
# The same of silence beside work, of which nobody is known who did them. Chosen, not measured.
_MIN_HALF_SHARE = 0.1
# Share of XLA's work from which on a function that a few steps call is what computes there.
# Chosen, not measured.
_MIN_BLAMED_WORK = 0.5
# Where more of the other steps than that compile as well, compiling is no matter of a few slow
# ones. As the largest share of slow steps (wall_time).
_MAX_FEW_SHARE = 0.34
# Steps at the start of a program that compile, as every program does. Then a smaller last batch
# compiles once more; several further steps that do are for shapes or values that keep changing.
_STARTING_STEPS = 2
_MIN_COMPILED_AGAIN = 2

# Activities that are a cause by themselves where they take much.
_CAUSES_OF_THEIR_OWN = (
    (ActivityKind.COMPILING,),
    INPUT,
    (ActivityKind.WAITING_FOR_REPLICA, ActivityKind.COLLECTIVE),
)
# Of what slow steps take longer: with less, those that call more and those whose calls take longer
# are not told apart. Chosen, not measured; the former took 70 to 90 % on a busy machine.
_MIN_GROUP_SHARE = 0.1
# What these are says more than that the same calls took longer.
_TOLD_BY_KIND = (
    ActivityKind.PYTHON,
    ActivityKind.CALLED_PYTHON,
    ActivityKind.COPYING,
    ActivityKind.DEVICE_COPYING,
)
# Operations, the small ones among them.
_COMPUTING = (*WORK, ActivityKind.SMALL_OPS)


def causes_of_few(profile: Profile, wall: WallTime, usual: Int64s) -> Iterator[TimeCause]:
    """What slow steps took beyond the usual ones: by where, and by what went on. What is no cause
    of its own is added to the usual.
    """
    merged: dict[tuple[Kind, str], TimeCause] = {}
    for group in _by_calls(profile, wall):
        for part in (RunPart.STEP, RunPart.BETWEEN):
            extra = group.extra[part]
            for activities, few in _few_of_part(profile, group, part):
                if few is None:
                    chosen = list(activities)
                    usual[part][chosen] += extra[chosen]
                    continue
                key = few.kind, few.blame.label
                merged[key] = few if key not in merged else _both(merged[key], few)
    yield from merged.values()


def _by_calls(profile: Profile, wall: WallTime) -> Iterator[WallTime]:
    """Slow steps that call more than usual ones apart from those whose calls take longer: what the
    program does at times, and what a busy machine does to it.
    """
    if not wall.slow.any():
        return
    from powertui.data.conclusions.makers import further_calls  # few runs have such steps

    does_more = further_calls.steps_with_more_calls(profile, wall)
    groups = [wall.of_slow_steps(chosen) for chosen in (does_more, ~does_more)]
    least_ps = _MIN_GROUP_SHARE * wall.extra.sum()
    yield from groups if all(group.extra.sum() >= least_ps for group in groups) else [wall]


def _few_of_part(
    profile: Profile,
    wall: WallTime,
    part: RunPart,
) -> Iterator[tuple[tuple[ActivityKind, ...], TimeCause | None]]:
    """Each group of activities with its cause. Where nobody is known who did several of them,
    silence is one cause and work another: other steps may be slow for it.
    """
    extra = wall.extra[part]
    for activities in _groups(extra):
        few = _few(profile, wall, part, activities)
        halves = _silence_and_work(extra, activities)
        if few is not None and few.lacks_backward:
            halves = []  # what an evaluation does between its calls is part of it
        if few is None or few.blame.whom is not None or few.blame.purpose or not halves:
            yield activities, few
            continue
        for half in halves:
            yield half, _few(profile, wall, part, half)


def _silence_and_work(
    extra: Int64s,
    activities: tuple[ActivityKind, ...],
) -> list[tuple[ActivityKind, ...]]:
    """(silent activities, all others), if both take much."""
    silent = tuple(kind for kind in activities if kind in SILENT)
    work = tuple(kind for kind in activities if kind not in SILENT)
    total = int(extra[list(activities)].sum())
    halves = [silent, work]
    if all(extra[list(half)].sum() >= _MIN_HALF_SHARE * total for half in halves):
        return halves
    return []


def _both(first: TimeCause, second: TimeCause) -> TimeCause:
    """One cause of what two have in common: the larger one says where."""
    larger = first if first.ps >= second.ps else second
    return replace(
        larger,
        ps=first.ps + second.ps,
        slow=wire.distinct(np.concatenate([first.slow, second.slow])),
        stretches=joined([first.stretches, second.stretches]),
    )


def _groups(extra: Int64s) -> list[tuple[ActivityKind, ...]]:
    """Activities that are one cause: compiling and waiting for input by themselves where that is
    much, all others together.
    """
    total = int(extra.sum())
    alone = []
    for kinds in _CAUSES_OF_THEIR_OWN:
        if extra[list(kinds)].sum() >= _MIN_OWN_SHARE * total:
            alone.append(kinds)
    apart = {kind for kinds in alone for kind in kinds}
    rest = tuple(kind for kind in ActivityKind if kind not in apart)
    return [*alone, rest]


def _few(
    profile: Profile,
    wall: WallTime,
    part: RunPart,
    activities: tuple[ActivityKind, ...],
) -> TimeCause | None:
    """One cause of a few steps; None where these are slow by chance, or where the work of steps
    that were dispatched ahead runs on.
    """
    if activities == (ActivityKind.COMPILING,) and _compiles_often(wall):
        return None
    extra = wall.extra[part]
    columns = list(activities)
    ps = int(extra[columns].sum())
    slow, windows = _main_slow(wall, part, activities)
    usual_ps = int(wall.usual[part][columns].sum())
    usual_each = usual_ps / max(1, len(wall.periods))
    if ps / max(1, len(slow)) < _MIN_TIMES_USUAL * usual_each:
        return None
    stretches = wall.timeline.inside(windows, activities).without(wall.evaluations)
    blamed = NOBODY
    if ps >= MIN_NAMED_SHARE * wall.length:
        blamed = blame(profile, wall, stretches)
        if blamed == NOBODY and part is RunPart.BETWEEN:
            blamed = dispatched(profile, wall, windows)
    is_last = slow.tolist() == [len(wall.periods) - 1]
    may_run_on = part is RunPart.BETWEEN and (profile.steps.asynchronous or is_last)
    if may_run_on and _is_steps_work(profile, blamed):
        working = int(extra[list(WORK)].sum())
        if 2 * working > ps and ActivityKind.COMPUTING in activities:
            return None
    kind = _kind_of_few(extra, activities, blamed, slow, is_around=_is_around(wall, part, slow))
    computing_ps = int(extra[list(_COMPUTING)].sum())
    lacks_backward = False
    has_same_calls = False
    if kind is Kind.SLOW_STEPS and ps >= MIN_NAMED_SHARE * wall.length:
        from powertui.data.conclusions.makers import (  # few runs have such steps
            backward_pass,
            further_calls,
        )

        lacks_backward = backward_pass.lacks_backward(
            profile, wall, slow, computing_ps=computing_ps
        ) or (blamed.purpose is None and backward_pass.calls_without_gradients(profile, wall, slow))
        runs_out = is_last and part is RunPart.BETWEEN
        is_told = runs_out or _first(extra, activities) in _TOLD_BY_KIND
        if blamed.purpose is None and not is_told:
            has_same_calls = further_calls.same_calls(profile, wall, slow, ps)
    return TimeCause(
        kind=Kind.VALIDATION if lacks_backward else kind,
        ps=ps,
        part=part,
        activities=largest_first(extra, activities),
        blame=blamed,
        slow=slow,
        stretches=stretches,
        lacks_backward=lacks_backward,
        has_same_calls=has_same_calls,
    )


def _first(extra: Int64s, activities: tuple[ActivityKind, ...]) -> ActivityKind | None:
    """Which of the activities took most of what was extra."""
    return next(iter(largest_first(extra, activities)), None)


def _compiles_often(wall: WallTime) -> bool:
    """Whether many of the steps that are not slow trace or compile."""
    others = ~wall.slow
    if not others.any():
        return False
    compiling = wall.timeline[ActivityKind.COMPILING]
    compiles = compiling.inside(wall.periods.start, wall.periods.end) > 0
    return bool(compiles[others].mean() > _MAX_FEW_SHARE)


def _is_steps_work(profile: Profile, blamed: Blame) -> bool:
    """Whether what computes after a few steps may be the work of steps that were dispatched ahead.

    A function that is called there alone is blamed only if most of XLA's work is its own: a program
    that evaluates waits for all the steps before.
    """
    if blamed.whom is None:
        return True
    shares = profile.cached("xla shares", lambda: shares_of_functions(profile.trace))
    if not shares or blamed.whom.is_frame:
        return False
    return shares.get(function_key(blamed.whom.name), 0.0) < _MIN_BLAMED_WORK


def _main_slow(
    wall: WallTime,
    part: RunPart,
    activities: Sequence[ActivityKind],
) -> tuple[Int64s, CoveredTime]:
    """(the slow steps that took most of it, where these are)."""
    periods = wall.periods
    rows = np.flatnonzero(wall.slow)
    if part is RunPart.STEP:
        lo = periods.start[rows]
        hi = periods.mark_end[rows]
    else:
        lo = periods.mark_end[rows]
        hi = periods.end[rows]
    took = wall.timeline.parts(lo, hi)[:, list(activities)].sum(axis=1)
    largest_first = np.sort(took)[::-1]
    needed = _MAIN_SHARE * took.sum()
    count = int(np.searchsorted(np.cumsum(largest_first), needed)) + 1
    count = min(count, _before_the_gap(largest_first))
    least = largest_first[:count].min(initial=took.max(initial=0))
    main = np.flatnonzero(took >= _MIN_LIKE_THE_MAIN * least)
    rows = rows[main]
    lo = lo[main]
    hi = hi[main]
    has_length = hi > lo
    return rows, CoveredTime(lo[has_length], hi[has_length])


def _before_the_gap(largest_first: Int64s) -> int:
    """How many took far longer than the rest, if these hold most of all the time."""
    is_gap = largest_first[1:] < _MAX_AFTER_GAP * largest_first[:-1]
    holds_most = 2 * np.cumsum(largest_first)[:-1] > largest_first.sum()
    gaps = np.flatnonzero(is_gap & holds_most)
    return int(gaps[0]) + 1 if len(gaps) else len(largest_first)


def _is_around(wall: WallTime, part: RunPart, slow: Int64s) -> bool:
    """Whether an evaluation runs after most of these steps."""
    if part is not RunPart.BETWEEN or not len(slow):
        return False
    evaluating = wall.evaluations.inside(wall.periods.mark_end[slow], wall.periods.end[slow])
    return bool(2 * (evaluating > 0).sum() > len(slow))


def _kind_of_few(
    extra: Int64s,
    activities: tuple[ActivityKind, ...],
    blamed: Blame,
    slow: Int64s,
    *,
    is_around: bool,
) -> Kind:
    """What slow steps took longer for. `is_around`: an evaluation runs there, too; its datasets are
    made then, and its function is traced.
    """
    if activities == (ActivityKind.COMPILING,):
        is_again = (slow >= _STARTING_STEPS).sum() >= _MIN_COMPILED_AGAIN
        return Kind.RECOMPILATION if is_again else Kind.COMPILATION
    if ActivityKind.COMPUTING not in activities:
        if ActivityKind.INPUT in activities:
            return Kind.INPUT
        if ActivityKind.WAITING_FOR_REPLICA in activities:
            return Kind.STRAGGLER
    if is_around and blamed.purpose in (None, Purpose.INPUT):
        return Kind.VALIDATION
    if blamed.purpose in KIND_OF_PURPOSE:
        return KIND_OF_PURPOSE[blamed.purpose]
    if not slow.any():  # the first step alone
        return Kind.COMPILATION
    silent = sum(int(extra[kind]) for kind in activities if kind in SILENT)
    if 2 * silent > int(extra[list(activities)].sum()):
        return Kind.PAUSE
    return Kind.SLOW_STEPS
