"""What ran long in a stretch and in others, against the op table of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.model import Int64s, Trace
from powertui.data.texts import Texts
from powertui.data.tools import longer_ops, op_stats, op_sums
from powertui.data.window import lane_rows, rows_of_windows
from tests.synthetic import traces

events = st.lists(
    st.tuples(
        st.integers(0, 100), st.integers(0, 40), st.sampled_from(["a", "a.1", "b", "b:2", "c"])
    ),
    max_size=25,
)
windows = st.tuples(st.integers(-5, 130), st.integers(0, 60)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)


class Shortened(traces.PlainNames):
    """Names that are displayed without what follows a dot, so that several are displayed alike."""

    def display(self, index: int) -> str:
        return self.full(index).partition(".")[0]

    def texts(self, indices: Int64s, *, display: bool = False) -> Texts:
        return Texts.from_strings(
            [self.display(i) if display else self.full(i) for i in indices.tolist()]
        )


def made(one: list[tuple[int, int, str]], two: list[tuple[int, int, str]]) -> Trace:
    trace = traces.trace(
        {("/host:CPU", "a"): one, ("/host:CPU", "b"): two, ("/device:GPU:0", "c"): two[:5]}
    )
    return replace(trace, names=Shortened([trace.names.full(i) for i in range(len(trace.names))]))


def self_times(trace: Trace, lo: int, hi: int) -> Counter[str]:
    stats, ran = op_stats.op_stats(trace, lo, hi), Counter[str]()
    for row in range(len(stats)):
        ran[trace.names.display(int(stats.name[row]))] += int(stats.self_time[row])
    return ran


@settings(max_examples=150, deadline=None)
@given(events, events, windows, st.lists(windows, max_size=6), st.integers(0, 30))
def test_the_long_ops_of_a_stretch_and_the_same_elsewhere(one, two, here, others, least) -> None:
    trace = made(one, two)
    found = longer_ops.LongerOps(trace)(*here, others, least)
    ran = self_times(trace, *here)
    assert {name: ps for name, (ps, _) in found.items()} == {
        name: ps for name, ps in ran.items() if ps > least
    }
    for name, (_, there) in found.items():
        assert there == [self_times(trace, *window)[name] for window in others]


def test_names_whose_marks_are_the_same_are_told_apart_by_their_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Texts, "marks", lambda self: np.zeros(len(self), np.uint64))
    trace = made([(0, 10, "a"), (10, 5, "a.1"), (20, 7, "b"), (30, 1, "c")], [])
    assert longer_ops.LongerOps(trace)(0, 40, [(0, 12), (20, 40)], 4) == {
        "a": (15, [12, 0]),
        "b": (7, [0, 7]),
    }


def test_of_very_many_stretches_some_tell_what_is_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = traces.trace({("/host:CPU", "a"): [(10 * i, 1 + i % 7, "op") for i in range(1000)]})
    walked = []
    inside = op_sums.inside
    monkeypatch.setattr(
        op_sums, "inside", lambda some, lo, hi: (walked.append(len(some)), inside(some, lo, hi))[1]
    )
    others = [(10 * i, 10 * i + 10) for i in range(1000)]
    (_, there) = longer_ops.LongerOps(trace)(0, 10, others, 0)["op"]
    assert len(there) == longer_ops.MAX_COMPARED_STRETCHES
    assert sum(walked) <= longer_ops.MAX_COMPARED_STRETCHES + 1


@settings(max_examples=100, deadline=None)
@given(events, st.lists(windows, max_size=6))
def test_rows_of_many_windows_are_those_of_each(one, asked) -> None:
    track = traces.trace({("/host:CPU", "a"): [*one, (0, 1, "a")]}).processes[0].tracks[0]
    lo, hi = np.array(asked, np.int64).reshape(-1, 2).T
    for depth in range(track.lane_count):
        first, last = rows_of_windows(track.lane(depth), lo, hi)
        assert list(zip(first.tolist(), last.tolist(), strict=True)) == [
            lane_rows(track.lane(depth), *window) for window in asked
        ]
