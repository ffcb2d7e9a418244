"""Events of JSON by the compiled scanner: what Python alone gives, in pieces of any size, with
arguments where they stand.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data import gzip_stream
from powertui.data.formats import gzip_blocks, json_events, json_pure, kineto, registry, trace_json
from powertui.data.formats.gzip_blocks import GzipBlocks
from powertui.data.formats.json_batch import (
    ENCLOSING,
    FLOW_IN,
    FLOW_OUT,
    HAS_ID,
    EventBatch,
    Scanner,
)
from powertui.data.formats.json_columns import ColumnStream
from powertui.data.formats.json_compiled import COMPILED, CompiledScanner
from powertui.data.formats.json_pure import PureScanner
from powertui.data.model import Trace
from powertui.data.wire.stored import Stored
from tests.fuzz import json_traces

WAYS = [*(["compiled"] if COMPILED else []), "pure"]


def scanner(way: str) -> Scanner:
    return CompiledScanner() if way == "compiled" else PureScanner()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", [kineto, trace_json], ids=["kineto", "trace_json"])
@pytest.mark.parametrize("damaged", [False, True], ids=["whole", "damaged"])
def test_the_same_as_item_by_item(
    dialect: Any, damaged: bool, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(150):
        lot = random.Random(seed)
        data = json_traces.trace(lot, damaged=damaged)
        piece = lot.choice([7, 64, 1 << 18])
        monkeypatch.setattr(json_pure, "PIECE", lot.choice([100, 1000, 1 << 18]))
        ours, theirs = (
            json_traces.told(data, dialect, monkeypatch, way=one, piece=piece)
            for one in (way, "singly")
        )
        assert ours == theirs, f"seed {seed}"


def plain(count: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": f"op {n % 7}",
            "pid": 1,
            "tid": 2,
            "ts": n,
            "dur": 0.5,
            "args": {"External id": n, **more},
        }
        for n in range(count)
    ]


def batches(data: bytes, piece: int, way: str) -> tuple[int, int]:
    """(events in batches, events one by one)."""
    stream = ColumnStream(
        (data[at : at + piece] for at in range(0, len(data), piece)), "traceEvents", scanner(way)
    )
    many = single = 0
    for _, value in stream:
        if isinstance(value, EventBatch):
            many += len(value)
        else:
            single += 1
    return many, single


@pytest.mark.skipif(not COMPILED, reason="the scanner is not built, or not wanted")
def test_odd_items_do_not_slow_down_the_rest() -> None:
    """One item in a thousand is read by Python, and a few behind it; not the rest of the piece."""
    events = plain(20_000)
    for row in range(500, 20_000, 1000):
        events[row]["ts"] = str(row)
    many, single = batches(json.dumps(events).encode(), 1 << 20, "compiled")
    assert many + single == 20_000
    assert single <= 2 * 20


@pytest.mark.skipif(not COMPILED, reason="the scanner is not built, or not wanted")
def test_a_file_of_odd_items_costs_what_python_costs() -> None:
    events = [{**event, "ts": str(event["ts"])} for event in plain(5_000)]
    many, single = batches(json.dumps(events).encode(), 1 << 18, "compiled")
    assert (many, single) == (0, 5_000)


def arguments(trace: Trace) -> list[tuple[int, ...]]:
    ((process, track),) = list(trace.tracks())
    column = process.source.columns(track.events.position, ["External id"])["External id"]
    alone = [
        int(process.source.event_stats(track.events.position_of(row))[0].value)
        for row in range(0, len(track.events), 97)
    ]
    assert alone == column.ints[::97].tolist()
    return sorted(zip((track.events.start // 10**6).tolist(), column.ints.tolist(), strict=True))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["a.pt.trace.json", "a.pt.trace.json.gz"])
def test_arguments_are_read_where_they_stand(
    tmp_path: Path, name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small windows and blocks, so that every bound is crossed; one event's arguments are larger
    than all of them.
    """
    monkeypatch.setattr(json_events, "COMPILED", way == "compiled")
    monkeypatch.setattr("powertui.data.formats.json_args.WINDOW", 5_000)
    monkeypatch.setattr("powertui.data.formats.json_args.SPARE", 300)
    monkeypatch.setattr(gzip_blocks, "BLOCK_BYTES", 3_000)
    monkeypatch.setattr(gzip_blocks, "CACHED_BLOCKS", 2)
    events = plain(1_000)
    events[300]["args"]["Stack"] = "x" * 9_000
    text = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
    half = len(text) // 2
    data = gzip.compress(text[:half]) + gzip.compress(text[half:]) if name.endswith("gz") else text
    path = tmp_path / name
    path.write_bytes(data)
    assert arguments(registry.read(path)) == [(n, n) for n in range(1_000)]


def test_blocks_of_gzip_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_blocks, "BLOCK_BYTES", 1_000)
    monkeypatch.setattr(gzip_blocks, "CACHED_BLOCKS", 3)
    monkeypatch.setattr(gzip_stream, "_MAX_FEED", 50)
    lot = random.Random(1)
    text = bytes(lot.randrange(256) for _ in range(20_000)) + b"x" * 30_000
    packed = gzip.compress(text[:13_000]) + gzip.compress(text[13_000:])
    blocks = GzipBlocks(Stored("x", memory=packed))
    for _ in range(300):
        lo = lot.randrange(len(text))
        hi = lo + lot.randrange(1, 4_000)
        assert blocks.read(lo, hi) == text[lo:hi]
    cut = GzipBlocks(Stored("x", memory=packed[: len(packed) // 2]))
    assert text.startswith(cut.read(0, 60_000))
    assert cut.read(10**9, 10**9 + 5) == b""


@pytest.mark.parametrize("way", WAYS)
def test_bytes_that_are_no_text_cost_nothing_else(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_events, "COMPILED", way == "compiled")
    text = (
        json.dumps({"schemaVersion": 1, "traceEvents": plain(50)})
        .encode()
        .replace(b"op 3", b"op\xff3")
        .replace(b'"ts": 40,', b'"ts": "40",')
    )
    path = tmp_path / "a.pt.trace.json"
    path.write_bytes(text)
    trace = registry.read(path)
    assert trace.event_count == 50
    assert len(arguments(trace)) == 50
    assert {trace.names.full(i) for i in range(len(trace.names))} >= {"op�3", "op 1"}


@pytest.mark.parametrize("way", WAYS)
def test_places_beyond_four_gigabytes(way: str) -> None:
    stream = ColumnStream(
        iter((b'{"traceEvents":', json.dumps(plain(2)).encode(), b"}")), "traceEvents", scanner(way)
    )
    stream._given += 5 << 30
    batch = next(value for _, value in stream if isinstance(value, EventBatch))
    assert batch.args.dtype == np.int64
    assert int(batch.args[0]) > 5 << 30


def test_combinations_are_the_same_whichever_way_they_are_counted() -> None:
    from powertui.data.formats import json_threads

    lot = np.random.default_rng(5)
    for rows in (1, 7, 4000):
        for wide in (2, 50, 1 << 20, 1 << 31):
            columns = [lot.integers(-1, wide, rows).astype(np.int32) for _ in range(3)]
            combined, which = json_threads.distinct_rows(*columns)
            other, own = json_threads._distinct_by_sorting(columns)
            assert combined == other
            assert which.tolist() == own.tolist()
            assert [combined[i] for i in which.tolist()] == list(
                zip(*(column.tolist() for column in columns), strict=True)
            )
    assert json_threads.distinct_rows(np.zeros(0, np.int32))[0] == []


def test_what_binds_a_flow_is_only_what_the_event_says() -> None:
    assert json_pure.flow_binding({"ph": "s"}) == (0, 0)
    assert json_pure.flow_binding({"ph": "X", "flow_in": True})[1] == FLOW_IN
    assert (
        json_pure.flow_binding({"ph": "X", "flow_in": 1, "flow_out": True, "bind_id": 7})[1]
        == FLOW_OUT | HAS_ID
    )
    assert json_pure.flow_binding({"ph": "f", "bp": "e", "id": "a"})[1] == ENCLOSING | HAS_ID


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["a}, {b", "µ}, {b"], ids=["ascii", "utf-8"])
def test_what_looks_like_the_border_of_two_events_may_stand_within_one(way: str, name: str) -> None:
    events = [
        {"ph": "X", "pid": 1, "tid": 1, "ts": at, "dur": 1, "name": name if at == 1 else "c"}
        for at in range(4)
    ]
    text = json.dumps(events, ensure_ascii=False).encode()
    batch = scanner(way).scan(text, 1, 0)[0]
    assert batch is not None
    assert [json.loads(batch.text(row)) for row in range(len(batch.lo))] == events[: len(batch.lo)]
    assert len(batch.lo) >= 3
