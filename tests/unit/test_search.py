"""Search over all names: counts, order, regular expressions."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data import search
from powertui.errors import UsageError
from tests.synthetic import traces

names = st.sampled_from(["add", "Add", "mul.1", "a(b", "nccl add"])
lines = st.lists(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9), names), max_size=15),
    min_size=1,
    max_size=3,
)


@settings(max_examples=80, deadline=None)
@given(lines, st.sampled_from(["add", "Add", "a(b", "zzz"]), st.integers(-5, 60))
def test_hits_are_all_matching_events_in_the_order_of_time(
    made: list[list[tuple[int, int, str]]], text: str, place: int
) -> None:
    trace = traces.trace({("/host:CPU", f"t{i}"): events for i, events in enumerate(made)})
    hits = search.find(trace, text)
    folded = str if any(c.isupper() for c in text) else str.lower
    assert len(hits) == sum(text in folded(name) for line in made for _, _, name in line)
    tracks = [track for _, track in trace.tracks()]
    keys = [
        (int(tracks[h.track].events.start[h.row]), h.track, h.row)
        for h in (hits[i] for i in range(len(hits)))
    ]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys)
    ahead, behind = hits.step(place, 1), hits.step(place, -1)
    if not keys:
        assert ahead is behind is None
        return
    assert ahead is not None
    assert behind is not None
    assert keys[ahead.number] == min((k for k in keys if k[0] >= place), default=keys[0])
    assert keys[behind.number] == max((k for k in keys if k[0] <= place), default=keys[-1])
    walked = hits[0]
    for i in range(len(keys)):
        assert walked.number == i
        start, track, row = keys[i]
        nxt = hits.step(start, 1, track, row)
        assert nxt is not None
        walked = nxt
    assert walked.number == 0, "around the end"


def test_regular_expressions_and_their_mistakes() -> None:
    trace = traces.trace(
        {("/host:CPU", "t"): [(0, 1, "fusion.1"), (2, 1, "fusion.22"), (4, 1, "copy.1")]}
    )
    assert len(search.find(trace, r"^fusion\.\d$", regex=True)) == 1
    assert len(search.find(trace, r"fusion.", regex=False)) == 2
    assert len(search.find(trace, "")) == 0
    with pytest.raises(UsageError, match="regular expression"):
        search.find(trace, "fusion(", regex=True)


def test_case_matters_only_with_capitals() -> None:
    assert search.compile_pattern("abc", False).flags & re.IGNORECASE
    assert not search.compile_pattern("aBc", False).flags & re.IGNORECASE
