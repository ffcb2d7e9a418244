"""Captures of rocprofv3, written in the forms that its documentation and its own tests show
(rocprofiler-sdk 0.5 to 1.0).
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from powertui.data import loading, logdir
from powertui.data.formats import registry
from powertui.data.formats.rocprof.tables import split_table_name
from powertui.data.model import Trace
from powertui.errors import UnreadableFile

ADD, SUB = (
    "void addition_kernel<float>(float*, float const*, float const*, int, int)",
    "subtract_kernel(float*, int, int)",
)

KERNELS = f"""\
"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp",\
"End_Timestamp","Private_Segment_Size","Group_Segment_Size","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X",\
"Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH",2,1,1,21228,1,11,"{ADD}",7,2414192765353337,2414192765369494,0,512,64,1,1,1024,1024,1
"KERNEL_DISPATCH",2,1,1,21228,2,14,"{SUB}",8,2414192765424862,2414192765435326,0,0,64,1,1,1024,1024,1
"KERNEL_DISPATCH",3,2,2,21228,3,11,"{ADD}",9,2414192765608844,2414192765621674,0,0,64,1,1,1000,1,1
"""
HIP = """\
"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"HIP_RUNTIME_API_EXT","hipMemcpyAsync",21228,21228,5,2414192765100000,2414192765200000
"HIP_RUNTIME_API_EXT","hipLaunchKernel",21228,21228,7,2414192765300000,2414192765310000
"HIP_RUNTIME_API_EXT","hipLaunchKernel",21228,21228,8,2414192765320000,2414192765330000
"HIP_RUNTIME_API_EXT","hipLaunchKernel",21228,21229,9,2414192765600000,2414192765605000
"""
COPIES = """\
"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",1,0,2,5,2414192765150000,2414192765190000
"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_HOST",2,3,0,6,2414192765700000,2414192765710000
"""
MARKS = """\
"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"MARKER_CORE_API","forward",21228,21228,1,2414192765000000,2414192765800000
"""
AGENTS = """\
"Node_Id","Logical_Node_Id","Agent_Type","Cu_Count","Name","Vendor_Name","Product_Name"
0,0,"CPU",24,"AMD EPYC","CPU","AMD EPYC"
1,1,"CPU",24,"AMD EPYC","CPU","AMD EPYC"
2,2,"GPU",304,"gfx942","AMD","AMD Instinct MI300X"
3,3,"GPU",304,"gfx942","AMD","AMD Instinct MI300X"
"""
COUNTERS = f"""\
"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size",\
"LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",\
"End_Timestamp"
1,1,"Agent 2",1,15606,15606,1048576,17,"{ADD}",64,0,0,8,0,16,"SQ_WAVES",16384.000000,2414192765353337,2414192765369494
1,1,"Agent 2",1,15606,15606,1048576,17,"{ADD}",64,0,0,8,0,16,"FETCH_SIZE",12.500000,2414192765353337,2414192765369494
2,2,"Agent 2",1,15606,15606,1048576,20,"{SUB}",64,0,0,8,0,16,"SQ_WAVES",100.000000,2414192765424862,2414192765435326
"""
TABLES = {
    "kernel_trace": KERNELS,
    "hip_api_trace": HIP,
    "memory_copy_trace": COPIES,
    "marker_api_trace": MARKS,
    "agent_info": AGENTS,
}


def capture(folder: Path, prefix: str = "238", tables: dict[str, str] | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for table, text in (tables if tables is not None else TABLES).items():
        (folder / f"{prefix}_{table}.csv").write_text(text)
    return folder


def dispatch(
    number: int, kernel: int, agent: int, start: int, length: int, stream: int = 1
) -> dict[str, Any]:
    return {
        "size": 160,
        "kind": 1,
        "operation": 1,
        "thread_id": 21228,
        "correlation_id": {"internal": 6 + number, "external": 0},
        "start_timestamp": start,
        "end_timestamp": start + length,
        "stream_id": {"handle": stream},
        "dispatch_info": {
            "size": 64,
            "agent_id": {"handle": agent},
            "queue_id": {"handle": stream},
            "kernel_id": kernel,
            "dispatch_id": number,
            "private_segment_size": 0,
            "group_segment_size": 512,
            "workgroup_size": {"x": 64, "y": 1, "z": 1},
            "grid_size": {"x": 1024, "y": 1024, "z": 1},
        },
    }


def call(kind: int, operation: int, number: int, start: int, length: int) -> dict[str, Any]:
    return {
        "size": 48,
        "kind": kind,
        "operation": operation,
        "correlation_id": {"internal": number, "external": 0},
        "start_timestamp": start,
        "end_timestamp": start + length,
        "thread_id": 21228,
    }


T = 2414192765000000


def document() -> dict[str, Any]:
    copy = call(2, 1, 5, T + 150_000, 40_000)
    copy |= {"dst_agent_id": {"handle": 902}, "src_agent_id": {"handle": 900}, "bytes": 4096}
    return {
        "rocprofiler-sdk-tool": [
            {
                "metadata": {"pid": 21228, "init_time": T - 1000, "fini_time": T + 900_000},
                "agents": [
                    {"size": 1, "id": {"handle": 900}, "type": 1, "name": "AMD EPYC"},
                    {
                        "size": 1,
                        "id": {"handle": 902},
                        "type": 2,
                        "name": "gfx942",
                        "product_name": "AMD Instinct MI300X",
                        "cu_count": 304,
                    },
                ],
                "counters": [
                    {
                        "agent_id": {"handle": 902},
                        "id": {"handle": 77},
                        "name": "SQ_WAVES",
                        "is_derived": 0,
                    }
                ],
                "strings": {
                    "buffer_records": [
                        {"kind": "NONE", "operations": []},
                        {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "COMPLETE"]},
                        {"kind": "MEMORY_COPY", "operations": ["NONE", "HOST_TO_DEVICE"]},
                        {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", "hipLaunchKernel"]},
                        {
                            "kind": "MARKER_CORE_API",
                            "operations": ["roctxMarkA", "roctxRangePushA"],
                        },
                    ],
                    "marker_api": [{"key": 1, "value": "forward"}],
                },
                "kernel_symbols": [
                    {
                        "kernel_id": 11,
                        "kernel_name": "_Z8additionv.kd",
                        "formatted_kernel_name": ADD,
                    },
                    {"kernel_id": 14, "kernel_name": "_Z8subv.kd", "formatted_kernel_name": SUB},
                ],
                "callback_records": {
                    "counter_collection": [
                        {
                            "dispatch_data": {
                                "correlation_id": {"internal": 7},
                                "dispatch_info": dispatch(1, 11, 902, 0, 0)["dispatch_info"],
                            },
                            "records": [
                                {"counter_id": {"handle": 77}, "value": 1000.0},
                                {"counter_id": {"handle": 77}, "value": 24.0},
                            ],
                            "arch_vgpr_count": 8,
                        }
                    ]
                },
                "buffer_records": {
                    "kernel_dispatch": [
                        dispatch(1, 11, 902, T + 353_337, 16_157),
                        dispatch(2, 14, 902, T + 424_862, 10_464, stream=2),
                    ],
                    "hip_api": [
                        call(3, 1, 7, T + 300_000, 10_000),
                        call(3, 1, 8, T + 320_000, 10_000),
                    ],
                    "hsa_api": [],
                    "marker_api": [call(4, 1, 1, T, 800_000)],
                    "memory_copy": [copy],
                    "memory_allocation": [call(1, 1, 3, T, 5)],
                },
            }
        ]
    }


def lines(trace: Trace) -> dict[str, list[tuple[str, float, float]]]:
    """(name, start, duration in µs) of each line."""
    return {
        f"{process.name} {track.name}": [
            (trace.names.full(int(name)), start / 1e6, length / 1e6)
            for name, start, length in zip(
                track.events.name.tolist(),
                track.events.start.tolist(),
                track.events.duration.tolist(),
                strict=True,
            )
        ]
        for process, track in trace.tracks()
    }


def stats(trace: Trace, line: str, row: int = 0) -> dict[str, Any]:
    process, track = next((p, t) for p, t in trace.tracks() if f"{p.name} {t.name}" == line)
    return {
        one.name: one.value for one in process.source.event_stats(track.events.position_of(row))
    }


def test_tables_are_one_capture(tmp_path: Path) -> None:
    (run,) = logdir.scan(capture(tmp_path / "out")).runs
    assert [(profile.host, Path(profile.path).name) for profile in run.profiles] == [
        ("238", "238_kernel_trace.csv")
    ]
    trace = loading.load_run(run).traces[0]
    assert trace.format == "rocprof"
    assert not trace.warnings
    assert lines(trace) == {
        "/device:GPU:0 Stream #1": [
            ("MEMORY_COPY_HOST_TO_DEVICE", 150.0, 40.0),
            (ADD, 353.337, 16.157),
            (SUB, 424.862, 10.464),
        ],
        "/device:GPU:1 Stream #2": [
            (ADD, 608.844, 12.83),
            ("MEMORY_COPY_DEVICE_TO_HOST", 700.0, 10.0),
        ],
        "/host:CPU thread 21228": [
            ("forward", 0.0, 800.0),
            ("hipMemcpyAsync", 100.0, 100.0),
            ("hipLaunchKernel", 300.0, 10.0),
            ("hipLaunchKernel", 320.0, 10.0),
        ],
        "/host:CPU thread 21229": [("hipLaunchKernel", 600.0, 5.0)],
    }
    told = stats(trace, "/device:GPU:0 Stream #1", 1)
    assert (
        told["kernel_details"] == "static_shared:512 grid:16,1024,1 block:64,1,1"
    )  # groups: ROCm counts work-items
    assert int(told["correlation_id"]) == 7
    last = stats(trace, "/device:GPU:1 Stream #2")["kernel_details"]
    assert (
        last == "static_shared:0 grid:16,1,1 block:64,1,1"
    )  # 1000 work-items in groups of 64: the last is not full
    facts = {one.name: one.value for one in trace.processes[0].stats}
    assert facts["device_name"] == "AMD Instinct MI300X"


@pytest.mark.parametrize("table", [table for table in TABLES if table != "agent_info"])
def test_any_table_of_a_capture_opens_all_of_it(tmp_path: Path, table: str) -> None:
    trace = registry.read(capture(tmp_path) / f"238_{table}.csv")
    assert trace.event_count == 10


def test_the_tools_answer_as_for_other_makers(tmp_path: Path) -> None:
    from powertui.data.opened import Opened
    from powertui.data.tools import kernel_stats, launches

    (run,) = logdir.scan(capture(tmp_path)).runs
    profile = Opened(run).profiles[0]
    found = launches.kernel_launches(profile)
    assert found.linked == 4  # three kernels and a copy; the other copy's call was not recorded
    rows = kernel_stats.read(profile) if hasattr(kernel_stats, "read") else None
    assert rows is None or rows


def test_a_json_says_the_same(tmp_path: Path) -> None:
    (tmp_path / "238_results.json").write_text(json.dumps(document()))
    (run,) = logdir.scan(tmp_path).runs
    trace = loading.load_run(run).traces[0]
    assert lines(trace) == {
        "/device:GPU:0 Copies": [("HOST_TO_DEVICE", 150.0, 40.0)],  # of no stream
        "/device:GPU:0 Stream #1": [(ADD, 353.337, 16.157)],
        "/device:GPU:0 Stream #2": [(SUB, 424.862, 10.464)],
        "/host:CPU thread 21228": [
            ("forward", 0.0, 800.0),
            ("hipLaunchKernel", 300.0, 10.0),
            ("hipLaunchKernel", 320.0, 10.0),
        ],
    }
    told = stats(trace, "/device:GPU:0 Stream #1")
    assert told["kernel_details"] == "regs:8 static_shared:512 grid:16,1024,1 block:64,1,1"
    assert float(told["SQ_WAVES"]) == 1024  # of all instances
    assert [(warning.cause, warning.count) for warning in trace.warnings] == [
        ("records of memory_allocation are not drawn", 1)
    ]


def test_a_json_with_one_process_instead_of_a_list(tmp_path: Path) -> None:
    whole = document()
    whole["rocprofiler-sdk-tool"] = whole["rocprofiler-sdk-tool"][0]
    (tmp_path / "out_results.json").write_text(json.dumps(whole))
    assert registry.read(tmp_path / "out_results.json").event_count == 6


def test_both_forms_are_one_host_and_the_second_is_read_when_the_first_fails(
    tmp_path: Path,
) -> None:
    capture(tmp_path)
    (tmp_path / "238_results.json").write_text(json.dumps(document())[:-40])
    (run,) = logdir.scan(tmp_path).runs
    assert len(run.profiles) == len(run.alternates) == 1
    opened = loading.load_run(run)
    assert opened.traces[0].event_count == 10
    assert "ends in the middle" in opened.warnings[0].cause


def test_several_processes_are_hosts_of_one_run(tmp_path: Path) -> None:
    for prefix in ("238", "239"):
        capture(tmp_path, prefix)
    (run,) = logdir.scan(tmp_path).runs
    assert [profile.host for profile in run.profiles] == ["238", "239"]


def test_counters_alone_are_kernels(tmp_path: Path) -> None:
    capture(tmp_path, "218", {"counter_collection": COUNTERS})
    (run,) = logdir.scan(tmp_path).runs
    trace = loading.load_run(run).traces[0]
    assert lines(trace) == {"/device:GPU:0 Queue #1": [(ADD, 0.0, 16.157), (SUB, 71.525, 10.464)]}
    told = stats(trace, "/device:GPU:0 Queue #1")
    assert (float(told["SQ_WAVES"]), float(told["FETCH_SIZE"])) == (16384, 12.5)
    assert "FETCH_SIZE" not in stats(trace, "/device:GPU:0 Queue #1", 1)


def test_counters_beside_their_kernels(tmp_path: Path) -> None:
    trace = registry.read(
        capture(tmp_path, "1", {**TABLES, "counter_collection": COUNTERS}) / "1_kernel_trace.csv"
    )
    assert trace.event_count == 10
    assert float(stats(trace, "/device:GPU:0 Stream #1", 1)["SQ_WAVES"]) == 16384


def test_without_agents_gpus_are_told_apart(tmp_path: Path) -> None:
    tables = {table: text for table, text in TABLES.items() if table != "agent_info"}
    trace = registry.read(capture(tmp_path, "1", tables) / "1_kernel_trace.csv")
    assert list(trace.devices) == ["/device:GPU:0", "/device:GPU:1"]
    assert lines(trace)["/device:GPU:1 Stream #2"][1][0] == "MEMORY_COPY_DEVICE_TO_HOST"


@pytest.mark.parametrize(
    ("said", "device"), [('"GPU 1"', 1), ('"Agent 3"', 1), ("3", 1), ('"GPU 0"', 0)]
)
def test_every_way_to_name_an_agent(tmp_path: Path, said: str, device: int) -> None:
    one = (
        KERNELS.splitlines()[0]
        + "\n"
        + KERNELS.splitlines()[1].replace(",2,1,1,21228", f",{said},1,1,21228")
        + "\n"
    )
    trace = registry.read(
        capture(tmp_path, "1", {"kernel_trace": one, "agent_info": AGENTS}) / "1_kernel_trace.csv"
    )
    assert list(trace.devices) == [f"/device:GPU:{device}"]


def test_what_is_damaged_is_counted(tmp_path: Path) -> None:
    broken = (
        KERNELS.replace("2414192765424862", "soon") + '"KERNEL_DISPATCH",2,1,1,21228,9,11,"half'
    )
    trace = registry.read(
        capture(tmp_path, "1", {"kernel_trace": broken, "hip_api_trace": "not a table"})
        / "1_kernel_trace.csv"
    )
    assert trace.event_count == 2
    assert sum(warning.count for warning in trace.warnings) >= 2


@pytest.mark.parametrize("cut", [0, 20, 300, 700])
def test_a_table_that_is_still_written(tmp_path: Path, cut: int) -> None:
    capture(tmp_path, "1", {"kernel_trace": KERNELS[:cut]})
    found = [run for run in logdir.scan(tmp_path).runs if run.profiles]
    for run in found:
        with contextlib.suppress(UnreadableFile):
            assert loading.load_run(run).traces[0].event_count < 3


def test_a_hostile_json_is_refused_or_read(tmp_path: Path) -> None:
    path = tmp_path / "x_results.json"
    for whole in (
        {"rocprofiler-sdk-tool": 3},
        {"rocprofiler-sdk-tool": [{"buffer_records": {"kernel_dispatch": [1, None, {}, []]}}]},
        {"rocprofiler-sdk-tool": [{"strings": [], "agents": 7, "kernel_symbols": [[]]}]},
        {"rocprofiler-sdk-tool": [{"buffer_records": {"hip_api": [{"kind": 10**30}]}}]},
        {"rocprofiler-sdk-tool": [{"kernel_symbols": [{"kernel_id": []}]}]},
        {"rocprofiler-sdk-tool": [{"strings": {"marker_api": [{"key": {}}]}}]},
        {
            "rocprofiler-sdk-tool": [
                {"buffer_records": {"kernel_dispatch": [{"dispatch_info": {"kernel_id": [1]}}]}}
            ]
        },
        {
            "rocprofiler-sdk-tool": [
                {
                    "buffer_records": {
                        "hip_api": [call(10**9, -5, 1, 2**70, 1), call(-1, 0, 1, -5, 1)]
                    }
                }
            ]
        },
    ):
        path.write_text(json.dumps(whole))
        with contextlib.suppress(UnreadableFile):
            assert registry.read(path).event_count == 0


def test_the_names_of_tables() -> None:
    assert split_table_name("238_kernel_trace.csv") == ("238", "kernel_trace")
    assert split_table_name("my_run_1_hip_api_trace.csv") == ("my_run_1", "hip_api_trace")
    assert split_table_name("agent_info.csv") == ("", "agent_info")
    assert split_table_name("238_kernel_stats.csv") is None


def test_other_tables_are_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "1_kernel_trace.csv").write_text(
        "time,power_w\n1700000000,5\n1700000001,6\n1700000002,7\n"
    )
    assert not [run for run in logdir.scan(tmp_path).runs if run.profiles]
    shutil.rmtree(tmp_path)
