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
from powertui.data.tools import op_stats
from powertui.data.wire import schemas
from powertui.errors import UnreadableFile
from powertui.report import facts
from tests import answers

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


# ── tables of operators, and the operator timeline ──────────────────────────────────────────────


def framework_ops() -> dict[str, Any]:
    def row(name: str, count: int, core: int, ns: int, **more: Any) -> dict[str, Any]:
        return {
            "Op Name": name,
            "Occurrences": count,
            "Neuron Device": 0,
            "NeuronCore": core,
            "Time (ns)": ns,
            **more,
        }

    fused = row("fused_7", 4, 1, 300_000, fused_ops=["aten::relu", {"name": "aten::add"}])
    ops = [row("aten::softmax", 2, 0, 100_000), fused, row("aten::linear", 12, 0, 600_000)]
    return {"ops": ops, "total_time": 2_000_000}


def timeline() -> dict[str, Any]:
    """An operator timeline with the processes and rows that the vendor's page shows."""
    rows: dict[tuple[str, str], list[tuple[str, float, float]]] = {
        ("Process Overview", "Neuron Runtime Setup"): [("setup", 0, 10)],
        # Two stretches that overlap are busy once.
        ("Process Overview", "Compute Busy"): [("busy", 10, 40), ("busy", 30, 30)],
        ("Process Overview", "DMA Busy"): [("dma", 5, 20)],
        ("Process Execution", "module hierarchy"): [("model/layer1", 10, 60)],
        ("Process Execution", "Framework Ops"): [("aten::linear", 10, 40), ("fused_7", 50, 20)],
        ("Process Execution", "HLO Ops"): [
            ("dot.3", 10, 20),
            ("dot.3", 31, 18),
            ("fusion.7", 50, 20),
            ("orphan", 75, 5),
        ],
        ("Process Data Transfer", "HLO Ops"): [("copy.1", 5, 20)],
        ("Process Control", "Framework Ops"): [("wait", 70, 2)],
    }
    processes = {process: pid for pid, process in enumerate(dict.fromkeys(p for p, _ in rows), 1)}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}
        for name, pid in processes.items()
    ]
    for tid, ((process, line), spans) in enumerate(rows.items(), 1):
        where = {"pid": processes[process], "tid": tid}
        events.append({"ph": "M", "name": "thread_name", "args": {"name": line}, **where})
        events += [
            {"ph": "X", "name": name, "ts": ts, "dur": dur, **where} for name, ts, dur in spans
        ]
    return {
        "displayTimeUnit": "ns",
        "neuronStartTimestampNs": EPOCH_NS,
        "traceEvents": events,
    }


def rows_of(table: Any, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(table[column].value(row) for column in columns) for row in range(len(table))]


US = 1000 * PS_PER_NS
FRAMEWORK_ROWS = [
    ("aten::linear", None, 12, "core 0", 600 * US, 0.3),
    ("fused_7", None, 4, "core 1", 300 * US, 0.15),
    ("aten::relu", "fused_7", None, None, None, None),
    ("aten::add", "fused_7", None, None, None, None),
    ("aten::softmax", None, 2, "core 0", 100 * US, 0.05),
]
WORK_ROWS = [
    ("compute", "aten::linear", "dot.3", 2, 38 * US),
    ("compute", "fused_7", "fusion.7", 1, 20 * US),
    ("transfer", None, "copy.1", 1, 20 * US),
    ("compute", None, "orphan", 1, 5 * US),
    ("control", "wait", None, 1, 2 * US),
]


def result(folder: Path) -> Any:
    (run,) = powertui.open(folder)
    ((_, answer),) = run.tool("neuron_ops").results
    return answer


def check_framework_ops(answer: Any) -> None:
    table = answer["framework_ops"]
    columns = ("op", "fused_in", "occurrences", "core", "time_s", "share")
    assert rows_of(table, *columns) == FRAMEWORK_ROWS
    assert table.within.tolist() == [-1, -1, 1, 1, -1]
    assert table.counts_outer, "a fused op is one of the five"
    cores = rows_of(answer["framework_cores"], "device", "core", "ops", "time_s", "share")
    assert cores == [
        ("device 0", "core 0", 2, 700 * US, 0.35),
        ("device 0", "core 1", 1, 300 * US, 0.15),
    ]


def check_timeline(answer: Any) -> None:
    assert rows_of(answer["busy"], "line", "stretches", "busy_s") == [
        ("Compute Busy", 2, 50 * US),
        ("DMA Busy", 1, 20 * US),
        ("Neuron Runtime Setup", 1, 10 * US),
    ]
    shares = [share for (share,) in rows_of(answer["busy"], "share")]
    assert shares == pytest.approx([50 / 80, 20 / 80, 10 / 80], abs=1e-6)
    columns = ("part", "framework_op", "hlo_op", "count", "time_s")
    assert rows_of(answer["timeline_ops"], *columns) == WORK_ROWS


@pytest.mark.parametrize("has_timeline", [False, True])
def test_tables_of_ops_open_fused_ops_and_have_shares_by_core(
    tmp_path: Path, has_timeline: bool
) -> None:
    folder = tmp_path / "plugins/neuron/2022_10_14_19_22_22_16_a0b1_1"
    write(folder / "neuron_framework_op.json", framework_ops())
    hlo = {"ops": [{"op": "dot.3", "timeMs": "0.5", "percent": "25 %"}]}
    write(folder / "neuron_hlo_op.json", hlo)
    if has_timeline:
        write(folder / "neuron_op_timeline.json", timeline())
    answer = result(tmp_path)
    check_framework_ops(answer)
    assert rows_of(answer["hlo_ops"], "op", "time_s", "share") == [("dot.3", 500 * US, 0.25)]
    # A column that the file has nothing for is no column.
    assert answer["hlo_ops"].ids == ("op", "time_s", "share")
    assert any("total time that the file states" in note for note in answer.notes)
    if has_timeline:
        check_timeline(answer)
        # Modules, framework ops and busy lines say the same again: HLO ops alone are work.
        ops = powertui.open(tmp_path)[0].tool("op_stats").frame
        work = {"dot.3", "fusion.7", "orphan", "copy.1", "wait"}
        assert set(ops.full_name) == work


def neuron_space(**planes: dict[str, Any]) -> Any:
    """An XPlane with JSON results as planes, as torch-neuronx' profiler server hands them over."""
    space = schemas.message("XSpace")()
    for name, document in planes.items():
        where = "/host:Neuron-runtime:profile//a0b1_1/model10001/node5/plugins/neuron/1665775342"
        plane = space.planes.add(name=f"{where}/{name}.json")
        records = document.get("traceEvents", [])
        members = {key: value for key, value in document.items() if isinstance(value, str | int)}
        members.update(
            {f"op_{row}": json.dumps(op) for row, op in enumerate(document.get("ops", []))}
        )
        for key, (member, value) in enumerate(members.items(), 2):
            plane.stat_metadata[key].id = key
            plane.stat_metadata[key].name = member
            stat = plane.stats.add(metadata_id=key)
            if isinstance(value, str):
                stat.str_value = value
            else:
                stat.uint64_value = value
        plane.stat_metadata[1].id = 1
        plane.stat_metadata[1].name = "record"
        plane.event_metadata[1].id = 1
        plane.event_metadata[1].name = "event"
        line = plane.lines.add(id=1, name="events")
        for record in records:
            event = line.events.add(metadata_id=1)
            text = record if isinstance(record, str) else json.dumps(record)
            event.stats.add(metadata_id=1).str_value = text
        if not records:
            del plane.lines[:]
    return space


def test_results_in_planes_of_an_xplane_answer_as_their_files_do(tmp_path: Path) -> None:
    damaged = timeline()
    damaged["traceEvents"] = [*damaged["traceEvents"], "{not json", "[1]"]
    space = neuron_space(neuron_framework_op=framework_ops(), neuron_op_timeline=damaged)
    host = space.planes.add(name="/host:CPU")
    host.event_metadata[1].id = 1
    host.event_metadata[1].name = "python call"
    line = host.lines.add(id=1, name="python")
    line.events.add(metadata_id=1, offset_ps=3 * US, duration_ps=7 * US)
    folder = tmp_path / "plugins/profile/2022_10_14_19_22_22"
    folder.mkdir(parents=True)
    (folder / "vm.xplane.pb").write_bytes(space.SerializeToString())
    (run,) = powertui.open(tmp_path)
    trace = run.opened.run.traces[0]
    assert ("/device:NeuronCore:0", "HLO Ops") in [(where, line) for where, line, _ in lines(trace)]
    assert ("/host:CPU", "python", [("python call", 3_000, 7_000)]) in lines(trace)
    causes = {warning.cause: warning.count for warning in trace.warnings}
    assert causes["records of Neuron's timeline that are not JSON were left out"] == 2
    # Nothing in the file says how far apart host and device began.
    assert (
        "no clock relates Neuron's timeline to the host: it starts where the profile starts"
        in causes
    )
    ((_, answer),) = run.tool("neuron_ops").results
    check_framework_ops(answer)
    columns = ("part", "framework_op", "hlo_op", "count", "time_s")
    assert rows_of(answer["timeline_ops"], *columns) == WORK_ROWS
    assert any(op.full == "dot.3" for op in op_stats.op_stats(trace).ops)


def test_a_timeline_in_a_plane_is_placed_by_the_clocks_of_both(tmp_path: Path) -> None:
    space = neuron_space(neuron_op_timeline=timeline())
    environment = space.planes.add(name="Task Environment")
    environment.stat_metadata[1].id = 1
    environment.stat_metadata[1].name = "profile_start_time"
    environment.stats.add(metadata_id=1).uint64_value = EPOCH_NS - 2_000
    host = space.planes.add(name="/host:CPU")
    host.event_metadata[1].id = 1
    host.event_metadata[1].name = "call"
    host.lines.add(id=1, name="python").events.add(metadata_id=1, offset_ps=0, duration_ps=US)
    path = tmp_path / "vm.xplane.pb"
    path.write_bytes(space.SerializeToString())
    trace = registry.read(path)
    starts = {(where, line): spans[0][1] for where, line, spans in lines(trace) if spans}
    assert starts["Process Overview", "Neuron Runtime Setup"] == 2_000
    assert starts["/device:NeuronCore:0", "HLO Ops"] == 12_000
    assert trace.warnings == ()
    # Alone in its file it keeps its own clock.
    alone = tmp_path / "alone.xplane.pb"
    alone.write_bytes(neuron_space(neuron_op_timeline=timeline()).SerializeToString())
    assert registry.read(alone).clock.mid_ns == EPOCH_NS


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"rows": [1]}, "has no list `ops`, which a table of ops has: rows"),
        (
            {"ops": [{"Op Name": "a", "cycles": 5}]},
            "is a table of ops in which no row has a time; its fields: Op Name, cycles",
        ),
        ({"ops": [{"Time (ns)": 5}]}, "is a table of ops in which no row has a name"),
        ({"ops": [7]}, "is a table of ops in which no row has a name"),
    ],
)
def test_a_table_that_lacks_what_a_table_needs_is_refused(
    tmp_path: Path, document: dict[str, Any], problem: str
) -> None:
    path = write(tmp_path / "neuron_hlo_op.json", document)
    (run,) = powertui.open(path)
    with pytest.raises(UnreadableFile) as caught:
        run.tool("neuron_ops")
    assert caught.value.problem.startswith(problem)


def test_a_folder_with_closed_captures_alone_leads_to_the_export(tmp_path: Path) -> None:
    write(tmp_path / "model.neff", 1)
    (run,) = powertui.open(tmp_path / "model.neff")
    assert facts.why_no_timeline(run.opened.entry) == (
        "no timeline: AWS Neuron executable (closed format). "
        "Export it: neuron-explorer view -n MODEL.neff -s PROFILE.ntff --output-format json"
    )


def test_the_machine_that_a_system_profile_names_owns_its_watts(tmp_path: Path) -> None:
    write(tmp_path / "system_profile.json", system_profile())
    readings = [
        f"{EPOCH_NS / 1e9 - 10 + number / 2:.3f},{host},{watts}"
        for number in range(40)
        for host, watts in (("i-0def", 900), ("i-0abc", 300))
    ]
    (tmp_path / "power.csv").write_text("\n".join(["time,host,watts", *readings]))
    run = powertui.open(tmp_path)[0]
    assert run.opened.profiles[0].trace.hostnames == ("i-0abc",)
    (sensor,) = answers.rows(run.tool("sensors").results[0][1].table)
    assert (sensor["sensor_host"], sensor["counted"]) == ("i-0abc", True)
