"""Calls that a busy machine stops: other programs use the cores that the program needs.

A call is compared with itself in other steps, the third `aten::mm` of a step with the third one of
the others. A thread that loses its core loses it anywhere: of large operations it takes some of the
calls, and now and then it hits a call that takes a few microseconds. Nothing that a program does
makes such a small call take milliseconds, unless it waits for a device: that is the proof, and the
large ones are the amount.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

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
from powertui.data.conclusions.makers import late_starts
from powertui.data.conclusions.makers.cause_words import short_time
from powertui.data.conclusions.makers.late_starts import LateStarts
from powertui.data.conclusions.words import percent, whole_percent
from powertui.data.model import PS_PER_S, Bools, Int64s, Track, UInt32s
from powertui.data.opened import Profile
from powertui.data.quantiles import median_of_column
from powertui.data.tools import activity
from powertui.data.tools import wall_time as account
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined
from powertui.data.tools.name_classes import NameClass, any_class, computes_on_host, name_classes
from powertui.data.tools.wall_time import Periods
from powertui.named_tuples import NamedTuple
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
# The same for many steps: of 700 steps on a machine with nothing else to do 5 have one.
_MIN_STOPPED_SHARE = 0.01
# A large call is stopped from so many times its usual length on. Chosen, not measured.
_MIN_TIMES_USUAL = 1.5
_MIN_SHARE = 0.05  # of the profile. TensorBoard's threshold for input
_OPERATIONS = (NameClass.OPERATION, NameClass.COPY)


@dataclass(frozen=True, eq=False)
class _Stops:
    """Calls that were stopped in the middle."""

    lost: CoveredTime
    lost_ps: int  # of all calls, added up
    small: int  # how many of them do next to nothing
    longest_small_ps: int


_NO_STOPS = _Stops(
    lost=NO_TIME,
    lost_ps=0,
    small=0,
    longest_small_ps=0,
)


class _Waits(NamedTuple):
    """Where operations waited for a core: in the middle, and before they began."""

    stops: _Stops
    late: LateStarts
    lost: CoveredTime


def shared_cores(inquiry: Inquiry) -> Iterator[Conclusion]:
    """For each host that computes how much of its operations' time was waiting for a core."""
    for profile in inquiry.profiles:
        waits = _waits(profile)
        length_ps = account.wall_time(profile).length
        if waits is not None and waits.lost.length >= _MIN_SHARE * length_ps:
            yield _conclusion(waits, length_ps, _running_ps(profile, waits))


def time_without_core(profile: Profile) -> CoveredTime:
    """Where operations of a host certainly waited for a core."""
    waits = _waits(profile)
    return NO_TIME if waits is None else waits.lost


def _waits(profile: Profile) -> _Waits | None:
    """None where nothing proves that others used the cores. Worked out once."""
    return profile.cached("waits for cores", lambda: _proven_waits(profile))


def _proven_waits(profile: Profile) -> _Waits | None:
    periods = account.wall_time(profile).periods
    if len(periods) < _MIN_STEPS or not computes_on_host(profile):
        return None
    late = late_starts.late_starts(profile)
    long_late_steps = late.at_least(_MIN_STOP_PS).steps(periods)
    stops = _stops(profile, periods, or_proven=long_late_steps >= _needed_steps(periods))
    is_late = late.steps(periods) >= _needed_steps(periods)
    if stops is _NO_STOPS and not is_late:
        return None
    return _Waits(stops, late, joined([late.stretches, stops.lost]))


def _needed_steps(periods: Periods) -> float:
    return max(_MIN_STOPPED, _MIN_STOPPED_SHARE * len(periods))


def _stops(profile: Profile, periods: Periods, *, or_proven: bool) -> _Stops:
    """None of them where no small call shows that threads lost their cores, nor anything else."""
    is_operation = any_class(name_classes(profile), _OPERATIONS)
    tracks = [track for _, _, track in profile.trace.threads()]
    if not or_proven and not any(_has_stopped_calls(track, is_operation) for track in tracks):
        return _NO_STOPS
    lost_parts: list[CoveredTime] = []
    lost_ps = 0
    small_lengths: list[Int64s] = []
    small_steps: set[int] = set()
    for line in _lines(profile, tracks):
        for calls in _calls_by_step(line, _with_long_calls(line, is_operation), periods):
            usual = _undisturbed_lengths(calls.length)
            is_stopped = calls.length - usual >= _MIN_STOP_PS
            is_stopped &= calls.length >= _MIN_TIMES_USUAL * usual
            lost_ps += int((calls.length - usual)[is_stopped].sum())
            start = line.start[calls.rows[is_stopped]]
            end = start + calls.length[is_stopped]
            lost_parts.append(CoveredTime(start + usual[is_stopped], end))
            is_small = is_stopped & (usual <= _MAX_SMALL_CALL_PS)
            small_lengths.append(calls.length[is_small])
            small_steps.update(np.flatnonzero(is_small.any(axis=1)).tolist())
    small = np.concatenate([np.empty(0, np.int64), *small_lengths])
    if not or_proven and min(len(small), len(small_steps)) < _needed_steps(periods):
        return _NO_STOPS
    return _Stops(
        lost=joined(lost_parts),
        lost_ps=lost_ps,
        small=len(small),
        longest_small_ps=int(small.max(initial=0)),
    )


def _running_ps(profile: Profile, waits: _Waits) -> int:
    """How long all calls took that may have been stopped, with what they lost; 0 where none was."""
    if waits.stops is _NO_STOPS:
        return 0
    is_operation = any_class(name_classes(profile), _OPERATIONS)
    periods = account.wall_time(profile).periods
    tracks = [track for _, _, track in profile.trace.threads()]
    running_ps = 0
    for line in _lines(profile, tracks):
        for calls in _calls_by_step(line, is_operation, periods):
            running_ps += int(calls.length.sum())
    return running_ps


class _Line(NamedTuple):
    """Calls that do more by themselves than in the calls they hold."""

    name: UInt32s
    start: Int64s
    duration: Int64s


def _lines(profile: Profile, tracks: list[Track]) -> list[_Line]:
    """Those of each thread; those of a pool together, whose threads take what comes next."""
    lines: list[_Line] = []
    pool: list[_Line] = []
    for track in tracks:
        rows = np.flatnonzero(activity.is_innermost(profile, track))
        events = track.events
        line = _Line(events.name[rows], events.start[rows], events.duration[rows])
        (pool if activity.is_pool(track.name) else lines).append(line)
    if pool:
        lines.append(_Line(*(np.concatenate(column) for column in zip(*pool, strict=True))))
    return lines


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


def _with_long_calls(line: _Line, chosen: Bools) -> Bools:
    """Those of these names with a call that may have been stopped: few, and the rest are most of
    the calls.
    """
    long_names = line.name[line.duration >= _MIN_STOP_PS]
    has_long = np.zeros(len(chosen), np.bool_)
    has_long[long_names] = True
    return has_long & chosen


class _Calls(NamedTuple):
    """[steps × calls] of one name."""

    rows: Int64s  # of the line
    length: Int64s


def _calls_by_step(line: _Line, chosen: Bools, periods: Periods) -> Iterator[_Calls]:
    """The calls of each name, in the steps that have the usual number of them."""
    rows = np.flatnonzero(chosen[line.name])
    step = periods.start.searchsorted(line.start[rows], side="right") - 1
    rows = rows[step >= 0]
    step = step[step >= 0]
    order = _order(line.name[rows], line.start[rows])
    rows = rows[order]
    step = step[order]
    names = line.name[rows]
    first = np.flatnonzero(names[1:] != names[:-1]) + 1
    borders = [0, *first.tolist(), len(rows)]
    for begin, end in pairwise(borders):
        named = slice(begin, end)
        count = np.bincount(step[named], minlength=len(periods))
        usual_count = int(np.bincount(count).argmax())
        is_usual = count == usual_count
        if not usual_count or is_usual.sum() < _MIN_STEPS:
            continue
        of_usual = rows[named][is_usual[step[named]]].reshape(-1, usual_count)
        yield _Calls(of_usual, line.duration[of_usual])


def _order(names: UInt32s, starts: Int64s) -> Int64s:
    """By name, and those of one name by their start, of rows that lie lane by lane."""
    by_start = np.argsort(starts, kind="stable")
    names = names[by_start]
    if names.max(initial=0) <= np.iinfo(np.uint16).max:
        names = names.astype(np.uint16)  # numpy sorts these without comparing
    return by_start[np.argsort(names, kind="stable")]


def _conclusion(waits: _Waits, length_ps: int, running_ps: int) -> Conclusion:
    lost_ps = waits.lost.length
    share = lost_ps / length_ps
    late_ps = waits.late.stretches.length
    part = (waits.stops.lost_ps + late_ps) / max(1, running_ps + late_ps)
    return Conclusion(
        kind=Kind.BUSY_CORES,
        sentence=f"Busy cores: operations waited for a core in at least {percent(share)} of the "
        f"time ({short_time(lost_ps)} of {short_time(length_ps)}), {percent(part)} of what "
        "they took, because other processes or threads used the cores.",
        short=f"busy cores {whole_percent(share)}",
        confidence=Confidence.LIKELY,
        evidence=Evidence("op_stats"),
        cost=Cost(seconds=lost_ps / PS_PER_S, share=share),
        next="See what else ran on this machine, the program's own workers among it.",
        doubt=f"{_proof(waits)}; a limit of a container on its use of cores looks alike.",
    )


def _proof(waits: _Waits) -> str:
    stops, late, _ = waits
    proofs = []
    if stops.small:
        calls = "1 call that takes" if stops.small == 1 else f"{stops.small:,} calls that take"
        longest = short_time(stops.longest_small_ps)
        proofs.append(f"{calls} a few microseconds took up to {longest}")
    count = len(late.stretches.start)
    if count:
        often = "once" if count == 1 else f"{count:,} times"
        proofs.append(
            f"compiled programs began late {often}, by up to {short_time(late.longest_ps)}"
        )
    return " and ".join(proofs)
