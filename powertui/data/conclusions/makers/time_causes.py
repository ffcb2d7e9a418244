"""Causes of the time of a profile: each second has one, and together they are the whole profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

import numpy as np

from powertui.data import wire
from powertui.data.conclusions.conclusion import Kind
from powertui.data.conclusions.makers.blame import NOBODY, Blame, Named, blame, dispatched
from powertui.data.conclusions.makers.purposes import Purpose
from powertui.data.conclusions.makers.writing import writing_stretches
from powertui.data.model import Int64s
from powertui.data.opened import Profile
from powertui.data.run.functions import function_key, shares_of_functions
from powertui.data.tools.activity import WORK, ActivityKind
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined
from powertui.data.tools.wall_time import RunPart, WallTime
from powertui.value_types import dataclass

# Share of the profile from which on a cause is looked at closer, to name who took the time.
# Chosen, not measured.
_MIN_SHARE = 0.02
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

# Share of the calls of the framework from which on those that prepare a summary are told apart.
# Chosen, not measured.
_MIN_WRITING_SHARE = 0.2

_SILENT = (ActivityKind.NOTHING, ActivityKind.WAITING)
_INPUT = (ActivityKind.INPUT, ActivityKind.INPUT_AHEAD, ActivityKind.INPUT_PYTHON)
_CALLING = (ActivityKind.SMALL_OPS, ActivityKind.RUNTIME)
# Activities that are a cause by themselves where they take much.
_CAUSES_OF_THEIR_OWN = (
    (ActivityKind.COMPILING,),
    _INPUT,
    (ActivityKind.WAITING_FOR_REPLICA, ActivityKind.COLLECTIVE),
)
# What the program itself does between steps, and not what it waits for.
_OF_THE_PROGRAM = (
    ActivityKind.NOTHING,
    ActivityKind.WAITING,
    ActivityKind.PYTHON,
    ActivityKind.RUNTIME,
)
# What all steps take, by what goes on there.
_PARTS_OF_ALL = (RunPart.WITHOUT_STEPS, RunPart.BEFORE, RunPart.STEP, RunPart.BETWEEN)
_KINDS_OF_ALL: tuple[tuple[Kind, tuple[ActivityKind, ...]], ...] = (
    (Kind.INPUT, _INPUT),
    (Kind.COLLECTIVES, (ActivityKind.COLLECTIVE,)),
    (Kind.STRAGGLER, (ActivityKind.WAITING_FOR_REPLICA,)),
    (Kind.COPIES, (ActivityKind.COPYING, ActivityKind.DEVICE_COPYING)),
    (Kind.RECOMPILATION, (ActivityKind.COMPILING,)),
    (Kind.COMPUTE, WORK),
    (Kind.LAUNCH, _CALLING),
    (Kind.PYTHON, (ActivityKind.PYTHON,)),
    (Kind.PYTHON, (ActivityKind.CALLED_PYTHON,)),
    (Kind.UNKNOWN_TIME, _SILENT),
)
_KINDS_WITH_A_NAME = (
    Kind.PYTHON,
    Kind.UNKNOWN_TIME,
    Kind.INPUT,
    Kind.LAUNCH,
    Kind.RECOMPILATION,
)
_OF_PURPOSE = {
    Purpose.GARBAGE: Kind.GARBAGE_COLLECTION,
    Purpose.CHECKPOINT: Kind.CHECKPOINT,
    Purpose.VALIDATION: Kind.VALIDATION,
    Purpose.LOGGING: Kind.LOGGING,
    Purpose.INPUT: Kind.INPUT,
    Purpose.WAIT: Kind.WAITING,
}


@dataclass(frozen=True, eq=False)
class TimeCause:
    """What took some of the time of a profile."""

    kind: Kind
    ps: int
    part: RunPart
    activities: tuple[ActivityKind, ...] = ()
    blame: Blame = NOBODY
    slow: Int64s = field(default_factory=lambda: np.empty(0, np.int64))  # periods, if few took it
    stretches: CoveredTime = NO_TIME

    @property
    def is_of_few(self) -> bool:
        """Whether a few steps took this time, and the others did not."""
        return len(self.slow) > 0


def time_causes(profile: Profile, wall: WallTime) -> list[TimeCause]:
    """All causes, the costliest first. Their times add up to the profile's."""
    usual = wall.usual.copy()
    causes = [_of_evaluations(wall)]
    causes += _of_few(profile, wall, usual)
    causes += _of_all(profile, wall, usual)
    taking_time = [cause for cause in causes if cause.ps > 0]
    return sorted(taking_time, key=lambda cause: -cause.ps)


def _of_evaluations(wall: WallTime) -> TimeCause:
    ps = int(wall.usual[RunPart.EVALUATION].sum())
    return TimeCause(Kind.VALIDATION, ps, RunPart.EVALUATION, stretches=wall.evaluations)


# ── what a few steps took longer ─────────────────────────────────────────────────────────────────


def _of_few(profile: Profile, wall: WallTime, usual: Int64s) -> Iterator[TimeCause]:
    """What slow steps took beyond the usual ones: by where, and by what went on. What is no cause
    of its own is added to the usual.
    """
    merged: dict[tuple[Kind, str], TimeCause] = {}
    for part in (RunPart.STEP, RunPart.BETWEEN):
        extra = wall.extra[part]
        for activities in _groups(extra):
            few = _few(profile, wall, part, activities)
            if few is None:
                chosen = list(activities)
                usual[part][chosen] += extra[chosen]
                continue
            key = few.kind, few.blame.label
            merged[key] = few if key not in merged else _both(merged[key], few)
    yield from merged.values()


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
    profile: Profile, wall: WallTime, part: RunPart, activities: tuple[ActivityKind, ...]
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
    stretches = windows.common(joined([wall.timeline[kind] for kind in activities]))
    blamed = NOBODY
    if ps >= _MIN_SHARE * wall.length:
        blamed = blame(profile, wall, stretches)
        if blamed == NOBODY and part is RunPart.BETWEEN:
            blamed = dispatched(profile, wall, windows)
    is_last = slow.tolist() == [len(wall.periods) - 1]
    may_run_on = part is RunPart.BETWEEN and (profile.steps.asynchronous or is_last)
    if may_run_on and _is_steps_work(profile, blamed):
        working = int(extra[list(WORK)].sum())
        if 2 * working > ps and ActivityKind.COMPUTING in activities:
            return None
    return TimeCause(
        kind=_kind_of_few(extra, activities, blamed, slow, is_around=_is_around(wall, part, slow)),
        ps=ps,
        part=part,
        activities=_largest_first(extra, activities),
        blame=blamed,
        slow=slow,
        stretches=stretches,
    )


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
    wall: WallTime, part: RunPart, activities: Sequence[ActivityKind]
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


def _largest_first(times: Int64s, activities: tuple[ActivityKind, ...]) -> tuple[ActivityKind, ...]:
    going_on = [kind for kind in activities if times[kind] > 0]
    return tuple(sorted(going_on, key=lambda kind: -int(times[kind])))


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
    if blamed.purpose in _OF_PURPOSE:
        return _OF_PURPOSE[blamed.purpose]
    if not slow.any():  # the first step alone
        return Kind.COMPILATION
    silent = int(extra[list(_SILENT)].sum())
    if 2 * silent > int(extra[list(activities)].sum()):
        return Kind.PAUSE
    return Kind.SLOW_STEPS


# ── what all steps take ──────────────────────────────────────────────────────────────────────────


def _of_all(profile: Profile, wall: WallTime, usual: Int64s) -> Iterator[TimeCause]:
    """What goes on in every step, between all of them, and in profiles without steps."""
    between, stretches = _between(wall, usual)
    if between.sum():
        usual[RunPart.BETWEEN] -= between
        yield _of_between(profile, wall, between, stretches)
    inside = usual[list(_PARTS_OF_ALL)].sum(axis=0)
    main_part = RunPart.STEP if len(wall.periods) else RunPart.WITHOUT_STEPS
    for kind, activities in _KINDS_OF_ALL:
        ps = int(inside[list(activities)].sum())
        cause = TimeCause(
            kind=kind, ps=ps, part=main_part, activities=_largest_first(inside, activities)
        )
        before_steps = usual[RunPart.BEFORE, ActivityKind.COMPILING]
        if kind is Kind.RECOMPILATION and 2 * before_steps > ps:
            cause = replace(cause, kind=Kind.COMPILATION, part=RunPart.BEFORE)
        cause = _named(profile, wall, cause)
        if kind is Kind.LAUNCH:
            yield from _written(profile, wall, cause)
        else:
            yield cause


def _between(wall: WallTime, usual: Int64s) -> tuple[Int64s, CoveredTime]:
    """(by activity, what the program itself does between steps; where).

    Work of the steps may run on there, if they are dispatched ahead; batches may be waited for.
    """
    windows = wall.windows(RunPart.BETWEEN)
    between = np.zeros_like(usual[RunPart.BETWEEN])
    if not windows.length:
        return between, NO_TIME
    parts: list[CoveredTime] = []
    driven = windows.common(wall.driven)
    for kind in ActivityKind:
        if kind in (*_INPUT, ActivityKind.COMPILING):
            continue
        going_on = wall.timeline[kind].common(windows)
        ps = usual[RunPart.BETWEEN][kind]
        if kind not in _OF_THE_PROGRAM:
            all_ps = going_on.length
            going_on = going_on.common(driven)
            share = going_on.length / all_ps if all_ps else 0.0
            ps = int(ps * share)
        between[kind] = ps
        parts.append(going_on)
    return between, joined(parts)


def _of_between(
    profile: Profile, wall: WallTime, between: Int64s, stretches: CoveredTime
) -> TimeCause:
    ps = int(between.sum())
    blamed = blame(profile, wall, stretches) if ps >= _MIN_SHARE * wall.length else NOBODY
    kind = Kind.BETWEEN_STEPS
    if blamed.purpose in _OF_PURPOSE:
        kind = _OF_PURPOSE[blamed.purpose]
    activities = _largest_first(between, tuple(ActivityKind))
    return TimeCause(
        kind=kind,
        ps=ps,
        part=RunPart.BETWEEN,
        activities=activities,
        blame=blamed,
        stretches=stretches,
    )


def _written(profile: Profile, wall: WallTime, cause: TimeCause) -> Iterator[TimeCause]:
    """Calls of the framework, apart from those that prepare what is logged or saved.

    Nobody launches less by writing a picture's pixels faster: what matters is that it is written.
    """
    for purpose, writing in writing_stretches(profile, wall).items():
        common = cause.stretches.common(writing.stretches)
        share = common.length / max(1, cause.stretches.length)
        if share < _MIN_WRITING_SHARE:
            continue
        ps = round(share * cause.ps)
        blamed = Blame(Named(writing.call, writing.call, ps, is_frame=False), purpose)
        yield TimeCause(
            kind=_OF_PURPOSE[purpose],
            ps=ps,
            part=cause.part,
            activities=cause.activities,
            blame=blamed,
        )
        cause = replace(
            cause,
            ps=cause.ps - ps,
            stretches=cause.stretches.without(writing.stretches),
            blame=NOBODY,
        )
    yield cause


def _named(profile: Profile, wall: WallTime, cause: TimeCause) -> TimeCause:
    """The same cause with whom to name, where that is known and matters."""
    if cause.kind not in _KINDS_WITH_A_NAME or cause.ps < _MIN_SHARE * wall.length:
        return cause
    stretches = wall.stretches(cause.part, *cause.activities)
    kind = cause.kind
    has_function = kind in (Kind.PYTHON, Kind.LAUNCH)
    blamed = blame(profile, wall, stretches, with_function=has_function)
    if blamed.whom is None:
        if has_function:
            blamed = Blame(blamed.function, None, waits_in=blamed.waits_in)
    elif kind in (Kind.PYTHON, Kind.UNKNOWN_TIME) and blamed.whom.is_frame:
        kind = _kind_by_function(kind, blamed)
    return replace(cause, kind=kind, blame=blamed, stretches=stretches)


def _kind_by_function(kind: Kind, blamed: Blame) -> Kind:
    """What time of Python, or unknown time, is by the function of the program that it is in."""
    plain_kind = Kind.PYTHON if kind is Kind.PYTHON else Kind.WAITING
    if blamed.purpose is None:
        return plain_kind
    by_purpose = _OF_PURPOSE.get(blamed.purpose, plain_kind)
    # Prepared by the program itself, or asleep there: nobody else could have it ready.
    is_alone = plain_kind is Kind.PYTHON or blamed.waits_in == "sleep"
    return plain_kind if by_purpose is Kind.INPUT and is_alone else by_purpose
