"""Calls that a busy machine stops: other programs use the cores that the program needs.

A call is compared with itself in other steps, the third `aten::mm` of a step with the third one of
the others. A thread that loses its core loses it anywhere: of large operations it takes some of the
calls, and now and then it hits a call that takes a few microseconds. Nothing that a program does
makes such a small call take milliseconds, unless it waits for a device: that is the proof, and the
large ones are the amount.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from powertui.data import wire
from powertui.data.conclusions.conclusion import (
    Conclusion,
    Confidence,
    Cost,
    Evidence,
    Kind,
)
from powertui.data.conclusions.inquiry import Inquiry
from powertui.data.conclusions.makers.cause_words import short_time
from powertui.data.conclusions.words import percent, whole_percent
from powertui.data.model import PS_PER_S, Bools, Int64s, Track
from powertui.data.opened import Profile
from powertui.data.quantiles import median_of_column
from powertui.data.tools import activity
from powertui.data.tools import wall_time as account
from powertui.data.tools.name_classes import NameClass, any_class, computes_on_host, name_classes
from powertui.data.tools.wall_time import Periods
from powertui.value_types import dataclass

_MIN_STEPS = 8  # fewer do not say what a call usually takes. Chosen, not measured
# Of a call's lengths in all steps: what it takes while its thread has a core. With a lower one a
# single quick step would make all others slow. Chosen, not measured.
_UNDISTURBED_QUANTILE = 0.25
# Steps in a row that have an undisturbed length of their own, where it is longer: work that grows
# from step to step waits for nobody. Odd, so that a step lies in the middle. Chosen, not measured.
_NEAR_STEPS = 9
# A thread that loses its core waits for a turn of others: 3 to 44 ms on two cores that ten to
# eighteen threads wanted. Of 40,000 views of tensors in recordings of others' machines the longest
# took 1.3 ms.
_MIN_STOP_PS = 3 * PS_PER_S // 1000
# A call this short has nothing to do that could take as long as a stop.
_MAX_SMALL_CALL_PS = 50_000_000
# Stopped small calls, in as many steps: a single one may be a page that was read from disk. Of 30
# recordings of quiet machines one has one, and no other any.
_MIN_STOPPED = 2
# A large call is stopped from so many times its usual length on. Chosen, not measured.
_MIN_TIMES_USUAL = 1.5
_MIN_SHARE = 0.05  # of the profile. TensorBoard's threshold for input
_OPERATIONS = (NameClass.OPERATION, NameClass.COPY)


@dataclass(frozen=True)
class _Stops:
    """Calls that were stopped in the middle."""

    lost_ps: int
    running_ps: int  # how long all these calls took, with what they lost
    small: int  # how many of them do next to nothing
    steps: int  # how many steps have one of those
    longest_small_ps: int


def shared_cores(inquiry: Inquiry) -> Iterator[Conclusion]:
    """For each host that computes how much of its operations' time was waiting for a core."""
    for profile in inquiry.profiles:
        if not computes_on_host(profile):
            continue
        wall = account.wall_time(profile)
        stops = _stops(profile, wall.periods)
        if stops is None or min(stops.small, stops.steps) < _MIN_STOPPED:
            continue
        if stops.lost_ps >= _MIN_SHARE * wall.length:
            yield _conclusion(stops, wall.length)


def _stops(profile: Profile, periods: Periods) -> _Stops | None:
    if len(periods) < _MIN_STEPS:
        return None
    is_operation = any_class(name_classes(profile), _OPERATIONS)
    tracks = list(activity.frame_tracks(profile.trace))
    if not any(_has_stopped_calls(track, is_operation) for track in tracks):
        return None
    lost_ps = 0
    running_ps = 0
    small_lengths: list[Int64s] = []
    small_steps: set[int] = set()
    for track in tracks:
        for lengths in _calls_by_step(track, is_operation, periods):
            usual = _undisturbed_lengths(lengths)
            is_stopped = lengths - usual >= _MIN_STOP_PS
            is_stopped &= lengths >= _MIN_TIMES_USUAL * usual
            running_ps += int(lengths.sum())
            lost_ps += int((lengths - usual)[is_stopped].sum())
            is_small = is_stopped & (usual <= _MAX_SMALL_CALL_PS)
            small_lengths.append(lengths[is_small])
            small_steps.update(np.flatnonzero(is_small.any(axis=1)).tolist())
    small = np.concatenate([np.empty(0, np.int64), *small_lengths])
    return _Stops(
        lost_ps=lost_ps,
        running_ps=running_ps,
        small=len(small),
        steps=len(small_steps),
        longest_small_ps=int(small.max(initial=0)),
    )


def _undisturbed_lengths(lengths: Int64s) -> Int64s:
    """[steps × calls]: what each call takes while its thread has a core, by the other steps and by
    those near it.
    """
    of_all = _low_quantile(lengths, axis=0)
    if len(lengths) < _NEAR_STEPS:
        return np.broadcast_to(of_all, lengths.shape)
    windows = np.lib.stride_tricks.sliding_window_view(lengths, _NEAR_STEPS, axis=0)
    near = _low_quantile(windows, axis=-1)
    reach = _NEAR_STEPS // 2
    near = np.concatenate([near[:1].repeat(reach, 0), near, near[-1:].repeat(reach, 0)])
    return np.maximum(of_all, near)


def _low_quantile(lengths: Int64s, axis: int) -> Int64s:
    """The length that this share of them does not exceed."""
    place = int(_UNDISTURBED_QUANTILE * lengths.shape[axis])
    return np.asarray(np.partition(lengths, place, axis=axis).take(place, axis=axis))


def _has_stopped_calls(track: Track, chosen: Bools) -> bool:
    """Whether a small operation took long, which hardly any program shows: all else is dear."""
    events = track.events
    long = np.flatnonzero(events.duration >= _MIN_STOP_PS)
    names = wire.distinct(events.name[long])
    return any(
        median_of_column(events.duration[events.name == name]) <= _MAX_SMALL_CALL_PS
        for name in names[chosen[names]].tolist()
    )


def _calls_by_step(track: Track, chosen: Bools, periods: Periods) -> Iterator[Int64s]:
    """[steps × calls]: how long the calls of each name take, in the steps that have the usual
    number of them.
    """
    events = track.events
    rows = activity.innermost_rows(track)
    rows = rows[chosen[events.name[rows]]]
    step = periods.start.searchsorted(events.start[rows], side="right") - 1
    rows = rows[step >= 0]
    step = step[step >= 0]
    order = np.lexsort((events.start[rows], step, events.name[rows]))
    rows = rows[order]
    step = step[order]
    names, first = np.unique(events.name[rows], return_index=True)
    borders = np.append(first, len(rows))
    for index in range(len(names)):
        named = slice(int(borders[index]), int(borders[index + 1]))
        count = np.bincount(step[named], minlength=len(periods))
        usual_count = int(np.bincount(count).argmax())
        is_usual = count == usual_count
        if not usual_count or is_usual.sum() < _MIN_STEPS:
            continue
        lengths = events.duration[rows[named]]
        yield lengths[is_usual[step[named]]].reshape(-1, usual_count)


def _conclusion(stops: _Stops, length_ps: int) -> Conclusion:
    share = stops.lost_ps / length_ps
    part = stops.lost_ps / max(1, stops.running_ps)
    return Conclusion(
        kind=Kind.BUSY_CORES,
        sentence=f"Busy cores: operations waited for a core in at least {percent(share)} of the "
        f"time ({short_time(stops.lost_ps)} of {short_time(length_ps)}), {percent(part)} of what "
        "they took, because other processes or threads used the cores.",
        short=f"busy cores {whole_percent(share)}",
        confidence=Confidence.LIKELY,
        evidence=Evidence("op_stats"),
        cost=Cost(seconds=stops.lost_ps / PS_PER_S, share=share),
        next="See what else ran on this machine, the program's own workers among it.",
        doubt=f"{stops.small:,} calls that take a few microseconds took up to "
        f"{short_time(stops.longest_small_ps)}; a limit of a container on its use of cores looks "
        "alike.",
    )
