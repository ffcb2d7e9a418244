"""Causes of the time of a profile: each second has one, and together they are the whole profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from powertui.data.conclusions.conclusion import Kind
from powertui.data.conclusions.makers.blame import NOBODY, Blame, Named, blame
from powertui.data.conclusions.makers.slow_step_causes import causes_of_few
from powertui.data.conclusions.makers.time_cause import (
    INPUT,
    KIND_OF_PURPOSE,
    MIN_NAMED_SHARE,
    SILENT,
    TimeCause,
    largest_first,
)
from powertui.data.conclusions.makers.writing import writing_stretches
from powertui.data.model import Int64s
from powertui.data.opened import Profile
from powertui.data.tools.activity import WORK, ActivityKind
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined
from powertui.data.tools.wall_time import RunPart, WallTime

# Share of the calls of the framework from which on those that prepare a summary are told apart.
# Chosen, not measured.
_MIN_WRITING_SHARE = 0.2

_CALLING = (ActivityKind.SMALL_OPS, ActivityKind.RUNTIME)
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
    (Kind.INPUT, INPUT),
    (Kind.COLLECTIVES, (ActivityKind.COLLECTIVE,)),
    (Kind.STRAGGLER, (ActivityKind.WAITING_FOR_REPLICA,)),
    (Kind.COPIES, (ActivityKind.COPYING, ActivityKind.DEVICE_COPYING)),
    (Kind.RECOMPILATION, (ActivityKind.COMPILING,)),
    (Kind.COMPUTE, WORK),
    (Kind.LAUNCH, _CALLING),
    (Kind.PYTHON, (ActivityKind.PYTHON,)),
    (Kind.PYTHON, (ActivityKind.CALLED_PYTHON,)),
    (Kind.UNKNOWN_TIME, SILENT),
)
# What a program may do once before its steps, beside compiling.
_KINDS_OF_START = (Kind.INPUT, Kind.PYTHON, Kind.UNKNOWN_TIME)
# Before its first mark a step may have begun. What takes longer than that and one more step is no
# step's.
_MIN_START_STEPS = 2
_KINDS_WITH_A_NAME = (
    Kind.PYTHON,
    Kind.UNKNOWN_TIME,
    Kind.INPUT,
    Kind.LAUNCH,
    Kind.RECOMPILATION,
)


def time_causes(profile: Profile, wall: WallTime) -> list[TimeCause]:
    """All causes, the costliest first. Their times add up to the profile's."""
    usual = wall.usual.copy()
    causes = [_of_evaluations(wall)]
    causes += causes_of_few(profile, wall, usual)
    causes += _of_all(profile, wall, usual)
    taking_time = [cause for cause in causes if cause.ps > 0]
    return sorted(taking_time, key=lambda cause: -cause.ps)


def _of_evaluations(wall: WallTime) -> TimeCause:
    ps = int(wall.usual[RunPart.EVALUATION].sum())
    return TimeCause(Kind.VALIDATION, ps, RunPart.EVALUATION, stretches=wall.evaluations)


# ── what all steps take ──────────────────────────────────────────────────────────────────────────


def _of_all(profile: Profile, wall: WallTime, usual: Int64s) -> Iterator[TimeCause]:
    """What goes on in every step, between all of them, and in profiles without steps."""
    between, stretches = _between(wall, usual)
    if between.sum():
        usual[RunPart.BETWEEN] -= between
        yield _of_between(profile, wall, between, stretches)
    for cause in _of_start(wall, usual):
        usual[RunPart.BEFORE, list(cause.activities)] = 0
        yield _named(profile, wall, cause)
    inside = usual[list(_PARTS_OF_ALL)].sum(axis=0)
    main_part = RunPart.STEP if len(wall.periods) else RunPart.WITHOUT_STEPS
    for kind, activities in _KINDS_OF_ALL:
        ps = int(inside[list(activities)].sum())
        cause = TimeCause(
            kind=kind,
            ps=ps,
            part=main_part,
            activities=largest_first(inside, activities),
        )
        before_steps = usual[RunPart.BEFORE, ActivityKind.COMPILING]
        if kind is Kind.RECOMPILATION and 2 * before_steps > ps:
            cause = replace(cause, kind=Kind.COMPILATION, part=RunPart.BEFORE)
        cause = _named(profile, wall, cause)
        if kind is Kind.LAUNCH:
            yield from _written(profile, wall, cause)
        else:
            yield cause


def _of_start(wall: WallTime, usual: Int64s) -> Iterator[TimeCause]:
    """What the program does before its first step and in none of the steps, however few."""
    if not len(wall.periods):
        return
    for kind, activities in _KINDS_OF_ALL:
        if kind not in _KINDS_OF_START:
            continue
        columns = list(activities)
        before = usual[RunPart.BEFORE, columns]
        in_steps_ps = int(usual[[RunPart.STEP, RunPart.BETWEEN]][:, columns].sum())
        each_ps = in_steps_ps / len(wall.periods)
        is_most = before.sum() > in_steps_ps
        if is_most and before.sum() > _MIN_START_STEPS * each_ps:
            going_on = largest_first(usual[RunPart.BEFORE], activities)
            yield TimeCause(kind, int(before.sum()), RunPart.BEFORE, activities=going_on)


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
        if kind in (*INPUT, ActivityKind.COMPILING):
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
    profile: Profile,
    wall: WallTime,
    between: Int64s,
    stretches: CoveredTime,
) -> TimeCause:
    ps = int(between.sum())
    blamed = blame(profile, wall, stretches) if ps >= MIN_NAMED_SHARE * wall.length else NOBODY
    kind = Kind.BETWEEN_STEPS
    if blamed.purpose in KIND_OF_PURPOSE:
        kind = KIND_OF_PURPOSE[blamed.purpose]
    activities = largest_first(between, tuple(ActivityKind))
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
            kind=KIND_OF_PURPOSE[purpose],
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
    if cause.kind not in _KINDS_WITH_A_NAME or cause.ps < MIN_NAMED_SHARE * wall.length:
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
    by_purpose = KIND_OF_PURPOSE.get(blamed.purpose, plain_kind)
    # Prepared by the program itself, or asleep there: nobody else could have it ready.
    is_alone = plain_kind is Kind.PYTHON or blamed.waits_in == "sleep"
    return plain_kind if by_purpose is Kind.INPUT and is_alone else by_purpose
