"""The JSON of rocprofv3 (`<prefix>_results.json`): one object with records that name kinds, kernels
and agents by numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from powertui.data.formats.registry import Progress
from powertui.data.formats.rocprof.records import (
    CALLS,
    COPIES,
    KERNELS,
    MARKS,
    Agent,
    RocprofRecords,
    kernel_details,
)
from powertui.data.formats.source import OpenedFile
from powertui.errors import UnreadableFile

_MEMORY_PER_BYTE = 10  # bytes of memory for each of the file while it is read
_KERNELS = (
    "kernel_dispatch",
    "kernel_dispatches",
)  # as the documentation calls it, and the first releases
_CALLS = ("hip_api", "hsa_api", "rccl_api", "rocdecode_api", "rocDecode_api", "rocjpeg_api", "ompt")
_NOT_DRAWN = (
    "memory_allocation",
    "scratch_memory",
    "page_migration",
    "pc_sample_host_trap",
    "pc_sample_stochastic",
)


def records(source: OpenedFile, progress: Progress) -> RocprofRecords:
    """All records of all processes of the file."""
    source.limit.check(source.path, _MEMORY_PER_BYTE * source.size)
    data = source.stored()
    try:
        document = json.loads(
            data.read(0, data.size).tobytes().decode("utf-8", "replace"), strict=False
        )
    except (ValueError, RecursionError) as error:
        problem = f"is a rocprofv3 result that ends in the middle or is damaged ({str(error)[:80]})"
        raise UnreadableFile(
            source.path, problem, hint="Wait until rocprofv3 has ended, or copy it again."
        ) from None
    if isinstance(document, dict):
        tool = document.get("rocprofiler-sdk-tool")
    else:
        tool = None
    processes = [
        process
        for process in (tool if isinstance(tool, list) else [tool])
        if isinstance(process, dict)
    ]
    out = RocprofRecords()
    for process in processes:
        _Process(process, out).take()
    if not processes:
        raise UnreadableFile(
            source.path, "is a rocprofv3 result without any process", hint="Profile again."
        )
    progress(source.size, source.size, sum(len(table) for _, table in out.tables))
    return out


class _Process:
    """One process of the file."""

    def __init__(self, process: dict[str, Any], out: RocprofRecords) -> None:
        self._process = process
        self._out = out
        strings = _mapping(process.get("strings"))
        self._kinds = _mappings(strings, "buffer_records")
        self._marks = {}
        for entry in _mappings(strings, "marker_api"):
            self._marks[_id(entry.get("key"))] = entry.get("value")
        self._pid = _mapping(process.get("metadata")).get("pid")
        self._kernels: dict[Any, str] = {}
        for entry in _mappings(process, "kernel_symbols"):
            names = filter(None, map(entry.get, _KERNEL_NAMES))
            self._kernels[_id(entry.get("kernel_id"))] = str(next(names, ""))
        gpu_count = 0
        for entry in _mappings(process, "agents"):
            facts = []
            for key, fact in _FACTS.items():
                value = entry.get(key)
                if isinstance(value, (str, int, float)) and value != "":
                    facts.append((fact, value))
            is_gpu = entry.get("type") == 2
            gpu = gpu_count if is_gpu else None
            out.agents[_agent(entry.get("id"))] = Agent(gpu, tuple(facts))
            gpu_count += is_gpu

    def take(self) -> None:
        """Its records, kind by kind."""
        buffered = _mapping(self._process.get("buffer_records"))
        kernels: list[dict[str, Any]] = []
        for key in _KERNELS:
            kernels += self._dispatches(_mappings(buffered, key))
        called_back = _mapping(self._process.get("callback_records"))
        counted = list(self._counted(_mappings(called_back, "counter_collection")))
        by_dispatch = {row["dispatch_id"]: row for row in kernels} if counted else {}
        for row in counted:
            dispatch = by_dispatch.get(row["dispatch_id"])
            if dispatch is None:
                kernels.append(row)
                continue
            for name, value in row.items():
                dispatch.setdefault(name, value)
        frame = self._put(KERNELS, kernels)
        if frame is not None:
            frame["kernel_details"] = kernel_details(frame)
        copies = self._copies(_mappings(buffered, "memory_copy"))
        self._put(COPIES, list(copies))
        marks = self._calls(_mappings(buffered, "marker_api"), marks=True)
        self._put(MARKS, list(marks))
        for key in _CALLS:
            calls = self._calls(_mappings(buffered, key))
            self._put(CALLS, list(calls))
        for key in _NOT_DRAWN:
            record_count = len(_list(buffered.get(key)))
            self._out.lose(f"records of {key} are not drawn", record_count)

    def _put(self, kind: str, rows: list[dict[str, Any]]) -> pd.DataFrame | None:
        good = [row for row in rows if _is_time(row["start"]) and _is_time(row["end"])]
        bad_count = len(rows) - len(good)
        self._out.lose("records without a time or a name were left out", bad_count)
        if not good:
            return None
        frame: pd.DataFrame = pd.DataFrame(good)
        for name in ("start", "end"):
            frame[name] = frame[name].astype(np.int64)
        self._out.tables.append((kind, frame))
        return frame

    def _dispatches(self, records: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for record in records:
            info = _mapping(record.get("dispatch_info"))
            yield self._dispatch(record, info)

    def _dispatch(self, record: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
        grid = _mapping(info.get("grid_size"))
        group = _mapping(info.get("workgroup_size"))
        kernel = _id(info.get("kernel_id"))
        row = {
            "name": self._kernels.get(kernel) or f"kernel {kernel}",
            "start": record.get("start_timestamp"),
            "end": record.get("end_timestamp"),
            "agent": _agent(info.get("agent_id")),
            "queue": _handle(info.get("queue_id")),
            "stream": _handle(record.get("stream_id")),
            "correlation_id": _correlation(record),
            "dispatch_id": _id(info.get("dispatch_id")),
            "private_segment_size": info.get("private_segment_size"),
            "group_segment_size": info.get("group_segment_size"),
        }
        for axis in "xyz":
            row[f"grid_size_{axis}"] = grid.get(axis)
            row[f"workgroup_size_{axis}"] = group.get(axis)
        return row

    def _counted(self, records: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        names = {}
        for counter in _mappings(self._process, "counters"):
            names[_handle(counter.get("id"))] = counter.get("name")
        for record in records:
            data = _mapping(record.get("dispatch_data"))
            row = self._dispatch(data, _mapping(data.get("dispatch_info")))
            row["regs"] = record.get("arch_vgpr_count")
            for reading in _mappings(record, "records"):
                handle = _handle(reading.get("counter_id"))
                name = str(names.get(handle) or f"counter {handle}")
                value = reading.get("value")
                so_far = row.get(name, 0)
                if not isinstance(value, (int, float)) or not isinstance(so_far, (int, float)):
                    continue
                self._out.counters[name] = None
                row[name] = so_far + value  # of all the instances of a counter
            yield row

    def _copies(self, records: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for record in records:
            target = _agent(record.get("dst_agent_id"))
            origin = _agent(record.get("src_agent_id"))
            agent = self._out.agents.get(target)
            is_to_host = agent is not None and agent.gpu is None
            yield {
                "name": self._operation(record),
                "start": record.get("start_timestamp"),
                "end": record.get("end_timestamp"),
                "agent": origin if is_to_host else target,
                "queue": None,
                "stream": _handle(record.get("stream_id")),
                "correlation_id": _correlation(record),
                "bytes": record.get("bytes"),
            }

    def _calls(
        self,
        records: list[Mapping[str, Any]],
        *,
        marks: bool = False,
    ) -> Iterator[dict[str, Any]]:
        for record in records:
            number = _correlation(record)
            mark = self._marks.get(number) if marks else None
            yield {
                "name": str(mark) if mark else self._operation(record),
                "start": record.get("start_timestamp"),
                "end": record.get("end_timestamp"),
                "pid": self._pid,
                "tid": record.get("thread_id"),
                "correlation_id": number,
                "domain": self._kind(record).get("kind"),
            }

    def _kind(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        number = record.get("kind")
        if isinstance(number, int) and 0 <= number < len(self._kinds):
            return self._kinds[number]
        return {}

    def _operation(self, record: Mapping[str, Any]) -> str:
        kind = self._kind(record)
        names = _list(kind.get("operations"))
        number = record.get("operation")
        if isinstance(number, int) and 0 <= number < len(names):
            return str(names[number])
        kind_name = kind.get("kind") or f"kind {record.get('kind')}"
        return f"{kind_name} {number}"


_FACTS = {
    "product_name": "device_name",
    "name": "architecture",
    "vendor_name": "vendor",
    "cu_count": "core_count",
}


_KERNEL_NAMES = ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")


def _mapping(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    return {}


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return []


def _handle(value: Any) -> Any:
    if isinstance(value, dict):
        return value.get("handle")
    return value if isinstance(value, int) else None


def _id(value: Any) -> int | str | None:
    """What records are found by; None for what no profiler writes there, such as a list."""
    return value if isinstance(value, (int, str)) else None


def _agent(value: Any) -> str:
    """How records name an agent; no agent of another process has the same handle, since handles are
    addresses or node numbers.
    """
    return str(_handle(value))


def _mappings(parent: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The members of a list, an empty object for each that is none."""
    return list(map(_mapping, _list(parent.get(name))))


def _correlation(record: Mapping[str, Any]) -> Any:
    return _mapping(record.get("correlation_id")).get("internal")


def _is_time(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return 0 <= value < 1 << 62
