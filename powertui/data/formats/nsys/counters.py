"""What an export sampled or counted over time: metrics of GPUs, and memory in use."""

from __future__ import annotations

import re
from operator import itemgetter

import numpy as np

from powertui.data import wire
from powertui.data.formats.builder import LIMIT_NS, MAX_COUNTERS, TraceBuilder
from powertui.data.formats.nsys.database import MISSING, NsysDatabase
from powertui.data.formats.nsys.identities import Identities
from powertui.data.formats.nsys.row_groups import row_groups
from powertui.data.formats.registry import Progress
from powertui.data.model import PS_PER_NS, Int64s

_METRICS, _METRIC_NAMES = "GPU_METRICS", "TARGET_INFO_GPU_METRICS"
_MEMORY = "CUDA_GPU_MEMORY_USAGE_EVENTS"
_GPU_MASK = 0xFF  # of a metric's type: the GPU that it was sampled on
_ALLOCATED, _FREED = 0, 1  # of `memoryOperationType`
_DEVICE_MEMORY = (2, 3, 5)  # of `memKind`: device, array, static of the device
_UNIT = re.compile(r"^(.*\S)\s*\[([^\]]*)\]$")
_UNITS = {"Throughput %": "%", "%": "%", "MHz": "MHz", "W": "W", "mW": "mW", "Watts": "W"}


def add_counters(
    database: NsysDatabase,
    builder: TraceBuilder,
    identities: Identities,
    progress: Progress,
) -> None:
    """All of them, to the trace."""
    if database.has(_METRICS, "timestamp", "metricId", "value"):
        _add_metrics(database, builder, progress)
    if database.has(_MEMORY, "start", "bytes", "memoryOperationType"):
        _add_memory(database, builder, identities, progress)


def _add_metrics(database: NsysDatabase, builder: TraceBuilder, progress: Progress) -> None:
    names = _metric_names(database)
    columns = database.integers(_METRICS, ["timestamp", "typeId", "metricId", "value"], progress)
    time_ns = columns["timestamp"]
    value = columns["value"].astype(np.float64)
    is_possible = np.abs(time_ns) < LIMIT_NS
    metrics = row_groups([columns["typeId"], columns["metricId"]])
    metrics_by_id = sorted(metrics, key=itemgetter(0))
    for (type_id, metric_id), rows in metrics_by_id[:MAX_COUNTERS]:
        # Older exports name a metric once for all GPUs, without a type.
        title = names.get((type_id, metric_id)) or names.get((MISSING, metric_id))
        label, unit = _named(title or f"metric {metric_id}")
        gpu = 0
        if type_id != MISSING:
            gpu = type_id & _GPU_MASK
        possible_rows = rows[is_possible[rows]]
        time_ps = time_ns[possible_rows] * PS_PER_NS
        builder.counter(label, unit, f"/device:GPU:{gpu}", time_ps, value[possible_rows])


def _metric_names(database: NsysDatabase) -> dict[tuple[int, int], str]:
    """Names by type and metric; where the export has no types, by MISSING and metric."""
    names: dict[tuple[int, int], str] = {}
    columns = ["typeId", "metricId", "metricName"]
    for row in database.rows(_METRIC_NAMES, columns, MAX_COUNTERS):
        type_id = row.get("typeId")
        metric_id = row.get("metricId")
        name = row.get("metricName")
        if isinstance(metric_id, int) and isinstance(name, str):
            key = type_id if isinstance(type_id, int) else MISSING
            names[key, metric_id] = name
    return names


def _named(title: str) -> tuple[str, str]:
    """A metric's name and its unit: "SMs Active [Throughput %]"."""
    match = _UNIT.match(title)
    if match is None:
        return title, ""
    unit = _UNITS.get(match[2])
    if unit is not None:
        return (match[1], unit)
    return (title, "")


def _add_memory(
    database: NsysDatabase,
    builder: TraceBuilder,
    identities: Identities,
    progress: Progress,
) -> None:
    wanted = ["start", "globalPid", "deviceId", "bytes", "memKind", "memoryOperationType"]
    read = database.integers(_MEMORY, wanted, progress)
    operation = read["memoryOperationType"]
    sign = np.where(operation == _ALLOCATED, 1, np.where(operation == _FREED, -1, 0))
    kind = read["memKind"]
    on_device = (kind == MISSING) | np.isin(kind, _DEVICE_MEMORY)
    is_counted = (sign != 0) & on_device & (np.abs(read["start"]) < LIMIT_NS)
    gpus = identities.gpus(read["globalPid"], read["deviceId"])
    for gpu in wire.distinct(gpus[is_counted]).tolist():
        rows = np.flatnonzero(is_counted & (gpus == gpu))
        rows = rows[np.argsort(read["start"][rows], kind="stable")]
        changes: Int64s = (sign * read["bytes"])[rows]
        builder.counter(
            f"allocated GPU {gpu} since the start",
            "bytes",
            "memory",
            read["start"][rows] * PS_PER_NS,
            np.cumsum(changes.astype(np.float64)),
        )
