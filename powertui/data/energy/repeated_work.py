"""What readings of moments miss of work that repeats faster than they come.

A device that works for 0.15 s of each step of 0.25 s is met at the same part of each step by a
sensor that is read every second: all readings are alike, and the joules that follow from them are
wrong, though nothing in the readings shows it. The trace does: it holds the work at each moment, so
it shows how far the share of work at the moments of the readings can be from that of the whole
window. Nobody knows at which part of a step the readings are, because sensors are late by some ten
milliseconds, so all parts come into question.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from powertui.data.energy import curve_building, expected_work, settings
from powertui.data.energy.curve import Curve
from powertui.data.energy.expected_work import Activity
from powertui.data.energy.measured_energy import Energy, without_answer
from powertui.data.energy.robust_stats import TAILS
from powertui.data.model import PS_PER_S, Z95, Floats, Int64s, PowerKind, PowerOnTrace, Trace
from powertui.named_tuples import NamedTuple

_MIN_READINGS = settings.MIN_SPREAD_VALUES  # fewer show no scatter
_PHASES = settings.GOOD_SAMPLE_VALUES  # at which they are tried in the time between two
_MAX_READINGS = expected_work.TABLE_BINS // _PHASES  # that are looked at: a bound of time
# Work of which a window holds less than this, or more than all but this, does not alternate.
_MIN_ALTERNATING_SHARE = settings.MINOR_SHARE
# Of these a device draws different power; what else a core does draws about as much as computing.
_KINDS_BY_POWER = (
    (expected_work.IDLE, expected_work.WAIT),
    (expected_work.COLLECTIVES, expected_work.COPIES),
)
_UNTOLD = (
    "not resolved: the work of this run alternates faster than its sensor is read, and its "
    "readings meet the same part of it each time. A counter of joules, a sensor of means, or "
    "another time between two readings would show it"
)


class _Looks(NamedTuple):
    """How well the readings of a channel see work that alternates."""

    readings: int
    independent: float  # so many looks at random moments would see it as well
    scatter_w: float  # one sigma of the readings

    @property
    def are_alike(self) -> bool:
        """Whether they are of the same part of each step, so that they do not even show how much
        the power varies.
        """
        clearly_fewer = settings.MAJORITY_SHARE * self.readings
        return self.independent < min(settings.MIN_SPREAD_VALUES, clearly_fewer)


def judged(
    energy: Energy | None,
    channels: Sequence[PowerOnTrace],
    trace: Trace,
    lo_ps: int,
    hi_ps: int,
) -> Energy | None:
    """The energy of a window, with an interval that holds what its readings miss between them; not
    resolved where they meet the same part of each step.
    """
    if energy is None or energy.joules is None or energy.lo is None or energy.hi is None:
        return energy
    seconds = (hi_ps - lo_ps) / PS_PER_S
    whole_ps = hi_ps - lo_ps
    lo_ps, hi_ps = max(lo_ps, trace.span[0]), min(hi_ps, trace.span[1])
    if hi_ps - lo_ps < settings.MAJORITY_SHARE * whole_ps:
        return energy  # what ran in most of it is not known
    variance = 0.0
    for channel in channels:
        looks = _looks(channel, trace, lo_ps, hi_ps)
        if looks is None:
            continue
        if looks.are_alike:
            return without_answer(energy, _UNTOLD)
        from powertui.data import student  # for work that alternates alone

        freedom = min(looks.independent, looks.readings) - 1
        times = student.upper_quantile(freedom, TAILS[0]) / Z95
        variance += (times * seconds * looks.scatter_w) ** 2 / looks.independent
    sampling = math.sqrt(variance)
    if sampling <= energy.sigma_sampling:
        return energy
    more = Z95 * math.sqrt(variance - energy.sigma_sampling**2)
    return replace(
        energy,
        lo=max(energy.joules - math.hypot(energy.joules - energy.lo, more), 0.0),
        hi=energy.joules + math.hypot(energy.hi - energy.joules, more),
        sigma_sampling=sampling,
    )


def _looks(
    channel: PowerOnTrace,
    trace: Trace,
    lo_ps: int,
    hi_ps: int,
) -> _Looks | None:
    """None where they are too few to say, or where no work alternates."""
    curve = curve_building.power_curve(channel)
    if curve.kind is not PowerKind.SAMPLED or curve.refresh_s <= 0:
        return None
    first, end = np.searchsorted(curve.knots, (lo_ps, hi_ps)).tolist()
    moments = curve.knots[first : min(end, first + _MAX_READINGS)]
    if len(moments) < _MIN_READINGS:
        return None
    least = math.inf
    for done in _done_by_kind(trace):
        least = min(least, _independent(curve, moments, done, (lo_ps, hi_ps)))
    if math.isinf(least):
        return None
    readings = end - first
    return _Looks(
        readings=readings,
        independent=least * readings / len(moments),
        scatter_w=float(np.std(curve.power[first:end], ddof=1)),
    )


class _Done(NamedTuple):
    """How long some kinds of work had run up to each moment (ps)."""

    edges: Floats
    running: Floats

    def until(self, times: Floats) -> Floats:
        """Up to each of these times."""
        return np.asarray(np.interp(times, self.edges, self.running), np.float64)


_done: weakref.WeakKeyDictionary[Trace, tuple[_Done, ...]] = weakref.WeakKeyDictionary()


def _done_by_kind(trace: Trace) -> tuple[_Done, ...]:
    """Of each device and the kinds of work that differ in power: worked out once."""
    done = _done.get(trace)
    if done is None:
        activities = expected_work.activities(trace)
        done = tuple(_sums(activities))
        _done[trace] = done
    return done


def _sums(activities: Sequence[Activity]) -> Iterator[_Done]:
    for activity in activities:
        lengths = np.diff(activity.edges)
        edges = activity.edges.astype(np.float64)
        for kinds in _KINDS_BY_POWER:
            of_kinds = np.where(np.isin(activity.kind, kinds), lengths, 0)
            running = np.concatenate([[0.0], np.cumsum(of_kinds, dtype=np.float64)])
            yield _Done(edges, running)


def _independent(
    curve: Curve,
    moments: Int64s,
    done: _Done,
    window: tuple[int, int],
) -> float:
    """How many looks at random moments would see the share of these kinds as well."""
    begin, end = done.until(np.array(window, np.float64)).tolist()
    share = float(end - begin) / (window[1] - window[0])
    if not _MIN_ALTERNATING_SHARE < share < 1 - _MIN_ALTERNATING_SHARE:
        return math.inf
    # Nobody knows how late the readings are: the whole time between two of them is tried.
    parts_of_refresh = np.arange(_PHASES) / _PHASES - 0.5
    delays_ps = parts_of_refresh * curve.refresh_s * PS_PER_S
    seen_at = moments + delays_ps[:, None]
    half_ps = _shortest_half_window_ps(curve)
    ran_ps = done.until(seen_at + half_ps) - done.until(seen_at - half_ps)
    seen_shares = (ran_ps / (2 * half_ps)).mean(axis=1)
    variance = float(np.mean((seen_shares - share) ** 2))
    if variance <= 0:
        return math.inf
    one_look = share * (1 - share)  # the variance of a look at a random moment
    return one_look / variance


def _shortest_half_window_ps(curve: Curve) -> float:
    """Half of the shortest time that a reading may be a mean over.

    A pause at the run's own edge looks like a mean of both sides: windows that readings alone show
    were up to 2.7 deviations too long.
    """
    may_be_less_s = settings.ORDINARY_SIGMAS * (curve.sensor.window_err_s or 0.0)
    shortest_s = max(curve.window_s - may_be_less_s, 0.0)
    return max(shortest_s * PS_PER_S / 2, 1.0)
