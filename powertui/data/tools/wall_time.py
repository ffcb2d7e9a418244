"""Where the whole wall time of a profile goes: each second belongs to one part and one activity.

Parts are what lies before the first step, inside the steps, between them (also after the last one)
and in evaluations. What a few steps took longer than the usual ones is counted apart from what
every step takes. Marks come second: a second between two marks counts as much as one inside them.
"""

from __future__ import annotations

import enum
from dataclasses import replace

import numpy as np

from powertui.data.model import Bools, Int64s, Steps, Trace, Track
from powertui.data.opened import Profile
from powertui.data.quantiles import median_of_column, quantile_of_column
from powertui.data.sorted_columns import among
from powertui.data.tools import activity, name_classes
from powertui.data.tools.activity import (
    ACTIVITIES,
    ActivityKind,
    ActivityTimeline,
)
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined
from powertui.data.tools.launched_functions import FunctionSeries
from powertui.value_types import dataclass


class RunPart(enum.IntEnum):
    """Where in the run a moment is."""

    WITHOUT_STEPS = 0  # the profile has no steps
    BEFORE = 1
    STEP = 2
    BETWEEN = 3
    EVALUATION = 4


_PARTS = len(RunPart)
# A step that took so many times the usual one is slow. Chosen, not measured; steps of the recorded
# programs on two busy cores differ by up to 1.8 times without any cause. The time
# that slow steps cost is counted by it; which of them are a finding is another question
# (energy/findings/neighbours.py).
_SLOW_TIMES_USUAL = 2.0
# If more of the steps than that are slow, slow ones are usual: an evaluation after every third step
# is still seen. Chosen, not measured.
_MAX_SLOW_SHARE = 0.34
_MIN_STEPS = 4  # fewer steps have no usual one
# Of a usual step: with less of one after the last step there is no step more to count. Chosen, not
# measured.
_MIN_UNFINISHED_PART = 0.5
_EVALUATION = ("validation", "evaluation", "prediction", "test")


@dataclass(frozen=True, eq=False)
class Periods:
    """The steps of one host: each from its start to the start of the next one, and the last one to
    the end of the profile.
    """

    row: Int64s  # of the profile's steps; -1 where a launch that is no step of its own
    start: Int64s
    mark_end: Int64s  # where its own stretch ends
    end: Int64s

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False)
class WallTime:
    """The time of one host's profile by parts and activities, ps."""

    timeline: ActivityTimeline
    periods: Periods
    slow: Bools  # of the periods
    usual: Int64s  # [parts × activities]: what is the same in all steps, and all outside them
    extra: Int64s  # [parts × activities]: what slow steps took beyond the usual ones
    extra_by_step: Int64s  # [parts × slow steps × activities]: the same of each
    evaluations: CoveredTime
    driven: CoveredTime  # where the thread of the steps itself calls something between them
    driver: Track | None

    @property
    def length(self) -> int:
        """Of the profile, without the profiler's own start and stop."""
        return self.timeline.span[1] - self.timeline.span[0]

    def of_slow_steps(self, chosen: Bools) -> WallTime:
        """The same account, where some of the slow steps, by their order, are the slow ones."""
        slow = np.zeros(len(self.periods), np.bool_)
        slow_rows = np.flatnonzero(self.slow)
        slow[slow_rows[chosen]] = True
        extra_by_step = self.extra_by_step[:, chosen]
        extra = extra_by_step.sum(axis=1)
        return replace(self, slow=slow, extra=extra, extra_by_step=extra_by_step)

    def windows(self, part: RunPart, *, slow: bool = False) -> CoveredTime:
        """Where a part is: in all periods, or in the slow ones alone."""
        lo, hi = self.timeline.span
        periods = self.periods
        if part is RunPart.EVALUATION:
            return self.evaluations
        if not len(periods):
            if part is RunPart.WITHOUT_STEPS:
                return _stretch(lo, hi)
            return NO_TIME
        if slow:
            rows = np.flatnonzero(self.slow)
        else:
            rows = np.arange(len(periods))
        if part is RunPart.STEP:
            stretches = CoveredTime(periods.start[rows], periods.mark_end[rows])
        elif part is RunPart.BETWEEN:
            stretches = CoveredTime(periods.mark_end[rows], periods.end[rows])
        else:
            stretches = _stretch(lo, int(periods.start[0]))
        return joined([stretches]).without(self.evaluations)

    def stretches(self, part: RunPart, *kinds: ActivityKind, slow: bool = False) -> CoveredTime:
        """Where some activities go on in a part."""
        return self.timeline.inside(self.windows(part, slow=slow), kinds)


def wall_time(profile: Profile) -> WallTime:
    """The account of one host. Made once."""
    return profile.cached("wall time", lambda: _wall_time(profile))


def _stretch(lo: int, hi: int) -> CoveredTime:
    start = np.array([lo], np.int64)
    end = np.array([hi], np.int64)
    return CoveredTime(start, end)


def _wall_time(profile: Profile) -> WallTime:
    timeline = activity.activity_timeline(profile)
    trace = profile.trace
    steps = profile.steps
    driver = _driving_track(trace, steps)
    if driver is not None:
        series = FunctionSeries(trace, timeline.span)
    else:
        series = None
    evaluations = _evaluations(profile, series)
    periods = _periods(steps, timeline, evaluations, series)
    by_part = _by_part(timeline, periods, evaluations)
    slow = _slow(periods, evaluations)
    usual, extra_by_step = _usual_and_extra(by_part, slow)
    usual[RunPart.EVALUATION] += _sums(timeline, evaluations)
    lo, hi = timeline.span
    if len(periods):
        before = _stretch(lo, int(periods.start[0]))
        usual[RunPart.BEFORE] += _sums(timeline, before.without(evaluations))
    else:
        whole_span = _stretch(lo, hi)
        usual[RunPart.WITHOUT_STEPS] += _sums(timeline, whole_span.without(evaluations))
    return WallTime(
        timeline=timeline,
        periods=periods,
        slow=slow,
        usual=usual,
        extra=extra_by_step.sum(axis=1),
        extra_by_step=extra_by_step,
        evaluations=evaluations,
        driven=_driven(driver, profile, periods),
        driver=driver,
    )


def _sums(timeline: ActivityTimeline, windows: CoveredTime) -> Int64s:
    """How long each activity goes on in these windows."""
    if not len(windows.start):
        return np.zeros(ACTIVITIES, np.int64)
    times = timeline.parts(windows.start, windows.end)
    return np.asarray(times.sum(axis=0), np.int64)


def _driving_track(trace: Trace, steps: Steps) -> Track | None:
    """The thread that marks the steps; without marks, the thread of the program with most events
    that is none of a pool.
    """
    best: tuple[int, int, Track] | None = None
    for _, _, track in trace.threads():
        if activity.is_pool(track.name):
            continue
        rank = (_marked_steps(track, steps), len(track.events))
        if best is None or rank > best[:2]:
            best = (*rank, track)
    if best is None:
        return None
    return best[2]


def _marked_steps(track: Track, steps: Steps) -> int:
    """How many steps begin with an event of this line."""
    begins_here = np.zeros(len(steps), np.bool_)
    for depth in range(track.lane_count):
        begins_here |= among(track.lane(depth).start, steps.start)
    return int(begins_here.sum())


# ── steps, as far as they tell where time goes ───────────────────────────────────────────────────


def _periods(
    steps: Steps,
    timeline: ActivityTimeline,
    evaluations: CoveredTime,
    series: FunctionSeries | None,
) -> Periods:
    """From the start of each step to the next, without those that are an evaluation's."""
    lo, hi = timeline.span
    start = steps.start
    mark_end = steps.mark_ends()
    row = np.arange(len(steps), dtype=np.int64)
    if steps.inferred and series is not None and len(series.training.start):
        # Launches of the training function are surer than steps that were only inferred.
        start, mark_end = series.training
        row = np.where(
            among(steps.start, start),
            steps.start.searchsorted(start),
            -1,
        )
    is_profiled = (start >= lo) & (start < hi)
    inside = is_profiled & ~evaluations.hold(start)
    order = np.flatnonzero(inside)
    order = order[np.argsort(start[order], kind="stable")]
    start = start[order]
    mark_end = mark_end[order]
    row = row[order]
    next_start = np.append(start[1:], hi)
    later_end = np.maximum(mark_end, start)
    own_end = np.minimum(later_end, next_start)
    periods = Periods(row=row, start=start, mark_end=own_end, end=next_start)
    if not steps.inferred:
        return periods
    return _with_unfinished_step(periods)


def _with_unfinished_step(periods: Periods) -> Periods:
    """With what follows the last of steps that lie end to end as a part of a step, too.

    Such steps end where the program calls something, an optimizer: a profile that stops before the
    next call ends within a step.
    """
    if len(periods) < _MIN_STEPS:
        return periods
    has_gap = periods.mark_end[:-1] != periods.start[1:]
    if has_gap.any():
        return periods
    last_end = int(periods.mark_end[-1])
    profile_end = int(periods.end[-1])
    usual_ps = median_of_column(np.diff(periods.start))
    rest_ps = profile_end - last_end
    if rest_ps > _SLOW_TIMES_USUAL * usual_ps:
        return periods  # no step, but what the program does last
    if rest_ps < _MIN_UNFINISHED_PART * usual_ps:
        mark_end = np.append(periods.mark_end[:-1], profile_end)
        return replace(periods, mark_end=mark_end)
    end = np.append(periods.end[:-1], last_end)
    return Periods(
        row=np.append(periods.row, -1),
        start=np.append(periods.start, last_end),
        mark_end=np.append(periods.mark_end, profile_end),
        end=np.append(end, profile_end),
    )


def _by_part(
    timeline: ActivityTimeline,
    periods: Periods,
    evaluations: CoveredTime,
) -> dict[RunPart, Int64s]:
    """[periods × activities] inside the steps and between them, without evaluations."""
    out = {
        RunPart.STEP: timeline.parts(periods.start, periods.mark_end),
        RunPart.BETWEEN: timeline.parts(periods.mark_end, periods.end),
    }
    if not len(evaluations.start) or not len(periods):
        return out
    for kind in ActivityKind:
        in_evaluation = timeline[kind].common(evaluations)
        in_step = in_evaluation.inside(periods.start, periods.mark_end)
        between_steps = in_evaluation.inside(periods.mark_end, periods.end)
        out[RunPart.STEP][:, kind] -= in_step
        out[RunPart.BETWEEN][:, kind] -= between_steps
    return out


def _slow(periods: Periods, evaluations: CoveredTime) -> Bools:
    """Which steps took several times as long as the usual one."""
    length = periods.end - periods.start
    if len(evaluations.start) and len(periods):
        length = length - evaluations.inside(periods.start, periods.end)
    if len(periods) < _MIN_STEPS:
        return np.zeros(len(periods), np.bool_)
    slow = length > _SLOW_TIMES_USUAL * median_of_column(length)
    if slow.mean() > _MAX_SLOW_SHARE:
        # Steps of two usual lengths: the slow ones are slow beside the longer of them.
        longer_usual = quantile_of_column(length, 1 - _MAX_SLOW_SHARE)
        slow = length > _SLOW_TIMES_USUAL * longer_usual
    return np.asarray(slow)


def _usual_and_extra(by_part: dict[RunPart, Int64s], slow: Bools) -> tuple[Int64s, Int64s]:
    """Split the time of slow steps into what every step takes and what is beyond that in each."""
    usual = np.zeros((_PARTS, ACTIVITIES), np.int64)
    slow_steps = int(slow.sum())
    extra = np.zeros((_PARTS, slow_steps, ACTIVITIES), np.int64)
    for part, times in by_part.items():
        usual_times = times[~slow]
        slow_times = times[slow]
        usual[part] += usual_times.sum(axis=0)
        if not len(slow_times):
            continue
        mean_usual = usual_times.mean(axis=0).astype(np.int64)
        within_usual = np.minimum(slow_times, mean_usual)
        usual[part] += within_usual.sum(axis=0)
        extra[part] += slow_times - within_usual
    return usual, extra


def _driven(driver: Track | None, profile: Profile, periods: Periods) -> CoveredTime:
    """Where the thread of the steps calls the framework outside them."""
    if driver is None or not len(periods):
        return NO_TIME
    classes = name_classes.name_classes(profile)
    events = driver.events
    is_call = np.isin(classes[events.name], name_classes.CALLS)
    calls = is_call & (events.duration > 0)
    in_calls = CoveredTime(events.start[calls], events.end[calls])
    busy = joined([in_calls])
    marks = joined([CoveredTime(periods.start, periods.mark_end)])
    return busy.without(marks)


# ── evaluations ──────────────────────────────────────────────────────────────────────────────────


def _evaluations(profile: Profile, series: FunctionSeries | None) -> CoveredTime:
    """Where an evaluation runs beside training: by its marks, else by its functions."""
    parts = []
    for phase in profile.epochs.phases:
        if phase.name.startswith(_EVALUATION):
            parts.append(_stretch(phase.start, phase.end))
    if series is not None:
        parts.append(series.evaluation)
    return joined(parts)
