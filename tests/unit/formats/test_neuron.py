"""AWS Neuron. No recorded file lies here: all of these are written after the fields that the vendor
documents, and prove no more than that those are read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import powertui
from powertui.data.formats import registry
from powertui.data.model import PS_PER_NS, Trace
from powertui.errors import UnreadableFile

EPOCH_NS = 1_790_000_000_000_000_000


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def lines(trace: Trace) -> list[tuple[str, str, list[tuple[str, int, int]]]]:
    """(process, line, [(name, start, duration in ns)])."""
    return [
        (
            process.name,
            track.name,
            [
                (trace.names.full(name), start // PS_PER_NS, length // PS_PER_NS)
                for name, start, length in zip(
                    track.events.name.tolist(),
                    track.events.start.tolist(),
                    track.events.duration.tolist(),
                    strict=True,
                )
            ],
        )
        for process, track in trace.tracks()
    ]


def system_profile() -> dict[str, Any]:
    def event(name: str, group: str, start: int, duration: int, thread: int) -> dict[str, Any]:
        return {
            "timestamp": EPOCH_NS + start,
            "duration": duration,
            "name": name,
            "group": group,
            "id": start,
            "instance_id": "i-0abc",
            "process_id": 42,
            "thread_id": thread,
            "type": "api",
        }

    return {
        "trace_events": [
            event("nrt_execute", "nrt-nc-000", 0, 900, 7),
            event("nrt_execute", "nrt-nc-001", 100, 900, 8),
            event("forward", "framework-python", 10, 2_000, 7),
        ],
        "mem_usage": [{"timestamp": EPOCH_NS + 5, "usage": 1024, "percent_usage": 1.5}],
        "cpu_util": [{"cpu_id": 3, "timestamp": EPOCH_NS + 6, "util": 80.0}],
    }


def test_a_system_profile_has_cores_hosts_counters_and_its_time(tmp_path: Path) -> None:
    trace = registry.read(write(tmp_path / "system_profile.json", system_profile()))
    assert trace.format == "neuron"
    assert lines(trace) == [
        ("/device:NeuronCore:0", "nrt-nc-000", [("nrt_execute", 0, 900)]),
        ("/device:NeuronCore:1", "nrt-nc-001", [("nrt_execute", 100, 900)]),
        ("/host:CPU i-0abc process 42", "framework-python 7", [("forward", 10, 2_000)]),
    ]
    assert trace.clock.mid_ns == EPOCH_NS
    assert [(each.name, each.unit, each.values.tolist()) for each in trace.counters] == [
        ("CPU 3", "%", [80.0]),
        ("memory in use", "bytes", [1024.0]),
    ]
    (process, *_) = trace.processes
    position = process.tracks[0].events.position_of(0)
    facts = {stat.name: stat.value for stat in process.source.event_stats(position)}
    assert (facts["instance_id"], facts["id"]) == ("i-0abc", 0)


def device_profile() -> dict[str, Any]:
    def instruction(start: int, engine: str, op: str, opcode: str) -> dict[str, Any]:
        return {
            "timestamp": start,
            "duration": 50,
            "label": engine,
            "hlo_name": op,
            "opcode": opcode,
            "operands": "x",
        }

    return {
        "summary": [{"total_time": 0.5, "tensor_engine_active_time": 0.2}],
        "instruction": [
            instruction(0, "TensorMatrix", "dot.1", "MATMUL"),
            instruction(100, "TensorMatrix", "dot.1", "MATMUL"),
            instruction(60, "Vector", "", "ADD"),
        ],
    }


def test_a_device_profile_has_a_line_for_each_engine(tmp_path: Path) -> None:
    path = write(tmp_path / "device_profile_model_1.json", device_profile())
    trace = registry.read(path)
    assert lines(trace) == [
        ("/device:NeuronCore:0", "TensorMatrix", [("dot.1", 0, 50), ("dot.1", 100, 50)]),
        ("/device:NeuronCore:0", "Vector", [("ADD", 60, 50)]),
    ]
    frame = powertui.open(path)[0].tool("op_stats").frame
    assert dict(zip(frame.full_name, frame["count"], strict=True)) == {"dot.1": 2, "ADD": 1}


def chrome(**more: Any) -> dict[str, Any]:
    names = {1: "Process Overview", 2: "Process Execution"}
    rows = {(1, 1): "Compute Busy", (1, 2): "DMA Busy", (2, 1): "Framework Ops", (2, 2): "HLO Ops"}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for pid, name in names.items()
    ]
    for (pid, tid), name in rows.items():
        same = {"pid": pid, "tid": tid}
        events.append({"ph": "M", "name": "thread_name", "args": {"name": name}, **same})
        events.append({"ph": "X", "name": f"fused_{tid}", "ts": 1.5, "dur": 2.0, **same})
    return {
        "displayTimeUnit": "ns",
        "neuronStartTimestampNs": EPOCH_NS,
        "traceEvents": events,
        **more,
    }


@pytest.mark.parametrize("name", ["neuron_trace.json", "neuron_op_timeline.json"])
def test_traces_of_torch_neuronx_are_runs_of_their_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "plugins/neuron/2022_10_14_19_22_22_16"
    write(folder / name, chrome())
    (run,) = powertui.open(tmp_path)
    (trace,) = run.opened.run.traces
    assert [(process, line) for process, line, _ in lines(trace)] == [
        ("/device:NeuronCore:0", "Framework Ops"),
        ("/device:NeuronCore:0", "HLO Ops"),
        ("Process Overview", "Compute Busy"),
        ("Process Overview", "DMA Busy"),
    ]
    # What the framework called an op lies over the ops of the device: counted once.
    derived = [track.derived for process, track in trace.tracks() if process.name[0] == "/"]
    assert derived == [True, False]
    assert trace.clock.mid_ns == EPOCH_NS


@pytest.mark.parametrize("name", ["model.neff", "profile_nc_0.ntff"])
def test_captures_in_closed_formats_lead_to_the_export(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(bytes(range(256)))
    with pytest.raises(UnreadableFile) as caught:
        registry.read(path)
    assert caught.value.problem == (
        "is a capture of AWS Neuron in a closed format, which only Neuron's tools read"
    )
    assert caught.value.hint == (
        "Export it: neuron-explorer view -n MODEL.neff -s PROFILE.ntff --output-format json"
    )


def test_damaged_events_are_counted_and_an_empty_export_is_refused(tmp_path: Path) -> None:
    profile = system_profile()
    profile["trace_events"] += [{"instance_id": 1}, 7, {"timestamp": "x", "duration": 1}]
    trace = registry.read(write(tmp_path / "system_profile.json", profile))
    assert [(warning.cause, warning.count) for warning in trace.warnings] == [
        ("events without a usable timestamp or duration were left out", 3)
    ]
    empty = write(tmp_path / "system_profile.json", {"trace_events": []})
    with pytest.raises(UnreadableFile, match="without events"):
        registry.read(empty)
