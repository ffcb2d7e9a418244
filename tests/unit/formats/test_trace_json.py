from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powertui.data.formats import (
    json_events,
    json_stats,
    json_times,
    registry,
    trace_json,
    trace_json_events,
)
from powertui.data.formats.json_times import picoseconds
from powertui.data.model import ProcessKind, Trace, TrackKind
from powertui.errors import Cancelled, UnreadableFile

JAX = "logdirs/jax_cpu/plugins/profile/2026_11_21_00_50_50"
TENSORFLOW = {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}}


def text_of(events: list[Any], **members: Any) -> str:
    return json.dumps({**TENSORFLOW, **members, "traceEvents": [*events, {}]})


def load(tmp_path: Path, content: str | bytes | list[Any], name: str = "host.trace.json") -> Trace:
    if isinstance(content, list):
        content = text_of(content)
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return registry.read(path)


def read_by_this(tmp_path: Path, members: dict[str, Any]) -> Trace:
    """Without asking which reader suits: what stands behind many events is not seen by then."""
    path = tmp_path / "host.trace.json"
    path.write_text(json.dumps(members))
    (*_, trace) = trace_json.load(registry.open_file(str(path)), registry.silent)
    return trace


def x(title: str, ts: Any, dur: Any, pid: Any = 1, tid: Any = 2, **args: Any) -> dict[str, Any]:
    return {
        "ph": "X",
        "pid": pid,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "name": title,
        **({"args": args} if args else {}),
    }


def spans(trace: Trace) -> list[tuple[str, int, int]]:
    return sorted(
        (trace.names.full(int(n)), int(s), int(d))
        for _, t in trace.tracks()
        for n, s, d in zip(t.events.name, t.events.start, t.events.duration, strict=True)
    )


def test_the_json_that_jax_writes_holds_the_same_events_as_the_xplane_beside_it(data: Path) -> None:
    other, same = (
        registry.read(data / JAX / "vm.trace.json.gz"),
        registry.read(data / JAX / "vm.xplane.pb"),
    )
    assert other.format == "trace_json"
    assert other.event_count == same.event_count == 2978
    assert other.span == same.span
    assert other.host == "vm"
    assert not other.warnings

    def rows(trace: Trace) -> list[tuple[str, str, str, int, int]]:
        return sorted(
            (p.name, t.name, trace.names.display(int(n)), int(s), int(d))
            for p, t in trace.tracks()
            for n, s, d in zip(t.events.name, t.events.start, t.events.duration, strict=True)
        )

    # The JSON shows each step under its number and leaves the lanes as they are; all else is equal
    # to the picosecond.
    assert rows(other) == rows(same)


def test_args_come_out_as_stats_and_numbers_in_text_as_numbers(tmp_path: Path) -> None:
    trace = load(
        tmp_path,
        [
            x("a", 0, 5, step_num="30", name="train 30", real="2.5", big="18446744073709551615"),
            x("b", 10, 5, step_num=31, flag=True, deep={"x": [1]}, none=None, real=2.25),
            x("c", 20, 5),
            x("d", 30, 5, step_num="x30", **{"odd name": "1"}),
        ],
    )
    process = trace.processes[0]
    events = process.tracks[0].events
    found = process.source.columns(
        events.position, ["step_num", "real", "big", "flag", "odd name", "nothing"]
    )
    steps = found["step_num"]
    assert steps.present.tolist() == [True, True, False, True]
    assert steps.ints.tolist() == [30, 31, 0, 0]
    assert [steps.text(i) for i in range(4)] == ["30", "31", None, "x30"]
    assert np.isnan(steps.floats[3])
    assert found["real"].floats[:2].tolist() == [2.5, 2.25]
    assert found["big"].ints[0] == -1
    assert found["flag"].text(1) == "true"
    assert found["odd name"].ints[3] == 1
    assert not found["nothing"].present.any()
    stats = process.source.event_stats(int(events.position[1]))
    assert [(s.name, s.value, s.kind) for s in stats] == [
        ("step_num", 31, "int64"),
        ("flag", "true", "str"),
        ("deep", '{"x": [1]}', "str"),
        ("none", "null", "str"),
        ("real", 2.25, "double"),
    ]
    assert process.source.event_stats(int(events.position[2])) == ()


@pytest.mark.parametrize(
    "event",
    [
        '{"args":{"a":"1"},"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"n"}',
        '{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"args" : {"a": "1"} ,"name":"n"}',
        '{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"other":{"args":{"a":"wrong"}},"name":"n","args":{"a":"1"}}',
        '{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"\\"args\\":{","args":{"a":"1"}}',
        '{"ph":"X","pid":1,"tid":2,"ts":1,"dur":2,"name":"n","args":{"a":"1","args":{"a":"2"}}}',
    ],
)
def test_args_are_found_wherever_they_stand_in_the_event(tmp_path: Path, event: str) -> None:
    trace = load(tmp_path, '{"traceEvents":[' + event + "]}")
    process = trace.processes[0]
    stats = process.source.event_stats(int(process.tracks[0].events.position[0]))
    assert (stats[0].name, stats[0].value) == ("a", "1")


def test_a_long_name_is_the_full_name(tmp_path: Path) -> None:
    trace = load(
        tmp_path, [x("MatMul", 0, 1, long_name="model/dense/MatMul:MatMul"), x("MatMul", 5, 1)]
    )
    names = [(trace.names.display(i), trace.names.full(i)) for i in range(len(trace.names))]
    assert sorted(names) == [("MatMul", "MatMul"), ("MatMul", "model/dense/MatMul:MatMul")]


def test_planes_and_lines_get_their_names_and_kinds(tmp_path: Path) -> None:
    def meta(what: str, pid: int, name: str, **more: Any) -> dict[str, Any]:
        return {"ph": "M", "pid": pid, "name": what, "args": {"name": name}, **more}

    trace = load(
        tmp_path,
        [
            meta("process_name", 1, "/device:GPU:0"),
            meta("thread_name", 1, "Stream #13(Compute)", tid=13),
            meta("thread_name", 1, "Steps", tid=0xDEADBEEF),
            meta("process_name", 2, "/device:GPU:1"),
            meta("process_name", 501, "/host:CPU"),
            x("k", 5, 1, 1, 13),
            x("0", 5, 1, 1, 0xDEADBEEF),
            x("f", 0, 9, 501, 77),
            {
                "ph": "M",
                "pid": 501,
                "name": "thread_sort_index",
                "args": {"sort_index": 5},
                "tid": 77,
            },
        ],
    )
    assert [(p.name, p.kind, p.empty) for p in trace.processes] == [
        ("/device:GPU:0", ProcessKind.DEVICE, False),
        ("/device:GPU:1", ProcessKind.DEVICE, True),
        ("/host:CPU", ProcessKind.HOST, False),
    ]
    assert [(t.name, t.kind, t.derived) for t in trace.processes[0].tracks] == [
        ("Steps", TrackKind.STEPS, True),
        ("Stream #13(Compute)", TrackKind.STREAM, False),
    ]
    assert trace.processes[2].tracks[0].name == "thread 77"
    assert not trace.warnings


def test_begins_and_ends_pair_up_and_instants_are_events(tmp_path: Path) -> None:
    def mark(phase: str, ts: float, name: str = "") -> dict[str, Any]:
        return {"ph": phase, "pid": 1, "tid": 1, "ts": ts, "name": name}

    trace = load(
        tmp_path,
        [
            mark("B", 1, "a"),
            mark("B", 2, "b"),
            mark("E", 5),
            mark("i", 6, "now"),
            mark("E", 9),
            mark("E", 10),
            mark("B", 12, "no time"),
            mark("E", 12),
            mark("B", 20, "left"),
            mark("i", 30, "end"),
        ],
    )
    us = 1_000_000
    assert spans(trace) == [
        ("a", us, 8 * us),
        ("b", 2 * us, 3 * us),
        ("end", 30 * us, 0),
        ("left", 20 * us, 10 * us),
        ("no time", 12 * us, 0),
        ("now", 6 * us, 0),
    ]
    assert sorted(w.cause[:6] for w in trace.warnings) == ["begin ", "end ev"]


def test_asynchronous_spans_are_paired_by_their_id(tmp_path: Path) -> None:
    def a(phase: str, ts: float, name: str, key: Any, **more: Any) -> dict[str, Any]:
        return {
            "ph": phase,
            "pid": 1,
            "tid": 9,
            "ts": ts,
            "cat": "net",
            "name": name,
            "id": key,
            **more,
        }

    trace = load(
        tmp_path,
        [
            a("b", 1, "get", "0x1"),
            a("b", 2, "get", "0x2"),
            a("b", 3, "dns", "0x1"),
            a("n", 4, "mark", "0x1"),
            a("e", 5, "dns", "0x1"),
            a("e", 7, "get", "0x2"),
            a("e", 9, "get", "0x1"),
            a("e", 9, "get", "0x7"),
            {"ph": "S", "pid": 1, "tid": 9, "ts": 10, "cat": "old", "name": "load", "id": 5},
            {"ph": "F", "pid": 1, "tid": 8, "ts": 14, "cat": "old", "name": "load", "id": 5},
            a("b", 12, "open", None, id2={"local": "0x9"}),
        ],
    )
    us = 1_000_000
    assert sorted(spans(trace)) == [
        ("dns", 3 * us, 2 * us),
        ("get", us, 8 * us),
        ("get", 2 * us, 5 * us),
        ("load", 10 * us, 4 * us),
        ("mark", 4 * us, 0),
        ("open", 12 * us, 2 * us),
    ]
    assert [track.name for _, track in trace.tracks()] == [
        "net (asynchronous)",
        "old (asynchronous)",
    ]
    assert {w.cause for w in trace.warnings} == {
        "end events (ph E) without a begin event were left out",
        "begin events (ph B) without an end event were extended to the end of the trace",
    }


def test_what_is_not_drawn_is_counted(tmp_path: Path) -> None:
    others = [{"ph": p, "pid": 1, "tid": 1, "ts": 1, "name": "n"} for p in "RRNO?"]
    trace = load(tmp_path, [x("a", 1, 1), *others, 5, None, ["list"]])
    counts = {w.cause: w.count for w in trace.warnings}
    assert counts["marks are not drawn (ph R)"] == 2
    assert counts["object snapshots are not drawn (ph N)"] == 1
    assert counts["items of unknown phase were left out"] == 1
    assert counts["items that are not events were left out"] == 3
    assert trace.event_count == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"ts": "soon"},
        {"ts": None},
        {"ts": [1]},
        {"ts": float("nan")},
        {"ts": float("inf")},
        {"ts": 1e300},
        {"ts": 10**400},
        {"dur": "x"},
        {"dur": float("nan")},
        {"dur": 1e30},
        {"pid": [1]},
        {"tid": {"a": 1}},
    ],
)
def test_an_event_without_a_usable_time_or_place_costs_itself_alone(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    trace = load(tmp_path, [x("a", 1, 1), {**x("bad", 2, 1), **fields}, x("b", 3, 1)])
    assert [name for name, _, _ in spans(trace)] == ["a", "b"]
    assert sum(w.count for w in trace.warnings) == 1
    assert trace.span == (1_000_000, 4_000_000)


@pytest.mark.parametrize("tid", ["Spans", "", None, -5, 1 << 70, 2.5, True])
def test_any_thread_id_is_a_line(tmp_path: Path, tid: Any) -> None:
    trace = load(tmp_path, [x("a", 1, 1, tid=tid)])
    key = trace.processes[0].tracks[0].key
    assert isinstance(key, int)
    assert -(1 << 63) <= key < 1 << 63


def test_half_a_surrogate_pair_can_be_printed(tmp_path: Path) -> None:
    trace = load(
        tmp_path,
        '{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"a\\ud800","args":{"k":"\\udfff"}}]}',
    )
    trace.names.full(0).encode()
    process = trace.processes[0]
    str(process.source.event_stats(int(process.tracks[0].events.position[0]))[0].value).encode()


@settings(max_examples=200, deadline=None)
@given(st.integers(-(10**15), 4 * 10**15))
def test_every_picosecond_of_an_hour_survives(ps: int) -> None:
    text = f"{'-' if ps < 0 else ''}{abs(ps) // 10**6}.{abs(ps) % 10**6:06d}"
    assert picoseconds(np.array([float(text)])).tolist() == [ps]


def test_one_picosecond_is_the_writers_way_to_say_nothing(tmp_path: Path) -> None:
    assert spans(load(tmp_path, [x("a", 1, 1e-6), x("b", 2, 2e-6)])) == [
        ("a", 1_000_000, 0),
        ("b", 2_000_000, 2),
    ]


def test_unix_time_becomes_a_clock(tmp_path: Path) -> None:
    start = 1_610_366_728_297_910
    trace = load(
        tmp_path, json.dumps([x("a", start + 5, 2), x("b", start, 7), x("c", start + 5.5, 0)])
    )
    assert trace.clock.source == "absolute timestamps"
    assert trace.clock.mid_ns == (start + 5) * 1000
    assert spans(trace) == [("a", 0, 2_000_000), ("b", -5_000_000, 7_000_000), ("c", 500_000, 0)]


def test_time_since_the_machine_booted_counts_from_the_first_event(tmp_path: Path) -> None:
    """As IBM's AIU tools write it: weeks of uptime, and no word of what that is in Unix time."""
    boot = 1_474_980_000_000
    trace = load(tmp_path, [x("a", boot + 0.25, 2), x("b", boot + 3, 7)])
    assert spans(trace) == [("a", 250_000, 2_000_000), ("b", 3_000_000, 7_000_000)]
    assert not trace.clock.known


@pytest.mark.parametrize("first", [True, False])
def test_a_base_that_the_file_tells_is_its_clock(tmp_path: Path, first: bool) -> None:
    base = {"baseTimeNanoseconds": 1_759_922_262_000_000_000}
    events = {"traceEvents": [x("a", 5_000_000_000_000.5, 2), x("b", 5_000_000_000_004, 1)]}
    trace = read_by_this(tmp_path, {**base, **events} if first else {**events, **base})
    assert spans(trace) == [("a", 500_000, 2_000_000), ("b", 4_000_000, 1_000_000)]
    assert trace.clock.mid_ns == base["baseTimeNanoseconds"] + 5_000_000_000_000_000
    assert trace.clock.half_ns == 1_000_000
    assert trace.clock.detail == "ts counts from the file's baseTimeNanoseconds"


@pytest.mark.parametrize("base", ["", -5, 1.5, None, [], {}, "9" * 30, True])
def test_a_base_that_is_no_time_is_none(tmp_path: Path, base: Any) -> None:
    trace = read_by_this(tmp_path, {"traceEvents": [x("a", 10, 2)], "baseTimeNanoseconds": base})
    assert not trace.clock.known
    assert spans(trace) == [("a", 10_000_000, 2_000_000)]


# ── other ways in, and files that are not whole ──


def test_gzip_or_not_is_found_in_the_bytes(tmp_path: Path) -> None:
    text = text_of([x("a", 1, 2)])
    assert load(tmp_path, gzip.compress(text.encode()), "h.trace.json").format == "trace_json"
    assert load(tmp_path, text, "h.trace.json.gz").format == "trace_json"
    assert load(tmp_path, text, "nameless").event_count == 1


def test_members_in_any_order_and_a_bare_list(tmp_path: Path) -> None:
    first = json.dumps(
        {
            "traceEvents": [x("a", 1, 2)],
            "displayTimeUnit": "ns",
            "stackFrames": {"1": {"name": "f"}},
        }
    )
    assert load(tmp_path, first).event_count == 1
    assert load(tmp_path, json.dumps([x("a", 1, 2)], indent=2)).event_count == 1


def test_a_file_cut_anywhere_gives_the_events_before_the_cut(data: Path, tmp_path: Path) -> None:
    packed = (data / JAX / "vm.trace.json.gz").read_bytes()
    text = gzip.decompress(packed)
    counts = []
    for cut in range(3000, len(text), len(text) // 23):
        trace = load(tmp_path, text[:cut], "vm.trace.json")
        assert [w for w in trace.warnings if "truncated" in w.cause], cut
        counts.append(trace.event_count)
    assert counts == sorted(counts)
    assert counts[-1] > 2700
    for cut in range(2000, len(packed), len(packed) // 17):
        trace = load(tmp_path, packed[:cut], "vm.trace.json.gz")
        assert [w for w in trace.warnings if "gzip stream ends" in w.cause], cut


@pytest.mark.parametrize(
    "content", ['{"traceEvents": "none", "highres-ticks": 1}', '{"traceEvents"', "[", '{"a": [1,2']
)
def test_nothing_to_read_is_one_sentence(tmp_path: Path, content: str) -> None:
    with pytest.raises(UnreadableFile) as error:
        load(tmp_path, content)
    assert error.value.hint


def test_a_capture_that_the_writer_cut_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_json_events, "TENSORFLOW_MAX_EVENTS", 3)
    assert not load(tmp_path, [x("a", i, 1) for i in range(2)]).warnings
    assert "may be missing" in load(tmp_path, [x("a", i, 1) for i in range(3)]).warnings[0].cause


def test_an_empty_list_is_a_trace_without_events(tmp_path: Path) -> None:
    assert load(tmp_path, []).event_count == 0


@pytest.mark.parametrize(
    "content",
    [
        '{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{"ph": "X"}]}',
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op"}], "traceName": "x"}',
    ],
)
def test_traces_of_other_profilers_are_left_alone(tmp_path: Path, content: str) -> None:
    assert trace_json.sniff(content.encode(), "a.json") == 0


def test_parts_come_first_and_do_not_change_afterwards(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_events, "FIRST_PART", 200)
    monkeypatch.setattr(json_events, "PROGRESS_EVENTS", 50)
    monkeypatch.setattr(json_events, "ONE_BY_ONE", True)
    told: list[tuple[int, int, int]] = []
    traces = []
    first: list[tuple[str, int, int]] = []
    for trace in registry.load(data / JAX / "vm.trace.json.gz", lambda *a: told.append(a)):
        traces.append(trace)
        first = first or spans(trace)
    assert [t.complete for t in traces] == [False] * (len(traces) - 1) + [True]
    assert len(traces) >= 4
    assert spans(traces[0]) == first
    assert [t.event_count for t in traces] == sorted(t.event_count for t in traces)
    assert told == sorted(told)
    size = (data / JAX / "vm.trace.json.gz").stat().st_size
    assert told[-1] == (size, size, 2978)

    def stop(done: int, total: int, events: int, /) -> None:
        raise Cancelled("stopped")

    with pytest.raises(Cancelled):
        registry.read(data / JAX / "vm.trace.json.gz", stop)


# ── real ones ──


def test_powerboards_runs_are_read_with_their_steps(shared_data: Path) -> None:
    paths = sorted((shared_data / "public").glob("powerboard_tf22_*/**/*.trace.json.gz"))
    assert len(paths) == 2
    for path in paths:
        trace = registry.read(path)
        raw = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
        assert trace.event_count == sum(e.get("ph") == "X" for e in raw)
        assert not trace.warnings
        context = {i for i in range(len(trace.names)) if trace.names.full(i) == "TraceContext"}
        numbers: list[int] = []
        for process, track in trace.tracks():
            rows = np.flatnonzero(np.isin(track.events.name, list(context)))
            found = process.source.columns(track.events.position[rows], ["step_num", "epoch_num"])
            numbers += found["step_num"].ints.tolist()
            assert set(found["epoch_num"].ints.tolist()) <= {1}
        assert len(numbers) == 20
        if "195247" in str(path):
            assert sorted(numbers) == list(range(30, 50))


def test_every_public_json_is_read_or_explained(shared_data: Path) -> None:
    read = 0
    for path in [
        *(shared_data / "public").rglob("*.json.gz"),
        *(shared_data / "public").rglob("trace.json"),
    ]:
        if "memory_profile" in path.name:
            with pytest.raises(UnreadableFile) as error:
                registry.read(path)
            assert error.value.hint
        else:
            trace = registry.read(path)
            assert trace.event_count > 0
            assert trace.format == ("kineto" if "kineto" in str(path) else "trace_json")
            read += 1
    assert read >= 6


@pytest.mark.parametrize(
    ("base_us", "known"),
    [(0.99e14, False), (1.01e14, True), (1.8e15, True), (3.99e15, True), (4.01e15, False)],
)
def test_a_ts_of_three_years_and_more_is_unix_time(base_us: float, known: bool) -> None:
    """A machine that never was told the time counts from 1970; no program runs for three years, or
    is from after 2096.
    """
    clock = json_times.clock_of(base_us, None)
    assert clock.known is known
    assert not known or clock.mid_ns == round(base_us * 1000)


def test_bytes_that_are_no_utf8_look_alike_however_they_came() -> None:
    """The scanner keeps such bytes as surrogates, so that text can become the same bytes again;
    Python's decoder replaces them.
    """
    kept = b"array.py:\xed\xa0\x80".decode("utf-8", "surrogateescape")
    assert json_stats.clean(kept) == b"array.py:\xed\xa0\x80".decode("utf-8", "replace")
    assert json_stats.clean("half a pair: \ud83d") == "half a pair: ?"
