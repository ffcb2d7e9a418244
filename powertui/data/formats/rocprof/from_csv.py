"""The CSV tables of one capture of rocprofv3, the one that was named and those beside it."""

from __future__ import annotations

import io
from pathlib import Path

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
from powertui.data.formats.rocprof.tables import AGENTS, capture_tables
from powertui.data.formats.source import OpenedFile, open_file
from powertui.errors import UnreadableFile

_MEMORY_PER_BYTE = 12  # bytes of memory for each of the file while it is read
_KINDS = {
    "kernel_trace": KERNELS,
    "counter_collection": KERNELS,
    "memory_copy_trace": COPIES,
    "marker_api_trace": MARKS,
}
_NOT_DRAWN = frozenset(
    ("memory_allocation_trace", "scratch_memory_trace")
)  # of addresses: nobody asks for them on a timeline yet
# As the tables call it (capitals and blanks aside), and as the rest of the program does.
_COLUMN_NAMES = {
    "kernel_name": "name",
    "function": "name",
    "direction": "name",
    "operation": "name",
    "start_timestamp": "start",
    "end_timestamp": "end",
    "agent_id": "agent",
    "queue_id": "queue",
    "stream_id": "stream",
    "process_id": "pid",
    "thread_id": "tid",
    "lds_block_size": "group_segment_size",
    "vgpr_count": "regs",
}


def records(source: OpenedFile, progress: Progress) -> RocprofRecords:
    """All tables with records. The others of the capture are read when they can be."""
    out = RocprofRecords()
    tables = _read_tables(source, progress, out)
    counters = tables.pop("counter_collection", None)
    if counters is not None:
        tables["kernel_trace"] = _with_counters(tables.get("kernel_trace"), counters, out)
    for table, frame in tables.items():
        kind = _KINDS.get(table, CALLS)
        if kind == COPIES:
            frame["agent"] = _device_of(frame, out.agents)
        if kind == KERNELS:
            frame["kernel_details"] = kernel_details(frame)
        out.tables.append((kind, _timed(frame, out)))
    return out


def _read_tables(
    source: OpenedFile,
    progress: Progress,
    out: RocprofRecords,
) -> dict[str, pd.DataFrame]:
    """The tables of the capture that are drawn; its agents go to `out`."""
    files = capture_tables(source.path) or {"": Path(source.path)}
    total = sum(path.stat().st_size for path in files.values() if str(path) != "-")
    tables: dict[str, pd.DataFrame] = {}
    done = 0
    for table, path in files.items():
        is_named = Path(source.path) == path or source.path == str(path)
        try:
            opened = source if is_named else open_file(path, source.limit)
            frame = _frame(opened, out)
        except UnreadableFile as error:
            if is_named:
                raise
            out.lose(f"{path.name}: {error.problem}")
            continue
        done += opened.size
        if table == AGENTS:
            out.agents = _agents(frame)
        elif table in _NOT_DRAWN:
            out.lose(f"records of {table} are not drawn", len(frame))
        else:
            tables[table or _unnamed(frame)] = frame
        progress(done, max(total, done), sum(len(read_table) for read_table in tables.values()))
    return tables


def _frame(source: OpenedFile, out: RocprofRecords) -> pd.DataFrame:
    source.limit.check(source.path, _MEMORY_PER_BYTE * source.size)
    data = b"".join(source.chunks())
    lines = data[: data.rfind(b"\n") + 1]
    if len(lines) < len(data):
        out.cut = f"{Path(source.path).name} ends in the middle of a line"
    try:
        frame = pd.read_csv(
            io.BytesIO(lines),
            dtype=str,
            keep_default_na=False,
            on_bad_lines="skip",
            encoding_errors="replace",
        )
    except (ValueError, pd.errors.ParserError, pd.errors.EmptyDataError):
        raise UnreadableFile(
            source.path,
            "is not the table that its name promises",
            hint="Copy it again, or profile again.",
        ) from None
    frame.columns = [
        _COLUMN_NAMES.get(low := str(name).strip().lower(), low) for name in frame.columns
    ]
    frame = frame.loc[:, ~frame.columns.duplicated()]
    unique: pd.DataFrame = frame
    return unique


def _unnamed(frame: pd.DataFrame) -> str:
    """Which table it is, by its columns: someone renamed the file."""
    if "counter_name" in frame:
        return "counter_collection"
    if "kernel_id" in frame:
        return "kernel_trace"
    if "destination_agent_id" in frame:
        return "memory_copy_trace"
    if "domain" in frame and len(frame):
        domain = frame["domain"].iat[0]
    else:
        domain = ""
    return "marker_api_trace" if str(domain).startswith("MARKER") else "hip_api_trace"


def _timed(frame: pd.DataFrame, out: RocprofRecords) -> pd.DataFrame:
    """Times as whole ns; what has none is left out and counted."""
    for name in ("start", "end", "name"):
        if name not in frame:
            out.lose("records without a time or a name were left out", len(frame))
            empty: pd.DataFrame = pd.DataFrame(
                {missing: [] for missing in ("start", "end", "name")}
            )
            return empty
    digits = frame["start"].str.fullmatch(r"\d{1,18}").fillna(False) & frame["end"].str.fullmatch(
        r"\d{1,18}"
    ).fillna(False)
    good = digits.to_numpy(np.bool_)
    out.lose("records without a time or a name were left out", int(len(good) - good.sum()))
    frame = frame.loc[good].reset_index(drop=True)
    frame["start"], frame["end"] = frame["start"].astype(np.int64), frame["end"].astype(np.int64)
    timed: pd.DataFrame = frame
    return timed


def _with_counters(
    kernels: pd.DataFrame | None,
    counters: pd.DataFrame,
    out: RocprofRecords,
) -> pd.DataFrame:
    """The counters of each dispatch beside its kernel; without a kernel trace the dispatches that
    were counted are the kernels.
    """
    if not {"dispatch_id", "counter_name", "counter_value"} <= set(counters.columns):
        out.lose("rows of counters without a dispatch were left out", len(counters))
        nothing: pd.DataFrame = counters.iloc[:0]
        return kernels if kernels is not None else nothing
    values = counters.assign(
        counter_value=pd.to_numeric(counters["counter_value"], errors="coerce")
    )
    wide = values.pivot_table(
        index="dispatch_id",
        columns="counter_name",
        values="counter_value",
        aggfunc="sum",
        sort=False,
    )
    if kernels is None or "dispatch_id" not in kernels:
        kernels = counters.drop_duplicates("dispatch_id").drop(
            columns=["counter_name", "counter_value"]
        )
    out.counters.update(dict.fromkeys(map(str, wide.columns)))
    new_columns = [str(name) for name in wide.columns if name not in kernels.columns]
    joined: pd.DataFrame = kernels.join(wide[new_columns], on="dispatch_id")
    return joined


def _agents(frame: pd.DataFrame) -> dict[str, Agent]:
    """By every name that records may give them: number of the node, "Agent 4", "GPU 0"."""
    out: dict[str, Agent] = {}
    gpus = 0
    for row in frame.to_dict("records"):
        is_gpu = str(row.get("agent_type", "")).upper() == "GPU"
        facts = tuple((fact, str(row[key])) for key, fact in _FACTS.items() if row.get(key))
        agent = Agent(gpus if is_gpu else None, facts)
        for number in (row.get("node_id"), row.get("logical_node_id")):
            if number is not None:
                out.setdefault(str(number), agent)
                out.setdefault(f"Agent {number}", agent)
        if is_gpu:
            out[f"GPU {gpus}"] = agent
            gpus += 1
    return out


_FACTS = {
    "product_name": "device_name",
    "name": "architecture",
    "vendor_name": "vendor",
    "cu_count": "core_count",
}


def _device_of(frame: pd.DataFrame, agents: dict[str, Agent]) -> pd.Series:
    """A copy belongs to the GPU that it goes to, else to the one that it comes from."""
    nothing = pd.Series([""] * len(frame), index=frame.index, dtype=object)
    destination = frame.get("destination_agent_id", nothing)
    origin = frame.get("source_agent_id", nothing)
    gpus = {name for name, agent in agents.items() if agent.gpu is not None}
    goes_to_gpu = destination.map(lambda name: str(name) in gpus).astype(bool)
    if not agents:
        # Without a table of agents the direction of the copy says which side is the GPU.
        goes_to_gpu |= ~_to_host(frame, nothing)
    device: pd.Series = destination.where(goes_to_gpu, origin).astype(object)
    return device


def _to_host(frame: pd.DataFrame, nothing: pd.Series) -> pd.Series:
    """Whether each copy goes from a device to the host, by its name."""
    if "name" not in frame:
        return nothing.astype(bool)
    to_host: pd.Series = frame["name"].astype(str).str.contains("DEVICE_TO_HOST")
    return to_host
