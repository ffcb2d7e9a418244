"""Whether slow steps call more than the others do, or the same calls take longer in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from powertui.data.model import Bools, Events, Floats, Int64s
from powertui.data.opened import Profile
from powertui.data.quantiles import median_of_column
from powertui.data.tools.name_classes import CALLS, NameClass, any_class, name_classes
from powertui.data.tools.wall_time import Periods, WallTime
from powertui.named_tuples import NamedTuple

# Share of what the slow steps take longer that is of calls that run more often than in usual steps:
# one call that waited for a core is no evaluation. Chosen, not measured.
_MIN_MORE_CALLS_SHARE = 0.5
_MIN_MORE_CALLS = 0.5  # of a call, on average
# Share of what these steps take longer that calls have to explain. Chosen, not measured.
_MIN_CALLS_SHARE = 0.5
# A step that calls so many times as much as usual ones does more than they. Chosen, not measured;
# steps of a machine that others use wait a little more often for results.
_MIN_TIMES_CALLS = 1.25
_ANY_CALL = (*CALLS, NameClass.WAIT)


def calls_more(profile: Profile, wall: WallTime, slow: Int64s) -> bool:
    """Whether most of what calls take longer in these steps is of those that run more often."""
    longer = _longer_calls(profile, wall, slow)
    return longer.all_ps > 0 and longer.of_more_ps >= _MIN_MORE_CALLS_SHARE * longer.all_ps


def same_calls(profile: Profile, wall: WallTime, slow: Int64s, ps: int) -> bool:
    """Whether these steps take so much longer for calls that all steps have as often."""
    longer = _longer_calls(profile, wall, slow)
    is_of_calls = longer.all_ps * len(slow) >= _MIN_CALLS_SHARE * ps
    return is_of_calls and longer.of_more_ps < _MIN_MORE_CALLS_SHARE * longer.all_ps


def steps_with_more_calls(profile: Profile, wall: WallTime) -> Bools:
    """Which of the slow steps hold more calls than usual ones do."""
    is_call = any_class(name_classes(profile), _ANY_CALL)
    calls = np.zeros(len(wall.periods), np.int64)
    for _, _, track in profile.trace.threads():
        for depth in range(track.lane_count):
            calls += _calls_in_steps(track.lane(depth), is_call, wall.periods)
    usual = median_of_column(calls[~wall.slow])
    return np.asarray(calls[wall.slow] > _MIN_TIMES_CALLS * usual)


def _calls_in_steps(lane: Events, is_call: Bools, periods: Periods) -> Int64s:
    """How many calls of a lane begin in each step: steps are far fewer than calls."""
    rows = np.flatnonzero(is_call.take(lane.name))
    first_row = lane.start.searchsorted(periods.start)
    calls_before = rows.searchsorted(first_row)
    return np.diff(calls_before, append=len(rows))


class _Longer(NamedTuple):
    """What calls take longer in a slow step on average, ps."""

    all_ps: float
    of_more_ps: float  # of those that run more often there


def _longer_calls(profile: Profile, wall: WallTime, slow: Int64s) -> _Longer:
    is_slow = np.zeros(len(wall.periods), np.bool_)
    is_slow[slow] = True
    usual, slower = _calls(profile, wall.periods, (~wall.slow, is_slow))
    longer_ps = np.maximum(slower.ps - usual.ps, 0)
    runs_more = slower.times >= usual.times + _MIN_MORE_CALLS
    return _Longer(float(longer_ps.sum()), float(longer_ps[runs_more].sum()))


class _Calls(NamedTuple):
    """By the number of each name, in a step on average."""

    times: Floats
    ps: Floats


def _calls(profile: Profile, periods: Periods, groups: Sequence[Bools]) -> list[_Calls]:
    """What the host calls in the steps of each group, without what is a whole step."""
    size = len(profile.trace.names)
    times = np.zeros((len(groups), size))
    ps = np.zeros((len(groups), size))
    classes = name_classes(profile)
    is_call = any_class(classes, _ANY_CALL)
    may_be_mark = classes == NameClass.RUNTIME
    for _, _, track in profile.trace.threads():
        events = track.events
        step = periods.start.searchsorted(events.start, side="right") - 1
        inside = is_call[events.name] & (step >= 0)
        inside &= ~(may_be_mark[events.name] & _are_whole_steps(events, periods, step))
        names = events.name[inside]
        lengths = events.duration[inside].astype(np.float64)
        step = step[inside]
        for group, chosen in enumerate(groups):
            of_group = chosen[step]
            times[group] += np.bincount(names[of_group], minlength=size)
            ps[group] += np.bincount(names[of_group], lengths[of_group], minlength=size)
    steps = [max(1, int(chosen.sum())) for chosen in groups]
    return [_Calls(*of_group) for of_group in zip(_per(times, steps), _per(ps, steps), strict=True)]


def _per(amounts: Floats, steps: Sequence[int]) -> Floats:
    """The amounts of each group in one of its steps."""
    in_one: Floats = amounts / np.array(steps)[:, None]
    return in_one


def _are_whole_steps(events: Events, periods: Periods, step: Int64s) -> Bools:
    """Which events are around a whole step, as marks are, and what a program annotates."""
    is_whole = (step >= 0) & (events.start <= periods.start[step])
    return np.asarray(is_whole & (events.end >= periods.mark_end[step]))
