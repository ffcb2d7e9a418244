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
        self._kinds = [_mapping(entry) for entry in _list(strings.get("buffer_records"))]
        self._marks = {
            entry.get("key"): entry.get("value")
            for entry in map(_mapping, _list(strings.get("marker_api")))
        }
        self._pid = _mapping(process.get("metadata")).get("pid")
        self._kernels: dict[Any, str] = {}
        for entry in map(_mapping, _list(process.get("kernel_symbols"))):
            named = (
                entry.get(key)
                for key in ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")
            )
            self._kernels[entry.get("kernel_id")] = next((str(name) for name in named if name), "")
        gpus = 0
        for entry in map(_mapping, _list(process.get("agents"))):
            facts = tuple(
                (fact, entry[key])
                for key, fact in _FACTS.items()
                if isinstance(entry.get(key), (str, int, float)) and entry[key] != ""
            )
            is_gpu = entry.get("type") == 2
            out.agents[_agent(entry.get("id"))] = Agent(gpus if is_gpu else None, facts)
            gpus += is_gpu

    def take(self) -> None:
        """Its records, kind by kind."""
        buffered = _mapping(self._process.get("buffer_records"))
        kernels = [row for key in _KERNELS for row in self._dispatches(_list(buffered.get(key)))]
        counted = list(
            self._counted(
                _list(_mapping(self._process.get("callback_records")).get("counter_collection"))
            )
        )
        if counted:
            by_dispatch = {row["dispatch_id"]: row for row in kernels}
            for row in counted:
                dispatch = by_dispatch.get(row["dispatch_id"])
                if dispatch is not None:
                    dispatch.update(
                        {key: value for key, value in row.items() if key not in dispatch}
                    )
                else:
                    kernels.append(row)
        frame = self._put(KERNELS, kernels)
        if frame is not None:
            frame["kernel_details"] = kernel_details(frame)
        self._put(COPIES, list(self._copies(_list(buffered.get("memory_copy")))))
        self._put(MARKS, list(self._calls(_list(buffered.get("marker_api")), marks=True)))
        for key in _CALLS:
            self._put(CALLS, list(self._calls(_list(buffered.get(key)))))
        for key in _NOT_DRAWN:
            self._out.lose(f"records of {key} are not drawn", len(_list(buffered.get(key))))

    def _put(self, kind: str, rows: list[dict[str, Any]]) -> pd.DataFrame | None:
        good = [row for row in rows if _is_time(row["start"]) and _is_time(row["end"])]
        self._out.lose("records without a time or a name were left out", len(rows) - len(good))
        if not good:
            return None
        frame: pd.DataFrame = pd.DataFrame(good)
        frame["start"], frame["end"] = (
            frame["start"].astype(np.int64),
            frame["end"].astype(np.int64),
        )
        self._out.tables.append((kind, frame))
        return frame

    def _dispatches(self, rows: list[Any]) -> Iterator[dict[str, Any]]:
        for record in map(_mapping, rows):
            yield self._dispatch(record, _mapping(record.get("dispatch_info")))

    def _dispatch(self, record: Mapping[str, Any], info: Mapping[str, Any]) -> dict[str, Any]:
        grid = _mapping(info.get("grid_size"))
        group = _mapping(info.get("workgroup_size"))
        row = {
            "name": self._kernels.get(info.get("kernel_id")) or f"kernel {info.get('kernel_id')}",
            "start": record.get("start_timestamp"),
            "end": record.get("end_timestamp"),
            "agent": _agent(info.get("agent_id")),
            "queue": _handle(info.get("queue_id")),
            "stream": _handle(record.get("stream_id")),
            "correlation_id": _mapping(record.get("correlation_id")).get("internal"),
            "dispatch_id": info.get("dispatch_id"),
            "private_segment_size": info.get("private_segment_size"),
            "group_segment_size": info.get("group_segment_size"),
        }
        for axis in "xyz":
            row[f"grid_size_{axis}"] = grid.get(axis)
            row[f"workgroup_size_{axis}"] = group.get(axis)
        return row

    def _counted(self, rows: list[Any]) -> Iterator[dict[str, Any]]:
        names = {
            _handle(record.get("id")): record.get("name")
            for record in map(_mapping, _list(self._process.get("counters")))
        }
        for record in map(_mapping, rows):
            data = _mapping(record.get("dispatch_data"))
            row = self._dispatch(data, _mapping(data.get("dispatch_info")))
            row["regs"] = record.get("arch_vgpr_count")
            for value in map(_mapping, _list(record.get("records"))):
                name = str(
                    names.get(_handle(value.get("counter_id")))
                    or f"counter {_handle(value.get('counter_id'))}"
                )
                if isinstance(value.get("value"), (int, float)) and (
                    name not in row or isinstance(row[name], (int, float))
                ):
                    self._out.counters[name] = None
                    row[name] = (
                        row.get(name, 0) + value["value"]
                    )  # of all the instances of a counter
            yield row

    def _copies(self, rows: list[Any]) -> Iterator[dict[str, Any]]:
        for record in map(_mapping, rows):
            to, of = (_agent(record.get(key)) for key in ("dst_agent_id", "src_agent_id"))
            agent = self._out.agents.get(to)
            yield {
                "name": self._operation(record),
                "start": record.get("start_timestamp"),
                "end": record.get("end_timestamp"),
                "agent": to if agent is None or agent.gpu is not None else of,
                "queue": None,
                "stream": _handle(record.get("stream_id")),
                "correlation_id": _mapping(record.get("correlation_id")).get("internal"),
                "bytes": record.get("bytes"),
            }

    def _calls(self, rows: list[Any], *, marks: bool = False) -> Iterator[dict[str, Any]]:
        for record in map(_mapping, rows):
            number = _mapping(record.get("correlation_id")).get("internal")
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
        return f"{kind.get('kind') or 'kind ' + str(record.get('kind'))} {number}"


_FACTS = {
    "product_name": "device_name",
    "name": "architecture",
    "vendor_name": "vendor",
    "cu_count": "core_count",
}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _handle(value: Any) -> Any:
    if isinstance(value, dict):
        return value.get("handle")
    return value if isinstance(value, int) else None


def _agent(value: Any) -> str:
    """How records name an agent; no agent of another process has the same handle, since handles are
    addresses or node numbers.
    """
    return str(_handle(value))


def _is_time(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62
