"""TensorFlow's old trace protobuf, written by messages that are made of its published fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from powertui.data import loading, logdir
from powertui.data.formats import kineto, perfetto, registry, tf_trace, xplane
from powertui.data.model import ProcessKind
from powertui.errors import UnreadableFile
from tests.synthetic import xplane as made_xplane

MS = 10**9
_FIELD = descriptor_pb2.FieldDescriptorProto


def _trace_class() -> Any:
    """trace_events.proto, with its maps."""
    file = descriptor_pb2.FileDescriptorProto(
        name="trace_events.proto", package="t", syntax="proto3"
    )

    def add(name: str, *fields: tuple[str, int, int]) -> Any:
        one = file.message_type.add(name=name)
        for field, number, kind in fields:
            one.field.add(name=field, number=number, type=kind, label=_FIELD.LABEL_OPTIONAL)
        return one

    def mapped(one: Any, field: str, number: int, key: int, value: int, of: str = "") -> None:
        entry = one.nested_type.add(name=f"{field.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=key, label=_FIELD.LABEL_OPTIONAL)
        told = entry.field.add(name="value", number=2, type=value, label=_FIELD.LABEL_OPTIONAL)
        if of:
            told.type_name = f".t.{of}"
        one.field.add(
            name=field,
            number=number,
            type=_FIELD.TYPE_MESSAGE,
            label=_FIELD.LABEL_REPEATED,
            type_name=f".t.{one.name}.{entry.name}",
        )

    trace = add("Trace")
    mapped(trace, "devices", 1, _FIELD.TYPE_UINT32, _FIELD.TYPE_MESSAGE, "Device")
    trace.field.add(
        name="trace_events",
        number=4,
        type=_FIELD.TYPE_MESSAGE,
        label=_FIELD.LABEL_REPEATED,
        type_name=".t.TraceEvent",
    )
    device = add("Device", ("name", 1, _FIELD.TYPE_STRING), ("device_id", 2, _FIELD.TYPE_UINT32))
    mapped(device, "resources", 3, _FIELD.TYPE_UINT32, _FIELD.TYPE_MESSAGE, "Resource")
    add("Resource", ("name", 1, _FIELD.TYPE_STRING), ("resource_id", 2, _FIELD.TYPE_UINT32))
    event = add(
        "TraceEvent",
        ("device_id", 1, _FIELD.TYPE_UINT32),
        ("resource_id", 2, _FIELD.TYPE_UINT32),
        ("name", 3, _FIELD.TYPE_STRING),
        ("timestamp_ps", 9, _FIELD.TYPE_UINT64),
        ("duration_ps", 10, _FIELD.TYPE_UINT64),
    )
    mapped(event, "args", 11, _FIELD.TYPE_STRING, _FIELD.TYPE_STRING)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    found = pool.FindMessageTypeByName("t.Trace")
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)  # protobuf 4.21


TRACE = _trace_class()
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def written(steps: int = 5, zero: int = 0) -> Any:
    trace = TRACE()
    for number, name, lines in (
        (1, "/host:CPU", {7: "python", 8: "tf_Compute"}),
        (2, GPU, {1: "stream:all"}),
    ):
        trace.devices[number].name = name
        trace.devices[number].device_id = number
        for line, label in lines.items():
            trace.devices[number].resources[line].name = label
            trace.devices[number].resources[line].resource_id = line
    for step in range(steps):
        at = zero + step * 10 * MS
        rows = (
            (1, 7, "TraceContext", 0, 9 * MS),
            (1, 8, "dense/MatMul:MatMul", MS, 2 * MS),
            (2, 1, "volta_sgemm", 2 * MS, 5 * MS),
        )
        for device, line, name, offset, length in rows:
            event = trace.trace_events.add(
                device_id=device,
                resource_id=line,
                name=name,
                timestamp_ps=at + offset,
                duration_ps=length,
            )
            if name == "TraceContext":
                event.args["step_num"] = str(step)
                event.args["group_id"] = str(step)
    return trace


def save(path: Path, trace: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(trace.SerializeToString(deterministic=True))
    return path


def test_a_local_trace_is_a_run_with_its_steps(tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "profile" / "2020-01-05_10-00-00"
    save(folder / "local.trace", written())
    (run,) = logdir.scan(tmp_path).runs
    assert [(file.host, file.tool) for file in run.profiles] == [("local", "trace")]
    opened = loading.load_run(run)
    trace = opened.traces[0]
    assert trace.format == "tf_trace"
    assert not trace.warnings
    assert trace.event_count == 15
    assert {
        process.name: (process.kind, [track.name for track in process.tracks])
        for process in trace.processes
    } == {
        "/device:GPU:0": (ProcessKind.DEVICE, ["stream:all"]),
        "/host:CPU": (ProcessKind.HOST, ["python", "tf_Compute"]),
    }
    assert opened.steps[0].number.tolist() == list(range(5))
    process, track = next((p, t) for p, t in trace.tracks() if t.name == "python")
    assert {
        one.name: one.value for one in process.source.event_stats(track.events.position_of(3))
    } == {
        "step_num": "3",
        "group_id": "3",
    }
    assert track.events.start.tolist() == [step * 10 * MS for step in range(5)]


def test_a_trace_outside_a_run_folder_is_found_by_what_it_holds(tmp_path: Path) -> None:
    save(tmp_path / "a" / "host.1.trace", written())
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "app.trace").write_bytes(b"SLOW\x03\x00 another tool's trace" * 20)
    found = logdir.scan(tmp_path)
    assert [run.profiles[0].host for run in found.runs] == ["host.1"]
    assert not found.unread


def test_times_of_a_machine_are_counted_from_the_first(tmp_path: Path) -> None:
    near, far = (
        registry.read(save(tmp_path / f"{zero}.trace", written(zero=zero)))
        for zero in (5 * MS, 40_000_000 * MS)
    )
    assert near.span[0] == 5 * MS
    assert far.span[0] == 0
    assert far.span[1] == near.span[1] - near.span[0]


@pytest.mark.parametrize("part", [0.999, 0.7, 0.3, 0.05, 0.002])
def test_a_trace_that_was_cut(tmp_path: Path, part: float) -> None:
    whole = written(2000)
    data = whole.SerializeToString(deterministic=True)
    path = tmp_path / "vm.trace"
    path.write_bytes(data[: int(len(data) * part)])
    sizes = [len(TRACE(trace_events=[event]).SerializeToString()) for event in whole.trace_events]
    ends = np.cumsum([len(data) - sum(sizes), *sizes])[1:]
    trace = registry.read(path)
    assert trace.event_count == int((ends <= int(len(data) * part)).sum())
    assert "ends in the middle" in trace.warnings[0].cause


def test_events_without_devices_and_devices_without_names(tmp_path: Path) -> None:
    trace = written(2)
    trace.devices.clear()
    found = registry.read(save(tmp_path / "x.trace", trace))
    assert [process.name for process in found.processes] == ["device 1", "device 2"]
    assert found.event_count == 6


def test_who_takes_what() -> None:
    own = written().SerializeToString(deterministic=True)
    other = made_xplane.encode(
        [
            made_xplane.Plane(
                "/host:CPU", [made_xplane.Line("python", [made_xplane.Event("a", 0, 5)])]
            )
        ]
    )
    assert tf_trace.sniff(own, "x") > max(
        xplane.sniff(own, "x"), perfetto.sniff(own, "x"), kineto.sniff(own, "x")
    )
    assert xplane.sniff(other, "x") > tf_trace.sniff(other, "x") == 0
    assert tf_trace.sniff(b"", "x.trace") == 0
    assert tf_trace.sniff(b"\x0a\x80", "x.trace") <= 30


@pytest.mark.parametrize("seed", range(40))
def test_damage_costs_no_more_than_itself(tmp_path: Path, seed: int) -> None:
    import random

    draw = random.Random(seed)
    data = bytearray(written(50).SerializeToString(deterministic=True))
    for _ in range(draw.randrange(1, 6)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    path = tmp_path / "x.trace"
    path.write_bytes(data)
    try:
        trace = registry.read(path)
    except UnreadableFile:
        return
    for process, track in trace.tracks():
        assert (track.events.duration >= 0).all()
        for row in range(min(len(track.events), 3)):
            process.source.event_stats(track.events.position_of(row))
