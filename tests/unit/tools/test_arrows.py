"""Arrows that traces draw: which events they tie together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data.formats import json_events, registry
from powertui.data.formats.flow_ends import FINISH, START, FlowEnds
from powertui.data.formats.json_compiled import COMPILED
from powertui.data.model import Trace
from powertui.data.tools import arrows

WAYS = [*(["compiled"] if COMPILED else []), "pure", "singly"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(json_events, "COMPILED", request.param == "compiled")
    monkeypatch.setattr(json_events, "ONE_BY_ONE", request.param == "singly")
    return str(request.param)


def span(
    name: str, ts: float, dur: float, tid: Any = 1, pid: Any = 1, **more: Any
) -> dict[str, Any]:
    return {
        "ph": "X",
        "name": name,
        "cat": "op",
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        **more,
    }


def flow(
    phase: str, ts: float, tid: Any = 1, id: Any = 1, pid: Any = 1, **more: Any
) -> dict[str, Any]:
    return {
        "ph": phase,
        "name": "flow",
        "cat": "flow",
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "id": id,
        **more,
    }


def tied(trace: Trace) -> list[tuple[str, str]]:
    """The arrows by the names of their events."""
    tracks = [track for _, track in trace.tracks()]
    found = arrows.find_tied_events(trace)

    def name(line: int, row: int) -> str:
        return trace.names.full(int(tracks[line].events.name[row]))

    ends = zip(
        found.line.tolist(),
        found.row.tolist(),
        found.to_line.tolist(),
        found.to_row.tolist(),
        strict=True,
    )
    return sorted((name(line, row), name(to_line, to_row)) for line, row, to_line, to_row in ends)


def read(path: Path, events: list[dict[str, Any]], **beside: Any) -> Trace:
    path.write_text(json.dumps({**beside, "traceEvents": [*events, {}]}))
    return registry.read(path)


def test_a_finish_means_the_span_around_it_or_the_next_one(tmp_path: Path, way: str) -> None:
    spans = [
        span("call", 10, 5),
        span("outer", 20, 50, tid=2),
        span("inner", 25, 10, tid=2),
        span("later", 40, 5, tid=2),
    ]
    around = [flow("s", 12), flow("f", 26, tid=2, bp="e")]
    ahead = [flow("s", 12, id=2), flow("f", 36, tid=2, id=2)]
    trace = read(tmp_path / "a.json", spans + around + ahead)
    assert tied(trace) == [("call", "inner"), ("call", "later")]
    assert not any("flow" in warning.cause for warning in trace.warnings)


def test_flows_go_on_over_steps_and_an_id_may_come_again(tmp_path: Path, way: str) -> None:
    spans = [
        span(f"{name}{turn}", 100 * turn + at, 5, tid=at)
        for turn in (0, 1)
        for at, name in ((10, "a"), (20, "b"), (30, "c"))
    ]
    ends = [
        flow(phase, 100 * turn + at + 1, tid=at, bp="e")
        for turn in (0, 1)
        for at, phase in ((10, "s"), (20, "t"), (30, "f"))
    ]
    trace = read(tmp_path / "a.json", spans + ends)
    assert tied(trace) == [("a0", "b0"), ("a1", "b1"), ("b0", "c0"), ("b1", "c1")]


@pytest.mark.parametrize(
    "ids", [(7, 7), ("0x7f", "0x7f"), ("ü", "ü"), (-3, -3), (2**64 - 1, 2**64 - 1)]
)
def test_ids_of_any_kind(tmp_path: Path, way: str, ids: tuple[Any, Any]) -> None:
    events = [
        span("a", 0, 5),
        span("b", 10, 5),
        flow("s", 1, id=ids[0]),
        flow("f", 11, id=ids[1], bp="e"),
    ]
    assert tied(read(tmp_path / "a.json", events)) == [("a", "b")]


def test_ends_of_other_names_categories_and_ids_are_other_flows(tmp_path: Path, way: str) -> None:
    spans = [span("a", 0, 5), span("b", 10, 5)]
    start, finish = flow("s", 1), flow("f", 11, bp="e")
    for key, other in (("name", "x"), ("cat", "x"), ("id", 2), ("id", "1")):
        assert read(tmp_path / "a.json", [*spans, start, {**finish, key: other}]).arrows is None
    local = [
        {**flow(phase, ts, bp="e"), "id2": {"local": "0x1"}} for phase, ts in (("s", 1), ("f", 11))
    ]
    for one in local:
        del one["id"]
    assert tied(read(tmp_path / "a.json", [*spans, *local])) == [("a", "b")]
    assert read(tmp_path / "a.json", [*spans, local[0], {**local[1], "pid": 9}]).arrows is None


def test_spans_with_a_bind_id(tmp_path: Path, way: str) -> None:
    """As Chromium writes them: the span itself says that a flow leads from it, to it, or both."""
    trace = read(
        tmp_path / "a.json",
        [
            span("post", 0, 5, bind_id="0x1", flow_out=True),
            span("middle", 10, 5, tid=2, bind_id="0x1", flow_in=True, flow_out=True),
            span("run", 20, 5, tid=3, bind_id="0x1", flow_in=True),
            span("other", 30, 5, bind_id="0x2", flow_in=True),
        ],
    )
    assert tied(trace) == [("middle", "run"), ("post", "middle")]


def test_pytorch_s_arrows_lead_to_streams_and_from_forward_to_backward(
    tmp_path: Path, way: str
) -> None:
    forward, backward = span("aten::mm", 100, 20), span("MmBackward0", 300, 30, tid=9)
    events = [
        {**forward, "cat": "cpu_op"},
        {**backward, "cat": "cpu_op"},
        {**span("cudaLaunchKernel", 105, 3), "cat": "cuda_runtime", "args": {"correlation": 4}},
        {
            **span("gemm", 130, 9, pid=0, tid=7),
            "cat": "kernel",
            "args": {"device": 0, "stream": 7, "correlation": 4},
        },
        {
            **span("step", 130, 99, pid=0, tid=7),
            "cat": "gpu_user_annotation",
            "args": {"device": 0, "stream": 7},
        },
        flow("s", 105, id=4, name="ac2g", cat="ac2g"),
        flow("f", 130, id=4, pid=0, tid=7, bp="e", name="ac2g", cat="ac2g"),
        flow("s", 100, id=4, name="fwdbwd", cat="fwdbwd"),
        flow("f", 300, id=4, tid=9, bp="e", name="fwdbwd", cat="fwdbwd"),
    ]
    trace = read(tmp_path / "a.pt.trace.json", events, schemaVersion=1)
    assert trace.format == "kineto"
    assert tied(trace) == [("aten::mm", "MmBackward0"), ("cudaLaunchKernel", "gemm")]


def test_a_start_that_a_clock_puts_too_late_still_comes_first() -> None:
    ends = FlowEnds()
    for at, line, kind in ((50, 1, FINISH), (60, 0, START)):
        ends.add(0, 1, line, at, kind)
    found = ends.arrows()
    assert (found.line.tolist(), found.to_line.tolist(), found.at.tolist()) == ([0], [1], [60])


def test_many_flows_against_one_by_one() -> None:
    lot = np.random.default_rng(3)
    rows = [tuple(map(int, row)) for row in lot.integers(0, (3, 20, 5, 1000, 3), (600, 5))]
    ends = FlowEnds()
    for row in rows:
        ends.add(*row)
    wanted = []
    for key in {row[:2] for row in rows}:
        mine = [row for row in rows if row[:2] == key]
        alone = sum(kind == START for *_, kind in mine) == 1
        mine.sort(key=lambda row: (not (alone and row[4] == START), row[3], row[4]))
        last = None
        for _, _, line, at, kind in mine:
            if kind != START and last is not None:
                wanted.append((*last, line, at))
            last = (line, at) if kind != FINISH else last
    found = ends.arrows()
    told = zip(
        found.line.tolist(),
        found.at.tolist(),
        found.to_line.tolist(),
        found.to_at.tolist(),
        strict=True,
    )
    assert sorted(told) == sorted(wanted)


def test_perfetto_s_flows_go_from_event_to_event(tmp_path: Path) -> None:
    trace_pb2 = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", exc_type=ImportError
    )
    trace = trace_pb2.Trace()
    for number, name in enumerate("abcd"):
        for at, kind in ((number * 100, 1), (number * 100 + 50, 2)):
            packet = trace.packet.add()
            packet.timestamp, packet.trusted_packet_sequence_id = 1_000_000 + at, 1
            packet.track_event.type, packet.track_event.track_uuid = kind, number + 1
            if kind == 1:
                packet.track_event.name = name
                if name == "c":
                    packet.track_event.terminating_flow_ids.append(1 << 63)
                else:
                    packet.track_event.flow_ids.append(1 << 63)
    path = tmp_path / "a.pftrace"
    path.write_bytes(trace.SerializeToString())
    assert tied(registry.read(path)) == [("a", "b"), ("b", "c"), ("b", "d")]


def test_both_ends_of_an_arrow_lead_to_each_other(tmp_path: Path) -> None:
    trace = read(
        tmp_path / "a.json",
        [span("a", 0, 5), span("b", 10, 5), flow("s", 1), flow("f", 11, bp="e")],
    )
    found = arrows.find_tied_events(trace)
    assert found.across(0, 0) == [(0, 1)]
    assert found.across(0, 1) == [(0, 0)]
    assert found.across(0, 2) == []
