"""Perfetto's own traces, written by Perfetto's own message classes, recounted in plain Python."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from powertui.data.formats import registry
from powertui.data.formats.pairing import pair
from powertui.data.formats.perfetto import sniff
from powertui.data.formats.perfetto.names import last_definitions
from powertui.data.model import Trace
from powertui.errors import UnreadableFile

trace_pb2 = pytest.importorskip(
    "perfetto.protos.perfetto.trace.perfetto_trace_pb2",
    reason="perfetto (PyPI) is not installed, or wants another protobuf",
    exc_type=ImportError,
)

BOOT, REAL = 6, 1
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
T0 = 5_000_000_000  # ns since boot
UNIX = 1_790_000_000_000_000_000


def snapshot(trace: Any, boot: int = T0, real: int = UNIX + T0, **more: int) -> None:
    packet = trace.packet.add()
    packet.clock_snapshot.primary_trace_clock = BOOT
    for clock, ns in ((BOOT, boot), (REAL, real)):
        one = packet.clock_snapshot.clocks.add()
        one.clock_id, one.timestamp = clock, ns


def thread(trace: Any, uuid: int, pid: int, tid: int, name: str, process: str = "python") -> None:
    packet = trace.packet.add()
    packet.track_descriptor.uuid = uuid
    packet.track_descriptor.thread.pid, packet.track_descriptor.thread.tid = pid, tid
    packet.track_descriptor.thread.thread_name = name
    packet = trace.packet.add()
    packet.track_descriptor.uuid = 1_000_000 + pid
    packet.track_descriptor.process.pid, packet.track_descriptor.process.process_name = pid, process


def event(
    trace: Any,
    at: int,
    kind: int,
    uuid: int | None = None,
    name: str = "",
    sequence: int = 1,
    **more: Any,
) -> Any:
    packet = trace.packet.add()
    packet.timestamp, packet.trusted_packet_sequence_id = at, sequence
    packet.track_event.type = kind
    if uuid is not None:
        packet.track_event.track_uuid = uuid
    if name:
        packet.track_event.name = name
    for key, value in more.items():
        setattr(packet.track_event, key, value)
    return packet


def read(tmp_path: Path, trace: Any, name: str = "a.pftrace") -> Trace:
    path = tmp_path / name
    path.write_bytes(trace if isinstance(trace, bytes) else trace.SerializeToString())
    return registry.read(path)


def stretches(trace: Trace) -> dict[tuple[str, str], list[tuple[str, int, int]]]:
    """(process, track) → (name, start ns, duration ns) by time."""
    found: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
    for process, track in trace.tracks():
        events = track.events
        rows = sorted(
            zip(
                events.start.tolist(),
                (-events.duration).tolist(),
                events.name.tolist(),
                strict=True,
            )
        )
        found[process.name, track.name] = [
            (trace.names.full(n), s // 1000, -d // 1000) for s, d, n in rows
        ]
    return found


def causes(trace: Trace) -> list[str]:
    return [warn.cause for warn in trace.warnings]


def test_begins_and_ends_become_stretches_on_their_thread(tmp_path: Path) -> None:
    trace = trace_pb2.Trace()
    snapshot(trace)
    thread(trace, 7, 100, 101, "main")
    event(trace, T0, BEGIN, 7, "step")
    event(trace, T0 + 10, BEGIN, 7, "MatMul")
    event(trace, T0 + 40, END, 7)
    event(trace, T0 + 45, INSTANT, 7, "mark")
    event(trace, T0 + 100, END, 7)
    read_back = read(tmp_path, trace)
    assert stretches(read_back) == {
        ("python", "main"): [("step", 0, 100), ("MatMul", 10, 30), ("mark", 45, 0)]
    }
    assert read_back.format == "perfetto"
    assert read_back.clock.mid_ns == UNIX + T0
    assert not causes(read_back)


def test_a_track_whose_number_needs_all_64_bits_has_its_name(tmp_path: Path) -> None:
    """Writers hash names into such numbers; the columns of the wire hold them as signed ones."""
    trace = trace_pb2.Trace()
    snapshot(trace)
    uuid = (1 << 64) - 12_345
    thread(trace, uuid, 7, 8, "worker")
    event(trace, T0, BEGIN, uuid, "work")
    event(trace, T0 + 50, END, uuid)
    assert stretches(read(tmp_path, trace)) == {("python", "worker"): [("work", 0, 50)]}


def test_a_number_means_what_it_last_meant_in_its_own_sequence(tmp_path: Path) -> None:
    trace = trace_pb2.Trace()
    thread(trace, 7, 1, 1, "a")
    thread(trace, 8, 1, 2, "b")
    for at, sequence, uuid, names in (
        (0, 1, 7, {1: "old"}),
        (100, 2, 8, {1: "other"}),
        (200, 1, 7, {1: "new"}),
    ):
        packet = event(trace, at, BEGIN, uuid, sequence=sequence, name_iid=1)
        for number, text in names.items():
            one = packet.interned_data.event_names.add()
            one.iid, one.name = number, text
        event(trace, at + 50, END, uuid, sequence=sequence)
    event(trace, 300, BEGIN, 7, sequence=1, name_iid=1)
    event(trace, 310, END, 7, sequence=1)
    event(trace, 320, INSTANT, 7, sequence=1, name_iid=9)
    read_back = read(tmp_path, trace)
    found = stretches(read_back)
    assert [name for name, _, _ in found["python", "a"]] == ["old", "new", "new", "event 9"]
    assert [name for name, _, _ in found["python", "b"]] == ["other"]
    assert "events whose names were lost are called by their number" in causes(read_back)


def test_incremental_clocks_of_a_sequence_add_up(tmp_path: Path) -> None:
    """Chrome's way: timestamps in µs since the last packet, counted from a snapshot, on packets of
    every kind.
    """
    trace = trace_pb2.Trace()
    packet = trace.packet.add()
    packet.trusted_packet_sequence_id = 3
    packet.clock_snapshot.primary_trace_clock = BOOT
    for clock, ns, unit in ((BOOT, T0, 0), (64, 700, 1000)):
        one = packet.clock_snapshot.clocks.add()
        one.clock_id, one.timestamp, one.is_incremental, one.unit_multiplier_ns = (
            clock,
            ns,
            bool(unit),
            unit,
        )
    packet = trace.packet.add()
    packet.trusted_packet_sequence_id = 3
    packet.trace_packet_defaults.timestamp_clock_id = 64
    packet.trace_packet_defaults.track_event_defaults.track_uuid = 7
    thread(trace, 7, 1, 1, "t")
    event(trace, 5, BEGIN, name="a", sequence=3)
    packet = trace.packet.add()  # no event, but its time counts
    packet.timestamp, packet.trusted_packet_sequence_id = 10, 3
    event(trace, 5, END, sequence=3)
    event(trace, T0 + 50_000, INSTANT, 7, "on the trace's clock", sequence=4)
    read_back = read(tmp_path, trace)
    assert stretches(read_back) == {
        ("python", "t"): [("a", 0, 15_000), ("on the trace's clock", 45_000, 0)]
    }


def test_counters_with_units_and_increments(tmp_path: Path) -> None:
    trace = trace_pb2.Trace()
    thread(trace, 7, 1, 1, "t")
    for uuid, name, unit, multiplier, incremental in (
        (20, "memory", 3, 1024, False),
        (21, "sent", 0, 1, True),
        (22, "power", 0, 0, False),  # without a multiplier
    ):
        packet = trace.packet.add()
        track = packet.track_descriptor
        track.uuid, track.parent_uuid, track.name = uuid, 1_000_001, name
        track.counter.unit, track.counter.unit_multiplier, track.counter.is_incremental = (
            unit,
            multiplier,
            incremental,
        )
        if name == "power":
            track.counter.unit_name = "W"
    for at in range(3):
        event(trace, at, COUNTER, 20, counter_value=at + 1)
        event(trace, at, COUNTER, 21, counter_value=5)
        event(trace, at, COUNTER, 22, double_counter_value=0.5 * at)
    read_back = read(tmp_path, trace)
    found = {one.name: one for one in read_back.counters}
    assert found["memory"].values.tolist() == [1024, 2048, 3072]
    assert (found["memory"].unit, found["power"].unit, found["memory"].process) == (
        "bytes",
        "W",
        "python",
    )
    assert found["sent"].values.tolist() == [5, 10, 15]
    assert found["power"].values.tolist() == [0, 0.5, 1]
    assert found["power"].times.tolist() == [0, 1000, 2000]


def test_supply_rails_are_joules(tmp_path: Path) -> None:
    trace = trace_pb2.Trace()
    packet = trace.packet.add()
    packet.timestamp, packet.trusted_packet_sequence_id = 1_000_000_000, 1
    one = packet.power_rails.rail_descriptor.add()
    one.index, one.rail_name = 0, "S4M_VDD_CPUCL0"
    for ms, uj in ((1000, 7_000_000), (2000, 9_500_000)):
        one = packet.power_rails.energy_data.add()
        one.index, one.timestamp_ms, one.energy = 0, ms, uj
    (rail,) = read(tmp_path, trace).counters
    assert (rail.name, rail.unit, rail.values.tolist(), rail.times.tolist()) == (
        "S4M_VDD_CPUCL0",
        "J",
        [7, 9.5],
        [0, 10**12],
    )


def test_annotations_are_read_when_asked_for(tmp_path: Path) -> None:
    trace = trace_pb2.Trace()
    thread(trace, 7, 1, 1, "t")
    packet = event(trace, 0, BEGIN, 7, "step")
    one = packet.interned_data.debug_annotation_names.add()
    one.iid, one.name = 4, "step_num"
    for number, kind, value in (
        (4, "int_value", 12),
        (0, "string_value", "x"),
        (0, "double_value", 0.25),
    ):
        note = packet.track_event.debug_annotations.add()
        if number:
            note.name_iid = number
        else:
            note.name = kind
        setattr(note, kind, value)
    nested = packet.track_event.debug_annotations.add()
    nested.name = "shape"
    for size in (2, 3):
        nested.array_values.add().int_value = size
    event(trace, 9, END, 7)
    read_back = read(tmp_path, trace)
    process, track = next(read_back.tracks())
    assert [(s.name, s.value) for s in process.source.event_stats(track.events.position_of(0))] == [
        ("step_num", 12),
        ("string_value", "x"),
        ("double_value", 0.25),
        ("shape", "[2, 3]"),
    ]
    column = process.source.columns(track.events.position, ["step_num", "none"])
    assert column["step_num"].ints.tolist() == [12]
    assert not column["none"].present.any()


def test_packed_packets_stand_where_they_were_packed(tmp_path: Path) -> None:
    inner, trace = trace_pb2.Trace(), trace_pb2.Trace()
    thread(inner, 7, 1, 1, "t")
    packet = event(inner, 0, BEGIN, 7, name_iid=1)
    one = packet.interned_data.event_names.add()
    one.iid, one.name = 1, "packed"
    note = packet.track_event.debug_annotations.add()
    note.name, note.int_value = "n", 3
    trace.packet.add().compressed_packets = zlib.compress(inner.SerializeToString())
    event(trace, 30, END, 7)
    event(trace, 40, INSTANT, 7, name_iid=1)
    read_back = read(tmp_path, trace)
    assert stretches(read_back) == {("python", "t"): [("packed", 0, 30), ("packed", 40, 0)]}
    process, track = next(read_back.tracks())
    assert [s.value for s in process.source.event_stats(track.events.position_of(0))] == [3]


def test_what_is_not_drawn_is_named(tmp_path: Path) -> None:
    trace = trace_pb2.Trace()
    thread(trace, 7, 1, 1, "t")
    trace.packet.add().ftrace_events.cpu = 0
    event(trace, 0, INSTANT, 7, "a")
    event(trace, 1, END, 7)
    event(trace, 2, BEGIN, 7, "never ends")
    event(trace, 9, INSTANT, 7, "last")
    read_back = read(tmp_path, trace)
    assert stretches(read_back)["python", "t"] == [
        ("a", 0, 0),
        ("never ends", 2, 7),
        ("last", 9, 0),
    ]
    assert set(causes(read_back)) == {
        "kernel events (ftrace) are not drawn",
        "end events without a begin event were left out",
        "begin events without an end event were extended to the end of the trace",
    }


def test_old_writers_events_with_phases(tmp_path: Path) -> None:
    trace = trace_pb2.Trace()
    packet = trace.packet.add()
    packet.trusted_packet_sequence_id = 1
    (
        packet.thread_descriptor.pid,
        packet.thread_descriptor.tid,
        packet.thread_descriptor.thread_name,
    ) = 5, 6, "old"
    packet = event(trace, 1000, 0, name="span")
    packet.track_event.legacy_event.phase, packet.track_event.legacy_event.duration_us = ord("X"), 4
    packet = event(trace, 9000, 0, name="asynchronous")
    packet.track_event.legacy_event.phase = ord("b")
    read_back = read(tmp_path, trace)
    assert stretches(read_back) == {("process 5", "old"): [("span", 0, 4000)]}
    assert "asynchronous events of old writers are not drawn" in causes(read_back)


@pytest.mark.parametrize("seed", range(6))
def test_random_traces_recounted(tmp_path: Path, seed: int) -> None:
    """Several sequences, clocks and tracks, packets out of order: every stretch as a stack machine
    has it.
    """
    lot = random.Random(seed)
    trace = trace_pb2.Trace()
    snapshot(trace)
    packets: list[tuple[int, Any]] = []
    truth: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
    for number in range(5):
        thread(trace, 50 + number, 9, number, f"t{number}")
        at, open_ones, mine = T0 + lot.randrange(1000), [], []
        for _ in range(lot.randrange(1, 200)):
            at += lot.randrange(0, 50)
            if open_ones and lot.random() < 0.5:
                begin, name = open_ones.pop()
                mine.append((name, begin - T0, at - begin))
                packets.append((at, (END, 50 + number, "", number % 2 + 1)))
            else:
                name = f"op{lot.randrange(9)}"
                open_ones.append((at, name))
                packets.append((at, (BEGIN, 50 + number, name, number % 2 + 1)))
        for begin, name in reversed(open_ones):
            at += 1
            mine.append((name, begin - T0, at - begin))
            packets.append((at, (END, 50 + number, "", number % 2 + 1)))
        truth["python", f"t{number}"] = mine
    packets.sort(key=lambda one: (one[1][1], one[0])) if seed % 2 else packets.sort(
        key=lambda one: one[0]
    )
    for at, (kind, uuid, name, sequence) in packets:
        event(trace, at, kind, uuid, name, sequence)
    read_back = read(tmp_path, trace)
    first = min(begin for rows in truth.values() for _, begin, _ in rows)
    moved = {key: sorted((n, b - first, d) for n, b, d in rows) for key, rows in truth.items()}
    assert {key: sorted(rows) for key, rows in stretches(read_back).items()} == moved


def test_pair_against_a_stack() -> None:
    lot = random.Random(5)
    for _ in range(300):
        opens = [lot.random() < 0.5 for _ in range(lot.randrange(0, 40))]
        stack, ended, stray = [], {}, 0
        for row, begins in enumerate(opens):
            if begins:
                stack.append(row)
                ended[row] = -1
            elif stack:
                ended[stack.pop()] = row
            else:
                stray += 1
        found = pair(np.array(opens, np.bool_))
        assert dict(zip(found.begin.tolist(), found.end.tolist(), strict=True)) == ended
        assert found.stray == stray


def test_latest_against_a_walk() -> None:
    lot = random.Random(6)
    for _ in range(100):
        defined = sorted(
            (lot.randrange(20), lot.randrange(3), lot.randrange(3))
            for _ in range(lot.randrange(1, 30))
        )
        wanted = [(lot.randrange(3), lot.randrange(3), lot.randrange(22)) for _ in range(20)]
        walked = [
            max(
                (i for i, (p, s, n) in enumerate(defined) if (s, n) == (a, b) and p <= packet),
                default=-1,
            )
            for a, b, packet in wanted
        ]
        columns = tuple(np.array([row[k] for row in defined], np.int64) for k in (1, 2, 0))
        asks = tuple(np.array([row[k] for row in wanted], np.int64) for k in range(3))
        assert last_definitions(columns, asks).tolist() == walked


def test_cut_anywhere_never_raises(tmp_path: Path) -> None:
    trace = trace_pb2.Trace()
    snapshot(trace)
    thread(trace, 7, 1, 1, "t")
    for at in range(20):
        event(trace, T0 + 2 * at, BEGIN, 7, f"op{at}")
        event(trace, T0 + 2 * at + 1, END, 7)
    whole = trace.SerializeToString()
    lot = random.Random(7)
    for size in sorted(lot.sample(range(len(whole)), 60)):
        try:
            found = read(tmp_path, whole[:size])
        except UnreadableFile:
            continue
        assert found.event_count <= 20
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(lot.randrange(1, 8)):
            damaged[lot.randrange(len(damaged))] = lot.randrange(256)
        try:
            read(tmp_path, bytes(damaged))
        except UnreadableFile:
            continue


def test_told_from_an_xplane() -> None:
    trace = trace_pb2.Trace()
    thread(trace, 7, 1, 1, "t")
    event(trace, 0, INSTANT, 7, "a")
    head = trace.SerializeToString()
    assert sniff(head, "x") > 70
    from powertui.data.formats import xplane
    from powertui.data.wire import schemas

    space = schemas.message("XSpace")()
    plane = space.planes.add(id=1, name="/host:CPU")
    plane.lines.add(id=3, name="main", timestamp_ns=5).events.add(
        metadata_id=1, offset_ps=3, duration_ps=9
    )
    assert sniff(space.SerializeToString(), "vm.xplane.pb") == 0
    assert xplane.sniff(head, "x") < sniff(head, "x")
