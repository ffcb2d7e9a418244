"""The level-of-detail forest against brute force, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from powertui.data import track_index
from powertui.data.lod import Forest
from powertui.data.model import Events, Int64s, Track, TrackKind
from powertui.data.wire import BLOCK
from powertui.data.wire.pure import cells as pure_cells
from powertui.data.wire.pure import columns
from tests.synthetic import traces


def track(start: Int64s, duration: Int64s, lanes: list[int] | None = None) -> Track:
    size = len(start)
    events = Events(start, duration, np.zeros(size, np.uint32), np.arange(size, dtype=np.uint64))
    return Track(
        1,
        "line",
        TrackKind.STREAM,
        False,
        events,
        np.array(lanes if lanes is not None else [0, size], np.int64),
    )


def brute_force(tracks: tuple[Track, ...], edges: Int64s) -> list[tuple[Int64s, Int64s, Int64s]]:
    """(busy, count, dominant) of every lane, each cell compared with each event."""
    out = []
    for one in tracks:
        for depth in range(one.lane_count):
            lane = one.lane(depth)
            lo, hi = edges[:-1][:, None], edges[1:][:, None]
            touches = ((lane.start < hi) & (lane.end > lo)) | (
                (lane.start >= lo) & (lane.start < hi)
            )
            stay = np.where(
                touches, np.maximum(np.minimum(lane.end, hi) - np.maximum(lane.start, lo), 0), -1
            )
            busy = np.where(touches, stay, 0).sum(axis=1)
            best = stay.argmax(axis=1) if len(lane) else np.zeros(len(edges) - 1, np.int64)
            out.append(
                (
                    busy,
                    touches.sum(axis=1),
                    np.where(touches.any(axis=1), best + int(one.lanes[depth]), -1),
                )
            )
    return out


def check(forest: Forest, edges: Int64s) -> None:
    frame = forest.frame(edges, range(len(forest.lanes)))
    assert all(
        np.array_equal(forest.busy(edges, lane), frame.busy[lane])
        for lane in range(len(forest.lanes))
    )
    for row, (busy, count, dominant) in enumerate(brute_force(forest.tracks, edges)):
        np.testing.assert_array_equal(frame.busy[row], busy)
        np.testing.assert_array_equal(frame.count[row], count)
        np.testing.assert_array_equal(frame.dominant[row], dominant)


events = st.lists(st.tuples(st.integers(0, 400), st.integers(0, 40)), max_size=60)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(events, min_size=1, max_size=3),
    st.integers(-50, 450),
    st.integers(1, 60),
    st.integers(1, 40),
)
@example([[(10, 0)]], 0, 1, 20)  # a lone event without length in an empty row
@example([[(5, 10), (5, 10), (5, 0)]], 0, 5, 4)
def test_any_events_through_the_builder_against_brute_force(
    lines: list[list[tuple[int, int]]], start: int, cell: int, cells: int
) -> None:
    """Overlapping, nested, coinciding and empty events: the builder packs them into lanes, the
    forest must agree with each lane.
    """
    made = traces.trace(
        {("/host:CPU", f"t{i}"): [(s, d, "x") for s, d in line] for i, line in enumerate(lines)}
    )
    check(Forest.from_trace(made), start + cell * np.arange(cells + 1, dtype=np.int64))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(1, 3000),
    st.floats(0, 0.5),
    st.integers(0, 60),
    st.integers(1, 10**6),
)
def test_long_lanes_against_brute_force(
    seed: int, size: int, share_empty: float, cells: int, scale: int
) -> None:
    """Enough events for blocks, pieces of blocks and every level of the table."""
    random = np.random.default_rng(seed)
    tracks = []
    for part in (size, size // 7 + 1):
        duration = random.integers(0, 50, part) * random.integers(1, 20, part)
        duration[random.random(part) < share_empty] = 0
        start = np.cumsum(duration + random.integers(0, 30, part)) - duration
        tracks.append(track(start * scale, duration * scale))
    forest = Forest(tracks)
    end = int(tracks[0].events.end[-1]) + scale
    lo, hi = sorted(random.integers(-end // 4, end + end // 4, 2).tolist())
    edges = np.unique(np.linspace(lo, hi + 1, cells + 2).astype(np.int64))
    check(forest, edges)


def test_blocks_that_straddle_lanes_are_kept_apart() -> None:
    """The numbering runs on over lanes: the longest event of the neighbour lane must never win."""
    short = track(np.arange(40, dtype=np.int64) * 10, np.full(40, 5, np.int64))
    long = track(np.arange(40, dtype=np.int64) * 1000, np.full(40, 999, np.int64))
    check(Forest([short, long, short]), np.arange(0, 40_001, 400, dtype=np.int64))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 10**5), st.integers(2, 200))
def test_a_lone_event_is_never_lost(at: int, cell: int, cells: int) -> None:
    """However short it is and however coarse the cells: exactly the cell that holds it
    counts it.
    """
    forest = Forest([track(np.array([at], np.int64), np.array([0], np.int64))])
    edges = (at // cell - cells // 2 + np.arange(cells + 1, dtype=np.int64)) * cell
    frame = forest.frame(edges, [0])
    assert np.flatnonzero(frame.count[0]).tolist() == [cells // 2]
    assert frame.dominant[0, cells // 2] == 0


def test_of_equals_the_earliest_is_dominant() -> None:
    forest = Forest([track(np.arange(100, dtype=np.int64) * 10, np.full(100, 7, np.int64))])
    frame = forest.frame(np.array([5, 995], np.int64), [0])
    assert frame.dominant[0, 0] == 1  # the first hangs in with 2 of its 7


def test_sums_may_wrap_around() -> None:
    """Hundreds of lanes that are each busy for months: the sum over all of them exceeds int64,
    differences do not.
    """
    months = 9 * 10**18 // 2
    tracks = [
        track(np.array([0, months], np.int64), np.array([months, 10], np.int64)) for _ in range(6)
    ]
    forest = Forest(tracks)
    frame = forest.frame(np.array([0, months, months + 5], np.int64), range(6))
    assert frame.busy.tolist() == [[months, 5]] * 6
    assert forest.lane_busy(5) == months + 10


def test_summary_takes_the_busiest_lane_of_each_cell() -> None:
    a = track(np.array([0, 50], np.int64), np.array([10, 20], np.int64))
    b = track(np.array([0], np.int64), np.array([4], np.int64))
    summary = Forest([a, b]).summary(np.array([0, 10, 50, 100], np.int64), [1, 0])
    assert summary.busy.tolist() == [[10, 0, 20]]
    assert summary.count.tolist() == [[2, 0, 1]]
    assert summary.lane[0, 0] == 1
    assert summary.lane[0, 2] == 1
    assert summary.dominant.tolist() == [[0, -1, 1]]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 200)), min_size=1, max_size=80),
    st.integers(1, 50),
)
def test_a_lane_that_overlaps_after_all_breaks_nothing(
    made: list[tuple[int, int]], cell: int
) -> None:
    """Nesting deeper than there are lanes ends in the last one: what is drawn there is rough, but
    it is drawn.
    """
    made.sort(key=lambda event: (event[0], -event[1]))
    forest = Forest(
        [track(np.array([s for s, _ in made], np.int64), np.array([d for _, d in made], np.int64))]
    )
    frame = forest.frame(np.arange(-50, 550, cell, dtype=np.int64), [0])
    assert frame.dominant.min() >= -1
    assert frame.dominant.max() < len(made)
    started = np.histogram([s for s, _ in made], np.arange(-50, 550, cell))[0]
    assert (frame.count[0][started[: frame.shape[1]] > 0] > 0).all(), (
        "a cell in which something starts is never blank"
    )


def test_empty_traces_and_empty_questions() -> None:
    empty = Forest([])
    edges = np.array([0, 10, 20], np.int64)
    assert empty.frame(edges, []).shape == (0, 2)
    assert empty.summary(edges, []).dominant.tolist() == [[-1, -1]]
    hollow = Forest(
        [
            track(np.empty(0, np.int64), np.empty(0, np.int64)),
            track(np.array([3], np.int64), np.array([4], np.int64)),
        ]
    )
    frame = hollow.frame(edges, [0, 1])
    assert frame.count.tolist() == [[0, 0], [1, 0]]
    assert hollow.step(0, 0, 1) is None
    assert hollow.step(1, 0, 1) == 0
    assert hollow.step(1, 3, 1) is None
    assert hollow.step(1, 4, -1) == 0


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────


def even(size: int, lanes: int, span: int = 10**12) -> Forest:
    """`size` events in all, evenly over a span, in several lanes."""
    per = size // lanes
    pitch = span // per
    start = np.arange(per, dtype=np.int64) * pitch
    duration = (np.arange(per, dtype=np.int64) * 7919) % pitch
    return Forest([track(start, duration) for _ in range(lanes)])


def test_a_frame_costs_the_cells_not_the_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Durations read for a whole run on screen: as many for two million events as for two hundred
    thousand, and bounded.
    """
    touched = 0
    gather = columns._gather

    def counted(column: Int64s, rows: Int64s) -> Int64s:
        nonlocal touched
        out = gather(column, rows)
        touched += out.size
        return out

    monkeypatch.setattr(columns, "_gather", counted)
    monkeypatch.setattr(track_index, "cells", pure_cells)
    lanes, cells = 20, 160
    looks = []
    for size in (200_000, 2_000_000):
        forest = even(size, lanes)
        touched = 0
        forest.frame(np.linspace(0, 10**12, cells + 1).astype(np.int64), range(lanes))
        looks.append(touched)
    assert 0 < looks[1] <= 1.1 * looks[0]
    assert looks[1] <= (3 * BLOCK + 8) * lanes * (cells + 1)


def test_the_index_takes_less_than_two_bytes_an_event() -> None:
    forest = even(1_000_000, 10)
    assert 0 < forest.nbytes < 2 * forest.events


def test_building_reports_progress_and_can_be_stopped() -> None:
    seen: list[int] = []
    one = track(np.arange(300_000, dtype=np.int64), np.zeros(300_000, np.int64))
    Forest([one], progress=seen.append)
    assert seen[-1] == 300_000
    assert len(seen) > 1

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Forest([one], progress=stop)
