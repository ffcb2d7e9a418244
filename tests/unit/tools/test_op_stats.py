"""The op table against a walk over every event."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.model import Trace
from powertui.data.tools import op_stats
from tests.synthetic import traces

events = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 40), st.sampled_from("abcd")), max_size=25)


def slowly(trace: Trace, lo: int, hi: int) -> dict[tuple[str, str], list[int]]:
    """{(device, name): [count, total, self]}: each event against each event of the lane below."""
    out: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for process, track in trace.tracks():
        if track.derived:
            continue
        for depth in range(track.lane_count):
            lane = track.lane(depth)
            for start, duration, name in zip(lane.start.tolist(), lane.duration.tolist(), lane.name.tolist(), strict=True):
                a, b = max(start, lo), min(start + duration, hi)
                if not (b > a or lo <= start < hi):
                    continue
                row = out[process.name, trace.names.full(name)]
                inside = 0
                if depth + 1 < track.lane_count:
                    below = track.lane(depth + 1)
                    for s, d in zip(below.start.tolist(), below.duration.tolist(), strict=True):
                        inside += max(0, min(b, s + d) - max(a, s))
                row[0] += 1
                row[1] += b - a
                row[2] += b - a - inside
    return out


@settings(max_examples=120, deadline=None)
@given(st.lists(events, min_size=1, max_size=3), st.integers(-10, 120), st.integers(1, 150))
def test_against_a_walk_over_every_event(lines: list[list[tuple[int, int, str]]], lo: int, length: int) -> None:
    trace = traces.trace({("/host:CPU" if i else "/device:GPU:0", f"t{i}"): line for i, line in enumerate(lines)})
    stats = op_stats.of(trace, lo, lo + length)
    expected = slowly(trace, lo, lo + length)
    assert {(op.device, op.full): [op.count, op.total, op.self_time] for op in stats.ops} == expected
    assert stats.events == sum(row[0] for row in expected.values())
    tracks = [track for _, track in trace.tracks()]
    for op in stats.ops:
        track = tracks[op.track].events
        assert trace.names.full(int(track.name[op.row])) == op.full
        stay = min(int(track.end[op.row]), lo + length) - max(int(track.start[op.row]), lo)
        longest = max(
            min(int(t.events.end[i]), lo + length) - max(int(t.events.start[i]), lo)
            for p, t in trace.tracks() if p.name == op.device
            for i in range(len(t.events)) if trace.names.full(int(t.events.name[i])) == op.full
        )  # fmt: skip
        assert stay == longest
    for device in {op.device for op in stats.ops}:
        shares = sum(op.share for op in stats.ops if op.device == device)
        assert shares == pytest.approx(1) or stats.self_time == 0 or shares == 0


def test_lines_drawn_from_other_lines_are_left_out() -> None:
    kernels = [(0, 10, "gemm"), (10, 10, "gemm")]
    trace = traces.trace({("/device:GPU:0", "Stream #1(Compute)"): kernels, ("/device:GPU:0", "XLA Modules"): [(0, 20, "module")],
                          ("/device:GPU:0", "Steps"): [(0, 20, "1")]})  # fmt: skip
    (op,) = op_stats.of(trace).ops
    assert (op.name, op.count, op.total, op.self_time, op.average, op.share) == ("gemm", 2, 20, 20, 10, 1.0)


def test_sums_are_exact_beyond_what_floats_hold() -> None:
    """Nine hundred thousand seconds in odd picoseconds: floats would round the sum."""
    size = 3 * 10**17 + 1
    trace = traces.trace({("/host:CPU", "t"): [(i * size, size, "x") for i in range(3)]})
    assert op_stats.of(trace).ops[0].total == 3 * size


def test_sorting_and_filtering() -> None:
    made = [(0, 30, "b/MatMul:MatMul"), (30, 5, "a/Relu:Relu"), (40, 5, "a/Relu:Relu")]
    stats = op_stats.of(traces.trace({("/host:CPU", "t"): made}))
    assert [op.type for op in stats.ops] == ["MatMul", "Relu"]
    assert [op.full for op in stats.sorted_by("name", descending=False).ops] == ["a/Relu:Relu", "b/MatMul:MatMul"]
    assert stats.sorted_by("count").ops[0].type == "Relu"
    assert [op.type for op in stats.matching("relu").ops] == ["Relu"]
    assert len(stats.matching("HOST:cpu").ops) == 2
    assert stats.matching("nothing").ops == ()
    for key in op_stats.COLUMNS:
        assert len(stats.sorted_by(key).ops) == 2
