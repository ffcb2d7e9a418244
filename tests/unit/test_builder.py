from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.formats import filenames, line_kinds
from powertui.data.formats.builder import LineEvents, TraceBuilder
from powertui.data.formats.file_warnings import FileWarnings
from powertui.data.model import (
    PS_PER_S,
    Aggregates,
    ProcessKind,
    Stat,
    StatColumn,
    Track,
    TrackKind,
)
from powertui.data.texts import Texts

Event = tuple[int, int]


class NoStats:
    def event_stats(self, position: int) -> tuple[Stat, ...]:
        return ()

    def columns(self, positions: Any, names: Any) -> dict[str, StatColumn]:
        return {}


class NoNames:
    def __len__(self) -> int:
        return 0

    def full(self, index: int) -> str:
        return ""

    def display(self, index: int) -> str:
        return ""

    def texts(self, indices: Any, *, display: bool = False) -> Texts:
        return Texts.from_strings([])

    def stats(self, index: int) -> tuple[Stat, ...]:
        return ()


def columns(events: list[Event]) -> LineEvents:
    """Events as a reader gives them; the position tells which one it was."""
    start = np.array([s for s, _ in events], np.int64)
    duration = np.array([d for _, d in events], np.int64)
    index = np.arange(len(events))
    return LineEvents(start, duration, index.astype(np.uint32), index.astype(np.uint64))


def track_of(events: list[Event], **options: Any) -> Track:
    trace = TraceBuilder("host.xplane.pb", "test")
    process = trace.process(options.pop("process", "/host:CPU"), (), NoStats())
    process.add(options.pop("key", 1), options.pop("name", "python"), columns(events))
    return process.build().tracks[0]


def lanes_of(track: Track) -> list[list[Event]]:
    lanes = [track.lane(depth) for depth in range(track.lane_count)]
    return [list(zip(lane.start.tolist(), lane.duration.tolist(), strict=True)) for lane in lanes]


def nested_depths(events: list[Event]) -> list[int] | None:
    """The oracle: how many events hold each one, by comparing every pair.

    None when some overlap only partly.
    """
    depths = []
    for i, (start, duration) in enumerate(events):
        depth = 0
        for j, (other, length) in enumerate(events):
            if j == i or other + length <= start or start + duration <= other < other + length:
                continue  # before or after
            inside = other <= start and start + duration <= other + length
            around = start <= other and other + length <= start + duration
            if not inside and not around:
                return None
            if inside and not (around and j > i) and other + length > start:
                depth += 1
        depths.append(depth)
    return depths


ANY_EVENTS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 25)), min_size=1, max_size=40)


@st.composite
def trees(draw: st.DrawFn) -> list[Event]:
    """Events that nest properly: each split of a stretch into parts, and parts of parts."""
    events: list[Event] = []

    def fill(lo: int, hi: int, depth: int) -> None:
        at = lo
        for _ in range(draw(st.integers(0, 3))):
            if at >= hi:
                return
            start = draw(st.integers(at, hi - 1))
            end = draw(st.integers(start + 1, hi))
            events.append((start, end - start))
            if depth < 4:
                fill(start, end, depth + 1)
            at = end

    fill(0, draw(st.integers(1, 2000)), 0)
    return events or [(0, 1)]


@settings(max_examples=150, deadline=None)
@given(ANY_EVENTS)
def test_any_events_come_out_once_each_and_never_overlap_within_a_lane(events: list[Event]) -> None:
    track = track_of(events)
    kept = sorted(
        zip(
            track.events.position.tolist(),
            track.events.start.tolist(),
            track.events.duration.tolist(),
            strict=True,
        )
    )
    assert kept == [(i, s, d) for i, (s, d) in enumerate(events)]
    for lane in lanes_of(track):
        assert lane
        for (start, duration), (after, _) in pairwise(lane):
            assert start + duration <= after


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_nested_events_lie_as_deep_as_events_hold_them(data: st.DataObject) -> None:
    events = data.draw(trees())
    shuffled = data.draw(st.permutations(events))
    depths = nested_depths(sorted(events, key=lambda e: (e[0], -e[1])))
    assert depths is not None
    track = track_of(list(shuffled))
    found = [track.depth_of(row) for row in range(len(events))]
    by_event = sorted(
        zip(track.events.start.tolist(), (-track.events.duration).tolist(), found, strict=True)
    )
    assert [depth for _, _, depth in by_event] == [
        d for _, d in sorted(zip(sorted((s, -n) for s, n in events), depths, strict=True))
    ]


def test_events_of_no_length_share_the_lane_they_stand_in() -> None:
    track = track_of([(0, 100), (10, 0), (10, 0), (20, 0), (100, 0)])
    assert lanes_of(track) == [[(0, 100), (100, 0)], [(10, 0), (10, 0), (20, 0)]]


def test_columns_that_are_right_already_are_not_copied() -> None:
    line = columns([(i * 10, 5) for i in range(1000)])
    start = line.start
    trace = TraceBuilder("x.pb", "test")
    process = trace.process("/host:CPU", (), NoStats())
    process.add(1, "python", line)
    assert process.build().tracks[0].events.start is start


def test_an_event_costs_24_bytes() -> None:
    events = track_of([(i, 3) for i in range(500)]).events
    held = [events.start, events.duration, events.name, events.place]
    assert sum(column.nbytes for column in held) == 24 * 500
    assert all(column.base is None or column.base.nbytes == column.nbytes for column in held)


def test_positions_beyond_32_bits_are_kept() -> None:
    far = np.array([5, 1 << 40], np.uint64)
    line = LineEvents(
        np.array([0, 10], np.int64), np.array([5, 5], np.int64), np.zeros(2, np.uint32), far
    )
    assert line.events.position.tolist() == far.tolist()
    near = LineEvents(
        line.start, line.duration, line.name, np.array([5, 9], np.uint32), origin=1 << 40
    ).events
    assert near.place.dtype == np.uint32
    assert near.position.tolist() == [(1 << 40) + 5, (1 << 40) + 9]
    assert near.position.dtype == np.uint64
    assert near[1:].position_of(0) == (1 << 40) + 9
    assert near.positions(np.array([1, 0])).tolist() == [(1 << 40) + 9, (1 << 40) + 5]


def test_equal_starts_put_the_longer_event_outside() -> None:
    assert lanes_of(track_of([(5, 1), (5, 10), (5, 3)])) == [[(5, 10)], [(5, 3)], [(5, 1)]]


# ── what cannot be true ──


GARBAGE = [-(1 << 63), -(1 << 62), (1 << 62) + 5, (1 << 63) - 1]


@pytest.mark.parametrize(
    "bad",
    [
        *[(g, 10) for g in GARBAGE],
        *[(100, g) for g in GARBAGE if g > 0],
        ((1 << 61) - 1, (1 << 63) - 1),
    ],
)
def test_garbage_times_are_dropped_and_counted_and_stretch_nothing(bad: Event) -> None:
    trace = TraceBuilder("f.pb", "test")
    process = trace.process("/host:CPU", (), NoStats())
    process.add(1, "python", columns([(100, 50), bad, (200, 50)]))
    made = trace.build(NoNames(), complete=True)
    assert made.span == (100, 250)
    assert made.event_count == 2
    assert [w.count for w in made.warnings] == [1]
    assert "impossible times" in made.warnings[0].cause


def test_a_negative_duration_becomes_nothing_and_is_counted() -> None:
    trace = TraceBuilder("f.pb", "test")
    process = trace.process("/host:CPU", (), NoStats())
    process.add(1, "python", columns([(100, -50), (200, -(1 << 63)), (300, 5)]))
    made = trace.build(NoNames(), complete=True)
    assert made.processes[0].tracks[0].events.duration.tolist() == [0, 0, 5]
    assert [(w.count, "negative" in w.cause) for w in made.warnings] == [(2, True)]


def test_a_known_session_bounds_what_is_believed() -> None:
    trace = TraceBuilder("f.pb", "test")
    trace.session(20 * PS_PER_S)
    process = trace.process("/host:CPU", (), NoStats())
    week = 7 * 86_400 * PS_PER_S
    process.add(1, "python", columns([(0, 5), (20 * PS_PER_S + 5, 5), (week, 5), (7, week)]))
    made = trace.build(NoNames(), complete=True)
    assert made.span == (0, 20 * PS_PER_S + 10)
    assert made.warnings[0].count == 2


def test_a_line_without_events_is_no_track_and_a_device_without_lines_is_empty() -> None:
    trace = TraceBuilder("f.pb", "test")
    device = trace.process("/device:GPU:3", (), NoStats())
    device.add(1, "Stream #1", columns([]))
    trace.process("/host:metadata", (), NoStats())
    made = trace.build(NoNames(), complete=True)
    assert [(p.name, p.empty, p.kind) for p in made.processes] == [
        ("/device:GPU:3", True, ProcessKind.DEVICE),
        ("/host:metadata", False, ProcessKind.META),
    ]
    assert made.devices == ("/device:GPU:3",)
    assert made.span == (0, 0)


def test_aggregates_count_as_events_but_take_no_time() -> None:
    counts = Aggregates(
        np.zeros(2, np.uint32), np.array([5, 7]), np.array([50, 70]), np.zeros(2, np.uint64)
    )
    trace = TraceBuilder("f.pb", "test")
    process = trace.process("/device:TPU:0", (), NoStats())
    process.add(1, "XLA Ops", columns([]), counts)
    made = trace.build(NoNames(), complete=True)
    assert made.event_count == 2
    assert made.span == (0, 0)
    assert made.processes[0].tracks[0].aggregates is counts
    assert not made.processes[0].empty


def test_the_same_finding_is_counted_not_repeated() -> None:
    findings = FileWarnings("f")
    for _ in range(3):
        findings.add("odd", "here")
    findings.add("odd", "there", 5)
    findings.add("never", count=0)
    assert [(w.where, w.count) for w in findings.all()] == [("here", 3), ("there", 5)]


# ── names that mean something ──


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("/host:CPU", ProcessKind.HOST),
        ("/host:CUPTI", ProcessKind.HOST),
        ("/host:python-tracer", ProcessKind.HOST),
        ("/host:metadata", ProcessKind.META),
        ("Task Environment", ProcessKind.META),
        ("/host:tfstreamz", ProcessKind.META),
        ("/device:GPU:0", ProcessKind.DEVICE),
        ("/device:TPU:3", ProcessKind.DEVICE),
        ("/device:TPU:0 SparseCore 1", ProcessKind.DEVICE),
        ("#Chip0", ProcessKind.DEVICE),
        ("/device:CUSTOM:Megascale Trace", ProcessKind.OTHER),
        ("/custom:mine", ProcessKind.OTHER),
        ("", ProcessKind.OTHER),
    ],
)
def test_kinds_of_planes(name: str, kind: ProcessKind) -> None:
    assert line_kinds.process_kind(name) is kind


@pytest.mark.parametrize(
    ("name", "process", "kind"),
    [
        ("Steps", ProcessKind.DEVICE, TrackKind.STEPS),
        ("TensorFlow Ops", ProcessKind.DEVICE, TrackKind.OPS),
        ("XLA Modules", ProcessKind.DEVICE, TrackKind.MODULES),
        ("Framework Ops - from #13", ProcessKind.DEVICE, TrackKind.OPS),
        ("Stream #13(Compute)", ProcessKind.DEVICE, TrackKind.STREAM),
        ("python", ProcessKind.HOST, TrackKind.THREAD),
        ("Steps", ProcessKind.HOST, TrackKind.THREAD),
    ],
)
def test_kinds_of_lines(name: str, process: ProcessKind, kind: TrackKind) -> None:
    assert line_kinds.track_kind(name, process) is kind


@pytest.mark.parametrize("key", [0xDEADBEEF, 0xDEADBEEF - (1 << 32), -559038734, 0xDEADBEEF + 289])
def test_reserved_ids_mark_derived_lines_signed_or_not(key: int) -> None:
    assert line_kinds.is_derived(key, "anything", ProcessKind.HOST)


@pytest.mark.parametrize("key", [0xDEADBEEF - 1, 0xDEADBEEF + 290, 0xDEADBEEF + (5 << 32), 13, -1])
def test_other_ids_do_not(key: int) -> None:
    assert not line_kinds.is_derived(key, "Stream #13", ProcessKind.DEVICE)


def test_a_tpus_ops_are_work_and_its_modules_are_not() -> None:
    assert not line_kinds.is_derived(3, "XLA Ops", ProcessKind.DEVICE)
    assert line_kinds.is_derived(2, "XLA Modules", ProcessKind.DEVICE)


def test_lines_come_in_the_order_in_which_they_are_read() -> None:
    def order(process: str, names: list[str]) -> list[str]:
        trace = TraceBuilder("f.pb", "test")
        made = trace.process(process, (), NoStats())
        for key, name in enumerate(names):
            made.add(key, name, columns([(0, 1)]))
        return [track.name for track in made.build().tracks]

    host = ["tf_Compute/10", "tf_Compute/9", "", "python3", "Host Threads/2"]
    assert order("/host:CPU", host) == [
        "python3",
        "thread 2",
        "Host Threads/2",
        "tf_Compute/9",
        "tf_Compute/10",
    ]
    device = ["Stream #14", "Stream #9", "TensorFlow Ops", "Steps", "XLA Modules"]
    assert order("/device:GPU:0", device) == [
        "Steps",
        "XLA Modules",
        "TensorFlow Ops",
        "Stream #9",
        "Stream #14",
    ]


def test_planes_come_devices_first_and_by_number() -> None:
    trace = TraceBuilder("f.pb", "test")
    for name in ("Task Environment", "/host:CPU", "/device:GPU:10", "/device:GPU:2"):
        trace.process(name, (), NoStats())
    made = trace.build(NoNames(), complete=True)
    assert [p.name for p in made.processes] == [
        "/device:GPU:2",
        "/device:GPU:10",
        "/host:CPU",
        "Task Environment",
    ]


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("a/b/34.83.195.179_6003.xplane.pb", "34.83.195.179_6003"),
        ("vm.xplane.pb", "vm"),
        ("vm.xplane.pb.gz", "vm"),
        ("MacBook-Pro.local.trace.json.gz", "MacBook-Pro.local"),
        ("xplane.pb", "xplane.pb"),
        ("some.profile", "some.profile"),
        ("-", "stdin"),
    ],
)
def test_the_host_is_the_file_name_without_its_longest_suffix(path: str, host: str) -> None:
    assert filenames.host_of(path) == host
