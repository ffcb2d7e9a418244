"""Whether what a few steps compute beyond the others is training: that has a backward pass."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from powertui.data.conclusions.makers.further_calls import calls_more
from powertui.data.model import Bools, Int64s
from powertui.data.opened import Profile
from powertui.data.run.functions import function_key, training_functions
from powertui.data.tools import activity
from powertui.data.tools.covered_time import CoveredTime, joined
from powertui.data.tools.wall_time import WallTime
from powertui.patterns import late_pattern

# How PyTorch names the nodes of a backward pass, on the host.
_BACKWARD = late_pattern(r"^autograd::engine::|Backward\d*$")
_FUNCTION = late_pattern(r"^PjitFunction\(.+\)$")
_READ_CHARACTERS = 300
_MIN_MORE_CALLS = 0.5  # of a function in a slow step, on average
# Share of a usual step from which on a backward pass is a part of training: of a step that computes
# it is about two thirds. Chosen, not measured.
_MIN_USUAL_SHARE = 0.2
# Share of what the slow steps compute more, up to which there is no backward pass in it. Chosen,
# not measured; steps that are slow because the machine is have as much of it as usual ones.
_MAX_EXTRA_SHARE = 0.1


def lacks_backward(profile: Profile, wall: WallTime, slow: Int64s, *, computing_ps: int) -> bool:
    """Whether the usual steps train, and what these take longer for computes without gradients."""
    periods = wall.periods
    usual = np.flatnonzero(~wall.slow)
    if not len(usual) or not computing_ps:
        return False
    inside = _backward_time(profile).inside(periods.start, periods.end)
    usual_ps = float(inside[usual].mean())
    length_ps = float((periods.end - periods.start)[usual].mean())
    if usual_ps < _MIN_USUAL_SHARE * length_ps:
        return False
    extra_ps = float(inside[slow].sum()) - len(slow) * usual_ps
    return extra_ps < _MAX_EXTRA_SHARE * computing_ps and calls_more(profile, wall, slow)


def calls_without_gradients(profile: Profile, wall: WallTime, slow: Int64s) -> bool:
    """Whether the usual steps call a function of JAX that computes gradients, and these call others
    more often, none of which does.
    """
    training = training_functions(profile.trace)
    if not training:
        return False
    is_slow = np.zeros(len(wall.periods), np.bool_)
    is_slow[slow] = True
    usual = _functions_a_step(profile, wall, ~wall.slow)
    if not training & usual.keys():
        return False
    more = [
        key
        for key, times in _functions_a_step(profile, wall, is_slow).items()
        if times >= usual.get(key, 0.0) + _MIN_MORE_CALLS
    ]
    return bool(more) and training.isdisjoint(more)


def _functions_a_step(profile: Profile, wall: WallTime, chosen: Bools) -> dict[str, float]:
    """How often each function of JAX is called in these steps, on average."""
    names = profile.trace.names
    keys = {}
    for index in range(len(names)):
        name = names.full(index)[:_READ_CHARACTERS]
        if _FUNCTION.search(name) is not None:
            keys[index] = function_key(name)
    periods = wall.periods
    times: dict[str, float] = defaultdict(float)
    for _, _, track in profile.trace.threads():
        rows = np.flatnonzero(np.isin(track.events.name, list(keys)))
        step = periods.start.searchsorted(track.events.start[rows], side="right") - 1
        rows = rows[(step >= 0) & chosen[step]]
        for index in track.events.name[rows].tolist():
            times[keys[index]] += 1 / int(chosen.sum())
    return times


def _backward_time(profile: Profile) -> CoveredTime:
    """When any thread is in a backward pass."""
    names = profile.trace.names
    is_backward = np.array(
        [
            _BACKWARD.search(names.full(index)[:_READ_CHARACTERS]) is not None
            for index in range(len(names))
        ],
        np.bool_,
    )
    if not is_backward.any():
        return joined([])
    parts = []
    for track in activity.frame_tracks(profile.trace):
        rows = is_backward[track.events.name]
        parts.append(CoveredTime(track.events.start[rows], track.events.end[rows]))
    return joined(parts)
