"""Self times of ops: the few numpy calls against the rule itself, walked op by op."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from powertui.data.tools import op_stack

# Small numbers: ends that fall together, ops of no length, overlaps.
SPANS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 8)), max_size=14)


def in_order(spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    rows = sorted(spans, key=lambda span: (span[0], -span[1]))
    return np.array([s for s, _ in rows], np.int64), np.array([d for _, d in rows], np.int64)


@given(SPANS)
def test_self_times_are_those_of_the_stack(spans: list[tuple[int, int]]) -> None:
    start, duration = in_order(spans)
    found = op_stack.self_times(start, duration)
    expected = op_stack.self_times_by_stack(start, start + duration)
    assert found.counted.tolist() == expected.counted.tolist()
    assert found.self_time[found.counted].tolist() == expected.self_time[expected.counted].tolist()


def test_an_op_that_ends_with_its_parent_is_lost_with_all_around_it() -> None:
    start, duration = in_order([(0, 100), (10, 50), (40, 20), (70, 10)])
    found = op_stack.self_times(start, duration)
    assert found.counted.tolist() == [False, True, False, True]
    assert found.self_time[1] == 50
    every = op_stack.self_times(start, duration, like_tensorflow=False)
    assert every.counted.all()
    assert every.self_time.tolist() == [40, 30, 20, 10]


@given(SPANS)
def test_nothing_is_lost_where_that_is_not_wanted(spans: list[tuple[int, int]]) -> None:
    start, duration = in_order(spans)
    found = op_stack.self_times(start, duration, like_tensorflow=False)
    assert found.counted.all()
    assert (found.self_time >= 0).all()
    assert (found.self_time <= duration).all()
