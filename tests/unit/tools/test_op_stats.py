"""The op table against a walk over every event."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data import wire
from powertui.data.model import Trace
from powertui.data.tools import op_stats, op_table
from powertui.errors import Cancelled
from tests.synthetic import traces

events = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 40), st.sampled_from("abcd")), max_size=25
)


def slowly(trace: Trace, lo: int, hi: int) -> dict[tuple[str, str], list[int]]:
    """{(device, name): [count, total, self]}: each event against each event of the lane below."""
    out: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for process, track in trace.tracks():
        if track.derived:
            continue
        for depth in range(track.lane_count):
            lane = track.lane(depth)
            for start, duration, name in zip(
                lane.start.tolist(), lane.duration.tolist(), lane.name.tolist(), strict=True
            ):
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
def test_against_a_walk_over_every_event(
    lines: list[list[tuple[int, int, str]]], lo: int, length: int
) -> None:
    trace = traces.trace(
        {("/host:CPU" if i else "/device:GPU:0", f"t{i}"): line for i, line in enumerate(lines)}
    )
    expected = slowly(trace, lo, lo + length)
    for is_compiled in (False, wire.COMPILED):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(wire, "COMPILED", is_compiled)
            stats = op_stats.op_stats(trace, lo, lo + length)
        assert {
            (op.device, op.full): [op.count, op.total, op.self_time] for op in stats.ops
        } == expected
    assert stats.events == sum(row[0] for row in expected.values())
    tracks = [track for _, track in trace.tracks()]
    for number in range(len(stats)):
        op, (line, row) = stats[number], stats.longest(number)
        track = tracks[line].events
        assert trace.names.full(int(track.name[row])) == op.full
        stay = min(int(track.end[row]), lo + length) - max(int(track.start[row]), lo)
        longest = max(
            min(int(t.events.end[i]), lo + length) - max(int(t.events.start[i]), lo)
            for p, t in trace.tracks()
            if p.name == op.device
            for i in range(len(t.events))
            if trace.names.full(int(t.events.name[i])) == op.full
        )
        assert stay == longest
    for device in {op.device for op in stats.ops}:
        shares = sum(op.share for op in stats.ops if op.device == device)
        assert shares == pytest.approx(1) or stats.self_time.sum() == 0 or shares == 0


def test_lines_drawn_from_other_lines_are_left_out() -> None:
    kernels = [(0, 10, "gemm"), (10, 10, "gemm")]
    trace = traces.trace(
        {
            ("/device:GPU:0", "Stream #1(Compute)"): kernels,
            ("/device:GPU:0", "XLA Modules"): [(0, 20, "module")],
            ("/device:GPU:0", "Steps"): [(0, 20, "1")],
        }
    )
    (op,) = op_stats.op_stats(trace).ops
    assert (op.name, op.count, op.total, op.self_time, op.average, op.share) == (
        "gemm",
        2,
        20,
        20,
        10,
        1.0,
    )


def test_sums_are_exact_beyond_what_floats_hold() -> None:
    """Nine hundred thousand seconds in odd picoseconds: floats would round the sum."""
    size = 3 * 10**17 + 1
    trace = traces.trace({("/host:CPU", "t"): [(i * size, size, "x") for i in range(3)]})
    assert op_stats.op_stats(trace).ops[0].total == 3 * size


def test_sorting_and_filtering() -> None:
    made = [(0, 30, "b/MatMul:MatMul"), (30, 5, "a/Relu:Relu"), (40, 5, "a/Relu:Relu")]
    stats = op_stats.op_stats(traces.trace({("/host:CPU", "t"): made}))
    assert [op.type for op in stats.ops] == ["MatMul", "Relu"]
    assert [stats[row].full for row in stats.order("name", descending=False)] == [
        "a/Relu:Relu",
        "b/MatMul:MatMul",
    ]
    assert stats[stats.order("count")[0]].type == "Relu"
    assert [stats[row].type for row in np.flatnonzero(stats.matching("relu"))] == ["Relu"]
    assert stats.matching("HOST:cpu").sum() == 2
    assert not stats.matching("nothing").any()


ops = st.builds(
    "{}{}".format,
    st.sampled_from(
        ["fusion.12", "fusion.3", "Fusion", "x/y_1/MatMul:MatMul", "é/Ünder", "", "Iterator::A"]
    ),
    st.sampled_from(["", ".7", ":Relu", "/ß", "conv2d_9", "/\\", "Ä"]),
)


def value_of(op: op_stats.OpRow, key: str) -> Any:
    value = op.self_time if key == "self" else getattr(op, key)
    return (
        "".join(c.lower() if c.isascii() else c for c in value) if isinstance(value, str) else value
    )


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 5), ops, st.integers(0, 2)), max_size=40),
    st.booleans(),
)
def test_every_order_is_that_of_a_sorted_list_of_rows(
    made: list[tuple[int, int, str, int]], descending: bool
) -> None:
    lines = {
        (f"/device:GPU:{p}", "t"): [(s, d, name) for s, d, name, q in made if q == p]
        for p in range(3)
    }
    stats = op_stats.op_stats(
        traces.trace({line: events for line, events in lines.items() if events})
    )
    for key in op_stats.COLUMNS:
        rows = sorted(
            (stats[row] for row in range(len(stats))), key=lambda op: (-op.self_time, op.name)
        )
        rows.sort(key=lambda op: value_of(op, key), reverse=descending)
        found = [stats[row] for row in stats.order(key, descending=descending)]
        assert [value_of(op, key) for op in found] == [value_of(op, key) for op in rows]
        assert [op.self_time for op in found] == [op.self_time for op in rows]
        assert [op.name for op in found] == [op.name for op in rows]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(ops, max_size=30),
    st.sampled_from(["fusion", "MATMUL", "é", "7", "relu", "dataset", "elementwise", "gpu:", "ä"]),
)
def test_a_filter_is_a_look_at_every_row(made: list[str], text: str) -> None:
    stats = op_stats.op_stats(
        traces.trace({("/device:GPU:0", "t"): [(i, 1, name) for i, name in enumerate(made)]})
    )
    low = text.lower()
    rows = [stats[i] for i in range(len(stats))]
    expected = [
        any(low in t.lower() for t in (op.full, op.name, op.type, op.device)) for op in rows
    ]
    assert stats.matching(text).tolist() == expected
    assert stats.find("no such op", "/device:GPU:0", stats.order("self")) == -1
    order = stats.order("count")
    for place, row in enumerate(order.tolist()):
        assert stats.find(stats[row].full, "/device:GPU:0", order) == place


def test_names_that_a_file_numbers_twice_are_one_row() -> None:
    trace = traces.trace({("/host:CPU", "t"): [(0, 5, "a"), (10, 9, "b"), (20, 7, "c")]})
    twice = replace(trace, names=traces.PlainNames(["a", "b", "a"]))
    stats = op_stats.op_stats(twice)
    assert [(op.name, op.count, op.total) for op in stats.ops] == [("a", 2, 12), ("b", 1, 9)]
    assert [stats.longest(row) for row in range(2)] == [(0, 2), (0, 1)], (
        "the longest is the one under the second number"
    )


def test_breaking_off_stops_it_at_once() -> None:
    trace = traces.trace({("/host:CPU", "t"): [(i, 1, f"op{i}") for i in range(20)]})
    asked = []

    def check() -> None:
        asked.append(1)
        if len(asked) == 2:
            raise Cancelled("enough")

    with pytest.raises(Cancelled):
        op_stats.op_stats(trace, check=check)
    assert len(asked) == 2


def test_thousands_of_lines_with_names_of_their_own_are_added_up_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A column as long as all names for each line would make of ten thousand lines a hundred
    million additions.
    """
    lines = 2000
    trace = traces.trace({("/host:CPU", f"t{i}"): [(i, 2, f"op{i}")] for i in range(lines)})
    sizes: list[int] = []
    count = np.bincount

    def counted(values: Any, *rest: Any, **more: Any) -> Any:
        sizes.append(len(values))
        return count(values, *rest, **more)

    monkeypatch.setattr(np, "bincount", counted)
    assert len(op_stats.op_stats(trace)) == lines
    assert len(sizes) < 10
    monkeypatch.setattr(wire, "COMPILED", False)
    sizes.clear()
    assert len(op_stats.op_stats(trace)) == lines
    assert 0 < len(sizes) < 10


def test_waiting_for_other_threads_is_no_share_and_is_left_out() -> None:
    """A call that hands its ops to other threads: what it waits for is counted there."""
    trace = traces.trace(
        {
            ("/host:CPU", "main"): [(0, 100, "KernelAndDeviceFunc::Run")],
            ("/host:CPU", "pool"): [(0, 60, "a"), (60, 20, "b")],
        }
    )
    stats = op_stats.op_stats(trace)
    shares = {op.name: op.share for op in stats.ops}
    assert shares["a"] == pytest.approx(0.75)
    assert shares["b"] == pytest.approx(0.25)
    assert np.isnan(shares["KernelAndDeviceFunc::Run"])
    assert [stats[row].name for row in np.flatnonzero(stats.wrappers).tolist()] == [
        "KernelAndDeviceFunc::Run"
    ]
    assert stats[int(stats.order("share")[-1])].name == "KernelAndDeviceFunc::Run", (
        "what has no share stands last"
    )
    assert stats.sums(np.arange(3))["share"] == pytest.approx(1)


def test_a_row_leads_to_the_whole_of_its_longest_occurrence() -> None:
    trace = traces.trace(
        {("/device:GPU:0", "Stream #1"): [(10, 5, "a"), (40, 25, "a"), (70, 9, "b")]}
    )
    table = op_table.result(op_stats.op_stats(trace, *trace.span)).tables[0]
    places = {table["name"].text(row): table.place(row) for row in range(2)}
    assert {name: (one.lo, one.hi) for name, one in places.items()} == {
        "a": (40, 65),
        "b": (70, 79),
    }
