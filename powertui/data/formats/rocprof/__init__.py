"""rocprofv3 of AMD's ROCm: one JSON for each process, or a CSV for each kind of record that it
took.

    <prefix>_results.json          {"rocprofiler-sdk-tool": [{metadata, agents, strings,
                                   kernel_symbols, buffer_records, …}]}
    <prefix>_kernel_trace.csv      with _hip_api_trace, _hsa_api_trace, _marker_api_trace,
                                   _memory_copy_trace, _rccl_api_trace, _counter_collection and
                                   _agent_info beside it: one capture, whichever of them is named

Times are ns since the machine started: a profile's zero is its earliest record, and nothing in it
tells the wall clock. Kernels and copies lie on the streams (or queues) of their GPU, calls and
roctx ranges on their threads; a launch and its kernel share a correlation id. Hardware counters of
a dispatch are stats of its kernel.
"""

from __future__ import annotations

from collections.abc import Iterator

from powertui.data.formats.registry import Progress
from powertui.data.formats.source import OpenedFile
from powertui.data.model import Trace

NAME = "rocprof"
RESULTS = "results.json"

_TOOL = b'"rocprofiler-sdk-tool"'


def sniff(head: bytes, path: str) -> int:  # noqa: ARG001
    """The name of the tool in the JSON, or the columns of one of its tables."""
    if _TOOL in head[:256]:
        return 97
    first = head[:2048].split(b"\n", 1)[0].replace(b'"', b"")
    times = b"Start_Timestamp" in first and b"End_Timestamp" in first and b"Correlation_Id" in first
    counters = b"Correlation_Id" in first and b"Dispatch_Id" in first and b"Counter_Name" in first
    return 90 if times or counters else 0


def load(source: OpenedFile, progress: Progress) -> Iterator[Trace]:
    """The whole trace: names and places of records are told apart from them."""
    from powertui.data.formats.rocprof import from_csv, from_json
    from powertui.data.formats.rocprof.assembled import assembled

    if _TOOL in source.head[:256]:
        records = from_json.records(source, progress)
    else:
        records = from_csv.records(source, progress)
    yield assembled(source, records)
