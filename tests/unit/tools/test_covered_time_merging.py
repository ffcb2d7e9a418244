"""What is common to two lists of stretches, and what one leaves of the other, moment by moment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from powertui.data.conclusions.makers import late_starts
from powertui.data.tools.activity import ActivityKind, ActivityTimeline
from powertui.data.tools.covered_time import NO_TIME, CoveredTime, joined, union

MOMENTS = 60

stretches = st.lists(st.tuples(st.integers(0, MOMENTS - 10), st.integers(1, 9)), max_size=12)


def covered(pairs: list[tuple[int, int]]) -> CoveredTime:
    start = np.array([first for first, _ in pairs], np.int64)
    return union(start, start + np.array([length for _, length in pairs], np.int64))


def moments(time: CoveredTime) -> npt.NDArray[np.bool_]:
    out = np.zeros(MOMENTS, np.bool_)
    for start, end in zip(time.start.tolist(), time.end.tolist(), strict=True):
        assert start < end
        out[start:end] = True
    assert (time.start[1:] > time.end[:-1]).all()
    return out


@given(stretches)
def test_a_union_covers_what_its_stretches_cover(pairs: list[tuple[int, int]]) -> None:
    expected = np.zeros(MOMENTS, np.bool_)
    for first, length in pairs:
        expected[first : first + length] = True
    assert np.array_equal(moments(covered(pairs)), expected)


@given(stretches, stretches)
def test_common_and_left_moments(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    mine, other = covered(first), covered(second)
    assert np.array_equal(moments(mine.common(other)), moments(mine) & moments(other))
    assert np.array_equal(moments(mine.without(other)), moments(mine) & ~moments(other))


@given(stretches, st.lists(stretches, max_size=4))
def test_activities_in_windows_are_those_of_all_time_cut(
    windows: list[tuple[int, int]], activities: list[list[tuple[int, int]]]
) -> None:
    by_activity = [NO_TIME for _ in ActivityKind]
    chosen = list(ActivityKind)[: len(activities)]
    for activity, pairs in zip(chosen, activities, strict=True):
        by_activity[activity] = covered(pairs)
    timeline = ActivityTimeline((0, MOMENTS), tuple(by_activity), 0, 0)
    inside = timeline.inside(covered(windows), chosen)
    everywhere = joined(by_activity)
    assert np.array_equal(moments(inside), moments(covered(windows)) & moments(everywhere))


@given(stretches, st.lists(stretches, max_size=4))
def test_late_stretches_are_what_all_threads_leave_that_is_long(
    handed_over: list[tuple[int, int]], threads: list[list[tuple[int, int]]]
) -> None:
    late = late_starts.LateStarts(covered(handed_over)).left_by(map(covered, threads), 3)
    left = covered(handed_over).without(joined(map(covered, threads)))
    is_long = left.end - left.start >= 3
    assert np.array_equal(late.stretches.start, left.start[is_long])
    assert np.array_equal(late.stretches.end, left.end[is_long])


def test_stretches_that_are_not_apart_are_joined() -> None:
    touching = CoveredTime(np.array([0, 5, 8]), np.array([5, 9, 12]))
    window = CoveredTime(np.array([2]), np.array([20]))
    found = touching.common(window)
    assert (found.start.tolist(), found.end.tolist()) == ([2], [12])
