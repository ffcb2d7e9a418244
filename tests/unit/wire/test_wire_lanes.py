"""Lanes by nesting depth: proper nesting, partial overlap, the bound."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.wire import MAX_LANES
from tests.unit.wire.wire_oracle import DECODERS

FAR = (1 << 63) - 1


@pytest.fixture(params=DECODERS, ids=lambda module: module.__name__.rpartition(".")[2])
def decoder(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


def lanes(decoder: ModuleType, events: list[tuple[int, int]]) -> list[int]:
    """The lanes of (start, end) pairs that are sorted already."""
    start = np.array([s for s, _ in events], np.int64)
    return decoder.nest(start, np.array([e - s for s, e in events], np.int64)).tolist()


def test_children_lie_below_their_parents(decoder: ModuleType) -> None:
    assert lanes(
        decoder, [(0, 100), (0, 40), (0, 10), (10, 40), (40, 100), (50, 60), (100, 110)]
    ) == [0, 1, 2, 2, 1, 2, 0]


def test_events_of_no_length(decoder: ModuleType) -> None:
    """They lie in what is open at that moment; several at one moment share a lane."""
    assert lanes(
        decoder, [(0, 10), (0, 0), (5, 5), (5, 5), (10, 20), (10, 10), (20, 20), (30, 30)]
    ) == [0, 1, 1, 1, 0, 1, 0, 0]


def test_partial_overlap_takes_the_first_free_lane(decoder: ModuleType) -> None:
    #      A          B overlaps A   C lies in B   D overlaps C and B, A is over
    assert lanes(decoder, [(0, 10), (5, 15), (11, 14), (12, 20)]) == [0, 1, 2, 0]


def test_a_staircase_of_overlaps_does_not_climb(decoder: ModuleType) -> None:
    stairs = [(10 * i, 10 * i + 15) for i in range(1000)]
    assert set(lanes(decoder, stairs)) == {0, 1}


def test_a_line_is_put_right_only_where_it_overlaps(decoder: ModuleType) -> None:
    nested = [(0, 100), (10, 90), (20, 30)]
    crossed = [(200, 300), (250, 350), (260, 290)]
    later = [(400, 500), (410, 420)]
    # the last of `crossed` lies in both: below the deeper one
    assert lanes(decoder, nested + crossed + later) == [0, 1, 2, 0, 1, 2, 0, 1]


def test_too_deep_events_share_the_last_lane(decoder: ModuleType) -> None:
    deep = [(i, 10_000 - i) for i in range(MAX_LANES + 20)]
    assert lanes(decoder, [*deep, (20_000, 20_001)]) == [
        min(i, MAX_LANES - 1) for i in range(MAX_LANES + 20)
    ] + [0]


def test_times_at_the_ends_of_the_scale(decoder: ModuleType) -> None:
    start = np.array([-FAR - 1, -5, FAR - 2, FAR - 1, FAR - 1], np.int64)
    duration = np.array([3, FAR, FAR, 0, -7], np.int64)
    assert decoder.nest(start, duration).tolist() == [0, 0, 0, 1, 1], (
        "an end beyond the scale is its end, a negative length is none"
    )


def test_no_events(decoder: ModuleType) -> None:
    assert lanes(decoder, []) == []


TIMES = st.integers(0, 30)
EVENTS = st.lists(st.tuples(TIMES, st.integers(0, 12)), max_size=40).map(
    lambda rows: sorted(rows, key=lambda r: (r[0], -r[1]))
)


def rule(events: list[tuple[int, int]]) -> list[int]:
    """The rule, spelled out without any cleverness."""
    placed: list[tuple[int, int, int]] = []
    for start, duration in events:
        end = start + duration
        # of each lane only its last event can still be open
        last = {lane: e for _, e, lane in placed}
        holders = [lane for lane, e in last.items() if e > start and e >= end]
        lane = max(holders, default=-1) + 1
        while last.get(lane, start) > start:
            lane += 1
        placed.append((start, end, lane))
    return [lane for _, _, lane in placed]


@settings(max_examples=200, deadline=None)
@given(events=EVENTS)
def test_the_rule(events: list[tuple[int, int]]) -> None:
    for decoder in DECODERS:
        assert lanes(decoder, [(s, s + d) for s, d in events]) == rule(events)


@settings(max_examples=60, deadline=None)
@given(events=EVENTS)
def test_within_a_lane_nothing_overlaps(events: list[tuple[int, int]]) -> None:
    for decoder in DECODERS:
        until: dict[int, int] = {}
        for (start, duration), lane in zip(
            events, lanes(decoder, [(s, s + d) for s, d in events]), strict=True
        ):
            assert until.get(lane, 0) <= start
            until[lane] = start + duration
