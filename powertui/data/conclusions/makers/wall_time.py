"""Where the whole time of the profile went: a sentence for every cause that matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

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
from powertui.data.conclusions.makers.cause_words import CauseWords, short_time
from powertui.data.conclusions.makers.shared_cores import time_without_core
from powertui.data.conclusions.makers.time_cause import TimeCause
from powertui.data.conclusions.makers.time_causes import time_causes
from powertui.data.conclusions.makers.usual_words import cause_wording
from powertui.data.model import PS_PER_S
from powertui.data.tools import wall_time as account
from powertui.data.tools import work_by_time
from powertui.data.tools.activity import ActivityKind
from powertui.data.tools.wall_time import RunPart, WallTime

# Share of the profile from which on a cause has a sentence. TensorBoard's threshold for input.
_MIN_SHARE = 0.05
# From this share on, what is compiled once makes shares of the time small: the largest other cause
# is told of the rest, too. Chosen, not measured.
_MIN_COMPILED_SHARE = 0.25

# A profile of a host without steps that is shorter says nothing of the program: the first call of
# an operation takes 30 to 100 µs (torch 2.14), and starting the profiler as much again.
_MIN_LENGTH_WITHOUT_STEPS_PS = 1_000_000_000


def wall_time_causes(inquiry: Inquiry) -> Iterator[Conclusion]:
    """Every cause that takes much of the time, and the largest one in any case.

    Of the usual step of a program with devices, the parts of the step tell; where its steps are
    less than half of the time, so does what takes longer than all of them.
    """
    profile = inquiry.profile
    wall = account.wall_time(profile)
    if _is_too_short(inquiry, wall):
        yield _too_short(wall, profile.trace.event_count)
        return
    causes = time_causes(profile, wall)
    largest = causes[:1]
    has_device = inquiry.steps.has_device
    work_by_time.forget_lines(profile)
    if has_device or not _shows_host(wall):
        from powertui.data.conclusions.makers import step_parts

        yield from step_parts.step_parts(inquiry)
        told_ps = step_parts.all_steps_ps(inquiry)
        hides_most = 0 < 2 * told_ps < wall.length
        causes = [
            cause
            for cause in causes
            if _is_beside_steps(cause) or (hides_most and cause.ps > told_ps)
        ]
        largest = []
    compiled = [cause for cause in causes if cause.kind is Kind.COMPILATION]
    compiled_ps = sum(cause.ps for cause in compiled)
    usual = next((cause for cause in causes if cause not in compiled), None)
    for cause in causes:
        if _ends_the_profile(wall, cause):
            continue
        if cause.ps >= _MIN_SHARE * wall.length or cause in largest:
            words = CauseWords(inquiry=inquiry, profile=profile, wall=wall, cause=cause)
            if cause is usual and compiled_ps >= _MIN_COMPILED_SHARE * wall.length:
                words = replace(words, compiled_ps=compiled_ps)
            yield _conclusion(words)


def _is_too_short(inquiry: Inquiry, wall: WallTime) -> bool:
    """Whether a profile of a host shows little more than the profiler's own start."""
    return (
        not inquiry.steps.has_device
        and not len(wall.periods)
        and wall.length < _MIN_LENGTH_WITHOUT_STEPS_PS
    )


def _too_short(wall: WallTime, event_count: int) -> Conclusion:
    events = "1 event" if event_count == 1 else f"{event_count:,} events"
    return Conclusion(
        kind=Kind.UNKNOWN_TIME,
        sentence="The profile is too short to show what takes time: "
        f"{short_time(wall.length)}, {events}, and no step.",
        short="too short",
        confidence=Confidence.UNSURE,
        evidence=Evidence("timeline"),
        next="Record several steps.",
        doubt="The first call of an operation and the profiler's start may take all of it.",
    )


def _is_beside_steps(cause: TimeCause) -> bool:
    """Whether a cause says nothing of the usual step."""
    return cause.is_of_few or cause.part in (RunPart.BETWEEN, RunPart.EVALUATION)


def _ends_the_profile(wall: WallTime, cause: TimeCause) -> bool:
    """Whether it is the silence after the only step: for all that is known, the profiler's end."""
    is_silent = cause.activities[:1] in ((ActivityKind.NOTHING,), (ActivityKind.WAITING,))
    is_after = cause.part is RunPart.BETWEEN and len(wall.periods) == 1
    return is_after and is_silent and not cause.blame.label


def _shows_host(wall: WallTime) -> bool:
    """Whether anything of the host was recorded: programs of some devices tell only of these."""
    return bool(len(wall.periods)) or wall.timeline[ActivityKind.NOTHING].length < wall.length


def _conclusion(words: CauseWords) -> Conclusion:
    cause = words.cause
    wording = cause_wording(words)
    stretches = _stretches(words)
    has_place = cause.is_of_few and len(cause.stretches.start)
    if cause.part is RunPart.BEFORE and cause.kind is not Kind.COMPILATION:
        has_place = True
    return Conclusion(
        kind=cause.kind,
        sentence=wording.sentence,
        short=wording.short,
        confidence=wording.confidence,
        evidence=Evidence(wording.tool),
        cost=Cost(
            seconds=cause.ps / PS_PER_S,
            share=words.share,
            waiting_share=_waiting_ps(words) / words.wall.length,
        ),
        stretch=stretches[0] if has_place else None,
        repeats=stretches,
        next=wording.next,
        doubt=wording.doubt,
    )


def _waiting_ps(words: CauseWords) -> int:
    """How much of a cause is waiting for a core that others used."""
    waiting = time_without_core(words.profile)
    if not len(waiting.start):
        return 0
    cause = words.cause
    stretches = cause.stretches
    if not len(stretches.start):
        stretches = words.wall.stretches(cause.part, *cause.activities)
    return min(cause.ps, waiting.common(stretches).length)


def _stretches(words: CauseWords) -> tuple[Stretch, ...]:
    """Of what few steps took, these steps, the longest first; of evaluations, all of them."""
    cause = words.cause
    periods = words.wall.periods
    start = periods.start[cause.slow]
    end = periods.end[cause.slow]
    if cause.part is RunPart.EVALUATION:
        start = cause.stretches.start
        end = cause.stretches.end
    if cause.part is RunPart.BEFORE:
        start = np.array([words.wall.timeline.span[0]], np.int64)
        end = periods.start[:1]
    longest_first = np.argsort(start - end, kind="stable")
    return tuple(
        Stretch(words.profile.index, int(start[row]), int(end[row]))
        for row in longest_first.tolist()
    )
