"""What is common to two lists of stretches, and what one leaves of the other, moment by moment."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from powertui.data.tools.covered_time import CoveredTime, union

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


def test_stretches_that_are_not_apart_are_joined() -> None:
    touching = CoveredTime(np.array([0, 5, 8]), np.array([5, 9, 12]))
    window = CoveredTime(np.array([2]), np.array([20]))
    found = touching.common(window)
    assert (found.start.tolist(), found.end.tolist()) == ([2], [12])
